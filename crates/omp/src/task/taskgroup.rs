//! The taskgroup construct: its group (group.rs) begins, and is waited for.

use super::group::{Group, give, take};
use super::pool::TaskPool;
use crate::observe::event::{Event, Pause, Sync};
use crate::team::thread::Thread;

/// Begins a group in the current task.
pub fn start(thr: &'static Thread) -> &'static Group {
    let task = thr.task();
    let g = take(thr);
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
    TaskPool::wait_below(thr, Pause::Taskgroup, || g.is_over());
    thr.tell(Event::TaskSyncLeave { sync: Sync::Taskgroup });
    task.group.set(g.outer.get());
    if task.children.all_gone() && g.outer.get().is_none() {
        task.spawned.set(false);
    }
    // All tasks that referred to it are done, and the task has left it.
    give(thr, g);
}
