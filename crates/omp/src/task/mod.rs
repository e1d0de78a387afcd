//! Tasks (OpenMP 5.1, section 2.12): explicit tasks with dependences, priorities, taskgroups, detachment, taskloop and task
//! reductions; and the implicit task of every member.
//!
//! Life of an explicit task: *waiting* for dependences → *ready* (in its creator's deque, or in the team's list) → *running* → *done*,
//! or *detached* between its body's end and the event's fulfilment. A task's memory comes from its creator's slab and goes back
//! when it is done and nobody refers to it any more (count.rs).
//!
//! A thread that waits in a task executes only tasks below it (descendants). So the stack holds no more activations than the
//! tree is deep, and who waits for whom goes strictly down to a task that runs (docs/internals/tasks.md).

pub(crate) mod count;
mod creation;
pub mod depend;
pub(crate) mod deque;
mod division;
mod execution;
pub mod group;
pub mod included_tasks;
pub mod lightness;
pub(crate) mod list;
pub mod pool;
pub(crate) mod range_splits;
pub mod reduction;
pub(crate) mod remainder;
pub(crate) mod slab;
pub mod spawn;
pub(crate) mod steal_backoff;
pub(crate) mod task_body;
pub mod taskgroup;
pub mod taskloop;
#[cfg(test)]
mod taskloop_cache_lines;
pub(crate) mod taskloop_range;
pub mod taskwait;
#[cfg(test)]
mod tests;

use crate::icv::{Icvs, globals};
use crate::observe::OfTask;
use crate::sys::own::Own;
use crate::team::team::Team;
use crate::team::thread::Thread;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use count::Count;
use depend::{Children, Node};
use group::Group;
use slab::Slab;
use std::alloc::{Layout, alloc, dealloc};
use taskloop_range::Range;

/// Flags of `GOMP_task` and `GOMP_taskloop`.
pub mod flag {
    #![allow(missing_docs)]
    pub const FINAL: u32 = 1 << 1;
    pub(crate) const DEPEND: u32 = 1 << 3;
    pub const PRIORITY: u32 = 1 << 4;
    pub const UP: u32 = 1 << 8;
    pub(crate) const GRAINSIZE: u32 = 1 << 9;
    pub(crate) const IF: u32 = 1 << 10;
    pub(crate) const NOGROUP: u32 = 1 << 11;
    pub(crate) const REDUCTION: u32 = 1 << 12;
    pub(crate) const DETACH: u32 = 1 << 13;
    pub(crate) const STRICT: u32 = 1 << 14;
}

/// Bits of [`Clauses::detach`].
pub(crate) mod detach {
    /// Has a detach clause.
    pub(crate) const CLAUSE: u32 = 1;
    /// The body has ended.
    pub(crate) const ENDED: u32 = 2;
    /// The event was fulfilled.
    pub(crate) const FULFILLED: u32 = 4;
}

/// Words of an argument block inside the task.
const INLINE: usize = 24;

/// What a task's construct says of it.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Clauses {
    /// See [`detach`].
    pub detach: AtomicU32,
    /// Priority.
    pub priority: Own<i32>,
    /// Is it (in) a final task?
    pub(crate) in_final: Own<bool>,
    /// The block was made by the compiler's copy function.
    pub copied: Own<bool>,
}

/// A task's argument block.
#[repr(C)]
struct Memory {
    /// Its memory if it is not in the task: (address, bytes, alignment).
    block: Own<(usize, usize, usize)>,
    inline: Inline,
}

/// Memory of an argument block.
#[repr(C, align(16))]
struct Inline(UnsafeCell<[u64; INLINE]>);

// SAFETY: written by the creator before the task is published, then used by the one thread that executes it.
unsafe impl Sync for Inline {}

