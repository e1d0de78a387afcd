//! Taskgroups (OpenMP 5.1, section 2.19.6).

use super::count::Count;
use super::pool::TaskPool;
use crate::observe::event::{Event, Sync};
use crate::sys::own::Own;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicBool, Ordering::*};

/// A taskgroup: counts its descendant tasks that are not done.
#[derive(Default)]
pub struct Group {
    /// The enclosing group.
    pub outer: Own<Option<&'static Group>>,
    /// The thread that began it and waits at its end.
    owner: Own<Option<&'static Thread>>,
    /// Tasks not done.
    count: Count,
    /// `cancel taskgroup` was encountered.
    pub cancelled: AtomicBool,
    /// Task reductions registered in it (head of the chain; see reduction.rs).
    pub reductions: Own<usize>,
    /// Stands for a worksharing construct's or a region's reductions.
    pub workshare: Own<bool>,
}

impl Group {
    /// `thr` creates a task in it.
    #[inline]
    pub fn add(&self, thr: &'static Thread) {
        if self.is_of(thr) { self.count.add() } else { self.count.add_by_other() }
    }

    /// `thr` has done one of its tasks. True if another thread may wait for that.
    #[inline]
    pub fn task_done(&self, thr: &'static Thread) -> bool {
        let own = self.is_of(thr);
        self.count.child_done(own);
        !own
    }

    fn is_of(&self, thr: &Thread) -> bool {
        self.owner.get().is_some_and(|o| core::ptr::eq(o, thr))
    }

    /// Is this group, or one it is in for a worksharing construct's sake, cancelled?
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
            || (self.workshare.get() && self.outer.get().is_some_and(|o| o.cancelled.load(Relaxed)))
    }
}

/// Begins a group in the current task.
pub fn start(thr: &'static Thread) -> &'static Group {
    let task = thr.task();
    let g: &'static Group = Box::leak(Box::new(Group::default()));
    g.owner.set(Some(thr));
    g.outer.set(task.group.get());
    g.reductions.set(task.group.get().map_or(0, |o| o.reductions.get()));
    task.group.set(Some(g));
    thr.tell(Event::TaskSyncBegin { sync: Sync::Taskgroup });
    g
}

/// Ends the current task's innermost group: waits until its tasks are done, executing them meanwhile.
pub fn end(thr: &'static Thread) {
    let task = thr.task();
    let Some(g) = task.group.get() else { return };
    thr.tell(Event::TaskSyncArrive { sync: Sync::Taskgroup });
    TaskPool::wait_below(thr, || g.count.none());
    thr.tell(Event::TaskSyncLeave { sync: Sync::Taskgroup });
    task.group.set(g.outer.get());
    if task.children.all_gone() && g.outer.get().is_none() {
        task.spawned.set(false);
    }
    // SAFETY: made by `start`; all tasks that referred to it are done and the task has left it.
    drop(unsafe { Box::from_raw(core::ptr::from_ref(g).cast_mut()) });
}
