//! Checkpoints: rungs 2 (roll back in process) and 3 (restart after the process died) of the recovery
//! ladder. docs/internals/checkpoints.md has the protocol and the reasons.
//!
//! The keeper's code must not call what uses the program's `malloc` (`opendir`, `realpath`): its lock may
//! be held by a frozen thread. Files are read and written by system calls that libc merely wraps,
//! directories by `sys::maps::names`.

#![deny(unsafe_op_in_unsafe_fn)]

extern crate promp_sys as sys;
use sys::{say, sys};

mod control;
mod freeze;
mod interpose;
mod keeper;
mod memory;
mod resources;
pub mod restart;
pub mod runtime;

use crate::sys::keep as region;
pub use control::begin::{after_fork, at_load, start, start_at_load};
pub use control::ends::take_back as take_end_back;
pub use control::exits::program_ends;
pub use control::rollback::{
    await_rollback, can_roll_back, epoch, none_because, note_parked, note_parked_host, roll_back,
    roll_back_ended, rollback_is_due,
};
pub use control::settings::Settings;
pub use control::taken::taken;
pub use control::transition::{
    transition_begins, transition_begins_from_anywhere, transition_ends, transition_is_over,
};
pub use control::wanted::{ask, first, potential};
pub use control::{
    asking, dead_memory_claims, keep, logical_threads, place, places, settings, taken, trials,
};
use control::{begin, ends, exits, own_hosts, requests, rollback, round, text, transition, wanted};
use control::{lookout, steps, whose};
use core::sync::atomic::AtomicU64;
use freeze::busy;
pub use freeze::{again, seats};
use interpose::{executed, masks, suspend};
pub use interpose::{lost, rights};
pub use memory::rewind;
pub use memory::shared::note_fork;
use memory::{anonymous, cow, crew, shared, staging, tracker};
pub use promp_foresee as foresee;
pub use promp_image as image;
use promp_store::{self as store, pages, slots};
use resources::{
    apart, attributes, children, command_line, contents, files, journal, notified, open_descriptors,
    own_state, pipes, semaphore_sets, step_files, streams, system_v,
};
pub use resources::{process, timers};
use restart::{vdso, xsave};
use sys::ranges;

/// The counters that outlive the process: [`image::state`]; the last: journal::broken, before it:
/// pipes::sent::WORDS.
pub fn state() -> &'static [AtomicU64; image::state::WORDS] {
    // SAFETY: mapped when checkpoints are on; callers know that.
    unsafe { &*(region::STATE as *const [AtomicU64; image::state::WORDS]) }
}
