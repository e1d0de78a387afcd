//! `DIR/ended`: the end record of a program that has ended by itself, so that it is not run again.

use crate::run_record::write_aside;
use crate::state::ENDED;
use crate::{Directory, Word};
use promp_files::{open_in, remove_in};
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Its name.
pub const FILE: &str = "ended";
/// The same as C strings: its name, and the one that it has until it is whole.
pub const NAME: &CStr = c"ended";
/// See [`NAME`].
pub const ASIDE: &CStr = c"new-ended";

/// Which program it was, and how it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The program's file.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<Word>,
    /// Its exit status.
    pub status: i32,
}

impl Ended {
    /// What stands in it; the status at its end.
    pub fn text(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    /// Writes it to `dir`: aside, synced, renamed.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        write_aside(dir, FILE, "new-ended", &self.text()?)
    }
}

impl Directory {
    /// The end record, if there is one that can be read.
    pub fn ended(&self) -> Option<Ended> {
        serde_json::from_reader(self.open_file(FILE).ok()?).ok()
    }

    /// What has ended is to go on all the same.
    pub fn take_end_back(&self) -> io::Result<()> {
        let state = open_in(self.folder(), "state".as_ref(), libc::O_WRONLY | libc::O_NOFOLLOW, 0)?;
        let state = File::from(state);
        state.write_all_at(&[0; 8], 8 * ENDED as u64)?;
        remove_in(self.folder(), FILE.as_ref())?;
        state.sync_all()?;
        self.folder().sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

    #[test]
    fn it_is_read_as_it_was_written() {
        let dir = std::env::temp_dir().join(format!("promp-ended-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
        let mut as_written = OpenOptions::new();
        as_written.write(true).create(true).mode(0o600).truncate(true);
        drop(as_written.open(dir.join("pages")).unwrap());
        let d = Directory::open(&dir).unwrap();
        assert_eq!([NAME, ASIDE].map(|n| n.to_str().unwrap()), [FILE, "new-ended"]);
        assert!(d.ended().is_none() && !d.finished());
        let arguments = [&b"a"[..], b"", b"\xff b"].map(Word::from).to_vec();
        let e = Ended { program: "/bin/a".into(), arguments, status: 3 };
        e.write(&dir).unwrap();
        assert_eq!(d.ended(), Some(e.clone()));
        assert!(d.finished());
        // It is written again, whatever was left of an earlier attempt.
        fs::write(dir.join(ASIDE.to_str().unwrap()), "half").unwrap();
        Ended { status: 0, ..e }.write(&dir).unwrap();
        assert_eq!(d.ended().map(|e| e.status), Some(0));
        // Neither followed nor believed.
        fs::rename(dir.join(FILE), dir.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(dir.join("elsewhere"), dir.join(FILE)).unwrap();
        assert!(d.ended().is_none());
        fs::remove_file(dir.join(FILE)).unwrap();
        fs::write(dir.join(FILE), "{}").unwrap();
        fs::set_permissions(dir.join(FILE), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(d.ended().is_none());
        fs::remove_dir_all(&dir).unwrap();
    }
}
