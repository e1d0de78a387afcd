//! A report as one self-contained page: no other file, no network.
//!
//! Everything that can be read is in the page itself, so that it can be printed, searched and read without
//! scripts; the script sorts the table and draws the timeline. A policy in the page's head keeps it from
//! loading anything.

mod timeline;

use super::advice::percent;
use super::picture::{Picture, Row, Times};
use super::places::base;
use super::text::{round, seconds};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use promp_report::{Efficiency, Report};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
/// Lines of source shown before and after a segment's.
const AROUND: u32 = 4;
/// Segments that have a colour of their own in the timeline.
const COLOURS: usize = 6;

/// The kinds of time, as classes of the style sheet and in words.
const KINDS: [(&str, &str); 4] = [
    ("busy", "working"),
    ("runtime", "in the runtime"),
    ("stolen", "CPU someone else's"),
    ("wait", "waiting for others"),
];

/// The page.
pub fn page(p: &Picture) -> String {
    let r = &p.report;
    let name = base(&r.program);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (name) ": where the time went" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (name) }
                    p.facts {
                        span { b { (r.threads) } " threads" }
                        span { b { (seconds(r.wall_s)) } " wall time" }
                        span { b { (r.regions) } " regions" }
                        span { b { (r.checkpoints.len()) } " checkpoints" }
                        span.bad[!r.failures.is_empty()] { b { (r.failures.len()) } " failures" }
                    }
                    (verdict(p))
                }
                main {
                    @if let Some(e) = &r.efficiency { (efficiency(p, e)) }
                    (segments(p))
                    (timeline::section(p))
                    (failures(r))
                    (checkpoints(r))
                    @if !p.notes.is_empty() {
                        section { h2 { "Notes" } ul { @for n in &p.notes { li { (n) } } } }
                    }
                }
                footer { (r.program) ", process " (r.pid) ", promp " (r.promp) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// The whole in one or two sentences.
fn verdict(p: &Picture) -> Markup {
    let r = &p.report;
    html! {
        p.verdict {
            @if let Some(e) = &r.efficiency {
                b class=(grade(e.parallel)) { (percent(e.parallel)) } " of the threads' time was work. "
            }
            @match p.rows.first() {
                Some(row) if row.gain >= 0.01 => {
                    "The most is to be gained in " a href="#s0" { b { (row.name) } " (" (row.at) ")" } ": "
                    b { (seconds(row.segment.gain_s).replace(' ', "\u{a0}")) }
                    ", up to " (percent(row.gain)) " of the run."
                }
                Some(_) => { "No segment loses 1 % of the run by threads that wait for each other." }
                None if r.efficiency.is_none() => {
                    "Where threads wait was not measured: " code { "promp run --monitor -- CMD" } " does."
                }
                None => { "The program had no parallel region while it was measured." }
            }
            @if let Some(s) = p.worst_serial() {
                " " (seconds(s.wall_s).replace(' ', "\u{a0}")) " went by with one thread in "
                b { (s.name) } " (" (s.at) ")."
            }
        }
    }
}

fn grade(v: f64) -> &'static str {
    match v {
        v if v >= 0.8 => "good",
        v if v >= 0.6 => "fair",
        _ => "bad",
    }
}

fn efficiency(p: &Picture, e: &Efficiency) -> Markup {
    let cards = [
        (
            "Parallel efficiency",
            e.parallel,
            "the share of the threads' time that was work: the product of the other three",
        ),
        ("Load balance", e.load_balance, "what uneven work leaves"),
        ("Scheduling", e.scheduling, "what handing out work and the runtime leave"),
        ("Serial", e.serial, "what code outside of parallel regions leaves"),
    ];
    html! {
        section {
            h2 { "Efficiency" }
            div.cards {
                @for (i, (name, value, meaning)) in cards.iter().enumerate() {
                    @if i > 0 { span.sign aria-hidden="true" { (if i == 1 { "=" } else { "×" }) } }
                    div.card {
                        h3 { (name) }
                        p class=(format!("value {}", grade(*value))) { (percent(*value)) }
                        div.meter { div class=(grade(*value)) style=(width(*value)) {} }
                        p.meaning { (meaning) }
                    }
                }
            }
            p.meaning { "80 % and more of each is fine." }
            (whole(p, e))
        }
    }
}

