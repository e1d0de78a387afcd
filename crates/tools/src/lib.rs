//! Those who look on, each a listener of its own (observe/): they are started here, when the runtime is
//! initialised, if their settings ask for them.

#![deny(unsafe_op_in_unsafe_fn)]

extern crate promp_ckpt as ckpt;
extern crate promp_recover as recover;
extern crate promp_sys as sys;
use promp_device::device;
use promp_omp::{icv, observe, team, work};
use promp_sys::{say, sys};

mod counts;
mod monitor;
pub mod ompt;
#[cfg(test)]
mod tests;
mod tuner_checkpoints;

use crate::icv::Globals;
use crate::sys::{env, environment_reader::reported};
use promp_settings::{EVENTS, MONITOR};

/// Starts the tools that the settings ask for; runs once, under the initialisation lock, before the first
/// region.
pub fn initialise(g: &Globals) {
    if env::secure() {
        return;
    }
    tuner_checkpoints::start(g);
    counts::start(reported(|from| from.word(&EVENTS)) == 1);
    monitor::start(reported(|from| from.word(&MONITOR)));
    ompt::start();
}
