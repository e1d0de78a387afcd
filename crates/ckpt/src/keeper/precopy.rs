//! Writing ahead: what is copied while the threads are stopped, and needs staging memory, is only what the program goes on writing to.
//!
//! Half an interval before a checkpoint that would need much more staging memory than there is, the pages changed so far are noted and
//! their writes noted anew, but for whole blocks (busy.rs): of those a sample is looked at, now and when the checkpoint is due, and the
//! block is noted then if that is as it was. Then what is noted and has not been written to is read and written to the file, still while the
//! program runs; then everything is stopped. What was written ahead and has not changed until then is as it is in the
//! file; all else goes by way of the staging buffer. Memory that is filled once and only read from then on so needs no staging memory:
//! touching that for the first time is what the first large checkpoint costs most
//! (docs/internals/checkpoints.md, "Cost").
//!
//! Memory that would be copied while the program runs (concurrent_copy.rs) is looked at in the same way, to
//! find out whether it goes on changing. What is found changed as a whole only when the checkpoint is due is
//! looked at then, and again after a while, for which the checkpoint waits: holding its mapping, and noting
//! its writes again when it turns out that little changes, would stop the program for longer than a
//! checkpoint should. And if much has changed that would be copied in the stop, it is noted and written
//! before, and again as long as that makes it much less.
//!
//! From the noting until a checkpoint is whole, what the kernel notes is not all that has changed since the last one: a rollback in
//! between puts back what was noted, too.

use super::copier::{Copier, Lent};
use super::copy::{List, Reading, Source};
use crate::busy::{BLOCK, Busy};
use crate::image::{self, Entry, Map, PAGE};
use crate::keep;
use crate::memory;
use crate::pages::UNREADABLE;
use crate::ranges;
use crate::resources::resource::No;
use crate::store::Store;
use crate::sys::{futex, time};
use crate::tracker::{self, Run, changed, in_pages};
use core::sync::atomic::Ordering::*;

/// Bytes that the staging buffer would have to grow by.
pub(super) const WORTH_IT: usize = 1 << 20;
/// Bytes written at once.
const BATCH: usize = 4 << 20;
/// Pages of a block that are looked at.
const SAMPLE: usize = 4;
/// How long a checkpoint that is due waits at most to find out what goes on changing.
const PAUSE_NS: u64 = 1_000_000_000;

/// Checksums of some pages of a block; none if they cannot be read.
type Sample = Option<[u64; SAMPLE]>;

/// What was noted and written ahead.
#[derive(Default)]
pub(super) struct Ahead {
    /// Memory that had changed when it was looked at, in order: [start, end).
    pub(super) changed: Vec<(usize, usize)>,
    /// Where blocks begin, in order, whose writes are not noted, with checksums of samples.
    samples: Vec<(usize, Sample)>,
    /// What is noted, in pages, in order: [first, behind the last).
    pub(super) noted: Vec<(u64, u64)>,
    /// What of it is still to be written.
    unwritten: Vec<(u64, u64)>,
    /// Those of them that have been written, or found empty, in order.
    pub(super) entries: Vec<Entry>,
    /// Bytes of those that could not be read.
    left: usize,
    /// How long threads were stopped for the noting.
    pub(super) stop_ns: u64,
}

impl Ahead {
    /// Of memory that had `changed`, of which parts are `armed`.
    pub(super) fn of(changed: &[(usize, usize)], armed: &[(usize, usize)]) -> Self {
        let mut ahead = Self { changed: changed.into(), ..Self::default() };
        ahead.note(armed);
        ahead
    }

    /// Parts of what has changed are `armed`. What was written of them before is not what they hold.
    fn note(&mut self, armed: &[(usize, usize)]) {
        let armed: Vec<_> = armed.iter().copied().map(in_pages).collect();
        self.entries.retain(|e| !ranges::meet(&armed, e.page, e.page + 1));
        for list in [&mut self.noted, &mut self.unwritten] {
            list.extend(ranges::without(&armed, list));
            list.sort_unstable();
        }
    }

