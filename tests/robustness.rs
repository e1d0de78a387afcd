//! What users run into: forks, signals, exit in a region, threads of the program's own, limits, odd settings; and each refusal.

use crate::common::draws::Draws;
use crate::common::*;
use promp_settings::{Audience, OnBad, Setting, Values};
use std::path::Path;
use std::process::Command;

fn shell(script: &str, exe: &Path, env: &[(&str, &str)]) -> Run {
    let mut c = Command::new("bash");
    c.arg("-c").arg(script).arg("bash").arg(exe).env("LIB", library()).envs(env.iter().copied());
    limited(c, LIMIT)
}

#[test]
fn forks() {
    let exe = build("ft/fork.c", &[]);
    let rounds = (60 * scale()).to_string();
    for env in [
        &[("OMP_NUM_THREADS", "4")][..],
        &[("OMP_NUM_THREADS", "3"), ("PROMP_REPLAY", "assume")],
        &[("PROMP_FT", "off")],
    ] {
        let run = promp(&exe, &[&rounds], env);
        assert_eq!(run.out, "forks bad 0 inside 0\n", "{env:?} {run:?}");
    }
}

#[test]
fn own_threads_own_handlers_exit() {
    for source in ["ft/threads.c", "ft/handler.c", "ft/exit.c"] {
        let exe = build(source, &[]);
        let want = reference(&exe, &[], &[("OMP_NUM_THREADS", "4")]);
        for env in [&[("OMP_NUM_THREADS", "4")][..], &[("OMP_NUM_THREADS", "4"), ("PROMP_REPLAY", "assume")]]
        {
            let run = promp(&exe, &[], env);
            assert_eq!((run.status, &run.out), (want.status, &want.out), "{source} {env:?}: {}", run.err);
        }
    }
}

/// Whose a crash is for which the program has a handler.
#[test]
fn handlers_that_report_crashes() {
    let exe = build("ft/reporter.c", &[]);
    let want = reference(&exe, &[], &[("OMP_NUM_THREADS", "4")]);
    let fault = "crash@thread=1,region=2,delay=2ms";
    let run = |whose| {
        let set = [("PROMP_FAULT", fault), ("PROMP_CRASHES", whose), ("PROMP_REPLAY", "assume")];
        promp(&exe, &[], &[&set[..], &[("OMP_NUM_THREADS", "4")]].concat())
    };
    let (theirs, ours) = (run("program"), run("runtime"));
    let hint = theirs.err.strip_suffix("crashed\n").expect("the handler's message, last");
    assert!(theirs.status == 3 && hint.contains("PROMP_CRASHES=runtime"), "{theirs:?}");
    assert_eq!((ours.status, &ours.out), (0, &want.out), "{ours:?}");
    assert!(ours.err.contains("failed (crash)") && !ours.err.contains("crashed"), "{ours:?}");
    // A handler that the program lives by, and a crash in serial code.
    let exe = build("ft/handler.c", &[]);
    let want = reference(&exe, &[], &[("OMP_NUM_THREADS", "4")]);
    let run = promp(&exe, &[], &[("OMP_NUM_THREADS", "4"), ("PROMP_CRASHES", "runtime")]);
    assert_eq!((run.status, &run.out), (0, &want.out), "{run:?}");
}

#[test]
fn a_killed_thread_of_the_programs_own_is_joined_all_the_same() {
    let exe = build("ft/threads.c", &[]);
    let want = reference(&exe, &[], &[]);
    for spec in [
        "kill@thread=0,region=3,count=3",
        "kill@thread=0,region=any,at=region,count=20,nth=1",
        "kill@thread=2,region=any,count=30",
    ] {
        let run = promp(&exe, &[], &[("PROMP_FAULT", spec), ("PROMP_REPLAY", "assume")]);
        assert_eq!((run.status, &run.out), (0, &want.out), "{spec}: {}", run.err);
        assert!(run.err.contains("failed (kill)"), "{spec}");
    }
}

