//! `promp-cc --explain`: what the verdicts have come to, of programs of several files in C, C++ and Fortran.
//! And the demonstration, which shows it to users.

use crate::common::draws::Draws;
use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn dir() -> PathBuf {
    out_folder("explain")
}

fn run(program: &Path, args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut c = Command::new(program);
    clean(&mut c);
    c.args(args).envs(env.iter().copied()).current_dir(dir());
    limited(c, Duration::from_secs(120))
}

/// Builds a program of c-tests/explain from files and their compilers, the last one links.
fn built(exe: &str, units: &[(&Path, &str)]) -> Option<PathBuf> {
    let mut objects = Vec::new();
    for (compiler, unit) in units {
        let (source, object) = (root().join("c-tests/explain").join(unit), format!("{exe}_{unit}.o"));
        let source = source.to_str().expect("UTF-8");
        let r = run(compiler, &["-O2", "-fopenmp", "-c", "-o", &object, source], &[]);
        assert_eq!(r.status, 0, "{unit}: {}", r.err);
        objects.push(object);
    }
    let mut args = vec!["-fopenmp", "-o", exe];
    if units.last()?.0.is_absolute() {
        args.push("-fno-promp-runtime");
    }
    args.extend(objects.iter().map(String::as_str));
    let r = run(units.last()?.0, &args, &[]);
    assert_eq!(r.status, 0, "{exe}: {}", r.err);
    Some(dir().join(exe))
}

/// `promp-cc --explain -- ...` in a run whose loops stop saving as soon as they can tell.
fn explained(cc: &Path, exe: &Path, args: &[&str]) -> Run {
    let mut all = vec!["--explain", "--", exe.to_str().expect("UTF-8")];
    all.extend(args);
    run(cc, &all, &[("OMP_NUM_THREADS", "2"), ("PROMP_SAVE_BUDGET", "0%")])
}

/// Is there a line of the loops' table for this file that says so?
fn says(text: &str, file: &str, what: &str) -> bool {
    let table = text.lines().skip_while(|l| !l.ends_with("  loop"));
    table.filter(|l| l.contains(&format!("  {file}:"))).any(|l| l.contains(what))
}

/// The share (%) in the first column of the line that starts like this.
fn share(text: &str, start: &str) -> f64 {
    let rest =
        text.lines().find_map(|l| l.strip_prefix(start)).unwrap_or_else(|| panic!("no {start}: {text}"));
    rest.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number")
}

/// Nearly all of an iteration comes behind what cannot be executed twice: what follows there does not begin
/// that anew.
#[test]
fn what_was_lost_stays_lost() {
    let Some(cc) = driver("promp-cc") else { return };
    let exe = built("freed", &[(&cc, "freed.c")]).expect("a program");
    let want = reference(&exe, &[], &[]);
    let r = explained(&cc, &exe, &[]);
    let text = r.out.strip_prefix(&want.out).unwrap_or_else(|| panic!("{} {}", want.out, r.out));
    assert!(text.contains("freed.c:8: calls fputc, 200 times"), "{text}");
    let proved = share(text, "proved ");
    assert!(proved < 20.0, "{text}");
}

/// A part of an iteration cannot be executed again, though the loop's first part can.
#[test]
fn parts_that_cannot_be_executed_again_count() {
    let Some(cc) = driver("promp-cc") else { return };
    let exe = built("parts", &[(&cc, "parts.c")]).expect("a program");
    let want = reference(&exe, &[], &[]);
    let r = run(&cc, &["--explain", "--", exe.to_str().expect("UTF-8")], &[("OMP_NUM_THREADS", "2")]);
    let text = r.out.strip_prefix(&want.out).unwrap_or_else(|| panic!("{} {}", want.out, r.out));
    assert!(says(text, "parts.c", "in parts: calls fputc at line 16; else idempotent"), "{text}");
    assert!(text.contains("parts.c:16: opaque: the extent of what is written to of is not known"), "{text}");
    let proved = share(text, "proved ");
    assert!(proved < 20.0, "{text}");
}

