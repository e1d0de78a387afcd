//! Silent errors of kernels on *separate*: found and repaired bit for bit, none where there is none,
//! kernels that cannot be verified named. On a GPU: tools/gpu_folder.sh.

use crate::common::draws::Draws;
use crate::common::*;
use std::path::Path;

const COPIES: &str = "copies";
const SIGNATURES: &str = "signatures";

fn run(exe: &Path, args: &[&str], sdc: &str, keep: &str, fault: Option<&str>) -> (Run, serde_json::Value) {
    let name =
        format!("{sdc}-{keep}-{}", fault.unwrap_or("none")).replace(['/', ':', '@', '=', ',', '*'], "_");
    let report = out_dir().join(format!("sdc-{name}-{}.json", args.join("-")));
    let path = report.to_str().expect("UTF-8");
    let mut env = vec![
        ("OMP_NUM_THREADS", "2"),
        ("PROMP_DEVICES", "separate"),
        ("PROMP_SDC", sdc),
        ("PROMP_SDC_KEEP", keep),
        ("PROMP_SDC_ASSUME", "main._omp_fn.*,MAIN__._omp_fn.*"),
        ("PROMP_SDC_LATENCY", "60s"),
        ("PROMP_REPORT", path),
    ];
    env.extend(fault.map(|f| ("PROMP_FAULT", f)));
    let r = promp(exe, args, &env);
    let text = std::fs::read_to_string(&report).unwrap_or_default();
    let _ = std::fs::remove_file(&report);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    (r, json["sdc"].clone())
}

#[test]
fn without_errors_nothing_is_found() {
    for (source, args) in
        [("sdc/swim.c", &["63", "12"][..]), ("sdc/swim.f90", &["40", "8"]), ("sdc/sums.c", &["3000", "60"])]
    {
        let exe = build(source, &[]);
        let want = reference(&exe, args, &[("OMP_NUM_THREADS", "2")]);
        for (mode, keep) in [
            ("off", COPIES),
            ("eager", COPIES),
            ("eager", SIGNATURES),
            ("lazy:1", COPIES),
            ("lazy:7", SIGNATURES),
            ("lazy:1000", COPIES),
            ("lazy:1000", SIGNATURES),
            ("lazy", "auto"),
        ] {
            let (r, sdc) = run(&exe, args, mode, keep, None);
            assert_eq!((r.status, &r.out), (0, &want.out), "{source} {mode} {keep}: {}", r.err);
            if mode != "off" {
                assert!(sdc["sections"].as_u64() > Some(0), "{source} {mode}: {sdc}");
                assert_eq!(
                    (sdc["found"].as_u64(), &sdc["unverified"]),
                    (Some(0), &serde_json::json!([])),
                    "{sdc}"
                );
                let number = |name: &str| sdc[name].as_u64().unwrap_or(0);
                let copies = if keep == COPIES { 2 } else { 1 };
                // Small variables share blocks of a megabyte.
                let most = copies * (number("bytes") + (1 << 20));
                assert!((1..=most).contains(&number("bytes_kept")), "{source} {mode} {keep}: {sdc}");
                assert_eq!(sdc["signatures"].as_bool(), Some(keep != COPIES), "{sdc}");
            } else {
                assert!(sdc.is_null(), "{sdc}");
            }
        }
    }
}

/// Every kernel adds to what is there: no error is written over. One error a section at most.
#[test]
fn every_error_is_found_and_repaired() {
    let exe = build("sdc/sums.c", &[]);
    let (count, steps) = if long() { (1000, "1100") } else { (40, "60") };
    for (pattern, run_key, mode, nth, keep) in [
        ("bit", "first", "lazy:2", 2, COPIES),
        ("bit", "first", "lazy:2", 2, SIGNATURES),
        ("warp", "again", "lazy:2", 2, COPIES),
        ("warp", "again", "lazy:2", 2, SIGNATURES),
        ("word", "both", "eager", 1, COPIES),
        ("word", "both", "eager", 1, SIGNATURES),
        ("two", "first", "lazy:4", 4, COPIES),
        ("two", "first", "lazy:4", 4, SIGNATURES),
    ] {
        let count = (count / nth).min(if run_key == "first" { count } else { count / 4 });
        let fault = format!("sdc@count={count},nth={nth},pattern={pattern},run={run_key},seed=9");
        let (r, sdc) = run(&exe, &["2048", steps], mode, keep, Some(&fault));
        assert_eq!((r.status, r.out.trim()), (0, "0 wrong"), "{fault} {mode}: {}", r.err);
        let number = |name: &str| sdc[name].as_u64().unwrap_or(0);
        assert_eq!(number("injected"), count, "{fault}: {sdc}");
        // Two in a section are found together.
        let sections = if run_key == "both" { count.div_ceil(2) } else { count };
        assert_eq!(number("found"), sections, "{fault}: {sdc}");
        assert_eq!(number("found"), number("repaired"), "{fault}: {sdc}");
    }
}

