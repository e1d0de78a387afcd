//! Pairs of commands with one directory: the first is killed when it has a checkpoint, then the second is
//! run. Another command is refused, with --resume and without, and nothing is overwritten; the same one,
//! written otherwise, goes on. With PROMP_TEST_LONG: 200 pairs.

use crate::common::draws::Draws;
use crate::common::jobs::*;
use crate::common::left::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command, and where and how it is run.
#[derive(Clone, Debug)]
struct Line {
    /// Those that are the same command have the same.
    what: &'static str,
    words: Vec<String>,
    folder: PathBuf,
    path: Option<PathBuf>,
    threads: &'static str,
    /// A file that is written before: scripts change.
    text: Option<(PathBuf, String)>,
}

impl Line {
    fn command(&self, dir: &Path, options: &[&str]) -> Command {
        if let Some((file, text)) = &self.text {
            fs::write(file, text).expect("a script");
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("executable");
        }
        let mut c = Command::new(command());
        clean(&mut c);
        c.args(["run", "--threads", self.threads, "--every", "20ms", "--ckpt"]).arg(dir).args(options);
        c.arg("--").args(&self.words).current_dir(&self.folder);
        if let Some(path) = &self.path {
            c.env("PATH", format!("{}:/usr/bin:/bin", path.display()));
        }
        c
    }
}

const LONG: &str = "1000000";

/// What Pythons call: regions for ever.
const LIBRARY: &str = "
void work(void) {
    for (volatile unsigned long s = 0;; s++) {
#pragma omp parallel for
        for (int i = 0; i < 100000; i++)
            (void)i;
    }
}";

/// The files that the commands are of, and the commands.
struct Commands {
    home: PathBuf,
    all: Vec<Line>,
}

impl Commands {
    fn new(s: &Scratch) -> Self {
        let home = s.0.canonicalize().expect("the folder").join("home");
        let mut c = Self { all: Vec::new(), home };
        for folder in ["bin", "more", "elsewhere"] {
            fs::create_dir_all(c.home.join(folder)).expect("a folder");
        }
        for copy in ["bin/a", "bin/b", "more/a"] {
            fs::copy(steps(), c.home.join(copy)).expect("a copy");
        }
        symlink("a", c.home.join("bin/another")).expect("a link");
        symlink("bin", c.home.join("same")).expect("a link");
        symlink(".", c.home.join("here")).expect("a link");
        c.written_otherwise();
        c.others();
        c.scripts();
        c
    }

    fn add(&mut self, what: &'static str, words: &[&str]) -> &mut Line {
        let words = words.iter().map(|&w| w.to_owned()).collect();
        let folder = self.home.clone();
        self.all.push(Line { what, words, folder, path: None, threads: "2", text: None });
        self.all.last_mut().expect("one")
    }

    /// One command by its paths.
    fn written_otherwise(&mut self) {
        let absolute = self.home.join("bin/a").display().to_string();
        for path in ["bin/a", "./bin/a", "same/a", "here/../home/bin//a", &absolute] {
            self.add("a", &[path, LONG]);
        }
        let path = self.home.join("bin");
        self.add("a", &["a", LONG]).path = Some(path);
        let here = self.home.join("here");
        self.add("a", &["bin/a", LONG]).folder = here;
        self.add("nice", &["nice", "bin/a", LONG]);
        self.add("nice", &["/usr/bin/nice", "bin/a", LONG]);
    }

    fn others(&mut self) {
        self.add("another name", &["bin/another", LONG]);
        self.add("another file", &["bin/b", LONG]);
        self.add("another folder's", &["more/a", LONG]);
        self.add("another argument", &["bin/a", "999999"]);
        self.add("one argument more", &["bin/a", LONG, ""]);
        self.add("taskset", &["taskset", "-c", "0", "bin/a", LONG]);
        self.add("env 1", &["env", "X=1", "bin/a", LONG]);
        self.add("env 2", &["env", "X=2", "bin/a", LONG]);
        self.add("bash", &["bash", "-c", "exec bin/a 1000000"]);
        self.add("bash, a blank more", &["bash", "-c", "exec bin/a 1000000 "]);
        self.add("three threads", &["bin/a", LONG]).threads = "3";
        let (elsewhere, absolute) = (self.home.join("elsewhere"), self.home.join("bin/a"));
        self.add("elsewhere", &[text(&absolute), LONG]).folder = elsewhere;
    }

