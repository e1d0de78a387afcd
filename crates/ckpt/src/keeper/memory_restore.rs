//! Memory becomes what it was at the last checkpoint. The threads are frozen, or there are none yet.

use super::committer::Committer;
use super::copier::Copier;
use super::poison::Poison;
use crate::image::{self, Entry, Map, PAGE};
use crate::memory;
use crate::ranges;
use crate::store::Store;
use crate::sys::guards;
use crate::tracker::Run;

/// Pages that are read at once.
const BATCH: usize = (1 << 20) / PAGE;

impl Copier {
    /// Makes it what it was, and notes writes to it anew.
    pub(super) fn put_memory_back(
        &mut self,
        Committer { store, generation, last, .. }: &Committer,
        poison: &mut Poison,
    ) -> Result<(), String> {
        poison.look_no_more(true, &self.tracker);
        // What was noted ahead has changed, too, but the kernel does not say so any more.
        let noted = self.ahead.take().map_or(Vec::new(), |a| a.noted);
        let maps = &last.maps;
        memory::reshape(maps, last.brk)?;
        self.unknown |= !self.tracker.find_held(maps);
        let mut runs = self.tracker.runs(maps, &store.dense, &self.crew);
        self.tracker.let_go(maps);
        self.tracker.watch(maps);
        let made = memory::renew(maps)?;
        for m in &made {
            self.tracker.watch(core::slice::from_ref(m));
            runs.retain(|r| r.end <= m.start || m.end <= r.start);
        }
        self.put_pages_back(maps, &runs, &noted, store)?;
        memory::protect(&made);
        self.tracker.put_guards_back(&runs, maps)?;
        let missing = poison.spread(last, &self.tracker, &self.door)?;
        self.tracker.arm_all(maps, &self.crew);
        self.unknown = !self.tracker.notes_writes();
        poison.look_out(&missing, (*generation, last), &self.tracker, &self.door)
    }

    /// Makes memory in `runs` of `maps`, of which the pages `noted` have changed in any case, what it was
    /// by the index of `store`.
    fn put_pages_back(
        &self,
        maps: &[Map],
        runs: &[Run],
        noted: &[(u64, u64)],
        store: &Store,
    ) -> Result<(), String> {
        let index = &store.index[..store.index.partition_point(|e| e.page < image::FILES)];
        let saved = ranges::joined(index.iter().map(|e| (e.page, e.page + 1)));
        // Present pages that the checkpoint does not have were zero, or the file's.
        let present: Vec<_> = runs.iter().map(Run::pages).collect();
        for (first, end) in ranges::without(&present, &saved) {
            memory::empty(maps, (first as usize * PAGE, end as usize * PAGE), &self.door)?;
        }
        // The rest: saved pages but those that have not changed.
        let as_they_were = runs.iter().filter(|r| !r.changed && !self.unknown).map(Run::pages);
        let unchanged = ranges::without(&as_they_were.collect::<Vec<_>>(), noted);
        let mut content = vec![0u8; BATCH * PAGE];
        for (first, end) in ranges::without(&saved, &unchanged) {
            let at = |page: u64| index.partition_point(|e| e.page < page);
            let rows = index[at(first)..at(end)].chunk_by(|a, b| a.slot + 1 == b.slot);
            for row in rows.flat_map(|row| row.chunks(BATCH)) {
                let content = &mut content[..row.len() * PAGE];
                store.read(row, content)?;
                self.put_content_back(row, content)?;
            }
        }
        Ok(())
    }

    /// The pages of `row` get their `content`.
    fn put_content_back(&self, row: &[Entry], content: &[u8]) -> Result<(), String> {
        let to = row[0].page as usize * PAGE;
        let wrote = self.door.write(to, content) || {
            // They may have become guards since.
            guards::change(&[(to, to + content.len())], &[]).is_ok() && self.door.write(to, content)
        };
        if wrote { Ok(()) } else { Err(format!("the memory at {to:x} cannot be written")) }
    }
}
