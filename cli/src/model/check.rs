//! `promp model check`: the three loops of the paper on the cost model, predicted and measured.
//!
//! - DOALL: Jacobi's iteration on grids of 512², 768² and 1024², in a region each (fork-join) and many in one
//!   region (SPMD). From the serial cost of blocks of rows the
//!   times of a sweep are predicted: *not seen*, from what one thread took and the m(p) of loops of other
//!   sizes (`machine_residuals.rs`); *seen*, from the first half of the repetitions, compared with the
//!   second.
//! - DOACROSS: a wavefront over 64³, 128³ and 256³ points, from what its blocks take one thread and the time
//!   of a point-to-point synchronisation, for b* and tiles around it, and the m(p) of other sizes.
//! - DSWP: the hot loop of EP (classes S, W, A) as a pipeline of two stages, from the two stages' times.

use super::benchmark_loops::{self, Shape, Sweeps, Tiled};
use super::costs::Costs;
use super::machine_residuals::{self, Learned};
use super::plot::{self, Bar};
use super::programs::{Line, Programs, times};
use super::{cpus, errors, load_note, per_cent, time};
use crate::args::{Check, ModelLoop};
use crate::{Failure, Outcome};
use promp_model::Estimate;
use promp_model::dswp::Pipeline;
use promp_model::forecast::forecast;
use promp_model::samples::median;
use promp_model::scaling::Scaling;
use serde::Serialize;

/// A prediction beside what was measured.
#[derive(Serialize, Clone, Debug)]
pub struct Row {
    /// DOALL, DOACROSS or DSWP.
    pub model: &'static str,
    /// Loop and size.
    pub name: String,
    /// Threads.
    pub threads: u32,
    /// Which of several processes.
    pub process: usize,
    /// Were times with so many threads known to the model?
    pub seen: bool,
    /// More threads than CPUs.
    pub oversubscribed: bool,
    /// Seconds.
    pub predicted_s: f64,
    /// Nine measurements of ten lie in it.
    pub interval_s: [f64; 2],
    /// Median of the repetitions.
    pub measured_s: f64,
    /// (predicted − measured) / measured.
    pub error: f64,
    /// Share of repetitions within the interval.
    pub covered: f64,
    /// P2's formula.
    pub baseline_s: f64,
    /// Its error.
    pub baseline_error: f64,
}

impl Row {
    fn new(
        model: &'static str,
        name: String,
        threads: u32,
        e: Estimate,
        measured: &[f64],
        baseline: f64,
    ) -> Self {
        let m = median(measured);
        Self {
            model,
            name,
            threads,
            process: 0,
            seen: false,
            oversubscribed: threads > cpus(),
            predicted_s: e.mean,
            interval_s: [e.low, e.high],
            measured_s: m,
            error: e.error(m),
            covered: measured.iter().filter(|t| e.covers(**t)).count() as f64 / measured.len().max(1) as f64,
            baseline_s: baseline,
            baseline_error: (baseline - m) / m,
        }
    }
}

/// Each size is executed by so many processes: where its memory lies is another for each, and makes all its
/// repetitions longer or shorter, so that one says little of what part of them an interval holds.
const PROCESSES: usize = 5;
/// Of a size that takes seconds.
const LONG: usize = 3;

/// What is executed, and what predictions are made of: each process of a size has its own, because what the
/// constants are off by is the same for all that is predicted from them.
struct Plan<'a> {
    asked: &'a Check,
    threads: Vec<u32>,
    most: u32,
    programs: Programs,
    /// P2's constants are those of the installation.
    kept: Costs,
    learned: Learned,
}

