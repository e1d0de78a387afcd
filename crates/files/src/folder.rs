//! A directory while a program runs: found by its name, and used only if it is the one that was opened at the
//! start. Whoever may write to the directory above it may give its name to another one.

use crate::{open_at, stat_of};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};

/// The directory; memory of zeros: there is none yet.
#[derive(Debug, Default)]
pub struct Folder {
    /// A C string that stays.
    name: AtomicPtr<libc::c_char>,
    device: AtomicU64,
    inode: AtomicU64,
}

impl Folder {
    /// It is at `path`, and open as `fd`.
    pub fn begin(&self, path: &Path, fd: RawFd) {
        if let Ok(about) = stat_of(&fd) {
            self.device.store(about.st_dev, Relaxed);
            self.inode.store(about.st_ino, Relaxed);
        }
        let name = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        self.name.store(name.into_raw(), Release);
    }

    /// Its name.
    pub fn name(&self) -> Option<&CStr> {
        let name = self.name.load(Acquire);
        // SAFETY: a C string that stays (`begin`).
        (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
    }

    /// Its name, as a path.
    fn path(&self) -> Option<PathBuf> {
        self.name().map(|n| OsStr::from_bytes(n.to_bytes()).into())
    }

    /// Opens it (O_PATH); ESTALE: another one has its name. System calls only; `errno` stays as it is.
    pub fn open(&self) -> io::Result<OwnedFd> {
        // SAFETY: the calling thread's own.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        let before = unsafe { *errno };
        let opened = self.look();
        // SAFETY: as above.
        unsafe { *errno = before };
        opened
    }

    fn look(&self) -> io::Result<OwnedFd> {
        let name = self.name().ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
        let how = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let opened = open_at(libc::AT_FDCWD, name, how, 0)?;
        let about = stat_of(&opened)?;
        let own = [self.device.load(Relaxed), self.inode.load(Relaxed)];
        match [about.st_dev, about.st_ino] == own {
            true => Ok(opened),
            false => Err(io::Error::from_raw_os_error(libc::ESTALE)),
        }
    }

    /// The same, with words for an error.
    pub fn opened(&self) -> Result<OwnedFd, String> {
        let shown = self.path().unwrap_or_default();
        let shown = shown.display();
        self.open().map_err(|e| match e.raw_os_error() {
            Some(libc::ESTALE | libc::ENOENT | libc::ELOOP | libc::ENOTDIR) => {
                format!("{shown} is another directory now than it was at the start, or none")
            }
            _ => format!("{shown}: {}", e.kind()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::fd::AsRawFd;

    #[test]
    fn another_directory_of_that_name_is_not_it() {
        let s = crate::Scratch::new("promp-standing").unwrap();
        let (path, away, other) = (s.path().join("a"), s.path().join("away"), s.path().join("b"));
        let folder = Folder::default();
        assert!(folder.open().is_err() && folder.path().is_none());
        fs::create_dir(&path).unwrap();
        folder.begin(&path, File::open(&path).unwrap().as_raw_fd());
        assert!(folder.open().is_ok() && folder.path() == Some(path.clone()));
        fs::rename(&path, &away).unwrap();
        let refused = || {
            assert!(folder.opened().is_err_and(|why| why.contains("another directory now")));
        };
        refused();
        fs::write(&path, "").unwrap();
        refused();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&away, &path).unwrap();
        refused();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&other).unwrap();
        fs::rename(&other, &path).unwrap();
        refused();
        fs::remove_dir(&path).unwrap();
        fs::rename(&away, &path).unwrap();
        assert!(folder.open().is_ok());
    }
}
