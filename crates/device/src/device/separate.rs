//! *separate*: a device with memory of its own on this machine (PROMP_DEVICES=separate[:n][,guard]).
//! Target regions run as the host's versions of their functions, in the calling thread, but on the
//! device's memory: what a program has not mapped it does not find there. With `guard` that is checked
//! (guard.rs).
//!
//! Its memory is a range of addresses of its own, given out first-fit. Variables of `declare target` are
//! the host's: the host's version of a function names them directly.

use super::backend::{Addr, Backend, Failed, Image, Launch, Properties, Queue};
use super::first_fit::Ranges;
use super::signature::{self, Signature};
use super::{guard, native};
use crate::icv::{Icvs, environment, globals};
use crate::sys;
use crate::sys::lock::Locked;
use std::sync::OnceLock;

/// Addresses that one device has.
const SIZE: usize = 64 << 30;
const ALIGN: usize = 256;
/// The range grows by this.
const STEP: usize = 4 << 20;
/// What is freed in pieces of this size goes back to the system.
const DROP: usize = 1 << 20;

#[derive(Default)]
struct Memory {
    base: usize,
    /// Bytes from `base` on that can be touched.
    usable: usize,
    pieces: Ranges,
}

/// One of them.
pub(crate) struct Separate {
    number: u32,
    guarded: bool,
    memory: Locked<Memory>,
    /// What regions begin with.
    icvs: OnceLock<Icvs>,
}

/// acc_device_not_host.
pub(crate) const ACC_TYPE: i32 = 4;

impl Memory {
    fn take(&mut self, bytes: usize) -> Option<usize> {
        let at = self.pieces.take(bytes)?;
        if self.pieces.top() > self.usable {
            let more = self.pieces.top().next_multiple_of(STEP).min(SIZE);
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: part of the range that `open` has reserved.
            let r = unsafe { sys!(libc::SYS_mprotect, self.base + self.usable, more - self.usable, prot) };
            if r != 0 {
                self.pieces.put(at);
                return None;
            }
            self.usable = more;
        }
        Some(self.base + at)
    }

    fn put(&mut self, at: usize) -> bool {
        let Some(bytes) = at.checked_sub(self.base).and_then(|at| self.pieces.put(at)) else { return false };
        if bytes >= DROP {
            let first = at.next_multiple_of(4096);
            let end = (at + bytes) & !4095;
            // SAFETY: nobody's memory any more.
            unsafe { sys!(libc::SYS_madvise, first, end - first, libc::MADV_DONTNEED) };
        }
        true
    }
}

impl Separate {
    /// Device `number`.
    pub(crate) fn new(number: u32, guarded: bool) -> Self {
        Self { number, guarded, memory: Locked::new(Memory::default()), icvs: OnceLock::new() }
    }

    /// Runs `f`, which touches the device's memory from outside of a region.
    fn touch<R>(&self, f: impl FnOnce() -> R) -> R {
        if !self.guarded {
            return f();
        }
        let range = self.memory.with(|m| (m.base, m.usable));
        guard::open(range);
        let r = f();
        guard::shut(range);
        r
    }

    fn copy(&self, to: usize, from: usize, bytes: usize) -> bool {
        // SAFETY: by the trait's contract.
        self.touch(|| unsafe { core::ptr::copy(from as *const u8, to as *mut u8, bytes) });
        true
    }
}

impl Backend for Separate {
    fn properties(&self) -> Properties {
        Properties { name: "separate", acc_type: ACC_TYPE, shared_memory: false, native: true, openacc: true }
    }

    fn open(&self) -> Result<(), String> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping.
        let base = unsafe { sys!(libc::SYS_mmap, 0, SIZE, libc::PROT_NONE, flags, usize::MAX, 0) };
        if base < 0 {
            return Err(format!("there are no addresses for its memory (error {})", -base));
        }
        // A device that holds much is touched for the first time in large pages; a small one stays small.
        let large = (base as usize + STEP, SIZE - STEP);
        // SAFETY: advice about the range above; where it is not heeded nothing is lost.
        unsafe { sys!(libc::SYS_madvise, large.0, large.1, libc::MADV_HUGEPAGE) };
        self.memory.with(|m| {
            m.base = base as usize;
            m.pieces = Ranges::new(SIZE);
        });
        if self.guarded {
            guard::install();
        }
        Ok(())
    }

    fn alloc(&self, bytes: usize) -> Option<Addr> {
        let bytes = bytes.max(1).checked_next_multiple_of(ALIGN)?;
        // The whole range is shut while it grows, too: what is made usable is shut at once.
        let at = self.memory.with(|m| m.take(bytes))?;
        if self.guarded {
            // As on a device, nobody may count on zeros.
            // SAFETY: just given out.
            self.touch(|| unsafe { core::ptr::write_bytes(at as *mut u8, 0xff, bytes) });
        }
        Some(at)
    }

    fn free(&self, at: Addr) -> bool {
        self.memory.with(|m| m.put(at))
    }

    fn copy_in(&self, to: Addr, from: usize, bytes: usize, _queue: Queue) -> bool {
        self.copy(to, from, bytes)
    }
    fn copy_out(&self, to: usize, from: Addr, bytes: usize, _queue: Queue) -> bool {
        self.copy(to, from, bytes)
    }
    fn copy_within(&self, to: Addr, from: Addr, bytes: usize) -> bool {
        self.copy(to, from, bytes)
    }

    fn load(&self, _image: &Image) -> Result<Vec<(Addr, Addr)>, String> {
        Ok(Vec::new())
    }

    fn launch(&self, launch: &Launch, _queue: Queue) -> bool {
        let icvs = *self.icvs.get_or_init(|| environment::of_device(self.number, globals().initial.get()));
        let run = || native::run((launch.func, launch.block), launch.limit, Some((self.number, icvs)));
        if self.guarded {
            let range = self.memory.with(|m| (m.base, m.usable));
            guard::region(range, self.number, launch.func, run);
        } else {
            run();
        }
        true
    }

    fn text(&self, property: i32) -> Option<&'static core::ffi::CStr> {
        match property {
            0x10001 => Some(c"separate"),
            0x10002 => Some(c"promp"),
            0x10003 => Some(c"1.0"),
            _ => None,
        }
    }

    fn number(&self, property: i32) -> usize {
        match property {
            1 => SIZE,
            2 => self.memory.with(|m| SIZE - m.pieces.taken()),
            _ => 0,
        }
    }

    fn compare(&self, pairs: &[(Addr, Addr, usize)]) -> Result<Option<(usize, usize)>, Failed> {
        // SAFETY: by the trait's contract.
        let bytes = |at, n| unsafe { core::slice::from_raw_parts(at as *const u8, n) };
        Ok(self.touch(|| {
            pairs.iter().enumerate().find_map(|(i, &(a, b, n))| {
                let (a, b) = (bytes(a, n), bytes(b, n));
                if a == b { None } else { a.iter().zip(b).position(|(x, y)| x != y).map(|o| (i, o)) }
            })
        }))
    }

    fn signs(&self) -> bool {
        true
    }

    fn sign(&self, pieces: &[(Addr, usize)]) -> Result<Vec<Signature>, Failed> {
        // SAFETY: by the trait's contract.
        let of = |&(at, n): &(Addr, usize)| {
            signature::of(unsafe { core::slice::from_raw_parts(at as *const u8, n) })
        };
        Ok(self.touch(|| pieces.iter().map(of).collect()))
    }
}
