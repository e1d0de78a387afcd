//! What a region needs before it begins: how many threads, which team, its level, ICVs and places.
//!
//! Most regions need the same as the one before. What they are set up from is
//!  - what the construct asks for, and what changes outside of the thread: [`Asked`], compared at every start;
//!  - the encountering task and its ICVs, the promises that `promp_*` calls make, the place in a league, the teams that the thread
//!    keeps: whoever changes one of these calls [`Thread::unprepare`].
//!
//! While both stay, a region *again* uses what the last setting-up has left in the team, in its members'
//! implicit tasks and in the workers' `Thread`s. Setting-ups have numbers (`Primary::since`), which travel
//! with the orders: so a worker knows whether it is prepared for this one. A region that hangs on more than
//! the above is set up each time.

use super::barrier::Shape;
use super::barrier_way::Way;
use super::region_request::Asked;
use super::team::Team;
use super::thread::{HOT_DEPTH, Thread};
use super::{bind, crew, promises, region, shrink, worker_pool};
use crate::icv::MAX_ACTIVE_LEVELS;
use crate::icv::places::ProcBind;
use crate::icv::settings::Constructs;
use crate::icv::{Icvs, globals};
use crate::observe;
use crate::observe::event::Set;
use crate::proofs::{join, segment_tables};
use crate::task::Task;
use crate::task::lightness::{PLAIN, SERIAL, lighten};
use crate::work::tune::regions;
use core::sync::atomic::{AtomicU32, Ordering::*};

/// Threads in regions beyond the initial ones; kept only when there is a thread limit.
static BUSY: AtomicU32 = AtomicU32::new(0);

impl Asked {
    #[inline(always)]
    fn now(threads: u32, flags: u32) -> Self {
        Self {
            threads,
            flags,
            retired: shrink::retired(),
            tables: segment_tables::generation(),
            workers: worker_pool::workers(),
        }
    }
}

/// The team for a region that `thr` encounters, set up, and whether it is the same again. `threads` is the
/// num_threads clause's value, 0 without one; `flags` carries the proc_bind clause; `call` is the outlined
/// function, with its data. `None`: the tuner has had the region executed, which `thr` would execute as a
/// `WHOLE`.
#[inline(always)]
pub(crate) fn team_for<const WHOLE: bool>(
    thr: &'static Thread,
    call: (usize, usize),
    threads: u32,
    flags: u32,
) -> Option<(&'static Team, bool)> {
    let asked = Asked::now(threads, flags);
    if let Some((m, _)) = thr.prepared.get() {
        let team = m.team();
        if thr.is_in(team.origin.task.get()) && team.primary.asked.get() == asked && !team.is_cancelled() {
            return Some((team, true));
        }
    }
    if WHOLE { set_up_or_do(thr, call, asked) } else { set_up(thr, call, asked, false) }
}

/// Apart from [`team_for`], in which it would cost registers.
#[inline(never)]
fn set_up_or_do(thr: &'static Thread, call: (usize, usize), asked: Asked) -> Option<(&'static Team, bool)> {
    if thr.alone_in.is_plain(call.0, asked, |t| thr.is_in(Some(t))) && plainly(thr, call) {
        // A region of several threads may have begun before it was noted, and ended behind that.
        if thr.light.get() & (PLAIN | SERIAL) == PLAIN {
            lighten(thr);
        }
        return None;
    }
    set_up(thr, call, asked, true)
}

