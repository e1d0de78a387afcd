//! Output that a pipe has taken is sent once: after a rollback the program sends again what it has sent since the checkpoint, and that
//! stays here.
//!
//! For each pipe that the program was started with for output, the last 64 MiB that it has taken are noted in a ring (`ring.rs`), a file that outlives the
//! process, as do the counters: `end` is the number of bytes that the pipe has taken, `from` where the notes begin. `position` is the number of bytes
//! that the program has handed over. A checkpoint has the position; a rollback puts it back, and what the program hands over until it is `end` again is
//! compared with the notes and dropped. If it differs, from there on whole lines that have been sent are dropped once each, in whatever order
//! they come, and others are sent (`lines.rs`). `piece.rs` sends, `calls.rs` has the program's calls.
//!
//! **A piece** is sent without waiting, and noted; then `end` moves. Checkpoints and rollbacks wait for that (`transition_begins`). Who finds the pipe
//! full waits outside, and tries again. Only a process that is killed between sending and noting leaves a piece that may have been sent (`tried` is
//! ahead of `end`): a restart says so, and it is sent again. A checkpoint is asked for when half of the ring is new.

pub mod calls;
mod lines;
pub mod piece;
pub mod ring;

use super::files::Inherited;
use super::image;
use crate::sys;
use crate::sys::lock::Lock;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use std::path::Path;

/// Pipes that are followed; what goes to more of them is sent again.
pub const STREAMS: usize = 4;

/// The pipes. In the kept region; zeroed memory has none.
#[repr(C)]
pub struct Sent {
    /// Pipes that are followed.
    used: AtomicU32,
    /// PROMP_VERBOSE.
    verbose: AtomicU32,
    streams: [Stream; STREAMS],
}

/// One pipe; everything but what it is is changed only with the lock held, by threads that are in a transition, or by the keeper while
/// all others are frozen.
#[repr(C)]
struct Stream {
    /// Device and inode of the pipe; 0: none.
    pipe: [AtomicU64; 2],
    lock: Lock,
    ring: ring::Ring,
    /// Bytes that the program has handed over.
    position: AtomicU64,
    /// Where a checkpoint was asked for, or is whole.
    asked: AtomicU64,
    lines: lines::Lines,
}

/// The counters of a pipe that outlive the process.
#[derive(Clone, Copy)]
struct Counters {
    /// Bytes that it has taken.
    end: &'static AtomicU64,
    /// From where on they are noted.
    from: &'static AtomicU64,
    /// `end` as it will be when the piece has been sent that is being sent.
    tried: &'static AtomicU64,
}

/// Words of [`super::state`] that are used here, in front of its last one.
pub const WORDS: usize = 3 * STREAMS;

impl Counters {
    fn of(slot: usize) -> Self {
        let state = super::state();
        let [end, from, tried] = [0, 1, 2].map(|i| &state[state.len() - 2 - 3 * slot - i]);
        Self { end, from, tried }
    }

    /// Whether all that was sent behind `position` is noted.
    fn has(self, position: u64) -> bool {
        (self.from.load(Relaxed)..=self.end.load(Relaxed)).contains(&position)
    }
}

/// Which run of the system this is: the kernel numbers pipes anew in each.
pub fn boot() -> String {
    let text = sys::maps::read_file(c"/proc/sys/kernel/random/boot_id").unwrap_or_default();
    String::from_utf8_lossy(&text).trim().into()
}

impl Sent {
    /// Follows the pipes among `inherited` into which the program writes. Those that `saved` has, of a checkpoint that a new process goes on from, go on from
    /// there. Returns what is to be said.
    pub fn begin(
        &self,
        dir: &Path,
        inherited: &[Inherited],
        saved: Option<&image::Description>,
        verbose: u32,
    ) -> Vec<String> {
        self.verbose.store(verbose, Relaxed);
        let empty = image::Description::default();
        let same_boot = saved.is_some_and(|d| d.boot == boot() && !d.boot.is_empty());
        let saved = &saved.unwrap_or(&empty).sent;
        let mut said = Vec::new();
        let mut pipes: Vec<[u64; 2]> = Vec::new();
        for i in inherited.iter().filter(|i| i.pipe && i.access == libc::O_WRONLY) {
            let pipe = [i.file.0, i.file.1];
            let own = inherited.iter().any(|r| r.file == i.file && r.access != libc::O_WRONLY);
            if !own && !pipes.contains(&pipe) {
                pipes.push(pipe);
            }
        }
        let goes_on = |s: &&image::Sent| same_boot && pipes.contains(&[s.device, s.inode]);
        for s in saved.iter().filter(|s| (s.slot as usize) < STREAMS) {
            let (slot, c) = (s.slot as usize, Counters::of(s.slot as usize));
            let (end, tried) = (c.end.load(Relaxed), c.tried.load(Relaxed));
            let sent = end.saturating_sub(s.position);
            if goes_on(&s) && self.follow(dir, slot, [s.device, s.inode], false) {
                let doubtful = tried.saturating_sub(end);
                if doubtful > 0 {
                    said.push(format!(
                        "up to {doubtful} bytes may be sent twice to pipe:[{}]: the process died while it sent them",
                        s.inode
                    ));
                }
                if !c.has(s.position) {
                    said.push(again(sent, s.inode));
                }
                self.go_back_to(slot, s);
            } else if sent > 0 {
                said.push(again(sent, s.inode));
            }
        }
        for pipe in pipes {
            if self.streams.iter().any(|s| s.is(&pipe)) {
                continue;
            }
            if let Some(slot) = (0..STREAMS).find(|&i| self.streams[i].is(&[0, 0])) {
                let c = Counters::of(slot);
                [c.end, c.from, c.tried].iter().for_each(|w| w.store(0, Relaxed));
                self.follow(dir, slot, pipe, true);
            }
        }
        said
    }

