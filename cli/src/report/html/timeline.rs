//! The timeline: what each logical thread did when, and what happened to the run.
//!
//! The script draws it from pieces that do not overlap; what happened is a list, too, for those who cannot
//! see the drawing.

use super::{COLOURS, events};
use crate::report::chrome;
use crate::report::columns::{Columns, number, text};
use crate::report::picture::Picture;
use maud::{Markup, PreEscaped, html};
use promp_report::numbers::round;
use promp_report::{Mark, Span, Trace};
use serde_json::json;

/// What the script draws.
fn data(p: &Picture, marks: &[Mark]) -> String {
    let (r, trace) = (&p.report, p.report.trace.as_ref());
    let colour = |segment: u32| {
        p.rows.iter().position(|row| row.index as u32 == segment).map_or(COLOURS, |i| i.min(COLOURS))
    };
    let mut names = vec![String::new(); r.segments.len()];
    for row in &p.rows {
        names[row.index] = format!("{} {}", row.name, row.at);
    }
    let tracks: Vec<_> = trace
        .map(|t| &t.threads[..])
        .unwrap_or_default()
        .iter()
        .map(|t| {
            let pieces: Vec<_> = pieces(&t.spans)
                .into_iter()
                .map(|x| {
                    let segment = x.segment.filter(|s| (*s as usize) < names.len());
                    json!([
                        short(x.at),
                        short(x.length),
                        x.kind,
                        segment.map_or(-1, i64::from),
                        segment.map_or(COLOURS, colour)
                    ])
                })
                .collect();
            json!({ "name": chrome::track(t), "pieces": pieces })
        })
        .collect();
    let end = trace
        .iter()
        .flat_map(|t| t.threads.iter().flat_map(|t| &t.spans).map(|s| s.at_s + s.for_s))
        .filter(|t| t.is_finite())
        .fold(r.wall_s, f64::max);
    let data = json!({ "end": end, "tracks": tracks, "names": names,
        "marks": marks.iter().map(|m| json!([m.at_s, m.kind, m.text])).collect::<Vec<_>>() });
    // "</script>" must not end it.
    data.to_string().replace('<', "\\u003c")
}

/// The section; nothing to draw is said in words.
pub fn section(p: &Picture) -> Markup {
    let marks = chrome::marks(&p.report);
    let trace = p.report.trace.as_ref();
    if trace.is_none() && marks.is_empty() {
        return html! {};
    }
    html! {
        section {
            h2 { "Timeline" }
            @match trace {
                None => {
                    p.meaning {
                        "What each thread did when is shown after " code { "promp run --monitor=trace" } "."
                    }
                }
                Some(t) => { (drawn(t)) }
            }
            div #timeline tabindex="0" role="application"
                aria-label="Timeline. Plus and minus zoom, arrows move, 0 shows all." {
                canvas {}
            }
            p #under aria-live="polite" {
                @if trace.is_some() {
                    "Move the pointer over it, or drag; keys: + and - zoom, arrows move, 0 shows all."
                }
            }
            noscript { p { "The drawing needs scripts; the list below says what happened." } }
            @if !marks.is_empty() {
                details {
                    summary { (marks.len()) " events" }
                    (events::table("events", &happened(&marks)))
                }
            }
            script #data type="application/json" { (PreEscaped(data(p, &marks))) }
        }
    }
}

/// What happened, as a table.
fn happened(marks: &[Mark]) -> Columns {
    let row = |m: &Mark| vec![format!("{} s", round(m.at_s)), m.kind.clone(), m.text.clone()];
    Columns::new(&[number("at"), text("event"), text("more")], marks.iter().map(row).collect())
}

fn drawn(t: &Trace) -> Markup {
    html! {
        ul.legend {
            li { i.busy {} "working (one shade a segment)" }
            li { i.wait {} "waiting" }
            li { i.runtime {} "in the runtime" }
            li { i.stolen {} "recovery, stopped" }
            li { span.failure { "✖" } " failure" }
            li { span.recovery { "↻" } " recovery, rollback" }
            li { span.checkpoint { "◆" } " checkpoint" }
        }
        @if t.thinned > 0 {
            p.meaning {
                "Of " (t.seen) " spans " (t.thinned) " were thinned out to stay in bounded memory"
                @if t.every > 1 { ": one visit of " (t.every) " is kept" }
                ". What is not drawn was not kept."
            }
        }
    }
}

/// A piece of a track.
#[derive(Debug, PartialEq)]
struct Piece {
    at: f64,
    length: f64,
    /// 0: working, 1: waiting, 2: in the runtime, 3: recovery or stopped.
    kind: u8,
    segment: Option<u32>,
}

/// Spans that nest as pieces that do not overlap: at each moment the innermost one that is drawn.
fn pieces(spans: &[Span]) -> Vec<Piece> {
    let kind = |what: &str| match what {
        "busy" | "segment" | "chunk" | "task" => Some(0),
        "wait" => Some(1),
        "runtime" => Some(2),
        "recovery" | "stopped" | "rollback" => Some(3),
        _ => None,
    };
    let mut all: Vec<Piece> = Vec::new();
    // Those open now: end, kind, segment.
    let mut open: Vec<(f64, u8, Option<u32>)> = Vec::new();
    let mut now = f64::NEG_INFINITY;
    let mut put = |from: f64, to: f64, kind, segment| {
        if to > from {
            match all.last_mut() {
                Some(l) if l.kind == kind && l.segment == segment && l.at + l.length == from => {
                    l.length = to - l.at
                }
                _ => all.push(Piece { at: from, length: to - from, kind, segment }),
            }
        }
    };
    for s in chrome::nested(spans) {
        let Some(kind) = kind(&s.what) else { continue };
        while let Some((end, k, segment)) = open.last().copied().filter(|o| o.0 <= s.at_s) {
            put(now, end, k, segment);
            now = now.max(end);
            open.pop();
        }
        if let Some((_, k, segment)) = open.last() {
            put(now, s.at_s, *k, *segment);
        }
        now = s.at_s;
        let segment = s.segment.or(open.last().and_then(|o| o.2));
        open.push((s.at_s + s.for_s, kind, segment));
    }
    while let Some((end, k, segment)) = open.pop() {
        put(now, end, k, segment);
        now = now.max(end);
    }
    all
}

/// To the nearest nanosecond: what more digits would say nobody measured.
fn short(s: f64) -> f64 {
    (s * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_span_is_drawn() {
        let span =
            |at_s, for_s, what: &str, segment| Span { at_s, for_s, what: what.into(), segment, again: false };
        let all = pieces(&[
            span(0.0, 10.0, "region", None),
            span(0.0, 6.0, "busy", Some(3)),
            span(1.0, 1.0, "runtime", None),
            span(3.0, 1.0, "chunk", None),
            span(6.0, 2.0, "wait", Some(3)),
            span(9.0, 1.0, "busy", Some(4)),
        ]);
        let short: Vec<_> = all.iter().map(|p| (p.at, p.length, p.kind, p.segment)).collect();
        assert_eq!(
            short,
            [
                (0.0, 1.0, 0, Some(3)),
                (1.0, 1.0, 2, Some(3)),
                (2.0, 4.0, 0, Some(3)),
                (6.0, 2.0, 1, Some(3)),
                (9.0, 1.0, 0, Some(4)),
            ]
        );
    }
}
