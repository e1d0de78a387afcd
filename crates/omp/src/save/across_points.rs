//! Save points of loops whose iterations wait for each other: each wait and each post is one, as long as that
//! is worth its price. What is measured: across.rs; how it is decided: price.rs.

use super::price::{CALL, LENT, ON, OPEN, Site, again, of_reason, tried_again};
use super::{SaveKind, cost_clock, point as save_point, proof, sample, unsaved_time, width};
use crate::team::thread::Thread;
use crate::upward;
use core::sync::atomic::Ordering::Relaxed;
use promp_settings::save_budget::DEAR;

/// A loop begins whose iterations wait for each other: each wait and each post in it is a save point
/// ([`point`]). Are old values to be saved in it? If not, neither do these count, and the work is lost
/// up to the next save point of another kind.
pub fn begin(thr: &'static Thread, site: &'static Site) -> i32 {
    if !thr.saving.get() || !thr.is_in_region() {
        return 0;
    }
    thr.gauge.settle();
    if thr.gauge.across.is_on() {
        settle(thr);
    }
    // What the user vouches for, and what is verified, needs save points.
    let proved = proof::is_proved(thr) && !sample::is_on();
    if site.state.load(Relaxed) == OPEN && site.saves_nothing() {
        site.stop();
    }
    if proved && site.has_stopped() && !tried_again(site, OPEN) {
        go_without(thr, site);
        return 0;
    }
    upward::lighten_across(thr, false);
    thr.undo.takes_points();
    let measured = match site.state.load(Relaxed) {
        OPEN | LENT => proved,
        ON if proved && thr.gauge.counts_visit() && thr.gauge.measures_again() => {
            again(site);
            true
        }
        _ => false,
    };
    if measured {
        thr.gauge.across.start(core::ptr::from_ref(site).addr(), now(thr));
    }
    1
}

/// By the clock and by the thread's calls.
#[inline(always)]
fn now(thr: &'static Thread) -> (u64, u32) {
    (cost_clock::ticks(), thr.progress.load(Relaxed))
}

fn go_without(thr: &'static Thread, site: &'static Site) {
    let at = core::ptr::from_ref(site).addr();
    thr.gauge.across.start_without(at, now(thr));
    thr.undo.goes_without(at);
    upward::lighten_across(thr, true);
    unsaved_time::begins(thr);
}

/// Waits by `wait`: that is not the loop's time.
#[inline(always)]
pub fn waiting(thr: &'static Thread, wait: impl FnOnce()) {
    if !thr.gauge.across.times_waits() {
        return wait();
    }
    let start = cost_clock::ticks();
    wait();
    thr.gauge.across.waited(cost_clock::ticks().wrapping_sub(start));
}

/// The end of a call by which iterations wait for each other: a save point, unless these are left out. Has
/// it a light way, where that is open?
#[inline(always)]
pub fn point(thr: &'static Thread, has_light_way: bool) {
    if thr.saving.get() {
        save_across(thr, has_light_way);
    }
}

#[inline(never)]
fn save_across(thr: &'static Thread, has_light_way: bool) {
    if thr.undo.is_without() {
        if has_light_way && thr.has_light_calls() {
            thr.gauge.across.counted_twice();
        }
        // It may have been found out anew what is light.
        return upward::lighten_across(thr, true);
    }
    if !thr.gauge.across.is_due() {
        let measured = thr.gauge.across.pause();
        save_point(thr, SaveKind::After(0));
        return thr.gauge.across.resume(measured);
    }
    let (start, measured) = (cost_clock::ticks(), thr.gauge.across.pause());
    save_point(thr, SaveKind::After(0));
    thr.gauge.across.resume(measured);
    let now = now(thr);
    // An interruption is not the save point's.
    let took = now.0.wrapping_sub(start).min(DEAR / 8) + CALL;
    if let Some(found) = thr.gauge.across.took(took, measured, now)
        && let Some(site) = learn(thr, measured, found)
        && site.has_stopped()
    {
        go_without(thr, site);
    }
}

fn learn(thr: &'static Thread, measured: usize, (cost, time): (u64, u64)) -> Option<&'static Site> {
    let site = of_reason(measured)?;
    site.learn(cost, time, cost, width(thr));
    Some(site)
}

/// The measurement of such a loop ends here: there is one.
#[cold]
pub(super) fn settle(thr: &'static Thread) {
    let across = &thr.gauge.across;
    if !across.is_without() {
        let (measured, found) = across.settle(now(thr));
        learn(thr, measured, found);
        return;
    }
    let (measured, price) = across.settle_without(now(thr));
    if let (Some(site), Some(price)) = (of_reason(measured), price)
        && site.has_stopped()
    {
        site.would_take(price);
    }
}

#[cfg(test)]
mod tests;
