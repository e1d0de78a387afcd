//! Advisory locks of files: flock(2), and those of fcntl(2), of processes and of open files. They are gone
//! with a process, so a restarted one takes them again; after a rollback those are held that were held then.
//! If somebody else has got one meanwhile, nothing can go on.
//!
//! Of leases the kernel tells by signals that may be on their way: with one there is no checkpoint.

use crate::image::{FileLock, LockKind, OpenFile};
use crate::sys;
use std::fs;

/// The locks that a descriptor's `fdinfo` lists; the error is what cannot be put back.
pub(crate) fn held(fdinfo: &str) -> Result<Vec<FileLock>, String> {
    let lines = fdinfo.lines().filter_map(|l| l.strip_prefix("lock:"));
    lines.map(parse).collect()
}

/// `1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 0 EOF` (proc(5), /proc/locks).
fn parse(line: &str) -> Result<FileLock, String> {
    let unknown = || format!("a lock that is not understood ({})", line.trim());
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, kind, _, access, _, _, start, end] = words[..] else { return Err(unknown()) };
    let kind = match kind {
        "FLOCK" => LockKind::Whole,
        "OFDLCK" => LockKind::OpenFile,
        "POSIX" => LockKind::Process,
        "LEASE" | "DELEG" => return Err("a lease (F_SETLEASE)".into()),
        _ => return Err(unknown()),
    };
    let write = match access {
        "WRITE" => true,
        "READ" => false,
        _ => return Err(unknown()),
    };
    let start: u64 = start.parse().map_err(|_| unknown())?;
    let length = match end {
        "EOF" => 0,
        end => end
            .parse::<u64>()
            .ok()
            .and_then(|end| end.checked_sub(start)?.checked_add(1))
            .ok_or_else(unknown)?,
    };
    Ok(FileLock { kind, write, start, length })
}

/// Puts them back. What the process was started with, its surroundings have locked.
pub(crate) fn put_back(saved: &[OpenFile], new_process: bool) -> Result<(), String> {
    let theirs = |s: &OpenFile, l: &FileLock| s.inherited && l.kind != LockKind::Process;
    let now: Vec<Vec<FileLock>> = saved.iter().map(|s| held_by(s.fd)).collect();
    // First what is too much: a lock for writing may stand where there was one for reading.
    for (s, now) in saved.iter().zip(&now) {
        for l in now.iter().filter(|l| !theirs(s, l) && !s.locks.contains(l)) {
            let _ = set(s.fd, l, libc::F_UNLCK);
        }
    }
    for s in saved {
        for l in s.locks.iter().filter(|l| !(new_process && theirs(s, l))) {
            let kind = if l.write { libc::F_WRLCK } else { libc::F_RDLCK };
            set(s.fd, l, kind).map_err(|e| {
                format!(
                    "descriptor {} ({}): the lock that the program held on it cannot be taken again: {}",
                    s.fd,
                    s.path,
                    sys::why(e)
                )
            })?;
        }
    }
    Ok(())
}

fn held_by(fd: i32) -> Vec<FileLock> {
    let info = fs::read_to_string(format!("/proc/thread-self/fdinfo/{fd}")).unwrap_or_default();
    held(&info).unwrap_or_default()
}

/// Takes or releases a lock; the error is the kernel's.
fn set(fd: i32, lock: &FileLock, kind: i32) -> Result<(), isize> {
    let command = match lock.kind {
        LockKind::OpenFile => libc::F_OFD_SETLK,
        LockKind::Process => libc::F_SETLK,
        LockKind::Whole => {
            let operation = match kind {
                libc::F_UNLCK => libc::LOCK_UN,
                libc::F_WRLCK => libc::LOCK_EX,
                _ => libc::LOCK_SH,
            };
            // SAFETY: plain call.
            let r = unsafe { sys!(libc::SYS_flock, fd, operation | libc::LOCK_NB) };
            return if r < 0 { Err(r) } else { Ok(()) };
        }
    };
    // SAFETY: zeros are a value of it.
    let mut range: libc::flock = unsafe { core::mem::zeroed() };
    range.l_type = kind as i16;
    range.l_whence = libc::SEEK_SET as i16;
    range.l_start = lock.start as i64;
    range.l_len = lock.length as i64;
    // SAFETY: the kernel reads it.
    let r = unsafe { sys!(libc::SYS_fcntl, fd, command, &raw const range) };
    if r < 0 { Err(r) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_fdinfo() {
        let info = "pos:\t0\nflags:\t0100002\nlock:\t1: FLOCK  ADVISORY  WRITE 359 00:1b:5 0 EOF\n\
                    lock:\t2: OFDLCK ADVISORY  READ -1 00:1b:5 10 19\n\
                    lock:\t3: POSIX  ADVISORY  WRITE 359 00:1b:5 7 7\n";
        let lock = |kind, write, start, length| FileLock { kind, write, start, length };
        let want = vec![
            lock(LockKind::Whole, true, 0, 0),
            lock(LockKind::OpenFile, false, 10, 10),
            lock(LockKind::Process, true, 7, 1),
        ];
        assert_eq!(held(info), Ok(want));
        for bad in [
            "LEASE  ACTIVE    READ 359 00:1b:5 0 EOF",
            "POSIX  ADVISORY  WRITE 359 00:1b:5 7 6",
            "POSIX  ADVISORY  WRITE 359 00:1b:5 0 18446744073709551615",
            "POSIX  ADVISORY  MANY 359 00:1b:5 0 EOF",
            "FLOCK",
            "",
        ] {
            assert!(held(&format!("lock:\t1: {bad}\n")).is_err(), "{bad}");
        }
    }
}
