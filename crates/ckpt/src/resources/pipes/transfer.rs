//! Moving bytes through a pipe on the program's threads, also in its signal handlers: one step for checkpoints and rollbacks, which waits for nothing;
//! who finds nothing to be had waits between two steps. And libc's streams, which write and read by a table of functions.

use crate as ckpt;
use crate::open_descriptors;
use crate::sys;
use crate::sys::door::Door;
use crate::sys::maps::Mapping;
use crate::sys::{got, signals};
use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicUsize, Ordering::*};

/// What a pipe takes at once by default: more is not noted at once.
pub(crate) const MOST: usize = 64 << 10;

/// Which way the bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the program.
    In,
    /// From the program.
    Out,
    /// From the program to a file: nobody has to make room for it.
    Log,
}

impl Way {
    fn event(self) -> i16 {
        match self {
            Way::In => libc::POLLIN,
            Way::Out | Way::Log => libc::POLLOUT,
        }
    }

    /// Moves at most `len` bytes between `fd` and `at`, without waiting. Returns how many; or the system's error.
    pub(crate) fn at_once(self, fd: c_int, at: usize, len: usize) -> isize {
        let len = len.min(MOST);
        if self == Way::Log {
            // SAFETY: the kernel checks the address.
            return unsafe { sys!(libc::SYS_write, fd, at, len) };
        }
        let (new, old, most) = match self {
            Way::In => (libc::SYS_preadv2, libc::SYS_read, len),
            // So much fits if anything does.
            Way::Out | Way::Log => (libc::SYS_pwritev2, libc::SYS_write, len.min(libc::PIPE_BUF)),
        };
        let part = libc::iovec { iov_base: at as *mut _, iov_len: len };
        // SAFETY: the kernel checks the address.
        let n = unsafe { sys!(new, fd, &raw const part, 1, -1isize, -1isize, libc::RWF_NOWAIT) };
        // Kernels before 6.5.
        const OLD: [i32; 3] = [libc::EOPNOTSUPP, libc::ENOSYS, libc::EINVAL];
        if !OLD.contains(&(-n as i32)) {
            return n;
        }
        let mut p = libc::pollfd { fd, events: self.event(), revents: 0 };
        // SAFETY: one entry, and no waiting.
        match unsafe { sys!(libc::SYS_poll, &raw mut p, 1, 0) } {
            0 => -(libc::EAGAIN as isize),
            // SAFETY: as above.
            _ => unsafe { sys!(old, fd, at, most) },
        }
    }
}

/// Waits for `fd`; true if a signal has come first. Libc's call, in which the thread may be cancelled, and a signal handler may jump away.
fn wait(fd: c_int, event: i16) -> bool {
    let mut p = libc::pollfd { fd, events: event, revents: 0 };
    // SAFETY: one entry; the calling thread's own error.
    unsafe { libc::poll(&mut p, 1, -1) < 0 && *libc::__errno_location() == libc::EINTR }
}

/// Has `step`, which does not wait, move some bytes; waits if there is nothing to be had and `fd` is one to be waited for.
/// `interrupts`: a signal may end that. The error is the system's.
pub(crate) fn transfer(
    way: Way,
    fd: c_int,
    interrupts: bool,
    step: impl Fn() -> isize,
) -> Result<usize, c_int> {
    loop {
        // No point at which it can be cancelled: nothing of libc's.
        let mask = signals::block_all();
        ckpt::transition_begins();
        let n = step();
        ckpt::transition_is_over();
        signals::set_mask(mask);
        if n >= 0 {
            return Ok(n as usize);
        }
        let waits = open_descriptors::flags_of(fd) & libc::O_NONBLOCK == 0;
        if n != -(libc::EAGAIN as isize) || !waits {
            return Err(-n as c_int);
        }
        // The freeze signal may have been the one; but who has such handlers reckons with it.
        if wait(fd, way.event()) && interrupts && signals::any_interrupts() {
            return Err(libc::EINTR);
        }
    }
}

/// What a function of libc's returns.
pub(crate) fn result(r: Result<usize, c_int>) -> isize {
    match r {
        Ok(n) => n as isize,
        Err(e) => {
            // SAFETY: the calling thread's own.
            unsafe { *libc::__errno_location() = e };
            -1
        }
    }
}

/// A function of libc's own streams, which they call by a table.
pub(crate) struct OfStreams(&'static CStr, AtomicUsize);

impl OfStreams {
    /// The one of this name.
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self(name, AtomicUsize::new(0))
    }

    /// Its address.
    pub(crate) fn real(&self) -> usize {
        self.1.load(Relaxed)
    }

    /// Has them call `address` instead. Once.
    pub(crate) fn lead(&self, maps: &[Mapping], address: usize, door: &Door) {
        // SAFETY: looks up a symbol.
        let real = unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.0.as_ptr()) } as usize;
        if real != 0 && self.real() == 0 {
            self.1.store(real, Relaxed);
            got::lead_own(maps, real, address, door);
        }
    }
}
