//! The CPU time of the process, and of its children: in a new process the program's clocks go on.

use super::resource::{Back, Frozen, No, Resource};
use crate::image::Description;
use crate::sys::cpu_time::{self, Used};

/// That.
#[derive(Default)]
pub(crate) struct CpuAccount;

impl Resource for CpuAccount {
    fn save(&mut self, _: &Frozen, about: &mut Description) -> Result<(), No> {
        about.used = cpu_time::of_process().map(|u| [u.ns, u.user, u.system]);
        Ok(())
    }

    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        if to.new_process {
            cpu_time::process_goes_on(about.used.map(|[ns, user, system]| Used { ns, user, system }));
        }
        Ok(())
    }
}
