//! Handing out the chunks of constructs that are profiled, or that are trials which may have to be cut short.

use super::site_table::{self, Site};
use super::{GUIDED, LIMITED, PROFILE};
use crate::sys::time;
use crate::team::member::Member;
use crate::work::dispenser::Range;
use crate::work::shape::Shape;
use crate::work::share::Share;
use core::sync::atomic::Ordering::Relaxed;

/// Trials with more chunks than this are not watched: they are balanced anyway, and looking at the clock, and
/// no batches, would make them slower than they are.
pub(crate) const FEW: u64 = 64;

/// Clock ticks in seconds.
pub(crate) fn seconds(ticks: u64) -> f64 {
    let (passed, ns) = time::passed();
    ticks as f64 * (ns as f64 * 1e-9) / passed as f64
}

/// The next chunk.
#[cold]
#[inline(never)]
pub(crate) fn next(m: &'static Member, s: &Share, shape: &Shape) -> Option<Range> {
    let site = site_table::by_index(shape.tune - 1);
    if shape.deal == PROFILE {
        return timed(m, s, shape, site);
    }
    debug_assert!(shape.deal & LIMITED != 0);
    let late = time::now_ns().saturating_sub(shape.began) > site.limit.get();
    let n = u64::from(site.key.threads);
    if late {
        let fine = super::fine(shape.total, site.key.own, site.key.threads).chunk;
        s.dispenser.take(shape.total, fine.min(shape.chunk))
    } else if shape.deal & GUIDED != 0 {
        s.dispenser.take_sized(shape.total, |left| left.div_ceil(n).max(shape.chunk))
    } else {
        s.dispenser.take(shape.total, shape.chunk)
    }
}

/// What the thread has used of a CPU, as if it were clock ticks: what others take is not in it. Costs a
/// system call.
fn cpu_ticks(m: &'static Member) -> u64 {
    m.thread.get().map_or(0, |thr| time::of_thread_ns(thr.host.load(Relaxed)))
}

/// From one look at the clock to the next, at the least.
fn own_time(clock: impl Fn() -> u64) -> u64 {
    let (a, b, c) = (clock(), clock(), clock());
    b.wrapping_sub(a).min(c.wrapping_sub(b))
}

/// The next chunk of a profiled construct. A member comes back for another, or for none, when it has done
/// one.
fn timed(m: &'static Member, s: &Share, shape: &Shape, site: &Site) -> Option<Range> {
    let clock = || if site.by_cpu.get() { cpu_ticks(m) } else { time::ticks() };
    let place = site.timed().get(m.num.get() as usize);
    if let Some(place) = place {
        place.with(|t| t.clock = if t.dispatch.1 == 0 { own_time(clock) } else { t.clock });
    }
    let now = clock();
    let r = if shape.wide {
        s.dispenser.take_sized(shape.total, |_| shape.chunk)
    } else {
        s.dispenser.take(shape.total, shape.chunk)
    };
    if let Some(place) = place {
        place.with(|t| {
            let (lo, hi, since) = t.hand;
            if lo < hi {
                t.sums.add(lo, hi, now.wrapping_sub(since).saturating_sub(t.clock) as f64);
            }
            let then = clock();
            let dispatch = then.wrapping_sub(now).saturating_sub(t.clock);
            t.dispatch = (t.dispatch.0 + dispatch, t.dispatch.1 + 1);
            t.hand = r.map_or((0, 0, 0), |r| (r.lo, r.hi, then));
        });
    }
    r
}
