//! What a thread does on its way to a place where memory is dead, and there: ckpt/control/checkpoint_site.rs
//! has the protocol.

use super::visits::{self, When};
use crate::ckpt::checkpoint_site;
use crate::ckpt::dead_memory_claims::{Claims, Range};
use crate::ckpt::keep::{self, Keep};
use crate::ckpt::request_protocol::AWAY;
use crate::ckpt::seats::Seat;
use crate::ckpt::site_choice::Advice;
use crate::icv::Globals;
use crate::observe::event::Row;
use crate::observe::{self, Listener, Set, Told};
use crate::sys::time;

use crate::team::loop_nests;
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
fn said(thr: &Thread) -> &'static Claims {
    thr.claims.get().unwrap_or_else(|| {
        let s = Claims::create();
        thr.claims.set(Some(s));
        s
    })
}

/// Where the keeper is told whether `thr` stands at a place.
fn standing(thr: &Thread) -> &'static AtomicU32 {
    seat_of(thr).map_or(&NOBODYS, |s| &s.standing)
}

/// The seat of `thr`.
fn seat_of(thr: &Thread) -> Option<&'static Seat> {
    keep::numbered(thr.seat_number.get())
}

fn range(start: usize, bytes: usize) -> Option<Range> {
    start.checked_add(bytes).filter(|_| bytes > 0).map(|end| (start, end))
}

/// Begins, while the runtime is initialised. PROMP_CKPT_WHERE=serial: the end of a region is a place.
pub(crate) fn start(g: &'static Globals) {
    visits::start(g);
    if crate::ckpt::settings::asked().is_some_and(|c| c.in_serial) {
        observe::register(Listener { wants: Set::of(&[Row::ParallelEnd]), told: region_ended });
    }
}

fn region_ended(told: &Told) {
    let Some(thr) = told.thread.map(Thread::of) else { return };
    let Some(k) = keep::if_on().filter(|_| thr.team().level.get() == 0) else { return };
    let (now, interval_ns) = (time::now_ns(), k.interval_ns.load(Relaxed));
    k.place.visited_ns.store(now, Relaxed);
    // None was taken if it was refused: not again at once.
    let last = k.last_ns().max(k.place.asked_ns.load(Relaxed));
    if now.saturating_sub(last) >= interval_ns && seat_of(thr).is_some() {
        k.place.asked_ns.store(now, Relaxed);
        checkpoint_site::stand(k, || standing(thr), (1, u64::MAX), || thr.pending.load(Relaxed) == 0);
    }
}

/// `promp_dead`: [start, start + bytes) is dead at the next place that the thread comes to.
pub fn dead(thr: &Thread, start: usize, bytes: usize) {
    if keep::if_on().is_some()
        && let Some(r) = range(start, bytes)
    {
        said(thr).dead(r, 0);
    }
}

/// For the code that promp-cc adds: what the nests of a list write is dead there. One of no nests says what
/// that is which comes of going ahead.
pub fn written(thr: &Thread, list: &[usize]) {
    if keep::if_on().is_none() {
        return;
    }
    match loop_nests::range(list) {
        Some(r) => said(thr).dead(r, loop_nests::name(list)),
        None if list[1] == 0 => said(thr).foreseen_is(loop_nests::name(list)),
        None => {}
    }
}

