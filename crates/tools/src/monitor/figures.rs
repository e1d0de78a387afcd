//! The figures of the report, worked out at its writing from the tables (paper P5; docs/internals/monitor.md
//! has the formulas).

use super::live_tables::{self, NOWHERE};
use crate::icv::globals;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use promp_report::live::{CellRead, SegmentRead, Snapshot};
use promp_report::words::{self, Construct, Sync};
use promp_report::{Efficiency, Report, Segment, Site, Trace, Track};

const S: f64 = 1e-9;
/// Losses of less than this share of the run are nothing to speak of.
const SMALL: f64 = 0.005;

/// Fills the monitor's part of a report in.
pub(super) fn fill(report: &mut Report) {
    let Some((end_ns, shot)) = super::at_the_end() else { return };
    let wall_s = end_ns.saturating_sub(shot.header.began_ns) as f64 * S;
    let total_tp = sum(regions(&shot).map(|s| s.tp_ns as f64 * S));
    let shot = &shot;
    report.segments =
        (0..shot.segments.len()).map(|s| segment(shot, s, total_tp, wall_s)).collect::<Vec<_>>();
    report.segments_left_out = shot.header.segments_left_out;
    report.efficiency = Some(efficiency(shot, &report.segments, wall_s));
    report.trace = trace(shot, report);
}

/// The sum; of nothing that is 0, not −0 as `Iterator::sum` has it.
fn sum(all: impl Iterator<Item = f64>) -> f64 {
    all.fold(0.0, |a, b| a + b)
}

fn regions(shot: &Snapshot) -> impl Iterator<Item = &SegmentRead> {
    shot.segments.iter().filter(|s| s.level > 0)
}

fn site(shot: &Snapshot, module: u64, offset: u64) -> Option<Site> {
    if module == NOWHERE {
        return None;
    }
    Some(Site { offset, ..shot.modules.get(module as usize)?.clone() })
}

/// The cells of segment `s` by number in the team.
fn by_number(shot: &Snapshot, s: usize, threads: usize) -> Vec<CellRead> {
    let mut all = vec![CellRead::default(); threads];
    for (t, cells) in shot.cells.iter().enumerate() {
        let c = &cells[s];
        let n = usize::from(live_tables::number(t as u32, s as u32));
        if c.visits == 0 && c.wait_ns == 0 {
            continue;
        }
        let n = if c.visits == 0 { t } else { n };
        if n >= all.len() {
            all.resize(n + 1, CellRead::default());
        }
        all[n].add(c);
    }
    all
}

fn segment(shot: &Snapshot, s: usize, total_tp: f64, wall_s: f64) -> Segment {
    let row = &shot.segments[s];
    let sync = |code| Sync::from_code(code).map_or("", Sync::word).to_owned();
    let cells = by_number(shot, s, row.threads as usize);
    let each = |f: fn(&CellRead) -> u64| cells.iter().map(|c| f(c) as f64 * S).collect::<Vec<f64>>();
    let sum = |f: fn(&CellRead) -> u64| cells.iter().map(f).sum::<u64>();
    let (tp, mean) = (row.tp_ns as f64 * S, row.mean_ns as f64 * S);
    let beside = live_tables::beside(s as u32);
    let on_a_cpu = |all: u64, w: &AtomicU64| all.saturating_sub(w.load(Relaxed)) as f64 * S;
    let tp_own = on_a_cpu(row.tp_ns, &beside.tp_stolen_ns);
    let mean_own = on_a_cpu(row.mean_ns, &beside.mean_stolen_ns);
    let serial = row.level == 0;
    let share = |x: f64| if total_tp > 0.0 { x / total_tp } else { 0.0 };
    // What the slowest thread's work does not account for; what was stolen from the slowest one; what is
    // uneven without that.
    let scheduling = (row.wall_ns as f64 * S - tp).max(0.0);
    let stolen = (tp - tp_own).max(0.0);
    let balance = (tp_own - mean_own).max(0.0);
    let losses = [("load_balance", balance), ("scheduling", scheduling), ("stolen", stolen)];
    let worst = losses.into_iter().fold(("", SMALL * wall_s), |w, l| if l.1 > w.1 { l } else { w });
    let cause = match serial {
        true if tp - mean > SMALL * wall_s => "serial",
        true => "",
        false => worst.0,
    };
    Segment {
        from: sync(row.from),
        to: sync(row.to),
        construct: Construct::from_code(row.construct).map_or("", Construct::word).into(),
        schedule: words::schedule_word(row.schedule),
        begin: site(shot, row.begin_module, row.begin_offset),
        end: site(shot, row.end_module, row.end_offset),
        level: (!serial).then_some(row.level as u32),
        threads: row.threads as u32,
        visits: row.visits,
        visits_again: row.visits_again,
        iterations: sum(|c| c.iterations),
        chunks: sum(|c| c.chunks),
        busy_s: each(|c| c.busy_ns),
        wait_s: each(|c| c.wait_ns),
        runtime_s: each(|c| c.runtime_ns),
        stolen_s: each(|c| c.stolen_ns),
        wall_s: Some(row.wall_ns as f64 * S),
        tp_s: tp,
        wre: if serial { 0.0 } else { share(tp - mean) },
        wre_own: (!serial).then(|| share(tp_own - mean_own)),
        gain_s: (tp - mean).max(0.0),
        cause: cause.into(),
        ..Segment::default()
    }
}

