//! Shared memory (MAP_SHARED) that only this process has.
//!
//! Writable memory that others have makes a checkpoint impossible: a rollback would change it under their
//! hands. Much of what could be shared is not: semaphores without a name (Python's multiprocessing),
//! anonymous memory (Python's `mmap`), memfd_create, temporary files, files that are written as arrays
//! (numpy's memmap). Whose it is, owners.rs asks. What has no name and no descriptor is saved like other
//! memory, and put back as new shared memory, which a child made since does not have. The rest is files:
//! their content is saved like that of all files which the program writes to (contents.rs), and they are
//! mapped anew when they are back (file_mappings.rs). Both are read whole at each checkpoint: what the kernel
//! tells of pages is about one mapping.

mod file_mappings;
mod owners;
#[cfg(test)]
mod tests;

use crate::contents::{self, Chosen};
use crate::image::Description;
use crate::resources::resource::{Back, Frozen, No, Resource};
use crate::sys::out;
use file_mappings::Unopened;
pub(crate) use owners::Owners;
pub use owners::note_fork;

/// Shared memory, and the content of files, which may be that.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) owners: Owners,
    unopened: Unopened,
    /// The files whose content is saved with the checkpoint being taken.
    pub(crate) chosen: Chosen,
}

impl Shared {
    /// What was to be copied is copied, or will not be.
    pub(crate) fn close(&mut self) {
        (self.unopened, self.chosen) = Default::default();
    }
}

impl Resource for Shared {
    fn save(&mut self, process: &Frozen, about: &mut Description) -> Result<(), No> {
        let files = &mut about.files;
        self.unopened = Unopened::of(&about.maps, files)?;
        let open = files.len();
        files.extend_from_slice(&self.unopened.0);
        self.chosen = contents::choose(files, out::place().file(), process.files);
        file_mappings::bind(&mut about.maps, files, &self.owners)?;
        about.unopened = files.split_off(open);
        Ok(())
    }

    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        file_mappings::put_back(about, to.store)
    }
}
