//! The program's memory: its mappings, which pages have content, which have changed since the last checkpoint.
//!
//! Two trackers. `Written` lets the kernel note writes: PAGEMAP_SCAN with userfaultfd's asynchronous write protection
//! (Linux 6.7). `Compare` (older kernels, or PROMP_CKPT_TRACK=compare) takes every page for changed and finds out by comparing
//! checksums. Write protection by mprotect with a SIGSEGV handler is not used: system calls that write to a protected page
//! (read(2) into a buffer) fail with EFAULT instead of raising the signal, so a program would see errors it never has.

use super::crew::Crew;
use super::image::{Map, PAGE};
use super::ranges;
use crate::sys;
use crate::sys::{keep, maps};
use std::sync::OnceLock;

/// All mappings that belong to the program, or the runtime's ordinary memory: not the kernel's own, not the kept region.
pub fn mappings() -> Vec<Map> {
    let mut all = maps::all();
    all.retain(|m| !is_foreign(m));
    all
}

fn is_foreign(m: &Map) -> bool {
    keep::holds(m.start) || m.path.starts_with("[v") || m.path == "[uprobes]"
}

/// Address of the kernel's vDSO.
pub fn vdso() -> usize {
    // SAFETY: reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) as usize }
}

/// A run of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First address.
    pub start: usize,
    /// Behind the last.
    pub end: usize,
    /// Changed since the last checkpoint, as far as is known.
    pub changed: bool,
    /// In memory. What is not may be in the swap space, or nothing that could be read (MADV_GUARD_INSTALL).
    pub present: bool,
}

#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

#[repr(C)]
#[derive(Default)]
struct ScanArg {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

const PAGEMAP_SCAN: u64 = 0xc060_6610;
const WP_ALLOWED: u64 = 1 << 0;
const WRITTEN: u64 = 1 << 1;
const FILE: u64 = 1 << 2;
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;
const ZERO: u64 = 1 << 5;
const WP_MATCHING: u64 = 1 << 0;
const CHECK_WPASYNC: u64 = 1 << 1;

/// How much the kernel can tell at once.
const REGIONS: usize = 512;

/// What a part of a mapping holds.
#[derive(Default)]
struct Found {
    runs: Vec<Run>,
    /// Are there pages to which writes are not noted?
    unwatched: bool,
}

impl Found {
    fn push(&mut self, (start, end): (u64, u64), changed: bool, present: bool) {
        if start < end {
            push(&mut self.runs, 0, Run { start: start as usize, end: end as usize, changed, present });
        }
    }
}

#[repr(C)]
struct UffdApi {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct UffdRegister {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct UffdWriteProtect {
    start: u64,
    len: u64,
    mode: u64,
}

const UFFDIO_API: u64 = 0xc018_aa3f;
const UFFDIO_REGISTER: u64 = 0xc020_aa00;
const UFFDIO_WRITEPROTECT: u64 = 0xc018_aa06;
const MODE_WP: u64 = 2;
const WP_ASYNC: u64 = 1 << 15;
const USER_MODE_ONLY: i32 = 1;

/// How changes are found.
#[derive(Debug)]
pub struct Tracker {
    /// userfaultfd, or -1: compare.
    pub uffd: i32,
    pagemap: i32,
    /// Starts of the mappings with pages whose writes were not noted when they were last looked at.
    unwatched: Vec<usize>,
}

fn ioctl<T>(fd: i32, request: u64, arg: &mut T) -> isize {
    // SAFETY: the requests above take a pointer to the structure they are used with.
    unsafe { sys!(libc::SYS_ioctl, fd, request, arg as *mut T) }
}

/// The kernel lets go of low descriptor numbers: programs use those, and some close all that they do not know.
pub fn high(fd: isize) -> i32 {
    if fd < 0 {
        return -1;
    }
    // SAFETY: plain calls on a descriptor of ours.
    unsafe {
        let r = sys!(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, 700);
        if r >= 0 {
            sys!(libc::SYS_close, fd);
            return r as i32;
        }
    }
    fd as i32
}

impl Tracker {
    /// The best tracker this kernel has; `compare` asks for the other one.
    pub fn new(compare: bool) -> Self {
        // SAFETY: plain calls.
        let pagemap = high(unsafe {
            sys!(
                libc::SYS_openat,
                libc::AT_FDCWD,
                c"/proc/self/pagemap".as_ptr(),
                libc::O_RDONLY | libc::O_CLOEXEC
            )
        });
        let mut t = Self { uffd: -1, pagemap, unwatched: Vec::new() };
        if compare || !t.can_scan() {
            return t;
        }
        // SAFETY: plain call.
        let fd =
            high(unsafe { sys!(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK | USER_MODE_ONLY) });
        let mut api = UffdApi { api: 0xaa, features: WP_ASYNC, ioctls: 0 };
        if fd >= 0 && ioctl(fd, UFFDIO_API, &mut api) == 0 {
            t.uffd = fd;
        }
        t
    }

