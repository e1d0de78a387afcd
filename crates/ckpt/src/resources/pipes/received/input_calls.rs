//! The calls by which input comes: `read` and `readv` as programs and libraries call them, and the function by which libc's own streams read. Calls that ask
//! whether there is input, or take it in another way, are noted: they would not know of what is read again.

use super::super::sent::output_calls::{is_followed, write_at};
use super::super::transfer::{OfStreams, Way, result, transfer};
use super::{Input, any};
use crate::journal::file_calls::irrevocably;
use crate::masks::Filtered;
use crate::sys::door::Door;
use crate::sys::got::calls_instead;
use crate::sys::maps::Mapping;
use core::ffi::{c_int, c_long, c_ulong, c_void};
use libc::sigset_t;

type Polled = *mut libc::pollfd;
type Set = *mut libc::fd_set;
type Parts = *const libc::iovec;

calls_instead! {
    fn read(fd: c_int, at: *mut c_void, len: usize) -> isize = |real| read_at(fd, at, len).unwrap_or_else(real);
    fn __read(fd: c_int, at: *mut c_void, len: usize) -> isize = |real| read_at(fd, at, len).unwrap_or_else(real);
    fn __read_chk(fd: c_int, at: *mut c_void, len: usize, size: usize) -> isize = |real|
        read_at(fd, at, if len <= size { len } else { 0 }).unwrap_or_else(real);
    fn readv(fd: c_int, parts: *const libc::iovec, count: c_int) -> isize = |real| {
        if !any() {
            return real();
        }
        // One part is as good as all: the caller has to reckon with less.
        // SAFETY: the caller's list.
        let first = (0..count.max(0) as usize).map(|i| unsafe { *parts.add(i) }).find(|p| p.iov_len > 0);
        first.and_then(|p| read_at(fd, p.iov_base, p.iov_len)).unwrap_or_else(real)
    };
    fn poll(list: Polled, n: c_ulong, timeout: c_int) -> c_int = |real| { polls(list, n); real() };
    fn __poll_chk(list: Polled, n: c_ulong, timeout: c_int, size: usize) -> c_int = |real| { polls(list, n); real() };
    fn ppoll(list: Polled, n: c_ulong, timeout: *const c_void, mask: *const sigset_t) -> c_int { let own = Filtered::of(mask); let mask = own.set(); } = |real| {
        polls(list, n);
        real()
    };
    fn select(n: c_int, read: Set, write: Set, other: Set, timeout: *mut c_void) -> c_int = |real| {
        selects(n, read);
        real()
    };
    fn pselect(n: c_int, read: Set, write: Set, other: Set, timeout: *const c_void, mask: *const sigset_t) -> c_int { let own = Filtered::of(mask); let mask = own.set(); } = |real| {
        selects(n, read);
        real()
    };
    fn epoll_ctl(epoll: c_int, what: c_int, fd: c_int, event: *mut c_void) -> c_int = |real| { asks(fd); real() };
    fn ioctl(fd: c_int, request: c_ulong, to: *mut c_void) -> c_int = |real| {
        if request == libc::FIONREAD {
            asks(fd);
        }
        real()
    };
    fn preadv2(fd: c_int, parts: Parts, count: c_int, at: c_long, flags: c_int) -> isize = |real|
        moves(fd, NONE, "", real);
    fn preadv64v2(fd: c_int, parts: Parts, count: c_int, at: c_long, flags: c_int) -> isize = |real|
        moves(fd, NONE, "", real);
    fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long = |real| {
        let [from, second, third] = [a, b, c].map(|fd| fd as c_int);
        match number {
            libc::SYS_read => read_at(from, b as *mut c_void, c).map_or_else(real, |n| n as c_long),
            libc::SYS_write => write_at(from, b, c).map_or_else(real, |n| n as c_long),
            libc::SYS_readv | libc::SYS_preadv2 => moves(from, NONE, "", real),
            libc::SYS_writev => moves(NONE, from, "syscall(SYS_writev) to a pipe", real),
            libc::SYS_pwritev2 => moves(NONE, from, PWRITEV2, real),
            libc::SYS_splice => moves(from, third, SPLICE, real),
            libc::SYS_tee => moves(from, second, TEE, real),
            libc::SYS_vmsplice => moves(from, from, VMSPLICE, real),
            libc::SYS_sendfile => moves(second, from, SENDFILE, real),
            _ => real(),
        }
    };
    fn splice(from: c_int, at: *mut c_void, to: c_int, there: *mut c_void, n: usize, flags: c_int) -> isize = |real|
        moves(from, to, SPLICE, real);
    fn tee(from: c_int, to: c_int, len: usize, flags: c_int) -> isize = |real| moves(from, to, TEE, real);
    fn vmsplice(fd: c_int, parts: Parts, count: usize, flags: c_int) -> isize = |real|
        moves(fd, fd, VMSPLICE, real);
    fn sendfile(to: c_int, from: c_int, at: *mut c_long, len: usize) -> isize = |real|
        moves(from, to, SENDFILE, real);
    fn sendfile64(to: c_int, from: c_int, at: *mut c_long, len: usize) -> isize = |real|
        moves(from, to, SENDFILE, real);
    fn pwritev2(fd: c_int, parts: Parts, count: c_int, at: c_long, flags: c_int) -> isize = |real|
        moves(NONE, fd, PWRITEV2, real);
    fn pwritev64v2(fd: c_int, parts: Parts, count: c_int, at: c_long, flags: c_int) -> isize = |real|
        moves(NONE, fd, PWRITEV2, real);
}

