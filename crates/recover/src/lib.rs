//! Fault tolerance: what fails, how it is noticed, and the recovery ladder. See this crate's README.md for
//! the states and the order of events.

#![deny(unsafe_op_in_unsafe_fn)]

extern crate promp_ckpt as ckpt;
extern crate promp_proofs as proofs;
extern crate promp_sys as sys;
extern crate promp_undo as undo;
use promp_omp::{icv, observe, save, task, team, work};
use promp_sys::{callback, say, sys};

mod added;
mod agent;
mod crash_signals;
mod ended;
pub mod for_teams;
pub mod inject;
mod library;
pub mod no_regions;
pub mod place;
mod policy;
pub mod record;
mod recover;
pub mod report;
mod resume;
mod rollback;
pub mod runtime;
mod settings;
pub mod stop;
#[cfg(test)]
mod tests;
mod thread_state;
pub mod unmade;
pub mod verify;
mod visits;
mod watchdog;

use crate::icv::Globals;
use crate::sys::reach;
pub use promp_settings::spec;

/// Prepares what the settings ask for; runs once, under the initialisation lock.
pub fn initialise(g: &'static Globals) {
    // The report asks for them.
    let faults = &settings::begin().faults;
    report::start(g);
    ended::start();
    ckpt::start(g.promp.ft, g.promp.verbose);
    if g.promp.ft {
        reach::begin();
        record::start(g);
        let _ = stop::install(g.promp.takes_crashes);
        inject::start(g);
        place::start(g);
        verify::start(g);
        agent::start(g);
    } else if !faults.is_empty() && g.promp.verbose >= 1 {
        say!("PROMP_FAULT is ignored because PROMP_FT=off");
    }
}
