//! Writing ahead: staging memory only for pages that the program goes on writing to.
//!
//! Half an interval before a checkpoint that would need much more staging memory than there is, the pages changed so far are noted and
//! their writes noted anew, but for whole blocks (busy.rs): of those a sample is looked at, now and when the checkpoint is due, and the
//! block is noted then if that is as it was. Then what is noted and has not been written to is read and written to the file, still while the
//! program runs; then everything is stopped. What was written ahead and has not changed until then is as it is in the
//! file; all else goes by way of the staging buffer. Memory that is filled once and only read from then on so needs no staging memory:
//! touching that for the first time is what the first large checkpoint costs most (docs/checkpoints.md, "Cost").
//!
//! From the noting until a checkpoint is whole, what the kernel notes is not all that has changed since the last one: a rollback in
//! between puts everything back.

use super::super::busy::{BLOCK, Busy};
use super::super::contents;
use super::super::image::{self, Entry, Map, PAGE};
use super::super::keep;
use super::super::memory;
use super::super::pages::UNREADABLE;
use super::super::ranges;
use super::super::tracker::Run;
use super::copy::{List, Reading, Source};
use super::{Keeper, No};
use crate::sys::time;
use core::sync::atomic::Ordering::*;

/// Bytes that the staging buffer would have to grow by.
pub(super) const WORTH_IT: usize = 1 << 20;
/// Bytes written at once.
const BATCH: usize = 4 << 20;
/// Pages of a block that are looked at.
const SAMPLE: usize = 4;

/// What was noted and written ahead.
#[derive(Default)]
pub(super) struct Ahead {
    /// Memory that had changed when it was looked at, in order: [start, end).
    pub changed: Vec<(usize, usize)>,
    /// Where blocks of it begin whose writes are not noted, with checksums of samples.
    samples: Vec<(usize, Option<u64>)>,
    /// The rest, in pages, in order: [first, behind the last).
    pub noted: Vec<(u64, u64)>,
    /// Those of them that have been written, or found empty, in order.
    pub entries: Vec<Entry>,
    /// Bytes of those that could not be read.
    left: usize,
    /// How long threads were stopped for the noting.
    pub stop_ns: u64,
}

impl Ahead {
    /// `armed` parts of what had changed are noted; nobody else has noted them.
    fn note(&mut self, armed: &[(usize, usize)]) {
        self.noted.extend(armed.iter().map(|r| ((r.0 / PAGE) as u64, (r.1 / PAGE) as u64)));
        self.noted.sort();
    }
}

impl Keeper {
    /// When to note what has changed, for a checkpoint that is due at `due`.
    pub(super) fn time_to_note(&self, due: u64) -> u64 {
        let useful = self.grows && !self.unknown && self.tracker.notes_writes();
        if useful && self.tried < self.generation {
            due.saturating_sub(self.settings.interval_ns / 2)
        } else {
            u64::MAX
        }
    }

    /// Notes what has changed, if the next checkpoint would need much more staging memory. Threads are stopped while the mappings are
    /// looked at and watched: watching a part of one that is growing would make it two for the kernel.
    pub(super) fn note(&mut self) {
        self.tried = self.generation;
        let (maps, runs) = self.look();
        let (staged, running) = self.expected(&maps, &runs);
        // What is copied while the program runs needs little of it.
        self.grows = running == 0 && staged >= self.staging.ready() + WORTH_IT;
        if !self.grows {
            return;
        }
        self.crew.hire();
        let began = time::now_ns();
        if self.freeze().is_err() {
            return;
        }
        let maps = memory::mappings();
        let runs = self.tracker.runs(&maps, &self.store.dense, &self.crew);
        self.tracker.watch(&maps);
        self.thaw();
        let stop_ns = time::now_ns() - began;
        // Exactly what is noted is armed: what is written to elsewhere from now on has changed since the last checkpoint, too.
        let changed: Vec<_> = runs.iter().filter(|r| r.changed).map(|r| (r.start, r.end)).collect();
        let changed = ranges::without(&changed, self.tracker.held());
        let busy = Busy::look(&runs, &changed);
        let samples = busy.starts().map(|start| (start, self.sample(start))).collect();
        let armed = ranges::without(&changed, &busy.unarmed());
        self.tracker.arm(&armed, &self.crew);
        let ahead = self.ahead.insert(Ahead { changed, samples, stop_ns, ..Ahead::default() });
        ahead.note(&armed);
    }

