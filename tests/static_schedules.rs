//! Static loops built with promp-cc: which may be dealt in another way, and that those which a program can
//! count on stay as they are, whatever the tuner and whoever recovers them.

use crate::common::driven::*;
use crate::common::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The program, and what the driver said of its loops: function and verdict.
fn built(level: &str) -> Option<(PathBuf, Vec<(String, String)>)> {
    let (exe, said) = driven_and_reported(&driver("promp-cc")?, "tune/static.c", &[level, "-fpromp-report"]);
    let loops = said.lines().filter_map(|l| l.split_once("promp: loop in ")?.1.split_once(": "));
    Some((exe, loops.map(|(f, v)| (f.to_string(), v.to_string())).collect()))
}

fn expected(exe: &Path, args: &[&str]) -> String {
    let r = reference(exe, args, &[("OMP_NUM_THREADS", "3")]);
    assert_eq!(r.status, 0, "{}", r.err);
    r.out
}

#[test]
fn only_loops_that_nothing_depends_on_are_free() {
    for level in ["-O1", "-O2", "-O3", "-Os"] {
        let Some((_, loops)) = built(level) else { return };
        let mut free = BTreeSet::new();
        for (function, verdict) in &loops {
            if verdict.contains("any schedule") {
                assert!(function.starts_with("free_"), "{level}: {function}: {verdict}");
                free.insert(function.as_str());
            }
            // Nor may others repeat a part of what a thread relies upon.
            assert!(!function.starts_with("tied_") || function == "tied_sum" || !verdict.contains("(shared"));
        }
        let all =
            ["behind_barrier", "chain", "pointers", "rows", "sum", "update"].map(|f| format!("free_{f}"));
        if ["-O2", "-O3"].contains(&level) {
            assert_eq!(free, all.iter().map(String::as_str).collect(), "{level}: {loops:?}");
        }
    }
}

/// Every free loop, and no other, is dealt as the tuning file says.
#[test]
fn free_loops_are_tuned_and_others_are_not() {
    let Some((exe, _)) = built("-O2") else { return };
    let folder = empty_folder("static_schedules");
    let (tune, report) = (folder.join("app.tune"), folder.join("report.json"));
    let run = |executions| {
        let args = [executions, "300"];
        let want = expected(&exe, &args);
        let env = [
            ("OMP_NUM_THREADS", "3"),
            ("PROMP_TUNE", tune.to_str().expect("UTF-8")),
            ("PROMP_REPORT", report.to_str().expect("UTF-8")),
        ];
        let r = promp(&exe, &args, &env);
        assert_eq!((r.status, &r.out), (0, &want), "{}", r.err);
        let text = std::fs::read_to_string(&report).expect("written");
        serde_json::from_str::<promp_report::Report>(&text).expect("a report").tuning
    };
    let first = run("30");
    let functions: BTreeSet<_> = first.iter().filter_map(|t| t.function.split('.').next()).collect();
    assert!(functions.len() >= 5 && functions.iter().all(|f| f.starts_with("free_")), "{functions:?}");
    for choice in ["dynamic,N/64", "guided,N/16", "given@1", "given@2"] {
        let text = std::fs::read_to_string(&tune).expect("written");
        let entry = |l: &str| {
            let word = |w: &str| match w.split_once('=') {
                Some(("choice", _)) => format!("choice={choice}"),
                Some(("takes", _)) => "takes=0".into(),
                _ => w.into(),
            };
            l.split(' ').map(word).collect::<Vec<String>>().join(" ")
        };
        std::fs::write(&tune, text.lines().map(|l| entry(l) + "\n").collect::<String>()).expect("writable");
        // Too few executions for anything to look like a step of cost.
        let tuned = run("4");
        assert!(tuned.iter().filter(|t| t.decision == choice).count() >= 4, "{choice}: {tuned:?}");
    }
}

/// A chunk that is lost in a loop which others go on with: without a barrier the survivors must leave it to
/// its own thread. Runs until chunks were lost, with and without the tuner.
#[test]
fn lost_chunks_of_tied_loops_are_repeated_by_their_threads() {
    let Some((exe, _)) = built("-O2") else { return };
    let args = ["5", "20000"];
    let want = expected(&exe, &args);
    let mut rng = Seeded(17);
    let (enough, mut lost, mut runs) = (6 * scale(), 0, 0);
    while lost < enough && (runs < 12 * enough || (lost == 0 && runs < 50 * enough)) {
        let (thread, region) = (rng.below(3), 1 + rng.below(70));
        let kind = rng.pick(&["kill", "crash"]);
        let delay = 1 + rng.below(700);
        let spec = format!("{kind}@thread={thread},region={region},at=chunk,delay={delay}us");
        let tune = if runs % 3 == 0 { "on" } else { "off" };
        let env = [("OMP_NUM_THREADS", "3"), ("PROMP_TUNE", tune), ("PROMP_FAULT", spec.as_str())];
        let r = promp(&exe, &args, &env);
        assert!(!r.hung, "{spec} {tune}: hung: {}", r.err);
        assert_eq!((r.status, &r.out), (0, &want), "{spec} {tune}: {}", r.err);
        lost += u64::from(r.err.contains("recomputed by"));
        runs += 1;
    }
    assert!(lost > 0, "no chunk was lost in {runs} runs");
}