/// All threads' time in one bar.
fn whole(p: &Picture, e: &Efficiency) -> Markup {
    let r = &p.report;
    let t = p.times();
    let idle = e.serial_s * f64::from(r.threads.saturating_sub(1));
    let parts = [
        ("busy", "working", t.busy),
        ("serial", "outside of regions", e.serial_s),
        ("runtime", KINDS[1].1, t.runtime),
        ("stolen", KINDS[2].1, t.stolen),
        ("wait", KINDS[3].1, t.wait),
        ("idle", "without work meanwhile", idle),
    ];
    let all: f64 = parts.iter().map(|x| x.2).sum();
    if all <= 0.0 || all.is_nan() {
        return html! {};
    }
    let in_words = parts.map(|x| format!("{} {}", x.1, percent(x.2 / all)));
    html! {
        h3 { "Where the threads' time went: " (seconds(all)) " of " (r.threads) " threads" }
        div.whole.bar role="img" aria-label=(in_words.join(", ")) {
            @for (class, _, time) in parts.iter().filter(|x| x.2 > 0.0) {
                div class=(class) style=(width(time / all)) {}
            }
        }
        ul.legend {
            @for (class, name, time) in parts.iter().filter(|x| x.2 > 0.0) {
                li { i class=(class) {} (name) " " b { (percent(time / all)) } " " (seconds(*time)) }
            }
        }
    }
}

fn segments(p: &Picture) -> Markup {
    if p.rows.is_empty() {
        return html! {};
    }
    let longest = p.rows.iter().map(|r| r.total().sum()).fold(0.0, f64::max);
    let columns = [
        ("Segment", "text", "function and place in the source"),
        ("Threads' time", "number", "of all threads together"),
        ("WRE", "number", "share of the parallel time that perfect balance would save"),
        ("Gain", "number", "what that is of the run"),
        ("Visits", "number", "how often the team came by"),
        ("Cause", "text", "why threads wait"),
    ];
    html! {
        section {
            h2 { "Segments" }
            p.meaning {
                "A segment is the code between two points where threads wait for each other. "
                "A row opens what is behind it."
            }
            ul.legend { @for (class, name) in KINDS { li { i class=(class) {} (name) } } }
            table #segments {
                thead {
                    tr {
                        @for (i, (name, kind, meaning)) in columns.iter().enumerate() {
                            th scope="col" aria-sort=[(i == 2).then_some("descending")] {
                                button type="button" data-kind=(kind) title=(meaning) { (name) }
                            }
                        }
                    }
                }
                @for (i, row) in p.rows.iter().enumerate() { (segment(i, row, longest)) }
            }
            button #all type="button" hidden { "Show all " (p.rows.len()) " segments" }
            @if p.report.segments_left_out > 0 {
                p { (p.report.segments_left_out) " segments found no room in the tables." }
            }
        }
    }
}

