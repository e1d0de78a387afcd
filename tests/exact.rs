//! `promp tune --exact`: all ways to execute a loop compared on the same work, by going back to a checkpoint.
//! The program does everything once; what cannot be gone back from is left alone, and says so.

use crate::common::draws::Draws;
use crate::common::saved::{Scratch, has_generation, messages, read, restart, start, start_with, went_well};
use crate::common::*;
use promp_model::tuning_file::Tuning;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A folder of its own, which is empty.
fn folder(name: &str) -> PathBuf {
    empty_folder(&format!("exact/{name}"))
}

/// Runs a program under `promp tune --exact`, with a tuning file and a scratch folder in `within`.
fn exact(within: &Path, exe: &Path, args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut c = Command::new(library().with_file_name("promp"));
    clean(&mut c);
    c.args(["tune", "--exact", "--threads", "2", "-o"]).arg(within.join("app.tune"));
    c.arg("--scratch").arg(within).arg("--").arg(exe).args(args);
    c.envs(env.iter().copied());
    limited(c, LIMIT)
}

fn kept(within: &Path) -> Tuning {
    let text = std::fs::read_to_string(within.join("app.tune")).unwrap_or_default();
    Tuning::read(&text).unwrap_or_default()
}

/// What the program has printed, without the table that follows.
fn own<'a>(r: &'a Run, want: &str) -> &'a str {
    r.out.get(..want.len()).unwrap_or(&r.out)
}

#[test]
fn one_execution_is_enough() {
    let exe = build("tune/exact.c", &[]);
    for (mode, executions) in [("plain", "1"), ("plain", "3"), ("nested", "2")] {
        let want = reference(&exe, &[executions, mode], &[("OMP_NUM_THREADS", "2")]).out;
        let within = folder(&format!("{mode}{executions}"));
        let r = exact(&within, &exe, &[executions, mode], &[]);
        assert_eq!((r.status, own(&r, &want)), (0, want.as_str()), "{mode}: {}", r.err);
        assert!(r.err.contains("executions from one state"), "{mode}: {}", r.err);
        let tuning = kept(&within);
        let compared: Vec<_> = tuning.entries.iter().filter(|e| !e.tried.is_empty()).collect();
        assert!(compared.len() >= 2 && tuning.damaged.is_empty(), "{mode}: {}", r.err);
        for e in compared {
            assert!(e.tried.len() > 2 && e.tried.iter().any(|t| t.0 == e.choice), "{e}");
        }
        assert!(r.out.contains("from one state:") && r.out.contains("  chosen\n"), "{}", r.out);
        let left: Vec<_> = std::fs::read_dir(&within).expect("it is there").flatten().collect();
        assert_eq!(left.len(), 1, "the scratch folder is left: {left:?}");
        // What is known is not compared again.
        let again = exact(&within, &exe, &[executions, mode], &[]);
        assert_eq!((again.status, own(&again, &want)), (0, want.as_str()), "{mode}: {}", again.err);
        assert!(again.err.contains("exact: 0 compared"), "{mode}: {}", again.err);
    }
}

/// Where others would see it twice, or it cannot be undone, nothing is gone back from.
#[test]
fn what_cannot_be_undone_is_done_once() {
    let exe = build("tune/exact.c", &[]);
    for (mode, says) in [
        ("writes", "cannot go back to its beginning: it has written"),
        ("notes", "cannot go back to its beginning: it has written"),
        ("forks", "cannot go back to its beginning: it has started other processes"),
        ("child", "no checkpoint can be taken: the program has a child process"),
    ] {
        let want = reference(&exe, &["2", mode], &[("OMP_NUM_THREADS", "2")]);
        let within = folder(mode);
        let r = exact(&within, &exe, &["2", mode], &[]);
        assert_eq!((r.status, own(&r, &want.out)), (0, want.out.as_str()), "{mode}: {}", r.err);
        assert!(r.err.contains(says) && r.err.contains("from execution to execution"), "{mode}: {}", r.err);
        let notes = |r: &Run| r.err.lines().filter(|l| l.starts_with("note ")).count();
        assert_eq!(notes(&r), notes(&want), "{mode}: {}", r.err);
    }
}

