//! A directory of this process's own for files that are soon gone.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A directory (mode 0700), removed with what it holds when this is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one where temporary files are (`TMPDIR`), by a name that nobody can have known before; it begins
    /// with `what`.
    pub fn new(what: &str) -> io::Result<Self> {
        Self::within(&std::env::temp_dir(), what)
    }

    /// The same, in `folder`.
    pub fn within(folder: &Path, what: &str) -> io::Result<Self> {
        let dir = folder.join(format!("{what}-{:016x}", super::random()?));
        DirBuilder::new().mode(0o700).create(&dir)?;
        Ok(Self(dir))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_is_private_and_goes() {
        let s = Scratch::new("promp-scratch-test").unwrap();
        let other = Scratch::new("promp-scratch-test").unwrap();
        let path = s.path().to_owned();
        assert!(path != other.path() && fs::metadata(&path).unwrap().mode() & 0o777 == 0o700);
        fs::write(path.join("a"), "x").unwrap();
        drop(s);
        assert!(!path.exists());
    }
}
