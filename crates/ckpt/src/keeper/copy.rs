//! Copying the pages that have changed, while the threads are frozen: first it is listed what is to be
//! copied, then the crew copies it piece by piece into the staging buffer, in the list's order, with
//! checksums.

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
use crate::tracker::Run;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use smallvec::{SmallVec, smallvec};

/// Pages that a host copies at once.
const BATCH: usize = 128;
/// Cache lines of a page that lies alone which are fetched while the page before it is copied. Of pages in a
/// row the CPU does so by itself.
const FETCH: usize = 64;

/// Ranges of pages: mostly one.
type Pages = SmallVec<[Range<u64>; 1]>;

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
                wanted.extend((next < e.page).then_some(next..e.page));
                next = e.page + 1;
            }
            wanted.extend((next < b).then_some(next..b));
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
    /// Its first place in the staging buffer.
    place: usize,
    how: Reading<'a>,
}

/// What is to be copied next, in the order of its places in the staging buffer.
pub(super) struct List<'a> {
    pieces: Vec<Piece<'a>>,
    /// Places taken.
    staged: usize,
    /// Places that there are.
    room: usize,
}

impl<'a> List<'a> {
    pub(super) fn new(room: usize) -> Self {
        Self { pieces: Vec::new(), staged: 0, room }
    }

    /// Adds `pages` as far as there is room, and takes them off there. True if some are left.
    pub(super) fn add(&mut self, pages: &mut Range<u64>, how: Reading<'a>) -> bool {
        let len = (pages.end.saturating_sub(pages.start) as usize).min(self.room - self.staged);
        if len > 0 {
            self.pieces.push(Piece { page: pages.start, len, place: self.staged, how });
            self.staged += len;
            pages.start += len as u64;
        }
        !pages.is_empty()
    }

    /// The pages for places [first, end) in the staging buffer, their places, how they are to be read.
    fn pages(&self, first: usize, end: usize) -> impl Iterator<Item = (u64, usize, Reading<'a>)> {
        let from = self.pieces.partition_point(|p| p.place + p.len <= first);
        self.pieces[from..].iter().take_while(move |p| p.place < end).flat_map(move |p| {
            let places = p.place.max(first)..(p.place + p.len).min(end);
            places.map(|place| (p.page + (place - p.place) as u64, place, p.how))
        })
    }

    /// Empties it. Returns the places that were taken.
    pub(super) fn clear(&mut self) -> usize {
        self.pieces.clear();
        core::mem::take(&mut self.staged)
    }
}

impl Copier {
    /// Copies what has changed in `runs` of `maps` and in `files` since the store's last checkpoint, but for
    /// what was written ahead of what is `held`. What there is no room for is written.
    pub(super) fn copy_changes(
        &mut self,
        maps: &[Map],
        runs: &[Run],
        files: &[(Range<u64>, Opened)],
        store: &mut Store,
        held: &mut Held,
    ) -> Result<(), String> {
        let mut list = List::new(self.staging.room());
        // Where writes are held it is known of blocks only what has changed.
        let mut unarmed = [held.busy.unarmed(), self.tracker.held().to_vec()].concat();
        unarmed.sort_unstable();
        let mut map = 0;
        for r in runs {
            while maps[map].end <= r.start {
                map += 1;
            }
            let (page, end) = ((r.start / PAGE) as u64, (r.end / PAGE) as u64);
            let wanted =
                if r.changed || self.unknown { smallvec![page..end] } else { held.unchanged(page, end) };
            let direct = r.present && maps[map].prot & libc::PROT_READ != 0;
            let source = if direct { Source::Memory } else { Source::Door };
            let shared = maps[map].shared;
            let how = Reading {
                source,
                must: r.present,
                anonymous: shared || maps[map].inode == 0,
                compare: shared || self.unknown,
            };
            let mut parts: SmallVec<[(Range<u64>, bool); 1]> = SmallVec::new(); // mostly one
            ranges::parts(&unarmed, r.start, r.end, |start, end, busy| {
                parts.push(((start / PAGE) as u64..(end / PAGE) as u64, busy));
            });
            for pages in wanted {
                for (part, busy) in &parts {
                    let pages = pages.start.max(part.start)..pages.end.min(part.end);
                    self.copy_pages(
                        &mut list,
                        pages,
                        Reading { compare: how.compare || *busy, ..how },
                        store,
                        held,
                    )?;
                }
            }
        }
        for (pages, file) in files {
            let how = Reading { source: Source::File(file), must: true, anonymous: true, compare: true };
            self.copy_pages(&mut list, pages.clone(), how, store, held)?;
        }
        self.stage(&mut list, store, held)
    }