/// The other way round: the injection does what it says, and nobody who does not look finds it.
#[test]
fn without_verification_an_error_is_silent() {
    let exe = build("sdc/sums.c", &[]);
    let fault = "sdc@kernel=5,bit=3";
    let (r, sdc) = run(&exe, &["2048", "10"], "lazy", COPIES, Some(fault));
    assert_eq!((r.status, sdc["found"].as_u64()), (0, Some(1)), "{}", r.err);
    assert!(r.err.contains("silent error on device 0"), "{}", r.err);
}

/// The copy that a section is repeated from must be what it was: with signatures that is known.
#[test]
fn a_copy_that_has_changed_is_no_beginning() {
    let exe = build("sdc/sums.c", &[]);
    let (r, _) = run(&exe, &["2048", "10"], "lazy:4", SIGNATURES, Some("sdc@kernel=6,block=copy"));
    assert_eq!((r.status, r.out.as_str()), (70, ""), "{}", r.err);
    assert!(r.err.contains("copy of the data that a section began with is not what it was"), "{}", r.err);
}

#[test]
fn errors_at_random_times() {
    let exe = build("sdc/swim.c", &[]);
    let args = ["63", "30"];
    let want = reference(&exe, &args, &[("OMP_NUM_THREADS", "2")]);
    let (mut injected, mut draws) = (0, Draws::between(3, 60));
    while let Some(seed) = draws.next(injected > 0) {
        let fault = format!("sdc@mtbf=20ms,count=50,seed={seed}");
        let (r, sdc) = run(&exe, &args, "lazy", if seed == 2 { SIGNATURES } else { COPIES }, Some(&fault));
        assert_eq!((r.status, &r.out), (0, &want.out), "{fault}: {}", r.err);
        injected += sdc["injected"].as_u64().unwrap_or(0);
    }
    assert!(injected > 0, "the faults do not strike");
}

/// Nothing is known of a kernel without PTX: it runs once, is named, and the result is the program's.
#[test]
fn what_cannot_be_judged_is_not_called_verified() {
    let exe = build("sdc/kinds.c", &[]);
    let report = out_dir().join("sdc-kinds.json");
    let env = [
        ("OMP_NUM_THREADS", "2"),
        ("PROMP_DEVICES", "separate"),
        ("PROMP_SDC", "lazy"),
        ("PROMP_REPORT", report.to_str().expect("UTF-8")),
    ];
    let r = promp(&exe, &[], &env);
    assert!(r.status == 0 && r.out.starts_with("15000 15000 3 0 "), "{}{}", r.out, r.err);
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&report).expect("a report")).expect("JSON");
    let sdc = &json["sdc"];
    assert_eq!((sdc["sections"].as_u64(), sdc["unverified_launches"].as_u64()), (Some(0), Some(24)), "{sdc}");
    let list = sdc["unverified"].as_array().expect("a list");
    assert_eq!(list.len(), 8, "{sdc}");
    assert!(list.iter().all(|k| k.as_str().is_some_and(|k| k.contains("no PTX"))), "{sdc}");
}

/// Variables of declare target are the host's on *separate*: nothing puts them back.
#[test]
fn who_changes_variables_of_declare_target_cannot_be_vouched_for() {
    let exe = build("device/counts.c", &[]);
    let env = [
        ("PROMP_DEVICES", "separate"),
        ("PROMP_SDC", "lazy"),
        ("PROMP_SDC_ASSUME", "*"),
        ("OMP_NUM_THREADS", "1"),
    ];
    let r = promp(&exe, &[], &env);
    assert!(r.status == 70 && r.err.contains("changes variables of declare target"), "{}{}", r.out, r.err);
    let r = promp(&exe, &[], &env[..2]);
    assert_eq!((r.status, r.out.trim()), (0, "all right"), "{}", r.err);
}

