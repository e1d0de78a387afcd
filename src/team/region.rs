//! Parallel regions: how many threads, start, the implicit tasks, end.
//!
//! Start: the primary writes the team's fields, then each worker's order (thread.rs, [`Dock`](super::thread::Dock)).
//! End: a worker stores the region's number in `done` (release) and then, while the region has not finished, helps with explicit tasks;
//! the primary waits for all `done` (acquire) and for the last task, and stores `finished`. A worker that still helps
//! cannot meet tasks of a later region: it takes tasks only if the team's epoch is its own, under the pool's lock.

use super::member::{Member, tfd};
use super::pool;
use super::team::{Outside, Team};
use super::thread::{HOT_DEPTH, Order, Thread};
use super::{MAX_ACTIVE_LEVELS, bind};
use crate::fault::inject;
use crate::fault::save;
use crate::fault::spec::At;
use crate::fault::{after, policy};
use crate::icv::places::ProcBind;
use crate::icv::{Icvs, globals};
use crate::sys::asm;
use crate::sys::sync::full_fence;
use crate::task::group::Group;
use crate::work::share::Share;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

/// Outermost regions started so far.
static REGIONS: AtomicU64 = AtomicU64::new(0);
/// Have several of the program's own threads used the runtime?
static SEVERAL: AtomicBool = AtomicBool::new(false);
/// Threads in regions beyond the initial ones; kept only when there is a thread limit.
static BUSY: AtomicU32 = AtomicU32::new(0);

/// Outermost regions started so far.
pub fn count() -> u64 {
    REGIONS.load(Relaxed)
}

/// Another of the program's own threads uses the runtime.
pub fn several_primaries() {
    SEVERAL.store(true, Relaxed);
}

/// The ordinal of an outermost region that starts. One thread alone needs no atomic update; two regions that start while a second
/// thread comes could get the same number, which only messages and fault specifications show.
fn next_ordinal() -> u64 {
    if SEVERAL.load(Relaxed) {
        return REGIONS.fetch_add(1, Relaxed) + 1;
    }
    let n = REGIONS.load(Relaxed) + 1;
    REGIONS.store(n, Relaxed);
    n
}

/// The number of threads for a region encountered by `thr` (OpenMP 5.1, section 2.6.1). `requested` is the
/// num_threads clause's value, 0 without one.
pub fn team_size(thr: &'static Thread, requested: u32) -> u32 {
    if requested == 1 {
        return 1;
    }
    let icvs = thr.task().icvs.get();
    let team = thr.team();
    if team.active_level.get() >= icvs.max_active_levels.min(MAX_ACTIVE_LEVELS) {
        return 1;
    }
    let mut n = if requested == 0 { icvs.threads } else { requested };
    if icvs.dynamic {
        n = n.min(globals().procs);
    }
    n = n.saturating_sub(after::retired()).max(1);
    if icvs.thread_limit != u32::MAX {
        // Reserves the threads; `start` gives back what it does not get, `finish` the rest.
        let allowed = |busy: u32| n.min(icvs.thread_limit.saturating_sub(busy)).max(1);
        let before = BUSY.fetch_update(Relaxed, Relaxed, |busy| Some(busy + allowed(busy) - 1));
        n = allowed(before.unwrap_or_else(|b| b));
    }
    n
}

