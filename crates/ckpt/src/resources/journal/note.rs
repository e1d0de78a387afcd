//! Writing down what a call will change. On the program's threads, also in its signal handlers: system calls and memory of the stack only.

use super::name::{Name, Short, kind, look};
use super::{Journal, Record, What, links};
use crate::attributes::memory_advice;
use crate::image;
use crate::sys;
use crate::sys::fcntl_locks;
use core::ffi::CStr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::*;
use std::os::fd::AsRawFd;

/// What a call does to a file that it opens.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Intent {
    /// It can be written to.
    pub write: bool,
    /// Only behind its end.
    pub append: bool,
    /// It is emptied.
    pub empty: bool,
    /// It is made if it is not there.
    pub make: bool,
    /// It must not be there.
    pub anew: bool,
}

impl Intent {
    /// By the flags of open(2).
    pub fn of_flags(flags: i32) -> Self {
        let has = |f: i32| flags & f == f;
        Self {
            write: flags & libc::O_ACCMODE != libc::O_RDONLY && !has(libc::O_TMPFILE),
            append: has(libc::O_APPEND),
            empty: has(libc::O_TRUNC),
            make: has(libc::O_CREAT),
            anew: has(libc::O_CREAT | libc::O_EXCL),
        }
    }

    /// By the mode of fopen(3).
    pub fn of_mode(mode: &CStr) -> Self {
        let m = mode.to_bytes();
        let first = m.first().copied().unwrap_or(b'r');
        let rest = m.get(1..).unwrap_or_default().split(|&b| b == b',').next().unwrap_or_default();
        Self {
            write: first != b'r' || rest.contains(&b'+'),
            append: first == b'a',
            empty: first == b'w',
            make: first != b'r',
            anew: first == b'w' && rest.contains(&b'x'),
        }
    }

    /// Can it change anything?
    pub fn matters(self) -> bool {
        self.write || self.empty || self.make
    }
}

/// Is no checkpoint to be taken until the call has been made? One that is not noted may take for ever.
pub(crate) type Hold = bool;

impl Journal {
    /// A file will be opened. Signals are blocked, and no checkpoint is taken.
    pub fn opening(&self, name: Option<Name>, intent: Intent) -> Hold {
        let Some(mut n) = name else { return false };
        if n.follow().is_none() || self.is_out_of_scope(&n) {
            return false;
        }
        match look(&n, 0) {
            Ok(s) if kind(&s) == libc::S_IFREG => {
                if !intent.anew && (intent.write || intent.empty) {
                    self.content(&n, &s, intent.append && !intent.empty);
                }
                true
            }
            Ok(_) => false,
            Err(_) => {
                if intent.make {
                    self.write(Record::of(What::Made), &[&n]);
                }
                true
            }
        }
    }

    /// A file will be cut to a length.
    pub fn cutting(&self, name: Option<Name>) -> Hold {
        if let Some(n) = name
            && !self.is_out_of_scope(&n)
            && let Ok(s) = look(&n, 0)
            && kind(&s) == libc::S_IFREG
        {
            self.content(&n, &s, false);
        }
        true
    }

    /// Memory will be mapped: of an unusual kind, or a file's to which it is written.
    pub fn mapping(&self, how: i32, fd: i32) -> Hold {
        if memory_advice::is_unusual(how) {
            memory_advice::said(0);
            return true;
        }
        self.cutting(Name::of_descriptor(fd))
    }

    /// Something that is not there will be made.
    pub fn making(&self, name: Option<Name>, directory: bool) -> Hold {
        if let Some(n) = name
            && !self.is_out_of_scope(&n)
            && look(&n, libc::AT_SYMLINK_NOFOLLOW).is_err()
        {
            let what = if directory { What::MadeDirectory } else { What::Made };
            self.write(Record::of(what), &[&n]);
        }
        true
    }

    /// Something has been made by a name that nobody knew before.
    pub fn made(&self, name: Option<Name>) {
        if let Some(n) = name
            && !self.is_out_of_scope(&n)
            && let Ok(s) = look(&n, libc::AT_SYMLINK_NOFOLLOW)
        {
            let directory = kind(&s) == libc::S_IFDIR;
            self.write(Record::of(if directory { What::MadeDirectory } else { What::Made }), &[&n]);
        }
    }

    /// A name will be removed, or another file put in its place.
    pub fn removing(&self, name: Option<Name>) -> Hold {
        if let Some(n) = name.filter(|n| !self.is_out_of_scope(n)) {
            self.remove(&n);
        }
        true
    }

    fn remove(&self, n: &Name) {
        let Ok(s) = look(n, libc::AT_SYMLINK_NOFOLLOW) else { return };
        if kind(&s) == libc::S_IFDIR {
            return self.write(Record::about(What::RemovedDirectory, &s), &[n]);
        }
        let mut r = Record::about(What::Removed, &s);
        r.copy = self.kept(n, &s);
        if r.copy == 0 {
            r.what = What::Lost as u32;
        }
        self.write(r, &[n]);
    }

