//! Open files: what can be put back, and what makes a checkpoint impossible.

use super::resource::{Back, Frozen, No, Resource};
use super::{contents, cuts, directories, file_locks};
use crate::anonymous::{self, Anonymous};
use crate::image::{Description, Object, OpenFile, Origin, Peculiarity, Sent};
use crate::journal::links;
use crate::keep;
use crate::open_descriptors::{Inherited, length_of, numbers, unread};
use crate::pipes::own_pipes;
use crate::sys;
use std::fs;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// The name of what is behind a descriptor. What the kernel tells of this process has the name that it has in any process.
fn name_behind(fd: i32) -> Option<String> {
    let link = fs::read_link(format!("/proc/thread-self/fd/{fd}")).ok()?.to_string_lossy().into_owned();
    let own = format!("/proc/{}/", sys::syscall::getpid());
    Some(match link.strip_prefix(&own) {
        // All threads have one memory, and this one may have another number by then, or be gone.
        Some(of_itself) if of_itself.starts_with("task/") && of_itself.ends_with("/mem") => {
            "/proc/thread-self/mem".into()
        }
        Some(of_itself) => format!("/proc/self/{of_itself}"),
        None => link,
    })
}

/// Open descriptors but those in `ours`; the error says what cannot be saved. Streams among `inherited`, which the program was
/// started with, are its surroundings: they stay as they are.
fn open_files(ours: &[i32], inherited: &[Inherited]) -> Result<Vec<OpenFile>, String> {
    let mut all: Vec<OpenFile> = Vec::new();
    let mut anonymous = Anonymous::default();
    for fd in numbers() {
        if !ours.contains(&fd) {
            all.extend(open_file(fd, inherited, &all, &mut anonymous)?);
        }
    }
    own_pipes::look(&mut all)?;
    Ok(all)
}

/// What is behind descriptor `fd`; `all`: behind those before. `None`: it has been closed meanwhile; it was the directory being read.
fn open_file(
    fd: i32,
    inherited: &[Inherited],
    all: &[OpenFile],
    anonymous: &mut Anonymous,
) -> Result<Option<OpenFile>, String> {
    let Some(path) = name_behind(fd) else { return Ok(None) };
    let Ok(info) = fs::read_to_string(format!("/proc/thread-self/fdinfo/{fd}")) else { return Ok(None) };
    let Ok(meta) = fs::metadata(format!("/proc/thread-self/fd/{fd}")) else { return Ok(None) };
    let offset = info.lines().find_map(|l| l.strip_prefix("pos:"));
    let (t, file) = (meta.file_type(), (meta.dev(), meta.ino()));
    // Where there is no name, a duplicate of one is the same to the program.
    let same = |i: &&Inherited| {
        let access = flags_in(&info) & libc::O_ACCMODE;
        i.file == file && !path.starts_with('/') && i.access == access
    };
    let of = inherited.iter().find(|i| i.fd == fd && i.file == file).or(inherited.iter().find(same));
    let inherited = of.is_some();
    let duplicate_of = of.map(|i| i.fd).filter(|of| *of != fd);
    let peculiarity = peculiarity((fd, &path), &info, &meta)?;
    let surroundings = inherited && !t.is_file() && !t.is_dir();
    // What a pipe from outside holds stays there.
    if surroundings && (t.is_fifo() || unread(fd) == 0) {
        let flags = flags_in(&info);
        let stream = OpenFile { fd, path, inherited: true, duplicate_of, flags, ..Default::default() };
        return Ok(Some(OpenFile { peculiarity, ..stream }));
    }
    let object = object_behind((fd, &path), (&info, t), all, anonymous)?;
    let same_as = all.iter().find(|f| (f.device, f.inode) == (meta.dev(), meta.ino()) && is_one(f.fd, fd));
    Ok(Some(OpenFile {
        fd,
        inherited,
        regular: t.is_file() && path.starts_with('/') && flags_in(&info) & libc::O_PATH == 0,
        flags: flags_in(&info),
        offset: offset.and_then(|n| n.trim().parse().ok()).unwrap_or(0),
        length: meta.size(),
        device: meta.dev(),
        inode: meta.ino(),
        origin: Some(Origin::of(fd, &meta)),
        mode: meta.mode() & 0o7777,
        content: None,
        object,
        same_as: same_as.map(|f| f.fd),
        peculiarity,
        locks: file_locks::held(&info).map_err(|what| format!("descriptor {fd} ({path}) has {what}"))?,
        path,
        ..Default::default()
    }))
}

