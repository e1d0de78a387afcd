//! Unwinding: backtrace(3), libunwind and gdb see the program's frames from `main` down, in every thread,
//! wherever it is in the runtime, after a change
//! of host, too.

mod common;
use common::*;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

const SETTINGS: [&[(&str, &str)]; 4] = [
    &[],
    &[("PROMP_FT", "off")],
    &[("PROMP_REPLAY", "assume")],
    &[("PROMP_REPLAY", "assume"), ("OMP_WAIT_POLICY", "active")],
];
const THREADS: (&str, &str) = ("OMP_NUM_THREADS", "3");
/// Libunwind does not see through the loader's code that binds a function at its first call.
const BOUND: (&str, &str) = ("LD_BIND_NOW", "1");

/// Runs sampled.c; what it has printed must be what it prints under libgomp.
fn sampled(args: &[&str], env: &[(&str, &str)]) {
    let exe = build("unwinding/sampled.c", &["-g"]);
    let env = [&[THREADS][..], env].concat();
    let right = reference(&exe, args, &[THREADS]);
    let r = promp(&exe, args, &env);
    if right.status == 77 {
        println!("SKIPPED: libunwind.so.8 is not there");
        return;
    }
    assert!(!r.hung && r.status == 0, "{env:?}: {r:?}");
    assert_eq!(r.out, right.out, "{env:?}: {}", r.err);
    assert!(r.out.contains("without main 0 endless 0"), "{}", r.out);
}

#[test]
fn backtrace_leads_to_main_from_everywhere() {
    for env in SETTINGS {
        sampled(&["12"], env);
    }
}

#[test]
fn libunwind_leads_to_main_from_everywhere() {
    sampled(&["12", "unwind"], &[BOUND]);
    sampled(&["12", "unwind"], &[BOUND, ("PROMP_REPLAY", "assume")]);
}

#[test]
fn backtrace_leads_to_main_after_changes_of_host() {
    for (at, seed) in [("barrier", 1), ("single", 2), ("critical", 3)] {
        let thread = if seed == 3 { "" } else { ",thread=0" };
        let fault = format!("kill@region=any,at={at},count=15,seed={seed}{thread}");
        sampled(&["12"], &[("PROMP_REPLAY", "assume"), ("PROMP_FAULT", &fault)]);
    }
}

/// What gdb shows of waits.c standing at `place`.
fn stacks(place: &str, env: &[(&str, &str)]) -> String {
    let exe = build("unwinding/waits.c", &["-g", "-O1"]);
    let mut c = Command::new(&exe);
    clean(&mut c);
    c.arg(place).env("LD_PRELOAD", library()).envs(env.iter().copied());
    let mut child = started(c.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut line = String::new();
    let out = child.stdout.take().expect("piped");
    let _ = BufReader::new(out).read_line(&mut line);
    assert_eq!(line, "ready\n", "{place}");
    let mut gdb = Command::new("gdb");
    gdb.args(["-q", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-p", &child.id().to_string()]);
    gdb.args(["-ex", "thread apply all bt"]);
    let shown = limited(gdb, LIMIT);
    // SAFETY: the child's process group.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    ended(child, Duration::from_secs(10));
    shown.out
}

fn gdb_sees(place: &str, env: &[(&str, &str)]) {
    if Command::new("gdb").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("SKIPPED: gdb is not there");
        return;
    }
    let shown = stacks(place, env);
    let count = |what: &str| shown.matches(what).count();
    let region = count("solver._omp_fn.0 (");
    // Those that wait at the end of a region have left its function.
    let inside = if place == "end" { 1 } else { 3 };
    assert_eq!((count(" main ("), count(" solver ("), region), (1, 1, inside), "{place} {env:?}:\n{shown}");
    assert_eq!(count("Backtrace stopped"), 0, "{place} {env:?}:\n{shown}");
}

#[test]
fn gdb_sees_who_waits() {
    for place in ["barrier", "critical", "single", "ordered", "taskwait", "doacross", "end"] {
        gdb_sees(place, &[]);
    }
    gdb_sees("critical", &[("PROMP_FT", "off")]);
}

#[test]
fn gdb_sees_who_waits_after_a_change_of_host() {
    for (place, thread) in [("barrier", 0), ("critical", 2), ("end", 1), ("ordered", 0)] {
        let fault = format!("kill@region=1,at=barrier,nth=2,thread={thread}");
        gdb_sees(place, &[("PROMP_FAULT", &fault), ("PROMP_REPLAY", "assume")]);
    }
}

/// Whatever is exported has call-frame information.
#[test]
fn every_entry_has_frame_information() {
    let text = |c: &mut Command| String::from_utf8_lossy(&c.output().expect("binutils").stdout).into_owned();
    let frames = text(Command::new("readelf").args(["-wF"]).arg(library()));
    let mut ranges: Vec<(u64, u64)> = frames
        .lines()
        .filter_map(|l| l.split("pc=").nth(1)?.split_once(".."))
        .filter_map(|(a, b)| {
            Some((u64::from_str_radix(a, 16).ok()?, u64::from_str_radix(b.trim(), 16).ok()?))
        })
        .collect();
    ranges.sort_unstable();
    let symbols = text(Command::new("nm").args(["-D", "--defined-only"]).arg(library()));
    let mut seen = 0;
    for s in symbols.lines() {
        let [at, "T" | "t", name] = s.split_whitespace().collect::<Vec<_>>()[..] else { continue };
        let at = u64::from_str_radix(at, 16).expect("an address");
        let i = ranges.partition_point(|r| r.0 <= at);
        assert!(i > 0 && at < ranges[i - 1].1, "{name} has no frame information");
        seen += 1;
    }
    assert!(seen > 300, "{seen} functions");
}
