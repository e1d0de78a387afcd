//! Memory that is mapped, locked and guarded in unusual ways, through rollbacks and restarts.

use crate::common::kept::*;
use crate::common::saved::*;
use crate::common::*;

/// Rollbacks and restarts of `exe`; not where the system has no such thing.
fn goes_on(source: &str, how: &[&str]) {
    let exe = build(source, &[]);
    let want = reference(&exe, &[&["3"], how].concat(), &[]);
    if want.out.contains("not here") {
        println!("SKIPPED: {source} {how:?}: the system does not have it");
        return;
    }
    kept(&want, "without promp");
    kept_throughout(&exe, &[&["1000"], how].concat(), 2, |seed| [300 + 10 * (seed % 50), 800], "60ms");
}

#[test]
fn guards_in_locked_memory_are_put_back() {
    goes_on("ckpt/guards_locked.c", &[]);
}

#[test]
fn memory_that_grows_downwards_is_put_back() {
    goes_on("ckpt/mapped.c", &["down"]);
    goes_on("ckpt/mapped.c", &["down-more"]);
}

#[test]
fn droppable_memory_is_put_back() {
    goes_on("ckpt/mapped.c", &["droppable"]);
    goes_on("ckpt/mapped.c", &["droppable-more"]);
}

/// What nobody but the program may read is in no checkpoint: that is said, and it goes on.
#[test]
fn secret_memory_is_refused() {
    let exe = build("ckpt/mapped.c", &[]);
    if reference(&exe, &["3", "secret"], &[]).out.contains("not here") {
        println!("SKIPPED: the system has no memfd_secret");
        return;
    }
    for how in ["secret", "secret-more"] {
        let s = Scratch::new(how);
        let r = checkpointed(&exe, &["6000", how], &s.path("ckpt"), &[("PROMP_CKPT_INTERVAL", "15ms")]);
        kept(&r, how);
        assert!(r.err.contains("no checkpoint now: nobody but the program may read"), "{how}: {}", r.err);
    }
}
