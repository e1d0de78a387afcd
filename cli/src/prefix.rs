//! Where an installation has its files, seen from the commands: they go by their own place, so that it can be
//! moved as a whole.

use std::path::PathBuf;

/// The library, by its SONAME.
pub(crate) const LIBRARY: &str = "libpromp.so.0";

/// Folders of libraries, from that of the commands (tools/install.py takes no others).
const FOLDERS: [&str; 3] = ["../lib", "../lib64", "../lib/x86_64-linux-gnu"];

/// Where `file` may be: beside the command, as it was built, or in a folder of libraries.
pub(crate) fn candidates(file: &str) -> Vec<PathBuf> {
    let exe = std::env::current_exe().and_then(|e| e.canonicalize());
    let Some(bin) = exe.ok().and_then(|e| e.parent().map(PathBuf::from)) else { return Vec::new() };
    [""].iter().chain(&FOLDERS).map(|folder| bin.join(folder).join(file)).collect()
}
