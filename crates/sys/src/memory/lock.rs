//! A futex lock (three states, after Drepper, "Futexes Are Tricky") for the runtime's own cold paths and for the
//! user's locks and critical sections. A logical thread keeps what it holds when its host is replaced.

use crate::sync::{AtomicU32, Ordering::*, spin_hint};
use crate::{death_watch, futex};

/// Rounds to spin for a lock before sleeping. Sections are mostly short: sleeping pays off only where the holder needs the CPU.
static SPIN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(CROWDED);
const CROWDED: u32 = 100;
const ROOMY: u32 = 2000;
const MOST_PAUSE: u32 = 16;

/// Are there more threads than CPUs?
pub fn crowded(yes: bool) {
    SPIN.store(if yes { CROWDED } else { ROOMY }, std::sync::atomic::Ordering::Relaxed);
}

/// The word of a lock that is held and for which somebody may sleep.
pub const CONTENDED: u32 = 2;

/// 0 free, 1 held, [`CONTENDED`].
#[repr(transparent)]
#[derive(Default)]
pub struct Lock(AtomicU32);

impl Lock {
    /// A free lock.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Takes the lock. The acquire edge pairs with the release in [`Lock::unlock`].
    #[inline]
    pub fn lock(&self) {
        if self.0.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            self.lock_slow(futex::wait);
        }
    }

    /// [`Lock::lock`] for a lock of the program's, which a thread may hold that has ended (death_watch.rs).
    #[inline]
    pub fn lock_watched(&self) {
        if self.0.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            self.lock_slow(death_watch::wait);
        }
    }

    #[cold]
    fn lock_slow(&self, sleep: impl Fn(&AtomicU32, u32)) {
        // Look less and less often: each look takes the line, and what lies beside the lock, away from the holder.
        let (mut left, mut pause) = (SPIN.load(Relaxed), 1);
        while left > 0 {
            for _ in 0..pause {
                spin_hint();
            }
            if self.0.load(Relaxed) == 0 && self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
                return;
            }
            left = left.saturating_sub(pause);
            pause = (2 * pause).min(MOST_PAUSE);
        }
        while self.0.swap(CONTENDED, Acquire) != 0 {
            sleep(&self.0, CONTENDED);
        }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> bool {
        self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    /// Gives the lock back.
    #[inline]
    pub fn unlock(&self) {
        if self.0.swap(0, Release) == CONTENDED {
            self.wake();
        }
    }

    /// Wakes one that sleeps, after the lock has become free.
    #[cold]
    pub fn wake(&self) {
        futex::wake(&self.0, 1);
    }

    /// Holds the lock while `f` runs.
    pub fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        self.lock();
        let r = f();
        self.unlock();
        r
    }

    /// Makes the lock free, whoever held it (a child after fork; `omp_init_lock`).
    pub fn reset(&self) {
        self.0.store(0, Relaxed);
    }
}

/// Data behind a [`Lock`].
#[derive(Default)]
pub struct Locked<T> {
    lock: Lock,
    data: core::cell::UnsafeCell<T>,
}

// SAFETY: the data is reached only with the lock held.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    /// Guards `data`.
    pub const fn new(data: T) -> Self {
        Self { lock: Lock::new(), data: core::cell::UnsafeCell::new(data) }
    }
    /// Runs `f` on the data with the lock held. Must not be re-entered from `f`.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.lock.lock();
        // SAFETY: the lock is held, so this is the only reference.
        let r = f(unsafe { &mut *self.data.get() });
        self.lock.unlock();
        r
    }
    /// Runs `f` on the data if nobody holds the lock.
    pub fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        if !self.lock.try_lock() {
            return None;
        }
        // SAFETY: the lock is held, so this is the only reference.
        let r = f(unsafe { &mut *self.data.get() });
        self.lock.unlock();
        Some(r)
    }
    /// The lock itself, for fork handlers.
    pub fn raw(&self) -> &Lock {
        &self.lock
    }
}
