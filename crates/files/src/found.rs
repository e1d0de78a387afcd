//! A file that was found, by a descriptor of it.

use crate::{done, open_again, stat_of};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// What is at the end of a way: a link is not.
pub struct Found {
    /// A descriptor of it (O_PATH).
    pub(crate) file: OwnedFd,
    pub(crate) about: libc::stat,
}

impl Found {
    /// What `file` is.
    pub(crate) fn new(file: OwnedFd) -> io::Result<Self> {
        Ok(Self { about: stat_of(&file)?, file })
    }

    /// Opens it, the very file.
    pub fn open(&self, flags: i32) -> io::Result<OwnedFd> {
        let flags = flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_NOFOLLOW);
        open_again(self.file.as_raw_fd(), flags)
    }

    /// Is it a regular file?
    pub fn is_regular(&self) -> bool {
        self.about.st_mode & libc::S_IFMT == libc::S_IFREG
    }

    /// Device and inode.
    pub fn file(&self) -> (u64, u64) {
        (self.about.st_dev, self.about.st_ino)
    }

    /// Its permissions.
    pub fn mode(&self) -> u32 {
        self.about.st_mode & 0o7777
    }

    /// The user and the group that it belongs to.
    pub(crate) fn owner(&self) -> (u32, u32) {
        (self.about.st_uid, self.about.st_gid)
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.about.st_size as u64
    }

    /// Nanoseconds since 1970 when it was last written to.
    pub fn written(&self) -> i64 {
        self.about.st_mtime * 1_000_000_000 + self.about.st_mtime_nsec
    }
}

/// When the file behind a descriptor was made, in nanoseconds since 1970, where the file system knows it.
pub fn born(file: &impl AsRawFd) -> Option<i64> {
    // SAFETY: zeros are a value of it; the kernel writes it.
    unsafe {
        let mut s: libc::statx = core::mem::zeroed();
        let (fd, name, how) = (file.as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH);
        done(libc::syscall(libc::SYS_statx, fd, name, how, libc::STATX_BTIME, &raw mut s)).ok()?;
        let known = s.stx_mask & libc::STATX_BTIME != 0;
        known.then_some(s.stx_btime.tv_sec * 1_000_000_000 + i64::from(s.stx_btime.tv_nsec))
    }
}
