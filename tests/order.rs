//! The order in which a thread gets the chunks of a dynamic loop: increasing, as under libgomp, which
//! programs count on; with failures, too, where promp-cc has proved that work may be executed again.

use crate::common::draws::{Draws, spaced};
use crate::common::driven::*;
use crate::common::*;

#[test]
fn chunks_come_in_increasing_order() {
    let exe = build("constructs/order.c", &[]);
    for schedule in ["dynamic", "nonmonotonic:dynamic,2", "guided"] {
        for threads in ["1", "2", "3", "8"] {
            let env = [("OMP_NUM_THREADS", threads), ("OMP_SCHEDULE", schedule)];
            let want = reference(&exe, &[], &env);
            assert!(want.out.starts_with("0 chunks and 0 sections"), "libgomp: {want:?}");
            for mode in [("PROMP_FT", "off"), ("PROMP_FT", "on"), ("PROMP_REPLAY", "assume")] {
                let got = promp(&exe, &[], &[env[0], env[1], mode]);
                assert_eq!((got.status, &got.out), (0, &want.out), "{env:?} {mode:?}: {}", got.err);
            }
        }
    }
}

/// Runs until chunks were lost. What a thread carries from chunk to chunk is no reason to refuse: it executes
/// again what it has lost.
#[test]
fn lost_chunks_go_to_nobody_who_has_had_later_ones() {
    let Some(cc) = driver("promp-cc") else { return };
    let (exe, said) = driven_and_reported(&cc, "compiler/carried.c", &["-fpromp-report"]);
    let shared = |f: &str| said.lines().any(|l| l.contains(f) && l.contains("(shared)"));
    let loops =
        ["in_region", "combined", "guided", "free_of_order"].map(|f| shared(&format!("loop in {f}: ")));
    assert_eq!(loops, [false, false, false, true], "{said}");

    let want = reference(&exe, &["60"], &[("OMP_NUM_THREADS", "4")]);
    assert!(want.out.starts_with("0 chunks below"), "{want:?}");
    let mut draws = Draws::of(6);
    let mut lost = 0;
    while let Some(seed) = draws.next(lost >= 10) {
        let kind = ["kill", "crash"][seed as usize % 2];
        let spec = spaced(&format!("{kind}@mtbf=8ms,count=10,seed={seed}"));
        let got = promp(&exe, &["60"], &[("OMP_NUM_THREADS", "4"), ("PROMP_FAULT", &spec)]);
        assert!(!got.hung, "{spec} hung: {}", got.err);
        let right = (got.status, &got.out) == (0, &want.out) || got.was_in_serial_work();
        assert!(right, "{spec}: {got:?}");
        lost += got.err.matches("recomputed by").count();
    }
    assert!(lost > 0, "no chunk was lost");
}
