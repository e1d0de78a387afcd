//! Failures of the program's own that come back after every rollback: the run ends, and says why. Those that
//! come now and then are survived, however many they are.

use crate::common::saved::*;
use crate::common::*;

fn run(how: &str, when: &str, more: &[(&str, &str)]) -> Run {
    let s = Scratch::new(&format!("again-{how}-{when}"));
    let exe = build("ckpt/again.c", &[]);
    let extra = [&[("PROMP_CKPT_INTERVAL", "20ms")], more].concat();
    checkpointed(&exe, &[how, when], &s.path("ckpt"), &extra)
}

#[test]
fn a_thread_that_ends_itself_each_time() {
    for when in ["same", "inside"] {
        let run = run("exit", when, &[]);
        assert_eq!((run.status, run.hung, run.out.as_str()), (70, false, ""), "{when}: {}", run.err);
        assert!(run.err.contains("without progress: this is the program's own doing"), "{when}: {}", run.err);
        let back = run.err.matches("rolled back to checkpoint").count();
        assert!((10..=50).contains(&back), "{when}: {back}");
    }
}

/// By a filter of system calls: where the new host cannot have it, the first rollback is the last.
#[test]
fn a_thread_that_a_filter_ends_each_time() {
    for when in ["same", "inside"] {
        let run = run("filter", when, &[]);
        assert_eq!((run.status, run.hung, run.out.as_str()), (70, false, ""), "{when}: {}", run.err);
        let reasons = ["without progress", "a filter of system calls (seccomp), which cannot be put back"];
        assert!(reasons.iter().any(|why| run.err.contains(why)), "{when}: {}", run.err);
    }
}

#[test]
fn one_that_ends_itself_now_and_then() {
    let mut back = 0;
    for _ in 0..3 {
        let run = run("exit", "random", &[]);
        if too_early(&run) {
            continue;
        }
        assert_eq!((run.status, run.out.as_str()), (0, "14280\n"), "{}", run.err);
        back += run.err.matches("rolled back to checkpoint").count();
    }
    assert!(back >= 5, "{back} failures only");
}

#[test]
fn a_crash_ends_by_its_signal() {
    let (segv, bus, fpe) = (libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE);
    for (how, when, signal) in [
        ("crash", "same", segv),
        ("crash", "inside", segv),
        ("bus", "same", bus),
        ("bus", "inside", bus),
        ("divide", "same", fpe),
        ("divide", "inside", fpe),
    ] {
        let run = run(how, when, &[]);
        assert_eq!((run.status, run.hung), (128 + signal, false), "{how} {when}: {}", run.err);
        assert!(run.err.contains("the program's own error"), "{how} {when}: {}", run.err);
    }
}

#[test]
fn a_wait_for_what_never_comes() {
    for when in ["same", "inside"] {
        let run = run("wait", when, &[("PROMP_WATCHDOG", "3ms")]);
        assert_eq!((run.status, run.hung), (70, false), "{when}: {}", run.err);
        assert!(run.err.contains("PROMP_WATCHDOG is too short"), "{when}: {}", run.err);
    }
}

/// As many as the user asks for.
#[test]
fn injected_failures_are_not_counted() {
    let fault = "kill@mtbf=5ms,count=70,seed=3";
    let run = run("none", "inside", &[("PROMP_FAULT", fault), ("PROMP_REPLAY", "never")]);
    if !too_early(&run) {
        assert_eq!((run.status, run.out.as_str()), (0, "14280\n"), "{}", run.err);
    }
}
