//! Input from pipes that the program was started with: what it has read since the checkpoint is read again after a rollback.
//!
//! What `read`, `readv` and libc's streams take from such a pipe is noted, the last 64 MiB of it. A checkpoint has the position, a rollback puts it back,
//! and up to `end` the program gets what was noted.
//!
//! Nobody who waits for input by other means (`poll`, FIONREAD) would know of what was noted, nor is known what children or other calls have read: then there
//! is no rollback (streams.rs). In the kept region; a new process has nothing of it.

pub(crate) mod input_calls;

use super::transfer::Way;
use super::{Notes, Stream, behind, one_way};
use crate::open_descriptors::Inherited;
use crate::sys::door::Door;
use crate::sys::preserved_memory::OUTPUTS;
use crate::{image, keep};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Pipes that are followed.
pub(crate) const STREAMS: usize = 2;
const _: () = assert!(super::sent::STREAMS + STREAMS <= OUTPUTS);
/// What is given again at once.
const PIECE: usize = 4096;

/// The pipes. In the kept region; zeroed memory has none.
#[repr(C)]
pub struct Received {
    used: AtomicU32,
    sources: [Source; STREAMS],
}

/// One pipe.
#[repr(C)]
struct Source {
    stream: Stream,
    /// See [`Notes`].
    end: AtomicU64,
    from: AtomicU64,
    /// Somebody waits for input, or takes it, by means that know nothing of what was noted.
    unsure: AtomicU32,
}

impl Source {
    fn notes(&self) -> Notes<'_> {
        Notes { stream: &self.stream, end: &self.end, from: &self.from }
    }
}

impl Received {
    /// Follows the pipes among `inherited` from which the program reads.
    pub fn begin(&self, inherited: &[Inherited]) {
        for (slot, pipe) in one_way(inherited, libc::O_RDONLY).into_iter().enumerate().take(STREAMS) {
            let s = &self.sources[slot].stream;
            if s.ring.reserve(super::sent::STREAMS + slot) {
                s.follow(pipe);
                self.used.fetch_add(1, Release);
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|s| s.stream.follows())
    }

    /// Where the program is in each pipe, for a checkpoint. The threads are frozen.
    pub fn positions(&self) -> Vec<image::Received> {
        let at = |s: &Source| {
            let [device, inode] = s.stream.identity();
            image::Received { device, inode, position: s.stream.position.load(Relaxed) }
        };
        self.all().map(at).collect()
    }

    fn pair<'a>(&'a self, saved: &'a [image::Received]) -> impl Iterator<Item = (&'a Source, u64)> {
        let of = |p: &image::Received| self.all().find(|s| s.stream.is([p.device, p.inode]));
        saved.iter().filter_map(move |p| Some((of(p)?, p.position)))
    }

    /// The program goes back to where it was in `saved`. The threads are frozen.
    pub fn go_back(&self, saved: &[image::Received]) {
        self.pair(saved).for_each(|(s, position)| s.stream.position.store(position, Relaxed));
        self.whole(saved);
    }

    /// The checkpoint with the positions `saved` is whole.
    pub fn whole(&self, saved: &[image::Received]) {
        self.pair(saved).for_each(|(s, position)| s.stream.asked.store(position, Relaxed));
    }

    /// Was something read from the pipe behind `fd` since the program was where it is in `saved`, and can all of it be read again?
    pub fn covers(&self, fd: i32, saved: &[image::Received]) -> bool {
        let of = |pipe| self.pair(saved).find(|(s, _)| s.stream.is(pipe));
        behind(fd).and_then(of).is_some_and(|(s, position)| {
            let notes = s.notes();
            s.unsure.load(Relaxed) == 0 && notes.has(position) && position < notes.end()
        })
    }
}

/// A pipe that something is read from by a descriptor.
pub(crate) struct Input {
    source: &'static Source,
    fd: i32,
}

/// Are there any?
fn any() -> bool {
    keep::if_on().is_some_and(|k| k.received.used.load(Acquire) != 0)
}

impl Input {
    /// The pipe behind `fd`, if it is followed.
    pub(crate) fn behind(fd: i32) -> Option<Self> {
        let received = &keep::if_on().filter(|_| any())?.received;
        let pipe = behind(fd)?;
        received.all().find(|s| s.stream.is(pipe)).map(|source| Self { source, fd })
    }

    /// The program asks what there is, or takes it, by other calls.
    pub(crate) fn is_unsure(&self) {
        self.source.unsure.store(1, Relaxed);
    }

    /// Gives at most `len` bytes to the program, at `at`; 0: the pipe has ended; or the system's error. Signals are blocked, no checkpoint is taken:
    /// system calls and memory of the stack only, and nothing waits.
    pub(crate) fn take(&self, at: usize, len: usize) -> isize {
        let (stream, notes) = (&self.source.stream, self.source.notes());
        stream.lock.with(|| {
            let (position, end) = (stream.position.load(Relaxed), notes.end());
            if position < end {
                return self.again(at, len.min((end - position) as usize), position);
            }
            let n = Way::In.at_once(self.fd, at, len);
            if n > 0 {
                // SAFETY: the kernel has just written it.
                unsafe { notes.add(at, n as usize) };
            }
            n
        })
    }

    /// Gives what was read before.
    fn again(&self, at: usize, len: usize, position: u64) -> isize {
        let mut text = [0u8; PIECE];
        let text = &mut text[..len.min(PIECE)];
        if !self.source.notes().read(position, text) || !Door::open().write(at, text) {
            return -(libc::EFAULT as isize);
        }
        self.source.stream.position.store(position + text.len() as u64, Relaxed);
        text.len() as isize
    }
}
