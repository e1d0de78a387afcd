//! Seats: where hosts are while they are frozen, and how they go on.
//!
//! Every logical thread has a seat in the kept region; with PROMP_CKPT_THREADS=all the program's other
//! threads get one when a freeze finds them (keeper/strangers.rs). To freeze, the keeper sends each seat's
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
//! A host that is interrupted where it must not stop ([`midway`]) says so in `not_here`, and
//! goes on; it is sent the signal again.
//!
//! Both ways out of *frozen* are a compare-and-swap of `state`: a host that came late either goes on by
//! itself or is held, never both (loom model: a late host is neither forgotten nor held while it runs). That
//! it does one of them: it writes `state` before it reads Started, with a locked instruction between; the
//! keeper clears Started before it looks at `state`.
//!
//! `order` is the edge to the host: the keeper's release store orders its writes to seat and memory before
//! the host's acquire load. A host without one sleeps on [`Keep::orders`](crate::keep::Keep), of which it has
//! read the value before it looked. The edge back is `state`: the host's store (x86: a release) orders the
//! noted context before the keeper's acquiring compare-and-swap. [`Keep::counter`](crate::keep::Keep) only
//! wakes the keeper.

use crate::keep::{self, Keep};
use crate::logical_threads::{self, LogicalThread};
use crate::own_state::{Changes, Own};
use crate::runtime::runtime;
use crate::say;
use crate::sys;
use crate::sys::host::{self, Identity};
use crate::sys::midway::Where;
use crate::sys::{cpu_time, futex, midway, pending_signals, signals, syscall};
use crate::syscall_restart::{self, Due};
use core::arch::naked_asm;
use core::mem::offset_of;
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

/// One seat.
#[repr(C, align(128))]
pub struct Seat {
    order: AtomicU32,
    /// [`RUNNING`], [`FROZEN`] or [`HELD`].
    state: AtomicU32,
    /// The host was called where it must not stop, and has gone on: it is to be called again.
    pub not_here: AtomicU32,
    /// How often it has gone on, in a row, where it may have had to, and where it was then. Only its host
    /// changes these.
    tries: AtomicU32,
    stays: AtomicU32,
    pub(crate) tried_at: AtomicUsize,
    /// The kernel's signal context of the frozen thread, or of the one to become.
    pub context: AtomicUsize,
    stack: AtomicUsize,
    /// Addresses of CKPT_Counter and CKPT_Started, for code without a stack.
    counter: AtomicUsize,
    started: AtomicUsize,
    /// That of the word that changes when there are orders.
    orders: AtomicUsize,
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
        self.counter.store(core::ptr::from_ref(&k.freeze.counter) as usize, Relaxed);
        self.started.store(core::ptr::from_ref(&k.freeze.started) as usize, Relaxed);
        self.orders.store(core::ptr::from_ref(&k.freeze.orders) as usize, Relaxed);
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
            self.stays.store(0, Relaxed);
        }
        let tries = self.tries.fetch_add(u32::from(moved), Relaxed);
        let stays = self.stays.fetch_add(1, Relaxed);
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
        unsafe { host::spawn(stack, take_up_entry, core::ptr::from_ref(self) as usize) }
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

/// The freeze signal: next to the stop signal.
pub fn signal() -> i32 {
    libc::SIGRTMAX() - promp_settings::debugger_signals::FREEZE
}

/// Our signals: the freeze signal, the stop signal, that of orders to our own hosts.
pub fn signals() -> u64 {
    [signal(), signals::stop_signal(), crate::sys::follow::signal()]
        .into_iter()
        .fold(0, |set, s| set | pending_signals::bit(s))
}

/// Installs the freeze signal's handler.
pub fn install() {
    // SAFETY: a handler of the three-argument kind.
    let handler: signals::Handler = unsafe { core::mem::transmute(freeze as *const ()) };
    signals::install(signal(), handler, false);
}

/// The handler. What it does after `arrive` uses registers only.
#[unsafe(naked)]
unsafe extern "C" fn freeze(_sig: i32, _info: usize, _context: usize) {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "mov rdi, rdx",
        "call {arrive}",
        "test rax, rax",
        "jz 4f",
        "mov rbx, rax",
        "jmp {wait}",
        "4:",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        arrive = sym arrive,
        wait = sym wait_frozen,
    )
}

