//! Files go back with the program: what it has written to them after a checkpoint is undone by a rollback and by a restart.

use crate::common::draws::{Draws, here};
use crate::common::saved::*;
use crate::common::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What is in a folder by name: content, or where a link leads; nothing of folders.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Without temporary files: one that a killed program has just made may be left.
fn files_in(folder: &Path) -> Files {
    let mut all = Files::new();
    for e in fs::read_dir(folder).expect("a folder") {
        let p = e.expect("an entry").path();
        let kind = fs::symlink_metadata(&p).expect("an entry").file_type();
        if kind.is_symlink() {
            all.insert(p.clone(), fs::read_link(&p).expect("a link").into_os_string().into_encoded_bytes());
        } else if kind.is_dir() {
            all.insert(p.clone(), Vec::new());
            all.append(&mut files_in(&p));
        } else if !text(&p).contains("/temporary") {
            all.insert(p.clone(), fs::read(&p).expect("a file"));
        }
    }
    all
}

/// A folder with what the programs read.
fn prepared(folder: PathBuf) -> PathBuf {
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let input: String = (0..60).map(|i| format!("{}\n", i * 37 % 11)).collect();
    fs::write(folder.join("input"), input).expect("the input");
    folder
}

/// Programs that get a folder, a number of steps and a seed.
fn programs() -> Vec<(PathBuf, &'static str)> {
    let sources = [
        ("ckpt/files.c", "60"),
        ("ckpt/updates.c", "150"),
        ("ckpt/direct.f90", "150"),
        ("ckpt/names.c", "200"),
        ("ckpt/units.f90", "150"),
    ];
    sources.map(|(source, steps)| (build(source, &[]), steps)).into()
}

/// What a program prints and leaves in its folder, under libgomp.
fn wanted(exe: &Path, steps: &str, seed: &str, s: &Scratch) -> (Run, Files) {
    let folder = prepared(s.path("files"));
    let run = reference(exe, &[text(&folder), steps, seed], &[THREADS]);
    assert_eq!(run.status, 0, "{}: {}", exe.display(), run.err);
    let files = files_in(&folder);
    (run, files)
}

#[test]
fn files_are_rolled_back() {
    let s = Scratch::new("files");
    for (exe, steps) in programs() {
        let (mut back, mut draws) = (0, Draws::of(3));
        while let Some(seed) = draws.next(back > 0) {
            let number = seed.to_string();
            let (want, files) = wanted(&exe, steps, &number, &s);
            let kind = ["kill", "crash", "memerr"][seed as usize % 3];
            let fault = format!("{kind}@mtbf=60ms,seed={number},count=5");
            let folder = prepared(s.path("files"));
            let set = [("PROMP_FAULT", &*fault), ("PROMP_CKPT_INTERVAL", "40ms")];
            let run = checkpointed(&exe, &[text(&folder), steps, &number], &s.path("ckpt"), &set);
            let what = format!("{} {fault}: {}", exe.display(), run.err);
            assert_eq!((run.status, &run.out), (0, &want.out), "{what}");
            assert!(files_in(&folder) == files, "{what}");
            back += run.err.matches("rolled back to checkpoint").count();
        }
        assert!(back > 0, "{}: the faults do not strike", exe.display());
    }
}

/// kill -9 at random times.
#[test]
fn files_after_restarts() {
    let s = Scratch::new("files-restart");
    let mut random = Seeded(5);
    let mut restarts = 0;
    let (programs, mut draws) = (programs(), Draws::of(1));
    while let Some(seed) = draws.next(restarts > 5) {
        for (exe, steps) in &programs {
            let number = seed.to_string();
            let (want, files) = wanted(exe, steps, &number, &s);
            let most = (here(want.took).as_millis() as u64).clamp(20, 200);
            let (folder, dir, out) = (prepared(s.path("files")), s.path("ckpt"), s.path("out"));
            let _ = fs::remove_dir_all(&dir);
            let _ = fs::remove_file(&out);
            let mut cmd = first_run(exe, &[text(&folder), steps, &number], &dir);
            let mut kills = 0;
            let status = loop {
                let wait = Duration::from_millis(most / 10 + random.below(most));
                let kill = |since| since > wait && has_generation(&dir);
                let kill: Option<&dyn Fn(Duration) -> bool> = if kills < 6 { Some(&kill) } else { None };
                if let Some(status) = start_with(cmd, &out, kill, |_| ()) {
                    break status;
                }
                kills += 1;
                restarts += 1;
                cmd = restart(&dir);
            };
            let err = messages(&out);
            assert!(went_well(status, &err), "{} {status}: {err}", exe.display());
            assert_eq!(read(&out), want.out, "{}: {err}", exe.display());
            assert!(files_in(&folder) == files, "{}: {err}", exe.display());
        }
    }
    assert!(restarts > 5, "{restarts} restarts");
}

