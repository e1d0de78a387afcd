//! Files of an open directory, by their names in it.

use crate::{c, done, open_at};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Opens a file of the directory `folder` (openat(2)), with `flags` and, if it is made, permissions `mode`.
pub fn open_in(folder: &impl AsRawFd, name: &OsStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    open_at(folder.as_raw_fd(), &c(name)?, flags, mode)
}

/// Removes a file of `folder`.
pub fn remove_in(folder: &impl AsRawFd, name: &OsStr) -> io::Result<()> {
    let (folder, name) = (folder.as_raw_fd(), c(name)?);
    // SAFETY: a C string.
    done(unsafe { libc::syscall(libc::SYS_unlinkat, folder, name.as_ptr(), 0) }).map(drop)
}

/// Gives the file `from` of `folder` the name `to`, which another one loses.
pub fn rename_in(folder: &impl AsRawFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (folder, from, to) = (folder.as_raw_fd(), c(from)?, c(to)?);
    // SAFETY: C strings.
    done(unsafe { libc::syscall(libc::SYS_renameat, folder, from.as_ptr(), folder, to.as_ptr()) }).map(drop)
}

/// The names in `folder`.
pub fn names_in(folder: &impl AsRawFd) -> io::Result<Vec<OsString>> {
    let all = std::fs::read_dir(format!("/proc/thread-self/fd/{}", folder.as_raw_fd()))?;
    all.map(|entry| entry.map(|e| e.file_name())).collect()
}

/// The directory once more, by a descriptor of its own (O_PATH).
pub(crate) fn again(folder: &impl AsRawFd) -> io::Result<OwnedFd> {
    open_at(folder.as_raw_fd(), c".", libc::O_PATH | libc::O_DIRECTORY, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    #[test]
    fn another_directory_of_that_name_is_left_alone() {
        let s = crate::Scratch::new("promp-folder").unwrap();
        let path = s.path().join("d");
        fs::create_dir(&path).unwrap();
        let folder = File::open(&path).unwrap();
        fs::rename(&path, s.path().join("elsewhere")).unwrap();
        fs::create_dir(&path).unwrap();
        let how = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
        for name in ["a", "c"] {
            drop(open_in(&folder, name.as_ref(), how, 0o600).unwrap());
            fs::write(path.join(name), "theirs").unwrap();
        }
        rename_in(&folder, "a".as_ref(), "b".as_ref()).unwrap();
        remove_in(&folder, "c".as_ref()).unwrap();
        crate::Way::in_folder(&folder, "d".as_ref()).unwrap().make_directory(0o700).unwrap();
        let mut names = names_in(&folder).unwrap();
        names.sort();
        assert_eq!(names, ["b", "d"]);
        assert!(remove_in(&folder, "d".as_ref()).is_err(), "it is no file");
        assert_eq!(names_in(&File::open(&path).unwrap()).unwrap().len(), 2);
    }
}