    fn can_scan(&self) -> bool {
        let here = [0u8; 8];
        let at = here.as_ptr() as u64 & !(PAGE as u64 - 1);
        let mut arg = ScanArg {
            size: size_of::<ScanArg>() as u64,
            start: at,
            end: at + PAGE as u64,
            category_anyof_mask: PRESENT | SWAPPED,
            return_mask: PRESENT,
            ..Default::default()
        };
        ioctl(self.pagemap, PAGEMAP_SCAN, &mut arg) >= 0
    }

    /// Does the kernel note writes?
    pub fn notes_writes(&self) -> bool {
        self.uffd >= 0
    }

    /// Descriptors of ours, which are no files of the program.
    pub fn descriptors(&self) -> [i32; 2] {
        [self.uffd, self.pagemap]
    }

    /// The pages of `maps` that have content of their own (not the file's, not zero by never having been touched), in order. `dense` are
    /// ranges of pages, in order, that had content when the kernel began to note writes to them: there it is only asked for what is
    /// different now, which takes a third of the time.
    pub fn runs(&mut self, maps: &[Map], dense: &[(usize, usize)], crew: &Crew) -> Vec<Run> {
        self.list(maps, &stretches(dense, &[]), crew, 0)
    }

    /// As [`Tracker::runs`], while nobody can write to them; the kernel notes writes anew from here on to what it has noted writes to until
    /// now, but for `unarmed` parts of `dense`, which count as changed. Follow with [`Tracker::watch_rest`].
    pub fn runs_anew(
        &mut self,
        maps: &[Map],
        dense: &[(usize, usize)],
        unarmed: &[(usize, usize)],
        crew: &Crew,
    ) -> Vec<Run> {
        let flags = if self.notes_writes() { WP_MATCHING | CHECK_WPASYNC } else { 0 };
        self.list(maps, &stretches(dense, unarmed), crew, flags)
    }

    fn list(&mut self, maps: &[Map], dense: &[Stretch], crew: &Crew, flags: u64) -> Vec<Run> {
        let dense = if self.notes_writes() { dense } else { &[] };
        let private: Vec<&Map> = maps.iter().filter(|m| !m.shared).collect();
        let pieces: Vec<(&Map, usize, usize)> = private
            .iter()
            .flat_map(|m| pieces(m.start, m.end).map(move |(start, end)| (*m, start, end)))
            .collect();
        let found: Vec<OnceLock<Found>> = pieces.iter().map(|_| OnceLock::new()).collect();
        crew.share(pieces.len(), &|i| {
            let (m, start, end) = pieces[i];
            let _ = found[i].set(self.scan(m, (start, end), dense, flags)); // nobody else does this piece
        });
        let mut out: Vec<Run> = Vec::new();
        let mut first = 0;
        for (i, ((m, start, _), found)) in pieces.iter().zip(found).enumerate() {
            let Found { runs, unwatched } = found.into_inner().unwrap_or_default();
            if i == 0 || *start == m.start {
                first = out.len();
            }
            runs.into_iter().for_each(|r| push(&mut out, first, r));
            if unwatched && !self.unwatched.contains(&m.start) {
                self.unwatched.push(m.start);
            }
        }
        out
    }

    fn scan(&self, m: &Map, (start, end): (usize, usize), dense: &[Stretch], flags: u64) -> Found {
        let mut found = Found::default();
        let mut at = start;
        let first = dense.partition_point(|d| d.end <= start);
        // Of a file's mapping it must be asked whose each page is.
        for d in dense[first..].iter().take_while(|d| m.inode == 0 && d.start < end) {
            self.scan_sparse(m, (at, d.start), flags, &mut found);
            let flags = if d.arm { flags } else { flags & !WP_MATCHING };
            at = self.scan_dense((d.start.max(at), d.end.min(end)), flags, &mut found);
        }
        self.scan_sparse(m, (at, end), flags, &mut found);
        found
    }

