//! Failures of threads and checkpoints, as the report lists them.

use serde::{Deserialize, Serialize};

/// A thread failed.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// kill, crash, hang, memerr.
    pub kind: String,
    /// Its logical number.
    pub thread: u32,
    /// Ordinal of the outermost region, from 1.
    pub region: u64,
    /// What it was in: loop, sections, task …
    pub construct: String,
    /// Which construct of its kind in the region, from 1; 0: does not apply.
    pub ordinal: u64,
    /// The chunk that it was in, `[first, last)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<(i64, i64)>,
    /// When, from the start of the run.
    pub at_s: f64,
    /// recompute, resume, rollback, restart, refused.
    pub recovery: String,
    /// Iterations that had to be executed again.
    pub lost_iterations: u64,
    /// Who executed them.
    pub recomputed_by: Vec<By>,
    /// From the failure to the end of the recovery.
    pub recovery_s: f64,
}

/// A survivor's share of a recovery.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub struct By {
    /// Its logical number.
    pub thread: u32,
    /// Iterations that it executed.
    pub iterations: u64,
}

/// A checkpoint was taken.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// Its number, from 1.
    pub generation: u64,
    /// When, from the start of the run.
    pub at_s: f64,
    /// Bytes written.
    pub bytes: u64,
    /// Pages that had changed.
    pub dirty_pages: u64,
    /// How long the threads stood still.
    pub stop_s: f64,
    /// How long it took to write.
    pub write_s: f64,
    /// Bytes of dead memory that it does without.
    #[serde(default)]
    pub left_out: u64,
    /// What it has cost the program: the stop, and its share of the CPU time for it.
    #[serde(default)]
    pub cost_s: f64,
    /// The interval from then on.
    #[serde(default)]
    pub interval_s: f64,
}

/// A visit of a place for checkpoints.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Visit {
    /// Which visit of all, from 1.
    pub number: u64,
    /// Of which place: its index in the report's list.
    pub place: usize,
    /// When, from the start of the run.
    pub at_s: f64,
    /// Bytes of the program that were there and not dead.
    pub bytes: u64,
}
