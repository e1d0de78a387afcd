//! Ranges of a taskloop's tasks, split by halves by whoever takes them.
//!
//! A taskloop is one task at first, the range of all its pieces. Who takes a range splits its upper half
//! off, for others to take, then the upper half of what is left, and so on, and executes the one piece that
//! remains as this very task. So nobody makes all tasks one after the other, a thief takes half of what
//! there is at once, and every piece that nobody executes can be taken: pieces may wait for each other like
//! tasks.
//!
//! **Many.** Of a loop with more than [`MANY`] pieces for each thread other runtimes execute all at once,
//! and nobody relies on more. Pieces of these that are short are executed by one thread, up to [`MANY`]
//! without being tasks at all (included_tasks.rs), and the upper half of a range is split off again only when
//! the one before was taken.
//!
//! **Who waits for what.** Ranges are siblings, children of the task with the taskloop, so that whoever
//! waits there may execute them, and whoever waits in a piece may not. The first one is counted as its
//! child, in its taskgroup and in the team; the others only in the one that they were split off from
//! (remainder.rs), whose lines are near: a thief touches what all share once for all that it has taken.
//!
//! Where somebody listens to the creation of tasks, with priorities and where blocks need a function of the
//! compiler's to be copied, the creator makes the tasks one after the other, as it does where it is to
//! execute them itself.

use super::division::Deal;
use super::included_tasks::Several;
use super::lightness::PLAIN;
use super::pool::TaskPool;
use super::spawn::{Spec, copy_block};
use super::task_body::{self, run_body};
use super::taskloop_range::Plan;
use super::{Task, detach, flag};
use crate::observe::{self, Set};
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::*;

/// Pieces for each thread that are many; and most that are executed before it is looked again whether others
/// need some.
pub(crate) const MANY: u64 = 64;

/// Are the tasks of a taskloop of `thr` made by halves?
pub(crate) fn suits(thr: &'static Thread, s: &Spec) -> bool {
    let team = thr.team();
    s.deferred
        && team.size() > 1
        && team.level.get() > 0
        && s.copy.is_none()
        && s.flags & flag::PRIORITY == 0
        && !observe::wants(Set::CREATION)
        && !thr.task().clauses.in_final.get()
        && !team.tasks.is_enough(thr)
}

/// Makes the first range, of all pieces of `deal`.
pub(crate) fn start(thr: &'static Thread, s: &Spec, deal: Deal, (start, step): (u64, u64), may_call: bool) {
    let (team, t) = (thr.team(), Task::explicit(thr));
    t.clauses.in_final.set(t.clauses.in_final.get() || s.flags & flag::FINAL != 0);
    super::spawn::prepare(thr, t, s);
    let many = may_call && deal.tasks() >= MANY * u64::from(team.size());
    t.range.plan.set(Plan { deal, start, step, func: s.func, align: s.align, many });
    t.range.begin(t, (0, deal.tasks()), false, (None, None));
    team.tasks.add(thr, t);
    TaskPool::call_helper(team);
}

/// Executes range `t`, or what is left of it when others have taken their parts.
#[inline(never)]
pub(crate) fn execute(pool: &'static TaskPool, thr: &'static Thread, t: &'static Task, cancelled: bool) {
    if !cancelled {
        task_body::as_its_taskloop(thr, t, || {
            let plan = t.range.root.get().unwrap_or(t).range.plan.get();
            let (first, end) = t.range.pieces.get();
            let light = plan.many && thr.light.get() & PLAIN != 0;
            if light && (end - first > MANY || !t.range.long.get()) {
                calls(pool, thr, t, &plan);
            } else {
                by_halves(pool, thr, t, &plan);
            }
        });
    }
    if !t.children.all_gone() {
        // Others may see to the range's end.
        t.children.close();
        t.clauses.detach.store(detach::CLAUSE, Relaxed);
    }
    done(pool, thr, t);
}

/// Splits the upper halves off, and executes the piece that is left.
fn by_halves(pool: &'static TaskPool, thr: &'static Thread, t: &'static Task, plan: &Plan) {
    let (first, mut end) = t.range.pieces.get();
    if end - first > 1 {
        t.range.left.split((end - first).ilog2());
        while end - first > 1 {
            let middle = first + (end - first) / 2;
            split_off(pool, thr, t, plan, (middle, end), t.range.long.get());
            end = middle;
        }
        TaskPool::call_helper(thr.team());
    }
    let block = t.args.get().0;
    super::spawn::write_bounds(block, plan.bounds(first));
    t.call.set((plan.func, block));
    run_body(thr, t);
}

/// Executes pieces as calls while they are short; the upper half is split off whenever nothing else is there
/// for others to take.
fn calls(pool: &'static TaskPool, thr: &'static Thread, t: &'static Task, plan: &Plan) {
    let args = t.args.get();
    let (mut first, mut end) = t.range.pieces.get();
    let offer = |from: u64, to: u64, long: bool| {
        t.range.left.split(1);
        split_off(pool, thr, t, plan, (from, to), long);
        TaskPool::call_helper(thr.team());
    };
    while first < end {
        if end - first > MANY && !thr.member().tasks.has_some() {
            let middle = first + (end - first) / 2;
            offer(middle, end, t.range.long.get());
            end = middle;
        }
        let (bounds, alike) = (plan.bounds(first), plan.deal.run_from(first).1);
        let count = (end - first).min(alike).min(MANY);
        let step = bounds.1.wrapping_sub(bounds.0);
        let bounds = (bounds.0, bounds.1, step);
        let done = Several { thr, call: (plan.func, args.0), count, bounds }.run_as(t);
        t.args.set(args);
        first += done;
        if done < count {
            // Long ones: others may take what is left.
            offer(first, end, true);
            break;
        }
    }
}

/// A range that others may take. Then [`TaskPool::call_helper`] is to be called.
fn split_off(
    pool: &'static TaskPool,
    thr: &'static Thread,
    t: &'static Task,
    plan: &Plan,
    pieces: (u64, u64),
    long: bool,
) {
    let r = Task::sibling(thr, t);
    let (from, size) = t.args.get();
    let block = r.make_block(size, plan.align);
    // SAFETY: both blocks have `size` bytes.
    unsafe { copy_block(from, block, size) };
    r.args.set((block, size));
    r.range.begin(r, pieces, long, (Some(t.range.root.get().unwrap_or(t)), Some(t)));
    pool.put(thr, r);
}

/// The thread's own part of range `t` is done.
fn done(pool: &'static TaskPool, thr: &'static Thread, t: &'static Task) {
    let mut t = t;
    while t.range.left.done() {
        let Some(origin) = t.range.origin.get() else { return pool.done(thr, t) };
        task_body::end(thr, t, t.parent_task(), false);
        t = origin;
    }
}
