//! The copier: memory that has changed goes into the staging buffer, and from there into the store. What is
//! copied in the stop is listed first (copy.rs). Blocks that have changed as a whole are held instead, and
//! copied while the program runs (concurrent_copy.rs). What has come to rest is written before (precopy.rs),
//! and slots are written to once before they are needed (ready.rs).

use super::concurrent_copy::{Running, Stopped};
use super::copy::Held;
use super::freeze::Freezer;
use super::precopy::{Ahead, WORTH_IT};
use super::ready::Ready;
use crate::busy::{BLOCK, Busy};
use crate::contents::{self, Opened};
use crate::cow::{CLOSED, PLACES};
use crate::image::{Description, Map, PAGE};
use crate::keeper_crew::Crew;
use crate::memory;
use crate::ranges;
use crate::resources::resource::No;
use crate::settings::{Copying, Settings};
use crate::shared::Owners;
use crate::slots::Slots;
use crate::staging::Staging;
use crate::store::Store;
use crate::sys::door::Door;
use crate::tracker::{self, Run, Tracker};
use core::ops::Range;
use std::sync::Arc;

/// Bytes from which on the crew is worth having.
const WORTH_SHARING: usize = 8 << 20;
/// How often memory is looked at before a checkpoint, at most, and how often it may be waited for.
const LOOKS: u32 = 10;
const WAITS: u32 = 6;

/// Who copies memory, and what is known of it. Unless that is `unknown`: what the tracker tells, and what was
/// noted `ahead`, is all that has changed since the last whole checkpoint.
pub(super) struct Copier {
    pub(super) tracker: Tracker,
    pub(super) door: Arc<Door>,
    pub(super) staging: Staging,
    pub(super) crew: Crew,
    /// What has changed since the last checkpoint is not known: everything may have.
    pub(super) unknown: bool,
    /// PROMP_CKPT_COPY.
    pub(super) copying: Copying,
    /// PROMP_VERBOSE.
    pub(super) verbose: u32,
    /// There is somebody who attends to threads that wait to write.
    pub(super) guarded: bool,
    pub(super) stopped: Stopped,
    pub(super) ahead: Option<Ahead>,
    /// A checkpoint has needed much more staging memory than there was; the next one may again.
    pub(super) grows: bool,
    /// Bytes of it that had been touched before the one being taken.
    had: usize,
    /// The generation after which it was tried to note what had changed.
    pub(super) tried: Option<u64>,
    pub(super) ready: Ready,
}

/// What the others lend the copier while the program runs.
pub(super) struct Lent<'a> {
    /// The last checkpoint: its pages, number, description.
    pub(super) store: &'a mut Store,
    pub(super) generation: u64,
    pub(super) last: &'a Description,
    /// The time from one to the next.
    pub(super) interval_ns: u64,
    pub(super) freezer: &'a mut Freezer,
    /// Who has shared memory.
    pub(super) owners: &'a mut Owners,
    /// What is dead where threads stand.
    pub(super) dead: &'a [(usize, usize)],
}

impl Copier {
    pub(super) fn new(settings: &Settings, slots: &Slots) -> Self {
        Self {
            tracker: Tracker::new(settings.compare, settings.copying != Copying::Stopped),
            door: Arc::new(Door::open()),
            staging: Staging::default(),
            crew: Crew::default(),
            unknown: false,
            copying: settings.copying,
            verbose: settings.verbose,
            guarded: false,
            stopped: Stopped::default(),
            ahead: None,
            grows: true,
            had: 0,
            tried: None,
            ready: Ready::new(settings.copying, slots),
        }
    }

    /// The memory as it is, while the program runs.
    pub(super) fn look(&mut self, lent: &mut Lent) -> (Vec<Map>, Vec<Run>) {
        let maps = memory::mappings();
        lent.owners.look(&maps);
        let runs = self.tracker.runs(&maps, &lent.store.dense, &self.crew);
        (maps, tracker::outside(lent.dead, runs))
    }

    /// Bytes in `runs` that have changed, or may have.
    pub(super) fn changed(&self, runs: &[Run]) -> usize {
        runs.iter().filter(|r| r.changed || self.unknown).map(|r| r.end - r.start).sum()
    }

