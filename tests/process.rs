//! What the kernel keeps of a process goes back with it: its folder, umask, timers, children, where its output goes.

use crate::common::draws::Draws;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MODES: [&str; 6] = ["folder", "timers", "children", "output", "pipes", "itself"];

#[test]
fn what_the_kernel_keeps_of_a_process() {
    let s = Scratch::new("process");
    let exe = build("ckpt/process.c", &[]);
    let (file, rounds) = (s.path("file"), if long() { 60 } else { 5u64 });
    for mode in MODES {
        let args = [mode, text(&file), "6"];
        let fresh = || {
            let _ = fs::remove_file(&file);
        };
        fresh();
        let want = reference(&exe, &args, &[THREADS]);
        assert_eq!(want.status, 0, "{mode}: {want:?}");
        // In the first step, with the checkpoint that the first region begins with; then anywhere.
        let (mut back, mut said, mut draws) = (0, false, Draws::between(3 + rounds, 20 * rounds));
        while let Some(seed) = draws.next(back >= 3 + rounds as usize && said == (mode == "children")) {
            fresh();
            let (fault, interval) = match seed {
                1..=3 => (format!("kill@thread=1,region={},delay=1ms", 1 + seed), "1h"),
                _ => (format!("kill@mtbf=40ms,seed={seed},count=4"), "20ms"),
            };
            let env = [("PROMP_FAULT", fault.as_str()), ("PROMP_CKPT_INTERVAL", interval)];
            let run = checkpointed(&exe, &args, &s.path("ckpt"), &env);
            assert_eq!((run.status, &run.out), (0, &want.out), "{mode} {fault}: {}", run.err);
            back += run.err.matches("rolled back").count();
            said |= run.err.contains("started other processes since checkpoint");
        }
        assert_eq!(said, mode == "children");
        assert!(back >= 3 + rounds as usize, "{mode}: {back} rollbacks");
    }
}

/// The same after kill -9. (Children of the dead process go on, so that mode is left out.)
#[test]
fn restarts() {
    let s = Scratch::new("process-restarts");
    let exe = build("ckpt/process.c", &[]);
    let (file, dir, out) = (s.path("file"), s.path("ckpt"), s.path("out"));
    for mode in ["folder", "timers", "output", "pipes", "itself", "command"] {
        let args = [mode, text(&file), "6"];
        let _ = fs::remove_file(&file);
        let want = reference(&exe, &args, &[THREADS]);
        for round in 0..if long() { 40 } else { 3 } {
            for f in [&file, &out] {
                let _ = fs::remove_file(f);
            }
            let _ = fs::remove_dir_all(&dir);
            let after = |i: u64| Duration::from_millis(60 + (round * 37 + i * 23) % 80);
            let saved = |since| since > after(0) && has_generation(&dir);
            let mut ended = start_with(first_run(&exe, &args, &dir), &out, Some(&saved), |_| ());
            let mut i = 0;
            while ended.is_none() {
                i += 1;
                ended = start(restart(&dir), &out, (i < 4).then_some(after(i)));
            }
            let err = messages(&out);
            assert!(
                ended.is_some_and(|e| went_well(e, &err)) && read(&out) == want.out,
                "{mode} {round}: {err}"
            );
        }
    }
}