/// A file that the program was started with, at a place that it has read up to, and that it has closed when it goes back.
#[test]
fn an_input_that_is_closed() {
    let s = Scratch::new("files-closed");
    let exe = build("ckpt/closes.c", &[]);
    let input = prepared(s.path("files")).join("input");
    let run = |set: &[(&str, &str)]| {
        let (dir, out) = (s.path("ckpt"), s.path("out"));
        let _ = fs::remove_dir_all(&dir);
        let _ = fs::remove_file(&out);
        let status = start_with(Command::new(&exe), &out, None, |c| {
            c.stdin(fs::File::open(&input).expect("the input")).env(THREADS.0, THREADS.1);
            c.env("PROMP_CKPT_DIR", &dir).env("PROMP_CKPT_INTERVAL", "120ms").envs(set.iter().copied());
        });
        (status.expect("it ends").code(), read(&out), messages(&out))
    };
    let want = run(&[]);
    let promp = library();
    let (mut back, mut draws) = (0, Draws::of(4));
    while let Some(seed) = draws.next(back > 0) {
        let fault = format!("kill@mtbf=60ms,seed={seed},count=6");
        let got = run(&[("LD_PRELOAD", text(&promp)), ("PROMP_FAULT", &fault)]);
        assert_eq!((got.0, &got.1), (Some(0), &want.1), "{fault}: {}", got.2);
        back += got.2.matches("rolled back to checkpoint").count();
    }
    assert!(back > 0, "the faults do not strike");
}

/// What is too large is not saved, which is said once.
#[test]
fn a_limit_for_files() {
    let s = Scratch::new("files-limit");
    let exe = build("ckpt/updates.c", &[]);
    let folder = prepared(s.path("files"));
    let set = [("PROMP_CKPT_FILES", "100K"), ("PROMP_CKPT_INTERVAL", "20ms")];
    let run = checkpointed(&exe, &[text(&folder), "60"], &s.path("ckpt"), &set);
    assert_eq!(run.status, 0, "{}", run.err);
    let said = format!("{} will not be put back", folder.join("matrix").display());
    assert_eq!(run.err.matches(&said).count(), 1, "{}", run.err);
    assert!(run.err.contains("PROMP_CKPT_FILES allows 102400 bytes"), "{}", run.err);
    assert!(!run.err.contains("pair will not"), "{}", run.err);
    // The same for files that are replaced: said by a rollback.
    let exe = build("ckpt/names.c", &[]);
    let (mut said, mut last, mut draws) = (false, String::new(), Draws::between(1, 20));
    while let Some(seed) = draws.next(said) {
        let folder = prepared(s.path("files"));
        let fault = format!("kill@mtbf=150ms,seed={},count=6", 1 + seed);
        let set = [("PROMP_CKPT_FILES", "1B"), ("PROMP_CKPT_INTERVAL", "80ms"), ("PROMP_FAULT", &*fault)];
        last = checkpointed(&exe, &[text(&folder), "300", "3"], &s.path("ckpt"), &set).err;
        said = last.contains("was overwritten or removed after the checkpoint and is not put back");
    }
    assert!(said, "{last}");
}

