//! Barriers, critical sections, the atomic fallback, ordered, doacross.

use crate::fault::save::{self, SaveKind};
use crate::fault::{inject, spec::At};
use crate::stub;
use crate::sys::lock::Lock;
use crate::team::thread::{Thread, current};
use crate::work::locks::{ATOMIC, CRITICAL, acquire, release};
use crate::work::loops;
use core::arch::naked_asm;

fn done(thr: &'static Thread) {
    save::point(thr, SaveKind::After(0));
}

/// The team barrier as the end of a call.
pub(super) fn pass_barrier(thr: &'static Thread) {
    thr.team().barrier(thr, false);
    thr.task().spawned.set(false);
    inject::point(thr, At::Barrier);
    done(thr);
}

extern "C" fn barrier() {
    pass_barrier(current());
}

/// A barrier that `cancel parallel` ends early, as the end of a call: true if it did.
pub(super) fn pass_cancellable_barrier(thr: &'static Thread) -> bool {
    let cancelled = !thr.team().barrier(thr, true);
    inject::point(thr, At::Barrier);
    save::point(thr, SaveKind::After(cancelled as usize));
    cancelled
}

extern "C" fn barrier_cancel() -> bool {
    pass_cancellable_barrier(current())
}

/// A named critical section's lock is the first word of the program's variable.
///
/// # Safety
/// `name` points to the zero-initialised pointer-sized variable that the compiler reserves for a name.
unsafe fn named(name: *mut usize) -> &'static Lock {
    // SAFETY: a common symbol lives as long as the program; `Lock` is one 32-bit word, all zero when free.
    unsafe { &*name.cast::<Lock>() }
}

extern "C" fn critical_start() {
    let thr = current();
    acquire(thr, &CRITICAL);
    done(thr);
}

extern "C" fn critical_end() {
    let thr = current();
    release(thr, &CRITICAL);
    done(thr);
}

extern "C" fn critical_name_start(name: *mut usize) {
    let thr = current();
    // SAFETY: the compiler's argument.
    acquire(thr, unsafe { named(name) });
    done(thr);
}

extern "C" fn critical_name_end(name: *mut usize) {
    let thr = current();
    // SAFETY: the compiler's argument.
    release(thr, unsafe { named(name) });
    done(thr);
}

extern "C" fn atomic_start() {
    let thr = current();
    acquire(thr, &ATOMIC);
    done(thr);
}

extern "C" fn atomic_end() {
    let thr = current();
    release(thr, &ATOMIC);
    done(thr);
}

extern "C" fn ordered_start() {
    let thr = current();
    loops::ordered_start(thr);
    done(thr);
}

extern "C" fn ordered_end() {
    let thr = current();
    loops::ordered_end(thr);
    done(thr);
}

extern "C" fn doacross_post(counts: *const u64) {
    let thr = current();
    if let Some(d) = thr.member().share.get().and_then(|s| s.doacross.get()) {
        // SAFETY: the compiler passes one count a loop of the nest.
        d.post(thr.team(), unsafe { core::slice::from_raw_parts(counts, d.depth()) });
    }
    done(thr);
}

/// `registers`: the first six arguments; `stack`: the others.
extern "C" fn doacross_wait(registers: *const u64, stack: *const u64) {
    let thr = current();
    if let Some(d) = thr.member().share.get().and_then(|s| s.doacross.get()) {
        // SAFETY: the compiler passes one count a loop of the nest, six in registers.
        let v: Vec<u64> = (0..d.depth())
            .map(|i| unsafe { if i < 6 { *registers.add(i) } else { *stack.add(i - 6) } })
            .collect();
        d.wait(thr.team(), &v);
    }
    done(thr);
}

/// The body of the variadic entries: spills the register arguments into an array. On entry rsp is the frame.
#[unsafe(naked)]
unsafe extern "C" fn spill_and_wait() {
    naked_asm!(
        // At [rsp]: the return address into the stub, then the frame (56 bytes) and the caller's return address.
        "lea rax, [rsp + 72]",
        "push r9", "push r8", "push rcx", "push rdx", "push rsi", "push rdi",
        "mov rdi, rsp",
        "mov rsi, rax",
        "sub rsp, 8",
        "call {f}",
        "add rsp, 56",
        "ret",
        f = sym doacross_wait,
    )
}

stub! {
    GOMP_barrier => barrier;
    GOMP_barrier_cancel => barrier_cancel;
    GOMP_critical_start => critical_start;
    GOMP_critical_end => critical_end;
    GOMP_critical_name_start => critical_name_start;
    GOMP_critical_name_end => critical_name_end;
    GOMP_atomic_start => atomic_start;
    GOMP_atomic_end => atomic_end;
    GOMP_ordered_start => ordered_start;
    GOMP_ordered_end => ordered_end;
    GOMP_doacross_post => doacross_post;
    GOMP_doacross_ull_post => doacross_post;
    GOMP_doacross_wait => spill_and_wait;
    GOMP_doacross_ull_wait => spill_and_wait;
}