/// Starts a region of `n` threads (or fewer, if the system gives no more) executing `call`, with `thr` as its primary
/// thread, whose current membership it becomes. `flags` carries the proc_bind clause; `prepare` runs on the team, with the primary thread
/// in it, before any other member does. Without it the workers get their orders first: the primary begins while these are on their way.
pub fn start(
    thr: &'static Thread,
    call: (usize, usize),
    n: u32,
    flags: u32,
    prepare: Option<impl FnOnce(&'static Team)>,
) -> &'static Team {
    let g = globals();
    let outer = thr.member();
    let outer_team = outer.team();
    let team = assemble(thr, n);
    let wanted = n;
    let n = team.size();
    team.primary.parent.set(Some(outer));
    let task = thr.task();
    team.parent_task.refer_to(Some(task));
    let level = outer_team.level.get() + 1;
    team.level.update(level);
    team.active_level.update(outer_team.active_level.get() + u32::from(n > 1));
    let icvs = inner_icvs(task.icvs.get(), level);
    team.icvs.update(icvs);
    team.vouched.update(thr.vouched.get());
    team.wishes.update((thr.recompute.get(), thr.fragments.get()));
    team.league.update(thr.league.get());
    let region = if level == 1 { next_ordinal() } else { outer_team.primary.region.get() };
    team.primary.region.set(region);
    team.patience.update(pool::patience(if team.active_level.get() > 1 { pool::workers() + 1 } else { n }));
    if team.is_cancelled() {
        team.cancelled.store(0, Relaxed);
        team.primary.counted.set(0);
        // One member may have come to a barrier that the other has left out.
        team.barrier.forget();
        for i in 0..team.capacity() {
            team.member(i).rounds.set(0);
        }
    }
    team.tasks.begin_region();
    if team.singles.load(Relaxed) != 0 {
        team.singles.store(0, Relaxed);
    }
    if team.primary.counted.get() != n {
        team.primary.counted.set(n);
        team.barrier.reset(n);
    }
    let epoch = team.primary.epoch.load(Relaxed) + 1;
    team.primary.epoch.store(epoch, Relaxed);
    if icvs.thread_limit != u32::MAX && wanted > n {
        BUSY.fetch_sub(wanted - n, Relaxed);
    }
    if !g.places.is_empty() {
        let policy = policy_of(thr.task().icvs.get().bind, flags);
        for i in 0..n {
            team.member(i).place.set(bind::place_of(g, policy, i, n, outer.place.get()));
        }
    }
    let m = team.member(0);
    take_part(thr, m, epoch);
    if let Some(prepare) = prepare {
        team.primary.combined.set(None);
        team.primary.group.set(None);
        enter(thr, m, team);
        prepare(team);
        team.combined.refer_to(team.primary.combined.get());
        team.group.refer_to(team.primary.group.get());
        call_workers(team, n, epoch, call);
    } else {
        team.combined.refer_to(None);
        team.group.refer_to(None);
        call_workers(team, n, epoch, call);
        enter(thr, m, team);
    }
    inject::point(thr, At::Region);
    team
}

/// The workers' orders. Everything that a member reads of the team, and of other members, has been written.
#[inline(always)]
fn call_workers(team: &'static Team, n: u32, epoch: u64, call: (usize, usize)) {
    if n == 1 {
        return;
    }
    for i in 1..n {
        let member = team.member(i);
        worker_of(member).dock.post(Order { member, epoch, call });
    }
    full_fence();
    for i in 1..n {
        worker_of(team.member(i)).dock.wake();
    }
    // One may sleep at the end of the last region: see `finish`.
    team.event.wake_sleepers();
}

/// The primary thread enters the region.
#[inline(always)]
fn enter(thr: &'static Thread, m: &'static Member, team: &'static Team) {
    team.primary.outside.set(Outside {
        task: Some(thr.task()),
        base: thr.base.load(Relaxed),
        call: thr.call.get(),
        held: thr.held.get(),
    });
    thr.depth.set(thr.depth.get() + 1);
    thr.held.set(0);
    begin_implicit(thr, m, team, (None, None));
}

