//! What a thread does on its way to a place where memory is dead, and there: ckpt/place.rs has the protocol.

use crate::ckpt::keep;
use crate::ckpt::place::{self, AWAY};
use crate::icv::Globals;
use crate::observe::event::Row;
use crate::observe::{self, Listener, Set, Told};
use crate::sys::time;
use crate::team::said::{Range, Said};
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicU32, Ordering::*};

/// How long the first thread of a team waits for the others: at most so long, and a part of the interval.
const PATIENCE_NS: u64 = 1_000_000_000;
const PATIENCE_PART: u64 = 4;
/// Bits of a visit's number in [`Place::target`]; the region's are above.
const VISIT_BITS: u32 = 24;

/// Of a thread without a seat.
static NOBODYS: AtomicU32 = AtomicU32::new(AWAY);

/// What the calling thread has said, made when it says something for the first time.
fn said(thr: &Thread) -> &'static Said {
    thr.said.get().unwrap_or_else(|| {
        let s = Said::create();
        thr.said.set(Some(s));
        s
    })
}

fn range(start: usize, bytes: usize) -> Option<Range> {
    start.checked_add(bytes).filter(|_| bytes > 0).map(|end| (start, end))
}

/// PROMP_CKPT_WHERE=serial: the end of a region is a place.
pub fn start(g: &'static Globals) {
    if g.promp.checkpoints.as_ref().is_some_and(|c| c.in_serial) {
        observe::register(Listener { wants: Set::of(&[Row::ParallelEnd]), told: region_ended });
    }
}

fn region_ended(told: &Told) {
    let Some(thr) = told.thread.map(Thread::of) else { return };
    let Some(k) = keep::if_on().filter(|_| thr.team().level.get() == 0) else { return };
    let (now, interval_ns) = (time::now_ns(), k.interval_ns.load(Relaxed));
    k.place.visited_ns.store(now, Relaxed);
    // None was taken if it was refused: not again at once.
    let last = k.taken_ns.load(Relaxed).max(k.place.asked_ns.load(Relaxed));
    if now.saturating_sub(last) >= interval_ns && keep::seat_of(thr).is_some() {
        k.place.asked_ns.store(now, Relaxed);
        let seat = || keep::seat_of(thr).map_or(&NOBODYS, |s| &s.standing);
        place::stand(k, seat, (1, u64::MAX), || thr.pending.load(Relaxed) == 0);
    }
}

/// `promp_dead`: [start, start + bytes) is dead at the next place that the thread comes to.
pub fn dead(thr: &Thread, start: usize, bytes: usize) {
    if keep::if_on().is_some()
        && let Some(r) = range(start, bytes)
    {
        said(thr).dead(r);
    }
}

/// For the code that promp-cc adds: it is live, whatever else is said.
pub fn live(thr: &Thread, start: usize, bytes: usize) {
    if keep::if_on().is_some()
        && let Some(r) = range(start, bytes)
    {
        said(thr).live(r);
    }
}

/// `thr` comes to a place. True if it has said something, so that the place has been dealt with.
/// A stop of the thread waits until it has left: what its seat says is true as long as it does not.
pub fn visit(thr: &'static Thread) -> bool {
    let Some(k) = keep::if_on() else { return false };
    let Some(said) = thr.said.get().filter(|s| !s.is_empty()) else { return false };
    let (interval_ns, team) = (k.place.interval_ns.load(Relaxed), thr.team());
    if interval_ns == 0 || keep::seat_of(thr).is_none() || team.level.get() > 1 || thr.in_explicit_task() {
        said.forget();
        return false;
    }
    let now = time::now_ns();
    // What it was before a restart may be anything.
    let gap = match said.last_ns.get() {
        0 => interval_ns / 2,
        last => now.saturating_sub(last).min(interval_ns),
    };
    let since = now.saturating_sub(k.taken_ns.load(Relaxed));
    if thr.num() == 0 {
        k.place.visited_ns.store(now, Relaxed);
    }
    if k.place.in_serial.load(Relaxed) != 0 && thr.is_in_region() {
        said.forget();
        return true;
    }
    let is_stopped = || thr.pending.load(Relaxed) != 0;
    let (mut stood, seat) = (false, || keep::seat_of(thr).map_or(&NOBODYS, |s| &s.standing));
    if team.size() == 1 || !thr.is_in_region() {
        // The next visit would be too late.
        if since + gap >= interval_ns {
            stood = true;
            place::stand(k, seat, (1, u64::MAX), || !is_stopped());
        }
    } else {
        let visit = said.count(team.primary.region.get()) & ((1 << VISIT_BITS) - 1);
        let here = team.primary.region.get() << VISIT_BITS | visit;
        let target = k.place.target.load(Relaxed);
        if target == here {
            stood = true;
            let patience = (interval_ns / PATIENCE_PART).min(PATIENCE_NS);
            place::stand(k, seat, (team.size(), now + patience), || {
                !is_stopped() && k.place.target.load(Relaxed) == here
            });
        } else if target <= here && since + 2 * gap >= interval_ns {
            // Whoever comes first names it; one that was missed counts no more.
            let _ = k.place.target.compare_exchange(target, here + 1, Relaxed, Relaxed);
        }
    }
    // The time at the place does not count.
    said.last_ns.set(if stood { time::now_ns() } else { now });
    said.forget();
    true
}
