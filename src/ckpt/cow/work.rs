//! What is to be copied, and where it goes: one list for guard, keeper and helpers, under one lock.

use super::super::busy::BLOCK;
use super::super::image::{Entry, PAGE};
use super::super::staging::Places;
use crate::sys::door::Door;
use crate::sys::time;
use std::collections::VecDeque;
use std::sync::Arc;

/// Pages of a block.
pub const PAGES: usize = BLOCK / PAGE;
/// Places that there are in any case.
pub const PLACES: usize = 16;
/// Copies that wait to be written, beyond which only those are made for which threads wait.
pub(super) const AHEAD: usize = PLACES / 2;
/// Changed pages of a block from which on not little of it changes. A block whose turn has only begun when the checkpoint is taken may have fewer.
pub(super) const FEW: usize = PAGES / 8;
/// Pages of a block that is kept because little of it changes which are opened one by one: threads wait about as long for them as comparing a block takes.
const SINGLE: usize = 4;

/// Why a checkpoint cannot be whole.
#[derive(Debug)]
pub enum Failure {
    /// What was to be saved is not there any more.
    Lost(&'static str),
    /// It cannot be written.
    Store(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Waiting,
    Moving,
    Kept,
    Open,
}

pub(super) struct Block {
    pub(super) start: usize,
    pub(super) state: State,
    /// It is known to go on changing.
    pub(super) restless: bool,
    /// Where threads wait to write to it.
    pub(super) wanted: Vec<usize>,
    /// Little of it changes: its pages are opened one by one, as long as there are few.
    pub(super) calm: bool,
    /// So many of them have been, since it was kept;
    singly: usize,
    /// and before all of it was opened for the checkpoint that is being taken.
    pub(super) tried: usize,
}

impl Block {
    pub(super) fn range(&self) -> (usize, usize) {
        (self.start, self.start + BLOCK)
    }
}

/// How blocks are copied.
#[derive(Clone)]
pub struct How {
    /// Through this.
    pub door: Arc<Door>,
    /// Into places of the staging buffer,
    pub places: Places,
    /// from this page on.
    pub base: usize,
    /// The index of the last checkpoint.
    pub old: Arc<Vec<Entry>>,
}

impl How {
    /// What is in a place of a block, and the entries of its pages.
    ///
    /// # Safety
    /// Nobody else uses the place.
    #[expect(clippy::mut_from_ref, reason = "see Places")]
    pub(super) unsafe fn place(&self, place: usize) -> (&mut [u8], &mut [Entry]) {
        // SAFETY: by the caller's promise; there is room for all places.
        unsafe { self.places.row(self.base + place * PAGES, PAGES) }
    }
}

/// Places of a block each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pool {
    /// Those that have been touched.
    pub ready: usize,
    /// How many there may be.
    pub most: usize,
    /// What it costs to touch another one, in nanoseconds.
    pub price_ns: u64,
}

/// What holding writes costs and saves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balance {
    /// Pages for which threads have waited until they were opened singly, in blocks of which little has changed in the end.
    pub opened: u64,
    /// Changed pages that were copied while the program ran.
    pub changed: u64,
}

#[derive(Default)]
pub(super) struct Work {
    /// None: nothing is to be copied.
    pub(super) how: Option<How>,
    /// Mappings whose writes are held.
    pub(super) held: Vec<(usize, usize)>,
    /// What is copied for the present checkpoint, or was for the last one, in order.
    pub(super) blocks: Vec<Block>,
    /// How many of them nobody has begun to copy.
    pub(super) waiting: usize,
    /// Where to look for the next of these.
    pub(super) next: usize,
    /// Waiting blocks to which threads wait to write.
    pub(super) urgent: VecDeque<usize>,
    /// Places that are free again, and how many have been used.
    pub(super) free: Vec<usize>,
    pub(super) used: usize,
    pub(super) pool: Pool,
    /// How often something was written, and how long that took.
    pub(super) writes: (u64, u64),
    /// Places whose content is to be written.
    pub(super) full: VecDeque<usize>,
    pub(super) moving: usize,
    pub(super) writing: usize,
    /// Since when nothing that is being written has been finished.
    pub(super) since: u64,
    /// Where something has been moved to.
    pub(super) moved: Vec<usize>,
    /// What could not be opened, because something else was happening to the mapping.
    pub(super) shut: Vec<(usize, usize)>,
    /// Why what was to be saved cannot be.
    pub(super) failed: Option<Failure>,
    /// What holding writes was good for, since this was last asked for.
    pub(super) balance: Balance,
}

