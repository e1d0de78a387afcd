//! Which files a step of a script opens (`promp run --steps`): they are noted in a list beside its
//! checkpoints, before they are opened, with what they hold. What is open at a checkpoint would not do: most
//! are read at once and closed.

use super::journal::name::Short;
use super::journal::note::Intent;
use crate::sys;
use crate::sys::env;
use crate::sys::own::Own;
use core::ffi::{CStr, c_char, c_int};
use promp_calls::file_list::{HEAD, Held};
use promp_settings::internal::STEP_FILES;
use std::ffi::CString;

/// Bytes of a path (PATH_MAX) behind the head of its line.
const ROOM: usize = HEAD + 4096;

/// Where files are that belong to the system, or are none. (Memory in /dev/shm is like a file.)
const OF_THE_SYSTEM: [&str; 8] = ["/proc/", "/sys/", "/dev/", "/usr/", "/lib/", "/lib64/", "/etc/", "/bin/"];

/// The list; written before the program begins.
static LIST: Own<Option<&'static CStr>> = Own::new(None);

/// Is a file of this path, which begins at the root, looked at?
fn counts(path: &[u8]) -> bool {
    let within = |p: &&str| path.starts_with(p.as_bytes());
    path.starts_with(b"/dev/shm/") || (path.starts_with(b"/") && !OF_THE_SYSTEM.iter().any(within))
}

/// The list, if this process is a step of a script.
pub(crate) fn list() -> Option<&'static CStr> {
    LIST.get()
}

/// There are checkpoints from now on.
pub(crate) fn begin() {
    let list = env::get(STEP_FILES.name).and_then(|name| CString::new(name).ok());
    LIST.set(list.map(|name| &*Box::leak(name.into_boxed_c_str())));
}

/// A file is about to be opened. Can that change anything?
///
/// # Safety
/// Null, or a C string.
pub(crate) unsafe fn by_flags(at: c_int, path: *const c_char, flags: c_int) -> bool {
    // SAFETY: by the caller's promise.
    unsafe { matters(at, path, Intent::of_flags(flags)) }
}

/// The same, by fopen(3).
///
/// # Safety
/// Null or a C string, and a C string.
pub(crate) unsafe fn by_mode(path: *const c_char, mode: *const c_char) -> bool {
    // SAFETY: by the caller's promise.
    unsafe { matters(libc::AT_FDCWD, path, Intent::of_mode(CStr::from_ptr(mode))) }
}

/// # Safety
/// Null, or a C string.
unsafe fn matters(at: c_int, path: *const c_char, intent: Intent) -> bool {
    if let Some(list) = LIST.get().filter(|_| crate::keep::if_on().is_some() && !path.is_null()) {
        // SAFETY: by the caller's promise.
        unsafe { note(list, at, path, intent.matters()) };
    }
    intent.matters()
}

/// System calls only, and no memory: the caller may be a signal's handler.
///
/// # Safety
/// A C string.
unsafe fn note(list: &CStr, at: c_int, path: *const c_char, writes: bool) {
    let mut line = [0u8; ROOM];
    // SAFETY: a C string, and descriptors of our own.
    let Some((length, held)) = (unsafe {
        let name = sys!(libc::SYS_openat, at, path, libc::O_PATH | libc::O_CLOEXEC) as c_int;
        let found = match name {
            0.. => named(name, writes, &mut line[HEAD..]),
            _ => missing(at, CStr::from_ptr(path).to_bytes(), &mut line[HEAD..])
                .map(|n| (n, if writes { Held::Any } else { Held::Nothing })),
        };
        if name >= 0 {
            sys!(libc::SYS_close, name);
        }
        found
    }) else {
        return;
    };
    if !counts(&line[HEAD..HEAD + length]) || HEAD + length >= ROOM {
        return;
    }
    line[..HEAD].copy_from_slice(&held.head());
    let how = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the kernel reads the line; a descriptor of our own.
    unsafe {
        let fd = sys!(libc::SYS_open, list.as_ptr(), how, 0o600);
        sys!(libc::SYS_write, fd, line.as_ptr(), HEAD + length + 1);
        sys!(libc::SYS_close, fd);
    }
}

/// Where the regular file is that `name` (O_PATH) stands for: the length of its path; and what it holds, if
/// it is only read.
fn named(name: c_int, writes: bool, path: &mut [u8]) -> Option<(usize, Held)> {
    let length = link_of(name, path)?;
    if !is_regular(name) || !counts(&path[..length]) {
        return None;
    }
    if writes {
        return Some((length, Held::Any));
    }
    let link = Short::of_descriptor(name);
    // SAFETY: a C string; a descriptor of our own.
    unsafe {
        let fd = sys!(libc::SYS_open, link.name().as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) as c_int;
        let held = Held::of(fd);
        sys!(libc::SYS_close, fd);
        Some((length, held?))
    }
}

/// The path of a file that is not there, `last` of the folder `at`; as it is written, from the root.
fn missing(at: c_int, last: &[u8], path: &mut [u8]) -> Option<usize> {
    let folder = match (last.first()?, at) {
        (b'/', _) => 0,
        (_, libc::AT_FDCWD) => {
            // SAFETY: the kernel writes at most that much, with a zero behind it.
            let n = unsafe { sys!(libc::SYS_getcwd, path.as_mut_ptr(), path.len()) };
            usize::try_from(n).ok()?.checked_sub(1)?
        }
        _ => link_of(at, path)?,
    };
    let end = folder + 1 + last.len();
    if end >= path.len() {
        return None;
    }
    match folder {
        0 => path[..last.len()].copy_from_slice(last),
        _ => {
            path[folder] = b'/';
            path[folder + 1..end].copy_from_slice(last);
        }
    }
    Some(if folder == 0 { last.len() } else { end })
}

fn link_of(fd: c_int, path: &mut [u8]) -> Option<usize> {
    let link = Short::of_descriptor(fd);
    // SAFETY: a C string; the kernel writes at most that much.
    let n = unsafe { sys!(libc::SYS_readlink, link.name().as_ptr(), path.as_mut_ptr(), path.len()) };
    usize::try_from(n).ok().filter(|n| *n > 0)
}

fn is_regular(fd: c_int) -> bool {
    // SAFETY: zeros are a value of it; the kernel writes it.
    unsafe {
        let mut about: libc::stat64 = core::mem::zeroed();
        sys!(libc::SYS_fstat, fd, &raw mut about) == 0 && about.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_what_is_not_there() {
        let mut path = [0; 64];
        let n = missing(libc::AT_FDCWD, b"/no/such", &mut path).unwrap();
        assert_eq!(&path[..n], b"/no/such");
        let here = std::env::current_dir().unwrap().join("none");
        let mut path = [0; 4096];
        let n = missing(libc::AT_FDCWD, b"none", &mut path).unwrap();
        assert_eq!(&path[..n], here.as_os_str().as_encoded_bytes());
        assert!(missing(libc::AT_FDCWD, b"", &mut path).is_none());
        assert!(missing(libc::AT_FDCWD, &[b'x'; 70], &mut [0; 64]).is_none());
    }

    #[test]
    fn whose_files_count() {
        for path in ["/home/me/a", "/tmp/x", "/dev/shm/x", "/scratch/usr/x"] {
            assert!(counts(path.as_bytes()), "{path}");
        }
        for path in ["/proc/self/maps", "/dev/null", "/usr/share/x", "/lib64/x", "a", ""] {
            assert!(!counts(path.as_bytes()), "{path}");
        }
    }
}
