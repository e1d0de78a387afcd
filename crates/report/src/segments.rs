//! Where the time went: as a whole ([`Efficiency`]) and by synchronisation segment ([`Segment`]).
//!
//! A segment is the code between two neighbouring synchronisation points of a team. The runtime says where
//! they are called from ([`Site`]: file of the module and offset in it); function, source file and line are
//! for the reader of the report to find, who has the time and the debug information for it.

use serde::{Deserialize, Serialize};

/// The POP/TALP metrics, each between 0 and 1; `parallel` is the product of the three others.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Efficiency {
    /// Share of threads × wall time that was work.
    pub parallel: f64,
    /// What uneven work leaves of it.
    pub load_balance: f64,
    /// What scheduling and the runtime leave of it.
    pub scheduling: f64,
    /// What code outside of regions leaves of it.
    pub serial: f64,
    /// Time in which the CPU was not ours, over all threads.
    pub stolen_s: f64,
    /// Wall time of the measured part of the run.
    pub wall_s: f64,
    /// Wall time outside of regions.
    pub serial_s: f64,
    /// Work in regions, over all threads.
    pub busy_s: f64,
    /// Waiting in regions, over all threads.
    pub wait_s: f64,
    /// In the runtime in regions (dispatch, tasks, locks, recovery), over all threads.
    pub runtime_s: f64,
    /// Visits of segments whose time was lived a second time after a rollback.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub visits_again: u64,
    /// What was lost, the largest loss first: `promp report --json` adds it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<Loss>,
}

/// A loss, by cause and place.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Loss {
    /// uneven work, short regions, short work, locks, tasks, late threads, serial code, stolen CPU.
    pub cause: String,
    /// Its share of all threads' time, from 0 to 1.
    pub share: f64,
    /// The function that it is in; none: the whole program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// In a sentence.
    pub text: String,
}

/// A place in a program's code, as a process sees it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    /// Path of the program or shared object.
    pub module: String,
    /// Its GNU build id in hexadecimal, where it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build_id: String,
    /// Return address of the call less the module's load address: what `addr2line -e module` takes.
    pub offset: u64,
}

/// What was measured between two synchronisation points. Lists have an entry a thread of the team.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Segment {
    /// Function that it lies in, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Source file, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The synchronisation that it begins with ([`crate::words::Sync`]).
    pub from: String,
    /// The one that it ends with.
    pub to: String,
    /// What the work in it is ([`crate::words::Construct`]).
    pub construct: String,
    /// Of its loop, as in `schedule(…)`: "dynamic,4".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Call that begins it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin: Option<Site>,
    /// Call that ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Site>,
    /// Depth of its region: 1 is an outermost one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// Threads of the largest team that visited it.
    pub threads: u32,
    /// Visits of a whole team.
    pub visits: u64,
    /// Of them: how many were lived a second time after a rollback.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub visits_again: u64,
    /// Iterations of its loops.
    pub iterations: u64,
    /// Chunks that the runtime handed out.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub chunks: u64,
    /// In the program's code.
    pub busy_s: Vec<f64>,
    /// Waiting for others.
    pub wait_s: Vec<f64>,
    /// In the runtime: dispatch, tasks, locks, recovery.
    pub runtime_s: Vec<f64>,
    /// The CPU was not ours.
    pub stolen_s: Vec<f64>,
    /// Wall time of its visits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// The slowest thread's busy time, summed over visits.
    pub tp_s: f64,
    /// (tp − ts/m)/Σtp: the share of all segments' time that perfect balance in this one would save.
    pub wre: f64,
    /// The same without the time in which the CPU was not ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wre_own: Option<f64>,
    /// What perfect balance would save of the run.
    pub gain_s: f64,
    /// load_balance, scheduling, serial, stolen; empty: nothing to speak of.
    pub cause: String,
    /// The model's expectation of its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_s: Option<f64>,
    /// The interval that the expectation lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_s: Option<[f64; 2]>,
    /// What the tuner chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}
