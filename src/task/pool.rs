//! A team's explicit tasks: the list of ready ones and the counts that barriers wait for.

use super::{Task, detach};
use crate::fault::{inject, spec::At};
use crate::sys::lock::Locked;
use crate::team::region;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicU32, Ordering::*};

/// See the module's text.
#[derive(Default)]
pub struct TaskPool {
    list: Locked<List>,
    /// Tasks in the list (hint; changed under the lock).
    ready: AtomicU32,
    /// Tasks created and not done. Release when one is done; acquire by who waits for all.
    outstanding: AtomicU32,
}

/// The ready list, highest priority and then newest last. Guarded by the pool's lock, like everything that says so in
/// [`Task`].
#[derive(Default)]
pub struct List {
    head: Option<&'static Task>,
    tail: Option<&'static Task>,
}

impl List {
    fn push(&mut self, t: &'static Task) {
        let p = t.priority.get();
        let mut after = self.tail;
        while let Some(a) = after {
            if a.priority.get() <= p {
                break;
            }
            after = a.links.get().0;
        }
        let before = match after {
            Some(a) => a.links.get().1,
            None => self.head,
        };
        t.links.set((after, before));
        match after {
            Some(a) => a.links.set((a.links.get().0, Some(t))),
            None => self.head = Some(t),
        }
        match before {
            Some(b) => b.links.set((Some(t), b.links.get().1)),
            None => self.tail = Some(t),
        }
        if let Some(p) = t.parent.get() {
            p.ready_children.set(p.ready_children.get() + 1);
        }
        if let Some(g) = t.group.get() {
            g.ready.set(g.ready.get() + 1);
        }
    }

    fn remove(&mut self, t: &'static Task) {
        let (prev, next) = t.links.get();
        match prev {
            Some(p) => p.links.set((p.links.get().0, next)),
            None => self.head = next,
        }
        match next {
            Some(n) => n.links.set((prev, n.links.get().1)),
            None => self.tail = prev,
        }
        if let Some(p) = t.parent.get() {
            p.ready_children.set(p.ready_children.get() - 1);
        }
        if let Some(g) = t.group.get() {
            g.ready.set(g.ready.get() - 1);
        }
    }

    /// The task to run next among those `wanted`.
    fn find(&self, wanted: impl Fn(&Task) -> bool) -> Option<&'static Task> {
        let mut at = self.tail;
        while let Some(t) = at {
            if wanted(t) {
                return Some(t);
            }
            at = t.links.get().0;
        }
        None
    }
}

impl TaskPool {
    /// No task is waiting, ready or running?
    #[inline]
    pub fn idle(&self) -> bool {
        self.outstanding.load(Acquire) == 0
    }

    /// Is there something to run?
    #[inline]
    pub fn has_ready(&self) -> bool {
        self.ready.load(Relaxed) != 0
    }

    /// Tasks created and not done.
    pub fn outstanding(&self) -> u32 {
        self.outstanding.load(Relaxed)
    }

    /// Adds a deferred task: `register` runs under the lock and adds its dependences.
    pub fn add(&self, t: &'static Task, register: impl FnOnce()) {
        self.list.with(|list| {
            if let Some(p) = t.parent.get() {
                p.children.fetch_add(1, Relaxed);
            }
            if let Some(g) = t.group.get() {
                g.count.fetch_add(1, Relaxed);
            }
            self.outstanding.fetch_add(1, Relaxed);
            register();
            if t.unmet.load(Relaxed) == 0 {
                self.push(list, t);
            }
        });
    }

    /// Runs `f` under the pool's lock.
    pub fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        self.list.with(|_| f())
    }

    fn push(&self, list: &mut List, t: &'static Task) {
        list.push(t);
        self.ready.fetch_add(1, Relaxed);
    }

    /// Runs one ready task of any kind; with `epoch`, only if the team is still in that region. False if there was none.
    #[inline]
    pub fn run_one(&'static self, thr: &'static Thread, epoch: Option<u64>) -> bool {
        if !self.has_ready() {
            return false;
        }
        let team = thr.team();
        self.run_from(thr, |_| true, || epoch.is_none_or(|e| team.epoch.load(Relaxed) == e))
    }

    /// Runs one ready task that is `wanted`, if `allowed` (asked under the lock). False if there was none.
    pub fn run_from(
        &'static self,
        thr: &'static Thread,
        wanted: impl Fn(&Task) -> bool,
        allowed: impl Fn() -> bool,
    ) -> bool {
        if !self.has_ready() {
            return false;
        }
        let found = self.list.with(|list| {
            let t = if allowed() { list.find(wanted) } else { None };
            if let Some(t) = t {
                list.remove(t);
                self.ready.fetch_sub(1, Relaxed);
            }
            t
        });
        let Some(t) = found else { return false };
        self.execute(thr, t);
        true
    }

    fn execute(&'static self, thr: &'static Thread, t: &'static Task) {
        // A block made by copy constructors is destroyed by the body: such a task runs even if it is cancelled.
        let cancelled =
            !t.copied.get() && (thr.team().is_cancelled() || t.group.get().is_some_and(|g| g.is_cancelled()));
        if t.call.get().0 != 0 && !cancelled {
            run_body(thr, t);
        }
        if t.detach.load(Relaxed) & detach::CLAUSE != 0 {
            let before = t.detach.fetch_or(detach::ENDED, AcqRel);
            if before & detach::FULFILLED == 0 && !cancelled {
                return;
            }
        }
        self.done(t);
    }

    /// Task `t` is done: its dependents may become ready, who waits for it may go on.
    pub fn done(&'static self, t: &'static Task) {
        let team = t.team.get().expect("an explicit task has a team");
        self.list.with(|list| {
            for d in t.depends.take_dependents() {
                if d.unmet.fetch_sub(1, AcqRel) == 1 && d.team.get().is_some() {
                    self.push(list, d);
                }
            }
            if let Some(p) = t.parent.get() {
                p.child_depends.forget(t);
                p.children.fetch_sub(1, Release);
            }
            if let Some(g) = t.group.get() {
                g.count.fetch_sub(1, Release);
            }
        });
        t.release();
        self.outstanding.fetch_sub(1, Release);
        team.event.notify();
    }
}

/// Runs a task's body as an activation of its own.
pub fn run_body(thr: &'static Thread, t: &'static Task) {
    let (outer, held) = (thr.task.get(), thr.held.get());
    let share = thr.member().share.get();
    thr.task.set(Some(t));
    thr.held.set(0);
    inject::point(thr, At::Task);
    region::activate(thr, t.call.get(), t.args.get());
    thr.held.set(held);
    thr.task.set(outer);
    thr.member().share.set(share);
}

/// `taskwait`: waits until the current task's children are done, executing them meanwhile.
pub fn taskwait(thr: &'static Thread) {
    let (task, team) = (thr.task(), thr.team());
    while task.children.load(Acquire) != 0 {
        let child = |t: &Task| t.parent.get().is_some_and(|p| core::ptr::eq(p, task));
        if !team.tasks.run_from(thr, child, || task.ready_children.get() > 0) {
            team.event.wait(team.spin.get(), || task.children.load(Acquire) == 0 || team.tasks.has_ready());
        }
    }
    if team.tasks.idle() {
        task.spawned.set(false);
    }
}
