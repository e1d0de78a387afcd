//! What predictions were off by, of loops that were measured to learn it, and what that says of the next one.
//!
//! Each such loop g was predicted without m(p) and executed n times; r = measured / predicted of each time.
//! Two things make r differ from 1, and a new loop has both of its own:
//!
//! - *between* loops: m(p) is another for each, and so is what the model leaves out. The median of a loop's r
//!   differs from that of the others; of G loops the next one's lies within t(G − 1)·σ·√(1 + 1/G) of their
//!   mean, where σ² is what the medians differ by beyond what few repetitions make of it.
//! - *within* a loop: a repetition differs from its loop's median. These are not normal (an interrupt only
//!   makes times longer), so their quantiles are taken as they are, of all loops together.
//!
//! Where a loop's own repetitions scatter more than those did (with one thread), it has the rest beside.
//!
//! [`factor`] does the same for [`forecast`](crate::forecast): by what its intervals must be stretched for
//! nine of ten repetitions to come to lie in them on this machine now.

use crate::forecast::{forecast, t90};
use crate::samples::{deviation, median};
use crate::{Estimate, Z90};
use core::f64::consts::PI;

/// Of loops that were measured with p threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residuals {
    /// What predictions are to be multiplied by: m(p).
    pub mean: f64,
    /// Half of the interval that the next loop's mean lies in.
    pub between: f64,
    /// What a repetition differs from its loop's median by: 5 % lie below the first, 5 % above the second.
    pub within: [f64; 2],
    /// What repetitions with one thread scattered by (relative standard deviation).
    pub scatter: f64,
}

/// The value below which that part lies, if another one is to lie there with this probability.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = part * (sorted.len() + 1) as f64 - 1.0;
    let (low, most) = (at.floor().max(0.0) as usize, sorted.len() - 1);
    let [a, b] = [low, low + 1].map(|i| sorted[i.min(most)]);
    if at <= 0.0 { a } else { a + (b - a) * (at - low as f64) }
}

impl Residuals {
    /// From each loop's r, and what its repetitions with one thread scatter by. `None`: less than two loops,
    /// of which nothing can be learnt of a third.
    pub fn of(loops: &[Vec<f64>], scatters: &[f64]) -> Option<Self> {
        let loops: Vec<&Vec<f64>> = loops.iter().filter(|r| !r.is_empty()).collect();
        let g = loops.len() as f64;
        if loops.len() < 2 {
            return None;
        }
        let medians: Vec<f64> = loops.iter().map(|r| median(r)).collect();
        let mean = medians.iter().sum::<f64>() / g;
        let all = medians.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / (g - 1.0);
        let chance =
            loops.iter().map(|r| deviation(r).powi(2) * PI / (2.0 * r.len() as f64)).sum::<f64>() / g;
        // What is left of chance: not known whether it is there; but the mean is off by its part of `all`.
        let sigma = (all - chance).max(0.0);
        let between = t90(loops.len() - 1) * (sigma + all / g).sqrt();
        let mut apart: Vec<f64> =
            loops.iter().zip(&medians).flat_map(|(r, m)| r.iter().map(move |x| (x - m) / m)).collect();
        apart.sort_by(f64::total_cmp);
        let within = [quantile(&apart, 0.05).min(0.0), quantile(&apart, 0.95).max(0.0)];
        Some(Self { mean, between, within, scatter: median(scatters) })
    }

    /// What the prediction of a loop is to be multiplied by whose own repetitions scatter so with one thread.
    pub fn next(&self, scatter: f64) -> Estimate {
        let rest = Z90 * (scatter * scatter - self.scatter * self.scatter).max(0.0).sqrt();
        let away = |within: f64| self.mean * within.abs().hypot(rest);
        let (below, above) =
            (away(self.within[0]).hypot(self.between), away(self.within[1]).hypot(self.between));
        Estimate { mean: self.mean, low: (self.mean - below).max(0.0), high: self.mean + above }
    }

    /// m(p) alone, of a loop and not of one of its repetitions.
    pub fn scaling(&self) -> Estimate {
        let (m, half) = (self.mean, self.between);
        Estimate { mean: m, low: (m - half).max(0.0), high: m + half }
    }
}

/// Forecasts that were made count as much as so many that hold what they say.
const PRIOR: usize = 20;

