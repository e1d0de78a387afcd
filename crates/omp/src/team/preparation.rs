//! What a thread is prepared for: regions like the last one that it was in (setup.rs).

use super::member::Member;
use super::thread::Thread;
use crate::icv::Icvs;
use crate::task::lightness::SERIAL;

impl Thread {
    /// Something that regions are set up from has changed (setup.rs).
    #[inline]
    pub fn unprepare(&self) {
        self.prepared.set(None);
        self.alone_in.unprepare();
        self.light.set(self.light.get() & !SERIAL);
    }

    /// Replaces the current task's ICVs.
    pub fn set_icvs(&'static self, icvs: Icvs) {
        self.task().icvs.set(icvs);
        self.unprepare();
    }

    /// Another place in a league.
    pub fn set_league(&self, league: (u32, u32)) {
        self.league.set(league);
        self.unprepare();
    }

    /// Is it prepared for regions of setting-up `since` as member `m`?
    #[inline(always)]
    pub(crate) fn is_prepared(&self, m: &'static Member, since: u64) -> bool {
        self.prepared.get().is_some_and(|(of, s)| core::ptr::eq(of, m) && s == since)
    }
}