#[test]
fn a_programs_own_error_keeps_its_signal() {
    let exe = build("ft/bug.c", &[]);
    for replay in ["proven", "assume", "never"] {
        let run = promp(&exe, &[], &[("PROMP_REPLAY", replay), ("OMP_NUM_THREADS", "3")]);
        assert_eq!(
            (run.status, run.out.as_str()),
            (128 + libc::SIGSEGV, "before\n"),
            "{replay}: {}",
            run.err
        );
        if replay == "assume" {
            assert!(run.err.contains("the program's own error"), "{}", run.err);
        }
    }
}

#[test]
fn too_few_threads_to_be_had() {
    let exe = build("constructs/parallel.c", &[]);
    // Address space for few stacks: threads cannot be created; the program goes on with fewer and says so once.
    let run =
        shell("ulimit -v 400000; LD_PRELOAD=$LIB OMP_STACKSIZE=100M OMP_NUM_THREADS=16 \"$1\"", &exe, &[]);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(run.err.matches("refuses to create another thread").count(), 1, "{}", run.err);
}

#[test]
fn many_threads_and_stack_sizes() {
    let exe = build("ft/reduction.c", &[]);
    let want = reference(&exe, &[], &[("OMP_NUM_THREADS", "2")]);
    for env in [
        &[("OMP_NUM_THREADS", "200")][..],
        &[("OMP_NUM_THREADS", "4"), ("OMP_STACKSIZE", "64K")],
        &[("OMP_NUM_THREADS", "4"), ("OMP_STACKSIZE", "1G")],
        &[("OMP_NUM_THREADS", "4"), ("OMP_STACKSIZE", "1")],
        &[("OMP_NUM_THREADS", "4"), ("OMP_WAIT_POLICY", "active")],
        &[("OMP_NUM_THREADS", "4"), ("OMP_WAIT_POLICY", "passive")],
        &[("OMP_NUM_THREADS", "4"), ("GOMP_SPINCOUNT", "0")],
        &[("OMP_NUM_THREADS", "4"), ("OMP_PROC_BIND", "spread"), ("OMP_PLACES", "threads")],
        &[("OMP_THREAD_LIMIT", "2"), ("OMP_NUM_THREADS", "8")],
        &[("OMP_DYNAMIC", "true"), ("OMP_NUM_THREADS", "8")],
    ] {
        let run = promp(&exe, &[], env);
        assert_eq!((run.status, &run.out), (0, &want.out), "{env:?}: {}", run.err);
    }
}

/// Settings of which a bad value costs a line.
fn words_and_numbers() -> impl Iterator<Item = &'static Setting> {
    let is_one = |s: &&Setting| matches!(s.values, Values::Words(_) | Values::Number(..));
    promp_settings::ALL.iter().copied().filter(is_one).filter(|s| s.on_bad == OnBad::Line)
}

#[test]
fn bad_settings_are_named_and_the_program_runs() {
    let exe = build("ft/reduction.c", &[]);
    for (name, value) in [
        ("OMP_NUM_THREADS", "many"),
        ("OMP_NUM_THREADS", "0"),
        ("OMP_NUM_THREADS", "-3"),
        ("OMP_SCHEDULE", "sometimes,4"),
        ("OMP_STACKSIZE", "1Q"),
        ("OMP_DYNAMIC", "perhaps"),
        ("OMP_PROC_BIND", "glue"),
        ("OMP_PLACES", "{0,"),
        ("OMP_THREAD_LIMIT", "0"),
        ("OMP_WAIT_POLICY", "lazy"),
        ("OMP_CANCELLATION", "2"),
        ("OMP_MAX_ACTIVE_LEVELS", "x"),
        ("GOMP_SPINCOUNT", "lots"),
        ("GOMP_CPU_AFFINITY", "a-b"),
        ("PROMP_REPLAY", "a b"),
        ("PROMP_WATCHDOG", "5"),
    ]
    .into_iter()
    .chain(words_and_numbers().map(|s| (s.name, "perhaps")))
    {
        let run = promp(&exe, &[], &[(name, value)]);
        assert_eq!(run.status, 0, "{name}={value}: {run:?}");
        assert!(run.err.contains(name) && run.out.starts_with("dynamic "), "{name}={value}: {}", run.err);
    }
}

