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
    }

    /// In the models nobody dies unnoticed.
    pub mod watch {
        pub use super::futex::wait;
    }

    /// A futex as the kernel has it: the comparison and going to sleep are one step against a wake. A lost wake-up leaves a
    /// sleeper for ever, which loom reports as a deadlock.
    pub mod futex {
        use super::sync::{AtomicU32, Ordering::SeqCst};
        use loom::sync::{Condvar, Mutex};

        loom::lazy_static! {
            static ref KERNEL: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
        }

        pub fn wait(word: &AtomicU32, expected: u32) {
            let guard = KERNEL.0.lock().unwrap();
            if word.load(SeqCst) == expected {
                drop(KERNEL.1.wait(guard).unwrap());
            }
        }

        pub fn wake(_word: &AtomicU32, _n: u32) {
            let _guard = KERNEL.0.lock().unwrap();
            KERNEL.1.notify_all();
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
mod aside {
    pub fn step_aside() -> bool {
        loom::thread::yield_now();
        true
    }
}

/// Where threads run does not matter to the models.
mod room {
    #[derive(Default)]
    pub struct Waker;

    impl Waker {
        pub fn is_here(&self) {}
        pub fn leave_cpu_to(&self, _patience: crate::event::Patience) {}
    }
}

#[path = "../../../src/team/barrier.rs"]
#[allow(dead_code)]
mod barrier;
#[path = "../../../src/work/batch.rs"]
#[allow(dead_code)]
mod batch;
#[path = "../../../src/task/count.rs"]
#[allow(dead_code)]
mod count;
#[path = "../../../src/task/deque.rs"]
#[allow(dead_code)]
mod deque;
#[path = "../../../src/work/dispenser.rs"]
#[allow(dead_code)]
mod dispenser;
#[path = "../../../src/team/event.rs"]
#[allow(dead_code)]
mod event;
#[path = "../../../src/fault/publish.rs"]
mod publish;
#[path = "../../../src/ckpt/round.rs"]
#[allow(dead_code)]
mod round;

mod checkpoint;
mod models;
