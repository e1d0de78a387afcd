//! The calls by which output goes out: libc's `write` and `writev` as programs and libraries call them (gfortran's library, libstdc++, Python, Rust), caught in
//! their tables like the journal's calls; and the function by which libc's own streams write, caught in libc's table of it.

use super::piece::Pipe;
use crate::ckpt;
use crate::sys;
use crate::sys::door::Door;
use crate::sys::maps::Mapping;
use crate::sys::signals;
use crate::sys::tables::{self, Instead};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::*};

static WRITE: AtomicUsize = AtomicUsize::new(0);
static UNDER_WRITE: AtomicUsize = AtomicUsize::new(0);
static WRITEV: AtomicUsize = AtomicUsize::new(0);
static FILE_WRITE: AtomicUsize = AtomicUsize::new(0);

/// The functions and what is called instead.
pub fn instead() -> [Instead; 3] {
    [
        Instead { name: c"write", version: None, real: &WRITE, address: write as *const () as usize },
        Instead { name: c"__write", version: None, real: &UNDER_WRITE, address: write as *const () as usize },
        Instead { name: c"writev", version: None, real: &WRITEV, address: writev as *const () as usize },
    ]
}

/// Finds the function of libc's streams and has it call ours. Once.
pub fn begin(maps: &[Mapping], door: &Door) {
    // SAFETY: looks up a symbol.
    let real = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_IO_file_write".as_ptr()) } as usize;
    if real != 0 && FILE_WRITE.load(Relaxed) == 0 {
        FILE_WRITE.store(real, Relaxed);
        tables::lead_own(maps, real, file_write as *const () as usize, door);
    }
}

/// Sends `len` bytes at `at`, all of them if the pipe is one that waits. Returns how many it has taken; the error, if none.
fn send(pipe: &Pipe, fd: c_int, at: usize, len: usize) -> Result<usize, c_int> {
    let mut done = 0;
    while done < len {
        let mask = signals::block_all();
        ckpt::transition_begins();
        let n = pipe.take(at + done, len - done);
        ckpt::transition_is_over();
        signals::set_mask(mask);
        if n > 0 {
            done += n as usize;
        } else if n == -(libc::EAGAIN as isize) && waits(fd) {
            let mut p = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
            // SAFETY: one entry.
            unsafe { sys!(libc::SYS_poll, &raw mut p, 1, usize::MAX) };
        } else if done > 0 {
            break;
        } else {
            return Err(-n as c_int);
        }
    }
    Ok(done)
}

fn waits(fd: c_int) -> bool {
    // SAFETY: plain call.
    unsafe { sys!(libc::SYS_fcntl, fd, libc::F_GETFL) & libc::O_NONBLOCK as isize == 0 }
}

fn set_errno(e: c_int) {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = e };
}

fn result(r: Result<usize, c_int>) -> isize {
    match r {
        Ok(n) => n as isize,
        Err(e) => {
            set_errno(e);
            -1
        }
    }
}

unsafe extern "C" fn write(fd: c_int, at: *const c_void, len: usize) -> isize {
    if len > 0
        && let Some(pipe) = Pipe::behind(fd)
    {
        return ckpt::journal::calls::uncancelled(|| result(send(&pipe, fd, at as usize, len)));
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
        return ckpt::journal::calls::uncancelled(|| result(send(&pipe, fd, at, n)));
    }
    ckpt::journal::calls::uncancelled(|| {
        let mut done = 0;
        for p in parts {
            match send(&pipe, fd, p.iov_base as usize, p.iov_len) {
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
    })
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
                FILE_WRITE.load(Relaxed),
            )(stream, at, len)
        };
    };
    ckpt::journal::calls::uncancelled(|| {
        let mut done = 0;
        while done < len {
            match send(&pipe, fd, at as usize + done as usize, (len - done) as usize) {
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
    })
}
