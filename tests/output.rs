//! Output to pipes: what a pipe has taken before a rollback or a restart is not sent again.

use crate::common::draws::{Draws, rarity, spaced};
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::io::{Error, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

const KINDS: [&str; 3] = ["kill", "crash", "memerr"];

/// Without our own messages.
fn of_the_program(text: &str) -> String {
    text.split_inclusive('\n').filter(|l| !l.starts_with("promp: ")).collect()
}

fn fault(seed: u64) -> String {
    format!("{}@mtbf=60ms,seed={},count=4", KINDS[seed as usize % 3], seed + 1)
}

/// Whatever makes it: libc's streams with any buffer, write, writev, gfortran's library.
#[test]
fn output_goes_out_once() {
    let s = Scratch::new("once");
    let (c, fortran) = (build("ckpt/output.c", &[]), build("ckpt/output.f90", &[]));
    let modes = ["line", "none", "full", "write", "number", "parts", "large", "both"];
    let mut programs: Vec<_> = modes.iter().map(|m| (&c, vec![*m, "150"])).collect();
    programs.push((&fortran, vec![]));
    let wanted: Vec<Run> = programs.iter().map(|(exe, args)| reference(exe, args, &[THREADS])).collect();
    let (mut back, mut draws) = (0, Draws::of(2));
    while let Some(seed) = draws.next(back > 16) {
        for (n, ((exe, args), want)) in programs.iter().zip(&wanted).enumerate() {
            let fault = fault(n as u64 + seed);
            let run = checkpointed(exe, args, &s.path("ckpt"), &[("PROMP_FAULT", &fault)]);
            let what = format!("{args:?} {fault}: {}", run.err);
            assert_eq!((run.status, &run.out), (0, &want.out), "{what}");
            assert_eq!(of_the_program(&run.err), want.err, "{what}");
            assert!(!run.err.contains("again"), "{what}");
            back += run.err.matches("rolled back to checkpoint").count();
        }
    }
    assert!(back > 16, "only {back} rollbacks: the faults do not strike");
}

/// A program whose two streams are one pipe, with a reader who leaves it full for a while.
#[test]
fn a_pipe_that_is_full() {
    let s = Scratch::new("full");
    let exe = build("ckpt/output.c", &[]);
    let want = {
        let (both, pipe) = std::io::pipe().expect("a pipe");
        let mut c = Command::new(&exe);
        clean(&mut c);
        c.args(["both", "400"]).env(THREADS.0, THREADS.1);
        let mut child =
            c.stdout(pipe.try_clone().expect("a pipe")).stderr(pipe).spawn().expect("the program");
        drop(c);
        let text = all_of(both.into());
        assert!(child.wait().expect("its end").success());
        text
    };
    let (mut back, mut draws) = (false, Draws::between(1, 20));
    while let Some(seed) = draws.next(back) {
        let (both, pipe) = std::io::pipe().expect("a pipe");
        // The smallest that there is: a page.
        // SAFETY: a descriptor of ours.
        unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&both), libc::F_SETPIPE_SZ, 4096) };
        let mut c = Command::new(&exe);
        clean(&mut c);
        let _ = fs::remove_dir_all(s.path("ckpt"));
        c.args(["both", "400"]).env("LD_PRELOAD", library()).env(THREADS.0, THREADS.1);
        c.env("PROMP_CKPT_DIR", s.path("ckpt")).env("PROMP_CKPT_INTERVAL", "50ms");
        c.env("PROMP_FAULT", spaced(&fault(seed - 1)));
        let output = c.stdout(pipe.try_clone().expect("a pipe")).stderr(pipe);
        let mut child = output.spawn().expect("the program");
        drop(c);
        // Longer than it takes to fill it: it waits, and is rolled back while it does.
        std::thread::sleep(Duration::from_millis(700));
        let text = all_of(both.into());
        assert!(child.wait().expect("its end").success(), "{text}");
        assert_eq!(of_the_program(&text), want);
        back = text.contains("rolled back to checkpoint");
    }
    assert!(back, "the faults do not strike");
}

fn all_of(pipe: OwnedFd) -> String {
    let mut text = String::new();
    fs::File::from(pipe).read_to_string(&mut text).expect("text");
    text
}

