//! Tasks (OpenMP 5.1, section 2.12): explicit tasks with dependences, priorities, taskgroups, detachment, taskloop and task
//! reductions; and the implicit task of every member.
//!
//! Life of an explicit task: *waiting* for dependences → *ready* (in the pool's list) → *running* → *done*, or *detached*
//! between its body's end and the event's fulfilment. All transitions but the start of the body happen under the pool's lock.
//! A task's memory lives until it is done and all of its children are (`refs`).

pub mod depend;
pub mod group;
pub mod pool;
pub mod reduction;
pub mod spawn;
pub mod taskloop;

use crate::icv::{Icvs, globals};
use crate::sys::own::Own;
use crate::team::team::Team;
use core::sync::atomic::{AtomicU32, Ordering::*};
use depend::DependMap;
use group::Group;
use std::alloc::{Layout, alloc, dealloc};

/// Flags of `GOMP_task` and `GOMP_taskloop`.
pub mod flag {
    #![allow(missing_docs)]
    pub const FINAL: u32 = 1 << 1;
    pub const DEPEND: u32 = 1 << 3;
    pub const PRIORITY: u32 = 1 << 4;
    pub const UP: u32 = 1 << 8;
    pub const GRAINSIZE: u32 = 1 << 9;
    pub const IF: u32 = 1 << 10;
    pub const NOGROUP: u32 = 1 << 11;
    pub const REDUCTION: u32 = 1 << 12;
    pub const DETACH: u32 = 1 << 13;
    pub const STRICT: u32 = 1 << 14;
}

/// Bits of [`Task::detach`].
pub mod detach {
    /// Has a detach clause.
    pub const CLAUSE: u32 = 1;
    /// The body has ended.
    pub const ENDED: u32 = 2;
    /// The event was fulfilled.
    pub const FULFILLED: u32 = 4;
}

/// A task. [`Own`] fields are written by the thread that creates or executes the task, or under the pool's lock (marked).
pub struct Task {
    /// Data environment.
    pub icvs: Own<Icvs>,
    /// The generating task.
    pub parent: Own<Option<&'static Task>>,
    /// The team whose pool it is in; `None` for implicit tasks.
    pub team: Own<Option<&'static Team>>,
    explicit: bool,
    /// Is it (in) a final task?
    pub in_final: Own<bool>,
    /// The innermost taskgroup it is in.
    pub group: Own<Option<&'static Group>>,
    /// Body: function, argument; the argument block is (address, bytes).
    pub call: Own<(usize, usize)>,
    /// See `call`.
    pub args: Own<(usize, usize)>,
    /// The argument block's memory: (address, bytes, alignment).
    block: Own<(usize, usize, usize)>,
    /// The block was made by the compiler's copy function.
    pub copied: Own<bool>,
    /// Priority.
    pub priority: Own<i32>,
    /// Children that are not done.
    pub children: AtomicU32,
    refs: AtomicU32,
    /// Child tasks were created that may still use this task's variables.
    pub spawned: Own<bool>,
    /// Lock: children in the ready list.
    pub ready_children: Own<u32>,
    /// Lock: dependences not met.
    pub unmet: AtomicU32,
    /// Lock: links of the ready list.
    pub links: Own<(Option<&'static Task>, Option<&'static Task>)>,
    /// Lock: dependences among its children, and what depends on it.
    pub depends: depend::Node,
    /// Lock: the map of its children's dependences.
    pub child_depends: DependMap,
    /// See [`detach`].
    pub detach: AtomicU32,
}

impl Task {
    fn blank(explicit: bool, icvs: Icvs) -> Task {
        Task {
            icvs: Own::new(icvs),
            parent: Own::new(None),
            team: Own::new(None),
            explicit,
            in_final: Own::new(false),
            group: Own::new(None),
            call: Own::new((0, 0)),
            args: Own::new((0, 0)),
            block: Own::new((0, 0, 0)),
            copied: Own::new(false),
            priority: Own::new(0),
            children: AtomicU32::new(0),
            refs: AtomicU32::new(1),
            spawned: Own::new(false),
            ready_children: Own::new(0),
            unmet: AtomicU32::new(0),
            links: Own::new((None, None)),
            depends: depend::Node::default(),
            child_depends: DependMap::default(),
            detach: AtomicU32::new(0),
        }
    }

    /// A member's implicit task.
    pub fn implicit() -> Task {
        Task::blank(false, globals().initial)
    }

    /// Starts the implicit task of a region.
    pub fn begin_implicit(&self, icvs: Icvs, parent: Option<&'static Task>) {
        self.icvs.set(icvs);
        self.parent.set(parent);
        self.in_final.set(false);
        self.group.set(None);
        self.spawned.set(false);
    }

    /// A new explicit task, child of `parent`.
    pub fn explicit(parent: &'static Task, team: &'static Team) -> &'static Task {
        let t = Box::leak(Box::new(Task::blank(true, parent.icvs.get())));
        parent.refs.fetch_add(1, Relaxed);
        t.parent.set(Some(parent));
        t.team.set(Some(team));
        t.in_final.set(parent.in_final.get());
        t.group.set(parent.group.get());
        t
    }

    /// Is it an explicit task?
    pub fn is_explicit(&self) -> bool {
        self.explicit
    }

    /// Could a child task use variables on this task's stack?
    pub fn children_may_use_stack(&self) -> bool {
        self.spawned.get()
    }

    /// Allocates the argument block.
    pub fn make_block(&self, size: usize, align: usize) -> *mut u8 {
        let layout = Layout::from_size_align(size.max(1), align.max(8)).expect("alignment of a C type");
        // SAFETY: the size is not zero.
        let p = unsafe { alloc(layout) };
        if p.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        self.block.set((p as usize, layout.size(), layout.align()));
        p
    }

    /// Drops one reference; the last one frees an explicit task.
    pub fn release(&'static self) {
        if self.refs.fetch_sub(1, AcqRel) != 1 || !self.explicit {
            return;
        }
        let parent = self.parent.get();
        let (p, size, align) = self.block.get();
        // SAFETY: the last reference is gone; block and task were allocated by `make_block` and `explicit`.
        unsafe {
            if p != 0 {
                dealloc(p as *mut u8, Layout::from_size_align_unchecked(size, align));
            }
            drop(Box::from_raw(core::ptr::from_ref(self).cast_mut()));
        }
        if let Some(p) = parent {
            p.release();
        }
    }
}
