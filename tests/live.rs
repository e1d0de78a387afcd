//! Live sets: memory that is dead where a checkpoint is taken is left out of it, and nobody misses it
//! (docs/internals/live-sets.md).

use crate::common::draws::{Draws, here};
use crate::common::driven::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::Path;
use std::time::Duration;

const POISON: (&str, &str) = ("PROMP_CKPT_POISON", "1");

/// The checkpoints of a report: bytes written, bytes left out.
fn checkpoints(report: &Path) -> Vec<(u64, u64)> {
    let text = fs::read(report).expect("a report");
    let report: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let list = report["checkpoints"].as_array().expect("a list");
    list.iter().map(|c| (c["bytes"].as_u64().unwrap(), c["left_out"].as_u64().unwrap())).collect()
}

/// Of 200,000 doubles each, `next` is dead, and of two other arrays a half. What is written is what lives,
/// and a little more.
#[test]
fn dead_memory_is_not_in_the_image() {
    let s = Scratch::new("dead");
    let exe = build("ckpt/dead.c", &[]);
    let (dead, live) = (200_000 * 8 * 2, 200_000 * 8 * 3 / 2);
    for place in ["s", "r"] {
        let report = s.path("report");
        let set = [("PROMP_REPORT", text(&report)), ("PROMP_CKPT_INTERVAL", "50ms")];
        // Up to a page at each end of each of three ranges.
        let exact = dead - 6 * 4096..=dead;
        // As long as it takes on this machine to come to five of them.
        let mut all = Vec::new();
        for steps in ["500", "1000", "2000", "4000", "8000", "16000"] {
            let run = checkpointed(&exe, &[place, steps], &s.path("ckpt"), &set);
            assert_eq!(run.status, 0, "{}", run.err);
            all = checkpoints(&report);
            if all.iter().filter(|c| exact.contains(&c.1)).count() >= 5 {
                break;
            }
        }
        let there: Vec<u64> = all.iter().filter(|c| exact.contains(&c.1)).map(|c| c.0).collect();
        assert!(there.len() >= 5, "{place}: only {} of {} were taken there", there.len(), all.len());
        // Elsewhere, in the middle of a step perhaps, as on a busy machine, a part of it may still be dead.
        let (begins, goes_on) =
            (all[0].1 == 0, |w: &[(u64, u64)]| exact.contains(&w[1].1) || w[1].1 <= w[0].1);
        assert!((begins || exact.contains(&all[0].1)) && all.windows(2).all(goes_on), "{place}: {all:?}");
        // Half of `fixed` never changes, and of the first one there everything has changed.
        let later = &there[1..];
        let most = live as u64 * 102 / 100 + (400 << 10);
        assert!(later.iter().all(|&b| b <= most), "{place}: {later:?}, {most} at most");
    }
}

/// What a setup filled, and is dead at the first place behind it, is not written before that comes: the files
/// are as short as what lives.
#[test]
fn dead_memory_is_not_written_ahead() {
    let s = Scratch::new("dead-ahead");
    let exe = build("ckpt/dead_ahead.c", &[]);
    let set = [("PROMP_CKPT_INTERVAL", "1200ms"), ("PROMP_CKPT_COPY", "auto")];
    // Where a disk is in the way slots are made ready long before.
    let dir = Path::new("/dev/shm").join(format!("promp-dead-ahead-{}", std::process::id()));
    let mut seen = 0;
    for _ in 0..12 {
        let report = s.path("report");
        let set = [set[0], set[1], ("PROMP_REPORT", text(&report))];
        let run = checkpointed(&exe, &["900"], &dir, &set);
        assert_eq!(run.status, 0, "{}", run.err);
        let all = checkpoints(&report);
        // The first two are the program's beginning, and its first region's; the third may come before the
        // place on a busy machine.
        if all.get(2).is_none_or(|c| c.1 == 0) {
            continue;
        }
        let files = fs::read_dir(&dir).expect("images").flatten();
        let bytes: u64 = files.filter_map(|f| f.metadata().ok()).map(|m| m.len()).sum();
        assert!(bytes < 8 << 20, "{bytes} bytes of files: {all:?}\n{}", run.err);
        seen += 1;
        if seen == 4 {
            break;
        }
    }
    let _ = fs::remove_dir_all(&dir);
    assert!(seen > 0, "no checkpoint was taken at the place after the setup");
}

