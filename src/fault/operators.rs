//! C++'s `operator new` and `operator delete`, which a program may replace.
//!
//! promp-cc takes calls of them for the C++ library's own, which call malloc and free (plugin/src/heap.cc).
//! Whether that is so is found out when proofs are joined, and kept here: for these, and only for these, the
//! runtime allocates and frees itself, what is freed as late as `free` does it (freed.rs). All others are
//! called as they are, and have marks in front of them.

use crate::sys::objects;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Addresses of the C++ library's operators. They are set before a verdict counts on it, by the thread that
/// joins; verdicts are published later, with release.
static KNOWN: [AtomicUsize; 6] = [const { AtomicUsize::new(0) }; 6];

/// The forms that promp-cc has the runtime stand in for.
const NAMES: [&str; 6] = ["_Znwm", "_Znam", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm"];

/// Is it known to be one of the C++ library's?
#[inline]
pub fn is_known(target: usize) -> bool {
    KNOWN.iter().any(|k| k.load(Relaxed) == target)
}

/// Is it one of the C++ library's? It is known from now on.
pub fn is_librarys(target: usize) -> bool {
    let yes = target != 0 && is_by_name(target);
    if yes && !is_known(target) {
        return KNOWN.iter().any(|k| k.compare_exchange(0, target, Relaxed, Relaxed).is_ok());
    }
    yes
}

fn is_by_name(target: usize) -> bool {
    objects::symbol_at(target).is_some_and(|(file, name)| {
        let file = file.rsplit('/').next().unwrap_or_default();
        file.starts_with("libstdc++.so") && NAMES.contains(&&*name)
    })
}

/// An object has been loaded, perhaps where another one was: forgets what is not the C++ library's any more.
pub fn check() {
    for k in &KNOWN {
        let target = k.load(Relaxed);
        if target != 0 && !is_by_name(target) {
            k.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_functions_are_not_the_librarys() {
        for f in [16, libc::malloc as *const () as usize, is_by_name as *const () as usize] {
            assert!(!is_librarys(f) && !is_known(f), "{f}");
        }
        check();
    }
}
