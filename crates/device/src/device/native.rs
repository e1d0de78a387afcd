//! Runs the host's version of a target region: as the initial task of an initial team of its own.

use crate::icv::{Icvs, globals};
use crate::task::lightness::lighten;
use crate::team::activation::activate;
use crate::team::barrier_way::Way;
use crate::team::thread::{Thread, current};
use crate::team::{region, worker_pool};

/// Runs `call` as an initial task; the enclosing regions are not visible in it. `device` is the number of
/// the device that it runs for, with the ICVs of its initial task; `None` for the host.
pub fn run(call: (usize, usize), thread_limit: u32, device: Option<(u32, Icvs)>) {
    let thr: &'static Thread = current();
    let (member, task, league, held) = (thr.member(), Some(thr.task()), thr.league.get(), thr.held.get());
    let team = worker_pool::take_team(1);
    team.size.set(1);
    team.way.set(Way::of(1));
    team.level.set(0);
    team.active_level.set(0);
    team.primary.parent.set(None);
    let m = team.member(0);
    m.place.set(member.place.get());
    let mut icvs = device.map_or_else(|| globals().initial.get(), |d| d.1);
    icvs.default_device = thr.task().icvs.get().default_device;
    icvs.device = device.map_or(0, |d| d.0 as u8 + 1);
    if thread_limit > 0 {
        icvs.thread_limit = thread_limit;
    }
    region::take_part(thr, m, team.begin_region());
    m.implicit.begin_initial(thr, icvs);
    thr.enter(m);
    lighten(thr);
    thr.set_league((0, 1));
    activate(thr, call, (0, 0));
    thr.enter(member);
    thr.task.set(task);
    lighten(thr);
    thr.set_league(league);
    thr.held.set(held);
    team.size.set(0);
    worker_pool::give_back_team(team);
}
