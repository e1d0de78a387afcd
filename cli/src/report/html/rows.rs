//! The page's table of segments: functions, the segments of each, and what is behind a segment.
//!
//! Each segment is a body of the table, with its details in a second row. A function with several segments
//! has a body of its own in front of theirs; the script keeps them together when it sorts.

use super::{COLOURS, KINDS, width};
use crate::report::losses::WORTH;
use crate::report::picture::{Picture, Row, Times, serial};
use crate::report::symbolizer::base;
use maud::{Markup, html};
use promp_report::numbers::{percent, seconds};

/// Lines of source shown before and after a segment's.
const AROUND: u32 = 4;

/// A column of the table.
struct Column {
    head: &'static str,
    kind: &'static str,
    meaning: &'static str,
}

/// The columns; the third is left out where it says nothing.
const COLUMNS: [Column; 6] = [
    Column { head: "Segment", kind: "text", meaning: "function and place in the source" },
    Column { head: "Threads’ time", kind: "number", meaning: "of all threads together" },
    Column {
        head: "Perfect balance would save",
        kind: "number",
        meaning: "WRE: the share of all segments’ time that perfect balance in this one would save",
    },
    Column {
        head: "To gain",
        kind: "number",
        meaning: "what the advice can give at most, of the run’s time",
    },
    Column { head: "Visits", kind: "number", meaning: "how often the team came by" },
    Column { head: "Cause", kind: "text", meaning: "why threads wait" },
];
/// The column that the table is sorted by.
const SORTED: usize = 3;
/// The one of the WRE.
const WRE: usize = 2;

/// What all rows need to know.
struct Table {
    /// The time of the longest row.
    longest: f64,
    /// The run's.
    wall_s: f64,
    /// Is there a WRE at all?
    wre: bool,
}

/// The section; nothing if no segment was measured.
pub(crate) fn section(p: &Picture) -> Markup {
    if p.rows.is_empty() {
        return html! {};
    }
    let t = Table {
        longest: p.rows.iter().map(|r| r.total().sum()).fold(0.0, f64::max),
        wall_s: p.report.wall_s,
        wre: p.rows.iter().any(|r| r.segment.wre >= 0.0005),
    };
    let columns = COLUMNS.iter().enumerate().filter(|c| t.wre || c.0 != WRE);
    let mut number = 0..;
    html! {
        section {
            h2 { "Segments" }
            p.meaning {
                "A segment is the code between two points where threads wait for each other. "
                "What most is to be gained from stands on top. A row opens what is behind it."
            }
            ul.legend { @for (class, name) in KINDS { li { i class=(class) {} (name) } } }
            table #segments {
                thead {
                    tr {
                        @for (i, c) in columns {
                            th scope="col" class=[(c.kind == "number" && i > 1).then_some("number")]
                                aria-sort=[(i == SORTED).then_some("descending")] {
                                button type="button" data-kind=(c.kind) title=(c.meaning) { (c.head) }
                            }
                        }
                    }
                }
                @for (i, rows) in p.functions().enumerate() {
                    @if rows.len() > 1 { (t.function(i, rows)) }
                    @for (row, n) in rows.iter().zip(&mut number) { (t.segment(i, n, row, rows.len() > 1)) }
                }
            }
            button #all type="button" hidden { "Show all " (p.rows.len()) " segments" }
            @if p.report.segments_left_out > 0 {
                p { (p.report.segments_left_out) " segments found no room in the tables." }
            }
        }
    }
}

impl Table {
    /// The row of a function with several segments: their sums.
    fn function(&self, group: usize, rows: &[Row]) -> Markup {
        let sum = rows.iter().fold(Times::default(), |a, r| a.plus(r.total()));
        let of = |f: fn(&Row) -> f64| rows.iter().map(f).fold(0.0, |a, b| a + b);
        let (wre, worth) = (of(|r| r.segment.wre), of(|r| r.worth));
        let visits: u64 = rows.iter().map(|r| r.segment.visits).sum();
        html! {
            tbody data-group=(group) {
                tr.function {
                    th scope="rowgroup" data-value=(rows[0].name) {
                        b { (rows[0].name) } " " span.meaning { (rows.len()) " segments" }
                    }
                    td data-value=(sum.sum()) { div.cell { span { (seconds(sum.sum())) } } }
                    @if self.wre { td.number data-value=(wre) { (percent(wre)) } }
                    td.number data-value=(worth) { (self.gain(worth)) }
                    td.number data-value=(visits) {}
                    td data-value="" {}
                }
            }
        }
    }

    /// What can be gained, in seconds and of the run.
    fn gain(&self, worth: f64) -> String {
        match worth {
            w if w >= WORTH => format!("{}, {}", seconds(w * self.wall_s), percent(w)),
            w => seconds(w * self.wall_s),
        }
    }

