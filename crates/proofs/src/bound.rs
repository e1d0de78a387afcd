//! Functions of the C++ library, and of C's, by the addresses that calls are bound to.
//!
//! promp-cc takes calls of some functions for calls of these libraries' own (plugin/src/memory/heap.cc,
//! containers.cc). Whether they are is found out when proofs are joined, and kept here: another definition,
//! a preloaded library's or the program's, has another address, and stays what it is.

use crate::sys::objects;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Functions by their names in the C++ library, and their addresses as far as they are known.
///
/// Addresses are set before a verdict counts on them, by the thread that joins; verdicts are published
/// later, with release.
pub struct Bound<const N: usize> {
    names: [&'static str; N],
    at: [AtomicUsize; N],
}

impl<const N: usize> Bound<N> {
    /// None of them is known yet.
    pub const fn new(names: [&'static str; N]) -> Self {
        Self { names, at: [const { AtomicUsize::new(0) }; N] }
    }

    /// In the order of their numbers.
    #[cfg(test)]
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The number of the function with this name.
    pub fn number_of(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|&n| n == name)
    }

    /// The number of the function that begins at `target`; `None`: it is not known to be one of them.
    #[inline]
    pub fn number(&self, target: usize) -> Option<usize> {
        self.at.iter().position(|k| k.load(Relaxed) == target)
    }

    /// Is it one of the C++ library's? It is known from now on.
    pub fn is_librarys(&self, target: usize) -> bool {
        let Some(k) = self.by_name(target) else { return false };
        let before = self.at[k].compare_exchange(0, target, Relaxed, Relaxed);
        before.is_ok() || before == Err(target)
    }

    fn by_name(&self, target: usize) -> Option<usize> {
        let (file, name) = objects::symbol_at(target).filter(|_| target != 0)?;
        let file = file.rsplit('/').next().unwrap_or_default();
        let k = self.number_of(&name)?;
        // The C++ library's names are mangled.
        let librarys = if name.starts_with("_Z") { file.starts_with("libstdc++.so") } else { is_libc(file) };
        librarys.then_some(k)
    }

    /// An object has been loaded, perhaps where another one was: forgets what is not the C++ library's any
    /// more.
    pub fn check(&self) {
        for (k, at) in self.at.iter().enumerate() {
            let target = at.load(Relaxed);
            if target != 0 && self.by_name(target) != Some(k) {
                at.store(0, Relaxed);
            }
        }
    }
}

fn is_libc(file: &str) -> bool {
    file.starts_with("libc.so") || file.starts_with("libc-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_functions_are_not_the_librarys() {
        let bound = Bound::new(["_Znwm", "qsort"]);
        for f in [0, 16, libc::malloc as *const () as usize, Bound::<2>::check as *const () as usize] {
            assert!(!bound.is_librarys(f) && (f == 0 || bound.number(f).is_none()), "{f}");
        }
        let sort = libc::qsort as *const () as usize;
        assert!(bound.is_librarys(sort) && bound.number(sort) == Some(1));
        bound.check();
    }
}
