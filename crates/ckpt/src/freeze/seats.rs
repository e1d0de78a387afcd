//! Seats: where hosts are while they are frozen, and how they go on.
//!
//! Every logical thread has a seat in the kept region; the program's other threads get one when a freeze
//! finds them, unless PROMP_CKPT_THREADS=team (keeper/strangers.rs). To freeze, the keeper sends each seat's
//! host the freeze signal; the handler notes where the kernel put the interrupted context, says that it is
//! frozen and waits on its seat without touching any stack, so that all memory can be replaced under it. The
//! keeper holds the seat, and later writes an order to it:
//!
//! ```text
//! running --signal--> frozen --the keeper holds it--> held
//!                       +--Started is cleared--> running (it came too late: the freeze was given up)
//! held --Go----> running (the same context: sigreturn)
//!      --Take--> running (the seat's context of a checkpoint, on memory put back; also by a new host)
//!      --Leave-> gone    (a thread that the checkpoint does not know)
//!      --Park--> parked  (a process' first host, which cannot go alone)
//! ```
//!
//! A host that is interrupted where it must not stop ([`crate::sys::midway`]) says so in `not_here`, and
//! goes on; it is sent the signal again.
//!
//! Both ways out of *frozen* are a compare-and-swap of `state`: a host that came late either goes on by
//! itself or is held, never both (loom model: a late host is neither forgotten nor held while it runs). That
//! it does one of them: it writes `state` before it reads Started, with a locked instruction between; the
//! keeper clears Started before it looks at `state`.
//!
//! `order` is the edge to the host: the keeper's release store orders its writes to seat and memory before
//! the host's acquire load. A host without one sleeps on `orders` (protocol.rs), of which it has read the
//! value before it looked. The edge back is `state`: the host's store (x86: a release) orders the noted
//! context before the keeper's acquiring compare-and-swap. `counter` only wakes the keeper.

mod freeze_signal;

pub use freeze_signal::{install, signal, signals, wait_goes_on, wait_to_be_replaced};

use crate::keep::{self, Keep};
use crate::logical_threads::{self, LogicalThread};
use crate::own_state::{Changes, Own};
use crate::runtime::runtime;
use crate::sys;
use crate::sys::midway::Where;
use crate::sys::{host, signals};
use crate::syscall_restart::Due;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::*};

/// Bytes of the stack on which a host takes its context up.
const STACK: usize = 16 * 1024;
/// A host that may be where it must not stop goes on so often at most, …
const TRIES: u32 = 16;
/// … where it probably must not, so often, …
const MORE_TRIES: u32 = 400;
/// … and is found at one address so often: it waits in the system.
const STAYS: u32 = 50;
/// Most logical threads that can be saved.
pub const SEATS: usize = 2048;

/// The host runs.
const RUNNING: u32 = 0;
/// The host waits in the handler, and goes on when Started is cleared.
const FROZEN: u32 = 1;
/// The host waits for an order.
const HELD: u32 = 2;

/// No order yet.
const NONE: u32 = 0;
/// Go on as before.
pub const GO: u32 = 1;
/// Become the thread described in the seat.
pub const TAKE: u32 = 2;
/// End this host.
pub const LEAVE: u32 = 3;
/// Wait for the end of the process.
pub const PARK: u32 = 4;

/// Who sits in a seat that has no logical thread: one of the program's own that has never come to the
/// runtime.
const STRANGER: *mut () = core::ptr::without_provenance_mut(1);

/// How often a host has gone on, in a row, where it may have had to. Only that host changes these.
#[repr(C)]
struct GoneOn {
    tries: AtomicU32,
    stays: AtomicU32,
}

/// Addresses of words of the keeper's, for code without a stack.
#[repr(C)]
struct Words {
    /// CKPT_Counter and CKPT_Started.
    counter: AtomicUsize,
    started: AtomicUsize,
    /// Changes when there are orders.
    orders: AtomicUsize,
}