fn segment(i: usize, row: &Row, longest: f64) -> Markup {
    let s = &row.segment;
    let sum = row.total();
    html! {
        tbody #{ "s" (i) } {
            tr.row {
                th scope="row" data-value=(format!("{} {}", row.name, row.at)) {
                    button.open type="button" aria-expanded=((i == 0).to_string()) aria-controls={ "d" (i) } {
                        i class=(format!("swatch c{}", i.min(COLOURS))) {}
                        b { (row.name) } " " span.at { (row.at) }
                        @if let Some(v) = &row.via { " " span.meaning { (v) } }
                    }
                }
                td data-value=(sum.sum()) {
                    div.cell { (bar(&sum, longest)) span { (seconds(sum.sum())) } }
                }
                td.number data-value=(s.wre) { (percent(s.wre)) }
                td.number data-value=(s.gain_s) { (seconds(s.gain_s)) }
                td.number data-value=(s.visits) { (s.visits) }
                td data-value=(row.cause) { (row.cause) }
            }
            tr.details #{ "d" (i) } hidden[i > 0] {
                td colspan="6" { (details(row)) }
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
    let longest = row.threads.iter().map(Times::sum).fold(0.0, f64::max);
    html! {
        p.advice { (row.advice) }
        p {
            "From " (row.between) "; " (row.kind)
            @if let Some(v) = &row.via { "; " (v) }
            "; wall time " (seconds(row.wall_s))
            @if s.iterations > 0 { "; " (s.iterations) " iterations" }
            @if s.chunks > 0 { " in " (s.chunks) " chunks" }
            @if let Some(own) = s.wre_own { "; WRE without what others took " (percent(own)) }
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
            div.threads tabindex="0" role="region" aria-label="each thread's time" {
                table {
                    caption { "Each thread" }
                    thead { tr { th { "thread" } th { "" } th { "working" } th { "waiting" } } }
                    tbody {
                        @for (i, t) in row.threads.iter().enumerate() {
                            tr {
                                th scope="row" { (i) }
                                td.wide { (bar(t, longest)) }
                                td { (seconds(t.busy)) }
                                td { (seconds(t.wait)) }
                            }
                        }
                    }
                }
            }
            (source(row))
        }
    }
}

/// The lines around a segment's, where its file is found.
fn source(row: &Row) -> Markup {
    let Some((file, line)) = &row.source else {
        return html! { p.meaning { "No source line is known: build the program with " code { "-g" } "." } };
    };
    let found = [std::path::PathBuf::from(file), base(file).into()].into_iter().find(|p| p.is_file());
    let Some(text) = found.and_then(|f| promp_files::read(&f, super::SOURCE).ok()) else {
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

fn failures(r: &Report) -> Markup {
    if r.failures.is_empty() {
        return html! {};
    }
    html! {
        section {
            h2 { "Failures" }
            table #failures {
                thead {
                    (heads(&[
                        ("at", true), ("kind", false), ("thread", true), ("region", true), ("in", false),
                        ("recovery", false), ("iterations again", true), ("took", true), ("by", false),
                    ]))
                }
                tbody {
                    @for f in &r.failures {
                        tr {
                            td.number { (round(f.at_s)) " s" }
                            td { (f.kind) }
                            td.number { (f.thread) }
                            td.number { (f.region) }
                            td { (f.construct) @if f.ordinal > 0 { " " (f.ordinal) } }
                            td { (f.recovery) }
                            td.number { (f.lost_iterations) }
                            td.number { (seconds(f.recovery_s)) }
                            td {
                                @for (i, b) in f.recomputed_by.iter().enumerate() {
                                    (if i > 0 { ", " } else { "" }) "thread " (b.thread) ": " (b.iterations)
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn checkpoints(r: &Report) -> Markup {
    if r.checkpoints.is_empty() {
        return html! {};
    }
    let stopped: f64 = r.checkpoints.iter().map(|c| c.stop_s).sum();
    html! {
        section {
            h2 { "Checkpoints" }
            p { "The program stood still for " (seconds(stopped)) " in all." }
            table #checkpoints {
                thead {
                    (heads(&[
                        ("generation", true), ("at", true), ("written", true), ("pages changed", true),
                        ("stood still", true), ("writing took", true),
                    ]))
                }
                tbody {
                    @for c in &r.checkpoints {
                        tr {
                            td.number { (c.generation) }
                            td.number { (round(c.at_s)) " s" }
                            td.number { (format!("{:.1} MiB", c.bytes as f64 / 1048576.0)) }
                            td.number { (c.dirty_pages) }
                            td.number { (seconds(c.stop_s)) }
                            td.number { (seconds(c.write_s)) }
                        }
                    }
                }
            }
        }
    }
}

/// The heads of a table's columns, and whether these hold numbers.
fn heads(columns: &[(&str, bool)]) -> Markup {
    html! {
        tr { @for (name, number) in columns { th scope="col" class=[number.then_some("number")] { (name) } } }
    }
}

/// A width for a style attribute.
fn width(share: f64) -> String {
    format!("width:{:.3}%", if share.is_finite() { share.clamp(0.0, 1.0) * 100.0 } else { 0.0 })
}
