//! What is kept through a rollback, beside the keeper's own data: seats and counters.

use crate::checkpoint_site::Place;
use crate::ends::Ready;
use crate::freeze::protocol::Protocol;
use crate::journal::Journal;
use crate::own_hosts::Hosts;
use crate::pipes::received::Received;
use crate::pipes::sent::Sent;
use crate::request_protocol::Asking;
use crate::requests::Ending;
use crate::rewind_request::Rewind;
use crate::rollback_limits::Trials;
use crate::seats::{SEATS, Seat};
use crate::sys::{preserved_memory as region, syscall};
use crate::taken::Last;
use crate::vdso;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

/// The state of the checkpoint protocol and what outlives rollbacks. Zeroed memory is its initial state.
#[repr(C)]
pub struct Keep {
    /// How threads stop and go on.
    pub freeze: Protocol,
    /// Changes when the keeper has something to do.
    pub bell: AtomicU32,
    /// Rollbacks so far: what was arranged before one does not count after it.
    pub epoch: AtomicU32,
    /// The signal that the kernel sends when the parent dies, if the process is to have it for good; 0: none.
    pub dies_with: AtomicU32,
    /// The keeper works.
    pub ready: AtomicU32,
    /// Failures that ask for a rollback.
    pub failed: AtomicU32,
    /// Who asks for a checkpoint, and what has come of it.
    pub asking: Asking,
    /// The last checkpoint.
    pub last: Last,
    /// The time between two checkpoints.
    pub interval_ns: AtomicU64,
    /// Where memory is dead.
    pub place: Place,
    /// What signals ask for.
    pub ending: Ending,
    /// Failures that come back.
    pub trials: Trials,
    /// The runtime's own hosts.
    pub hosts: Hosts,
    /// Where the kernel's object lies.
    pub kernel: vdso::Places,
    /// The record of the program's end.
    pub end: Ready,
    /// What becomes of files by name.
    pub journal: Journal,
    /// Input from pipes.
    pub received: Received,
    /// Output to pipes.
    pub sent: Sent,
    /// Going back without a failure.
    pub rewind: Rewind,
    /// Seats.
    pub seats: [Seat; SEATS],
}

static KEEP: AtomicPtr<Keep> = AtomicPtr::new(core::ptr::null_mut());

/// Makes it, at the first place of the region. The pointer is the same in every process.
pub fn create() -> bool {
    match region::pages(size_of::<Keep>()) {
        Some(p) => {
            KEEP.store(p.cast(), Release);
            true
        }
        None => false,
    }
}

/// It, if there are checkpoints.
#[inline]
pub fn if_on() -> Option<&'static Keep> {
    region::on().then(get)
}

/// It.
#[inline]
pub fn get() -> &'static Keep {
    // SAFETY: callers know that checkpoints are on, so `create` has run; zeroed memory is a valid `Keep`.
    unsafe { &*KEEP.load(Relaxed) }
}

impl Keep {
    /// When the last checkpoint was taken, whether it is whole yet or not.
    pub fn last_ns(&self) -> u64 {
        self.last.taken_ns.load(Relaxed).max(self.place.copied_ns.load(Relaxed))
    }
}

/// Does host `tid` carry the thread that the program began with? After a rollback to a time before that came
/// to the runtime it may be another one than at first: the seat that it waits in says so.
pub fn is_initial(tid: u32) -> bool {
    let waits = |s: &Seat| s.is_strangers() && s.initial.load(Relaxed) != 0 && s.host.load(Relaxed) == tid;
    tid == syscall::getpid() || get().seats.iter().any(waits)
}

/// The seat with this number, as a thread notes it ([`seats::seat`](crate::seats::seat)); None for 0.
pub fn numbered(number: u32) -> Option<&'static Seat> {
    (number > 0).then(|| &get().seats[number as usize - 1])
}