/// For the code that promp-cc adds: what is dead comes of `program` (foresee) with these numbers; it is
/// for code that is `in_region`, or for serial code.
pub fn foresee(thr: &Thread, program: &'static [u64], slots: &[u64], in_region: bool) {
    if keep::if_on().is_some() && thr.is_in_region() == in_region {
        said(thr).foresee(program, slots);
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

/// `thr` comes to the place `at`. True if it has been dealt with; else it is one at which nothing was said.
/// A stop of the thread waits until it has left: what its seat says is true as long as it does not.
pub fn visit(thr: &'static Thread, at: usize) -> bool {
    let Some(k) = keep::if_on() else { return false };
    let (interval_ns, team) = (k.place.interval_ns.load(Relaxed), thr.team());
    let in_team = thr.is_in_region() && team.size() > 1;
    let is_first = thr.num() == 0 && seat_of(thr).is_some_and(|s| s.initial.load(Relaxed) != 0);
    let Some(said) = thr.claims.get().filter(|s| !s.is_empty()) else {
        if !is_first || in_team {
            return false;
        }
        let number = visits::note(at, 0, (time::now_ns(), k.last_ns()), k.interval_ns.load(Relaxed), true);
        return visits::is_planned() && !visits::is_left(number) && !visits::is_due(number, Some(at));
    };
    if interval_ns == 0 || seat_of(thr).is_none() || team.level.get() > 1 || thr.in_explicit_task() {
        said.forget();
        return false;
    }
    let (now, dead) = (time::now_ns(), said.dead_bytes());
    said.is_at(at);
    let visit = if in_team { said.count(team.primary.region.get()) & ((1 << VISIT_BITS) - 1) } else { 0 };
    said.places.visit(at, dead, now, interval_ns);
    let number = is_first.then(|| {
        k.place.visited_ns.store(now, Relaxed);
        // In a region a visit is named one ahead.
        visits::note(at, dead, (now, k.last_ns()), interval_ns, !in_team || visit > 1)
    });
    let arrival = Arrival { k, thr, said, at: (!in_team).then_some(at), number, interval_ns, now };
    let advice = arrival.advise(now);
    if k.place.in_serial.load(Relaxed) != 0 && thr.is_in_region() {
        said.forget();
        return true;
    }
    if in_team {
        arrival.stand_with_team(team.primary.region.get() << VISIT_BITS | visit, advice);
    } else if advice.here {
        checkpoint_site::stand(k, || standing(thr), (1, u64::MAX), || thr.pending.load(Relaxed) == 0);
        arrival.stood();
    }
    said.forget();
    true
}

/// A thread at a place.
struct Arrival {
    k: &'static Keep,
    thr: &'static Thread,
    said: &'static Claims,
    /// Where, if the thread is alone.
    at: Option<usize>,
    /// The visit's, if it is the first thread's.
    number: Option<u64>,
    interval_ns: u64,
    /// When it came.
    now: u64,
}

impl Arrival {
    /// Shall it stand here, or at the next place?
    fn advise(&self, now_ns: u64) -> Advice {
        let &Self { k, said, interval_ns, .. } = self;
        let last_ns = k.last_ns();
        let own = said.places.advise(now_ns, last_ns.saturating_add(interval_ns), interval_ns);
        let lead_ns = said.places.lead_ns(interval_ns);
        match self.number {
            _ if !visits::is_planned() => own,
            Some(n) => {
                let when = When { now_ns, last_ns, interval_ns, lead_ns };
                visits::advise(n, self.at, own, when)
            }
            None if visits::next_is_left() => own,
            // The first thread names it.
            None => Advice { next: false, ..own },
        }
    }

    /// Was a copy made while it stood?
    fn stood(&self) -> bool {
        let lead_ns = self.k.place.copied_ns.load(Relaxed).checked_sub(self.now);
        self.said.places.stood(time::now_ns().saturating_sub(self.now), lead_ns);
        lead_ns.is_some()
    }

    /// Visit `here` of its team: it stands if that is the one that was named, and names the next one if that
    /// is advised.
    fn stand_with_team(&self, here: u64, mut advice: Advice) {
        let &Self { k, thr, interval_ns, now, .. } = self;
        if k.place.target.load(Relaxed) == here {
            let patience = (interval_ns / PATIENCE_PART).min(PATIENCE_NS);
            checkpoint_site::stand(
                k,
                || standing(thr),
                (thr.team().size(), now + patience),
                || thr.pending.load(Relaxed) == 0 && k.place.target.load(Relaxed) == here,
            );
            // The next visit may be the last one that is in time for the next checkpoint.
            let next = self.stood() && self.advise(time::now_ns()).next;
            advice = Advice { here: false, next };
        }
        let target = k.place.target.load(Relaxed);
        if target <= here && advice.next {
            // Whoever comes first names it; one that was missed counts no more.
            let _ = k.place.target.compare_exchange(target, here + 1, Relaxed, Relaxed);
        }
    }
}
