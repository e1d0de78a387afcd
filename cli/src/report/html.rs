//! A report as one self-contained page: no other file, no network.
//!
//! Everything that can be read is in the page itself, so that it can be printed, searched and read without
//! scripts; the script sorts the table and draws the timeline. A policy in the page's head keeps it from
//! loading anything.

mod events;
mod rows;
mod timeline;

use super::losses::WORTH;
use super::picture::Picture;
use super::symbolizer::base;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use promp_report::Efficiency;
use promp_report::numbers::{fixed, percent, seconds};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
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
                    (rows::section(p))
                    (timeline::section(p))
                    (events::failures(r))
                    (events::checkpoints(r))
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
            @match (p.rows.first(), p.losses.first()) {
                (Some(row), Some(loss)) => {
                    "Most is lost so: " b { (loss.text) } ". "
                    @if row.worth >= WORTH {
                        "The most is to be gained in "
                        a href="#s0" { b { (row.name) } " (" (row.at) ")" } ": " (row.advice) "."
                    } @else {
                        "No advice on a single segment would give 1 % of the run."
                    }
                }
                (Some(_), None) => { "Nothing costs 1 % of the threads' time." }
                (None, _) if r.efficiency.is_none() => {
                    "Where threads wait was not measured: " code { "promp run --monitor -- CMD" } " does."
                }
                (None, _) => { "The program had no parallel region while it was measured." }
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
        ("Scheduling efficiency", e.scheduling, "what handing out work and the runtime leave"),
        ("Serialization efficiency", e.serial, "what code outside of parallel regions leaves"),
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
    let all = parts.iter().fold(0.0, |a, x| a + x.2);
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

/// A width for a style attribute.
fn width(share: f64) -> String {
    format!("width:{}%", fixed(if share.is_finite() { share.clamp(0.0, 1.0) * 100.0 } else { 0.0 }, 3))
}
