//! Sending a piece of output, or not. On the program's threads, also in its signal handlers: system calls and memory of the stack only. All signals
//! are blocked, the lock is held, no checkpoint is taken: nothing here waits.

use super::super::transfer::{MOST, Way};
use super::super::{Notes, behind};
use super::line_checksums::{Next, PIECE};
use super::{Counters, Sink};
use crate::journal::name::Short;
use crate::sys;
use crate::sys::door::Door;
use crate::sys::syscall;
use crate::{keep, say};
use core::sync::atomic::Ordering::*;
use promp_calls::pieces::Piece;

/// A pipe, or a log, that something is sent to by a descriptor.
pub(super) struct Pipe {
    sink: &'static Sink,
    fd: i32,
    counters: Counters,
}

impl Pipe {
    /// The pipe behind `fd`, if it is followed.
    pub(super) fn behind(fd: i32) -> Option<Self> {
        let sent = &keep::if_on()?.sent;
        if sent.used.load(Acquire) == 0 {
            return None;
        }
        let pipe = behind(fd)?;
        let (slot, sink) = sent.all().find(|(_, s)| s.stream.is(pipe))?;
        Some(Self { sink, fd, counters: Counters::of(slot) })
    }

    fn notes(&self) -> Notes<'_> {
        self.counters.notes(&self.sink.stream)
    }

    fn noted(&self, place: u64, to: &mut [u8]) -> bool {
        self.notes().read(place, to)
    }

    /// Takes from `len` bytes at `at`, which the program hands over. Returns how many were taken; or the system's error.
    pub(super) fn take(&self, at: usize, len: usize) -> isize {
        let stream = &self.sink.stream;
        stream.lock.with(|| {
            let (position, end) = (stream.position.load(Relaxed), self.notes().end());
            match position < end {
                true => self.compare(at, len.min(PIECE), position, end),
                false if self.sink.lines.on() => self.by_lines(at, len.min(PIECE)),
                false => self.send(at, len),
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
            self.sink.stream.position.store(position + same as u64, Relaxed);
            return same as isize;
        }
        self.sink.lines.differ(position, end, &|from, to| self.noted(from, to));
        self.sink.stream.position.store(end, Relaxed);
        if keep::get().sent.verbose.load(Relaxed) >= 1 && self.sink.lines.is_new() {
            say!(
                "descriptor {}: since the rollback to checkpoint {} the program has other output than before; whole lines that were sent before \
                 are not sent again, others are",
                self.fd,
                keep::get().last.generation.load(Relaxed)
            );
        }
        self.by_lines(at, len)
    }

    /// Nobody knows any more what was sent: everything is sent from here on.
    fn send_from(&self, end: u64, at: usize, len: usize) -> isize {
        let n = self.send(at, len);
        if n > 0 && self.sink.stream.position.load(Relaxed) != end {
            self.sink.lines.begin(end);
        }
        n
    }

    /// Lines that were sent before are not sent again.
    fn by_lines(&self, at: usize, len: usize) -> isize {
        let mut new = [0; PIECE];
        let Some(new) = read(at, &mut new[..len]) else { return self.send(at, len) };
        match self.sink.lines.next(new, &|from, to| self.noted(from, to)) {
            Next::Drop(n) => n as isize,
            Next::Send(n) => {
                let r = self.lead_in();
                if r < 0 {
                    return r;
                }
                let n = self.send(at, n);
                if n > 0 {
                    self.sink.lines.sent(new[n as usize - 1] == b'\n');
                }
                n
            }
        }
    }

    /// Sends what must stand before the rest of a line that is not dropped: the end of one that was cut off, what was dropped of this one.
    fn lead_in(&self) -> isize {
        let lines = &self.sink.lines;
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

    /// Sends and notes at most `len` bytes at `at`, as many as the pipe takes at once.
    fn send(&self, at: usize, len: usize) -> isize {
        let len = len.min(MOST);
        self.move_there(at, len).unwrap_or_else(|| self.write_there(at, len))
    }

    /// By the private pipe: what was taken is known whenever the process dies. None: not that way now;
    /// nothing was sent. Each store comes before the next system call, and the next process reads them after
    /// the death of this one.
    fn move_there(&self, at: usize, len: usize) -> Option<isize> {
        let Counters { staged, places, .. } = self.counters;
        let (private, notes) = (&self.sink.private, self.notes());
        let end = notes.end();
        if !private.takes(self.fd, len, end, places.load(Relaxed)) {
            return None;
        }
        let n = private.put(at, len);
        // SAFETY: the kernel has just read it.
        if n <= 0 || !unsafe { notes.prepare(at, n as usize) } {
            private.clear();
            return None;
        }
        staged.store(end + n as u64, Release);
        let moved = private.pass_on(self.fd, n as usize, end);
        if moved > 0 {
            notes.advance(moved as usize);
        }
        // What is inside from here on does not count.
        staged.store(notes.end(), Release);
        if moved != n {
            private.clear();
        }
        match -moved as i32 {
            _ if moved > 0 => Some(moved),
            libc::EAGAIN | libc::EPIPE => Some(moved),
            // The descriptor is not for writing, and the system says so again.
            libc::EBADF => None,
            // It cannot be done here.
            _ => {
                private.end();
                None
            }
        }
    }

    /// As the system writes: a process that dies before it has noted what was taken leaves a piece in doubt.
    fn write_there(&self, at: usize, len: usize) -> isize {
        let Counters { tried, places, .. } = self.counters;
        let mut way = Way::Out;
        if self.sink.is_log() {
            if let Some(n) = self.is_there(at, len) {
                return n as isize;
            }
            way = Way::Log;
            places.store(syscall::stat(self.fd).map_or(0, |f| f.st_size as u64), Release);
        }
        tried.store(self.notes().end() + len as u64, Release);
        let n = way.at_once(self.fd, at, len);
        if n > 0 {
            // SAFETY: the kernel has just read it.
            unsafe { self.notes().add(at, n as usize) };
            self.sink.private.is_passed_by();
        }
        tried.store(self.notes().end(), Release);
        n
    }

    /// Has a log taken this already, when the process died that was sending it? How much of it.
    fn is_there(&self, at: usize, len: usize) -> Option<usize> {
        let Counters { tried, places, .. } = self.counters;
        if tried.load(Relaxed) <= self.notes().end() {
            return None;
        }
        let (name, door) = (Short::of_descriptor(self.fd), Door::open());
        // SAFETY: a C string.
        let log = unsafe { sys!(libc::SYS_open, name.name().as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        let piece = Piece { len, read: &|n, to| door.read(at + n, to) };
        let found = piece.taken(log as i32, places.load(Relaxed));
        // SAFETY: a descriptor of ours, or none.
        unsafe { sys!(libc::SYS_close, log) };
        let (n, end) = found?;
        // SAFETY: it has just been read.
        unsafe { self.notes().add(at, n) };
        places.store(end, Release);
        Some(n)
    }
}

/// The program's memory at `at`, which may not be there.
fn read(at: usize, to: &mut [u8]) -> Option<&[u8]> {
    Door::open().read(at, to).then_some(to)
}
