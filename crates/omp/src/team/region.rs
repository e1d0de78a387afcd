//! Parallel regions: how many threads, start, the implicit tasks, end.
//!
//! Start: the primary writes the team's fields, then the workers get their orders (orders.rs). End: a worker
//! says that it has come to it and then, while the region has not ended, helps with explicit tasks; the primary
//! waits for all and for the last task, and says that it has ended. A worker that still helps cannot meet tasks of a later region: it takes tasks only if the team's epoch is its own, under the pool's lock.

use super::activation::activate;
use super::crew::{NO_CREW, call_workers, expect_orders};
use super::event_count::Waiters;
use super::member::{Member, tfd};
use super::orders::{FEW, SELDOM};
use super::team::{Outside, Team};
use super::thread::{HOT_DEPTH, Order, Thread};
use super::{affinity_text, bind, crew, promises, setup, worker_pool};
use crate::icv::globals;
use crate::observe;
use crate::observe::event::{Event, Set, Sync};
use crate::save::region_points;
use crate::task::group::Group;
use crate::task::lightness::{ACROSS, DEALT, lighten};
use crate::work::loops;
use crate::work::share::Share;
use crate::work::tune::regions;
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*, compiler_fence};

/// Outermost regions started so far.
pub static REGIONS: AtomicU64 = AtomicU64::new(0);
/// Have several of the program's own threads used the runtime?
pub static SEVERAL: AtomicBool = AtomicBool::new(false);

/// Outermost regions started so far.
pub fn count() -> u64 {
    REGIONS.load(Relaxed)
}

/// Another of the program's own threads uses the runtime.
pub(crate) fn several_primaries() {
    SEVERAL.store(true, Relaxed);
}

/// The ordinal of an outermost region that starts. One thread alone needs no atomic update; two regions that start while a second
/// thread comes could get the same number, which only messages and fault specifications show.
#[inline]
fn next_ordinal() -> u64 {
    if SEVERAL.load(Relaxed) {
        return REGIONS.fetch_add(1, Relaxed) + 1;
    }
    let n = REGIONS.load(Relaxed) + 1;
    REGIONS.store(n, Relaxed);
    n
}

