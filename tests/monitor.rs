//! PROMP_MONITOR: what it says of programs whose times are known, and that nothing that happens to a program
//! disturbs it. What is expected comes from the programs' own clocks, and from libgomp's run of the same
//! binary.

use crate::common::*;
use promp_report::{Report, Segment};
use std::path::Path;

/// Runs `exe` with the monitor in `mode`; its run and report.
fn watched(exe: &Path, args: &[&str], mode: &str, env: &[(&str, &str)]) -> (Run, Report) {
    let name = format!("monitor-{}-{}-{mode}.json", std::process::id(), args.join("-"));
    let file = out_dir().join(name);
    let _ = std::fs::remove_file(&file);
    let mut env = env.to_vec();
    env.extend([("PROMP_MONITOR", mode), ("PROMP_REPORT", file.to_str().expect("UTF-8"))]);
    let run = promp(exe, args, &env);
    assert_eq!((run.status, run.hung), (0, false), "{args:?} {env:?}: {}", run.err);
    let text = std::fs::read_to_string(&file).expect("a report");
    let _ = std::fs::remove_file(&file);
    (run, serde_json::from_str(&text).expect("JSON"))
}

/// Everything that the threads did.
fn accounted(r: &Report) -> f64 {
    let of = |s: &Segment| [&s.busy_s, &s.wait_s, &s.runtime_s, &s.stolen_s].map(|v| v.iter().sum::<f64>());
    r.segments.iter().flat_map(of).sum()
}

#[track_caller]
fn adds_up(r: &Report) {
    let (sum, all) = (accounted(r), f64::from(r.threads) * r.efficiency.as_ref().expect("measured").wall_s);
    assert!((sum / all - 1.0).abs() < 0.005, "{sum} s of {all} s are accounted for: {r:#?}");
}

#[test]
fn busy_times_are_what_the_program_measured() {
    let exe = build("monitor/known.c", &[]);
    for threads in [2usize, 3, 4] {
        // A machine that is shared can hold a thread up between the monitor's clock and the program's own. It
        // does not do so every time; a fault would.
        let tries = (0..50).map(|_| known(&exe, threads));
        let faults: Vec<String> = tries.map_while(Result::err).collect();
        assert!(faults.len() < 50, "{faults:#?}");
    }
}

/// One run of the program of known times by so many threads; what is wrong with the busy times.
fn known(exe: &Path, threads: usize) -> Result<(), String> {
    let n = threads.to_string();
    let (run, r) = watched(exe, &[&n, "10"], "segments", &[]);
    let told: Vec<Vec<f64>> = run
        .out
        .lines()
        .map(|l| l.split(' ').skip(1).map(|w| w.parse().expect("a number")).collect())
        .collect();
    let which = |s: &Segment| match (s.from.as_str(), s.to.as_str()) {
        ("region", "barrier") => Some(0),
        ("barrier", "construct end") => Some(1),
        ("construct end", "region end") => Some(2),
        ("region end", "region") => Some(3),
        _ => None,
    };
    for (i, told) in told.iter().enumerate() {
        let found: Vec<&Segment> = r.segments.iter().filter(|s| which(s) == Some(i)).collect();
        assert!(!found.is_empty(), "segment {i}: {r:#?}");
        for (t, told) in told.iter().enumerate() {
            let busy: f64 = found.iter().map(|s| s.busy_s.get(t).copied().unwrap_or(0.0) * 1e9).sum();
            let allowed = (0.01 * told).max(2_000.0 * 10.0);
            if (busy - told).abs() > allowed {
                return Err(format!("{n}: segment {i}, thread {t}: {busy} for {told}"));
            }
        }
    }
    let region: Vec<&Segment> = r.segments.iter().filter(|s| s.level == Some(1)).collect();
    assert!(region.iter().all(|s| s.visits == 10 && s.threads == threads as u32), "{region:#?}");
    let dealt = region.iter().find(|s| s.construct == "loop").expect("the loop");
    assert_eq!(dealt.schedule.as_deref(), Some("dynamic,1"));
    assert_eq!((dealt.iterations, dealt.chunks), (20 * threads as u64, 20 * threads as u64));
    let end = region.iter().find(|s| s.to == "region end").expect("the last one");
    // 10 times 4 ms of thread 0 and one of each other one: tp − ts/m.
    let m = threads as f64;
    let ideal = 10.0 * (4e-3 - (4e-3 + 1e-3 * (m - 1.0)) / m);
    let own = end.wre_own.expect("measured") * end.gain_s / end.wre;
    if (own / ideal - 1.0).abs() >= 0.03 {
        return Err(format!("{own} s could be saved, of {ideal}: {end:#?}"));
    }
    assert!(end.begin.as_ref().is_some_and(|b| b.module == exe.to_str().expect("UTF-8")), "{end:#?}");
    adds_up(&r);
    Ok(())
}

