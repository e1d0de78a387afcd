//! Copying while the program runs (`ckpt/cow/`): what to copy so, and the time from the moment when the threads go on until all is copied.
//!
//! A mapping with memory that has changed as a whole is taken from the userfaultfd that notes writes when it is first copied so, and its
//! writes are held from then on; going from one to the other costs 0.1 µs a page. Where so many single pages are written to that threads wait for
//! too long, writes are noted again.

use super::copier::Copier;
use super::copy::Held;
use super::freeze::Freezer;
use super::precopy::Ahead;
use crate::busy::BLOCK;
use crate::cow::{Balance, CLOSED, Failure, How, PAGES, PLACES, Pool, Window};
use crate::image::{Entry, Map, PAGE};
use crate::keeper_crew;
use crate::memory;
use crate::ranges;
use crate::resources::resource::No;
use crate::say;
use crate::settings::Copying;
use crate::store::Store;
use crate::sys::time;
use crate::tracker::{self, Run, changed, is_among};
use std::sync::Arc;

/// Bytes from which on it is worth it, and bytes of one mapping.
const WORTH_IT: usize = 64 << 20;
const WORTH_A_MAPPING: usize = 16 << 20;

/// Less than one of so many blocks is little: taking a mapping from one userfaultfd to the other costs a fourth of what copying it does.
pub(super) const FEW_BLOCKS: usize = 4;

/// How long a thread waits until a single page has been opened for it.
const WAIT_NS: u64 = 30_000;
/// One thread may wait so for one of so many parts of the time.
const MOST_WAITING: u64 = 50;
/// For how long threads, of which there are two at least, would be stopped while a page is copied.
const COPY_NS: u64 = 200;
/// How long threads are stopped for each page whose writes are noted instead of held.
const NOTE_NS: u64 = 150;
/// After that, no writes are held for so many checkpoints.
const FEW: u32 = 16;
/// Checkpoints that are taken otherwise at most after something was lost, or threads have waited for too long.
const MOST_STOPPED: u32 = 1 << 10;

impl Copying {
    /// Bytes from which on memory is worth looking at for copying it while the program runs.
    pub(super) fn worth_it(self) -> usize {
        match self {
            Self::Auto | Self::Stopped => WORTH_IT,
            Self::Running | Self::Small => BLOCK,
        }
    }

    /// Bytes from which on what has changed is worth noting and writing before the threads are stopped.
    pub(super) fn worth_noting(self) -> usize {
        self.worth_it() / 4
    }
}

/// Checkpoints for which everything is copied in the stop.
pub(super) struct Stopped {
    /// So many, from now on.
    pub(super) checkpoints: u32,
    /// When something is lost again, for so many.
    next: u32,
    /// For how much longer threads have waited for single pages than holding writes has spared them.
    waited_ns: u64,
    /// The time from one checkpoint to the next, which has just become whole; 0: none has.
    pub(super) after_ns: u64,
}

impl Stopped {
    /// For `least` checkpoints, and twice as many each time.
    fn again(&mut self, least: u32) {
        self.checkpoints = self.next.max(least);
        self.next = (2 * self.checkpoints).min(MOST_STOPPED);
    }
}

impl Default for Stopped {
    fn default() -> Self {
        Self { checkpoints: 0, next: 1, waited_ns: 0, after_ns: 0 }
    }
}

/// What is copied while the program runs.
#[derive(Default)]
pub(super) struct Running {
    /// Where the blocks begin, in order, and which are known to go on changing.
    blocks: Vec<(usize, bool)>,
    /// How they are copied; none if there are none.
    how: Option<How>,
}

impl Running {
    /// How many pages that is.
    pub(super) fn pages(&self) -> usize {
        self.blocks.len() * PAGES
    }

    /// What `runs` are without it.
    pub(super) fn rest(&self, runs: Vec<Run>) -> Vec<Run> {
        let blocks = ranges::joined(self.blocks.iter().map(|&(b, _)| (b, b + BLOCK)));
        tracker::outside(&blocks, runs)
    }
}

