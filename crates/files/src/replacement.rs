//! A file that takes another's place: written beside it, whole before it gets the name.

use crate::{Found, Way, done, hidden_name, open_at};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// How often another name is tried.
const TRIES: u32 = 100;

/// A file that is being written and takes another's place when it is whole ([`Replacement::finish`]); dropped
/// before, it leaves nothing.
pub struct Replacement {
    /// What is written to.
    file: File,
    /// The place that it takes, and its name beside that until it is whole. None: a device, a pipe, a
    /// descriptor (`/dev/stdout`) is written to itself; there is nothing to be renamed over.
    place: Option<(Way, CString)>,
}

/// The descriptor that a path is only another name for.
fn descriptor(path: &Path) -> Option<i32> {
    let text = path.to_str()?;
    match text {
        "/dev/stdin" => Some(0),
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        _ => {
            let after = |folder: &str| text.strip_prefix(folder)?.parse().ok();
            after("/dev/fd/").or_else(|| after("/proc/self/fd/"))
        }
    }
}

/// A descriptor of what `path` is, where it leads to a descriptor of this process by a link of the kernel's.
fn duplicate(path: &Path) -> Option<io::Result<File>> {
    let direct = descriptor(path).or_else(|| descriptor(&std::fs::read_link(path).ok()?))?;
    // SAFETY: plain call; the descriptor becomes ours.
    let fd = done(unsafe { libc::syscall(libc::SYS_fcntl, direct, libc::F_DUPFD_CLOEXEC, 3) });
    // SAFETY: a new descriptor, which nobody else has.
    Some(fd.map(|fd| unsafe { File::from_raw_fd(fd as i32) }))
}

/// A device or a pipe, opened for writing. Nobody who reads from a pipe is no reason to wait.
fn itself(found: &Found) -> io::Result<File> {
    let file = found.open(libc::O_WRONLY | libc::O_NONBLOCK)?;
    // SAFETY: plain call.
    done(unsafe { libc::syscall(libc::SYS_fcntl, file.as_raw_fd(), libc::F_SETFL, libc::O_WRONLY) })?;
    Ok(file.into())
}

impl Replacement {
    /// Begins a file that is to be `path`, with permissions `mode` as far as umask(2) lets it, or as the file
    /// has them that is there. A device or a pipe is written to itself. Links that others may have put
    /// there are not followed.
    pub fn new(path: &Path, mode: u32) -> io::Result<Self> {
        if let Some(file) = duplicate(path) {
            return Ok(Self { file: file?, place: None });
        }
        let way = Way::to(path)?;
        way.is_straight().map_err(io::Error::other)?;
        Self::at(way, mode)
    }

    /// The same, for what a way leads to.
    pub fn at(way: Way, mode: u32) -> io::Result<Self> {
        let there = way.found();
        if let Some(found) = there.filter(|f| !f.is_regular()) {
            return Ok(Self { file: itself(found)?, place: None });
        }
        for _ in 0..TRIES {
            let name = hidden_name()?;
            let how = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
            let fd = match open_at(way.folder(), &name, how, mode) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                fd => fd?,
            };
            if let Some(found) = there {
                like(&fd, found, mode);
            }
            return Ok(Self { file: fd.into(), place: Some((way, name)) });
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Can it be begun anew, because nobody has seen what was written?
    pub fn is_hidden(&self) -> bool {
        self.place.is_some()
    }

    /// What is written to.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// It is whole: it takes the place. `safe`: only when it is on the disk.
    pub fn finish(mut self, safe: bool) -> io::Result<()> {
        self.file.flush()?;
        let Some((way, name)) = self.place.take() else { return Ok(()) };
        let renamed = (|| {
            if safe {
                self.file.sync_all()?;
            }
            let (folder, from, to) = (way.folder(), name.as_ptr(), way.name().as_ptr());
            // SAFETY: C strings.
            done(unsafe { libc::syscall(libc::SYS_renameat, folder, from, folder, to) })
        })();
        if renamed.is_err() {
            self.place = Some((way, name));
        }
        renamed.map(drop)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some((way, name)) = &self.place {
            // SAFETY: a C string. If it cannot be removed, it stays.
            unsafe { libc::syscall(libc::SYS_unlinkat, way.folder(), name.as_ptr(), 0) };
        }
    }
}

/// Gives a new file the owner, where that is allowed, of the one whose place it takes, and of its permissions
/// those in `mode`.
fn like(new: &OwnedFd, old: &Found, mode: u32) {
    let (fd, (uid, gid)) = (new.as_raw_fd(), old.owner());
    // SAFETY: plain calls.
    unsafe {
        libc::syscall(libc::SYS_fchown, fd, uid, gid);
        libc::syscall(libc::SYS_fchmod, fd, old.mode() & mode);
    }
}

/// Writes `bytes` as the file `path`, or to the device, pipe or descriptor that it is. What was there stays
/// whole until the new one is, which is an error if it is too long (`ulimit -f`). New files have permissions
/// 0666 less umask(2)'s.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut aside = Replacement::new(path, 0o666)?;
    crate::within_limit(|| aside.file().write_all(bytes))?;
    aside.finish(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("promp-aside-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).unwrap();
        dir
    }

    fn names(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn it_takes_the_place_with_its_mode() {
        let dir = folder("mode");
        let path = dir.join("a");
        replace(&path, b"one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        replace(&path, b"two").unwrap();
        let now = fs::metadata(&path).unwrap();
        assert_eq!((fs::read(&path).unwrap(), now.mode() & 0o777), (b"two".to_vec(), 0o604));
        assert!(now.ino() != before && names(&dir) == 1);
        // Its link stays one.
        symlink("a", dir.join("link")).unwrap();
        replace(&dir.join("link"), b"three").unwrap();
        assert!(fs::symlink_metadata(dir.join("link")).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"three");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn dropped_it_leaves_nothing() {
        let dir = folder("dropped");
        let path = dir.join("a");
        fs::write(&path, "old").unwrap();
        let mut aside = Replacement::new(&path, 0o600).unwrap();
        aside.file().write_all(b"new").unwrap();
        drop(aside);
        assert_eq!((fs::read(&path).unwrap(), names(&dir)), (b"old".to_vec(), 1));
        assert!(replace(&dir.join("none/a"), b"").is_err());
        fs::create_dir(dir.join("d")).unwrap();
        assert!(replace(&dir.join("d"), b"").is_err());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_is_no_file_is_written_to() {
        let dir = folder("pipe");
        let pipe = dir.join("pipe");
        let name = crate::c(pipe.as_os_str()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert_eq!(replace(&pipe, b"x").err().unwrap().raw_os_error(), Some(libc::ENXIO), "nobody reads");
        let mut reader = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        replace(&pipe, b"text").unwrap();
        let mut got = [0; 4];
        reader.read_exact(&mut got).unwrap();
        assert!(&got == b"text" && fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        let file = fs::File::create(dir.join("open")).unwrap();
        let of = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        symlink(&of, dir.join("link")).unwrap();
        replace(&of, b"a").unwrap();
        replace(&dir.join("link"), b"b").unwrap();
        assert_eq!(fs::read(dir.join("open")).unwrap(), b"ab");
        assert!(fs::symlink_metadata(dir.join("link")).unwrap().is_symlink());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn links_of_others_are_not_followed() {
        let dir = folder("others");
        fs::write(dir.join("precious"), "p").unwrap();
        symlink("precious", dir.join("a")).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(replace(&dir.join("a"), b"x").is_err());
        assert_eq!(fs::read(dir.join("precious")).unwrap(), b"p");
        fs::remove_dir_all(dir).unwrap();
    }
}