    /// As far as writes are noted: where it ends.
    fn scan_dense(&self, (start, end): (usize, usize), flags: u64, found: &mut Found) -> usize {
        let mut at = start as u64;
        while at < end as u64 {
            let mut regions = [Region::default(); REGIONS];
            let asked = ScanArg {
                // What is written or not present.
                category_inverted: PRESENT,
                category_anyof_mask: WRITTEN | PRESENT,
                return_mask: WRITTEN | PRESENT | SWAPPED | ZERO,
                ..ScanArg::default()
            };
            let Ok((told, reached)) = self.ask((at, end as u64), flags | CHECK_WPASYNC, asked, &mut regions)
            else {
                break;
            };
            let mut next = at;
            for r in told {
                let is = |category: u64| r.categories & category != 0;
                found.push((next, r.start), false, true);
                if is(PRESENT | SWAPPED) && !is(ZERO) {
                    found.push((r.start, r.end), is(WRITTEN), is(PRESENT));
                }
                next = r.end;
            }
            found.push((next, reached), false, true);
            at = reached;
        }
        at as usize
    }

    fn scan_sparse(&self, m: &Map, (start, end): (usize, usize), mut flags: u64, found: &mut Found) {
        let mut at = start as u64;
        // Whose a page is the kernel finds out by looking at what it keeps of the page itself: most of the time, in vain where there is no file.
        let origin = if m.inode == 0 { 0 } else { FILE };
        while at < end as u64 {
            let mut regions = [Region::default(); REGIONS];
            let asked = ScanArg {
                // Not pages without content: armed, they would get a marker that looks like a swapped page.
                category_anyof_mask: PRESENT | SWAPPED,
                return_mask: WP_ALLOWED | WRITTEN | PRESENT | ZERO | origin,
                ..ScanArg::default()
            };
            match self.ask((at, end as u64), flags, asked, &mut regions) {
                Ok((told, reached)) => {
                    for r in told.iter().filter(|r| r.categories & (FILE | ZERO) == 0) {
                        // Memory that has been moved here: its pages may bear the marks of where they were.
                        let noted = r.categories & WP_ALLOWED != 0;
                        found.unwatched |= !noted;
                        let changed = !self.notes_writes() || !noted || r.categories & WRITTEN != 0;
                        found.push((r.start, r.end), changed, r.categories & PRESENT != 0);
                    }
                    at = reached;
                }
                // Writes to this mapping are not noted yet.
                Err(libc::EPERM) if flags != 0 => flags = 0,
                Err(_) => {
                    // No scan here: everything, if it can be read; the reader skips what is zero.
                    if m.prot & libc::PROT_READ != 0 && (m.inode == 0 || m.prot & libc::PROT_WRITE != 0) {
                        found.push((at, end as u64), true, true);
                    }
                    return;
                }
            }
        }
    }

    /// What the kernel tells of [at, end), and how far that goes, which is some way; or its error.
    fn ask<'a>(
        &self,
        (at, end): (u64, u64),
        flags: u64,
        asked: ScanArg,
        regions: &'a mut [Region],
    ) -> Result<(&'a [Region], u64), i32> {
        let mut arg = ScanArg {
            size: size_of::<ScanArg>() as u64,
            flags,
            start: at,
            end,
            vec: regions.as_mut_ptr() as u64,
            vec_len: regions.len() as u64,
            ..asked
        };
        let n = ioctl(self.pagemap, PAGEMAP_SCAN, &mut arg);
        if n < 0 {
            return Err(-n as i32);
        }
        let told = &regions[..n as usize];
        // Linux (seen with 6.18) leaves `walk_end` behind when the walk went on after its buffer of 512 regions was full once: what
        // it has told of must not be asked for again.
        let reached = arg.walk_end.max(told.last().map_or(at, |r| r.end));
        if reached > at { Ok((told, reached)) } else { Err(libc::EIO) }
    }

    /// Has the kernel note writes to `maps`, whose runs have been asked for, once they are armed. Returns those to which it has not until now.
    pub fn watch(&mut self, maps: &[Map]) -> Vec<(usize, usize)> {
        if !self.notes_writes() {
            return Vec::new();
        }
        let mut new = Vec::new();
        for m in maps.iter().filter(|m| !m.shared) {
            let (start, len) = (m.start as u64, (m.end - m.start) as u64);
            ioctl(self.uffd, UFFDIO_REGISTER, &mut UffdRegister { start, len, mode: MODE_WP, ioctls: 0 });
            if let Some(i) = self.unwatched.iter().position(|s| *s == m.start) {
                self.unwatched.swap_remove(i);
                // A mark from elsewhere would keep a page from being armed.
                ioctl(self.uffd, UFFDIO_WRITEPROTECT, &mut UffdWriteProtect { start, len, mode: 0 });
                new.push((m.start, m.end));
            }
        }
        new
    }

