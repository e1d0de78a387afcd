//! What predictions are off by on this machine: m(p), and how sure it is (crates/model/src/residuals.rs).
//!
//! The sweeps and the wavefronts of the check are executed in sizes that it does not have. What they took,
//! over what the model says of them without m(p), is the m(p) of the next loop of the kind, with its
//! interval. All tiles of a wavefront are one loop: what tiles differ by is within. The file of
//! `promp model calibrate` keeps it, a line a kind and number of threads, behind the costs:
//!
//!     learned doall 2 1.01 0.02 -0.01 0.03 0.008
//!
//! that is the mean, half of the interval between loops, both ends of that within a loop, and the scatter
//! with one thread; `learned forecast` has what intervals from repetitions are to be stretched by.

use super::benchmark_loops::{self, Case, Shape};
use super::costs::Costs;
use super::programs::Programs;
use crate::Failure;
use crate::args::ModelLoop;
use promp_model::Estimate;
use promp_model::residuals::{Residuals, factor};
use std::fmt::Write;

/// Grids of the sweeps, n². The check has 512, 768, 1024.
const SWEEPS: [u64; 6] = [416, 480, 608, 704, 864, 960];
/// Wavefronts, n³. The check has 64, 128, 256.
const WAVEFRONTS: [u64; 6] = [48, 80, 96, 112, 160, 192];
const FORECAST: &str = "forecast";

/// Kinds of loops.
pub const DOALL: &str = "doall";
/// See [`DOALL`].
pub const DOACROSS: &str = "doacross";

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
    pub fn measure(
        programs: &Programs,
        threads: &[u32],
        rounds: u64,
        loops: &[ModelLoop],
        quick: bool,
    ) -> Result<Self, Failure> {
        let most = threads.iter().copied().max().unwrap_or(1);
        let costs = Costs::measure(programs, most.max(2), rounds)?;
        let mut doall = vec![];
        let sizes = |all: &[u64], of: ModelLoop| match loops.contains(&of) {
            true => all[..if quick { 2 } else { all.len() }].to_vec(),
            false => vec![],
        };
        for n in sizes(&SWEEPS, ModelLoop::Jacobi) {
            let lines = programs.run("jacobi", &[n, u64::from(most), rounds])?;
            let found = benchmark_loops::sweeps(n, Shape::ForkJoin, threads, &lines, &costs);
            doall.extend(found.map(|s| s.cases).unwrap_or_default());
        }
        let mut l = Self::of(threads, &doall);
        let mut all = vec![];
        for n in sizes(&WAVEFRONTS, ModelLoop::Wavefront) {
            let tiled = benchmark_loops::wavefronts(programs, n, threads, rounds, &costs)?;
            all.push(tiled.into_iter().map(|t| t.case).collect::<Vec<_>>());
        }
        for &p in threads.iter().filter(|p| **p > 1) {
            let with = |cases: &Vec<Case>| cases.iter().filter(|c| c.threads == p).cloned().collect();
            l.learn(DOACROSS, p, &all.iter().map(with).collect::<Vec<_>>());
        }
        Ok(l)
    }

    /// What `promp model calibrate` has kept.
    pub fn kept() -> Option<Self> {
        Self::read(&std::fs::read_to_string(Costs::usual_file()?).ok()?)
    }

    fn of(threads: &[u32], doall: &[Case]) -> Self {
        let series: Vec<&[f64]> = doall.iter().map(|c| &c.measured[..]).collect();
        let mut l = Self { kinds: vec![], factor: factor(&series) };
        for &p in threads.iter().filter(|p| **p > 1) {
            let with = doall.iter().filter(|c| c.threads == p);
            l.learn(DOALL, p, &with.map(|c| vec![c.clone()]).collect::<Vec<_>>());
        }
        l
    }

    /// From loops of a kind, each executed in one way or several.
    fn learn(&mut self, kind: &str, threads: u32, loops: &[Vec<Case>]) {
        let ratios = |c: &Case| c.measured.iter().map(|t| t / c.predicted).collect::<Vec<_>>();
        let all: Vec<Vec<f64>> = loops.iter().map(|l| l.iter().flat_map(ratios).collect()).collect();
        let scatters: Vec<f64> = loops.iter().flatten().map(|c| c.scatter).collect();
        self.kinds.extend(Residuals::of(&all, &scatters).map(|r| (kind.to_string(), threads, r)));
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

    /// Tiles of a wavefront differ within their loop, sizes between loops: two sizes say little of a third,
    /// however many tiles each has.
    #[test]
    fn tiles_are_one_loop() {
        let mut l = learned();
        let tiles = |m: f64| vec![case(2, m - 0.02), case(2, m), case(2, m + 0.02)];
        l.learn(DOACROSS, 2, &[tiles(1.0), tiles(1.04)]);
        let e = l.estimate(DOACROSS, &case(2, 1.0), Estimate::exact(1.0));
        assert!((e.mean - 2.04).abs() < 1e-9 && e.covers(2.3), "{e:?}");
        // Ten that are alike say more.
        l.kinds.pop();
        l.learn(DOACROSS, 2, &[1.0, 1.04, 1.01, 1.03, 1.02, 1.0, 1.04, 1.01, 1.03, 1.02].map(tiles));
        let e = l.estimate(DOACROSS, &case(2, 1.0), Estimate::exact(1.0));
        assert!(e.covers(1.97) && e.covers(2.1) && !e.covers(2.2) && !e.covers(1.88), "{e:?}");
        // Of sweeps the same as before, and the file has both.
        assert_eq!(l.scaling(), learned().scaling());
        assert_eq!(Learned::read(&l.text()).unwrap().text(), l.text());
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
