//! C++'s `operator new` and `operator delete`, which a program may replace.
//!
//! promp-cc takes calls of them for the C++ library's own, which call malloc and free
//! (plugin/src/memory/heap.cc). For these, and only for these, the runtime allocates and frees itself, what
//! is freed as late as `free` does it (crates/undo/src/freed_memory.rs). All others are called as they are,
//! and have marks in front of them.

use crate::bound::Bound;

/// The forms that promp-cc has the runtime stand in for.
pub static OPERATORS: Bound<6> = Bound::new(["_Znwm", "_Znam", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm"]);

/// Is it known to be one of the C++ library's?
#[inline]
pub fn is_known(target: usize) -> bool {
    OPERATORS.number(target).is_some()
}
