//! Regions and taskloops that are so short that save points take longer than they, built by the drivers: they
//! go without where that is more than the budget. Whatever is decided, they compute the same, and a thread
//! that dies in one is recovered, or that is refused.

use crate::common::draws::Draws;
use crate::common::driven::*;
use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const SHAPES: [&str; 7] = ["diagonals", "bounds", "kinds", "several", "nested", "turns", "lines"];
/// The default, one that counts from the beginning, and none.
const BUDGETS: [&str; 3] = ["2%", "1%", "all"];

fn program() -> Option<PathBuf> {
    Some(driven(&driver("promp-cc")?, "waiting/regions.c", &[]))
}

/// What the program prints under libgomp, by one thread.
fn wanted(exe: &Path, args: &[&str]) -> String {
    let want = reference(exe, args, &[("OMP_NUM_THREADS", "1")]);
    assert_eq!(want.status, 0, "{args:?}: {}", want.err);
    want.out
}

#[test]
fn with_and_without_save_points_they_compute_the_same() {
    let Some(exe) = program() else { return };
    for shape in SHAPES {
        let args = [shape, "100", "60"];
        let want = wanted(&exe, &args);
        for threads in ["1", "2", "3"] {
            for budget in BUDGETS {
                let env = [("OMP_NUM_THREADS", threads), ("PROMP_SAVE_BUDGET", budget)];
                let r = promp(&exe, &args, &env);
                assert_eq!((r.status, &r.out), (0, &want), "{shape} {env:?}: {}", r.err);
            }
        }
    }
}

/// With all save points most are recovered; those that have none are refused by name, and a checkpoint helps.
#[test]
fn threads_killed_in_them_are_recovered_or_refused() {
    let Some(exe) = program() else { return };
    let (mut right, mut refused, mut without) = ([0; 3], [0; 3], 0);
    for shape in SHAPES {
        let args = [shape, "100", "60"];
        let want = wanted(&exe, &args);
        let mut draws = Draws::sweep(12, 180, 180);
        while let Some(seed) = draws.next(true) {
            let (kind, threads) = ((seed % 3) as usize, (1 + seed / 3 % 3).to_string());
            let fault = format!("kill@mtbf={}ms,count=2,seed={seed}", 2 + seed % 5 * 2);
            let env = [
                ("OMP_NUM_THREADS", threads.as_str()),
                ("PROMP_SAVE_BUDGET", BUDGETS[kind]),
                ("PROMP_FAULT", &fault),
            ];
            let r = promp(&exe, &args, &env);
            if r.was_refused(&want, &format!("{shape} {env:?}")) {
                refused[kind] += 1;
                without += usize::from(r.err.contains("work whose save points are left out"));
            } else {
                right[kind] += 1;
            }
        }
    }
    println!("budgets {BUDGETS:?}: right {right:?}, refused {refused:?}, {without} without save points");
    assert!(right[2] > 4 * refused[2], "right {right:?}, refused {refused:?}");
}

/// One that its thread has really left in the middle of a share that it has dealt out itself.
#[test]
fn who_dies_in_what_goes_without_is_refused_by_name() {
    let Some(exe) = program() else { return };
    // A few regions have save points, to learn whether they still take as much.
    let mut named = 0;
    for number in ["7000", "9000", "11000", "13000", "15000"] {
        let env = [("OMP_NUM_THREADS", "2"), ("PROMP_SAVE_BUDGET", "1%")];
        let r = promp(&exe, &["diagonals", "100", "100", number], &env);
        assert_eq!((r.status, &r.out[..]), (70, ""), "{}", r.err);
        let why = "a static loop, a share of ";
        let place = "regions.c:24: save points of a region. ";
        let helps = "PROMP_SAVE_BUDGET=all always saves";
        let said = [why, "work whose save points are left out", place, helps];
        named += usize::from(said.iter().all(|w| r.err.contains(w)));
    }
    assert!(named >= 3, "{named} of 5 were told so");
}

