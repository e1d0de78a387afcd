//! Processes that the system freezes, as where containers are paused.

use std::fs;
use std::path::{Path, PathBuf};

/// A control group of its own whose processes can be frozen; removed when it is dropped.
pub struct Freezer {
    folder: PathBuf,
    control: &'static str,
    words: [&'static str; 2],
}

impl Freezer {
    /// `None`: the system lets nobody make one here.
    pub fn new() -> Option<Self> {
        let second = ("cgroup.freeze", ["0", "1"]);
        let kinds = [
            ("/sys/fs/cgroup/freezer", "freezer.state", ["THAWED", "FROZEN"]),
            ("/sys/fs/cgroup", second.0, second.1),
            ("/sys/fs/cgroup/unified", second.0, second.1),
        ];
        kinds.into_iter().find_map(|(root, control, words)| {
            let folder = Path::new(root).join(format!("promp-stands-still-{}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            let made = Self { folder, control, words };
            made.folder.join(control).exists().then_some(made)
        })
    }

    /// The process is one of its.
    pub fn takes(&self, pid: i32) {
        fs::write(self.folder.join("cgroup.procs"), pid.to_string()).expect("the process moves");
    }

    /// They stand still, or go on.
    pub fn freezes(&self, yes: bool) {
        fs::write(self.folder.join(self.control), self.words[usize::from(yes)]).expect("it freezes or thaws");
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        // It is empty once its processes have been reaped.
        let _ = fs::remove_dir(&self.folder);
    }
}