    /// Pages with these `entries` have been written, found empty, or could not be read.
    fn wrote(&mut self, entries: &[Entry]) {
        self.entries.extend(entries.iter().filter(|e| e.slot != UNREADABLE));
        self.left += entries.iter().filter(|e| e.slot == UNREADABLE).count() * PAGE;
    }

    /// Bytes that could not be read.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Has the block at `start` been looked at, or is part of it noted?
    fn knows(&self, start: usize) -> bool {
        let (page, end) = in_pages((start, start + BLOCK));
        ranges::meet(&self.noted, page, end) || self.samples.binary_search_by_key(&start, |s| s.0).is_ok()
    }
}

impl Copier {
    /// When to note what has changed, for a checkpoint that is due at `due`.
    pub(super) fn time_to_note(&self, due: u64, lent: &Lent) -> u64 {
        // What was noted for a checkpoint that could not be taken still holds.
        let useful = self.grows && !self.unknown && self.ahead.is_none() && self.tracker.notes_writes();
        if useful && self.tried != Some(lent.generation) {
            due.saturating_sub(lent.interval_ns / 2)
        } else {
            u64::MAX
        }
    }

    /// Notes what has changed, if the next checkpoint would need much more staging memory, or hold writes to
    /// more memory.
    pub(super) fn note(&mut self, lent: &mut Lent) {
        self.tried = Some(lent.generation);
        let (maps, runs) = self.look(lent);
        let (staged, _) = self.expected(&maps, &runs, lent.last);
        self.grows = staged >= self.staging.ready() + WORTH_IT || !self.unseen(&maps, &runs).is_empty();
        if !self.grows {
            return;
        }
        self.crew.hire();
        let Ok((_, runs)) = self.watch_all(lent) else { return };
        let changed = self.changed_unheld(&runs);
        let busy = Busy::look(&runs, &changed);
        let samples = busy.starts().map(|start| (start, self.sample(start))).collect();
        let armed = self.arm(&runs, &busy.unarmed());
        let stop_ns = self.ahead(lent.store).stop_ns;
        self.ahead = Some(Ahead { samples, stop_ns, ..Ahead::of(&changed, &armed) });
    }

    /// What has changed and is not held.
    fn changed_unheld(&self, runs: &[Run]) -> Vec<(usize, usize)> {
        ranges::without(&changed(runs), self.tracker.held())
    }

    /// Has the kernel watch all mappings, so that writes to them can be noted. Threads are stopped meanwhile,
    /// which counts as part of the checkpoint's stop: watching a part of a mapping that is growing would make
    /// it two for the kernel. Returns the memory as it was then.
    fn watch_all(&mut self, lent: &mut Lent) -> Result<(Vec<Map>, Vec<Run>), No> {
        let began = time::now_ns();
        lent.freezer.freeze()?;
        let maps = memory::mappings();
        let runs = self.tracker.runs(&maps, &lent.store.dense, &self.crew);
        self.tracker.watch(&maps);
        let thawed = lent.freezer.thaw();
        self.ahead(lent.store).stop_ns += thawed - began;
        Ok((maps, runs))
    }

    /// What is noted; if nothing is yet, what had content when the kernel began to note writes to it had
    /// changed.
    fn ahead(&mut self, store: &Store) -> &mut Ahead {
        self.ahead.get_or_insert_with(|| Ahead::of(&store.dense, &[]))
    }

    /// Blocks in `runs` of `maps` whose writes would be held from the next checkpoint on, and of which it is
    /// not known whether they go on changing, in order; none if it is little.
    fn unseen(&self, maps: &[Map], runs: &[Run]) -> Vec<usize> {
        if self.unknown {
            return Vec::new();
        }
        let none = Ahead::default();
        let ahead = self.ahead.as_ref().unwrap_or(&none);
        let blocks = self.to_be_held(maps, runs).into_iter().flat_map(|(_, blocks)| blocks);
        let unseen: Vec<usize> = blocks.filter(|&start| !ahead.knows(start)).collect();
        if unseen.len() * BLOCK < self.copying.worth_it() { Vec::new() } else { unseen }
    }

