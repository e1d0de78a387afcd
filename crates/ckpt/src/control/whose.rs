//! Whose the checkpoints are of a run that `promp run` has started (crates/image/src/run_record.rs): of the
//! process that was started, by its number, through all that it executes. The first of its descendants that
//! computes takes the directory where it does not compute itself; a next one does when that has ended by
//! itself. All others go on without checkpoints.

use crate::image::run_record::{self, Owner, Run, Started};
use crate::image::{self, Directory};
use crate::say;
use crate::sys::{env, syscall};
use promp_settings::internal::RUN;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What part this process has in the run.
#[derive(Debug)]
pub struct Whose {
    run: Run,
    /// The process that was started.
    first: u32,
}

impl Whose {
    /// The run's number.
    pub(crate) fn nonce(&self) -> &str {
        &self.run.nonce
    }

    /// None: `dir` is of no run that `promp run` has started and that this process belongs to.
    pub fn of(dir: &Path) -> Option<Self> {
        let value = env::get(RUN.name)?;
        let started = Started::parse(&value)?;
        let run = Run::read(dir).ok()?.filter(|r| r.nonce == started.nonce)?;
        Some(Self { run, first: started.pid })
    }

    /// Is it the process that was started?
    pub fn is_started(&self) -> bool {
        syscall::getpid() == self.first
    }

    /// May this process have the checkpoints? The other one that has, or had, them.
    pub fn may_take(&self, dir: &Path) -> Result<(), u32> {
        match self.owner(dir).filter(|_| !self.is_started()) {
            Some(o) if o.pid != syscall::getpid() && (o.started || !has_ended(dir)) => Err(o.pid),
            _ => Ok(()),
        }
    }

    fn owner(&self, dir: &Path) -> Option<Owner> {
        Owner::read(dir).ok()?.filter(|o| o.nonce == self.run.nonce)
    }

    /// How much this process says of its checkpoints (PROMP_VERBOSE): a descendant whose standard error is
    /// caught by the program that has started it says nothing.
    pub fn verbose(&self, asked: u32) -> u32 {
        if asked == 1 && !self.is_started() && !is_heard_with(self.first) { 0 } else { asked }
    }

    /// Notes that they are this process's; the directory is locked. The first descendant says so.
    pub fn note(&self, dir: &Path, program: &str, verbose: u32) -> Result<(), String> {
        let known = self.owner(dir).is_some();
        let (pid, started) = (syscall::getpid(), self.is_started());
        let owner = Owner::new(&self.run.nonce, pid, started, program);
        // Not `e` itself: libc's words for it are not the keeper's to ask for.
        owner.write(dir).map_err(|e| format!("{} cannot be written to: {}", dir.display(), e.kind()))?;
        if !started && verbose > u32::from(known) {
            say!("{}", owner.is_not_the_started(&self.run, dir, false));
        }
        Ok(())
    }
}

/// Does standard error go where that of process `pid` goes?
pub(crate) fn is_heard_with(pid: u32) -> bool {
    let of = |path: &str| fs::metadata(path).map(|m| (m.dev(), m.ino(), m.rdev())).ok();
    let own = of("/proc/self/fd/2");
    own.is_some() && own == of(&format!("/proc/{pid}/fd/2"))
}

/// Has the process ended by itself that had the checkpoints? Then nothing is lost with them.
fn has_ended(dir: &Path) -> bool {
    Directory::open(dir).is_ok_and(|d| d.finished())
}

/// Are the checkpoints of `dir` those of a descendant of what was started? Its end is not that of the run.
pub(crate) fn is_of_a_descendant(dir: &Path) -> bool {
    Owner::read(dir).is_ok_and(|o| o.is_some_and(|o| !o.started))
}

/// The checkpoints in `dir` are of no run that `promp run` has started.
pub(crate) fn of_no_run(dir: &Path) {
    // Where it cannot be opened, no store can be.
    let Ok(folder) = image::open_directory(dir) else { return };
    for name in [run_record::FILE, run_record::OWNER] {
        let _ = promp_files::remove_in(&folder, name.as_ref());
    }
}
