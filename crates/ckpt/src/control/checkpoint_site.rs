//! Places: where a program says that memory is dead (`promp_dead`) and lets a checkpoint be taken
//! (`promp_potential_ckpt`).
//!
//! Dead at a place is what is written before it is read on every way from there. A checkpoint can leave it
//! out if, and only if, it is taken while everybody who executes the program stands there: the initial
//! thread in serial code; inside of a region every thread of its team. Elsewhere a checkpoint is whole, as
//! ever.
//!
//! Serial code: the thread asks for a checkpoint when the next visit would be too late, and waits for it. A
//! region: the first thread that comes when a checkpoint is due names the *next* visit as the one at which
//! all stand ([`Place::target`]). Visits are numbered by each thread for itself, in a region from 1.
//! Between two visits there is a barrier at least, so nobody has passed the next one while somebody is at
//! this one, and everybody comes to the barrier after the target was named: all stop at the same visit. If
//! they do not after all (no barrier, the loop has ended) whoever stands goes on after a while, and the
//! keeper takes a whole checkpoint.
//!
//! How they stand, ask and are let go: request_protocol.rs.

use crate::keep::Keep;
use crate::program_requests::ring;
use crate::request_protocol::STANDS;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// In the kept region. Zeroed memory is its initial state.
pub struct Place {
    /// The visit at which the team stands: the region's number and the visit's in it. 0: none is named.
    /// Relaxed: the barrier between two visits orders it.
    pub target: AtomicU64,
    /// When a place with dead memory was last visited.
    pub visited_ns: AtomicU64,
    /// The time between two checkpoints; 0: nothing is left out.
    pub interval_ns: AtomicU64,
    /// PROMP_CKPT_WHERE=serial: are checkpoints to be taken in serial code?
    pub in_serial: AtomicU32,
    /// When memory was last copied for one: those that come while it is being written know it by this.
    pub copied_ns: AtomicU64,
    /// When a thread in serial code last stood for one.
    pub asked_ns: AtomicU64,
}

impl Place {
    /// Has one been visited since `ns`?
    pub fn was_visited_since(&self, ns: u64) -> bool {
        self.visited_ns.load(Relaxed) > ns
    }

    /// The attempt is over: no visit is named any more.
    pub fn forget(&self) {
        self.target.store(0, Relaxed);
    }
}

/// Stands ([`crate::request_protocol::Asking::stand`]), and asks for a checkpoint when everybody does.
pub fn stand(
    k: &'static Keep,
    seat: impl Fn() -> &'static AtomicU32,
    patience: (u32, u64),
    wanted: impl Fn() -> bool,
) {
    let here = || k.seats.iter().filter(|s| s.standing.load(SeqCst) == STANDS).count();
    k.asking.stand(seat, here, patience, wanted, || ring(k));
}
