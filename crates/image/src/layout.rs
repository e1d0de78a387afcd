//! What a restart says to the process that it starts, and that process to itself when it executes its
//! program again because libraries lie at other addresses (the runtime's ckpt/restart/layout.rs).

/// The variable: how often the program has been executed, and the descriptors of the spacers.
pub const VARIABLE: &str = "PROMP_RESTART_LAYOUT";
/// Its value in a process that has all libraries in LD_PRELOAD from the beginning.
pub const LISTED: &str = "1";
