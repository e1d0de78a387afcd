//! Those who look on, each a listener of its own (observe/): they are started here, when the runtime is
//! initialised, if their settings ask for them.

pub(crate) mod counts;
pub(crate) mod exact;
pub(crate) mod monitor;
pub(crate) mod ompt;

use crate::icv::Globals;
use crate::say;
use crate::sys::env;

/// Starts the tools that the settings ask for; runs once, under the initialisation lock, before the first
/// region.
pub(crate) fn initialise(g: &Globals) {
    if env::secure() {
        return;
    }
    exact::start(g);
    counts::start(setting);
    monitor::start(setting);
    ompt::start();
}

/// What environment variable `name` says, one of `words`: its number; 0, with a complaint, if it says
/// something else.
fn setting(name: &str, words: &[&str]) -> usize {
    let Some(v) = env::get(name) else { return 0 };
    words.iter().position(|&w| w == v.trim()).unwrap_or_else(|| {
        say!("{name}={v} is not understood: accepted are {}; using the default", words.join(", "));
        0
    })
}