/// Where it is not certain that everybody stands at the place, checkpoints are whole.
#[test]
fn nothing_is_left_out_elsewhere() {
    let s = Scratch::new("elsewhere");
    let exe = build("ckpt/dead.c", &[]);
    let all = ("PROMP_CKPT_THREADS", "all");
    let cases = [
        ("s", "", ("PROMP_CKPT_LIVE", "off")),
        ("s", "h", all),
        ("s", "t", all),
        ("r", "l", all),
        ("r", "h", all),
    ];
    for (place, how, set) in cases {
        let report = s.path("report");
        let set = [("PROMP_REPORT", text(&report)), ("PROMP_CKPT_INTERVAL", "50ms"), set];
        let mut all = Vec::new();
        for steps in ["300", "600", "1200", "2400", "4800", "9600"] {
            let args = [place, steps, how];
            let args = if how.is_empty() { &args[..2] } else { &args };
            let want = reference(&exe, args, &[THREADS]);
            let run = checkpointed(&exe, args, &s.path("ckpt"), &set);
            assert_eq!((run.status, &run.out), (0, &want.out), "{args:?}: {}", run.err);
            all = checkpoints(&report);
            assert!(all.iter().all(|c| c.1 == 0), "{args:?}: {all:?}");
            if all.len() > 1 {
                break;
            }
        }
        assert!(all.len() > 1, "{place} {how}: {all:?}");
    }
}

/// Rolled back to images without what is dead, which is full of NaNs then: the same sum, however changes
/// are found and memory is copied.
#[test]
fn rollbacks_without_what_is_dead() {
    let s = Scratch::new("deadback");
    let exe = build("ckpt/dead.c", &[]);
    let (mut back, mut draws) = (0, Draws::of(8));
    while let Some(seed) = draws.next(back > 3) {
        let args = [["s", "r"][seed as usize % 2], "500"];
        let want = reference(&exe, &args, &[THREADS]);
        let kind = ["kill", "crash", "memerr"][seed as usize % 3];
        let fault = format!("{kind}@mtbf=80ms,seed={seed},count=5");
        let track = ["auto", "auto", "compare"][seed as usize % 3];
        let copy = ["auto", "running", "stopped", "small"][seed as usize / 2 % 4];
        let set = [
            POISON,
            ("PROMP_FAULT", &*fault),
            ("PROMP_CKPT_TRACK", track),
            ("PROMP_CKPT_COPY", copy),
            ("PROMP_CKPT_INTERVAL", "40ms"),
        ];
        let run = checkpointed(&exe, &args, &s.path("ckpt"), &set);
        assert_eq!((run.hung, run.status, &run.out), (false, 0, &want.out), "{args:?} {set:?}: {}", run.err);
        assert!(!proof_was_wrong(&run), "{args:?} {set:?}: {}", run.err);
        back += run.err.matches("rolled back to checkpoint").count();
    }
    assert!(back > 3, "only {back} rollbacks: the faults do not strike");
}

/// The same by restarts after SIGKILL.
#[test]
fn restarts_without_what_is_dead() {
    let s = Scratch::new("deadkill");
    let exe = build("ckpt/dead.c", &[]);
    let mut random = Seeded(5);
    let mut restarts = 0;
    let mut draws = Draws::of(2);
    while let Some(round) = draws.next(restarts > 2) {
        let args = [["s", "r"][round as usize % 2], "600"];
        let want = reference(&exe, &args, &[THREADS]);
        let most = (here(want.took).as_millis() as u64).clamp(50, 400);
        let (dir, out) = (s.path("killed"), s.path("out"));
        let _ = fs::remove_dir_all(&dir);
        let mut cmd = first_run(&exe, &args, &dir);
        let mut rounds = 0;
        loop {
            let after = (rounds < 4).then(|| Duration::from_millis(most / 3 + random.below(most)));
            let ended = start_with(
                cmd,
                &out,
                after.as_ref().map(|a| move |t: Duration| t > *a).as_ref().map(|f| f as _),
                |c| {
                    c.env(POISON.0, POISON.1);
                },
            );
            match ended {
                Some(status) => {
                    assert!(went_well(status, &messages(&out)), "{}", messages(&out));
                    break;
                }
                None if has_generation(&dir) => {
                    restarts += 1;
                    cmd = restart(&dir);
                }
                None => cmd = first_run(&exe, &args, &dir),
            }
            rounds += 1;
        }
        assert_eq!(fs::read_to_string(&out).unwrap(), want.out, "{args:?}: {}", messages(&out));
    }
    assert!(restarts > 2, "{restarts} restarts");
}

