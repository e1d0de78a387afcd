//! Running a task's body, and what its end means to its parent and its memory.

use super::group::AS_IT_IS;
use super::lightness::lighten;
use super::{Task, detach};
use crate::observe;
use crate::observe::event::{Event, Set};
use crate::save::region_points;
use crate::team::activation::activate_here;
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::*;

/// Task `t` is done; its memory goes when nobody needs it. `counted`: it is one of its parent's children.
/// True if another thread may wait for that.
#[inline]
pub(crate) fn end(thr: &'static Thread, t: &'static Task, parent: &'static Task, counted: bool) -> bool {
    let closed = t.clauses.detach.load(Relaxed) & detach::CLAUSE != 0;
    let own = parent.is_run_by(thr);
    let child_done = || {
        if counted && parent.children.child_done(own) {
            parent.free(thr, true);
        }
    };
    if !closed && t.children.all_gone() {
        child_done();
        t.free(thr, false);
    } else {
        end_before_children(thr, t, parent, closed, child_done);
    }
    counted && !own
}

/// The children of `t` refer to it, and it to its parent.
#[cold]
fn end_before_children(
    thr: &'static Thread,
    t: &'static Task,
    parent: &'static Task,
    closed: bool,
    child_done: impl Fn(),
) {
    parent.children.keep();
    child_done();
    if !closed {
        t.children.close();
    }
    if t.children.done() {
        t.free(thr, true);
    }
}

/// Does `f`, which is `t`'s, by what its taskloop goes by (save/region_points.rs).
#[inline(always)]
pub(crate) fn as_its_taskloop(thr: &'static Thread, t: &'static Task, f: impl FnOnce()) {
    let before = thr.gauge.regions.now();
    match t.group.get().map_or(AS_IT_IS, |g| g.without.get()) {
        word if word != AS_IT_IS && word != before => {
            region_points::enter(thr, word);
            f();
            region_points::enter(thr, before);
        }
        _ => f(),
    }
}

/// Runs a task's body as an activation of its own.
pub(crate) fn run_body(thr: &'static Thread, t: &'static Task) {
    if observe::wants(Set::TASKS) {
        run_body_told(thr, t);
    } else {
        run_body_or_tell::<false>(thr, t);
    }
}

/// [`run_body`] where somebody listens.
#[cold]
#[inline(never)]
fn run_body_told(thr: &'static Thread, t: &'static Task) {
    run_body_or_tell::<true>(thr, t);
}

/// [`run_body`] without a frame of its own; `TELL`: somebody may listen.
#[inline(always)]
pub(crate) fn run_body_or_tell<const TELL: bool>(thr: &'static Thread, t: &'static Task) {
    let (outer, held) = (thr.task.get(), thr.held.get());
    let m = thr.member();
    let (share, floor) = (m.share.get(), m.tasks.raise_floor());
    t.run_by(thr);
    thr.task.set(Some(t));
    thr.held.set(0);
    let last = t.clauses.in_final.get() != t.parent_task().clauses.in_final.get();
    if last {
        lighten(thr);
    }
    if TELL && let Some(outer) = outer {
        thr.tell(Event::TaskBegin { task: &t.words, outer: &outer.words });
    }
    as_its_taskloop(thr, t, || activate_here(thr, t.call.get(), t.args.get()));
    if TELL && let Some(outer) = outer {
        let detached =
            t.clauses.detach.load(Relaxed) & (detach::CLAUSE | detach::FULFILLED) == detach::CLAUSE;
        thr.tell(Event::TaskEnd { task: &t.words, outer: &outer.words, detached });
    }
    thr.held.set(held);
    thr.task.set(outer);
    m.share.set(share);
    m.tasks.set_floor(floor);
    if last {
        lighten(thr);
    }
}