/// One seat.
#[repr(C, align(128))]
pub struct Seat {
    order: AtomicU32,
    /// [`RUNNING`], [`FROZEN`] or [`HELD`].
    state: AtomicU32,
    /// The host was called where it must not stop, and has gone on: it is to be called again.
    pub not_here: AtomicU32,
    gone_on: GoneOn,
    /// Where it was then.
    pub(crate) tried_at: AtomicUsize,
    /// The kernel's signal context of the frozen thread, or of the one to become.
    pub context: AtomicUsize,
    stack: AtomicUsize,
    words: Words,
    /// Thread pointer of the frozen thread, or of the one to become.
    pub thread_pointer: AtomicUsize,
    /// Robust list's head of the frozen thread, or of the one to become.
    pub robust_head: AtomicUsize,
    /// The logical thread; null: the seat is free; [`STRANGER`].
    thread: AtomicPtr<()>,
    /// Kernel id of the host; 0 when it has failed and not been replaced.
    pub host: AtomicU32,
    /// 1 while a failed host may still touch memory.
    pub going: AtomicU32,
    /// Is it the thread that the program began with?
    pub initial: AtomicU32,
    /// Does the thread stand at a place where memory is dead (ckpt/control/checkpoint_site.rs)?
    pub standing: AtomicU32,
    /// Has libc made the frozen thread?
    pub libcs: AtomicU32,
    /// Had the frozen thread an rseq area? It has none while it is frozen: the kernel would write to it,
    /// while it is copied, when the host is given a CPU once more for its last steps to the wait.
    rseq: AtomicU32,
    /// When a wait of the thread's ends.
    due: Due,
    /// What only the frozen thread can tell of itself.
    pub own: Own,
    /// What the host is to call when it becomes the thread.
    pub changes: Changes,
}

impl Seat {
    /// Gives the seat a stack, once.
    fn ensure_stack(&self) -> bool {
        if self.stack.load(Relaxed) == 0 {
            let Some(p) = sys::preserved_memory::pages(STACK) else { return false };
            self.stack.store(p as usize + STACK - 64, Relaxed);
        }
        true
    }

    /// Seats `thr` (`None`: a stranger), whose host is the caller or a host that the caller speaks for.
    /// False if somebody sits here, or there is no memory.
    pub fn occupy(&self, thr: Option<&'static dyn LogicalThread>, tid: u32) -> bool {
        let who = thr.map_or(STRANGER, logical_threads::address);
        if self.thread.compare_exchange(core::ptr::null_mut(), who, AcqRel, Relaxed).is_err() {
            return false;
        }
        if !self.ensure_stack() {
            self.leave();
            return false;
        }
        let of_the_pool = thr.is_some_and(|t| t.is_worker());
        self.initial.store(u32::from(!of_the_pool && crate::keep::is_initial(tid)), Relaxed);
        self.state.store(RUNNING, Relaxed);
        self.standing.store(crate::request_protocol::AWAY, Relaxed);
        self.order.store(NONE, Relaxed);
        self.host.store(tid, Release);
        true
    }

    /// The seat is free again.
    pub fn leave(&self) {
        self.standing.store(crate::request_protocol::AWAY, Relaxed);
        self.host.store(0, Relaxed);
        self.thread.store(core::ptr::null_mut(), Release);
    }

    /// The thread at address `thread` sits here (0: a stranger), because a checkpoint says so.
    pub fn assign(&self, thread: usize) {
        let who = if thread == 0 { STRANGER } else { core::ptr::with_exposed_provenance_mut(thread) };
        self.thread.store(who, Relaxed);
    }

    /// Does a thread sit here that has never come to the runtime?
    pub fn is_strangers(&self) -> bool {
        self.thread.load(Acquire) == STRANGER
    }

