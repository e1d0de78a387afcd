//! Teams: logical threads, the pool of workers, region start and end, barriers, places.

pub(crate) mod affinity_text;
pub(crate) mod alone;
pub(crate) mod aside;
pub(crate) mod barrier;
pub(crate) mod bind;
pub(crate) mod carrier;
pub(crate) mod crew;
pub(crate) mod event;
pub(crate) mod hold;
pub(crate) mod init;
#[cfg(test)]
pub(crate) mod lines;
pub(crate) mod meet;
pub(crate) mod member;
pub(crate) mod orders;
pub(crate) mod pool;
pub(crate) mod promises;
pub(crate) mod recovery;
pub(crate) mod region;
pub(crate) mod registry;
pub(crate) mod room;
mod saved_thread;
pub(crate) mod setup;
pub(crate) mod shrink;
#[allow(clippy::module_inception)]
pub(crate) mod team;
pub(crate) mod thread;
pub(crate) mod written;
