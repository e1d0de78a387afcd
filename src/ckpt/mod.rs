//! Checkpoints: rungs 2 (roll back in process) and 3 (restart after the process died) of the recovery
//! ladder. docs/checkpoints.md has the protocol and the reasons.
//!
//! The keeper's code must not call what uses the program's `malloc` (`opendir`, `realpath`): its lock may
//! be held by a frozen thread. Files are read and written by system calls that libc merely wraps,
//! directories by `sys::maps::names`.

pub mod again;
mod alarms;
pub mod anonymous;
pub mod apart;
pub mod asking;
pub mod attributes;
pub mod begin;
pub mod busy;
mod command_line;
pub mod contents;
pub mod cow;
pub mod crew;
mod directories;
pub mod ends;
pub mod executed;
pub mod file_locks;
pub mod files;
pub mod foresee;
pub mod free;
pub mod interval;
pub mod journal;
pub mod keep;
pub mod keeper;
pub mod layout;
mod lookout;
pub mod lost;
pub mod masks;
mod membarriers;
pub mod memory;
pub mod notified;
pub mod own_state;
pub mod pages;
pub mod pipes;
pub mod place;
pub mod process;
pub mod ranges;
pub mod requests;
pub mod restart;
pub mod rewind;
pub mod rights;
pub mod rollback;
pub mod round;
pub mod runtime;
pub mod seats;
pub mod settings;
pub mod shared;
pub mod slots;
pub mod staging;
pub mod store;
pub mod streams;
pub mod suspend;
mod system_v;
pub mod taken;
pub mod text;
pub mod timers;
pub mod tracker;
pub mod transition;
pub mod trials;
pub mod vdso;
pub mod wanted;
mod whose;
pub mod xsave;

use crate::sys::keep as region;
pub use begin::{after_fork, start, start_at_load};
use core::sync::atomic::AtomicU64;
pub use ends::program_ends;
pub use promp_image as image;
pub use rollback::{
    await_rollback, can_roll_back, epoch, none_because, note_parked, note_parked_host, roll_back,
    roll_back_ended, rollback_is_due,
};
pub use settings::Settings;
pub use shared::note_fork;
pub use taken::taken;
pub use transition::{
    transition_begins, transition_begins_from_anywhere, transition_ends, transition_is_over,
};
pub use wanted::{ask, at_load, first, potential};

/// The counters that outlive the process: [`image::state`]; the last: journal::broken, before it:
/// pipes::sent::WORDS.
pub fn state() -> &'static [AtomicU64; image::state::WORDS] {
    // SAFETY: mapped when checkpoints are on; callers know that.
    unsafe { &*(region::STATE as *const [AtomicU64; image::state::WORDS]) }
}
