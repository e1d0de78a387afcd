//! Files by descriptor, never by a name that somebody else may have given to another one meanwhile.
//!
//! [`Way`] walks to a file part by part: it tells whether others could have put there what is there, and
//! whether it is the file that it was ([`Was`]). [`replace`] writes a file that takes another's place,
//! [`Scratch`] is a directory of this process's own in one that all may write to.

mod content;
mod entries;
mod file_size;
mod folder;
mod found;
mod replacement;
mod scratch;
mod symbolic;
mod way;

pub use content::{copy, read, read_any};
pub use entries::{names_in, open_in, remove_in, rename_in};
pub use file_size::within_limit;
pub use folder::Folder;
pub use found::{Found, born};
pub use replacement::{Replacement, replace};
pub use scratch::Scratch;
pub use way::{Was, Way};

use std::ffi::{CStr, CString, OsStr};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

/// A name for the kernel.
fn c(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// What a system call has returned.
fn done(r: libc::c_long) -> io::Result<libc::c_long> {
    if r < 0 { Err(io::Error::last_os_error()) } else { Ok(r) }
}

/// A number that nobody can guess.
pub fn random() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// A name in a directory that nobody can have known before.
fn hidden_name() -> io::Result<CString> {
    c(OsStr::new(&format!(".promp-{:016x}", random()?)))
}

/// openat(2), closed at an exec. By the system call: libc's functions may be the program's, or noted.
fn open_at(folder: RawFd, name: &CStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NOCTTY;
    loop {
        // SAFETY: a C string; the descriptor becomes ours.
        let fd = done(unsafe { libc::syscall(libc::SYS_openat, folder, name.as_ptr(), flags, mode) });
        match fd {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // SAFETY: a new descriptor, which nobody else has.
            fd => return fd.map(|fd| unsafe { OwnedFd::from_raw_fd(fd as RawFd) }),
        }
    }
}

/// Opens what a name leads to, whatever that is.
pub fn open(path: &std::path::Path, flags: i32) -> io::Result<OwnedFd> {
    open_at(libc::AT_FDCWD, &c(path.as_os_str())?, flags, 0)
}

/// Opens what is behind a descriptor of this process's once more, with flags of its own.
pub fn open_again(fd: RawFd, flags: i32) -> io::Result<OwnedFd> {
    open_at(libc::AT_FDCWD, &c(OsStr::new(&format!("/proc/thread-self/fd/{fd}")))?, flags, 0)
}

/// fstat(2).
fn stat_of(fd: &impl AsRawFd) -> io::Result<libc::stat> {
    // SAFETY: zeros are a value of it; the kernel writes it.
    unsafe {
        let mut s: libc::stat = core::mem::zeroed();
        done(libc::syscall(libc::SYS_fstat, fd.as_raw_fd(), &raw mut s)).map(|_| s)
    }
}
