//! What is in a log of old values (log.rs) since the last save point: it need not be saved again, since what
//! was saved first is put back last. Work that updates the same elements again and again, like a generator's
//! state or the rows of a transform, saves them once.
//!
//! A table of places in the log, by what was saved. Others that have the same place in the table push it out,
//! and it is saved twice. Entries of earlier logs are told by the *round*, a number that each log has.

use crate::sys::own::Own;

const SLOTS: usize = 128;
/// Places in the log, of 8 bytes.
const PLACES: u64 = 1 << 25;

/// The logical thread's own.
pub(crate) struct Seen {
    /// The round, in the bits above [`PLACES`].
    round: Own<u64>,
    /// Round and place, in one word: a signal's handler finds it whole.
    slots: [Own<u64>; SLOTS],
}

impl Default for Seen {
    fn default() -> Self {
        Self { round: Own::new(0), slots: [const { Own::new(0) }; SLOTS] }
    }
}

/// Where to look for something in the table.
pub(crate) struct Slot<'a>(&'a Seen, &'a Own<u64>);

impl Seen {
    /// The log is empty: what is known is of earlier ones.
    #[inline(always)]
    pub(crate) fn begin(&self) {
        match self.round.get().checked_add(PLACES) {
            Some(next) => self.round.set(next),
            None => self.begin_anew(),
        }
    }

    #[cold]
    fn begin_anew(&self) {
        self.slots.iter().for_each(|s| s.set(0));
        self.round.set(PLACES);
    }

    /// Where elements from `start` on, of `shape`, would be.
    #[inline(always)]
    pub(crate) fn slot(&self, start: usize, shape: usize) -> Slot<'_> {
        Slot(self, &self.slots[((start / 8).wrapping_add(shape)) % SLOTS])
    }
}

impl Slot<'_> {
    /// The record of this round that was kept here last: its distance from the log's beginning.
    #[inline(always)]
    pub(crate) fn record(&self) -> Option<usize> {
        let place = self.1.get() ^ self.0.round.get();
        (place < PLACES).then_some(place as usize * 8)
    }

    /// There is a whole record at `at`, a multiple of 8 below 256 MiB.
    #[inline(always)]
    pub(crate) fn keep(&self, at: usize) {
        self.1.set(self.0.round.get() | (at / 8) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_until_the_next_round() {
        let seen = Seen::default();
        for round in 0..3 {
            seen.begin();
            let slot = seen.slot(4096, 1);
            assert_eq!(slot.record(), None, "{round}");
            for at in [0, 64, (256 << 20) - 8] {
                slot.keep(at);
                assert_eq!(seen.slot(4096, 1).record(), Some(at));
            }
        }
    }

    #[test]
    fn rounds_begin_anew_without_what_was_kept() {
        let seen = Seen::default();
        seen.begin();
        seen.slot(64, 0).keep(8);
        let first = seen.round.get();
        seen.round.set(u64::MAX - (PLACES - 1));
        seen.slot(128, 0).keep(16);
        seen.begin();
        assert_eq!(seen.round.get(), first);
        assert_eq!((seen.slot(64, 0).record(), seen.slot(128, 0).record()), (None, None));
    }
}