/// A journal that has been changed by somebody else is not believed; one whose last record is cut off is: that call was never made.
/// A descriptor is inherited by what the program executes, or not, also if a restart opens it by the lowest
/// number that is free.
#[test]
fn descriptors_close_at_an_exec_as_they_did() {
    let s = Scratch::new("exec-flags");
    let (exe, file, dir, out) =
        (build("ckpt/exec_flags.c", &[]), s.path("file"), s.path("ckpt"), s.path("out"));
    let want = reference(&exe, &[text(&file), "1"], &[THREADS]);
    let saved = |_| has_generation(&dir);
    let c = first_run(&exe, &[text(&file), "400"], &dir);
    assert!(start_with(c, &out, Some(&saved), |_| ()).is_none(), "it has ended: {}", messages(&out));
    let ended = start(restart(&dir), &out, None).expect("it ends");
    assert!(ended.success(), "{}", messages(&out));
    assert_eq!(read(&out), want.out);
}

#[test]
fn a_damaged_journal() {
    let s = Scratch::new("files-journal");
    let exe = build("ckpt/names.c", &[]);
    let (want, files) = wanted(&exe, "200", "4", &s);
    let (folder, dir, out) = (prepared(s.path("files")), s.path("ckpt"), s.path("out"));
    // The first one is taken at load, the second one in the first region.
    let (promp, path) = (library(), dir.join("undo-2"));
    let mut first = Command::new(&exe);
    first.args([text(&folder), "200", "4"]);
    let noted = |_| fs::metadata(&path).is_ok_and(|m| m.len() > 3000) && has_generation(&dir);
    let killed = start_with(first, &out, Some(&noted), |c| {
        c.env("LD_PRELOAD", promp).env("PROMP_CKPT_DIR", &dir).env("PROMP_CKPT_INTERVAL", "60s");
    });
    assert!(killed.is_none(), "it has ended too early: {}", messages(&out));
    let good = fs::read(&path).expect("a journal");
    for at in [50, good.len() / 2] {
        let mut bad = good.clone();
        bad[at] ^= 4;
        fs::write(&path, bad).expect("a journal");
        refused(restart(&dir), &out, "is damaged (checksum)");
    }
    fs::write(&path, [&good[..], &good[..30]].concat()).expect("a journal");
    let status = start(restart(&dir), &out, None).expect("it ends");
    assert!(status.success(), "{}", messages(&out));
    assert_eq!(read(&out), want.out);
    assert!(files_in(&folder) == files);
}

/// A database in the hands of an interpreter: the library that updates it comes by dlopen, holds its files
/// open and a recursive mutex while it writes, makes and removes a journal of its own in every step.
#[test]
fn databases() {
    databases_with("delete");
}

/// One with a log that is written ahead, whose index is a file that is mapped to be shared, and locked.
#[test]
fn databases_with_shared_memory() {
    databases_with("wal");
}

fn databases_with(journal: &str) {
    let s = Scratch::new(&format!("database-{journal}"));
    let library_of_work = build("ckpt/work.c", &["-shared", "-fPIC"]);
    let code = include_str!("../c-tests/ckpt/database.py");
    let code = format!("library = {:?}\n{code}", text(&library_of_work));
    let run = |set: &[(&str, &str)]| {
        let (folder, out) = (prepared(s.path("files")), s.path("out"));
        let _ = fs::remove_dir_all(s.path("ckpt"));
        let _ = fs::remove_file(&out);
        let mut c = Command::new("python3");
        c.args(["-c", &code]).arg(&folder).args(["100", journal]);
        let status = start_with(c, &out, None, |c| {
            c.env(THREADS.0, THREADS.1).envs(set.iter().copied());
        });
        (status.expect("it ends").code(), read(&out), files_in(&folder), messages(&out))
    };
    let want = run(&[]);
    if !available("python3 with sqlite3", want.0 == Some(0)) {
        return;
    }
    let (promp, dir) = (library(), s.path("ckpt"));
    let (mut back, mut draws) = (0, Draws::of(2));
    while let Some(seed) = draws.next(back > 0) {
        let fault = format!("kill@mtbf=150ms,seed={seed},count=4");
        let set = [
            ("LD_PRELOAD", text(&promp)),
            ("PROMP_CKPT_DIR", text(&dir)),
            ("PROMP_CKPT_INTERVAL", "60ms"),
            ("PROMP_FAULT", &fault),
        ];
        let got = run(&set);
        assert_eq!((got.0, &got.1), (want.0, &want.1), "{fault}: {}", got.3);
        assert!(got.2 == want.2, "{fault}: {}", got.3);
        back += got.3.matches("rolled back to checkpoint").count();
    }
    assert!(back > 0, "the faults do not strike");
}