/// Says that the host of the seat in rbx is frozen, waits for an order or for the end of the freeze, and
/// goes on. From the first instruction on no stack is used: as soon as the keeper holds the seat it may
/// replace all memory.
#[unsafe(naked)]
unsafe extern "C" fn wait_frozen() {
    naked_asm!(
        ".cfi_startproc",
        // The handler's frame.
        ".cfi_def_cfa_offset 16",
        "mov rdi, qword ptr [rbx + {counter}]",
        "mov dword ptr [rbx + {state}], {frozen}",
        "lock sub dword ptr [rdi], 1",
        "jnz 2f",
        "mov esi, 129", // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
        "mov edx, 1",
        "mov eax, 202",
        "syscall",
        "2:",
        "mov rdi, qword ptr [rbx + {orders}]",
        "mov r13d, dword ptr [rdi]",
        "mov r12d, dword ptr [rbx + {order}]",
        "test r12d, r12d",
        "jnz 3f",
        "mov rdi, qword ptr [rbx + {started}]",
        "cmp dword ptr [rdi], 0",
        "jne 6f",
        "mov eax, {frozen}",
        "mov ecx, {running}",
        "lock cmpxchg dword ptr [rbx + {state}], ecx",
        "je 3f",
        "6:",
        "mov rdi, qword ptr [rbx + {orders}]",
        "mov esi, 128", // FUTEX_WAIT | FUTEX_PRIVATE_FLAG
        "mov edx, r13d",
        "xor r10d, r10d",
        "mov eax, 202",
        "syscall",
        "jmp 2b",
        "3:",
        "cmp r12d, {leave}",
        "je 5f",
        "cmp r12d, {park}",
        "je 7f",
        ".cfi_remember_state",
        "mov rsp, qword ptr [rbx + {stack}]",
        // The beginning of a stack.
        ".cfi_undefined 16",
        "mov rdi, rbx",
        "call {take_up}",
        "ud2",
        ".cfi_restore_state",
        "5:",
        "xor edi, edi",
        "mov eax, 60", // exit
        "syscall",
        "ud2",
        "7:",
        "jmp {stay}",
        ".cfi_endproc",
        counter = const offset_of!(Seat, counter),
        state = const offset_of!(Seat, state),
        frozen = const FROZEN,
        running = const RUNNING,
        started = const offset_of!(Seat, started),
        orders = const offset_of!(Seat, orders),
        order = const offset_of!(Seat, order),
        stack = const offset_of!(Seat, stack),
        leave = const LEAVE,
        park = const PARK,
        take_up = sym take_up,
        stay = sym crate::sys::follow::stay,
    )
}

/// A new process' first host waits for what a checkpoint makes of it; it never returns.
///
/// # Safety
/// All signals are blocked; the seat is ready.
pub unsafe fn wait_to_be_replaced(seat: &'static Seat) -> ! {
    seat.ensure_stack();
    let k = keep::get();
    // The area may lie elsewhere in the process to be, and the kernel would write to what is not there any
    // more.
    host::unregister_rseq();
    seat.own.note();
    seat.arrives_in(k);
    k.freeze.started.store(1, SeqCst);
    // SAFETY: as for the handler.
    unsafe {
        core::arch::asm!(
            "mov rbx, {0}",
            "jmp {wait}",
            in(reg) core::ptr::from_ref(seat),
            wait = sym wait_frozen,
            options(noreturn)
        )
    }
}

