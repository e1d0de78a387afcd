//! Open files and what else the kernel keeps for a process: what can be put back, and what makes a checkpoint impossible.

use super::image::{Disposition, OpenFile};
use crate::sys;
use crate::sys::maps;
use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// Numbers of the open descriptors.
pub fn numbers() -> Vec<i32> {
    let mut all: Vec<i32> = maps::names(c"/proc/self/fd").iter().filter_map(|n| n.parse().ok()).collect();
    // The listing's own descriptor is closed by now.
    // SAFETY: plain call.
    all.retain(|fd| unsafe { sys!(libc::SYS_fcntl, *fd, libc::F_GETFD) } >= 0);
    all.sort_unstable();
    all
}

/// Open descriptors but those in `ours`; the error says what cannot be saved. Streams among `inherited`, which the program was
/// started with, are its surroundings: they stay as they are.
pub fn open_files(ours: &[i32], inherited: &[i32]) -> Result<Vec<OpenFile>, String> {
    let mut all = Vec::new();
    for fd in numbers() {
        if ours.contains(&fd) {
            continue;
        }
        // Closed meanwhile: it was the directory being read.
        let Ok(link) = fs::read_link(format!("/proc/self/fd/{fd}")) else { continue };
        let Ok(info) = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")) else { continue };
        let Ok(meta) = fs::metadata(format!("/proc/self/fd/{fd}")) else { continue };
        let field =
            |name: &str| info.lines().find_map(|l| l.strip_prefix(name)).unwrap_or("0").trim().to_string();
        let path = link.to_string_lossy().into_owned();
        let t = meta.file_type();
        let surroundings = inherited.contains(&fd) && !t.is_file() && !t.is_dir();
        if surroundings && unread(fd) == 0 {
            all.push(OpenFile { fd, path, inherited: true, ..Default::default() });
            continue;
        }
        if t.is_socket() {
            return Err(format!("descriptor {fd} is a socket ({path})"));
        }
        if t.is_fifo() && unread(fd) > 0 {
            return Err(format!(
                "the pipe behind descriptor {fd} holds {} bytes that nobody has read",
                unread(fd)
            ));
        }
        if path.starts_with("anon_inode:") || path.starts_with("/memfd:") {
            return Err(format!("descriptor {fd} is {path}"));
        }
        if t.is_block_device() || (t.is_char_device() && !harmless_device(&path)) {
            return Err(format!("descriptor {fd} is the device {path}"));
        }
        all.push(OpenFile {
            fd,
            path,
            inherited: inherited.contains(&fd),
            regular: t.is_file(),
            flags: i32::from_str_radix(&field("flags:"), 8).unwrap_or(0),
            offset: field("pos:").parse().unwrap_or(0),
            length: meta.size(),
        });
    }
    Ok(all)
}

fn harmless_device(path: &str) -> bool {
    const NAMES: [&str; 7] =
        ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/console"];
    NAMES.contains(&path) || path.starts_with("/dev/pts/")
}

fn unread(fd: i32) -> i32 {
    let mut n = 0i32;
    // SAFETY: the kernel writes an integer; it fails for the writing end.
    unsafe { sys!(libc::SYS_ioctl, fd, libc::FIONREAD, &raw mut n) };
    // SAFETY: plain call.
    let flags = unsafe { sys!(libc::SYS_fcntl, fd, libc::F_GETFL) } as i32;
    if flags & libc::O_ACCMODE == libc::O_WRONLY { 0 } else { n }
}

/// Other things of the process that could not be put back.
pub fn obstacles() -> Option<String> {
    for host in sys::maps::names(c"/proc/self/task") {
        let children = fs::read_to_string(format!("/proc/self/task/{host}/children")).unwrap_or_default();
        if let Some(c) = children.split_whitespace().next() {
            return Some(format!("the program has a child process ({c})"));
        }
    }
    if fs::read_to_string("/proc/self/timers").is_ok_and(|t| !t.is_empty()) {
        return Some("the program has a timer (timer_create)".into());
    }
    for which in 0..3 {
        let mut t = [0i64; 4];
        // SAFETY: the kernel writes an itimerval.
        unsafe { sys!(libc::SYS_getitimer, which, t.as_mut_ptr()) };
        if t[2] != 0 || t[3] != 0 {
            return Some("the program has an interval timer (setitimer or alarm)".into());
        }
    }
    None
}

