//! The tuner: chooses how loops are dealt, by the cost model and by measuring (docs/internals/tuning.md).
//!
//! A loop that may be changed has a [`Site`](site_table::Site) for its call site, the class of its number of
//! iterations and its team's size; the site has the search (promp-model's `search`). Who makes a
//! construct's descriptor asks for the plan ([`shape`]); every member tells when it leaves ([`left`]), the
//! last one what the whole took. One construct a site is measured at a time; others, in other teams, go by
//! what is known.
//!
//! ```text
//! site.busy: 0 ──(first member of a construct, compare-exchange, acquire)──► 1
//!            1 ──(last member that leaves it, release)──► 0
//! ```
//!
//! What may be changed: loops with a dynamic or guided schedule, be it by the clause or by the run-
//! sched ICV, and `auto`; chunks stay whole numbers of the program's own. Static schedules stay, since
//! programs may count on them, but where promp-cc has proved that nothing depends on who executes what.
//! Of doacross loops those with a guided schedule and `auto` may be changed, as far as their iterations
//! cannot notice ([`candidates::in_order`]); nothing is changed in ordered loops and in sections. Results
//! cannot change, then, but for the order in which reductions are merged, which is no different from run to
//! run than before.
//!
//! Off costs nothing: [`shape`] is called where a construct is made and something is to be done then anyway.

pub(crate) mod deal;
pub mod decisions;
pub mod exact;
pub(crate) mod regions;
pub(crate) mod site_names;
pub(crate) mod site_table;
pub(crate) mod store;

use super::bounds::Schedule;
use super::dispenser::Range;
use super::shape::Shape;
use super::shape_choice::{FEW, Iterations, fits, in_batches};
use crate::icv::settings::Constructs;
use crate::icv::tuner_settings::{Mode, Threads};
use crate::icv::{Globals, Sched, globals};
use crate::sys::time;
use crate::team::member::Member;
use crate::team::team::Team;
use core::sync::atomic::Ordering::*;
use promp_model::choice::Choice;
use promp_model::search::{May, Search};
use promp_model::tuning_file::What;
use promp_model::{Kind, Schedule as Dealt, candidates};

/// Bits of [`Shape::deal`].
pub(crate) const PROFILE: u8 = 1;
/// A trial that is cut short when it has taken too long.
pub(crate) const LIMITED: u8 = 2;
/// … of shrinking chunks.
pub(crate) const GUIDED: u8 = 4;

/// Prepares; once, under the initialisation lock.
pub fn start(g: &'static Globals) {
    if g.promp.constructs == Constructs::Tuned {
        regions::start(g);
        if let Mode::File(path) = &g.promp.tune.mode {
            store::open(path, g.promp.verbose);
        }
    }
}

/// What a loop's schedule is called in the model, if it may be changed.
fn changeable(given: Schedule, site: usize, in_order: bool) -> Option<Kind> {
    match given.kind {
        // Whoever waits for an iteration may count on its being in another chunk.
        Sched::Dynamic | Sched::Static if in_order => None,
        Sched::Dynamic => Some(Kind::Dynamic),
        Sched::Guided => Some(Kind::Guided),
        // The implementation's choice.
        Sched::Auto => Some(Kind::Static),
        Sched::Static if crate::work::site::facts(site).dealt => Some(Kind::Static),
        _ => None,
    }
}

