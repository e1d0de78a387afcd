//! The calls by which output goes out: libc's `write` and `writev` as programs and libraries call them (gfortran's library, libstdc++, Python, Rust), caught in
//! their tables like the journal's calls; and the function by which libc's own streams write, caught in libc's table of it.

use super::piece::Pipe;
use crate::ckpt;
use crate::sys;
use crate::sys::door::Door;
use crate::sys::maps::Mapping;
use crate::sys::signals;
use crate::sys::tables::{self, Instead};
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::*};

static WRITE: AtomicUsize = AtomicUsize::new(0);
static UNDER_WRITE: AtomicUsize = AtomicUsize::new(0);
static WRITEV: AtomicUsize = AtomicUsize::new(0);
static FILE_WRITE: OfStreams = OfStreams::new(c"_IO_file_write");

/// The functions and what is called instead.
pub fn instead() -> [Instead; 3] {
    [
        Instead { name: c"write", version: None, real: &WRITE, address: write as *const () as usize },
        Instead { name: c"__write", version: None, real: &UNDER_WRITE, address: write as *const () as usize },
        Instead { name: c"writev", version: None, real: &WRITEV, address: writev as *const () as usize },
    ]
}

/// Has libc's streams call our function. Once.
pub fn begin(maps: &[Mapping], door: &Door) {
    FILE_WRITE.lead(maps, file_write as *const () as usize, door);
}

/// Sends `len` bytes at `at`, all of them if the pipe is one that waits. Returns how many it has taken; the error, if none.
fn send(pipe: &Pipe, fd: c_int, at: usize, len: usize, interrupts: bool) -> Result<usize, c_int> {
    let mut done = 0;
    while done < len {
        match transfer(fd, libc::POLLOUT, len - done, interrupts, |left| pipe.take(at + done, left)) {
            Ok(n) => done += n,
            Err(e) if done == 0 => return Err(e),
            Err(_) => break,
        }
    }
    Ok(done)
}

/// Has `take`, which does not wait, take some of `len` bytes; waits for `event` if there is nothing to be had and `fd` is to be waited for.
/// `interrupts`: a signal may end that. A thread that is cancelled ends behind it.
pub fn transfer(
    fd: c_int,
    event: i16,
    len: usize,
    interrupts: bool,
    take: impl Fn(usize) -> isize,
) -> Result<usize, c_int> {
    ckpt::journal::calls::uncancelled(|| {
        loop {
            let mask = signals::block_all();
            ckpt::transition_begins();
            let n = take(len);
            ckpt::transition_is_over();
            signals::set_mask(mask);
            if n >= 0 {
                return Ok(n as usize);
            }
            if n != -(libc::EAGAIN as isize) || !waits(fd) {
                return Err(-n as c_int);
            }
            let mut p = libc::pollfd { fd, events: event, revents: 0 };
            // SAFETY: one entry.
            let r = unsafe { sys!(libc::SYS_poll, &raw mut p, 1, usize::MAX) };
            // The freeze signal may have been the one; but who has such handlers reckons with it.
            if r == -(libc::EINTR as isize) && interrupts && signals::any_interrupts() {
                return Err(libc::EINTR);
            }
        }
    })
}

/// A function of libc's own streams, which they call by a table.
pub struct OfStreams(&'static CStr, AtomicUsize);

impl OfStreams {
    /// The one of this name.
    pub const fn new(name: &'static CStr) -> Self {
        Self(name, AtomicUsize::new(0))
    }

    /// Its address.
    pub fn real(&self) -> usize {
        self.1.load(Relaxed)
    }

    /// Has them call `address` instead. Once.
    pub fn lead(&self, maps: &[Mapping], address: usize, door: &Door) {
        // SAFETY: looks up a symbol.
        let real = unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.0.as_ptr()) } as usize;
        if real != 0 && self.real() == 0 {
            self.1.store(real, Relaxed);
            tables::lead_own(maps, real, address, door);
        }
    }
}

