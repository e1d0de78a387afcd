//! Loom models of the protocols. The protocol files of the library are compiled here against loom's atomics: this crate's
//! `sys::sync` and `sys::futex` stand in for the library's.
//!
//! Run with `cargo test --release --manifest-path tests/loom/Cargo.toml` (part of `make test`).
#![cfg(test)]

mod sys {
    pub mod sync {
        pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
        pub fn full_fence() {
            fence(Ordering::SeqCst);
        }
        pub fn spin_hint() {
            loom::thread::yield_now();
        }
        pub fn touch<T>(_word: &T) {}
        pub fn fetch_to_write<T>(_word: &T) {}
    }

    /// A cell with one writer at a time, which loom checks.
    pub mod own {
        pub struct Own<T>(loom::cell::UnsafeCell<T>);

        // SAFETY: loom reports whatever breaks the contract of the library's.
        unsafe impl<T: Send> Sync for Own<T> {}

        impl<T: Copy> Own<T> {
            pub fn new(v: T) -> Self {
                Self(loom::cell::UnsafeCell::new(v))
            }
            pub fn get(&self) -> T {
                // SAFETY: as above.
                self.0.with(|p| unsafe { *p })
            }
            pub fn set(&self, v: T) {
                // SAFETY: as above.
                self.0.with_mut(|p| unsafe { *p = v });
            }
        }
    }

    pub mod time {
        pub fn now_ns() -> u64 {
            0
        }
    }

    /// In the models nobody dies unnoticed.
    pub mod death_watch {
        pub use super::futex::wait;
    }

    /// A futex as the kernel has it: the comparison and going to sleep are one step against a wake. A lost wake-up leaves a
    /// sleeper for ever, which loom reports as a deadlock.
    pub mod futex {
        use super::sync::{AtomicU32, Ordering::SeqCst};
        use loom::sync::Mutex;
        use loom::thread::{self, Thread};

        loom::lazy_static! {
            /// Who sleeps on which word, in the order in which they have come.
            static ref SLEEPERS: Mutex<Vec<(usize, Thread)>> = Mutex::new(Vec::new());
        }

        fn address(word: &AtomicU32) -> usize {
            core::ptr::from_ref(word).addr()
        }

        pub fn wait(word: &AtomicU32, expected: u32) {
            let mut sleepers = SLEEPERS.lock().unwrap();
            if word.load(SeqCst) == expected {
                sleepers.push((address(word), thread::current()));
                drop(sleepers);
                thread::park();
            }
        }

        /// No time passes in the models: whoever is not woken is lost.
        pub fn wait_until(word: &AtomicU32, expected: u32, _deadline_ns: u64) {
            wait(word, expected);
        }

        pub fn wake(word: &AtomicU32, n: u32) {
            let mut sleepers = SLEEPERS.lock().unwrap();
            for _ in 0..n {
                let Some(i) = sleepers.iter().position(|s| s.0 == address(word)) else { break };
                sleepers.remove(i).1.unpark();
            }
        }
    }

    /// The lock's interface over loom's mutex (the library's has constant constructors, which loom's atomics lack).
    pub mod lock {
        pub struct Locked<T>(loom::sync::Mutex<T>);

        impl<T: Default> Default for Locked<T> {
            fn default() -> Self {
                Self(loom::sync::Mutex::new(T::default()))
            }
        }

        impl<T> Locked<T> {
            pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
                f(&mut self.0.lock().unwrap())
            }
        }
    }
}

/// To step aside is always a good idea here.
mod cpu_yield {
    pub fn step_aside() -> bool {
        loom::thread::yield_now();
        true
    }
}

/// Where threads run does not matter to the models.
mod cpu_spread {
    #[derive(Default)]
    pub struct Waker;

    impl Waker {
        pub fn is_here(&self) {}
        pub fn leave_cpu_to(&self, _patience: crate::event_count::Patience) {}
    }
}

#[path = "../../../crates/omp/src/team/barrier.rs"]
#[allow(dead_code)]
mod barrier;
#[path = "../../../crates/omp/src/work/batch.rs"]
#[allow(dead_code)]
mod batch;
#[path = "../../../crates/omp/src/task/count.rs"]
#[allow(dead_code)]
mod count;
#[path = "../../../crates/omp/src/task/deque.rs"]
#[allow(dead_code)]
mod deque;
#[path = "../../../crates/omp/src/work/dispenser.rs"]
#[allow(dead_code)]
mod dispenser;
#[path = "../../../crates/omp/src/team/event_count.rs"]
#[allow(dead_code)]
mod event_count;
#[path = "../../../crates/omp/src/work/holders.rs"]
#[allow(dead_code)]
mod holders;
#[path = "../../../crates/omp/src/team/orders.rs"]
#[allow(dead_code)]
mod orders;
#[path = "../../../crates/omp/src/save/publish.rs"]
mod publish;
#[path = "../../../crates/omp/src/task/remainder.rs"]
mod remainder;
#[path = "../../../crates/ckpt/src/control/request_protocol.rs"]
#[allow(dead_code)]
mod request_protocol;
#[path = "../../../crates/ckpt/src/control/round.rs"]
#[allow(dead_code)]
mod round;
#[path = "../../../crates/omp/src/work/shared_batches.rs"]
#[allow(dead_code)]
mod shared_batches;

mod barriers;
mod checkpoint;
mod loops;
mod places;
mod regions;
mod sleepers;
mod tasks;

/// All interleavings with at most `bound` preemptions.
fn check(bound: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut b = loom::model::Builder::new();
    b.preemption_bound = Some(bound);
    b.check(f);
}

fn const2() -> loom::cell::UnsafeCell<u32> {
    loom::cell::UnsafeCell::new(0)
}
