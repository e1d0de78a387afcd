//! `GOMP_loop_*`: starts of all schedules and widths, `next`, ends. Every `next` is the same function.

use super::parallel::schedule;
use crate::icv::Sched;
use crate::observe::event::Sync;
use crate::save::{self, SaveKind};
use crate::stub;
use crate::task::reduction;
use crate::team::thread::{Thread, current};
use crate::work::bounds::{Bounds, Schedule};
use crate::work::doacross::Doacross;
use crate::work::loops::{self, Light};
use crate::work::share::Share;
use crate::work::want::Want;
use core::sync::atomic::Ordering::*;

/// Puts a chunk into the caller's variables. False: there is none.
#[inline(always)]
pub(super) fn fill(chunk: Option<(u64, u64)>, istart: *mut u64, iend: *mut u64) -> bool {
    let Some((lo, hi)) = chunk else { return false };
    // SAFETY: the caller's variables.
    unsafe {
        *istart = lo;
        *iend = hi;
    }
    true
}

/// Hands out a chunk into the caller's variables and makes the call a save point.
#[inline(never)]
fn hand_out(thr: &'static Thread, istart: *mut u64, iend: *mut u64) -> bool {
    give(thr, loops::next_bounds(thr), istart, iend)
}

/// The same of a loop that has begun. Where save points are left out since iterations wait for each other,
/// one a chunk would not help.
#[inline(never)]
fn hand_out_more(thr: &'static Thread, istart: *mut u64, iend: *mut u64) -> bool {
    let chunk = loops::next_bounds(thr);
    if thr.undo.is_without() && fill(chunk, istart, iend) {
        return true;
    }
    give(thr, chunk, istart, iend)
}

#[inline(always)]
fn give(thr: &'static Thread, chunk: Option<(u64, u64)>, istart: *mut u64, iend: *mut u64) -> bool {
    let found = fill(chunk, istart, iend);
    if thr.saving.get() {
        let kind = if found { SaveKind::Next(istart as usize, iend as usize) } else { SaveKind::After(0) };
        save::point(thr, kind);
    }
    found
}

/// Who calls this need not know the thread: it would have to keep its arguments over that.
#[inline(always)]
fn start(b: Bounds, s: Schedule, ordered: bool, istart: *mut u64, iend: *mut u64) -> bool {
    begin(&mut Want::of_loop(b, s, ordered, 0, false), istart, iend)
}

#[inline(never)]
fn begin(want: &mut Want, istart: *mut u64, iend: *mut u64) -> bool {
    let thr = current();
    want.starts_at(thr.call_site());
    let m = thr.member();
    match loops::enter_plain(thr, m, want) {
        (_, Light::Chunk(lo, hi)) => fill(Some((lo, hi)), istart, iend),
        (_, Light::Nothing) => false,
        (share, Light::Ask) => give(thr, loops::first_bounds(thr, m, share), istart, iend),
    }
}

pub(super) extern "C" fn start_long<const KIND: u32, const MONOTONIC: bool, const ORDERED: bool>(
    first: i64,
    end: i64,
    incr: i64,
    chunk: i64,
    istart: *mut u64,
    iend: *mut u64,
) -> bool {
    let s = schedule::<KIND, MONOTONIC>(chunk as u64);
    start(Bounds::long(first, end, incr), s, ORDERED, istart, iend)
}

extern "C" fn start_long_runtime<const MONOTONIC: bool, const ORDERED: bool>(
    first: i64,
    end: i64,
    incr: i64,
    istart: *mut u64,
    iend: *mut u64,
) -> bool {
    start_long::<0, MONOTONIC, ORDERED>(first, end, incr, 0, istart, iend)
}

pub(super) extern "C" fn start_ull<const KIND: u32, const MONOTONIC: bool, const ORDERED: bool>(
    up: bool,
    first: u64,
    end: u64,
    incr: u64,
    chunk: u64,
    istart: *mut u64,
    iend: *mut u64,
) -> bool {
    let s = schedule::<KIND, MONOTONIC>(chunk);
    start(Bounds::ull(up, first, end, incr), s, ORDERED, istart, iend)
}

