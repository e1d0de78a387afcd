//! Silent errors of CPUs: a share of the chunks is executed again on another CPU (PROMP_SDC=chunks:P%).
//! Errors are found and repaired, the CPU that is wrong is named and left; what may not be executed again
//! is not.

use crate::common::draws::Draws;
use crate::common::driven::*;
use crate::common::*;
use std::path::{Path, PathBuf};

/// A program built by promp-cc, with what it writes told or not.
fn built(source: &str, flags: &[&str]) -> Option<(PathBuf, String)> {
    let cc = driver("promp-cc")?;
    Some(driven_and_reported(&cc, source, &[flags, &["-fpromp-report", "-foffload=disable"]].concat()))
}

/// How many CPUs there are: with fewer than two there is nothing to compare.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn run(exe: &Path, args: &[&str], more: &[(&str, &str)]) -> (Run, serde_json::Value) {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let report = out_dir().join(format!("chunks-{}-{number}.json", std::process::id()));
    let mut env = vec![("OMP_NUM_THREADS", "2"), ("PROMP_REPORT", report.to_str().expect("UTF-8"))];
    env.extend(more);
    let r = promp(exe, args, &env);
    let text = std::fs::read_to_string(&report).unwrap_or_default();
    let _ = std::fs::remove_file(&report);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    (r, json["sdc"].clone())
}

fn number(sdc: &serde_json::Value, name: &str) -> u64 {
    sdc[name].as_u64().unwrap_or(0)
}

const ARGS: [&str; 2] = ["3000", "20"];

/// The system's libgomp says what the program prints.
fn expected() -> Run {
    let exe = build("sdc/chunks.c", &[]);
    reference(&exe, &ARGS, &[("OMP_NUM_THREADS", "2")])
}

#[test]
fn without_errors_nothing_is_found() {
    let Some((exe, report)) = built("sdc/chunks.c", &["-fpromp-sdc"]) else { return };
    assert!(report.contains("its chunks can be verified"), "{report}");
    if cpus() < 2 {
        let (r, _) = run(&exe, &ARGS, &[("PROMP_SDC", "chunks:5%")]);
        assert_eq!((r.status, r.out.as_str()), (64, ""), "{}", r.err);
        return;
    }
    let want = expected();
    const PLAIN: &[(&str, &str)] = &[];
    for (share, all) in [
        ("0.5%", &[PLAIN][..]),
        ("5%", &[PLAIN, &[("OMP_PROC_BIND", "true")]]),
        ("100%", &[PLAIN, &[("PROMP_REPRODUCIBLE", "1")], &[("OMP_NUM_THREADS", "5")]]),
        // What is verified is saved, whatever that costs.
        ("100%", &[&[("PROMP_SAVE_BUDGET", "0%")]]),
    ] {
        for more in all {
            let sdc = format!("chunks:{share}");
            let env: Vec<(&str, &str)> = [&[("PROMP_SDC", sdc.as_str())], *more].concat();
            let (r, sdc) = run(&exe, &ARGS, &env);
            assert_eq!((r.status, &r.out, r.err.as_str()), (0, &want.out, ""), "{env:?}");
            assert_eq!((number(&sdc, "found"), &sdc["unverified"]), (0, &serde_json::json!([])), "{sdc}");
            let (all, verified) = (number(&sdc, "chunks"), number(&sdc, "chunks_verified"));
            assert!(verified <= all && (share != "100%" || verified == all), "{env:?} {sdc}");
            assert!(share == "0.5%" || verified > 0, "{env:?} {sdc}");
        }
    }
}