/// Ends the region whose primary thread is `thr`, and returns to the enclosing membership.
pub fn finish(thr: &'static Thread) {
    let team = thr.team();
    end_implicit(thr);
    let n = team.size();
    let epoch = team.primary.epoch.load(Relaxed);
    let all_done = || team.members()[1..].iter().all(|m| m.done.load(Acquire) >= epoch);
    team.wait_at_end(thr, team.patience.get(), || all_done() && team.tasks.idle(team));
    team.finished.store(epoch, Release);
    // Without a fence this may miss a worker that is about to sleep, which does no harm: whoever calls it next looks again, behind a fence
    // (`call_workers`; before it can be called from elsewhere, `dismiss`).
    team.event.wake_sleepers();
    if team.icvs.get().thread_limit != u32::MAX && n > 1 {
        BUSY.fetch_sub(n - 1, Relaxed);
    }
    let outside = team.primary.outside.get();
    let outer = team.primary.parent.get().expect("set at start");
    thr.enter(outer);
    thr.task.set(outside.task);
    policy::leave_region(thr);
    thr.base.store(outside.base, Relaxed);
    thr.call.set(outside.call);
    thr.held.set(outside.held);
    let depth = thr.depth.get() - 1;
    thr.depth.set(depth);
    if depth as usize >= HOT_DEPTH {
        dismiss(team, 1..n);
        pool::give_back_team(team);
    }
    if outer.team().level.get() == 0 {
        inject::point(thr, At::Serial);
    }
}

/// How many rounds an idle worker waits between two looks at `finished`: the primary shall find that line in its own cache.
const SELDOM: u32 = 64;

/// The body of a worker's region, called by its order number `seen`.
pub fn work(thr: &'static Thread, order: Order, seen: u32) {
    thr.in_runtime.store(1, Relaxed);
    let Order { member, epoch, call } = order;
    let team = member.team();
    take_part(thr, member, epoch);
    begin_implicit(thr, member, team, (team.combined.get(), team.group.get()));
    inject::point(thr, At::Region);
    activate(thr, call, (0, 0));
    end_implicit(thr);
    member.done.store(epoch, Release);
    team.event.notify();
    // Help with what is left, until the primary declares the region finished or calls for another one.
    let over = || thr.dock.called(seen) || team.finished.load(Acquire) >= epoch;
    let (patience, mut round) = (team.patience.get(), 0);
    let awake = patience.stay(|| {
        round += 1;
        thr.dock.called(seen) || team.tasks.has_been_used() || (round % SELDOM == 0 && over())
    });
    team.wait_at_end(thr, patience.after(awake), over);
}

/// Calls `call` as the current activation of `thr` and restores the enclosing one.
///
/// `args` is the memory (address, bytes) that the function may change and that belongs to this activation alone: a task's
/// argument block.
pub fn activate(thr: &'static Thread, call: (usize, usize), args: (usize, usize)) {
    let (frame, base, outer) = (thr.frame.get(), thr.base.load(Relaxed), thr.call.get());
    thr.call.set(call);
    save::enter(thr, args);
    // SAFETY: compiled OpenMP code gave the function and its argument for this purpose; `thr` is the caller.
    unsafe { asm::promp_call(call.0, call.1, thr) };
    thr.frame.set(frame);
    thr.base.store(base, Relaxed);
    thr.call.set(outer);
}

/// What others may look at of a member, as it is when its region begins.
#[inline(always)]
fn take_part(thr: &'static Thread, m: &'static Member, epoch: u64) {
    m.epoch.set(epoch);
    m.share_seq.set(0);
    m.singles.set(0);
    m.share.set(None);
    m.scanning.set(false);
    m.thread.refer_to(Some(thr));
    m.tfd.store(tfd::ALIVE, Relaxed);
    m.ledger.begin_region();
    m.tasks.begin_region();
}

fn begin_implicit(
    thr: &'static Thread,
    m: &'static Member,
    team: &'static Team,
    (combined, group): (Option<&'static Share>, Option<&'static Group>),
) {
    thr.league.set(team.league.get());
    m.implicit.begin_implicit(thr, team.icvs.get(), team.parent_task.get());
    m.implicit.group.set(group);
    if let Some(s) = combined {
        m.share_seq.set(1);
        m.share.set(Some(s));
        m.trip.set(0);
        m.rest.set((0, 0));
        m.ledger.begin_construct();
    }
    thr.enter(m);
    policy::enter_region(thr, team);
    if m.place.get().2 != thr.bound.get() {
        bind::follow(thr, m);
    }
    if globals().display_affinity {
        crate::icv::display_affinity_once(thr);
    }
}

