//! Regions and barriers of functions that end in a jump to the runtime: reports name the function that has
//! them, not its caller, to which the runtime returns.

use crate::common::*;
use promp_report::Report;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// The report of a run of `exe` with the monitor, with names, or as the runtime has written it.
fn report(exe: &Path, named: bool) -> Report {
    let tool = library().with_file_name("promp");
    let file = exe.with_extension("json");
    let start = |args: &[&str]| {
        let mut c = Command::new(&tool);
        clean(&mut c);
        c.args(args).env("OMP_NUM_THREADS", "2");
        let r = limited(c, LIMIT);
        assert_eq!(r.status, 0, "{args:?}: {}", r.err);
        r.out
    };
    let (at, exe) = (file.to_str().expect("UTF-8"), exe.to_str().expect("UTF-8"));
    start(&["run", "--monitor", "--report", at, exe]);
    let text =
        if named { start(&["report", "--json", at]) } else { std::fs::read_to_string(&file).expect("it") };
    serde_json::from_str(&text).expect("JSON")
}

/// Functions and lines of its regions, and where they begin.
fn regions(r: &Report) -> (BTreeSet<(String, u32)>, BTreeSet<u64>) {
    let all = r.segments.iter().filter(|s| s.from == "region");
    let of = |s: &promp_report::Segment| (s.function.clone().unwrap_or_default(), s.line.unwrap_or(0));
    (all.clone().map(of).collect(), all.filter_map(|s| s.begin.as_ref()).map(|b| b.offset).collect())
}

/// In which lines of the source the regions are that have such comments.
fn lines(source: &str, comment: &str) -> Vec<(String, u32)> {
    let text = std::fs::read_to_string(root().join("c-tests").join(source)).expect("a source");
    let named =
        |l: &str| l.rsplit_once(comment).filter(|_| l.contains("parallel")).map(|(_, n)| n.to_owned());
    (1..).zip(text.lines()).filter_map(|(n, l)| Some((named(l)?, n))).collect()
}

fn built(source: &str, flags: &[&str]) -> PathBuf {
    build(source, &[&["-g"], flags].concat())
}

#[test]
fn regions_have_their_own_functions_names() {
    let ways: [&[&str]; 7] = [
        &["-O0"],
        &["-O1"],
        &["-O2"],
        &["-O3"],
        &["-Os"],
        &["-O2", "-fno-plt"],
        &["-O2", "-no-pie", "-fno-pie"],
    ];
    let sources = [("tail.c", " // "), ("tail.cpp", " // "), ("tail.f90", "2) ! ")];
    for (source, comment, flags) in
        sources.iter().flat_map(|(s, c)| ways.map(|w| (format!("monitor/{s}"), *c, w)))
    {
        let want = lines(&source, comment);
        let found = regions(&report(&built(&source, &[flags, &["-fno-inline"]].concat()), true)).0;
        for (name, line) in &want {
            let is = |(f, l): &(String, u32)| l == line && (f.contains(name.as_str()) || name == "lambda");
            assert!(found.iter().any(is), "{source} {flags:?}: no {name} {line} in {found:?}");
        }
        assert_eq!(found.len(), want.len(), "{source} {flags:?}: {found:?}");
    }
}

/// BT's functions end in a loop's barrier each; they are called one behind the other.
#[test]
fn barriers_have_their_own_functions_names() {
    let runtime = ["-DRUNTIME"];
    for flags in [&["-O1"][..], &["-O2"], &["-O3"], &["-Os"], &["-O2", "-no-pie", "-fno-pie"], &runtime] {
        let r = report(&built("npb/bt.c", flags), true);
        let found: BTreeSet<&str> =
            r.segments.iter().filter(|s| s.level.is_some()).filter_map(|s| s.function.as_deref()).collect();
        for d in ["x", "y", "z"] {
            for name in ["lhs#", "#_solve_cell", "#_backsubstitute"].map(|f| f.replace('#', d)) {
                assert!(found.contains(name.as_str()), "{flags:?}: no {name} in {found:?}");
            }
        }
        assert!(!found.contains("adi"), "{flags:?}: {found:?}");
    }
}

#[test]
fn a_stripped_program_has_the_same_places() {
    let exe = built("monitor/tail.c", &["-O2"]);
    let stripped = exe.with_extension("stripped");
    std::fs::copy(&exe, &stripped).expect("target is writable");
    tool_in(&out_dir(), Path::new("strip"), &[stripped.to_str().expect("UTF-8")]);
    let [named, bare] = [&exe, &stripped].map(|e| regions(&report(e, false)).1);
    assert!(named.len() == 4 && named == bare, "{named:x?} {bare:x?}");
}