/// Puts open files back; the error names the one that could not be.
pub fn put_back(saved: &[OpenFile], ours: &[i32], new_process: bool) -> Result<(), String> {
    let now = numbers();
    for fd in now {
        if !ours.contains(&fd) && !saved.iter().any(|s| s.fd == fd) {
            // SAFETY: a descriptor that the program did not have then.
            unsafe { sys!(libc::SYS_close, fd) };
        }
    }
    for s in saved {
        let there =
            fs::read_link(format!("/proc/self/fd/{}", s.fd)).is_ok_and(|l| l.to_string_lossy() == s.path);
        if !there && !s.inherited {
            reopen(s)?;
        }
        if s.inherited && new_process && !(there && length_of(s.fd) >= s.length) {
            // The one who restarts has redirected it, or emptied the file: its affair.
            continue;
        }
        // Messages stay where they are: also ours about failures.
        if s.regular && s.fd != 2 {
            let wrong = |what: &str, e: isize| format!("{}: cannot {what}: {}", s.path, sys::why(e));
            // SAFETY (both): a descriptor of the program.
            let r = unsafe { sys!(libc::SYS_lseek, s.fd, s.offset, libc::SEEK_SET) };
            if r < 0 {
                return Err(wrong("go back to the saved offset", r));
            }
            let length = length_of(s.fd);
            if length < s.length && new_process {
                return Err(format!("{} has {length} bytes; it had {} at the checkpoint", s.path, s.length));
            }
            if s.flags & libc::O_ACCMODE != libc::O_RDONLY && length > s.length {
                let r = unsafe { sys!(libc::SYS_ftruncate, s.fd, s.length) };
                if r < 0 {
                    return Err(wrong("cut it to the saved length", r));
                }
            }
        }
    }
    Ok(())
}

fn length_of(fd: i32) -> u64 {
    fs::metadata(format!("/proc/self/fd/{fd}")).map_or(0, |m| m.size())
}

fn reopen(s: &OpenFile) -> Result<(), String> {
    let failed =
        |e: isize| format!("{} (descriptor {}) cannot be opened again: {}", s.path, s.fd, sys::why(e));
    if !s.path.starts_with('/') || s.path.ends_with(" (deleted)") {
        return Err(format!("descriptor {} ({}) cannot be opened again", s.fd, s.path));
    }
    let path = CString::new(s.path.as_bytes()).unwrap_or_default();
    let flags = s.flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_NOFOLLOW);
    // SAFETY: a C string; descriptors of the program.
    unsafe {
        let fd = sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags);
        if fd < 0 {
            return Err(failed(fd));
        }
        if fd as i32 != s.fd {
            let r = sys!(libc::SYS_dup3, fd, s.fd, s.flags & libc::O_CLOEXEC);
            sys!(libc::SYS_close, fd);
            if r < 0 {
                return Err(failed(r));
            }
        }
    }
    Ok(())
}

/// All dispositions that are not the default.
pub fn dispositions() -> Vec<Disposition> {
    (1..65)
        .filter_map(|signal| {
            let mut action = [0u64; 4];
            // SAFETY: the kernel writes 32 bytes.
            let r = unsafe { sys!(libc::SYS_rt_sigaction, signal, 0, action.as_mut_ptr(), 8) };
            (r == 0 && action != [0; 4]).then_some(Disposition { signal, action })
        })
        .collect()
}

/// Makes the dispositions what they were.
pub fn dispose(saved: &[Disposition]) {
    for signal in 1..65 {
        let action = saved.iter().find(|d| d.signal == signal).map_or([0; 4], |d| d.action);
        // SAFETY: what the kernel gave for this program; handlers are code that is mapped again.
        unsafe { sys!(libc::SYS_rt_sigaction, signal, action.as_ptr(), 0, 8) };
    }
}
