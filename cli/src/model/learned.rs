//! What predictions are off by on this machine: m(p), and how sure it is (crates/model/src/residuals.rs).
//!
//! The sweeps of the check are executed in sizes that it does not have. What they took, over what the model
//! says of them without m(p), is the m(p) of the next loop of the kind, with its interval. Of wavefronts
//! nothing is learnt: those of other sizes have other m(p) (docs/tuning.md). The file of
//! `promp model calibrate` keeps it, a line a kind and number of threads, behind the costs:
//!
//!     learned doall 2 1.01 0.02 -0.01 0.03 0.008
//!
//! that is the mean, half of the interval between loops, both ends of that within a loop, and the scatter
//! with one thread; `learned forecast` has what intervals from repetitions are to be stretched by.

use super::costs::Costs;
use super::loops::{self, Case};
use super::programs::Programs;
use crate::Failure;
use promp_model::Estimate;
use promp_model::residuals::{Residuals, factor};
use std::fmt::Write;

/// Grids of the sweeps, n². The check has 512, 768, 1024.
const SWEEPS: [u64; 6] = [416, 480, 608, 704, 864, 960];
const FORECAST: &str = "forecast";

/// Kinds of loops.
pub const DOALL: &str = "doall";

/// See the module's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    kinds: Vec<(String, u32, Residuals)>,
    /// By what [`promp_model::forecast`]'s intervals are to be stretched.
    pub factor: f64,
}

impl Default for Learned {
    fn default() -> Self {
        Self { kinds: vec![], factor: 1.0 }
    }
}

impl Learned {
    /// Executes the loops with these numbers of threads.
    pub fn measure(programs: &Programs, threads: &[u32], rounds: u64, quick: bool) -> Result<Self, Failure> {
        let most = threads.iter().copied().max().unwrap_or(1);
        let costs = Costs::measure(programs, most.max(2), rounds)?;
        let mut doall = vec![];
        let part = |sizes: &[u64]| sizes[..if quick { 2 } else { sizes.len() }].to_vec();
        for n in part(&SWEEPS) {
            let lines = programs.run("jacobi", &[n, u64::from(most), rounds])?;
            doall.extend(loops::sweeps(n, threads, &lines, &costs).map(|s| s.cases).unwrap_or_default());
        }
        Ok(Self::of(threads, &doall))
    }

    /// What `promp model calibrate` has kept.
    pub fn kept() -> Option<Self> {
        Self::read(&std::fs::read_to_string(Costs::usual_file()?).ok()?)
    }

    fn of(threads: &[u32], doall: &[Case]) -> Self {
        let mut kinds = vec![];
        for &p in threads.iter().filter(|p| **p > 1) {
            let here: Vec<&Case> = doall.iter().filter(|c| c.threads == p).collect();
            let ratios = |c: &&Case| c.measured.iter().map(|t| t / c.predicted).collect();
            let scatters: Vec<f64> = here.iter().map(|c| c.scatter).collect();
            let found = Residuals::of(&here.iter().map(ratios).collect::<Vec<_>>(), &scatters);
            kinds.extend(found.map(|r| (DOALL.to_string(), p, r)));
        }
        let series: Vec<&[f64]> = doall.iter().map(|c| &c.measured[..]).collect();
        Self { kinds, factor: factor(&series) }
    }

    fn at(&self, kind: &str, threads: u32) -> Option<&Residuals> {
        self.kinds.iter().find(|k| k.0 == kind && k.1 == threads).map(|k| &k.2)
    }

    /// The prediction of a case, with its interval. Nothing learnt: m(p) is what it is without.
    pub fn estimate(&self, kind: &str, case: &Case, otherwise: Estimate) -> Estimate {
        let m = match self.at(kind, case.threads) {
            Some(r) => r.next(case.scatter),
            None => otherwise.times(Estimate::normal(1.0, case.scatter)),
        };
        Estimate::exact(case.predicted).times(m)
    }

    /// m(p) of loops that share memory, by threads.
    pub fn scaling(&self) -> Vec<(u32, Estimate)> {
        self.kinds.iter().filter(|k| k.0 == DOALL).map(|k| (k.1, k.2.scaling())).collect()
    }

    /// The lines of the file.
    pub fn text(&self) -> String {
        let mut t = format!("learned {FORECAST} {:.3}\n", self.factor);
        for (kind, p, r) in &self.kinds {
            let [below, above] = r.within;
            let _ = writeln!(
                t,
                "learned {kind} {p} {:.4} {:.4} {below:.4} {above:.4} {:.4}",
                r.mean, r.between, r.scatter
            );
        }
        t
    }

    /// Reads them. `None`: a line is damaged.
    pub fn read(text: &str) -> Option<Self> {
        let mut all = Self::default();
        for line in text.lines().filter_map(|l| l.strip_prefix("learned ")) {
            let (kind, figures) = line.split_once(' ')?;
            let f: Vec<f64> = figures.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
            let sound = f.iter().all(|x| x.is_finite());
            match f[..] {
                [factor] if sound && kind == FORECAST && factor > 0.0 => all.factor = factor,
                [p, mean, between, below, above, scatter]
                    if sound
                        && (1.0..=1024.0).contains(&p)
                        && mean > 0.0
                        && between >= 0.0
                        && scatter >= 0.0
                        && below <= 0.0
                        && above >= 0.0 =>
                {
                    let r = Residuals { mean, between, within: [below, above], scatter };
                    all.kinds.push((kind.to_string(), p as u32, r));
                }
                _ => return None,
            }
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(threads: u32, m: f64) -> Case {
        Case {
            threads,
            predicted: 2.0,
            measured: [0.99, 1.0, 1.01].map(|x| 2.0 * m * x).to_vec(),
            scatter: 0.0,
        }
    }

    fn learned() -> Learned {
        Learned::of(&[1, 2], &[case(1, 1.0), case(2, 1.1), case(2, 1.2)])
    }

    #[test]
    fn what_loops_took_is_said_of_the_next_one() {
        let l = learned();
        let of = |kind: &str, p| l.estimate(kind, &case(p, 1.0), Estimate { mean: 1.0, low: 0.5, high: 2.0 });
        let e = of(DOALL, 2);
        assert!((e.mean - 2.3).abs() < 1e-9 && e.covers(2.2) && e.covers(2.4) && !e.covers(4.0), "{e:?}");
        // Of what was not measured nothing is known.
        assert_eq!(of(DOALL, 4), Estimate { mean: 2.0, low: 1.0, high: 4.0 });
        assert_eq!(l.scaling().len(), 1);
    }

    #[test]
    fn the_file_is_read_as_written() {
        let l = learned();
        let again = Learned::read(&l.text()).unwrap();
        assert!((again.factor - l.factor).abs() < 1e-3 && again.text() == l.text(), "{}", l.text());
        assert_eq!(Learned::read("promp costs 1\nregion 2 1e-6 0.1\n"), Some(Learned::default()));
        for bad in
            ["doall 2 1 0 0 0", "doall 2 nan 0 0 0 0", "forecast 0", "doall 2 1 0 1 0 0", "doall x", "x"]
        {
            assert_eq!(Learned::read(&format!("learned {bad}\n")), None, "{bad}");
        }
    }
}
