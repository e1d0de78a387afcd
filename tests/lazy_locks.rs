//! Functions for locks that the loader looks up at their first call, which a checkpoint and another host come
//! into.

use crate::common::saved::*;
use crate::common::*;

#[test]
fn locks_are_held_on_another_host_whoever_looks_for_their_functions() {
    let exe = build("locks/lazy.c", &["-Wl,-z,lazy"]);
    let want = reference(&exe, &[], &[]);
    assert_eq!((want.status, want.out.as_str()), (0, "struck 6\nkept\n"), "{want:?}");
    let s = Scratch::new("lazy");
    let r = checkpointed(&exe, &[], &s.path("ckpt"), &[("PROMP_CKPT_INTERVAL", "10ms")]);
    assert!(r.status == 0 && r.out.ends_with("kept\n") && !r.out.contains("not kept"), "{r:?}");
}

#[test]
fn locks_are_held_in_another_process_whoever_looks_for_their_functions() {
    let exe = build("locks/lazy.c", &["-Wl,-z,lazy"]);
    let s = Scratch::new("lazy-restarts");
    let (dir, folder) = (s.path("ckpt"), s.path("died"));
    std::fs::create_dir(&folder).expect("a folder");
    let env = [("PROMP_CKPT_INTERVAL", "10ms"), ("LAZY_DIES", text(&folder))];
    let mut r = checkpointed(&exe, &[], &dir, &env);
    let mut restarts = 0;
    while r.status == 128 + libc::SIGKILL && restarts < 10 {
        r = limited(restart(&dir), LIMIT);
        restarts += 1;
    }
    assert_eq!((r.status, restarts), (0, 6), "{r:?}");
    assert!(r.out.ends_with("kept\n") && !r.out.contains("not kept"), "{r:?}");
}
