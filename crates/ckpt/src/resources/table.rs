//! The kinds of process state that a checkpoint saves and a rollback puts back: a row each, in the order in
//! which they are put back.

use super::resource::{Back, Frozen, No, Resource};
use crate::image::Description;

macro_rules! table {
    ($($row:ident: $kind:ty,)*) => {
        /// What the keeper knows of each kind.
        #[derive(Default)]
        pub(crate) struct Resources {
            $(pub(crate) $row: $kind,)*
        }

        impl Resources {
            fn all(&mut self) -> impl Iterator<Item = &mut dyn Resource> {
                [$(&mut self.$row as &mut dyn Resource),*].into_iter()
            }
        }
    };
}

table! {
    cpu_account: super::cpu_account::CpuAccount,
    // Files get their names back before any is opened.
    names: super::journal::undo::Names,
    process: super::process::Process,
    membarriers: super::membarriers::Membarriers,
    apart: super::irreversible_calls::Apart,
    children: super::children::Children,
    command_line: super::command_line::CommandLine,
    semaphore_sets: super::semaphore_sets::SemaphoreSets,
    files: super::files::Files,
    // Memory that is a file's, when that is open.
    shared: crate::shared::Shared,
    // What was said of memory, when all of it is there.
    advice: super::attributes::memory_advice::Advice,
    streams: super::streams::Streams,
    positions: super::pipes::positions::Positions,
    dispositions: super::dispositions::Dispositions,
    // These send signals.
    timers: super::timers::Timers,
    alarms: super::alarms::Alarms,
    // These forbid what the others need; the limit on CPU time counts what was used.
    limits: super::attributes::resource_limits::Limits,
    values: super::attributes::values::Values,
}

impl Resources {
    /// All kinds look.
    pub(crate) fn look(&mut self, process: &Frozen, about: &mut Description) -> Result<(), No> {
        self.all().try_for_each(|kind| kind.look(process, about))
    }

    /// Why there can be no checkpoint now, nor a way back that leaves nothing behind.
    pub(crate) fn obstacle(&mut self) -> Option<String> {
        self.all().find_map(|kind| kind.obstacle())
    }

    /// All kinds are saved.
    pub(crate) fn save(&mut self, process: &Frozen, about: &mut Description) -> Result<(), No> {
        self.all().try_for_each(|kind| kind.save(process, about))
    }

    /// The checkpoint is whole.
    pub(crate) fn whole(&mut self, about: &Description) {
        self.all().for_each(|kind| kind.whole(about));
    }

    /// Memory is about to be put back.
    pub(crate) fn leave(&mut self) {
        self.all().for_each(|kind| kind.leave());
    }

    /// All kinds are what they were.
    pub(crate) fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        self.all().try_for_each(|kind| kind.put_back(to, about))
    }

    /// The threads are about to go on. Returns what could not be made what it was.
    pub(crate) fn resume(&mut self, new_process: bool, about: &Description) -> Result<Vec<String>, String> {
        let left: Result<Vec<_>, _> = self.all().map(|kind| kind.resume(new_process, about)).collect();
        Ok(left?.concat())
    }
}
