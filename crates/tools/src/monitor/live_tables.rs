//! The tables: the live file (crates/report, `live`), which is at the same time where the figures are kept.
//! Of fixed size, made once. Where checkpoints are taken it is plain memory instead: it then goes back with
//! all other memory in a rollback, so that a visit counts once however often it was lived, and `promp top`
//! finds no file.
//!
//! A cell is written by its thread alone. What a segment's team measured as a whole is added by the member 0
//! of a team; there can be several teams at a time, so these are added atomically. Nothing is ordered by
//! them.

use crate::icv::globals;
use crate::sys;
use crate::sys::lock::Locked;
use crate::sys::own::Own;
use crate::sys::{syscall, time};
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::*};
use promp_report::live::{self, Cell, Header, Module, SegmentRow, ThreadRow};
use promp_report::words;
use std::collections::HashMap;
use std::ffi::CString;

/// Segments that there is room for, and modules.
pub(super) const SEGMENTS: usize = 512;
const MODULES: usize = 64;
/// Threads that there is room for, at least and at most.
const THREADS: (usize, usize) = (16, 1024);
/// A place that is not known.
pub(super) const NOWHERE: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Place {
    base: usize,
    threads: usize,
    at: live::Tables,
}

/// Written once, when the monitor starts.
static PLACE: Own<Place> = Own::new(Place { base: 0, threads: 0, at: live::Tables::new(0, 0, 0) });

/// What a segment is known by: the calls that begin and end it and their kinds, and the depth of its region.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Return address of the call that begins it.
    begin: usize,
    /// Of the one that ends it.
    end: usize,
    /// The kinds, a byte each, and the depth (0: outside of regions) above.
    kinds: u64,
}

impl Key {
    /// That of no segment.
    pub(super) const NONE: Key = Key { begin: 0, end: 0, kinds: 0 };

    /// Between the calls that return to `begin` and `end`.
    #[inline]
    pub(super) const fn new(
        begin: usize,
        end: usize,
        from: words::Sync,
        to: words::Sync,
        level: u32,
    ) -> Self {
        Self { begin, end, kinds: from as u64 | (to as u64) << 8 | (level as u64) << 16 }
    }

