//! What the program has asked of the number of threads, or said: the first call of each routine, by its
//! return address. A program that knows the number may have memory that depends on it; a restart with
//! another number is refused then, and the call named (docs/internals/restart-elsewhere.md). It is the
//! program's memory, so a checkpoint has what was asked before it.
//!
//! `omp_get_num_threads` and `omp_get_thread_num` are not here: compilers call them for every static loop,
//! and programs in their innermost loops. Who uses them is found in the programs' files (`promp restart`).

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The routines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Routine {
    /// `omp_get_max_threads`.
    MaxThreads,
    /// `omp_get_num_procs`.
    NumProcs,
    /// `omp_set_num_threads`.
    SetNumThreads,
    /// `omp_get_team_size`.
    TeamSize,
    /// `omp_get_ancestor_thread_num`.
    AncestorThreadNum,
}

const NAMES: [&str; 5] = [
    "omp_get_max_threads",
    "omp_get_num_procs",
    "omp_set_num_threads",
    "omp_get_team_size",
    "omp_get_ancestor_thread_num",
];

/// The return address of the first call of each; 0: there was none.
static FIRST: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];

/// `routine` has been called from `at`. Of two first calls at a time either may be noted.
#[inline]
pub fn note(routine: Routine, at: usize) {
    let first = &FIRST[routine as usize];
    if first.load(Relaxed) == 0 {
        first.store(at, Relaxed);
    }
}

/// What was called, and from where at first.
pub fn all() -> impl Iterator<Item = (&'static str, usize)> {
    let of = |(name, at): (&'static str, &AtomicUsize)| (name, at.load(Relaxed));
    NAMES.into_iter().zip(&FIRST).map(of).filter(|(_, at)| *at != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_call_is_kept() {
        note(Routine::TeamSize, 7);
        note(Routine::TeamSize, 8);
        assert!(all().any(|call| call == ("omp_get_team_size", 7)));
    }
}
