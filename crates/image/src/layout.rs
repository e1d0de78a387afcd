//! What a restart says to the process that it starts, and that process to itself when it executes its
//! program again because libraries lie at other addresses (the runtime's ckpt/restart/layout.rs).

/// The variable: how often the program has been executed (once: it has all libraries in LD_PRELOAD), then
/// descriptors of spacers and the pages that they take up.
pub const VARIABLE: &str = "PROMP_RESTART_LAYOUT";
