//! From a snapshot of the live file to what is shown: the same picture that a report gives, of the run so far
//! or of the last interval alone.

use crate::report::picture::{Picture, Row};
use crate::report::symbolizer::Places;
use promp_report::live::{CellRead, SegmentRead, Snapshot, ThreadRead};
use promp_report::words::{Construct, State, Sync, schedule_word};
use promp_report::{Report, Segment};
use serde_json::{Value, json};

const NS: f64 = 1e-9;

/// What is shown.
pub struct Shown {
    /// Segments with names, the costliest first.
    pub picture: Picture,
    /// Threads that are or were in use.
    pub threads: Vec<Thread>,
    /// Time since the runtime began, or of the interval.
    pub seconds: f64,
    /// The process has ended.
    pub ended: bool,
    /// Counts of the header.
    pub counts: Counts,
}

/// Counts that the header keeps.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    /// Outermost regions.
    pub regions: u64,
    /// Failures, and those recovered from.
    pub failures: u64,
    /// Those recovered from.
    pub recoveries: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Rollbacks.
    pub rollbacks: u64,
    /// Seconds since the last checkpoint.
    pub since_checkpoint: Option<f64>,
}

/// A thread as it is shown.
pub struct Thread {
    /// What the row says.
    pub read: ThreadRead,
    /// What it is doing.
    pub state: State,
    /// The name of the segment that it is in.
    pub segment: String,
    /// Shares of busy, runtime, stolen and waiting time of what was measured of it.
    pub shares: [f64; 4],
}

/// Seconds on the clock that the file uses.
pub fn now_ns() -> u64 {
    let t = nix::time::ClockId::CLOCK_MONOTONIC.now().expect("every Linux has this clock");
    t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64
}

/// What the threads have done in the segments since it was `before`: a row a thread.
fn cells_since(before: &[Vec<CellRead>], now: &[Vec<CellRead>]) -> Vec<Vec<CellRead>> {
    let row = |(t, row): (usize, &Vec<CellRead>)| {
        let old = |s: usize| before.get(t).and_then(|r| r.get(s)).copied().unwrap_or_default();
        row.iter().enumerate().map(|(s, c)| less(c, &old(s))).collect()
    };
    now.iter().enumerate().map(row).collect()
}

/// Segment `i` of `now`, with what was added since it was `old`, of it and of its column of `cells`.
fn segment(now: &Snapshot, i: usize, old: &SegmentRead, cells: &[Vec<CellRead>]) -> Segment {
    let s = &now.segments[i];
    let list = |f: &dyn Fn(&CellRead) -> u64| -> Vec<f64> {
        let team = (s.threads as usize).clamp(1, cells.len().max(1));
        let all = cells.iter().map(|row| row.get(i).map_or(0.0, |c| f(c) as f64 * NS));
        let all: Vec<f64> = all.collect();
        let used = all.iter().rposition(|x| *x > 0.0).map_or(0, |p| p + 1);
        all.into_iter().take(used.max(team)).collect()
    };
    let sum = |f: &dyn Fn(&CellRead) -> u64| {
        cells.iter().filter_map(|r| r.get(i)).map(f).fold(0, u64::saturating_add)
    };
    let tp = s.tp_ns.saturating_sub(old.tp_ns) as f64 * NS;
    let mean = s.mean_ns.saturating_sub(old.mean_ns) as f64 * NS;
    let least = s.least_wait_ns.saturating_sub(old.least_wait_ns) as f64 * NS;
    let stolen = sum(&|c| c.stolen_ns) as f64 * NS / s.threads.max(1) as f64;
    let gain = (tp - mean).max(0.0);
    let serial = s.construct == Construct::Serial as u64;
    let cause = [("load_balance", gain), ("scheduling", least), ("stolen", stolen)]
        .into_iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|c| c.1 > 0.0)
        .map_or("", |c| c.0);
    Segment {
        from: Sync::from_code(s.from).map_or("?", Sync::word).into(),
        to: Sync::from_code(s.to).map_or("?", Sync::word).into(),
        construct: Construct::from_code(s.construct).map_or("?", Construct::word).into(),
        schedule: schedule_word(s.schedule),
        begin: now.site(s.begin_module, s.begin_offset),
        end: now.site(s.end_module, s.end_offset),
        level: u32::try_from(s.level).ok(),
        threads: u32::try_from(s.threads).unwrap_or(u32::MAX),
        visits: s.visits.saturating_sub(old.visits),
        visits_again: s.visits_again,
        iterations: sum(&|c| c.iterations),
        chunks: sum(&|c| c.chunks),
        busy_s: list(&|c| c.busy_ns),
        wait_s: list(&|c| c.wait_ns),
        runtime_s: list(&|c| c.runtime_ns),
        stolen_s: list(&|c| c.stolen_ns),
        wall_s: Some(s.wall_ns.saturating_sub(old.wall_ns) as f64 * NS),
        tp_s: tp,
        gain_s: gain,
        cause: if serial { "serial".into() } else { cause.into() },
        ..Segment::default()
    }
}

