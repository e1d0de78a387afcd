//! DOACROSS loops: an outer loop of N1 iterations in static blocks over p threads, an inner one of N2 in
//! tiles of b; a tile waits for the one before it. A pipeline: p − 1 tiles until all threads work, then N2/b
//! tiles.
//!
//! T = ((N1/p) · b · t1 + t2) · (N2/b + p − 1)
//!
//! Multiplied out, b stands in (N1/p)·t1·(p − 1)·b + t2·N2/b; the derivative is 0 at b* = √(N2·t2 /
//! ((N1/p)·t1·(p − 1))).

use crate::Estimate;

/// A wavefront loop nest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nest {
    /// Outer iterations, N1.
    pub n1: f64,
    /// Inner iterations, N2.
    pub n2: f64,
    /// One innermost iteration.
    pub t1: Estimate,
    /// One point-to-point synchronisation.
    pub t2: Estimate,
}

impl Nest {
    /// T for p threads and tiles of b.
    pub fn time(&self, p: u32, b: f64) -> Estimate {
        let b = b.clamp(1.0, self.n2.max(1.0));
        let p = f64::from(p.max(1));
        let steps = Estimate::exact(libm::ceil(self.n2 / b) + p - 1.0);
        let tile = self.t1.times(Estimate::exact(self.n1 / p * b));
        if p == 1.0 {
            // Nobody to synchronise with.
            return tile.times(Estimate::exact(self.n2 / b));
        }
        tile.plus(self.t2).times(steps)
    }

    /// b*, between 1 and N2. With one thread there is nothing to wait for: N2.
    pub fn best_tile(&self, p: u32) -> f64 {
        if p <= 1 || self.n1 <= 0.0 || self.t1.mean <= 0.0 {
            return self.n2.max(1.0);
        }
        let p = f64::from(p);
        (self.n2 * self.t2.mean / (self.n1 / p * self.t1.mean * (p - 1.0)))
            .sqrt()
            .clamp(1.0, self.n2.max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nest(n1: f64, n2: f64, t1: f64, t2: f64) -> Nest {
        Nest { n1, n2, t1: Estimate::exact(t1), t2: Estimate::exact(t2) }
    }

    #[test]
    fn by_hand() {
        // (8/2 · 4 · 1 + 2) · (16/4 + 1) = 18 · 5.
        assert_eq!(nest(8.0, 16.0, 1.0, 2.0).time(2, 4.0).mean, 90.0);
        // √(16 · 2 / (4 · 1 · 1)) = √8.
        assert!((nest(8.0, 16.0, 1.0, 2.0).best_tile(2) - 8f64.sqrt()).abs() < 1e-12);
        assert_eq!(nest(8.0, 16.0, 1.0, 2.0).time(1, 4.0).mean, 128.0);
    }

    #[test]
    fn limits() {
        // Synchronisation for nothing: tiles of 1, and the pipeline's filling alone.
        let n = nest(64.0, 64.0, 1.0, 0.0);
        assert_eq!((n.best_tile(4), n.time(4, 1.0).mean), (1.0, 16.0 * 67.0));
        // Work for nothing: one tile, and p synchronisations.
        let n = nest(64.0, 64.0, 0.0, 1.0);
        assert_eq!((n.best_tile(4), n.time(4, 64.0).mean), (64.0, 4.0));
        assert_eq!(nest(64.0, 64.0, 1.0, 1.0).best_tile(1), 64.0);
    }

    proptest! {
        #[test]
        fn no_tile_is_better_than_the_best(
            (n1, n2) in (1.0..1e4f64, 2.0..1e4f64),
            (t1, t2) in (1e-9..1e-6f64, 1e-9..1e-5f64),
            p in 2u32..65,
            part in 0.0..1.0f64,
        ) {
            let n = nest(n1, n2, t1, t2);
            // The formula without rounding up.
            let smooth = |b: f64| (n1 / f64::from(p) * b * t1 + t2) * (n2 / b + f64::from(p) - 1.0);
            let other = 1.0 + part * (n2 - 1.0);
            prop_assert!(smooth(n.best_tile(p)) <= smooth(other) * (1.0 + 1e-12));
        }
    }
}
