//! Rollbacks that lead nowhere: a failure of the program's own comes back however often memory is put back.
//! Counted are failures that nobody has injected, of every kind; a run ends when they bring no progress:
//!
//! * [`CRASHES`] rollbacks by crashes, or [`SAME`] by anything, to one checkpoint;
//! * [`HANGS`] times work in one region was taken for hung, with twice the patience each time;
//! * [`REGION`] rollbacks in one region, whatever checkpoints have become whole between them: one that is
//!   taken again and again just in front of the failure is no progress.
//!
//! Progress is thus another whole checkpoint for the first, a failure in a later region than all before for
//! the others.

use crate::keep::{self, Keep};
use crate::rollback_request;
use crate::runtime::runtime;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Rollbacks by crashes to one checkpoint before the crash is taken for the program's own error.
pub const CRASHES: u32 = 2;
/// Rollbacks to one checkpoint, for whatever reason.
pub const SAME: u32 = 10;
/// Work in one region taken for hung so often.
pub const HANGS: u32 = 8;
/// Rollbacks in one region, to whatever checkpoints.
pub const REGION: u32 = 50;

/// In the kept region. Zeroed memory is its initial state.
pub struct Trials {
    /// The checkpoint that `same` and `crashes` count for.
    generation: AtomicU64,
    same: AtomicU32,
    crashes: AtomicU32,
    /// The furthest region in which there was a failure, which `in_region` and `hangs` count for.
    region: AtomicU64,
    in_region: AtomicU32,
    hangs: AtomicU32,
    /// The checkpoint that this process was made from; 0: none.
    pub made_from: AtomicU64,
}

/// What has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A thread has crashed.
    Crash,
    /// One hangs.
    Hang,
    /// One has ended by itself.
    End,
}

/// Why there is no further rollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoProgress {
    /// So many to this checkpoint.
    Same(u32, u64),
    /// Its work was taken for hung so often in this region.
    Hangs(u32, u64),
    /// So many in this region.
    Region(u32, u64),
}

impl core::fmt::Display for NoProgress {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Same(n, g) => write!(f, "{n} rollbacks to the same checkpoint ({g})"),
            Self::Hangs(n, r) => write!(f, "{n} times in region {r}, each with twice the patience"),
            Self::Region(n, r) => write!(f, "{n} rollbacks in region {r}"),
        }
    }
}

impl Trials {
    fn is_in(&self, region: u64) {
        if self.region.fetch_max(region, Relaxed) < region {
            self.in_region.store(0, Relaxed);
            self.hangs.store(0, Relaxed);
        }
    }

    fn count(&self, cause: Cause, generation: u64, region: u64) -> Result<(), NoProgress> {
        self.is_in(region);
        if self.generation.swap(generation, Relaxed) != generation {
            self.same.store(0, Relaxed);
            self.crashes.store(0, Relaxed);
        }
        let crashes = if cause == Cause::Crash { self.crashes.fetch_add(1, Relaxed) } else { 0 };
        let (same, here) = (self.same.fetch_add(1, Relaxed), self.in_region.fetch_add(1, Relaxed));
        if crashes >= CRASHES {
            Err(NoProgress::Same(CRASHES, generation))
        } else if same >= SAME {
            Err(NoProgress::Same(SAME, generation))
        } else if cause == Cause::Hang && self.hangs.load(Relaxed) > HANGS {
            Err(NoProgress::Hangs(HANGS, self.region.load(Relaxed)))
        } else if here >= REGION {
            Err(NoProgress::Region(REGION, self.region.load(Relaxed)))
        } else {
            Ok(())
        }
    }
}

/// A failure of the program's own asks for a rollback, and there is a checkpoint: may it have one? What
/// others suffer from a failure that is being answered counts as that one.
pub fn may_roll_back(cause: Cause) -> Result<(), NoProgress> {
    if rollback_request::rollback_is_due() {
        return Ok(());
    }
    let k = keep::get();
    k.trials.count(cause, k.last.generation.load(Relaxed), runtime().region())
}

/// Work has been taken for hung.
pub fn note_hang() {
    if let Some(k) = keep::if_on() {
        k.trials.is_in(runtime().region());
        k.trials.hangs.fetch_add(1, Relaxed);
    }
}

/// How often that was so without progress.
pub fn hangs() -> u32 {
    let here = |k: &&Keep| k.trials.region.load(Relaxed) >= runtime().region();
    keep::if_on().filter(here).map_or(0, |k| k.trials.hangs.load(Relaxed))
}

/// The checkpoint that this process was made from, as long as no other one has become whole.
pub fn just_restarted_from() -> Option<u64> {
    let k = keep::if_on()?;
    let from = k.trials.made_from.load(Relaxed);
    (from != 0 && k.last.generation.load(Acquire) == from).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials() -> Trials {
        // SAFETY: zeroed memory is its initial state.
        unsafe { core::mem::zeroed() }
    }

    fn how_many(mut once: impl FnMut(u64) -> Result<(), NoProgress>) -> (u64, Option<NoProgress>) {
        let first = (0..1000).find_map(|i| once(i).err().map(|e| (i, Some(e))));
        first.unwrap_or((1000, None))
    }

    #[test]
    fn rollbacks_to_one_checkpoint_are_counted_by_kind() {
        let t = trials();
        assert_eq!(how_many(|_| t.count(Cause::Crash, 3, 1)), (2, Some(NoProgress::Same(CRASHES, 3))));
        let t = trials();
        assert_eq!(how_many(|_| t.count(Cause::End, 3, 1)), (10, Some(NoProgress::Same(SAME, 3))));
        let t = trials();
        assert_eq!(
            how_many(|i| t.count([Cause::Hang, Cause::End][i as usize % 2], 3, i)).0,
            10,
            "later regions, the same checkpoint"
        );
    }

    #[test]
    fn checkpoints_alone_are_no_progress_for_ever() {
        let t = trials();
        assert_eq!(
            how_many(|i| t.count([Cause::Crash, Cause::End][i as usize % 2], i, 7)),
            (50, Some(NoProgress::Region(REGION, 7)))
        );
        let t = trials();
        assert_eq!(
            how_many(|i| t.count(Cause::End, i / 4, 7 - i % 3)).0,
            50,
            "earlier regions are none, either"
        );
        let t = trials();
        assert_eq!(how_many(|i| t.count(Cause::End, i / 9, i / 9)), (1000, None));
        let t = trials();
        assert_eq!(how_many(|i| t.count(Cause::Crash, i / 2, i / 40)), (1000, None));
    }
}
