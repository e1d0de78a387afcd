//! Failures of the program's own that come back after every rollback: the run ends, and says why. Those that
//! come now and then are survived, however many they are.

mod common;
use common::saved::*;
use common::*;

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
    for when in ["same", "inside"] {
        let run = run("crash", when, &[]);
        assert_eq!((run.status, run.hung), (128 + libc::SIGSEGV, false), "{when}: {}", run.err);
        assert!(run.err.contains("the program's own error"), "{when}: {}", run.err);
    }
}

#[test]
fn a_wait_for_what_never_comes() {
    let run = run("wait", "same", &[("PROMP_WATCHDOG", "3ms")]);
    assert_eq!((run.status, run.hung), (70, false), "{}", run.err);
    assert!(run.err.contains("PROMP_WATCHDOG is too short"), "{}", run.err);
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