/// What threads did before they fell asleep at the end of the last region counts once, whoever writes it:
/// they themselves, or who ends the program.
#[test]
fn who_sleeps_at_the_end_counts_once() {
    let exe = build("monitor/asleep.c", &[]);
    for _ in 0..40 {
        let (_, r) = watched(&exe, &[], "segments", &[("OMP_WAIT_POLICY", "passive")]);
        let region = r.segments.iter().find(|s| s.level == Some(1)).expect("the region");
        assert_eq!((region.threads, region.iterations, region.chunks), (8, 9, 9), "{r:#?}");
        let on_a_cpu = region.busy_s.iter().sum::<f64>();
        let least = |t: usize| if t == 0 { 6e-3 } else { 2e-3 };
        for (t, busy) in region.busy_s.iter().enumerate() {
            assert!(*busy > 0.95 * least(t), "thread {t}: {busy} s: {r:#?}");
        }
        assert!(on_a_cpu > 0.95 * 29e-3 && on_a_cpu < 1.5 * 29e-3, "{on_a_cpu} s: {r:#?}");
        adds_up(&r);
    }
}

#[test]
fn all_shapes_of_teams() {
    let exe = build("monitor/shapes.c", &[]);
    for which in ["nested", "sizes", "tasks", "threads"] {
        let want = reference(&exe, &[which, "40"], &[]).out;
        for mode in ["segments", "trace"] {
            let (run, r) = watched(&exe, &[which, "40"], mode, &[]);
            assert_eq!(run.out, want, "{which} {mode}");
            assert!(r.segments.iter().any(|s| s.level == Some(1) && s.visits > 0), "{which}: {r:#?}");
            assert!(r.segments.iter().all(|s| s.busy_s.iter().all(|b| (0.0..60.0).contains(b))), "{r:#?}");
            let e = r.efficiency.as_ref().expect("measured");
            assert!(
                [e.parallel, e.load_balance, e.scheduling, e.serial].iter().all(|x| (0.0..=1.0).contains(x))
            );
            assert_eq!(r.trace.is_some(), mode == "trace");
            if let Some(t) = &r.trace {
                assert!(t.threads.iter().all(|t| !t.spans.is_empty()), "{which}");
            }
        }
    }
    let (_, r) = watched(&exe, &["nested", "40"], "segments", &[]);
    let inner = r.segments.iter().filter(|s| s.level == Some(2));
    // 40 regions of two threads, in each of which two inner ones begin: their barrier and their end.
    assert!(inner.clone().count() == 2 && inner.clone().all(|s| s.visits == 80 && s.threads == 2), "{r:#?}");
    // 40 times three threads of the program's own, which begin three regions each at the same place at the
    // same time: no visit is lost, and the mean of two threads' busy times is half of their sum.
    let (_, r) = watched(&exe, &["threads", "40"], "segments", &[]);
    let of_regions: Vec<&Segment> = r.segments.iter().filter(|s| s.level == Some(1)).collect();
    assert_eq!(of_regions.iter().map(|s| s.visits).sum::<u64>(), 360, "{r:#?}");
    for s in of_regions {
        let on_average = (s.busy_s.iter().sum::<f64>() + s.stolen_s.iter().sum::<f64>()) / 2.0;
        let mean = s.tp_s - s.gain_s;
        // A nanosecond a visit is lost to rounding.
        assert!((mean - on_average).abs() < 1e-6 + 0.001 * on_average, "{mean} s, {on_average} s: {s:#?}");
    }
}

