//! A bell for hosts that share work under a lock: who finds nothing to do reads it under the lock, counts himself among the sleepers, gives the lock
//! back and waits; who makes something to do, under the lock, rings if there are sleepers.
//!
//! No ring is missed: it comes after the reading, since both are under the lock, and then [`Bell::wait`] does not wait. Loom model:
//! `tests/loom/src/models.rs`, `a_bell_under_a_lock`.

use crate::sys::futex;
use crate::sys::sync::{AtomicU32, Ordering::*};

/// See the module's text.
#[derive(Debug)]
pub struct Bell(AtomicU32);

impl Bell {
    /// One that has not rung.
    pub fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// How often it has rung; under the lock. Relaxed: the lock orders it.
    pub fn heard(&self) -> u32 {
        self.0.load(Relaxed)
    }

    /// Waits until it has rung more often than it was `heard` to; may return earlier.
    pub fn wait(&self, heard: u32) {
        futex::wait(&self.0, heard);
    }

    /// Rings if there are `sleepers`, which there are not afterwards; under the lock.
    pub fn ring(&self, sleepers: &mut usize) {
        if core::mem::take(sleepers) > 0 {
            self.0.fetch_add(1, Relaxed);
            futex::wake(&self.0, u32::MAX);
        }
    }
}

impl Default for Bell {
    fn default() -> Self {
        Self::new()
    }
}
