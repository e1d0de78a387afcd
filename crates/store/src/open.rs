//! Opening a checkpoint directory for writing: it is locked, what an earlier process has left is found or
//! removed, the counters that outlive the process are mapped.

use super::{From, Kept, Problem, Store, c, problem};
use crate::free::Free;
use crate::slots::Slots;
use crate::sys;
use crate::sys::syscall::high;
use crate::sys::time;
use crate::undo_names::era_of;
use promp_image::{self as image, PAGE};
use std::ffi::CStr;
use std::io::Read;
use std::os::fd::IntoRawFd;
use std::path::Path;
use std::sync::Arc;

/// The end record before the end (ckpt/control/ends.rs).
const ROOM: &[u8] = image::end_record::ASIDE.to_bytes();

/// The names in an open directory.
fn names(dir: i32) -> Vec<String> {
    sys::maps::names(&c(Path::new(&format!("/proc/thread-self/fd/{dir}"))))
}

/// Opens a file of ours in an open directory, or makes it; `more` flags. A descriptor or an error.
fn open_or_make(dir: i32, name: &CStr, more: i32) -> isize {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: a C string.
    unsafe { sys!(libc::SYS_openat, dir, name.as_ptr(), flags | more, 0o600) }
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
            let dir_fd = high(image::open_directory(dir)?.into_raw_fd() as isize);
            let file = |name: &CStr| {
                let r = open_or_make(dir_fd, name, 0);
                if r < 0 {
                    Err(problem("cannot write to", &dir.join(name.to_str().unwrap_or("")), r))
                } else {
                    Ok(high(r))
                }
            };
            let lock = file(c"lock")?;
            // The process that is to be continued may be about to die.
            Self::take(lock, dir, if from.is_some() { 1_000_000_000 } else { 0 })?;
            let pages = file(c"pages")?;
            let direct = high(open_or_make(dir_fd, c"pages", libc::O_DIRECT));
            let sums = file(&c(Path::new(image::SUMS)))?;
            let mut s = Self {
                dir: dir.into(),
                real: std::fs::read_link(format!("/proc/thread-self/fd/{dir_fd}")).unwrap_or_default(),
                dir_fd,
                slots: Arc::new(Slots::new(pages, direct, dir.join("pages"))),
                sums,
                sums_hold: false,
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
            let older = s.tidy(number);
            if number == 0 {
                s.slots.cut(0);
                sys!(libc::SYS_ftruncate, sums, 0);
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

    /// Locks `dir` by its file `lock`, in which the process stands then. It waits `patience_ns` for another.
    fn take(lock: i32, dir: &Path, patience_ns: u64) -> Result<(), Problem> {
        let until = time::now_ns() + patience_ns;
        // SAFETY (all calls): a text and a descriptor of ours.
        unsafe {
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
        }
        Ok(())
    }

    /// Removes what an earlier process left, but the generation `number` (0: none goes on) and older ones:
    /// which these are.
    fn tidy(&self, number: u64) -> Vec<u64> {
        let mut older: Vec<u64> = Vec::new();
        for name in names(self.dir_fd) {
            let Some(g) = name.strip_prefix("gen-").and_then(|n| n.parse().ok()) else {
                let of_a_run = era_of(&name).is_some() || name == image::end_record::FILE;
                // Room for the end record stays.
                let aside = name.starts_with("new-") && (number == 0 || name.as_bytes() != ROOM);
                if aside || (number == 0 && of_a_run) {
                    self.unlink(&name);
                }
                continue;
            };
            match g {
                _ if g < number => older.push(g),
                _ if g > number || number == 0 => self.unlink(&name),
                _ => {}
            }
        }
        older
    }

    /// The process that writes to `dir`, or the last one that did.
    pub fn holder(dir: &Path) -> Option<u32> {
        const LONGEST: u64 = 64;
        let mut text = String::new();
        image::open_if_there(dir, "lock").ok()??.take(LONGEST).read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
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

    /// Makes the counters that outlive the process available at `at`.
    pub fn map_state(&self, at: usize, fresh: bool) -> Result<(), Problem> {
        let path = self.dir.join("state");
        // SAFETY: a file of ours, mapped where nothing else is.
        unsafe {
            let fd = open_or_make(self.dir_fd, c"state", if fresh { libc::O_TRUNC } else { 0 });
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
        let own = [(self.slots.file, "pages"), (self.sums, image::SUMS), (self.lock, "lock")];
        is(self.dir_fd, "") && direct && own.iter().all(|&(fd, name)| is(fd, name))
    }
}
