//! Who has shared memory: no other process whose mappings and descriptors may be read, or one may.
//!
//! Memory without a name is asked about when it is first seen, and again when the process has made children
//! since: nobody else can get it later. (A checkpoint is refused while there are children.) What has a name
//! others can get at any time: it is asked about again and again.

use crate::image;
use crate::image::Map;
use crate::sys;
use crate::sys::{maps, syscall, time};
use core::sync::atomic::{AtomicU32, Ordering::*};
use std::ffi::CString;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Calls of `fork` that have begun or ended. Edge: a checkpoint that sees the number it saw when it looked
/// knows that no child made before it was stopped has what it looked at, but for children that it sees.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Around `fork`: before, and in the parent afterwards.
pub fn note_fork() {
    FORKS.fetch_add(1, AcqRel);
}

/// So long it is believed who has what has a name.
const BELIEVED_NS: u64 = 1_000_000_000;

/// What is known of the shared memory among the mappings.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    seen: Vec<Seen>,
    /// [`FORKS`] at that time.
    forks: u32,
}

/// A file, or memory like one.
#[derive(Debug)]
struct Seen {
    /// A mapping of it.
    map: Map,
    /// When it was looked at; none: it has no name.
    at_ns: Option<u64>,
    /// Does nobody else have it?
    own: bool,
}

impl Seen {
    fn of(m: &Map, now: u64) -> Self {
        let at_ns = (!m.is_nameless()).then_some(now);
        let own = if at_ns.is_some() { !others_may_write(m) } else { !may_have_a_name(m) };
        Self { map: m.clone(), at_ns, own }
    }

    /// Is it what a descriptor `fd` of another process leads to? By its name first: to ask of all files may
    /// take long.
    fn is_behind(&self, fd: &str) -> bool {
        fs::read_link(fd).is_ok_and(|name| name.as_os_str() == self.map.path.as_str())
            && fs::metadata(fd).is_ok_and(|about| about.ino() == self.map.inode)
    }
}

impl Owners {
    /// Looks who has the shared memory in `maps`, as far as that may have changed. While the program runs.
    pub(crate) fn look(&mut self, maps: &[Map]) {
        let (forks, now) = (FORKS.load(Acquire), time::now_ns());
        let same = forks == self.forks;
        self.forks = forks;
        let is_there = |s: &Seen| maps.iter().any(|m| s.map.is_of(m));
        let lately = |s: &Seen| s.at_ns.is_none_or(|at| now - at < BELIEVED_NS);
        self.seen.retain(|s| s.own && same && lately(s) && is_there(s));
        let known = self.seen.len();
        for m in maps.iter().filter(|m| is_asked_about(m)) {
            if !self.seen.iter().any(|s| s.map.is_of(m)) {
                self.seen.push(Seen::of(m, now));
            }
        }
        let new = &mut self.seen[known..];
        if new.is_empty() {
            return;
        }
        for pid in processes() {
            for m in maps::of(pid) {
                new.iter_mut().filter(|s| s.map.is_of(&m)).for_each(|s| s.own = false);
            }
            let folder = format!("/proc/{pid}/fd");
            for name in maps::names(&CString::new(&*folder).unwrap_or_default()) {
                let fd = format!("{folder}/{name}");
                new.iter_mut().filter(|s| s.is_behind(&fd)).for_each(|s| s.own = false);
            }
        }
    }

    /// Has this process alone the shared memory `m`, while it is at rest? `None`: it has to be looked at
    /// first.
    pub(crate) fn is_own(&self, m: &Map) -> Option<bool> {
        if !is_asked_about(m) {
            return Some(false);
        }
        self.seen.iter().find(|s| s.map.is_of(m) && self.forks == FORKS.load(Acquire)).map(|s| s.own)
    }
}

/// Memory without a name, and files that are written to; no devices.
fn is_asked_about(m: &Map) -> bool {
    m.is_nameless() || (m.shared && m.prot & libc::PROT_WRITE != 0 && is_file(m))
}

/// Is it a file's mapping? What the kernel makes itself (System V's memory, graphics) has names without a
/// folder, and names in /dev/shm are there for others to find.
pub(super) fn is_file(m: &Map) -> bool {
    let folder = m.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_for_others = m.path.starts_with("/dev/shm/") && !m.path.ends_with(" (deleted)");
    m.inode != 0 && !folder.is_empty() && !is_for_others && !image::is_the_kernels(m.path.as_bytes())
}

/// May other users write to the file of that name, whose mappings and descriptors may not be read? Those of
/// the group that the process has may, as everywhere.
fn others_may_write(m: &Map) -> bool {
    // SAFETY: plain call.
    let group = unsafe { sys!(libc::SYS_getegid) } as u32;
    let may = |f: fs::Metadata| f.mode() & 0o002 != 0 || (f.mode() & 0o020 != 0 && f.gid() != group);
    fs::metadata(&m.path).is_ok_and(may)
}

/// Is there still a name for it where it had one in /dev/shm, or can that not be known?
fn may_have_a_name(m: &Map) -> bool {
    const FOLDER: &core::ffi::CStr = c"/dev/shm";
    if !m.path.as_bytes().starts_with(FOLDER.to_bytes()) {
        return false;
    }
    // SAFETY: numbers only; the kernel fills it in.
    let mut about: libc::statfs = unsafe { core::mem::zeroed() };
    // SAFETY: a C string; see above.
    let r = unsafe { sys!(libc::SYS_statfs, FOLDER.as_ptr(), &raw mut about) };
    // Other file systems, and other folders, may show other numbers, or names.
    let folder = m.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let listed = || maps::entries(FOLDER).iter().any(|e| e.inode == m.inode);
    r < 0 || about.f_type != libc::TMPFS_MAGIC || folder.as_bytes() != FOLDER.to_bytes() || listed()
}

/// All processes but this one.
fn processes() -> impl Iterator<Item = u32> {
    let here = syscall::getpid();
    maps::entries(c"/proc").into_iter().filter_map(|e| e.name.parse().ok()).filter(move |&pid| pid != here)
}
