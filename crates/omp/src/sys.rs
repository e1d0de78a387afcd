//! The platform (crates/sys), with what the unit tests here count of it: which lines are touched.

pub(crate) use promp_sys::*;

/// The platform's, and [`touch`](sync::touch).
pub(crate) mod sync {
    pub(crate) use promp_sys::sync::*;

    /// In tests: the line of `word`, which several threads use, is touched (see team/cache_lines.rs).
    #[inline(always)]
    pub(crate) fn touch<T>(_word: &T) {
        #[cfg(test)]
        touched::note(core::ptr::from_ref(_word).addr());
    }

    /// What [`touch`] has noted, by thread.
    #[cfg(test)]
    pub(crate) mod touched {
        use std::cell::RefCell;

        thread_local! {
            static LOG: RefCell<Option<Vec<usize>>> = const { RefCell::new(None) };
        }

        pub(super) fn note(at: usize) {
            LOG.with_borrow_mut(|log| log.iter_mut().for_each(|l| l.push(at)));
        }

        /// The addresses that `f` touches, in order.
        pub(crate) fn by<R>(f: impl FnOnce() -> R) -> (R, Vec<usize>) {
            LOG.set(Some(vec![]));
            let r = f();
            (r, LOG.take().expect("set above"))
        }
    }
}
