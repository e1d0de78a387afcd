//! Rounds of shared work: a host opens one, helpers that come in time take part, the host closes it and waits for those inside. A helper
//! that sleeps through a round, because no CPU had time for it, is not waited for.
//!
//! `inside` is the number of helpers in the round, and whether it is closed:
//!
//! | from | by | to |
//! |---|---|---|
//! | closed, 0 | [`Round::open`], with release: what the round is about is seen by those who enter | open, 0 |
//! | open, n | [`Round::join`], with acquire | open, n + 1 |
//! | open, n | [`Round::close`] | closed, n |
//! | any, n | [`Round::leave`], with release: what was done is seen by who closes | same, n - 1 |
//!
//! Loom model: `tests/loom/src/tasks.rs`, `rounds_of_shared_work`.

use crate::sys::futex;
use crate::sys::sync::{AtomicU32, Ordering::*};

const CLOSED: u32 = 1 << 31;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Round {
    /// Changes when one is opened: what helpers sleep on.
    number: AtomicU32,
    inside: AtomicU32,
}

impl Round {
    /// None has been opened.
    pub(crate) fn new() -> Self {
        Self { number: AtomicU32::new(0), inside: AtomicU32::new(CLOSED) }
    }

    /// Opens a round. By the one host that opens and closes, when none is open.
    pub(crate) fn open(&self) {
        self.inside.store(0, Release);
        self.number.fetch_add(1, Release);
        futex::wake(&self.number, u32::MAX);
    }

    /// Closes it: afterwards nobody is inside.
    pub(crate) fn close(&self) {
        let mut n = self.inside.fetch_or(CLOSED, AcqRel) | CLOSED;
        while n != CLOSED {
            futex::wait(&self.inside, n);
            n = self.inside.load(Acquire);
        }
    }

    /// Waits until a round other than `seen` is opened and enters it; false if it is closed already.
    pub(crate) fn join(&self, seen: &mut u32) -> bool {
        loop {
            let n = self.number.load(Acquire);
            if n != *seen {
                *seen = n;
                break;
            }
            futex::wait(&self.number, n);
        }
        let mut n = self.inside.load(Relaxed);
        while n & CLOSED == 0 {
            match self.inside.compare_exchange(n, n + 1, AcqRel, Relaxed) {
                Ok(_) => return true,
                Err(now) => n = now,
            }
        }
        false
    }

    /// Leaves the round that was entered.
    pub(crate) fn leave(&self) {
        if self.inside.fetch_sub(1, AcqRel) == CLOSED + 1 {
            futex::wake(&self.inside, 1);
        }
    }
}

impl Default for Round {
    fn default() -> Self {
        Self::new()
    }
}
