//! Limits: few and many threads, small and large stacks, malformed settings, leaks, forks by the thousand, libraries that come
//! and go, cancelled threads, exceptions.

use crate::common::*;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn same(source: &str, args: &[&str], env: &[(&str, &str)]) {
    let exe = build(source, &[]);
    let want = reference(&exe, args, env);
    for mode in [("PROMP_FT", "on"), ("PROMP_FT", "off"), ("PROMP_REPLAY", "assume")] {
        let env: Vec<_> = env.iter().copied().chain([mode]).collect();
        let run = promp(&exe, args, &env);
        assert_eq!((run.status, &run.out), (want.status, &want.out), "{source} {env:?}: {}", run.err);
    }
}

#[test]
fn a_thousand_and_twenty_four_threads() {
    same("ft/reduction.c", &[], &[("OMP_NUM_THREADS", "1024")]);
    same("constructs/sync.c", &[], &[("OMP_NUM_THREADS", "300"), ("OMP_STACKSIZE", "64K")]);
}

/// Threads that wait for work look for others that have ended, together as often as a few do: each by itself,
/// two thousand used one and a half CPUs all the time.
#[test]
fn thousands_that_sleep_take_no_cpu_time() {
    let exe = build("limits/asleep.c", &[]);
    for mode in [("PROMP_FT", "on"), ("PROMP_FT", "off")] {
        // What is measured is a second, or more where others have the CPUs.
        let quiet = |run: &Run| {
            let words: Vec<u64> = run.out.split_whitespace().filter_map(|w| w.parse().ok()).collect();
            matches!(words[..], [2000, used] if used < 500)
        };
        let runs = (0..10).map(|_| promp(&exe, &["2000", "1000"], &[mode]));
        let loud: Vec<Run> = runs.take_while(|r| !quiet(r)).collect();
        assert!(loud.len() < 10, "{mode:?}: {loud:?}");
    }
}

/// With a chain of tasks there is work for two threads. The others sleep, and are left asleep: woken for each
/// task, they went to sleep twice as often as there are tasks.
#[test]
fn a_chain_of_tasks_does_not_wake_everybody() {
    const TASKS: u64 = 20_000;
    let exe = build("limits/chain.c", &[]);
    for _ in 0..8 {
        let run = promp(&exe, &[&TASKS.to_string()], &[("OMP_NUM_THREADS", "16")]);
        let words: Vec<u64> = run.out.split_whitespace().filter_map(|w| w.parse().ok()).collect();
        assert!(matches!(words[..], [TASKS, sleeps] if sleeps < TASKS / 2), "{run:?}");
    }
}

/// A program that has enough stack for its tasks within tasks under libgomp has enough here, too.
#[test]
fn deep_undeferred_tasks_take_no_more_stack_than_under_libgomp() {
    let exe = build("limits/deep.c", &[]);
    let bytes = |r: &Run| -> Vec<u64> { r.err.lines().filter_map(|l| l.parse().ok()).collect() };
    let right = reference(&exe, &["4000"], &[]);
    let most = bytes(&right);
    assert_eq!(most.len(), 2, "{right:?}");
    let settings: [&[(&str, &str)]; 4] = [
        &[],
        &[("PROMP_FT", "off")],
        &[("PROMP_REPLAY", "assume")],
        &[("PROMP_REPLAY", "assume"), ("PROMP_FAULT", "kill@region=999"), ("PROMP_VERBOSE", "0")],
    ];
    for env in settings {
        let r = promp(&exe, &["4000"], env);
        assert_eq!((r.status, &r.out), (0, &right.out), "{env:?}: {r:?}");
        let taken = bytes(&r);
        assert!(
            taken.len() == 2 && taken.iter().zip(&most).all(|(t, m)| t <= m),
            "{env:?}: {taken:?} {most:?}"
        );
    }
}

