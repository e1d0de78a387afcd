//! What a program asks the runtime for (include/promp.h): failures, statistics, and a failure on purpose.
//!
//! Structures are handed over with the size that the program knows, so that they can grow.

use crate::icv::{globals, globals_if_ready};
use crate::recover::report::{self, PrompStatistics};
use crate::recover::stop;
use crate::recover::{
    failure_records, inject,
    spec::{Kind, Loses},
};
use crate::team::hold::guarded;
use crate::team::thread::current;
use core::sync::atomic::Ordering::*;

/// `struct promp_failure`.
#[repr(C)]
pub(crate) struct PrompFailure {
    /// `enum promp_fault`.
    pub kind: u32,
    /// Logical thread number.
    pub thread: u32,
    /// Outermost region's ordinal.
    pub region: u64,
    /// Iterations that were in flight.
    pub lost_iterations: u64,
    /// `enum promp_recovery`.
    pub recovery: u32,
    /// 1 when everything lost is recovered.
    pub recovered: u32,
    /// Seconds from the failure to the end of its recovery.
    pub recovery_s: f64,
}

/// Makes the team's thread `thread` fail (kinds of `enum promp_fault`). Returns 0, or -1 if there is no such
/// thread or kind, or fault tolerance is off.
pub(crate) extern "C" fn promp_fail(thread: i32, kind: i32) -> i32 {
    let me = current();
    let team = me.team();
    let (Some(kind), Ok(num)) = (Kind::from_u32(kind as u32), u32::try_from(thread)) else { return -1 };
    if !globals().promp.ft || num >= team.size() || kind.loses() == Loses::Memory {
        return -1;
    }
    stop::install_stop_signal();
    match team.member(num).thread.get() {
        Some(t) => {
            inject::send(t, kind);
            0
        }
        None => -1,
    }
}

/// Reads the failures so far into `out` (`n` entries); returns how many there are.
///
/// # Safety
/// `out` has room for `n` entries.
pub(crate) unsafe extern "C" fn promp_failures(out: *mut PrompFailure, n: usize) -> usize {
    // SAFETY: by the caller's promise.
    unsafe { promp_failures_sized(out, n, size_of::<PrompFailure>()) }
}

/// The same with entries of `size` bytes.
///
/// # Safety
/// `out` has room for `n` of them.
pub(crate) unsafe extern "C" fn promp_failures_sized(out: *mut PrompFailure, n: usize, size: usize) -> usize {
    if globals_if_ready().is_none() {
        return 0;
    }
    let all = guarded(failure_records::all);
    for (i, r) in all.iter().take(n).enumerate() {
        let took = r.took_ns.load(Acquire);
        let f = PrompFailure {
            kind: r.kind as u32,
            thread: r.place.thread,
            region: r.place.region,
            lost_iterations: if r.recovery.get() == failure_records::Recovery::Recompute {
                r.place.iterations
            } else {
                0
            },
            recovery: r.recovery.get() as u32,
            recovered: u32::from(took != 0),
            recovery_s: took as f64 * 1e-9,
        };
        // SAFETY: by the caller's promise.
        unsafe { hand_over(&f, out.cast::<u8>().add(i * size), size) };
    }
    all.len()
}

/// Writes `value` to a place of `size` bytes, which may be of an older or a newer form: what there is no room
/// for is left out, what is not known is 0.
///
/// # Safety
/// `to` has room for `size` bytes.
unsafe fn hand_over<T>(value: &T, to: *mut u8, size: usize) {
    let known = size_of::<T>().min(size);
    // SAFETY: by the caller's promise.
    unsafe {
        core::ptr::copy_nonoverlapping(core::ptr::from_ref(value).cast(), to, known);
        to.add(known).write_bytes(0, size - known);
    }
}

/// Reads the statistics.
///
/// # Safety
/// `out` is writable.
pub(crate) unsafe extern "C" fn promp_stats(out: *mut PrompStatistics) {
    // SAFETY: by the caller's promise.
    unsafe { promp_stats_sized(out, size_of::<PrompStatistics>()) };
}

/// The same where `out` has `size` bytes; returns how many are known.
///
/// # Safety
/// They are writable.
pub(crate) unsafe extern "C" fn promp_stats_sized(out: *mut PrompStatistics, size: usize) -> usize {
    let s = if globals_if_ready().is_some() {
        guarded(report::statistics)
    } else {
        PrompStatistics { regions: 0, chunks: 0, failures: 0, workers: 0 }
    };
    // SAFETY: by the caller's promise.
    unsafe { hand_over(&s, out.cast(), size) };
    size_of::<PrompStatistics>()
}

crate::export_names! {
    promp_fail
    promp_failures
    promp_failures_sized
    promp_stats
    promp_stats_sized
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_of_other_sizes_are_filled_as_far_as_they_go() {
        let value = PrompStatistics { regions: 1, chunks: 2, failures: 3, workers: 4 };
        for size in [0, 8, 12, 32, 40, 48] {
            let mut to = [7u8; 64];
            // SAFETY: there are more bytes than that.
            unsafe { hand_over(&value, to.as_mut_ptr(), size) };
            let word = |i: usize| u64::from_ne_bytes(to[8 * i..8 * i + 8].try_into().unwrap());
            let whole = size.min(32) / 8;
            assert!((0..whole).all(|i| word(i) == i as u64 + 1), "{size}: {to:?}");
            assert!(to[32.min(size)..size].iter().all(|&b| b == 0), "{size}: {to:?}");
            assert!(to[size..].iter().all(|&b| b == 7), "{size}: {to:?}");
        }
    }
}
