//! What a repetition to come takes, from those that were seen, in their order.
//!
//! The interval holds one repetition, not their mean, so it contains
//! - the spread of a single one, σ², from the differences between neighbours (σ² = E d²/2): what changes
//!   slowly is not in these;
//! - what the median of n is off by, σ²·π/2n;
//! - the drift until then: by how much the latter half of what was seen differs from the former, beyond
//!   what chance makes of it. The repetitions to come, as many as were seen, lie twice as far from the
//!   middle of all as the two halves from each other.
//!
//! σ itself is known from n values only: Student's t instead of the normal distribution's quantile. An
//! outlier counts as four usual differences.

use crate::Estimate;
use crate::samples::median;
use core::f64::consts::PI;

/// Student's quantiles for 90 % on both sides, by degrees of freedom from 1.
const T90: [f64; 10] = [6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812];
/// An outlier counts as so many usual differences.
const OUTLIER: f64 = 4.0;
/// Where nothing is known of the spread, and what clocks and loops scatter by at least (standard deviation).
const UNKNOWN: f64 = 0.05;
const LEAST: f64 = 0.002;

pub(crate) fn t90(freedom: usize) -> f64 {
    T90.get(freedom.max(1) - 1).copied().unwrap_or(crate::Z90 * (1.0 + 0.95 / freedom as f64))
}

/// See the module's text. Nothing seen: 0.
pub fn forecast(times: &[f64]) -> Estimate {
    let (n, centre) = (times.len() as f64, median(times));
    if times.len() < 3 {
        return Estimate::normal(centre, UNKNOWN * centre);
    }
    let steps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
    let most = OUTLIER * median(&steps);
    let squares: f64 = steps.iter().map(|d| d.min(most) * d.min(most)).sum();
    let variance = squares / (2.0 * steps.len() as f64);
    let (former, latter) = times.split_at(times.len() / 2);
    let apart = median(latter) - median(former);
    // Two medians of n/2 each.
    let chance = variance * 2.0 * PI / n;
    let drift = 4.0 * (apart * apart - chance).max(0.0);
    let least = LEAST * centre;
    let all = variance * (1.0 + PI / (2.0 * n)) + drift + least * least;
    let half = t90(times.len() - 1) * all.sqrt();
    Estimate { mean: centre, low: (centre - half).max(0.0), high: centre + half }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Numbers of a seed.
    pub(crate) struct Seeded(pub u64);

    impl Seeded {
        /// In (0, 1).
        pub(crate) fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((self.0 >> 40) as f64 + 0.5) / (1u64 << 24) as f64
        }

        pub(crate) fn normal(&mut self) -> f64 {
            (-2.0 * self.next().ln()).sqrt() * (2.0 * PI * self.next()).cos()
        }
    }

    /// What part of the n repetitions behind n that were seen lies in the interval, over many series.
    fn covered(n: usize, mut series: impl FnMut(&mut Seeded) -> Vec<f64>) -> f64 {
        let mut seed = Seeded(n as u64);
        let mut inside = 0;
        for _ in 0..1000 {
            let all = series(&mut seed);
            let e = forecast(&all[..n]);
            inside += all[n..].iter().filter(|t| e.covers(**t)).count();
        }
        inside as f64 / (1000 * n) as f64
    }

    /// Nine of ten, whatever the series is like; somewhat less of a walk whose direction may change.
    #[test]
    fn nine_of_ten_are_covered() {
        for n in [5, 7, 10, 15, 30] {
            let noise = covered(n, |s| (0..2 * n).map(|_| 1.0 + 0.02 * s.normal()).collect());
            let skew = covered(n, |s| (0..2 * n).map(|_| (0.05 * s.normal()).exp()).collect());
            let rare = |s: &mut Seeded| if s.next() < 0.05 { 1.0 + s.next() } else { 1.0 };
            let outliers = covered(n, |s| (0..2 * n).map(|_| rare(s) + 0.02 * s.normal()).collect());
            let walk = covered(n, |s| {
                let mut at = 1.0;
                let step = |_| {
                    at += 0.005 * s.normal();
                    at + 0.01 * s.normal()
                };
                (0..2 * n).map(step).collect()
            });
            for part in [noise, skew, outliers] {
                assert!((0.85..=0.95).contains(&part), "{n}: {noise} {skew} {outliers} {walk}");
            }
            assert!((0.78..=0.95).contains(&walk), "{n}: {walk}");
            let mean = (noise + skew + outliers + walk) / 4.0;
            assert!((0.85..=0.95).contains(&mean), "{n}: {mean}");
        }
    }

    #[test]
    fn by_hand() {
        // All steps are 1, so σ² = 1/2; both halves have the same median.
        let e = forecast(&[10.0, 11.0, 10.0, 11.0]);
        let all = 0.5 * (1.0 + PI / 8.0) + (0.002 * 10.5f64).powi(2);
        assert!((e.mean - 10.5).abs() < 1e-12 && (e.high - 10.5 - 2.353 * all.sqrt()).abs() < 1e-9, "{e:?}");
        // What goes steadily up goes on so.
        let rising: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i)).collect();
        assert!(forecast(&rising).covers(112.0) && !forecast(&[100.0; 10]).covers(101.0));
        assert_eq!(forecast(&[]), Estimate::exact(0.0));
        assert!(forecast(&[1.0, 1.0]).covers(1.08) && !forecast(&[1.0, 1.0]).covers(1.09));
    }
}