/// The share that is said to be proved is that of kills in work in flight that are recovered.
#[test]
fn what_is_forecast_is_what_kills_find() {
    let Some(cc) = driver("promp-cc") else { return };
    let exe = built("shares", &[(Path::new("gcc"), "spends.c"), (&cc, "shares.c")]).expect("a program");
    // Of so many the mean strays by 3 standard deviations at most.
    let (strikes, strays) = if long() { (600, 8.0) } else { (60, 20.0) };
    for lost in ["15", "50", "85"] {
        let env = [("OMP_NUM_THREADS", "2"), ("PROMP_SAVE_BUDGET", "all")];
        let want = reference(&exe, &[lost], &env);
        // Beside other work one run is stopped in one part of its work more than in the other.
        let forecasts = (0..9).map(|_| {
            let r = run(&cc, &["--explain", "--", exe.to_str().expect("UTF-8"), lost], &env);
            share(&r.out, "proved ")
        });
        let forecast = forecasts.sum::<f64>() / 9.0;
        assert!((forecast + lost.parse::<f64>().expect("a number") - 100.0).abs() < 15.0, "{forecast}");
        let (mut right, mut refused) = (0, 0);
        let mut draws = Draws::between(strikes, 20 * strikes);
        while let Some(seed) = draws.next(right + refused >= strikes as usize) {
            let fault = format!("kill@mtbf=40ms,count=1,seed={seed}");
            let r = promp(&exe, &[lost], &[&env[..], &[("PROMP_FAULT", &fault)]].concat());
            if r.was_in_serial_work() {
                continue;
            }
            if r.was_refused(&want.out, &fault) {
                refused += 1;
            } else {
                right += r.executed_again();
            }
        }
        let found = 100.0 * right as f64 / (right + refused) as f64;
        println!("{lost} % lost: {forecast} % forecast, {found:.1} % of {} found", right + refused);
        assert!((found - forecast).abs() < strays, "{lost}: {forecast} % forecast, {found} % found");
    }
}

#[test]
fn loops_in_c_by_verdict_reason_and_change() {
    let Some(cc) = driver("promp-cc") else { return };
    let exe = built("work", &[(Path::new("gcc"), "other.c"), (&cc, "work.c")]).expect("a program");
    let want = reference(&exe, &["loud", "7"], &[]);
    assert_eq!(want.status, 7);
    let r = explained(&cc, &exe, &["loud", "7"]);
    // The program's own output and status are what they were.
    assert_eq!(r.status, 7, "{}", r.err);
    let text = r.out.strip_prefix(&want.out).unwrap_or_else(|| panic!("{} {}", want.out, r.out));
    for said in [
        ":28: idempotent",
        ":18: undo: ",
        ": in parts: calls fputc at line 33; else undo: a is read and written",
        ": in parts: calls other at line 38, which promp-cc has not built",
        ": opaque: atomic update at line 42",
    ] {
        assert!(says(text, "work.c", said), "no {said}: {text}");
    }
    let all: f64 = ["idempotent", "undo", "in parts", "opaque"].map(|v| share(text, v)).iter().sum();
    assert!((all - 100.0).abs() < 0.5, "{all} %: {text}");
    let stopped = text.split("stopped saving").nth(1).and_then(|t| t.split("\n\n").next()).unwrap_or("");
    assert!(stopped.contains("work.c:18: it took ") && stopped.contains("PROMP_SAVE_BUDGET=0%"), "{text}");
    let marks = text.split("executed twice").nth(1).and_then(|t| t.split("\n\n").next()).unwrap_or("");
    assert!(marks.contains("work.c:33: calls fputc, 20 times"), "{text}");
    let changes = text.split("What would prove most").nth(1).expect("changes");
    for change in
        ["the file with other with promp-cc, too (work.c:", "PROMP_SAVE_BUDGET=", "(a reduction)", "fputc"]
    {
        assert!(changes.contains(change), "no {change}: {text}");
    }
    // The same of a report, and a part of it in the summary.
    let report = dir().join("work.json");
    let report = report.to_str().expect("UTF-8");
    assert_eq!(promp(&exe, &[], &[("PROMP_REPORT", report), ("OMP_NUM_THREADS", "2")]).status, 0);
    let r = run(&cc, &["--explain", report], &[]);
    assert!(r.status == 0 && says(&r.out, "work.c", "opaque: atomic update"), "{} {}", r.out, r.err);
    let r = run(&cc.with_file_name("promp"), &["report", report], &[]);
    assert!(r.out.contains(" % in parts, ") && r.out.contains(" of it can be executed again"), "{}", r.out);
}

#[test]
fn what_is_proved_grows_with_the_files_that_promp_has_built() {
    let (Some(cc), Some(cxx)) = (driver("promp-cc"), driver("promp-c++")) else { return };
    let gxx = Path::new("g++");
    let exe = built("mesh_half", &[(gxx, "area.cpp"), (&cxx, "mesh.cpp")]).expect("a program");
    let half = explained(&cc, &exe, &[]).out;
    assert!(
        says(&half, "mesh.cpp", "in parts: calls area at line 20, which promp-cc has not built"),
        "{half}"
    );
    assert!(half.contains("the file with area"), "{half}");
    let exe = built("mesh", &[(&cxx, "area.cpp"), (&cxx, "mesh.cpp")]).expect("a program");
    let whole = explained(&cc, &exe, &[]).out;
    assert!(says(&whole, "mesh.cpp", ":20: idempotent"), "{whole}");
    assert_eq!(share(&whole, "proved"), 100.0, "{whole}");
    assert!(share(&half, "proved") < 100.0 && !whole.contains("What would prove most"), "{half}");
    // The report may be written after the program's destructors have run.
    let early = root().join("c-tests/explain/early.c");
    let library = dir().join("libearly.so");
    let args = ["-shared", "-fPIC", "-fopenmp", "-o", "libearly.so", early.to_str().expect("UTF-8")];
    assert_eq!(run(Path::new("gcc"), &args, &[]).status, 0);
    let env = [("LD_PRELOAD", library.to_str().expect("UTF-8")), ("OMP_NUM_THREADS", "2")];
    let late = run(&cc, &["--explain", "--", exe.to_str().expect("UTF-8")], &env).out;
    assert!(says(&late, "mesh.cpp", ":20: idempotent") && !late.contains("unknown"), "{late}");
}

