//! A signal that ends a program ends it under `promp run` at any moment: before the program is there, while
//! it is loaded, and when it runs, whichever process it is sent to. The status is the one that the program
//! alone would have had, and nobody is left. Messages of promp's that nobody reads end nothing.

use crate::common::jobs::{die, is_gone, kill, wait};
use crate::common::left::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A region, a line, a wait that no test lasts.
const WAITS: &str = r#"
#include <stdio.h>
#include <unistd.h>
int main(void) {
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n += 1;
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 120; i++) sleep(1);
    return n;
}
"#;

const SIGNALS: [i32; 14] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGUSR1,
    libc::SIGXFSZ,
    libc::SIGKILL,
];

/// How it is started, in a folder of its own.
const FORMS: [&[&str]; 3] =
    [&["run"], &["run", "--ckpt", "ckpt", "--every", "20ms"], &["run", "--steps", "--ckpt", "ckpt"]];

fn waits() -> PathBuf {
    compiled("moments", "waits", WAITS, &["-fopenmp"])
}

fn started_by(form: &[&str], s: &Scratch) -> Child {
    let _ = fs::remove_dir_all(s.path("ckpt"));
    let mut c = Command::new(command());
    clean(&mut c);
    c.args(form).arg("--").arg(waits()).current_dir(&s.0);
    c.env("OMP_NUM_THREADS", "2").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: plain calls in the child: no core files, and nothing that is ignored is inherited.
    unsafe {
        c.pre_exec(|| {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            SIGNALS.iter().for_each(|s| _ = libc::signal(*s, libc::SIG_DFL));
            Ok(())
        });
    }
    started(&mut c)
}

/// The program of a run with checkpoints, or what is to become it: the guard is there before.
fn behind(promp: &Child) -> Option<i32> {
    let pid = promp.id();
    let all = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    all.split_whitespace().nth(1)?.parse().ok()
}

/// Reads that it is ready.
fn wait_until_ready(child: &mut Child) {
    let mut line = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut line).expect("it says ready");
}

/// How long it takes until the program runs, on this machine as it is now.
fn until_ready(form: &[&str], s: &Scratch) -> Duration {
    let (begin, mut child) = (Instant::now(), started_by(form, s));
    wait_until_ready(&mut child);
    let took = begin.elapsed();
    kill(child.id() as i32, libc::SIGTERM);
    assert_eq!(ended(child, LIMIT).status, 128 + libc::SIGTERM, "{form:?}");
    took
}

#[test]
fn what_ends_a_program_ends_it() {
    let s = Scratch::new("moment");
    let folder = s.0.canonicalize().expect("our folder");
    let mut rng = Seeded(21);
    for form in FORMS {
        let (whole, mut early) = (until_ready(form, &s), 0);
        for signal in SIGNALS.repeat(if long() { 60 } else { 5 }) {
            let (begin, at) = (Instant::now(), whole.mul_f64(rng.below(1200) as f64 / 1000.0));
            let child = started_by(form, &s);
            while begin.elapsed() < at {
                std::hint::spin_loop();
            }
            // To promp, or to what it runs: its copy, or the program.
            let to = behind(&child).filter(|_| rng.below(3) == 0);
            kill(to.unwrap_or(child.id() as i32), signal);
            let ran = ended(child, LIMIT);
            let what = format!("{form:?}, signal {signal} after {at:?} of {whole:?}, to {to:?}: {ran:?}");
            assert_eq!(ran.status, 128 + signal, "{what}");
            wait_for_none(&folder, &what);
            early += u32::from(!ran.out.contains("ready"));
        }
        println!("{form:?}: ready after {whole:?}, {early} before");
        assert!(early > 0, "{form:?}");
    }
}

/// What is ignored and blocked at the beginning is for the program, too.
#[test]
fn what_is_inherited_is_passed_on() {
    let s = Scratch::new("inherited");
    let sets = |form: &[&str]| {
        let mut c = Command::new(if form.is_empty() { "grep".into() } else { command() });
        clean(&mut c);
        c.args(form).args(if form.is_empty() { &[][..] } else { &["--", "grep"] }).current_dir(&s.0);
        c.args(["-E", "^Sig(Ign|Blk)", "/proc/self/status"]);
        // SAFETY: plain calls in the child.
        unsafe {
            c.pre_exec(|| {
                for signal in [libc::SIGPIPE, libc::SIGCHLD, libc::SIGINT, libc::SIGXFSZ, libc::SIGUSR1] {
                    libc::signal(signal, libc::SIG_IGN);
                }
                let mut set = std::mem::zeroed();
                libc::sigemptyset(&mut set);
                [libc::SIGUSR2, libc::SIGALRM, libc::SIGSEGV]
                    .iter()
                    .for_each(|s| _ = libc::sigaddset(&mut set, *s));
                libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
                Ok(())
            });
        }
        let ran = limited(c, LIMIT);
        assert_eq!(ran.status, 0, "{form:?}: {ran:?}");
        ran.out
    };
    for form in FORMS {
        assert_eq!(sets(form), sets(&[]), "{form:?}");
    }
}

/// Standard error is a pipe that nobody reads any more.
#[test]
fn messages_that_nobody_reads_end_nothing() {
    let s = Scratch::new("unread");
    let restarted = ["run", "--ckpt", "ckpt", "--every", "20ms", "--auto-restart", "3"];
    for form in [FORMS[0], FORMS[1], &restarted] {
        let mut child = started_by(form, &s);
        drop(child.stderr.take());
        wait_until_ready(&mut child);
        if form == restarted {
            wait("a checkpoint", || has_generation(&s.path("ckpt")));
            die(&child, &waits());
        }
        std::thread::sleep(Duration::from_millis(50));
        assert!(!is_gone(child.id() as i32), "{form:?}: {:?}", child.wait());
        kill(child.id() as i32, libc::SIGTERM);
        assert_eq!(ended(child, LIMIT).status, 128 + libc::SIGTERM, "{form:?}");
    }
}