/// In loops that give each of two threads one chunk, both verify theirs or neither does: the other would
/// wait.
#[test]
fn the_threads_of_a_team_choose_together() {
    let Some((exe, _)) = built("npb/adi.c", &["-fpromp-sdc"]) else { return };
    if cpus() < 2 {
        return;
    }
    for share in ["10%", "20%", "30%", "40%"] {
        let (r, sdc) = run(&exe, &["S"], &[("PROMP_SDC", &format!("chunks:{share}"))]);
        assert!(r.status == 0 && r.out.contains("verification successful"), "{}{}", r.out, r.err);
        let verified = number(&sdc, "chunks_verified");
        assert!(verified > 0 && verified.is_multiple_of(2), "{sdc}");
        assert_eq!((number(&sdc, "unverified_launches"), number(&sdc, "found")), (0, 0), "{sdc}");
    }
}

/// A CPU that errs is found, named and left, and the result is right: whether it errs in the first or in
/// later executions, now and then or each time.
#[test]
fn a_cpu_that_errs_is_named_and_left() {
    let Some((exe, _)) = built("sdc/chunks.c", &["-fpromp-sdc"]) else { return };
    if cpus() < 2 {
        return;
    }
    let want = expected();
    for cpu in ["0", "1"] {
        for keys in ["nth=9,pattern=two", "run=again,pattern=word", "run=both,nth=3,seed=4", "run=both"] {
            let fault = format!("sdc@where=chunk,cpu={cpu},count=1000000,{keys}");
            let (r, sdc) =
                run(&exe, &["3000", "20", "cpus"], &[("PROMP_SDC", "chunks:100%"), ("PROMP_FAULT", &fault)]);
            assert_eq!((r.status, &r.out), (0, &want.out), "{fault}: {}", r.err);
            let named = format!("CPU {cpu} was wrong and is not used any more");
            assert!(r.err.contains(&named), "{fault}: {}", r.err);
            assert!(!r.err.contains(&format!("may use {cpu}\n")), "{fault}: {}", r.err);
            assert!(r.err.contains("may use "), "{fault}: {}", r.err);
            assert_eq!(sdc["cpus_left"], serde_json::json!([cpu.parse::<u32>().unwrap()]), "{fault}: {sdc}");
            assert!(number(&sdc, "found") >= 1 && number(&sdc, "found") == number(&sdc, "repaired"), "{sdc}");
        }
    }
}

/// A CPU that errs in one of a thousand executions of chunks, of which a fifth at most is verified, and one
/// that errs in one of ten thousand, of which 5 % are: it is named before it has taken part in thirty times
/// as many executions that were compared. (What there is time for depends on the machine, so checks are
/// counted, not chunks or seconds.)
#[test]
fn a_cpu_that_errs_now_and_then_is_named() {
    let Some((exe, _)) = built("sdc/chunks.c", &["-fpromp-sdc"]) else { return };
    if cpus() < 2 {
        return;
    }
    for (cpu, rare, share) in [("0", 1000, "20"), ("1", 1000, "20"), ("0", 10_000, "5"), ("1", 10_000, "5")] {
        let fault = format!("sdc@where=chunk,cpu={cpu},count=1000000,nth={rare},run=both");
        let (mut steps, mut verified) = (100, 0);
        loop {
            let text = steps.to_string();
            let sdc = format!("chunks:{share}%");
            let (r, sdc) = run(&exe, &["3000", &text], &[("PROMP_SDC", &sdc), ("PROMP_FAULT", &fault)]);
            assert_eq!(r.status, 0, "{fault}: {}", r.err);
            verified += number(&sdc, "chunks_verified");
            if number(&sdc, "found") > 0 {
                let named = format!("CPU {cpu} was wrong and is not used any more");
                assert!(r.err.contains(&named), "{fault}: {}", r.err);
                assert_eq!(sdc["cpus_left"], serde_json::json!([cpu.parse::<u32>().unwrap()]), "{sdc}");
                break;
            }
            // A check is two executions on two of the CPUs.
            assert!(2 * verified < 30 * rare * cpus() as u64, "{fault}: not named in {verified} checks");
            steps = (2 * steps).min(3200);
        }
    }
}

