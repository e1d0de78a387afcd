//! What the kernel knows of the process: a kind is a file.

pub mod alarms;
pub mod apart;
pub mod attributes;
pub mod contents;
pub mod directories;
pub mod file_locks;
pub mod files;
pub mod journal;
pub mod membarriers;
pub mod notified;
pub mod own_state;
pub mod pipes;
pub mod process;
pub mod streams;
pub mod system_v;
pub mod timers;
