//! When a checkpoint is taken, by whose wish, and what the program is told of it; which words are kept where.

pub mod asking;
pub(crate) mod begin;
pub mod dead_memory_claims;
pub(crate) mod ends;
pub(crate) mod exits;
pub mod keep;
pub mod logical_threads;
pub(crate) mod lookout;
pub(crate) mod own_hosts;
pub mod place;
pub mod places;
pub(crate) mod requests;
pub(crate) mod rollback;
pub(crate) mod round;
pub mod settings;
pub(crate) mod steps;
pub mod taken;
pub(crate) mod text;
pub(crate) mod transition;
pub mod trials;
pub(crate) mod wanted;
pub(crate) mod whose;
