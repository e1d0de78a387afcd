//! When a checkpoint is taken, by whose wish, and what the program is told of it; which words are kept where.

pub mod asking;
pub mod begin;
pub mod dead_memory_claims;
pub mod ends;
pub mod interval;
pub mod keep;
pub mod logical_threads;
pub mod lookout;
pub mod place;
pub mod places;
pub mod requests;
pub mod rollback;
pub mod round;
pub mod settings;
pub mod taken;
pub mod text;
pub mod transition;
pub mod trials;
pub mod wanted;
pub mod whose;
