//! Checkpoints taken in this process, for the report. A rollback leaves the list alone.

use crate::sys::preserved_memory as region;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

/// A struct of words and its forms as an array: the fields are named once.
macro_rules! words {
    ($(#[$of:meta])* $name:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$of])*
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)*
        }
        const WORDS: usize = [$(stringify!($field)),*].len();
        impl $name {
            fn words(&self) -> [u64; WORDS] {
                [$(self.$field),*]
            }
            fn of([$($field),*]: [u64; WORDS]) -> Self {
                Self { $($field),* }
            }
        }
    };
}

words! {
    /// One checkpoint, for the report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Taken {
        /// Generation.
        generation,
        /// Monotonic time.
        at_ns,
        /// Bytes written.
        bytes,
        /// Pages written.
        dirty_pages,
        /// How long the threads were frozen.
        stop_ns,
        /// How long writing took.
        write_ns,
        /// Bytes of dead memory that it does without.
        left_out,
        /// What it has cost: the stop, and CPU time of the keeper's.
        cost_ns,
        /// The interval from now on.
        interval_ns,
    }
}

/// The last one. In the kept region. Zeroed memory: there is none.
#[repr(C)]
pub struct Last {
    /// The last whole checkpoint, 0 if none.
    pub generation: AtomicU64,
    /// Monotonic time when it was taken.
    pub taken_ns: AtomicU64,
    /// A checkpoint is in memory, not yet whole on disk.
    pub in_memory: AtomicU32,
}

/// All of them, in the kept region. Zeroed memory is the empty list.
pub struct TakenList {
    count: AtomicU32,
    list: [[AtomicU64; WORDS]; TakenList::MOST],
}

impl TakenList {
    const MOST: usize = 1 << 14;

    /// Adds one; beyond the list's size the last is replaced.
    pub fn push(&self, t: Taken) {
        let i = (self.count.load(Relaxed) as usize).min(Self::MOST - 1);
        for (w, v) in self.list[i].iter().zip(t.words()) {
            w.store(v, Relaxed);
        }
        self.count.store(i as u32 + 1, Release);
    }

    fn all(&self) -> Vec<Taken> {
        let n = self.count.load(Acquire) as usize;
        self.list[..n].iter().map(|t| Taken::of(t.each_ref().map(|w| w.load(Relaxed)))).collect()
    }
}

/// The list's address; the same before and after every rollback.
static TAKEN: AtomicPtr<TakenList> = AtomicPtr::new(core::ptr::null_mut());

/// Checkpoints taken so far.
pub fn taken() -> Vec<Taken> {
    // SAFETY: null, or memory of the kept region.
    match unsafe { TAKEN.load(Acquire).as_ref() } {
        Some(t) if region::on() => t.all(),
        _ => Vec::new(),
    }
}

/// The list.
pub(crate) fn list() -> &'static TakenList {
    // SAFETY: `create` has made it.
    unsafe { &*TAKEN.load(Acquire) }
}

/// Makes it in the kept region. False if there is no memory.
pub(crate) fn create() -> bool {
    let Some(p) = region::pages(size_of::<TakenList>()) else { return false };
    TAKEN.store(p.cast(), Release);
    true
}