/// Blocks of `maps` that have changed as a whole, or may have, if `everything` may: for each mapping that has enough of them its index and where
/// they begin. `least` bytes are enough, and a part of what a mapping holds that is not among those `held`, in order.
fn whole_blocks(
    maps: &[Map],
    runs: &[Run],
    everything: bool,
    (least, part): (usize, usize),
    held: &[(usize, usize)],
) -> Vec<(usize, Vec<usize>)> {
    let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut content = vec![0; maps.len()];
    for (map, r) in tracker::with_maps(maps, runs).filter(|(_, r)| r.present) {
        content[map] += r.end - r.start;
        let m = &maps[map];
        const WRITABLE: i32 = libc::PROT_READ | libc::PROT_WRITE;
        // The kernel's own extension of the stack goes by what lies below it.
        let may = m.inode == 0 && !m.shared && m.prot & WRITABLE == WRITABLE && m.path != "[stack]";
        if !may || !(r.changed || everything) {
            continue;
        }
        let first = r.start.next_multiple_of(BLOCK);
        let blocks = (first..).step_by(BLOCK).take_while(|b| b + BLOCK <= r.end.min(m.end));
        match found.last_mut().filter(|f| f.0 == map) {
            Some(f) => f.1.extend(blocks),
            None => found.push((map, blocks.collect())),
        }
    }
    found.retain(|(map, blocks)| {
        let of_it = if is_among(held, &maps[*map]) { 0 } else { content[*map] / part };
        blocks.len() * BLOCK >= least.min(WORTH_A_MAPPING).max(of_it)
    });
    if bytes(&found) < least { Vec::new() } else { found }
}

/// Bytes of such blocks.
fn bytes(found: &[(usize, Vec<usize>)]) -> usize {
    found.iter().map(|(_, blocks)| blocks.len() * BLOCK).sum()
}

impl Copier {
    /// Whole blocks of memory in `runs` of `maps` that can be copied while the program runs, mapping by
    /// mapping.
    fn worth_it(&self, maps: &[Map], runs: &[Run]) -> Vec<(usize, Vec<usize>)> {
        let part = match self.copying {
            Copying::Auto | Copying::Small => FEW_BLOCKS,
            Copying::Running => usize::MAX,
            Copying::Stopped => return Vec::new(),
        };
        if self.tracker.guard().is_none() || self.stopped.checkpoints > 0 {
            return Vec::new();
        }
        whole_blocks(maps, runs, self.unknown, (self.copying.worth_it(), part), self.tracker.held())
    }

    /// Those in mappings whose writes are not held yet, if there is a choice.
    pub(super) fn to_be_held(&self, maps: &[Map], runs: &[Run]) -> Vec<(usize, Vec<usize>)> {
        let mut found = match self.copying {
            Copying::Auto | Copying::Small => self.worth_it(maps, runs),
            Copying::Stopped | Copying::Running => Vec::new(),
        };
        found.retain(|f| !is_among(self.tracker.held(), &maps[f.0]));
        found
    }

    /// Bytes that would be copied while the program runs.
    pub(super) fn expected_running(&self, maps: &[Map], runs: &[Run]) -> usize {
        bytes(&self.worth_it(maps, runs))
    }

    /// Has writes to what can be copied while the program runs held. The threads are frozen. `dense`: the
    /// store's.
    pub(super) fn hold(&mut self, maps: &[Map], runs: &[Run], dense: &[(usize, usize)]) -> Running {
        let mut chosen = self.worth_it(maps, runs);
        let staged = self.changed(runs) - bytes(&chosen);
        let places = (self.staging.room() * PAGE).saturating_sub(staged) / BLOCK;
        if !self.guarded || places < PLACES {
            chosen.clear();
        }
        if chosen.is_empty() && self.tracker.held().is_empty() {
            return Running::default();
        }
        let mappings: Vec<usize> = chosen.iter().map(|c| c.0).collect();
        self.tracker.hold(maps, &mappings, runs, &self.crew);
        let held = self.tracker.held();
        let is_held = |map: usize| held.iter().any(|h| h.0 == maps[map].start);
        let restless = self.restless(runs, dense);
        let blocks = chosen.into_iter().filter(|c| is_held(c.0)).flat_map(|c| c.1);
        Running {
            blocks: blocks.map(|b| (b, ranges::meet(&restless, b, b + BLOCK))).collect(),
            ..Running::default()
        }
    }