/// Makes the picture of `now`, or of what happened since `before`.
pub fn shown(
    pid: u32,
    now: &Snapshot,
    at_ns: u64,
    before: Option<(&Snapshot, u64)>,
    ended: bool,
    places: &mut Places,
) -> Shown {
    let h = &now.header;
    let end = if h.ended_ns > 0 { h.ended_ns } else { at_ns };
    let from = before.map_or(h.began_ns, |b| b.1);
    let seconds = end.saturating_sub(from) as f64 * NS;
    let (old_segments, old_cells) =
        before.map_or((&[][..], &[][..]), |(s, _)| (&s.segments[..], &s.cells[..]));
    let cells = cells_since(old_cells, &now.cells);
    let old = |i: usize| old_segments.get(i).copied().unwrap_or_default();
    let mut segments: Vec<Segment> =
        (0..now.segments.len()).map(|i| segment(now, i, &old(i), &cells)).collect();
    let in_regions = |s: &Segment| s.construct != Construct::Serial.word();
    let all: f64 = segments.iter().filter(|s| in_regions(s)).map(|s| s.tp_s).sum();
    for s in segments.iter_mut().filter(|s| in_regions(s)) {
        s.wre = if all > 0.0 { s.gain_s / all } else { 0.0 };
    }
    let report = Report {
        program: super::find::program(pid),
        pid,
        threads: u32::try_from(h.team).unwrap_or(u32::MAX),
        wall_s: seconds,
        regions: h.regions,
        segments,
        segments_left_out: h.segments_left_out,
        ..Report::default()
    };
    let picture = Picture::with(report, places);
    Shown {
        threads: threads(now, &cells, &picture.rows),
        picture,
        seconds,
        ended,
        counts: Counts {
            regions: h.regions,
            failures: h.failures,
            recoveries: h.recoveries,
            checkpoints: h.checkpoints,
            rollbacks: h.rollbacks,
            since_checkpoint: (h.last_checkpoint_ns > 0)
                .then(|| end.saturating_sub(h.last_checkpoint_ns) as f64 * NS),
        },
    }
}

fn threads(now: &Snapshot, cells: &[Vec<CellRead>], rows: &[Row]) -> Vec<Thread> {
    now.threads
        .iter()
        .enumerate()
        .filter_map(|(row, read)| {
            let state = State::from_code(read.state).unwrap_or(State::Free);
            if state == State::Free {
                return None;
            }
            let parts = cells.get(row).into_iter().flatten().fold([0.0; 4], |mut a, c| {
                for (sum, ns) in a.iter_mut().zip([c.busy_ns, c.runtime_ns, c.stolen_ns, c.wait_ns]) {
                    *sum += ns as f64;
                }
                a
            });
            let all: f64 = parts.iter().sum();
            let segment = usize::try_from(read.segment).ok().and_then(|s| s.checked_sub(1));
            let name = segment.and_then(|s| rows.iter().find(|r| r.index == s));
            Some(Thread {
                read: *read,
                state,
                segment: name.map_or(String::new(), |r| format!("{}  {}", r.name, r.at)),
                shares: parts.map(|p| if all > 0.0 { p / all } else { 0.0 }),
            })
        })
        .collect()
}

/// What was added since; counters only grow, but a stranger's may do anything.
fn less(now: &CellRead, old: &CellRead) -> CellRead {
    CellRead {
        visits: now.visits.saturating_sub(old.visits),
        busy_ns: now.busy_ns.saturating_sub(old.busy_ns),
        wait_ns: now.wait_ns.saturating_sub(old.wait_ns),
        runtime_ns: now.runtime_ns.saturating_sub(old.runtime_ns),
        stolen_ns: now.stolen_ns.saturating_sub(old.stolen_ns),
        iterations: now.iterations.saturating_sub(old.iterations),
        chunks: now.chunks.saturating_sub(old.chunks),
        longest_ns: now.longest_ns,
    }
}

/// What is shown, for scripts.
pub fn json(s: &Shown) -> Value {
    let r = &s.picture.report;
    let threads: Vec<Value> = s
        .threads
        .iter()
        .map(|t| {
            json!({ "thread": t.read.number, "level": t.read.level, "tid": t.read.tid,
                "state": t.state.word(), "segment": t.segment, "busy": t.shares[0],
                "runtime": t.shares[1], "stolen": t.shares[2],
                "wait": t.shares[3], "failures": t.read.failures })
        })
        .collect();
    json!({ "program": r.program, "pid": r.pid, "threads": r.threads, "wall_s": s.seconds, "ended": s.ended,
        "regions": s.counts.regions, "failures": s.counts.failures, "recoveries": s.counts.recoveries,
        "checkpoints": s.counts.checkpoints, "rollbacks": s.counts.rollbacks, "running": threads,
        "segments": s.picture.rows.iter().map(|r| &s.picture.report.segments[r.index]).collect::<Vec<_>>(),
        "notes": s.picture.notes })
}
