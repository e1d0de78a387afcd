//! The loops that can be predicted and measured: what the model says of each without m(p), and what it took.
//!
//! `promp model check` executes them in the paper's sizes, [`super::machine_residuals`] in others, to learn
//! what predictions are off by.

use super::costs::Costs;
use super::programs::{Line, Programs, times};
use super::{cpus, speeds};
use crate::Failure;
use promp_model::doacross::Nest;
use promp_model::doall::Loop;
use promp_model::samples::{deviation, median};
use promp_model::scaling::Scaling;
use promp_model::{Estimate, Profile, Schedule, decide};

/// A prediction from what one thread took, and the repetitions.
#[derive(Clone)]
pub struct Case {
    pub threads: u32,
    /// Seconds, as if threads did not meet in memory.
    pub predicted: f64,
    pub measured: Vec<f64>,
    /// What repetitions with one thread scatter by.
    pub scatter: f64,
}

/// Sweeps of Jacobi's iteration on n² points.
pub struct Sweeps {
    /// What all iterations take serially.
    pub serial: f64,
    pub shape: Shape,
    /// So many are in one region.
    pub in_one: u32,
    pub cases: Vec<Case>,
}

/// How sweeps are put into regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A region each.
    ForkJoin,
    /// Many in one region, a barrier each.
    Spmd,
}

/// From what the program `jacobi` has measured.
pub fn sweeps(n: u64, shape: Shape, threads: &[u32], lines: &[Line], costs: &Costs) -> Option<Sweeps> {
    let kind = if shape == Shape::Spmd { "spmd" } else { "time" };
    let blocks: Vec<_> = lines.iter().filter(|l| l.name == "block").collect();
    let buckets: Vec<_> = blocks
        .iter()
        .map(|b| {
            let rows = b.parameter.max(1) as f64;
            (median(&b.times) / rows, deviation(&b.times).powi(2) / rows)
        })
        .collect();
    let profile = Profile::new(n - 2, &buckets);
    let one = times(lines, "time", 1)?;
    let scatter = deviation(one) / median(one);
    let serial = profile.sum();
    let l = Loop { profile, scaling: Scaling::fit([(1, one, serial)]), scatter };
    let in_one = match shape {
        Shape::ForkJoin => 1,
        Shape::Spmd => lines.iter().find(|l| l.name == kind)?.parameter.clamp(1, 1 << 16) as u32,
    };
    let overheads = match shape {
        Shape::ForkJoin => costs.overheads(),
        Shape::Spmd => costs.overheads().in_one_region(in_one),
    };
    let case = |p: u32| {
        let predicted = l.time(Schedule::BLOCKS, &speeds(p, cpus()), &overheads).mean;
        Some(Case { threads: p, predicted, measured: times(lines, kind, p)?.to_vec(), scatter })
    };
    let cases = threads.iter().map(|p| case(*p)).collect::<Option<Vec<_>>>()?;
    Some(Sweeps { serial, shape, in_one, cases })
}

/// A wavefront over n³ points by tiles.
pub struct Tiled {
    pub nest: Nest,
    /// What an innermost iteration takes where one thread executes all as one block.
    pub serial: f64,
    pub tile: u64,
    pub is_best: bool,
    pub case: Case,
}

/// Executes it by one thread, then with b* and tiles around it.
pub fn wavefronts(
    programs: &Programs,
    n: u64,
    threads: &[u32],
    rounds: u64,
    costs: &Costs,
) -> Result<Vec<Tiled>, Failure> {
    let rounds = rounds.min(9);
    let most = threads.iter().copied().max().unwrap_or(1);
    let lines = programs.run("wavefront", &[n, u64::from(most), rounds])?;
    let (n1, n2) = ((n - 1) as f64, (n * n - n - 1) as f64);
    let Some(serial) = times(&lines, "serial", 1).map(|t| median(t) / (n1 * n2)) else { return Ok(vec![]) };
    let mut all = Vec::new();
    for &p in threads.iter().filter(|p| **p > 1) {
        // One thread, by the blocks of several: what caches hold hangs on how high they are.
        let Some(blocks) = times(&lines, "serial", p) else { continue };
        let t1 = Estimate::exact(median(blocks) / (n1 * n2));
        let scatter = deviation(blocks) / median(blocks);
        let nest = Nest { n1, n2, t1, t2: Estimate::exact(costs.at("post", p)) };
        let best = decide::tile(&nest, p);
        let mut tiles: Vec<u64> =
            [best / 4, best, best * 4, best * 16, n * n / 2].map(|b| b.clamp(1, n * n)).to_vec();
        tiles.dedup();
        let arguments: Vec<u64> = [n, u64::from(p), rounds].into_iter().chain(tiles).collect();
        for l in programs.run("wavefront", &arguments)? {
            if l.name != "time" || l.threads != p {
                continue;
            }
            let slow = (f64::from(p) / f64::from(cpus())).max(1.0);
            let predicted = nest.time(p, l.parameter as f64).mean * slow;
            let case = Case { threads: p, predicted, measured: l.times, scatter };
            all.push(Tiled { nest, serial, tile: l.parameter, is_best: l.parameter == best, case });
        }
    }
    Ok(all)
}
