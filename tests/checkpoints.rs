//! Checkpoints: rollbacks in process, restarts after SIGKILL.

use crate::common::draws::{Draws, here};
use crate::common::saved::*;
use crate::common::*;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The programs of the sweeps, with arguments that make them run for a few tenths of a second.
fn programs() -> Vec<(PathBuf, Vec<&'static str>)> {
    let mut v = Vec::new();
    for k in ["ep", "cg", "mg", "ft", "is"] {
        for language in ["c", "f90"] {
            for flags in [&[][..], &["-DDYNAMIC=8"]] {
                v.push((build(&format!("npb/{k}.{language}"), flags), vec!["W"]));
            }
        }
    }
    v.push((build("ft/jacobi.c", &[]), vec!["600", "1500"]));
    v.push((build("ft/wavefront.c", &[]), vec!["1200"]));
    v.push((build("ft/tasktree.c", &[]), vec!["13"]));
    v.push((build("ft/update.c", &[]), vec!["120"]));
    v.push((build("ckpt/scattered.c", &[]), vec![]));
    v.push((build("ckpt/memory.c", &[]), vec!["7"]));
    v.push((build("ckpt/regimes.c", &[]), vec!["3"]));
    v.push((build("ckpt/loading.c", &[]), vec!["31"]));
    v.push((build("ckpt/own.c", &[]), vec!["600"]));
    v.push((build("ckpt/tls.c", &[]), vec!["400"]));
    v.push((build("ckpt/anonymous.c", &[]), vec!["150"]));
    v.push((build("ckpt/waits.c", &[]), vec!["200"]));
    v.push((build("ckpt/recursive.c", &[]), vec!["150"]));
    v.push((build("ckpt/ids.c", &[]), vec!["400"]));
    v.push((build("ckpt/semaphores.c", &[]), vec!["150"]));
    v.push((build("ckpt/shared.c", &[]), vec!["150"]));
    v.push((build("ckpt/short.c", &[]), vec!["150"]));
    v.push((build("ckpt/attributes.c", &[]), vec!["100"]));
    v.retain(|(exe, _)| is_asked_for(exe));
    v
}

/// Whose threads are saved: some of [`programs`] have threads of their own.
fn threads(exe: &Path) -> (&'static str, &'static str) {
    let own = ["own_c", "anonymous_c", "ids_c", "waits_c"].iter().any(|name| text(exe).contains(name));
    ("PROMP_CKPT_THREADS", if own { "inside" } else { "team" })
}

/// What a program prints without failures, under libgomp: the wavefront by one thread, since by several it takes libgomp a hundred times as long.
fn failure_free(exe: &Path, args: &[&str]) -> Run {
    let threads = if text(exe).contains("wavefront") { ("OMP_NUM_THREADS", "1") } else { THREADS };
    reference(exe, args, &[threads])
}

/// Every program, killed, crashed and with lost memory at random times: the answer is the failure-free one. At the default
/// PROMP_REPLAY=proven nothing is executed again without a rollback. With PROMP_TEST_POISON=1 some do without
/// what is dead.
#[test]
fn rollbacks() {
    let s = Scratch::new("rollbacks");
    let (mut back, mut left_out, report) = (0, 0, s.path("report"));
    let programs = programs();
    let wanted: Vec<Run> = programs.iter().map(|(exe, args)| failure_free(exe, args)).collect();
    let mut draws = Draws::sweep(3, 200, 200);
    while let Some(seed) = draws.next(back > 20 && (left_out > 0 || !poison())) {
        for ((exe, args), want) in programs.iter().zip(&wanted) {
            let kind = ["kill", "crash", "memerr"][seed as usize % 3];
            let fault = format!("{kind}@mtbf=60ms,seed={seed},count=4");
            let mut set = vec![("PROMP_FAULT", &*fault), threads(exe)];
            if poison() {
                set.extend([("PROMP_REPORT", text(&report)), ("PROMP_CKPT_INTERVAL", "20ms")]);
            }
            let run = checkpointed(exe, args, &s.path("ckpt"), &set);
            assert!(!run.hung, "{} {fault} hung: {}", exe.display(), run.err);
            assert_eq!((run.status, &run.out), (0, &want.out), "{} {fault}: {}", exe.display(), run.err);
            assert!(!proof_was_wrong(&run), "{} {fault}: {}", exe.display(), run.err);
            back += run.err.matches("rolled back to checkpoint").count();
            if let Ok(report) = fs::read(&report) {
                let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
                let all = report["checkpoints"].as_array().expect("a list");
                left_out += all.iter().filter(|c| c["left_out"].as_u64() > Some(0)).count();
            }
        }
        println!("seed {seed}: {back} rollbacks so far, {left_out} without what is dead");
    }
    assert!(left_out > 0 || !poison(), "nothing is left out of any checkpoint");
    assert!(back > 20, "only {back} rollbacks: the faults do not strike");
}

