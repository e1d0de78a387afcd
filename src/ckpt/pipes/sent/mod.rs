//! Output that a pipe has taken is sent once: after a rollback the program sends again what it has sent since the checkpoint, and that
//! stays here.
//!
//! For each pipe that the program was started with for output, the last 64 MiB that it has taken are noted in a ring, a file that outlives the
//! process, as do the counters. A checkpoint has the position; a rollback puts it back, and what the program hands over until it is `end` again is
//! compared with the notes and dropped. If it differs, from there on whole lines that have been sent are dropped once each, in whatever order
//! they come, and others are sent (`lines.rs`). `piece.rs` sends, `calls.rs` has the program's calls.
//!
//! A process that is killed between sending a piece and noting it leaves one that may have been sent (`tried` is ahead of `end`): a restart says so, and
//! it is sent again.

pub mod calls;
mod lines;
mod piece;

use super::super::image;
use super::{Identity, Notes, Stream, behind, one_way};
use crate::ckpt;
use crate::ckpt::files::Inherited;
use crate::sys;
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
    sinks: [Sink; STREAMS],
}

/// One pipe.
#[repr(C)]
struct Sink {
    stream: Stream,
    lines: lines::Lines,
}

/// The counters of a pipe, which outlive the process.
#[derive(Clone, Copy)]
struct Counters {
    /// See [`Notes`].
    end: &'static AtomicU64,
    from: &'static AtomicU64,
    /// `end` as it will be when the piece has been sent that is being sent.
    tried: &'static AtomicU64,
}

/// Words of [`ckpt::state`] that are used here, in front of its last one.
pub const WORDS: usize = 3 * STREAMS;

impl Counters {
    fn of(slot: usize) -> Self {
        let state = ckpt::state();
        let [end, from, tried] = [0, 1, 2].map(|i| &state[state.len() - 2 - 3 * slot - i]);
        Self { end, from, tried }
    }

    fn notes(self, stream: &Stream) -> Notes<'_> {
        Notes { stream, end: self.end, from: self.from }
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
        let pipes = one_way(inherited, libc::O_WRONLY);
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
                if !c.notes(&self.sinks[slot].stream).has(s.position) {
                    said.push(again(sent, s.inode));
                }
                self.go_back_to(slot, s);
            } else if sent > 0 {
                said.push(again(sent, s.inode));
            }
        }
        for pipe in pipes {
            if self.sinks.iter().any(|s| s.stream.is(pipe)) {
                continue;
            }
            if let Some(slot) = (0..STREAMS).find(|&i| !self.sinks[i].stream.follows()) {
                let c = Counters::of(slot);
                [c.end, c.from, c.tried].iter().for_each(|w| w.store(0, Relaxed));
                self.follow(dir, slot, pipe, true);
            }
        }
        said
    }

    /// Follows a pipe in a slot; `anew`: without notes so far.
    fn follow(&self, dir: &Path, slot: usize, pipe: Identity, anew: bool) -> bool {
        let s = &self.sinks[slot].stream;
        let there = s.ring.open(&dir.join(format!("sent-{slot}")), slot, anew);
        if there {
            s.follow(pipe);
            self.used.fetch_add(1, Release);
        }
        there
    }

    fn all(&self) -> impl Iterator<Item = (usize, &Sink)> {
        self.sinks.iter().enumerate().filter(|(_, s)| s.stream.follows())
    }

    /// Where the program is in each pipe, for a checkpoint. The threads are frozen.
    pub fn positions(&self) -> Vec<image::Sent> {
        let position = |(slot, s): (usize, &Sink)| {
            let [device, inode] = s.stream.identity();
            let position = s.stream.position.load(Relaxed);
            image::Sent { slot: slot as u32, device, inode, position, lines: s.lines.save() }
        };
        self.all().map(position).collect()
    }

    /// The program goes back to where it was in `saved`. The threads are frozen.
    pub fn go_back(&self, saved: &[image::Sent]) {
        for (slot, s) in self.all() {
            let it = |p: &&image::Sent| s.stream.is([p.device, p.inode]);
            let anew = image::Sent::default();
            self.go_back_to(slot, saved.iter().find(it).unwrap_or(&anew));
        }
    }

    fn go_back_to(&self, slot: usize, saved: &image::Sent) {
        let Sink { stream, lines } = &self.sinks[slot];
        let notes = Counters::of(slot).notes(stream);
        // What is not noted is sent again.
        let end = notes.end();
        let there = notes.has(saved.position);
        let position = if there { saved.position } else { end };
        stream.asked.store(position, Relaxed);
        match &saved.lines {
            Some(saved) if there => {
                lines.go_back(saved, position, end, &|place, to| notes.read(place, to));
                stream.position.store(end, Relaxed);
            }
            _ => {
                lines.begin(position);
                stream.position.store(position, Relaxed);
            }
        }
    }

    /// Bytes that the pipe behind `fd` has taken since the program was where it is in `saved`, if all of them are known.
    pub fn since(&self, fd: i32, saved: &[image::Sent]) -> Option<u64> {
        let pipe = behind(fd)?;
        let (slot, s) = self.all().find(|(_, s)| s.stream.is(pipe))?;
        let position = saved.iter().find(|p| [p.device, p.inode] == pipe).map_or(0, |p| p.position);
        let notes = Counters::of(slot).notes(&s.stream);
        notes.has(position).then(|| notes.end() - position)
    }

    /// The checkpoint with the positions `saved` is whole.
    pub fn whole(&self, saved: &[image::Sent]) {
        for p in saved {
            if let Some((_, s)) = self.all().find(|(_, s)| s.stream.is([p.device, p.inode])) {
                s.stream.asked.store(p.position, Relaxed);
            }
        }
    }
}

fn again(bytes: u64, inode: u64) -> String {
    format!("{bytes} bytes that were sent to pipe:[{inode}] after the checkpoint are sent again")
}
