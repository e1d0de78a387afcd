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
