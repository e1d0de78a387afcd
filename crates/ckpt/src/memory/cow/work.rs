//! What is to be copied: one list for guard, keeper and helpers, under one lock. Blocks are copied in parts: a thread waits for the part that it wants to
//! write to, and one that goes through memory in large strides for as much of each block as it will soon write to.

use super::trays::{PARTS, Pool, Trays};
use crate::busy::BLOCK;
use crate::image::{Entry, PAGE};
use crate::ranges;
use crate::staging::Places;
use crate::sys::door::Door;
use core::ops::Range;
use std::collections::VecDeque;
use std::sync::Arc;

/// Pages of a block.
pub(crate) const PAGES: usize = BLOCK / PAGE;
/// Bytes of a part of one, and its pages.
pub(super) const PART: usize = BLOCK / PARTS;
pub(super) const PART_PAGES: usize = PART / PAGE;
/// Changed pages of a part from which on not little of it changes. One whose turn has only begun when the checkpoint is taken may have fewer.
pub(super) const FEW: usize = PART_PAGES / 8;
/// Pages of a block of which little changes that are opened one by one: threads wait about as long for them as comparing a block takes.
const SINGLE: usize = 4;

/// Why a checkpoint cannot be whole.
#[derive(Debug)]
pub(crate) enum Failure {
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

/// A part of a block.
pub(super) struct Part {
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

impl Part {
    fn range(&self) -> (usize, usize) {
        (self.start, self.start + PART)
    }

    fn is_uncopied(&self) -> bool {
        matches!(self.state, State::Waiting | State::Moving)
    }
}

/// The parts of the block that part `i` is of.
fn block_of(i: usize) -> Range<usize> {
    let first = i / PARTS * PARTS;
    first..first + PARTS
}

/// What is to be copied, and where to.
pub(super) struct Claim {
    /// Parts of a block, one behind the other.
    pub(super) parts: Range<usize>,
    /// Where they begin.
    pub(super) start: usize,
    pub(super) tray: usize,
    /// Which part of it is the first one's.
    pub(super) at: usize,
}

/// What was found when a part was copied.
#[derive(Clone, Copy, Default)]
pub(super) struct Copied {
    /// Nothing of it was saved before.
    pub(super) is_new: bool,
    /// Pages that are not as they were.
    pub(super) changed: usize,
}

/// How blocks are copied.
#[derive(Clone)]
pub(crate) struct How {
    /// Through this.
    pub door: Arc<Door>,
    /// Into trays in the staging buffer,
    pub places: Places,
    /// from this page on.
    pub base: usize,
    /// The index of the last checkpoint.
    pub old: Arc<Vec<Entry>>,
}

impl How {
    /// `n` parts of a tray, from part `at` on: what is in there, and the entries of its pages.
    ///
    /// # Safety
    /// Nobody else uses them.
    #[expect(clippy::mut_from_ref, reason = "see Places")]
    pub(super) unsafe fn parts(&self, tray: usize, at: usize, n: usize) -> (&mut [u8], &mut [Entry]) {
        // SAFETY: by the caller's promise; there is room for all trays.
        unsafe { self.places.row(self.base + tray * PAGES + at * PART_PAGES, n * PART_PAGES) }
    }
}

/// What holding writes costs and saves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Balance {
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
    /// What is copied for the present checkpoint, or was for the last one, in order: all parts of blocks.
    pub(super) parts: Vec<Part>,
    /// How many of them nobody has begun to copy.
    waiting: usize,
    /// Where to look for the next of these.
    next: usize,
    /// Waiting parts to which threads wait to write.
    pub(super) urgent: VecDeque<usize>,
    pub(super) trays: Trays,
    /// How many are copying.
    pub(super) moving: usize,
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
    /// `blocks`, in order, are to be copied; some are known to go on changing. Returns what of those before was not.
    pub(super) fn begin(
        &mut self,
        blocks: &[(usize, bool)],
        how: Option<How>,
        pool: Pool,
    ) -> Vec<(usize, usize)> {
        let part = |(start, restless): (usize, bool)| Part {
            start,
            state: State::Waiting,
            restless,
            wanted: Vec::new(),
            calm: false,
            singly: 0,
            tried: self.find(start).map_or(0, |i| self.parts[i].tried),
        };
        let starts = blocks.iter().flat_map(|b| (0..PARTS).map(|n| (b.0 + n * PART, b.1)));
        let new = Self {
            how,
            trays: Trays::new(pool, self.trays.writes()),
            parts: starts.map(part).collect(),
            waiting: blocks.len() * PARTS,
            balance: self.balance,
            held: core::mem::take(&mut self.held),
            shut: core::mem::take(&mut self.shut),
            moved: core::mem::take(&mut self.moved),
            ..Self::default()
        };
        let before = core::mem::replace(self, new).parts;
        ranges::joined(before.iter().filter(|p| p.is_uncopied()).map(Part::range))
    }

