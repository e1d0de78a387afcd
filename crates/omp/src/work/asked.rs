//! What a construct is asked to be, and the shape that follows from it.
//!
//! A shape follows from a few words ([`Asked`]) and from what never changes while the program runs. A
//! descriptor keeps both. So where the same loop is executed again, and comes to the same descriptor, nothing
//! is thought about, and nothing written: the lines with the shape stay everybody's.

use super::bounds::{Bounds, Schedule};
use super::share::{Shape, Share};
use super::site::{self, Facts};
use super::tune::Iterations;
use super::{batch, many, tune};
use crate::icv::settings::Constructs;
use crate::icv::{Sched, globals};
use crate::observe::event::Work;
use crate::sys::time;
use crate::team::team::Team;

/// Chunks for each thread that are too few for batches.
pub(crate) const FEW: u64 = many::SHORT;
/// The same where several threads take chunks that may come in any order.
const FEW_FOR_SEVERAL: u64 = 2;

/// Bits of [`Want::how`]. Of the lowest four one at least is set: what kind of construct it is.
mod how {
    pub(super) const LOOP: u32 = 1;
    /// A loop whose iterations wait for earlier ones.
    pub(super) const DOACROSS: u32 = 2;
    pub(super) const SECTIONS: u32 = 4;
    /// Where the schedule's kind is.
    pub(super) const SCHED: u32 = 4;
    pub(super) const MONOTONIC: u32 = 1 << 8;
    pub(super) const ORDERED: u32 = 1 << 9;
    pub(super) const ENDS: u32 = 1 << 10;
    pub(super) const UP: u32 = 1 << 11;
    pub(super) const SIGNED: u32 = 1 << 12;
}

/// A construct that deals something out, in words.
#[derive(Clone, Copy)]
pub struct Want {
    start: u64,
    end: u64,
    step: u64,
    chunk: u64,
    /// Where it starts; 0: with its region.
    site: usize,
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
    fn is(&self, bit: u32) -> bool {
        self.how & bit != 0
    }

    fn bounds(&self) -> Bounds {
        let (up, signed) = (self.is(how::UP), self.is(how::SIGNED));
        Bounds { start: self.start, end: self.end, step: self.step, up, signed }
    }

    fn schedule(&self) -> Schedule {
        let kind = match self.how >> how::SCHED & 7 {
            1 => Sched::Static,
            2 => Sched::Dynamic,
            3 => Sched::Guided,
            _ => Sched::Auto,
        };
        Schedule { kind, chunk: self.chunk, monotonic: self.is(how::MONOTONIC) }
    }

    /// With how many threads, how.
    #[inline(always)]
    fn way(&self, threads: u32) -> u64 {
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
    pub recomputes: fn() -> bool,
}

/// What `promp_recompute` and `promp_frags` have said of a construct: 0 nothing.
#[derive(Clone, Copy)]
pub(crate) struct Wishes {
    /// See [`Shape::recompute`].
    pub recompute: u8,
    /// See [`Shape::fragments`].
    pub fragments: u32,
}

impl Wishes {
    /// Has nothing been said?
    #[inline(always)]
    pub(crate) fn are_none(self) -> bool {
        u32::from(self.recompute) | self.fragments == 0
    }
}

/// See the module's text.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    start: u64,
    end: u64,
    step: u64,
    chunk: u64,
    site: usize,
    /// What was known of the site (site.rs).
    facts: u64,
    /// [`Want::way`]; 0: nothing that could be asked again.
    way: u64,
    /// [`Circumstances::state`].
    state: u64,
}

impl Asked {
    /// Of a construct whose shape follows from something else, too.
    pub(crate) const NOTHING: Self =
        Self { start: 0, end: 0, step: 0, chunk: 0, site: 0, facts: 0, way: 0, state: 0 };

