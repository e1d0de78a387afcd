//! Unwinding: backtrace(3), libunwind, gdb and perf see the program's frames from `main` down, in every
//! thread, wherever it is in the runtime, after a change of host, too.

use crate::common::*;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

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

/// From every instruction on the way through the constructs, not only from those that are met often.
#[test]
fn backtrace_leads_to_main_from_every_instruction() {
    sampled(&["1", "steps"], &[BOUND, ("PROMP_FT", "off")]);
    sampled(&["1", "steps"], &[BOUND, ("PROMP_REPLAY", "assume")]);
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
    ended(child, LIMIT);
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

/// A program with checkpoints runs in gdb as it does without: it does not stop at the runtime's signals.
#[test]
fn gdb_passes_the_runtimes_signals_on() {
    let s = crate::common::saved::Scratch::new("gdb-script");
    let (exe, script, dir) = (build("jobs/steps.c", &[]), s.path("script"), s.path("ckpt"));
    let mut c = Command::new(crate::common::saved::command());
    c.arg("gdb-script");
    std::fs::write(&script, limited(c, LIMIT).out).expect("the script");
    let mut c = Command::new("gdb");
    clean(&mut c);
    c.arg("-batch").arg("-x").arg(&script);
    let set = [
        ("LD_PRELOAD", library()),
        ("OMP_NUM_THREADS", "2".into()),
        ("PROMP_CKPT_DIR", dir.clone()),
        ("PROMP_CKPT_INTERVAL", "20ms".into()),
    ];
    for (name, value) in set {
        c.arg("-ex").arg(format!("set environment {name} {}", value.display()));
    }
    c.args(["-ex", "run", "--args"]).arg(&exe).args(["1", "-", "20000"]);
    let run = limited(c, LIMIT);
    if !available("gdb", run.status != 127 && !run.err.contains("No such file or directory")) {
        return;
    }
    assert!(run.out.contains("exited normally") && !run.out.contains("received signal"), "{run:?}");
    assert!(crate::common::saved::has_generation(&dir), "no checkpoint: {run:?}");
}

/// Functions from the innermost one on, of each sample that perf takes of busy.c, with the thread's number.
/// `None`: perf cannot take any here.
fn samples(env: &[(&str, &str)], preload: bool) -> Option<Vec<(u32, Vec<String>)>> {
    let exe = build("unwinding/busy.c", &["-g", "-O1"]);
    let data = std::env::temp_dir().join(format!("promp-perf-{}", std::process::id()));
    let mut c = Command::new("perf");
    clean(&mut c);
    c.args(["record", "-q", "-F", "400", "-e", "cpu-clock:u", "--call-graph", "dwarf,8192", "-o"]).arg(&data);
    c.args(["--", "env", "OMP_NUM_THREADS=2"]).args(env.iter().map(|(k, v)| format!("{k}={v}")));
    if preload {
        c.arg(format!("LD_PRELOAD={}", library().display()));
    }
    c.arg(&exe).arg("0.5");
    let run = c.stdin(Stdio::null()).output().ok().filter(|r| r.status.success());
    let mut script = Command::new("perf");
    script.args(["script", "--no-inline", "-F", "tid,ip,sym", "-i"]).arg(&data);
    let shown = run.is_some().then(|| limited(script, LIMIT).out);
    let _ = std::fs::remove_file(&data);
    let one = |block: &str| {
        let mut lines = block.trim().lines();
        let thread = lines.next()?.split_whitespace().last()?.parse().ok()?;
        let name = |l: &str| l.split_whitespace().nth(1).unwrap_or("").to_string();
        Some((thread, lines.map(name).collect()))
    };
    shown.map(|s| s.split("\n\n").filter_map(one).collect())
}

/// A profiler sees from the work down to `main`, or to the thread's beginning. Run until there are enough
/// samples, and so many threads among those of one run.
fn perf_sees(env: &[(&str, &str)], preload: bool, threads: usize) {
    let has = |s: &[String], name: &str| s.iter().any(|f| f == name);
    let (mut all, mut most) = (0, 0);
    for _ in 0..20 {
        let Some(run) = samples(env, preload) else {
            println!("SKIPPED: perf takes no samples here");
            return;
        };
        let mut seen = std::collections::BTreeSet::new();
        for (thread, s) in run.iter().filter(|(_, s)| has(s, "work")) {
            let first = has(s, "main") && has(s, "solver");
            let other = !has(s, "main") && (has(s, "clone3") || has(s, "start_thread"));
            assert!(has(s, "solver._omp_fn.0") && (first || other), "{env:?}: thread {thread}: {s:?}");
            seen.insert(*thread);
            all += 1;
        }
        most = most.max(seen.len());
        if all > 20 && most >= threads {
            return;
        }
    }
    panic!("{env:?}: {all} samples, of {most} threads at once");
}

#[test]
fn perf_sees_who_works() {
    perf_sees(&[], false, 2);
    perf_sees(&[], true, 2);
    // Two hosts each.
    let fault = "kill@region=20,thread=0;kill@region=40,thread=1";
    perf_sees(&[("PROMP_REPLAY", "assume"), ("PROMP_FAULT", fault)], true, 3);
}

fn text(tool: &str, args: &[&str]) -> String {
    let mut c = Command::new(tool);
    String::from_utf8_lossy(&c.args(args).arg(library()).output().expect("binutils").stdout).into_owned()
}

/// The library's functions that have frame information: begin and end, and where the offset of the frame from
/// rsp changes, and to what. None: the frame is found by another register.
type Offset = Option<i64>;
type Moves = Vec<(u64, Offset)>;
fn frames() -> Vec<(u64, u64, Moves)> {
    let hex = |s: &str| u64::from_str_radix(s.trim(), 16);
    let mut all = Vec::new();
    for l in text("readelf", &["-wF"]).lines() {
        if let Some((a, b)) = l.split("pc=").nth(1).and_then(|r| r.split_once("..")) {
            let begin = hex(a).expect("an address");
            // What holds where nothing else is said: the return address has been pushed.
            all.push((begin, hex(b).expect("an address"), vec![(begin, Some(8))]));
        } else if let [at, cfa, ..] = l.split_whitespace().collect::<Vec<_>>()[..]
            && let (Ok(at), Some((_, _, rows))) = (hex(at), all.last_mut())
            && at >= rows[0].0
        {
            rows.push((at, cfa.strip_prefix("rsp+").and_then(|n| n.parse().ok())));
        }
    }
    all.sort_unstable();
    all
}

/// Whatever is exported has call-frame information.
#[test]
fn every_entry_has_frame_information() {
    let frames = frames();
    let mut seen = 0;
    for s in text("nm", &["-D", "--defined-only"]).lines() {
        let [at, "T" | "t", name] = s.split_whitespace().collect::<Vec<_>>()[..] else { continue };
        let at = u64::from_str_radix(at, 16).expect("an address");
        let i = frames.partition_point(|r| r.0 <= at);
        assert!(i > 0 && at < frames[i - 1].1, "{name} has no frame information");
        seen += 1;
    }
    assert!(seen > 300, "{seen} functions");
}

/// The frame information changes with each word that is pushed or taken back, not some instructions later: a
/// profiler's signal comes between any two.
#[test]
fn frame_information_follows_every_push() {
    let frames = frames();
    let shown = text("objdump", &["-d", "--no-show-raw-insn", "-M", "intel"]);
    let mut code = shown.lines().filter_map(|l| {
        let (at, what) = l.strip_prefix(' ')?.split_once(":\t")?;
        Some((u64::from_str_radix(at.trim(), 16).ok()?, what))
    });
    let offset = |at: u64| {
        let (begin, end, rows) = &frames[frames.partition_point(|f| f.0 <= at).checked_sub(1)?];
        (*begin..*end).contains(&at).then(|| rows[rows.partition_point(|r| r.0 <= at) - 1].1)
    };
    let (mut seen, mut wrong) = (0, Vec::new());
    let mut last = code.next().expect("code");
    for next in code {
        let (at, what) = core::mem::replace(&mut last, next);
        let change = match what.split_whitespace().next() {
            Some("push") => 8,
            Some("pop") => -8,
            _ => continue,
        };
        if let (Some(Some(before)), Some(Some(after))) = (offset(at), offset(next.0)) {
            seen += 1;
            if after - before != change {
                wrong.push(format!("{at:x} {what}: {before} -> {after}"));
            }
        }
    }
    assert!(seen > 10_000, "{seen} words pushed or taken back");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
