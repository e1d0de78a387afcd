//! The tuner goes back to checkpoints: what `promp tune --exact` compares executions by (work/tune/exact.rs).

use crate::ckpt::rewind_request;
use crate::icv::Globals;
use crate::icv::tuner_settings::Mode;
use crate::say;
use crate::sys::preserved_memory;
use crate::work::tune::exact::{self, Machine};

struct Checkpoints;

impl Machine for Checkpoints {
    fn point(&self) -> Result<u64, String> {
        rewind_request::point()
    }

    fn back(&self, point: u64) -> String {
        rewind_request::back(point)
    }
}

/// Offers it, if the settings ask for it.
pub(crate) fn start(g: &Globals) {
    if !g.promp.tune.exact || g.promp.tune.mode == Mode::Off {
        return;
    }
    // What stands against checkpoints as such has been said.
    let works = preserved_memory::on() && exact::start(&Checkpoints);
    if !works && g.promp.verbose >= 1 {
        say!(
            "PROMP_TUNE_EXACT=on needs checkpoints to go back to (promp tune --exact sees to them; else \
             PROMP_CKPT_DIR), and there are none: loops are searched from execution to execution"
        );
    }
}