    /// Keeps a file that is removed, by a link (one for all of its names) or a copy; its number, or 0.
    fn kept(&self, n: &Name, s: &libc::stat) -> u32 {
        let era = self.era.load(Relaxed);
        if let Some(number) = links::of_era(s.st_dev, s.st_ino, era) {
            return number;
        }
        let number = self.copies.fetch_add(1, Relaxed) + 1;
        let copy = self.name(number);
        // SAFETY: C strings.
        let linked = self.folder.open().is_ok_and(|dir| unsafe {
            let (dir, copy) = (dir.as_raw_fd(), copy.name().as_ptr());
            sys!(libc::SYS_linkat, libc::AT_FDCWD, n.pointer(), dir, copy, 0, 0) == 0
        });
        if linked {
            links::note(s.st_dev, s.st_ino, era, number);
            return number;
        }
        if kind(s) == libc::S_IFREG { self.copy(n, s, number) } else { 0 }
    }

    /// A file will get another name.
    pub fn renaming(&self, from: Option<Name>, to: Option<Name>) -> Hold {
        let in_scope = |n: &Name| !self.is_out_of_scope(n);
        if let (Some(from), Some(to)) = (from.filter(in_scope), to.filter(in_scope))
            && let Ok(s) = look(&from, libc::AT_SYMLINK_NOFOLLOW)
        {
            let there = look(&to, libc::AT_SYMLINK_NOFOLLOW);
            let same = there.as_ref().is_ok_and(|t| (t.st_dev, t.st_ino) == (s.st_dev, s.st_ino));
            if there.is_ok() && !same {
                self.remove(&to);
            }
            if !same {
                self.write(Record::about(What::Renamed, &s), &[&from, &to]);
            }
        }
        true
    }

    /// Two names change places: noted as if by way of a third one, where nothing ever is. What has become of
    /// each name tells when it is undone which of the three have been made: all or none.
    pub fn exchanging(&self, a: Option<Name>, b: Option<Name>) -> Hold {
        let (Some(a), Some(b)) = (a, b) else { return true };
        let look = |n: &Name| look(n, libc::AT_SYMLINK_NOFOLLOW);
        let (Ok(of_a), Ok(of_b)) = (look(&a), look(&b)) else { return true };
        if (of_a.st_dev, of_a.st_ino) == (of_b.st_dev, of_b.st_ino) {
            return true;
        }
        let ends = |n: &Name| n.bytes().ends_with(b"/");
        let beside = self.path_beside(&a).filter(|n| look(n).is_err() && !ends(&a) && !ends(&b));
        let Some(aside) = beside else {
            self.cannot_undo(b"renameat2 RENAME_EXCHANGE");
            return true;
        };
        self.write(Record::about(What::Renamed, &of_a), &[&a, &aside]);
        self.write(Record::about(What::Renamed, &of_b), &[&b, &a]);
        self.write(Record::about(What::Renamed, &of_a), &[&aside, &b]);
        true
    }

    /// A name in the folder of `n` that no program has.
    fn path_beside(&self, n: &Name) -> Option<Name> {
        let folder = n.bytes().iter().rposition(|&b| b == b'/')?;
        let mut beside = Name::new(&n.bytes()[..=folder])?;
        beside.push(b".promp-")?;
        beside.push(self.name(u32::MAX).name().to_bytes())?;
        Some(beside)
    }

    /// Notes what a file holds, unless that is known.
    fn content(&self, n: &Name, s: &libc::stat, appends: bool) {
        let era = self.era.load(Relaxed);
        let (known, mark) = self.mark([s.st_dev, s.st_ino, era, u64::from(appends)]);
        if known.load(Relaxed) == mark {
            return;
        }
        let mut r = Record::about(if appends { What::Length } else { What::Content }, s);
        if !appends && s.st_size > 0 {
            r.copy = self.copy(n, s, self.copies.fetch_add(1, Relaxed) + 1);
            if r.copy == 0 {
                r.what = What::Lost as u32;
            }
        }
        self.write(r, &[n]);
        known.store(mark, Relaxed);
    }

    /// Where it is remembered that something has been noted, and by which word.
    fn mark(&self, what: [u64; 4]) -> (&AtomicU64, u64) {
        let hash = what.iter().fold(0x9e37_79b9_7f4a_7c15, |h: u64, w| {
            (h ^ w).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
        });
        (&self.seen[hash as usize % self.seen.len()], hash | 1)
    }

    /// `what` will be done, which nothing undoes: there is no way back behind it.
    pub fn cannot_undo(&self, what: &[u8]) {
        let (known, mark) = self.mark([image::sum(what), 0, self.era.load(Relaxed), 2]);
        if let Some(text) = Name::new(what).filter(|_| known.load(Relaxed) != mark) {
            self.write(Record::of(What::NotUndone), &[&text]);
            known.store(mark, Relaxed);
        }
    }