/// Errors that are nobody's in particular: all are found, the last CPU is verified by itself.
#[test]
fn every_error_is_found_and_repaired() {
    let Some((exe, _)) = built("sdc/chunks.c", &["-fpromp-sdc"]) else { return };
    if cpus() < 2 {
        return;
    }
    let want = expected();
    for (keys, count) in [("nth=30", 40), ("nth=47,pattern=warp,bit=6", 20), ("nth=40,run=again", 30)] {
        let fault = format!("sdc@where=chunk,count={count},{keys}");
        let (r, sdc) = run(&exe, &ARGS, &[("PROMP_SDC", "chunks:100%"), ("PROMP_FAULT", &fault)]);
        assert_eq!((r.status, &r.out), (0, &want.out), "{fault}: {}", r.err);
        assert_eq!((number(&sdc, "injected"), number(&sdc, "found")), (count, count), "{fault}: {sdc}");
    }
}

/// The other way round: the injection does what it says, and a chunk that is not executed again keeps its
/// error.
#[test]
fn without_verification_an_error_is_silent() {
    let Some((exe, _)) = built("sdc/chunks.c", &["-fpromp-sdc"]) else { return };
    if cpus() < 2 {
        return;
    }
    let want = expected();
    let env = [("PROMP_SDC", "chunks:0.0001%"), ("PROMP_FAULT", "sdc@where=chunk,nth=200,count=5")];
    let (r, sdc) = run(&exe, &ARGS, &env);
    assert_eq!((r.status, number(&sdc, "injected"), number(&sdc, "found")), (0, 5, 0), "{} {sdc}", r.err);
    assert_ne!(r.out, want.out);
}

/// Threads that fail while their chunks are verified lose nothing.
#[test]
fn failures_and_checks_together() {
    let Some((exe, _)) = built("sdc/chunks.c", &["-fpromp-sdc"]) else { return };
    if cpus() < 2 {
        return;
    }
    let want = expected();
    let (mut failures, mut draws) = (0, Draws::between(if long() { 40 } else { 6 }, 120));
    while let Some(seed) = draws.next(failures > 0) {
        let fault = format!("kill@mtbf=5ms,count=8,seed={seed};sdc@where=chunk,nth=400,count=3,seed={seed}");
        let (r, sdc) = run(
            &exe,
            &ARGS,
            &[("PROMP_SDC", "chunks:100%"), ("PROMP_FAULT", &fault), ("OMP_NUM_THREADS", "4")],
        );
        if !r.was_in_serial_work() {
            assert_eq!((r.status, &r.out), (0, &want.out), "{fault}: {}", r.err);
            assert_eq!(number(&sdc, "found"), number(&sdc, "repaired"), "{sdc}");
        }
        failures += r.err.matches("failed (kill)").count();
    }
    assert!(failures > 0, "the faults do not strike");
}

/// Checkpoints are taken and gone back to while chunks are executed again.
#[test]
fn checkpoints_and_checks_together() {
    let Some((exe, _)) = built("sdc/chunks.c", &["-fpromp-sdc"]) else { return };
    if cpus() < 2 {
        return;
    }
    let plain = build("sdc/chunks.c", &[]);
    let dir = out_dir().join(format!("chunks-ckpt-{}", std::process::id()));
    let path = dir.to_str().expect("UTF-8");
    let mut rollbacks = 0;
    // Later, if the failure comes before the first checkpoint.
    for steps in [60, 240, 960, 3840, 15_360] {
        let _ = std::fs::remove_dir_all(&dir);
        let region = steps * 5;
        let fault = format!("memerr@region={region},thread=any;sdc@where=chunk,nth=300,count=4");
        let steps = steps.to_string();
        let args = ["3000", steps.as_str()];
        let want = reference(&plain, &args, &[("OMP_NUM_THREADS", "2")]);
        let env = [
            ("PROMP_SDC", "chunks:100%"),
            ("PROMP_FAULT", fault.as_str()),
            ("PROMP_CKPT_DIR", path),
            ("PROMP_CKPT_INTERVAL", "10ms"),
        ];
        let (r, sdc) = run(&exe, &args, &env);
        let _ = std::fs::remove_dir_all(&dir);
        if r.status == 70 && r.err.contains("no checkpoint to return to") {
            continue;
        }
        assert_eq!((r.status, &r.out), (0, &want.out), "{fault}: {}", r.err);
        assert_eq!(number(&sdc, "found"), number(&sdc, "repaired"), "{sdc}");
        rollbacks += r.err.matches("rolled back to checkpoint").count();
        if rollbacks > 0 {
            break;
        }
    }
    assert!(rollbacks > 0);
}