impl Work {
    /// `blocks`, in order, are to be copied; some are known to go on changing. Returns those that were before.
    pub(super) fn begin(&mut self, blocks: &[(usize, bool)], how: Option<How>, pool: Pool) -> Vec<Block> {
        let block = |&(start, restless): &(usize, bool)| Block {
            start,
            state: State::Waiting,
            restless,
            wanted: Vec::new(),
            calm: false,
            singly: 0,
            tried: self.block(start).map_or(0, |i| self.blocks[i].tried),
        };
        let new = Self {
            how,
            pool,
            blocks: blocks.iter().map(block).collect(),
            waiting: blocks.len(),
            writes: self.writes,
            balance: self.balance,
            held: core::mem::take(&mut self.held),
            shut: core::mem::take(&mut self.shut),
            moved: core::mem::take(&mut self.moved),
            ..Self::default()
        };
        core::mem::replace(self, new).blocks
    }

    /// A block is being written from now on.
    pub(super) fn writes_one(&mut self) {
        if self.writing == 0 {
            self.since = time::now_ns();
        }
        self.writing += 1;
    }

    /// A block has been written, which has taken so long.
    pub(super) fn has_written(&mut self, ns: u64) {
        /// More than so many are an old story.
        const MANY: u64 = 64;
        (self.writing, self.since) = (self.writing - 1, time::now_ns());
        self.writes = (self.writes.0 + 1, self.writes.1 + ns);
        if self.writes.0 > MANY {
            self.writes = (MANY / 2, self.writes.1 / self.writes.0 * (MANY / 2));
        }
    }

    /// Is there a place, or one that is worth being touched for the first time? Not if one is sooner free again.
    pub(super) fn has_place(&self) -> bool {
        let is_worth_it = || {
            let now = if self.writing > 0 { time::now_ns().saturating_sub(self.since) } else { 0 };
            let wait_ns = now.max(self.writes.1 / self.writes.0.max(1));
            self.used < self.pool.most && self.pool.price_ns < wait_ns
        };
        !self.free.is_empty() || self.used < self.pool.ready || is_worth_it()
    }

    /// One, if there is.
    fn place(&mut self) -> Option<usize> {
        let has = self.has_place();
        self.free.pop().or_else(|| {
            self.used += usize::from(has);
            has.then_some(self.used - 1)
        })
    }

    /// A block to copy, and a place for it: one to which a thread waits to write, or the next one behind the last such, to which it will soon
    /// want to write.
    pub(super) fn claim(&mut self) -> Option<(usize, usize)> {
        if !self.waits() || !self.has_place() {
            return None;
        }
        let urgent = self.urgent.pop_front();
        let i = urgent.unwrap_or(self.next);
        self.next = i + 1;
        self.blocks[i].state = State::Moving;
        (self.waiting, self.moving) = (self.waiting - 1, self.moving + 1);
        self.place().map(|place| (i, place))
    }

    /// The block that `address` lies in.
    pub(super) fn block(&self, address: usize) -> Option<usize> {
        let i = self.blocks.partition_point(|b| b.start + BLOCK <= address);
        self.blocks.get(i).is_some_and(|b| b.start <= address).then_some(i)
    }

    /// Nobody can write, and what has been written to is held anew: what was opened of blocks of which little changes is kept again.
    pub(super) fn keep_calm(&mut self) {
        for b in self.blocks.iter_mut().filter(|b| b.calm) {
            let opened = core::mem::take(&mut b.singly);
            if b.state == State::Open {
                b.tried = opened;
            } else {
                self.balance.opened += opened as u64;
            }
            b.state = State::Kept;
        }
    }

    /// What is opened of a block that is kept, as a thread wants to write at `at`.
    pub(super) fn part(&mut self, i: usize, at: usize) -> (usize, usize) {
        let b = &mut self.blocks[i];
        if b.calm && b.singly < SINGLE {
            b.singly += 1;
            return (at / PAGE * PAGE, at / PAGE * PAGE + PAGE);
        }
        b.state = State::Open;
        b.range()
    }

    /// What is opened when a thread wants to write at `at`, where no block is: as much as a block, as far as it is the same mapping.
    pub(super) fn around(&self, at: usize) -> (usize, usize) {
        let (start, end) = (at / BLOCK * BLOCK, at / BLOCK * BLOCK + BLOCK);
        match self.held.iter().find(|m| m.0 <= at && at < m.1) {
            Some(m) => (start.max(m.0), end.min(m.1)),
            None => (at / PAGE * PAGE, at / PAGE * PAGE + PAGE),
        }
    }

    pub(super) fn is_uncopied(&self, (start, end): (usize, usize)) -> bool {
        let first = self.blocks.partition_point(|b| b.start + BLOCK <= start);
        let mut those = self.blocks[first..].iter().take_while(|b| b.start < end);
        those.any(|b| matches!(b.state, State::Waiting | State::Moving))
    }

    /// Is there a block that nobody copies yet? Then `next` and what is urgent are such.
    pub(super) fn waits(&mut self) -> bool {
        if self.waiting > 0 {
            let n = self.blocks.len();
            while self.blocks[self.next % n].state != State::Waiting {
                self.next += 1;
            }
            self.next %= n;
        }
        while self.urgent.front().is_some_and(|&i| self.blocks[i].state != State::Waiting) {
            self.urgent.pop_front();
        }
        self.waiting > 0
    }

