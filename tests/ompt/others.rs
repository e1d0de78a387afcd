//! Tools that others have made: Archer finds races, EZTrace records what happens; the latter is compared with
//! what it records under libomp.

use crate::common::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Debian's Archer (libomp-14-dev), by which ThreadSanitizer knows what OpenMP orders.
fn archer() -> Option<PathBuf> {
    let all = (11..30).rev().map(|n| PathBuf::from(format!("/usr/lib/llvm-{n}/lib/libarcher.so")));
    let found = all.into_iter().find(|p| p.exists());
    available("Archer (libomp-14-dev)", found.is_some());
    found
}

#[test]
fn archer_finds_the_races_and_nothing_else() {
    let Some(archer) = archer() else { return };
    let exe = build("ompt/clean.c", &["-fsanitize=thread", "-g"]);
    let run = |race: &str| {
        // ThreadSanitizer of GCC 12 wants the usual addresses.
        let mut c = Command::new("setarch");
        clean(&mut c);
        c.args(["-R", "env"]).arg(format!("LD_PRELOAD={}", library().display())).arg(&exe).arg(race);
        c.env("OMP_TOOL_LIBRARIES", &archer);
        c.env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1 exitcode=66");
        limited(c, LIMIT)
    };
    let free = run("0");
    if free.err.contains("unexpected memory mapping") || free.err.contains("failed to set personality") {
        eprintln!("skipped: ThreadSanitizer cannot run here: {}", free.err);
        return;
    }
    assert_eq!((free.status, free.out.as_str()), (0, "done\n"), "{}", free.err);
    assert!(!free.err.contains("WARNING"), "{}", free.err);
    for race in ["1", "2", "3", "4"] {
        let r = run(race);
        assert!(r.status == 66 && r.err.contains("data race"), "race {race}: {} {}", r.status, r.err);
    }
}

/// What EZTrace records of a program under promp or, linked with it, under libomp: how often threads have
/// entered what. `None`: one of them is not there.
fn eztraced(exe: &Path, args: &[&str], with: Option<&Path>) -> Option<BTreeMap<String, i64>> {
    let there = |name| Command::new(name).arg("--version").output().is_ok();
    if !available("EZTrace (eztrace, otf2-tools)", there("eztrace") && there("otf2-print")) {
        return None;
    }
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let dir = out_dir().join(format!("eztrace-{}-{}", std::process::id(), RUNS.fetch_add(1, Relaxed)));
    let _ = std::fs::remove_dir_all(&dir);
    let mut c = Command::new("eztrace");
    clean(&mut c);
    c.arg("-o").arg(&dir).args(["-t", "ompt"]).arg(exe).args(args).env("OMP_NUM_THREADS", "3");
    if let Some(library) = with {
        c.env("LD_PRELOAD", library);
    }
    let run = limited(c, LIMIT);
    if run.err.contains("ptrace") && run.err.contains("not permitted") {
        eprintln!("skipped: EZTrace may not trace here: {}", run.err);
        return None;
    }
    assert_eq!((run.status, run.hung), (0, false), "{} {args:?}: {}", exe.display(), run.err);
    let exe_name = exe.file_name().and_then(|n| n.to_str()).expect("UTF-8");
    let trace = dir.join(format!("{exe_name}_trace")).join("eztrace_log.otf2");
    let mut c = Command::new("otf2-print");
    c.arg(&trace);
    let printed = limited(c, LIMIT);
    assert_eq!(printed.status, 0, "{} {}", trace.display(), printed.err);
    let _ = std::fs::remove_dir_all(&dir);
    let mut counts = BTreeMap::new();
    let entered = printed.out.lines().filter(|l| l.starts_with("ENTER"));
    for name in entered.filter_map(|l| l.split('"').nth(1)).filter(|n| n.starts_with("OpenMP")) {
        *counts.entry(name.trim_start_matches("OpenMP ").to_string()).or_insert(0) += 1;
    }
    Some(counts)
}

