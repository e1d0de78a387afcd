//! The calls by which output goes out: libc's `write` and `writev` as programs and libraries call them (gfortran's library, libstdc++, Python, Rust), caught in
//! their tables like the journal's calls; and the function by which libc's own streams write, caught in libc's table of it.

use super::super::transfer::{OfStreams, Way, result, transfer};
use super::piece::Pipe;
use crate::sys::door::Door;
use crate::sys::got::calls_instead;
use crate::sys::maps::Mapping;
use core::ffi::{c_int, c_void};

calls_instead! {
    fn write(fd: c_int, at: *const c_void, len: usize) -> isize = |real| write_at(fd, at as usize, len).unwrap_or_else(real);
    fn __write(fd: c_int, at: *const c_void, len: usize) -> isize = |real| write_at(fd, at as usize, len).unwrap_or_else(real);
    fn writev(fd: c_int, parts: *const libc::iovec, count: c_int) -> isize = |real| {
        let pipe = (count > 0).then(|| Pipe::behind(fd)).flatten();
        // SAFETY: the caller's list.
        pipe.map_or_else(real, |pipe| send_all(&pipe, fd, unsafe { core::slice::from_raw_parts(parts, count as usize) }))
    };
}

/// Sends `len` bytes at `at`, all of them if the pipe is one that waits. Returns how many it has taken; the error, if none.
fn send(pipe: &Pipe, fd: c_int, at: usize, len: usize, interrupts: bool) -> Result<usize, c_int> {
    let mut done = 0;
    while done < len {
        match transfer(Way::Out, fd, interrupts, || pipe.take(at + done, len - done)) {
            Ok(n) => done += n,
            Err(e) if done == 0 => return Err(e),
            Err(_) => break,
        }
    }
    Ok(done)
}

/// Is it a pipe that is followed?
pub(crate) fn is_followed(fd: c_int) -> bool {
    fd >= 0 && Pipe::behind(fd).is_some()
}

/// Writes to a pipe that is followed.
pub(crate) fn write_at(fd: c_int, at: usize, len: usize) -> Option<isize> {
    let pipe = (len > 0).then(|| Pipe::behind(fd)).flatten()?;
    Some(result(send(&pipe, fd, at, len, true)))
}

/// Several pieces up to this length go out as one.
const TOGETHER: usize = 4096;

/// Sends what is in `parts`. Returns what writev(2) does.
fn send_all(pipe: &Pipe, fd: c_int, parts: &[libc::iovec]) -> isize {
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
        return result(send(pipe, fd, at, n, true));
    }
    let mut done = 0;
    for p in parts {
        match send(pipe, fd, p.iov_base as usize, p.iov_len, true) {
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

static FILE_WRITE: OfStreams = OfStreams::new(c"_IO_file_write");

/// Has libc's streams call our function. Once.
pub(crate) fn begin(maps: &[Mapping], door: &Door) {
    FILE_WRITE.lead(maps, file_write as *const () as usize, door);
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
                result(Err(e));
                // SAFETY: the stream's first word; its lock is held.
                unsafe { *stream.cast::<c_int>() |= ERROR_SEEN };
                break;
            }
        }
    }
    done
}