/// Lines in any order, lines that are never the same: none is lost, and none but these comes twice.
#[test]
fn output_that_is_not_the_same_again() {
    let s = Scratch::new("other");
    let exe = build("ckpt/output.c", &[]);
    let (mut said, mut back, mut draws) = (0, 0, Draws::of(4));
    let wanted = ["order", "times"].map(|mode| (mode, reference(&exe, &[mode, "150"], &[THREADS])));
    while let Some(seed) = draws.next(said > 0) {
        for (mode, want) in &wanted {
            let lines = |text: &str| {
                let mut all: Vec<String> =
                    text.lines().filter(|l| !l.starts_with("clock")).map(String::from).collect();
                all.sort();
                all
            };
            let fault = fault(seed);
            let run = checkpointed(&exe, &[mode, "150"], &s.path("ckpt"), &[("PROMP_FAULT", &fault)]);
            assert_eq!(run.status, 0, "{mode} {fault}: {}", run.err);
            let (got, want_lines) = (lines(&run.out), lines(&want.out));
            let other: Vec<_> = got.iter().filter(|l| !want_lines.contains(l)).collect();
            assert!(got == want_lines, "{mode} {fault}: {} lines, {other:?}: {}", got.len(), run.err);
            let clocks = |t: &str| t.lines().filter(|l| l.starts_with("clock")).count();
            assert!(clocks(&run.out) >= clocks(&want.out), "{mode} {fault}: {}", run.out);
            said += run.err.matches("has other output than before").count();
            back += run.err.matches("rolled back to checkpoint").count();
        }
    }
    assert!(said > 0 && said <= back, "{said} of {back}");
}

/// Runs `c`, and kills the process that has checkpoints in `dir` when there is one and `after` has gone by. Nothing if it ends before
/// (a slow disk).
fn killed(c: Command, dir: &Path, after: Duration) -> Option<Run> {
    let _ = fs::remove_dir_all(dir);
    let (dir, ended) = (dir.to_owned(), Arc::new(AtomicBool::new(false)));
    let over = ended.clone();
    let killer = std::thread::spawn(move || {
        while !has_generation(&dir) && !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(after.mul_f64(rarity()));
        let pid: i32 = read(&dir.join("lock")).trim().parse().expect("a process");
        // SAFETY: plain call.
        !over.load(Ordering::Relaxed) && unsafe { libc::kill(pid, libc::SIGKILL) == 0 }
    });
    let run = limited(c, LIMIT);
    ended.store(true, Ordering::Relaxed);
    killer.join().expect("no panic").then_some(run)
}

/// The process dies. A new one with the same pipe does not send again what the old one has sent; one with another pipe does, and says so.
#[test]
fn restarts() {
    let s = Scratch::new("restarts");
    let dir = s.path("ckpt");
    let until_killed = |after: u64, c: &dyn Fn() -> Command| {
        (0..20)
            .find_map(|n| killed(c(), &dir, Duration::from_micros((1000 * after) >> (n / 2))))
            .expect("a checkpoint in twenty runs")
    };
    for (source, args) in [("ckpt/output.c", &["line", "1000"][..]), ("ckpt/output.f90", &["1000"])] {
        let exe = build(source, &[]);
        let want = reference(&exe, args, &[THREADS]).out;
        for round in 0..(3 * scale()) {
            let run = until_killed(1 + 37 * round % 300, &|| {
                let mut c = Command::new(command());
                clean(&mut c);
                c.args(["run", "--threads", "4", "--every", "50ms", "--auto-restart", "3", "--ckpt"]);
                c.arg(&dir).arg("--").arg(&exe).args(args);
                c
            });
            let exact = as_announced(&run.out, &want, &run.err);
            assert!(run.status == 0 && exact, "{source} {round}: {}", run.err);
            assert!(run.err.contains("restarted from"), "{source} {round}: {}", run.err);
            assert!(!run.err.contains("again"), "{source} {round}: {}", run.err);
        }
    }
    let (exe, args) = (build("ckpt/output.c", &[]), ["line", "1000"]);
    let (mut sent, mut draws) = (false, Draws::between(1, 20));
    while let Some(n) = draws.next(sent) {
        let first = until_killed(50 * n, &|| {
            let mut c = Command::new(&exe);
            clean(&mut c);
            c.args(args).env("LD_PRELOAD", library()).env(THREADS.0, THREADS.1);
            c.env("PROMP_CKPT_DIR", &dir).env("PROMP_CKPT_INTERVAL", "1h");
            c
        });
        assert_eq!(first.status, 128 + libc::SIGKILL, "{}", first.err);
        if first.out.is_empty() {
            continue;
        }
        let mut c = restart(&dir);
        clean(&mut c);
        let second = limited(c, LIMIT);
        let want = reference(&exe, &args, &[THREADS]).out;
        assert_eq!(second.status, 0, "{}", second.err);
        assert!(second.err.contains(" bytes that were sent to pipe:["), "{}", second.err);
        assert!(want.starts_with(&first.out) && want.ends_with(&second.out));
        sent = first.out.len() + second.out.len() > want.len();
    }
    assert!(sent, "nothing was sent after the checkpoint");
}

/// Where a process is killed that sends a piece by its private pipe.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    /// The piece is in the private pipe, which has not been noted.
    Put,
    /// It is about to be moved.
    Before,
    /// It has been moved, which has not been noted.
    After,
    /// There was no room.
    Full,
    /// There was room for a part.
    Part,
}