/// The same with the tracker that compares.
#[test]
fn rollbacks_without_the_kernels_help() {
    let s = Scratch::new("compare");
    let exe = build("npb/mg.c", &[]);
    let want = reference(&exe, &["W"], &[THREADS]);
    let (mut draws, mut back) = (Draws::of(4), 0);
    while let Some(seed) = draws.next(back > 0) {
        let fault = format!("kill@mtbf=50ms,seed={seed},count=4");
        let run = checkpointed(
            &exe,
            &["W"],
            &s.path("ckpt"),
            &[("PROMP_FAULT", &fault), ("PROMP_CKPT_TRACK", "compare")],
        );
        assert_eq!((run.status, &run.out), (0, &want.out), "{fault}: {}", run.err);
        back += run.err.matches("rolled back to checkpoint").count();
    }
    assert!(back > 0, "the faults do not strike");
}

/// A program that takes a seed, with checkpoints every 20 ms, failures of each of `kinds` and each of `trackers` in turn.
fn any_seed_rolls_back(
    source: &str,
    seeds: u64,
    mtbf: &str,
    kinds: &[&'static str],
    trackers: &[&'static str],
) {
    let exe = build(source, &[]);
    let s = Scratch::new(exe.file_name().and_then(OsStr::to_str).expect("a name"));
    let (mut draws, mut back) = (Draws::of(seeds), 0);
    while let Some(seed) = draws.next(back > 0) {
        let number = seed.to_string();
        let want = reference(&exe, &[&number], &[THREADS]);
        let of = |list: &[&'static str]| list[seed as usize % list.len()];
        let fault = format!("{}@mtbf={mtbf},seed={number},count=5", of(kinds));
        let set =
            [("PROMP_FAULT", &*fault), ("PROMP_CKPT_INTERVAL", "20ms"), ("PROMP_CKPT_TRACK", of(trackers))];
        let run = checkpointed(&exe, &[&number], &s.path("ckpt"), &set);
        assert_eq!((run.status, &run.out), (0, &want.out), "{fault}: {}", run.err);
        back += run.err.matches("rolled back to checkpoint").count();
    }
    assert!(back > 0, "the faults do not strike");
}

/// Writes to pages here and there: thousands of ranges in one mapping.
#[test]
fn scattered_writes_roll_back() {
    any_seed_rolls_back("ckpt/scattered.c", 4, "60ms", &["kill"], &["auto"]);
}

/// Blocks that change all the time, and then no longer.
#[test]
fn busy_memory_rolls_back() {
    any_seed_rolls_back("ckpt/phases.c", 6, "150ms", &["kill", "crash", "memerr"], &["auto"]);
}

/// Pages that are neither content nor readable, in mappings that allow everything.
#[test]
fn guard_pages() {
    any_seed_rolls_back("ckpt/guards.c", 9, "150ms", &["kill", "crash"], &["auto", "auto", "compare"]);
}

/// Blocks and mappings that come, go, move, grow and are protected at random while threads fail.
#[test]
fn any_use_of_memory_rolls_back() {
    let trackers = ["auto", "auto", "auto", "auto", "auto", "compare"];
    any_seed_rolls_back("ckpt/memory.c", 12, "80ms", &["kill", "crash", "memerr"], &trackers);
}

/// Address space that is only reserved stays empty where a program locks its memory.
#[test]
fn a_program_that_locks_its_memory() {
    let s = Scratch::new("locked");
    let exe = build("ckpt/locked.c", &[]);
    let want = reference(&exe, &["60"], &[THREADS]);
    if want.out.contains("cannot lock") {
        return eprintln!("skipped: locking memory is not allowed here");
    }
    let (mut draws, mut back) = (Draws::between(3, 60), 0);
    while let Some(seed) = draws.next(back > 0) {
        let fault = format!("{}@mtbf=200ms,seed={seed}", ["memerr", "kill", "crash"][seed as usize % 3]);
        let run = checkpointed(&exe, &["60"], &s.path("ckpt"), &[("PROMP_FAULT", &fault)]);
        assert!(!run.hung, "{fault} hung: {}", run.err);
        assert_eq!((run.status, &run.out), (0, &want.out), "{fault}: {}", run.err);
        let resident = run.err.lines().find_map(|l| l.strip_prefix("resident: ")?.strip_suffix(" MiB"));
        let resident: u32 = resident.and_then(|n| n.parse().ok()).expect("it says what is resident");
        assert!(resident < 500, "{resident} MiB resident");
        back += run.err.matches("rolled back to checkpoint").count();
    }
    assert!(back > 0, "the faults do not strike");
}

/// The locks of the dynamic loader note the kernel's thread that holds them: they are held on by another.
#[test]
fn the_loaders_locks_change_hands() {
    any_seed_rolls_back("ckpt/loading.c", 8, "50ms", &["kill"], &["auto"]);
}

/// What PROMP_REPLAY=proven refuses without a checkpoint is survived with one; exact points, all threads.
#[test]
fn work_that_cannot_be_repeated() {
    let s = Scratch::new("update");
    let exe = build("ft/update.c", &[]);
    let want = reference(&exe, &[], &[THREADS]);
    for thread in 0..4 {
        for kind in ["kill", "crash", "memerr"] {
            let fault = format!("{kind}@thread={thread},region=2,at=region,delay=300us");
            let run = checkpointed(&exe, &[], &s.path("ckpt"), &[("PROMP_FAULT", &fault)]);
            assert_eq!((run.status, &run.out), (0, &want.out), "{fault}: {}", run.err);
        }
    }
}

#[test]
fn hangs_roll_back() {
    let s = Scratch::new("hang");
    let exe = build("npb/mg.c", &[]);
    let want = reference(&exe, &["W"], &[THREADS]);
    let (mut draws, mut back) = (Draws::of(3), 0);
    while let Some(seed) = draws.next(back > 0) {
        let fault = format!("hang@mtbf=80ms,seed={seed},count=2");
        let run = checkpointed(
            &exe,
            &["W"],
            &s.path("ckpt"),
            &[("PROMP_FAULT", &fault), ("PROMP_WATCHDOG", "30ms")],
        );
        assert_eq!((run.status, run.hung, &run.out), (0, false, &want.out), "{fault}: {}", run.err);
        back += run.err.matches("rolled back to checkpoint").count();
    }
    assert!(back > 0, "the faults do not strike");
}

/// A checkpoint taken while a thread hangs: back in it, the thread goes on.
#[test]
fn a_checkpoint_of_a_hang_is_no_trap() {
    let s = Scratch::new("trap");
    let exe = build("npb/mg.c", &[]);
    let want = reference(&exe, &["W"], &[THREADS]);
    // A hang between two pieces of work needs no rollback.
    let rolled_back = (1..50).any(|seed| {
        let fault = format!("hang@mtbf=100ms,seed={seed}");
        let set = [("PROMP_FAULT", &*fault), ("PROMP_WATCHDOG", "300ms"), ("PROMP_CKPT_INTERVAL", "30ms")];
        let run = checkpointed(&exe, &["W"], &s.path("ckpt"), &set);
        assert_eq!((run.status, &run.out), (0, &want.out), "{fault}: {}", run.err);
        run.err.contains("rolled back")
    });
    assert!(rolled_back);
}

#[test]
fn a_crash_that_comes_back_is_the_programs_own() {
    let s = Scratch::new("crash");
    let exe = build("ckpt/crash.c", &[]);
    let run = checkpointed(&exe, &[], &s.path("ckpt"), &[]);
    assert_eq!(run.status, 128 + libc::SIGSEGV, "{run:?}");
    // Twice to the same checkpoint; on a slow machine another one may have come between two crashes.
    let to =
        |line: &str| line.split_once("rolled back to checkpoint ")?.1.split(' ').next().map(str::to_string);
    let all: Vec<_> = run.err.lines().filter_map(to).collect();
    assert!(all.iter().all(|n| all.iter().filter(|m| *m == n).count() <= 2), "{}", run.err);
    assert!(all.len() >= 2 && all[all.len() - 2..].iter().all(|n| Some(n) == all.last()), "{}", run.err);
    assert!(run.err.contains("the program's own error"), "{}", run.err);
    let run = checkpointed(&exe, &["handler"], &s.path("ckpt"), &[]);
    assert_eq!((run.status, run.out.as_str()), (9, "before\nmine\n"), "{run:?}");
}

/// kill -9 at random times, restarting until the program has finished: the same output.
#[test]
fn restarts() {
    let s = Scratch::new("restarts");
    let mut random = Seeded(11);
    let (mut kills, mut restarts) = (0, 0);
    let programs = programs();
    let mut draws = Draws::between(1, 20);
    let mut next = |enough| draws.next(enough).map(|_| &programs);
    while let Some(programs) = next(kills > 10 && restarts > 10) {
        for (exe, args) in programs {
            let want = failure_free(exe, args);
            // Killed where it would hardly have ended without checkpoints.
            let most = (here(want.took).as_millis() as u64).clamp(20, 240);
            let before = kills;
            loop {
                let (dir, out) = (s.path("ckpt"), s.path("out"));
                let _ = fs::remove_dir_all(&dir);
                let _ = fs::remove_file(&out);
                let first = || {
                    let mut c = first_run(exe, args, &dir);
                    c.env(threads(exe).0, threads(exe).1);
                    c
                };
                let mut cmd = first();
                let mut round = 0;
                let status = loop {
                    round += 1;
                    let wait = Duration::from_millis(most / 4 + random.below(most));
                    if let Some(status) = start(cmd, &out, (round < 8).then_some(wait)) {
                        break status;
                    }
                    kills += 1;
                    if has_generation(&dir) {
                        restarts += 1;
                        cmd = restart(&dir);
                    } else {
                        let _ = fs::remove_file(&out);
                        cmd = first();
                    }
                };
                let err = messages(&out);
                assert!(went_well(status, &err), "{} {status}: {err}", exe.display());
                assert_eq!(fs::read_to_string(&out).unwrap(), want.out, "{}: {err}", exe.display());
                if !long() || kills - before >= 100 {
                    break;
                }
            }
            println!("{}: killed {} times", exe.display(), kills - before);
        }
    }
    assert!(kills > 10 && restarts > 10, "{kills} kills, {restarts} restarts");
}

#[test]
fn automatic_restarts_and_death_by_injection() {
    let s = Scratch::new("auto");
    let exe = build("ckpt/patient.c", &[]);
    let bound = ("OMP_PROC_BIND", "spread");
    let want = reference(&exe, &[], &[THREADS, bound]);
    let dir = s.path("ckpt");
    // The fault counts as struck in the restarted process: it does not die for ever. Threads are where they were.
    let mut c = Command::new(command());
    c.args(["run", "--threads", "4", "--every", "20ms", "--auto-restart", "5"]);
    c.args(["--fault", "die@region=2,at=barrier,nth=20,thread=0,count=2"]);
    c.args(["--ckpt", text(&dir), "--", text(&exe), text(&dir)]).env(bound.0, bound.1);
    let status = start(c, &s.path("out"), None).expect("ends");
    let err = messages(&s.path("out"));
    assert!(status.success(), "{status}: {err}");
    assert_eq!(fs::read_to_string(s.path("out")).unwrap(), want.out);
    assert_eq!(err.matches("was killed by signal 9; continuing").count(), 2, "{err}");
}

/// What a program did before its first checkpoint may not be fit to be done twice: that is for the user to say.
#[test]
fn death_before_the_first_checkpoint_is_told() {
    let s = Scratch::new("early");
    let mut c = Command::new(command());
    c.args(["run", "--auto-restart", "5", "--ckpt"]).arg(s.path("ckpt"));
    c.args(["--", "/bin/sh", "-c", "kill -9 $$"]);
    let status = start(c, &s.path("out"), None).expect("ends");
    let err = messages(&s.path("out"));
    assert_eq!(status.code(), Some(71), "{err}");
    assert!(err.contains("died before its first one was complete"), "{err}");
    let again = limited(restart(&s.path("ckpt")), LIMIT);
    assert_eq!(again.status, 71, "{again:?}");
    assert!(again.err.contains("died before its first one was complete"), "{again:?}");
}

/// Arguments and environment are those of the original, byte for byte; children that use OpenMP go on without checkpoints.
#[test]
fn families_and_bytes() {
    let s = Scratch::new("family");
    let exe = build("ckpt/family.c", &[]);
    let odd = OsStr::from_bytes(b"a\xff\xfe b");
    let odd_env = OsStr::from_bytes(b"\x80=\xc3(");
    let with = |mut c: Command| {
        c.arg(odd).env("FAMILY_ODD", odd_env);
        c
    };
    let mut plain = with(Command::new(&exe));
    plain.env("OMP_NUM_THREADS", "4");
    assert!(start(plain, &s.path("want"), None).expect("ends").success());
    let mut cmd = with(first_run(&exe, &[], &s.path("ckpt")));
    cmd.env("PROMP_VERBOSE", "2");
    let mut said = String::new();
    for i in 0..20 {
        let ended = start(cmd, &s.path("got"), (i < 3).then_some(Duration::from_millis(120)));
        said += &fs::read_to_string(s.path("got.err")).unwrap_or_default();
        match ended {
            Some(status) => {
                assert!(went_well(status, &messages(&s.path("got"))), "{said}");
                break;
            }
            None if has_generation(&s.path("ckpt")) => cmd = restart(&s.path("ckpt")),
            None => {
                // Killed before its first checkpoint.
                let _ = fs::remove_file(s.path("got"));
                cmd = with(first_run(&exe, &[], &s.path("ckpt")));
                cmd.env("PROMP_VERBOSE", "2");
            }
        }
    }
    assert_eq!(
        fs::read_to_string(s.path("got")).unwrap(),
        fs::read_to_string(s.path("want")).unwrap(),
        "{said}"
    );
    assert!(said.contains("of the same family"), "{said}");
}

#[test]
fn the_report_lists_checkpoints() {
    let s = Scratch::new("report");
    let report = s.path("report.json");
    let exe = build("npb/mg.c", &[]);
    let env = [
        ("PROMP_REPORT", text(&report)),
        ("PROMP_FAULT", "kill@thread=1,region=1,at=barrier,nth=9,delay=2ms"),
    ];
    let run = checkpointed(&exe, &["W"], &s.path("ckpt"), &env);
    assert_eq!(run.status, 0, "{}", run.err);
    let v: serde_json::Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    let list = v["checkpoints"].as_array().unwrap();
    assert!(
        !list.is_empty() && list[0]["generation"] == 1 && list[0]["bytes"].as_u64().unwrap() > 4096,
        "{v}"
    );
    assert!(list[0]["stop_s"].as_f64().unwrap() > 0.0);
    assert_eq!(v["failures"][0]["kind"], "kill", "{v}");
}

/// Where a library's constructor has begun the runtime, gfortran's handlers come after ours. They only report: a crash is survived all the same.
#[test]
fn crashes_of_fortran_programs_that_begin_early() {
    let s = Scratch::new("early");
    let early = root().join("c-tests/ft/early.c");
    let exe = build("npb/cg.f90", &[text(&early)]);
    let want = reference(&exe, &["W"], &[THREADS]);
    let (mut draws, mut crashed) = (Draws::of(2), 0);
    while let Some(seed) = draws.next(crashed > 0) {
        let fault = format!("crash@mtbf=60ms,seed={seed},count=2");
        let run = checkpointed(&exe, &["W"], &s.path("ckpt"), &[("PROMP_FAULT", &fault)]);
        assert_eq!((run.status, &run.out), (0, &want.out), "{fault}: {}", run.err);
        crashed += run.err.matches("(crash)").count();
    }
    assert!(crashed > 0, "the faults do not strike");
}

/// OpenBLAS solves a linear system: killed and rolled back; killed -9 and restarted.
#[test]
fn openblas() {
    let out = Command::new("gcc")
        .args(["-O2", "-fopenmp", "-w", "-o"])
        .arg(out_dir().join("openblas_ckpt"))
        .arg(root().join("c-tests/others/openblas.c"))
        .args([
            "-L/usr/lib/x86_64-linux-gnu/openblas-openmp",
            "-Wl,-rpath,/usr/lib/x86_64-linux-gnu/openblas-openmp",
            "-lopenblas",
            "-lm",
        ])
        .output();
    if !available("OpenBLAS, OpenMP build", out.is_ok_and(|o| o.status.success())) {
        return;
    }
    let s = Scratch::new("openblas");
    let exe = out_dir().join("openblas_ckpt");
    let want = reference(&exe, &[], &[THREADS]);
    let (mut draws, mut back) = (Draws::of(4), 0);
    while let Some(seed) = draws.next(back > 0) {
        let fault = format!("kill@mtbf=20ms,seed={seed},count=3");
        let run = checkpointed(&exe, &[], &s.path("ckpt"), &[("PROMP_FAULT", &fault)]);
        assert_eq!((run.status, &run.out), (0, &want.out), "{fault}: {}", run.err);
        back += run.err.matches("rolled back to checkpoint").count();
    }
    assert!(back > 0, "the faults do not strike");
    let (dir, out) = (s.path("ckpt9"), s.path("out"));
    let mut cmd = first_run(&exe, &[], &dir);
    for i in 0.. {
        match start(cmd, &out, (i < 5).then_some(Duration::from_millis(70))) {
            Some(status) => {
                let err = messages(&s.path("out"));
                assert!(went_well(status, &err), "{err}");
                break;
            }
            None if has_generation(&dir) => cmd = restart(&dir),
            None => cmd = first_run(&exe, &[], &dir),
        }
    }
    assert_eq!(fs::read_to_string(&out).unwrap(), want.out);
}
