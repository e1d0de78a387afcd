//! How many threads a region gets, where fewer conform: regions that the compiler made of serial loops
//! (`-ftree-parallelize-loops`, whose outlined functions have `._loopfn.` in their names), and with
//! PROMP_TUNE_THREADS=fewer those of tasks whose dyn-var is true.
//!
//! Only regions outside of others. A region is executed by all, by half, …, by one, in turn, and then by as
//! many as are best; one thread alone has a team of its own, so that the workers stay where they are. Such
//! regions are set up each time; but not those that one thread goes on to execute (team/setup.rs).

use super::site::{self, Key};
use crate::icv::tune::Threads;
use crate::icv::{Globals, globals};
use crate::sys::{maps, time};
use crate::team::team::Team;
use core::sync::atomic::{AtomicBool, Ordering::*};
use promp_model::Schedule;
use promp_model::search::{May, Search};
use promp_model::tuning::What;

/// Has the program regions that the compiler made?
static MADE: AtomicBool = AtomicBool::new(false);

/// What the names of their functions contain.
const MARK: &str = "._loopfn.";

/// Looks for them, by their names in the program's file; in stripped programs there are none to be found.
pub fn start(g: &Globals) {
    if g.promp.tune.threads != Threads::Keep {
        let file = std::fs::read("/proc/self/exe").unwrap_or_default();
        MADE.store(file.windows(MARK.len()).any(|w| w == MARK.as_bytes()), Relaxed);
    }
}

/// May there be regions to decide about, for a task with this dyn-var?
pub fn any(dynamic: bool) -> bool {
    MADE.load(Relaxed) || (dynamic && globals().promp.tune.threads == Threads::Fewer)
}

/// What a region gets.
pub struct Fed {
    /// So many threads.
    pub threads: u32,
    /// Where what is known of it is kept.
    pub site: Option<u16>,
    /// What [`ended`] is to be told.
    pub measured: Option<(u16, u64)>,
}

/// Does the region of this site go on being executed by one thread, without being measured this time?
pub fn stays_alone(site: u16) -> bool {
    site::by_index(site).stays_alone()
}

/// With how many threads to execute the region of outlined function `call`, which would get `n`.
#[cold]
pub fn threads(call: usize, n: u32, dynamic: bool) -> Fed {
    let key = Key { at: call, class: 0, threads: n, own: Schedule::BLOCKS, what: What::Region };
    let search = || {
        let made = || maps::function_name(call).is_some_and(|f| f.contains(MARK));
        if (dynamic && globals().promp.tune.threads == Threads::Fewer) || made() {
            Search::of_region(n)
        } else {
            Search::new(n, Schedule::BLOCKS, May { schedule: false, threads: false })
        }
    };
    let Some((index, site)) = site::find(key, search) else {
        return Fed { threads: n, site: None, measured: None };
    };
    let (choice, plan) = site.next(1);
    let threads = if choice.threads == 0 { n } else { choice.threads.min(n) };
    Fed { threads, site: Some(index), measured: plan.map(|_| (index, time::now_ns())) }
}

/// A measured region of `team` has ended.
#[cold]
pub fn ended(team: &'static Team) {
    if let Some((index, began)) = team.primary.measured.get() {
        team.primary.measured.set(None);
        let site = site::by_index(index);
        site.latest.store(time::now_ns().saturating_sub(began), Relaxed);
        site.conclude(1, false, team.size());
    }
}
