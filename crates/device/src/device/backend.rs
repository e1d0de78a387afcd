//! What a kind of device has to offer. One value is one device; the host is one, too. The present table,
//! the constructs and the search for silent errors are written against this trait alone.

use super::signature::{self, Signature};
use crate::acc::profiling_interface::Heard;
use core::ffi::CStr;

/// An address on a device.
pub(crate) type Addr = usize;

/// What a device can do, and how it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// The word of PROMP_DEVICES and of messages.
    pub name: &'static str,
    /// acc_device_t.
    pub acc_type: i32,
    /// Is its memory the host's?
    pub shared_memory: bool,
    /// Does it run the host's versions of target regions?
    pub native: bool,
    /// Does it run OpenACC?
    pub openacc: bool,
}

/// A kernel to be run.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// The function, as the image's table has it; the host's for a native device.
    pub func: usize,
    /// The argument block: an array of addresses on the device (for OpenACC: on the host, `count` entries).
    pub block: Addr,
    /// OpenMP: the compiler's list of launch arguments (num_teams, thread_limit), ended by 0, or null.
    pub args: *const usize,
    /// OpenACC: how many gangs, workers and vector lanes.
    pub dims: Option<[u32; 3]>,
    /// Entries of `block` for OpenACC.
    pub count: usize,
    /// OpenACC: the host's addresses.
    pub hosts: *const usize,
    /// thread_limit among `args`, 0 if there is none.
    pub limit: u32,
}

// SAFETY: addresses of lists that live as long as the launch; whoever keeps a launch replaces them by its
// own.
unsafe impl Send for Launch {}

/// An image for a type of device, as the program registered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// GOMP_VERSION of the compiler in the upper half, the device's in the lower.
    pub version: u32,
    /// The host's table: beginning and end of the functions, beginning and end of the variables.
    pub table: *const [usize; 4],
    /// The type of device it is for.
    pub target: i32,
    /// What the device's compiler wrote.
    pub data: *const core::ffi::c_void,
}

/// The device has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// An OpenACC queue, or all of the program's order at once.
pub(crate) type Queue = Option<i32>;

/// A device. Methods that move data answer false if the device has failed; the caller stops the program.
///
/// Addresses given to a method belong to this device and lie in memory that it has allocated: the callers
/// promise it.
pub trait Backend: Send + Sync {
    /// Name, type, abilities.
    fn properties(&self) -> Properties;
    /// Prepares the device, before anything else is asked of it. The error says why it cannot be used.
    fn open(&self) -> Result<(), String>;
    /// The program ends.
    fn close(&self) {}
    /// Memory with at least the alignment of 256 bytes.
    fn alloc(&self, bytes: usize) -> Option<Addr>;
    /// Gives it back.
    fn free(&self, at: Addr) -> bool;
    /// Host to device.
    fn copy_in(&self, to: Addr, from: usize, bytes: usize, queue: Queue) -> bool;
    /// Device to host.
    fn copy_out(&self, to: usize, from: Addr, bytes: usize, queue: Queue) -> bool;
    /// On the device.
    fn copy_within(&self, to: Addr, from: Addr, bytes: usize) -> bool;
    /// A box of two or three dimensions, row by row unless the device can do better: `rows` of (to, from),
    /// each `bytes` long.
    fn copy_rows(&self, direction: Direction, rows: &[(usize, usize)], bytes: usize) -> bool {
        rows.iter().all(|&(to, from)| match direction {
            Direction::In => self.copy_in(to, from, bytes, None),
            Direction::Out => self.copy_out(to, from, bytes, None),
            Direction::Within => self.copy_within(to, from, bytes),
        })
    }
    /// Loads an image: for each function and variable of the host's table first address and end.
    fn load(&self, image: &Image) -> Result<Vec<(Addr, Addr)>, String>;
    /// Forgets an image.
    fn unload(&self, _image: &Image) {}
    /// Runs a kernel to its end; with a queue, in that queue's order.
    fn launch(&self, launch: &Launch, queue: Queue) -> bool;
    /// Is nothing under way in the queue (in any)?
    fn idle(&self, _queue: Queue) -> bool {
        true
    }
    /// Waits for a queue (for all).
    fn wait(&self, _queue: Queue) -> bool {
        true
    }
    /// What is put into `queue` from here on waits for what is now in `other`.
    fn wait_in(&self, _queue: i32, other: i32) -> bool {
        self.wait(Some(other))
    }
    /// A number that the device tells of itself (acc_device_property_t), 0 if it does not.
    fn number(&self, _property: i32) -> usize {
        0
    }
    /// A text that it tells of itself.
    fn text(&self, _property: i32) -> Option<&'static CStr> {
        None
    }
    /// The device's handle for programs that know the maker's interface: 0 device, 1 context.
    fn handle(&self, _which: i32) -> usize {
        0
    }
    /// A queue's handle, likewise.
    fn stream(&self, _queue: i32) -> usize {
        0
    }

    /// Copies blocks to others of the same sizes: (to, from, bytes).
    fn copy_all(&self, pairs: &[(Addr, Addr, usize)]) -> bool {
        pairs.iter().all(|&(to, from, bytes)| self.copy_within(to, from, bytes))
    }
    /// Compares pairs of blocks bit for bit: the first pair that differs and the offset in it; `Err` if
    /// the device has failed.
    fn compare(&self, pairs: &[(Addr, Addr, usize)]) -> Result<Option<(usize, usize)>, Failed> {
        compare_on_host(self, pairs)
    }
    /// Does it sign its memory itself?
    fn signs(&self) -> bool {
        false
    }
    /// Signatures of pieces of memory.
    fn sign(&self, pieces: &[(Addr, usize)]) -> Result<Vec<Signature>, Failed> {
        signature::by_host(self, pieces)
    }
    /// From here on the device tells OpenACC's tools of its own events for the calling thread, with this;
    /// or no longer. `heard` is there until then.
    fn tell_tools(&self, _heard: Option<&mut Heard>) {}
    /// The program gets an address on the device: from here on others may use its memory, too.
    fn handed_out(&self) {}
}

/// A comparison that brings both blocks to the host.
pub(crate) fn compare_on_host<B: Backend + ?Sized>(
    device: &B,
    pairs: &[(Addr, Addr, usize)],
) -> Result<Option<(usize, usize)>, Failed> {
    const PIECE: usize = 1 << 20;
    let mut both = [vec![0u8; PIECE], vec![0u8; PIECE]];
    for (i, &(a, b, bytes)) in pairs.iter().enumerate() {
        for at in (0..bytes).step_by(PIECE) {
            let n = PIECE.min(bytes - at);
            for (buffer, from) in both.iter_mut().zip([a, b]) {
                if !device.copy_out(buffer.as_mut_ptr() as usize, from + at, n, None) {
                    return Err(Failed);
                }
            }
            if let Some(o) = (0..n).find(|&o| both[0][o] != both[1][o]) {
                return Ok(Some((i, at + o)));
            }
        }
    }
    Ok(None)
}

/// Which way a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Host to device.
    In,
    /// Device to host.
    Out,
    /// Device to device.
    Within,
}
