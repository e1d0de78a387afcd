//! Every construct, under promp and under libgomp: the same output on any number of threads, with fault tolerance on and off,
//! and with private state saved.

use crate::common::*;
use promp_settings::schedules::Sched;

fn same(source: &str, extra: &[(&str, &str)]) {
    let exe = build(source, &[]);
    for threads in ["1", "2", "3", "8"] {
        let mut env = extra.to_vec();
        env.push(("OMP_NUM_THREADS", threads));
        let want = reference(&exe, &[], &env);
        assert_eq!(want.status, 0, "{source} under libgomp: {}", want.err);
        for mode in [&[("PROMP_FT", "off")][..], &[("PROMP_FT", "on")], &[("PROMP_REPLAY", "assume")]] {
            let mut env = env.clone();
            env.extend(mode);
            let got = promp(&exe, &[], &env);
            assert!(!got.hung, "{source} {env:?} hung");
            assert_eq!((got.status, &got.out), (0, &want.out), "{source} {env:?}: {}", got.err);
        }
    }
}

#[test]
fn parallel() {
    same("constructs/parallel.c", &[]);
}

/// What regions are set up from changes from one to the next, and not what is kept for the next one.
#[test]
fn regions_that_differ() {
    same("constructs/setup.c", &[]);
    for (name, value) in [
        ("OMP_CANCELLATION", "true"),
        ("OMP_PROC_BIND", "spread"),
        ("OMP_PROC_BIND", "primary,close"),
        ("OMP_NUM_THREADS", "3,2"),
    ] {
        same("constructs/setup.c", &[(name, value)]);
    }
}

#[test]
fn loops() {
    // libgomp takes its default for kinds of our own: the output is the same.
    let kinds = Sched::ALL.iter().map(|k| k.word());
    for schedule in kinds.chain(["dynamic,3", "monotonic:dynamic", "static,2"]) {
        same("constructs/loops.c", &[("OMP_SCHEDULE", schedule)]);
    }
}

#[test]
fn loops_in_batches() {
    same("constructs/batches.c", &[]);
    same("constructs/batches.c", &[("PROMP_REPLAY", "assume")]);
}

/// How iterations are dealt to a taskloop's tasks, and what each of these is by itself.
#[test]
fn taskloops() {
    same("constructs/taskloops.c", &[]);
    same("constructs/taskloops.c", &[("OMP_CANCELLATION", "true"), ("OMP_MAX_TASK_PRIORITY", "5")]);
}

#[test]
fn doacross() {
    same("constructs/doacross.c", &[]);
    same("constructs/doacross.c", &[("OMP_WAIT_POLICY", "passive"), ("OMP_SCHEDULE", "static,3")]);
}

#[test]
fn synchronisation() {
    same("constructs/sync.c", &[]);
    same("constructs/sync.c", &[("OMP_WAIT_POLICY", "passive")]);
}

#[test]
fn tasks() {
    same("constructs/tasks.c", &[("OMP_MAX_TASK_PRIORITY", "10")]);
}

/// Barriers of members that come and go: the ways for two members, for more, with tasks and with cancellation, one after the other.
#[test]
fn regions_of_changing_size() {
    for (variable, value) in
        [("OMP_CANCELLATION", "false"), ("OMP_CANCELLATION", "true"), ("OMP_WAIT_POLICY", "passive")]
    {
        same("constructs/sizes.c", &[(variable, value)]);
    }
}

#[test]
fn tasks_executed_at_once() {
    for threads in ["1", "2", "4"] {
        same("constructs/included.c", &[("OMP_NUM_THREADS", threads)]);
    }
    same("constructs/included.c", &[("OMP_CANCELLATION", "true")]);
    same("constructs/included.c", &[("PROMP_REPLAY", "assume")]);
}

#[test]
fn cancellation() {
    same("constructs/cancel.c", &[("OMP_CANCELLATION", "true")]);
    same("constructs/cancel.c", &[]);
}

#[test]
fn cplusplus() {
    same("constructs/classes.cpp", &[]);
}

/// What falls back to another allocator is aligned as the one that was asked has promised. (libgomp's is
/// not.)
#[test]
fn allocators_keep_their_alignment_where_they_fall_back() {
    let run = promp(&build("constructs/fallback.c", &[]), &[], &[]);
    assert_eq!((run.status, run.out.as_str()), (0, "aligned\n"), "{}", run.err);
}

#[test]
fn fortran() {
    same("constructs/routines.f90", &[]);
}

const OPENACC: [&str; 3] = ["-fno-openmp", "-fopenacc", "-foffload=disable"];

#[test]
fn openacc_events() {
    let exe = build("constructs/openacc_events.c", &OPENACC);
    for first in 0..=22 {
        let args = [&*first.to_string()];
        let (want, got) = (reference(&exe, &args, &[]), promp(&exe, &args, &[]));
        assert_eq!((got.status, &got.out), (want.status, &want.out), "{first}: {}", got.err);
        assert!(want.out.contains("\nend "), "{want:?}");
    }
}

/// Case by case as under libgomp; where that one crashes or fails an assertion, promp must not.
#[test]
fn openacc_routines() {
    let exe = build("constructs/openacc_api.c", &OPENACC);
    let cases = |out: &str| -> Vec<String> { out.split('@').skip(1).map(|c| c.trim().into()).collect() };
    for env in [
        &[][..],
        &[("ACC_DEVICE_TYPE", "host")],
        &[("ACC_DEVICE_TYPE", "nvidia")],
        &[("ACC_DEVICE_TYPE", "bogus")],
        &[("ACC_DEVICE_NUM", "1")],
    ] {
        // The addresses in messages are the same without randomisation.
        let run = |preload: bool| {
            let mut c = std::process::Command::new("setarch");
            c.arg("-R")
                .arg("env")
                .args(preload.then(|| format!("LD_PRELOAD={}", library().display())))
                .arg(&exe)
                .envs(env.iter().copied());
            limited(c, LIMIT)
        };
        let (want, got) = (run(false), run(true));
        let (want, got) = (cases(&want.out), cases(&got.out));
        let mut compared = 0;
        for (w, g) in want.iter().zip(&got) {
            let crashed = [" status 6", " status b", " status e"].iter().any(|s| w.ends_with(s));
            if crashed {
                assert!(g.ends_with(" status 100") || !g.contains("status"), "{g}");
            } else {
                assert_eq!(w, g, "{env:?}");
                compared += 1;
            }
        }
        assert!(want.len() == got.len() && compared > 100, "{} {} {compared}", want.len(), got.len());
    }
}

#[test]
fn kernels_verify() {
    let kernels = ["ep", "cg", "mg", "ft", "is"];
    let of = |language: &str| kernels.map(|k| format!("npb/{k}.{language}"));
    for source in [&of("c")[..], &of("f90")[..], &["npb/bt.c".to_string()][..]].concat() {
        for flags in [&[][..], &["-DDYNAMIC=4"]] {
            let run = promp(&build(&source, flags), &["S"], &[("OMP_NUM_THREADS", "4")]);
            let verified = run.status == 0 && run.out.contains("verification successful");
            assert!(verified, "{source} {flags:?}: {run:?}");
        }
    }
}
