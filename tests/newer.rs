//! What compilers newer than the machine's own call: their static loops, reductions and barriers, by the
//! calls that they emit; the routines that they know. (With these compilers themselves: tools/compilers.py.)

use crate::common::draws::Draws;
use crate::common::*;
use std::path::PathBuf;

/// Functions that the machine's own libgomp may lack: the library has them.
fn program(source: &str) -> PathBuf {
    let dir = library().parent().expect("a folder").display().to_string();
    build(
        source,
        &[
            "-Wl,--no-as-needed",
            &format!("-L{dir}"),
            "-lpromp",
            "-Wl,--disable-new-dtags",
            &format!("-Wl,-rpath,{dir}"),
        ],
    )
}

const MODES: [(&str, &str); 4] =
    [("PROMP_FT", "on"), ("PROMP_FT", "off"), ("PROMP_REPLAY", "assume"), ("OMP_CANCELLATION", "true")];

#[test]
fn static_loops_are_dealt_to_all_threads() {
    let exe = program("newer/dealt.c");
    let one = promp(&exe, &[], &[("OMP_NUM_THREADS", "1"), ("PROMP_FT", "off")]);
    assert_eq!(one.status, 0, "{one:?}");
    assert!(one.out.contains("singles 12 teams 50100\nmasked right scopes right"), "{one:?}");
    for threads in ["1", "2", "3", "8"] {
        for mode in MODES {
            let run = promp(&exe, &[], &[("OMP_NUM_THREADS", threads), mode]);
            assert_eq!((run.status, &run.out), (0, &one.out), "{threads} {mode:?}: {}", run.err);
        }
    }
}

/// A share is begun again by its own logical thread, whichever loop it is of and whatever has been merged
/// before.
#[test]
fn a_lost_share_is_repeated() {
    let exe = program("newer/dealt.c");
    let want = promp(&exe, &[], &[("OMP_NUM_THREADS", "4"), ("PROMP_FT", "off")]).out;
    let (mut repeated, mut draws) = (0, Draws::between(4, 80));
    while let Some(n) = draws.next(repeated >= 8) {
        let thread = n % 4;
        for nth in [1, 2, 3, 9] {
            for delay in ["0us", "60us", "300us"] {
                let fault = format!("kill@thread={thread},region=3,at=chunk,nth={nth},delay={delay}");
                let env =
                    [("OMP_NUM_THREADS", "4"), ("PROMP_REPLAY", "assume"), ("PROMP_FAULT", fault.as_str())];
                let run = promp(&exe, &[], &env);
                assert_eq!((run.status, &run.out), (0, &want), "{fault}: {}", run.err);
                repeated += usize::from(run.err.contains("a static loop, a share of"));
            }
        }
    }
    assert!(repeated >= 8, "{repeated} struck in a share");
}

#[test]
fn a_lost_share_is_refused_where_nobody_vouches() {
    let exe = program("newer/dealt.c");
    let refused = (0..200).find_map(|n| {
        let fault = format!("kill@thread=1,region=2,at=chunk,delay={}us", 10 + 30 * (n % 8));
        let env = [("OMP_NUM_THREADS", "4"), ("PROMP_FAULT", fault.as_str())];
        Some(promp(&exe, &[], &env)).filter(|run| run.status == 70)
    });
    let run = refused.expect("one of them strikes in the share");
    let line =
        "thread 1 failed (kill) in region 2, a static loop, a share of 1000 iterations in work not known";
    assert!(run.err.contains(line), "{}", run.err);
}

#[test]
fn routines() {
    let run = promp(&program("newer/routines.c"), &[], &[]);
    assert_eq!((run.status, run.out.as_str()), (0, "right\n"), "{run:?}");
}

#[test]
fn all_memory_is_every_address() {
    let exe = build("newer/all_memory.c", &[]);
    for threads in ["1", "2", "4", "8"] {
        let run = promp(&exe, &[], &[("OMP_NUM_THREADS", threads)]);
        assert_eq!((run.status, run.out.as_str()), (0, "right\n"), "{threads}: {run:?}");
    }
}

#[test]
fn maps_as_newer_compilers_write_them() {
    let exe = build("newer/maps.c", &[]);
    for devices in ["none", "separate", "separate,guard"] {
        let how = if devices == "none" { "host" } else { "device" };
        let run = promp(&exe, &[how], &[("PROMP_DEVICES", devices)]);
        assert_eq!((run.status, run.out.as_str()), (0, "right\n"), "{devices}: {}", run.err);
        for what in ["map", "update", "exit"] {
            let run = promp(&exe, &[what], &[("PROMP_DEVICES", devices)]);
            if devices == "none" {
                assert_eq!((run.status, run.out.as_str()), (0, "right\n"), "{what}: {}", run.err);
            } else {
                let says = "present clause: not present on the device";
                assert!(run.status == 70 && run.err.contains(says), "{what}: {run:?}");
            }
        }
    }
}
