//! What the kernel keeps of the process, its threads and its mappings beside memory, files and signals, and a
//! new process would have from whoever made it. Everything of that kind is a row of one table (tests.rs),
//! which docs/internals/attributes.md shows: how it is read, and what becomes of it in a rollback and in a
//! restart.
//!
//! What a process was started with belongs to its surroundings: where it is restarted it may have been given
//! other CPUs or another nice value. So it is saved only where it differs from what the process began with.

pub(crate) mod memory_advice;
pub(crate) mod resource_limits;
#[cfg(test)]
mod tests;
mod thread_settings;
pub(crate) mod thread_values;
pub(crate) mod values;

pub(crate) use thread_settings::{changes, of, put_back};

use crate::image::{Description, Rights, Scheduling};
use crate::own_state::{self, Own};
use crate::sys::cpu_limit::Resource;
use crate::sys::lock::Locked;
use crate::sys::syscall::{self, CpuSet};
use crate::sys::{initial_affinity, rights};

/// What the process began with. No memory of its own: it outlives a restart ([`Surroundings`]).
struct Began {
    scheduling: Scheduling,
    /// By resource.
    limits: [Resource; resource_limits::COUNT],
    io_priority: u32,
    /// By [`values::ALL`].
    values: [Option<u64>; values::ALL.len()],
    own: Option<Own>,
    /// Of system calls: their kind, and how many.
    filters: (u32, u32),
}

impl Began {
    const NOTHING: Self = Self {
        scheduling: Scheduling { policy: 0, nice: 0, priority: 0, flags: 0, times: [0; 3] },
        limits: resource_limits::NONE,
        io_priority: 0,
        values: [None; values::ALL.len()],
        own: None,
        filters: (0, 0),
    };
}

static BEGAN: Locked<Began> = Locked::new(Began::NOTHING);

/// The process begins: before the program has done anything.
pub(crate) fn begin() {
    let began = Began {
        scheduling: thread_settings::scheduling(0).unwrap_or_default(),
        limits: resource_limits::now(),
        io_priority: thread_settings::io_priority(0),
        values: values::now(),
        own: Some(Own::of_caller()),
        filters: rights::of(syscall::gettid()).map_or((0, 0), |r| r.filters),
    };
    BEGAN.with(|b| *b = began);
}

/// What the threads have got that no process can have which is begun as this one was.
pub(crate) fn only_here(about: &Description) -> Option<String> {
    let began = BEGAN.with(|b| b.filters);
    let is_more = |r: &Rights| own_state::has_more_filters(r, began);
    let mut threads = about.contexts.iter().map(|c| &c.attributes);
    let any = threads.any(|a| a.rights.as_ref().is_some_and(is_more));
    any.then(|| "a thread has a filter of system calls (seccomp), which cannot be put back".into())
}

/// What a process was started with, kept aside while it gets the memory of the one that it goes on as.
pub(crate) struct Surroundings(Began, Option<CpuSet>);

impl Surroundings {
    /// This process'.
    pub(crate) fn take() -> Self {
        let began = BEGAN.with(|b| core::mem::replace(b, Began::NOTHING));
        Self(began, initial_affinity::at_load().cloned())
    }

    /// They are this process' still, whose memory is the other one's now and which has no threads yet.
    pub(crate) fn put_back(self) {
        BEGAN.with(|b| *b = self.0);
        // SAFETY: by the promise.
        unsafe { initial_affinity::renew(self.1) };
    }
}