/// libgomp, which programs load in any case, binds the initial thread before anything of ours runs.
#[test]
fn binding_hides_no_cpus() {
    if cpu_quota() {
        return eprintln!("skipped: libgomp does not see CPU quotas, promp does");
    }
    for places in ["", "cores", "threads", "{0}", "{0},{1}"] {
        for bind in ["", "true", "false", "spread", "close"] {
            let env: Vec<_> = [("OMP_PLACES", places), ("OMP_PROC_BIND", bind)]
                .into_iter()
                .filter(|(_, v)| !v.is_empty())
                .collect();
            same("limits/cpus.c", &[], &env);
        }
    }
}

/// A program that binds its threads itself; and one that does it before it uses OpenMP gets one thread for its one CPU, not two on it.
#[test]
fn programs_that_bind_themselves() {
    if cpu_quota() {
        return eprintln!("skipped: libgomp does not see CPU quotas, promp does");
    }
    for bind in [&[][..], &[("OMP_PROC_BIND", "false")], &[("OMP_PROC_BIND", "true")]] {
        same("limits/pinned.c", &[], bind);
        same("limits/pinned.c", &["main"], bind);
    }
    let exe = build("limits/pinned_default.c", &[]);
    assert_eq!(promp(&exe, &[], &[]).out, "1 thread, 1 processor\n");
}

