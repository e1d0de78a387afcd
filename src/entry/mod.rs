//! The exported symbols: thin. Each converts its arguments and calls down; one file a construct family. The table of
//! symbols and versions is abi/symbols.tsv.

pub mod affinity;
pub mod alloc;
pub mod cancel;
pub mod error;
pub mod fortran;
pub mod locks;
pub mod loops;
pub mod omp;
pub mod parallel;
pub mod promp;
pub mod sections;
pub mod single;
pub mod sync;
pub mod target;
pub mod task;
pub mod teams;

use crate::sys::asm;
use crate::team::thread::Thread;

/// Where the current runtime call was made.
fn call_site(thr: &'static Thread) -> usize {
    match thr.frame.get() {
        0 => 0,
        // SAFETY: the frame of the call in progress; its return address lies behind the saved registers.
        f => unsafe { *((f + asm::FRAME_BYTES) as *const usize) },
    }
}
