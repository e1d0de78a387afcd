//! The page's tables of failures and checkpoints.

use crate::report::columns::Columns;
use crate::report::text;
use maud::{Markup, html};
use promp_report::Report;
use promp_report::numbers::seconds;

/// The failures; nothing if there are none.
pub(crate) fn failures(r: &Report) -> Markup {
    if r.failures.is_empty() {
        return html! {};
    }
    html! {
        section {
            h2 { "Failures" }
            (table("failures", &text::failed(&r.failures)))
        }
    }
}

/// The checkpoints; nothing if there are none.
pub(crate) fn checkpoints(r: &Report) -> Markup {
    if r.checkpoints.is_empty() {
        return html! {};
    }
    let stopped = r.checkpoints.iter().map(|c| c.stop_s).fold(0.0, |a, b| a + b);
    html! {
        section {
            h2 { "Checkpoints" }
            p { "The program stood still for " (seconds(stopped)) " in all." }
            (table("checkpoints", &text::taken(&r.checkpoints)))
        }
    }
}

/// A table as the page has it.
pub(crate) fn table(id: &str, t: &Columns) -> Markup {
    let class = |number: bool| number.then_some("number");
    html! {
        table id=(id) {
            thead { tr { @for h in t.heads() { th scope="col" class=[class(h.number)] { (h.name) } } } }
            tbody {
                @for row in t.rows() {
                    tr {
                        @for (cell, h) in row.iter().zip(t.heads()) { td class=[class(h.number)] { (cell) } }
                    }
                }
            }
        }
    }
}
