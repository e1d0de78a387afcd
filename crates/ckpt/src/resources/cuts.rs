//! May a log be cut when the program goes back? Steps of a script that are at work at once write to one
//! (`promp run --steps`): none of them may, for the others have written there, or write meanwhile.

use super::step_files;
use crate::sys;
use promp_calls::file_list::AT_ONCE;
use promp_files::open;
use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The right to cut logs, until it is dropped: no step begins meanwhile.
pub(crate) struct Right(#[expect(dead_code, reason = "it is closed with this")] Option<OwnedFd>);

/// Gives it, unless this is a step, and another one is at work at the same time, or may be.
pub(crate) fn right() -> Option<Right> {
    let Some(list) = step_files::list() else { return Some(Right(None)) };
    let list = Path::new(OsStr::from_bytes(list.to_bytes()));
    let steps = open(list.parent()?, libc::O_RDONLY | libc::O_DIRECTORY).ok()?;
    // SAFETY: a descriptor of our own.
    let locked = unsafe { sys!(libc::SYS_flock, steps.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) } == 0;
    let alone = !list.with_extension(AT_ONCE).exists();
    (locked && alone).then_some(Right(Some(steps)))
}
