//! What checkpoints must know of the runtime whose threads they save, and what they ask it to do: all of it,
//! so that nothing else in this folder speaks of OpenMP. What they ask of a thread: logical_threads.rs.
//!
//! Who answers says so when the runtime is prepared ([`set`]; `recover/runtime.rs` does). It is asked when a
//! checkpoint is taken or gone back to, and at the beginning: in no call that a program makes often.

use crate::logical_threads::LogicalThread;
use crate::sys::environment_reader::Reader;
use crate::sys::signals::Handler;
use core::ptr::NonNull;
use std::sync::OnceLock;

/// What is read before all other settings.
pub struct General {
    /// Is anything to be survived at all (PROMP_FT)?
    pub ft: bool,
    /// PROMP_VERBOSE.
    pub verbose: u32,
}

/// What a rollback went back to.
pub struct WentBack {
    /// The checkpoint's number.
    pub generation: u64,
    /// The region in which it was taken.
    pub region: u64,
    /// Nanoseconds of work that were lost.
    pub lost_ns: u64,
    /// Is it to be said, as PROMP_VERBOSE has it?
    pub said: bool,
}

/// Who uses checkpoints. All of it may be called by the keeper, whose host has no identity of libc's.
pub trait Runtime: Sync {
    /// Reads them.
    fn general(&self, from: &mut Reader) -> General;

    /// The kept region is there: what the runtime has to know of rollbacks gets its place in it, always the
    /// same one. False if there is no memory.
    fn keep(&self) -> bool;

    /// The logical thread at `address`.
    ///
    /// # Safety
    /// [`crate::sys::tls::logical_thread`] says it, or said it before a checkpoint.
    unsafe fn logical(&self, address: NonNull<()>) -> &'static dyn LogicalThread;

    /// The ordinal of the outermost region, for who reads about the checkpoint.
    fn region(&self) -> u64;

    /// Default number of threads of a region, once it is known.
    fn threads(&self) -> Option<u32>;

    /// In a process that goes on from before the runtime was first used: `threads` are the default.
    fn begin_with(&self, threads: u32);

    /// The handler of crashes; it ends copies of memory that has gone (`sys::attempt`).
    fn crash_handler(&self) -> Handler;

    /// The handler of stops. It is installed when it is needed, and stays from then on: stops that are under
    /// way do not go back with the program.
    fn stop_handler(&self) -> Handler;

    /// The program's end is about to be recorded: failures behind it take the record back
    /// ([`crate::take_end_back`]). System calls only.
    fn end_is_recorded(&self);

    /// Does `f`, in the calling thread, and no failure that is injected strikes it meanwhile.
    fn undisturbed(&self, f: &mut dyn FnMut());

    /// The agent, the runtime's other host, looks up: it is to rest (`Keep::agent_rests`).
    fn ring_agent(&self);

    /// In a process that goes on from a checkpoint: there is an agent again, if there was one.
    fn agent_again(&self);

    /// Memory has been put back, the threads are about to go on: all that asked for it has been done.
    fn went_back(&self, to: &WentBack);
}

/// A look at one atomic, so that handlers may ask.
static OURS: OnceLock<&'static dyn Runtime> = OnceLock::new();

/// The runtime of this process is `ours`: said before anything else is asked of checkpoints.
pub fn set(ours: &'static dyn Runtime) {
    let _ = OURS.set(ours);
}

/// The one of this process.
pub(crate) fn runtime() -> &'static dyn Runtime {
    *OURS.get().expect("said before there are checkpoints")
}
