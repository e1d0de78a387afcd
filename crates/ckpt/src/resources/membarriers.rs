//! What the process has registered for with membarrier(2): a new one has to do it again, or its calls fail.
//! Linux tells what is registered since 6.3; before that nothing is saved.

use super::resource::{Back, Frozen, No, Resource};
use crate::image::Description;
use crate::sys;

const GET_REGISTRATIONS: u32 = 1 << 9;

/// The commands by which the process has registered, a bit each.
fn registered() -> u32 {
    // SAFETY: changes no memory.
    let r = unsafe { sys!(libc::SYS_membarrier, GET_REGISTRATIONS, 0, 0) };
    u32::try_from(r).unwrap_or(0)
}

/// What the process has registered for.
#[derive(Default)]
pub(crate) struct Membarriers;

impl Resource for Membarriers {
    fn save(&mut self, _: &Frozen, about: &mut Description) -> Result<(), No> {
        about.registered.registrations = registered();
        Ok(())
    }

    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        if !to.new_process {
            return Ok(());
        }
        let missing = about.registered.registrations & !registered();
        for command in (0..32).map(|bit| 1u32 << bit).filter(|c| missing & c != 0) {
            // SAFETY: changes no memory.
            let r = unsafe { sys!(libc::SYS_membarrier, command, 0, 0) };
            if r < 0 {
                return Err(format!(
                    "the program has registered for membarrier (command {command:#x}), which the system does \
                     not allow here: {}",
                    sys::why(r)
                ));
            }
        }
        Ok(())
    }
}
