//! New tasks, from the slab of the thread that creates them.

use super::Task;
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;

impl Task {
    /// A new explicit task for the team of `thr`, child of its current task.
    pub(crate) fn explicit(thr: &'static Thread) -> &'static Task {
        let parent = thr.task();
        Self::below(thr, parent, parent.depth.load(Relaxed) + 1, parent)
    }

    /// A new task for the team of `thr` beside `t`, an explicit one, with what `t` has from its parent.
    pub(crate) fn sibling(thr: &'static Thread, t: &Task) -> &'static Task {
        Self::below(thr, t.parent_task(), t.depth.load(Relaxed), t)
    }

    /// A new explicit task, child of `parent`, which has group, ICVs and so on from `like`.
    #[inline(always)]
    fn below(thr: &'static Thread, parent: &'static Task, depth: u32, like: &Task) -> &'static Task {
        let t = thr.slab.take();
        t.set_parent(Some(parent));
        t.depth.store(depth, Relaxed);
        t.clauses.detach.store(0, Relaxed);
        t.children.reset();
        t.team.set(Some(thr.team()));
        t.group.set(like.group.get());
        t.clauses.in_final.set(like.clauses.in_final.get());
        t.clauses.copied.set(false);
        t.spawned.set(false);
        t.clauses.priority.set(0);
        t.icvs.set(like.icvs.get());
        t
    }
}
