//! `GOMP_parallel` and the old `_start`/`_end` pairs, combined or not.

use super::light::promp_parallel_plainly;
use crate::icv::Sched;
use crate::save::{self, SaveKind};
use crate::stub;
use crate::sys::asm;
use crate::task::lightness::SERIAL;
use crate::task::{group, reduction};
use crate::team::activation::activate;
use crate::team::region;
use crate::team::team::Team;
use crate::team::thread::{Thread, current};
use crate::work::bounds::{Bounds, Schedule};
use crate::work::loops;
use crate::work::want::Want;
use core::sync::atomic::Ordering::Relaxed;

/// Nothing to prepare.
const PLAIN: Option<fn(&'static Team)> = None;

/// Executes a whole region.
#[inline(always)]
fn execute(
    thr: &'static Thread,
    call: (usize, usize),
    threads: u32,
    flags: u32,
    prepare: Option<impl FnOnce(&'static Team)>,
) {
    region::start(thr, call, threads, flags, prepare);
    perform(thr, call);
}

/// Executes a region that has begun.
#[inline(always)]
fn perform(thr: &'static Thread, call: (usize, usize)) {
    activate(thr, call, (0, 0));
    region::finish(thr);
    save::point(thr, SaveKind::After(0));
}

/// Starts a region whose primary thread calls the function itself.
fn begin(call: (usize, usize), threads: u32, prepare: Option<impl FnOnce(&'static Team)>) {
    let thr = current();
    region::start(thr, call, threads, 0, prepare);
    // The activation is the caller's: what is private to the region lies below this call's frame.
    thr.call.set(call);
    if thr.frame.get() != 0 {
        thr.base.store(thr.frame.get() + asm::FRAME_TOTAL, Relaxed);
    }
    save::point(thr, SaveKind::After(0));
}

/// Puts every member inside such a construct.
fn combined(team: &'static Team, want: &Want) {
    let (s, _) = loops::enter(team.primary_thread(), Some(want), |_| ());
    team.primary.combined.set(Some(s));
}

fn combined_loop(team: &'static Team, b: Bounds, s: Schedule) {
    combined(team, &Want::of_loop(b, s, false, 0, true));
}

extern "C" fn parallel(func: usize, data: usize, threads: u32, flags: u32) {
    let (thr, call) = (current(), (func, data));
    if region::start_unless_done::<true>(thr, call, threads, flags, PLAIN) {
        perform(thr, call);
    }
}

extern "C" fn parallel_start(func: usize, data: usize, threads: u32) {
    begin((func, data), threads, PLAIN);
}

extern "C" fn parallel_end() {
    let thr = current();
    region::finish(thr);
    save::point(thr, SaveKind::After(0));
}

/// Returns the number of threads: the compiled code reduces over their copies.
extern "C" fn parallel_reductions(func: usize, data: usize, threads: u32, flags: u32) -> u32 {
    let thr = current();
    let mut n = 0;
    let group = group::take(thr);
    let prepare = |team: &'static Team| {
        n = team.size();
        // SAFETY: the first word of the data points to the reductions, by the ABI.
        unsafe {
            let reductions = *(data as *const usize);
            reduction::begin_region(thr, reductions, n);
            group.reductions.set(reductions);
        }
        group.workshare.set(true);
        team.primary.group.set(Some(group));
        team.member(0).implicit.group.set(Some(group));
    };
    execute(thr, (func, data), threads, flags, Some(prepare));
    // The region and all its tasks have ended.
    group::give(thr, group);
    n
}

/// A schedule by numbers: `KIND` is `Sched`'s, 0 the run-sched ICV.
#[inline(always)]
pub(super) fn schedule<const KIND: u32, const MONOTONIC: bool>(chunk: u64) -> Schedule {
    match KIND {
        0 => {
            let s = Schedule::from(current().task().icvs.get().sched);
            Schedule { monotonic: MONOTONIC || s.monotonic, ..s }
        }
        1 => Schedule { kind: Sched::Static, chunk, monotonic: true },
        2 => Schedule { kind: Sched::Dynamic, chunk, monotonic: MONOTONIC },
        3 => Schedule { kind: Sched::Guided, chunk, monotonic: MONOTONIC },
        _ => unreachable!("schedule kinds are 0 to 3"),
    }
}

extern "C" fn parallel_loop<const KIND: u32, const MONOTONIC: bool>(
    func: usize,
    data: usize,
    threads: u32,
    start: i64,
    end: i64,
    incr: i64,
    chunk: i64,
    flags: u32,
) {
    let thr = current();
    let s = schedule::<KIND, MONOTONIC>(chunk as u64);
    execute(thr, (func, data), threads, flags, Some(|t| combined_loop(t, Bounds::long(start, end, incr), s)));
}

extern "C" fn parallel_loop_runtime<const MONOTONIC: bool>(
    func: usize,
    data: usize,
    threads: u32,
    start: i64,
    end: i64,
    incr: i64,
    flags: u32,
) {
    parallel_loop::<0, MONOTONIC>(func, data, threads, start, end, incr, 0, flags);
}

extern "C" fn parallel_loop_start<const KIND: u32>(
    func: usize,
    data: usize,
    threads: u32,
    start: i64,
    end: i64,
    incr: i64,
    chunk: i64,
) {
    let s = schedule::<KIND, true>(chunk as u64);
    begin((func, data), threads, Some(|t| combined_loop(t, Bounds::long(start, end, incr), s)));
}

extern "C" fn parallel_loop_runtime_start(
    func: usize,
    data: usize,
    threads: u32,
    start: i64,
    end: i64,
    incr: i64,
) {
    parallel_loop_start::<0>(func, data, threads, start, end, incr, 0);
}

extern "C" fn parallel_sections(func: usize, data: usize, threads: u32, count: u32, flags: u32) {
    let prepare = |t| combined(t, &Want::of_sections(count, 0, true));
    execute(current(), (func, data), threads, flags, Some(prepare));
}

extern "C" fn parallel_sections_start(func: usize, data: usize, threads: u32, count: u32) {
    begin((func, data), threads, Some(|t| combined(t, &Want::of_sections(count, 0, true))));
}

stub! {
    GOMP_parallel => parallel, where SERIAL by promp_parallel_plainly;
    promp_parallel => parallel;
    GOMP_parallel_start => parallel_start;
    GOMP_parallel_end => parallel_end;
    GOMP_parallel_reductions => parallel_reductions;
    GOMP_parallel_loop_static [2] => parallel_loop::<1, true>;
    GOMP_parallel_loop_dynamic [2] => parallel_loop::<2, true>;
    GOMP_parallel_loop_guided [2] => parallel_loop::<3, true>;
    GOMP_parallel_loop_nonmonotonic_dynamic [2] => parallel_loop::<2, false>;
    GOMP_parallel_loop_nonmonotonic_guided [2] => parallel_loop::<3, false>;
    GOMP_parallel_loop_runtime [1] => parallel_loop_runtime::<true>;
    GOMP_parallel_loop_nonmonotonic_runtime [1] => parallel_loop_runtime::<false>;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime [1] => parallel_loop_runtime::<false>;
    GOMP_parallel_loop_static_start [1] => parallel_loop_start::<1>;
    GOMP_parallel_loop_dynamic_start [1] => parallel_loop_start::<2>;
    GOMP_parallel_loop_guided_start [1] => parallel_loop_start::<3>;
    GOMP_parallel_loop_runtime_start => parallel_loop_runtime_start;
    GOMP_parallel_sections => parallel_sections;
    GOMP_parallel_sections_start => parallel_sections_start;
}