/// How somebody reads the program's output.
const READS: u32 = 0;
const RESTS: u32 = 1;
const SIPS: u32 = 2;

/// Reads all of a pipe, in the way that `how` says from time to time.
fn reader(mut pipe: std::io::PipeReader, how: Arc<AtomicU32>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut all, mut part) = (Vec::new(), [0u8; 4096]);
        loop {
            let now = how.load(Ordering::Relaxed);
            if now != READS {
                std::thread::sleep(Duration::from_millis(1));
            }
            if now != RESTS {
                let n = pipe.read(&mut part).expect("a pipe");
                all.extend_from_slice(&part[..n]);
                if n == 0 {
                    return String::from_utf8(all).expect("text");
                }
            }
        }
    })
}

/// Runs the program under a supervisor and kills its first process there. Nothing if it ends before. The
/// error: the system does not let us.
fn killed_there(exe: &Path, args: &[&str], dir: &Path, at: At, mut skip: u32) -> Result<Option<Run>, Error> {
    let (child, output) = supervised(exe, args, dir);
    let how = Arc::new(AtomicU32::new(READS));
    let output = reader(output, how.clone());
    let end = std::thread::spawn(|| ended(child, LIMIT));
    while !has_generation(dir) && !end.is_finished() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let done = match read(&dir.join("lock")).trim().parse() {
        Err(_) => Ok(false),
        Ok(pid) => {
            how.store(if matches!(at, At::Full | At::Part) { RESTS } else { READS }, Ordering::Relaxed);
            traced::kill_at(pid, |call| {
                let (moves, result) = (call.number == libc::SYS_splice, call.result);
                let full = moves && result == Some(-i64::from(libc::EAGAIN));
                if full && at == At::Part {
                    how.store(SIPS, Ordering::Relaxed);
                }
                let there = match at {
                    At::Put => call.number == libc::SYS_write && call.arguments[0] >= 900 && result > Some(0),
                    At::Before => moves && result.is_none(),
                    At::After => moves && result > Some(0),
                    At::Full => full,
                    At::Part => moves && result.is_some_and(|n| n > 0 && (n as u64) < call.arguments[4]),
                };
                skip -= u32::from(there && skip > 0);
                there && skip == 0
            })
        }
    };
    how.store(READS, Ordering::Relaxed);
    let mut run = end.join().expect("no panic");
    run.out = output.join().expect("no panic");
    Ok(done?.then_some(run))
}

/// Killed between any two steps of sending: what the pipe has taken is known, and nothing comes twice.
#[test]
fn exactly_once_wherever_it_is_killed() {
    let s = Scratch::new("exactly");
    let (exe, dir) = (build("ckpt/output.c", &[]), s.path("ckpt"));
    let ways: [(&[&str], &[At]); 4] = [
        (&["line", "600"], &[At::Put, At::Before, At::After]),
        (&["parts", "600"], &[At::After]),
        (&["large", "600", "9000"], &[At::Before, At::After, At::Full, At::Part]),
        (&["large", "600", "70000"], &[At::Put, At::After, At::Full, At::Part]),
    ];
    for (args, places) in ways {
        let want = reference(&exe, args, &[THREADS]).out;
        for (&at, round) in places.iter().flat_map(|at| (0..scale()).map(move |round| (at, round))) {
            // Where the machine is slow it may have ended before it was followed.
            let skip = 1 + round as u32;
            let run = (0..10).find_map(|_| killed_there(&exe, args, &dir, at, skip).transpose());
            let run = match run.unwrap_or_else(|| panic!("{args:?} {at:?}: not there in ten runs")) {
                Ok(run) => run,
                Err(why) => return println!("SKIPPED: ptrace: {why}"),
            };
            let what = format!("{args:?} {at:?} {round}: {}", run.err);
            assert!(run.status == 0 && run.out == want, "{what} {} of {}", run.out.len(), want.len());
            assert!(run.err.contains("restarted from") && !run.err.contains("twice"), "{what}");
        }
    }
}

/// Killed at any time: nothing is lost, and nothing comes twice but what was announced.
#[test]
fn exactly_once_whenever_it_is_killed() {
    let s = Scratch::new("whenever");
    let (exe, dir) = (build("ckpt/output.c", &[]), s.path("ckpt"));
    let (mut seeded, mut announced) = (Seeded(1), 0);
    let kills = if long() { 200 } else { 6 };
    for n in 0..kills {
        let args = [&["line", "1000"][..], &["write", "1000"], &["large", "1000", "9000"]][n % 3];
        let want = reference(&exe, args, &[THREADS]).out;
        let run = (0..20).find_map(|n| {
            let mut c = Command::new(command());
            clean(&mut c);
            c.args(["run", "--threads", "2", "--every", "20ms", "--auto-restart", "3", "--ckpt"]);
            c.arg(&dir).arg("--").arg(&exe).args(args);
            killed(c, &dir, Duration::from_micros(seeded.below(200_000 >> (n / 2))))
        });
        let run = run.expect("a checkpoint in twenty runs");
        let exact = as_announced(&run.out, &want, &run.err);
        assert!(run.status == 0 && exact, "{args:?} {n}: {}", run.err);
        announced += run.err.matches("twice").count();
    }
    println!("{announced} of {kills} kills left a piece in doubt");
}

