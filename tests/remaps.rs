//! Memory that is moved (mremap, in its kinds) goes back in rollbacks and restarts, and nothing of it is
//! taken for unchanged.

use crate::common::saved::*;
use crate::common::*;

#[test]
fn moved_memory_goes_back() {
    let s = Scratch::new("remaps");
    let exe = build("ckpt/remaps.c", &[]);
    let want = reference(&exe, &["40"], &[THREADS]);
    assert_eq!(want.status, 0, "{want:?}");
    let mut came = 0;
    for (i, track) in ["auto", "compare", "auto", "compare"].into_iter().enumerate() {
        for fault in ["memerr@mtbf=60ms,count=4,seed=", "die@mtbf=80ms,count=4,seed="] {
            let fault = format!("{fault}{i}");
            let mut c = dying(&s.path("ckpt"), &["--every", "20ms"], &fault);
            c.arg(&exe).arg("40").env("PROMP_CKPT_TRACK", track);
            let run = limited(c, LIMIT);
            if too_early(&run) {
                continue;
            }
            assert_eq!((run.status, &run.out), (0, &want.out), "{track} {fault}: {}", run.err);
            came += run.err.matches("rolled back").count() + run.err.matches("continuing from").count();
        }
    }
    assert!(came > 0, "nothing went back");
}
