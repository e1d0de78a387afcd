//! The page store being written: slots, and the generations that refer to them (image.rs has the format).

use super::free::Free;
use super::image::{self, Description, Entry, PAGE};
use super::journal::era_of;
use super::pages::{Known, UNPLACED};
use super::slots::{Row, Slots};
use crate::sys;
use crate::sys::syscall::high;
use crate::sys::time;
use core::ops::Range;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What went wrong, for the message.
pub type Problem = String;

fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

fn problem(what: &str, path: &Path, error: isize) -> Problem {
    format!("{what} {}: {}", path.display(), sys::why(error))
}

/// Pages in a row that are many.
const MANY: usize = 256;

/// The store.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// Its path without links.
    real: PathBuf,
    dir_fd: i32,
    slots: Arc<Slots>,
    lock: i32,
    /// The pages of the last whole generation, by address.
    pub index: Vec<Entry>,
    /// Where they are many in a row: [start, end) in memory, in order.
    pub dense: Vec<(usize, usize)>,
    /// Slots that it does not refer to.
    free: Free,
    /// The generations whose files are there, the last one last.
    files: Vec<Kept>,
    /// So many are kept whole.
    most: usize,
    /// Pages written since it became whole.
    written: usize,
    /// Slots that were taken for it as the first that ever took them.
    fresh: usize,
    /// Slots that had ever been taken when it became whole, and that have been by now.
    had: usize,
    taken: usize,
    /// Slots that have been written to, for a generation or to be ready for one.
    reached: usize,
    /// Of slots that were only ready, those that have been taken since it became whole.
    from_ready: usize,
}

/// A generation whose file is there.
#[derive(Debug)]
struct Kept {
    number: u64,
    /// The era of the journal that began with it.
    era: u64,
    /// Its slots.
    slots: Vec<Range<usize>>,
}

impl Kept {
    fn new(number: u64, era: u64, index: &[Entry]) -> Self {
        let rows = index.chunk_by(|a, b| a.slot + 1 == b.slot);
        let slots = rows.map(|row| row[0].slot as usize..row[row.len() - 1].slot as usize + 1).collect();
        Self { number, era, slots }
    }
}

/// The generation that a new process goes on from: number, era, pages.
pub type From = (u64, u64, Vec<Entry>);

/// What a generation took.
#[derive(Clone, Copy, Debug)]
pub struct Committed {
    /// Pages that are not as they were in the one before.
    pub dirty_pages: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Pages written to slots that had only been made ready for them ([`Store::extend`]).
    pub from_ready: usize,
}

