//! PROMP_CKPT_POISON=1: after memory was put back, what the checkpoint does without gets a content that
//! shows. Where the system allows it, it is missing until somebody comes to it (ckpt/control/lookout.rs).

use super::Keeper;
use crate::image::Map;
use crate::lookout::{Lookout, poison};
use crate::ranges;

/// Memory: [start, end), in order, apart from each other.
type Ranges = Vec<(usize, usize)>;

impl Keeper {
    /// After memory was put back: fills what must be filled now. Returns what is missing instead.
    pub(super) fn poison(&mut self, maps: &[Map]) -> Result<Ranges, String> {
        if !self.settings.poison || self.last.dead.is_empty() {
            return Ok(Vec::new());
        }
        self.lookout = self.lookout.or_else(Lookout::new);
        // The kernel's own extension of the stack goes by what lies below it.
        let may = |m: &&Map| m.inode == 0 && !m.shared && m.path != "[stack]";
        let anonymous: Ranges = maps.iter().filter(may).map(|m| (m.start, m.end)).collect();
        let mut missing = Vec::new();
        if self.lookout.is_some() {
            for (start, end) in ranges::within(&anonymous, &self.last.dead) {
                self.empty(maps, start, end)?;
                missing.extend(self.tracker.missing((start, end)).unwrap_or_default());
            }
        }
        for &r in &ranges::without(&self.last.dead, &missing) {
            self.fill(r)?;
        }
        Ok(missing)
    }

    /// The threads are about to go on: looks out for who comes to what is `missing`.
    pub(super) fn look_out(&mut self, missing: &Ranges) -> Result<(), String> {
        let Some(lookout) = self.lookout else { return Ok(()) };
        for &r in missing {
            self.tracker.give_up(r);
            if !lookout.begin(r, &self.last.words, self.generation) {
                self.tracker.take_back(r);
                self.fill(r)?;
            }
        }
        Ok(())
    }

    /// The threads are frozen, and memory is about to be saved, or (`all`) put back: nobody looks out any
    /// more where nothing is left to look out for, or at all.
    pub(super) fn look_no_more(&mut self, all: bool) {
        if let Some(lookout) = self.lookout {
            lookout.end(all).into_iter().for_each(|r| self.tracker.take_back(r));
        }
    }

    /// What nobody has come to since it was put back.
    pub(super) fn untouched(&self) -> Ranges {
        self.lookout.map(Lookout::left).unwrap_or_default()
    }

    /// Why no other checkpoint may take the place of the last one.
    pub(super) fn has_read_what_is_dead(&self) -> Option<String> {
        let found = self.lookout.is_some_and(Lookout::has_found);
        found.then(|| "what the last one does without has been read".into())
    }

    fn fill(&self, (start, end): (usize, usize)) -> Result<(), String> {
        let pattern = poison(usize::MAX);
        for at in (start..end).step_by(pattern.len()) {
            if !self.door.write(at, &pattern[..pattern.len().min(end - at)]) {
                return Err(format!("the memory at {at:x} cannot be written"));
            }
        }
        Ok(())
    }
}
