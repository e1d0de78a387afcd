//! Taskgroups (OpenMP 5.1, section 2.19.6).
//!
//! A thread keeps the groups that it has ended for those that it begins next: short groups, begun by all
//! threads at once, would otherwise meet at the allocator's lock.

use super::count::Count;
use crate::sys::own::Own;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicBool, Ordering::*};

/// A taskgroup: counts its descendant tasks that are not done.
///
/// Who executes its tasks looks at the first line, and changes the last one; its own thread counts between
/// the two.
#[derive(Default)]
#[repr(C, align(128))]
pub struct Group {
    /// The enclosing group; of one that is kept, the next one kept.
    pub outer: Own<Option<&'static Group>>,
    /// The thread that began it and waits at its end.
    pub(super) owner: Own<Option<&'static Thread>>,
    /// `cancel taskgroup` was encountered.
    pub cancelled: AtomicBool,
    /// Task reductions registered in it (head of the chain; see reduction.rs).
    pub reductions: Own<usize>,
    /// Stands for a worksharing construct's or a region's reductions.
    pub workshare: Own<bool>,
    /// What a taskloop's tasks go by (save/region_points.rs).
    pub(super) without: Own<usize>,
    apart: [u64; 9],
    /// Tasks not done.
    count: Count,
}

const _: () = {
    let (own, shared) = Count::OFFSETS;
    let count = core::mem::offset_of!(Group, count);
    assert!((count + own) / 64 == 1 && (count + shared) / 64 == 2);
};

impl Group {
    /// `thr` creates a task in it.
    #[inline]
    pub(crate) fn add(&self, thr: &'static Thread) {
        if self.is_of(thr) { self.count.add() } else { self.count.add_by_other() }
    }

    /// `thr` has done one of its tasks. True if another thread may wait for that.
    #[inline]
    pub(crate) fn task_done(&self, thr: &'static Thread) -> bool {
        let own = self.is_of(thr);
        self.count.child_done(own);
        !own
    }

    /// Are all its tasks done? Asked by the thread that waits for them, and by others behind a fence.
    pub(crate) fn is_over(&self) -> bool {
        self.count.none()
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

/// What they go by where nothing was said of them: by what they are in.
pub(super) const AS_IT_IS: usize = usize::MAX;

/// The groups that a thread keeps.
#[derive(Default)]
pub(crate) struct Kept(Own<Option<&'static Group>>);

/// A group as new, for `thr` to begin.
#[inline]
pub fn take(thr: &'static Thread) -> &'static Group {
    let Some(g) = thr.groups.0.get() else {
        return Box::leak(Box::new(Group { without: Own::new(AS_IT_IS), ..Group::default() }));
    };
    thr.groups.0.set(g.outer.get());
    g.outer.set(None);
    g.owner.set(None);
    g.count.reset();
    g.cancelled.store(false, Relaxed);
    g.reductions.set(0);
    g.workshare.set(false);
    g.without.set(AS_IT_IS);
    g
}

/// `thr` keeps a group that has ended: nothing refers to it any more.
#[inline]
pub fn give(thr: &'static Thread, g: &'static Group) {
    g.outer.set(thr.groups.0.get());
    thr.groups.0.set(Some(g));
}