    fn segment(&self, group: usize, i: usize, row: &Row, member: bool) -> Markup {
        let s = &row.segment;
        let sum = row.total();
        let balance = !serial(s);
        html! {
            tbody #{ "s" (i) } data-group=(group) {
                tr.row.member[member] {
                    th scope="row" data-value=(format!("{} {}", row.name, row.at)) title=[&row.address] {
                        button.open type="button" aria-expanded=((i == 0).to_string())
                            aria-controls={ "d" (i) } {
                            i class=(format!("swatch c{}", i.min(COLOURS))) {}
                            @if !member { b { (row.name) } " " }
                            span.at { (row.at) }
                            @if let Some(v) = &row.via { " " span.meaning { (v) } }
                        }
                    }
                    td data-value=(sum.sum()) {
                        div.cell { (bar(&sum, self.longest)) span { (seconds(sum.sum())) } }
                    }
                    @if self.wre {
                        td.number data-value=(s.wre) { @if balance { (percent(s.wre)) } }
                    }
                    td.number data-value=(row.worth) { (self.gain(row.worth)) }
                    td.number data-value=(s.visits) { (s.visits) }
                    td data-value=(row.cause) { (row.cause) }
                }
                tr.details #{ "d" (i) } hidden[i > 0] {
                    td colspan=(COLUMNS.len() - usize::from(!self.wre)) { (details(row)) }
                }
            }
        }
    }
}

/// A stacked bar whose whole is `longest`.
fn bar(t: &Times, longest: f64) -> Markup {
    let parts = [t.busy, t.runtime, t.stolen, t.wait];
    html! {
        div.bar aria-hidden="true" {
            @for ((class, _), time) in KINDS.iter().zip(parts).filter(|x| x.1 > 0.0) {
                div class=(class) style=(width(if longest > 0.0 { time / longest } else { 0.0 })) {}
            }
        }
    }
}

fn details(row: &Row) -> Markup {
    let s = &row.segment;
    html! {
        p.advice { (row.advice) }
        p {
            @if let Some(a) = row.address.as_ref().filter(|_| row.source.is_none()) { (a) ": " }
            "from " (row.between) "; " (row.kind)
            @if let Some(v) = &row.via { "; " (v) }
            "; wall time " (seconds(row.wall_s))
            @if s.iterations > 0 { "; " (s.iterations) " iterations" }
            @if s.chunks > 0 { " in " (s.chunks) " chunks" }
            @if let Some(own) = s.wre_own.filter(|own| (own - s.wre).abs() >= 0.0005) {
                "; perfect balance would save " (percent(own)) " (WRE) without what others took"
            }
            @if s.visits_again > 0 { "; " (s.visits_again) " visits were repeated after a rollback" }
            "."
        }
        @if s.predicted_s.is_some() || s.decision.is_some() {
            p {
                @if let Some(t) = s.predicted_s { "The model expects " (seconds(t)) }
                @if let Some([low, high]) = s.interval_s { " (" (seconds(low)) " to " (seconds(high)) ")" }
                @if let Some(d) = &s.decision { " The tuner chose " b { (d) } "." }
            }
        }
        div.pair {
            (threads(row))
            (source(row))
        }
    }
}

/// Each thread's time.
fn threads(row: &Row) -> Markup {
    let longest = row.threads.iter().map(Times::sum).fold(0.0, f64::max);
    let waits = row.threads.iter().any(|t| t.wait > 0.0);
    html! {
        div.threads tabindex="0" role="region" aria-label="each thread's time" {
            table {
                caption { "Each thread" }
                thead { tr { th { "thread" } th { "" } th { "working" } @if waits { th { "waiting" } } } }
                tbody {
                    @for (i, t) in row.threads.iter().enumerate() {
                        tr {
                            th scope="row" { (i) }
                            td.wide { (bar(t, longest)) }
                            td { (seconds(t.busy)) }
                            @if waits { td { (seconds(t.wait)) } }
                        }
                    }
                }
            }
        }
    }
}

/// The lines around a segment's, where its file is found.
fn source(row: &Row) -> Markup {
    let Some((file, line)) = &row.source else {
        return html! { p.meaning { "No source line is known: build the program with " code { "-g" } "." } };
    };
    let found = [std::path::PathBuf::from(file), base(file).into()].into_iter().find(|p| p.is_file());
    let Some(text) = found.and_then(|f| promp_files::read(&f, crate::report::SOURCE).ok()) else {
        return html! { p.meaning { "The source file " (file) " is not here." } };
    };
    let text = String::from_utf8_lossy(&text);
    let first = line.saturating_sub(AROUND).max(1);
    let shown: Vec<(u32, &str)> =
        (1..).zip(text.lines()).skip(first as usize - 1).take(2 * AROUND as usize + 1).collect();
    html! {
        div.source tabindex="0" role="region" aria-label="source" {
            p { (file) }
            pre {
                @for (n, l) in shown {
                    span class=[(n == *line).then_some("here")] { i { (format!("{n:>5}")) } " " (l) "\n" }
                }
            }
        }
    }
}
