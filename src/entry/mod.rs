//! The exported symbols: thin. Each converts its arguments and calls down; one file a construct family. The table of
//! symbols and versions is abi/symbols.tsv.

pub mod acc;
pub mod affinity;
pub mod alloc;
pub mod asks;
pub mod cancel;
pub mod doacross;
pub mod error;
pub mod fortran;
pub mod goacc;
pub mod interop;
pub mod light;
pub mod locks;
pub mod loops;
pub mod newer;
pub mod omp;
pub mod parallel;
pub mod pinned;
pub mod promp;
pub mod sections;
pub mod single;
pub mod static_loops;
pub mod sync;
pub mod target;
pub mod task;
pub mod teams;

use crate::fault::stop;
use crate::team::thread::current;

/// Runs the body of an exported function that has no stub but takes locks or allocates: a stop waits until it is done.
pub fn guarded<R>(f: impl FnOnce() -> R) -> R {
    stop::hold_off(current(), f)
}
