//! `promp model predict REPORT`: what the run would take with other numbers of threads.
//!
//! Each segment of the report is a loop of the model: its work is what its threads were busy with, dealt by
//! its schedule; around it is what a visit took beyond the slowest thread's work. The rest of the wall time
//! is serial and stays. By how much loops slow each other down in memory is what `promp model calibrate` has
//! kept; without that nothing is known of it. What the report saw is marked so; for other numbers of threads
//! nothing was measured, and the interval says what that means.

use super::machine_residuals::Learned;
use super::plot::{self, Point};
use super::{check, time, write};
use crate::args::Predict;
use crate::{Failure, Outcome, report};
use promp_model::doall::{Linear, Loop, Overheads};
use promp_model::scaling::Scaling;
use promp_model::{Estimate, Kind, Profile, Schedule};
use promp_report::{Report, Segment};
use serde::Serialize;

#[derive(Serialize, Clone, Debug)]
struct Row {
    threads: u32,
    seen: bool,
    predicted_s: f64,
    interval_s: [f64; 2],
    speed_up: f64,
}

/// Reads the report, predicts, prints.
pub fn predict(a: &Predict) -> Outcome {
    let name = a.report.display();
    let report = report::file::load(&a.report)?;
    if report.segments.is_empty() {
        return Err(Failure::new(
            65,
            format!("{name} has no segments: make it with `promp run --monitor --report {name} -- CMD`"),
        ));
    }
    let threads = check::list(&a.threads)?;
    let learned = Learned::kept().unwrap_or_default().scaling();
    let rows = table(&report, &threads, &learned);
    if let Some(f) = &a.svg {
        let of =
            |r: &Row| Point { threads: r.threads, mean: r.predicted_s, interval: r.interval_s, seen: r.seen };
        write(f, &plot::curve(&report.program, &rows.iter().map(of).collect::<Vec<_>>()))?;
    }
    if a.json {
        println!("{}", serde_json::to_string(&rows).unwrap_or_default());
        return Ok(());
    }
    println!("{} took {} with {} threads", report.program, time(report.wall_s), report.threads);
    println!("{:>7} {:>12} {:>26} {:>9}", "threads", "predicted", "90 % interval", "speed-up");
    for r in &rows {
        let seen = if r.seen { "seen" } else { "extrapolated" };
        let interval = format!("{} … {}", time(r.interval_s[0]), time(r.interval_s[1]));
        println!("{:>7} {:>12} {interval:>26} {:>9.2}  {seen}", r.threads, time(r.predicted_s), r.speed_up);
    }
    println!(
        "speed-up is against one thread. What this run cannot show: memory bandwidth, shared caches and NUMA \
         beyond {} threads, and other inputs.",
        report.threads
    );
    Ok(())
}

fn table(report: &Report, threads: &[u32], learned: &[(u32, Estimate)]) -> Vec<Row> {
    let of =
        |p: u32| report.segments.iter().map(|s| segment(s, p, learned)).fold(serial(report), Estimate::plus);
    let one = of(1).mean;
    threads
        .iter()
        .map(|&p| {
            let e = of(p);
            let seen = report.segments.iter().all(|s| s.threads == p);
            Row { threads: p, seen, predicted_s: e.mean, interval_s: [e.low, e.high], speed_up: one / e.mean }
        })
        .collect()
}

/// Wall time outside of the segments.
fn serial(report: &Report) -> Estimate {
    let inside: f64 = report.segments.iter().map(wall).sum();
    let outside = match &report.efficiency {
        Some(e) => e.serial_s,
        None => report.wall_s - inside,
    };
    Estimate::exact(outside.max(0.0))
}

/// Wall time of a segment's visits.
fn wall(s: &Segment) -> f64 {
    let threads = f64::from(s.threads.max(1));
    let sum = |v: &[f64]| v.iter().sum::<f64>();
    let all = sum(&s.busy_s) + sum(&s.wait_s) + sum(&s.runtime_s) + sum(&s.stolen_s);
    s.wall_s.unwrap_or((all / threads).max(s.tp_s))
}

