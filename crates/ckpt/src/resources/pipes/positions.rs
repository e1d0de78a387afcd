//! Where the program is in the pipes that it was started with.

use super::sent;
use crate::image::Description;
use crate::keep;
use crate::resources::resource::{Back, Frozen, No, Resource};

/// Input and output.
#[derive(Default)]
pub(crate) struct Positions;

impl Resource for Positions {
    fn save(&mut self, _: &Frozen, about: &mut Description) -> Result<(), No> {
        about.sent = keep::get().sent.positions();
        about.received = keep::get().received.positions();
        about.boot = sent::boot();
        Ok(())
    }

    fn whole(&mut self, about: &Description) {
        keep::get().sent.whole(&about.sent);
        keep::get().received.whole(&about.received);
    }

    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        if to.new_process {
            // It has been put where it was.
            about.sent = keep::get().sent.positions();
        } else {
            keep::get().sent.go_back(&about.sent);
            keep::get().received.go_back(&about.received);
        }
        Ok(())
    }
}
