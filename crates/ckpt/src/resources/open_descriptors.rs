//! What there is to ask of a descriptor, and what was behind those that the program was started with.

use crate::sys;
use crate::sys::maps;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// Numbers of the open descriptors.
pub(crate) fn numbers() -> Vec<i32> {
    let mut all: Vec<i32> =
        maps::names(c"/proc/thread-self/fd").iter().filter_map(|n| n.parse().ok()).collect();
    // The listing's own descriptor is closed by now.
    // SAFETY: plain call.
    all.retain(|fd| unsafe { sys!(libc::SYS_fcntl, *fd, libc::F_GETFD) } >= 0);
    all.sort_unstable();
    all
}

/// A descriptor that the program was started with, and what was behind it: `dup2` and `freopen` may have put
/// something else there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// Descriptor.
    pub fd: i32,
    /// Device and inode.
    pub file: (u64, u64),
    /// Is it a pipe?
    pub pipe: bool,
    /// Is it a log: a file that is only written to, at its end?
    pub log: bool,
    /// O_RDONLY, O_WRONLY or O_RDWR.
    pub access: i32,
}

/// What is behind `fds` now.
pub(crate) fn behind(fds: impl IntoIterator<Item = i32>) -> Vec<Inherited> {
    let it = |fd| {
        let m = fs::metadata(format!("/proc/thread-self/fd/{fd}")).ok()?;
        let (file, pipe) = ((m.dev(), m.ino()), m.file_type().is_fifo());
        let access = flags_of(fd) & libc::O_ACCMODE;
        let log = m.is_file() && access == libc::O_WRONLY && is_at_its_end(fd, m.size());
        Some(Inherited { fd, file, pipe, log, access })
    };
    fds.into_iter().filter_map(it).collect()
}

/// Is what is written to the file behind `fd`, of `length`, written to its end?
fn is_at_its_end(fd: i32, length: u64) -> bool {
    // SAFETY: plain call.
    let at = unsafe { sys!(libc::SYS_lseek, fd, 0, libc::SEEK_CUR) };
    flags_of(fd) & libc::O_APPEND != 0 || at == length as isize
}

/// The status flags of a descriptor, with its access mode.
pub(crate) fn flags_of(fd: i32) -> i32 {
    // SAFETY: plain call.
    unsafe { sys!(libc::SYS_fcntl, fd, libc::F_GETFL) as i32 }
}

/// Is it a pipe, with a name or without?
pub(crate) fn is_pipe(fd: i32) -> bool {
    fs::metadata(format!("/proc/thread-self/fd/{fd}")).is_ok_and(|m| m.file_type().is_fifo())
}

/// Was it opened for reading?
pub(crate) fn is_readable(fd: i32) -> bool {
    flags_of(fd) & libc::O_ACCMODE != libc::O_WRONLY
}

/// Bytes that can be read from a pipe or socket.
pub(crate) fn unread(fd: i32) -> i32 {
    let mut n = 0i32;
    // SAFETY: the kernel writes an integer; it fails for the writing end.
    unsafe { sys!(libc::SYS_ioctl, fd, libc::FIONREAD, &raw mut n) };
    if is_readable(fd) { n } else { 0 }
}

/// Length of the file behind a descriptor.
pub(crate) fn length_of(fd: i32) -> u64 {
    fs::metadata(format!("/proc/thread-self/fd/{fd}")).map_or(0, |m| m.size())
}
