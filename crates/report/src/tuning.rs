//! What the tuner decided, by call site and class of iteration counts; with PROMP_TUNE.

use serde::{Deserialize, Serialize};

/// A decision.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Tuned {
    /// "loop" or "region".
    pub what: String,
    /// Function that it lies in, or that is the region's.
    pub function: String,
    /// Build id of the program or library (its file name where it has none).
    pub module: String,
    /// Offset of the call (of the function) in it.
    pub offset: u64,
    /// Threads of the team.
    pub threads: u32,
    /// Binary logarithm of the number of iterations.
    pub class: u32,
    /// "given", "dynamic,N/16" and so on; empty: the search is not over.
    pub decision: String,
    /// Executions, and how many of them were part of a search.
    pub executions: u64,
    /// See `executions`.
    pub searched: u32,
    /// Seconds an iteration (a region) usually takes so.
    pub takes_s: f64,
    /// … and by the program's own way; 0: not known.
    pub own_s: f64,
    /// What the model expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_s: Option<f64>,
    /// The interval of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_s: Option<[f64; 2]>,
    /// What to do.
    pub advice: String,
}
