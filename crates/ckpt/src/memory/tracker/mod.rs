//! Which pages of the program have content, and which have changed since the last checkpoint.
//!
//! Two trackers. `Written` lets the kernel note writes: PAGEMAP_SCAN with userfaultfd's asynchronous write protection
//! (Linux 6.7). `Compare` (older kernels, or PROMP_CKPT_TRACK=compare) takes every page for changed and finds out by comparing
//! checksums. Write protection by mprotect with a SIGSEGV handler is not used: system calls that write to a protected page
//! (read(2) into a buffer) fail with EFAULT instead of raising the signal, so a program would see errors it never has.

mod held_mappings;
mod scan;

use crate::busy::BLOCK;
use crate::cow::Guard;
use crate::image::{Map, PAGE};
use crate::keeper_crew::Crew;
use crate::ranges;
use crate::sys::pagemap::{CHECK_WPASYNC, Pagemap, WP_MATCHING};
use crate::sys::uffd::Uffd;
use crate::sys::{self, guards};
pub(crate) use held_mappings::is_among;
use scan::{Found, Scan, Stretch};

/// A run of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// First address.
    pub start: usize,
    /// Behind the last.
    pub end: usize,
    /// Changed since the last checkpoint, as far as is known.
    pub changed: bool,
    /// In memory. What is not may be in the swap space, or nothing that could be read (MADV_GUARD_INSTALL).
    pub present: bool,
}

impl Run {
    /// Its pages: the first, and behind the last.
    pub(crate) fn pages(&self) -> (u64, u64) {
        in_pages((self.start, self.end))
    }
}

/// Addresses [start, end) in pages.
pub(crate) fn in_pages((start, end): (usize, usize)) -> (u64, u64) {
    ((start / PAGE) as u64, (end / PAGE) as u64)
}

/// `runs` of `maps`, both in order: each with the index of its mapping.
pub(crate) fn with_maps<'a>(maps: &[Map], runs: &'a [Run]) -> impl Iterator<Item = (usize, &'a Run)> {
    let mut map = 0;
    runs.iter().map(move |r| {
        map += maps[map..].iter().take_while(|m| m.end <= r.start).count();
        (map, r)
    })
}

/// What has changed in `runs`, as far as is known: [start, end), in order.
pub(crate) fn changed(runs: &[Run]) -> Vec<(usize, usize)> {
    runs.iter().filter(|r| r.changed).map(|r| (r.start, r.end)).collect()
}

/// Those of `runs` that are not in `ranges`.
pub(crate) fn outside(ranges: &[(usize, usize)], runs: Vec<Run>) -> Vec<Run> {
    if ranges.is_empty() {
        return runs;
    }
    let mut rest = Vec::with_capacity(runs.len());
    for r in runs {
        ranges::parts(ranges, r.start, r.end, |start, end, inside| {
            rest.extend((!inside).then_some(Run { start, end, ..r }));
        });
    }
    rest
}

/// How changes are found.
#[derive(Debug)]
pub(crate) struct Tracker {
    /// None: compare.
    uffd: Option<Uffd>,
    guard: Option<&'static Guard>,
    /// Mappings whose writes are held instead of noted, in order.
    held: Vec<(usize, usize)>,
    pagemap: Pagemap,
    /// Starts of the mappings with pages whose writes were not noted when they were last looked at.
    unwatched: Vec<usize>,
}

impl Tracker {
    /// The best tracker this kernel has; `compare` asks for the other one. Shall it `hold` writes, too, if that is possible? (In the kept region.)
    pub(crate) fn new(compare: bool, hold: bool) -> Self {
        let pagemap = Pagemap::open();
        let uffd = if compare || !scan::works(&pagemap) { None } else { Uffd::noting() };
        let guard = uffd.as_ref().filter(|_| hold).and_then(|_| Guard::new());
        Self { uffd, guard, held: Vec::new(), pagemap, unwatched: Vec::new() }
    }

    /// Does the kernel note writes?
    pub(crate) fn notes_writes(&self) -> bool {
        self.uffd.is_some()
    }

    /// Descriptors of ours, which are no files of the program.
    pub(crate) fn descriptors(&self) -> [i32; 3] {
        [self.uffd.as_ref().map_or(-1, |u| u.0), self.guard.map_or(-1, |g| g.uffd.0), self.pagemap.0]
    }

    /// The pages of `maps` that have content of their own (not the file's, not zero by never having been touched), in order. `dense` are
    /// ranges of pages, in order, that had content when the kernel began to note writes to them: there it is only asked for what is
    /// different now, which takes a third of the time.
    pub(crate) fn runs(&mut self, maps: &[Map], dense: &[(usize, usize)], crew: &Crew) -> Vec<Run> {
        self.list(maps, &stretches(dense, &[], &[]), crew, 0)
    }

