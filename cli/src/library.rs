//! Finding libpromp.so.

use crate::Failure;
use crate::elf::{self, Kind};
use promp_settings::LIBRARY;
use std::path::PathBuf;

/// The library: PROMP_LIBRARY, or beside this command, or in ../lib of it, or where the system keeps libraries.
pub fn find() -> Result<PathBuf, Failure> {
    let mut tried: Vec<PathBuf> = Vec::new();
    if let Some(p) = std::env::var_os(LIBRARY.name) {
        tried.push(p.into());
    } else {
        if let Some(dir) = std::env::current_exe().ok().and_then(|e| e.parent().map(PathBuf::from)) {
            tried.extend([dir.join("libpromp.so"), dir.join("../lib/libpromp.so")]);
        }
        tried.extend(
            ["/usr/local/lib/libpromp.so", "/usr/lib/x86_64-linux-gnu/libpromp.so"].map(PathBuf::from),
        );
    }
    let list = || tried.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
    let Some(found) = tried.iter().find(|p| p.exists()) else {
        return Err(Failure::new(
            69,
            format!(
                "libpromp.so was not found (looked for {}); build it with `cargo build --release`, or set PROMP_LIBRARY",
                list()
            ),
        ));
    };
    match elf::kind(found) {
        // The loader only warns about a file that it cannot preload, and runs the program unprotected.
        Ok(kind) if !matches!(kind, Kind::Static | Kind::Dynamic) => {
            Err(Failure::new(69, format!("{} is not a library for x86-64", found.display())))
        }
        Ok(_) => found.canonicalize().map_err(|e| Failure::new(69, format!("{}: {e}", found.display()))),
        Err(e) => Err(Failure::new(69, format!("the library {} cannot be read: {e}", found.display()))),
    }
}
