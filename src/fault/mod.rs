//! Fault tolerance: what fails, how it is noticed, and the recovery ladder. See README.md beside this file
//! for the states and the order of events.

pub(crate) mod added;
pub(crate) mod agent;
pub(crate) mod ended;
pub(crate) mod for_teams;
pub(crate) mod inject;
pub(crate) mod library;
pub(crate) mod no_regions;
pub(crate) mod place;
pub(crate) mod policy;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod rollback;
pub(crate) mod runtime;
pub(crate) mod settings;
pub(crate) mod stop;
pub(crate) mod thread_state;
pub(crate) mod unmade;
pub(crate) mod verify;
pub(crate) mod visits;
pub(crate) mod watchdog;

use crate::ckpt;
use crate::icv::Globals;
use crate::sys::reach;
pub(crate) use promp_settings::spec;

/// Prepares what the settings ask for; runs once, under the initialisation lock.
pub(crate) fn initialise(g: &'static Globals) {
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
        crate::say!("PROMP_FAULT is ignored because PROMP_FT=off");
    }
}
