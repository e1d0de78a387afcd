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

use crate::sys::preserved_memory as region;
pub use control::begin::{after_fork, at_load, start, start_at_load};
pub use control::ends::{others_end_it, take_back as take_end_back};
pub use control::exits::program_ends;
pub use control::program_requests::{ask, first, potential};
pub use control::rollback_request::{
    await_rollback, can_roll_back, epoch, none_because, note_parked, note_parked_host, roll_back,
    roll_back_ended, rollback_is_due,
};
pub use control::settings::Settings;
pub use control::taken::taken;
pub use control::transition::{
    transition_begins, transition_begins_from_anywhere, transition_ends, transition_is_over,
};
use control::{
    begin, ends, exits, own_hosts, program_requests, requests, rollback_request, round, transition,
};
pub use control::{
    checkpoint_site, dead_memory_claims, keep, logical_threads, request_protocol, rollback_limits, settings,
    site_choice, taken,
};
use control::{lookout, steps, whose};
use core::sync::atomic::AtomicU64;
use freeze::busy;
pub use freeze::{seats, syscall_restart};
pub use interpose::{credentials, lost};
use interpose::{exec, masks, suspend};
pub use memory::rewind_request;
pub use memory::shared::note_fork;
use memory::{anonymous, cow, keeper_crew, shared, staging, tracker};
pub use promp_foresee as foresee;
pub use promp_image as image;
use promp_store::{self as store, pages, slots};
use resources::{
    attributes, children, command_line, contents, files, irreversible_calls, journal, open_descriptors,
    own_state, pipes, semaphore_sets, sigev_thread, step_files, streams, system_v,
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
