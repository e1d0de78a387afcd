//! What a checkpoint has of a thread: where it stands, and what the kernel keeps of it.

use super::about::Word;
use serde::{Deserialize, Serialize};

/// What the kernel keeps of a thread for everybody to see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// Its name, as in /proc/PID/task/TID/comm.
    pub name: Word,
    /// The CPUs that it may use, if they are others than the process began with.
    pub cpus: Option<Vec<u32>>,
    /// How it is scheduled, if in another way than the process began with.
    pub scheduling: Option<Scheduling>,
    /// Signals that have been sent to it and that it blocks, a bit a signal.
    #[serde(default)]
    pub pending: u64,
    /// Its memory policy (mode and nodes), if another than the process began with.
    #[serde(default)]
    pub memory_policy: Option<(u32, Vec<u64>)>,
    /// Its I/O priority, if another than the process began with.
    #[serde(default)]
    pub io_priority: Option<u32>,
    /// Its timer slack in nanoseconds, if another than the process began with.
    #[serde(default)]
    pub timer_slack: Option<u64>,
    /// What it may do.
    #[serde(default)]
    pub rights: Option<Rights>,
    /// What else only the thread itself can tell. None: written by an older version.
    #[serde(default)]
    pub own: Option<Own>,
}

/// What the kernel keeps for a thread and tells only the thread itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// The signal at its parent's death (PR_SET_PDEATHSIG), if another than the process began with.
    pub death_signal: Option<u32>,
    /// What becomes of it when its memory fails (PR_MCE_KILL), likewise.
    pub memory_failure: Option<u32>,
    /// Does it write what memory is given back for (PR_SET_IO_FLUSHER)? Likewise.
    pub flusher: Option<u32>,
    /// securebits (capabilities(7)), likewise.
    pub securebits: Option<u32>,
    /// What else is one number of its, where the process began with another one; names as in
    /// docs/internals/attributes.md.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, u64)>,
    /// The base of its segment GS.
    pub gs: usize,
    /// CPU time: nanoseconds; of those microseconds in the program, in the system.
    pub used: [u64; 3],
}

/// What a thread may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// User ids: real, effective, saved, of the file system.
    pub users: [u32; 4],
    /// Group ids: likewise.
    pub groups: [u32; 4],
    /// Supplementary groups.
    pub also: Vec<u32>,
    /// Capabilities: inheritable, permitted, effective, bounding, ambient.
    pub capabilities: [u64; 5],
    /// It gets no new privileges by executing a program (PR_SET_NO_NEW_PRIVS).
    pub no_new: bool,
    /// Filters of system calls: the mode, and how many there are.
    pub filters: (u32, u32),
}

/// How a thread is scheduled: of sched_setattr(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduling {
    /// SCHED_OTHER (0), SCHED_FIFO …
    pub policy: u32,
    /// Nice value.
    pub nice: i32,
    /// Priority of a real-time policy.
    pub priority: u32,
    /// SCHED_FLAG_…
    #[serde(default)]
    pub flags: u64,
    /// Of SCHED_DEADLINE: runtime, deadline, period.
    #[serde(default)]
    pub times: [u64; 3],
}

/// A logical thread's context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Number of its seat.
    pub seat: u32,
    /// Address of its `Thread`.
    pub thread: usize,
    /// Address of the kernel's signal context on its stack.
    pub context: usize,
    /// Its thread pointer.
    pub thread_pointer: usize,
    /// Its robust list's head.
    pub robust_head: usize,
    /// Is it the one that the program began with?
    pub initial: bool,
    /// The status with which it ends the program, if it has recorded that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<i32>,
    /// What the kernel keeps of it for everybody to see.
    pub attributes: Attributes,
}
