//! PROMP_STATS: some lines on standard error when a process ends that has used OpenMP.

use crate::common::*;
use std::path::Path;

const THREADS: (&str, &str) = ("OMP_NUM_THREADS", "3");

/// The lines of the statistics, which fit.
fn lines(err: &str) -> Vec<&str> {
    let is_head = |l: &&str| l.starts_with("promp: ") && l.contains(", process ") && l.ends_with(" threads");
    let all: Vec<&str> = err.lines().skip_while(|l| !is_head(l)).collect();
    assert!(all.len() <= 12 && all.iter().all(|l| l.chars().count() <= 100), "{err}");
    all
}

/// The line with this name.
fn line<'a>(all: &[&'a str], name: &str) -> &'a str {
    all.iter()
        .find_map(|l| l.trim_start().strip_prefix(name))
        .unwrap_or_else(|| panic!("{name}: {all:#?}"))
        .trim()
}

fn run(exe: &Path, env: &[(&str, &str)]) -> Run {
    promp(exe, &[], &[&[THREADS], env].concat())
}

#[test]
fn nothing_happened() {
    let exe = build("losses/uneven.c", &[]);
    let r = run(&exe, &[("PROMP_STATS", "1")]);
    assert_eq!((r.status, &*r.out), (0, ""), "{r:?}");
    let all = lines(&r.err);
    assert!(all[0].contains("uneven") && all[0].ends_with("3 threads"), "{all:#?}");
    assert!(line(&all, "regions").starts_with("20;"), "{all:#?}");
    assert_eq!([line(&all, "failures"), line(&all, "checkpoints")], ["none", "none"], "{all:#?}");
    assert!(line(&all, "efficiency").contains("PROMP_MONITOR=segments"), "{all:#?}");
    let measured = run(&exe, &[("PROMP_STATS", "1"), ("PROMP_MONITOR", "segments")]);
    let all = lines(&measured.err);
    assert!(line(&all, "efficiency").contains("% = load balance"), "{all:#?}");
}

#[test]
fn not_asked_for_or_not_understood() {
    let exe = build("losses/uneven.c", &[]);
    for (value, said) in
        [("0", ""), ("", "PROMP_STATS"), ("yes", "PROMP_STATS"), ("2", "PROMP_STATS"), ("1x", "PROMP_STATS")]
    {
        let r = run(&exe, &[("PROMP_STATS", value)]);
        assert_eq!(r.status, 0, "{value}: {r:?}");
        assert!(lines(&r.err).is_empty() && r.err.contains(said), "{value}: {}", r.err);
        assert_eq!(r.err.lines().count(), usize::from(!said.is_empty()), "{value}: {}", r.err);
    }
}

#[test]
fn failures_survived_and_not() {
    let exe = build("losses/uneven.c", &[]);
    let kill = ("PROMP_FAULT", "kill@thread=1,region=3,delay=1ms");
    let r = run(&exe, &[("PROMP_STATS", "1"), ("PROMP_REPLAY", "assume"), kill]);
    assert_eq!((r.status, &*r.out), (0, ""), "{r:?}");
    let all = lines(&r.err);
    assert_eq!(line(&all, "failures"), "1: 1 kill", "{all:#?}");
    assert!(line(&all, "survived").contains("took"), "{all:#?}");
    // Where the process is stopped its statistics are all the same there.
    let r = run(&exe, &[("PROMP_STATS", "1"), ("PROMP_REPLAY", "never"), kill]);
    if r.status == 70 {
        assert_eq!(line(&lines(&r.err), "not survived"), "1 kill", "{r:?}");
    }
    let none = ("PROMP_FAULT", "kill@thread=1,region=999999");
    let all = run(&exe, &[("PROMP_STATS", "1"), none]).err;
    assert!(line(&lines(&all), "not struck").starts_with("1 of"), "{all}");
}

#[test]
fn checkpoints_and_their_cost() {
    let exe = build("losses/uneven.c", &[]);
    let at = out_folder("stats-checkpoints");
    let _ = std::fs::remove_dir_all(&at);
    let dir = at.join("d");
    std::fs::create_dir_all(&at).unwrap();
    let ckpt = [("PROMP_CKPT_DIR", dir.to_str().unwrap()), ("PROMP_CKPT_INTERVAL", "50ms")];
    let r = run(&exe, &[&[("PROMP_STATS", "1")], &ckpt[..]].concat());
    assert_eq!(r.status, 0, "{r:?}");
    let all = lines(&r.err);
    let said = line(&all, "checkpoints");
    assert!(said.contains("written; stood still for") && said.contains("of the time"), "{all:#?}");
}

#[test]
fn beside_a_report() {
    let exe = build("losses/uneven.c", &[]);
    let report = out_folder("stats").join("report.json");
    let r = run(&exe, &[("PROMP_STATS", "1"), ("PROMP_REPORT", report.to_str().unwrap())]);
    assert!(r.status == 0 && !lines(&r.err).is_empty(), "{r:?}");
    let text = std::fs::read_to_string(&report).expect("a report");
    let json: promp_report::Report = serde_json::from_str(&text).expect("a report");
    assert_eq!((json.regions, json.replay.as_str()), (20, "proven"), "{text}");
    // No region at all, and what is not OpenMP.
    let r = promp(Path::new("/bin/true"), &[], &[("PROMP_STATS", "1")]);
    assert!(r.status == 0 && r.err.is_empty(), "{r:?}");
}

#[test]
fn children_by_fork_say_nothing_of_their_parent() {
    let exe = build("header/forks.c", &[]);
    let r = run(&exe, &[("PROMP_STATS", "1")]);
    assert_eq!((r.status, &*r.out), (0, "sum 4950\n"), "{r:?}");
    assert_eq!(r.err.matches("promp: ").count(), 1, "{}", r.err);
}
