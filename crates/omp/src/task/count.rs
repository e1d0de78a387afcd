//! How many children a task has that are not done, and when its memory can go.
//!
//! Most children are done by the thread that executes their parent, and most parents outlive their children. So the count is in
//! two parts: `own`, which only that thread changes, without atomics, and `shared`, which everybody else changes:
//!
//! ```text
//! shared = RUN (until the task is done)  +  KEEP × (children that are done but whose memory is still needed, for
//!          their own children)  −  children done by others  [+ own, once the task's thread is through with it]
//! ```
//!
//! The task's thread sees that no child is left when `own` and the low half of `shared` add up to 0. When the task is done and
//! `shared` becomes 0, nobody refers to the task any more: whoever brought it there may use its memory again. Before,
//! `shared` cannot be 0, because of RUN. Edges: each decrement is a release, and the reader's acquire load, or the
//! decrement that reaches 0 (acquire too), orders all of a child's work before what follows. Model: tests/loom/src/tasks.rs.

use crate::sys::sync::{AtomicU32, AtomicU64, Ordering::*, touch};

const RUN: u64 = 1 << 62;
const KEEP: u64 = 1 << 32;

/// See the module's text. "Owner" is the thread that executes the task.
///
/// Where `shared` begins a line of the cache, who changes that leaves the owner its own.
#[repr(C)]
pub(crate) struct Count {
    /// The owner's; a plain number in an atomic, for the models.
    own: AtomicU32,
    /// The owner's: is it through with the task?
    closed: AtomicU32,
    shared: AtomicU64,
}

impl Default for Count {
    fn default() -> Self {
        Self { own: AtomicU32::new(0), closed: AtomicU32::new(0), shared: AtomicU64::new(RUN) }
    }
}

impl Count {
    /// Where the owner's part lies, and what everybody changes.
    pub(crate) const OFFSETS: (usize, usize) =
        (core::mem::offset_of!(Count, own), core::mem::offset_of!(Count, shared));

    /// A new task has no children.
    #[inline]
    pub(crate) fn reset(&self) {
        self.own.store(0, Relaxed);
        self.closed.store(0, Relaxed);
        self.shared.store(RUN, Relaxed);
    }

    fn own_part(&self) -> u64 {
        // Sign-extended: the owner may have seen more children end than it has created since `close`.
        i64::from(self.own.load(Relaxed) as i32) as u64
    }

    /// Owner: a child is created.
    #[inline]
    pub(crate) fn add(&self) {
        touch(&self.own);
        self.own.store(self.own.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Another thread than the owner creates one (a taskgroup's task).
    #[inline]
    pub(crate) fn add_by_other(&self) {
        self.shared.fetch_add(1, Relaxed);
    }

    /// A child is done, by the owner if `owner`. True if that was the last reference to the task.
    #[inline]
    pub(crate) fn child_done(&self, owner: bool) -> bool {
        if owner && self.closed.load(Relaxed) == 0 {
            touch(&self.own);
            self.own.store(self.own.load(Relaxed).wrapping_sub(1), Relaxed);
            return false;
        }
        touch(&self.shared);
        self.shared.fetch_sub(1, AcqRel) == 1
    }

    /// Owner: are all children done? Another thread than the owner may ask, behind a fence: see pool.rs.
    #[inline]
    pub(crate) fn none(&self) -> bool {
        touch(&self.shared);
        self.shared.load(Acquire).wrapping_add(self.own_part()) as u32 == 0
    }

    /// Owner: are all children done, and all of theirs, and so on?
    #[inline]
    pub(crate) fn all_gone(&self) -> bool {
        self.shared.load(Acquire).wrapping_add(self.own_part()) == RUN
    }

    /// A child is done, but its memory, which refers to this task, is needed for longer. Before its `child_done`.
    pub(crate) fn keep(&self) {
        self.shared.fetch_add(KEEP, Relaxed);
    }

    /// That memory is gone. True if it was the last reference.
    pub(crate) fn let_go(&self) -> bool {
        self.shared.fetch_sub(KEEP, AcqRel) == KEEP
    }

    /// Owner: its body has ended, the task will be done later, perhaps by another thread ([`Count::done`]).
    pub(crate) fn close(&self) {
        self.closed.store(1, Relaxed);
        self.shared.fetch_add(self.own_part(), AcqRel);
    }

    /// The closed task is done. True if nobody refers to it any more.
    pub(crate) fn done(&self) -> bool {
        self.shared.fetch_sub(RUN, AcqRel) == RUN
    }
}
