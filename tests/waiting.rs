//! Loops whose iterations wait for each other, built by the drivers: each wait is a save point as long as
//! that is worth its price. Whatever is decided, a thread that is killed is recovered, or that is refused.

use crate::common::draws::Draws;
use crate::common::driven::*;
use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The programs, with their arguments.
fn programs() -> Vec<(PathBuf, Vec<&'static str>)> {
    let (Some(cc), Some(fc)) = (driver("promp-cc"), driver("promp-fc")) else { return Vec::new() };
    let shapes = driven(&cc, "waiting/shapes.c", &[]);
    let names = ["cells", "rows", "deep", "into", "turns", "told"];
    let mut all: Vec<_> = names.map(|n| (shapes.clone(), vec![n, "160", "24"])).into();
    all.push((driven(&fc, "waiting/lines.f90", &[]), vec!["160", "24"]));
    all
}

const BUDGETS: [&str; 3] = ["2%", "0%", "all"];

#[test]
fn with_and_without_save_points_they_compute_the_same() {
    for (exe, args) in programs() {
        let want = reference(&exe, &args, &[("OMP_NUM_THREADS", "1")]);
        assert_eq!(want.status, 0, "{args:?}: {}", want.err);
        for threads in ["1", "3"] {
            for budget in BUDGETS {
                let env = [("OMP_NUM_THREADS", threads), ("PROMP_SAVE_BUDGET", budget)];
                let r = promp(&exe, &args, &env);
                assert_eq!((r.status, &r.out), (0, &want.out), "{args:?} {env:?}: {}", r.err);
            }
        }
    }
}

/// With old values saved whatever it takes most are recovered; with none, what is refused says why.
#[test]
fn threads_killed_in_them_are_recovered_or_refused() {
    let (mut right, mut refused) = ([0; 3], [0; 3]);
    for (exe, args) in programs() {
        let want = reference(&exe, &args, &[("OMP_NUM_THREADS", "1")]);
        let mut draws = Draws::sweep(9, 120, 120);
        while let Some(seed) = draws.next(true) {
            let (kind, threads) = ((seed % 3) as usize, (1 + seed / 3 % 3).to_string());
            let fault = format!("kill@mtbf={}ms,count=2,seed={seed}", 2 + seed % 5 * 4);
            let env = [
                ("OMP_NUM_THREADS", threads.as_str()),
                ("PROMP_SAVE_BUDGET", BUDGETS[kind]),
                ("PROMP_FAULT", &fault),
            ];
            let r = promp(&exe, &args, &env);
            if r.was_refused(&want.out, &format!("{args:?} {env:?}")) {
                refused[kind] += 1;
            } else {
                right[kind] += 1;
            }
        }
    }
    println!("budgets {BUDGETS:?}: right {right:?}, refused {refused:?}");
    assert!(right[0] + refused[0] == 0 || right[2] > 2 * refused[2], "right {right:?}, refused {refused:?}");
}

/// What is left out has a name, and a price.
#[test]
fn what_is_left_out_is_named_with_its_price() {
    let Some(cc) = driver("promp-cc") else { return };
    let exe = driven(&cc, "waiting/shapes.c", &[]);
    for (shape, line) in [("cells", "shapes.c:"), ("into", "shapes.c:"), ("turns", "shapes.c:")] {
        let mut c = Command::new(&cc);
        clean(&mut c);
        c.args(["--explain", "--"]).arg(&exe).args([shape, "160", "200"]);
        c.envs([("OMP_NUM_THREADS", "1"), ("PROMP_SAVE_BUDGET", "0%")]);
        let r = limited(c, Duration::from_secs(120));
        let stopped = r.out.split("stopped saving").nth(1).and_then(|t| t.split("\n\n").next()).unwrap_or("");
        let said = "save points where iterations wait for each other took ";
        assert!(stopped.contains(line) && stopped.contains(said), "{shape}: {}\n{}", r.out, r.err);
        assert!(r.out.contains("PROMP_SAVE_BUDGET="), "{shape}: {}", r.out);
    }
}

/// What a loop's price is said to be, in a run that leaves its save points out (percent).
fn said(cc: &Path, exe: &Path, args: &[&str]) -> f64 {
    let mut c = Command::new(cc);
    clean(&mut c);
    c.args(["--explain", "--"]).arg(exe).args(args);
    c.envs([("OMP_NUM_THREADS", "1"), ("PROMP_SAVE_BUDGET", "0%")]);
    let r = limited(c, Duration::from_secs(120));
    let told =
        r.out.split_once("wait for each other took ").and_then(|t| t.1.split_once(" % (to a factor of 3)"));
    told.map(|t| t.0).and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{args:?}: {}\n{}", r.out, r.err))
}

/// The price is what counted instructions say, where these take about the same time each: of loops that do
/// next to nothing between their waits, and of one so deep that its waits have no light way.
#[test]
fn the_price_agrees_with_counted_instructions() {
    let have = Command::new("valgrind").arg("--version").output().is_ok();
    let Some(cc) = driver("promp-cc").filter(|_| available("valgrind", have)) else { return };
    let exe = driven(&cc, "waiting/shapes.c", &[]);
    for shape in ["cells", "into", "deep"] {
        let each = |budget| {
            let of = |times| instructions(&exe, &[shape, "80", times], &[("PROMP_SAVE_BUDGET", budget)]);
            of("16") - of("8")
        };
        let (with, without) = (each("all"), each("0%"));
        let (counted, said) = ((with / without - 1.0) * 100.0, said(&cc, &exe, &[shape, "80", "400"]));
        println!("{shape}: {said} % said, {counted:.0} % counted");
        assert!(
            (1.0 / 3.0..=3.0).contains(&(said / counted)),
            "{shape}: {said} % said, {counted:.0} % counted"
        );
    }
}