/// Threads that die while ways are compared, and in the one that counts.
#[test]
fn failures_do_not_change_results() {
    let exe = build("tune/exact.c", &[]);
    let want = reference(&exe, &["2", "plain"], &[("OMP_NUM_THREADS", "2")]).out;
    let mut rng = Seeded(44);
    let (mut struck, mut compared) = (0, 0);
    let mut draws = Draws::of(12);
    while let Some(i) = draws.next(struck > 0 && compared > 0) {
        let (thread, region, nth) = (rng.below(2), 1 + rng.below(2), 1 + rng.below(4));
        let kind = rng.pick(&["kill", "crash", "memerr"]);
        let (delay, replay) = (rng.pick(&["0", "20us"]), rng.pick(&["never", "proven"]));
        let spec = format!("{kind}@thread={thread},region={region},nth={nth},delay={delay},at=chunk");
        let within = folder("failures");
        let env = [("PROMP_FAULT", spec.as_str()), ("PROMP_REPLAY", replay)];
        let r = exact(&within, &exe, &["2", "plain"], &env);
        assert!(!r.hung && r.status == 0 && own(&r, &want) == want, "{i} {spec} {replay}: {}", r.err);
        struck += u32::from(r.err.contains(" failed ("));
        compared += u32::from(r.err.contains("executions from one state"));
    }
    assert!(struck > 0 && compared > 0, "{struck} {compared}");
}

/// The process is killed while ways are compared, at any place, and goes on from the checkpoint that they are
/// compared from: it has the program's memory, and no trials.
#[test]
fn killed_while_ways_are_compared() {
    let exe = build("tune/exact.c", &[]);
    let want = reference(&exe, &["3", "plain"], &[("OMP_NUM_THREADS", "2")]).out;
    let s = Scratch::new("exact-restarts");
    let (dir, out, tune) = (s.path("ckpt"), s.path("out"), s.path("app.tune"));
    let first = || {
        let mut c = Command::new(library().with_file_name("promp"));
        c.args(["run", "--threads", "2", "--tune"]).arg(&tune).arg("--ckpt").arg(&dir).arg("--").arg(&exe);
        c.args(["3", "plain"]);
        c
    };
    // As `promp tune --exact` does it.
    let set = |c: &mut Command| {
        c.env("PROMP_TUNE_EXACT", "on").env("PROMP_CKPT_INTERVAL", "1000h").env("PROMP_CKPT_KEEP", "1");
        c.env("PROMP_CKPT_COPY", "stopped").env("PROMP_CKPT_TRACK", "compare");
    };
    let (mut killed, mut round) = (0, 0);
    while killed < 3 * scale() {
        round += 1;
        assert!(round < 40 * scale(), "it ends before it is killed, each time");
        for f in [&out, &tune] {
            let _ = std::fs::remove_file(f);
        }
        let _ = std::fs::remove_dir_all(&dir);
        // Some time after the first checkpoint is whole, in one of some sixty executions of the first loop.
        let (mut whole, after) = (None, Duration::from_millis(round % 5 * 40));
        let due = std::cell::RefCell::new(&mut whole);
        let late = |since: Duration| {
            let mut whole = due.borrow_mut();
            if whole.is_none() && has_generation(&dir) {
                **whole = Some(since);
            }
            whole.is_some_and(|w| since >= w + after)
        };
        if start_with(first(), &out, Some(&late), set).is_some() {
            continue;
        }
        let compared = messages(&out).contains("executions from one state");
        let ended = start(restart(&dir), &out, None).expect("it ends");
        let err = messages(&out);
        assert!(went_well(ended, &err) && read(&out) == want, "{round}: {} {err}", read(&out));
        // From the checkpoint that was compared from it says so; from one before, there is nothing to say.
        assert!(compared || err.contains("restarted from checkpoint"), "{round}: {err}");
        if tune.exists() {
            let t = Tuning::read(&read(&tune)).expect("the file is whole");
            assert!(t.damaged.is_empty(), "{round}: {t:?}");
        }
        killed += u64::from(!compared);
    }
}

#[test]
fn what_it_needs_is_named() {
    let exe = build("tune/exact.c", &[]);
    let want = reference(&exe, &["1", "plain"], &[("OMP_NUM_THREADS", "2")]).out;
    for (env, says) in [
        (&[("PROMP_TUNE", "on")][..], "PROMP_TUNE_EXACT=on needs checkpoints to go back to"),
        (&[], "PROMP_TUNE_EXACT=on is ignored because PROMP_TUNE is off"),
    ] {
        let env = [&[("OMP_NUM_THREADS", "2"), ("PROMP_TUNE_EXACT", "on")], env].concat();
        let r = promp(&exe, &["1", "plain"], &env);
        assert_eq!((r.status, &r.out), (0, &want), "{}", r.err);
        assert!(r.err.contains(says), "{}", r.err);
    }
    let within = folder("off");
    let r = exact(&within, &exe, &["1", "plain"], &[("PROMP_FT", "off")]);
    assert!(r.status == 0 && r.err.contains("needs checkpoints to go back to"), "{}", r.err);
    // The program's own status, and a folder that is not there.
    let r = exact(&within.join("none"), &exe, &["1", "plain"], &[]);
    assert!(r.status == 74 && r.err.contains("--scratch"), "{}", r.err);
}