/// A construct is made that may be tuned: its shape as it is to be. `given`: the program's schedule.
#[cold]
#[inline(never)]
pub(crate) fn shape(
    shape: Shape,
    team: &'static Team,
    given: Schedule,
    iterations: Iterations,
    recomputes: bool,
) -> Shape {
    let plain = || Shape { began: if recomputes { time::now_ns() } else { 0 }, ..shape };
    let (n, in_order) = (team.size(), iterations == Iterations::InOrder);
    let Some(kind) = changeable(given, shape.site, in_order) else { return plain() };
    if n < 2 || shape.total < 2 || shape.ordered || shape.recompute != 0 || globals().cancellation {
        return plain();
    }
    let at = match shape.site {
        0 => team.primary_thread().call_site(),
        site => site,
    };
    let may = May { schedule: true, threads: globals().promp.tune.threads != Threads::Keep };
    let own = Dealt::new(kind, if given.kind == Sched::Auto { 0 } else { shape.chunk });
    let key = site_table::Key { at, class: shape.total.ilog2(), threads: n, own, what: What::Loop };
    let search = || {
        if !in_order {
            return Search::new(n, own, may);
        }
        let mut all = candidates::in_order(n, own, given.kind == Sched::Auto, shape.total);
        all.retain(|c| may.threads || c.threads == 0);
        Search::of_these(n, own, all)
    };
    let Some((index, site)) = site_table::find(key, search) else { return plain() };
    let (choice, plan) = site.next(shape.total, false);
    let mut s = dealt(shape, choice.schedule(shape.total, own, n), given, n);
    if let Some(plan) = plan {
        s.tune = index + 1;
        if plan.profile {
            site.begin_profile(shape.total);
            s = Shape {
                deal: PROFILE,
                sched: Sched::Auto,
                quick: false,
                ..dealt(s, fine(shape.total, own, n), given, n)
            };
        } else if plan.limit.is_some() && s.sched != Sched::Static && !s.wide {
            // Shrinking chunks are few.
            let guided = s.sched == Sched::Guided;
            if guided || s.total / s.chunk < deal::FEW {
                let deal = LIMITED | if guided { GUIDED } else { 0 };
                s = Shape { deal, sched: Sched::Auto, quick: false, ..s };
            }
        }
    }
    Shape { began: if recomputes || s.tune != 0 { time::now_ns() } else { 0 }, ..s }
}

/// Chunks so small that any loop is balanced by them, as far as it can be, and a profile is fine enough.
fn fine(total: u64, own: Dealt, n: u32) -> Dealt {
    let deal = promp_model::choice::Deal::Dynamic { parts: 64 * n };
    Choice { deal, threads: 0 }.schedule(total, own, n)
}

/// `s`, dealt by `by`.
fn dealt(s: Shape, by: Dealt, given: Schedule, n: u32) -> Shape {
    let sched = match by.kind {
        Kind::Static => Sched::Static,
        Kind::Dynamic => Sched::Dynamic,
        Kind::Guided => Sched::Guided,
    };
    let chunk = if sched == Sched::Static { by.chunk.min(s.total) } else { by.chunk.clamp(1, s.total) };
    let wide = !fits(s.total, chunk, u64::from(n), 1);
    let quick = sched == Sched::Dynamic && in_batches(s.total, chunk, u64::from(n), s.ordered, FEW);
    // Whoever gets an iteration, the program's own schedule says how a thread may meet them; in any order
    // only if that is proved to make no difference.
    let ascending = !crate::work::site::facts(s.site).dealt;
    let monotonic = s.ordered || given.monotonic;
    Shape { sched, chunk, wide, quick, monotonic, ascending, fragments: 1, ..s }
}

/// A member leaves a measured construct `took` ns after it was made.
#[cold]
pub(crate) fn left(m: &'static Member, shape: &Shape, took: u64) {
    let site = site_table::by_index(shape.tune - 1);
    site.latest.fetch_max(took, Relaxed);
    // Release: what the members have timed. Acquire: the last one reads it.
    if site.left.fetch_add(1, AcqRel) + 1 == m.team().size() {
        site.conclude(shape.total, shape.deal == PROFILE, m.team().size());
    }
}

/// The next chunk of a construct that is profiled, or cut short when it takes too long.
pub(crate) fn next(m: &'static Member, s: &super::share::Share, shape: &Shape) -> Option<Range> {
    deal::next(m, s, shape)
}
