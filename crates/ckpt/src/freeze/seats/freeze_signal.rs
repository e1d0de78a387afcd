//! The freeze signal: how a host says that it is frozen, waits, and goes on or takes another context up.

use super::{FROZEN, LEAVE, NONE, PARK, RUNNING, Seat, TAKE, callers};
use crate::keep::{self, Keep};
use crate::say;
use crate::sys::host::{self, Identity};
use crate::sys::{cpu_time, futex, midway, pending_signals, signals, syscall};
use crate::syscall_restart::{self, Due};
use core::arch::naked_asm;
use core::mem::offset_of;
use core::sync::atomic::Ordering::*;

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
        counter = const offset_of!(Seat, words.counter),
        state = const offset_of!(Seat, state),
        frozen = const FROZEN,
        running = const RUNNING,
        started = const offset_of!(Seat, words.started),
        orders = const offset_of!(Seat, words.orders),
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
    seat.gone_on.tries.store(0, Relaxed);
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

pub(super) unsafe extern "C" fn take_up_entry(seat: usize) -> ! {
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