    /// Something to copy, and room for it: the part to which a thread waits to write; or what is left of the next block behind the last such part, to which
    /// it will soon want to write.
    pub(super) fn claim(&mut self) -> Option<Claim> {
        if !self.waits() || !self.trays.has_room() {
            return None;
        }
        let urgent = self.urgent.pop_front();
        let first = urgent.unwrap_or(self.next);
        let rest = &self.parts[first..block_of(first).end];
        let left = rest.iter().take_while(|p| p.state == State::Waiting).count();
        let (tray, at, n) = self.trays.give(if urgent.is_some() { 1 } else { left }, urgent.is_some())?;
        let parts = first..first + n;
        self.parts[parts.clone()].iter_mut().for_each(|p| p.state = State::Moving);
        (self.next, self.waiting, self.moving) = (parts.end, self.waiting - n, self.moving + 1);
        Some(Claim { start: self.parts[first].start, parts, tray, at })
    }

    /// Part `i` is copied. What is to be opened is added to `open`.
    pub(super) fn copied(
        &mut self,
        i: usize,
        Copied { is_new, changed }: Copied,
        open: &mut Vec<(usize, usize)>,
    ) {
        self.balance.changed += changed as u64;
        let p = &mut self.parts[i];
        let wanted = core::mem::take(&mut p.wanted);
        match (is_new, changed < FEW) {
            (false, true) => {
                (p.state, p.calm) = (State::Kept, true);
                self.balance.opened += p.tried as u64;
                open.extend(wanted.into_iter().map(|at| self.open(i, at)));
            }
            (true, _) if wanted.is_empty() && !p.restless => p.state = State::Kept,
            _ => {
                p.state = State::Open;
                open.push(p.range());
            }
        }
    }

    /// The part that `address` lies in.
    pub(super) fn find(&self, address: usize) -> Option<usize> {
        let i = self.parts.partition_point(|p| p.start + PART <= address);
        self.parts.get(i).is_some_and(|p| p.start <= address).then_some(i)
    }

    /// Nobody can write, and what has been written to is held anew: what was opened of parts of which little changes is kept again.
    pub(super) fn keep_calm(&mut self) {
        for p in self.parts.iter_mut().filter(|p| p.calm) {
            let opened = core::mem::take(&mut p.singly);
            if p.state == State::Open {
                p.tried = opened;
            } else {
                self.balance.opened += opened as u64;
            }
            p.state = State::Kept;
        }
    }

    /// What is opened as a thread wants to write at `at`, in part `i`, which is kept or open: with it all of the block that is copied.
    pub(super) fn open(&mut self, i: usize, at: usize) -> (usize, usize) {
        let block = block_of(i);
        let singly: usize = self.parts[block.clone()].iter().map(|p| p.singly).sum();
        let p = &mut self.parts[i];
        if p.state == State::Kept && p.calm && singly < SINGLE {
            p.singly += 1;
            return (at / PAGE * PAGE, at / PAGE * PAGE + PAGE);
        }
        let is_copied = |p: &Part| !p.is_uncopied();
        let first = i - self.parts[block.start..i].iter().rev().take_while(|p| is_copied(p)).count();
        let end = i + self.parts[i..block.end].iter().take_while(|p| is_copied(p)).count();
        self.parts[first..end].iter_mut().for_each(|p| p.state = State::Open);
        (self.parts[first].start, self.parts[end - 1].start + PART)
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
        let first = self.parts.partition_point(|p| p.start + PART <= start);
        self.parts[first..].iter().take_while(|p| p.start < end).any(Part::is_uncopied)
    }

    /// Is there a part that nobody copies yet? Then `next` and what is urgent are such.
    pub(super) fn waits(&mut self) -> bool {
        if self.waiting > 0 {
            let n = self.parts.len();
            while self.parts[self.next % n].state != State::Waiting {
                self.next += 1;
            }
            self.next %= n;
        }
        while self.urgent.front().is_some_and(|&i| self.parts[i].state != State::Waiting) {
            self.urgent.pop_front();
        }
        self.waiting > 0
    }

    /// Is there a thread that waits, and room?
    pub(super) fn is_urgent(&mut self) -> bool {
        self.waits() && !self.urgent.is_empty() && self.trays.has_room() && self.failed.is_none()
    }

    pub(super) fn fail(&mut self, why: Failure) {
        self.failed.get_or_insert(why);
    }
}

#[cfg(test)]
mod tests;