/// The object of the kernel's behind a descriptor, if it is no file; the error says that it is one which cannot be saved.
fn object_behind(
    (fd, path): (i32, &str),
    (info, t): (&str, fs::FileType),
    all: &[OpenFile],
    anonymous: &mut Anonymous,
) -> Result<Option<Object>, String> {
    if t.is_file() && sys::descriptors::is_queue(fd) {
        return Err(format!("descriptor {fd} is the message queue {path}"));
    }
    if t.is_socket() {
        return Err(format!("descriptor {fd} is a socket ({path})"));
    }
    let object = match path.starts_with("anon_inode:") {
        true => Some(anonymous.behind(fd, path, info).map_err(|what| format!("descriptor {fd} is {what}"))?),
        false => None,
    };
    let alike = |f: &&OpenFile| f.object.is_some() && f.path == path;
    if object.is_some() && all.iter().filter(alike).any(|f| compared(f.fd, fd).is_none()) {
        return Err(format!("descriptor {fd} is {path}, and may be a duplicate; the system does not tell"));
    }
    if t.is_block_device() || (t.is_char_device() && !harmless_device(path)) {
        return Err(format!("descriptor {fd} is the device {path}"));
    }
    Ok(object)
}

fn peculiarity(
    (fd, path): (i32, &str),
    fdinfo: &str,
    about: &fs::Metadata,
) -> Result<Option<Peculiarity>, String> {
    let sealed = |what| format!("descriptor {fd} is {path}, {what}");
    Ok(if sys::descriptors::sends_signals(fd) && !fdinfo.contains("LEASE") {
        Some(Peculiarity::Signals)
    } else if path.starts_with("/memfd:") {
        sys::descriptors::is_unsealable(fd).map_err(sealed)?.then_some(Peculiarity::Unsealable)
    } else if about.is_symlink() {
        Some(Peculiarity::Link)
    } else {
        let names = path.ends_with(" (deleted)") && about.is_file() && links::of(about) > 0;
        names.then_some(Peculiarity::OtherName)
    })
}

fn harmless_device(path: &str) -> bool {
    const NAMES: [&str; 7] =
        ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/console"];
    NAMES.contains(&path) || path.starts_with("/dev/pts/")
}

/// Do two descriptors share their offset and flags, because one was made from the other? No, where the system does not tell.
fn is_one(a: i32, b: i32) -> bool {
    compared(a, b) == Some(true)
}

/// The same, where the system tells.
fn compared(a: i32, b: i32) -> Option<bool> {
    const KCMP_FILE: usize = 0;
    let me = sys::syscall::getpid();
    // SAFETY: plain call.
    let r = unsafe { sys!(libc::SYS_kcmp, me, me, KCMP_FILE, a, b, 0) };
    (r >= 0).then_some(r == 0)
}

/// What `f` is, a regular file that is open by the number `fd`.
pub(crate) fn described(fd: i32, f: &OpenFile) -> Option<OpenFile> {
    let about = fs::metadata(format!("/proc/thread-self/fd/{fd}")).ok().filter(|m| m.is_file())?;
    Some(OpenFile {
        fd,
        regular: true,
        length: about.size(),
        device: about.dev(),
        inode: about.ino(),
        origin: Some(Origin::of(fd, &about)),
        mode: about.mode() & 0o7777,
        ..f.clone()
    })
}

/// Open files.
#[derive(Default)]
pub(crate) struct Files;

impl Resource for Files {
    fn look(&mut self, process: &Frozen, about: &mut Description) -> Result<(), No> {
        about.files = open_files(process.ours, process.inherited)?;
        Ok(())
    }

