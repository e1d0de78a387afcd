//! What a loop is asked to be: its schedule, its bounds, and how many iterations these are.

use crate::icv::{RunSched, Sched};

/// A schedule with its modifiers, as an entry point or the run-sched ICV gives it.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Kind.
    pub kind: Sched,
    /// Chunk, 0: default.
    pub chunk: u64,
    /// Chunks of a thread must come in increasing order.
    pub monotonic: bool,
}

impl From<RunSched> for Schedule {
    fn from(r: RunSched) -> Self {
        let chunk = if r.kind == Sched::Auto { 0 } else { r.chunk };
        Self { kind: r.kind, chunk, monotonic: r.monotonic }
    }
}

/// The bounds of a loop: `start`, `end` (exclusive) and `step` in two's complement; `up` says which way
/// it runs.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// First value.
    pub(crate) start: u64,
    /// End, exclusive.
    pub(crate) end: u64,
    /// Increment.
    pub(crate) step: u64,
    /// Counting up?
    pub(crate) up: bool,
    /// Are the values signed?
    pub(crate) signed: bool,
}

impl Bounds {
    /// A loop over signed longs.
    #[inline(always)]
    pub fn long(start: i64, end: i64, step: i64) -> Self {
        Self { start: start as u64, end: end as u64, step: step as u64, up: step > 0, signed: true }
    }
    /// A loop over unsigned long longs.
    #[inline(always)]
    pub fn ull(up: bool, start: u64, end: u64, step: u64) -> Self {
        Self { start, end, step, up, signed: false }
    }
    /// The loop variable's value in iteration `i`.
    #[inline(always)]
    pub(crate) fn value(self, i: u64) -> u64 {
        self.start.wrapping_add(i.wrapping_mul(self.step))
    }
    /// Number of iterations (OpenMP 5.1, section 2.11.1).
    #[inline]
    pub(crate) fn iterations(self) -> u64 {
        let before = |a: u64, b: u64| if self.signed { (a as i64) < (b as i64) } else { a < b };
        if self.up {
            if before(self.start, self.end) {
                self.end.wrapping_sub(self.start).div_ceil(self.step.max(1))
            } else {
                0
            }
        } else if before(self.end, self.start) {
            self.start.wrapping_sub(self.end).div_ceil(self.step.wrapping_neg().max(1))
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn iterations_agree_with_a_loop(start in -50i64..50, len in -60i64..60, step in 1i64..9, down: bool) {
            let (end, step) = (start + len, if down { -step } else { step });
            let mut i = start;
            let mut n = 0;
            while if step > 0 { i < end } else { i > end } {
                n += 1;
                i += step;
            }
            prop_assert_eq!(Bounds::long(start, end, step).iterations(), n);
        }
    }

    #[test]
    fn iterations_at_the_edges() {
        assert_eq!(Bounds::long(i64::MIN, i64::MAX, 1).iterations(), u64::MAX);
        assert_eq!(Bounds::long(i64::MAX, i64::MIN, i64::MIN).iterations(), 2);
        assert_eq!(Bounds::ull(true, 0, u64::MAX, u64::MAX).iterations(), 1);
        assert_eq!(Bounds::ull(false, u64::MAX, 0, 1u64.wrapping_neg()).iterations(), u64::MAX);
        assert_eq!(Bounds::ull(true, 5, 5, 1).iterations(), 0);
    }
}
