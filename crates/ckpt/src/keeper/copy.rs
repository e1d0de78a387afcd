//! How pages are copied: first it is listed which, then the crew copies them, load by load, into the staging
//! buffer, in the list's order, with checksums, and a load is written. So does the stop, and so does what is
//! written ahead of it.

use super::copier::Copier;
use super::precopy::Ahead;
use crate::busy::Busy;
use crate::contents::Opened;
use crate::image::{self, Entry, Map, PAGE};
use crate::pages::{self, EMPTY, Known, UNPLACED, UNREADABLE};
use crate::ranges;
use crate::runtime::runtime;
use crate::store::Store;
use crate::sys::attempt::Attempt;
use crate::sys::cache;
use crate::tracker::{self, Run, in_pages};
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use smallvec::{SmallVec, smallvec};

/// Pages that a host copies at once.
const BATCH: usize = 128;
/// Cache lines of a page that lies alone which are fetched while the page before it is copied. Of pages in a
/// row the CPU does so by itself.
const FETCH: usize = 64;

/// Ranges of pages: mostly one.
type Pages = SmallVec<[(u64, u64); 1]>;

/// What belongs to the checkpoint being taken.
#[derive(Default)]
pub(super) struct Held {
    /// Pages in the staging buffer.
    staged: usize,
    /// Entries of pages that were written from there.
    done: Vec<Entry>,
    /// What was noted and written ahead.
    ahead: Ahead,
    /// Ranges of its entries that hold still.
    ranges_ahead: Vec<(usize, usize)>,
    /// Pages, in order, that are as they were in the last checkpoint.
    as_before: Vec<Range<u64>>,
    /// Blocks that are not armed.
    pub busy: Busy,
}

impl Held {
    pub(super) fn new(ahead: Ahead, busy: Busy) -> Self {
        Self { ahead, busy, ..Self::default() }
    }

    /// Pages [page, end) have not changed since the last checkpoint or, if they were noted ahead, since then.
    /// Those that were noted but not written are returned: what they hold is not known.
    fn unchanged(&mut self, page: u64, end: u64) -> Pages {
        let mut wanted = Pages::new();
        let written = &self.ahead.entries;
        ranges::parts(&self.ahead.noted, page, end, |a, b, noted| {
            if !noted {
                self.as_before.push(a..b);
                return;
            }
            let (first, last) =
                (written.partition_point(|e| e.page < a), written.partition_point(|e| e.page < b));
            self.ranges_ahead.push((first, last));
            let mut next = a;
            for e in &written[first..last] {
                wanted.extend((next < e.page).then_some((next, e.page)));
                next = e.page + 1;
            }
            wanted.extend((next < b).then_some((next, b)));
        });
        wanted
    }

    /// Pages with these `entries` are in the file now.
    pub(super) fn wrote(&mut self, entries: &[Entry]) {
        self.done.extend(entries.iter().filter(|e| e.slot != EMPTY));
    }

    /// Pages in the staging buffer.
    pub(super) fn staged(&self) -> usize {
        self.staged
    }

    /// The index of the checkpoint; `old` is the last one's.
    pub(super) fn index(mut self, old: &[Entry]) -> Vec<Entry> {
        for &(first, last) in &self.ranges_ahead {
            self.done.extend(self.ahead.entries[first..last].iter().filter(|e| e.slot != EMPTY));
        }
        // A page that is not in the index was empty then, and still is.
        let mut entries = old.iter().peekable();
        for pages in &self.as_before {
            while entries.next_if(|e| e.page < pages.start).is_some() {}
            self.done.extend(core::iter::from_fn(|| entries.next_if(|e| e.page < pages.end)));
        }
        // Three sorted lists, which a stable sort finds and merges.
        self.done.sort_by_key(|e| e.page);
        self.done
    }
}

/// Where pages are to be read.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// In memory.
    Memory,
    /// In memory that may not be readable, through the kernel.
    Door,
    /// In memory that may be gone.
    Running,
    /// In a file.
    File(&'a Opened),
}

/// How pages are to be read.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub source: Source<'a>,
    /// Is it an error if that is not possible? What is not present and cannot be read has no content.
    pub must: bool,
    /// Is zero no content? Not in a mapping of a file.
    pub anonymous: bool,
    /// Is it not known whether they have changed? Checksums tell.
    pub compare: bool,
}

impl Reading<'_> {
    fn is_direct(&self) -> bool {
        matches!(self.source, Source::Memory)
    }
}

/// Consecutive pages of a mapping.
struct Piece<'a> {
    page: u64,
    len: usize,
    /// The first one's number in the list.
    number: usize,
    how: Reading<'a>,
}

/// What is to be copied, page by page, by way of the staging buffer.
#[derive(Default)]
pub(super) struct List<'a> {
    pieces: Vec<Piece<'a>>,
    len: usize,
}

impl<'a> List<'a> {
    /// Adds pages: the first, and behind the last.
    pub(super) fn add(&mut self, (first, end): (u64, u64), how: Reading<'a>) {
        let len = (end - first) as usize;
        if len > 0 {
            self.pieces.push(Piece { page: first, len, number: self.len, how });
            self.len += len;
        }
    }

    /// The numbers of its pages, at most `room` at once.
    pub(super) fn loads(&self, room: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let len = self.len;
        (0..len).step_by(room).map(move |first| first..len.min(first + room))
    }

