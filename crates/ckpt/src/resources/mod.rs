//! What the kernel knows of the process: a kind is a file, and a row of table.rs.

pub(crate) mod alarms;
pub(crate) mod attributes;
pub(crate) mod children;
pub(crate) mod command_line;
pub(crate) mod contents;
pub(crate) mod cpu_account;
pub(crate) mod cuts;
pub(crate) mod directories;
pub(crate) mod dispositions;
pub(crate) mod file_locks;
pub(crate) mod files;
pub(crate) mod irreversible_calls;
pub(crate) mod journal;
pub(crate) mod membarriers;
pub(crate) mod open_descriptors;
pub(crate) mod own_state;
pub(crate) mod pipes;
pub mod process;
pub(crate) mod resource;
pub(crate) mod semaphore_sets;
pub(crate) mod sigev_thread;
pub(crate) mod step_files;
pub(crate) mod streams;
pub(crate) mod system_v;
pub(crate) mod table;
pub mod timers;
