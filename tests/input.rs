//! Input from pipes: what was read since a checkpoint is read again after a rollback. (tests/streams.rs has what cannot be.)

use crate::common::draws::Draws;
use crate::common::saved::*;
use crate::common::*;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The program's run with `input` by a pipe, in pieces of some lines, the first as it starts.
fn fed(mut c: Command, input: &str) -> Run {
    let (from, mut to) = std::io::pipe().expect("a pipe");
    let child = started(c.stdin(from).stdout(Stdio::piped()).stderr(Stdio::piped()));
    drop(c);
    let input = input.to_owned();
    std::thread::spawn(move || {
        for piece in input.as_bytes().chunks(700) {
            if to.write_all(piece).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    ended(child, LIMIT)
}

#[test]
fn input_is_read_again() {
    let s = Scratch::new("input");
    let exe = build("ckpt/input.c", &[]);
    let input: String = (0..4000).map(|i| format!("{}\n", 1_000_000 + i * 7919 % 65537)).collect();
    let command = |mode: &str| {
        let mut c = Command::new(&exe);
        clean(&mut c);
        c.arg(mode).env(THREADS.0, THREADS.1);
        c
    };
    let wanted = ["lines", "numbers", "bytes", "read", "number", "parts"].map(|mode| {
        let want = fed(command(mode), &input);
        assert_eq!(want.status, 0, "{mode}: {want:?}");
        (mode, want)
    });
    let (mut back, mut draws) = (0, Draws::of(2));
    while let Some(seed) = draws.next(back > 12) {
        for (n, (mode, want)) in wanted.iter().enumerate() {
            let dir = s.path("ckpt");
            let _ = std::fs::remove_dir_all(&dir);
            let kind = ["kill", "crash", "memerr"][(n + seed as usize) % 3];
            let fault = format!("{kind}@mtbf=30ms,seed={seed},count=4");
            let mut c = command(mode);
            c.env("LD_PRELOAD", library()).env("PROMP_CKPT_DIR", &dir).env("PROMP_CKPT_INTERVAL", "25ms");
            c.env("PROMP_FAULT", &fault);
            let run = fed(c, &input);
            assert!(!run.hung, "{mode} {fault}: {}", run.err);
            assert_eq!((run.status, &run.out), (0, &want.out), "{mode} {fault}: {}", run.err);
            back += run.err.matches("rolled back to checkpoint").count();
        }
    }
    assert!(back > 12, "only {back} rollbacks: the faults do not strike");
}
