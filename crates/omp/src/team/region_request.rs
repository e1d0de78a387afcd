//! What a region is set up from, as far as it is not the thread's own (setup.rs).

use core::mem::offset_of;

/// What a region asks for, and what changes outside of its thread: compared at every start.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    /// The num_threads clause's value, 0 without one.
    pub(super) threads: u32,
    /// The proc_bind clause, as the ABI has it.
    pub(super) flags: u32,
    /// By how many threads teams are smaller, for those that have failed.
    pub(super) retired: u32,
    /// Which objects have tables of the compile side: whether private state is saved hangs on it.
    pub(super) tables: u32,
    /// How many workers there are: how long members of nested teams wait awake hangs on it.
    pub(super) workers: u32,
}

impl Asked {
    /// For the light way (entry/light/serial_region.rs).
    pub const THREADS: usize = offset_of!(Self, threads);
    /// See [`Asked::THREADS`].
    pub const FLAGS: usize = offset_of!(Self, flags);
    /// See [`Asked::THREADS`].
    pub const RETIRED: usize = offset_of!(Self, retired);
    /// See [`Asked::THREADS`].
    pub const TABLES: usize = offset_of!(Self, tables);
    /// See [`Asked::THREADS`].
    pub const WORKERS: usize = offset_of!(Self, workers);
}