#[test]
fn bad_fault_specifications_stop_the_program_before_it_does_anything() {
    let exe = build("ft/exit.c", &[]);
    for (name, value) in [
        ("PROMP_FAULT", "explode"),
        ("PROMP_FAULT", "kill@nth=0"),
        ("PROMP_FAULT", "memerr@at=now"),
        ("PROMP_CKPT_INTERVAL", "soon"),
    ] {
        let run = promp(&exe, &[], &[(name, value)]);
        assert_eq!((run.status, run.out.as_str()), (64, ""), "{name}={value}: {run:?}");
        assert!(run.err.contains(name) && run.err.contains(value), "{}", run.err);
    }
    // Also a program that never gets to its first region.
    let run = promp(Path::new("/bin/echo"), &["hello"], &[("PROMP_FAULT", "explode")]);
    assert_eq!((run.status, run.out.as_str()), (64, ""), "{run:?}");
}

#[test]
fn settings_are_shown() {
    let exe = build("ft/exit.c", &[]);
    let run = promp(
        &exe,
        &[],
        &[("OMP_DISPLAY_ENV", "verbose"), ("PROMP_REPLAY", "assume"), ("OMP_SCHEDULE", "guided,4")],
    );
    for s in promp_settings::ALL.iter().filter(|s| s.default.is_some() && s.audience == Audience::Users) {
        assert!(run.err.contains(&format!("  {} = '", s.name)), "{}: {}", s.name, run.err);
    }
    for line in [
        "OPENMP DISPLAY ENVIRONMENT BEGIN",
        "OMP_SCHEDULE = 'GUIDED,4'",
        "GOMP_SPINCOUNT",
        "PROMP_REPLAY = 'assume'",
        "OPENMP DISPLAY ENVIRONMENT END",
    ] {
        assert!(run.err.contains(line), "{line}: {}", run.err);
    }
}

#[test]
fn reports() {
    let exe = build("npb/ep.c", &["-DDYNAMIC=8"]);
    let file = out_dir().join("report.json");
    let path = file.to_str().unwrap();
    let mut r = serde_json::Value::Null;
    // A thread that loses its CPU on the way out of the runtime is struck there, where nothing is lost.
    for k in 0..50 {
        let fault = format!("kill@thread=1,delay={}us;kill@region=99", 4000 + 300 * k);
        let env = [
            ("PROMP_REPORT", path),
            ("PROMP_FAULT", &*fault),
            ("PROMP_REPLAY", "assume"),
            ("OMP_NUM_THREADS", "4"),
        ];
        let run = promp(&exe, &["S"], &env);
        assert_eq!(run.status, 0, "{run:?}");
        assert!(run.err.contains("1 of the faults in PROMP_FAULT did not strike"), "{}", run.err);
        r = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        if !run.err.contains("nothing was lost") {
            break;
        }
    }
    for key in [
        "promp",
        "program",
        "pid",
        "threads",
        "wall_s",
        "regions",
        "chunks",
        "faults_not_fired",
        "failures",
        "checkpoints",
    ] {
        assert!(!r[key].is_null(), "{key}");
    }
    assert_eq!((r["regions"].as_u64(), r["faults_not_fired"].as_u64()), (Some(1), Some(1)));
    let f = &r["failures"][0];
    for key in [
        "kind",
        "thread",
        "region",
        "construct",
        "ordinal",
        "at_s",
        "recovery",
        "lost_iterations",
        "recomputed_by",
        "recovery_s",
    ] {
        assert!(!f[key].is_null(), "{key}");
    }
    assert_eq!(
        (f["kind"].as_str(), f["thread"].as_u64(), f["recovery"].as_str()),
        (Some("kill"), Some(1), Some("recompute"))
    );
    let by: u64 =
        f["recomputed_by"].as_array().unwrap().iter().map(|b| b["iterations"].as_u64().unwrap()).sum();
    assert_eq!(f["lost_iterations"].as_u64(), Some(by));
    let dash = promp(&exe, &["S"], &[("PROMP_REPORT", "-")]);
    assert!(dash.err.trim_start().starts_with('{'), "{}", dash.err);
    let bad = promp(&exe, &["S"], &[("PROMP_REPORT", "/nonexistent/x.json")]);
    assert!(bad.status == 0 && bad.err.contains("/nonexistent/x.json"), "{bad:?}");
}

