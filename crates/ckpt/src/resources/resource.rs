//! What there is to say of a kind of process state. A kind is a file beside this one, and a row of table.rs.
//!
//! ```text
//! a checkpoint           look, of all kinds -> obstacle -> save -> (it is whole) whole
//! a rollback, a restart  leave -> (memory is put back) -> put_back -> (threads have hosts) resume
//! ```
//! All of it is done by the keeper while the program's threads stand still: what calls libc's `malloc` may
//! wait for one of them for ever. Kinds are asked in the table's order, all of them for one thing before the
//! next.

use crate::image::Description;
use crate::open_descriptors::Inherited;
use crate::store::Store;

/// Why there is no checkpoint now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum No {
    /// Try again soon: something is under way, or has to be looked at first.
    Later,
    /// Not possible in this state of the program.
    Refused(String),
}

impl From<String> for No {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl From<&str> for No {
    fn from(why: &str) -> Self {
        Self::Refused(why.into())
    }
}

/// The process at rest, of which a checkpoint is taken.
pub(crate) struct Frozen<'a> {
    /// The kernel's numbers of the threads' hosts, and their thread pointers.
    pub hosts: &'a [(u32, usize)],
    /// Signals that all threads block.
    pub blocked: u64,
    /// Descriptors that are none of the program's.
    pub ours: &'a [i32],
    /// Those that the program was started with.
    pub inherited: &'a [Inherited],
    /// Bytes of the files whose content is saved, at most.
    pub files: u64,
}

/// What it takes to go back.
pub(crate) struct Back<'a> {
    /// Is the process another one than that of the checkpoint? (A restart.)
    pub new_process: bool,
    /// The kernel's numbers of the hosts that go on.
    pub hosts: &'a [u32],
    /// As in [`Frozen`].
    pub ours: &'a [i32],
    /// As in [`Frozen`].
    pub files: u64,
    /// What the checkpoint holds of files.
    pub store: &'a Store,
}

/// A kind of process state. Each has a part of the description of its own; what it says nothing to is right
/// without it.
pub(crate) trait Resource {
    /// Notes what there is, which others may go by when they save theirs.
    fn look(&mut self, _process: &Frozen, _about: &mut Description) -> Result<(), No> {
        Ok(())
    }

    /// Why what the program has of it now could not be put back.
    fn obstacle(&self) -> Option<String> {
        None
    }

    /// Saves it.
    fn save(&mut self, _process: &Frozen, _about: &mut Description) -> Result<(), No> {
        Ok(())
    }

    /// The checkpoint is whole.
    fn whole(&mut self, _about: &Description) {}

    /// Memory is about to be put back.
    fn leave(&mut self) {}

    /// Makes it what it was. The program's memory is back.
    fn put_back(&mut self, _to: &Back, _about: &mut Description) -> Result<(), String> {
        Ok(())
    }

    /// The threads have their hosts, and are about to go on. Returns what could not be made what it was, and
    /// does not hinder that.
    fn resume(&mut self, _new_process: bool, _about: &Description) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }
}
