//! A thread comes to a site: compiled code that needs old values, or does something that cannot be executed
//! twice. What a site is, and how it is decided: price.rs.

use super::price::{ALWAYS, CALL, CROWDED, LENT, NO_MEMORY, OFF, ON, OPAQUE, OPEN, SELDOM, Site, WAITS};
use super::price::{again, learn_points, tried_again};
use super::{SaveKind, cost_clock, credit, point as save_point, sample, unsaved_time, width};
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
use promp_settings::save_budget::DEAR;

/// A loop that needs old values begins, or something that cannot be executed twice: are they to be saved?
/// 1: yes. The usual answers need no calls, so no registers are saved for them; the others are the last
/// thing that is done here, with this function's own result.
#[inline(always)]
pub fn begin(thr: &'static Thread, site: &'static Site) -> i32 {
    // Serial work is never executed again.
    if !thr.saving.get() || !thr.is_in_region() {
        return 0;
    }
    if thr.gauge.is_on() {
        return begin_measured(thr, site);
    }
    if thr.undo.lost() != 0 {
        return 0; // nothing will be executed again before the next save point
    }
    if site.state.load(Relaxed) == ON && !thr.gauge.counts_visit() {
        return 1;
    }
    ask(thr, site)
}

/// Where another site was measured until here.
#[inline(never)]
fn begin_measured(thr: &'static Thread, site: &'static Site) -> i32 {
    thr.gauge.settle();
    begin(thr, site)
}

/// What a site says that does not just save, or may have to be measured.
#[inline(never)]
fn ask(thr: &'static Thread, site: &'static Site) -> i32 {
    match site.state.load(Relaxed) {
        OPEN if site.saves_nothing() => {
            site.stop();
            return ask(thr, site);
        }
        OPEN => thr.gauge.start(site, width(thr)),
        LENT => thr.gauge.start_lent(site, width(thr)),
        ON if !thr.gauge.measures_again() => {}
        ON => {
            again(site);
            thr.gauge.start(site, width(thr));
        }
        OFF | SELDOM if tried_again(site, OPEN) => thr.gauge.start(site, width(thr)),
        SELDOM if thr.watched.get() => {}
        OFF | SELDOM | OPAQUE | WAITS | CROWDED => {
            lose(thr, site);
            return 0;
        }
        state => debug_assert_eq!(state, ALWAYS),
    }
    1
}

/// A loop has left its version that saves, because the site's word was [`OFF`]. Whatever that says by now
/// (another thread may have had it tried again), old values are missing from here on.
#[cold]
pub fn leaves(thr: &'static Thread, site: &'static Site) {
    if !thr.saving.get() || !thr.is_in_region() {
        return;
    }
    thr.gauge.settle();
    if thr.undo.lost() == 0 {
        lose(thr, site);
    }
}

/// The work since the last save point cannot be executed again, because of `site`.
pub(crate) fn lose(thr: &'static Thread, site: &'static Site) {
    let at = core::ptr::from_ref(site) as usize;
    // Chunks that are verified need save points.
    if site.has_stopped() && !sample::is_on() {
        thr.undo.stop(at);
    } else {
        thr.undo.lose(at);
    }
    unsaved_time::begins(thr);
}

/// The same, because there was no memory left (entry/heap_calls.rs).
pub fn lose_for_memory(thr: &'static Thread) {
    lose(thr, &NO_MEMORY);
}

/// Behind something that cannot be executed twice, as the end of a runtime call: a save point, so that what
/// follows can be. Where none is needed, there is none; nor where they would cost more than the budget.
pub fn point(thr: &'static Thread, site: &'static Site) {
    let state = site.state.load(Relaxed);
    if thr.undo.lost() == 0 && state != WAITS {
        return; // it has not been executed, or there was a save point in it
    }
    match state {
        CROWDED if !tried_again(site, OPAQUE) => {}
        WAITS => save_point(thr, SaveKind::After(0)),
        _ => {
            let start = cost_clock::ticks();
            save_point(thr, SaveKind::After(0));
            let now = cost_clock::ticks();
            // An interruption is not the save point's.
            let cost = now.wrapping_sub(start).min(DEAR / 8) + CALL;
            let (budget, _) = site.budget();
            let credited = credit::covers(cost, width(thr), budget);
            learn_points(site, cost, now, u64::from(thr.team().size()), budget, credited);
        }
    }
}