    /// With their content; the error names the one that could not be put back.
    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        put_back(&about.files, &about.sent, to)
    }
}

fn put_back(
    saved: &[OpenFile],
    sent: &[Sent],
    &Back { ours, new_process, store, .. }: &Back,
) -> Result<(), String> {
    match new_process {
        true => duplicate(saved)?,
        false => saved
            .iter()
            .filter(|s| s.inherited && !s.regular && !s.path.is_empty())
            .try_for_each(stream_back)?,
    }
    for fd in numbers() {
        if !ours.contains(&fd) && !saved.iter().any(|s| s.fd == fd) {
            // SAFETY: a descriptor that the program did not have then.
            unsafe { sys!(libc::SYS_close, fd) };
        }
    }
    let mut there: Vec<bool> = (0..saved.len()).map(|i| is_there(saved, i)).collect();
    // The one who restarts has redirected it, or emptied the file: its affair.
    let elsewhere = |(s, there): (&OpenFile, &bool)| {
        s.inherited && new_process && !(*there && length_of(s.fd) >= s.length)
    };
    let left: Vec<bool> = saved.iter().zip(&there).map(elsewhere).collect();
    own_pipes_back(saved, &mut there)?;
    own_pipes::put_back(saved)?;
    for i in 0..saved.len() {
        // Streams that the program has closed itself since come back only if they have a name.
        if !there[i]
            && saved[i].object.is_none()
            && (!saved[i].inherited || (saved[i].regular && !new_process))
        {
            let same = |j: &usize| there[*j] && saved[i].regular && is_same(&saved[*j], &saved[i]);
            reopen(&saved[i], (0..saved.len()).find(same).map(|j| saved[j].fd))?;
            there[i] = true;
        }
    }
    let back: Vec<OpenFile> =
        saved.iter().zip(&left).filter(|(_, left)| !**left).map(|(s, _)| s.clone()).collect();
    contents::put_back(&back, store)?;
    anonymous::put_back(saved)?;
    directories::put_back(saved)?;
    file_locks::put_back(&back, new_process)?;
    // Messages stay where they are: also ours about failures.
    let mut all = back.iter().filter(|s| s.regular && !(s.fd == 2 && s.inherited));
    all.try_for_each(|s| put_length_back(s, sent))
}

/// Pipes of the program's own of which an end is missing: new ones, with all their ends.
fn own_pipes_back(saved: &[OpenFile], there: &mut [bool]) -> Result<(), String> {
    for i in 0..saved.len() {
        if there[i] || !saved[i].is_own_pipe() {
            continue;
        }
        let mut pair = [0i32; 2];
        // SAFETY: two integers.
        let r = unsafe { sys!(libc::SYS_pipe2, pair.as_mut_ptr(), libc::O_CLOEXEC) };
        if r < 0 {
            return Err(format!("descriptor {} ({}): {}", saved[i].fd, saved[i].path, sys::why(r)));
        }
        let [from, to] = pair.map(|fd| sys::syscall::high(fd as isize));
        for (s, there) in saved.iter().zip(&mut *there).filter(|(s, _)| s.path == saved[i].path) {
            let end = if s.is_writable() { to } else { from };
            // SAFETY: descriptors of ours and of the program.
            unsafe {
                sys!(libc::SYS_dup3, end, s.fd, s.flags & libc::O_CLOEXEC);
                sys!(libc::SYS_fcntl, s.fd, libc::F_SETFL, s.flags);
            }
            *there = true;
        }
        // SAFETY: descriptors of ours.
        unsafe {
            sys!(libc::SYS_close, from);
            sys!(libc::SYS_close, to);
        }
    }
    Ok(())
}

