//! The tuner changes no results: the programs of c-tests that run without arguments, with PROMP_TUNE=on and
//! without.
//! (`PROMP_TEST_WITH=PROMP_TUNE=on` gives it to all runs of the other tests.)

use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// Programs that do nothing without arguments, run for long, or need more to be built.
const LEFT: [&str; 6] =
    ["ft/cpu_limit.c", "ft/early.c", "ft/fork.c", "limits/leak.c", "limits/plugin.c", "tune/alone.c"];
/// Programs that say by which runtime they are executed, or how often a thread slept.
const VARY: [&str; 4] = ["ft/api.c", "limits/chain.c", "constructs/fallback.c", "constructs/openacc_api.c"];

/// The programs of a folder.
fn programs(folder: &str) -> Vec<String> {
    let fortran = Command::new("gfortran").arg("-v").output().is_ok();
    let dir = fs::read_dir(root().join("c-tests").join(folder)).expect("a folder of programs");
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
/// was something to decide. Programs that want arguments, and end badly under libgomp, too, are left out.
fn tuned_ones(folder: &str) -> usize {
    let report = out_folder("tuned").join(format!("{folder}.json"));
    let path = report.to_str().expect("UTF-8");
    let (mut tuned, mut compared) = (0, 0);
    let all = programs(folder);
    for source in &all {
        let exe = build(source, &["-ftree-parallelize-loops=2"]);
        let threads = ("OMP_NUM_THREADS", "2");
        let want = reference(&exe, &[], &[threads]);
        if want.status != 0 {
            println!("{source}: status {} under libgomp without arguments", want.status);
            continue;
        }
        compared += 1;
        for tune in ["off", "on"] {
            let _ = fs::remove_file(&report);
            let got = promp(&exe, &[], &[threads, ("PROMP_TUNE", tune), ("PROMP_REPORT", path)]);
            assert!(!got.hung, "{source}, PROMP_TUNE={tune}: hung");
            let said = (got.status, &got.out);
            assert_eq!(said, (0, &want.out), "{source}, PROMP_TUNE={tune}: {}", got.err);
        }
        // A program that ends by _exit writes none.
        if let Ok(text) = fs::read_to_string(&report) {
            let r: promp_report::Report = serde_json::from_str(&text).expect("a report");
            tuned += usize::from(!r.tuning.is_empty());
        }
    }
    assert!(2 * compared >= all.len(), "{folder}: {compared} of {}", all.len());
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

/// A thread fails, and checkpoints are taken, exactly within a region that is executed as serial code again.
#[test]
fn stops_within_serial_code_again() {
    let exe = build("tune/plain.c", &["-ftree-parallelize-loops=2"]);
    let s = Scratch::new("within");
    let want = reference(&exe, &["400"], &[("OMP_NUM_THREADS", "2")]).out;
    assert!(want.ends_with(" 0\n"), "{want}");
    // One thread, by the file, whatever the machine makes of it.
    let (tune, go) = (s.path("app.tune"), s.path("go"));
    let tuned = [("OMP_NUM_THREADS", "2"), ("PROMP_TUNE", text(&tune))];
    promp(&exe, &["200"], &tuned);
    let found = read(&tune);
    let choice = found.split("choice=").nth(1).and_then(|c| c.split(' ').next()).expect("a choice");
    let fixed = found.replace(&format!("choice={choice}"), "choice=given@1");
    let kinds = [("kill", "1"), ("crash", "2")];

    // Serial code fails without checkpoints: nothing can be done.
    fs::write(&go, "").expect("writable");
    for (name, kind) in kinds {
        fs::write(&tune, &fixed).expect("writable");
        let got = promp(&exe, &["400", text(&go), kind], &tuned);
        assert!(got.err.contains("inside"), "{name}: no region was serial code again: {}", got.err);
        assert!(got.was_refused("", &name), "{name}: {} {}", got.out, got.err);
    }
    // Two checkpoints after it has said that it is inside, one at least has begun there.
    for (name, kind) in kinds.into_iter().chain([("restart", "0")]) {
        let _ = fs::remove_file(&go);
        fs::write(&tune, &fixed).expect("writable");
        let (dir, out) = (s.path(&format!("ckpt-{name}")), s.path(name));
        let since = std::cell::Cell::new(None);
        let newest = || promp_image::generation_files(&dir).first().copied().unwrap_or(0);
        let is_saved = |_: Duration| {
            if !messages(&out).contains("inside") {
                return false;
            }
            let began = since.get().unwrap_or_else(&newest);
            since.set(Some(began));
            if newest() < began + 2 {
                return false;
            }
            fs::write(&go, "").expect("writable");
            kind == "0"
        };
        let mut run = Command::new(&exe);
        run.args(["400", text(&go), kind]);
        let ended = start_with(run, &out, Some(&is_saved), |c| {
            c.env("LD_PRELOAD", library()).envs(tuned);
            c.env("PROMP_CKPT_DIR", &dir).env("PROMP_CKPT_INTERVAL", "5ms");
        });
        let said = messages(&out);
        assert!(since.get().is_some(), "{name}: no region was serial code again: {said}");
        if let Some(status) = ended {
            assert!(status.success() && kind != "0", "{name}: {status} {said}");
            assert!(said.contains("rolled back to checkpoint"), "{name}: {said}");
        } else {
            let ended = start(restart(&dir), &out, None).expect("ends");
            assert!(went_well(ended, &messages(&out)), "{name}: {ended} {}", messages(&out));
        }
        assert_eq!(read(&out), want, "{name}: {said}");
    }
}
