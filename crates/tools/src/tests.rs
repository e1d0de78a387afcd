//! This crate's own tests have no program above them.

use crate::icv::Globals;
use crate::recover::{for_teams, initialise, runtime};
use promp_omp::Composition;

static WITHOUT_ENTRIES: Composition =
    Composition { runtime: &runtime::Ours, recovery: &for_teams::Ours, start };

promp_omp::composed!(WITHOUT_ENTRIES);

fn start(g: &'static Globals) {
    crate::sys::time::start();
    initialise(g);
    crate::initialise(g);
}
