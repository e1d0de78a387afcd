//! Filters of system calls (seccomp): a checkpoint of a thread that has one says that it is for rollbacks
//! only, which a restart finds, too. What the process began with is its surroundings' affair.

use crate::common::saved::*;
use crate::common::*;

const SAYS: &str = "for rollbacks only, a restart is refused: a thread has a filter of system calls";

#[test]
fn checkpoints_say_what_restarts_refuse() {
    let s = Scratch::new("filtered");
    let exe = build("ckpt/filtered.c", &[]);
    for (from, how) in [("0", "all"), ("30", "all"), ("0", "one"), ("30", "one")] {
        // Long enough for a checkpoint with the filter, beside other work, too.
        let args = ["240", from, how];
        let want = reference(&exe, &args, &[THREADS]);
        assert_eq!(want.status, 0, "{want:?}");
        let dir = s.path("ckpt");
        let (every, verbose) = (("PROMP_CKPT_INTERVAL", "20ms"), ("PROMP_VERBOSE", "1"));
        let run = checkpointed(&exe, &args, &dir, &[every, verbose]);
        assert_eq!((run.status, &run.out), (0, &want.out), "{args:?}: {}", run.err);
        assert_eq!(run.err.matches(SAYS).count(), 1, "{args:?}: {}", run.err);
        // Rolled back it goes on all the same.
        let fault = ("PROMP_FAULT", "crash@region=45,thread=1");
        let run = checkpointed(&exe, &args, &dir, &[every, verbose, fault]);
        assert!(too_early(&run) || (run.status, &run.out) == (0, &want.out), "{args:?}: {run:?}");
    }
    // Without one nothing is said.
    let run = checkpointed(&exe, &["60", "99"], &s.path("ckpt"), &[("PROMP_VERBOSE", "1")]);
    assert!(run.status == 0 && !run.err.contains("filter"), "{}", run.err);
}

/// Killed while it has one: the restart refuses what was said.
#[test]
fn restarts_refuse_what_checkpoints_say() {
    let s = Scratch::new("filtered-restart");
    let exe = build("ckpt/filtered.c", &[]);
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    // The one of which it is said is not whole yet then.
    let said = || promp_image::generation_files(&dir).len() > 1 && messages(&out).contains(SAYS);
    let newest = || promp_image::generation_files(&dir).first().copied().unwrap_or(0);
    let since = std::cell::Cell::new(u64::MAX);
    let is_whole = || {
        if since.get() == u64::MAX && said() {
            since.set(newest());
        }
        newest() > since.get()
    };
    let ended = start_with(first_run(&exe, &["100000", "0"], &dir), &out, Some(&|_| is_whole()), |c| {
        c.env("PROMP_VERBOSE", "1");
    });
    assert!(ended.is_none(), "{}", messages(&out));
    refused(restart(&dir), &s.path("again"), "filter of system calls");
}