fn waits(fd: c_int) -> bool {
    // SAFETY: plain call.
    unsafe { sys!(libc::SYS_fcntl, fd, libc::F_GETFL) & libc::O_NONBLOCK as isize == 0 }
}

fn set_errno(e: c_int) {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = e };
}

/// What such a call returns.
pub fn result(r: Result<usize, c_int>) -> isize {
    match r {
        Ok(n) => n as isize,
        Err(e) => {
            set_errno(e);
            -1
        }
    }
}

/// Writes to a pipe that is followed.
pub fn write_at(fd: c_int, at: usize, len: usize) -> Option<isize> {
    let pipe = (len > 0).then(|| Pipe::behind(fd)).flatten()?;
    Some(result(send(&pipe, fd, at, len, true)))
}

unsafe extern "C" fn write(fd: c_int, at: *const c_void, len: usize) -> isize {
    if let Some(n) = write_at(fd, at as usize, len) {
        return n;
    }
    // SAFETY: libc's function, with the caller's arguments.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(c_int, *const c_void, usize) -> isize>(
            WRITE.load(Relaxed),
        )(fd, at, len)
    }
}

/// Several pieces up to this length go out as one.
const TOGETHER: usize = 4096;

unsafe extern "C" fn writev(fd: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    let Some(pipe) = (count > 0).then(|| Pipe::behind(fd)).flatten() else {
        // SAFETY: libc's function, with the caller's arguments.
        return unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(c_int, *const libc::iovec, c_int) -> isize>(
                WRITEV.load(Relaxed),
            )(fd, parts, count)
        };
    };
    // SAFETY: the caller's list.
    let parts = unsafe { core::slice::from_raw_parts(parts, count as usize) };
    let whole: usize = parts.iter().map(|p| p.iov_len).sum();
    let mut text = [0u8; TOGETHER];
    if whole <= TOGETHER {
        let mut n = 0;
        for p in parts.iter().filter(|p| p.iov_len > 0) {
            // SAFETY: the caller's bytes.
            let part = unsafe { core::slice::from_raw_parts(p.iov_base.cast::<u8>(), p.iov_len) };
            text[n..n + part.len()].copy_from_slice(part);
            n += part.len();
        }
        let at = text.as_ptr() as usize;
        return result(send(&pipe, fd, at, n, true));
    }
    let mut done = 0;
    for p in parts {
        match send(&pipe, fd, p.iov_base as usize, p.iov_len, true) {
            Ok(n) => {
                done += n;
                if n < p.iov_len {
                    break;
                }
            }
            Err(_) if done > 0 => break,
            Err(e) => return result(Err(e)),
        }
    }
    done as isize
}

/// The flag of a stream that has met an error, in its first word (`<bits/types/struct_FILE.h>`: the layout is part of libc's interface).
const ERROR_SEEN: c_int = 0x20;

/// How libc's streams write: all of it, or the stream has met an error.
unsafe extern "C" fn file_write(stream: *mut libc::FILE, at: *const c_void, len: isize) -> isize {
    // SAFETY: a stream, by libc's promise.
    let fd = unsafe { libc::fileno(stream) };
    let Some(pipe) = (len > 0).then(|| Pipe::behind(fd)).flatten() else {
        // SAFETY: libc's function, with its arguments.
        return unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(*mut libc::FILE, *const c_void, isize) -> isize>(
                FILE_WRITE.real(),
            )(stream, at, len)
        };
    };
    let mut done = 0;
    while done < len {
        match send(&pipe, fd, at as usize + done as usize, (len - done) as usize, false) {
            Ok(n) => done += n as isize,
            Err(e) => {
                set_errno(e);
                // SAFETY: the stream's first word; its lock is held.
                unsafe { *stream.cast::<c_int>() |= ERROR_SEEN };
                break;
            }
        }
    }
    done
}