/// By what the intervals of [`forecast`] are to be stretched: of each series the first half was seen, and the
/// second came. A few series may be lucky, so they are among some that are just as the interval says.
pub fn factor(series: &[&[f64]]) -> f64 {
    let mut scores: Vec<f64> = (0..PRIOR).map(|k| (k as f64 + 0.5) / PRIOR as f64 / 0.9).collect();
    for times in series.iter().filter(|t| t.len() >= 6) {
        let (seen, came) = times.split_at(times.len() / 2);
        let e = forecast(seen);
        scores.extend(came.iter().map(|t| (t - e.mean).abs() / (e.high - e.mean)));
    }
    scores.sort_by(f64::total_cmp);
    quantile(&scores, 0.9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::tests::Seeded;

    /// What part of a new loop's repetitions lies in the interval, over many calibrations of `g` loops.
    fn covered(g: usize, between: f64, mut noise: impl FnMut(&mut Seeded) -> f64) -> f64 {
        const N: usize = 15;
        let mut seed = Seeded(g as u64);
        let mut inside = 0;
        const TIMES: usize = 1500;
        for _ in 0..TIMES {
            let mut one = || {
                let m = 1.05 * (1.0 + between * seed.normal());
                (0..N).map(|_| m * (1.0 + noise(&mut seed))).collect::<Vec<_>>()
            };
            let loops: Vec<_> = (0..g).map(|_| one()).collect();
            let e = Residuals::of(&loops, &[0.0]).unwrap().next(0.0);
            inside += one().iter().filter(|r| e.covers(**r)).count();
        }
        inside as f64 / (TIMES * N) as f64
    }

    /// Nine of ten, whether loops differ, or their repetitions, or both; with noise of any form.
    #[test]
    fn nine_of_ten_are_covered() {
        for g in [4, 6, 10, 20] {
            for between in [0.0, 0.01, 0.02, 0.06] {
                let even = covered(g, between, |s| 0.02 * s.normal());
                let skew = covered(g, between, |s| (0.02 * s.normal()).exp().powi(2) - 1.0);
                let rare = |s: &mut Seeded| if s.next() < 0.06 { 0.5 * s.next() } else { 0.0 };
                let outliers = covered(g, between, |s| rare(s) + 0.01 * s.normal());
                for part in [even, skew, outliers] {
                    assert!((0.88..=0.935).contains(&part), "{g} {between}: {even} {skew} {outliers}");
                }
            }
        }
    }

    #[test]
    fn by_hand() {
        // Medians 1 and 1.2: σ² = 0.02, t(1) = 6.314; repetitions are 0, a tenth below or above.
        let loops = [vec![0.9, 1.0, 1.1], vec![1.08, 1.2, 1.32]];
        let chance = [0.1f64, 0.12].map(|d| (1.4826 * d).powi(2) * PI / 6.0).iter().sum::<f64>() / 2.0;
        let r = Residuals::of(&loops, &[0.01, 0.03]).unwrap();
        let between = 6.314 * ((0.02f64 - chance).max(0.0) + 0.01).sqrt();
        assert!((r.mean - 1.1).abs() < 1e-12 && (r.between - between).abs() < 1e-9, "{r:?}");
        assert!((r.within[0] + 0.1).abs() < 1e-12 && (r.within[1] - 0.1).abs() < 1e-12 && r.scatter == 0.02);
        assert!((r.scaling().high - 1.1 - between).abs() < 1e-9);
        // A loop that scatters more than those did.
        assert_eq!(r.next(0.01), r.next(0.02));
        let more = r.next(0.05);
        let rest = 1.1 * (0.01 + Z90 * Z90 * (0.05f64.powi(2) - 0.02f64.powi(2))).sqrt();
        assert!((more.high - 1.1 - rest.hypot(between)).abs() < 1e-9, "{more:?}");
        assert_eq!(Residuals::of(&loops[..1], &[0.0]), None);
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.95), 3.0);
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.375), 1.5);
    }

    #[test]
    fn forecasts_are_stretched() {
        for n in [14, 18, 30] {
            for walk in [0.0, 0.003, 0.01, 0.03] {
                let mut seed = Seeded(n as u64);
                let mut one = || {
                    let mut at = 1.0;
                    (0..n)
                        .map(|_| {
                            at += walk * seed.normal();
                            at + 0.01 * seed.normal()
                        })
                        .collect::<Vec<f64>>()
                };
                let (mut plain, mut stretched, mut all) = (0u32, 0u32, 0u32);
                for _ in 0..600 {
                    let series: Vec<_> = (0..12).map(|_| one()).collect();
                    let series: Vec<&[f64]> = series.iter().map(|s| &s[..]).collect();
                    let k = factor(&series);
                    let new = one();
                    let (seen, came) = new.split_at(n / 2);
                    let (e, s) = (forecast(seen), forecast(seen).stretched(k));
                    all += came.len() as u32;
                    plain += came.iter().filter(|t| e.covers(**t)).count() as u32;
                    stretched += came.iter().filter(|t| s.covers(**t)).count() as u32;
                }
                let [plain, stretched] = [plain, stretched].map(|n| f64::from(n) / f64::from(all));
                assert!((0.86..=0.93).contains(&stretched), "{n} {walk}: {plain} {stretched}");
                assert!(walk < 0.01 || plain < 0.85, "{n} {walk}: {plain}");
            }
        }
    }
}
