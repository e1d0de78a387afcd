//! The words by which threads stop and go on (seats.rs, keeper/freeze.rs, control/transition.rs).

use crate::sys::futex;
use core::sync::atomic::{AtomicU32, Ordering::*};

/// In the kept region. Zeroed memory is its initial state.
#[repr(C)]
pub struct Protocol {
    /// CKPT_Started: threads freeze for a checkpoint or a rollback.
    pub started: AtomicU32,
    /// CKPT_Counter: threads that have not arrived yet; what the keeper sleeps on while they come.
    pub counter: AtomicU32,
    /// Changes when seats have orders: what their hosts sleep on, so that all of them are woken at once.
    pub orders: AtomicU32,
    /// Hosts that are being replaced, and calls that are being noted: no checkpoint while it is not 0.
    pub transitions: AtomicU32,
    /// Does the program have signal handlers (as of the last freeze)?
    pub handlers: AtomicU32,
    /// Is there an agent?
    pub agent: AtomicU32,
    /// 1: the agent is asked to rest; 2: it rests; 0: it works (or there is none).
    pub agent_rests: AtomicU32,
}

impl Protocol {
    /// Those whose seats have orders follow them. One system call: a host that is woken may take the caller's
    /// CPU, and those that are not woken yet would stand still for as long as it keeps it.
    pub fn send_orders(&self) {
        self.orders.fetch_add(1, Release);
        futex::wake(&self.orders, u32::MAX);
    }
}