extern "C" fn start_ull_runtime<const MONOTONIC: bool, const ORDERED: bool>(
    up: bool,
    first: u64,
    end: u64,
    incr: u64,
    istart: *mut u64,
    iend: *mut u64,
) -> bool {
    start_ull::<0, MONOTONIC, ORDERED>(up, first, end, incr, 0, istart, iend)
}

/// The `sched` argument of `GOMP_loop_start`: a kind and the monotonic bit.
fn coded_schedule(thr: &'static Thread, sched: i64, chunk: u64) -> Schedule {
    const MONOTONIC: i64 = 0x8000_0000;
    let monotonic = sched & MONOTONIC != 0;
    match sched & !MONOTONIC {
        1 => Schedule { kind: Sched::Static, chunk, monotonic: true },
        2 => Schedule { kind: Sched::Dynamic, chunk, monotonic },
        3 => Schedule { kind: Sched::Guided, chunk, monotonic },
        4 => Schedule { kind: Sched::Auto, chunk: 0, monotonic: true },
        _ => {
            let s = Schedule::from(thr.task().icvs.get().sched);
            Schedule { monotonic: monotonic || s.monotonic, ..s }
        }
    }
}

/// Enters a construct that may have task reductions and scratch memory. The first thread allocates both before the others can
/// see the construct; they use its memory.
///
/// # Safety
/// `reductions` is null or in the compiler's format; `mem` is null or points to the number of bytes wanted, which the address
/// of the memory replaces.
pub(super) unsafe fn enter_with(
    thr: &'static Thread,
    want: Option<&Want>,
    more: impl FnOnce(&'static Share),
    reductions: *mut usize,
    mem: *mut usize,
) {
    // SAFETY: by the caller's promise; the closure runs before other threads see the construct.
    unsafe {
        let (s, first) = loops::enter(thr, want, |s| {
            more(s);
            if !reductions.is_null() {
                reduction::begin_workshare(thr, reductions as usize, 0);
                s.reductions.store(reductions, Release);
            }
            if !mem.is_null() {
                s.zeroed_scratch(*mem);
            }
        });
        if !first && !reductions.is_null() {
            reduction::begin_workshare(thr, reductions as usize, s.reductions.load(Acquire) as usize);
        }
        if !mem.is_null() {
            *mem = s.scratch.get().0;
            thr.member().scanning.set(true);
        }
    }
    loops::tell_begin(thr);
}

extern "C" fn start_general<const ORDERED: bool>(
    first: i64,
    end: i64,
    incr: i64,
    sched: i64,
    chunk: i64,
    istart: *mut u64,
    iend: *mut u64,
    reductions: *mut usize,
    mem: *mut usize,
) -> bool {
    general(Bounds::long(first, end, incr), sched, chunk as u64, ORDERED, istart, iend, reductions, mem)
}

extern "C" fn start_ull_general<const ORDERED: bool>(
    up: bool,
    first: u64,
    end: u64,
    incr: u64,
    sched: i64,
    chunk: u64,
    istart: *mut u64,
    iend: *mut u64,
    reductions: *mut usize,
    mem: *mut usize,
) -> bool {
    general(Bounds::ull(up, first, end, incr), sched, chunk, ORDERED, istart, iend, reductions, mem)
}

#[allow(clippy::too_many_arguments)]
fn general(
    b: Bounds,
    sched: i64,
    chunk: u64,
    ordered: bool,
    istart: *mut u64,
    iend: *mut u64,
    reductions: *mut usize,
    mem: *mut usize,
) -> bool {
    let thr = current();
    let s = coded_schedule(thr, sched, chunk);
    let want = Want::of_loop(b, s, ordered, thr.call_site(), false);
    // SAFETY: the compiler's arguments.
    unsafe { enter_with(thr, Some(&want), |_| (), reductions, mem) };
    if istart.is_null() {
        save::point(thr, SaveKind::After(1));
        return true;
    }
    hand_out(thr, istart, iend)
}

fn doacross(
    thr: &'static Thread,
    n: u32,
    counts: *const u64,
    s: Schedule,
    out: (*mut u64, *mut u64),
    reductions: *mut usize,
    mem: *mut usize,
) -> bool {
    // SAFETY: the compiler passes `n` counts.
    let counts = unsafe { core::slice::from_raw_parts(counts, n as usize) };
    let want = Want::of_iterations(counts[0], s, thr.call_site());
    let create = |sh: &Share| {
        sh.doacross.set(Some(Doacross::create(counts, !thr.team().patience.get().crowded)));
    };
    // SAFETY: the compiler's arguments.
    unsafe { enter_with(thr, Some(&want), create, reductions, mem) };
    if out.0.is_null() {
        save::point(thr, SaveKind::After(1));
        return true;
    }
    hand_out(thr, out.0, out.1)
}

extern "C" fn doacross_start<const KIND: u32>(
    n: u32,
    counts: *const u64,
    chunk: u64,
    istart: *mut u64,
    iend: *mut u64,
) -> bool {
    let thr = current();
    let s = schedule::<KIND, true>(chunk);
    doacross(thr, n, counts, s, (istart, iend), core::ptr::null_mut(), core::ptr::null_mut())
}

extern "C" fn doacross_runtime_start(n: u32, counts: *const u64, istart: *mut u64, iend: *mut u64) -> bool {
    doacross_start::<0>(n, counts, 0, istart, iend)
}

extern "C" fn doacross_general(
    n: u32,
    counts: *const u64,
    sched: i64,
    chunk: u64,
    istart: *mut u64,
    iend: *mut u64,
    reductions: *mut usize,
    mem: *mut usize,
) -> bool {
    let thr = current();
    let s = coded_schedule(thr, sched, chunk);
    doacross(thr, n, counts, s, (istart, iend), reductions, mem)
}

extern "C" fn next(istart: *mut u64, iend: *mut u64) -> bool {
    let thr = current();
    if thr.saving.get() {
        return next_with_saving(thr, istart, iend);
    }
    match loops::next_lightly(thr) {
        Light::Chunk(lo, hi) => fill(Some((lo, hi)), istart, iend),
        Light::Nothing => false,
        Light::Ask => hand_out(thr, istart, iend),
    }
}

/// The next chunk of a loop with an ordered clause, or a static one.
pub(super) extern "C" fn next_dealt(istart: *mut u64, iend: *mut u64) -> bool {
    hand_out_more(current(), istart, iend)
}

/// Apart, for the light way has no room for it.
#[inline(never)]
fn next_with_saving(thr: &'static Thread, istart: *mut u64, iend: *mut u64) -> bool {
    fill(loops::next_without_save_point(thr), istart, iend) || hand_out_more(thr, istart, iend)
}

pub(super) extern "C" fn end() {
    let thr = current();
    let m = thr.member();
    loops::leave_for_barrier(thr, m);
    super::sync::pass_barrier_of(thr, m.team(), Sync::Work, || m.settle_construct());
}

pub(super) extern "C" fn end_nowait() {
    let thr = current();
    loops::leave(thr, false);
    save::point(thr, SaveKind::After(0));
}

pub(super) extern "C" fn end_cancel() -> bool {
    let thr = current();
    loops::leave(thr, true);
    super::sync::pass_cancellable_barrier(thr, Sync::Work)
}

stub! {
    GOMP_loop_dynamic_start => start_long::<2, true, false>;
    GOMP_loop_guided_start => start_long::<3, true, false>;
    GOMP_loop_runtime_start => start_long_runtime::<true, false>;
    GOMP_loop_nonmonotonic_dynamic_start => start_long::<2, false, false>;
    GOMP_loop_nonmonotonic_guided_start => start_long::<3, false, false>;
    GOMP_loop_nonmonotonic_runtime_start => start_long_runtime::<false, false>;
    GOMP_loop_maybe_nonmonotonic_runtime_start => start_long_runtime::<false, false>;
    GOMP_loop_ordered_static_start => start_long::<1, true, true>;
    GOMP_loop_ordered_dynamic_start => start_long::<2, true, true>;
    GOMP_loop_ordered_guided_start => start_long::<3, true, true>;
    GOMP_loop_ordered_runtime_start => start_long_runtime::<true, true>;
    GOMP_loop_start [3] => start_general::<false>;
    GOMP_loop_ordered_start [3] => start_general::<true>;

    GOMP_loop_ull_dynamic_start [1] => start_ull::<2, true, false>;
    GOMP_loop_ull_guided_start [1] => start_ull::<3, true, false>;
    GOMP_loop_ull_runtime_start => start_ull_runtime::<true, false>;
    GOMP_loop_ull_nonmonotonic_dynamic_start [1] => start_ull::<2, false, false>;
    GOMP_loop_ull_nonmonotonic_guided_start [1] => start_ull::<3, false, false>;
    GOMP_loop_ull_nonmonotonic_runtime_start => start_ull_runtime::<false, false>;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start => start_ull_runtime::<false, false>;
    GOMP_loop_ull_ordered_static_start [1] => start_ull::<1, true, true>;
    GOMP_loop_ull_ordered_dynamic_start [1] => start_ull::<2, true, true>;
    GOMP_loop_ull_ordered_guided_start [1] => start_ull::<3, true, true>;
    GOMP_loop_ull_ordered_runtime_start => start_ull_runtime::<true, true>;
    GOMP_loop_ull_start [4] => start_ull_general::<false>;
    GOMP_loop_ull_ordered_start [4] => start_ull_general::<true>;

    GOMP_loop_doacross_static_start => doacross_start::<1>;
    GOMP_loop_doacross_dynamic_start => doacross_start::<2>;
    GOMP_loop_doacross_guided_start => doacross_start::<3>;
    GOMP_loop_doacross_runtime_start => doacross_runtime_start;
    GOMP_loop_doacross_start [2] => doacross_general;
    GOMP_loop_ull_doacross_static_start => doacross_start::<1>;
    GOMP_loop_ull_doacross_dynamic_start => doacross_start::<2>;
    GOMP_loop_ull_doacross_guided_start => doacross_start::<3>;
    GOMP_loop_ull_doacross_runtime_start => doacross_runtime_start;
    GOMP_loop_ull_doacross_start [2] => doacross_general;

    GOMP_loop_dynamic_next => next;
    GOMP_loop_guided_next => next;
    GOMP_loop_runtime_next => next;
    GOMP_loop_nonmonotonic_dynamic_next => next;
    GOMP_loop_nonmonotonic_guided_next => next;
    GOMP_loop_nonmonotonic_runtime_next => next;
    GOMP_loop_maybe_nonmonotonic_runtime_next => next;
    GOMP_loop_ordered_static_next => next_dealt;
    GOMP_loop_ordered_dynamic_next => next_dealt;
    GOMP_loop_ordered_guided_next => next_dealt;
    GOMP_loop_ordered_runtime_next => next_dealt;
    GOMP_loop_ull_dynamic_next => next;
    GOMP_loop_ull_guided_next => next;
    GOMP_loop_ull_runtime_next => next;
    GOMP_loop_ull_nonmonotonic_dynamic_next => next;
    GOMP_loop_ull_nonmonotonic_guided_next => next;
    GOMP_loop_ull_nonmonotonic_runtime_next => next;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next => next;
    GOMP_loop_ull_ordered_static_next => next_dealt;
    GOMP_loop_ull_ordered_dynamic_next => next_dealt;
    GOMP_loop_ull_ordered_guided_next => next_dealt;
    GOMP_loop_ull_ordered_runtime_next => next_dealt;

    GOMP_loop_end => end;
    GOMP_loop_end_cancel => end_cancel;
}
