//! Orders to the runtime's own hosts, which libc does not know of: system calls that each of them makes for
//! itself.
//! So they give rights up when the process does (ckpt/interpose/credentials.rs).
//!
//! A host with a stack is sent a signal that only such hosts do not block; its handler makes the calls. The
//! process's
//! first host, which has failed and stays without a stack (host.rs), sleeps on `number` and makes them then.
//! Who gives
//! the order waits until all have made them.

use crate::lock::Locked;
use crate::signals::{self, Handler};
use crate::sys;
use crate::{futex, pending_signals, syscall, time};
use core::arch::naked_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};
use promp_settings::debugger_signals;

/// A system call: its number and five arguments.
pub type Call = [usize; 6];
/// Most calls of an order.
pub const MOST: usize = 20;
/// How long the hosts are waited for: they make the calls at once unless they get no CPU.
const PATIENCE_NS: u64 = 5_000_000_000;

#[repr(C)]
struct Orders {
    /// Of the present order; the edge to who makes the calls: a release store after them.
    number: AtomicU32,
    /// Hosts that have not made them yet.
    left: AtomicU32,
    count: AtomicU32,
    /// Is there a first host that stays?
    parked: AtomicU32,
    calls: [[AtomicUsize; 6]; MOST],
}

static ORDERS: Orders = Orders {
    number: AtomicU32::new(0),
    left: AtomicU32::new(0),
    count: AtomicU32::new(0),
    parked: AtomicU32::new(0),
    calls: [const { [const { AtomicUsize::new(0) }; 6] }; MOST],
};
static GIVING: Locked<()> = Locked::new(());

/// The signal: below the others of the runtime's.
pub fn signal() -> i32 {
    libc::SIGRTMAX() - debugger_signals::ORDER
}

/// Installs the signal's handler. Before the first host that is to obey.
pub fn install() {
    let handler: Handler = obey;
    signals::install(signal(), handler, false);
}

/// The calling host, one of the runtime's own, obeys from now on. All signals are blocked but this one.
pub fn begin() {
    signals::set_mask(!pending_signals::bit(signal()));
}

extern "C" fn obey(_sig: i32, _info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let n = ORDERS.count.load(Acquire) as usize;
    for c in &ORDERS.calls[..n.min(MOST)] {
        let [nr, a, b, c, d, e] = c.each_ref().map(|w| w.load(Relaxed));
        // SAFETY: who gave the order answers for what it does; it waits, so what the arguments point to is
        // there.
        unsafe { sys!(nr, a, b, c, d, e, 0) };
    }
    ORDERS.left.fetch_sub(1, AcqRel);
    futex::wake(&ORDERS.left, 1);
}

/// Has all of `hosts`, and the process's first one if it stays, make `calls`. True when all have.
pub fn order(hosts: &[u32], first_stays: bool, calls: &[Call]) -> bool {
    GIVING.with(|()| {
        for (to, from) in ORDERS.calls.iter().zip(calls) {
            to.iter().zip(from).for_each(|(t, f)| t.store(*f, Relaxed));
        }
        ORDERS.count.store(calls.len().min(MOST) as u32, Relaxed);
        ORDERS.left.store(hosts.len() as u32 + u32::from(first_stays), Relaxed);
        // Not one more: a rollback puts the number back, and a first host that stays would know it already.
        let (now, before) = (time::now_ns() as u32, ORDERS.number.load(Relaxed));
        ORDERS.number.store(now.wrapping_add(u32::from(now == before)), Release);
        futex::wake(&ORDERS.number, 1);
        for &h in hosts {
            if !syscall::tgkill(h, signal()) {
                ORDERS.left.fetch_sub(1, Relaxed); // it has ended
            }
        }
        let until = time::now_ns() + PATIENCE_NS;
        loop {
            let left = ORDERS.left.load(Acquire);
            // A first host that was not counted, since a rollback has put the note of it back, makes it less
            // than 0.
            if left as i32 <= 0 {
                return true;
            }
            if time::now_ns() >= until {
                return false;
            }
            futex::wait_until(&ORDERS.left, left, until);
        }
    })
}

/// The calling host, the process's first one, is about to stay in [`stay`].
pub fn note_stay() {
    ORDERS.parked.store(1, Relaxed);
}

/// Is the process's first host in [`stay`]? Not to be asked where there are rollbacks, which put the note
/// back.
pub fn first_stays() -> bool {
    ORDERS.parked.load(Relaxed) != 0
}

/// The end of the process's first host, which must not exit: it obeys. It has no stack, and all signals are
/// blocked.
///
/// # Safety
/// [`note_stay`] has been called. To be jumped to.
#[unsafe(naked)]
pub unsafe extern "C" fn stay() -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined 16",
        "lea r12, [rip + {orders}]",
        "mov r13d, dword ptr [r12 + {number}]",
        "2:",
        "mov eax, dword ptr [r12 + {number}]",
        "cmp eax, r13d",
        "jne 3f",
        "lea rdi, [r12 + {number}]",
        "mov esi, 128", // FUTEX_WAIT | FUTEX_PRIVATE_FLAG
        "mov edx, r13d",
        "xor r10d, r10d",
        "mov eax, 202",
        "syscall",
        "jmp 2b",
        "3:",
        "mov r13d, eax",
        "lea r14, [r12 + {calls}]",
        "mov r15d, dword ptr [r12 + {count}]",
        "4:",
        "test r15d, r15d",
        "jz 5f",
        "mov rax, qword ptr [r14]",
        "mov rdi, qword ptr [r14 + 8]",
        "mov rsi, qword ptr [r14 + 16]",
        "mov rdx, qword ptr [r14 + 24]",
        "mov r10, qword ptr [r14 + 32]",
        "mov r8, qword ptr [r14 + 40]",
        "syscall",
        "add r14, 48",
        "sub r15d, 1",
        "jmp 4b",
        "5:",
        "lea rdi, [r12 + {left}]",
        "lock sub dword ptr [rdi], 1",
        "mov esi, 129", // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
        "mov edx, 1",
        "mov eax, 202",
        "syscall",
        "jmp 2b",
        ".cfi_endproc",
        orders = sym ORDERS,
        number = const offset_of!(Orders, number),
        left = const offset_of!(Orders, left),
        count = const offset_of!(Orders, count),
        calls = const offset_of!(Orders, calls),
    )
}
