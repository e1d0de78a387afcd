//! When a checkpoint is taken, by whose wish, and what the program is told of it; which words are kept where.

pub(crate) mod begin;
pub mod checkpoint_site;
pub mod dead_memory_claims;
pub(crate) mod ends;
pub(crate) mod exits;
pub mod keep;
pub mod logical_threads;
pub(crate) mod lookout;
pub(crate) mod own_hosts;
pub(crate) mod program_requests;
pub mod request_protocol;
pub(crate) mod requests;
pub mod rollback_limits;
pub(crate) mod rollback_request;
pub(crate) mod round;
pub mod settings;
pub mod site_choice;
pub(crate) mod steps;
pub mod taken;
pub(crate) mod transition;
pub(crate) mod whose;
