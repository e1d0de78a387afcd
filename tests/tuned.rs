//! The tuner changes no results: the programs of c-tests that run without arguments, with PROMP_TUNE=on and
//! without.
//! (`PROMP_TEST_WITH=PROMP_TUNE=on` gives it to all runs of the other tests.)

mod common;
use common::*;
use std::process::Command;

/// Programs that do nothing without arguments, end badly or run for long.
const LEFT: [&str; 15] = [
    "ft/bug.c",
    "ft/cpu_limit.c",
    "ft/early.c",
    "ft/ended.c",
    "ft/exit.c",
    "ft/fork.c",
    "ft/rights.c",
    "limits/asleep.c",
    "limits/late.c",
    "limits/leak.c",
    "limits/loader.c",
    "limits/plugin.c",
    "sdc/closed.c",
    "tune/alone.c",
    "unwinding/waits.c",
];
/// Programs that say by which runtime they are executed, or how often a thread slept.
const VARY: [&str; 4] = ["ft/api.c", "limits/chain.c", "constructs/fallback.c", "constructs/openacc_api.c"];

/// The programs of a folder.
fn programs(folder: &str) -> Vec<String> {
    let fortran = Command::new("gfortran").arg("-v").output().is_ok();
    let dir = std::fs::read_dir(root().join("c-tests").join(folder)).expect("a folder of programs");
    let mut all: Vec<String> = dir
        .map(|f| f.expect("readable").file_name().into_string().expect("UTF-8"))
        .filter(|f| f.ends_with(".c") || f.ends_with(".cpp") || (fortran && f.ends_with(".f90")))
        .map(|f| format!("{folder}/{f}"))
        .filter(|f| !LEFT.contains(&&f[..]) && !VARY.contains(&&f[..]))
        .collect();
    all.sort();
    all
}

/// Loops that the compiler makes parallel are among what is executed; the number of programs in which there
/// was something to decide.
fn tuned_ones(folder: &str) -> usize {
    let report = out_folder("tuned").join(format!("{folder}.json"));
    let path = report.to_str().expect("UTF-8");
    let mut tuned = 0;
    for source in programs(folder) {
        let exe = build(&source, &["-ftree-parallelize-loops=2"]);
        let threads = ("OMP_NUM_THREADS", "2");
        let want = reference(&exe, &[], &[threads]);
        assert_eq!(want.status, 0, "{source} under libgomp: {}", want.err);
        for tune in ["off", "on"] {
            let _ = std::fs::remove_file(&report);
            let got = promp(&exe, &[], &[threads, ("PROMP_TUNE", tune), ("PROMP_REPORT", path)]);
            assert!(!got.hung, "{source}, PROMP_TUNE={tune}: hung");
            let said = (got.status, &got.out);
            assert_eq!(said, (0, &want.out), "{source}, PROMP_TUNE={tune}: {}", got.err);
        }
        // A program that ends by _exit writes none.
        if let Ok(text) = std::fs::read_to_string(&report) {
            let r: promp_report::Report = serde_json::from_str(&text).expect("a report");
            tuned += usize::from(!r.tuning.is_empty());
        }
    }
    tuned
}

#[test]
fn programs_have_the_same_results() {
    let folders: &[&str] = match long() {
        true => &["ft", "cost", "npb", "sdc", "constructs", "limits", "locks", "unwinding", "tune"],
        false => &["ft"],
    };
    for folder in folders {
        let tuned = tuned_ones(folder);
        assert!(
            tuned > 0 || ["limits", "locks", "unwinding"].contains(folder),
            "{folder}: nothing was tuned"
        );
    }
}