    /// The threads are about to go on; what is copied in the stop is in the staging buffer.
    pub(super) fn expect(
        &mut self,
        running: &mut Running,
        held: &mut Held,
        store: &mut Store,
    ) -> Result<(), String> {
        let Some(guard) = self.tracker.guard().filter(|_| !running.blocks.is_empty()) else { return Ok(()) };
        if self.staging.room() - held.staged() < PLACES * PAGES {
            self.write(held, store)?;
        }
        let how = How {
            door: self.door.clone(),
            places: self.staging.places(),
            base: held.staged(),
            old: Arc::new(core::mem::take(&mut store.index)),
        };
        let places = |pages: usize| pages.saturating_sub(how.base) / PAGES;
        // More may have been touched than there is room for now.
        let room = self.staging.room();
        let pool = Pool {
            ready: places(room.min(self.staging.ready() / PAGE)).max(PLACES),
            most: places(room),
            price_ns: self.staging.price_ns() * PAGES as u64,
        };
        guard.expect(&running.blocks, how.clone(), pool);
        running.how = Some(how);
        Ok(())
    }

    /// Copies and writes what is `running`, while the program runs.
    pub(super) fn copy_running(
        &mut self,
        running: Running,
        held: &mut Held,
        store: &mut Store,
    ) -> Result<(), No> {
        let (Some(guard), Some(how)) = (self.tracker.guard(), running.how) else { return Ok(()) };
        let mut wrote = |entries: &[Entry]| held.wrote(entries);
        let window = Window::open(guard, &how, store, &mut wrote);
        self.crew.share(keeper_crew::MOST, &|_| window.work());
        let done = window.close();
        store.index = Arc::unwrap_or_clone(how.old);
        match done {
            Ok(places) if self.tracker.is_guarded() => {
                self.staging.touched(how.base + places * PAGES);
                Ok(())
            }
            Ok(_) => Err(self.in_vain(CLOSED)),
            Err(Failure::Lost(why)) => Err(self.in_vain(why)),
            Err(Failure::Store(why)) => Err(No::Refused(why)),
        }
    }

    /// What was copied is whole, or of no use any more. Has writes noted instead of held, in a stop of its
    /// own, if threads have waited for too long until then, and in all for longer than holding has spared
    /// them and the stop takes: much changes here and there. If it is not possible now everything stays.
    pub(super) fn stop_holding(&mut self, store: &Store, freezer: &mut Freezer) {
        let ns = core::mem::take(&mut self.stopped.after_ns);
        let is_due = ns > 0 && !self.tracker.held().is_empty();
        let Some(guard) = self.tracker.guard().filter(|_| is_due) else { return };
        let Balance { opened, changed: copied } = guard.balance();
        let waited_ns = opened * WAIT_NS;
        let all_ns = &mut self.stopped.waited_ns;
        *all_ns = (*all_ns + waited_ns).saturating_sub(copied * COPY_NS);
        let pages = (ranges::bytes(self.tracker.held()) / PAGE) as u64;
        if waited_ns <= ns / MOST_WAITING || *all_ns <= pages * NOTE_NS {
            return;
        }
        *all_ns = 0;
        self.stopped.again(FEW);
        let began = time::now_ns();
        if freezer.freeze().is_err() {
            return;
        }
        let maps = memory::mappings();
        if self.tracker.find_held(&maps) {
            let runs = self.tracker.runs(&maps, &store.dense, &self.crew);
            let written = ranges::within(&changed(&runs), self.tracker.held());
            self.ahead = Some(Ahead::of(&store.dense, &written));
            self.tracker.note_held(&maps, &self.crew);
        }
        let thawed = freezer.thaw();
        if let Some(ahead) = &mut self.ahead {
            ahead.stop_ns += thawed - began;
        }
        if self.verbose >= 2 {
            let ms = ns / 1_000_000;
            say!("writes are noted page by page again: {opened} pages were opened singly in {ms} ms");
        }
    }

    /// What was being copied is lost. Such a program may do it again: the threads are stopped for the next
    /// checkpoint, and each time for twice as many.
    pub(super) fn in_vain(&mut self, why: &str) -> No {
        self.stopped.again(1);
        if self.verbose >= 2 {
            say!("the checkpoint is taken anew: {why}");
        }
        No::Later
    }
}

#[cfg(test)]
mod tests;
