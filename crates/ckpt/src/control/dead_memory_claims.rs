//! What a thread has said of memory on its way to a place where a checkpoint may be taken (`promp_dead`):
//! which is dead there, and which is live all the same. It is the program's memory: a rollback to a moment
//! between two words finds the first one said and the second one not.

use crate::site_choice::Places;
use crate::sys::own::Own;
use core::array::from_fn;
use promp_layouts::FORESIGHT_SLOTS;

/// So many words of a kind are kept.
const MOST: usize = 256;

/// [start, end).
pub type Range = (usize, usize);

/// A program that says what will be executed from the place on (foresee), and its numbers.
#[derive(Clone, Copy)]
pub struct Foresight {
    /// Its words.
    pub program: &'static [u64],
    /// ... and its numbers.
    pub slots: &'static [Own<u64>],
}

/// Ranges. Zeroed memory is the empty list.
struct List {
    count: Own<usize>,
    ranges: [Own<Range>; MOST],
}

impl List {
    fn new() -> Self {
        Self { count: Own::new(0), ranges: from_fn(|_| Own::new((0, 0))) }
    }

    /// False if there is no room.
    fn push(&self, r: Range) -> bool {
        let n = self.count.get();
        if n < MOST {
            self.ranges[n].set(r);
            self.count.set(n + 1);
        }
        n < MOST
    }

    fn all(&self) -> impl Iterator<Item = Range> {
        self.ranges[..self.count.get()].iter().map(Own::get)
    }
}

/// See the module's text. Written by its thread; read by others while that stands at the place.
pub struct Claims {
    dead: List,
    live: List,
    /// What the ranges that are dead are (team/loop_nests.rs), and what comes of going ahead.
    names: [Own<usize>; MOST],
    foreseen_name: Own<usize>,
    /// The place that the thread is at: a return address.
    at: Own<usize>,
    program: Own<Option<&'static [u64]>>,
    slots: [Own<u64>; FORESIGHT_SLOTS],
    count: Own<usize>,
    /// How much was dead by what came of it, last time: the keeper's, while the thread stands.
    foreseen: Own<u64>,
    /// Something that is live was not noted: nothing is known to be dead.
    incomplete: Own<bool>,
    /// The places that the thread has come to.
    pub places: Places,
    /// The region in which it was, and how often.
    visits: Own<(u64, u64)>,
}

impl Claims {
    /// Nothing yet. It lives as long as its thread: for ever.
    pub fn create() -> &'static Self {
        Box::leak(Box::new(Self {
            dead: List::new(),
            live: List::new(),
            names: from_fn(|_| Own::new(0)),
            foreseen_name: Own::new(0),
            at: Own::new(0),
            program: Own::new(None),
            slots: from_fn(|_| Own::new(0)),
            count: Own::new(0),
            foreseen: Own::new(1),
            incomplete: Own::new(false),
            places: Places::new(),
            visits: Own::new((0, 0)),
        }))
    }

    /// The thread is at a place, in region `region`: how often, with this time.
    pub fn count(&self, region: u64) -> u64 {
        let (last, n) = self.visits.get();
        self.visits.set((region, if last == region { n + 1 } else { 1 }));
        self.visits.get().1
    }

    /// `r` is dead; what does not fit into the list is not. `name`: what it is, or 0.
    pub fn dead(&self, r: Range, name: usize) {
        if self.dead.push(r) {
            self.names[self.dead.count.get() - 1].set(name);
        }
    }

    /// What is dead, each with what it is.
    pub fn named(&self) -> impl Iterator<Item = (Range, usize)> {
        self.dead.all().zip(self.names.iter().map(Own::get))
    }

    /// What comes of going ahead is `name`.
    pub fn foreseen_is(&self, name: usize) {
        self.foreseen_name.set(name);
    }

    /// What that is, or 0.
    pub fn foreseen_name(&self) -> usize {
        self.foreseen_name.get()
    }

    /// The thread is at the place that was called from `at`.
    pub fn is_at(&self, at: usize) {
        self.at.set(at);
    }

    /// Where it is.
    pub fn at(&self) -> usize {
        self.at.get()
    }

    /// `r` is live, whatever else is said of it.
    pub fn live(&self, r: Range) {
        if !self.live.push(r) {
            self.incomplete.set(true);
        }
    }

    /// What comes of `program`, with these numbers, is dead.
    pub fn foresee(&self, program: &'static [u64], slots: &[u64]) {
        if slots.len() <= FORESIGHT_SLOTS {
            self.slots.iter().zip(slots).for_each(|(to, s)| to.set(*s));
            self.count.set(slots.len());
            self.program.set(Some(program));
        }
    }

    /// The program, and its numbers.
    pub fn foresight(&'static self) -> Option<Foresight> {
        let program = self.program.get()?;
        Some(Foresight { program, slots: &self.slots[..self.count.get()] })
    }

    /// So many bytes came of it.
    pub fn has_foreseen(&self, bytes: u64) {
        self.foreseen.set(bytes.max(1));
    }

    /// Has anything been said to be dead?
    pub fn is_empty(&self) -> bool {
        self.dead.count.get() == 0 && self.program.get().is_none()
    }

    /// How many bytes are dead, about: nobody has looked whether the words overlap.
    pub fn dead_bytes(&self) -> u64 {
        let sum = |l: &List| l.all().map(|r| (r.1 - r.0) as u64).sum::<u64>();
        let foreseen = if self.program.get().is_some() { self.foreseen.get() } else { 0 };
        sum(&self.dead).max(foreseen).saturating_sub(sum(&self.live))
    }

    /// What is dead, in any order, and what is live; none if that is not known.
    pub fn ranges(&self) -> Option<(Vec<Range>, Vec<Range>)> {
        (!self.incomplete.get()).then(|| (self.dead.all().collect(), self.live.all().collect()))
    }

    /// The place is behind the thread.
    pub fn forget(&self) {
        self.dead.count.set(0);
        self.live.count.set(0);
        self.program.set(None);
        self.foreseen_name.set(0);
        self.incomplete.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_live() {
        let s = Claims::create();
        assert!(s.is_empty());
        (0..300).for_each(|i| s.dead((i, i + 1), i));
        s.live((3, 4));
        assert!(s.named().all(|(r, name)| r.0 == name));
        let (dead, live) = s.ranges().unwrap();
        assert_eq!((dead.len(), dead[255], live), (256, (255, 256), vec![(3, 4)]));
        (0..300).for_each(|i| s.live((i, i + 1)));
        assert!(s.ranges().is_none());
        s.forget();
        assert_eq!(s.ranges(), Some((vec![], vec![])));
    }
}