    /// For a checkpoint that is due, with memory in `runs` of `maps`, for which `staged` bytes would be
    /// staged. Finds out whether memory goes on changing of which that is not known, and writes what does
    /// not; or else what has changed since it was written and is not known to go on, if that is much, and
    /// less than `most` bytes, which are half of it then, or there is too little staging memory. False if
    /// there is nothing to do, or no time.
    pub(super) fn come_to_rest(
        &mut self,
        maps: &[Map],
        runs: &[Run],
        staged: usize,
        most: &mut usize,
        lent: &mut Lent,
    ) -> Result<bool, No> {
        // Somebody who waits for the checkpoint does not wait for this.
        if self.unknown || keep::get().asking.is_wanted() || !self.tracker.notes_writes() {
            return Ok(false);
        }
        let unseen = self.unseen(maps, runs);
        let restless = self.restless(runs, &lent.store.dense);
        let calm = ranges::bytes(&ranges::without(&self.changed_unheld(runs), &restless));
        let fits = staged < self.staging.ready() + self.copying.worth_it();
        if unseen.is_empty() && (calm < self.copying.worth_noting() || fits && calm >= *most) {
            return Ok(false);
        }
        self.crew.hire();
        if unseen.is_empty() {
            *most = calm / 2;
            // Most of it is watched already.
            if self.note_again(runs, &restless, lent.store) < calm / 2 {
                let (_, runs) = self.watch_all(lent)?;
                let restless = self.restless(&runs, &lent.store.dense);
                self.note_again(&runs, &restless, lent.store);
            }
        } else {
            let (maps, runs) = self.watch_all(lent)?;
            let unseen = self.unseen(&maps, &runs).into_iter().map(|start| (start, self.sample(start)));
            let unseen: Vec<_> = unseen.collect();
            let ahead = self.ahead(lent.store);
            ahead.samples.extend(unseen);
            ahead.samples.sort_unstable();
            pause(lent.interval_ns / 2)?;
        }
        self.write_ahead(lent.store, lent.dead)?;
        Ok(true)
    }

    /// Notes what has changed in `runs` since it was noted, but for blocks that are `restless`. Returns how
    /// many bytes.
    fn note_again(&mut self, runs: &[Run], restless: &[(usize, usize)], store: &Store) -> usize {
        let armed = self.arm(runs, restless);
        self.ahead(store).note(&armed);
        ranges::bytes(&armed)
    }

    /// Blocks that have changed as a whole in `runs`; `dense`: the store's.
    pub(super) fn busy(&self, runs: &[Run], dense: &[(usize, usize)]) -> Busy {
        Busy::look(runs, self.ahead.as_ref().map_or(dense, |a| &a.changed))
    }

    /// Blocks in `runs` that are known to go on changing: they have changed as a whole again, or have been
    /// seen to.
    pub(super) fn restless(&self, runs: &[Run], dense: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let seen = self.ahead.iter().flat_map(|a| a.samples.iter().map(|s| s.0));
        let mut starts: Vec<usize> = self.busy(runs, dense).starts().chain(seen).collect();
        starts.sort_unstable();
        starts.dedup();
        ranges::joined(starts.into_iter().map(|start| (start, start + BLOCK)))
    }

    /// Has writes noted anew in `runs`, but not in `busy` blocks and what is held. Returns what had been
    /// written to: what is written to elsewhere from now on has changed since the last checkpoint, too.
    fn arm(&self, runs: &[Run], busy: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let whole = ranges::joined(runs.iter().map(|r| (r.start, r.end)));
        let calm = ranges::without(&ranges::without(&whole, self.tracker.held()), busy);
        self.tracker.arm(&calm, &self.crew)
    }

