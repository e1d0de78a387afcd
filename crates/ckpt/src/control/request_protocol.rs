//! Asking for a checkpoint, and standing at a place until it is there.
//!
//! Attempts to take one are counted. A request names the attempt that it asks for: the next one that ends.
//! So nothing is ever cleared, and no request can be taken for one that has been answered: when the count
//! goes up ([`Asking::answer`]), all that name it are answered, and those that come later name the next one.
//! Only then those are let go that stood for the attempt: what they ask for at their next visit is a new
//! request.
//!
//! ```text
//! Seat::standing   AWAY --thread--> STANDS --keeper--> CLAIMED --keeper, attempt over--> AWAY
//!                           |                              +--keeper, puts it off--> STANDS
//!                           +--thread gives up (compare-and-swap)--> AWAY
//! ```
//!
//! STANDS is the edge for what the thread has said (dead_memory_claims.rs): its store (SeqCst) comes behind
//! the words, the keeper's compare-and-swap in front of reading them; CLAIMED, the thread changes nothing
//! until the attempt is over. Two threads that come at the same time see each other (SeqCst): one of them
//! finds that everybody stands, and asks. A rollback sets all seats to AWAY: the threads go on from where
//! they stood, and leave the place. Loom models: `tests/loom/src/places.rs`.

use crate::sys::sync::Ordering::*;
use crate::sys::sync::{AtomicU32, AtomicU64, full_fence};
use crate::sys::{futex, time};

/// A seat's thread is somewhere else.
pub const AWAY: u32 = 0;
/// At a place; may go on.
pub const STANDS: u32 = 1;
/// At a place, until the attempt is over.
pub const CLAIMED: u32 = 2;
/// Not at a place, but waits for a checkpoint that it has asked for.
pub const ASKS: u32 = 3;

/// Who stands looks so often whether it is still wanted.
const LOOK_NS: u64 = 10_000_000;

/// In the kept region. Zeroed memory is its initial state.
#[derive(Default)]
#[repr(C)]
pub struct Asking {
    /// The attempt that is asked for. Release, behind what it is asked for with; the keeper's loads acquire.
    wanted: AtomicU64,
    /// Attempts that are over. Release, behind the copy; acquired by who waits.
    attempts: AtomicU64,
    /// Those of them before the program began.
    before: AtomicU64,
    /// Changes when those who stood for one have been let go, too: what everybody sleeps on.
    over: AtomicU32,
}

impl Asking {
    /// Has nobody been answered since the program began?
    pub fn is_new(&self) -> bool {
        self.attempts.load(Relaxed) <= self.before.load(Relaxed)
    }

    /// The program begins.
    pub fn program_begins(&self) {
        self.before.store(self.attempts.load(Relaxed), Relaxed);
    }

    /// In a new process: threads may have been saved while they waited, whose attempt none here is.
    pub fn begin_anew(&self) {
        let now = time::now_ns() | 1;
        self.attempts.store(now, Release);
        self.over.store(now as u32, Release);
    }

    /// Somebody waits for the attempt under way, or the next one. The keeper asks.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Acquire) > self.attempts.load(Relaxed)
    }

    /// Asks. Async-signal-safe. One that could have been answered before it was noted is made anew: behind it
    /// there is an answer.
    pub fn ask(&self, ring: impl Fn()) {
        loop {
            let before = self.attempts.load(Acquire);
            self.wanted.fetch_max(before + 1, AcqRel);
            if self.attempts.load(Acquire) == before {
                return ring();
            }
        }
    }

    /// Asks, and waits until the attempt is over.
    pub fn ask_and_wait(&self, ring: impl Fn()) {
        let before = self.attempts.load(Acquire);
        self.wanted.fetch_max(before + 1, AcqRel);
        ring();
        loop {
            let over = self.over.load(Acquire);
            // `wanted` too: in a process that goes on from the checkpoint asked for here, nobody has asked.
            if self.attempts.load(Acquire) != before || self.wanted.load(Acquire) <= before {
                return;
            }
            futex::wait(&self.over, over);
        }
    }

    /// Stands until an attempt is over, or until `until` if fewer than `team` threads stand (`here`), or it
    /// is not `wanted` any more. `seat` is where the thread's seat says so: after a rollback it may be
    /// another one. Those that are claimed do not count: they leave with their attempt, or stand again and
    /// are claimed anew, as it is still asked for.
    pub fn stand<'a>(
        &self,
        seat: impl Fn() -> &'a AtomicU32,
        here: impl Fn() -> usize,
        (team, until): (u32, u64),
        wanted: impl Fn() -> bool,
        ring: impl Fn(),
    ) {
        let before = self.attempts.load(Acquire);
        seat().store(STANDS, SeqCst);
        // For loom, to which a SeqCst access is less than it is.
        full_fence();
        if here() >= team as usize {
            self.wanted.fetch_max(before + 1, AcqRel);
            ring();
        }
        loop {
            let over = self.over.load(Acquire);
            let leaves = self.attempts.load(Acquire) != before || !wanted() || time::now_ns() > until;
            // Claimed, it is the keeper who lets it go. In memory that was put back nobody stands.
            if seat().load(SeqCst) == AWAY
                || leaves && seat().compare_exchange(STANDS, AWAY, SeqCst, SeqCst).is_ok()
            {
                return;
            }
            futex::wait_until(&self.over, over, time::now_ns() + LOOK_NS);
        }
    }

    /// The keeper: the attempt is over. `dismiss` lets those go who stand for it.
    pub fn answer(&self, dismiss: impl FnOnce()) {
        self.attempts.fetch_add(1, AcqRel);
        dismiss();
        // Not before: who has looked at its seat in between sleeps on.
        self.over.fetch_add(1, Release);
        futex::wake(&self.over, u32::MAX);
    }
}
