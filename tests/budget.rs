//! `-fpromp-budget`: what saving may take, file by file, goes with the code.

use crate::common::draws::Draws;
use crate::common::driven::*;
use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn dir() -> PathBuf {
    out_folder("budget")
}

fn source(name: &str) -> String {
    root().join("c-tests").join(name).display().to_string()
}

/// c-tests/compiler/budget.c with these options for its two files.
fn built(cc: &Path, exe: &str, first: &[&str], second: &[&str]) -> PathBuf {
    let (file, object) = (source("compiler/budget.c"), |part: &str| format!("{exe}_{part}.o"));
    for (part, options) in [("FIRST", first), ("SECOND", second), ("MAIN", &[][..])] {
        let (define, to) = (format!("-D{part}"), object(part));
        tool_in(&dir(), cc, &[&["-O2", "-fopenmp", "-c", &define, "-o", &to, &file], options].concat());
    }
    let objects = ["FIRST", "SECOND", "MAIN"].map(object);
    let own = if cc == Path::new("gcc") { &[][..] } else { &["-fno-promp-runtime"] };
    tool_in(&dir(), cc, &[&["-fopenmp", "-o", exe, &objects[0], &objects[1], &objects[2]], own].concat());
    dir().join(exe)
}

const NONE: &[&str] = &["-fpromp-budget=0%"];
const ALL: &[&str] = &["-fpromp-budget=all"];

/// Where nothing is to be saved, the program executes what gcc's does.
#[test]
fn nothing_is_paid_for_what_is_not_saved() {
    let have = Command::new("valgrind").arg("--version").output().is_ok();
    let Some(cc) = driver("promp-cc").filter(|_| available("valgrind", have)) else { return };
    let gcc = built(Path::new("gcc"), "by_gcc", &[], &[]);
    let counted = [gcc, built(&cc, "none", NONE, NONE), built(&cc, "dear", ALL, ALL)]
        .map(|exe| instructions(&exe, &["2"], &[]) - instructions(&exe, &["1"], &[]));
    let [gcc, none, all] = counted;
    println!("gcc {gcc}, none {none}, all {all}");
    assert!(none <= 1.02 * gcc && all > 3.0 * gcc, "gcc {gcc}, none {none}, all {all}");
}

/// The first file saves whatever that takes, the second one nothing: what is refused is the second one's. The
/// variable has the last word.
#[test]
fn each_file_has_its_own() {
    let Some(cc) = driver("promp-cc") else { return };
    let exe = built(&cc, "each", ALL, NONE);
    let want = reference(&exe, &["6"], &[("OMP_NUM_THREADS", "2")]);
    assert_eq!(want.status, 0, "{}", want.err);
    let (mut again, mut refused, mut always, mut draws) = (0, 0, 0, Draws::between(20, 200));
    while let Some(seed) = draws.next(again >= 5 && refused >= 3 && always >= 5) {
        let fault = format!("kill@mtbf={}ms,count=2,seed={seed}", 2 + seed % 7);
        let env = [("OMP_NUM_THREADS", "2"), ("PROMP_FAULT", fault.as_str())];
        let r = promp(&exe, &["6"], &env);
        if r.was_refused(&want.out, &fault) {
            if r.err.contains("old values are not saved") {
                let named = "It was built with -fpromp-budget=0%; PROMP_SAVE_BUDGET=all always saves";
                assert!(r.err.contains("budget.c:16: undo: ") && r.err.contains(named), "{fault}: {}", r.err);
                refused += 1;
            }
        } else {
            again += r.executed_again();
        }
        let r = promp(&exe, &["6"], &[&env[..], &[("PROMP_SAVE_BUDGET", "all")]].concat());
        assert!(!r.err.contains("old values are not saved"), "{fault}: {}", r.err);
        always += if r.was_refused(&want.out, &fault) { 0 } else { r.executed_again() };
    }
    println!("{again} times executed again, {refused} refused; with all {always}");
    assert!(again >= 5 && refused >= 3 && always >= 5, "{again} again, {refused} refused, {always}");
}

