//! The teams construct on the host: a league of initial teams, one after another.

use crate::observe::event::Event;
use crate::save::{self, SaveKind};
use crate::stub;
use crate::team::activation::activate;
use crate::team::thread::{Thread, current};

/// Teams when nothing says how many (what libgomp uses).
const DEFAULT_TEAMS: u32 = 3;

fn limit(thr: &'static Thread, thread_limit: u32) {
    if thread_limit > 0 {
        let mut icvs = thr.task().icvs.get();
        icvs.thread_limit = thread_limit.min(i32::MAX as u32);
        thr.set_icvs(icvs);
    }
}

extern "C" fn teams_reg(func: usize, data: usize, num_teams: u32, thread_limit: u32, _flags: u32) {
    let thr = current();
    let task = thr.task();
    let (before, league) = (task.icvs.get(), thr.league.get());
    let limit_icv = super::omp::teams_thread_limit() as u32;
    limit(thr, if thread_limit > 0 { thread_limit } else { limit_icv });
    let n = match (num_teams, super::omp::num_teams() as u32) {
        (0, 0) => DEFAULT_TEAMS,
        (0, n) => n,
        (n, _) => n,
    };
    let inside = task.icvs.get();
    thr.tell(Event::LeagueBegin { teams: n, function: func });
    for i in 0..n {
        thr.set_league((i, n));
        thr.tell(Event::InitialBegin { number: i, teams: n });
        activate(thr, (func, data), (0, 0));
        thr.tell(Event::InitialEnd { number: i });
        thr.set_icvs(inside);
    }
    thr.tell(Event::LeagueEnd);
    thr.set_league(league);
    thr.set_icvs(before);
    save::point(thr, SaveKind::After(0));
}

extern "C" fn teams(_num_teams: u32, thread_limit: u32) {
    let thr = current();
    limit(thr, thread_limit);
    save::point(thr, SaveKind::After(0));
}

/// True while there is another team to execute.
extern "C" fn teams4(low: u32, _high: u32, thread_limit: u32, first: bool) -> bool {
    let thr = current();
    let (i, n) = thr.league.get();
    let more = first || i + 1 < n;
    if first {
        // OMP_TEAMS_THREAD_LIMIT_DEV; as with libgomp the host's is for the host's own leagues alone.
        let of_device = if thread_limit == 0 && thr.task().icvs.get().device != 0 {
            super::omp::teams_thread_limit() as u32
        } else {
            0
        };
        limit(thr, thread_limit.max(of_device));
        thr.set_league((0, low.max(1)));
    } else if more {
        thr.set_league((i + 1, n));
    }
    save::point(thr, SaveKind::After(more as usize));
    more
}

stub! {
    GOMP_teams_reg => teams_reg;
    GOMP_teams => teams;
    GOMP_teams4 => teams4;
}