/// No descriptor.
const NONE: c_int = -1;
const SPLICE: &str = "splice to a pipe";
const TEE: &str = "tee to a pipe";
const VMSPLICE: &str = "vmsplice to a pipe";
const SENDFILE: &str = "sendfile to a pipe";
const PWRITEV2: &str = "pwritev2 to a pipe";

/// Makes a call that takes bytes `from` one descriptor and gives them `to` another one, past what is noted of
/// pipes. `what`: it, to a pipe that is followed.
fn moves<R>(from: c_int, to: c_int, what: &str, call: impl Fn() -> R) -> R {
    asks(from);
    match is_followed(to) {
        true => irrevocably(what, call),
        false => call(),
    }
}

/// Reads from a pipe that is followed.
fn read_at(fd: c_int, at: *mut c_void, len: usize) -> Option<isize> {
    let pipe = (len > 0).then(|| Input::behind(fd)).flatten()?;
    Some(result(transfer(Way::In, fd, true, || pipe.take(at as usize, len))))
}

fn asks(fd: c_int) {
    if let Some(pipe) = Input::behind(fd) {
        pipe.is_unsure();
    }
}

fn polls(list: Polled, n: c_ulong) {
    if any() && !list.is_null() {
        // SAFETY: the caller's list.
        let list = unsafe { core::slice::from_raw_parts(list, n as usize) };
        list.iter().filter(|p| p.events & libc::POLLIN != 0).for_each(|p| asks(p.fd));
    }
}

fn selects(n: c_int, read: Set) {
    if any() && !read.is_null() {
        // SAFETY: the caller's set, of at least so many descriptors.
        (0..n.min(libc::FD_SETSIZE as c_int))
            .filter(|fd| unsafe { libc::FD_ISSET(*fd, read) })
            .for_each(asks);
    }
}

static FILE_READ: OfStreams = OfStreams::new(c"_IO_file_read");

/// Has libc's streams call our function. Once.
pub(crate) fn begin(maps: &[Mapping], door: &Door) {
    FILE_READ.lead(maps, file_read as *const () as usize, door);
}

/// How libc's streams read.
unsafe extern "C" fn file_read(stream: *mut libc::FILE, at: *mut c_void, len: isize) -> isize {
    // SAFETY: a stream, by libc's promise.
    let fd = unsafe { libc::fileno(stream) };
    match (len > 0).then(|| Input::behind(fd)).flatten() {
        Some(pipe) => result(transfer(Way::In, fd, false, || pipe.take(at as usize, len as usize))),
        // SAFETY: libc's function, with its arguments.
        None => unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(*mut libc::FILE, *mut c_void, isize) -> isize>(
                FILE_READ.real(),
            )(stream, at, len)
        },
    }
}