/// In a new process: what the program had made duplicates of, it has duplicates of again.
fn duplicate(saved: &[OpenFile]) -> Result<(), String> {
    let failed = |s: &OpenFile, e: isize| format!("descriptor {} ({}): {}", s.fd, s.path, sys::why(e));
    // Two may have changed places.
    let of = |s: &OpenFile| {
        let first = s.duplicate_of?;
        // SAFETY: plain call.
        let copy = unsafe { sys!(libc::SYS_fcntl, first, libc::F_DUPFD_CLOEXEC, 0) };
        Some((s.clone(), sys::syscall::high(copy)))
    };
    let copies: Vec<(OpenFile, i32)> = saved.iter().filter_map(of).collect();
    for (s, copy) in copies {
        // SAFETY: descriptors of ours and of the program's.
        let r = unsafe {
            let r = sys!(libc::SYS_dup3, copy, s.fd, s.flags & libc::O_CLOEXEC);
            sys!(libc::SYS_close, copy);
            r
        };
        // There is none here: so it is with the first.
        if r < 0 && r != -(libc::EBADF as isize) {
            return Err(failed(&s, r));
        }
    }
    Ok(())
}

/// A stream that the program was started with, and has closed since or put something else in its place (`freopen`). There may be a duplicate, or it has
/// a name. Where it is gone for good, the program has done with it what it was to do: what it does again leads nowhere.
fn stream_back(s: &OpenFile) -> Result<(), String> {
    let leads_there = |fd: i32| {
        let info = fs::read_to_string(format!("/proc/thread-self/fdinfo/{fd}")).unwrap_or_default();
        name_behind(fd).is_some_and(|name| name == s.path)
            && (flags_in(&info) ^ s.flags) & libc::O_ACCMODE == 0
    };
    if leads_there(s.fd) {
        return Ok(());
    }
    match numbers().into_iter().find(|&fd| leads_there(fd)) {
        // SAFETY: descriptors of the program.
        Some(other) => match unsafe { sys!(libc::SYS_dup3, other, s.fd, s.flags & libc::O_CLOEXEC) } {
            r if r < 0 => Err(format!("descriptor {} ({}): {}", s.fd, s.path, sys::why(r))),
            _ => Ok(()),
        },
        None if s.path.starts_with('/') => reopen(s, None),
        None => reopen(&OpenFile { path: "/dev/null".into(), ..s.clone() }, None),
    }
}

fn is_same(a: &OpenFile, b: &OpenFile) -> bool {
    (a.device, a.inode) == (b.device, b.inode)
}

