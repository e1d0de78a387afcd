//! Doacross loops (`ordered(n)` with depend(sink/source)).
//!
//! One counter an iteration of the outermost loop: how many of its inner iterations, in lexicographic order, have been
//! posted. All inner iterations of an outer one are executed by one thread in order, so "iteration v is posted" is
//! "counter[v0] > index of (v1, …)". Post: store (release); wait: load (acquire).

use crate::sys::membarrier;
use crate::sys::own::Own;
use crate::team::event_count::{Event, Patience, Waiters};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering::*};

/// Counters in a cache line.
const A_LINE: usize = 8;
/// Outer iterations up to which each has a line of its own.
const FEW: usize = 512;
/// How far the counters of neighbouring iterations lie apart in longer loops, modulo a power of two: so far that those which are written at
/// the same time are on different lines, be they neighbours or at equal distances (the threads' shares of a static schedule).
const STRIDE: usize = 23;

/// The state of one doacross loop; it does not change but for the counters.
pub struct Doacross {
    counts: Box<[u64]>,
    posted: Box<[AtomicU64]>,
    /// What entry/doacross.rs needs.
    pub quick: Quick,
}

/// Where iteration v of a nest of one or two loops is noted: counter v0 × stride & mask, and its number there: v1 & second.
pub struct Quick {
    /// Outer iterations; 0 for other nests.
    pub outer: u64,
    /// The same for posts without a fence; 0 where they pass one.
    pub posts: u64,
    /// Address of the counters.
    pub base: usize,
    /// See the type's text.
    pub stride: u64,
    /// See the type's text.
    pub mask: u64,
    /// All bits with two loops, else none.
    pub second: u64,
}

impl Doacross {
    /// For a loop nest of the given counts. `unfenced`: may posts go without a fence? Those who sleep then
    /// make all others pass one, which costs too much in a crowd, where they sleep as often as they post.
    pub fn create(counts: &[u64], unfenced: bool) -> NonNull<Self> {
        let outer = counts.first().copied().unwrap_or(0);
        let (stride, places) = match outer as usize {
            n if n <= FEW => (A_LINE, n * A_LINE),
            n => (STRIDE, n),
        };
        let posted: Box<[AtomicU64]> = (0..places.next_power_of_two()).map(|_| AtomicU64::new(0)).collect();
        let quick = Quick {
            outer: if counts.len() <= 2 { outer } else { 0 },
            posts: if counts.len() <= 2 && unfenced && membarrier::is_there() { outer } else { 0 },
            base: posted.as_ptr() as usize,
            stride: stride as u64,
            mask: posted.len() as u64 - 1,
            second: if counts.len() == 2 { u64::MAX } else { 0 },
        };
        NonNull::from(Box::leak(Box::new(Self { counts: counts.into(), posted, quick })))
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// It was made by [`Doacross::create`]; the construct is over, and nobody holds a reference.
    pub(crate) unsafe fn retire(this: NonNull<Self>) {
        // SAFETY: by the caller's promise.
        unsafe { drop(Box::from_raw(this.as_ptr())) }
    }

    /// Number of loops in the nest.
    pub fn depth(&self) -> usize {
        self.counts.len()
    }

    /// Index of the inner iteration numbers of `v` in lexicographic order.
    fn inner(&self, v: &[u64]) -> u64 {
        v.iter().zip(&self.counts).skip(1).fold(0u64, |acc, (&i, &n)| acc.wrapping_mul(n).wrapping_add(i))
    }

    /// The counter of outer iteration `i`.
    fn counter(&self, i: u64) -> Option<&AtomicU64> {
        let inside = self.counts.first().is_some_and(|n| i < *n);
        inside.then(|| &self.posted[(i.wrapping_mul(self.quick.stride) & self.quick.mask) as usize])
    }

    /// Iteration `v` is done as far as its dependents care. It may have been posted already: work is repeated, or a light way has left
    /// those who sleep to this one. Its team waits on `event`.
    pub fn post(&self, event: &Event, v: &[u64]) {
        if let Some(c) = self.counter(v[0]) {
            let done = self.inner(v) + 1;
            if c.load(Relaxed) < done {
                c.store(done, Release);
            }
            event.notify_only(Waiters::Inside);
        }
    }

    /// Waits on its team's `event` until iteration `v` is posted, or the region is cancelled.
    pub fn wait(&self, event: &Event, patience: &Own<Patience>, is_cancelled: impl Fn() -> bool, v: &[u64]) {
        if let Some(c) = self.counter(v[0]) {
            let need = self.inner(v);
            let ready = || c.load(Acquire) > need || is_cancelled();
            match (ready(), self.quick.posts) {
                (true, _) => {}
                (false, 0) => event.wait(patience.get(), ready),
                (false, _) => event.wait_unfenced(patience.get(), ready, membarrier::fence_all),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::cache_lines::Clocks;

    fn with(counts: &[u64], f: impl Fn(&Doacross)) {
        let d = Doacross::create(counts, true);
        // SAFETY: just made, and used here only.
        unsafe {
            f(d.as_ref());
            Doacross::retire(d);
        }
    }

    fn address(d: &Doacross, i: u64) -> usize {
        core::ptr::from_ref(d.counter(i).expect("inside the loop")).addr()
    }

    #[test]
    fn every_iteration_has_its_counter() {
        for outer in [1u64, 2, 7, 64, 512, 513, 1000, 4096, 5000] {
            with(&[outer, 3], |d| {
                let mut at: Vec<usize> = (0..outer).map(|i| address(d, i)).collect();
                assert!(at.windows(2).all(|w| w[0] / 64 != w[1] / 64), "{outer}: neighbours on one line");
                assert!(d.counter(outer).is_none());
                at.sort_unstable();
                at.dedup();
                assert_eq!(at.len() as u64, outer);
            });
        }
    }

    #[test]
    fn shares_of_a_static_schedule_are_on_different_lines() {
        for (outer, threads) in
            [8u64, 16, 48, 64].into_iter().flat_map(|t| [(4096, t), (6144, t), (12345, t)])
        {
            with(&[outer], |d| {
                let starts = (0..threads).map(|t| t * outer.div_ceil(threads)).filter(|i| *i < outer);
                let mut lines: Vec<usize> = starts.map(|i| address(d, i) / 64).collect();
                let all = lines.len();
                lines.sort_unstable();
                lines.dedup();
                assert_eq!(lines.len(), all, "{outer} iterations, {threads} threads");
            });
        }
    }

    /// From one iteration's note to the next one's a line goes there and back, whatever the team's size.
    #[test]
    fn iterations_that_wait_for_each_other_fetch_a_line_each() {
        for threads in [2u32, 4, 8, 16, 64] {
            let outer = 4 * u64::from(threads);
            with(&[outer], |d| {
                let mut clocks = Clocks::default();
                let line = |i: u64| [address(d, i) / 64];
                let of = |i: u64| i as u32 % threads;
                // Everybody waits already.
                (1..outer).for_each(|i| clocks.journey(of(i), &line(i - 1)));
                let before = clocks.longest();
                for i in 0..outer {
                    if i > 0 {
                        clocks.journey(of(i), &line(i - 1));
                    }
                    clocks.journey(of(i), &line(i));
                }
                assert!(u64::from(clocks.longest() - before) <= 2 * outer, "{threads} threads");
            });
        }
    }
}