/// `--explain` of a run by two threads.
fn explained(cc: &Path, exe: &Path, args: &[&str], env: &[(&str, &str)]) -> String {
    let mut c = Command::new(cc);
    clean(&mut c);
    c.args(["--explain", "--"]).arg(exe).args(args).env("OMP_NUM_THREADS", "2").envs(env.iter().copied());
    let r = limited(c, Duration::from_secs(120));
    assert_eq!(r.status, 0, "{}", r.err);
    r.out
}

#[test]
fn what_is_not_saved_is_explained_by_the_option() {
    let Some(cc) = driver("promp-cc") else { return };
    let exe = built(&cc, "told", ALL, NONE);
    let text = explained(&cc, &exe, &["6"], &[]);
    assert!(text.contains("budget.c:16: saving old values: none is done; -fpromp-budget=0%"), "{text}");
    assert!(text.contains("PROMP_SAVE_BUDGET=2%, or more than -fpromp-budget=0%"), "{text}");
    assert!(!text.contains("budget.c:11: saving"), "{text}");
    let exe = built(&cc, "shares", &["-fpromp-budget=0.5%"], &["-fpromp-elements", "-fpromp-budget=3%"]);
    let text = explained(&cc, &exe, &["40"], &[]);
    for (line, budget) in [(11, "0.5%"), (16, "3%")] {
        let said = text.lines().find(|l| l.contains(&format!("budget.c:{line}: it took "))).unwrap_or("");
        assert!(said.ends_with(&format!("of the loop's time; -fpromp-budget={budget}")), "{text}");
    }
    let text = explained(&cc, &exe, &["40"], &[("PROMP_SAVE_BUDGET", "1%")]);
    assert!(text.contains("; PROMP_SAVE_BUDGET=1%") && !text.contains("-fpromp-budget"), "{text}");
    // Waits of a doacross loop.
    let exe = dir().join("waits");
    let (to, from) = (exe.display().to_string(), source("waiting/shapes.c"));
    tool_in(&dir(), &cc, &[&["-O2", "-fopenmp", "-fno-promp-runtime", "-o", &to, &from], NONE].concat());
    let text = explained(&cc, &exe, &["cells", "160", "50"], &[]);
    let said = "save points where iterations wait for each other: none is done; -fpromp-budget=0%";
    assert!(text.contains(said), "{text}");
}

#[test]
fn what_is_no_budget_is_refused() {
    let Some(cc) = driver("promp-cc") else { return };
    for bad in ["", "=", "=5", "=-1%", "=1001%", "=0.05%", "=half", "=none"] {
        for name in ["promp-cc", "promp-c++", "promp-fc"] {
            let mut c = Command::new(cc.with_file_name(name));
            c.args(["-fopenmp", "-c", "-o", "/dev/null", &format!("-fpromp-budget{bad}")]);
            c.arg(source("compiler/budget.c"));
            let r = limited(c, Duration::from_secs(60));
            let value = bad.trim_start_matches('=');
            let expected = "expected 0% to 1000% of a loop's time, in steps of 0.1%, or all";
            let why = format!("{name}: -fpromp-budget={value}: {expected}");
            assert!(r.status == 64 && r.err.trim_end() == why, "{bad}: {} {}", r.status, r.err);
        }
    }
}

