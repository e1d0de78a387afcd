//! Going back without a failure: whoever wants to see what becomes of the same work by different ways takes
//! a checkpoint ([`point`]) and goes back to it ([`back`]) as often as is needed. The keeper goes back only
//! where nobody outside has seen anything since: a program must not do twice what it was not asked to.
//!
//! ```text
//! Rewind::asked   NO --thread, release--> ASKED --keeper, memory is put back--> NO
//!                  ^                        +--keeper, release--> REFUSED --thread--+
//!                  +----------------------------------------------------------------+
//! ```
//!
//! The word lies in the kept region. Of a request that was granted nothing is left but what the caller has
//! put there itself.

use crate::keep;
use crate::program_requests::{ask_and_wait, ring, until_written};
use crate::sys::shared_text::Text;
use crate::sys::{futex, time};
use core::sync::atomic::Ordering::*;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// [`Rewind::asked`].
pub const NO: u32 = 0;
/// See there.
pub const ASKED: u32 = 1;
/// See there.
pub const REFUSED: u32 = 2;

/// How often it is tried to have a checkpoint that was begun after it was asked for.
const ATTEMPTS: u32 = 4;

/// In the kept region. Zeroed memory is its initial state.
pub struct Rewind {
    /// See the module's text.
    pub asked: AtomicU32,
    /// Is it noted at checkpoints what has been written so far?
    pub notes: AtomicU32,
    /// The checkpoint to go back to.
    pub point: AtomicU64,
    /// Why the last checkpoint was refused, or the last request.
    pub why: Text,
}

/// Takes a checkpoint of this very moment and waits until it is whole. Returns its number, and does so again
/// whenever somebody has gone [`back`] to it. The error says why there is none.
pub fn point() -> Result<u64, String> {
    let Some(k) = keep::if_on() else { return Err("there are no checkpoints".into()) };
    k.rewind.notes.store(1, Relaxed);
    k.rewind.why.set("");
    let asked_ns = time::now_ns();
    for _ in 0..ATTEMPTS {
        ask_and_wait(k);
        // Nothing is to be written to disk while times are taken.
        until_written(k);
        // One that was under way already was begun before; others may have asked, too.
        if k.last.taken_ns.load(Acquire) >= asked_ns {
            return Ok(k.last.generation.load(Acquire));
        }
    }
    let why = k.rewind.why.get();
    Err(if why.is_empty() { "none was taken".into() } else { why })
}

/// Goes back to checkpoint `point`, and then does not return; or returns why that cannot be.
pub fn back(point: u64) -> String {
    let Some(k) = keep::if_on() else { return "there are no checkpoints".into() };
    k.rewind.point.store(point, Relaxed);
    // Release: the checkpoint's number, and what the caller keeps.
    k.rewind.asked.store(ASKED, Release);
    ring(k);
    while k.rewind.asked.load(Acquire) == ASKED {
        futex::wait(&k.rewind.asked, ASKED);
    }
    k.rewind.asked.store(NO, Relaxed);
    k.rewind.why.get()
}
