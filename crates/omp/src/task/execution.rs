//! A team's tasks are executed: by those who wait, one after the other, and what the end of one means to
//! others.

use super::group::Group;
use super::list::Scope;
use super::pool::TaskPool;
use super::steal_backoff::Looks;
use super::task_body::{self, run_body};
use super::taskloop_range::is_range;
use super::{Task, detach, range_splits};
use crate::observe::event::{Event, Pause};
use crate::sys::sync::full_fence;
use crate::sys::time;
use crate::team::event_count::{Patience, Waiters};
use crate::team::team::Team;
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::*;

impl TaskPool {
    /// Runs one ready task in `scope`. False if there was none.
    #[inline]
    pub(crate) fn run_one(&'static self, thr: &'static Thread, scope: Scope) -> bool {
        if !self.has_been_used() {
            return false;
        }
        let (t, stolen) = match self.take(thr, scope) {
            Some(t) => (t, false),
            None if thr.member().tasks.pace.pauses() => return false,
            None => match self.steal(thr, scope) {
                Some(t) => (t, true),
                None => return false,
            },
        };
        if let Scope::Any(epoch) = scope
            && thr.team().primary.epoch.load(Relaxed) != epoch
        {
            // Of the team's next region, which the thread has not begun: for those who have. (Before, no
            // region of the team could begin without the task being done.)
            self.enlist(t);
            thr.team().event.notify();
            return false;
        }
        thr.tell(Event::HelpBegin);
        let began = if stolen { time::ticks() } else { 0 };
        self.execute(thr, t);
        if stolen {
            let now = time::ticks();
            thr.member().tasks.pace.measured(now.wrapping_sub(began), now);
        }
        thr.tell(Event::HelpEnd);
        true
    }

    /// Waits, as one of `kind`, until `done`, or until a task in `scope` is ready: at this it looks now
    /// and then, and before it sleeps.
    pub(crate) fn wait(
        &'static self,
        thr: &'static Thread,
        kind: Waiters,
        patience: Patience,
        scope: Scope,
        done: impl Fn() -> bool,
    ) {
        let team = thr.team();
        let mut looks = Looks::of(thr.num(), if patience.crowded { 1 } else { team.size() });
        let mark = &thr.member().tasks.looks;
        mark.store(matches!(scope, Scope::Any(_)), Relaxed);
        let awake = patience.stay(|| done() || (looks.due() && self.has_ready(thr, scope)));
        mark.store(false, Relaxed);
        if !awake {
            team.event.wait_as(kind, patience.after(false), || done() || self.has_ready(thr, scope));
        }
    }

    /// Waits in the current task until `done`, executing tasks below it meanwhile. `pause`: what for.
    #[inline]
    pub(crate) fn wait_below(thr: &'static Thread, pause: Pause, done: impl Fn() -> bool) {
        let team = thr.team();
        let scope = Scope::Below(thr.task());
        while !done() {
            if !team.tasks.run_one(thr, scope) {
                thr.tell(Event::PauseBegin { pause });
                team.tasks.wait(thr, Waiters::Inside, team.patience.get(), scope, &done);
                thr.tell(Event::PauseEnd { pause });
            }
        }
    }

    /// Executes `t`, and then one after the other what it was that the task before was waited for by.
    fn execute(&'static self, thr: &'static Thread, t: &'static Task) {
        let mut next = Some(t);
        while let Some(t) = next {
            next = self.execute_one(thr, t);
        }
    }

    /// Executes `t`; gives a task that has become ready by that, for the caller to execute.
    #[inline]
    fn execute_one(&'static self, thr: &'static Thread, t: &'static Task) -> Option<&'static Task> {
        // A block made by copy constructors is destroyed by the body: such a task runs even if it is
        // cancelled.
        let cancelled = !t.clauses.copied.get()
            && (thr.team().is_cancelled() || t.group.get().is_some_and(|g| g.is_cancelled()));
        if t.call.get().0 != 0 && !cancelled {
            run_body(thr, t);
        } else if is_range(t) {
            range_splits::execute(self, thr, t, cancelled);
            return None;
        } else {
            thr.tell(Event::TaskSkipped { task: &t.words });
        }
        if t.clauses.detach.load(Relaxed) & detach::CLAUSE != 0 {
            t.children.close();
            let before = t.clauses.detach.fetch_or(detach::ENDED, AcqRel);
            if before & detach::FULFILLED == 0 && !cancelled {
                return None;
            }
        }
        let mut next = None;
        self.end(thr, t, &mut next);
        next
    }

    /// Task `t` of this pool is done, as `thr` has seen to: its dependents may become ready, who waits for
    /// it may go on.
    pub(crate) fn done(&'static self, thr: &'static Thread, t: &'static Task) {
        let mut next = None;
        self.end(thr, t, &mut next);
        if let Some(t) = next {
            self.enlist(t);
            t.team.get().expect("a deferred task has a team").event.notify();
        }
    }

    #[inline]
    fn end(&'static self, thr: &'static Thread, t: &'static Task, next: &mut Option<&'static Task>) {
        let team = t.team.get().expect("a deferred task has a team");
        let parent = t.parent_task();
        let mut wake = t.node.is_active() && self.let_dependents_go(t, parent, next);
        let group = t.group.get();
        let in_group = group.is_some_and(|g| g.task_done(thr));
        let by_other = task_body::end(thr, t, parent, true);
        if core::ptr::eq(thr.team(), team) {
            thr.member().tasks.count_done();
        } else {
            self.ended_elsewhere.fetch_add(1, Release);
            wake = true;
        }
        if wake {
            team.event.notify();
        } else if in_group || by_other {
            Self::wake_if_last(team, group, parent);
        }
    }

    /// A task in `group`, a child of `parent`, is done: who waits for the last one may go on.
    ///
    /// Who waits has counted its own before it sleeps, behind a fence: so either it sees that this one is
    /// done, or it is seen here that it was the last. (Nobody waits any more if the memory of the two has a
    /// new use.) Who waits for the end of all tasks is told by whoever has executed the last ones:
    /// [`Team::wait_at_end`].
    #[inline(never)]
    fn wake_if_last(team: &'static Team, group: Option<&'static Group>, parent: &'static Task) {
        full_fence();
        if team.event.has_sleepers() && (parent.children.none() || group.is_some_and(Group::is_over)) {
            team.event.wake_sleepers();
        }
    }

    /// Task `t`, which has dependences, is done. The first task that becomes ready by that is `next`,
    /// others go to the list. True if who waits may go on.
    #[cold]
    fn let_dependents_go(&self, t: &'static Task, parent: &Task, next: &mut Option<&'static Task>) -> bool {
        let Some(children) = parent.depends.get() else { return false };
        let (mut others, mut wake) = (None, false);
        children.done(t, |d| {
            if d.team.get().is_none() {
                wake = true; // somebody who waits
            } else if next.is_none() && d.clauses.priority.get() == 0 {
                *next = Some(d);
            } else {
                d.links.set((others, None));
                others = Some(d);
            }
        });
        if let Some(team) = others.and_then(|d| d.team.get()) {
            self.enlist_all(others);
            Self::call_helper(team);
        }
        wake
    }
}
