//! /proc/PID/stat.

use std::fmt::Display;

/// Its fields behind the name, which may hold anything: the first one is the state, proc_pid_stat(5)'s third.
/// Nothing where there is no such process.
pub fn fields(pid: impl Display) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// Has it ended, so that only its status is there? Of [`fields`].
pub fn has_ended(fields: &[String]) -> bool {
    fields.first().is_some_and(|state| matches!(&**state, "Z" | "X"))
}