    /// Notes the blocks whose samples are as they were.
    fn note_quiet(&mut self, ahead: &mut Ahead) {
        let quiet = ahead.samples.extract_if(.., |s| s.1.is_some() && self.sample(s.0) == s.1);
        let quiet = ranges::joined(quiet.map(|(start, _)| (start, start + BLOCK)));
        self.tracker.arm(&quiet, &self.crew);
        ahead.note(&quiet);
    }

    /// The checksum of some pages of the block at `start`; none if they cannot be read.
    fn sample(&self, start: usize) -> Option<u64> {
        let mut content = [0; SAMPLE * PAGE];
        let mut places = content.chunks_exact_mut(PAGE).zip((start..).step_by(BLOCK / SAMPLE + PAGE));
        places.all(|(place, from)| self.door.read(from, place)).then(|| image::sum(&content))
    }

    /// The memory as it is, while the program runs.
    pub(super) fn look(&mut self) -> (Vec<Map>, Vec<Run>) {
        let maps = memory::mappings();
        self.semaphores.look(&maps);
        let runs = self.tracker.runs(&maps, &self.store.dense, &self.crew);
        (maps, runs)
    }

    /// Bytes in `runs` that have changed, or may have.
    pub(super) fn changed(&self, runs: &[Run]) -> usize {
        runs.iter().filter(|r| r.changed || self.unknown).map(|r| r.end - r.start).sum()
    }

    /// Bytes that a checkpoint taken now, with memory in these runs of `maps`, would stage, and those that it would copy while the program runs.
    pub(super) fn expected(&self, maps: &[Map], runs: &[Run]) -> (usize, usize) {
        let running = self.expected_running(maps, runs);
        let all = self.changed(runs)
            + self.ahead.as_ref().map_or(0, |a| a.left)
            + contents::bytes(&self.last.files);
        (all - running, running)
    }

    /// Writes noted pages that have not been written to since.
    pub(super) fn write_ahead(&mut self) -> Result<(), No> {
        // Unless they are written already, for a checkpoint that could not be taken then.
        let Some(mut ahead) = self.ahead.take_if(|a| a.entries.is_empty()) else { return Ok(()) };
        self.note_quiet(&mut ahead);
        let maps = memory::mappings();
        let runs = self.tracker.runs(&maps, &self.store.dense, &self.crew);
        self.staging.prepare(BATCH, 0, &self.crew);
        let batch = self.staging.room().min(BATCH / PAGE);
        if batch == 0 {
            self.ahead = Some(ahead);
            return Ok(());
        }
        let mut list = List::new(batch);
        let mut map = 0;
        for r in runs.iter().filter(|r| !r.changed) {
            while maps[map].end <= r.start {
                map += 1;
            }
            // Through the kernel: it may be gone by now.
            let how =
                Reading { source: Source::Door, must: true, anonymous: maps[map].inode == 0, compare: false };
            let mut parts = Vec::new();
            ranges::parts(&ahead.noted, (r.start / PAGE) as u64, (r.end / PAGE) as u64, |a, b, noted| {
                parts.extend(noted.then_some(a..b));
            });
            for mut pages in parts {
                while list.add(&mut pages, how) {
                    self.write_list(&mut list, &mut ahead)?;
                }
            }
        }
        self.write_list(&mut list, &mut ahead)?;
        self.ahead = Some(ahead);
        Ok(())
    }

    /// Reads and writes what is in `list`, pages that are not changing.
    fn write_list(&mut self, list: &mut List<'_>, ahead: &mut Ahead) -> Result<(), No> {
        if keep::get().failed.load(Acquire) > 0 {
            self.unknown = true;
            return Err(No::Later);
        }
        let _ = self.copy_list(list, &[]); // what cannot be read is counted below
        let (content, entries) = self.staging.content(list.clear());
        if let Err(why) = self.store.write(content, entries) {
            self.unknown = true;
            return Err(No::Refused(why));
        }
        ahead.entries.extend(entries.iter().filter(|e| e.slot != UNREADABLE));
        ahead.left += entries.iter().filter(|e| e.slot == UNREADABLE).count() * PAGE;
        Ok(())
    }
}
