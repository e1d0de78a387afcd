//! The end record that a process has left, and how it has really ended: who waits for it knows.
//!
//! The runtime writes the record when the program has done all that it does, and takes it back where it sees
//! that the process ends otherwise (crates/recover/src/ending_signals.rs). What may come behind the record
//! is not all seen there: an exit(3) inside libc by another thread, by err(3), or by a system call of the
//! program's own; a signal that a handler of the program's lets come again; a crash for whose handler
//! there is no stack; a filter of system calls. So the record is made to agree with what wait(2) says.

use super::{Identity, Terms, checkpoint_directory, identity};
use promp_image::Directory;
use promp_image::end_record::FILE;
use std::path::Path;
use std::process::ExitStatus;

/// Of the process that is about to be started.
pub(super) struct LeftRecord<'a> {
    dir: Option<&'a Path>,
    /// That of an earlier one.
    old: Option<Identity>,
    /// The process begins a run: the record may be a descendant's.
    begins: bool,
}

impl<'a> LeftRecord<'a> {
    pub(super) fn before(terms: &Terms<'a>) -> Self {
        let old = terms.dir.and_then(|dir| identity(&dir.join(FILE)));
        Self { dir: terms.dir, old, begins: terms.run.is_some() }
    }

    /// The process has ended: the status by which it has ended by itself, if it has.
    pub(super) fn agreed(&self, process: ExitStatus) -> Option<i32> {
        let dir = self.dir?;
        if self.begins && checkpoint_directory::of_a_descendant(dir).is_some() {
            return None;
        }
        let is_its_own = |now: Identity| Some(now) != self.old;
        identity(&dir.join(FILE)).filter(|now| is_its_own(*now))?;
        let ended = Directory::open(dir).ok()?.agree(process).unwrap_or_else(|e| {
            eprintln!("promp: {}: {e}; --resume will not know how the program has ended", dir.display());
            None
        });
        ended.map(|e| e.status)
    }
}
