//! What the runtime costs on this machine, as measured, and the file that keeps it.
//!
//! The file is text, a line a figure: `region 2 1.1e-06`, behind the line `promp costs 1`. It is what P2's
//! formulas get as their constants; ours are measured anew each time, since they change from minute to
//! minute. Lines that begin with `learned` are [`super::machine_residuals`]'s.

use super::programs::{Line, Programs};
use crate::Failure;
use promp_model::baseline::Constants;
use promp_model::doall::{Linear, Overheads};
use promp_model::samples::{deviation, median};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// More than such a file has, in bytes.
const LONGEST: u64 = 1 << 20;
const FIRST: &str = "promp costs 1";

/// Measured: (what, threads, seconds, relative deviation).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs(pub Vec<(String, u32, f64, f64)>);

impl Costs {
    /// Measures them.
    pub fn measure(programs: &Programs, threads: u32, rounds: u64) -> Result<Self, Failure> {
        Ok(Self::of(&programs.run("calibrate", &[u64::from(threads), rounds])?))
    }

    fn of(lines: &[Line]) -> Self {
        let of = |l: &Line| {
            let m = median(&l.times);
            (l.name.clone(), l.threads, m, if m > 0.0 { deviation(&l.times) / m } else { 0.0 })
        };
        Self(lines.iter().map(of).collect())
    }

    /// The median of `what` with `threads`, or with the next smaller number that was measured.
    pub fn at(&self, what: &str, threads: u32) -> f64 {
        self.0.iter().filter(|c| c.0 == what && c.1 <= threads).max_by_key(|c| c.1).map_or(0.0, |c| c.2)
    }

    fn scatter(&self, what: &str) -> f64 {
        let all: Vec<f64> = self.0.iter().filter(|c| c.0 == what).map(|c| c.3).collect();
        median(&all)
    }

    /// As the model wants them.
    pub fn overheads(&self) -> Overheads {
        let points = |what: &str| {
            self.0.iter().filter(|c| c.0 == what && c.1 > 1).map(|c| (c.1, c.2)).collect::<Vec<_>>()
        };
        let (region, barrier) = (Linear::fit(&points("region")), Linear::fit(&points("barrier")));
        // A region is a fork and a join; the join is a barrier.
        let fork = Linear {
            fixed: (region.fixed - barrier.fixed).max(0.0),
            each: (region.each - barrier.each).max(0.0),
        };
        Overheads {
            fork,
            join: barrier,
            dispatch: self.at("chunk", 1),
            // With several threads, chunks taken at the same time: what is left for each is the line's.
            line: (self.at("chunk", 2) - self.at("chunk", 1) / 2.0).max(0.0),
            scatter: self.scatter("region").max(0.05),
        }
    }

    /// As P2's formulas want them.
    pub fn constants(&self) -> Constants {
        let barrier = self.at("barrier", 2);
        Constants {
            startup: (self.at("region", 2) - barrier).max(0.0),
            factor: barrier / 2.0,
            t2: self.at("post", 2),
            make: self.at("task", 2) / 2.0,
            get: self.at("task", 2) / 2.0,
        }
    }

    /// Where they are kept unless another file is named.
    pub fn usual_file() -> Option<PathBuf> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache")))?;
        Some(cache.join("promp/costs"))
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut t = format!("{FIRST}\n");
        for (what, threads, s, scatter) in &self.0 {
            let _ = writeln!(t, "{what} {threads} {s:e} {scatter:.3}");
        }
        t
    }

    /// Reads such a text.
    pub fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        (lines.next() == Some(FIRST)).then_some(())?;
        let of = |l: &str| {
            let f: Vec<&str> = l.split(' ').collect();
            let [what, threads, s, scatter] = f[..] else { return None };
            let (s, scatter) = (s.parse::<f64>().ok()?, scatter.parse::<f64>().ok()?);
            let sound = s.is_finite() && s >= 0.0 && scatter.is_finite() && scatter >= 0.0;
            sound.then_some((what.to_string(), threads.parse().ok()?, s, scatter))
        };
        lines
            .filter(|l| !l.trim().is_empty() && !l.starts_with("learned "))
            .map(of)
            .collect::<Option<Vec<_>>>()
            .map(Self)
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let text = promp_files::read_any(path, LONGEST)
            .map_err(|e| Failure::new(66, format!("{name} cannot be read: {e}")))?;
        Self::read(&String::from_utf8_lossy(&text)).ok_or_else(|| {
            Failure::new(65, format!("{name} is not what `promp model calibrate` writes; run it anew"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs() -> Costs {
        let c = |w: &str, p, s| (w.to_string(), p, s, 0.1);
        Costs(vec![
            c("region", 1, 1e-7),
            c("region", 2, 2e-6),
            c("barrier", 2, 5e-7),
            c("chunk", 1, 4e-9),
            c("chunk", 2, 1e-8),
            c("post", 2, 2e-7),
        ])
    }

    #[test]
    fn the_file_is_read_as_written() {
        assert_eq!(Costs::read(&costs().text()), Some(costs()));
        for bad in [
            "",
            "promp costs 2\n",
            "promp costs 1\nregion 2\n",
            "promp costs 1\nregion 2 -1 0\n",
            "promp costs 1\nregion 2 nan 0",
        ] {
            assert_eq!(Costs::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_models_figures() {
        let o = costs().overheads();
        assert!((o.fork.at(2) - 1.5e-6).abs() < 1e-12 && (o.join.at(2) - 5e-7).abs() < 1e-12);
        assert!((o.line - 8e-9).abs() < 1e-15 && o.dispatch == 4e-9);
        assert_eq!(costs().constants().t2, 2e-7);
        assert_eq!(costs().at("region", 64), 2e-6);
    }
}
