//! Real deaths: kernel threads that are really gone, by their own system call, by a filter of system calls,
//! without libc. Each is found at once, and
//! recovered or refused; nothing hangs, and what is printed is right.

use crate::common::*;

/// Of 3 rounds.
const SUM: &str = "47988000\n";
const FOUR: (&str, &str) = ("OMP_NUM_THREADS", "4");
const ASSUME: (&str, &str) = ("PROMP_REPLAY", "assume");
const HOW: [&str; 3] = ["exit", "filter", "bare"];

fn run(how: &str, place: &str, which: &str, env: &[(&str, &str)]) -> Run {
    let flags: &[&str] = if env.iter().any(|v| v.0 == "ONCE") { &["-DONCE"] } else { &[] };
    let exe = build("ft/ended.c", flags);
    let r = promp(&exe, &[how, place, which], &[&[FOUR][..], env].concat());
    assert!(!r.hung, "{how} {place} {which} {env:?} hangs: {}", r.err);
    r
}

fn recovered(how: &str, place: &str, which: &str, env: &[(&str, &str)]) -> Run {
    let r = run(how, place, which, env);
    assert_eq!((r.status, &r.out[..]), (0, SUM), "{how} {place} {which} {env:?}: {}", r.err);
    assert!(r.err.contains("(ended)"), "{how} {place} {which} {env:?}: nobody died? {}", r.err);
    r
}

fn refused(how: &str, place: &str, which: &str, env: &[(&str, &str)], why: &str) {
    let r = run(how, place, which, env);
    assert_eq!((r.status, &r.out[..]), (70, ""), "{how} {place} {which} {env:?}: {}", r.err);
    assert!(r.err.contains(why), "{how} {place} {which} {env:?}: {}", r.err);
}

#[test]
fn chunks_of_ended_threads_are_executed_again() {
    for how in HOW {
        for which in ["1", "0", "123", "013"] {
            recovered(how, "chunk", which, &[ASSUME]);
        }
    }
    recovered("exit", "chunk", "1", &[ASSUME, ("OMP_WAIT_POLICY", "active")]);
    recovered("exit", "chunk", "1", &[ASSUME, ("OMP_WAIT_POLICY", "passive")]);
    recovered("exit", "chunk", "2", &[ASSUME, ("PROMP_WATCHDOG", "10s")]);
}

#[test]
fn other_work_of_ended_threads_is_executed_again() {
    for (place, which) in [("share", "2"), ("share", "0"), ("asleep", "1"), ("asleep", "0"), ("task", "2")] {
        recovered("exit", place, which, &[ASSUME]);
    }
    // Lists of words of other lengths, and more than can be slept on at once.
    for threads in ["20", "100", "200"] {
        recovered("exit", "asleep", "1", &[ASSUME, ("OMP_NUM_THREADS", threads)]);
    }
    recovered("filter", "nested", "1", &[ASSUME, ("OMP_MAX_ACTIVE_LEVELS", "2")]);
}

#[test]
fn what_cannot_be_executed_again_is_refused_at_once() {
    refused("exit", "chunk", "1", &[], "not known to be replayable");
    refused("exit", "chunk", "0", &[("PROMP_REPLAY", "never")], "not known to be replayable");
    refused("exit", "critical", "1", &[ASSUME], "a critical, ordered or lock section");
    refused("exit", "serial", "0", &[ASSUME], "serial work");
    refused("exit", "heap", "1", &[ASSUME], "where it was is not known");
    refused("exit", "always", "1", &[ASSUME], "each time it is executed");
    refused("exit", "libc", "1", &[ASSUME], "where it was is not known");
}

#[test]
fn without_fault_tolerance_the_program_stops_with_a_message() {
    for (place, which) in [("chunk", "1"), ("asleep", "0"), ("critical", "2"), ("serial", "0")] {
        refused("exit", place, which, &[("PROMP_FT", "off")], "has ended by itself");
    }
}

#[test]
fn checkpoints_help_where_work_cannot_be_executed_again() {
    for (how, place, which) in [
        ("exit", "chunk", "1"),
        ("filter", "critical", "2"),
        ("exit", "heap", "1"),
        ("exit", "serial", "0"),
        ("bare", "asleep", "0"),
        ("exit", "chunk", "0123"),
    ] {
        let scratch = saved::Scratch::new("deaths");
        let (once, ckpt) = (scratch.path("once"), scratch.path("ckpt"));
        std::fs::write(&once, "").expect("a file");
        std::fs::set_permissions(&once, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .expect("its own");
        let env = [("PROMP_CKPT_DIR", saved::text(&ckpt)), ("ONCE", saved::text(&once))];
        let r = recovered(how, place, which, &[&env[..], &[("PROMP_CKPT_INTERVAL", "50ms")]].concat());
        assert!(r.err.contains("rolled back"), "{how} {place} {which}: {}", r.err);
    }
}