/// A program that is wrong about what is dead: the poison shows it.
#[test]
fn a_wrong_word_shows() {
    let s = Scratch::new("wrong");
    let exe = build("ckpt/dead.c", &[]);
    // Lost memory always needs a rollback, here to a checkpoint taken at the place. On a fast machine that
    // comes late.
    let mut places = [40, 90, 140, 190, 240, 300, 600, 1200, 2400, 4800, 9600].iter();
    let shown = places.any(|region| {
        let steps = (region * 3 / 2).max(500).to_string();
        let args = ["s", &steps, "w"];
        let want = reference(&exe, &args, &[THREADS]);
        let fault = format!("memerr@thread=1,region={region},at=region,delay=30us");
        let set = [POISON, ("PROMP_FAULT", &*fault), ("PROMP_CKPT_INTERVAL", "10ms")];
        let run = checkpointed(&exe, &args, &s.path("ckpt"), &set);
        run.err.contains("rolled back") && run.out != want.out
    });
    assert!(shown);
}

/// Later checkpoints of a kernel, class W: bytes written of each.
fn later(kernel: &str, exe: &Path) -> Vec<u64> {
    let s = Scratch::new(&format!("kernel{}", exe.file_name().unwrap().to_str().unwrap()));
    let report = s.path("report");
    let set = [POISON, ("PROMP_REPORT", text(&report)), ("PROMP_CKPT_INTERVAL", "30ms")];
    let two = ("OMP_NUM_THREADS", "2");
    let run = checkpointed(exe, &["W"], &s.path("ckpt"), &[&set[..], &[two]].concat());
    assert_eq!(run.status, 0, "{kernel}: {}", run.err);
    // Taken elsewhere, too, what was left out before and has not been written to since stays out.
    let all = checkpoints(&report);
    let most = all.iter().map(|c| c.1).max().unwrap_or(0);
    let there: Vec<u64> =
        all.into_iter().filter(|c| c.1 > 0 && c.1 >= most / 100 * 98).map(|c| c.0).collect();
    // Where threads do not come to the place at the same time, because others use the CPUs, checkpoints are
    // whole.
    if there.len() < 2 {
        eprintln!("SKIPPED: {kernel} came to its place {} times in time", there.len());
        return Vec::new();
    }
    there[1..].to_vec()
}

/// What is written is at most 1.02 times what lives, by the kernels' own sizes, and the runtime's own pages.
#[test]
fn kernels_write_what_lives() {
    let level = |n: u64| 8 * (n + 2).pow(3);
    // FT: nothing; CG: x; ADI: u; BT: u and the forcing; MG: u and r of the finest level at the head of its
    // loop, u at the best place.
    let kernels: [(&str, &[&str], u64); 6] = [
        ("ft", &["-DPLACES=1", "-DTIMES=4"], 0),
        ("cg", &["-DPLACES=1", "-DTIMES=5"], 8 * 7000),
        ("adi", &["-DPLACES=1", "-DTIMES=3"], 8 * 5 * 36 * 36 * 36),
        ("bt", &["-DPLACES=1"], 2 * 8 * 5 * 24 * 24 * 24),
        ("mg", &["-DPLACES=1", "-DTIMES=8"], 2 * level(128)),
        ("mg", &["-DPLACES=2", "-DTIMES=8"], level(128)),
    ];
    for (kernel, flags, live) in kernels {
        let mut bytes = later(kernel, &build(&format!("npb/{kernel}.c"), flags));
        bytes.sort_unstable();
        if bytes.is_empty() {
            continue;
        }
        let most = live * 102 / 100 + (1 << 20);
        assert!(bytes[bytes.len() / 2] <= most, "{kernel} {flags:?}: {bytes:?}, {most} at most");
    }
}

/// promp-cc finds what is dead in `c-tests/compiler/live.c`, and nothing else, however the program is
/// optimised; and the program, rolled back to checkpoints without it, ends as ever.
#[test]
fn the_compile_side_says_what_is_dead() {
    let Some(cc) = driver("promp-cc") else { return };
    let s = Scratch::new("livecc");
    let names = |text: &str| -> Vec<String> {
        let words =
            text.split([',', ';', ':', ' ']).filter(|w| w.starts_with("dead_") || w.starts_with("live_"));
        words.map(String::from).collect()
    };
    for level in ["-O1", "-O2", "-O3"] {
        let (exe, said) = driven_and_reported(&cc, "compiler/live.c", &[level, "-fpromp-report"]);
        let line = said.lines().find(|l| l.contains("place in main")).expect("a place");
        let (dead, live) = line.split_once("live:").expect("two lists");
        assert!(names(dead).iter().all(|n| n.starts_with("dead_")), "{level}: {line}");
        assert!(names(live).iter().all(|n| n.starts_with("live_")), "{level}: {line}");
        assert_eq!((names(dead).len(), names(live).len()), (13, 18), "{level}: {line}");
        let want = reference(&exe, &[], &[THREADS]);
        let (mut back, mut draws) = (0, Draws::of(2));
        while let Some(seed) = draws.next(back > 0) {
            let fault = format!("{}@mtbf=60ms,seed={seed},count=5", ["kill", "crash"][seed as usize % 2]);
            let set = [
                POISON,
                ("PROMP_FAULT", &*fault),
                ("PROMP_REPLAY", "never"),
                ("PROMP_CKPT_INTERVAL", "20ms"),
            ];
            let run = checkpointed(&exe, &[], &s.path("ckpt"), &set);
            assert_eq!(
                (run.hung, run.status, &run.out),
                (false, 0, &want.out),
                "{level} {fault}: {}",
                run.err
            );
            back += run.err.matches("rolled back to checkpoint").count();
        }
    }
}