/// The calling host's seat.
fn own(k: &'static Keep) -> Option<&'static Seat> {
    let tid = syscall::gettid();
    callers()
        // A thread made without thread-local memory of its own finds its creator's.
        .filter(|s| s.host.load(Relaxed) == tid)
        .or_else(|| k.seats.iter().find(|s| s.is_strangers() && s.host.load(Relaxed) == tid))
}

/// For handlers of ours that have done nothing yet: the wait that they have interrupted goes on. Without a
/// seat it is noted in `due` when a wait ends.
pub fn wait_goes_on(context: usize, due: Option<&Due>) {
    let k = crate::keep::if_on();
    let ours = crate::suspend::ours();
    let due = k.and_then(own).map(|s| &s.due).or(due);
    // SAFETY: the handler's context.
    unsafe { syscall_restart::go_on(context, due, ours, || signals::has_handlers(ours | signals())) };
}

/// Notes the context; null if the thread has no seat.
extern "C" fn arrive(context: usize) -> *const Seat {
    let k = keep::get();
    let seat = own(k);
    let (due, ours) = (seat.map(|s| &s.due), crate::suspend::ours());
    // SAFETY: the handler's context.
    unsafe { syscall_restart::go_on(context, due, ours, || k.freeze.handlers.load(Relaxed) != 0) };
    if k.freeze.started.load(Acquire) == 0 {
        crate::requests::look(k);
    }
    // Started is not set if the signal came late, for a freeze that was given up.
    let Some(seat) = seat.filter(|_| k.freeze.started.load(Acquire) != 0) else { return core::ptr::null() };
    let ids = [host::id_for_libc(), seat.host.load(Relaxed)];
    // SAFETY: the handler's context.
    let (at, pc) = unsafe { midway::of(context as *const libc::c_void, ids) };
    let (goes_on, moved) = seat.goes_on(at, pc);
    if goes_on {
        seat.not_here.store(1, Release);
        // A signal that has found it where the last one did has left it no time to go on: on one CPU with the
        // keeper, which it wakes, and which goes first, for ever. The keeper looks again soon enough.
        if moved {
            futex::wake(&k.freeze.counter, 1);
        }
        return core::ptr::null();
    }
    seat.tries.store(0, Relaxed);
    seat.tried_at.store(0, Relaxed);
    let id = Identity::of_caller(0);
    seat.libcs.store(u32::from(id.is_libcs()), Relaxed);
    seat.context.store(context, Relaxed);
    seat.thread_pointer.store(id.thread_pointer, Relaxed);
    seat.robust_head.store(id.robust_head, Relaxed);
    seat.rseq.store(u32::from(host::unregister_rseq()), Relaxed);
    seat.own.note();
    seat.order.store(NONE, Relaxed);
    seat.arrives_in(keep::get());
    seat
}

unsafe extern "C" fn take_up_entry(seat: usize) -> ! {
    // SAFETY: `make_host` passed a `&'static Seat`.
    let seat = unsafe { &*(seat as *const Seat) };
    let orders = &keep::get().freeze.orders;
    loop {
        let before = orders.load(Acquire);
        if seat.order.load(Acquire) != NONE {
            take_up(seat)
        }
        futex::wait(orders, before);
    }
}

/// Goes on in the seat's context. Runs on the seat's stack (a new host: on its own), with all signals
/// blocked.
extern "C" fn take_up(seat: &'static Seat) -> ! {
    if seat.order.swap(NONE, Acquire) == TAKE {
        let id = Identity {
            thread_pointer: seat.thread_pointer.load(Relaxed),
            robust_head: seat.robust_head.load(Relaxed),
            sigmask: 0,
            alt_stack: (0, 0),
        };
        id.register();
        if let Err((call, error)) = seat.changes.make() {
            let k = keep::get();
            say!(
                "what the kernel kept for a thread cannot be put back (system call {call}: error {error}), \
                 its rights or its memory policy; stopping"
            );
            syscall::exit_group(if k.ready.load(Relaxed) == 0 { crate::exits::REFUSED } else { 70 });
        }
        cpu_time::at_least(id.thread_pointer, syscall::gettid(), seat.own.used());
        // The context has the thread's, but if it had none the kernel may have noted one of no bytes, and
        // would refuse to take it back.
        signals::no_alt_stack();
        let tid = syscall::gettid();
        seat.host.store(tid, Release);
        // Memory has been put back: the thread exists as it did then.
        if let Some(thr) = seat.logical() {
            thr.is_carried_by(tid);
        }
    } else if seat.rseq.load(Relaxed) != 0 {
        host::register_rseq();
    }
    // SAFETY: the kernel made this context when the thread was frozen, and memory is as it was then;
    // rt_sigreturn finds it where the handler's return would.
    unsafe {
        core::arch::asm!(
            "mov rsp, {0}",
            "mov eax, 15",
            "syscall",
            "ud2",
            in(reg) seat.context.load(Relaxed),
            options(noreturn)
        )
    }
}