    /// A number of six bits that keys mostly differ in.
    #[inline]
    pub(super) const fn mix(self) -> usize {
        (self.begin ^ self.end.rotate_left(7)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58
    }
}

static INDEX: Locked<Option<HashMap<Key, u32>>> = Locked::new(None);

/// Beside the live file: what of a segment's figures was time in which CPUs were taken away, and whose they
/// are.
pub(super) struct Beside {
    /// What the slowest thread's busy time is less on a CPU, summed over visits.
    pub tp_stolen_ns: AtomicU64,
    /// Likewise the mean.
    pub mean_stolen_ns: AtomicU64,
    /// The row of the thread that writes the team's figures, plus 1; 0: nobody has.
    owner: AtomicU32,
}

static BESIDE: [Beside; SEGMENTS] = [const {
    Beside { tp_stolen_ns: AtomicU64::new(0), mean_stolen_ns: AtomicU64::new(0), owner: AtomicU32::new(0) }
}; SEGMENTS];
static NUMBERS: Own<&'static [AtomicU16]> = Own::new(&[]);

/// Makes the tables. False if the system has no memory for them.
pub(super) fn start(shared: bool) -> bool {
    if shared {
        remove_stale();
    }
    let threads = (4 * globals().initial.get().threads as usize).clamp(THREADS.0, THREADS.1);
    let at = live::Tables::new(MODULES, SEGMENTS, threads);
    let Some(base) = map(0, at.bytes, shared) else { return false };
    PLACE.set(Place { base, threads, at });
    NUMBERS.set(Box::leak((0..threads * SEGMENTS).map(|_| AtomicU16::new(0)).collect()));
    head();
    true
}

/// In a child after fork: tables of its own, with nothing in them.
pub(super) fn after_fork() {
    SERIAL.store(0, Relaxed);
    INDEX.raw().reset();
    INDEX.with(|i| *i = None);
    let p = PLACE.get();
    if map(p.base, p.at.bytes, false).is_none() {
        // What the child writes must not go to its parent's file: better none at all.
        crate::say!("PROMP_MONITOR: the system gives no memory for a child's tables");
        syscall::exit_group(74);
    }
    for b in &BESIDE {
        b.tp_stolen_ns.store(0, Relaxed);
        b.mean_stolen_ns.store(0, Relaxed);
        b.owner.store(0, Relaxed);
    }
    head();
}

/// The live file is of no use any more.
pub(super) fn end() {
    header().ended_ns.store(time::now_ns(), Relaxed);
    if let Ok(path) = file() {
        // SAFETY: a C string.
        unsafe { sys!(libc::SYS_unlink, path.as_ptr()) };
    }
}

fn file() -> Result<CString, std::ffi::NulError> {
    // SAFETY: no arguments.
    let uid = unsafe { libc::geteuid() };
    CString::new(live::path(uid, syscall::getpid()))
}

/// Removes live files of processes that were killed.
fn remove_stale() {
    // SAFETY: no arguments.
    let prefix = live::prefix(unsafe { libc::geteuid() });
    for entry in std::fs::read_dir(live::DIRECTORY).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|n| n.strip_prefix(&prefix)).and_then(|n| n.parse::<i32>().ok());
        // SAFETY: signal 0 only asks.
        let gone = |pid: i32| unsafe { sys!(libc::SYS_kill, pid, 0) } == -(libc::ESRCH as isize);
        if pid.is_some_and(|p| p > 0 && gone(p)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// `bytes` bytes of zeroes, at `at` unless that is 0: of the live file, or plain memory.
fn map(at: usize, bytes: usize, shared: bool) -> Option<usize> {
    let fixed = if at == 0 { 0 } else { libc::MAP_FIXED };
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a file of our own name, or fresh memory; at `at` lie the parent's tables, which are not ours.
    let p = unsafe {
        if shared && let Some(fd) = promp_files::within_limit(|| create(bytes)) {
            sys!(libc::SYS_mmap, at, bytes, rights, libc::MAP_SHARED | fixed, fd, 0)
        } else {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
            sys!(libc::SYS_mmap, at, bytes, rights, flags, usize::MAX, 0)
        }
    };
    (p > 0).then_some(p as usize)
}

/// Makes the live file, all of it there: a full file system must not show when it is written to. It is memory
/// that nobody can cut; its name is a link to the descriptor, which stays open.
fn create(bytes: usize) -> Option<i32> {
    let path = file().ok()?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: C strings, and a descriptor that was just made.
    unsafe {
        // One of a process that had this number and was killed.
        sys!(libc::SYS_unlink, path.as_ptr());
        let how = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        let made = sys!(libc::SYS_memfd_create, c"promp-live-".as_ptr(), how);
        let fd = syscall::high(made);
        let to = CString::new(format!("/proc/{}/fd/{fd}", syscall::getpid())).ok()?;
        let calls: [&dyn Fn() -> isize; 4] = [
            &|| made,
            &|| sys!(libc::SYS_fallocate, fd, 0, 0, bytes),
            &|| sys!(libc::SYS_fcntl, fd, libc::F_ADD_SEALS, seals),
            &|| sys!(libc::SYS_symlink, to.as_ptr(), path.as_ptr()),
        ];
        let Some(failed) = calls.iter().map(|call| call()).find(|&r| r < 0) else { return Some(fd) };
        let (why, at) = (sys::why(failed), live::DIRECTORY);
        crate::say!("PROMP_MONITOR: no live file of {bytes} bytes for promp top in {at}: {why}");
        sys!(libc::SYS_close, fd);
        None
    }
}

fn head() {
    let (p, h) = (PLACE.get(), header());
    let set = |word: &AtomicU64, v: usize| word.store(v as u64, Relaxed);
    set(&h.version, live::VERSION as usize);
    set(&h.pid, syscall::getpid() as usize);
    set(&h.process_start, process_start().unwrap_or(0) as usize);
    set(&h.began_ns, super::clock::began_ns() as usize);
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    set(&h.began_unix_ns, unix.map_or(0, |d| d.as_nanos() as usize));
    set(&h.modules_at, p.at.modules_at);
    set(&h.modules_room, MODULES);
    set(&h.segments_at, p.at.segments_at);
    set(&h.segments_room, SEGMENTS);
    set(&h.threads_at, p.at.threads_at);
    set(&h.threads_room, p.threads);
    set(&h.cells_at, p.at.cells_at);
    h.magic.store(live::MAGIC, Release);
}

/// Its time, as the kernel counts it.
fn process_start() -> Option<u64> {
    let s = sys::stat::Stat::read(c"/proc/self/stat")?;
    s.all([22]).map(|[start]| start as u64)
}

/// A row of a table.
fn row<T>(table: usize, i: usize) -> &'static T {
    let at = PLACE.peek().base + table + i * size_of::<T>();
    // SAFETY: the callers stay within the tables that `start` has mapped for good; rows are made of atomic
    // words.
    unsafe { &*(at as *const T) }
}

/// The tables' head.
pub(super) fn header() -> &'static Header {
    row(0, 0)
}