#[test]
fn eztrace_records_what_happened() {
    let exe = build("observe/events.c", &[]);
    let are = |which: &str, want: &[(&str, i64)]| {
        let Some(got) = eztraced(&exe, &[which], Some(&library())) else { return };
        let want = want.iter().map(|&(name, n)| (name.to_string(), n)).collect();
        assert_eq!(got, want, "{which}");
    };
    // The initial task is one more.
    are("regions", &[("parallel", 4), ("implicit task", 14), ("implicit barrier", 13)]);
    // See `worksharing`.
    are(
        "loops",
        &[("parallel", 2), ("implicit task", 9), ("implicit barrier", 12), ("barrier", 8), ("loop", 12)],
    );
    // A task is entered, and entered again is what was left for it.
    are("taskloops", &[("parallel", 1), ("implicit task", 5), ("implicit barrier", 4), ("task", 2010)]);
}

/// Programs that EZTrace can record, and what libomp tells more (or less) of them, each time for one of these
/// reasons:
/// - a region of one thread: libomp has no barrier at its end;
/// - the end of a loop or of sections that the runtime hands out is an explicit barrier to libomp;
/// - sections are loops to it;
/// - at `copyprivate` it has one barrier more a thread.
type Recorded = (&'static str, &'static [&'static str], &'static [(&'static str, i64)]);
const RECORDED: &[Recorded] = &[
    ("observe/events.c", &["regions"], &[("implicit barrier", -1)]),
    ("observe/events.c", &["nested"], &[]),
    ("observe/events.c", &["loops"], &[("barrier", 4), ("implicit barrier", -4)]),
    ("observe/events.c", &["sections"], &[("barrier", 4), ("implicit barrier", -4), ("loop", 8)]),
    ("observe/events.c", &["singles"], &[("barrier", 4)]),
    ("observe/events.c", &["locks"], &[]),
    ("observe/events.c", &["ordered"], &[]),
    ("observe/events.c", &["taskloops"], &[]),
    ("monitor/shapes.c", &["nested", "5"], &[]),
    ("monitor/shapes.c", &["sizes", "5"], &[("implicit barrier", -1)]),
    ("monitor/shapes.c", &["tasks", "5"], &[]),
    ("monitor/shapes.c", &["regions", "20"], &[]),
    ("monitor/pairs.c", &["300", "3"], &[]),
    ("monitor/known.c", &["3", "2"], &[("barrier", 6), ("implicit barrier", -6)]),
    ("npb/cg.c", &["S"], &[]),
    ("npb/ep.c", &["S"], &[]),
    ("npb/ft.c", &["S"], &[]),
    ("npb/is.c", &["S"], &[]),
    ("npb/mg.c", &["S"], &[]),
    ("npb/adi.c", &["S"], &[]),
];

#[test]
fn eztrace_records_what_it_does_under_libomp() {
    let lib = "/usr/lib/llvm-14/lib";
    if !available("libomp (libomp-14-dev)", Path::new(lib).join("libomp.so").exists()) {
        return;
    }
    let few = if long() { RECORDED.len() } else { 6 };
    for (source, args, more) in &RECORDED[..few] {
        let exe = build(source, &[]);
        // The same program, linked with libomp in libgomp's place.
        let other = out_dir().join(format!("{}-libomp", exe.file_name().unwrap().display()));
        let object = other.with_extension("o");
        let mut c = Command::new("gcc");
        c.args(["-O2", "-fopenmp", "-w", "-c", "-o"]).arg(&object).arg(root().join("c-tests").join(source));
        assert_eq!(limited(c, LIMIT).status, 0, "{source}");
        let mut c = Command::new("gcc");
        c.arg("-o").arg(&other).arg(&object).arg(format!("-L{lib}")).arg(format!("-Wl,-rpath,{lib}"));
        c.args(["-lomp", "-lm"]);
        assert_eq!(limited(c, LIMIT).status, 0, "{source}");
        let Some(mut got) = eztraced(&exe, args, Some(&library())) else { return };
        let Some(want) = eztraced(&other, args, None) else { return };
        for (name, n) in *more {
            *got.entry(name.to_string()).or_insert(0) += n;
        }
        got.retain(|_, n| *n != 0);
        assert_eq!(got, want, "{source} {args:?}");
    }
}