impl Plan<'_> {
    fn of(c: &Check) -> Result<Plan<'_>, Failure> {
        let threads = list(&c.threads)?;
        let most = threads.iter().copied().max().unwrap_or(1);
        let programs = Programs::build()?;
        let kept = match (&c.costs, Costs::usual_file().filter(|f| f.exists())) {
            (Some(f), _) => Costs::load(f)?,
            (None, Some(f)) => Costs::load(&f)?,
            (None, None) => Costs::measure(&programs, most.max(2), c.rounds)?,
        };
        let learned = Learned::measure(&programs, &threads, c.rounds, &c.loops, c.quick)?;
        Ok(Plan { asked: c, threads, most, programs, kept, learned })
    }

    /// What the runtime costs now.
    fn now(&self) -> Result<Costs, Failure> {
        Costs::measure(&self.programs, self.most.max(2), self.asked.rounds)
    }

    fn run(&self, name: &str, size: u64, rounds: u64) -> Result<Vec<Line>, Failure> {
        self.programs.run(name, &[size, u64::from(self.most), rounds])
    }

    /// Rows of a size of a loop, by a process of its own.
    fn rows(&self, of: ModelLoop, size: &Size) -> Result<Vec<Row>, Failure> {
        let (n, costs) = (size.n, self.now()?);
        Ok(match of {
            ModelLoop::Jacobi => {
                let lines = self.run("jacobi", n, self.asked.rounds)?;
                let shapes = [Shape::ForkJoin, Shape::Spmd];
                let found = shapes.map(|s| benchmark_loops::sweeps(n, s, &self.threads, &lines, &costs));
                found.iter().flatten().flat_map(|s| doall(n, s, &self.kept, &self.learned)).collect()
            }
            ModelLoop::Wavefront => {
                let tiled =
                    benchmark_loops::wavefronts(&self.programs, n, &self.threads, self.asked.rounds, &costs)?;
                doacross(n, &tiled, &self.kept, &self.learned)
            }
            ModelLoop::Pipeline => {
                let lines = self.run("pipeline", n, self.asked.rounds.min(3))?;
                dswp(size.name, &self.threads, &lines, &costs, &self.kept).unwrap_or_default()
            }
        })
    }
}

/// A size of a loop.
struct Size {
    n: u64,
    /// EP's class.
    name: &'static str,
    /// It takes seconds.
    long: bool,
}

/// The sizes of the paper.
fn sizes(of: ModelLoop, quick: bool) -> Vec<Size> {
    let size = |n, name| Size { n, name, long: name == "A" };
    let all = match (of, quick) {
        (ModelLoop::Jacobi, _) => [512, 768, 1024].map(|n| size(n, "")),
        (ModelLoop::Wavefront, _) => [64, 128, 256].map(|n| size(n, "")),
        (ModelLoop::Pipeline, true) => return vec![size(20, "S/16")],
        (ModelLoop::Pipeline, false) => [(24, "S"), (25, "W"), (28, "A")].map(|(m, name)| size(m, name)),
    };
    all.into_iter().take(if quick { 1 } else { 3 }).collect()
}

/// Runs the whole of it.
pub fn check(c: &Check) -> Outcome {
    let rows = rows(c)?;
    if rows.is_empty() {
        return Err(Failure::new(70, "the programs have measured nothing"));
    }
    if let Some(f) = &c.svg {
        super::write(f, &plot::bars("Predicted and measured", &bars(&rows)))?;
    }
    if c.json {
        println!("{}", serde_json::to_string(&rows).unwrap_or_default());
        return Ok(());
    }
    print_rows(&rows);
    Ok(())
}

/// All rows, a size's together.
fn rows(c: &Check) -> Result<Vec<Row>, Failure> {
    let all: Vec<(ModelLoop, Size)> =
        c.loops.iter().flat_map(|&of| sizes(of, c.quick).into_iter().map(move |size| (of, size))).collect();
    let mut found = vec![vec![]; all.len()];
    for process in 0..if c.quick { 1 } else { PROCESSES } {
        let plan = Plan::of(c)?;
        for ((of, size), rows) in all.iter().zip(&mut found) {
            if !size.long || process < LONG {
                rows.extend(plan.rows(*of, size)?.into_iter().map(|r| Row { process, ..r }));
            }
        }
    }
    Ok(found.concat())
}

/// "1,2,4".
pub fn list(text: &str) -> Result<Vec<u32>, Failure> {
    let all: Option<Vec<u32>> =
        text.split(',').map(|n| n.trim().parse().ok().filter(|n| (1..=1024).contains(n))).collect();
    all.ok_or_else(|| {
        Failure::new(64, format!("--threads {text}: expected numbers from 1 to 1024, like 1,2,4"))
    })
}