    /// As [`Tracker::runs`], while nobody can write to them; the kernel notes writes anew from here on to what it has noted writes to until
    /// now, but for `unarmed` ranges, which stay as they are, and `dead` ones, of which nothing is asked where that can be (what is told of
    /// them is not wanted). Follow with [`Tracker::watch_rest`]. On one CPU: for what it arms the kernel
    /// has all other CPUs forget their translations of addresses, one after the other, unless they have nothing to do.
    pub(crate) fn runs_anew(
        &mut self,
        maps: &[Map],
        dense: &[(usize, usize)],
        unarmed: &[(usize, usize)],
        dead: &[(usize, usize)],
    ) -> Vec<Run> {
        let flags = if self.notes_writes() { WP_MATCHING | CHECK_WPASYNC } else { 0 };
        self.list(maps, &stretches(dense, unarmed, dead), &Crew::default(), flags)
    }

    fn list(&mut self, maps: &[Map], dense: &[Stretch], crew: &Crew, flags: u64) -> Vec<Run> {
        let dense = if self.notes_writes() { dense } else { &[] };
        let pieces: Vec<(&Map, usize, usize)> = maps
            .iter()
            .filter(|m| m.is_saved())
            .flat_map(|m| pieces(m.start, m.end).map(move |(start, end)| (m, start, end)))
            .collect();
        let scan = Scan { pagemap: &self.pagemap, noted: self.notes_writes(), held: false };
        let found = crew.map(pieces.len(), &|i| {
            let (m, start, end) = pieces[i];
            match is_among(&self.held, m) {
                true => Scan { held: true, ..scan }.piece(m, (start, end), dense, 0),
                false => scan.piece(m, (start, end), dense, flags),
            }
        });
        let mut out: Vec<Run> = Vec::new();
        let mut first = 0;
        for (i, ((m, start, _), found)) in pieces.iter().zip(found).enumerate() {
            let Found { runs, unwatched } = found;
            if i == 0 || *start == m.start {
                first = out.len();
            }
            runs.into_iter().for_each(|r| scan::push(&mut out, first, r));
            if unwatched && !self.unwatched.contains(&m.start) {
                self.unwatched.push(m.start);
            }
        }
        out
    }

    /// Notes in `maps` the guards of private memory, which are among what is not present in `runs`.
    pub(crate) fn note_guards(&self, runs: &[Run], maps: &mut [Map]) {
        let absent = runs.iter().filter(|r| !r.present).map(|r| (r.start, r.end));
        for g in guards::among(&self.pagemap, absent) {
            for m in maps.iter_mut().filter(|m| !m.shared && m.start < g.1 && g.0 < m.end) {
                m.guards.push((g.0.max(m.start), g.1.min(m.end)));
            }
        }
    }

    /// Memory has the guards that were noted in `maps`; `runs` are what it has now.
    pub(crate) fn put_guards_back(&self, runs: &[Run], maps: &[Map]) -> Result<(), String> {
        let want: Vec<_> = maps.iter().flat_map(|m| m.guards.iter().copied()).collect();
        let absent = runs.iter().filter(|r| !r.present).map(|r| (r.start, r.end));
        let have = guards::among(&self.pagemap, absent.chain(want.iter().copied()));
        guards::change(&have, &ranges::ordered(want))
            .map_err(|(at, e)| format!("the guards in memory at {at:x}: {}", sys::why(e)))
    }

    /// Writes to `range` are not noted any more, since it is to be another one's affair.
    pub(crate) fn give_up(&self, range: (usize, usize)) {
        if let Some(u) = &self.uffd {
            u.unwatch(range);
        }
    }

    /// They are noted again: all that is there was written to.
    pub(crate) fn take_back(&self, range: (usize, usize)) {
        if let Some(u) = &self.uffd {
            u.watch(range);
        }
    }

    /// Those parts of `range` that are missing, in order; `None` if the kernel does not tell.
    pub(crate) fn missing(&self, (start, end): (usize, usize)) -> Option<Vec<(usize, usize)>> {
        scan::there(&self.pagemap, (start, end)).map(|there| ranges::without(&[(start, end)], &there))
    }

    /// Has the kernel note writes to `maps`, whose runs have been asked for, once they are armed. Returns those to which it has not until now.
    pub(crate) fn watch(&mut self, maps: &[Map]) -> Vec<(usize, usize)> {
        let Some(uffd) = &self.uffd else { return Vec::new() };
        let mut new = Vec::new();
        for m in maps.iter().filter(|m| !m.shared && !is_among(&self.held, m)) {
            uffd.watch((m.start, m.end));
            if let Some(i) = self.unwatched.iter().position(|s| *s == m.start) {
                self.unwatched.swap_remove(i);
                // A mark from elsewhere would keep a page from being armed.
                let _ = uffd.clear((m.start, m.end)); // nobody holds these
                new.push((m.start, m.end));
            }
        }
        new
    }