/// Starts a region executing `call`, with `thr` as its primary thread, whose current membership it becomes. `threads` is the num_threads
/// clause's value, 0 without one; `flags` carries the proc_bind clause; `prepare` runs on the team, with the primary thread
/// in it, before any other member does. Without it the workers get their orders first: the primary begins while these are on their way.
#[inline(always)]
pub fn start(
    thr: &'static Thread,
    call: (usize, usize),
    threads: u32,
    flags: u32,
    prepare: Option<impl FnOnce(&'static Team)>,
) {
    start_unless_done::<false>(thr, call, threads, flags, prepare);
}

/// [`start`] for a region that the runtime executes as a `WHOLE`. False: that is done already.
#[inline(always)]
pub fn start_unless_done<const WHOLE: bool>(
    thr: &'static Thread,
    call: (usize, usize),
    threads: u32,
    flags: u32,
    prepare: Option<impl FnOnce(&'static Team)>,
) -> bool {
    if observe::wants(Set::BEGIN) {
        start_told(thr, call, threads, flags, prepare);
        return true;
    }
    start_or_tell::<false, WHOLE>(thr, call, threads, flags, prepare)
}

/// [`start`] where somebody listens.
#[cold]
#[inline(never)]
fn start_told(
    thr: &'static Thread,
    call: (usize, usize),
    threads: u32,
    flags: u32,
    prepare: Option<impl FnOnce(&'static Team)>,
) {
    start_or_tell::<true, false>(thr, call, threads, flags, prepare);
}

#[inline(always)]
fn start_or_tell<const TELL: bool, const WHOLE: bool>(
    thr: &'static Thread,
    call: (usize, usize),
    threads: u32,
    flags: u32,
    prepare: Option<impl FnOnce(&'static Team)>,
) -> bool {
    let Some((team, again)) = setup::team_for::<WHOLE>(thr, call, threads, flags) else { return false };
    expect_orders(team);
    let outer_team = thr.team();
    let region = if outer_team.level.get() == 0 { next_ordinal() } else { outer_team.primary.region.get() };
    team.primary.region.set(region);
    if thr.gauge.regions.is_busy() {
        region_points::begin(thr, team, outer_team.level.get() != 0);
    }
    if TELL {
        thr.tell(Event::ParallelBegin {
            team: &team.words,
            size: team.size(),
            level: team.level.get(),
            asked: threads,
            function: call.0,
        });
    }
    let epoch = team.begin_region();
    let m = team.member(0);
    take_part(thr, m, epoch);
    if let Some(prepare) = prepare {
        team.primary.combined.set(None);
        team.primary.group.set(None);
        enter(thr, m, team, again);
        prepare(team);
        team.begins.combined.refer_to(team.primary.combined.get());
        team.begins.group.refer_to(team.primary.group.get());
        call_workers(team, epoch, call);
    } else {
        team.begins.combined.refer_to(None);
        team.begins.group.refer_to(None);
        call_workers(team, epoch, call);
        enter(thr, m, team, again);
    }
    if TELL {
        tell_begin(thr, team);
    }
    true
}

/// Executes an outermost region whose number of threads cannot be asked for as what it was before the
/// compiler made it one: serial code. False: a stop is due. What fails in it fails in serial code.
pub(crate) fn execute_plainly(thr: &'static Thread, call: (usize, usize)) -> bool {
    let outer = thr.plainly.get();
    thr.plainly.set(true);
    thr.in_runtime.store(0, Relaxed);
    // Either a stop's handler sees that, or the stop is seen here.
    compiler_fence(SeqCst);
    if thr.pending.load(Relaxed) != 0 {
        thr.in_runtime.store(1, Relaxed);
        thr.plainly.set(outer);
        return false;
    }
    // SAFETY: compiled OpenMP code gave the function and its argument for this purpose.
    unsafe { core::mem::transmute::<usize, extern "C" fn(usize)>(call.0)(call.1) };
    thr.in_runtime.store(1, Relaxed);
    thr.plainly.set(outer);
    next_ordinal();
    true
}

/// A member begins its implicit task, perhaps inside a construct.
fn tell_begin(thr: &'static Thread, team: &'static Team) {
    thr.tell(Event::ImplicitBegin { team: &team.words });
    if thr.member().share.get().is_some() {
        loops::tell_begin(thr);
    }
}

/// The primary thread enters the region.
#[inline(always)]
fn enter(thr: &'static Thread, m: &'static Member, team: &'static Team, again: bool) {
    team.primary.outside.set(Outside {
        task: Some(thr.task()),
        base: thr.base.load(Relaxed),
        call: thr.call.get(),
        held: thr.held.get(),
        light: thr.light.get(),
    });
    thr.depth.set(thr.depth.get() + 1);
    thr.held.set(0);
    if again {
        thr.enter(m);
        lighten(thr);
    } else {
        belong(thr, m, team);
    }
    begin_implicit(thr, m, team, (None, None));
}

/// Ends the region whose primary thread is `thr`, and returns to the enclosing membership.
pub fn finish(thr: &'static Thread) {
    if observe::wants(Set::END) {
        finish_told(thr);
    } else {
        finish_or_tell::<false>(thr);
    }
}

/// [`finish`] where somebody listens.
#[cold]
#[inline(never)]
fn finish_told(thr: &'static Thread) {
    finish_or_tell::<true>(thr);
}

#[inline(always)]
fn finish_or_tell<const TELL: bool>(thr: &'static Thread) {
    let team = thr.team();
    end_implicit(thr);
    if TELL {
        tell_arrival(thr);
    }
    let epoch = team.primary.epoch.load(Relaxed);
    let n = team.size();
    let all_done = || crew::all_came(team, n, epoch);
    // Until somebody makes a task there is nothing else to look at.
    let patience = team.patience.get();
    let awake = if n <= FEW {
        patience.stay(|| all_done() || team.tasks.has_been_used())
    } else {
        crew::await_ends(team, epoch, patience)
    };
    if !awake || team.tasks.has_been_used() {
        let left = Cell::new(n - 1);
        let all_done = || team.awaited.have_come(&left, |i| team.member(i).end.has_come(epoch));
        team.wait_at_end(thr, Waiters::Helping, patience.after(awake), || {
            all_done() && team.tasks.idle(team)
        });
    }
    if TELL {
        tell_end(thr, team);
    }
    // The next region may follow at once.
    expect_orders(team);
    team.call.end(epoch);
    // Without a fence this may miss a worker that is about to sleep, which does no harm: whoever calls it next looks again, behind a fence
    // (`call_workers`; before it can be called from elsewhere, `dismiss`). Of a large crowd nobody is woken at all, but for listeners: they would
    // go to the dock to sleep there, and be woken again for the next region.
    if team.event.has_sleepers() && (TELL || !crew::is_too_large(n, patience)) {
        team.event.wake_sleepers();
    }
    setup::ended(team);
    let outside = team.primary.outside.get();
    let outer = team.primary.parent.get().expect("set at start");
    thr.enter(outer);
    thr.task.set(outside.task);
    if thr.is_prepared(team.member(0), team.primary.since.get()) {
        // Nothing was promised, and so nothing saved that would not be saved outside.
        thr.light.set(outside.light & !(ACROSS | DEALT));
    } else {
        promises::leave_region(thr);
        if team.primary.measured.get().is_some() {
            regions::ended_by(team);
        }
    }
    thr.base.store(outside.base, Relaxed);
    thr.call.set(outside.call);
    thr.held.set(outside.held);
    rise(thr, team);
    if thr.gauge.regions.is_busy() {
        region_points::finish(thr);
    }
    if TELL {
        thr.tell(Event::ParallelEnd { team: &team.words });
    }
}

/// The thread is less deep in regions by one; the team of a deep one is not kept.
#[inline(always)]
fn rise(thr: &'static Thread, team: &'static Team) {
    let depth = thr.depth.get() - 1;
    thr.depth.set(depth);
    if depth as usize >= HOT_DEPTH {
        setup::dismiss(team, 1..team.size());
        worker_pool::give_back_team(team);
    }
}

/// A member arrives at its region's end.
fn tell_arrival(thr: &'static Thread) {
    thr.tell(Event::SyncArrive { sync: Sync::Join });
}

/// It has done all that it does there.
fn tell_end(thr: &'static Thread, team: &'static Team) {
    thr.tell(Event::SyncLeave { sync: Sync::Join });
    thr.tell(Event::ImplicitEnd { team: &team.words });
}

/// The body of a worker's region, called by its order number `seen`.
pub(crate) fn work(thr: &'static Thread, order: Order, seen: u32) {
    if observe::wants(const { Set::BEGIN.and(Set::END) }) {
        work_told(thr, order, seen);
    } else {
        work_or_tell::<false>(thr, order, seen);
    }
}

/// [`work`] where somebody listens.
#[cold]
#[inline(never)]
fn work_told(thr: &'static Thread, order: Order, seen: u32) {
    work_or_tell::<true>(thr, order, seen);
}

#[inline(always)]
fn work_or_tell<const TELL: bool>(thr: &'static Thread, order: Order, seen: u32) {
    thr.in_runtime.store(1, Relaxed);
    let Order { member, epoch, since, call, crew, .. } = order;
    member.end.expect();
    if crew != NO_CREW {
        crew::pass_on(order);
    }
    let team = member.team();
    take_part(thr, member, epoch);
    if !thr.is_prepared(member, since) {
        belong(thr, member, team);
        thr.prepared.set(Some((member, since)));
    }
    begin_implicit(thr, member, team, (team.begins.combined.get(), team.begins.group.get()));
    if TELL {
        tell_begin(thr, team);
    }
    activate(thr, call, (0, 0));
    end_implicit(thr);
    if thr.gauge.regions.is_busy() {
        region_points::leave(thr);
    }
    if TELL {
        tell_arrival(thr);
    }
    if crew == NO_CREW {
        member.end.come(epoch);
        crew::tell_awaiting(team, member.num.get());
    } else {
        crew::come(thr, order, seen);
    }
    // Help with what is left, until the primary says that the region has ended, or another one calls.
    let over = || crew::is_over(thr, team, epoch, seen);
    let (patience, mut round) = (team.patience.get(), 0);
    let awake = patience.stay(|| {
        round += 1;
        thr.dock.called(seen) || team.tasks.has_been_used() || (round % SELDOM == 0 && over())
    });
    team.wait_at_end(thr, Waiters::Resting, patience.after(awake), over);
    if TELL {
        tell_end(thr, team);
    }
}

/// What others may look at of a member, as it is when its region begins.
#[inline(always)]
pub fn take_part(thr: &'static Thread, m: &'static Member, epoch: u64) {
    m.epoch.set(epoch);
    m.constructs.entered.set(0);
    m.constructs.settled.set(0);
    m.singles.set(0);
    m.singles_met.set(0);
    m.share.set(None);
    m.scanning.set(false);
    m.thread.refer_to(Some(thr));
    m.tfd.store(tfd::ALIVE, Relaxed);
    m.ledger.begin_region();
    m.tasks.begin_region();
}

/// Gives a member what it has from the setting-up (setup.rs).
fn belong(thr: &'static Thread, m: &'static Member, team: &'static Team) {
    thr.league.set(team.origin.league.get());
    m.implicit.belong(thr, team.origin.icvs.get(), team.origin.task.get());
    thr.enter(m);
    promises::enter_region(thr, team);
    if globals().display_affinity {
        bind::follow(thr, m);
        affinity_text::show_once(thr);
    }
}

/// The implicit task begins.
#[inline(always)]
fn begin_implicit(
    thr: &'static Thread,
    m: &'static Member,
    team: &'static Team,
    (combined, group): (Option<&'static Share>, Option<&'static Group>),
) {
    let without = team.begins.without.get();
    if without != 0 || thr.gauge.regions.is_busy() {
        region_points::enter(thr, without);
    }
    m.implicit.begin_region(group);
    if let Some(s) = combined {
        m.constructs.entered.set(1);
        m.share.set(Some(s));
        m.position.trip.set(0);
        m.position.rest.set((0, 0));
        m.ledger.begin_construct();
    }
    if m.place.get().2 != thr.home.bound.get() {
        bind::follow(thr, m);
    }
}

fn end_implicit(thr: &'static Thread) {
    let m = thr.member();
    m.finish_chunk();
    thr.chunks.set(thr.chunks.get() + m.ledger.end_region());
}