#[test]
fn modules_of_fortran() {
    let Some(fc) = driver("promp-fc") else { return };
    let exe = built("cells", &[(&fc, "cells.f90"), (&fc, "main.f90")]).expect("a program");
    let r = explained(&fc, &exe, &[]);
    assert_eq!(r.status, 0, "{}", r.err);
    for (file, said) in
        [("cells.f90", ":10: "), ("cells.f90", ": undo: "), ("main.f90", ": in parts: calls ")]
    {
        assert!(says(&r.out, file, said), "{file}: no {said}: {}", r.out);
    }
    assert!(r.out.contains("stopped saving"), "{}", r.out);
}

/// Nothing is proved of it, but every refusal says where it was, and why.
#[test]
fn code_that_is_not_optimised() {
    let Some(cc) = driver("promp-cc") else { return };
    let source = |name: &str| root().join("c-tests/explain").join(name).display().to_string();
    for level in ["-O0", "-Og"] {
        let exe = format!("plain{level}");
        let args =
            [level, "-fopenmp", "-fno-promp-runtime", "-o", &exe, &source("work.c"), &source("other.c")];
        let r = run(&cc, &args, &[]);
        assert_eq!(r.status, 0, "{}", r.err);
        let exe = dir().join(exe);
        let r = explained(&cc, &exe, &[]);
        assert!(says(&r.out, "work.c", "opaque: built without optimisation"), "{}", r.out);
        assert!(share(&r.out, "opaque") == 100.0 && share(&r.out, "proved") == 0.0, "{}", r.out);
        let refused = (1..=400).any(|seed| {
            let fault = format!("kill@mtbf=3ms,count=9,seed={seed}");
            let r = promp(&exe, &[], &[("OMP_NUM_THREADS", "3"), ("PROMP_FAULT", &fault)]);
            let why = ["built without optimisation", "in serial work", "hold a lock"];
            assert!(r.status == 0 || why.iter().any(|w| r.err.contains(w)), "{fault}: {}", r.err);
            r.status == 70 && r.err.contains("work.c:") && r.err.contains(why[0])
        });
        assert!(refused, "{level}: no failure struck work in flight");
    }
}

#[test]
fn what_cannot_be_explained_is_said() {
    let Some(cc) = driver("promp-cc") else { return };
    for (args, status, says) in [
        (&["--explain"][..], 64, "takes a report"),
        (&["--explain", "--"], 64, "takes a report"),
        (&["--explain", "a", "b"], 64, "takes a report"),
        (&["--explain", "missing.json"], 66, "missing.json cannot be read"),
        (&["--explain", "--", "/missing/program"], 127, "/missing/program"),
    ] {
        let r = run(&cc, args, &[]);
        assert!(r.status == status && r.err.contains(says), "{args:?}: {} {}", r.status, r.err);
    }
    // A program that promp-cc has not built.
    let gcc = Path::new("gcc");
    let exe = built("plain", &[(gcc, "area.cpp"), (Path::new("g++"), "mesh.cpp")]).expect("a program");
    let r = explained(&cc, &exe, &[]);
    assert!(r.status == 0 && r.out.contains("build the program with it"), "{} {}", r.out, r.err);
    // One that ends at once has done nothing.
    let r = run(&cc, &["--explain", "--", "/bin/true"], &[]);
    assert!(r.status == 65 && r.err.contains("true: it has not called"), "{} {}", r.status, r.err);
}

#[test]
fn the_demonstration_shows_what_it_says() {
    if driver("promp-cc").is_none() {
        return;
    }
    let r = run(&root().join("tools/demo.sh"), &["S"], &[]);
    assert_eq!((r.status, r.hung), (0, false), "{}\n{}", r.out, r.err);
    let parts: Vec<&str> = ["1. A program of several files", "2. Two NAS", "3. An", "4. The same", "5. What"]
        .windows(2)
        .map(|w| r.out.split(w[0]).nth(1).and_then(|t| t.split(w[1]).next()).expect("a part"))
        .collect();
    assert!(parts[0].contains("recomputed") && parts[0].contains("proved     "), "{}", parts[0]);
    assert_eq!(parts[1].matches("Both outputs are identical").count(), 2, "{}", parts[1]);
    assert!(parts[2].contains("rolled back to checkpoint"), "{}", parts[2]);
    assert!(parts[3].contains("stopping") && parts[3].contains("exit status 70"), "{}", parts[3]);
}
