//! The exported symbols: thin. Each converts its arguments and calls down; one file a construct family. The table of
//! symbols and versions is abi/symbols.tsv.

pub mod acc;
pub mod affinity;
pub mod alloc;
pub mod asks;
pub mod cancel;
pub mod containers;
pub mod doacross;
pub mod error;
pub mod fortran;
pub mod goacc;
pub mod heap;
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
