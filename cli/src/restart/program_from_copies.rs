//! Starting the process that goes on from a self-contained checkpoint whose program, libraries or loader
//! are not what they were.
//!
//! What was loaded then is loaded again, from the copies: libraries as the list LD_PRELOAD, all of them, in
//! the order in which they were loaded, so that the loader has nothing to look up; the loader by a copy of
//! the program's file that names it. The rest, and the program's own environment, comes with its memory.

use promp_image::Description;
use promp_image::file_copies::{self, Moved};
use promp_settings::internal::RESTART_LAYOUT;
use std::path::{Path, PathBuf};

/// The copy of the program that names another loader.
const START: &str = "start";

/// What is executed.
pub struct Start {
    /// The file.
    pub program: PathBuf,
    /// What its environment has besides.
    pub environment: Vec<(&'static str, String)>,
}

/// How the process of `about` is started if files have been `moved`.
pub fn start(dir: &Path, about: &Description, moved: &[Moved]) -> Result<Start, String> {
    let executable = file_copies::now(about.executable(), moved);
    let is_copy = |path: &str| Path::new(path).parent().is_some_and(|p| p.ends_with(file_copies::FOLDER));
    let given = about.libraries.iter().chain([&about.loader]).map(|p| file_copies::now(p, moved));
    if !given.into_iter().any(is_copy) {
        return Ok(Start { program: executable.into(), environment: Vec::new() });
    }
    let libraries: Vec<&str> = about.libraries.iter().map(|p| file_copies::now(p, moved)).collect();
    if let Some(path) = libraries.iter().find(|p| p.contains([':', ' ', ';'])) {
        return Err(format!(
            "the loader cannot be told of {path} (LD_PRELOAD): give the directory a name without blanks \
             and colons"
        ));
    }
    let loader = file_copies::now(&about.loader, moved);
    let program = match is_copy(loader) {
        false => executable.into(),
        true => {
            let bytes = std::fs::read(executable).map_err(|e| format!("{executable}: {e}"))?;
            let bytes = file_copies::with_loader(&bytes, loader).ok_or_else(|| {
                format!("{executable} does not name its loader, so it cannot be started with the copy of it")
            })?;
            file_copies::write(dir, START, &bytes)?;
            std::path::absolute(dir).unwrap_or_else(|_| dir.into()).join(file_copies::FOLDER).join(START)
        }
    };
    let preload = ("LD_PRELOAD", libraries.join(":"));
    Ok(Start { program, environment: vec![preload, (RESTART_LAYOUT.name, "1".into())] })
}
