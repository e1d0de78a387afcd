//! What a construct is asked to be, in a few words: what its shape follows from (shape_choice.rs).

use super::bounds::{Bounds, Schedule};
use super::site;
use crate::icv::Sched;

/// Bits of [`Want::how`]. Of the lowest four one at least is set: what kind of construct it is.
pub(super) mod how {
    pub(in crate::work) const LOOP: u32 = 1;
    /// A loop whose iterations wait for earlier ones.
    pub(in crate::work) const DOACROSS: u32 = 2;
    pub(in crate::work) const SECTIONS: u32 = 4;
    /// Where the schedule's kind is: four bits.
    pub(in crate::work) const SCHED: u32 = 4;
    pub(in crate::work) const MONOTONIC: u32 = 1 << 8;
    pub(in crate::work) const ORDERED: u32 = 1 << 9;
    pub(in crate::work) const ENDS: u32 = 1 << 10;
    pub(in crate::work) const UP: u32 = 1 << 11;
    pub(in crate::work) const SIGNED: u32 = 1 << 12;
}

/// A construct that deals something out, in words.
#[derive(Clone, Copy)]
pub struct Want {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) step: u64,
    pub(super) chunk: u64,
    /// Where it starts; 0: with its region.
    pub(super) site: usize,
    /// All else.
    how: u32,
}

impl Want {
    #[inline(always)]
    fn new(kind: u32, b: Bounds, s: Schedule, site: usize) -> Self {
        let flag = |yes, bit| if yes { bit } else { 0 };
        let how = kind
            | (s.kind as u32) << how::SCHED
            | flag(s.monotonic, how::MONOTONIC)
            | flag(b.up, how::UP)
            | flag(b.signed, how::SIGNED);
        Self { start: b.start, end: b.end, step: b.step, chunk: s.chunk, site, how }
    }

    /// A loop. `ends`: in a barrier, as is known already.
    #[inline(always)]
    pub fn of_loop(bounds: Bounds, schedule: Schedule, ordered: bool, site: usize, ends: bool) -> Self {
        let more = if ordered { how::ORDERED } else { 0 } | if ends { how::ENDS } else { 0 };
        Self::new(how::LOOP | more, bounds, schedule, site)
    }

    /// A doacross loop over `count` iterations 0, 1, ….
    pub fn of_iterations(count: u64, schedule: Schedule, site: usize) -> Self {
        let schedule = Schedule { monotonic: true, ..schedule };
        Self::new(how::DOACROSS, Bounds::ull(true, 0, count, 1), schedule, site)
    }

    /// It starts at `site`.
    #[inline(always)]
    pub fn starts_at(&mut self, site: usize) {
        self.site = site;
    }

    /// `count` sections. `ends`: as for loops.
    #[inline(always)]
    pub fn of_sections(count: u32, site: usize, ends: bool) -> Self {
        let schedule = Schedule { kind: Sched::Dynamic, chunk: 1, monotonic: false };
        let more = if ends { how::ENDS } else { 0 };
        Self::new(how::SECTIONS | more, Bounds::ull(true, 0, u64::from(count), 1), schedule, site)
    }

    #[inline(always)]
    pub(super) fn is(&self, bit: u32) -> bool {
        self.how & bit != 0
    }

    pub(super) fn bounds(&self) -> Bounds {
        let (up, signed) = (self.is(how::UP), self.is(how::SIGNED));
        Bounds { start: self.start, end: self.end, step: self.step, up, signed }
    }

    pub(super) fn schedule(&self) -> Schedule {
        let kind = Sched::from_number(u64::from(self.how >> how::SCHED & 15));
        Schedule { kind: kind.unwrap_or(Sched::Auto), chunk: self.chunk, monotonic: self.is(how::MONOTONIC) }
    }

    /// With how many threads, how.
    #[inline(always)]
    pub(super) fn way(&self, threads: u32) -> u64 {
        u64::from(threads) << 32 | u64::from(self.how)
    }
}

/// What else a shape follows from.
#[derive(Clone, Copy)]
pub(crate) struct Circumstances {
    /// What was said in front of the construct.
    pub wishes: Wishes,
    /// Another number where `recomputes`, or what promp-cc says of call sites, may be different.
    pub state: u64,
    /// Can survivors be asked to recompute chunks?
    pub(crate) recomputes: fn() -> bool,
}

/// What `promp_recompute` and `promp_frags` have said of a construct: 0 nothing.
#[derive(Clone, Copy)]
pub(crate) struct Wishes {
    /// See [`Shape`](super::shape::Shape).
    pub recompute: u8,
    /// As above.
    pub fragments: u32,
}

impl Wishes {
    /// Has nothing been said?
    #[inline(always)]
    pub(crate) fn are_none(self) -> bool {
        u32::from(self.recompute) | self.fragments == 0
    }
}

/// The words that a shape followed from, as a descriptor keeps them.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) step: u64,
    pub(super) chunk: u64,
    pub(super) site: usize,
    /// What was known of the site (site.rs).
    pub(super) facts: u64,
    /// [`Want::way`]; 0: nothing that could be asked again.
    pub(super) way: u64,
    /// [`Circumstances::state`].
    pub(super) state: u64,
}

impl Asked {
    /// Of a construct whose shape follows from something else, too.
    pub(crate) const NOTHING: Self =
        Self { start: 0, end: 0, step: 0, chunk: 0, site: 0, facts: 0, way: 0, state: 0 };

    /// Would the same shape follow from `want` now?
    #[inline(always)]
    pub(super) fn is(&self, want: &Want, threads: u32, state: u64) -> bool {
        self.way == want.way(threads)
            && self.start == want.start
            && self.end == want.end
            && self.step == want.step
            && self.chunk == want.chunk
            && self.site == want.site
            && self.state == state
            && site::knows(self.site, self.facts)
    }
}