/// A segment's time over all visits with `p` threads.
fn segment(s: &Segment, p: u32, learned: &[(u32, Estimate)]) -> Estimate {
    let threads = s.threads.max(1);
    let wall = wall(s);
    if p == threads {
        return Estimate { mean: wall, low: wall * 0.95, high: wall * 1.05 };
    }
    let work: f64 = s.busy_s.iter().sum();
    let by_thread = s.schedule.as_deref().is_none_or(|s| s.starts_with("static"));
    let schedule: Schedule = s.schedule.as_deref().and_then(|s| s.parse().ok()).unwrap_or(Schedule::BLOCKS);
    let visits = s.visits.max(1) as f64;
    let iterations = ((s.iterations as f64 / visits) as u64).max(u64::from(p.max(threads)));
    // With a static schedule what a thread was busy with is its part of the iteration space.
    let buckets: Vec<(f64, f64)> = if by_thread && schedule.chunk == 0 && !s.busy_s.is_empty() {
        let each = iterations as f64 / s.busy_s.len() as f64;
        s.busy_s.iter().map(|b| (b / visits / each, 0.0)).collect()
    } else {
        vec![(work / visits / iterations as f64, 0.0)]
    };
    let around = ((wall - s.tp_s) / visits).max(0.0);
    let each = if threads > 1 { around / f64::from(threads - 1) } else { 0.0 };
    let costs =
        Overheads { fork: Linear { fixed: 0.0, each: each / 2.0 }, scatter: 0.5, ..Overheads::default() };
    let l = Loop {
        profile: Profile::new(iterations, &buckets),
        scaling: Scaling::from_run(threads, learned),
        scatter: 0.05,
    };
    let kind = if schedule.kind == Kind::Static {
        schedule
    } else {
        Schedule { chunk: schedule.chunk.max(1), ..schedule }
    };
    l.time(kind, &vec![1.0; p as usize], &costs).times(Estimate::exact(visits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(busy: &[f64], wall: f64) -> Report {
        let s = Segment {
            threads: busy.len() as u32,
            visits: 10,
            iterations: 1000,
            busy_s: busy.to_vec(),
            wait_s: vec![0.0; busy.len()],
            runtime_s: vec![0.0; busy.len()],
            stolen_s: vec![0.0; busy.len()],
            tp_s: busy.iter().copied().fold(0.0, f64::max),
            wall_s: Some(wall),
            schedule: Some("static".into()),
            ..Segment::default()
        };
        Report { wall_s: wall + 1.0, threads: 2, segments: vec![s], ..Report::default() }
    }

    #[test]
    fn even_work_scales_and_the_serial_part_stays() {
        let r = table(&report(&[2.0, 2.0], 2.0), &[1, 2, 4], &[]);
        assert!((r[0].predicted_s - 5.0).abs() < 0.01 && !r[0].seen, "{r:?}");
        assert!((r[1].predicted_s - 3.0).abs() < 1e-9 && r[1].seen);
        assert!((r[2].predicted_s - 2.0).abs() < 0.01 && r[2].interval_s[1] > r[2].predicted_s * 1.05);
    }

    #[test]
    fn memory_that_was_calibrated_is_reckoned_with() {
        let m = [(2, Estimate { mean: 1.25, low: 1.2, high: 1.3 })];
        let r = table(&report(&[2.0, 2.0], 2.0), &[1, 2], &m);
        // 4 s of work by two threads are 3.2 s by one.
        assert!((r[0].predicted_s - 4.2).abs() < 0.01 && (r[1].predicted_s - 3.0).abs() < 1e-9, "{r:?}");
    }

    #[test]
    fn skew_stays_with_static_blocks() {
        // All the work in the first half: with four threads two of them share it.
        let r = table(&report(&[4.0, 0.0], 4.0), &[4], &[]);
        assert!((r[0].predicted_s - 3.0).abs() < 0.05, "{r:?}");
    }
}
