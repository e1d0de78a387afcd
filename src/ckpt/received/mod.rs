//! Input from pipes that the program was started with: what it has read since the checkpoint is read again after a rollback.
//!
//! What `read`, `readv` and libc's streams take from such a pipe is noted, the last 64 MiB of it, with its place in the stream. `end` is the number of bytes
//! that were taken from the pipe, `position` where the program is; a checkpoint has the position, a rollback puts it back, and up to `end` the
//! program gets what was noted. Taking and noting is one step for checkpoints and rollbacks (`transition_begins`); an empty pipe is waited for outside.
//!
//! Nobody who waits for input by other means (`poll`, FIONREAD) would know of what was noted, nor is known what children or other calls have read: then there
//! is no rollback (streams.rs). In the kept region; a new process has nothing of it.

pub mod calls;

use super::files::Inherited;
use super::sent::piece::identity;
use super::sent::ring::{Ring, SIZE};
use super::{image, keep};
use crate::sys;
use crate::sys::door::Door;
use crate::sys::lock::Lock;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Pipes that are followed.
pub const STREAMS: usize = 2;
/// What is read at once: more is not noted at once.
const MOST: usize = 64 << 10;

/// The pipes. Zeroed memory has none.
#[repr(C)]
pub struct Received {
    used: AtomicU32,
    streams: [Stream; STREAMS],
}

/// One pipe; all but what it is changes with the lock held, by threads that are in a transition, or while all are frozen.
#[repr(C)]
struct Stream {
    /// Device and inode; 0: none.
    pipe: [AtomicU64; 2],
    lock: Lock,
    ring: Ring,
    position: AtomicU64,
    end: AtomicU64,
    /// From where on bytes are noted.
    from: AtomicU64,
    /// Where a checkpoint was asked for, or is whole.
    asked: AtomicU64,
    /// Somebody waits for input, or takes it, by means that know nothing of it.
    unsure: AtomicU32,
}

