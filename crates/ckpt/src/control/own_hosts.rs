//! The runtime's own hosts, which have no seats.

use core::sync::atomic::{AtomicU32, Ordering::*};

/// Members of the crew, the keeper among them.
pub(crate) const CREW: usize = 8;

/// Their kernel ids, 0: none. In the kept region.
#[repr(C)]
pub struct Hosts {
    /// Keeper, agent, guard, lookout.
    pub own: [AtomicU32; 4],
    /// The crew but for the keeper.
    pub crew: [AtomicU32; CREW - 1],
    /// Hosts that ended for good while parked (the first one): their word.
    pub parked: AtomicU32,
}

impl Hosts {
    /// Is host `tid` one of them?
    pub fn is_own(&self, tid: u32) -> bool {
        self.all().any(|own| own == tid)
    }

    /// All that there are.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        self.own.iter().chain(&self.crew).map(|own| own.load(Relaxed)).filter(|&own| own != 0)
    }
}
