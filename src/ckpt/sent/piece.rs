//! Sending a piece of output, or not. On the program's threads, also in its signal handlers: system calls and memory of the stack only. All signals
//! are blocked, the lock is held, no checkpoint is taken: nothing here waits.

use super::lines::{Next, PIECE};
use super::ring::SIZE;
use super::{Counters, Stream};
use crate::ckpt::{self, keep};
use crate::say;
use crate::sys;
use crate::sys::door::Door;
use core::sync::atomic::Ordering::*;

/// What a pipe takes at once by default: more is not noted at once.
pub const MOST: usize = 64 << 10;

/// What is behind a descriptor.
pub fn identity(fd: i32) -> Option<libc::stat> {
    // SAFETY: zeros are a value of it; the kernel writes it.
    unsafe {
        let mut s: libc::stat = core::mem::zeroed();
        (fd >= 0 && sys!(libc::SYS_fstat, fd, &raw mut s) == 0).then_some(s)
    }
}

/// A pipe that something is sent to by a descriptor.
pub struct Pipe {
    s: &'static Stream,
    fd: i32,
    c: Counters,
}

impl Pipe {
    /// The pipe behind `fd`, if it is followed.
    pub fn behind(fd: i32) -> Option<Self> {
        let sent = &keep::if_on()?.sent;
        if sent.used.load(Acquire) == 0 {
            return None;
        }
        let f = identity(fd).filter(|f| f.st_mode & libc::S_IFMT == libc::S_IFIFO)?;
        let (slot, s) = sent.all().find(|(_, s)| s.is(&[f.st_dev, f.st_ino]))?;
        Some(Self { s, fd, c: Counters::of(slot) })
    }

    /// Takes from `len` bytes at `at`, which the program hands over. Returns how many were taken; or the system's error.
    pub fn take(&self, at: usize, len: usize) -> isize {
        self.s.lock.with(|| {
            let (position, end) = (self.s.position.load(Relaxed), self.c.end.load(Relaxed));
            match position < end {
                true => self.compare(at, len.min(PIECE), position, end),
                false if self.s.lines.on() => self.by_lines(at, len.min(PIECE)),
                false => self.send(at, len.min(MOST)),
            }
        })
    }

    /// What was sent before is not sent again.
    fn compare(&self, at: usize, len: usize, position: u64, end: u64) -> isize {
        let (mut new, mut old) = ([0; PIECE], [0; PIECE]);
        let most = len.min((end - position) as usize);
        let Some(new) = read(at, &mut new[..most]) else {
            // Let the system say what is wrong with it.
            return self.send_from(end, at, len);
        };
        let old = &mut old[..most];
        if !self.noted(position, old) {
            return self.send_from(end, at, len);
        }
        let same = new.iter().zip(&*old).take_while(|(a, b)| a == b).count();
        if same > 0 {
            self.s.position.store(position + same as u64, Relaxed);
            return same as isize;
        }
        self.s.lines.differ(position, end, &|from, to| self.noted(from, to));
        self.s.position.store(end, Relaxed);
        if keep::get().sent.verbose.load(Relaxed) >= 1 && self.s.lines.is_new() {
            say!(
                "descriptor {}: since the rollback to checkpoint {} the program has other output than before; whole lines that were sent before \
                 are not sent again, others are",
                self.fd,
                keep::get().generation.load(Relaxed)
            );
        }
        self.by_lines(at, len)
    }

    /// Nobody knows any more what was sent: everything is sent from here on.
    fn send_from(&self, end: u64, at: usize, len: usize) -> isize {
        let n = self.send(at, len);
        if n > 0 && self.s.position.load(Relaxed) != end {
            self.s.lines.begin(end);
        }
        n
    }

    /// Lines that were sent before are not sent again.
    fn by_lines(&self, at: usize, len: usize) -> isize {
        let mut new = [0; PIECE];
        let Some(new) = read(at, &mut new[..len]) else { return self.send(at, len) };
        match self.s.lines.next(new, &|from, to| self.noted(from, to)) {
            Next::Drop(n) => n as isize,
            Next::Send(n) => {
                let r = self.lead_in();
                if r < 0 {
                    return r;
                }
                let n = self.send(at, n);
                if n > 0 {
                    self.s.lines.sent(new[n as usize - 1] == b'\n');
                }
                n
            }
        }
    }

    /// Sends what must stand before the rest of a line that is not dropped: the end of one that was cut off, what was dropped of this one.
    fn lead_in(&self) -> isize {
        let lines = &self.s.lines;
        if lines.is_cut() {
            let r = self.send(b"\n".as_ptr() as usize, 1);
            if r < 0 {
                return r;
            }
            lines.is_whole();
        }
        let mut text = [0; PIECE];
        while let Some((from, n)) = lines.held() {
            let n = (n as usize).min(PIECE);
            if !self.noted(from, &mut text[..n]) {
                break;
            }
            let r = self.send(text.as_ptr() as usize, n);
            if r < 0 {
                return r;
            }
            lines.release(r as u64);
        }
        0
    }

    /// Sends and notes `len` bytes at `at`, as far as the pipe takes them.
    fn send(&self, at: usize, len: usize) -> isize {
        let end = self.c.end.load(Relaxed);
        self.c.tried.store(end + len as u64, Release);
        let n = self.put(at, len);
        let now = end + n.max(0) as u64;
        if n > 0 {
            self.note(at, n as usize, end);
            self.s.position.store(now, Relaxed);
            self.c.end.store(now, Release);
        }
        self.c.tried.store(now, Release);
        n
    }

    /// Notes `len` bytes at `at`, which the pipe has taken, as those from `end` on.
    fn note(&self, at: usize, len: usize, end: u64) {
        let now = end + len as u64;
        // Before older ones are overwritten.
        self.c.from.fetch_max(now.saturating_sub(SIZE), Release);
        // SAFETY: the kernel has just read it.
        if !unsafe { self.s.ring.write(end, at, len) } {
            self.c.from.store(now, Release);
        }
        if now - self.s.asked.load(Relaxed) > SIZE / 2 {
            self.s.asked.store(now, Relaxed);
            ckpt::ask();
        }
    }

    /// Sends without waiting.
    fn put(&self, at: usize, len: usize) -> isize {
        let part = libc::iovec { iov_base: at as *mut _, iov_len: len };
        // SAFETY: the kernel checks the address.
        unsafe {
            let n = sys!(libc::SYS_pwritev2, self.fd, &raw const part, 1, -1isize, -1isize, libc::RWF_NOWAIT);
            const OLD: [i32; 3] = [libc::EOPNOTSUPP, libc::ENOSYS, libc::EINVAL];
            if !OLD.contains(&(-n as i32)) {
                return n;
            }
            // Kernels before 6.5. So much fits if anything does.
            let mut p = libc::pollfd { fd: self.fd, events: libc::POLLOUT, revents: 0 };
            match sys!(libc::SYS_poll, &raw mut p, 1, 0) {
                0 => -(libc::EAGAIN as isize),
                _ => sys!(libc::SYS_write, self.fd, at, len.min(PIECE)),
            }
        }
    }

    /// What was noted at `from`; false: it is not there any more.
    fn noted(&self, from: u64, to: &mut [u8]) -> bool {
        let there = self.c.has(from) && from + to.len() as u64 <= self.c.end.load(Relaxed);
        there && self.s.ring.read(from, to)
    }
}

/// The program's memory at `at`, which may not be there.
fn read(at: usize, to: &mut [u8]) -> Option<&[u8]> {
    Door::open().read(at, to).then_some(to)
}
