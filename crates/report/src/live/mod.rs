//! The live file: what a running program with PROMP_MONITOR keeps up to date, and `promp top` reads, by
//! shared memory.
//!
//! ```text
//! Header             once
//! Module     × room  programs and shared objects that segments lie in
//! SegmentRow × room  what a segment is, and what its team measured of it as a whole
//! ThreadRow  × room  what a thread is doing
//! Cell       × room  a row a thread and segment, a thread's rows together: cell t · segments_room + s
//! ```
//!
//! Everything is a word of 64 bits, each written by one thread at a time and readable at any moment. A row is
//! filled in before the count that makes it visible is raised (Release; the reader's Acquire is the other
//! end), and never moves. The header says where each table begins and how much room it has; the magic number
//! is stored last.
//!
//! `/dev/shm/promp-live-UID-PID` ([`path`]) is a link to `/proc/PID/fd/N`, sealed memory of the process's
//! (or the file itself), made by the process and removed when it ends. A process that was killed leaves it
//! behind: `pid` and `process_start` tell whether it is that process's.

mod layout;
mod reader;

pub use layout::*;
pub use reader::{Problem, Snapshot, View};

/// Where the live file of process `pid` of user `uid` is.
pub fn path(uid: u32, pid: u32) -> String {
    format!("{DIRECTORY}/{}{pid}", prefix(uid))
}

/// How the names of a user's live files begin.
pub fn prefix(uid: u32) -> String {
    format!("promp-live-{uid}-")
}

/// The directory of live files: memory, not a disk.
pub const DIRECTORY: &str = "/dev/shm";