fn doall(n: u64, sweeps: &Sweeps, kept: &Costs, learned: &Learned) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in &sweeps.cases {
        let p = case.threads;
        let all = sweeps.serial * f64::from(sweeps.in_one);
        let baseline = kept.constants().doall(all, p, sweeps.in_one) / f64::from(sweeps.in_one);
        let spmd = if sweeps.shape == Shape::Spmd { ", SPMD" } else { "" };
        let name = format!("Jacobi {n}²{spmd}");
        let row = |seen: bool, e: Estimate, measured: &[f64]| Row {
            seen,
            ..Row::new("DOALL", name.clone(), p, e, measured, baseline)
        };
        if p > 1 {
            let e = learned.estimate(machine_residuals::DOALL, case, Scaling::default().at(p));
            rows.push(row(false, e, &case.measured));
        }
        // What the tuner would have: m(p) from the first half, which is its median.
        let (first, second) = case.measured.split_at(case.measured.len() / 2);
        if !first.is_empty() {
            rows.push(row(true, forecast(first).stretched(learned.factor), second));
        }
    }
    rows
}

fn doacross(n: u64, tiled: &[Tiled], kept: &Costs, learned: &Learned) -> Vec<Row> {
    let row = |t: &Tiled| {
        let (p, nest) = (t.case.threads, &t.nest);
        let star = if t.is_best { " = b*" } else { "" };
        let baseline = kept.constants().doacross(nest.n1, nest.n2, t.serial, p, t.tile as f64);
        let e = learned.estimate(machine_residuals::DOACROSS, &t.case, Scaling::default().at(p));
        let name = format!("wavefront {n}³, b {}{star}", t.tile);
        Row::new("DOACROSS", name, p, e, &t.case.measured, baseline)
    };
    tiled.iter().map(row).collect()
}

fn dswp(class: &str, threads: &[u32], lines: &[Line], costs: &Costs, kept: &Costs) -> Option<Vec<Row>> {
    let n = lines.iter().find(|l| l.name == "first")?.parameter;
    let stage = |name: &str| {
        let t = times(lines, name, 1)?;
        // What makes one execution longer makes many of those behind it longer: a whole run is known no
        // better than one.
        Some(forecast(t))
    };
    let (first, second) = (stage("first")?, stage("second")?);
    let mut rows = Vec::new();
    for &p in threads {
        let task = Estimate::normal(costs.at("task", p) / 2.0, costs.at("task", p) * 0.3);
        let region = costs.at("region", p);
        let pipeline = Pipeline {
            parallel: Estimate::normal(region, 0.3 * region),
            master: Estimate::exact(0.0),
            first,
            make: task,
            second,
            get: task,
            n,
            helps: true,
        };
        let slow = Estimate::exact((f64::from(p) / f64::from(cpus())).max(1.0));
        let e = pipeline.time(p).times(Scaling::default().at(p)).times(slow);
        let baseline = match p {
            1 => n as f64 * (first.mean + second.mean),
            _ => kept.constants().dswp(first.mean, second.mean, n),
        };
        rows.push(Row::new(
            "DSWP",
            format!("EP {class} ({n} batches)"),
            p,
            e,
            times(lines, "time", p)?,
            baseline,
        ));
    }
    Some(rows)
}

fn print_rows(rows: &[Row]) {
    println!(
        "{:<9} {:<30} {:>3} {:<8} {:>10} {:>24} {:>10} {:>9} {:>10} {:>9}",
        "model", "loop", "p", "", "predicted", "90 % interval", "measured", "error", "P2", "error"
    );
    for r in rows {
        let mark = match (r.oversubscribed, r.seen) {
            (true, _) => "oversub.",
            (false, true) => "seen",
            (false, false) => "not seen",
        };
        println!(
            "{:<9} {:<30} {:>3} {mark:<8} {:>10} {:>24} {:>10} {:>9} {:>10} {:>9}",
            r.model,
            r.name,
            r.threads,
            time(r.predicted_s),
            format!("{} … {}", time(r.interval_s[0]), time(r.interval_s[1])),
            time(r.measured_s),
            per_cent(r.error),
            time(r.baseline_s),
            per_cent(r.baseline_error)
        );
    }
    println!("\n{}", errors::table(rows).join("\n"));
    tiles(rows);
    if let Some(note) = load_note() {
        println!("{note}");
    }
}

