//! What the values of settings say (docs/environment.md): each a pure function from a text to a value, total
//! on any input; and the tables of kinds that such values name. The table of settings (promp-settings) says
//! which belongs to which.

mod fault_kinds;
mod pairs;
pub mod quantities;
pub mod replay_policy;
pub mod save_budget;
pub mod schedules;
pub mod silent_faults;
pub mod spec;
pub mod times;