/// A process that goes on has the number that it had, where the system lets it be chosen; `promp restart` stands for it.
#[test]
fn the_number_of_a_process() {
    let s = Scratch::new("number");
    let (exe, dir, out) = (build("ckpt/process.c", &[]), s.path("ckpt"), s.path("out"));
    if !may_choose_number() {
        return eprintln!("skipped: the number of a process may not be chosen here");
    }
    let saved = |since| since > Duration::from_millis(200) && has_generation(&dir);
    assert!(start_with(first_run(&exe, &["number", "-", "60"], &dir), &out, Some(&saved), |_| ()).is_none());
    let ended = start(restart(&dir), &out, None).expect("it ends");
    let text = read(&out);
    let numbers: Vec<&str> = text.lines().take(60).collect();
    assert!(ended.success() && numbers.len() == 60 && numbers.iter().all(|n| *n == numbers[0]), "{text}");
    // What it is sent, the program gets; and where it is killed, so is the program.
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        let _ = (fs::remove_file(&out), fs::remove_dir_all(&dir));
        let args = ["number", "-", "100000"];
        assert!(start_with(first_run(&exe, &args, &dir), &out, Some(&saved), |_| ()).is_none());
        let mut c = restart(&dir);
        clean(&mut c);
        let quiet = c.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut promp = quiet.spawn().expect("promp");
        let pid = promp.id() as i32;
        let wait = |at: &mut dyn FnMut() -> bool| {
            let begin = Instant::now();
            while !at() {
                assert!(begin.elapsed() < LIMIT, "{signal}");
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        let mut child = 0;
        wait(&mut || {
            child = crate::common::jobs::child_of(&promp).unwrap_or(0);
            fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|c| c.contains("ckpt_process"))
        });
        // SAFETY: our own child.
        unsafe { libc::kill(pid, signal) };
        assert_eq!(promp.wait().expect("promp").signal(), Some(signal));
        wait(&mut || !Path::new(&format!("/proc/{child}/exe")).exists());
    }
}

