//! This crate's own tests have nobody above: no devices, no tools.

use crate::icv::Globals;
use promp_omp::Composition;

static RECOVERY_ALONE: Composition =
    Composition { runtime: &crate::runtime::Ours, recovery: &crate::for_teams::Ours, start };

promp_omp::composed!(RECOVERY_ALONE);

fn start(g: &'static Globals) {
    crate::sys::time::start();
    crate::initialise(g);
}