    /// Follows a pipe in a slot; `anew`: without notes so far.
    fn follow(&self, dir: &Path, slot: usize, pipe: [u64; 2], anew: bool) -> bool {
        let s = &self.streams[slot];
        let there = s.ring.open(&dir.join(format!("sent-{slot}")), slot, anew);
        if there {
            s.pipe.iter().zip(pipe).for_each(|(w, v)| w.store(v, Relaxed));
            self.used.fetch_add(1, Release);
        }
        there
    }

    fn all(&self) -> impl Iterator<Item = (usize, &Stream)> {
        self.streams.iter().enumerate().filter(|(_, s)| !s.is(&[0, 0]))
    }

    /// Where the program is in each pipe, for a checkpoint. The threads are frozen.
    pub fn positions(&self) -> Vec<image::Sent> {
        let position = |(slot, s): (usize, &Stream)| {
            let [device, inode] = [0, 1].map(|i| s.pipe[i].load(Relaxed));
            let position = s.position.load(Relaxed);
            image::Sent { slot: slot as u32, device, inode, position, lines: s.lines.save() }
        };
        self.all().map(position).collect()
    }

    /// The program goes back to where it was in `saved`. The threads are frozen.
    pub fn go_back(&self, saved: &[image::Sent]) {
        for (slot, s) in self.all() {
            let it = |p: &&image::Sent| s.is(&[p.device, p.inode]);
            let anew = image::Sent::default();
            self.go_back_to(slot, saved.iter().find(it).unwrap_or(&anew));
        }
    }

    fn go_back_to(&self, slot: usize, saved: &image::Sent) {
        let (s, c) = (&self.streams[slot], Counters::of(slot));
        // What is not noted is sent again.
        let end = c.end.load(Relaxed);
        let position = if c.has(saved.position) { saved.position } else { end };
        s.asked.store(position, Relaxed);
        match &saved.lines {
            Some(lines) if c.has(saved.position) => {
                s.lines.go_back(lines, position, end, &|from, to| s.ring.read(from, to));
                s.position.store(end, Relaxed);
            }
            _ => {
                s.lines.begin(position);
                s.position.store(position, Relaxed);
            }
        }
    }

    /// Bytes that the pipe behind `fd` has taken since the program was where it is in `saved`, if all of them are known.
    pub fn since(&self, fd: i32, saved: &[image::Sent]) -> Option<u64> {
        let behind = piece::identity(fd)?;
        let (slot, s) = self.all().find(|(_, s)| s.is(&[behind.st_dev, behind.st_ino]))?;
        let position = saved.iter().find(|p| s.is(&[p.device, p.inode])).map_or(0, |p| p.position);
        let c = Counters::of(slot);
        c.has(position).then(|| c.end.load(Relaxed) - position)
    }

    /// The checkpoint with the positions `saved` is whole.
    pub fn whole(&self, saved: &[image::Sent]) {
        for p in saved {
            if let Some((_, s)) = self.all().find(|(_, s)| s.is(&[p.device, p.inode])) {
                s.asked.store(p.position, Relaxed);
            }
        }
    }
}

fn again(bytes: u64, inode: u64) -> String {
    format!("{bytes} bytes that were sent to pipe:[{inode}] after the checkpoint are sent again")
}

impl Stream {
    fn is(&self, pipe: &[u64; 2]) -> bool {
        self.pipe.iter().zip(pipe).all(|(w, v)| w.load(Relaxed) == *v)
    }
}