/// Limits on processes do not hold for root: the program runs as somebody else.
#[test]
fn no_more_processes_allowed() {
    let exe = build("constructs/parallel.c", &[]);
    let dir = std::env::temp_dir().join(format!("promp-nproc-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary folder");
    for (from, name) in [(exe, "program"), (library(), "libpromp.so")] {
        std::fs::copy(from, dir.join(name)).expect("copying");
    }
    let script = "chmod 755 . program libpromp.so; run() { prlimit --nproc=3 env LD_PRELOAD=$PWD/libpromp.so OMP_NUM_THREADS=16 ./program; }
        if [ $(id -u) = 0 ]; then export -f run; setpriv --reuid=61234 --regid=61234 --clear-groups bash -c run; else run; fi";
    let mut c = Command::new("bash");
    c.arg("-c").arg(script).current_dir(&dir);
    let run = limited(c, LIMIT);
    let _ = std::fs::remove_dir_all(&dir);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(run.err.matches("refuses to create another thread").count(), 1, "{}", run.err);
}

/// Wherever libgomp complains about a value, promp names the variable too and goes on; the answers are the same.
#[test]
fn malformed_settings() {
    let exe = build("ft/reduction.c", &[]);
    let names = [
        "OMP_NUM_THREADS",
        "OMP_SCHEDULE",
        "OMP_DYNAMIC",
        "OMP_NESTED",
        "OMP_MAX_ACTIVE_LEVELS",
        "OMP_THREAD_LIMIT",
        "OMP_STACKSIZE",
        "GOMP_STACKSIZE",
        "OMP_WAIT_POLICY",
        "OMP_PROC_BIND",
        "OMP_PLACES",
        "GOMP_CPU_AFFINITY",
        "GOMP_SPINCOUNT",
        "OMP_CANCELLATION",
        "OMP_MAX_TASK_PRIORITY",
        "OMP_DEFAULT_DEVICE",
        "OMP_TARGET_OFFLOAD",
        "OMP_DISPLAY_ENV",
        "OMP_DISPLAY_AFFINITY",
        "OMP_AFFINITY_FORMAT",
        "OMP_NUM_TEAMS",
        "OMP_TEAMS_THREAD_LIMIT",
        "OMP_ALLOCATOR",
        "ACC_DEVICE_NUM",
        "GOMP_RTEMS_THREAD_POOLS",
    ];
    let values = [
        "",
        " ",
        "x",
        "-1",
        "0",
        "1,",
        ",",
        "99999999999999999999",
        "{",
        "{0",
        "{0}:",
        "1-",
        "true,",
        "\u{fffd}",
        "4 4",
        "0x",
    ];
    for name in names {
        for value in values {
            let env = [(name, value), ("OMP_STACKSIZE", "1M")];
            let env = if name == "OMP_STACKSIZE" { &env[..1] } else { &env[..] };
            let (want, got) = (reference(&exe, &[], env), promp(&exe, &[], env));
            assert_eq!(got.status, 0, "{name}={value:?}: {}", got.err);
            // libgomp itself gives up on some.
            assert!(want.status != 0 || got.out == want.out, "{name}={value:?}: {} {}", want.err, got.err);
            if want.err.contains(name) && name != "OMP_DISPLAY_ENV" {
                assert!(
                    got.err.contains(name),
                    "{name}={value:?}: libgomp says {:?}, promp {:?}",
                    want.err,
                    got.err
                );
            }
        }
    }
}

#[test]
fn regions_by_the_hundred_thousand_leak_nothing() {
    let exe = build("limits/leak.c", &[]);
    let n = (20_000 * scale().min(5)).to_string();
    for mode in [("PROMP_FT", "on"), ("PROMP_FT", "off"), ("PROMP_REPLAY", "assume")] {
        let run = promp(&exe, &[&n], &[mode]);
        assert_eq!((run.status, run.out.as_str()), (0, "ok\n"), "{mode:?}: {run:?}");
    }
}

#[test]
fn a_thousand_forks() {
    let exe = build("ft/fork.c", &[]);
    let run = promp(&exe, &["1000"], &[("OMP_NUM_THREADS", "3")]);
    assert_eq!(run.out, "forks bad 0 inside 0\n", "{run:?}");
}

#[test]
fn libraries_come_and_go() {
    let plugin = build("limits/plugin.c", &["-shared", "-fPIC"]);
    let exe = build("limits/loader.c", &[]);
    let plugin = plugin.to_str().expect("UTF-8");
    for env in
        [&[][..], &[("PROMP_FAULT", "kill@thread=1,count=12,nth=2,region=any"), ("PROMP_REPLAY", "assume")]]
    {
        let run = promp(&exe, &[plugin], env);
        assert_eq!((run.status, run.out.as_str()), (0, "unloaded\n"), "{env:?}: {run:?}");
    }
}

#[test]
fn a_library_linked_with_lpromp_can_be_unloaded() {
    let dir = library().parent().expect("its folder").to_path_buf();
    let rpath = format!("-Wl,-rpath,{}", dir.display());
    let source = root().join("c-tests/limits/plugin.c");
    let plugin = out_dir().join("plugin_promp.so");
    let built = Command::new("gcc")
        .args(["-O2", "-fopenmp", "-shared", "-fPIC", "-o"])
        .args([&plugin, &source])
        .args(["-L", dir.to_str().expect("UTF-8"), &rpath, "-Wl,--no-as-needed", "-lpromp"])
        .status();
    assert!(built.is_ok_and(|s| s.success()));
    // The program itself knows nothing of OpenMP: promp comes with the library, and must survive its unloading.
    let run = reference(&build("limits/loader.c", &["-fno-openmp"]), &[plugin.to_str().expect("UTF-8")], &[]);
    assert_eq!((run.status, run.out.as_str()), (0, "unloaded\n"), "{run:?}");
}

#[test]
fn cancelled_threads() {
    same("limits/cancelled.c", &[], &[("OMP_NUM_THREADS", "3")]);
}

#[test]
fn exceptions() {
    same("limits/exceptions.cpp", &[], &[]);
    same("limits/exceptions.cpp", &["leave"], &[]);
}

#[test]
fn recursion_through_nested_regions() {
    same("limits/recursion.c", &[], &[]);
}

/// Nothing of ours is reported by memcheck, on any of the programs that show every construct.
#[test]
fn programs_are_clean_under_valgrind() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("SKIPPED: valgrind is not installed");
        return;
    }
    let all = [
        "constructs/parallel.c",
        "constructs/loops.c",
        "constructs/sync.c",
        "constructs/tasks.c",
        "constructs/cancel.c",
        "constructs/classes.cpp",
        "constructs/routines.f90",
        "constructs/openacc_events.c",
        "limits/exceptions.cpp",
        "limits/recursion.c",
    ];
    let some = if scale() > 1 { &all[..] } else { &all[3..5] };
    for source in some {
        let flags: &[&str] =
            if source.contains("openacc") { &["-fopenacc", "-foffload=disable", "-fno-openmp"] } else { &[] };
        let exe = build(source, flags);
        let mut c = Command::new("valgrind");
        c.args(["-q", "--error-exitcode=99", "--fair-sched=yes"])
            .arg(&exe)
            .env("OMP_NUM_THREADS", "3")
            .env("LD_PRELOAD", library());
        let run = limited(c, LIMIT * 10);
        assert!(run.status != 99 && !run.hung && !run.err.contains("=="), "{source}: {}", run.err);
    }
    assert!(Path::new("/usr/bin/valgrind").exists());
}