/// A task. [`Own`] fields are written by the thread that creates or executes the task, or under the pool's
/// lock (marked). Thieves may look at `parent` and `depth` of a task that is no more: the memory always holds
/// one.
///
/// The order is that of lines of the cache (tests: taskloop_cache_lines.rs). Who executes a stolen task
/// fetches five, one of them its block. Of its parent it looks at the first two, and changes what [`Count`]
/// shares with others; what the parent's own thread changes for each child lies on another line.
#[repr(C, align(64))]
pub struct Task {
    /// Body: function, argument; the argument block is (address, bytes).
    pub(crate) call: Own<(usize, usize)>,
    /// See `call`.
    pub args: Own<(usize, usize)>,
    parent: AtomicPtr<Task>,
    /// The logical thread that executes it.
    owner: AtomicPtr<Thread>,
    /// The team whose pool it is in; `None` for implicit and undeferred tasks.
    pub(crate) team: Own<Option<&'static Team>>,
    /// The innermost taskgroup it is in.
    pub group: Own<Option<&'static Group>>,

    /// Lock: links of the ready list; the first one also of a slab's list.
    pub(crate) links: Own<(Option<&'static Task>, Option<&'static Task>)>,
    /// The dependences among its children, if they have any.
    pub(crate) depends: Own<Option<&'static Children>>,
    /// The slab its memory goes back to; `None` for implicit tasks.
    home: Option<&'static Slab>,
    /// The floor of the thread's deque outside of it, if it was executed at once and then made.
    pub(crate) outer_floor: Own<u64>,
    /// Tasks above it in its region.
    depth: AtomicU32,
    /// Dependences not met (depend.rs).
    pub(crate) unmet: AtomicU32,
    /// What its construct says of it.
    pub(crate) clauses: Clauses,

    /// Data environment.
    pub icvs: Own<Icvs>,
    /// Child tasks were created that may still use this task's variables.
    pub spawned: Own<bool>,
    /// Children, and what keeps the memory: its last word, which others change, begins a line.
    pub(crate) children: Count,
    /// What depends on it.
    pub(crate) node: Node,
    memory: Memory,
    /// Where it is a range of a taskloop's tasks.
    pub(crate) range: Range,
    /// What listeners keep with it.
    pub words: OfTask,
}

/// What the task's thread changes for each child, and what others look at or change meanwhile, is on different
/// lines.
const _: () = {
    const fn line(at: usize) -> usize {
        at / 64
    }
    let (own, shared) = Count::OFFSETS;
    let children = core::mem::offset_of!(Task, children);
    let mine = line(children + own);
    assert!(mine == line(core::mem::offset_of!(Task, spawned)));
    assert!(line(children + shared) > mine && line(core::mem::offset_of!(Task, node)) > mine);
    assert!(
        line(core::mem::offset_of!(Task, group)) == 0
            && line(core::mem::offset_of!(Task, clauses.in_final)) == 1
    );
    assert!(mine == 2 && line(core::mem::offset_of!(Task, clauses.copied)) == 1);
};

/// Where `spawned` lies, for entry/light.rs.
pub const SPAWNED: usize = core::mem::offset_of!(Task, spawned);
/// Where `group` lies, likewise.
pub const GROUP: usize = core::mem::offset_of!(Task, group);

impl Task {
    fn blank(home: Option<&'static Slab>) -> Task {
        Task {
            parent: AtomicPtr::default(),
            depth: AtomicU32::new(0),
            owner: AtomicPtr::default(),
            children: Count::default(),
            team: Own::new(None),
            group: Own::new(None),
            call: Own::new((0, 0)),
            args: Own::new((0, 0)),
            clauses: Clauses::default(),
            spawned: Own::new(false),
            outer_floor: Own::new(0),
            icvs: Own::new(globals().initial.get()),
            unmet: AtomicU32::new(0),
            links: Own::new((None, None)),
            node: Node::default(),
            depends: Own::new(None),
            home,
            memory: Memory { block: Own::new((0, 0, 0)), inline: Inline(UnsafeCell::new([0; INLINE])) },
            range: Range::default(),
            words: OfTask::default(),
        }
    }

    /// A member's implicit task.
    pub(crate) fn implicit() -> Task {
        Task::blank(None)
    }

    /// Starts an initial task, executed by `thr`.
    pub fn begin_initial(&self, thr: &'static Thread, icvs: Icvs) {
        self.belong(thr, icvs, None);
        self.begin_region(None);
    }

