//! What a restart says to the process that it starts, and that process to itself when it executes its
//! program again because libraries lie at other addresses (the runtime's ckpt/restart/layout.rs).

/// The value of PROMP_RESTART_LAYOUT in a process that has all libraries in LD_PRELOAD from the beginning.
pub const LISTED: &str = "1";