    /// Has the kernel note writes to the rest of `maps`, too, after [`Tracker::runs_anew`].
    pub fn watch_rest(&mut self, maps: &[Map], crew: &Crew) {
        let new = self.watch(maps);
        self.arm(&new, crew);
    }

    /// Arms all pages of `maps`; see [`Tracker::arm`].
    pub fn arm_all(&self, maps: &[Map], crew: &Crew) {
        let ranges: Vec<_> = maps.iter().filter(|m| !m.shared).map(|m| (m.start, m.end)).collect();
        self.arm(&ranges, crew);
    }

    /// Has the kernel note writes to the pages of `ranges`, in watched mappings, from here on.
    pub fn arm(&self, ranges: &[(usize, usize)], crew: &Crew) {
        if self.notes_writes() {
            let pieces: Vec<_> = ranges.iter().flat_map(|r| pieces(r.0, r.1)).collect();
            crew.share(pieces.len(), &|i| self.protect(pieces[i].0, pieces[i].1));
        }
    }

    fn protect(&self, start: usize, end: usize) {
        let mut regions = [Region::default(); 64];
        let mut at = start as u64;
        while at < end as u64 {
            let mut arg = ScanArg {
                size: size_of::<ScanArg>() as u64,
                flags: WP_MATCHING,
                start: at,
                end: end as u64,
                vec: regions.as_mut_ptr() as u64,
                vec_len: regions.len() as u64,
                category_mask: WRITTEN,
                // Not pages without content: they would get a marker that looks like a swapped page.
                category_anyof_mask: PRESENT | SWAPPED,
                return_mask: WRITTEN,
                ..Default::default()
            };
            if ioctl(self.pagemap, PAGEMAP_SCAN, &mut arg) < 0 || arg.walk_end <= at {
                return;
            }
            at = arg.walk_end;
        }
    }
}

/// Pages that had content at the last checkpoint.
struct Stretch {
    start: usize,
    end: usize,
    arm: bool,
}

/// `dense`, cut where `unarmed` ranges begin and end.
fn stretches(dense: &[(usize, usize)], unarmed: &[(usize, usize)]) -> Vec<Stretch> {
    let mut out = Vec::with_capacity(dense.len() + 2 * unarmed.len());
    for &(start, end) in dense {
        ranges::parts(unarmed, start, end, |start, end, rests| out.push(Stretch { start, end, arm: !rests }));
    }
    out
}

/// [start, end) in pieces for the crew.
fn pieces(start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    const PIECE: usize = 32 << 20;
    /// Address space that is only reserved, which may be terabytes, shall not make more pieces.
    const MOST: usize = 64;
    let len = PIECE.max((end - start) / MOST).next_multiple_of(PAGE);
    (start..end).step_by(len).map(move |a| (a, end.min(a + len)))
}

fn push(out: &mut Vec<Run>, first: usize, r: Run) {
    match out[first..].last_mut() {
        Some(l) if (l.end, l.changed, l.present) == (r.start, r.changed, r.present) => l.end = r.end,
        _ => out.push(r),
    }
}

/// The process' memory as a file: also what is not readable or writable by its protection.
#[derive(Debug)]
pub struct Door(pub i32);

impl Door {
    /// Opens it.
    pub fn open() -> Self {
        // SAFETY: plain call.
        Self(high(unsafe {
            sys!(libc::SYS_openat, libc::AT_FDCWD, c"/proc/self/mem".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC)
        }))
    }

    /// Reads the memory at `from`; false if it cannot be read.
    pub fn read(&self, from: usize, to: &mut [u8]) -> bool {
        // SAFETY: the kernel checks the addresses.
        let n = unsafe { sys!(libc::SYS_pread64, self.0, to.as_mut_ptr(), to.len(), from) };
        n == to.len() as isize
    }

