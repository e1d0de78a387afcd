//! Teams: logical threads, the pool of workers, region start and end, barriers, places.

pub mod alone;
pub mod aside;
pub mod barrier;
pub mod bind;
pub mod crew;
pub mod event;
pub mod init;
#[cfg(test)]
pub mod lines;
pub mod meet;
pub mod member;
pub mod orders;
pub mod pool;
pub mod region;
pub mod registry;
pub mod room;
mod saved_thread;
pub mod setup;
#[allow(clippy::module_inception)]
pub mod team;
pub mod thread;
pub mod written;
