//! The order in which a thread gets the chunks of a dynamic loop: increasing, as under libgomp, which programs
//! count on.

mod common;
use common::*;

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