impl Store {
    /// Opens `dir` for writing, made (mode 0700) if it is not there. A store that is written by another
    /// process is refused; what an earlier process left is removed, unless `from` says which generation goes
    /// on. `most` generations are kept.
    pub fn open(dir: &Path, from: Option<From>, most: usize) -> Result<Self, Problem> {
        let path = c(dir);
        // SAFETY (all calls): C strings and descriptors of ours.
        unsafe {
            let r = sys!(libc::SYS_mkdir, path.as_ptr(), 0o700);
            if r < 0 && r != -(libc::EEXIST as isize) {
                return Err(problem("cannot make the directory", dir, r));
            }
            image::check_directory(dir)?;
            let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_RDONLY;
            let r = sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags);
            if r < 0 {
                return Err(problem("cannot open", dir, r));
            }
            let dir_fd = high(r);
            let open = |name: &core::ffi::CStr, more: i32| {
                let flags = libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_CLOEXEC;
                sys!(libc::SYS_openat, dir_fd, name.as_ptr(), flags | more, 0o600)
            };
            let file = |name: &core::ffi::CStr| {
                let r = open(name, 0);
                if r < 0 {
                    Err(problem("cannot write to", &dir.join(name.to_str().unwrap_or("")), r))
                } else {
                    Ok(high(r))
                }
            };
            let lock = file(c"lock")?;
            // The process that is to be continued may be about to die.
            let until = time::now_ns() + if from.is_some() { 1_000_000_000 } else { 0 };
            while sys!(libc::SYS_flock, lock, libc::LOCK_EX | libc::LOCK_NB) < 0 {
                if time::now_ns() < until {
                    sys::syscall::sched_yield();
                    continue;
                }
                let by = Self::holder(dir).map_or(String::new(), |pid| format!(" ({pid})"));
                return Err(format!("{} is in use by another process{by}", dir.display()));
            }
            let pid = format!("{:<10}\n", sys::syscall::getpid());
            sys!(libc::SYS_pwrite64, lock, pid.as_ptr(), pid.len(), 0);
            let pages = file(c"pages")?;
            let direct = high(open(c"pages", libc::O_DIRECT));
            let mut s = Self {
                dir: dir.into(),
                real: std::fs::read_link(format!("/proc/thread-self/fd/{dir_fd}")).unwrap_or_default(),
                dir_fd,
                slots: Arc::new(Slots::new(pages, direct, dir.join("pages"))),
                lock,
                index: Vec::new(),
                dense: Vec::new(),
                free: Free::but(core::iter::empty()),
                files: Vec::new(),
                most: most.max(1),
                written: 0,
                fresh: 0,
                had: 0,
                taken: 0,
                reached: 0,
                from_ready: 0,
            };
            let (number, era, index) = from.unwrap_or_default();
            let mut older: Vec<u64> = Vec::new();
            for name in sys::maps::names(&path) {
                let Some(g) = name.strip_prefix("gen-").and_then(|n| n.parse().ok()) else {
                    let of_a_run = era_of(&name).is_some() || name == image::ended::FILE;
                    if name.starts_with("new-") || (number == 0 && of_a_run) {
                        s.unlink(&name);
                    }
                    continue;
                };
                match g {
                    _ if g < number => older.push(g),
                    _ if g > number || number == 0 => s.unlink(&name),
                    _ => {}
                }
            }
            if number == 0 {
                s.slots.cut(0);
            } else {
                s.find(older);
                s.files.push(Kept::new(number, era, &index));
            }
            let there = s.slots.count();
            (s.had, s.taken, s.reached) = (there, there, there);
            s.accept(index);
            Ok(s)
        }
    }

    /// The process that writes to `dir`, or the last one that did.
    pub fn holder(dir: &Path) -> Option<u32> {
        let text = sys::maps::read_file(&c(&dir.join("lock")))?;
        core::str::from_utf8(&text).ok()?.trim().parse().ok()
    }

    /// Descriptors of ours, which are no files of the program.
    pub fn descriptors(&self) -> [i32; 4] {
        [self.dir_fd, self.slots.file, self.slots.direct, self.lock]
    }

    fn unlink(&self, name: &str) {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: a C string and a descriptor of ours.
        unsafe { sys!(libc::SYS_unlinkat, self.dir_fd, name.as_ptr(), 0) };
    }

    /// Keeps the newest of the generations `older` than the one that goes on; the others are removed.
    fn find(&mut self, mut older: Vec<u64>) {
        older.sort_unstable();
        let gone = older.len().saturating_sub(self.most - 1);
        older.drain(..gone).for_each(|g| self.unlink(&format!("gen-{g}")));
        let directory = image::Directory::open(&self.dir);
        for g in older {
            match directory.as_ref().map_err(Clone::clone).and_then(|d| d.read(g)) {
                Ok(read) => self.files.push(Kept::new(g, read.about.era, &read.index)),
                Err(_) => self.unlink(&format!("gen-{g}")),
            }
        }
    }

    fn accept(&mut self, index: Vec<Entry>) {
        let whole = &self.files[self.files.len().saturating_sub(self.most)..];
        self.free = Free::but(whole.iter().flat_map(|g| g.slots.iter().cloned()));
        self.dense = index
            .chunk_by(|a, b| a.page + 1 == b.page)
            .filter(|row| row.len() >= MANY && row[0].page < image::FILES)
            .map(|row| (row[0].page as usize * PAGE, (row[row.len() - 1].page as usize + 1) * PAGE))
            .collect();
        self.index = index;
    }

    /// Before slots are overwritten: generations other than those that are kept are no longer whole.
    fn drop_older(&mut self) {
        while self.files.len() > self.most {
            let g = self.files.remove(0);
            self.unlink(&format!("gen-{}", g.number));
        }
    }

    /// The era that the oldest generation which is there began.
    pub fn oldest_era(&self) -> u64 {
        self.files.first().map_or(0, |g| g.era)
    }

    /// Writes the pages of `content` whose entries have no slot yet ([`UNPLACED`]) and gives them slots that
    /// no generation which is kept refers to; others are none from here on.
    pub fn write(&mut self, content: &[u8], entries: &mut [Entry]) -> Result<(), Problem> {
        let rows = self.place(entries);
        self.slots.write(content, &rows)
    }

    /// Gives the pages of `entries` that have no slot yet slots that no generation which is kept refers to;
    /// others are none from here on.
    pub fn place(&mut self, entries: &mut [Entry]) -> Vec<Row> {
        self.drop_older();
        let (mut at, mut rows) = (0, Vec::new());
        while at < entries.len() {
            let end = at + entries[at..].iter().take_while(|e| e.slot == UNPLACED).count();
            while at < end {
                let (slot, n) = self.free.take(end - at);
                let end = slot + n;
                self.from_ready += end.min(self.reached).saturating_sub(self.taken.max(slot));
                (self.taken, self.reached) = (self.taken.max(end), self.reached.max(end));
                for (i, e) in entries[at..at + n].iter_mut().enumerate() {
                    e.slot = (slot + i) as u64;
                }
                rows.push(Row { at, n, slot });
                self.written += n;
                at += n;
            }
            at += 1;
        }
        rows
    }

    /// Slots that were taken for the last generation as the first that ever took them.
    pub fn fresh(&self) -> usize {
        self.fresh
    }

    /// Slots that have been written to before.
    pub fn reached(&self) -> usize {
        self.reached
    }

    /// How many of them are free.
    pub fn spare(&self) -> usize {
        self.reached.saturating_sub(self.free.used())
    }

    /// Writes `content` to the slots behind all that have been written to, so that these have been. If that is not possible they are as they were.
    pub fn extend(&mut self, content: &[u8]) -> Result<(), Problem> {
        self.overwrite(content, self.reached).inspect_err(|_| self.slots.cut(self.reached))?;
        self.reached += content.len() / PAGE;
        Ok(())
    }

    /// Writes `content` to the slots from `slot` on, which nobody refers to.
    pub fn overwrite(&self, content: &[u8], slot: usize) -> Result<(), Problem> {
        self.slots.write(content, &[Row { at: 0, n: content.len() / PAGE, slot }])
    }

    /// Gives back the slots from `slot` on, which [`Store::extend`] has written to.
    pub fn shorten(&mut self, slot: usize) {
        self.slots.cut(slot);
        self.reached = slot;
    }

    /// The file of pages.
    pub fn slots(&self) -> Arc<Slots> {
        self.slots.clone()
    }

    /// Makes `index` generation `number`: written aside, synced, renamed. Afterwards slots of the one before are free again
    /// as soon as that one is dropped.
    pub fn commit(
        &mut self,
        number: u64,
        about: &Description,
        index: Vec<Entry>,
    ) -> Result<Committed, Problem> {
        let bytes = image::encode(number, about, &index);
        let (name, temporary) = (format!("gen-{number}"), format!("new-{number}"));
        let path = self.dir.join(&temporary);
        let cname = |s: &str| CString::new(s).unwrap_or_default();
        // SAFETY: C strings, readable slices, descriptors of ours.
        unsafe {
            let r = sys!(libc::SYS_fdatasync, self.slots.file);
            if r < 0 {
                return Err(problem("cannot sync", &self.dir.join("pages"), r));
            }
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW | libc::O_CLOEXEC;
            let fd = sys!(libc::SYS_openat, self.dir_fd, cname(&temporary).as_ptr(), flags, 0o600);
            if fd < 0 {
                return Err(problem("cannot write", &path, fd));
            }
            let mut at = 0;
            let mut error = 0;
            while at < bytes.len() && error == 0 {
                let r = sys!(libc::SYS_write, fd, bytes[at..].as_ptr(), bytes.len() - at);
                if r > 0 {
                    at += r as usize
                } else {
                    error = if r == 0 { -(libc::ENOSPC as isize) } else { r }
                }
            }
            if error == 0 {
                error = sys!(libc::SYS_fsync, fd);
            }
            sys!(libc::SYS_close, fd);
            if error == 0 {
                error = sys!(
                    libc::SYS_renameat,
                    self.dir_fd,
                    cname(&temporary).as_ptr(),
                    self.dir_fd,
                    cname(&name).as_ptr()
                );
            }
            if error < 0 {
                self.unlink(&temporary);
                return Err(problem("cannot write", &path, error));
            }
            sys!(libc::SYS_fsync, self.dir_fd);
        }
        self.files.push(Kept::new(number, about.era, &index));
        let mut before = Known::from(&self.index, 0);
        let is_new = |e: &&Entry| before.of(e.page).is_none_or(|b| b.slot != e.slot);
        let dirty_pages = index.iter().filter(is_new).count() as u64;
        let bytes = (core::mem::take(&mut self.written) * PAGE + bytes.len()) as u64;
        self.fresh = self.taken - core::mem::replace(&mut self.had, self.taken);
        self.accept(index);
        Ok(Committed { dirty_pages, bytes, from_ready: core::mem::take(&mut self.from_ready) })
    }

    /// Reads the pages of `entries`, which lie in consecutive slots, and compares their checksums.
    pub fn read(&self, entries: &[Entry], content: &mut [u8]) -> Result<(), Problem> {
        let slot = entries.first().map_or(0, |e| e.slot as usize);
        let mut at = 0;
        while at < content.len() {
            // SAFETY: the slice is writable.
            let r = unsafe {
                sys!(
                    libc::SYS_pread64,
                    self.slots.file,
                    content[at..].as_mut_ptr(),
                    content.len() - at,
                    slot * PAGE + at
                )
            };
            if r <= 0 {
                return Err(problem("cannot read from", &self.dir.join("pages"), r));
            }
            at += r as usize;
        }
        match entries
            .iter()
            .zip(content.chunks_exact(PAGE))
            .find(|(e, c)| image::page_sum(e.page, c) != e.sum)
        {
            Some((e, _)) => {
                Err(format!("page {:x} of the checkpoint is damaged (checksum)", e.page * PAGE as u64))
            }
            None => Ok(()),
        }
    }

    /// Makes the counters that outlive the process available at `at`.
    pub fn map_state(&self, at: usize, fresh: bool) -> Result<(), Problem> {
        let path = self.dir.join("state");
        // SAFETY: a file of ours, mapped where nothing else is.
        unsafe {
            let flags = libc::O_RDWR
                | libc::O_CREAT
                | libc::O_NOFOLLOW
                | libc::O_CLOEXEC
                | if fresh { libc::O_TRUNC } else { 0 };
            let fd = sys!(libc::SYS_openat, self.dir_fd, c"state".as_ptr(), flags, 0o600);
            if fd < 0 {
                return Err(problem("cannot write to", &path, fd));
            }
            // Written, not only made long: a full file system must say so here, not by a signal later.
            let mut r = sys!(libc::SYS_ftruncate, fd, PAGE);
            let zero = [0u8; PAGE];
            if fresh && r >= 0 {
                r = sys!(libc::SYS_pwrite64, fd, zero.as_ptr(), PAGE, 0);
            }
            let p = sys!(
                libc::SYS_mmap,
                at,
                PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE,
                fd,
                0
            );
            sys!(libc::SYS_close, fd);
            if r < 0 || p != at as isize {
                return Err(problem("cannot map", &path, r.min(p)));
            }
        }
        Ok(())
    }

    /// Are the descriptors still ours? Some programs close everything they do not know.
    pub fn intact(&self) -> bool {
        let is = |fd: i32, name: &str| {
            let link = std::fs::read_link(format!("/proc/thread-self/fd/{fd}")).unwrap_or_default();
            link == if name.is_empty() { self.real.clone() } else { self.real.join(name) }
        };
        let direct = self.slots.direct < 0 || is(self.slots.direct, "pages");
        is(self.dir_fd, "") && is(self.slots.file, "pages") && direct && is(self.lock, "lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_made_longer_before_its_slots_are_taken() {
        let dir = std::env::temp_dir().join(format!("promp-store-{}", std::process::id()));
        let mut s = Store::open(&dir, None, 1).unwrap();
        let ready = |s: &Store| (s.reached(), s.spare());
        let length = || std::fs::metadata(dir.join("pages")).unwrap().len() as usize / PAGE;
        let content = vec![7; 100 * PAGE];
        s.extend(&content).unwrap();
        s.extend(&content).unwrap();
        assert_eq!((ready(&s), s.fresh(), length()), ((200, 200), 0, 200));
        s.shorten(100);
        assert_eq!((ready(&s), length()), ((100, 100), 100));
        let generation = |s: &mut Store, number, pages: usize| {
            let entry = |page| Entry { page, slot: UNPLACED, sum: image::page_sum(page, &content[..PAGE]) };
            let mut entries: Vec<Entry> = (0..pages as u64).map(entry).collect();
            s.write(&vec![7; pages * PAGE], &mut entries).unwrap();
            (s.commit(number, &Description::default(), entries.clone()).unwrap().from_ready, entries)
        };
        // What is taken first has been written to already.
        let (ready_ones, first) = generation(&mut s, 1, 80);
        assert_eq!((ready(&s), s.fresh(), ready_ones, length()), ((100, 20), 80, 80, 100));
        let (ready_ones, second) = generation(&mut s, 2, 90);
        assert_eq!((ready(&s), s.fresh(), ready_ones, length()), ((170, 80), 90, 20, 170));
        assert!(first.iter().all(|f| second.iter().all(|e| e.slot != f.slot)));
        let mut read = vec![0; 90 * PAGE];
        s.read(&second, &mut read).unwrap();
        // Behind what a generation refers to.
        s.extend(&content).unwrap();
        s.read(&second, &mut read).unwrap();
        // No more is needed: the third is where the first was.
        assert_eq!(generation(&mut s, 3, 70).0, 0);
        assert_eq!((ready(&s), s.fresh(), length()), ((270, 200), 0, 270));
        drop(s);
        std::fs::remove_dir_all(dir).unwrap();
    }

    /// As many generations as are asked for stay whole, whatever is written afterwards, also by the next
    /// process; what is older goes, and its slots are used again.
    #[test]
    fn older_generations_are_kept() {
        let dir = std::env::temp_dir().join(format!("promp-kept-{}", std::process::id()));
        let mut s = Store::open(&dir, None, 3).unwrap();
        let commit = |s: &mut Store, number: u64| {
            let content = [number as u8; PAGE].repeat(50);
            let entry = |page| Entry { page, slot: UNPLACED, sum: image::page_sum(page, &content[..PAGE]) };
            let mut entries: Vec<Entry> = (0..50).map(entry).collect();
            s.write(&content, &mut entries).unwrap();
            let about = Description { era: 10 * number, ..Description::default() };
            s.commit(number, &about, entries.clone()).unwrap();
            entries
        };
        let whole = |s: &Store, entries: &[Entry]| s.read(entries, &mut vec![0; 50 * PAGE]).is_ok();
        let there = || image::generation_files(&dir);
        let mut all: Vec<Vec<Entry>> = (1..=6).map(|n| commit(&mut s, n)).collect();
        // The fourth one goes only when something is written.
        assert_eq!((there(), s.oldest_era()), (vec![6, 5, 4, 3], 30));
        assert!(all[2..].iter().all(|e| whole(&s, e)) && !whole(&s, &all[0]));
        let end = |s: Store| {
            let lock = s.lock;
            drop(s);
            // SAFETY: the store's descriptor; it is gone.
            unsafe { libc::close(lock) };
        };
        end(s);
        // The next process goes back to the fifth; one of the older ones is damaged.
        std::fs::write(dir.join("gen-3"), "no generation").unwrap();
        let mut s = Store::open(&dir, Some((5, 50, all[4].clone())), 3).unwrap();
        assert_eq!((there(), s.oldest_era()), (vec![5, 4], 40));
        all.truncate(5);
        all.push(commit(&mut s, 6));
        assert_eq!(there(), [6, 5, 4]);
        assert!(all[3..].iter().all(|e| whole(&s, e)));
        end(s);
        let s = Store::open(&dir, Some((6, 60, all[5].clone())), 1).unwrap();
        assert_eq!(there(), [6]);
        end(s);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