/// Segment number `s`.
pub(super) fn segment(s: u32) -> &'static SegmentRow {
    assert!((s as usize) < SEGMENTS);
    row(PLACE.peek().at.segments_at, s as usize)
}

/// What the live file has no room for, of segment `s`.
pub(super) fn beside(s: u32) -> &'static Beside {
    &BESIDE[s as usize]
}

/// Does the thread with row `t` write what teams measure of segment `s`? The first one that asks does: words
/// of which there is one writer need no atomic additions.
pub(super) fn own(s: u32, t: u32) -> bool {
    let me = t + 1;
    match beside(s).owner.compare_exchange(0, me, Relaxed, Relaxed) {
        Ok(_) => true,
        Err(owner) => owner == me,
    }
}

fn thread(t: u32) -> &'static ThreadRow {
    assert!((t as usize) < PLACE.peek().threads);
    row(PLACE.peek().at.threads_at, t as usize)
}

/// What is a thread's in the tables.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// The number of its row.
    pub number: u32,
    /// The row.
    pub thread: &'static ThreadRow,
    /// What it measures in each segment.
    pub cells: &'static [Cell],
    /// The number that it had in the team when it visited each segment last.
    pub numbers: &'static [AtomicU16],
}

/// Row number `t`.
pub(super) fn rows(t: u32) -> Rows {
    let first = t as usize * SEGMENTS;
    let cell: &'static Cell = row(PLACE.peek().at.cells_at, first);
    // SAFETY: `thread` checks that `t` is a row; the cells of a row lie one behind the other.
    let (thread, cells) = (thread(t), unsafe { core::slice::from_raw_parts(cell, SEGMENTS) });
    Rows { number: t, thread, cells, numbers: &NUMBERS.peek()[first..first + SEGMENTS] }
}

/// The number that the thread with row `t` had in the team when it visited segment `s` last.
pub(super) fn number(t: u32, s: u32) -> u16 {
    NUMBERS.peek()[t as usize * SEGMENTS + s as usize].load(Relaxed)
}

/// An outermost region of `size` threads begins at `now_ns`.
pub(super) fn region_begins(now_ns: u64, size: u32) {
    let h = header();
    h.region_since_ns.store(now_ns, Relaxed);
    h.regions.fetch_add(1, Relaxed);
    if u64::from(size) > h.team.load(Relaxed) {
        h.team.fetch_max(size.into(), Relaxed);
    }
}

/// The segment of serial code that ended last, plus 1.
static SERIAL: AtomicU32 = AtomicU32::new(0);

/// Serial code, segment `s`, has ended.
pub(super) fn note_serial(s: u32) {
    SERIAL.store(s + 1, Relaxed);
}

/// The segment of serial code that ended last.
pub(super) fn last_serial() -> Option<u32> {
    SERIAL.load(Relaxed).checked_sub(1)
}

