//! Those who look on, each a listener of its own (observe/): they are started here, when the runtime is
//! initialised, if their settings ask for them.

pub(crate) mod counts;
pub(crate) mod exact;
pub(crate) mod monitor;
pub(crate) mod ompt;

use crate::icv::Globals;
use crate::sys::{env, variables::reported};
use promp_settings::{EVENTS, MONITOR, Setting};

/// Starts the tools that the settings ask for; runs once, under the initialisation lock, before the first
/// region.
pub(crate) fn initialise(g: &Globals) {
    if env::secure() {
        return;
    }
    exact::start(g);
    counts::start(word(&EVENTS) == 1);
    monitor::start(word(&MONITOR));
    ompt::start();
}

/// The number of the word that `setting` says; of the default, with a complaint, if it says something else.
fn word(setting: &Setting) -> usize {
    reported(|from| from.word(setting))
}
