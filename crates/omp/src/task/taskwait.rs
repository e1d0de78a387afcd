//! The taskwait construct.

use super::pool::TaskPool;
use crate::observe::event::{Event, Pause, Sync};
use crate::team::thread::Thread;

/// A wait in the current task, as synchronisation `sync`.
pub fn tell_wait(thr: &'static Thread, sync: Sync, wait: impl FnOnce()) {
    thr.tell(Event::TaskSyncBegin { sync });
    thr.tell(Event::TaskSyncArrive { sync });
    wait();
    thr.tell(Event::TaskSyncLeave { sync });
}

/// `taskwait`: waits until the current task's children are done, executing them meanwhile.
pub fn taskwait(thr: &'static Thread) {
    let task = thr.task();
    TaskPool::wait_below(thr, Pause::Taskwait, || task.children.none());
    if task.children.all_gone() {
        task.spawned.set(false);
    }
}