/// Is the file of `all[i]` open by its number, as it was?
fn is_there(all: &[OpenFile], i: usize) -> bool {
    let s = &all[i];
    if name_behind(s.fd).is_none_or(|name| name != s.path) {
        return false;
    }
    if s.inherited {
        return true;
    }
    let same_file = || {
        let meta = fs::metadata(format!("/proc/thread-self/fd/{}", s.fd));
        meta.is_ok_and(|m| (m.dev(), m.ino()) == (s.device, s.inode))
    };
    let flags =
        flags_in(&fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", s.fd)).unwrap_or_default());
    let shares = |g: &OpenFile| s.same_as == Some(g.fd) || (s.same_as.is_some() && s.same_as == g.same_as);
    let as_then =
        all[..i].iter().filter(|g| g.regular && is_same(g, s)).all(|g| is_one(g.fd, s.fd) == shares(g));
    if (flags ^ s.flags) & libc::O_ACCMODE != 0 || !same_file() || (s.regular && !as_then) {
        return false;
    }
    if flags != s.flags {
        // SAFETY: plain call, with a descriptor of the program.
        unsafe { sys!(libc::SYS_fcntl, s.fd, libc::F_SETFL, s.flags) };
        close_at_an_exec(s);
    }
    true
}

/// Makes the descriptor close itself at an exec, or not, as it did.
fn close_at_an_exec(s: &OpenFile) {
    let close = if s.flags & libc::O_CLOEXEC != 0 { libc::FD_CLOEXEC } else { 0 };
    // SAFETY: plain call, with a descriptor of the program.
    unsafe { sys!(libc::SYS_fcntl, s.fd, libc::F_SETFD, close) };
}

/// The flags that a descriptor was opened with, as far as they matter afterwards.
fn flags_in(fdinfo: &str) -> i32 {
    let flags = fdinfo.lines().find_map(|l| l.strip_prefix("flags:"));
    let flags = flags.and_then(|f| i32::from_str_radix(f.trim(), 8).ok()).unwrap_or(0);
    const TMPFILE: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;
    flags & if flags & TMPFILE != 0 { !libc::O_TMPFILE } else { !0 }
}

/// The offset and the length. `sent`: where the program was in logs.
pub(crate) fn put_length_back(s: &OpenFile, sent: &[Sent]) -> Result<(), String> {
    let wrong = |what: &str, e: isize| format!("{}: cannot {what}: {}", s.path, sys::why(e));
    let right = s.inherited.then(cuts::right).flatten();
    let length = length_of(s.fd);
    if s.inherited && keep::get().sent.keeps_a_log(s, length, sent, right.is_some()) {
        // Nothing is cut, and what is sent again is left out. Who shares the offset may write now.
        // SAFETY: a descriptor of the program.
        unsafe { sys!(libc::SYS_lseek, s.fd, 0, libc::SEEK_END) };
        return Ok(());
    }
    // SAFETY (both): a descriptor of the program.
    let r = unsafe { sys!(libc::SYS_lseek, s.fd, s.offset, libc::SEEK_SET) };
    if r < 0 {
        return Err(wrong("go back to the saved offset", r));
    }
    if length < s.length && !s.inherited {
        return Err(format!("{} has {length} bytes; it had {} at the checkpoint", s.path, s.length));
    }
    if s.is_writable() && length > s.length {
        let r = unsafe { sys!(libc::SYS_ftruncate, s.fd, s.length) };
        if r < 0 {
            return Err(wrong("cut it to the saved length", r));
        }
    }
    Ok(())
}

/// Opens the file of `s` by its number; `other`: a descriptor for the same file.
fn reopen(s: &OpenFile, other: Option<i32>) -> Result<(), String> {
    let failed = |why: String| format!("{} (descriptor {}) cannot be opened again: {why}", s.path, s.fd);
    let system = |e: isize| failed(sys::why(e).to_string());
    if !s.can_be_opened_again() {
        return Err(format!("descriptor {} ({}) cannot be opened again", s.fd, s.path));
    }
    let flags = s.flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_NOFOLLOW);
    let again = |fd: i32| promp_files::open_again(fd, flags).map_err(|e| e.kind().to_string());
    let fd = match (s.same_as, other) {
        (Some(first), _) => {
            // SAFETY: plain call.
            let fd = unsafe { sys!(libc::SYS_fcntl, first, libc::F_DUPFD_CLOEXEC, 0) };
            if fd < 0 { Err(system(fd)) } else { Ok(fd as i32) }
        }
        (None, Some(other)) => again(other).map(IntoRawFd::into_raw_fd).map_err(failed),
        (None, None) if s.has_no_name() => {
            let new = s.made_again().map_err(failed)?;
            again(new.as_raw_fd()).map(IntoRawFd::into_raw_fd).map_err(failed)
        }
        (None, None) => s.open_again(flags).map(IntoRawFd::into_raw_fd).map_err(failed),
    };
    let fd = fd?;
    if fd == s.fd {
        close_at_an_exec(s);
    } else {
        // SAFETY: descriptors of the program.
        unsafe {
            let r = sys!(libc::SYS_dup3, fd, s.fd, s.flags & libc::O_CLOEXEC);
            sys!(libc::SYS_close, fd);
            if r < 0 {
                return Err(system(r));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::door::Door;

    #[test]
    fn memory_has_a_name_that_does_not_end_with_a_thread() {
        let (door, name) = std::thread::spawn(|| {
            let door = Door::open();
            let name = name_behind(door.0);
            (door, name)
        })
        .join()
        .unwrap();
        let name = name.unwrap();
        assert!(!name.contains("/task/"), "{name}");
        // The thread that opened it is gone.
        drop(door);
        promp_files::open(name.as_ref(), libc::O_RDWR).unwrap();
    }
}