/// A loop that leaves its saving in the middle is right, and refused with its line from there on; one that
/// saves whatever it takes is recovered.
#[test]
fn loops_leave_their_saving_where_it_costs_too_much() {
    let (Some(cc), Some(cxx), Some(fc)) = (driver("promp-cc"), driver("promp-c++"), driver("promp-fc"))
    else {
        return;
    };
    let (mut left, mut kept) = (0, 0);
    let names =
        ["fluid.f90", "graph.c", "mesh.cpp", "particles.c", "penta.cpp", "rows.c", "sort.cpp", "sparse.f90"];
    let programs = names.map(|name| {
        let with = match name.rsplit('.').next() {
            Some("c") => &cc,
            Some("cpp") => &cxx,
            _ => &fc,
        };
        let exe = driven(with, &format!("cost/{name}"), &[]);
        let expected = reference(&exe, &[], &[("OMP_NUM_THREADS", "1")]);
        assert_eq!(expected.status, 0, "{name} under libgomp: {}", expected.err);
        (name, exe, expected)
    });
    let mut draws = Draws::between(if long() { 100 } else { 6 }, 120);
    while let Some(seed) = draws.next(left > 0 && kept > 0) {
        for (name, exe, expected) in &programs {
            for budget in ["0%", "all"] {
                let fault = format!("kill@mtbf={}ms,seed={seed},count=2", 4 + seed % 9);
                let env = [("OMP_NUM_THREADS", "2"), ("PROMP_FAULT", &*fault), ("PROMP_SAVE_BUDGET", budget)];
                let r = promp(exe, &[], &env);
                if r.status != 70 {
                    assert_eq!((r.status, &r.out), (0, &expected.out), "{name} {env:?}: {}", r.err);
                    kept += u32::from(budget == "all" && r.err.contains("recomputed"));
                } else if r.err.contains("old values are not saved") {
                    assert!(budget == "0%", "{name} {env:?}: {}", r.err);
                    let says = |what: &str| r.err.contains(what);
                    assert!(says(": undo: ") && says("PROMP_SAVE_BUDGET=0%"), "{name}: {}", r.err);
                    left += 1;
                }
            }
        }
    }
    println!("{left} refused for want of old values, {kept} recovered by them");
    assert!(left > 0 && kept > 0, "{left} refused, {kept} recovered");
}

/// At default settings: saving that takes many times the loop's own time ends when it has had its 20 ms; one
/// that takes next to nothing goes on. Killed before, the loop is repeated; behind that it is refused.
#[test]
fn dear_saving_ends_and_cheap_saving_goes_on() {
    let Some(cc) = driver("promp-cc") else { return };
    let exe = driven(&cc, "compiler/dear.c", &[]);
    let (mut repeated, mut refused, mut tries) = ([0; 2], [0; 2], 0);
    let enough = |repeated: [u32; 2], refused: [u32; 2]| repeated[0] > 0 && repeated[1] > 3 && refused[0] > 3;
    while !enough(repeated, refused) && tries < 200 {
        tries += 1;
        for (kind, mode) in ["dear", "cheap"].into_iter().enumerate() {
            let expected = reference(&exe, &[mode, "8"], &[("OMP_NUM_THREADS", "2")]);
            assert_eq!(expected.status, 0, "{mode} under libgomp: {}", expected.err);
            for (region, delay) in [(1, 100), (8, 50 + 50 * (tries % 8))] {
                let fault = format!("kill@thread={},region={region},delay={delay}us", tries % 2);
                let r = promp(&exe, &[mode, "8"], &[("OMP_NUM_THREADS", "2"), ("PROMP_FAULT", &*fault)]);
                if r.err.contains("old values are not saved") {
                    let place = ["dear.c:9: undo: ", "dear.c:"][kind];
                    assert!(r.status == 70 && r.err.contains(place), "{mode} {fault}: {}", r.err);
                    assert!(r.err.contains("PROMP_SAVE_BUDGET=2%"), "{mode} {fault}: {}", r.err);
                    refused[kind] += u32::from(region == 8 || kind == 1);
                } else if r.status != 70 {
                    assert_eq!((r.status, &r.out), (0, &expected.out), "{mode} {fault}: {}", r.err);
                    repeated[kind] += u32::from(r.err.contains("recomputed"));
                }
            }
        }
    }
    println!("after {tries}: dear, cheap: repeated {repeated:?}, refused {refused:?}");
    assert!(enough(repeated, refused) && refused[1] == 0, "repeated {repeated:?}, refused {refused:?}");
}