#[test]
fn a_hang_is_noticed_by_the_watchdog() {
    let exe = build("npb/ep.c", &["-DDYNAMIC=8"]);
    let want = reference(&exe, &["S"], &[]);
    for spec in ["hang@thread=1", "hang@thread=2,delay=3ms", "hang@thread=0,delay=2ms"] {
        let env = [
            ("PROMP_WATCHDOG", "300ms"),
            ("PROMP_FAULT", spec),
            ("PROMP_REPLAY", "assume"),
            ("OMP_NUM_THREADS", "4"),
        ];
        let run = promp(&exe, &["S"], &env);
        assert!(!run.hung && run.status == 0 && run.out == want.out, "{spec}: {run:?}");
        assert!(run.err.contains("failed (hang)"), "{spec}: {}", run.err);
    }
}

#[test]
fn replay_can_be_limited_to_functions_or_forbidden() {
    let exe = build("npb/ep.c", &["-DDYNAMIC=8"]);
    let want = reference(&exe, &["S"], &[]);
    for (replay, status) in [("main._omp_fn.*", 0), ("other*", 70), ("never", 70), ("proven", 70)] {
        // A thread that loses its CPU on the way out of the runtime is struck there, where nothing is lost.
        let struck_in_work = (0..50).any(|k| {
            let fault = format!("kill@thread=1,delay={}us", 4000 + 300 * k);
            let env = [("PROMP_FAULT", &*fault), ("PROMP_REPLAY", replay), ("OMP_NUM_THREADS", "4")];
            let run = promp(&exe, &["S"], &env);
            // It may also have had nothing to do.
            let lost = run.err.contains(" failed (kill)") && !run.err.contains("nothing was lost");
            let status = if lost { status } else { 0 };
            assert_eq!(run.status, status, "{replay}: {}", run.err);
            assert_eq!(run.out, if status == 0 { want.out.clone() } else { String::new() }, "{replay}");
            lost
        });
        assert!(struck_in_work, "{replay}");
    }
}

#[test]
fn serial_work_is_refused() {
    let exe = build("npb/cg.c", &[]);
    let run = promp(
        &exe,
        &["W"],
        &[("PROMP_FAULT", "kill@at=serial,delay=1us,count=200"), ("PROMP_REPLAY", "assume")],
    );
    assert!(run.status == 70 && run.err.contains("in serial work") || run.status == 0, "{run:?}");
}

