//! Barriers, critical sections, the atomic fallback, ordered, doacross.

use crate::fault::save::{self, SaveKind};
use crate::fault::{inject, spec::At};
use crate::stub;
use crate::team::thread::{Thread, current};
use crate::work::locks::{ATOMIC, CRITICAL, acquire, release};
use crate::work::loops;
use core::arch::naked_asm;
use smallvec::SmallVec;

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

pub(super) extern "C" fn critical_start() {
    let thr = current();
    acquire(thr, &CRITICAL);
    done(thr);
}

pub(super) extern "C" fn critical_end() {
    let thr = current();
    release(thr, &CRITICAL);
    done(thr);
}

pub(super) extern "C" fn atomic_start() {
    let thr = current();
    acquire(thr, &ATOMIC);
    done(thr);
}

pub(super) extern "C" fn atomic_end() {
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
        const IN_REGISTERS: usize = 6;
        let n = d.depth();
        // SAFETY: the compiler passes one count a loop of the nest, six in registers.
        let (first, rest) = unsafe {
            let rest = n.saturating_sub(IN_REGISTERS);
            let first = core::slice::from_raw_parts(registers, n - rest);
            (first, core::slice::from_raw_parts(stack, rest))
        };
        let v: SmallVec<[u64; IN_REGISTERS]> = first.iter().chain(rest).copied().collect();
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
    GOMP_ordered_start => ordered_start;
    GOMP_ordered_end => ordered_end;
    GOMP_doacross_post => doacross_post;
    GOMP_doacross_ull_post => doacross_post;
    GOMP_doacross_wait => spill_and_wait;
    GOMP_doacross_ull_wait => spill_and_wait;
}