/// Processes that compute on the same CPUs while the test runs.
struct Others(Vec<std::process::Child>);

impl Others {
    fn start(n: usize) -> Self {
        let one = |_| Command::new("/bin/sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
        Self((0..n).map(one).collect())
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for c in &mut self.0 {
            let _ = c.kill().and_then(|()| c.wait());
        }
    }
}

/// `exe` with four times as many threads as CPUs takes at most three times as long as under libgomp, and `slack`.
fn keeps_up(exe: &Path, arg: &str, cpus: usize, slack: Duration) {
    let threads = (4 * cpus.min(16)).to_string();
    let env = [("OMP_NUM_THREADS", &*threads)];
    // Who else has the CPUs meanwhile is not known: once more, then.
    let tries = (0..10).map(|_| {
        let (want, got) = (reference(exe, &[arg], &env), promp(exe, &[arg], &env));
        assert_eq!((got.status, &got.out), (0, &want.out), "{}", got.err);
        (got.took, want.took)
    });
    let late: Vec<_> = tries.take_while(|(got, want)| *got >= 3 * *want + slack).collect();
    assert!(late.len() < 10, "and under libgomp: {late:?}");
}

/// More threads than CPUs, on CPUs that others use as well: a thread that waits must not give a slice of time away each time (CG, class S,
/// took 11 s then, 0.4 s under libgomp).
#[test]
fn beside_other_processes() {
    let cpus = std::thread::available_parallelism().expect("known").get();
    let exe = build("npb/cg.c", &[]);
    let _others = Others::start(cpus);
    keeps_up(&exe, "S", cpus, Duration::from_secs(2));
}

/// The same beside threads of the program's own (9.4 s then, 0.5 s under libgomp).
#[test]
fn beside_own_threads() {
    let cpus = std::thread::available_parallelism().expect("known").get();
    keeps_up(&build("limits/beside.c", &[]), &cpus.to_string(), cpus, Duration::from_secs(2));
}

/// The runtime is loaded into a program whose threads are there already: they have its thread-local memory then, as it must be at first.
#[test]
fn loaded_when_there_are_threads() {
    let exe = build("limits/late.c", &["-fno-openmp"]);
    let want = reference(&exe, &["libgomp.so.1"], &[]);
    let run = reference(&exe, &[library().to_str().expect("UTF-8")], &[]);
    assert_eq!((want.status, want.out.as_str()), (0, "sum 24\n"), "{want:?}");
    assert_eq!((run.status, &run.out), (0, &want.out), "{run:?}");
}

/// What promp says does not end a program: its log may not become longer, or nobody reads what it says.
#[test]
fn messages_that_cannot_be_written_end_nobody() {
    let exe = build("ft/reduction.c", &[]);
    let want = reference(&exe, &[], &[]);
    let s = saved::Scratch::new("messages");
    let (log, command) = (s.path("log"), saved::command());
    let (exe, log) = (exe.display(), log.display());
    let run = format!("{} run --fault kill@region=1,thread=1 -- {exe}", command.display());
    for script in [
        format!("ulimit -f 1; head -c 1020 /dev/zero >{log}; exec {run} 2>>{log}"),
        format!("exec 2> >(exec true); wait $!; exec {run}"),
    ] {
        let mut c = Command::new("bash");
        c.args(["-c", &script]);
        let r = limited(c, LIMIT);
        assert_eq!((r.status, &r.out), (0, &want.out), "{script}: {r:?}");
    }
}
