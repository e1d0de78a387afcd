//! Teams: logical threads, the pool of workers, region start and end, barriers, places.

pub mod activation;
pub mod affinity_text;
pub mod alone;
pub(crate) mod barrier;
pub mod barrier_way;
pub(crate) mod bind;
#[cfg(test)]
pub(crate) mod cache_lines;
pub(crate) mod carrier;
pub(crate) mod cpu_spread;
pub(crate) mod cpu_yield;
pub(crate) mod cpus;
pub(crate) mod crew;
pub mod event_count;
pub mod hold;
pub mod init;
pub mod loop_nests;
pub mod meet;
pub mod member;
pub(crate) mod orders;
mod preparation;
pub mod promises;
pub mod recovery;
pub mod recovery_state;
pub mod region;
pub mod region_request;
pub mod registry;
mod saved_thread;
pub mod setup;
pub mod shrink;
#[allow(clippy::module_inception)]
pub mod team;
pub mod thread;
pub mod worker_pool;