    /// Gives an implicit task what is the same from region to region; see [`Task::begin_region`].
    pub(crate) fn belong(&self, thr: &'static Thread, icvs: Icvs, parent: Option<&'static Task>) {
        self.set_parent(parent);
        self.run_by(thr);
        self.icvs.set(icvs);
    }

    /// Starts an implicit task, within taskgroup `group`.
    #[inline(always)]
    pub(crate) fn begin_region(&self, group: Option<&'static Group>) {
        self.clauses.in_final.set(false);
        self.group.set(group);
        self.spawned.set(false);
    }

    fn set_parent(&self, parent: Option<&'static Task>) {
        let p = parent.map_or(core::ptr::null_mut(), |p| core::ptr::from_ref(p).cast_mut());
        self.parent.store(p, Relaxed);
    }

    /// The generating task.
    #[inline]
    pub(crate) fn parent(&self) -> Option<&'static Task> {
        // SAFETY: null or a task; tasks' memory always holds one.
        unsafe { self.parent.load(Relaxed).as_ref() }
    }

    /// The generating task of an explicit task.
    #[inline]
    pub(crate) fn parent_task(&self) -> &'static Task {
        self.parent().expect("an explicit task has a parent")
    }

    /// `thr` executes it from here on.
    #[inline]
    pub(crate) fn run_by(&self, thr: &'static Thread) {
        self.owner.store(core::ptr::from_ref(thr).cast_mut(), Relaxed);
    }

    /// Is it executed by `thr`?
    #[inline]
    pub(crate) fn is_run_by(&self, thr: &Thread) -> bool {
        core::ptr::eq(self.owner.load(Relaxed), thr)
    }

    /// Is it an explicit task?
    pub fn is_explicit(&self) -> bool {
        self.home.is_some()
    }

    /// Is it a descendant of `above`?
    pub(crate) fn is_below(&self, above: &Task) -> bool {
        let depth = above.depth.load(Relaxed);
        let (mut t, mut left) = (self, self.depth.load(Relaxed).saturating_sub(depth));
        while left > 0 {
            match t.parent() {
                Some(p) => t = p,
                None => return false,
            }
            left -= 1;
        }
        core::ptr::eq(t, above) && !core::ptr::eq(self, above)
    }

    /// Could a child task use variables on this task's stack?
    pub fn children_may_use_stack(&self) -> bool {
        self.spawned.get()
    }

    /// Makes room for the argument block.
    #[inline]
    pub(crate) fn make_block(&self, size: usize, align: usize) -> usize {
        if size <= size_of::<Inline>() && align <= align_of::<Inline>() {
            return self.memory.inline.0.get() as usize;
        }
        let layout = Layout::from_size_align(size, align.max(8)).expect("alignment of a C type");
        // SAFETY: the size is not zero.
        let p = unsafe { alloc(layout) };
        if p.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        self.memory.block.set((p as usize, layout.size(), layout.align()));
        p as usize
    }

    /// `thr` gives the memory of an explicit task back to which nobody refers. With `kept`, that of its parent was kept for it,
    /// and may go too.
    #[inline]
    pub(crate) fn free(&'static self, thr: &'static Thread, kept: bool) {
        let parent = self.parent();
        if self.memory.block.get().0 != 0 || self.depends.get().is_some() {
            self.free_extras();
        }
        if let Some(home) = self.home {
            home.give(self, core::ptr::eq(home, &thr.slab));
        }
        if kept && let Some(p) = parent {
            p.let_go(thr);
        }
    }

    #[cold]
    fn let_go(&'static self, thr: &'static Thread) {
        if self.children.let_go() {
            self.free(thr, true);
        }
    }

    #[cold]
    fn free_extras(&self) {
        let (p, size, align) = self.memory.block.get();
        // SAFETY: allocated by `make_block`, and made by depend.rs with Box; the task and its children are done.
        unsafe {
            if p != 0 {
                dealloc(p as *mut u8, Layout::from_size_align_unchecked(size, align));
                self.memory.block.set((0, 0, 0));
            }
            if let Some(c) = self.depends.get() {
                drop(Box::from_raw(core::ptr::from_ref(c).cast_mut()));
                self.depends.set(None);
            }
        }
    }
}
