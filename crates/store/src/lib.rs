//! The page store being written: slots, and the generations that refer to them (the crate `promp_image` has
//! the format). How it is opened, and what an earlier process has left: store/open.rs. The order of what is
//! written: pages, their checksums, the generation's file that refers to them; all synced; its name.

extern crate promp_sys as sys;
use sys::sys;

pub mod end_record_file;
pub mod free;
pub mod pages;
pub mod slots;
pub mod undo_names;

mod open;
mod write;

use crate::free::Free;
use crate::pages::{Known, UNPLACED};
use crate::slots::{Row, Slots};
use core::ops::Range;
use promp_image::{self as image, Description, Entry, PAGE, Sums};
use std::ffi::CString;
use std::fs::File;
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
    /// The file of checksums.
    sums: i32,
    /// It has those of `index`. It has not where an earlier process wrote them to generations' own files.
    sums_hold: bool,
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
    /// Descriptors of ours, which are no files of the program.
    pub fn descriptors(&self) -> [i32; 5] {
        [self.dir_fd, self.slots.file, self.slots.direct, self.sums, self.lock]
    }

    fn unlink(&self, name: &str) {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: a C string and a descriptor of ours.
        unsafe { sys!(libc::SYS_unlinkat, self.dir_fd, name.as_ptr(), 0) };
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

    /// Writes `content` to the slots behind all that have been written to, so that these have been. If that
    /// is not possible they are as they were.
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

    /// Makes `index` generation `number`: written aside, synced (with `others`, which it needs), renamed.
    /// Afterwards slots of the one before are free again as soon as that one is dropped.
    pub fn commit(
        &mut self,
        number: u64,
        about: &Description,
        index: Vec<Entry>,
        others: &[File],
    ) -> Result<Committed, Problem> {
        let mut before = Known::from(&self.index, 0);
        let is_new = |e: &&Entry| before.of(e.page).is_none_or(|b| b.slot != e.slot);
        let new: Vec<Entry> = index.iter().filter(is_new).copied().collect();
        let sums = self.write_sums(if self.sums_hold { &new } else { &index })?;
        let bytes = image::encode(number, about, &index, Sums::Aside);
        self.make_whole(number, &bytes, others)?;
        self.sums_hold = true;
        self.files.push(Kept::new(number, about.era, &index));
        let bytes = (core::mem::take(&mut self.written) * PAGE + sums + bytes.len()) as u64;
        self.fresh = self.taken - core::mem::replace(&mut self.had, self.taken);
        self.accept(index);
        let from_ready = core::mem::take(&mut self.from_ready);
        Ok(Committed { dirty_pages: new.len() as u64, bytes, from_ready })
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
}

#[cfg(test)]
mod tests;