#[test]
fn nothing_grows() {
    let exe = build("monitor/shapes.c", &[]);
    let forks = (50 * scale()).min(1000).to_string();
    let (run, _) = watched(&exe, &["forks", &forks], "trace", &[]);
    assert_eq!(run.out, "total 2\n");
    let regions = (20_000 * scale()).min(100_000).to_string();
    let (run, r) = watched(&exe, &["regions", &regions], "trace", &[]);
    assert!(run.out.starts_with("grown: no\n"), "{}", run.out);
    let t = r.trace.expect("traced");
    assert!(
        t.seen > t.thinned && t.every > 1,
        "{} spans of {}, one in {}",
        t.seen - t.thinned,
        t.seen,
        t.every
    );
}

#[test]
fn failures_leave_the_records_whole() {
    let exe = build("npb/cg.c", &[]);
    let env = [("OMP_NUM_THREADS", "3"), ("PROMP_REPLAY", "assume"), ("PROMP_VERBOSE", "0")];
    let want = reference(&exe, &["S"], &env).out;
    let (_, free) = watched(&exe, &["S"], "trace", &env);
    let visits = |r: &Report| {
        let mut all: Vec<_> =
            r.segments.iter().map(|s| (s.begin.clone().map(|b| b.offset), s.to.clone(), s.visits)).collect();
        all.sort();
        all
    };
    for fault in [
        "kill@thread=1,region=5,at=barrier,nth=20,delay=20us",
        "crash@thread=2,region=7,at=barrier,nth=3,delay=5us",
        "kill@thread=0,region=9,at=barrier,nth=40",
        "kill@thread=1,mtbf=10ms,count=6,seed=4",
    ] {
        let mut env = env.to_vec();
        env.push(("PROMP_FAULT", fault));
        let (run, r) = watched(&exe, &["S"], "trace", &env);
        assert_eq!(run.out, want, "{fault}");
        // Every visit is counted once, however often it was begun.
        assert_eq!(visits(&r), visits(&free), "{fault}");
        adds_up(&r);
    }
}

#[test]
fn rolled_back_time_is_nobodys() {
    let exe = build("npb/cg.c", &[]);
    let dir = out_dir().join(format!("monitor-ckpt-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let env = [
        ("OMP_NUM_THREADS", "2"),
        ("PROMP_VERBOSE", "0"),
        ("PROMP_CKPT_DIR", dir.to_str().expect("UTF-8")),
        ("PROMP_CKPT_INTERVAL", "20ms"),
        ("PROMP_FAULT", "memerr@thread=1,region=10,at=barrier,nth=200"),
    ];
    let want = reference(&exe, &["W"], &[]).out;
    let (run, r) = watched(&exe, &["W"], "segments", &env);
    let _ = std::fs::remove_dir_all(&dir);
    assert_eq!(run.out, want);
    assert_eq!(r.failures.iter().map(|f| f.recovery.as_str()).collect::<Vec<_>>(), ["rollback"]);
    let regions = r.segments.iter().filter(|s| s.from == "region" && s.level == Some(1));
    assert_eq!(regions.map(|s| s.visits).sum::<u64>(), r.regions, "each region once: {r:#?}");
    assert!(accounted(&r) <= 2.01 * r.efficiency.as_ref().expect("measured").wall_s, "{r:#?}");
}

#[test]
fn a_value_that_is_unknown() {
    let exe = build("monitor/known.c", &[]);
    let run = promp(&exe, &["2", "1"], &[("PROMP_MONITOR", "all")]);
    assert_eq!(run.status, 0);
    let line = "PROMP_MONITOR=all is not understood: accepted are off, segments, trace; using the default";
    assert!(run.err.contains(line), "{}", run.err);
}
