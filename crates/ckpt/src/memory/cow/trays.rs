//! Where copies wait to be written: trays, of a block's size each, which are filled part by part and written at once. A thread so waits for the copy of a
//! part, and the disk gets long pieces. A tray's states:
//!
//! | from | when | to |
//! |---|---|---|
//! | free | a part for which a thread waits finds none that is open; or a block is copied | open, or given away as a whole |
//! | open | there is no room for another part, or no part is left | closed |
//! | closed | all of its parts are copied | full |
//! | full | it is written | free |

use crate::sys::time;
use std::collections::VecDeque;

/// Parts of a block, and of a tray.
pub(super) const PARTS: usize = 8;
/// Trays that there are in any case.
pub(crate) const PLACES: usize = 16;
/// Full trays beyond which only those parts are copied for which threads wait.
const AHEAD: usize = PLACES / 2;

/// Places for trays.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pool {
    /// Those that have been touched.
    pub ready: usize,
    /// How many there may be.
    pub most: usize,
    /// What it costs to touch another one, in nanoseconds.
    pub price_ns: u64,
}

/// How often something was written, and how long that took in all.
pub(super) type Writes = (u64, u64);

#[derive(Clone, Copy, Debug, Default)]
struct Tray {
    /// Parts of it that have been given away,
    given: usize,
    /// and of them those that are copied.
    copied: usize,
}

#[derive(Debug, Default)]
pub(super) struct Trays {
    pool: Pool,
    /// Those that have been used.
    used: Vec<Tray>,
    /// Those that are free again.
    free: Vec<usize>,
    open: Option<usize>,
    full: VecDeque<usize>,
    /// How many are being written.
    writing: usize,
    /// Since when none of these has been finished.
    since: u64,
    writes: Writes,
}

impl Trays {
    /// `writes` are known from before.
    pub(super) fn new(pool: Pool, writes: Writes) -> Self {
        Self { pool, writes, ..Self::default() }
    }

    pub(super) fn writes(&self) -> Writes {
        self.writes
    }

    /// How many have been used.
    pub(super) fn used(&self) -> usize {
        self.used.len()
    }

    /// Is there room for a part?
    pub(super) fn has_room(&self) -> bool {
        self.open.is_some() || self.has_free()
    }

    /// Is there a free one, or one that is worth being touched for the first time? Not if one is sooner free again.
    fn has_free(&self) -> bool {
        let is_worth_it = || {
            let now = if self.writing > 0 { time::now_ns().saturating_sub(self.since) } else { 0 };
            let wait_ns = now.max(self.writes.1 / self.writes.0.max(1));
            self.used.len() < self.pool.most && self.pool.price_ns < wait_ns
        };
        !self.free.is_empty() || self.used.len() < self.pool.ready || is_worth_it()
    }

    /// Room for at most `parts` of a block, one behind the other: the tray, which part of it is the first, and how many. What is `urgent` comes into
    /// one with others, all else into one of its own, if there is one.
    pub(super) fn give(&mut self, parts: usize, urgent: bool) -> Option<(usize, usize, usize)> {
        let open = self.open.filter(|_| urgent || !self.has_free());
        let tray = open.or_else(|| self.take_free())?;
        let t = &mut self.used[tray];
        let (at, n) = (t.given, parts.min(PARTS - t.given));
        t.given += n;
        let has_room = t.given < PARTS;
        if open.is_some() || self.open.is_none() {
            self.open = has_room.then_some(tray);
        }
        Some((tray, at, n))
    }

    fn take_free(&mut self) -> Option<usize> {
        let has = self.has_free();
        let tray = self.free.pop().or_else(|| {
            has.then(|| {
                self.used.push(Tray::default());
                self.used.len() - 1
            })
        })?;
        self.used[tray] = Tray::default();
        Some(tray)
    }

    /// So many parts of `tray` are copied.
    pub(super) fn copied(&mut self, tray: usize, parts: usize) {
        self.used[tray].copied += parts;
        self.fill(tray);
    }

    /// No part is left to be copied.
    pub(super) fn close(&mut self) {
        if let Some(tray) = self.open.take() {
            self.fill(tray);
        }
    }

    /// Is it full now?
    fn fill(&mut self, tray: usize) {
        let t = self.used[tray];
        if self.open != Some(tray) && t.copied == t.given {
            self.full.push_back(tray);
        }
    }

    /// Are so many full that only what is urgent is to be copied?
    pub(super) fn are_ahead(&self) -> bool {
        self.full.len() >= AHEAD
    }

    /// Shall one be written before anything is copied for which no thread waits?
    pub(super) fn are_to_be_written(&self) -> bool {
        self.full.len() >= AHEAD / 2
    }

    pub(super) fn has_full(&self) -> bool {
        !self.full.is_empty()
    }

    pub(super) fn is_writing(&self) -> bool {
        self.writing > 0
    }

    /// A full one, which is being written from now on, and how many parts of it there are.
    pub(super) fn write(&mut self) -> Option<(usize, usize)> {
        let tray = self.full.pop_front()?;
        if self.writing == 0 {
            self.since = time::now_ns();
        }
        self.writing += 1;
        Some((tray, self.used[tray].given))
    }

    /// It has been written, which has taken so long.
    pub(super) fn written(&mut self, tray: usize, ns: u64) {
        /// More than so many are an old story.
        const MANY: u64 = 64;
        self.free.push(tray);
        (self.writing, self.since) = (self.writing - 1, time::now_ns());
        self.writes = (self.writes.0 + 1, self.writes.1 + ns);
        if self.writes.0 > MANY {
            self.writes = (MANY / 2, self.writes.1 / self.writes.0 * (MANY / 2));
        }
    }
}

#[cfg(test)]
mod tests;
