//! promp's settings (docs/environment.md): one table with a row each, from which the runtime and the command
//! know which variables there are, what their values may be and what is said of others, which option of
//! `promp run` sets them, and which one was meant by a name that is none.

mod catalogue;
pub mod debugger_signals;
pub mod devices;
pub mod internal;
mod names;
mod nearest_name;
mod needs;
#[cfg(test)]
mod page;
mod row;
#[cfg(test)]
mod sources;

pub use catalogue::*;
pub use names::unknown;
pub use nearest_name::meant;
pub use needs::{NEED_PROMP, asks, lacks};
pub use promp_values::{quantities, replay_policy, save_budget, schedules, silent_faults, spec, times};
pub use row::{Audience, Check, Flag, Group, OnBad, Setting, Takes, Values};
