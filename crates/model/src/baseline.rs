//! P2's own formulas, with constants that are measured once, when the runtime is installed: the row that
//! every table has beside ours.
//!
//! DOALL: compute / p + startup + factor · p · synchronisations; DOACROSS and DSWP as in [`crate::doacross`]
//! and [`crate::dswp`]. No schedule, no shape of the iteration space, no other load, no interval.

use crate::doacross::Nest;
use crate::dswp::Pipeline;

/// The constants of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Constants {
    /// Starting a region.
    pub startup: f64,
    /// A synchronisation, for each thread.
    pub factor: f64,
    /// A point-to-point synchronisation.
    pub t2: f64,
    /// Making a task.
    pub make: f64,
    /// Getting a task.
    pub get: f64,
}

impl Constants {
    /// A DOALL loop: `serial` is the time of all its iterations.
    pub fn doall(&self, serial: f64, p: u32, synchronisations: u32) -> f64 {
        let p = f64::from(p);
        serial / p + self.startup + self.factor * p * f64::from(synchronisations)
    }

    /// A DOACROSS loop with tiles of b.
    pub fn doacross(&self, n1: f64, n2: f64, t1: f64, p: u32, b: f64) -> f64 {
        let (t1, t2) = (crate::Estimate::exact(t1), crate::Estimate::exact(self.t2));
        Nest { n1, n2, t1, t2 }.time(p, b).mean
    }

    /// A pipeline of two stages with n iterations.
    pub fn dswp(&self, first: f64, second: f64, n: u64) -> f64 {
        let e = crate::Estimate::exact;
        let (make, get) = (e(self.make), e(self.get));
        let (first, second, parallel) = (e(first), e(second), e(self.startup));
        Pipeline { parallel, master: e(0.0), first, make, second, get, n, helps: false }.time(2).mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Constants = Constants { startup: 3.0, factor: 0.5, t2: 2.0, make: 0.5, get: 0.25 };

    #[test]
    fn by_hand() {
        assert_eq!(C.doall(100.0, 4, 2), 25.0 + 3.0 + 4.0);
        assert_eq!(C.doacross(8.0, 16.0, 1.0, 2, 4.0), 90.0);
        assert_eq!(C.dswp(4.0, 2.0, 10), 3.0 + 4.5 + 4.5 * 9.0 + 2.25);
    }

    #[test]
    fn overhead_bounds_the_speed_up() {
        // Threads without end: what is left grows with p.
        assert!(C.doall(100.0, 1 << 20, 1) > C.doall(100.0, 14, 1));
        // The best number of threads by the formula: √(serial / factor).
        let best = (1..100).min_by(|a, b| C.doall(100.0, *a, 1).total_cmp(&C.doall(100.0, *b, 1)));
        assert_eq!(best, Some(14));
    }
}
