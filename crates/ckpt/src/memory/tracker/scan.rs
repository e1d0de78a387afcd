//! Asking the kernel about a part of a mapping.

use super::Run;
use crate::image::{Map, PAGE};
use crate::sys::pagemap::{
    CHECK_WPASYNC, FILE, PRESENT, Pagemap, Question, Region, SWAPPED, WP_ALLOWED, WP_MATCHING, WRITTEN, ZERO,
};

/// How much the kernel can tell at once.
const REGIONS: usize = 512;

/// What a part of a mapping holds.
#[derive(Default)]
pub(super) struct Found {
    pub runs: Vec<Run>,
    /// Are there pages to which writes are not noted?
    pub unwatched: bool,
}

impl Found {
    fn push(&mut self, (start, end): (u64, u64), changed: bool, present: bool) {
        if start < end {
            push(&mut self.runs, 0, Run { start: start as usize, end: end as usize, changed, present });
        }
    }
}

/// Pages of which something is known.
pub(super) struct Stretch {
    pub start: usize,
    pub end: usize,
    /// They had content when the kernel began to note writes to them.
    pub dense: bool,
    /// May they be armed?
    pub arm: bool,
    /// Nobody wants to know what they hold.
    pub skip: bool,
}

/// Who asks.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub pagemap: &'a Pagemap,
    /// Does the kernel note writes?
    pub noted: bool,
    /// Of a mapping whose writes are held.
    pub held: bool,
}

impl Scan<'_> {
    /// What [start, end) of a mapping holds.
    pub(super) fn piece(
        &self,
        m: &Map,
        (start, end): (usize, usize),
        known: &[Stretch],
        flags: u64,
    ) -> Found {
        let mut found = Found::default();
        if m.shared {
            // What the kernel tells is about this process only, whose pages may have come and gone.
            found.push((start as u64, end as u64), true, false);
            return found;
        }
        let mut at = start;
        let first = known.partition_point(|s| s.end <= start);
        // Of a file's mapping it must be asked whose each page is.
        for s in known[first..].iter().take_while(|s| m.inode == 0 && s.start < end) {
            self.sparse(m, (at, s.start), flags, &mut found);
            let flags = if s.arm { flags } else { flags & !WP_MATCHING };
            let (from, to) = (s.start.max(at), s.end.min(end));
            at = if s.skip {
                to
            } else if s.dense {
                self.dense((from, to), flags, &mut found)
            } else {
                self.sparse(m, (from, to), flags, &mut found);
                to
            };
        }
        self.sparse(m, (at, end), flags, &mut found);
        found
    }

    /// As far as writes are noted: where it ends.
    fn dense(&self, (start, end): (usize, usize), flags: u64, found: &mut Found) -> usize {
        let mut at = start as u64;
        let check = if self.held { 0 } else { CHECK_WPASYNC };
        while at < end as u64 {
            let mut regions = [Region::default(); REGIONS];
            let question = Question {
                // What is written or not present.
                inverted: PRESENT,
                any: WRITTEN | PRESENT,
                tell: WRITTEN | PRESENT | SWAPPED | ZERO,
                ..Question::default()
            };
            let Ok((told, reached)) =
                self.pagemap.ask((at, end as u64), flags | check, question, &mut regions)
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

    fn sparse(&self, m: &Map, (start, end): (usize, usize), mut flags: u64, found: &mut Found) {
        let mut at = start as u64;
        // Whose a page is the kernel finds out by looking at what it keeps of the page itself: most of the time, in vain where there is no file.
        let origin = if m.inode == 0 { 0 } else { FILE };
        while at < end as u64 {
            let mut regions = [Region::default(); REGIONS];
            let question = Question {
                // Not pages without content: armed, they would get a marker that looks like a swapped page.
                any: PRESENT | SWAPPED,
                tell: WP_ALLOWED | WRITTEN | PRESENT | ZERO | origin,
                ..Question::default()
            };
            match self.pagemap.ask((at, end as u64), flags, question, &mut regions) {
                Ok((told, reached)) => {
                    for r in told.iter().filter(|r| r.categories & (FILE | ZERO) == 0) {
                        // Memory that has been moved here: its pages may bear the marks of where they were.
                        let noted = self.held || r.categories & WP_ALLOWED != 0;
                        found.unwatched |= !noted;
                        let changed = !self.noted || !noted || r.categories & WRITTEN != 0;
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
}

/// Can the kernel be asked at all?
pub(super) fn works(pagemap: &Pagemap) -> bool {
    let here = [0u8; 8];
    let at = here.as_ptr() as u64 & !(PAGE as u64 - 1);
    let question = Question { any: PRESENT | SWAPPED, tell: PRESENT, ..Question::default() };
    pagemap.ask((at, at + PAGE as u64), 0, question, &mut [Region::default()]).is_ok()
}

/// Has the kernel note writes anew to the pages of [start, end) that were written to, as far as it answers. Returns them, in order.
pub(super) fn arm(pagemap: &Pagemap, (start, end): (usize, usize)) -> Vec<(usize, usize)> {
    // Not pages without content: they would get a marker that looks like a swapped page.
    let question = Question { all: WRITTEN, any: PRESENT | SWAPPED, tell: WRITTEN, ..Question::default() };
    let (mut at, mut armed) = (start as u64, Vec::new());
    while at < end as u64 {
        let mut regions = [Region::default(); REGIONS];
        let Ok((told, reached)) = pagemap.ask((at, end as u64), WP_MATCHING, question, &mut regions) else {
            break;
        };
        armed.extend(told.iter().map(|r| (r.start as usize, r.end as usize)));
        at = reached;
    }
    armed
}

/// What of [start, end) is there, or was: in order; `None` if the kernel does not tell.
pub(super) fn there(pagemap: &Pagemap, (start, end): (usize, usize)) -> Option<Vec<(usize, usize)>> {
    let question = Question { any: PRESENT | SWAPPED, tell: PRESENT, ..Question::default() };
    let (mut at, mut there) = (start as u64, Vec::new());
    while at < end as u64 {
        let mut regions = [Region::default(); REGIONS];
        let (told, reached) = pagemap.ask((at, end as u64), 0, question, &mut regions).ok()?;
        there.extend(told.iter().map(|r| (r.start as usize, r.end as usize)));
        at = reached;
    }
    Some(there)
}

/// Adds `r` to the list, whose runs from `first` on are of the same mapping.
pub(super) fn push(out: &mut Vec<Run>, first: usize, r: Run) {
    match out[first..].last_mut() {
        Some(l) if (l.end, l.changed, l.present) == (r.start, r.changed, r.present) => l.end = r.end,
        _ => out.push(r),
    }
}
