//! Directories that change places while promp works: another user, who may write to the directory above, puts
//! his own one or a link where the checkpoints or the program's files were, and back, all the time. Nothing
//! is changed that the program itself could not have changed, and nothing of his is accepted.
//!
//! As root only: it takes two users. Neither of them is root.

use crate::common::saved::*;
use crate::common::*;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Who runs promp, and who exchanges.
const USER: u32 = 64001;
const OTHER: u32 = 64002;
/// What commands end with that refuse, or cannot do, what was asked for.
const WORDS: [i32; 8] = [0, 64, 65, 66, 69, 70, 71, 74];

/// Is this root, who can make others run what was built?
fn two_users() -> bool {
    let mut c = as_user(Command::new(command()));
    let may = c.arg("--version").output().is_ok_and(|o| o.status.success());
    available("the right to be two other users who can read what was built", may)
}

fn as_user(mut c: Command) -> Command {
    c.uid(USER).gid(USER).current_dir("/");
    c
}

/// The places of a test: `home` is the user's alone, in `open` everybody may do anything.
struct Places(Scratch);

impl Places {
    fn new(name: &str) -> Self {
        let s = Scratch::new(name);
        fs::set_permissions(&s.0, Permissions::from_mode(0o755)).expect("our folder");
        for (folder, owner, mode) in [("home", USER, 0o700), ("open", 0, 0o777), ("open/evil", OTHER, 0o777)]
        {
            fs::create_dir(s.path(folder)).expect("a folder");
            fs::set_permissions(s.path(folder), Permissions::from_mode(mode)).expect("our folder");
            chown(s.path(folder), Some(owner), Some(owner)).expect("we are root");
        }
        make(&s.path("home/precious"), USER, 0o700);
        symlink(s.path("home/precious"), s.path("open/link")).expect("a link");
        Self(s)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path(name)
    }

    /// Fills what nobody shall change with files of these names: the user's own, and the other's, whose names
    /// lead to the user's or can be written to by everybody.
    fn fill(&self, names: &[&str]) {
        let (precious, evil) = (self.path("home/precious"), self.path("open/evil"));
        for (i, name) in names.iter().enumerate() {
            let (own, his) = (precious.join(name), evil.join(name));
            for (path, owner) in [(&own, USER), (&his, OTHER)] {
                let folder = path.parent().expect("a folder");
                if !folder.exists() {
                    make(folder, owner, 0o777);
                }
            }
            fs::write(&own, "precious\n").expect("a file");
            chown(&own, Some(USER), Some(USER)).expect("we are root");
            match i % 3 {
                0 => {
                    symlink(&own, &his).expect("a link");
                    std::os::unix::fs::lchown(&his, Some(OTHER), Some(OTHER)).expect("we are root");
                }
                1 => {
                    let name = std::ffi::CString::new(text(&his)).expect("a name");
                    // SAFETY: a C string.
                    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o666) }, 0);
                }
                _ => fs::write(&his, "his\n").expect("a file"),
            }
            if i % 3 > 0 {
                fs::set_permissions(&his, Permissions::from_mode(0o666)).expect("a file");
                chown(&his, Some(OTHER), Some(OTHER)).expect("we are root");
            }
        }
    }

    /// Makes the directory in which the program works.
    fn work(&self) {
        make(&self.path("open/work"), USER, 0o700);
        make(&self.path("open/work/sub"), USER, 0o700);
    }

    /// What nobody shall change.
    fn kept(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        // The other's may be at its place or at the exchanged one: by what it is, not by its name.
        let folders = ["home/precious", "open/evil", "open/ckpt", "open/work"].map(|f| self.path(f));
        let of_other = |p: &Path| fs::symlink_metadata(p).is_ok_and(|m| m.is_dir() && m.uid() == OTHER);
        look(&folders[0], "precious", &mut all);
        folders[1..].iter().filter(|p| of_other(p)).for_each(|p| look(p, "evil", &mut all));
        all
    }
}

fn make(folder: &Path, owner: u32, mode: u32) {
    fs::create_dir(folder).expect("a folder");
    fs::set_permissions(folder, Permissions::from_mode(mode)).expect("a folder");
    chown(folder, Some(owner), Some(owner)).expect("we are root");
}

/// What `folder` holds, and when it was changed.
fn look(folder: &Path, called: &str, all: &mut BTreeMap<String, String>) {
    let about = |p: &Path| {
        let m = fs::symlink_metadata(p).expect("a file");
        let content = if m.is_file() { read(p) } else { String::new() };
        (m.is_dir(), format!("{:o} {} {}.{} {content:?}", m.mode(), m.uid(), m.mtime(), m.mtime_nsec()))
    };
    all.insert(called.into(), about(folder).1);
    for e in fs::read_dir(folder).expect("a folder") {
        let e = e.expect("an entry");
        let name = format!("{called}/{}", e.file_name().display());
        match about(&e.path()) {
            (true, _) => look(&e.path(), &name, all),
            (false, what) => _ = all.insert(name, what),
        }
    }
}

