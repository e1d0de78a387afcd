//! The trace in Chrome's format, which Perfetto (ui.perfetto.dev) and chrome://tracing open: a track a
//! logical thread, slices that nest, and marks for what happened to the run.

use super::picture::Picture;
use promp_report::{Mark, Report, Span, Track};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The trace as one JSON object; nothing if the report has none.
pub fn trace(p: &Picture) -> Option<Value> {
    let r = &p.report;
    let trace = r.trace.as_ref()?;
    let names: HashMap<u32, String> =
        p.rows.iter().map(|row| (row.index as u32, format!("{} {}", row.name, row.at))).collect();
    let mut events = vec![json!({ "ph": "M", "name": "process_name", "pid": r.pid, "tid": 0,
        "args": { "name": r.program } })];
    for (i, t) in trace.threads.iter().enumerate() {
        let tid = i + 1;
        let about = |name: &str, args: Value| {
            // The metadata of a track.
            json!({ "ph": "M", "name": name, "pid": r.pid, "tid": tid, "args": args })
        };
        events.push(about("thread_name", json!({ "name": track(t) })));
        events.push(about("thread_sort_index", json!({ "sort_index": i })));
        for s in nested(&t.spans) {
            let segment = s.segment.and_then(|n| names.get(&n));
            let name = match (segment, s.what.as_str()) {
                (Some(n), "busy" | "segment") => n.clone(),
                _ => s.what.clone(),
            };
            events.push(json!({ "ph": "X", "name": name, "cat": s.what, "pid": r.pid, "tid": tid,
                "ts": s.at_s * 1e6, "dur": s.for_s * 1e6,
                "args": { "segment": segment, "lived_again": s.again } }));
        }
    }
    for m in marks(r) {
        let tid = m.thread.and_then(|n| trace.threads.iter().position(|t| t.level == 1 && t.thread == n));
        let name = if m.text.is_empty() { m.kind.clone() } else { format!("{}: {}", m.kind, m.text) };
        events.push(
            json!({ "ph": "i", "name": name, "cat": m.kind, "pid": r.pid, "tid": tid.map_or(0, |i| i + 1),
            "ts": m.at_s * 1e6, "s": if tid.is_some() { "t" } else { "p" } }),
        );
    }
    Some(json!({ "displayTimeUnit": "ns", "traceEvents": events,
        "otherData": { "promp": r.promp, "program": r.program, "spans_seen": trace.seen,
            "spans_thinned": trace.thinned } }))
}

/// What a track is called.
pub fn track(t: &Track) -> String {
    if t.level <= 1 && t.team == 0 {
        format!("thread {}", t.thread)
    } else {
        format!("level {}, team {}, thread {}", t.level, t.team, t.thread)
    }
}

/// Spans by time, an outer one before those in it; what would only partly overlap an open one is cut at its
/// end, for slices must nest.
pub fn nested(spans: &[Span]) -> Vec<Span> {
    let fit = |s: &&Span| s.at_s.is_finite() && s.for_s.is_finite() && s.for_s >= 0.0;
    let mut all: Vec<Span> = spans.iter().filter(fit).cloned().collect();
    all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s).then(b.for_s.total_cmp(&a.for_s)));
    let mut open: Vec<f64> = Vec::new();
    for s in &mut all {
        open.retain(|end| *end > s.at_s);
        if let Some(end) = open.last() {
            s.for_s = s.for_s.min(end - s.at_s);
        }
        open.push(s.at_s + s.for_s);
    }
    all
}

/// What happened to the run, by time: the trace's marks, and from the lists what it has no mark for.
pub fn marks(r: &Report) -> Vec<Mark> {
    let mut all = r.trace.as_ref().map(|t| t.marks.clone()).unwrap_or_default();
    let has = |kind: &str| all.iter().any(|m| m.kind == kind);
    let (failures, recoveries, checkpoints) = (has("failure"), has("recovery"), has("checkpoint"));
    for f in &r.failures {
        if !failures {
            all.push(Mark {
                at_s: f.at_s,
                kind: "failure".into(),
                thread: Some(f.thread),
                text: format!(
                    "thread {} failed ({}) in region {}, {}",
                    f.thread, f.kind, f.region, f.construct
                ),
                for_s: None,
            });
        }
        if !recoveries {
            all.push(Mark {
                at_s: f.at_s + f.recovery_s,
                kind: if f.recovery == "rollback" { "rollback".into() } else { "recovery".into() },
                thread: Some(f.thread),
                for_s: Some(f.recovery_s),
                text: format!(
                    "{}, {} iterations again, {:.2} ms",
                    f.recovery,
                    f.lost_iterations,
                    f.recovery_s * 1e3
                ),
            });
        }
    }
    if !checkpoints {
        all.extend(r.checkpoints.iter().map(|c| Mark {
            at_s: c.at_s,
            kind: "checkpoint".into(),
            thread: None,
            for_s: Some(c.stop_s),
            text: format!(
                "generation {}, {:.1} MiB, stood still for {:.1} ms",
                c.generation,
                c.bytes as f64 / 1048576.0,
                c.stop_s * 1e3
            ),
        }));
    }
    all.retain(|m| m.at_s.is_finite());
    all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_nest() {
        let span = |at_s, for_s| Span { at_s, for_s, ..Span::default() };
        let all = nested(&[
            span(0.5, 1.0),
            span(0.0, 1.0),
            span(0.0, 0.2),
            span(f64::NAN, 1.0),
            span(2.0, -1.0),
            span(3.0, 1.0),
        ]);
        let times: Vec<(f64, f64)> = all.iter().map(|s| (s.at_s, s.for_s)).collect();
        assert_eq!(times, [(0.0, 1.0), (0.0, 0.2), (0.5, 0.5), (3.0, 1.0)]);
    }
}
