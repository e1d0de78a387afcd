//! How many CPUs there are for the process' threads.

use crate::icv::globals;
use crate::sys::limits;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How many CPUs the process' threads may use at the same time.
pub(crate) fn cpus() -> u32 {
    globals().procs.min(machine())
}

fn machine() -> u32 {
    static N: AtomicU32 = AtomicU32::new(0);
    match N.load(Relaxed) {
        0 => {
            let g = globals();
            // Bound threads run on their places, whatever the caller's mask.
            let n = if g.places.is_empty() { limits::affinity_mask().len() as u32 } else { g.procs };
            N.store(n, Relaxed);
            n
        }
        n => n,
    }
}
