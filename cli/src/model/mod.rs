//! `promp model`: what the cost model says, checked against measurements.
//!
//! `calibrate` measures what the runtime costs on this machine; `check` measures the three loops of the paper
//! on the cost model and compares; `predict` extrapolates a run to other numbers of threads. The model itself
//! is the crate `promp-model`.

mod benchmark_loops;
mod calibrate;
mod check;
mod costs;
mod errors;
mod machine_residuals;
mod plot;
mod predict;
mod programs;

use crate::args::{Model, ModelCommand};
use crate::{Failure, Outcome};
use std::path::Path;

/// Does what was asked for.
pub fn model(m: &Model) -> Outcome {
    match &m.command {
        ModelCommand::Calibrate(c) => calibrate::calibrate(c),
        ModelCommand::Check(c) => check::check(c),
        ModelCommand::Predict(p) => predict::predict(p),
    }
}

/// CPUs that this process may use.
fn cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

/// What part of a CPU each of `p` threads gets when they share `cpus`.
fn speeds(p: u32, cpus: u32) -> Vec<f64> {
    vec![(f64::from(cpus) / f64::from(p)).min(1.0); p as usize]
}

/// A time in the unit that fits.
pub fn time(s: f64) -> String {
    match s.abs() {
        t if t < 1e-6 => format!("{:.1} ns", s * 1e9),
        t if t < 1e-3 => format!("{:.2} µs", s * 1e6),
        t if t < 1.0 => format!("{:.2} ms", s * 1e3),
        _ => format!("{s:.3} s"),
    }
}

/// A relative error in per cent, with its sign.
fn per_cent(x: f64) -> String {
    format!("{:+.1} %", x * 100.0)
}

fn write(path: &Path, text: &str) -> Outcome {
    promp_files::replace(path, text.as_bytes())
        .map_err(|e| Failure::new(74, format!("{} cannot be written: {e}", path.display())))
}

/// A line that says that others use the machine, if they do: times are not to be trusted then.
fn load_note() -> Option<String> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = load.split(' ').next()?.parse().ok()?;
    let cpus = cpus();
    (load > 1.5 * f64::from(cpus)).then(|| {
        format!(
            "note: the load is {load:.0} on {cpus} CPUs; the measured times contain what others use, \
             the model does not"
        )
    })
}
