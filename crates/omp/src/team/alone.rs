//! Regions that one thread goes on to execute though more could, since the tuner has found that to be best:
//! what a thread remembers of them, so that most of their executions ask nobody.
//!
//! There are two kinds. Those that the compiler has made of serial loops are executed *plainly*, as the
//! serial code that they were: nothing in them asks for a team. That is done where nothing would be saved or
//! told of them (`setup::is_serial_again`). The others have a team of the thread alone.
//!
//! Between two executions that are measured lie as many as the search says; only these two look at clocks.
//! The plain ones between them do not come here at all: entry/light/serial_region.rs.

use super::region_request::Asked;
use crate::sys::own::Own;
use crate::task::Task;
use crate::upward::unmeasured;

/// How many regions of a kind are remembered.
const PLACES: usize = 8;

/// A region.
#[derive(Default)]
struct Region {
    /// Its function.
    call: Own<usize>,
    /// Where the tuner keeps what it knows of it.
    site: Own<u16>,
    /// So many executions more are not measured …
    left: Own<u32>,
    /// … and then one is.
    due: Own<bool>,
}

/// The regions of a kind. All of it is the thread's own.
#[derive(Default)]
struct Regions([Region; PLACES]);

/// What a thread remembers.
#[derive(Default)]
pub struct Alone {
    /// What the thread's team alone was set up from, and the number of that setting-up.
    in_team: Own<Option<(Asked, u64)>>,
    teams: Regions,
    /// What regions are executed plainly for: what they ask for, and the task that encounters them; none:
    /// none are.
    asked: Own<Asked>,
    task: Own<Option<&'static Task>>,
    plain: Regions,
}

/// What the light way into such regions looks at (entry/light/serial_region.rs): where it is in an [`Alone`],
/// and in a place of its regions.
pub mod at {
    use super::{Alone, PLACES, Region};
    use core::mem::offset_of;

    /// What the regions ask for.
    pub const ASKED: usize = offset_of!(Alone, asked);
    /// The task.
    pub const TASK: usize = offset_of!(Alone, task);
    /// The places. One lies so far from the first as these bits of its function's address say.
    pub const PLAIN: usize = offset_of!(Alone, plain);
    /// See [`PLAIN`].
    pub const BITS: usize = (PLACES - 1) << 4;
    const _: () = assert!(size_of::<Region>() == 16 && PLACES.is_power_of_two());
    /// In a place: the function.
    pub const CALL: usize = offset_of!(Region, call);
    /// In a place: so many executions are not measured.
    pub const LEFT: usize = offset_of!(Region, left);
}

impl Regions {
    #[inline(always)]
    fn place_of(&self, call: usize) -> &Region {
        &self.0[(call >> 4) % PLACES]
    }

    /// Does region `call` go on being executed by one thread, and is it not to be measured this time?
    #[inline(always)]
    fn goes_on(&self, call: usize) -> bool {
        let r = self.place_of(call);
        if r.call.get() != call {
            return false;
        }
        match r.left.get() {
            0 => r.asks(),
            n => {
                r.left.set(n - 1);
                true
            }
        }
    }

    fn note(&self, call: usize, site: u16) {
        let r = self.place_of(call);
        r.call.set(call);
        r.site.set(site);
        r.left.set(0);
        r.due.set(false);
    }

    /// Is an execution of `call` to be measured, since so many were not?
    fn is_due(&self, call: usize) -> bool {
        let r = self.place_of(call);
        r.call.get() == call && r.due.get()
    }

    fn forget(&self) {
        self.0.iter().for_each(|r| r.call.set(0));
    }
}

impl Region {
    #[cold]
    #[inline(never)]
    fn asks(&self) -> bool {
        let unmeasured = if self.due.get() { 0 } else { unmeasured(self.site.get()) };
        if unmeasured == 0 {
            return false;
        }
        self.due.set(true);
        self.left.set(unmeasured - 1);
        true
    }
}

impl Alone {
    /// Does the region `call`, of this task, go on being executed plainly?
    #[inline(always)]
    pub(crate) fn is_plain(&self, call: usize, asked: Asked, is_in: impl Fn(&'static Task) -> bool) -> bool {
        match self.task.get() {
            Some(task) => self.asked.get() == asked && is_in(task) && self.plain.goes_on(call),
            None => false,
        }
    }

    /// Does it go on being executed by the team of the thread alone, set up as number `since`?
    #[inline(always)]
    pub(crate) fn is_in_team(&self, call: usize, asked: Asked, since: u64) -> bool {
        self.in_team.get() == Some((asked, since)) && self.teams.goes_on(call)
    }

    /// Are there regions that are executed plainly?
    pub(crate) fn has_plain(&self) -> bool {
        self.task.get().is_some()
    }

    /// A region is executed plainly.
    pub(crate) fn note_plain(&self, call: usize, site: u16, asked: Asked, task: &'static Task) {
        if self.asked.get() != asked || !self.task.get().is_some_and(|t| core::ptr::eq(t, task)) {
            self.plain.forget();
            self.asked.set(asked);
            self.task.set(Some(task));
        }
        self.plain.note(call, site);
    }

    /// A region is executed by the team alone, which was set up as number `since`; `again`: and can be again.
    pub(crate) fn note_team(&self, call: usize, site: u16, asked: Asked, since: u64, again: bool) {
        if !matches!(self.in_team.get(), Some((known, _)) if known == asked) {
            // What is known is of other teams.
            self.teams.forget();
        }
        self.teams.note(call, site);
        self.in_team.set(again.then_some((asked, since)));
    }

    /// Were so many executions of `call` not measured that this one is to be?
    pub(crate) fn is_due(&self, call: usize) -> bool {
        self.plain.is_due(call) || self.teams.is_due(call)
    }

    /// Something that regions are set up from has changed.
    #[inline]
    pub(crate) fn unprepare(&self) {
        self.in_team.set(None);
        self.task.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_found_by_its_function_until_something_changes() {
        let a = Alone::default();
        a.note_team(0x40, 7, Asked::default(), 3, true);
        // A site that would be asked is not there: what is remembered answers.
        a.teams.place_of(0x40).left.set(2);
        let other = 0x40 + 16 * PLACES;
        for (call, since, want) in
            [(other, 3, false), (0x40, 4, false), (0x40, 3, true), (0x50, 3, false), (0x40, 3, true)]
        {
            assert_eq!(a.is_in_team(call, Asked::default(), since), want, "{call:#x} {since}");
        }
        assert_eq!(a.teams.place_of(0x40).left.get(), 0, "both were counted, and nothing else");
        a.note_team(0x40, 7, Asked::default(), 3, true);
        a.teams.place_of(0x40).left.set(2);
        a.unprepare();
        assert!(!a.is_in_team(0x40, Asked::default(), 3));
    }
}
