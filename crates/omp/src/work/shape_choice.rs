//! The shape that follows from what a construct is asked to be.
//!
//! A shape follows from a few words ([`Want`]) and from what never changes while the program runs. A
//! descriptor keeps both. So where the same loop is executed again, and comes to the same descriptor, nothing
//! is thought about, and nothing written: the lines with the shape stay everybody's.

use super::shape::Shape;
use super::share::Share;
use super::site::{self, Facts};
use super::want::{Asked, Circumstances, Want, how};
use super::{batch, shared_batches};
use crate::icv::settings::Constructs;
use crate::icv::{Sched, globals};
use crate::observe::event::Work;
use crate::sys::time;
use crate::team::team::Team;
use crate::upward::tuned_shape;

/// How the iterations of a loop that may be tuned depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Iterations {
    /// Not at all.
    Free,
    /// They wait for earlier ones (doacross).
    InOrder,
}

/// Chunks for each thread that are too few for batches.
pub(crate) const FEW: u64 = shared_batches::SHORT;
/// The same where several threads take chunks that may come in any order.
const FEW_FOR_SEVERAL: u64 = 2;

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
        Constructs::Tuned if !sections => tuned_shape(shape, team, s, iterations, recomputes),
        _ if recomputes => Shape { began: time::now_ns(), ..shape },
        _ => shape,
    };
    // Where iterations wait for those before they come one at a time.
    let quick = shape.quick && !doacross;
    let singly = match shape.sched {
        // A thread that has found nothing may ask three times more, where something was lost.
        Sched::Dynamic => !quick && fits(shape.total, shape.chunk, n, 4),
        Sched::Guided => true,
        _ => false,
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