/// Number 1 of a container cannot end by a signal: its status says which one the program has ended by.
#[test]
fn as_number_one() {
    let s = Scratch::new("number-one");
    let exe = build("ckpt/process.c", &[]);
    let ended = |signal: &str| {
        let mut c = Command::new("unshare");
        clean(&mut c);
        c.args(["--pid", "--fork", "--mount-proc"])
            .arg(command())
            .args(["run", "--ckpt"])
            .arg(s.path("ckpt"));
        c.arg("--").arg(&exe).args(["number", "-", "100000"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let _ = fs::remove_dir_all(s.path("ckpt"));
        let outside = started(&mut c);
        let (begin, stat) = (Instant::now(), format!("/proc/{}/stat", outside.id()));
        let is_there = || fs::read_to_string(&stat).is_ok_and(|s| !s.contains(") Z "));
        while begin.elapsed() < LIMIT && !has_generation(&s.path("ckpt")) && is_there() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // unshare, promp, the program.
        for &pid in descendants(outside.id()).iter().skip(1) {
            // SAFETY: a descendant.
            unsafe { libc::kill(pid as i32, signal.parse().expect("a number")) };
        }
        crate::common::ended(outside, LIMIT)
    };
    let run = ended("15");
    if run.err.contains("unshare: ") {
        return println!("SKIPPED: processes may not be numbered anew here ({})", run.err.trim());
    }
    assert_eq!(run.status, 143, "{}", run.err);
    assert_eq!(ended("9").status, 137);
}

/// A stream that the program has put something else in the place of, here a pipe, comes back from its duplicate.
#[test]
fn a_pipe_that_was_redirected() {
    let s = Scratch::new("redirected");
    let exe = build("ckpt/process.c", &[]);
    let file = s.path("file");
    let want = reference(&exe, &["output", text(&file), "1"], &[THREADS]);
    // A thread that has just done its part loses nothing: another time then.
    let rolls_back = |region: u32, delay_us: u32| {
        let _ = fs::remove_file(&file);
        let _ = fs::remove_dir_all(s.path("ckpt"));
        let mut c = Command::new(&exe);
        clean(&mut c);
        c.args(["output", text(&file), "1"]).env("LD_PRELOAD", library()).env(THREADS.0, THREADS.1);
        c.env("PROMP_FAULT", format!("kill@thread=1,region={region},delay={delay_us}us"));
        c.env("PROMP_CKPT_DIR", s.path("ckpt")).env("PROMP_CKPT_INTERVAL", "1h");
        let o = c.stdin(Stdio::null()).output().expect("the program");
        let err = String::from_utf8_lossy(&o.stderr);
        assert!(o.status.success(), "{err}");
        assert_eq!(String::from_utf8_lossy(&o.stdout), want.out, "{err}");
        assert_eq!(read(&file), "elsewhere\n");
        err.contains("rolled back")
    };
    for region in [1, 2] {
        assert!((0..100).any(|i| rolls_back(region, 1000 - 90 * (i % 11))), "no rollback in region {region}");
    }
}

/// A thread of the program's own that comes upon lost memory before it is stopped for the rollback waits for
/// that, also one that blocks all signals, as helpers of libraries do: the kernel would end the process.
#[test]
fn lost_memory_that_a_thread_of_the_programs_own_reads() {
    let s = Scratch::new("reader");
    let exe = build("ckpt/reader.c", &[]);
    let want = reference(&exe, &[], &[THREADS]).out;
    for args in [&[][..], &["blocks"]] {
        let (mut back, mut draws) = (0, Draws::between(1, 200));
        while let Some(seed) = draws.next(back >= 10) {
            let fault = format!("memerr@mtbf=20ms,count=4,seed={seed}");
            let set =
                [("PROMP_CKPT_THREADS", "all"), ("PROMP_FAULT", &*fault), ("PROMP_CKPT_INTERVAL", "20ms")];
            let run = checkpointed(&exe, args, &s.path("ckpt"), &set);
            assert_eq!((run.status, &run.out), (0, &want), "{args:?}, {fault}: {}", run.err);
            back += run.err.matches("rolled back").count();
        }
        assert!(back >= 10, "{args:?}: only {back} rollbacks");
    }
}

/// Failures at random times strike where the program is, after a rollback, where it was before the runtime's
/// start, too: no stop ends the process there.
#[test]
fn stops_before_the_runtimes_start() {
    let s = Scratch::new("stops");
    let exe = build("ckpt/late.c", &[]);
    let want = reference(&exe, &[], &[THREADS]).out;
    let mut again = 0;
    for seed in 1..200 {
        let fault = format!("memerr@mtbf=4ms,count=30,seed={seed}");
        let set = [("PROMP_FAULT", &*fault), ("PROMP_CKPT_INTERVAL", "60ms")];
        let run = checkpointed(&exe, &[], &s.path("ckpt"), &set);
        // Struck before the first checkpoint it is refused.
        if !run.was_refused(&want, &fault) {
            again += usize::from(run.err.matches("(region 0").count() > 1);
        }
        if again >= 6 {
            return;
        }
    }
    panic!("only {again} runs were rolled back twice to before the runtime's start");
}

/// A rollback to a checkpoint that was taken before the runtime's first use is said, too.
#[test]
fn back_to_before_the_runtimes_start() {
    let s = Scratch::new("late");
    let exe = build("ckpt/late.c", &[]);
    let (want, report) = (reference(&exe, &[], &[THREADS]).out, s.path("report"));
    let mut struck = 0;
    // On a crowded machine the program has ended before the failure strikes, in most runs.
    for _ in 0..400 {
        let set = [
            ("PROMP_FAULT", "memerr@thread=1,region=1,delay=200us"),
            ("PROMP_REPORT", text(&report)),
            ("PROMP_CKPT_INTERVAL", "3ms"),
        ];
        let run = checkpointed(&exe, &[], &s.path("ckpt"), &set);
        assert_eq!((run.status, &run.out), (0, &want), "{}", run.err);
        let report: serde_json::Value = serde_json::from_str(&read(&report)).expect("a report");
        let failures = report["failures"].as_array().expect("failures").len();
        assert_eq!(run.err.matches("rolled back").count(), failures, "{}", run.err);
        struck += failures;
        if struck >= 15 {
            return;
        }
    }
    panic!("only {struck} failures");
}
