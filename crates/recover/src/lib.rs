//! Fault tolerance: what fails, how it is noticed, and the recovery ladder. See this crate's README.md for
//! the states and the order of events.

#![deny(unsafe_op_in_unsafe_fn)]

extern crate promp_ckpt as ckpt;
extern crate promp_proofs as proofs;
extern crate promp_sys as sys;
extern crate promp_undo as undo;
use promp_omp::{icv, observe, save, task, team, work};
use promp_sys::{callback, say, sys};

mod addition_visibility;
mod agent;
mod ending_signals;
pub mod failure_records;
pub mod for_teams;
mod host_deaths;
pub mod inject;
mod library_calls;
pub mod no_regions;
mod policy;
mod recover;
pub mod report;
mod resume;
mod rollback;
pub mod runtime;
mod settings;
pub mod site_arrival;
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
    host_deaths::start();
    ckpt::start(g.promp.ft, g.promp.verbose);
    if g.promp.ft {
        reach::begin();
        failure_records::start(g);
        let _ = stop::install(g.promp.takes_crashes);
        inject::start(g);
        site_arrival::start(g);
        verify::start(g);
        agent::start(g);
    } else if !faults.is_empty() && g.promp.verbose >= 1 {
        say!("PROMP_FAULT is ignored because PROMP_FT=off");
    }
}
