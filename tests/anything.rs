//! Programs that do whatever programs do — memory, files, signals, threads, children, libraries — between regions, drawn by a seed, with failures at random
//! times: what they print, and what is in their files, is what libgomp gives. PROMP_TEST_FIRST has the first seed.

use crate::common::draws::{Draws, first_seed, here};
use crate::common::saved::*;
use crate::common::*;
use std::path::{Path, PathBuf};

fn program() -> PathBuf {
    build("ckpt/anything.c", &[])
}

/// The program's arguments, for a folder of its own that is empty.
fn arguments(seed: u64, steps: u32, folder: &Path) -> [String; 3] {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder");
    [seed.to_string(), steps.to_string(), folder.display().to_string()]
}

fn wanted(seed: u64, steps: u32, folder: &Path) -> Run {
    let args = arguments(seed, steps, folder);
    let run = reference(&program(), &args.each_ref().map(String::as_str), &[THREADS]);
    assert_eq!(run.status, 0, "{seed} under libgomp: {}", run.err);
    run
}

fn draws(least: u64) -> Draws {
    Draws::of(least).from(first_seed())
}

#[test]
fn rollbacks() {
    let s = Scratch::new("anything");
    let (mut back, mut on, mut draws) = (0, 0, draws(8));
    while let Some(seed) = draws.next(back > 8 && on > 8) {
        let want = wanted(seed, 300, &s.path("files"));
        for kind in ["kill", "crash", "memerr"] {
            let fault = format!("{kind}@mtbf=40ms,seed={seed},count=5");
            let args = arguments(seed, 300, &s.path("files"));
            let env = [
                ("PROMP_FAULT", fault.as_str()),
                ("PROMP_CKPT_INTERVAL", "20ms"),
                ("PROMP_CKPT_THREADS", "all"),
                ("PROMP_VERBOSE", "1"),
            ];
            let run = checkpointed(&program(), &args.each_ref().map(String::as_str), &s.path("ckpt"), &env);
            assert_eq!((run.status, &run.out), (0, &want.out), "{seed} {fault}: {}", run.err);
            back += run.err.matches("rolled back to checkpoint").count();
            on += run.err.matches("goes on on another host").count();
        }
    }
    assert!(back > 8 && on > 8, "only {back} rollbacks, {on} new hosts: the faults do not strike");
}

/// Death comes about twice in the time that a program takes here.
#[test]
fn restarts() {
    let s = Scratch::new("anything-again");
    let (mut again, mut early, mut draws) = (0, 0, draws(8));
    while let Some(seed) = draws.next(again > 4) {
        let want = wanted(seed, 400, &s.path("files"));
        let mean = (here(want.took).as_millis() / 2).clamp(50, 200);
        let fault = format!("die@mtbf={mean}ms,seed={seed}");
        let mut c = dying(&s.path("ckpt"), &["--every", "20ms", "--all-threads"], &fault);
        c.arg(program()).args(arguments(seed, 400, &s.path("files")));
        let run = limited(c, LIMIT);
        if too_early(&run) {
            early += 1;
            continue;
        }
        let right = as_announced(&run.out, &want.out, &run.err);
        assert!(run.status == 0 && right, "{seed} {fault}: {run:?}");
        again += run.err.matches("restarted from checkpoint").count();
    }
    println!("{again} restarts; {early} programs died before their first checkpoint");
    assert!(again > 4, "only {again} restarts, {early} too early: the faults do not strike");
}