/// Locks of files are held, or not, as they were: after rollbacks, and in restarted processes.
#[test]
fn locks_of_files_go_back() {
    let s = Scratch::new("file-locks");
    let exe = build("ckpt/file_locks.c", &[]);
    let folder = |_: u32| text(&prepared(s.path("files"))).to_string();
    let want = reference(&exe, &["60", &folder(0)], &[THREADS]);
    assert!(want.status == 0 && want.out.ends_with(", 0 wrong\n"), "{want:?}");
    let (mut back, mut again, mut draws) = (0, 0, Draws::between(1, 60));
    // Long enough for a checkpoint: how long that is depends on the machine.
    let mut mean = 40;
    while let Some(seed) = draws.next(back > 5 && again > 5) {
        let fault = format!("memerr@mtbf=25ms,seed={seed},count=4");
        let env = [("PROMP_FAULT", fault.as_str()), ("PROMP_CKPT_INTERVAL", "10ms"), ("PROMP_VERBOSE", "1")];
        let run = checkpointed(&exe, &["60", &folder(1)], &s.path("ckpt"), &env);
        let right = (run.status, &run.out) == (0, &want.out);
        assert!(right || too_early(&run), "{fault}: {run:?}");
        back += run.err.matches("rolled back to checkpoint").count();

        let fault = format!("die@mtbf={mean}ms,seed={seed},count=4");
        let mut c = dying(&s.path("ckpt"), &["--every", "10ms"], &fault);
        c.arg(&exe).args(["60", &folder(2)]);
        let run = limited(c, LIMIT);
        let right = (run.status, &run.out) == (0, &want.out);
        assert!(right || too_early(&run), "{fault}: {run:?}");
        mean += if too_early(&run) { mean / 3 } else { 0 };
        again += run.err.matches("restarted from checkpoint").count();
    }
    assert!(back > 5 && again > 5, "only {back} rollbacks and {again} restarts");
}

/// A lock that somebody else has got meanwhile cannot be taken again: the restart says so. With a lease there
/// is no checkpoint.
#[test]
fn locks_that_cannot_be_had_are_told() {
    let s = Scratch::new("file-locks-taken");
    let exe = build("ckpt/file_locks.c", &[]);
    let folder = s.path("files");
    let mut draws = Draws::between(1, 20);
    while draws.next(has_generation(&s.path("ckpt"))).is_some() {
        prepared(folder.clone());
        let mut c = Command::new(command());
        clean(&mut c);
        c.args(["run", "--threads", "2", "--every", "10ms", "--fault", "die@region=90", "--ckpt"]);
        c.arg(s.path("ckpt")).arg("--").arg(&exe).args(["60", text(&folder), "keep"]);
        let run = limited(c, LIMIT);
        assert_ne!(run.status, 0, "{run:?}");
    }
    let taken = fs::File::open(folder.join("0")).expect("a file");
    taken.lock_shared().expect("a lock");
    let restart = |s: &Scratch| {
        let mut c = Command::new(command());
        clean(&mut c);
        c.arg("restart").arg(s.path("ckpt"));
        limited(c, LIMIT)
    };
    let run = restart(&s);
    assert!(run.status != 0 && run.err.contains("cannot be taken again"), "{run:?}");
    drop(taken);
    let run = restart(&s);
    assert!(run.status == 0 && run.out.ends_with(", 0 wrong\n"), "{run:?}");

    // On a busy machine it may come to its end before a checkpoint is tried.
    let said = ["9", "90", "900"].iter().any(|steps| {
        let folder = prepared(s.path("files"));
        let env = [("PROMP_CKPT_INTERVAL", "10ms"), ("PROMP_VERBOSE", "1")];
        let run = checkpointed(&exe, &[steps, text(&folder), "lease"], &s.path("ckpt"), &env);
        assert_eq!(run.status, 0, "{run:?}");
        run.err.contains("has a lease")
    });
    assert!(said);
}
