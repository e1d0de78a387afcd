//! Several threads end the program at once. One of them ends the process, and its status is in the end record
//! (docs/internals/jobs.md): what was printed is not printed again.

use crate::common::jobs::run;
use crate::common::saved::Scratch;
use crate::common::*;

/// Runs the program, and once more: the second time it has ended, as it did the first time.
fn ends_once(s: &Scratch, threads: &str, how: &str) {
    let exe = build("jobs/exits.c", &["-pthread"]);
    let dir = s.path("ckpt");
    let _ = std::fs::remove_dir_all(&dir);
    let job = || limited(run(&dir, &["--resume", "--every", "20ms"], &exe, &[threads, how]), LIMIT);
    let first = job();
    let ended = promp_image::Directory::open(&dir).ok().and_then(|d| d.ended());
    assert_eq!(ended.map(|e| e.status), Some(first.status), "{threads} {how}: {}", first.err);
    assert_eq!(first.out, "ends 1\n", "{threads} {how}: {}", first.err);
    let again = job();
    assert_eq!((again.status, again.out.as_str()), (first.status, ""), "{threads} {how}: {}", again.err);
    assert!(again.err.contains("has ended by itself"), "{threads} {how}: {}", again.err);
}

#[test]
fn threads_that_exit_at_once() {
    let s = Scratch::new("exits");
    for threads in ["1", "2", "8", "16"] {
        for how in ["", "later", "at", "last"] {
            ends_once(&s, threads, how);
        }
    }
}

#[test]
fn threads_that_exit_while_main_returns() {
    let s = Scratch::new("exits-main");
    for threads in ["1", "2", "8"] {
        for how in ["main", "main later", "main at", "main last", "main later at last"] {
            ends_once(&s, threads, how);
        }
    }
}

#[test]
fn threads_that_end_the_process_at_once() {
    let s = Scratch::new("exits-now");
    for threads in ["2", "8"] {
        for how in ["_exit", "_exit later", "_exit region", "region", "region last"] {
            ends_once(&s, threads, how);
        }
    }
}
