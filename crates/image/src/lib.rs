//! The image on disk: what a checkpoint directory holds, and how it is read back and verified.
//!
//! ```text
//! DIR/pages     pages of memory and of files in slots of 4 KiB; a slot that the last whole generation refers
//!               to is never overwritten
//! DIR/gen-N     generation N: header, description (JSON), index (page, slot, checksums); written aside,
//!               synced, renamed
//! DIR/sent-N    the last 64 MiB that were sent to a pipe, in a ring
//! DIR/undo-E    what has become of files in era E of the journal; undo-E-N: what they held
//! DIR/state     counters that outlive the process (faults that have struck; has the program ended by itself)
//! DIR/files/    the kernel's vDSO; copies of mapped files, if it is self-contained (file_copies.rs)
//! DIR/run        what was started; DIR/owner: whose the checkpoints are (run_record.rs)
//! DIR/lock      held (flock) by the process that writes
//! ```
//!
//! Every byte of a generation is under a checksum: the header under its own, description and index under two
//! in the header, each page under one in the index that is made of the page's number, too. A kill between any
//! two instructions leaves the last generation that was renamed whole.

mod about;
pub mod checkpoint_plan;
pub mod cpu;
mod directory;
pub mod end_record;
pub mod file_copies;
pub mod fit;
mod format;
mod identity;
pub mod on_signal;
mod open_files;
pub mod run_record;
mod scripts;
pub mod state;
mod threads;
pub mod xsave;

pub use about::{
    Asked, Clocks, DeadWord, Description, Disposition, Limit, Map, MappedFile, Registered, SHARED, Seconds,
    Timer, Word, cpu_features, recognise,
};
pub use directory::{Directory, SUMS, check_owner, generation_files, open_directory, open_if_there};
pub use format::{
    Entry, FILES, Generation, LONGEST_FILE, PAGE, Sum, Sums, decode, encode, file_offset, file_pages,
    page_sum, sum,
};
pub use identity::is_the_kernels;
pub use open_files::{
    FileLock, LockKind, Object, OpenFile, Origin, Peculiarity, Place, Received, Sent, SentLines, Watched,
};
pub use threads::{Attributes, Context, Own, Rights, Scheduling};