    /// The logical thread that sits here.
    pub fn logical(&self) -> Option<&'static dyn LogicalThread> {
        let p = self.thread.load(Acquire);
        // SAFETY: neither null nor the mark, so one who was seated.
        NonNull::new(p).filter(|_| p != STRANGER).map(|p| unsafe { runtime().logical(p) })
    }

    /// What [`wait_frozen`] looks at.
    fn arrives_in(&self, k: &'static Keep) {
        self.words.counter.store(core::ptr::from_ref(&k.freeze.counter) as usize, Relaxed);
        self.words.started.store(core::ptr::from_ref(&k.freeze.started) as usize, Relaxed);
        self.words.orders.store(core::ptr::from_ref(&k.freeze.orders) as usize, Relaxed);
    }

    /// Holds the host if it has arrived; true if it is held. Only the keeper calls this.
    pub fn hold(&self) -> bool {
        match self.state.load(Relaxed) {
            RUNNING => false,
            _ => {
                self.state.compare_exchange(FROZEN, HELD, AcqRel, Acquire).is_ok()
                    || self.state.load(Relaxed) == HELD
            }
        }
    }

    /// The signals that the frozen thread blocks.
    pub fn blocked(&self) -> u64 {
        let context = self.context.load(Relaxed) as *const libc::c_void;
        // SAFETY: the kernel's, of a thread that is frozen.
        unsafe { signals::Interrupted::from_context(context) }.mask
    }

    /// Is a stop of the frozen thread due at the exit of the call that it is in?
    pub fn is_about_to_stop(&self) -> bool {
        self.logical().is_some_and(|t| t.has_to_stop())
    }

    /// Does a thread that the program has made itself sit here?
    pub fn is_the_programs_own(&self) -> bool {
        self.initial.load(Relaxed) == 0 && self.logical().is_some_and(|t| !t.is_worker())
    }

    /// Is the host to go on once more, where it is? And has it got on since it was asked last?
    fn goes_on(&self, at: Where, pc: usize) -> (bool, bool) {
        let moved = self.tried_at.swap(pc, Relaxed) != pc;
        if moved {
            self.gone_on.stays.store(0, Relaxed);
        }
        let tries = self.gone_on.tries.fetch_add(u32::from(moved), Relaxed);
        let stays = self.gone_on.stays.fetch_add(1, Relaxed);
        let goes_on = match at {
            Where::Elsewhere => false,
            Where::Maybe => tries < TRIES && stays < STAYS,
            Where::Soon => tries < MORE_TRIES && stays < STAYS,
            Where::Midway => true,
        };
        (goes_on, moved)
    }

    /// Orders the host that is held to go on, when orders are sent.
    pub fn order(&self, what: u32) {
        self.state.store(RUNNING, Relaxed);
        self.order.store(what, Release);
    }

    /// Makes a new host for this seat, which waits for its order. Its id, if the system grants it.
    pub fn make_host(&self) -> Option<u32> {
        let stack = sys::preserved_memory::pages(host::STACK_BYTES)?;
        if !self.ensure_stack() {
            return None;
        }
        self.order.store(NONE, Relaxed);
        // SAFETY: a fresh stack; `take_up` keeps to what a spare host may do.
        unsafe { host::spawn(stack, freeze_signal::take_up_entry, core::ptr::from_ref(self) as usize) }
    }
}

/// The calling one's.
pub fn callers() -> Option<&'static Seat> {
    logical_threads::calling().and_then(|t| keep::numbered(t.seat_number().get()))
}

/// A logical thread begins on the calling host: it gets a seat. All signals are blocked.
pub fn seat(thr: &'static dyn LogicalThread, tid: u32) {
    let Some(k) = keep::if_on() else { return };
    if let Some(i) = k.seats.iter().position(|s| s.occupy(Some(thr), tid)) {
        thr.seat_number().set(i as u32 + 1);
    }
}

/// The logical thread ends. All signals are blocked.
pub fn unseat(thr: &'static dyn LogicalThread) {
    if let Some(s) = keep::numbered(thr.seat_number().get()) {
        thr.seat_number().set(0);
        s.leave();
    }
}