    /// The pages with these numbers, which they are, how they are to be read.
    fn pages(&self, numbers: Range<usize>) -> impl Iterator<Item = (u64, usize, Reading<'a>)> {
        let from = self.pieces.partition_point(|p| p.number + p.len <= numbers.start);
        self.pieces[from..].iter().take_while(move |p| p.number < numbers.end).flat_map(move |p| {
            let inside = p.number.max(numbers.start)..(p.number + p.len).min(numbers.end);
            inside.map(|n| (p.page + (n - p.number) as u64, n, p.how))
        })
    }
}

impl Copier {
    /// Lists what has changed in `runs` of `maps` and in `files`, but for what was written ahead of what is
    /// `held`.
    pub(super) fn list<'f>(
        &self,
        maps: &[Map],
        runs: &[Run],
        files: &'f [(Range<u64>, Opened)],
        held: &mut Held,
    ) -> List<'f> {
        let mut list = List::default();
        // Where writes are held it is known of blocks only what has changed.
        let mut unarmed = [held.busy.unarmed(), self.tracker.held().to_vec()].concat();
        unarmed.sort_unstable();
        let unarmed: Vec<_> = unarmed.into_iter().map(in_pages).collect();
        for (map, r) in tracker::with_maps(maps, runs) {
            let (m, (page, end)) = (&maps[map], r.pages());
            let changed = r.changed || self.unknown;
            let wanted = if changed { smallvec![(page, end)] } else { held.unchanged(page, end) };
            let direct = r.present && m.prot & libc::PROT_READ != 0;
            let how = Reading {
                source: if direct { Source::Memory } else { Source::Door },
                must: r.present,
                anonymous: m.shared || m.inode == 0,
                compare: m.shared || self.unknown,
            };
            for (first, end) in wanted {
                ranges::parts(&unarmed, first, end, |first, end, busy| {
                    list.add((first, end), Reading { compare: how.compare || busy, ..how });
                });
            }
        }
        for (pages, file) in files {
            let how = Reading { source: Source::File(file), must: true, anonymous: true, compare: true };
            list.add((pages.start, pages.end), how);
        }
        list
    }

    /// Copies what is in `list`. What there is no room for is written.
    pub(super) fn stage(&mut self, list: &List, store: &mut Store, held: &mut Held) -> Result<(), String> {
        let room = self.staging.room();
        if room == 0 && list.len > 0 {
            return Err("the system has no memory for it".into());
        }
        for load in list.loads(room.max(1)) {
            if held.staged > 0 {
                self.write(held, store)?;
            }
            held.staged = load.len();
            self.load(list, load, &store.index)?;
            held.busy.count(self.staging.content(held.staged).1);
        }
        Ok(())
    }

    /// Fills the staging buffer. What is to be compared and is as it was, according to the index `old`, keeps
    /// its slot and is not copied.
    pub(super) fn load(&mut self, list: &List, load: Range<usize>, old: &[Entry]) -> Result<(), String> {
        let places = self.staging.places();
        let (door, unreadable) = (&self.door, AtomicUsize::new(0));
        self.crew.share(load.len().div_ceil(BATCH), &|i| {
            let first = load.start + i * BATCH;
            let mut listed = list.pages(first..load.end.min(first + BATCH)).peekable();
            let begin = listed.peek().map_or(0, |p| p.0);
            let mut known = Known::from(old, begin);
            let is_running = listed.peek().is_some_and(|p| matches!(p.2.source, Source::Running));
            let attempt = if is_running { Attempt::begin(runtime().crash_handler()) } else { None };
            while let Some((page, n, how)) = listed.next() {
                if let Some(next) = listed.peek().filter(|next| next.2.is_direct() && next.0 != page + 1) {
                    cache::fetch(next.0 as usize * PAGE, FETCH);
                }
                // SAFETY: a place of this batch's own, of those that there is room for.
                let (place, entry) = unsafe { places.place(n - load.start) };
                let before = if how.compare { known.of(page) } else { None };
                let from = page as usize * PAGE;
                let there = match how.source {
                    Source::Memory => true,
                    Source::Door => door.read(from, place),
                    Source::Running => door.read_if_there(attempt.as_ref(), from, place),
                    Source::File(file) => file.read(page, place),
                };
                if !there {
                    *entry = Entry { page, slot: if how.must { UNREADABLE } else { EMPTY }, sum: 0 };
                    if how.must {
                        unreadable.store(from, Relaxed);
                    }
                    continue;
                }
                let content = match how.is_direct() {
                    // SAFETY: one of the program's present pages; the threads that could write to it are
                    // frozen.
                    true => unsafe { core::slice::from_raw_parts(from as *const u8, PAGE) },
                    false => &*place,
                };
                *entry = pages::entry(page, content, how.anonymous, before);
                if entry.slot == UNPLACED && how.is_direct() {
                    // SAFETY: as above; a page of the program is none of the staging buffer.
                    unsafe { cache::copy_past(from as *const u8, place.as_mut_ptr(), PAGE) };
                }
            }
            cache::done();
        });
        match unreadable.into_inner() {
            0 => Ok(()),
            at if at / PAGE < image::FILES as usize => Err(format!("the page at {at:x} cannot be read")),
            _ => Err("a file that the program writes to cannot be read".into()),
        }
    }

    /// Writes what is in the staging buffer, which is free afterwards.
    pub(super) fn write(&mut self, held: &mut Held, store: &mut Store) -> Result<(), String> {
        let (content, entries) = self.staging.content(core::mem::take(&mut held.staged));
        store.write(content, entries)?;
        held.wrote(entries);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
