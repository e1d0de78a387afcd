//! What is kept through a rollback, beside the keeper's own data: seats and counters.

use crate::asking::Asking;
use crate::crew;
use crate::ends::Ready;
use crate::journal::Journal;
use crate::pipes::received::Received;
use crate::pipes::sent::Sent;
use crate::place::Place;
use crate::rewind::Rewind;
use crate::seats::{SEATS, Seat};
use crate::sys::{futex, keep as region, syscall};
use crate::trials::Trials;
use crate::vdso;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

/// The state of the checkpoint protocol and what outlives rollbacks. Zeroed memory is its initial state.
#[repr(C)]
pub struct Keep {
    /// CKPT_Started: threads freeze for a checkpoint or a rollback.
    pub started: AtomicU32,
    /// CKPT_Counter: threads that have not arrived yet; what the keeper sleeps on while they come.
    pub counter: AtomicU32,
    /// Changes when seats have orders: what their hosts sleep on, so that all of them are woken at once.
    pub orders: AtomicU32,
    /// Hosts that are being replaced, and calls that are being noted: no checkpoint while it is not 0.
    pub transitions: AtomicU32,
    /// Changes when the keeper has something to do.
    pub bell: AtomicU32,
    /// 1: the agent is asked to rest; 2: it rests; 0: it works (or there is none).
    pub agent_rests: AtomicU32,
    /// Does the program have signal handlers (as of the last freeze)?
    pub handlers: AtomicU32,
    /// Is there an agent?
    pub agent: AtomicU32,
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
    /// A checkpoint is in memory, not yet whole on disk.
    pub in_memory: AtomicU32,
    /// The time between two checkpoints.
    pub interval_ns: AtomicU64,
    /// Where memory is dead.
    pub place: Place,
    /// The signal after which the program ends when a checkpoint is whole; 0: none has come.
    pub ending: AtomicU32,
    /// By which ways such signals have come (`requests.rs`), and when the first one did.
    pub ending_ways: AtomicU32,
    /// See there.
    pub ending_ns: AtomicU64,
    /// Signals that ask for a checkpoint, and those after which the program ends.
    pub on_signal_goes_on: AtomicU64,
    /// See there.
    pub on_signal_ends: AtomicU64,
    /// The last whole checkpoint, 0 if none.
    pub generation: AtomicU64,
    /// Monotonic time when it was taken.
    pub taken_ns: AtomicU64,
    /// Failures that come back.
    pub trials: Trials,
    /// Hosts that ended for good while parked (the first one): their word.
    pub parked: AtomicU32,
    /// Kernel ids of the runtime's own hosts without a seat (keeper, agent, guard, lookout).
    pub own_hosts: [AtomicU32; 4],
    /// Those of the crew.
    pub crew: [AtomicU32; crew::MOST - 1],
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
    /// Is host `tid` one of the runtime's own?
    pub fn is_own(&self, tid: u32) -> bool {
        self.own_hosts().any(|own| own == tid)
    }

    /// The runtime's own hosts.
    pub fn own_hosts(&self) -> impl Iterator<Item = u32> {
        self.own_hosts.iter().chain(&self.crew).map(|own| own.load(Relaxed)).filter(|&own| own != 0)
    }

    /// When the last checkpoint was taken, whether it is whole yet or not.
    pub fn last_ns(&self) -> u64 {
        self.taken_ns.load(Relaxed).max(self.place.copied_ns.load(Relaxed))
    }

    /// Those whose seats have orders follow them. One system call: a host that is woken may take the caller's
    /// CPU, and those that are not woken yet would stand still for as long as it keeps it.
    pub fn send_orders(&self) {
        self.orders.fetch_add(1, Release);
        futex::wake(&self.orders, u32::MAX);
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