/// The other user at work; ended when this is dropped.
struct Exchange {
    child: Child,
    count: std::path::PathBuf,
}

impl Exchange {
    fn begin(p: &Places, a: &str, b: &str) -> Self {
        let count = p.path("count");
        let _ = fs::remove_file(&count);
        let mut c = Command::new(build("ckpt/exchange.c", &[]));
        c.arg(OTHER.to_string()).args([p.path(a), p.path(b), count.clone()]).stdin(Stdio::piped());
        let it = Self { child: c.spawn().expect("it was built"), count };
        jobs_wait(|| it.done() > 0);
        it
    }

    fn done(&self) -> u64 {
        let bytes = fs::read(&self.count).unwrap_or_default();
        bytes.first_chunk().map_or(0, |b| u64::from_le_bytes(*b))
    }

    /// Ends it; so often the two have changed places.
    fn end(mut self) -> u64 {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("a child").success(), "it cannot exchange");
        self.done()
    }
}

fn jobs_wait(at: impl Fn() -> bool) {
    let begin = std::time::Instant::now();
    while !at() {
        assert!(begin.elapsed() < LIMIT);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// So many exchanges a scenario.
fn enough() -> u64 {
    if long() { 25_000 } else { 1_500 }
}

/// `c` by the user, killed after `after`; within its limit, and by no signal of its own.
fn run(p: &Places, c: Command, after: Option<u64>) -> Option<ExitStatus> {
    let out = p.path("out");
    let _ = fs::remove_file(&out);
    let shown = format!("{c:?}");
    let ended = start(as_user(c), &out, after.map(Duration::from_millis));
    if let Some(status) = ended {
        let expected = status.code().is_some_and(|s| WORDS.contains(&s));
        assert!(expected, "{shown}: {status:?}: {}", messages(&out));
    }
    ended
}

fn names(p: &Places, dir: &Path, options: &[&str]) -> Command {
    let mut c = Command::new(command());
    c.args(["run", "--threads", "2", "--every", "20ms", "--ckpt"]).arg(dir).args(options).arg("--");
    c.arg(build("ckpt/names.c", &[])).arg(p.path("open/work")).args(["100000", "7"]);
    c
}

/// Is there a checkpoint in `dir` that has begun when the program was in its folder? Before, it goes where
/// the path leads, and so it does after a return to that time, and writes there itself.
fn saved_inside<'a>(p: &'a Places, dir: &'a Path) -> impl Fn() -> bool + 'a {
    let length = || fs::metadata(p.path("open/work/log")).map_or(0, |m| m.len());
    let (before, seen) = (length(), Cell::new(None));
    move || {
        if seen.get().is_none() && length() <= before {
            return false;
        }
        let newest = promp_image::generation_files(dir).first().copied().unwrap_or(0);
        if seen.get().is_none() {
            seen.set(Some(newest));
        }
        // The next one may have begun before; the newest may not be whole.
        seen.get().is_some_and(|n| newest > n + 2)
    }
}

/// A run that was killed, with checkpoints in `dir`.
fn killed(p: &Places, dir: &Path) {
    let out = p.path("out");
    let _ = fs::remove_file(&out);
    let inside = saved_inside(p, dir);
    let saved = |since| since > Duration::from_millis(300) && inside();
    let ended = start_with(as_user(names(p, dir, &[])), &out, Some(&saved), |_| ());
    assert!(ended.is_none(), "{}", messages(&out));
}

fn promp(args: &[&str]) -> Command {
    let mut c = Command::new(command());
    c.args(args);
    c
}

/// Files of a checkpoint directory.
const OURS: [&str; 18] = [
    "pages",
    "state",
    "lock",
    "sums",
    "gen-1",
    "gen-2",
    "run",
    "owner",
    "ended",
    "new-run",
    "new-ended",
    "new-3",
    "undo-0",
    "undo-1",
    "undo-2",
    "undo-1-1",
    "sent-0",
    "files/0123456789abcdef-1f",
];

#[test]
fn the_checkpoint_directory() {
    if !two_users() {
        return;
    }
    for b in ["open/evil", "open/link"] {
        let p = Places::new("exchanged-ckpt");
        p.work();
        p.fill(&OURS);
        let (dir, file) = (p.path("open/ckpt"), p.path("home/file"));
        // Where the journal has a link just then, there is no archive.
        let exported = (0..20).any(|_| {
            let _ = fs::remove_dir_all(&dir);
            killed(&p, &dir);
            run(&p, promp(&["export", text(&dir), "-o", text(&file)]), None).is_some_and(|s| s.success())
        });
        assert!(exported, "{}", messages(&p.path("out")));
        let before = p.kept();
        let other = Exchange::begin(&p, "open/ckpt", b);
        let export = p.path("home/again");
        let (dir, file, export) = (text(&dir), text(&file), text(&export));
        let mut rounds = 0;
        while other.done() < enough() {
            run(&p, promp(&["inspect", "--verify", dir]), None);
            run(&p, promp(&["export", dir, "-o", export]), None);
            run(&p, promp(&["checkpoint", dir]), None);
            run(&p, promp(&["import", file, dir]), None);
            run(&p, restart(dir.as_ref()), Some(200));
            for options in [&["--resume"][..], &["--self-contained"], &[]] {
                run(&p, names(&p, dir.as_ref(), options), Some(200));
            }
            rounds += 1;
        }
        let n = other.end();
        eprintln!("{b}: {n} exchanges in {rounds} rounds");
        assert!(n >= enough());
        assert_eq!(p.kept(), before, "{b}");
    }
}

/// A program that goes back all the time, with checkpoints in `dir`; from the first one on `a` and `b` change
/// places. How often, and how often it has gone back.
fn beside(p: &Places, dir: &Path, (a, b): (&str, &str)) -> (u64, usize) {
    let (out, other) = (p.path("out"), RefCell::new(None));
    let _ = fs::remove_dir_all(dir);
    let inside = saved_inside(p, dir);
    let kill = |since: Duration| {
        if other.borrow().is_none() && inside() {
            other.replace(Some((Exchange::begin(p, a, b), since)));
        }
        other.borrow().as_ref().is_some_and(|(_, begun)| since - *begun > Duration::from_millis(1200))
    };
    let c = names(p, dir, &["--fault", "kill@mtbf=60ms,count=1000,seed=3"]);
    let ended = start_with(as_user(c), &out, Some(&kill), |_| ()).map(|e| e.code());
    let said = messages(&out);
    assert!(ended.is_none_or(|c| c.is_some_and(|s| WORDS.contains(&s))), "{ended:?} {said}");
    let n = other.take().map_or(0, |(e, _)| e.end());
    if fs::symlink_metadata(p.path(a)).is_ok_and(|m| m.uid() == OTHER || m.is_symlink()) {
        exchange(&p.path(a), &p.path(b));
    }
    (n, said.matches("rolled back").count())
}

fn exchange(a: &Path, b: &Path) {
    let [a, b] = [a, b].map(|p| std::ffi::CString::new(text(p)).expect("a name"));
    let (at, how) = (libc::AT_FDCWD, libc::RENAME_EXCHANGE);
    // SAFETY: C strings.
    assert_eq!(unsafe { libc::renameat2(at, a.as_ptr(), at, b.as_ptr(), how) }, 0);
}

/// The same while a program runs that began before: its notes, checkpoints, rollbacks and its end.
#[test]
fn the_checkpoint_directory_of_a_program_that_runs() {
    if !two_users() {
        return;
    }
    for b in ["open/evil", "open/link"] {
        let p = Places::new("exchanged-running");
        p.work();
        p.fill(&OURS);
        let before = p.kept();
        let (mut n, mut back) = (0, 0);
        while n < enough() {
            let (more, rollbacks) = beside(&p, &p.path("open/ckpt"), ("open/ckpt", b));
            (n, back) = (n + more, back + rollbacks);
            assert_eq!(p.kept(), before, "{b}: {}", messages(&p.path("out")));
        }
        eprintln!("{b}: {n} exchanges, {back} rollbacks");
    }
}

/// Files of the program.
const ITS: [&str; 13] =
    ["log", "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "new", "sub/f0", "sub/f1", "sub/f2"];

/// The directory in which the program works, and to which it keeps: its names are undone at a restart.
#[test]
fn the_way_to_the_programs_files() {
    if !two_users() {
        return;
    }
    for b in ["open/evil", "open/link"] {
        let p = Places::new("exchanged-work");
        p.fill(&ITS);
        p.work();
        let dir = p.path("home/ckpt");
        killed(&p, &dir);
        let before = p.kept();
        let other = Exchange::begin(&p, "open/work", b);
        let (mut went_on, mut refused) = (0, 0);
        while other.done() < enough() {
            match run(&p, restart(&dir), Some(400)) {
                None => went_on += 1,
                Some(_) => refused += 1,
            }
        }
        let n = other.end();
        eprintln!("{b}: {n} exchanges, {went_on} restarts went on, {refused} were refused");
        assert!(n >= enough() && went_on + refused > 0);
        assert_eq!(p.kept(), before, "{b}");
    }
}

/// The same at rollbacks of a program that runs.
#[test]
fn the_way_to_the_files_of_a_program_that_runs() {
    if !two_users() {
        return;
    }
    for b in ["open/evil", "open/link"] {
        let p = Places::new("exchanged-rollback");
        p.fill(&ITS);
        p.work();
        let before = p.kept();
        let (mut n, mut back) = (0, 0);
        while n < enough() {
            let (more, rollbacks) = beside(&p, &p.path("home/ckpt"), ("open/work", b));
            (n, back) = (n + more, back + rollbacks);
            assert_eq!(p.kept(), before, "{b}: {}", messages(&p.path("out")));
        }
        eprintln!("{b}: {n} exchanges, {back} rollbacks");
    }
}
