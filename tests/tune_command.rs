//! `promp tune`, and what reports say of the tuner.

use crate::common::*;
use std::process::Command;

/// The command: runs, keeps, shows.
#[test]
fn the_command_runs_and_shows() {
    let promp = library().with_file_name("promp");
    let exe = build("tune/loops.c", &[]);
    let tune = empty_folder("tune").join("app.tune");
    let run = |args: &[&std::ffi::OsStr]| {
        let mut c = Command::new(&promp);
        clean(&mut c);
        c.args(args);
        limited(c, LIMIT)
    };
    let (t, e) = (tune.as_os_str(), exe.as_os_str());
    let s = std::ffi::OsStr::new;
    let r = run(&[
        s("tune"),
        s("--runs"),
        s("2"),
        s("--threads"),
        s("2"),
        s("-o"),
        t,
        s("--"),
        e,
        s("30"),
        s("100"),
    ]);
    assert!(r.status == 0 && r.out.contains("new or changed") && r.err.contains("run 2 of 2"), "{r:?}");
    let shown = run(&[s("tune"), s("--show"), t]);
    assert!(shown.status == 0 && shown.out.contains("main._omp_fn."), "{shown:?}");
    let json = run(&[s("tune"), s("--show"), t, s("--json")]);
    let list: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert!(list.as_array().is_some_and(|l| !l.is_empty() && l[0]["threads"] == 2), "{list}");
    let r = run(&[s("run"), s("--threads"), s("2"), s("--tune"), t, s("--"), e, s("5"), s("100")]);
    assert_eq!(r.status, 0, "{r:?}");
    // What is no tuning file, what is not there, nothing to do.
    std::fs::write(&tune, "hello\n").expect("target is writable");
    assert_eq!(run(&[s("tune"), s("--show"), t]).status, 65);
    assert_eq!(run(&[s("tune"), s("--show"), tune.with_file_name("none").as_os_str()]).status, 66);
    assert_eq!(run(&[s("tune")]).status, 64);
    // What never ends, and what cannot be written: said before anything is run.
    let (pipe, nowhere) = (tune.with_file_name("pipe"), tune.with_file_name("none/app.tune"));
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()));
    let pipe = pipe.as_os_str();
    for (args, status, says) in [
        (vec![s("--show"), pipe], 66, "it is no regular file"),
        (vec![s("-o"), pipe, s("--"), e, s("5"), s("10")], 66, "it is no regular file"),
        (vec![s("-o"), nowhere.as_os_str(), s("--"), e, s("5"), s("10")], 74, "cannot be written"),
    ] {
        let r = run(&[&[s("tune")], &args[..]].concat());
        assert!(!r.hung && r.status == status && r.err.contains(says) && r.out.is_empty(), "{r:?}");
    }
}

#[test]
fn the_report_says_what_was_decided() {
    let exe = build("tune/loops.c", &[]);
    let report = empty_folder("tune").join("report.json");
    let tuned = |tune: &str, args: &[&str], path: &str| {
        promp(&exe, args, &[("PROMP_TUNE", tune), ("OMP_NUM_THREADS", "2"), ("PROMP_REPORT", path)])
    };
    let path = report.to_str().expect("UTF-8");
    let got = tuned("on", &["30", "300"], path);
    assert_eq!(got.status, 0, "{}", got.err);
    let r: promp_report::Report =
        serde_json::from_str(&std::fs::read_to_string(&report).expect("written")).expect("a report");
    assert!(r.tuning.iter().any(|t| t.function.starts_with("main._omp_fn.") && !t.decision.is_empty()));
    for t in &r.tuning {
        assert!(t.executions >= u64::from(t.searched) && !t.advice.is_empty(), "{t:?}");
        if let (Some(p), Some(i)) = (t.predicted_s, t.interval_s) {
            assert!(i[0] <= p && p <= i[1], "{t:?}");
        }
    }
    let mut c = Command::new(library().with_file_name("promp"));
    clean(&mut c);
    c.arg("report").arg(&report);
    let shown = limited(c, LIMIT);
    assert!(shown.status == 0 && shown.out.contains("tuning     loop main._omp_fn."), "{shown:?}");
    // Off: not a word of it.
    let got = tuned("off", &["3", "30"], path);
    assert!(got.status == 0 && !std::fs::read_to_string(&report).expect("written").contains("tuning"));
}
