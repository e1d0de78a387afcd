//! Large private data on the stack (crates/omp/src/save): copied where that is worth its price, and refused
//! for that reason, with place and size, where not. What `promp-cc --explain` says is what happens.

use crate::common::*;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// c-tests/ft/private.c with private data of so many KiB, with room for it.
fn run(exe: &Path, args: [&str; 2], env: &[(&str, &str)]) -> Run {
    let mut c = Command::new("sh");
    clean(&mut c);
    c.args(["-c", "ulimit -s 65536 && exec \"$@\"", "sh"]).arg(exe).args(args);
    c.envs([("OMP_NUM_THREADS", "2"), ("OMP_STACKSIZE", "64M")]).envs(env.iter().copied());
    limited(c, Duration::from_secs(120))
}

/// The same under promp, where a thread fails in the middle of a chunk, a part or a task.
fn fails(exe: &Path, args: [&str; 2], budget: &[(&str, &str)]) -> Run {
    let at = match args[0] {
        "dynamic" => "chunk",
        "parts" => "barrier",
        _ => "task",
    };
    let (library, fault) = (library(), format!("kill@at={at},region=any,delay=3ms"));
    let library = library.to_str().expect("UTF-8");
    let env = [("LD_PRELOAD", library), ("PROMP_REPLAY", "assume"), ("PROMP_FAULT", &fault)];
    run(exe, args, &[&env, budget].concat())
}

/// Of some runs the first that `is` so: a failure may come when nothing is in flight.
fn some(mut one: impl FnMut() -> Run, is: impl Fn(&Run) -> bool) -> Run {
    let mut runs = Vec::new();
    for _ in 0..10 {
        let r = one();
        if is(&r) {
            return r;
        }
        runs.push(r);
    }
    panic!("none of {runs:#?}")
}

#[test]
fn it_is_copied_where_that_is_worth_its_price() {
    let exe = build("ft/private.c", &[]);
    // The last on the credit that all programs have.
    let all = [("PROMP_SAVE_BUDGET", "all")];
    for (kind, budget) in [("dynamic", &all[..]), ("parts", &all), ("tasks", &all), ("dynamic", &[])] {
        let want = run(&exe, [kind, "600"], &[]).out;
        let again = || {
            let r = fails(&exe, [kind, "600"], budget);
            assert_eq!((r.status, &r.out), (0, &want), "{kind}: {}", r.err);
            r
        };
        some(again, |r| r.executed_again() > 0);
    }
}

#[test]
fn a_refusal_says_how_much_where_and_what_helps() {
    let exe = build("ft/private.c", &[]);
    // No copy is worth a budget of nothing, and no budget helps where there is more than is ever copied.
    let (dear, most) = ("PROMP_SAVE_BUDGET=all always copies", "at most 16384 KiB are copied");
    for (kind, kib, budget, reason) in [
        ("dynamic", "600", "0%", dear),
        ("parts", "600", "0%", dear),
        ("tasks", "600", "0%", dear),
        ("dynamic", "17000", "all", most),
    ] {
        let one = || fails(&exe, [kind, kib], &[("PROMP_SAVE_BUDGET", budget)]);
        let r = some(one, |r| r.status == 70);
        let size = r.err.split(" KiB of private data").next().and_then(|t| t.rsplit(' ').next());
        let size = size.and_then(|n| n.parse::<u64>().ok()).unwrap_or_default();
        let least = if kind == "tasks" { 312 } else { kib.parse().expect("a number") };
        assert!((least..least + 100).contains(&size), "{kind} {kib}: {}", r.err);
        let function = match kind {
            "tasks" => "of_tasks",
            "parts" => "in_parts",
            _ => "is_dynamic",
        };
        for part in [reason, function, "on the heap, or set PROMP_CKPT_DIR"] {
            assert!(r.err.contains(part), "{kind} {kib}: no {part} in {}", r.err);
        }
    }
}

#[test]
fn what_is_explained_is_what_happens() {
    let Some(cc) = driver("promp-cc") else { return };
    let dir = out_folder("private_data");
    let source = root().join("c-tests/ft/private.c");
    tool_in(&dir, &cc, &["-O2", "-fopenmp", "-o", "private", source.to_str().expect("UTF-8")]);
    // A thread that loses its CPU where a loop begins has had a part of it with nothing to lose.
    for (budget, proved) in [("0%", 0.0..50.0), ("all", 100.0..100.1)] {
        let mut c = Command::new(&cc);
        clean(&mut c);
        c.args(["--explain", "--", "./private", "static", "600"]).current_dir(&dir);
        c.envs([("OMP_NUM_THREADS", "2"), ("PROMP_SAVE_BUDGET", budget)]);
        let r = limited(c, Duration::from_secs(120));
        let said = r.out.lines().find_map(|l| l.strip_prefix("proved ")).unwrap_or_else(|| panic!("{r:?}"));
        let said = said.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(-1.0);
        assert!(proved.contains(&said), "{budget}: {}", r.out);
        let named = r.out.contains("KiB of private data on the stack; copying it would take")
            && r.out.contains("put large private arrays on the heap");
        assert_eq!(named, budget == "0%", "{}", r.out);
    }
}