/// See docs/internals/monitor.md: `parallel` is the product of the three others.
fn efficiency(shot: &Snapshot, segments: &[Segment], wall_s: f64) -> Efficiency {
    let outer = |s: &&Segment| s.level == Some(1);
    let in_all = |f: fn(&Segment) -> &Vec<f64>| {
        sum(segments.iter().filter(|s| s.level.is_some()).flat_map(f).copied())
    };
    let (busy, stolen) = (in_all(|s| &s.busy_s), in_all(|s| &s.stolen_s));
    let threads = segments.iter().filter(outer).map(|s| s.threads).max();
    let m = f64::from(threads.unwrap_or(globals().initial.get().threads).max(1));
    let serial_s = (shot.header.serial_ns as f64 * S).min(wall_s);
    let region_s = wall_s - serial_s;
    let tp = sum(segments.iter().filter(outer).map(|s| s.tp_s));
    let ratio = |a: f64, b: f64| if b > 0.0 { (a / b).clamp(0.0, 1.0) } else { 1.0 };
    // Work that was stolen from was work all the same, as far as balance is concerned.
    let work = busy + stolen;
    let (load_balance, scheduling) = (ratio(work / m, tp), ratio(tp, region_s));
    // Of serial code only what others could have done of it is lost.
    let serial = ratio(serial_s / m + region_s, wall_s);
    Efficiency {
        parallel: serial * load_balance * scheduling,
        load_balance,
        scheduling,
        serial,
        stolen_s: stolen,
        wall_s,
        serial_s,
        busy_s: busy,
        wait_s: in_all(|s| &s.wait_s),
        runtime_s: in_all(|s| &s.runtime_s),
        visits_again: shot.segments.iter().map(|s| s.visits_again).sum(),
        ..Efficiency::default()
    }
}

fn trace(shot: &Snapshot, report: &Report) -> Option<Trace> {
    let rings = super::rings();
    if rings.is_empty() {
        return None;
    }
    let mut trace = Trace { every: 1, ..Trace::default() };
    for ring in rings {
        let (seen, kept, every) = ring.counts();
        trace.seen += seen;
        trace.thinned += seen - kept;
        trace.every = trace.every.max(every);
        let mut tracks: Vec<Track> = Vec::new();
        for (thread, level, span) in ring.spans(shot.header.began_ns) {
            match tracks.iter_mut().find(|t| t.thread == thread && t.level == level.max(1)) {
                Some(t) => t.spans.push(span),
                None => tracks.push(Track { thread, level: level.max(1), team: 0, spans: vec![span] }),
            }
        }
        trace.threads.extend(tracks);
    }
    trace.threads.sort_by_key(|t| (t.level, t.thread));
    for i in 1..trace.threads.len() {
        let before = &trace.threads[i - 1];
        if (before.level, before.thread) == (trace.threads[i].level, trace.threads[i].thread) {
            trace.threads[i].team = before.team + 1;
        }
    }
    let mark = |at_s, for_s, kind: &str, thread, text: &str| promp_report::Mark {
        at_s,
        for_s: Some(for_s),
        kind: kind.into(),
        thread,
        text: text.into(),
    };
    let failed =
        |f: &promp_report::Failure| mark(f.at_s, f.recovery_s, "failure", Some(f.thread), &f.recovery);
    trace.marks.extend(report.failures.iter().map(failed));
    trace.marks.extend(
        report
            .checkpoints
            .iter()
            .map(|c| mark(c.at_s, c.stop_s, "checkpoint", None, &c.generation.to_string())),
    );
    trace.marks.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    Some(trace)
}
