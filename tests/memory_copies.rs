//! Checkpoints whose memory is copied while the program runs: by failures, deaths and restarts, and what must
//! not get in between.

use crate::common::draws::{Draws, here};
use crate::common::saved::*;
use crate::common::*;
use std::ffi::OsStr;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// Runs a program that takes a seed with as much copied while it runs as can be: with failures, then killed
/// -9 and restarted. Messages that the system must allow holding writes for contain each of `words` more
/// often than is said there.
fn copied_while_running<const N: usize>(source: &str, words: [(&str, usize); N]) {
    let exe = build(source, &[]);
    let s = Scratch::new(exe.file_name().and_then(OsStr::to_str).expect("a name"));
    let mut random = Seeded(5);
    let (mut back, mut said, mut restarts) = (0, [0; N], 0);
    let allowed = cli_says("copying while running");
    let enough = |said: &[usize; N]| said.iter().zip(words).all(|(&n, (_, least))| n > least);
    let mut draws = Draws::of(3);
    while let Some(seed) = draws.next(back > 3 && restarts > 3 && (enough(&said) || !allowed)) {
        let number = seed.to_string();
        let want = reference(&exe, &[&number], &[THREADS]);
        let kind = ["kill", "crash", "memerr"][seed as usize % 3];
        let fault = format!("{kind}@mtbf=150ms,seed={seed},count=5");
        let copy = ["running", "small"][seed as usize % 2];
        let set = [("PROMP_CKPT_INTERVAL", "20ms"), ("PROMP_CKPT_COPY", copy), ("PROMP_VERBOSE", "2")];
        let run = checkpointed(
            &exe,
            &[&number],
            &s.path("ckpt"),
            &[&[("PROMP_FAULT", &*fault)][..], &set].concat(),
        );
        assert!(!run.hung, "{fault} hung: {}", run.err);
        assert_eq!((run.status, &run.out), (0, &want.out), "{fault}: {}", run.err);
        back += run.err.matches("rolled back to checkpoint").count();
        for (said, (word, _)) in said.iter_mut().zip(words) {
            *said += run.err.matches(word).count();
        }
        let (dir, out) = (s.path("killed"), s.path("out"));
        let _ = fs::remove_dir_all(&dir);
        let first = || {
            let mut c = first_run(&exe, &[&number], &dir);
            c.envs(set);
            c
        };
        let (mut cmd, mut rounds) = (first(), 0);
        // At a time by which it would hardly have ended without checkpoints.
        let most = (here(want.took).as_millis() as u64).clamp(50, 500);
        loop {
            let wait = Duration::from_millis(most * 2 / 5 + random.below(most * 3 / 5));
            let due = |since| since > wait && has_generation(&dir);
            let kill: Option<&dyn Fn(Duration) -> bool> = if rounds < 3 { Some(&due) } else { None };
            if start_with(cmd, &out, kill, |_| ()).is_some() {
                break;
            }
            (rounds, restarts) = (rounds + 1, restarts + 1);
            cmd = restart(&dir);
        }
        let err = messages(&out);
        assert_eq!(fs::read_to_string(&out).unwrap(), want.out, "{number}: {err}");
    }
    assert!(back > 3 && restarts > 3, "{back} rollbacks, {restarts} restarts");
    if !allowed {
        eprintln!("SKIPPED: in part: no permission to hold writes of system calls here (userfaultfd)");
        return;
    }
    assert!(enough(&said), "{said:?} times, of checkpoints: {words:?}");
}

/// Large memory that changes as a whole is copied while the program runs, whatever happens to it meanwhile.
#[test]
fn memory_that_is_copied_while_the_program_runs() {
    copied_while_running("ckpt/running.c", [("looked at while it ran", 10), ("to slots made ready", 0)]);
}

/// Once only pages here and there change, writes to them do not wait for long.
#[test]
fn memory_that_changes_in_another_way_from_now_on() {
    copied_while_running("ckpt/regimes.c", [("noted page by page again", 1)]);
}

/// A SIGSEGV that was sent to the process, whose threads block it, is not for the hosts that copy memory and
/// must survive its being gone.
#[test]
fn a_signal_that_waits_while_memory_is_copied() {
    let s = Scratch::new("sent");
    let exe = build("ckpt/sent.c", &[]);
    let want = reference(&exe, &["64"], &[THREADS]);
    assert_eq!(want.out, "wrong 0 waits 1\n");
    let set = [("PROMP_CKPT_INTERVAL", "20ms"), ("PROMP_CKPT_COPY", "running"), ("PROMP_VERBOSE", "2")];
    let allowed = cli_says("copying while running");
    let (mut draws, mut seen, mut last) = (Draws::between(1, 20), 0, String::new());
    while draws.next(seen > 2 || !allowed).is_some() {
        let run = checkpointed(&exe, &["64"], &s.path("ckpt"), &set);
        assert_eq!((run.hung, run.status, &run.out), (false, 0, &want.out), "{}", run.err);
        seen += run.err.matches("looked at while it ran").count();
        last = run.err;
    }
    assert!(seen > 2 || !allowed, "{last}");
}

/// What `promp doctor` says of something.
fn cli_says(what: &str) -> bool {
    let out = Command::new(command()).args(["doctor", "--json"]).output().expect("the command runs").stdout;
    let all: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    let finding = all.as_array().and_then(|a| a.iter().find(|f| f["what"] == what)).expect("it is found");
    finding["ok"] == true
}