    /// Is there a thread that waits, and a place?
    pub(super) fn is_urgent(&mut self) -> bool {
        self.waits() && !self.urgent.is_empty() && self.has_place() && self.failed.is_none()
    }

    pub(super) fn fail(&mut self, why: Failure) {
        self.failed.get_or_insert(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(blocks: &[usize], pool: Pool) -> Work {
        let starts: Vec<_> = blocks.iter().map(|b| (b * BLOCK, false)).collect();
        let mut w = Work::default();
        assert!(w.begin(&starts, None, pool).is_empty());
        w
    }

    #[test]
    fn blocks_are_copied_once_and_urgent_ones_first() {
        let mut w = work(&[1, 2, 5, 6, 7], Pool { ready: 9, most: 9, price_ns: 0 });
        let mut next = || w.claim().map(|(i, _)| i);
        assert_eq!((next(), next()), (Some(0), Some(1)));
        let at = |n: usize| n * BLOCK + 5;
        assert_eq!((w.block(at(6)), w.block(at(3)), w.block(at(8))), (Some(3), None, None));
        w.urgent.extend([1, 3]); // one is being copied already
        assert!(w.is_urgent());
        let mut rest = core::iter::from_fn(|| w.claim().map(|(i, _)| i));
        // The one behind it comes next, then what is left.
        assert_eq!([rest.next(), rest.next(), rest.next(), rest.next()], [Some(3), Some(4), Some(2), None]);
        assert!(!w.waits() && w.moving == 5);
        // All are uncopied until they are not moving any more.
        w.blocks[2].state = State::Open;
        assert!(w.is_uncopied((at(6), at(6) + 1)) && w.is_uncopied((at(5), at(6))));
        assert!(!w.is_uncopied((at(5), at(5) + 1)) && !w.is_uncopied((3 * BLOCK, 6 * BLOCK)));
    }

    #[test]
    fn places_are_used_again_rather_than_touched() {
        let mut w = work(&(0..20).collect::<Vec<_>>(), Pool { ready: 2, most: 4, price_ns: 1000 });
        let places = |w: &mut Work| core::iter::from_fn(|| w.claim().map(|(_, p)| p)).collect::<Vec<_>>();
        assert_eq!(places(&mut w), [0, 1]);
        w.free.push(0);
        assert_eq!(places(&mut w), [0]);
        // Writing takes longer than touching memory.
        let has_taken = |w: &mut Work, ns| {
            w.writes_one();
            w.has_written(ns);
        };
        has_taken(&mut w, 1500);
        assert_eq!(places(&mut w), [2, 3]);
        w.free.extend([1, 3]);
        assert_eq!(places(&mut w), [3, 1]);
        // Lately it has been faster.
        (0..200).for_each(|_| has_taken(&mut w, 500));
        w.used = 2;
        assert!(!w.has_place());
        // But what is being written now does not come to an end.
        w.writes_one();
        while !w.has_place() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn of_calm_blocks_a_few_pages_are_opened_until_all_is_kept_again() {
        let mut w = work(&[4, 5], Pool::default());
        (w.blocks[0].state, w.blocks[0].calm, w.blocks[1].state) = (State::Kept, true, State::Kept);
        let at = |n: usize| 4 * BLOCK + n * PAGE;
        for _ in 0..2 {
            (0..SINGLE).for_each(|n| assert_eq!(w.part(0, at(n) + 9), (at(n), at(n + 1))));
            assert_eq!((w.part(0, at(0)), w.blocks[0].state), ((at(0), 5 * BLOCK), State::Open));
            assert_eq!((w.part(1, 5 * BLOCK), w.blocks[1].state), ((5 * BLOCK, 6 * BLOCK), State::Open));
            w.keep_calm();
            assert_eq!((w.blocks[0].state, w.blocks[1].state), (State::Kept, State::Open));
        }
        // Whether that was in vain is not known yet.
        assert_eq!(w.balance.opened, 0);
        w.part(0, at(0));
        w.keep_calm();
        assert_eq!(w.balance.opened, 1);
        w.begin(&[(4 * BLOCK, false), (6 * BLOCK, false)], None, Pool::default());
        assert_eq!((w.blocks[0].tried, w.blocks[1].tried), (SINGLE, 0));
    }

    #[test]
    fn what_is_opened_where_no_block_is() {
        let mut w = work(&[4], Pool::default());
        w.held = vec![(3 * BLOCK + 8 * PAGE, 5 * BLOCK + 8 * PAGE)];
        assert_eq!(w.around(3 * BLOCK + 9 * PAGE + 7), (3 * BLOCK + 8 * PAGE, 4 * BLOCK));
        assert_eq!(w.around(5 * BLOCK), (5 * BLOCK, 5 * BLOCK + 8 * PAGE));
        assert_eq!(w.around(9 * BLOCK + PAGE + 3), (9 * BLOCK + PAGE, 9 * BLOCK + 2 * PAGE));
    }
}
