//! Static loops of one share a thread: who has which, and the light way through one in a region that goes
//! without save points (save/region_points.rs).
//!
//! There a loop is no construct: its threads find their shares by themselves, as GCC's code does it, and
//! nothing is known of it but the share in flight.

use super::bounds::Bounds;
use super::dispenser::Range;
use crate::team::thread::Thread;

/// The share of thread `num` of `n` in `total` iterations (OpenMP 5.1, table 2.5: about equal, in order).
#[inline(always)]
pub(crate) fn share(total: u64, n: u64, num: u64) -> Option<Range> {
    let (each, rest) = (total / n, total % n);
    let lo = num * each + num.min(rest);
    let hi = lo + each + u64::from(num < rest);
    (lo < hi).then_some(Range { lo, hi })
}

impl Thread {
    /// It begins its share of such a loop, in the loop's own values: [start, end).
    #[inline(always)]
    pub fn begin_share(&self, b: Bounds) -> Option<(u64, u64)> {
        let m = self.member();
        m.finish_chunk();
        // It is in no construct: by that the calls in it know the loop (entry/light/dealt_loops.rs).
        m.share.set(None);
        let total = b.iterations();
        let r = share(total, m.team().size().into(), m.num.get().into())?;
        m.ledger.deal(total);
        Some((b.value(r.lo), if r.hi == total { b.end } else { b.value(r.hi) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_are_all_iterations_in_order_and_about_equal(total in 0u64..200, n in 1u64..20) {
            let all: Vec<_> = (0..n).filter_map(|i| share(total, n, i)).collect();
            let mut at = 0;
            for r in &all {
                prop_assert!(r.lo == at && (total / n..=total / n + 1).contains(&(r.hi - r.lo)));
                at = r.hi;
            }
            prop_assert_eq!(at, total);
            prop_assert_eq!(all.len() as u64, total.min(n));
        }
    }
}