    /// Would the same shape follow from `want` now?
    #[inline(always)]
    fn is(&self, want: &Want, threads: u32, state: u64) -> bool {
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

/// `s`, which nobody else sees yet, becomes what is wanted.
#[inline(always)]
pub(crate) fn make(s: &Share, team: &'static Team, want: &Want, now: Circumstances) {
    if now.wishes.are_none() && s.asked.peek().is(want, team.size(), now.state) {
        if s.shape.peek().began != 0 {
            s.shape.change(|shape| shape.began = time::now_ns());
        }
    } else {
        make_anew(s, team, want, now);
    }
}

#[inline(never)]
fn make_anew(s: &Share, team: &'static Team, want: &Want, now: Circumstances) {
    let Circumstances { wishes, state, recomputes } = now;
    let facts = site::word(want.site);
    let made = shape(team, want, Facts::of(facts), recomputes());
    let fragments = if wishes.fragments != 0 { u64::from(wishes.fragments) } else { made.fragments };
    let made = Shape { recompute: wishes.recompute, fragments, ..made };
    // The tuner wants to be asked each time.
    let again = wishes.are_none() && globals().promp.constructs != Constructs::Tuned;
    let Want { start, end, step, chunk, site, .. } = *want;
    let asked = Asked { start, end, step, chunk, site, facts, way: want.way(team.size()), state };
    s.set_shape(if again { asked } else { Asked::NOTHING }, made);
}

/// Can each of `n` threads overshoot the end by so many chunks?
pub(crate) fn fits(total: u64, chunk: u64, n: u64, chunks: u64) -> bool {
    total.checked_add(chunk.saturating_mul(chunks * (n + 1))).is_some()
}

/// Is a dynamic loop handed out in batches? With up to `few` chunks for each thread it is not.
#[inline(always)]
pub(crate) fn in_batches(total: u64, chunk: u64, n: u64, ordered: bool, few: u64) -> bool {
    !ordered
        && total / chunk > few * n
        && !globals().cancellation
        && fits(total, chunk, n, batch::MOST)
        && total / chunk < batch::MOST_CHUNKS - batch::MOST * (n + 1)
}

fn shape(team: &'static Team, want: &Want, facts: Facts, recomputes: bool) -> Shape {
    let (b, s, ordered) = (want.bounds(), want.schedule(), want.is(how::ORDERED));
    let (n, total) = (u64::from(team.size()), b.iterations());
    let (sections, doacross) = (want.is(how::SECTIONS), want.is(how::DOACROSS));
    let chunk = match s.kind {
        Sched::Static | Sched::Auto => s.chunk.min(total),
        _ => s.chunk.clamp(1, total.max(1)),
    };
    let fixed = matches!(s.kind, Sched::Static | Sched::Auto);
    let ascending = ordered || !facts.shared;
    let few = if n > 1 && !sections && !ascending { FEW_FOR_SEVERAL } else { FEW };
    let shape = Shape {
        // The implementation's choice is static.
        sched: if fixed { Sched::Static } else { s.kind },
        total,
        chunk,
        start: b.start,
        end: b.end,
        step: b.step,
        ordered,
        // The iterations of a static schedule belong to their threads, unless it is known that this makes no
        // difference.
        monotonic: ordered || if fixed { !facts.shared } else { s.monotonic },
        ascending,
        wide: !fits(total, chunk, n, 1),
        quick: s.kind == Sched::Dynamic && in_batches(total, chunk, n, ordered, few),
        singly: false,
        ends_in_barrier: want.is(how::ENDS) || facts.ends_in_barrier,
        site: want.site,
        work: if sections { Work::Sections } else { Work::Loop },
        recompute: 0,
        fragments: if fixed && !ordered && s.chunk == 0 {
            fragments(total / n, facts, recomputes)
        } else {
            1
        },
        began: 0,
        tune: 0,
        deal: 0,
    };
    let iterations = if doacross { Iterations::InOrder } else { Iterations::Free };
    let shape = match globals().promp.constructs {
        Constructs::Plain => shape,
        Constructs::Tuned if !sections => tune::shape(shape, team, s, iterations, recomputes),
        _ if recomputes => Shape { began: time::now_ns(), ..shape },
        _ => shape,
    };
    // Where iterations wait for those before they come one at a time.
    let quick = shape.quick && !doacross;
    let singly = match shape.sched {
        // A thread that has found nothing may ask three times more, where something was lost.
        Sched::Dynamic => !quick && fits(shape.total, shape.chunk, n, 4),
        Sched::Guided => true,
        Sched::Static | Sched::Auto => false,
    };
    Shape { quick, singly: singly && !ordered && !globals().cancellation, ..shape }
}

/// Into how many fragments a static chunk of `len` iterations is cut if nobody has said it: only where losing
/// one instead of the whole is worth its price, as far as is known about the call site.
fn fragments(len: u64, facts: Facts, recomputes: bool) -> u64 {
    const FIRST_TIME: u64 = 16;
    if !facts.proved || !recomputes {
        return 1;
    }
    let pieces = if len >= 4 * FIRST_TIME { FIRST_TIME } else { 1 };
    facts.pieces(len).unwrap_or(pieces)
}