/// How good b* is beside the best tile of the sweep.
fn tiles(rows: &[Row]) {
    for star in rows.iter().filter(|r| r.name.ends_with("= b*")) {
        let family = star.name.split(',').next().unwrap_or_default();
        let same = rows.iter().filter(|r| {
            (r.threads, r.process) == (star.threads, star.process) && r.name.split(',').next() == Some(family)
        });
        let best = same.map(|r| r.measured_s).fold(f64::INFINITY, f64::min);
        println!(
            "{} with {} threads: {:.3} of the best tile's time",
            star.name,
            star.threads,
            star.measured_s / best
        );
    }
}

fn bars(rows: &[Row]) -> Vec<Bar> {
    let of = |r: &Row| Bar {
        name: format!("{} p={}{}", r.name, r.threads, if r.seen { " seen" } else { "" }),
        marked: r.oversubscribed,
        measured: r.measured_s,
        predicted: r.predicted_s,
        interval: r.interval_s,
        baseline: r.baseline_s,
    };
    rows.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, threads: u32, parameter: u64, times: &[f64]) -> Line {
        Line { name: name.into(), threads, parameter, times: times.to_vec() }
    }

    #[test]
    fn an_even_loop_takes_half_with_two() {
        let mut lines: Vec<_> = (0..4).map(|k| line("block", k, 25, &[1.0, 1.0])).collect();
        lines.push(line("time", 1, 100, &[4.0, 4.0]));
        lines.push(line("time", 2, 100, &[2.0, 2.0, 2.2, 2.2]));
        let sweeps =
            benchmark_loops::sweeps(102, Shape::ForkJoin, &[1, 2], &lines, &Costs::default()).unwrap();
        let rows = doall(102, &sweeps, &Costs::default(), &Learned::default());
        let unseen = rows.iter().find(|r| r.threads == 2 && !r.seen).unwrap();
        assert!((unseen.predicted_s - 2.0).abs() < 1e-9 && (unseen.measured_s - 2.1).abs() < 1e-9);
        let seen = rows.iter().find(|r| r.threads == 2 && r.seen).unwrap();
        assert!((seen.predicted_s - 2.0).abs() < 1e-9 && (seen.error + 0.2 / 2.2).abs() < 1e-9);
        assert!((unseen.baseline_s - 2.0).abs() < 1e-9);
    }

    #[test]
    fn sweeps_of_one_region_share_it() {
        let cost = |what: &str, s| (what.to_string(), 2, s, 0.0);
        let costs = Costs(vec![cost("region", 0.7), cost("barrier", 0.2)]);
        let mut lines = vec![line("block", 0, 100, &[4.0]), line("time", 1, 100, &[4.0])];
        lines.extend([line("spmd", 1, 10, &[4.0]), line("spmd", 2, 10, &[2.0])]);
        let sweeps = benchmark_loops::sweeps(102, Shape::Spmd, &[1, 2], &lines, &costs).unwrap();
        let rows = doall(102, &sweeps, &costs, &Learned::default());
        let two = rows.iter().find(|r| r.threads == 2 && !r.seen).unwrap();
        // A barrier, and a tenth of a region.
        assert!((two.predicted_s - (2.0 + 0.2 + 0.07)).abs() < 1e-9, "{two:?}");
        assert!((two.baseline_s - (2.0 + 0.2 + 0.05)).abs() < 1e-9 && two.name.ends_with(", SPMD"));
    }

    #[test]
    fn a_pipeline_is_shared() {
        let lines = [
            line("first", 1, 100, &[1.0]),
            line("second", 1, 100, &[3.0]),
            line("time", 1, 100, &[400.0]),
            line("time", 2, 100, &[200.0]),
        ];
        let rows = dswp("S", &[1, 2], &lines, &Costs::default(), &Costs::default()).unwrap();
        assert!((rows[0].predicted_s - 400.0).abs() < 1e-9);
        // 1 + 2 · 99 + 3.
        assert!((rows[1].predicted_s - 202.0).abs() < 1e-9);
        // P2 lets the primary wait: 1 + 3 · 99 + 3.
        assert!((rows[1].baseline_s - 301.0).abs() < 1e-9);
    }

    #[test]
    fn lists_of_threads() {
        assert_eq!(list("1, 2,64").ok(), Some(vec![1, 2, 64]));
        assert!(list("0").is_err() && list("two").is_err() && list("").is_err());
    }
}
