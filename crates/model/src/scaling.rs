//! m(p): by how much the same work takes longer while p threads do it, because memory and caches are shared.
//!
//! Known for the p that were seen, and 1 for one thread. Between two of them it is a straight line; beyond
//! the last one it goes on as steeply, and the interval opens by the same slope again. Where nothing was seen
//! it is 1, within a wide interval.

use crate::Estimate;

/// The half width of the interval where nothing is known, for each doubling of threads.
const UNKNOWN: f64 = 0.15;

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scaling {
    /// (threads, factor, half width of its interval), by threads.
    seen: Vec<(u32, f64, f64)>,
}

impl Scaling {
    /// From what was seen: threads, the measured times, and the time that the model without m gives.
    pub fn fit<'a>(runs: impl IntoIterator<Item = (u32, &'a [f64], f64)>) -> Self {
        let mut seen: Vec<_> = runs
            .into_iter()
            .filter(|(p, times, ideal)| *p > 0 && !times.is_empty() && *ideal > 0.0)
            .map(|(p, times, ideal)| {
                let n = times.len() as f64;
                let mean = times.iter().sum::<f64>() / n;
                let variance =
                    times.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / (n - 1.0).max(1.0);
                (p, mean / ideal, crate::Z90 * (variance / n).sqrt() / ideal)
            })
            .collect();
        seen.sort_by_key(|s| s.0);
        seen.dedup_by_key(|s| s.0);
        Self { seen }
    }

    /// Of a run with p threads, from which the rest is extrapolated: 1 there, and for others what was learnt
    /// of other loops, m(q) / m(p).
    pub fn from_run(p: u32, learned: &[(u32, Estimate)]) -> Self {
        let mut seen = vec![(p, 1.0, 0.0)];
        let base = if p == 1 { Some(1.0) } else { learned.iter().find(|l| l.0 == p).map(|l| l.1.mean) };
        if let Some(base) = base.filter(|b| *b > 0.0) {
            seen.extend((p != 1).then_some((1, 1.0 / base, 0.0)));
            let others = learned.iter().filter(|l| l.0 != p && l.0 != 1);
            seen.extend(others.map(|(q, m)| (*q, m.mean / base, (m.high - m.mean) / base)));
            seen.sort_by_key(|s| s.0);
        }
        Self { seen }
    }

    /// Was this number of threads seen?
    pub fn has_seen(&self, p: u32) -> bool {
        p == 1 || self.seen.iter().any(|s| s.0 == p)
    }

    /// m(p).
    pub fn at(&self, p: u32) -> Estimate {
        let of = |m: f64, half: f64| Estimate { mean: m, low: (m - half).max(0.0), high: m + half };
        if let Some(&(_, m, half)) = self.seen.iter().find(|s| s.0 == p) {
            return of(m, half);
        }
        if p <= 1 {
            return Estimate::exact(1.0);
        }
        let one = [(1, 1.0, 0.0)];
        let below = self.seen.iter().rev().find(|s| s.0 < p).unwrap_or(&one[0]);
        if let Some(above) = self.seen.iter().find(|s| s.0 > p) {
            let part = f64::from(p - below.0) / f64::from(above.0 - below.0);
            let line = |a: f64, b: f64| a + part * (b - a);
            let doubt = UNKNOWN / 2.0 * libm::log2(f64::from(p));
            return of(line(below.1, above.1), line(below.2, above.2) + doubt * part.min(1.0 - part));
        }
        let slope = if below.0 > 1 { (below.1 - 1.0).max(0.0) / f64::from(below.0 - 1) } else { 0.0 };
        let further = f64::from(p - below.0);
        let doublings = libm::log2(f64::from(p) / f64::from(below.0));
        of(below.1 + slope * further, below.2 + slope * further + UNKNOWN * doublings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_between_and_beyond() {
        let s = Scaling::fit([(2, &[1.1, 1.1][..], 1.0), (4, &[0.65, 0.65][..], 0.5)]);
        assert!((s.at(2).mean - 1.1).abs() < 1e-12 && (s.at(4).mean - 1.3).abs() < 1e-12);
        assert!((s.at(3).mean - 1.2).abs() < 1e-12 && s.at(3).covers(1.25));
        assert!((s.at(8).mean - 1.7).abs() < 1e-12);
        assert!(s.has_seen(4) && s.has_seen(1) && !s.has_seen(8));
        assert_eq!(s.at(1), Estimate::exact(1.0));
        // The further, the less is known.
        let width = |p| s.at(p).high - s.at(p).low;
        assert!(width(4) < width(8) && width(8) < width(64));
    }

    #[test]
    fn what_was_learnt_of_others_is_relative_to_what_was_seen() {
        let m = |mean: f64| Estimate { mean, low: mean - 0.1, high: mean + 0.1 };
        let learned = [(2, m(1.25)), (4, m(1.5))];
        let one = Scaling::from_run(1, &learned);
        assert_eq!((one.at(1).mean, one.at(2).mean, one.at(4).mean), (1.0, 1.25, 1.5));
        let two = Scaling::from_run(2, &learned);
        assert_eq!((two.at(1).mean, two.at(2).mean), (0.8, 1.0));
        assert!((two.at(4).mean - 1.2).abs() < 1e-12 && (two.at(4).high - 1.28).abs() < 1e-12);
        // Of three threads nothing was learnt: as without.
        assert_eq!(Scaling::from_run(3, &learned), Scaling::fit([(3, &[1.0][..], 1.0)]));
    }

    #[test]
    fn nothing_seen_is_one_and_wide() {
        let s = Scaling::default();
        assert_eq!(s.at(2).mean, 1.0);
        assert!(s.at(2).covers(1.14) && !s.at(2).covers(1.16) && s.at(64).covers(1.8));
        assert_eq!(Scaling::fit([(2, &[][..], 1.0), (0, &[1.0][..], 1.0), (3, &[1.0][..], 0.0)]), s);
    }
}
