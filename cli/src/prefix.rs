//! Where an installation has its files, seen from the commands: they go by their own place, so that it can be
//! moved as a whole.

use std::path::PathBuf;

/// The library, by its SONAME.
pub(crate) const LIBRARY: &str = "libpromp.so.0";

/// … or by the name that linkers look for: whoever copies the two files beside each other has that.
const LINKED: &str = "libpromp.so";

/// Folders of libraries, from that of the commands (tools/install.py takes no others).
const FOLDERS: [&str; 3] = ["../lib", "../lib64", "../lib/x86_64-linux-gnu"];

/// Where `file` may be: beside the command, as it was built, or in a folder of libraries.
pub(crate) fn candidates(file: &str) -> Vec<PathBuf> {
    let exe = std::env::current_exe().and_then(|e| e.canonicalize());
    let Some(bin) = exe.ok().and_then(|e| e.parent().map(PathBuf::from)) else { return Vec::new() };
    [""].iter().chain(&FOLDERS).map(|folder| bin.join(folder).join(file)).collect()
}

/// Where the library may be.
pub(crate) fn libraries() -> Vec<PathBuf> {
    [LIBRARY, LINKED].map(candidates).concat()
}