#[test]
fn the_c_interface() {
    let exe = build("ft/api.c", &[]);
    let alone = reference(&exe, &[], &[]);
    assert_eq!((alone.status, alone.out.as_str()), (0, "present 0\nsum 999500.0\n"));
    let run = promp(&exe, &[], &[("OMP_NUM_THREADS", "3")]);
    assert_eq!((run.status, run.out.as_str()), (0, "present 1\nsum 999500.0\n"), "{}", run.err);
    assert!(run.err.contains("version 100 failures 1 regions 1 chunks 1"), "{}", run.err);
    for (compiler, std, ext) in [("gcc", "-std=c99", "c"), ("g++", "-std=c++11", "cpp")] {
        let src = out_dir().join(format!("header.{ext}"));
        std::fs::write(
            &src,
            "#include \"promp.h\"\nint main(void) { PROMP_CALL(promp_frags(2)); return 0; }\n",
        )
        .unwrap();
        let ok = Command::new(compiler)
            .args([std, "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
            .arg(root().join("include"))
            .args(["-o", "/dev/null"])
            .arg(&src)
            .status()
            .unwrap();
        assert!(ok.success(), "{compiler}");
    }
}

#[test]
fn recompute_schedules_of_one_loop() {
    let exe = build("ft/sched.c", &[]);
    let largest = |args: &[&str]| {
        let run = promp(&exe, args, &[("PROMP_REPORT", "-")]);
        assert_eq!((run.status, run.out.as_str()), (0, "79800\n"), "{}", run.err);
        let json = &run.err[run.err.find('{').expect("the report")..];
        let r: serde_json::Value = serde_json::from_str(json).unwrap();
        let by = r["failures"][0]["recomputed_by"].as_array().unwrap().clone();
        assert_eq!(by.iter().map(|b| b["iterations"].as_u64().unwrap()).sum::<u64>(), 100);
        // Static: at most one block of half the chunk at a time, so whole blocks only.
        by.iter().all(|b| b["iterations"].as_u64().unwrap() % 50 == 0)
    };
    assert!(largest(&["static"]));
    largest(&[]);
}

#[test]
fn memory_is_clean_under_valgrind() {
    let have = Command::new("valgrind").arg("--version").output().is_ok();
    if !available("valgrind", have) {
        return;
    }
    for source in ["constructs/sync.c", "constructs/tasks.c"] {
        let exe = build(source, &[]);
        let mut c = Command::new("valgrind");
        c.args(["-q", "--error-exitcode=9", "--undef-value-errors=yes"]).arg(&exe);
        c.env("LD_PRELOAD", library()).env("OMP_NUM_THREADS", "2").env("PROMP_FT", "off");
        let run = limited(c, LIMIT);
        assert!(run.status == 0 && !run.err.contains("Invalid"), "{source}: {run:?}");
    }
}

/// What every program pays: from its start to its end, with one region, fault tolerance takes less than a
/// third more instructions.
#[test]
fn a_start_with_fault_tolerance_is_short() {
    let have = Command::new("valgrind").arg("--version").output().is_ok();
    if !available("valgrind", have) {
        return;
    }
    let exe = build("limits/first.c", &[]);
    let [on, off] = ["on", "off"].map(|setting| {
        let mut c = Command::new("valgrind");
        c.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(&exe);
        c.env("LD_PRELOAD", library()).env("OMP_NUM_THREADS", "1").env("PROMP_FT", setting);
        let run = limited(c, LIMIT);
        let count = run.err.lines().find_map(|l| l.split("Collected :").nth(1)?.trim().parse::<u64>().ok());
        count.unwrap_or_else(|| panic!("{run:?}"))
    });
    println!("instructions with and without fault tolerance: {on}, {off}");
    assert!(3 * on < 4 * off, "{on} instructions, {off} without fault tolerance");
}

/// A program built with AddressSanitizer, which replaces libc's functions and fences variables in: with stacks saved at every runtime
/// call, and with threads killed.
#[test]
fn programs_with_address_sanitizer() {
    let dir = library().parent().expect("a folder").to_str().expect("UTF-8").to_string();
    let (folder, path) = (format!("-L{dir}"), format!("-Wl,-rpath,{dir}"));
    let flags = ["-fsanitize=address", &folder, &path, "-Wl,--no-as-needed", "-lpromp"];
    let env = [("OMP_NUM_THREADS", "4")];
    let sources = [("ft/jacobi.c", &["100", "200"][..]), ("ft/tasktree.c", &["10"]), ("ft/library.c", &[])];
    let wanted = sources.map(|(source, args)| reference(&build(source, &[]), args, &env));
    let (mut struck, mut draws) = (0, Draws::of(4));
    while let Some(seed) = draws.next(struck > 0) {
        for ((source, args), want) in sources.iter().zip(&wanted) {
            let exe = build(source, &flags);
            let fault = format!("kill@mtbf=30ms,seed={seed},count=2");
            // The sanitizer's library must come first: nothing is preloaded.
            let leaks = ("ASAN_OPTIONS", "detect_leaks=0");
            let env = [env[0], leaks, ("PROMP_REPLAY", "assume"), ("PROMP_FAULT", &fault)];
            let run = reference(&exe, args, &env[..if seed == 1 { 3 } else { 4 }]);
            let refused = run.status == 70 && run.err.contains("; stopping");
            struck += u32::from(run.err.contains(" failed ("));
            assert!(refused || (run.status, &run.out) == (0, &want.out), "{source} {fault}: {run:?}");
        }
    }
    assert!(struck > 0, "the faults do not strike");
}