    /// Has the kernel note writes to the rest of `maps`, too, after [`Tracker::runs_anew`].
    pub(crate) fn watch_rest(&mut self, maps: &[Map], crew: &Crew) {
        let new = self.watch(maps);
        self.arm(&new, crew);
    }

    /// Arms all pages of `maps`; see [`Tracker::arm`].
    pub(crate) fn arm_all(&self, maps: &[Map], crew: &Crew) {
        let ranges: Vec<_> = maps.iter().filter(|m| !m.shared).map(|m| (m.start, m.end)).collect();
        self.arm(&ranges, crew);
    }

    /// Has the kernel note writes to the pages of `ranges`, in watched mappings, from here on. Returns those that had been written to, in order.
    pub(crate) fn arm(&self, ranges: &[(usize, usize)], crew: &Crew) -> Vec<(usize, usize)> {
        if !self.notes_writes() {
            return Vec::new();
        }
        let pieces: Vec<_> = ranges.iter().flat_map(|r| pieces(r.0, r.1)).collect();
        let told = crew.map(pieces.len(), &|i| scan::arm(&self.pagemap, pieces[i]));
        ranges::joined(told.into_iter().flatten())
    }
}

/// What is `dense`, `unarmed` or `dead`, cut where ranges begin and end, in order.
fn stretches(dense: &[(usize, usize)], unarmed: &[(usize, usize)], dead: &[(usize, usize)]) -> Vec<Stretch> {
    let mut out = Vec::with_capacity(dense.len() + 2 * unarmed.len() + dead.len());
    for (start, end) in ranges::without(dense, dead) {
        ranges::parts(unarmed, start, end, |start, end, rests| {
            out.push(Stretch { start, end, dense: true, arm: !rests, skip: false });
        });
    }
    let others = ranges::without(&ranges::without(unarmed, dense), dead);
    out.extend(others.iter().map(|&(start, end)| Stretch {
        start,
        end,
        dense: false,
        arm: false,
        skip: false,
    }));
    out.extend(dead.iter().map(|&(start, end)| Stretch { start, end, dense: false, arm: false, skip: true }));
    out.sort_by_key(|s| s.start);
    out
}

/// [start, end) in pieces for the crew, which do not cut huge pages.
fn pieces(start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    const PIECE: usize = 32 << 20;
    /// Address space that is only reserved, which may be terabytes, shall not make more pieces.
    const MOST: usize = 64;
    let len = PIECE.max((end - start) / MOST).next_multiple_of(BLOCK);
    let borders = (start / BLOCK * BLOCK..end).step_by(len);
    borders.map(move |a| (a.max(start), end.min(a + len)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::PAGE;
    use crate::sys::syscall;

    #[test]
    fn stretches_are_cut_where_ranges_begin_and_end() {
        let (dense, unarmed) = ([(10, 20), (30, 40)], [(5, 12), (15, 17), (19, 31), (50, 60)]);
        let got: Vec<_> =
            stretches(&dense, &unarmed, &[]).iter().map(|s| (s.start, s.end, s.dense, s.arm)).collect();
        let want = [
            (5, 10, false, false),
            (10, 12, true, false),
            (12, 15, true, true),
            (15, 17, true, false),
            (17, 19, true, true),
            (19, 20, true, false),
            (20, 30, false, false),
            (30, 31, true, false),
            (31, 40, true, true),
            (50, 60, false, false),
        ];
        assert_eq!(got, want);
        let got: Vec<_> =
            stretches(&dense, &unarmed, &[(13, 35)]).iter().map(|s| (s.start, s.skip)).collect();
        let want = [(5, false), (10, false), (12, false), (13, true), (35, false), (50, false)];
        assert_eq!(got, want);
    }

    #[test]
    fn writes_are_noted_where_the_kernel_can() {
        let mut t = Tracker::new(false, false);
        if !t.notes_writes() {
            eprintln!("SKIPPED: this kernel does not note writes (PAGEMAP_SCAN with userfaultfd)");
            return;
        }
        let len = 16 * PAGE;
        let p = syscall::map_anonymous(len).unwrap();
        let m = Map { start: p as usize, end: p as usize + len, prot: 3, ..Map::default() };
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
        let page = |n: usize| (m.start + n * PAGE, m.start + (n + 1) * PAGE);
        assert_eq!(t.arm(&[(m.start, m.end)], &Crew::default()), [page(1), page(5)]);
        assert_eq!(list(&mut t), [(1, false), (5, false)]);
        // SAFETY: as above.
        unsafe {
            p.add(5 * PAGE).write(2);
            p.add(7 * PAGE).write(2);
        }
        assert_eq!(list(&mut t), [(1, false), (5, true), (7, true)]);
    }
}
