//! Locks of the program's: work that holds one is not repeated, though the user vouches for it. It is
//! refused, and the message names the lock; with a checkpoint the ladder goes on to it. Never a hang.

use crate::common::draws::Draws;
use crate::common::saved::*;
use crate::common::*;
use std::path::Path;

#[test]
fn work_that_holds_a_lock_is_not_repeated() {
    let exe = build("locks/sections.c", &[]);
    for how in ["mutex", "checking", "writer", "c11"] {
        is_not_repeated(&exe, how, "holds a lock of the program's");
    }
}

/// Spin locks, semaphores, read locks, static variables in the making: nobody notes who holds them.
#[test]
fn work_that_may_hold_a_lock_without_an_owner_is_not_repeated() {
    let exe = build("locks/sections.c", &[]);
    for how in ["spin", "post", "reader"] {
        is_not_repeated(&exe, how, "of which nobody notes who holds it");
    }
    is_not_repeated(&build("locks/first.cpp", &[]), "", "of which nobody notes who holds it");
}

/// Killed in work that holds a lock, the program is refused (`why`) or goes back to a checkpoint; it is right
/// otherwise.
fn is_not_repeated(exe: &Path, how: &str, why: &str) {
    let s = Scratch::new(&format!("locks-{how}"));
    let want = reference(exe, &[how], &[THREADS]);
    let (mut refused, mut back) = (0, 0);
    let mut draws = Draws::between(scale(), 40 * scale());
    while let Some(seed) = draws.next(refused >= 1 && back >= 1) {
        let fault = format!("kill@mtbf=4ms,count=6,seed={seed}");
        let env = [THREADS, ("PROMP_REPLAY", "assume"), ("PROMP_FAULT", &fault)];
        let run = promp(exe, &[how], &env);
        assert!(!run.hung, "{how}, {fault}: {run:?}");
        if run.status == 70 {
            refused += usize::from(run.err.contains(why));
        } else {
            assert_eq!((run.status, &run.out), (0, &want.out), "{how}, {fault}: {}", run.err);
        }
        let extra = [("PROMP_REPLAY", "assume"), ("PROMP_CKPT_INTERVAL", "10ms"), ("PROMP_FAULT", &fault)];
        let run = checkpointed(exe, &[how], &s.path("ckpt"), &extra);
        let before_the_first = run.status == 70 && run.err.contains("no checkpoint to return to");
        let right = (run.status, &run.out) == (0, &want.out);
        assert!(before_the_first || right, "{how}, {fault}: {run:?}");
        back += run.err.matches("rolled back").count();
    }
    assert!(refused >= 1 && back >= 1, "{how}: {refused} refused, {back} rolled back");
}
