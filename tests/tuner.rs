//! The tuner: results are the same whatever it chooses, failures included; what is kept from run to run; what
//! bad files lead to.

use crate::common::draws::Draws;
use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file in a folder of its own, which is empty.
fn file(name: &str) -> PathBuf {
    empty_folder(&format!("tuner/{name}")).join("app.tune")
}

fn tuned(exe: &Path, args: &[&str], tune: &str, more: &[(&str, &str)]) -> Run {
    let mut env = vec![("PROMP_TUNE", tune), ("OMP_NUM_THREADS", "2")];
    env.extend(more);
    promp(exe, args, &env)
}

/// Lines that say something of the tuner or its file.
fn messages(r: &Run) -> Vec<&str> {
    r.err.lines().filter(|l| l.starts_with("promp:")).collect()
}

#[test]
fn constructs_have_the_same_results() {
    let fortran = |s: &&str| s.ends_with(".f90");
    let sources = [
        "parallel.c",
        "setup.c",
        "loops.c",
        "batches.c",
        "doacross.c",
        "sync.c",
        "tasks.c",
        "cancel.c",
        "icvs.c",
        "included.c",
        "sizes.c",
        "classes.cpp",
        "routines.f90",
    ];
    for source in
        sources.iter().filter(|s| !fortran(s) || Command::new("gfortran").arg("-v").output().is_ok())
    {
        let exe = build(&format!("constructs/{source}"), &[]);
        for threads in ["2", "3"] {
            let env = [("OMP_NUM_THREADS", threads), ("OMP_CANCELLATION", "true")];
            let want = reference(&exe, &[], &env);
            for more in
                [("PROMP_TUNE_THREADS", "soft"), ("PROMP_TUNE_THREADS", "fewer"), ("PROMP_REPLAY", "assume")]
            {
                let got = promp(&exe, &[], &[env[0], env[1], more, ("PROMP_TUNE", "on")]);
                assert!(!got.hung, "{source} {more:?}: hung");
                assert_eq!(
                    (got.status, &got.out),
                    (want.status, &want.out),
                    "{source} {more:?}: {}",
                    got.err
                );
            }
        }
    }
}

#[test]
fn loops_keep_what_their_schedules_promise() {
    let exe = build("tune/loops.c", &[]);
    for (threads, schedule, work) in [
        ("2", "dynamic,5", "300"),
        ("2", "guided,4", "20000"),
        ("3", "auto", "3000"),
        ("8", "static", "300"),
        ("5", "nonmonotonic:dynamic", "10"),
    ] {
        let env = [("OMP_NUM_THREADS", threads), ("OMP_SCHEDULE", schedule)];
        let want = reference(&exe, &["24", work], &env);
        let got = promp(&exe, &["24", work], &[env[0], env[1], ("PROMP_TUNE", "on")]);
        assert_eq!((got.status, &got.out), (0, &want.out), "{threads} {schedule} {work}: {}", got.err);
    }
}

/// Threads die while loops are measured, profiled and tried.
#[test]
fn failures_do_not_change_results() {
    let exe = build("tune/loops.c", &[]);
    let want = reference(&exe, &["12", "20000"], &[("OMP_NUM_THREADS", "3")]);
    let mut rng = Seeded(44);
    let (mut struck, mut draws) = (0, Draws::of(24));
    while let Some(i) = draws.next(struck > 0) {
        let (thread, region, nth) = (rng.below(3), 1 + rng.below(30), 1 + rng.below(12));
        let kind = rng.pick(&["kill", "crash"]);
        let delay = rng.pick(&["0", "50us", "500us"]);
        let spec = format!("{kind}@thread={thread},region={region},nth={nth},delay={delay},at=chunk");
        let env = [
            ("OMP_NUM_THREADS", "3"),
            ("PROMP_REPLAY", "assume"),
            ("PROMP_TUNE", "on"),
            ("PROMP_FAULT", spec.as_str()),
        ];
        let got = promp(&exe, &["12", "20000"], &env);
        assert!(!got.hung, "{spec}: hung: {}", got.err);
        struck += u32::from(got.err.contains(" failed ("));
        // What the program checks of owners and counts is not replayable; its sums are, and so are refusals.
        let sums = |r: &Run| r.out.lines().last().and_then(|l| l.rsplit_once(' ')).map(|s| s.0.to_string());
        let first = |s: Option<String>| s.map(|s| s.split(' ').take(2).collect::<Vec<_>>().join(" "));
        if got.status != 70 {
            assert_eq!(first(sums(&got)), first(sums(&want)), "{i} {spec}: {}", got.err);
        }
    }
    assert!(struck > 0);
}