/// A verdict is of a function, not of the address where another library's function comes to lie later.
#[test]
fn verdicts_go_with_their_library() {
    let [first, second] = ["first", "second"].map(|name| {
        let folder = out_folder("sdc-closed");
        let define = format!("-DLIBRARY={name}");
        let built = build("sdc/closed.c", &["-shared", "-fPIC", "-foffload=disable", &define]);
        let library = folder.join(format!("{name}.so"));
        std::fs::copy(built, &library).expect("a copy");
        library.to_str().expect("UTF-8").to_string()
    });
    let exe = build("sdc/closed.c", &["-ldl"]);
    let report = out_dir().join("sdc-closed.json");
    let env = [
        ("PROMP_DEVICES", "separate"),
        ("PROMP_SDC", "lazy"),
        ("PROMP_SDC_ASSUME", "first._omp_fn.*"),
        ("PROMP_REPORT", report.to_str().expect("UTF-8")),
    ];
    let r = promp(&exe, &[&first, &second], &env);
    assert_eq!((r.status, r.out.trim()), (0, "3, at the same place"), "{}", r.err);
    let text = std::fs::read_to_string(&report).expect("a report");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let list = json["sdc"]["unverified"].to_string();
    assert!(list.contains("second._omp_fn") && !list.contains("first._omp_fn"), "{list}");
}

#[test]
fn a_log_that_is_full_ends_the_section() {
    let exe = build("sdc/sums.c", &[]);
    let env = [
        ("PROMP_DEVICES", "separate"),
        ("PROMP_SDC", "lazy:100000"),
        ("PROMP_SDC_ASSUME", "*"),
        ("PROMP_SDC_LOG", "1M"),
        ("OMP_NUM_THREADS", "1"),
    ];
    let r = promp(&exe, &["20000", "100"], &env);
    assert_eq!((r.status, r.out.trim()), (0, "0 wrong"), "{}", r.err);
}

/// A thousand sections and more without an error, and none is found.
#[test]
fn a_thousand_sections_without_a_false_alarm() {
    let exe = build("sdc/sums.c", &[]);
    for keep in [COPIES, SIGNATURES] {
        let (r, sdc) = run(&exe, &["2048", "600"], "lazy:1", keep, None);
        assert_eq!((r.status, r.out.trim(), r.err.as_str()), (0, "0 wrong", ""), "{keep}");
        assert!(sdc["sections"].as_u64() >= Some(1000), "{keep}: {sdc}");
        assert_eq!((sdc["found"].as_u64(), sdc["repaired"].as_u64()), (Some(0), Some(0)), "{keep}: {sdc}");
    }
}

/// Without a word from the user nothing is known of kernels that have no PTX: one line says so, and so does
/// one where there is nothing to verify at all.
#[test]
fn checks_that_are_not_made_are_said() {
    let exe = build("sdc/swim.c", &[]);
    let host = compiled(
        "sdc",
        "host",
        "int main(void) {
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n += 1;
    return n < 1;
}",
        &["-fopenmp"],
    );
    let vouched = ("PROMP_SDC_ASSUME", "*");
    let some = ("PROMP_SDC_ASSUME", "main._omp_fn.0");
    let separate = ("PROMP_DEVICES", "separate");
    let fault = ("PROMP_FAULT", "sdc@kernel=1");
    for (exe, env, words) in [
        (&exe, &[("PROMP_SDC", "lazy"), separate][..], &["were not verified", "PROMP_SDC_ASSUME"][..]),
        (&exe, &[("PROMP_SDC", "eager"), separate], &["were not verified", "offload compiler"]),
        (&exe, &[("PROMP_SDC", "lazy:3"), separate, some], &["lazy:3", "were not verified"]),
        (&exe, &[("PROMP_SDC", "lazy"), separate, vouched], &[]),
        (&exe, &[("PROMP_SDC", "off"), separate], &[]),
        (&exe, &[("PROMP_SDC", "lazy"), separate, ("PROMP_VERBOSE", "0")], &[]),
        (&exe, &[("PROMP_SDC", "lazy"), ("PROMP_DEVICES", "none")], &["verified nothing", "no device"]),
        (&host, &[("PROMP_SDC", "lazy"), separate], &["verified nothing", "PROMP_SDC=chunks:5%"]),
        (&host, &[fault], &["are ignored", "PROMP_SDC"]),
        (&exe, &[fault, separate], &["are ignored", "PROMP_SDC"]),
        (
            &exe,
            &[fault, ("PROMP_SDC", "lazy"), separate],
            &["were not verified", "silent errors in PROMP_FAULT (1)"],
        ),
    ] {
        let args: &[&str] = if exe == &host { &[] } else { &["40", "3"] };
        let r = promp(exe, args, &[&[("OMP_NUM_THREADS", "2")], env].concat());
        assert_eq!(r.status, 0, "{env:?}: {}", r.err);
        let lines = r.err.lines().filter(|l| l.starts_with("promp:")).count();
        assert_eq!(
            lines,
            if words.iter().any(|w| w.contains("PROMP_FAULT")) { 2 } else { words.len().min(1) },
            "{env:?}: {}",
            r.err
        );
        for w in words {
            assert!(r.err.contains(w), "{env:?} {w}: {}", r.err);
        }
    }
}