    /// Copies what a file holds; the copy's number, 0 if that is not possible.
    fn copy(&self, n: &Name, s: &libc::stat, number: u32) -> u32 {
        let length = s.st_size as u64;
        // To close it would give a lock back.
        if fcntl_locks::held(s.st_ino) {
            return 0;
        }
        let enough = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(length)).is_ok();
        let Some(dir) = self.folder.open().ok().filter(|_| enough) else { return 0 };
        let (dir, to) = (dir.as_raw_fd(), self.name(number));
        // SAFETY: C strings, descriptors of ours.
        unsafe {
            let from = sys!(libc::SYS_openat, libc::AT_FDCWD, n.pointer(), libc::O_RDONLY | libc::O_CLOEXEC);
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW | libc::O_CLOEXEC;
            let to = sys!(libc::SYS_openat, dir, to.name().as_ptr(), flags, 0o600);
            let whole = from >= 0 && to >= 0 && promp_files::copy(from as i32, to as i32, length).is_ok();
            for fd in [from, to] {
                if fd >= 0 {
                    sys!(libc::SYS_close, fd);
                }
            }
            if whole { number } else { 0 }
        }
    }

    /// The name of the journal's file, or of a copy, in its folder.
    fn name(&self, copy: u32) -> Short {
        Short::journals(self.era.load(Relaxed), copy)
    }

    /// Not the program's files: the kernel's, ours.
    fn is_out_of_scope(&self, n: &Name) -> bool {
        let Some(dir) = self.folder.name() else { return true };
        let ours = n.bytes().strip_prefix(dir.to_bytes()).is_some_and(|rest| rest.first() == Some(&b'/'));
        ours || image::is_the_kernels(n.bytes())
    }

    /// Adds a record.
    fn write(&self, mut r: Record, names: &[&Name]) {
        let bytes = [names[0].bytes(), names.get(1).map_or(&[][..], |n| n.bytes())];
        r.names = bytes.map(|b| b.len() as u16);
        r.folders = [0, 1].map(|i| names.get(i).map_or(0, |n| folder_of(n)));
        let sum = r.sum(bytes).to_le_bytes();
        let parts = [&r.bytes()[..], bytes[0], bytes[1], &sum];
        let vector = parts.map(|p| libc::iovec { iov_base: p.as_ptr().cast_mut().cast(), iov_len: p.len() });
        let whole: usize = parts.iter().map(|p| p.len()).sum();
        if self.folder.name().is_none() {
            return;
        }
        let (dir, name) = (self.folder.open(), self.name(0));
        let dir = dir.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: a C string, readable slices, a descriptor of ours.
        unsafe {
            let fd = sys!(libc::SYS_openat, dir, name.name().as_ptr(), flags, 0o600);
            let wrote =
                promp_files::within_limit(|| sys!(libc::SYS_writev, fd, vector.as_ptr(), vector.len()));
            if fd >= 0 {
                sys!(libc::SYS_close, fd);
            }
            if wrote != whole as isize {
                // What follows cannot be undone: no way back behind it.
                super::broken().store(self.era.load(Relaxed) + 1, Relaxed);
            }
        }
    }
}

/// The inode of the directory that a name is in; 0: not known.
#[inline(never)]
fn folder_of(n: &Name) -> u64 {
    let bytes = n.bytes();
    let end = bytes.iter().rposition(|&b| b != b'/').map_or(0, |last| last + 1);
    let slash = bytes[..end].iter().rposition(|&b| b == b'/').unwrap_or(0);
    let folder = Name::new(&bytes[..slash.max(1).min(bytes.len())]);
    folder.and_then(|f| look(&f, 0).ok()).map_or(0, |s| s.st_ino)
}

impl Record {
    fn of(what: What) -> Self {
        Self {
            what: what as u32,
            mode: 0,
            length: 0,
            written: 0,
            device: 0,
            inode: 0,
            folders: [0; 2],
            copy: 0,
            names: [0; 2],
        }
    }

    fn about(what: What, s: &libc::stat) -> Self {
        Self {
            mode: s.st_mode & 0o7777,
            length: s.st_size as u64,
            written: s.st_mtime * 1_000_000_000 + s.st_mtime_nsec,
            device: s.st_dev,
            inode: s.st_ino,
            ..Self::of(what)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intents() {
        let write = Intent { write: true, ..Intent::default() };
        let made = Intent { make: true, ..write };
        assert!(!Intent::of_flags(libc::O_RDONLY | libc::O_CLOEXEC).matters());
        assert_eq!(Intent::of_flags(libc::O_RDWR), write);
        assert_eq!(
            Intent::of_flags(libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC),
            Intent { empty: true, ..made }
        );
        assert!(!Intent::of_flags(libc::O_TMPFILE | libc::O_RDWR).write);
        assert!(!Intent::of_mode(c"rb").matters());
        assert_eq!(Intent::of_mode(c"r+b"), write);
        assert_eq!(Intent::of_mode(c"a+"), Intent { append: true, ..made });
        assert_eq!(Intent::of_mode(c"wx,ccs=UTF-8+"), Intent { empty: true, anew: true, ..made });
        assert!(!Intent::of_mode(c"r,ccs=+").matters());
    }
}
