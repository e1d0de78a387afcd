//! What pipes of the program's own hold, and have room for: pipes with both ends in this process (a lock that is a byte, as libuv's; a queue between threads), or whose writers are gone. It is
//! part of a checkpoint.

use crate::image::OpenFile;
use crate::sys;
use crate::sys::syscall::high;
use crate::{open_descriptors, streams};
use std::os::fd::AsRawFd;

/// Notes in `open` what pipes hold that nobody else reads from, and how much they can. While the threads are frozen; the error says why there can be no checkpoint.
pub(crate) fn look(open: &mut [OpenFile]) -> Result<(), String> {
    for i in 0..open.len() {
        let f = &open[i];
        let n = open_descriptors::unread(f.fd) as usize;
        let first = || !open[..i].iter().any(|g| g.path == f.path && g.is_readable());
        if f.inherited || !f.is_readable() || !open_descriptors::is_pipe(f.fd) || !first() {
            continue;
        }
        let own = streams::is_own(f, open) || (f.is_own_pipe() && streams::has_ended(f.fd));
        if own {
            open[i].length = room(open[i].fd);
        }
        if n == 0 {
            continue;
        }
        let f = &open[i];
        // In a pipe of packets (its writers say so) it matters where one ends.
        let packets = open.iter().any(|g| g.path == f.path && g.flags & libc::O_DIRECT != 0);
        let text = (own && !packets).then(|| text_in(f.fd, n)).flatten();
        let Some(text) = text else {
            return Err(format!("the pipe behind descriptor {} holds {n} bytes that nobody has read", f.fd));
        };
        open[i].unread = text;
    }
    Ok(())
}

/// Bytes that the pipe has room for.
fn room(fd: i32) -> u64 {
    // SAFETY: plain call.
    unsafe { sys!(libc::SYS_fcntl, fd, libc::F_GETPIPE_SZ) }.max(0) as u64
}

/// The `n` bytes in a pipe, which stay there.
fn text_in(fd: i32, n: usize) -> Option<Vec<u8>> {
    let copy = Pipe::new()?;
    let mut text = vec![0; n];
    // SAFETY: descriptors, and a buffer of that length.
    let read = unsafe {
        sys!(libc::SYS_fcntl, copy.to, libc::F_SETPIPE_SZ, room(fd));
        let there = sys!(libc::SYS_tee, fd, copy.to, n, libc::SPLICE_F_NONBLOCK);
        if there == n as isize { sys!(libc::SYS_read, copy.from, text.as_mut_ptr(), n) } else { -1 }
    };
    (read == n as isize).then_some(text)
}

/// Makes the program's own pipes hold what they held, with the room that they had; all are open.
pub(crate) fn put_back(saved: &[OpenFile]) -> Result<(), String> {
    for f in saved {
        let whose = streams::is_own(f, saved) || !f.unread.is_empty();
        if whose && f.is_readable() {
            let mut rest = vec![0u8; open_descriptors::unread(f.fd) as usize];
            // SAFETY: a buffer of that length; so much is there.
            unsafe { sys!(libc::SYS_read, f.fd, rest.as_mut_ptr(), rest.len()) };
        }
    }
    let failed = |f: &OpenFile, why: std::io::ErrorKind| format!("descriptor {} ({}): {why}", f.fd, f.path);
    for f in saved.iter().filter(|f| f.length != 0 && streams::is_own(f, saved) && f.length != room(f.fd)) {
        // SAFETY: plain call.
        match unsafe { sys!(libc::SYS_fcntl, f.fd, libc::F_SETPIPE_SZ, f.length) } {
            r if r < 0 => return Err(failed(f, sys::why(r))),
            _ => {}
        }
    }
    for f in saved.iter().filter(|f| !f.unread.is_empty()) {
        // There may be no writer any more.
        let how = libc::O_WRONLY | libc::O_NONBLOCK;
        let to = promp_files::open_again(f.fd, how).map_err(|e| failed(f, e.kind()))?;
        // SAFETY: a descriptor of ours, and a buffer.
        let r = unsafe {
            // Of an older image.
            if (room(f.fd) as usize) < f.unread.len() {
                sys!(libc::SYS_fcntl, to.as_raw_fd(), libc::F_SETPIPE_SZ, f.unread.len());
            }
            sys!(libc::SYS_write, to.as_raw_fd(), f.unread.as_ptr(), f.unread.len())
        };
        if r != f.unread.len() as isize {
            return Err(failed(f, sys::why(if r < 0 { r } else { -(libc::ENOSPC as isize) })));
        }
    }
    Ok(())
}

/// A pipe of ours.
struct Pipe {
    from: i32,
    to: i32,
}

impl Pipe {
    fn new() -> Option<Self> {
        let mut pair = [0i32; 2];
        // SAFETY: two integers.
        let r = unsafe { sys!(libc::SYS_pipe2, pair.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) };
        let [from, to] = pair.map(|fd| high(fd as isize));
        (r >= 0).then_some(Self { from, to })
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        for fd in [self.from, self.to] {
            // SAFETY: a descriptor of ours.
            unsafe { sys!(libc::SYS_close, fd) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pipe_holds_stays_and_comes_back() {
        let p = Pipe::new().expect("a pipe");
        // SAFETY: descriptors of ours, and buffers.
        let put = |text: &[u8]| unsafe {
            assert_eq!(libc::write(p.to, text.as_ptr().cast(), text.len()), text.len() as isize)
        };
        // SAFETY: plain call.
        let change = |bytes: i32| unsafe { libc::fcntl(p.to, libc::F_SETPIPE_SZ, bytes) };
        assert_eq!(change(1 << 17), 1 << 17);
        put(b"two ");
        put(&[b'x'; 9000]);
        let all = [(p.from, libc::O_RDONLY), (p.to, libc::O_WRONLY)];
        let mut all =
            all.map(|(fd, flags)| OpenFile { fd, flags, path: streams::path_of(fd), ..OpenFile::default() });
        for _ in 0..2 {
            look(&mut all).expect("saved");
            assert_eq!((all[0].unread.len(), &all[0].unread[..6]), (9004, &b"two xx"[..]));
            assert!(all[1].unread.is_empty());
        }
        put(b"new");
        assert_eq!((all[0].length, change(1 << 14)), (1 << 17, 1 << 14));
        put_back(&all).expect("put back");
        assert_eq!(text_in(p.from, open_descriptors::unread(p.from) as usize), Some(all[0].unread.clone()));
        assert_eq!(room(p.from), 1 << 17);
        // Where the other end is not ours, somebody else may read or write.
        assert!(look(&mut all[..1]).is_err());
        all[1].flags |= libc::O_DIRECT;
        assert!(look(&mut all).is_err());
    }
}
