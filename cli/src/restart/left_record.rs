//! The end record that a process has left, and how it has really ended: who waits for it knows.
//!
//! The runtime writes the record when the program has done all that it does, and takes it back where it sees
//! that the process ends otherwise (crates/recover/src/ending_signals.rs). What may come behind the record
//! is not all seen there: an exit(3) inside libc by another thread, by err(3), or by a system call of the
//! program's own; a signal that a handler of the program's lets come again; a crash for whose handler
//! there is no stack; a filter of system calls. So the record is made to agree with what wait(2) says.

use super::{Identity, Terms, checkpoint_directory, identity};
use promp_image::Directory;
use promp_image::end_record::{Ended, FILE};
use promp_image::state::ENDED;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
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
        let ended = agree(&Directory::open(dir).ok()?, process).unwrap_or_else(|e| {
            eprintln!("promp: {}: {e}; --resume will not know how the program has ended", dir.display());
            None
        });
        ended.map(|e| e.status)
    }
}

/// Makes the end record of a process that has ended like this say so. Another status than it has counts. By a
/// signal the process has ended before only if somebody else has sent it: SIGKILL, of which nobody knows, or
/// one that the process has noted. Returns what there is then.
fn agree(d: &Directory, process: ExitStatus) -> io::Result<Option<Ended>> {
    let Some(record) = d.ended() else { return Ok(None) };
    match (process.code(), process.signal()) {
        (Some(status), _) if status != record.status => {
            let record = Ended { status, ..record };
            record.write(&d.path).map(|()| Some(record))
        }
        (None, Some(signal)) if signal != libc::SIGKILL && end_word(d)? >> 32 & 0xff != signal as u64 => {
            d.take_end_back().map(|()| None)
        }
        _ => Ok(Some(record)),
    }
}

/// The program whose end is recorded did not get these signals (a set): the runtime did.
pub(super) fn kept_from(d: &Directory) -> u64 {
    end_word(d).map_or(0, |word| word >> 40)
}

/// See [`ENDED`].
fn end_word(d: &Directory) -> io::Result<u64> {
    let mut word = [0; 8];
    let state = d.open_file("state").map_err(io::Error::other)?;
    state.read_exact_at(&mut word, 8 * ENDED as u64)?;
    Ok(u64::from_le_bytes(word))
}
