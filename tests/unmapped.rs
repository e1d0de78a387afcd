//! The guard of *separate* finds what is not mapped whoever uses it: teams, threads, tasks, OpenACC's loops.

use crate::common::*;

const GUARD: (&str, &str) = ("PROMP_DEVICES", "separate,guard");

/// Stopped, with the line that says so; without the guard the host's memory is used.
fn is_found(exe: &std::path::Path, args: &[&str], threads: &str, did: &str) {
    let env = [("OMP_NUM_THREADS", threads), ("OMP_MAX_ACTIVE_LEVELS", "2"), GUARD];
    let r = promp(exe, args, &env);
    let words = format!("guard: a target region has {did} host memory");
    assert!(r.status == 70 && r.err.contains(&words), "{args:?}: {} {}{}", r.status, r.out, r.err);
    let free = promp(exe, args, &[env[0], env[1], ("PROMP_DEVICES", "separate")]);
    assert_eq!(free.status, 0, "{args:?} without guard: {}", free.err);
}

#[test]
fn whoever_uses_it() {
    let exe = build("device/unmapped.c", &[]);
    for who in ["league", "teams", "parallel", "simd", "last", "nested", "task", "behind", "written"] {
        for threads in ["1", "3"] {
            let did = if who == "written" { "written" } else { "read" };
            is_found(&exe, &[who], threads, did);
            is_found(&exe, &[who, "threads are there"], threads, did);
        }
    }
}

#[test]
fn loops_of_openacc() {
    let exe = build("device/unmapped.c", &["-fno-openmp", "-fopenacc"]);
    for who in ["loop", "kernels"] {
        is_found(&exe, &[who], "3", "read");
    }
}

/// Many threads at once come to a region that needs them, and nothing is said of a right program.
#[test]
fn what_is_right_stays_right() {
    let exe = build("device/unmapped.c", &[]);
    for (who, want) in [("right", "1000"), ("beside", "3e+06")] {
        for threads in ["1", "2", "9"] {
            for _ in 0..5 {
                let r = promp(&exe, &[who], &[("OMP_NUM_THREADS", threads), GUARD]);
                assert_eq!((r.status, r.out.trim(), r.err.as_str()), (0, want, ""), "{who} {threads}");
            }
        }
    }
}

/// A library needs the heap in the region: not all of it is looked at, and that is said.
#[test]
fn what_is_not_looked_at_is_said() {
    let exe = build("device/unmapped.c", &[]);
    let r = promp(&exe, &["library"], &[GUARD]);
    assert_eq!((r.status, r.out.trim()), (0, "1"), "{}", r.err);
    assert!(r.err.contains("a library's function has used the heap in a target region"), "{}", r.err);
}
