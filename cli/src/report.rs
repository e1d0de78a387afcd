//! `promp report`: a report as text.

use crate::args;
use crate::{Failure, Outcome};
use promp_report::{Checkpoint, Loop, Report};
use std::fmt::Write;

/// Prints the summary.
pub fn report(r: &args::Report) -> Outcome {
    let name = r.file.display();
    let text = std::fs::read_to_string(&r.file)
        .map_err(|e| Failure::new(66, format!("{name} cannot be read: {e}")))?;
    let damaged = |e: serde_json::Error| Failure::new(65, format!("{name} is not a promp report: {e}"));
    if r.json {
        let v: serde_json::Value = serde_json::from_str(&text).map_err(damaged)?;
        println!("{v}");
        return Ok(());
    }
    print!("{}", summary(&serde_json::from_str(&text).map_err(damaged)?));
    Ok(())
}

/// The loops' time by verdict, and those that cannot be executed again.
fn loops(t: &mut String, loops: &[Loop]) {
    let time = |verdict: &str| loops.iter().filter(|l| l.verdict == verdict).map(|l| l.seconds).sum::<f64>();
    let all: f64 = loops.iter().map(|l| l.seconds).sum();
    if all == 0.0 {
        return;
    }
    let shares: Vec<String> = ["idempotent", "undo", "opaque", "unknown"]
        .iter()
        .filter(|v| loops.iter().any(|l| l.verdict == **v))
        .map(|v| format!("{:.1} % {v}", time(v) / all * 100.0))
        .collect();
    let _ = writeln!(t, "loops      {:.3} s: {}", all, shares.join(", "));
    for l in loops.iter().filter(|l| l.verdict == "opaque") {
        let _ = writeln!(
            t,
            "           {:.3} s in {} executions at {}, opaque: {}",
            l.seconds, l.times, l.at, l.why
        );
    }
}

/// What checkpoints cost, and the last one.
fn checkpoints(t: &mut String, all: &[Checkpoint]) {
    let Some(last) = all.last() else { return };
    let stopped: f64 = all.iter().map(|c| c.stop_s).sum();
    let longest = all.iter().map(|c| c.stop_s).fold(0.0, f64::max);
    let written: u64 = all.iter().map(|c| c.bytes).sum();
    let _ = writeln!(
        t,
        "checkpoints {}: {:.1} MiB written; the program stood still for {:.1} ms in all, {:.1} ms at most",
        all.len(),
        written as f64 / 1048576.0,
        stopped * 1e3,
        longest * 1e3
    );
    let _ = writeln!(
        t,
        "           the last: generation {} at {:.3} s, {} pages had changed, written in {:.3} s",
        last.generation, last.at_s, last.dirty_pages, last.write_s
    );
}

fn summary(r: &Report) -> String {
    let mut t = String::new();
    let _ = writeln!(t, "program    {} (pid {}, promp {})", r.program, r.pid, r.promp);
    let _ = writeln!(t, "threads    {}    wall time {:.3} s", r.threads, r.wall_s);
    let _ = writeln!(t, "regions    {}    chunks through the runtime {}", r.regions, r.chunks);
    if r.faults_not_fired > 0 {
        let _ = writeln!(t, "not fired  {} of the injected faults", r.faults_not_fired);
    }
    loops(&mut t, &r.loops);
    checkpoints(&mut t, &r.checkpoints);
    if r.failures.is_empty() {
        t.push_str("failures   none\n");
        return t;
    }
    let _ = writeln!(t, "failures   {}\n", r.failures.len());
    let _ = writeln!(
        t,
        "{:>10}  {:<6} {:>6} {:>7}  {:<11} {:<10} {:>10} {:>9}  by thread",
        "at", "kind", "thread", "region", "construct", "recovery", "iterations", "took"
    );
    for f in &r.failures {
        let by: Vec<String> =
            f.recomputed_by.iter().map(|b| format!("{}:{}", b.thread, b.iterations)).collect();
        let construct =
            if f.ordinal > 0 { format!("{} {}", f.construct, f.ordinal) } else { f.construct.clone() };
        let _ = writeln!(
            t,
            "{:>8.4} s  {:<6} {:>6} {:>7}  {construct:<11} {:<10} {:>10} {:>6.2} ms  {}",
            f.at_s,
            f.kind,
            f.thread,
            f.region,
            f.recovery,
            f.lost_iterations,
            f.recovery_s * 1e3,
            by.join(" ")
        );
    }
    let lost: u64 = r.failures.iter().map(|f| f.lost_iterations).sum();
    let took: f64 = r.failures.iter().map(|f| f.recovery_s).sum();
    let _ =
        writeln!(t, "\n{lost} iterations recomputed; {:.2} ms from failure to recovery in all", took * 1e3);
    t
}