/// A supervised program, with its output going to a pipe.
fn supervised(exe: &Path, args: &[&str], dir: &Path) -> (std::process::Child, std::io::PipeReader) {
    let _ = fs::remove_dir_all(dir);
    let (output, pipe) = std::io::pipe().expect("a pipe");
    let mut c = Command::new(command());
    clean(&mut c);
    c.args(["run", "--threads", "2", "--every", "20ms", "--auto-restart", "3", "--ckpt"]).arg(dir);
    c.arg("--").arg(exe).args(args).stdin(Stdio::null()).stdout(pipe).stderr(Stdio::piped());
    (started(&mut c), output)
}

/// Under a supervisor a pipe is to the program what it was: it holds as much, and has a reader or not.
#[test]
fn a_pipe_is_what_it_was() {
    let s = Scratch::new("as-it-was");
    let (exe, dir) = (build("ckpt/output.c", &[]), s.path("ckpt"));
    // Who waits for the program's end before he reads. 30 KB in short lines, and in long ones.
    for args in [&["line", "1500"][..], &["write", "1500"], &["large", "12"]] {
        let want = reference(&exe, args, &[THREADS]).out;
        let (child, output) = supervised(&exe, args, &dir);
        let run = ended(child, LIMIT);
        assert_eq!((run.status, run.hung), (0, false), "{args:?}: {}", run.err);
        assert_eq!(all_of(output.into()), want, "{args:?}");
    }
    // Who leaves.
    let (child, mut output) = supervised(&exe, &["line", "100000"], &dir);
    output.read_exact(&mut [0; 5000]).expect("output");
    drop(output);
    assert_eq!(ended(child, LIMIT).status, 128 + libc::SIGPIPE);
    // A program that needs our numbers for something else.
    let want = reference(&exe, &["taken", "200"], &[THREADS]).out;
    let (child, output) = supervised(&exe, &["taken", "200"], &dir);
    let output = reader(output, Arc::new(AtomicU32::new(READS)));
    let run = ended(child, LIMIT);
    assert_eq!((run.status, output.join().expect("no panic")), (0, want), "{}", run.err);
}

/// Standard output is a file for a while, and the pipe a duplicate on another descriptor.
#[test]
fn a_duplicate_of_the_pipe() {
    let s = Scratch::new("duplicate");
    let (exe, file, dir) = (build("ckpt/process.c", &[]), s.path("file"), s.path("ckpt"));
    let args = ["output", text(&file), "12"];
    let want = reference(&exe, &args, &[THREADS]).out;
    let lines = read(&file);
    for round in 0..(4 * scale()) {
        let run = (0..20).find_map(|n| {
            let _ = fs::remove_file(&file);
            let mut c = Command::new(command());
            clean(&mut c);
            c.args(["run", "--threads", "4", "--every", "20ms", "--auto-restart", "3", "--ckpt"]);
            c.arg(&dir).arg("--").arg(&exe).args(args);
            killed(c, &dir, Duration::from_micros((1000 * (20 + 29 * round % 200)) >> (n / 2)))
        });
        let run = run.expect("a checkpoint in twenty runs");
        assert_eq!((run.status, read(&file)), (0, lines.clone()), "{round}: {}", run.err);
        assert!(as_announced(&run.out, &want, &run.err), "{round}: {}\n{}", run.err, run.out);
        assert!(run.err.contains("restarted from"), "{round}: {}", run.err);
    }
}

#[test]
fn what_comes_twice_was_announced() {
    let said = |n: &[usize]| {
        n.iter().map(|n| format!("promp: up to {n} bytes may be sent twice\n")).collect::<String>()
    };
    for (out, n, right) in [
        ("abcdef", &[][..], true),
        ("abcdef", &[9], true),
        ("abcbcdef", &[2], true),
        ("abcbcdef", &[1], false),
        ("abcbcdef", &[], false),
        ("abcdefef", &[2], true),
        ("ababcdedef", &[1, 2, 2], true),
        ("ababcdedef", &[2], false),
        ("abcbcdeg", &[2], false),
        ("abcde", &[2], false),
        ("abcbcde", &[2], false),
        ("", &[9], false),
    ] {
        assert_eq!(as_announced(out, "abcdef", &said(n)), right, "{out} {n:?}");
    }
}