impl Received {
    /// Follows the pipes among `inherited` from which the program reads.
    pub fn begin(&self, inherited: &[Inherited]) {
        for i in inherited.iter().filter(|i| i.pipe && i.access == libc::O_RDONLY) {
            let own = inherited.iter().any(|w| w.file == i.file && w.access != libc::O_RDONLY);
            let pipe = [i.file.0, i.file.1];
            if own || self.streams.iter().any(|s| s.is(pipe)) {
                continue;
            }
            let Some(slot) = self.streams.iter().position(|s| s.is([0, 0])) else { return };
            let s = &self.streams[slot];
            if s.ring.reserve(super::sent::STREAMS + slot) {
                s.pipe.iter().zip(pipe).for_each(|(w, v)| w.store(v, Relaxed));
                self.used.fetch_add(1, Release);
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().filter(|s| !s.is([0, 0]))
    }

    /// Where the program is in each pipe, for a checkpoint. The threads are frozen.
    pub fn positions(&self) -> Vec<image::Received> {
        let at = |s: &Stream| {
            let [device, inode] = [0, 1].map(|i| s.pipe[i].load(Relaxed));
            image::Received { device, inode, position: s.position.load(Relaxed) }
        };
        self.all().map(at).collect()
    }

    fn pair<'a>(&'a self, saved: &'a [image::Received]) -> impl Iterator<Item = (&'a Stream, u64)> {
        saved.iter().filter_map(|p| Some((self.all().find(|s| s.is([p.device, p.inode]))?, p.position)))
    }

    /// The program goes back to where it was in `saved`. The threads are frozen.
    pub fn go_back(&self, saved: &[image::Received]) {
        for (s, position) in self.pair(saved) {
            s.position.store(position, Relaxed);
            s.asked.store(position, Relaxed);
        }
    }

    /// The checkpoint with the positions `saved` is whole.
    pub fn whole(&self, saved: &[image::Received]) {
        self.pair(saved).for_each(|(s, position)| s.asked.store(position, Relaxed));
    }

    /// Can everything that was read from the pipe behind `fd` since the program was where it is in `saved` be read again? `seen`: something was read.
    pub fn covers(&self, fd: i32, saved: &[image::Received]) -> bool {
        let Some(f) = identity(fd) else { return false };
        let Some((s, position)) = self.pair(saved).find(|(s, _)| s.is([f.st_dev, f.st_ino])) else {
            return false;
        };
        let (from, end) = (s.from.load(Relaxed), s.end.load(Relaxed));
        s.unsure.load(Relaxed) == 0 && from <= position && position < end
    }
}

impl Stream {
    fn is(&self, pipe: [u64; 2]) -> bool {
        self.pipe.iter().zip(pipe).all(|(w, v)| w.load(Relaxed) == v)
    }
}

/// A pipe that something is read from.
pub struct Input(&'static Stream, i32);

/// Are there any?
fn any() -> bool {
    keep::if_on().is_some_and(|k| k.received.used.load(Acquire) != 0)
}

impl Input {
    /// The pipe behind `fd`, if it is followed.
    pub fn behind(fd: i32) -> Option<Self> {
        let received = &keep::if_on().filter(|_| any())?.received;
        let f = identity(fd).filter(|f| f.st_mode & libc::S_IFMT == libc::S_IFIFO)?;
        received.all().find(|s| s.is([f.st_dev, f.st_ino])).map(|s| Self(s, fd))
    }

    /// The program asks what there is, or takes it, by other calls.
    pub fn is_unsure(&self) {
        self.0.unsure.store(1, Relaxed);
    }

    /// Gives at most `len` bytes to the program, at `at`; 0: the pipe has ended; or the system's error. Signals are blocked, no checkpoint is taken:
    /// system calls and memory of the stack only, and nothing waits.
    pub fn take(&self, at: usize, len: usize) -> isize {
        self.0.lock.with(|| {
            let (position, end) = (self.0.position.load(Relaxed), self.0.end.load(Relaxed));
            if position == end {
                self.read(at, len.min(MOST), end)
            } else {
                self.again(at, len, position, end)
            }
        })
    }

    /// What was read before.
    fn again(&self, at: usize, len: usize, position: u64, end: u64) -> isize {
        let mut text = [0u8; 4096];
        let text = &mut text[..len.min(4096).min((end - position) as usize)];
        if !self.0.ring.read(position, text) || !Door::open().write(at, text) {
            return -(libc::EFAULT as isize);
        }
        self.0.position.store(position + text.len() as u64, Relaxed);
        text.len() as isize
    }

    fn read(&self, at: usize, len: usize, end: u64) -> isize {
        let part = libc::iovec { iov_base: at as *mut _, iov_len: len };
        // SAFETY: the kernel checks the address.
        let n = unsafe {
            let n = sys!(libc::SYS_preadv2, self.1, &raw const part, 1, -1isize, -1isize, libc::RWF_NOWAIT);
            const OLD: [i32; 3] = [libc::EOPNOTSUPP, libc::ENOSYS, libc::EINVAL];
            match OLD.contains(&(-n as i32)) {
                false => n,
                // Kernels before 6.5.
                true => {
                    let mut p = libc::pollfd { fd: self.1, events: libc::POLLIN, revents: 0 };
                    match sys!(libc::SYS_poll, &raw mut p, 1, 0) {
                        0 => -(libc::EAGAIN as isize),
                        _ => sys!(libc::SYS_read, self.1, at, len),
                    }
                }
            }
        };
        if n > 0 {
            let now = end + n as u64;
            self.0.from.fetch_max(now.saturating_sub(SIZE), Relaxed);
            // SAFETY: the kernel has just written it.
            if !unsafe { self.0.ring.write(end, at, n as usize) } {
                self.0.from.store(now, Relaxed);
            }
            self.0.end.store(now, Relaxed);
            self.0.position.store(now, Relaxed);
            if now - self.0.asked.load(Relaxed) > SIZE / 2 {
                self.0.asked.store(now, Relaxed);
                super::ask();
            }
        }
        n
    }
}