/// A row for a thread: one that nobody has, or a new one. `None`: there is no room.
pub(super) fn take_row() -> Option<u32> {
    let h = header();
    INDEX.with(|_| {
        let n = h.threads.load(Relaxed) as u32;
        let free = (0..n).find(|&t| thread(t).state.load(Acquire) == words::State::Free as u64);
        let t = free.or_else(|| ((n as usize) < PLACE.peek().threads).then_some(n))?;
        thread(t).state.store(words::State::Idle as u64, Relaxed);
        h.threads.store(u64::from(n.max(t + 1)), Release);
        Some(t)
    })
}

/// The segment with this key, which is made if nobody has visited it; `None` if there is no room.
pub(super) fn find(key: Key, fill: impl FnOnce(&SegmentRow)) -> Option<u32> {
    INDEX.with(|index| {
        let index = index.get_or_insert_default();
        if let Some(&s) = index.get(&key) {
            return Some(s);
        }
        let (h, n) = (header(), index.len());
        if n == SEGMENTS {
            h.segments_left_out.fetch_add(1, Relaxed);
            return None;
        }
        let row = segment(n as u32);
        for (at, module, offset) in
            [(key.begin, &row.begin_module, &row.begin_offset), (key.end, &row.end_module, &row.end_offset)]
        {
            let (m, o) = place(at);
            module.store(m, Relaxed);
            offset.store(o, Relaxed);
        }
        row.from.store(key.kinds & 0xff, Relaxed);
        row.to.store(key.kinds >> 8 & 0xff, Relaxed);
        row.level.store(key.kinds >> 16, Relaxed);
        fill(row);
        index.insert(key, n as u32);
        h.segments.store(n as u64 + 1, Release);
        Some(n as u32)
    })
}

/// The module that `at` lies in, which is noted when it is seen first, and the offset there. Under the
/// index's lock.
fn place(at: usize) -> (u64, u64) {
    if at == 0 {
        return (NOWHERE, 0);
    }
    let Some(o) = sys::objects::around(at) else { return (NOWHERE, at as u64) };
    let h = header();
    let n = h.modules.load(Relaxed);
    let module = |i: u64| row::<Module>(PLACE.peek().at.modules_at, i as usize);
    let offset = (at - o.base) as u64;
    let path = o.path.as_bytes();
    let path = &path[path.len().saturating_sub(live::PATH)..];
    let same = |m: &Module| {
        m.base.load(Relaxed) == o.base as u64
            && m.path_length.load(Relaxed) == path.len() as u64
            && m.path.iter().zip(path.chunks(8)).all(|(w, c)| w.load(Relaxed) == word(c))
    };
    if let Some(i) = (0..n).find(|&i| same(module(i))) {
        return (i, offset);
    }
    if n as usize == MODULES {
        return (NOWHERE, at as u64);
    }
    let m = module(n);
    m.base.store(o.base as u64, Relaxed);
    m.path_length.store(path.len() as u64, Relaxed);
    m.path.iter().zip(path.chunks(8)).for_each(|(w, c)| w.store(word(c), Relaxed));
    let id = &o.build_id[..o.build_id.len().min(live::BUILD_ID)];
    m.build_id_length.store(id.len() as u64, Relaxed);
    m.build_id.iter().zip(id.chunks(8)).for_each(|(w, c)| w.store(word(c), Relaxed));
    h.modules.store(n + 1, Release);
    (n, offset)
}

/// Up to eight bytes as a word, in memory order.
fn word(bytes: &[u8]) -> u64 {
    let mut w = [0; 8];
    w[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(w)
}

/// The tables as `promp top` would read them.
pub(super) fn snapshot() -> Option<live::Snapshot> {
    let p = PLACE.get();
    // SAFETY: the tables, which are made of atomic words.
    let words = unsafe { core::slice::from_raw_parts(p.base as *const AtomicU64, p.at.bytes / 8) };
    live::View::new(words).ok().map(|v| v.read())
}
