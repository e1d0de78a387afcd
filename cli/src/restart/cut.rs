//! A script whose steps are cut (`promp run --steps`), because somebody has asked the run, or one of them, to
//! end with a checkpoint: what comes behind a step must not be executed then, so the script is ended, too.
//! It gets the signal, and time for it when the last step has its checkpoint; a step that was cut ends
//! only when the script has (cli/src/steps/front.rs).

use super::orphans::kill_all;
use promp_image::run_record::Run;
use std::path::Path;
use std::time::{Duration, Instant};

/// The value (sigqueue(3)) with which a step says that it was cut.
const SAID: usize = 0x7072_6f6e;
/// So long a script may take that handles the signal.
const GRACE: Duration = Duration::from_secs(5);

/// Tells process `front` that the step of the calling process was cut.
pub(crate) fn tell(front: u32) {
    let value = libc::sigval { sival_ptr: core::ptr::without_provenance_mut(SAID) };
    // SAFETY: plain call.
    unsafe { libc::sigqueue(front as i32, libc::SIGTERM, value) };
}

/// Has a step sent this signal, to tell that?
pub(super) fn is_told(about: &libc::siginfo_t) -> bool {
    // SAFETY: with this code there is a value.
    about.si_code == libc::SI_QUEUE && unsafe { about.si_value() }.sival_ptr.addr() == SAID
}

/// The script's end.
#[derive(Default)]
pub(super) struct Cut {
    /// Since when no step has been left.
    since: Option<Instant>,
}

impl Cut {
    /// Looks from time to time. `left`: there are steps that write their checkpoints.
    pub(super) fn look(&mut self, left: bool, dir: Option<&Path>) {
        if left {
            return;
        }
        let late = self.since.get_or_insert_with(Instant::now).elapsed() > GRACE;
        if late && let Some(Ok(Some(run))) = dir.map(Run::read) {
            kill_all(&run.nonce);
        }
    }
}
