//! How many threads a region gets, where fewer conform: regions that the compiler made of serial loops
//! (`-ftree-parallelize-loops`, whose outlined functions have `._loopfn.` in their names), and with
//! PROMP_TUNE_THREADS=fewer those of tasks whose dyn-var is true.
//!
//! Only regions outside of others. A region is executed by all, by half, …, by one, in turn, and then by as
//! many as are best; one thread alone has a team of its own, so that the workers stay where they are. Such
//! regions are set up each time; but not those that one thread goes on to execute (team/setup.rs).

use super::site_table::{self, Key};
use crate::icv::tuner_settings::Threads;
use crate::icv::{Globals, globals};
use crate::sys::{maps, time};
use crate::team::team::Team;
use core::sync::atomic::{AtomicBool, Ordering::*};
use promp_model::Schedule;
use promp_model::search::{May, Search};
use promp_model::tuning_file::What;

/// Has the program regions that the compiler made?
static MADE: AtomicBool = AtomicBool::new(false);

/// What the names of their functions contain.
const MARK: &str = "._loopfn.";

/// Looks for them, by their names in the program's file; in stripped programs there are none to be found.
pub(crate) fn start(g: &Globals) {
    if g.promp.tune.threads != Threads::Keep {
        let file = std::fs::read("/proc/self/exe").unwrap_or_default();
        MADE.store(file.windows(MARK.len()).any(|w| w == MARK.as_bytes()), Relaxed);
    }
}

/// May there be regions to decide about, for a task with this dyn-var?
pub(crate) fn any(dynamic: bool) -> bool {
    MADE.load(Relaxed) || (dynamic && globals().promp.tune.threads == Threads::Fewer)
}

/// What a region gets.
pub(crate) struct Fed {
    /// So many threads.
    pub threads: u32,
    /// Where what is known of it is kept.
    pub site: Option<u16>,
    /// What [`ended`] is to be told.
    pub measured: Option<(u16, u64)>,
    /// The compiler has made it of serial code: it does not ask for its team.
    pub made: bool,
}

/// How many executions of the region of this site come before the next one that is to be measured, if one
/// thread goes on to execute it; 0: none, or not by one.
pub(crate) fn unmeasured(site: u16) -> u32 {
    site_table::by_index(site).unmeasured_alone()
}

/// With how many threads to execute the region of outlined function `call`, which would get `n`. `due`: it
/// is to be measured.
#[cold]
pub(crate) fn threads(call: usize, n: u32, dynamic: bool, due: bool) -> Fed {
    let key = Key { at: call, class: 0, threads: n, own: Schedule::BLOCKS, what: What::Region };
    let may_be_fewer = dynamic && globals().promp.tune.threads == Threads::Fewer;
    let search = || {
        if may_be_fewer || is_made(call) {
            Search::of_region(n)
        } else {
            Search::new(n, Schedule::BLOCKS, May { schedule: false, threads: false })
        }
    };
    let Some((index, site)) = site_table::find(key, search) else {
        return Fed { threads: n, site: None, measured: None, made: false };
    };
    let (choice, plan) = site.next(1, due);
    let threads = if choice.threads == 0 { n } else { choice.threads.min(n) };
    // Without dyn-var only those that are made may have fewer.
    let made = threads < n && (!may_be_fewer || is_made(call));
    Fed { threads, site: Some(index), measured: plan.map(|_| (index, time::now_ns())), made }
}

fn is_made(call: usize) -> bool {
    MADE.load(Relaxed) && maps::function_name(call).is_some_and(|f| f.contains(MARK))
}

/// A region of `team` has ended, which may have been measured.
#[cold]
pub(crate) fn ended_by(team: &'static Team) {
    if let Some(measured) = team.primary.measured.get() {
        team.primary.measured.set(None);
        ended(measured, team.size());
    }
}

/// A measured region has ended, which `n` threads have executed.
#[cold]
pub(crate) fn ended((index, began): (u16, u64), n: u32) {
    let site = site_table::by_index(index);
    site.latest.store(time::now_ns().saturating_sub(began), Relaxed);
    site.conclude(1, false, n);
}