    fn scripts(&mut self) {
        let library = compiled("pairs", "libwork.so", LIBRARY, &["-fopenmp", "-shared", "-fPIC"]);
        let execs = |n: u32| format!("#!/bin/bash\nexport X={n}\nexec bin/a {LONG}\n");
        let calls = |n: u32| format!("x = {n}\nimport ctypes\nctypes.CDLL('{}').work()\n", library.display());
        let (run, calls_py) = (self.home.join("run.sh"), self.home.join("calls.py"));
        let other = self.home.join("other.py");
        for (what, n) in [("a script", 1), ("a changed script", 2)] {
            self.add(what, &["./run.sh"]).text = Some((run.clone(), execs(n)));
        }
        self.add("bash of a script", &["bash", "run.sh"]).text = Some((run.clone(), execs(1)));
        for (what, n) in [("Python", 1), ("Python, changed", 2)] {
            self.add(what, &["python3", "calls.py"]).text = Some((calls_py.clone(), calls(n)));
        }
        let found = Command::new("which").arg("python3").output().expect("which");
        let python = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        self.add("Python", &[&python, "calls.py"]).text = Some((calls_py, calls(1)));
        self.add("Python of another", &["python3", "other.py"]).text = Some((other, calls(1)));
    }
}

/// The first, killed when it has a checkpoint.
fn interrupted(first: &Line, dir: &Path, log: &Path) {
    let promp = start_into(first.command(dir, &[]), log);
    wait("a checkpoint", || has_generation(dir));
    kill(promp.id() as i32, libc::SIGKILL);
    end_of(promp, log);
    wait_for_none(&first.folder.canonicalize().expect("a folder"), &format_args!("{first:?}"));
}

/// The same command goes on: it says so.
fn goes_on(second: &Line, dir: &Path, log: &Path, what: &str) {
    let promp = start_into(second.command(dir, &["--resume"]), log);
    let says = || read(&log.with_extension("err"));
    wait(what, || says().contains("restarted from checkpoint") || is_gone(promp.id() as i32));
    kill(promp.id() as i32, libc::SIGKILL);
    let end = end_of(promp, log);
    assert_eq!(end.status, 128 + libc::SIGKILL, "{what}: {}", end.err);
    wait_for_none(&second.folder.canonicalize().expect("a folder"), &what);
}

#[test]
fn another_command_never_goes_on() {
    let s = Scratch::new("pairs");
    let all = Commands::new(&s).all;
    let (dir, log) = (s.path("ckpt"), s.path("log"));
    let (mut same, mut others, mut draws) = (0, 0, Draws::sweep(40, 200, 0));
    while let Some(seed) = draws.next(true) {
        let mut rng = Seeded(seed);
        let first = rng.pick(&all);
        // A fourth of them is the same command, where it can be written otherwise.
        let alike = rng.below(4) == 0;
        let fits = |l: &&Line| !alike || l.what == first.what;
        let second = *rng.pick(&all.iter().filter(fits).collect::<Vec<_>>());
        let what = format!("seed {seed}: {first:?}, then {second:?}");
        let _ = (fs::remove_dir_all(&dir), fs::remove_file(&log));
        interrupted(first, &dir, &log);
        if first.what == second.what {
            goes_on(second, &dir, &log, &what);
            same += 1;
            continue;
        }
        let newest = promp_image::generation_files(&dir)[0];
        for (options, status) in [(&["--resume"][..], 71), (&[], 64)] {
            // With another number of threads it is the same command: without --resume it begins anew.
            let same = |l: &Line| ["a", "three threads"].contains(&l.what);
            if status == 64 && same(first) && same(second) {
                continue;
            }
            let end = limited(second.command(&dir, options), LIMIT);
            assert_eq!((end.status, &*end.out), (status, ""), "{what} {options:?}: {}", end.err);
            assert_eq!(promp_image::generation_files(&dir).first(), Some(&newest), "{what}");
        }
        others += 1;
    }
    println!("{same} went on, {others} refused");
    assert!(same > 0 && others > 0);
}