/// A checkpoint brings back what could not be executed again.
#[test]
fn checkpoints_make_up_for_them() {
    let Some(exe) = program() else { return };
    let (mut back, mut refused) = (0, 0);
    for (seed, shape) in (0..60).zip(SHAPES.iter().cycle()) {
        if seed >= SHAPES.len() && back >= 3 {
            break;
        }
        let args = [*shape, "100", "60"];
        let want = wanted(&exe, &args);
        let (dir, fault) = (out_dir().join("ckpt"), format!("kill@mtbf=8ms,count=2,seed={seed}"));
        let _ = std::fs::remove_dir_all(&dir);
        let env = [
            ("OMP_NUM_THREADS", "2"),
            ("PROMP_SAVE_BUDGET", "1%"),
            ("PROMP_FAULT", &fault),
            ("PROMP_CKPT_DIR", dir.to_str().expect("UTF-8")),
            ("PROMP_CKPT_INTERVAL", "5ms"),
        ];
        let r = promp(&exe, &args, &env);
        // Before the first checkpoint there is nothing to go back to.
        if r.was_refused(&want, &format!("{shape} {env:?}")) {
            refused += 1;
        } else {
            back += usize::from(r.err.contains("checkpoint"));
        }
    }
    assert!(back >= 3, "{back} rolled back, {refused} refused");
}

#[test]
fn what_goes_without_is_named_with_its_price() {
    let Some(cc) = driver("promp-cc") else { return };
    let explained = |exe: &Path, args: &[&str], budget: &[(&str, &str)]| {
        let mut c = Command::new(&cc);
        clean(&mut c);
        c.args(["--explain", "--"]).arg(exe).args(args);
        c.env("OMP_NUM_THREADS", "1").envs(budget.iter().copied());
        let r = limited(c, Duration::from_secs(120));
        assert_eq!(r.status, 0, "{}", r.err);
        r.out
    };
    let set = [("PROMP_SAVE_BUDGET", "1%")];
    for (source, args, what) in [
        ("waiting/regions.c", &["diagonals", "100", "2000"][..], "region"),
        // One long region.
        ("cost/lines.c", &["100", "2000"], "taskloop"),
    ] {
        let (exe, compiled) = (driven(&cc, source, &[]), driven(&cc, source, &["-fpromp-budget=3%"]));
        let file = source.rsplit('/').next().expect("a name");
        let forms = [(&exe, &set[..], "PROMP_SAVE_BUDGET=1%"), (&compiled, &[], "-fpromp-budget=3%")];
        for (exe, env, named) in forms {
            let text = explained(exe, args, env);
            let said = format!(": save points of a {what} took ");
            let line = text.lines().find(|l| l.contains(&said)).unwrap_or("");
            let end = format!(" % (to a factor of 3) of the {what}'s time; {named}");
            assert!(line.contains(&format!("{file}:")) && line.ends_with(&end), "{args:?} {named}: {text}");
        }
    }
}

/// What is left without save points, counted: questions in front, and static loops that are calls.
#[test]
fn they_cost_about_what_they_do_as_built_by_gcc() {
    let have = Command::new("valgrind").arg("--version").output().is_ok();
    let Some(cc) = driver("promp-cc").filter(|_| available("valgrind", have)) else { return };
    for (source, most) in [("cost/hyperplane.c", 1.6), ("cost/lines.c", 1.16)] {
        let each = |exe: &Path, budget| {
            let of = |times| instructions(exe, &["100", times], &[("PROMP_SAVE_BUDGET", budget)]);
            (of("500") - of("300")) / 200.0
        };
        let (by_gcc, ours) = (build(source, &[]), driven(&cc, source, &[]));
        let (theirs, with) = (each(&by_gcc, "all"), each(&ours, "all"));
        // Decided by the clock: what disturbs it makes it more.
        let mut without = f64::MAX;
        for _ in 0..4 {
            without = without.min(each(&ours, "1%"));
            if without < most * theirs {
                break;
            }
        }
        println!("{source}: {theirs:.0} by gcc, {without:.0} without save points, {with:.0} with");
        assert!(without < most * theirs && with > without, "{source}: {theirs} {with} {without}");
    }
}
