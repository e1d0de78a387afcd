//! What a run reports: the JSON object that PROMP_REPORT names, and the file that a running program keeps up
//! to date.
//!
//! The runtime fills these types in and the `promp` command reads them back, so that neither can drift from
//! the other. Three subjects, a file each: the report ([`Report`]), its segments and trace ([`Segment`],
//! [`Trace`]), and the live file ([`live`]). Fields may be added, none renamed: everything that came after
//! the first version is optional, so that reports of older versions load.

mod failures;
pub mod live;
mod loop_times;
pub mod numbers;
mod segments;
mod stats;
mod trace;
mod tuning;
pub mod words;

pub use self::{
    trace::{Mark, Span, Trace, Track},
    tuning::Tuned,
};
pub use failures::{By, Checkpoint, Failure, Visit};
pub use loop_times::{Loop, Stopped, Unsafe};
pub use segments::{Efficiency, Loss, Segment, Site};

use serde::{Deserialize, Serialize};

/// The report: one JSON object.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Version of the runtime.
    pub promp: String,
    /// Path of the program.
    pub program: String,
    /// Its process.
    pub pid: u32,
    /// The most threads it had in a team.
    pub threads: u32,
    /// From the runtime's start to the report.
    pub wall_s: f64,
    /// Outermost parallel regions.
    pub regions: u64,
    /// Why there are none, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Chunks that the runtime handed out.
    pub chunks: u64,
    /// Faults of PROMP_FAULT whose points were not reached.
    #[serde(default)]
    pub faults_not_fired: u64,
    /// Failures of threads and what was done.
    pub failures: Vec<Failure>,
    /// Checkpoints that were taken.
    #[serde(default)]
    pub checkpoints: Vec<Checkpoint>,
    /// Where checkpoints may be taken; where the report is one of checkpoints.
    #[serde(flatten)]
    pub candidates: Candidates,
    /// Loops by call site, with what the compile side said of them.
    #[serde(default)]
    pub loops: Vec<Loop>,
    /// Because of what, and for how long, a failure would have been refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsafe_sites: Vec<Unsafe>,
    /// Where the time went as a whole; with PROMP_MONITOR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Efficiency>,
    /// Where it went by synchronisation segment; with PROMP_MONITOR.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
    /// Segments that found no room in the tables: their time is in `efficiency`, they themselves are not
    /// listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub segments_left_out: u64,
    /// Events with times; with PROMP_MONITOR=trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// Decisions of the tuner; with PROMP_TUNE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuning: Vec<Tuned>,
    /// Silent errors; with PROMP_SDC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdc: Option<Sdc>,
    /// PROMP_REPLAY as it was used: proven, assume, never, or names of functions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub replay: String,
}

/// Places at which the program lets checkpoints be taken.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Candidates {
    /// The places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Site>,
    /// Visits of them by the first thread, in order; of many that follow each other closely, some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub visits: Vec<Visit>,
}

/// What the search for silent errors did.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Sdc {
    /// PROMP_SDC as it was used.
    pub mode: String,
    /// Sections of kernels that were checked as a whole.
    pub sections: u64,
    /// Kernels that ran.
    pub kernels: u64,
    /// Errors found.
    pub found: u64,
    /// Errors repaired.
    pub repaired: u64,
    /// Kernels that could not be checked.
    pub unverified: Vec<String>,
    /// Time of the kernels themselves.
    pub run_s: f64,
    /// Time of copies.
    pub copy_s: f64,
    /// Time of second executions.
    pub again_s: f64,
    /// Time of comparisons.
    pub compare_s: f64,
    /// What the model had expected in all.
    pub predicted_s: f64,
    /// Kernels a section, as chosen last.
    #[serde(default)]
    pub kernels_a_section: u64,
    /// Most bytes of device data that were verified at once.
    #[serde(default)]
    pub bytes: u64,
    /// Most bytes of copies of them that were kept.
    #[serde(default)]
    pub bytes_kept: u64,
    /// Were results compared by signatures?
    #[serde(default)]
    pub signatures: bool,
    /// Errors that PROMP_FAULT injected.
    #[serde(default)]
    pub injected: u64,
    /// Launches of the kernels that could not be checked.
    #[serde(default)]
    pub unverified_launches: u64,
    /// Chunks on CPUs that were looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub chunks: u64,
    /// Chunks that were executed again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub chunks_verified: u64,
    /// CPUs that were wrong and are not used any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus_left: Vec<u32>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