fn end_implicit(thr: &'static Thread) {
    let m = thr.member();
    m.ledger.finish_chunk(m);
    thr.chunks.set(thr.chunks.get() + m.ledger.end_region());
    inject::region_ends(thr);
}

fn worker_of(m: &'static Member) -> &'static Thread {
    m.thread.get().expect("a member in use has a thread")
}

/// Gives workers of a team back to the pool: `members`, which may be none. None of the team's workers sleeps at the end of its last region
/// then, where only the team's primary thread would wake it.
fn dismiss(team: &'static Team, members: core::ops::Range<u32>) {
    team.event.notify();
    pool::give_back(members.map(|i| worker_of(team.member(i))));
}

/// The team for a region of `n` threads: the one `thr` used last at this depth, brought to size.
fn assemble(thr: &'static Thread, n: u32) -> &'static Team {
    let depth = thr.depth.get() as usize;
    let mut hot = thr.hot.get();
    let old = hot.get(depth).copied().flatten();
    if let Some(t) = old
        && t.size() == n
    {
        return t;
    }
    let team = match old {
        Some(t) if t.capacity() >= n => t,
        _ => {
            let t = pool::take_team(n);
            t.size.set(1);
            if let Some(o) = old {
                for i in 1..o.size().min(n) {
                    t.member(i).thread.set(o.member(i).thread.get());
                }
                dismiss(o, n.min(o.size())..o.size());
                t.size.set(o.size().min(n));
                o.size.set(0);
                pool::give_back_team(o);
            }
            t
        }
    };
    let mut have = team.size().max(1);
    if have > n {
        dismiss(team, n..have);
        have = n;
    }
    while have < n {
        let Some(w) = pool::take_worker() else { break };
        team.member(have).thread.set(Some(w));
        have += 1;
    }
    team.size.set(have);
    if depth < HOT_DEPTH {
        hot[depth] = Some(team);
        thr.hot.set(hot);
    }
    team
}

/// ICVs inside a region at `level`: the lists of OMP_NUM_THREADS and OMP_PROC_BIND go on one step a level.
fn inner_icvs(mut icvs: Icvs, level: u32) -> Icvs {
    let g = globals();
    if g.threads_list.len() > 1 || g.bind_list.len() > 1 {
        let i = level as usize;
        if let Some(&t) = g.threads_list.get(i) {
            icvs.threads = t;
        }
        if let Some(&b) = g.bind_list.get(i) {
            icvs.bind = b;
        }
    }
    icvs
}

/// The binding policy of a region: the proc_bind clause in `flags` counts unless bind-var is false.
fn policy_of(bind: ProcBind, flags: u32) -> ProcBind {
    match (bind, flags & 7) {
        (ProcBind::False, _) => ProcBind::False,
        (_, 1) => ProcBind::True,
        (_, 2) => ProcBind::Primary,
        (_, 3) => ProcBind::Close,
        (_, 4) => ProcBind::Spread,
        (b, _) => b,
    }
}

/// Releases the teams that a thread keeps for its regions: when it ends, or goes back to the pool. In the second case
/// the caller has seen the thread's last region end, which orders what that thread wrote.
pub fn release_hot(thr: &'static Thread) {
    let kept = thr.hot.get();
    if kept.iter().all(Option::is_none) {
        return;
    }
    thr.hot.set([None; HOT_DEPTH]);
    for team in kept.into_iter().flatten() {
        if team.size() > 1 {
            dismiss(team, 1..team.size());
        }
        team.size.set(0);
        pool::give_back_team(team);
    }
}
