//! The time of loops, by what promp-cc has said of them.

use serde::{Deserialize, Serialize};

/// Loops and sections that the runtime hands out, by call site, where the compile side has said something
/// about the program.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Loop {
    /// "file:line".
    pub at: String,
    /// idempotent, undo, in parts, opaque; unknown: built without the compile side.
    pub verdict: String,
    /// Why it is not idempotent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Executions.
    pub times: u64,
    /// As the team's thread 0 sees it, without a barrier at the end.
    pub seconds: f64,
    /// Of that, while a failure would have been refused.
    #[serde(default)]
    pub unsafe_s: f64,
}

/// Something because of which work could not have been executed again while the program ran: what cannot be
/// executed twice, or old values that were not saved.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Unsafe {
    /// "file:line".
    pub at: String,
    /// What it is.
    pub what: String,
    /// How often the work came to it.
    pub times: u64,
    /// Until the next save point, of all threads.
    pub seconds: f64,
    /// It is a loop that has stopped saving old values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
}

/// Why saving stopped.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Stopped {
    /// What it took, in percent of the loop's time without it.
    pub percent: f64,
    /// What it may take.
    pub budget: String,
    /// It was compiled with that (-fpromp-budget); else PROMP_SAVE_BUDGET is that.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub compiled: bool,
}