/// What may not be executed again, or of which it is not known what it writes, is executed once and named.
#[test]
fn what_cannot_be_verified_is_named() {
    let Some((told, _)) = built("sdc/unverifiable.c", &["-fpromp-sdc"]) else { return };
    let Some((untold, _)) = built("sdc/chunks.c", &[]) else { return };
    if cpus() < 2 {
        return;
    }
    let want = reference(&build("sdc/unverifiable.c", &[]), &[], &[("OMP_NUM_THREADS", "2")]);
    for replay in ["proven", "assume"] {
        let (r, sdc) = run(&told, &[], &[("PROMP_SDC", "chunks:100%"), ("PROMP_REPLAY", replay)]);
        assert_eq!((r.status, &r.out), (0, &want.out), "{}", r.err);
        assert_eq!(number(&sdc, "found"), 0, "{sdc}");
        let named = sdc["unverified"].to_string();
        for line in std::fs::read_to_string(root().join("c-tests/sdc/unverifiable.c"))
            .expect("the program")
            .lines()
            .enumerate()
            .filter(|l| l.1.contains("/* named */"))
            .map(|l| l.0 + 1)
        {
            assert!(
                named.contains(&format!("unverifiable.c:{line}: ")),
                "{replay}: {line} is not among {named}"
            );
        }
    }
    let (r, sdc) = run(&untold, &ARGS, &[("PROMP_SDC", "chunks:100%")]);
    assert_eq!((r.status, &r.out), (0, &expected().out), "{}", r.err);
    assert!(r.err.contains("PROMP_SDC=chunks has verified nothing"), "{}", r.err);
    assert!(sdc["unverified"].to_string().contains("-fpromp-sdc"), "{sdc}");
    // Built by nobody of ours.
    let plain = build("sdc/chunks.c", &[]);
    let (r, _) = run(&plain, &ARGS, &[("PROMP_SDC", "chunks:100%"), ("PROMP_REPLAY", "assume")]);
    assert_eq!((r.status, &r.out), (0, &expected().out), "{}", r.err);
    assert!(r.err.contains("not built by promp-cc"), "{}", r.err);
}

#[test]
fn what_forbids_it_stops_before_anything_is_done() {
    let exe = build("sdc/chunks.c", &[]);
    for (name, value) in [
        ("PROMP_FT", "off"),
        ("PROMP_REPLAY", "never"),
        ("PROMP_SDC", "chunks:0%"),
        ("PROMP_FAULT", "sdc@where=chunk,block=largest"),
    ] {
        let (r, _) = run(&exe, &ARGS, &[("PROMP_SDC", "chunks:5%"), (name, value)]);
        assert_eq!((r.status, r.out.as_str()), (64, ""), "{name}={value}: {}", r.err);
        assert!(r.err.contains(name), "{}", r.err);
    }
}

/// Under another runtime the code that says what it writes does nothing.
#[test]
fn told_programs_run_under_libgomp() {
    let Some((exe, _)) = built("sdc/chunks.c", &["-fpromp-sdc"]) else { return };
    assert_eq!(reference(&exe, &ARGS, &[("OMP_NUM_THREADS", "2")]).out, expected().out);
}
