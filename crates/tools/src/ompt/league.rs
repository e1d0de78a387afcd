//! Leagues: the `teams` construct on the host, as the tool's callbacks have it. It is a region whose tasks
//! are initial ones, one a team. A thread is in one league at most, so it has room for one.

use super::abi::{call, parallel, scope, state, task};
use super::tell::Me;

const LEAGUE: u32 = parallel::INVOKER_RUNTIME | parallel::LEAGUE;

impl Me {
    pub(super) fn league_begins(self, teams: u32) {
        let Some(t) = self.task() else { return };
        let league = &self.info.league;
        t.note_frames(self.thr);
        league.data.clear();
        league.size.set(teams);
        league.outer.set(t.team.get());
        league.encountered.set(Some(t));
        let site = self.thr.call_place();
        league.site.set(site);
        self.info.enter(state::OVERHEAD);
        self.calls(|_| {
            call::parallel_begin(t.data.ptr(), t.frame(), league.data.ptr(), teams, LEAGUE, site);
        });
    }

    pub(super) fn initial_begins(self, number: u32, teams: u32) {
        let (league, t) = (&self.info.league, &self.info.initial);
        t.renew(task::INITIAL, league.encountered.get());
        t.team.set(Some(league));
        t.begin(self.thr, self.info);
        t.num.set(number);
        self.info.enter(state::WORK_SERIAL);
        self.calls(|_| {
            let (region, own) = (league.data.ptr(), t.data.ptr());
            call::implicit_task(scope::BEGIN, region, own, teams, number, task::INITIAL);
        });
    }

    pub(super) fn initial_ends(self, number: u32) {
        let Some(t) = self.task() else { return };
        // As at the end of the first one: the specification has null for the region, Archer wants to have it.
        let region = t.parallel();
        self.calls(|_| call::implicit_task(scope::END, region, t.data.ptr(), 0, number, task::INITIAL));
        self.info.leave();
        self.info.current.set(t.outer.get());
    }

    pub(super) fn league_ends(self) {
        let Some(t) = self.task() else { return };
        self.info.leave();
        let league = self.info.league.data.ptr();
        self.calls(|site| call::parallel_end(league, t.data.ptr(), LEAGUE, site));
        t.leaves_runtime();
    }
}
