//! Scripts with steps (`promp run --steps`): where they work, and what has come of them.

use super::jobs::{is_gone, kill, run, wait};
use super::left::*;
use super::saved::{Scratch, command, read, text};
use super::{LIMIT, Run, build, limited};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A script, where it works, and what has come of it.
pub struct Field {
    pub s: Scratch,
    pub work: PathBuf,
    pub options: Vec<&'static str>,
}

impl Field {
    /// `text`: `STEP` stands for the program (c-tests/jobs/sums.c), `GATES` for one that waits (gates.c).
    pub fn new(text: &str) -> Self {
        static FIELDS: AtomicUsize = AtomicUsize::new(0);
        let s = Scratch::new(&format!("steps-{}", FIELDS.fetch_add(1, Relaxed)));
        let work = s.0.canonicalize().expect("the folder").join("work");
        let f = Self { s, work, options: vec!["--every", "50ms"] };
        f.clear();
        f.write(text);
        f
    }

    pub fn clear(&self) {
        for path in [&self.work, &self.s.path("ckpt")] {
            let _ = fs::remove_dir_all(path);
        }
        fs::create_dir(&self.work).expect("a folder");
    }

    pub fn write(&self, text: &str) {
        let programs = [("STEP", build("jobs/sums.c", &[])), ("GATES", build("jobs/gates.c", &[]))];
        let put = |t: String, (name, program): &(&str, PathBuf)| t.replace(name, self::text(program));
        let text = format!("set -e\n{}\n", programs.iter().fold(text.to_owned(), put));
        fs::write(self.s.path("script.sh"), text).expect("the script");
    }

    pub fn put(&self, name: &str, text: &str) {
        fs::write(self.work.join(name), text).expect("a file");
    }

    pub fn start(&self) -> Child {
        self.start_with(&[])
    }

    pub fn start_with(&self, options: &[&str]) -> Child {
        let options = [&["--steps"], &self.options[..], options].concat();
        let script = self.s.path("script.sh");
        let mut c = run(&self.s.path("ckpt"), &options, "bash".as_ref(), &[text(&script)]);
        c.current_dir(&self.work);
        start_into(c, &self.work.join("log"))
    }

    pub fn end(&self, child: Child) -> Run {
        let end = end_of(child, &self.work.join("log"));
        assert!(!end.hung, "it hangs: {}", end.err);
        wait_for_none(&self.work, &end.err);
        end
    }

    pub fn once(&self) -> Run {
        let end = self.end(self.start());
        fs::remove_file(self.work.join("log")).expect("the output");
        end
    }

    /// Step `name` waits in front of line `n` from now on, or not any more.
    pub fn gate(&self, name: &str, n: u32, shut: bool) {
        let file = self.work.join(format!("{name}.{n}"));
        if shut { fs::write(file, "").expect("a gate") } else { fs::remove_file(file).expect("a gate") }
    }

    /// Waits until a step is in front of line `n`: the number of its process.
    pub fn at(&self, name: &str, n: u32) -> i32 {
        let place = format!("at-{n}");
        let is_there = |pid: &i32| {
            let words = read(format!("/proc/{pid}/cmdline").as_ref());
            let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            words.split('\0').nth(1) == Some(name)
                && threads.map(|t| read(&t.path().join("comm"))).any(|comm| comm.trim() == place)
        };
        let mut found = None;
        wait(&format!("{name} at {n}"), || {
            found = owners(self).into_iter().find(is_there);
            found.is_some()
        });
        found.expect("a process")
    }

    /// A checkpoint of process `pid`, which is whole.
    pub fn checkpoint(&self, pid: i32) {
        let mut c = Command::new(command());
        c.args(["checkpoint", &pid.to_string(), "--wait"]);
        let end = limited(c, LIMIT);
        assert_eq!(end.status, 0, "{}", end.err);
    }

    /// Kills all of a run.
    pub fn kill(&self, promp: Child) -> Run {
        kill(-(promp.id() as i32), libc::SIGKILL);
        self.end(promp)
    }

    /// What has been written, to the log and to files.
    pub fn result(&self, files: &[&str]) -> Vec<String> {
        ["log"].iter().chain(files).map(|f| read(&self.work.join(f))).collect()
    }
}

/// The numbers of the processes that have checkpoints now.
pub fn owners(f: &Field) -> Vec<i32> {
    let places = fs::read_dir(f.s.path("ckpt/steps")).into_iter().flatten().flatten();
    let number = |e: fs::DirEntry| read(&e.path().join("lock")).trim().parse().ok();
    places.filter_map(number).filter(|pid| !is_gone(*pid)).collect()
}