/// The team of `thr` alone, if it is still as it was set up, and the tuner goes on having this region
/// executed by it.
fn alone_again(thr: &'static Thread, call: usize, asked: Asked) -> Option<&'static Team> {
    let team = thr.alone.get()?;
    let since = team.primary.since.get();
    if !thr.is_in(team.origin.task.get())
        || team.is_cancelled()
        || !thr.alone_in.is_in_team(call, asked, since)
    {
        return None;
    }
    thr.prepared.set(Some((team.member(0), since)));
    Some(team)
}

/// How a region is executed whose number of threads the tuner decides about.
enum Tuned {
    /// By this team. If that is the thread alone, what is known of the region is kept there.
    By(&'static Team, Option<u16>),
    /// It has been, plainly.
    Done,
}

/// See [`Tuned`]; `None`: it does not decide.
#[cold]
#[inline(never)]
fn as_tuned(
    thr: &'static Thread,
    call: (usize, usize),
    asked: Asked,
    wanted: u32,
    whole: bool,
) -> Option<Tuned> {
    let dynamic = thr.task().icvs.get().dynamic;
    if thr.team().level.get() != 0 || wanted < 2 || !regions::any(dynamic) {
        return None;
    }
    let fed = regions::threads(call.0, wanted, dynamic, thr.alone_in.is_due(call.0));
    let site = fed.site.filter(|_| fed.threads == 1);
    if let Some(site) = site
        && fed.made
        && whole
        && is_serial_again(thr)
    {
        thr.alone_in.note_plain(call.0, site, asked, thr.task());
        lighten(thr);
        if plainly(thr, call) {
            if let Some(measured) = fed.measured {
                regions::ended(measured, 1);
            }
            return Some(Tuned::Done);
        }
    }
    let team = if fed.threads == 1 { alone(thr) } else { assemble(thr, fed.threads) };
    // Taken by the region's end.
    team.primary.measured.set(fed.measured);
    Some(Tuned::By(team, site))
}

/// Is an outermost region of one thread that `thr` encounters nothing but serial code? Nobody is told of it,
/// nothing is saved or promised, no threads are reserved, and the task is one that stays.
fn is_serial_again(thr: &'static Thread) -> bool {
    let g = globals();
    core::ptr::eq(thr.task(), &raw const thr.member().implicit)
        && !observe::wants(const { Set::BEGIN.and(Set::END) })
        && !thr.saving.get()
        && !promises::saves_private_state(&g.promp)
        && (thr.vouched.get(), thr.recompute.get(), thr.fragments.get()) == (0, 0, 0)
        && thr.task().icvs.get().thread_limit == u32::MAX
        && !g.display_affinity
}

/// Executes it as that; false: it is not executed.
#[inline(always)]
fn plainly(thr: &'static Thread, call: (usize, usize)) -> bool {
    !observe::wants(const { Set::BEGIN.and(Set::END) }) && region::execute_plainly(thr, call)
}

#[inline(never)]
fn set_up(
    thr: &'static Thread,
    call: (usize, usize),
    asked: Asked,
    whole: bool,
) -> Option<(&'static Team, bool)> {
    let g = globals();
    if g.promp.constructs == Constructs::Tuned
        && let Some(team) = alone_again(thr, call.0, asked)
    {
        return Some((team, true));
    }
    join::settle();
    let (outer, task) = (thr.member(), thr.task());
    let wanted = team_size(thr, asked);
    let chosen = match g.promp.constructs {
        Constructs::Tuned => as_tuned(thr, call, asked, wanted, whole),
        _ => None,
    };
    let tuned = chosen.is_some();
    let (team, site) = match chosen {
        Some(Tuned::Done) => return None,
        Some(Tuned::By(team, site)) => (team, site),
        None => (assemble(thr, wanted), None),
    };
    let n = team.size();
    describe(team, thr, asked);
    fit_barrier(team);
    let limited = team.origin.icvs.peek().thread_limit != u32::MAX;
    if limited && wanted > n {
        BUSY.fetch_sub(wanted - n, Relaxed);
    }
    place_members(team, task, asked);
    // Workers may have been made for it.
    let asked = Asked { workers: worker_pool::workers(), ..asked };
    team.primary.asked.set(asked);
    team.primary.since.set(team.primary.since.get() + 1);
    let since = team.primary.since.get();
    // An implicit task begins anew with each region, and its thread is prepared for that one then.
    let again = core::ptr::eq(task, &outer.implicit)
        && (thr.depth.get() as usize) < HOT_DEPTH
        && team.origin.vouched.get() == 0
        && team.origin.wishes.get() == (0, 0)
        && !limited;
    thr.prepared.set((again && !tuned && wanted == n).then(|| (team.member(0), since)));
    if let Some(site) = site {
        // Others that ask for the same are not executed by it.
        team.primary.asked.set(Asked { workers: u32::MAX, ..asked });
        thr.alone_in.note_team(call.0, site, asked, since, again);
    }
    Some((team, false))
}

/// What `team` is in a region that `thr` encounters: written only where it is not the same as before.
fn describe(team: &'static Team, thr: &'static Thread, asked: Asked) {
    let (n, outer, task) = (team.size(), thr.member(), thr.task());
    let outer_team = outer.team();
    team.way.update(Way::of(n));
    team.primary.parent.set(Some(outer));
    team.origin.task.refer_to(Some(task));
    let level = outer_team.level.get() + 1;
    team.level.update(level);
    team.active_level.update(outer_team.active_level.get() + u32::from(n > 1));
    team.origin.icvs.update(inner_icvs(task.icvs.get(), level, asked.flags));
    team.origin.vouched.update(thr.vouched.get());
    team.origin.wishes.update((thr.recompute.get(), thr.fragments.get()));
    team.origin.league.update(thr.league.get());
    // Where a thread is not busy with that, nobody writes it again.
    team.begins.without.update(0);
    team.patience.update(worker_pool::patience(if team.active_level.get() > 1 {
        worker_pool::workers() + 1
    } else {
        n
    }));
}

/// The barrier of `team` fits its members, and has seen none of them.
fn fit_barrier(team: &'static Team) {
    if team.is_cancelled() {
        team.cancelled.store(0, Relaxed);
        team.primary.shape.set(None);
        // One member may have come to a barrier that the other has left out.
        team.barrier.forget();
        for i in 0..team.capacity() {
            team.member(i).barriers.pairs.set(0);
        }
    }
    let n = team.size();
    let shape = Shape::of(n);
    if team.primary.shape.get() != Some(shape) {
        team.primary.shape.set(Some(shape));
        team.barrier.reset(shape);
        for i in 0..n {
            let m = team.member(i);
            m.barriers.gathered.set(0);
            m.tasks.share_with(n);
        }
    }
}

/// The places of its members, in a region that `task` encounters.
fn place_members(team: &'static Team, task: &Task, asked: Asked) {
    let (g, n) = (globals(), team.size());
    if g.places.is_empty() {
        return;
    }
    let outer = team.primary.parent.get().expect("the team has been described");
    let policy = policy_of(task.icvs.get().bind, asked.flags);
    for i in 0..n {
        team.member(i).place.set(bind::place_of(g, policy, i, n, outer.place.get()));
    }
}

/// A region of `team` has ended.
#[inline(always)]
pub(crate) fn ended(team: &'static Team) {
    let n = team.size();
    if team.origin.icvs.peek().thread_limit != u32::MAX && n > 1 {
        BUSY.fetch_sub(n - 1, Relaxed);
    }
}

/// The number of threads for a region encountered by `thr` (OpenMP 5.1, section 2.6.1).
fn team_size(thr: &'static Thread, asked: Asked) -> u32 {
    if asked.threads == 1 {
        return 1;
    }
    let icvs = thr.task().icvs.get();
    if thr.team().active_level.get() >= icvs.max_active_levels.min(MAX_ACTIVE_LEVELS) {
        return 1;
    }
    let mut n = if asked.threads == 0 { icvs.threads } else { asked.threads };
    if icvs.dynamic {
        n = n.min(globals().procs);
    }
    n = n.saturating_sub(asked.retired).max(1);
    if n >= worker_pool::MANY {
        n = worker_pool::possible(n);
    }
    if icvs.thread_limit != u32::MAX {
        // Reserves the threads; `set_up` gives back what it does not get, `ended` the rest.
        let allowed = |busy: u32| n.min(icvs.thread_limit.saturating_sub(busy)).max(1);
        let before = BUSY.fetch_update(Relaxed, Relaxed, |busy| Some(busy + allowed(busy) - 1));
        n = allowed(before.unwrap_or_else(|b| b));
    }
    n
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
            let t = worker_pool::take_team(n);
            t.size.set(1);
            if let Some(o) = old {
                for i in 1..o.size().min(n) {
                    t.member(i).thread.set(o.member(i).thread.get());
                }
                dismiss(o, n.min(o.size())..o.size());
                t.size.set(o.size().min(n));
                o.size.set(0);
                worker_pool::give_back_team(o);
            }
            t
        }
    };
    crew::changes(team);
    let mut have = team.size().max(1);
    if have > n {
        dismiss(team, n..have);
        have = n;
    }
    while have < n {
        let Some(w) = worker_pool::take_worker() else { break };
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

/// The team of `thr` alone, for regions that one thread executes though more could: its other teams keep
/// their workers.
fn alone(thr: &'static Thread) -> &'static Team {
    let team = thr.alone.get().unwrap_or_else(|| {
        let t = worker_pool::take_team(1);
        thr.alone.set(Some(t));
        t
    });
    team.size.set(1);
    team
}

/// Gives workers of a team back to the pool: `members`, which may be none. None of the team's workers
/// sleeps at the end of its last region then, where only the team's primary thread would wake it.
pub(crate) fn dismiss(team: &'static Team, members: core::ops::Range<u32>) {
    team.event.notify();
    worker_pool::give_back(members.map(|i| team.member(i).worker()));
}

/// Releases the teams that a thread keeps for its regions: when it ends, or goes back to the pool. In the
/// second case the caller has seen the thread's last region end, which orders what that thread wrote.
pub fn release_hot(thr: &'static Thread) {
    thr.unprepare();
    if let Some(team) = thr.alone.get() {
        thr.alone.set(None);
        team.size.set(0);
        worker_pool::give_back_team(team);
    }
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
        worker_pool::give_back_team(team);
    }
}

/// ICVs inside a region at `level`: the lists of OMP_NUM_THREADS and OMP_PROC_BIND go on one step a level;
/// where the latter is at its end, the proc_bind clause in `flags` holds for the regions inside, too (as
/// with libgomp).
fn inner_icvs(mut icvs: Icvs, level: u32, flags: u32) -> Icvs {
    let g = globals();
    let i = level as usize;
    icvs.threads =
        g.threads_list.get(i).filter(|_| g.threads_list.len() > 1).copied().unwrap_or(icvs.threads);
    let listed = g.bind_list.get(i).filter(|_| g.bind_list.len() > 1).copied();
    icvs.bind = listed.unwrap_or_else(|| policy_of(icvs.bind, flags));
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