    /// Notes the blocks of whose samples most are as they were, but for `dead` ones.
    fn note_quiet(&mut self, ahead: &mut Ahead, dead: &[(usize, usize)]) {
        let is_quiet = |&mut (start, then): &mut (usize, Sample)| {
            if ranges::meet(dead, start, start + BLOCK) {
                return false; // about to be written, or never again
            }
            let same =
                then.zip(self.sample(start)).map(|(a, b)| a.iter().zip(b).filter(|(a, b)| *a == b).count());
            same.is_some_and(|n| n > SAMPLE / 4)
        };
        let quiet = ahead.samples.extract_if(.., is_quiet);
        let quiet = ranges::joined(quiet.map(|(start, _)| (start, start + BLOCK)));
        ahead.note(&self.tracker.arm(&quiet, &self.crew));
    }

    /// The checksums of some pages of the block at `start`.
    fn sample(&self, start: usize) -> Sample {
        let mut page = [0; PAGE];
        let mut sums = [0; SAMPLE];
        let mut places = sums.iter_mut().zip((start..).step_by(BLOCK / SAMPLE + PAGE));
        let read = places.all(|(sum, from)| {
            let read = self.door.read(from, &mut page);
            *sum = image::sum(&page);
            read
        });
        read.then_some(sums)
    }

    /// Writes noted pages that have not been written to since, and are not `dead` where threads stand.
    pub(super) fn write_ahead(&mut self, store: &mut Store, dead: &[(usize, usize)]) -> Result<(), No> {
        let Some(mut ahead) = self.ahead.take() else { return Ok(()) };
        self.note_quiet(&mut ahead, dead);
        if ahead.unwritten.is_empty() {
            self.ahead = Some(ahead);
            return Ok(());
        }
        let maps = memory::mappings();
        let runs = self.tracker.runs(&maps, &store.dense, &self.crew);
        let runs = tracker::outside(dead, runs);
        self.staging.prepare(BATCH, 0, &self.crew);
        let batch = self.staging.room().min(BATCH / PAGE);
        if batch == 0 {
            self.ahead = Some(ahead);
            return Ok(());
        }
        let unwritten = core::mem::take(&mut ahead.unwritten);
        // If this attempt comes to nothing, they may live where the next one is made.
        let dead: Vec<_> = dead.iter().copied().map(in_pages).collect();
        ahead.unwritten = ranges::within(&unwritten, &dead);
        let list = list_of(&maps, &runs, &unwritten);
        for load in list.loads(batch) {
            if keep::get().failed.load(Acquire) > 0 {
                self.unknown = true;
                return Err(No::Later);
            }
            let pages = load.len();
            let _ = self.load(&list, load, &store.index); // what cannot be read is counted below
            let (content, entries) = self.staging.content(pages);
            store.write(content, entries).inspect_err(|_| self.unknown = true)?;
            ahead.wrote(entries);
        }
        ahead.entries.sort_unstable_by_key(|e| e.page);
        self.ahead = Some(ahead);
        Ok(())
    }
}

/// What is `unwritten` and has not changed in `runs` of `maps`. It may be gone by now.
fn list_of(maps: &[Map], runs: &[Run], unwritten: &[(u64, u64)]) -> List<'static> {
    let mut list = List::default();
    for (map, r) in tracker::with_maps(maps, runs).filter(|(_, r)| !r.changed) {
        let anonymous = maps[map].inode == 0;
        let how = Reading { source: Source::Running, must: true, anonymous, compare: true };
        let (page, end) = r.pages();
        ranges::parts(unwritten, page, end, |first, end, noted| {
            if noted {
                list.add((first, end), how);
            }
        });
    }
    list
}

/// For long enough to see whether memory goes on changing, and `most_ns` at most; but neither a failure waits
/// nor somebody who asks for a checkpoint.
fn pause(most_ns: u64) -> Result<(), No> {
    let k = keep::get();
    let until = time::now_ns() + PAUSE_NS.min(most_ns);
    while time::now_ns() < until && !k.asking.is_wanted() {
        let bell = k.bell.load(Acquire);
        if k.failed.load(Acquire) > 0 {
            return Err(No::Later);
        }
        futex::wait_until(&k.bell, bell, until);
    }
    Ok(())
}
