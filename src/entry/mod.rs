//! The exported symbols: thin. Each converts its arguments and calls down; one file a construct family. The table of
//! symbols and versions is abi/symbols.tsv.

pub(crate) mod acc;
pub(crate) mod affinity;
pub(crate) mod alloc;
pub(crate) mod api_figures;
pub(crate) mod asks;
pub(crate) mod cancel;
pub(crate) mod containers;
pub(crate) mod doacross;
pub(crate) mod error;
pub(crate) mod fortran;
pub(crate) mod goacc;
pub(crate) mod heap_calls;
pub(crate) mod interop;
pub(crate) mod light;
pub(crate) mod locks;
pub(crate) mod loops;
pub(crate) mod newer;
pub(crate) mod omp;
pub(crate) mod parallel;
pub(crate) mod pinned_memory;
pub(crate) mod promp;
pub(crate) mod sections;
pub(crate) mod single;
pub(crate) mod static_loops;
pub(crate) mod sync;
pub(crate) mod target;
pub(crate) mod task;
pub(crate) mod teams;
