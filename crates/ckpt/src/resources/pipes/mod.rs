//! The pipes that the program was started with: what goes through them is noted with its place in the stream, so that after a rollback output goes out
//! once (`sent/`) and input is read again (`received/`). What other programs see or have given does not come back with the program's memory.
//!
//! A stream has two places: `end`, the number of bytes that have gone through the pipe, and `position`, where the program is; between them a program
//! that was rolled back repeats what it did. Moving bytes and noting them is one step for checkpoints and rollbacks (`transfer.rs`).

pub(crate) mod own_pipes;
pub(crate) mod positions;
pub(crate) mod received;
pub(crate) mod ring;
pub(crate) mod sent;
pub(crate) mod transfer;

use crate::open_descriptors::Inherited;
use crate::sys::lock::Lock;
use crate::sys::syscall;
use core::sync::atomic::{AtomicU64, Ordering::*};
use ring::{Ring, SIZE};

/// Device and inode.
pub(crate) type Identity = [u64; 2];

/// A pipe that is followed; zeroed memory: none. All but what it is changes with the lock held, by threads that are in a transition, or by the keeper
/// while all others are frozen.
#[repr(C)]
struct Stream {
    /// Its [`Identity`]; zeros: none.
    pipe: [AtomicU64; 2],
    lock: Lock,
    ring: Ring,
    /// Bytes from the stream's beginning up to where the program is.
    position: AtomicU64,
    /// Where a checkpoint was asked for, or is whole.
    asked: AtomicU64,
}

impl Stream {
    fn is(&self, pipe: Identity) -> bool {
        self.identity() == pipe
    }

    fn identity(&self) -> Identity {
        [0, 1].map(|i| self.pipe[i].load(Relaxed))
    }

    fn follows(&self) -> bool {
        !self.is([0; 2])
    }

    fn follow(&self, pipe: Identity) {
        self.pipe.iter().zip(pipe).for_each(|(w, v)| w.store(v, Relaxed));
    }
}

/// What has gone through a pipe, as far as it is noted.
#[derive(Clone, Copy)]
struct Notes<'a> {
    stream: &'a Stream,
    /// Bytes that have gone through it.
    end: &'a AtomicU64,
    /// From where on they are noted.
    from: &'a AtomicU64,
}

impl Notes<'_> {
    fn end(&self) -> u64 {
        self.end.load(Relaxed)
    }

    /// Is all noted that has gone through it from `position` on?
    fn has(&self, position: u64) -> bool {
        (self.from.load(Relaxed)..=self.end()).contains(&position)
    }

    /// What was noted at `place`; false: it is not there any more.
    fn read(&self, place: u64, to: &mut [u8]) -> bool {
        let there = self.has(place) && place + to.len() as u64 <= self.end();
        there && self.stream.ring.read(place, to)
    }

    /// Keeps the `len` bytes at `at`, which go through the pipe next, behind those that are noted. False:
    /// there is no space. The release edge is for a process that goes on with the ring's file: what `from`
    /// and `end` say is there.
    ///
    /// # Safety
    /// The bytes are there, and at most [`SIZE`].
    unsafe fn prepare(&self, at: usize, len: usize) -> bool {
        let end = self.end();
        // Before older ones are overwritten.
        self.from.fetch_max((end + len as u64).saturating_sub(SIZE), Release);
        // SAFETY: by the caller's promise.
        unsafe { self.stream.ring.write(end, at, len) }
    }

    /// `len` more bytes have gone through the pipe; the program has gone on by them. Asks for a checkpoint
    /// when half of the ring is new. The release edge is that of [`Notes::prepare`].
    fn advance(&self, len: usize) {
        let now = self.end() + len as u64;
        self.stream.position.store(now, Relaxed);
        self.end.store(now, Release);
        if now - self.stream.asked.load(Relaxed) > SIZE / 2 {
            self.stream.asked.store(now, Relaxed);
            crate::ask();
        }
    }

    /// Notes the `len` bytes at `at`, which have just gone through the pipe.
    ///
    /// # Safety
    /// The bytes are there, and at most [`SIZE`].
    unsafe fn add(&self, at: usize, len: usize) {
        // SAFETY: by the caller's promise.
        if !unsafe { self.prepare(at, len) } {
            self.from.store(self.end() + len as u64, Release);
        }
        self.advance(len);
    }
}

/// The pipe, or the file, behind a descriptor. A system call only.
pub(crate) fn behind(fd: i32) -> Option<Identity> {
    if fd < 0 {
        return None;
    }
    let f = syscall::stat(fd)?;
    matches!(f.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFREG).then_some([f.st_dev, f.st_ino])
}

/// The pipes among `inherited` that were opened for `access` only, and its logs, each once; but not pipes by which the program sends itself something.
fn one_way(inherited: &[Inherited], access: i32) -> Vec<Identity> {
    let mut pipes = Vec::new();
    for i in inherited.iter().filter(|i| (i.pipe || i.log) && i.access == access) {
        let pipe = [i.file.0, i.file.1];
        let own = i.pipe && inherited.iter().any(|w| w.file == i.file && w.access != access);
        if !own && !pipes.contains(&pipe) {
            pipes.push(pipe);
        }
    }
    pipes
}
