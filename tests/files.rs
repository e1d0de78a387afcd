//! Files go back with the program: what it has written to them after a checkpoint is undone by a rollback and by a restart.

mod common;
use common::saved::*;
use common::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files by name, with their content.
type Files = BTreeMap<String, Vec<u8>>;

fn files_in(folder: &Path) -> Files {
    let all = fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
    let name = |p: &PathBuf| p.file_name().expect("a name").to_string_lossy().into_owned();
    all.map(|p| (name(&p), fs::read(&p).expect("a file"))).collect()
}

/// A folder with what the programs read.
fn prepared(folder: PathBuf) -> PathBuf {
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let input: String = (0..60).map(|i| format!("{}\n", i * 37 % 11)).collect();
    fs::write(folder.join("input"), input).expect("the input");
    folder
}

/// Programs that get a folder and a number of steps.
fn programs() -> Vec<(PathBuf, &'static str)> {
    let files = [("ckpt/files.c", "60"), ("ckpt/updates.c", "150"), ("ckpt/direct.f90", "150")];
    files.map(|(source, steps)| (build(source, &[]), steps)).into()
}

/// What a program prints and leaves in its folder, under libgomp.
fn wanted(exe: &Path, steps: &str, s: &Scratch) -> (String, Files) {
    let folder = prepared(s.path("files"));
    let run = reference(exe, &[text(&folder), steps], &[THREADS]);
    assert_eq!(run.status, 0, "{}: {}", exe.display(), run.err);
    (run.out, files_in(&folder))
}

#[test]
fn files_are_rolled_back() {
    let s = Scratch::new("files");
    for (exe, steps) in programs() {
        let (out, files) = wanted(&exe, steps, &s);
        let mut back = 0;
        for seed in 0..3 * scale() {
            let kind = ["kill", "crash", "memerr"][seed as usize % 3];
            let fault = format!("{kind}@mtbf=60ms,seed={},count=5", seed + 1);
            let folder = prepared(s.path("files"));
            let set = [("PROMP_FAULT", &*fault), ("PROMP_CKPT_INTERVAL", "40ms")];
            let run = checkpointed(&exe, &[text(&folder), steps], &s.path("ckpt"), &set);
            let what = format!("{} {fault}: {}", exe.display(), run.err);
            assert_eq!((run.status, &run.out), (0, &out), "{what}");
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
    for (exe, steps) in programs() {
        let (want, files) = wanted(&exe, steps, &s);
        for _ in 0..scale() {
            let (folder, dir, out) = (prepared(s.path("files")), s.path("ckpt"), s.path("out"));
            let _ = fs::remove_dir_all(&dir);
            let _ = fs::remove_file(&out);
            let mut cmd = first_run(&exe, &[text(&folder), steps], &dir);
            let mut kills = 0;
            let status = loop {
                let wait = Duration::from_millis(20 + random.below(200));
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
            // Killed after its last word, it has nothing to continue.
            let over = status.code() == Some(71) && err.contains("has ended by itself");
            assert!(status.success() || over, "{} {status}: {err}", exe.display());
            assert_eq!(read(&out), want, "{}: {err}", exe.display());
            assert!(files_in(&folder) == files, "{}: {err}", exe.display());
        }
    }
    assert!(restarts > 5, "{restarts} restarts");
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
}
