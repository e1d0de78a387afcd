//! Events with times, in bounded memory: spans of each logical thread, and marks of what happened to the run
//! as a whole.
//!
//! Names are short because there are many: a trace is most of a report's bytes.

use serde::{Deserialize, Serialize};

/// What PROMP_MONITOR=trace kept.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Trace {
    /// Spans that were seen.
    pub seen: u64,
    /// Spans that were thinned out because the room for them was full.
    pub thinned: u64,
    /// In the end one visit of a segment in so many was kept; 1: all.
    pub every: u64,
    /// The logical threads.
    pub threads: Vec<Track>,
    /// What happened, by time.
    pub marks: Vec<Mark>,
}

/// A logical thread's spans, by the time of their beginning.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// Number in its team.
    pub thread: u32,
    /// Depth of the team: 1 is an outermost one.
    #[serde(default = "one")]
    pub level: u32,
    /// Which team of that depth, from 0.
    #[serde(default)]
    pub team: u32,
    /// Spans; of two that overlap one lies in the other.
    pub spans: Vec<Span>,
}

/// A piece of a thread's time.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// Begins at, from the start of the run.
    #[serde(rename = "t")]
    pub at_s: f64,
    /// Lasts.
    #[serde(rename = "d")]
    pub for_s: f64,
    /// region, busy, wait, runtime, chunk, task, recovery, stopped.
    #[serde(rename = "w")]
    pub what: String,
    /// The segment that it belongs to: an index of the report's list.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<u32>,
    /// Lived a second time, after a rollback.
    #[serde(rename = "again", default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// Something that happened to the run.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// When.
    pub at_s: f64,
    /// How long it took, if it took time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_s: Option<f64>,
    /// failure, recovery, checkpoint, rollback, restart, decision.
    pub kind: String,
    /// To whom, if to one thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// In words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

fn one() -> u32 {
    1
}