#[test]
fn a_second_run_searches_nothing() {
    let (exe, tune) = (build("tune/loops.c", &[]), file("second"));
    let path = tune.to_str().expect("UTF-8");
    // Nothing shall look like a step of cost on a busy machine: two executions less than that takes.
    let first = tuned(&exe, &["40", "300"], path, &[]);
    assert_eq!((first.status, messages(&first)), (0, vec![]), "{}", first.err);
    let text = std::fs::read_to_string(&tune).expect("written at the end");
    assert!(text.starts_with("promp tuning 1\n") && text.contains("in=main._omp_fn."), "{text}");
    let report = tune.with_extension("json");
    let to = [("PROMP_REPORT", report.to_str().expect("UTF-8"))];
    let decisions = || {
        let text = std::fs::read_to_string(&report).expect("written");
        let r: promp_report::Report = serde_json::from_str(&text).expect("a report");
        assert!(!r.tuning.is_empty(), "{text}");
        r.tuning
    };
    let second = tuned(&exe, &["2", "300"], path, &to);
    assert_eq!((second.status, messages(&second)), (0, vec![]), "{}", second.err);
    for t in decisions() {
        assert!(t.searched == 0 && t.executions > 0 && !t.decision.is_empty(), "{t:?}");
    }
    // Without the file there is a search, which is over after eight executions at the latest where nothing
    // else wants the CPUs (crates/model tests that; a machine that is disturbed begins some anew).
    let twelve = tuned(&exe, &["12", "300"], "on", &to);
    assert_eq!(twelve.status, 0, "{}", twelve.err);
    let all = decisions();
    assert!(all.iter().all(|t| t.searched > 0), "{all:?}");
    assert!(all.iter().any(|t| !t.decision.is_empty()), "{all:?}");
    assert_eq!(std::fs::read_to_string(&tune).expect("still there"), text, "the second run has searched");
}

#[test]
fn two_processes_lose_nothing() {
    let tune = file("two");
    let path = tune.to_str().expect("UTF-8");
    // Two programs: their entries differ by the build id.
    let (a, b) = (build("tune/loops.c", &[]), build("tune/loops.c", &["-O1"]));
    let started: Vec<_> = (0..8)
        .map(|i| {
            let mut c = Command::new(if i % 2 == 0 { &a } else { &b });
            clean(&mut c);
            c.args(["30", "100"]).env("LD_PRELOAD", library());
            // Threads are part of the key: every process has entries of its own.
            c.env("PROMP_TUNE", path).env("OMP_NUM_THREADS", (2 + i / 2).to_string());
            c.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
            c.stderr(std::process::Stdio::piped());
            started(&mut c)
        })
        .collect();
    for child in started {
        let r = ended(child, LIMIT);
        // One that comes late may find entries, and none of them its own.
        let others = |m: &str| m.contains("is of this program as it is now: searched anew");
        assert!(r.status == 0 && messages(&r).iter().all(|m| others(m)), "{}", r.err);
    }
    let text = std::fs::read_to_string(&tune).expect("written");
    for threads in 2..6 {
        let of = text.lines().filter(|l| l.contains(&format!(" threads={threads} ")));
        let mut ids: Vec<&str> = of.filter_map(|l| l.split("at=").nth(1)?.split('+').next()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 2, "{threads} threads: {text}");
    }
    let left: Vec<_> = std::fs::read_dir(tune.parent().expect("a folder")).expect("it is there").collect();
    assert_eq!(left.len(), 1, "temporary files are left: {left:?}");
}

