//! Shared memory (MAP_SHARED) that only this process has.
//!
//! Writable memory that others have makes a checkpoint impossible: a rollback would change it under their
//! hands. Much of what could be shared is not: semaphores without a name (Python's multiprocessing),
//! anonymous memory (Python's `mmap`), memfd_create, temporary files, files that are written as arrays
//! (numpy's memmap). Whose it is, owners.rs asks. What has no name and no descriptor is saved like other
//! memory, and put back as new shared memory, which a child made since does not have. The rest is files:
//! their content is saved like that of all files which the program writes to (contents.rs), and they are
//! mapped anew when they are back (files.rs). Both are read whole at each checkpoint: what the kernel tells
//! of pages is about one mapping.

mod files;
mod owners;

pub(crate) use files::{Unopened, bind, put_back};
pub(crate) use owners::Owners;
pub use owners::note_fork;

/// Why a mapping keeps a checkpoint from being taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// It has to be looked at first.
    Unknown,
    /// It cannot be saved.
    Refused(String),
}