/// The same without a word in the source: promp-cc finds where heap arrays and Fortran's allocatables, whose
/// bounds it does not know, are dead.
#[test]
fn the_compile_side_finds_what_lives_in_kernels() {
    let s = Scratch::new("livekernels");
    // FT's two arrays and all of CG's but x are written anew in every step. MG: where a pragma says, by going
    // ahead; u and r of the finest level live at the head of its loop, u at the best place.
    let level = 8 * 130u64.pow(3);
    let kernels = [
        ("cg.c", 0, 8 * 7000),
        ("cg.f90", 0, 8 * 7000),
        ("ft.f90", 0, 0),
        ("ft.c", 0, 0),
        ("mg.c", 3, 2 * level),
        ("mg.c", 4, level),
        ("mg.f90", 3, 2 * level),
        ("mg.f90", 4, level),
    ];
    for (kernel, places, live) in kernels {
        let fortran = kernel.ends_with("f90");
        let Some(cc) = driver(if fortran { "promp-fc" } else { "promp-cc" }) else { return };
        let exe = s.path(&format!("{}{places}", kernel.replace('.', "_")));
        let source = root().join("c-tests/npb").join(kernel);
        let mut c = std::process::Command::new(cc);
        c.args(["-O2", "-fopenmp", "-w", "-fno-promp-runtime", "-DTIMES=5", "-o"]).arg(&exe).arg(&source);
        if places > 0 {
            c.arg(format!("-DPLACES={places}")).arg("-fpromp-foresee");
        }
        if fortran {
            c.args(["-cpp", "-J"]).arg(s.path("")).arg("-I").arg(source.parent().unwrap());
        }
        c.arg("-lm");
        let built = limited(c, Duration::from_secs(120));
        assert_eq!(built.status, 0, "{kernel}: {}", built.err);
        let mut bytes = later(kernel, &exe);
        bytes.sort_unstable();
        let most = live * 102 / 100 + (1 << 20);
        assert!(bytes.is_empty() || bytes[bytes.len() / 2] <= most, "{kernel}: {bytes:?}, {most} at most");
    }
}

/// PROMP_CKPT_INTERVAL=auto: Daly's interval for what checkpoints are measured to cost, as the report says.
#[test]
fn the_interval_goes_by_what_checkpoints_cost() {
    let s = Scratch::new("interval");
    let exe = build("ckpt/dead.c", &[]);
    let report = s.path("report");
    let auto = [("PROMP_CKPT_INTERVAL", "auto"), ("PROMP_MTBF", "2s")];
    let mut all = Vec::new();
    for steps in ["800", "1600", "3200", "6400", "12800"] {
        let set = [&auto[..], &[("PROMP_REPORT", text(&report))]].concat();
        let run = checkpointed(&exe, &["s", steps], &s.path("ckpt"), &set);
        assert_eq!(run.status, 0, "{}", run.err);
        let read = fs::read(&report).expect("a report");
        let read: serde_json::Value = serde_json::from_slice(&read).expect("JSON");
        all = read["checkpoints"].as_array().expect("a list").clone();
        if all.len() > 1 {
            break;
        }
    }
    let mut lately: Option<f64> = None;
    for c in &all {
        let (cost, interval) = (c["cost_s"].as_f64().unwrap(), c["interval_s"].as_f64().unwrap());
        let now = lately.map_or(cost, |l| (3.0 * l + cost) / 4.0);
        let (young, least) = ((2.0 * now * 2.0).sqrt(), 0.001);
        // Young's formula, of which Daly's differs by a third of cost / interval at most.
        assert!(
            interval >= least && (interval - young).abs() <= young * 0.2 + now,
            "{cost} {now} {interval}"
        );
        lately = Some(now);
    }
    assert!(all.len() > 1);
}
