//! PROMP_CKPT_POISON=1: after memory was put back, what the checkpoint does without gets a content that
//! shows. Where the system allows it, it is missing until somebody comes to it (ckpt/control/lookout.rs).

use crate::image::{Description, Map};
use crate::lookout::{Lookout, poison};
use crate::memory;
use crate::ranges;
use crate::sys::door::Door;
use crate::tracker::Tracker;

/// Memory: [start, end), in order, apart from each other.
type Ranges = Vec<(usize, usize)>;

/// What is done to such memory. A range is either the tracker's affair or the lookout's.
pub(super) struct Poison {
    /// Is it asked for?
    wanted: bool,
    /// Who looks out for reads of it.
    lookout: Option<&'static Lookout>,
}

impl Poison {
    pub(super) fn new(wanted: bool) -> Self {
        Self { wanted, lookout: None }
    }

    /// Descriptors of ours, which are no files of the program.
    pub(super) fn descriptors(&self) -> [i32; 2] {
        self.lookout.map_or([-1; 2], Lookout::descriptors)
    }

    /// After memory was put back to the checkpoint `about`: fills what must be filled now. Returns what is
    /// missing instead.
    pub(super) fn spread(
        &mut self,
        about: &Description,
        tracker: &Tracker,
        door: &Door,
    ) -> Result<Ranges, String> {
        if !self.wanted || about.dead.is_empty() {
            return Ok(Vec::new());
        }
        self.lookout = self.lookout.or_else(Lookout::new);
        // The kernel's own extension of the stack goes by what lies below it.
        let may = |m: &&Map| m.inode == 0 && !m.shared && m.path != "[stack]";
        let anonymous: Ranges = about.maps.iter().filter(may).map(|m| (m.start, m.end)).collect();
        let mut missing = Vec::new();
        if self.lookout.is_some() {
            for range in ranges::within(&anonymous, &about.dead) {
                memory::empty(&about.maps, range, door)?;
                missing.extend(tracker.missing(range).unwrap_or_default());
            }
        }
        for &r in &ranges::without(&about.dead, &missing) {
            fill(r, door)?;
        }
        Ok(missing)
    }

    /// The threads are about to go on from checkpoint `generation`: looks out for who comes to what is
    /// `missing`.
    pub(super) fn look_out(
        &self,
        missing: &Ranges,
        (generation, about): (u64, &Description),
        tracker: &Tracker,
        door: &Door,
    ) -> Result<(), String> {
        let Some(lookout) = self.lookout else { return Ok(()) };
        for &r in missing {
            tracker.give_up(r);
            if !lookout.begin(r, &about.words, generation) {
                tracker.take_back(r);
                fill(r, door)?;
            }
        }
        Ok(())
    }

    /// The threads are frozen, and memory is about to be saved, or (`all`) put back: nobody looks out any
    /// more where nothing is left to look out for, or at all.
    pub(super) fn look_no_more(&self, all: bool, tracker: &Tracker) {
        if let Some(lookout) = self.lookout {
            lookout.end(all).into_iter().for_each(|r| tracker.take_back(r));
        }
    }

    /// What nobody has come to since it was put back.
    pub(super) fn untouched(&self) -> Ranges {
        self.lookout.map(Lookout::left).unwrap_or_default()
    }

    /// Why no other checkpoint may take the place of the last one.
    pub(super) fn has_been_read(&self) -> Option<String> {
        let found = self.lookout.is_some_and(Lookout::has_found);
        found.then(|| "what the last one does without has been read".into())
    }
}

fn fill((start, end): (usize, usize), door: &Door) -> Result<(), String> {
    let pattern = poison(usize::MAX);
    for at in (start..end).step_by(pattern.len()) {
        if !door.write(at, &pattern[..pattern.len().min(end - at)]) {
            return Err(format!("the memory at {at:x} cannot be written"));
        }
    }
    Ok(())
}
