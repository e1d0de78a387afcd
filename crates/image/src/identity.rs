//! The file that it was: what is opened again for the program is no other one that has its name now.

use crate::{OpenFile, Origin, Peculiarity, Place};
use promp_files::{Was, Way, born};
use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Is it one of the kernel's files, or a device? What they hold is not what was written to them. (Memory in
/// /dev/shm is like a file.)
pub fn is_the_kernels(path: &[u8]) -> bool {
    let any = |prefixes: &[&str]| prefixes.iter().any(|p| path.starts_with(p.as_bytes()));
    any(&["/proc/", "/sys/", "/dev/"]) && !any(&["/dev/shm/"])
}

fn why(e: io::Error) -> String {
    e.kind().to_string()
}

impl Origin {
    /// That of the file behind `fd`, of which `about` is known.
    pub fn of(fd: i32, about: &Metadata) -> Self {
        // SAFETY: the descriptor is open for as long as it is looked at.
        Self { owner: about.uid(), born: born(&unsafe { BorrowedFd::borrow_raw(fd) }) }
    }
}

impl Place {
    /// The directory that the process works in.
    pub fn of_work() -> io::Result<Self> {
        const LINK: &str = "/proc/thread-self/cwd";
        let path = std::fs::read_link(LINK)?.to_string_lossy().into_owned();
        let folder = promp_files::open(Path::new(LINK), libc::O_PATH)?;
        Ok(Self { path, inode: File::from(folder.try_clone()?).metadata()?.ino(), born: born(&folder) })
    }

    /// Is it, wherever it is now?
    pub fn is_still(&self, now: &Self) -> bool {
        match self.inode {
            0 => self.path == now.path,
            inode => inode == now.inode && self.born == now.born,
        }
    }

    /// Opens it by its path, if that still leads to it (O_PATH).
    pub fn open_again(&self) -> Result<OwnedFd, String> {
        let way = Way::to(Path::new(&self.path)).map_err(why)?;
        let found = match self.inode {
            0 => {
                way.is_straight()?;
                way.found().ok_or("it is not there")?
            }
            inode => way.is(&Was { inode, owner: None, regular: false, born: self.born })?,
        };
        found.open(libc::O_PATH | libc::O_DIRECTORY).map_err(why)
    }
}

impl OpenFile {
    /// Opens the file by its name, if that still leads to it; one that is gone is made, if its content is
    /// saved.
    pub fn open_again(&self, flags: i32) -> Result<OwnedFd, String> {
        let path = Path::new(&self.path);
        if is_the_kernels(self.path.as_bytes()) {
            // Nobody but root makes names there.
            return promp_files::open(path, flags).map_err(why);
        }
        let way = Way::to(path).map_err(why)?;
        let file = match way.found() {
            None if self.content.is_some() => {
                way.is_straight()?;
                way.make(flags, self.mode)
            }
            None => Err(io::ErrorKind::NotFound.into()),
            Some(_) => {
                let (owner, born) = (self.origin.map(|o| o.owner), self.origin.and_then(|o| o.born));
                let kind = |found: &promp_files::Found| found.is_regular();
                let regular = if self.is_place() { way.found().is_some_and(kind) } else { self.regular };
                way.is(&Was { inode: self.inode, owner, regular, born })?.open(flags)
            }
        };
        file.map_err(why)
    }

    /// A new file without a name where this one, which has none, was.
    pub fn made_again(&self) -> Result<OwnedFd, String> {
        if let Some(name) = self.memory() {
            let name = CString::new(name).unwrap_or_default();
            let seals =
                if self.peculiarity == Some(Peculiarity::Unsealable) { 0 } else { libc::MFD_ALLOW_SEALING };
            // SAFETY: a C string; the descriptor becomes ours.
            return unsafe {
                match libc::syscall(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC | seals) {
                    fd if fd < 0 => Err(why(io::Error::last_os_error())),
                    fd => Ok(OwnedFd::from_raw_fd(fd as i32)),
                }
            };
        }
        let way = Way::to_name(Path::new(&self.path)).map_err(why)?;
        way.is_straight()?;
        way.make_nameless(self.mode).map_err(why)
    }
}