    /// Adds `pages` to `list`; as often as there is no room, what is listed is copied and written.
    fn copy_pages<'a>(
        &mut self,
        list: &mut List<'a>,
        mut pages: Range<u64>,
        how: Reading<'a>,
        store: &mut Store,
        held: &mut Held,
    ) -> Result<(), String> {
        while list.add(&mut pages, how) {
            if self.staging.room() == 0 {
                return Err("the system has no memory for it".into());
            }
            self.stage(list, store, held)?;
            self.write(held, store)?;
        }
        Ok(())
    }

    /// Copies what is in `list`, which is empty afterwards.
    fn stage(&mut self, list: &mut List, store: &Store, held: &mut Held) -> Result<(), String> {
        self.copy_list(list, &store.index)?;
        held.staged = list.clear();
        held.busy.count(self.staging.content(held.staged).1);
        Ok(())
    }

    /// Fills the staging buffer. What is to be compared and is as it was, according to the index `old`, keeps
    /// its slot and is not copied.
    pub(super) fn copy_list(&mut self, list: &List, old: &[Entry]) -> Result<(), String> {
        let places = self.staging.places();
        let (door, unreadable) = (&self.door, AtomicUsize::new(0));
        self.crew.share(list.staged.div_ceil(BATCH), &|i| {
            let (first, end) = (i * BATCH, list.staged.min((i + 1) * BATCH));
            let mut listed = list.pages(first, end).peekable();
            let begin = listed.peek().map_or(0, |p| p.0);
            let mut known = Known::from(old, begin);
            let is_running = listed.peek().is_some_and(|p| matches!(p.2.source, Source::Running));
            let attempt = if is_running { Attempt::begin(runtime().crash_handler()) } else { None };
            while let Some((page, n, how)) = listed.next() {
                if let Some(next) = listed.peek().filter(|next| next.2.is_direct() && next.0 != page + 1) {
                    cache::fetch(next.0 as usize * PAGE, FETCH);
                }
                // SAFETY: a place of this batch's own, of those that there is room for.
                let (place, entry) = unsafe { places.place(n) };
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
mod tests {
    use super::*;

    /// Pages 0 to 20 are in the last index but for 4; 3 to 8 and 10 were noted ahead, of which 3, 5, 6 were
    /// written and 7 was empty; 12 to 15 changed.
    #[test]
    fn an_index_of_what_was_where() {
        let entry = |page, slot| Entry { page, slot, sum: page };
        let old: Vec<Entry> = (0..20).filter(|&p| p != 4).map(|p| entry(p, 100 + p)).collect();
        let entries =
            [(3, 203), (5, 205), (6, 206), (7, EMPTY)].map(|(page, slot)| entry(page, slot)).to_vec();
        let mut ahead = Ahead::default();
        (ahead.noted, ahead.entries) = (vec![(3, 8), (10, 11)], entries);
        let mut held = Held::new(ahead, Busy::default());
        assert_eq!(held.unchanged(0, 12)[..], [4..5, 10..11]);
        assert!(held.unchanged(15, 18).is_empty());
        held.done = vec![entry(12, 300), entry(4, 301), entry(10, 302)]; // what was staged, written
        let index = held.index(&old);
        let want = [(0, 100), (1, 101), (2, 102), (3, 203), (4, 301), (5, 205), (6, 206), (8, 108)];
        let rest = [(9, 109), (10, 302), (11, 111), (12, 300), (15, 115), (16, 116), (17, 117)];
        let slots: Vec<_> = index.iter().map(|e| (e.page, e.slot)).collect();
        assert_eq!(slots, [&want[..], &rest].concat());
    }
}