    /// Bytes that a checkpoint taken now, with memory in these runs of `maps`, would stage, and those that it
    /// would copy while the program runs. `last`: the one before.
    pub(super) fn expected(&self, maps: &[Map], runs: &[Run], last: &Description) -> (usize, usize) {
        let running = self.expected_running(maps, runs);
        let all = self.changed(runs)
            + self.ahead.as_ref().map_or(0, Ahead::left)
            + contents::bytes(&last.files)
            + contents::bytes(&last.unopened);
        (all - running, running)
    }

    /// Makes ready what the checkpoint needs, while the program runs. Returns the blocks that are busy.
    /// `waits`: it may wait for memory that comes to rest.
    pub(super) fn prepare(&mut self, lent: &mut Lent, waits: bool) -> Result<Busy, No> {
        self.write_ahead(lent.store, lent.dead)?;
        self.had = self.staging.ready();
        let (mut busy, mut most) = (Busy::default(), usize::MAX);
        // Meanwhile more may change.
        for look in 0..LOOKS {
            let (maps, runs) = self.look(lent);
            let (staged, running) = self.expected(&maps, &runs, lent.last);
            if waits && look < WAITS && self.come_to_rest(&maps, &runs, staged, &mut most, lent)? {
                continue;
            }
            if !self.unknown {
                busy = self.busy(&runs, &lent.store.dense);
            }
            if staged + running >= WORTH_SHARING {
                self.crew.hire();
            }
            let places = if running > 0 { PLACES * BLOCK } else { 0 };
            if running > 0 && !self.guarded {
                self.guarded = self.tracker.guard().is_some_and(|g| g.hire());
            }
            if !self.staging.prepare(staged + places, running, &self.crew) {
                break;
            }
        }
        Ok(busy)
    }

    /// For how long threads were stopped to note what had changed.
    pub(super) fn noting_ns(&self) -> u64 {
        self.ahead.as_ref().map_or(0, |a| a.stop_ns)
    }

    /// The threads are frozen, and memory is about to be asked for: from here on it must go well, or it is
    /// not known what has changed.
    pub(super) fn begin(&mut self, maps: &[Map]) {
        if !self.tracker.find_held(maps) {
            self.in_vain(CLOSED);
            self.unknown = true;
            self.tracker.let_go(maps);
        }
    }

    /// What of `runs` of all memory has not been written to since the last checkpoint (what was noted ahead
    /// had been).
    pub(super) fn unchanged(&self, runs: &[Run]) -> Vec<(usize, usize)> {
        if self.unknown {
            return Vec::new();
        }
        let unchanged: Vec<_> = runs.iter().filter(|r| !r.changed).map(|r| (r.start, r.end)).collect();
        let noted = self.ahead.iter().flat_map(|a| &a.noted);
        let noted: Vec<_> = noted.map(|r| (r.0 as usize * PAGE, r.1 as usize * PAGE)).collect();
        ranges::without(&unchanged, &noted)
    }

    /// Copies what has changed in `runs` of `maps` and in `files`, but for what is held and copied when the
    /// threads go on. Blocks that are `busy` are not armed anew.
    pub(super) fn copy(
        &mut self,
        maps: &[Map],
        runs: Vec<Run>,
        files: &[(Range<u64>, Opened)],
        busy: Busy,
        store: &mut Store,
    ) -> Result<(Held, Running), No> {
        let mut running = self.hold(maps, &runs, &store.dense);
        let runs = running.rest(runs);
        let mut held = Held::new(self.ahead.take().unwrap_or_default(), busy);
        held.busy.forget(self.tracker.held());
        let list = self.list(maps, &runs, files, &mut held);
        let staged = self.stage(&list, store, &mut held);
        staged
            .and_then(|()| self.expect(&mut running, &mut held, store))
            .inspect_err(|_| self.unknown = true)?;
        self.tracker.arm(&core::mem::take(&mut held.busy).calm(), &self.crew);
        self.tracker.watch_rest(maps, &self.crew);
        Ok((held, running))
    }

    /// The checkpoint is whole, so long after the one before.
    pub(super) fn is_whole(&mut self, after_ns: u64) {
        self.unknown = false;
        self.stopped.checkpoints = self.stopped.checkpoints.saturating_sub(1);
        self.grows |= self.staging.ready() >= self.had + WORTH_IT;
        self.stopped.after_ns = after_ns;
    }
}
