//! What is linked: the runtime in front of the compiler's own, and where the program finds it.

use super::prefix::{LIBRARY, libraries};
use super::{Driver, Wishes, fail, option};
use std::ffi::OsString;
use std::path::Path;

/// Folders in which the loader looks by itself.
const OF_THE_SYSTEM: [&str; 6] =
    ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"];

/// The options for a command line that links; none for one that does not.
pub(crate) fn options(d: &Driver, w: &Wishes) -> Vec<OsString> {
    let mut all = Vec::new();
    if !w.links {
        return all;
    }
    if w.runtime {
        let library = libraries().into_iter().find(|p| p.exists()).and_then(|p| p.canonicalize().ok());
        let Some(folder) = library.as_deref().and_then(Path::parent) else {
            let why = "is not there; build it with `make`, or link without it: -fno-promp-runtime";
            fail(d, &format!("{LIBRARY} {why}"));
        };
        // In front of -lgomp, which the compiler adds at the end.
        all.extend([
            option("-L", folder),
            "-Wl,--push-state,--no-as-needed".into(),
            "-lpromp".into(),
            "-Wl,--pop-state".into(),
        ]);
        if w.rpath && !OF_THE_SYSTEM.iter().any(|f| folder == Path::new(f)) {
            // Whole words: the path may have a comma.
            all.extend(["-Xlinker", "-rpath", "-Xlinker"].map(Into::into));
            all.push(folder.into());
        }
    }
    // Names of the runtime stay open, so that a preloaded one is found. Functions are bound when the program
    // is loaded: a thread that dies while the linker binds one at its first call could not be recovered.
    all.push("-Wl,-z,dynamic-undefined-weak,-z,now".into());
    all
}