    /// Writes to the memory at `to`, whatever its protection; false if it cannot be written.
    pub fn write(&self, to: usize, from: &[u8]) -> bool {
        // SAFETY: the kernel checks the addresses; the caller means to replace that memory, and its threads are frozen.
        let n = unsafe { sys!(libc::SYS_pwrite64, self.0, from.as_ptr(), from.len(), to) };
        n == from.len() as isize
    }
}

/// Makes the mappings what they were: what is too much goes, what is missing comes back (without its content), protections are
/// set. The error names the mapping that could not be made.
pub fn reshape(want: &[Map], brk: usize) -> Result<(), String> {
    // SAFETY (whole function): the threads are frozen; the kept region, the kernel's mappings and what is in `want` unchanged
    // are not touched, and the code that runs lies in mappings of both.
    unsafe {
        sys!(libc::SYS_brk, brk);
    }
    let have = mappings();
    let same = |a: &Map, b: &Map| {
        a.inode == b.inode
            && a.dev == b.dev
            && a.shared == b.shared
            && (a.inode == 0 || a.start.wrapping_sub(a.offset) == b.start.wrapping_sub(b.offset))
    };
    // Cut the address space at every border of either list and look at each piece.
    let mut borders: Vec<usize> = have.iter().chain(want).flat_map(|m| [m.start, m.end]).collect();
    borders.sort_unstable();
    borders.dedup();
    for w in borders.windows(2) {
        let (a, b) = (w[0], w[1]);
        let covers = |m: &&Map| m.start <= a && b <= m.end;
        match (have.iter().find(covers), want.iter().find(covers)) {
            (Some(h), None) if h.path != "[stack]" => unsafe {
                sys!(libc::SYS_munmap, a, b - a);
            },
            (Some(h), Some(t)) if same(h, t) && h.prot == t.prot => {}
            (Some(h), Some(t)) if same(h, t) => unsafe {
                sys!(libc::SYS_mprotect, a, b - a, t.prot);
            },
            (h, Some(t)) => {
                if t.path == "[stack]" && h.is_none() {
                    // It grows by being written to.
                    continue;
                }
                map(t, a, b)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Mappings of `want` that have become several for the kernel, because what filled a gap does not go together with what is beside
/// it: `mremap` would fail on them. They are made anew, without content, and returned.
pub fn join(want: &[Map]) -> Result<Vec<Map>, String> {
    let have = mappings();
    let mut joined = Vec::new();
    for t in want.iter().filter(|t| t.inode == 0 && !t.shared && t.path.is_empty()) {
        let first = have.partition_point(|h| h.end <= t.start);
        if have.get(first).is_some_and(|h| h.end < t.end) {
            map(t, t.start, t.end)?;
            joined.push(t.clone());
        }
    }
    Ok(joined)
}

fn map(t: &Map, a: usize, b: usize) -> Result<(), String> {
    let failed =
        |why: isize| Err(format!("mapping {a:x}-{b:x} {} cannot be made again (error {})", t.path, -why));
    let mut fd = -1isize;
    let mut flags = libc::MAP_FIXED | if t.shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
    if t.inode == 0 {
        flags |= libc::MAP_ANONYMOUS;
    } else {
        let Ok(path) = std::ffi::CString::new(t.path.as_bytes()) else { return failed(-2) };
        // SAFETY: a C string.
        fd = unsafe {
            sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC)
        };
        if fd < 0 {
            return failed(fd);
        }
    }
    // SAFETY: see `reshape`.
    let make =
        |more| unsafe { sys!(libc::SYS_mmap, a, b - a, t.prot, flags | more, fd, t.offset + (a - t.start)) };
    // Without more flags it becomes one with what is left of the mapping, which `mremap` needs; address space that is only
    // reserved may be more than the kernel grants so.
    let mut p = make(0);
    if p == -(libc::ENOMEM as isize) {
        p = make(libc::MAP_NORESERVE);
    }
    if fd >= 0 {
        // SAFETY: opened here.
        unsafe { sys!(libc::SYS_close, fd) };
    }
    if p != a as isize { failed(p) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_noted_where_the_kernel_can() {
        let mut t = Tracker::new(false);
        if !t.notes_writes() {
            eprintln!("SKIPPED: this kernel does not note writes (PAGEMAP_SCAN with userfaultfd)");
            return;
        }
        let len = 16 * PAGE;
        let p = sys::syscall::map_anonymous(len).unwrap();
        let m = Map {
            start: p as usize,
            end: p as usize + len,
            prot: 3,
            shared: false,
            offset: 0,
            dev: String::new(),
            inode: 0,
            path: String::new(),
        };
        // SAFETY: memory mapped above.
        unsafe {
            p.add(PAGE).write(1);
            p.add(5 * PAGE).write(1);
        }
        let list = |t: &mut Tracker| {
            let v = t.runs(core::slice::from_ref(&m), &[], &Crew::default());
            v.iter().map(|r| ((r.start - m.start) / PAGE, r.changed)).collect::<Vec<_>>()
        };
        assert_eq!(list(&mut t), [(1, true), (5, true)]);
        t.watch(core::slice::from_ref(&m));
        t.arm(&[(m.start, m.end)], &Crew::default());
        assert_eq!(list(&mut t), [(1, false), (5, false)]);
        // SAFETY: as above.
        unsafe {
            p.add(5 * PAGE).write(2);
            p.add(7 * PAGE).write(2);
        }
        assert_eq!(list(&mut t), [(1, false), (5, true), (7, true)]);
    }
}