#[test]
fn bad_files_lead_to_one_line_and_the_right_result() {
    let exe = build("tune/loops.c", &[]);
    let want = reference(&exe, &["12", "100"], &[("OMP_NUM_THREADS", "2")]).out;
    let entry =
        "loop at=00ff+0x10 in=f n=2^3 threads=2 machine=M choice=dynamic,N/4 takes=1e-6 own=2e-6 date=d";
    let here = "promp tuning 1\n";
    for (what, text, says) in [
        ("foreign", format!("{here}{entry}\n"), "was tuned on another machine"),
        ("damaged", format!("{here}loop at=00ff+0x10 in=f n=2^3 thr\nnonsense\n"), "line 2 is no entry"),
        ("other", "{\"json\": 1}\n".to_string(), "is not a tuning file"),
        ("empty", String::new(), "is not a tuning file"),
    ] {
        let tune = file(what);
        std::fs::write(&tune, &text).expect("target is writable");
        let got = tuned(&exe, &["12", "100"], tune.to_str().expect("UTF-8"), &[]);
        assert_eq!((got.status, &got.out), (0, &want), "{what}: {}", got.err);
        let m = messages(&got);
        assert!(m.len() == 1 && m[0].contains(says), "{what}: {m:?}");
        if says.contains("not a tuning file") {
            assert_eq!(std::fs::read_to_string(&tune).expect("left alone"), text, "{what}");
        }
    }
    // Of this machine, but of another build: taken from what this one writes.
    let tune = file("stale");
    tuned(&exe, &["30", "100"], tune.to_str().expect("UTF-8"), &[]);
    let text = std::fs::read_to_string(&tune).expect("written");
    std::fs::write(&tune, text.replace("at=", "at=00")).expect("target is writable");
    let got = tuned(&exe, &["30", "100"], tune.to_str().expect("UTF-8"), &[]);
    let m = messages(&got);
    assert!(m.len() == 1 && m[0].contains("is of this program as it is now"), "{m:?}");
    // A folder, what never ends, what is no text, and a place that is not there.
    let binary = tune.with_file_name("binary");
    std::fs::write(&binary, [0xff, 0xfe, 0, 1]).expect("target is writable");
    let pipe = tune.with_file_name("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()));
    for (path, says) in [
        (tune.parent().expect("a folder").to_path_buf(), "cannot be read"),
        (pipe, "cannot be read: it is no regular file"),
        (PathBuf::from("/dev/zero"), "cannot be read: it is no regular file"),
        (binary, "cannot be read"),
        (tune.with_file_name("none/app.tune"), "cannot be written"),
    ] {
        let got = tuned(&exe, &["30", "100"], path.to_str().expect("UTF-8"), &[]);
        let m = messages(&got);
        assert!(got.status == 0 && m.len() == 1 && m[0].contains(says), "{m:?}");
    }
}

/// Entries of calls that are not there any more, though the program has the same name: what is of the others
/// is used, they stay, and nothing is said of it.
#[test]
fn sites_that_are_gone_are_no_matter() {
    let (exe, tune) = (build("tune/loops.c", &[]), file("gone"));
    let path = tune.to_str().expect("UTF-8");
    let want = reference(&exe, &["2", "300"], &[("OMP_NUM_THREADS", "2")]).out;
    tuned(&exe, &["40", "300"], path, &[]);
    let text = std::fs::read_to_string(&tune).expect("written at the end");
    let entry = text.lines().find(|l| l.starts_with("loop ")).expect("loops were tuned");
    let (head, tail) = entry.split_once("+0x").expect("an offset");
    let (_, tail) = tail.split_once(' ').expect("more words");
    let gone = format!("{head}+0xfffffff1 {tail}\n{head}+0x0 {tail}\n");
    std::fs::write(&tune, format!("{text}{gone}")).expect("target is writable");
    let report = tune.with_extension("json");
    let to = [("PROMP_REPORT", report.to_str().expect("UTF-8"))];
    let got = tuned(&exe, &["2", "300"], path, &to);
    assert_eq!((got.status, &got.out, messages(&got)), (0, &want, vec![]), "{}", got.err);
    let r: promp_report::Report =
        serde_json::from_str(&std::fs::read_to_string(&report).expect("written")).expect("a report");
    assert!(!r.tuning.is_empty() && r.tuning.iter().all(|t| t.searched == 0), "{:?}", r.tuning);
    let after = std::fs::read_to_string(&tune).expect("still there");
    assert!(after.contains("+0xfffffff1 ") && after.contains("+0x0 "), "{after}");
}

#[test]
fn settings_that_do_not_go_together_are_named() {
    let exe = build("tune/loops.c", &[]);
    for (env, says) in [
        (("PROMP_REPRODUCIBLE", "1"), "PROMP_TUNE is off because PROMP_REPRODUCIBLE=1"),
        (("PROMP_TUNE_THREADS", "many"), "accepted are keep, soft, fewer"),
    ] {
        let got = tuned(&exe, &["3", "10"], "on", &[env]);
        assert!(got.status == 0 && messages(&got).len() == 1 && got.err.contains(says), "{}", got.err);
    }
}

/// What was found with more threads than there can be now is not for this run, and what is chosen for some of
/// them is not taken over for fewer.
#[test]
fn threads_that_cannot_be_had() {
    let exe = build("tune/loops.c", &[]);
    let tune = file("limited");
    let path = tune.to_str().expect("UTF-8");
    let first = tuned(&exe, &["30", "100"], path, &[("OMP_NUM_THREADS", "4")]);
    assert_eq!((first.status, messages(&first)), (0, vec![]), "{}", first.err);
    let text = std::fs::read_to_string(&tune).expect("written");
    assert!(text.contains(" threads=4 ") && !text.contains(" threads=2 "), "{text}");
    // Entries for two threads that ask for three of them.
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for l in text.lines().filter(|l| l.starts_with("loop ")) {
        let choice = l.split("choice=").nth(1).and_then(|c| c.split(' ').next()).expect("a choice");
        lines.push(l.replace(" threads=4 ", " threads=2 ").replace(choice, "given@3"));
    }
    std::fs::write(&tune, lines.join("\n") + "\n").expect("target is writable");
    let limit = [("OMP_NUM_THREADS", "4"), ("OMP_THREAD_LIMIT", "2")];
    let want = reference(&exe, &["30", "100"], &limit);
    let got = tuned(&exe, &["30", "100"], path, &limit);
    assert_eq!((got.status, &got.out), (0, &want.out), "{}", got.err);
    let text = std::fs::read_to_string(&tune).expect("still there");
    let of = |threads: &str| text.lines().filter(|l| l.contains(threads)).count();
    assert!(of(" threads=4 ") > 0 && of(" threads=2 ") > 0, "{text}");
}

/// Serial code that the compiler has made regions of: each gets as many threads as are best for it.
#[test]
fn regions_of_serial_code() {
    let exe = build("tune/serial.c", &["-ftree-parallelize-loops=2"]);
    let want = reference(&exe, &["30"], &[]);
    let tune = file("serial");
    let path = tune.to_str().expect("UTF-8");
    for threads in ["soft", "fewer"] {
        let got = tuned(&exe, &["30"], path, &[("PROMP_TUNE_THREADS", threads)]);
        assert_eq!((got.status, &got.out, messages(&got)), (0, &want.out, vec![]), "{}", got.err);
    }
    let text = std::fs::read_to_string(&tune).expect("written");
    let regions = text.lines().filter(|l| l.starts_with("region ") && l.contains("._loopfn.")).count();
    assert!(regions >= 4, "{text}");
    // Nothing is decided about threads where they are to be kept.
    let kept = file("kept");
    let got = tuned(&exe, &["30"], kept.to_str().expect("UTF-8"), &[("PROMP_TUNE_THREADS", "keep")]);
    assert_eq!((got.status, &got.out), (0, &want.out));
    assert!(!kept.exists(), "{}", std::fs::read_to_string(&kept).unwrap_or_default());
}

/// Regions that one thread goes on to execute are not set up each time. What they inherit is right all the
/// same, whatever changes it, and they survive the thread that executes them.
#[test]
fn regions_of_one_thread_inherit_what_they_should() {
    let exe = build("tune/alone.c", &[]);
    // As few as change what is inherited: libgomp's threads wait for each other at each region.
    assert_eq!(reference(&exe, &["120"], &[]).out, "right\n");
    let fewer = [("OMP_DYNAMIC", "true"), ("PROMP_TUNE_THREADS", "fewer"), ("PROMP_TUNE", "on")];
    let got = promp(&exe, &["500"], &fewer);
    assert_eq!((got.status, got.out.as_str()), (0, "right\n"), "{}", got.err);
    let mut struck = 0;
    for (i, kind) in ["kill", "crash", "kill", "crash"].iter().enumerate() {
        let spec = format!("{kind}@thread=0,region={},at=region", 120 + 201 * i);
        let fault = [("PROMP_REPLAY", "assume"), ("PROMP_FAULT", spec.as_str())];
        let got = promp(&exe, &["500"], &[&fewer[..], &fault].concat());
        struck += u32::from(got.err.contains("thread 0 failed"));
        // Sums are kept in place: work that cannot be repeated is refused, never wrong.
        let right = got.status == 70 || (got.status, got.out.as_str()) == (0, "right\n");
        assert!(right && !got.hung, "{spec}: {} {} {}", got.status, got.out, got.err);
    }
    assert!(struck > 0);
}

/// Short regions that the compiler has made of serial loops are executed as those, once one thread alone is
/// best: but not where a failure could be survived, or somebody listens.
#[test]
fn short_regions_of_serial_code_become_serial_code_again() {
    const EXECUTIONS: u64 = 20_000;
    let exe = build("tune/plain.c", &["-ftree-parallelize-loops=2"]);
    let args = [&EXECUTIONS.to_string()[..]];
    let outside =
        |r: &Run| r.err.lines().find_map(|l| l.strip_prefix("outside: ")?.split(' ').next()?.parse().ok());
    // Serial code is in no region, which it counts. (libgomp's threads wait for each other at each region.)
    let serial = reference(&build("tune/plain.c", &[]), &args, &[]).out;
    let want = serial.rsplit_once(' ').map(|(results, wrong)| (format!("{results} 0\n"), wrong.to_string()));
    let (want, wrong) = want.expect("three numbers");
    let few = reference(&exe, &["20"], &[]).out;
    assert!(wrong != "0\n" && few.ends_with(" 0\n"), "GCC makes no region of it: {few}{serial}");
    let report = file("plain").with_extension("json");
    let path = report.to_str().expect("UTF-8");
    // What is chosen must not hang on how busy the machine is: one thread, by the file.
    let tune = file("plain-choice");
    let kept = tune.to_str().expect("UTF-8");
    tuned(&exe, &["200"], kept, &[]);
    let text = std::fs::read_to_string(&tune).expect("written");
    let choice = text.split("choice=").nth(1).and_then(|c| c.split(' ').next()).expect("a choice");
    let fixed = text.replace(&format!("choice={choice}"), "choice=given@1");
    for (more, plain) in [
        (("PROMP_TUNE_THREADS", "soft"), true),
        (("PROMP_REPORT", path), true),
        (("PROMP_REPLAY", "assume"), false),
        (("PROMP_FAULT", "kill@thread=1,region=1000000000,at=region"), false),
        (("OMP_THREAD_LIMIT", "2"), false),
    ] {
        // Another way may be tried now and then, and on a machine that is disturbed often: once more, then.
        let right = |outside: u64| if plain { outside > EXECUTIONS * 9 / 10 } else { outside == 0 };
        let (mut times, mut draws) = (None, Draws::between(1, if plain { 20 } else { 1 }));
        while draws.next(times.is_some_and(right)).is_some() {
            std::fs::write(&tune, &fixed).expect("target is writable");
            let got = tuned(&exe, &args, kept, &[more]);
            assert_eq!((got.status, &got.out), (0, &want), "{more:?}: {}", got.err);
            times = outside(&got);
        }
        assert!(times.is_some_and(right), "{more:?}: {times:?}");
    }
    let text = std::fs::read_to_string(&report).expect("written");
    let r: promp_report::Report = serde_json::from_str(&text).expect("a report");
    assert_eq!(r.regions, EXECUTIONS, "each of them is counted");
    let t = r.tuning.iter().find(|t| t.function.contains("._loopfn.")).expect("its decision");
    // Most were not looked at: how many are hangs on how long they take.
    assert!(t.executions < EXECUTIONS / 2, "{t:?}");
}

/// Likewise by several threads of the program's own: each of the regions is counted, whoever calls it.
#[test]
fn serial_code_again_in_several_threads() {
    const EXECUTIONS: &str = "5000";
    let exe = build("tune/primaries.c", &["-ftree-parallelize-loops=2", "-pthread"]);
    let want = reference(&build("tune/primaries.c", &["-pthread"]), &[EXECUTIONS], &[]);
    let tune = file("primaries");
    let path = tune.to_str().expect("UTF-8");
    tuned(&exe, &["200"], path, &[]);
    let text = std::fs::read_to_string(&tune).expect("written");
    let choice = text.split("choice=").nth(1).and_then(|c| c.split(' ').next()).expect("a choice");
    std::fs::write(&tune, text.replace(&format!("choice={choice}"), "choice=given@1")).expect("writable");
    for tune in [path, "off"] {
        let got = tuned(&exe, &[EXECUTIONS], tune, &[]);
        assert_eq!((got.status, &got.out), (0, &want.out), "{tune}: {}", got.err);
        assert!(got.err.contains("regions: 15000\n"), "{tune}: {}", got.err);
    }
}

/// What is posted is posted at once: put off until the thread is about to wait, it never would be.
#[test]
fn posts_are_not_put_off() {
    let exe = build("tune/posts.c", &[]);
    let want = reference(&exe, &[], &[]);
    assert_eq!((want.status, want.out.as_str()), (0, "2 threads, 400 iterations\n"));
    for tune in ["off", "on"] {
        let got = tuned(&exe, &[], tune, &[]);
        assert_eq!((got.status, &got.out), (0, &want.out), "{tune}: {}", got.err);
    }
}

/// Doacross loops get other schedules where that conforms, and compute the same, failures included.
#[test]
fn doacross_loops_by_other_schedules() {
    let exe = build("tune/doacross.c", &[]);
    let report = file("doacross").with_extension("json");
    let path = report.to_str().expect("UTF-8");
    for (schedule, changes) in [("auto", true), ("guided,2", true), ("dynamic,3", false), ("static,1", false)]
    {
        let env = [("OMP_NUM_THREADS", "2"), ("OMP_SCHEDULE", schedule)];
        let want = reference(&exe, &["3000"], &env);
        assert!(want.out.ends_with(" 0\n"), "{want:?}");
        let got = promp(&exe, &["3000"], &[env[0], env[1], ("PROMP_TUNE", "on"), ("PROMP_REPORT", path)]);
        assert_eq!((got.status, &got.out), (0, &want.out), "{schedule}: {}", got.err);
        let text = std::fs::read_to_string(&report).expect("written");
        let r: promp_report::Report = serde_json::from_str(&text).expect("a report");
        // More than the first execution: others were tried.
        let tried = r.tuning.iter().filter(|t| t.searched > 1).count();
        assert_eq!(tried > 0, changes, "{schedule}: {:?}", r.tuning);
    }
    let want = reference(&exe, &["1500"], &[("OMP_NUM_THREADS", "3"), ("OMP_SCHEDULE", "auto")]).out;
    let (mut rng, mut struck, mut draws) = (Seeded(7), 0, Draws::of(8));
    while draws.next(struck > 0).is_some() {
        let (thread, region, nth) = (rng.below(3), 1 + rng.below(1400), 1 + rng.below(2));
        let kind = rng.pick(&["kill", "crash"]);
        let spec = format!("{kind}@thread={thread},region={region},nth={nth},at=chunk");
        let env = [
            ("OMP_NUM_THREADS", "3"),
            ("OMP_SCHEDULE", "auto"),
            ("PROMP_REPLAY", "assume"),
            ("PROMP_TUNE", "on"),
            ("PROMP_FAULT", spec.as_str()),
        ];
        let got = promp(&exe, &["1500"], &env);
        assert!(!got.hung, "{spec}: hung: {}", got.err);
        struck += u32::from(got.err.contains(" failed ("));
        // Iterations that count themselves are counted again: the number of those that are wrong, not the
        // sums.
        let sums = |out: &str| out.split(' ').next().map(String::from);
        assert!(got.status == 70 || sums(&got.out) == sums(&want), "{spec}: {} {}", got.out, got.err);
    }
    assert!(struck > 0);
}
