//! What work has changed since its save point, so that it can be executed again: the log of old values
//! (log.rs), with the memory that it has freed (freed_memory.rs) and its atomic additions (addition.rs).
//!
//! A log is its logical thread's own. It knows neither threads nor why something cannot be undone: whoever
//! says so gives a number, a *reason*, which the log keeps ([`Log::lost`]).

#![deny(unsafe_op_in_unsafe_fn)]

extern crate promp_sys as sys;

pub mod addition;
pub mod freed_memory;
mod grid;
mod log;
mod log_index;

pub use grid::Grid;
pub use log::{Log, NO_ROOM, TOO_MUCH};
