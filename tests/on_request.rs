//! Programs that handle a request to end (SIGTERM, SIGINT), and then end by an exit: that is no end of their
//! own. `--resume` continues them, and their output is that of a run that was left alone.

use crate::common::jobs::*;
use crate::common::left::*;
use crate::common::saved::*;
use crate::common::scripts::*;
use crate::common::*;
use std::fs;
use std::path::PathBuf;

/// Lines. argv: how it ends when it is asked to, and with which status; how many lines.
const ASKED: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t asked;
static int at_once, status;
static void handle(int signal) {
    asked = signal;
    if (at_once)
        _exit(status);
}
int main(int argc, char **argv) {
    const struct timespec pause = {0, 5000000};
    int behind = 0;
    status = atoi(argv[2]);
    at_once = !strcmp(argv[1], "handler");
    signal(SIGTERM, handle);
    signal(SIGINT, handle);
    for (int i = 0; i < atoi(argv[3]); i++) {
        unsigned long s = 0;
#pragma omp parallel for reduction(+ : s)
        for (int k = 0; k < 1000; k++)
            s += k * (i + 1);
        printf("line %d %lu\n", i, s);
        fflush(stdout);
        nanosleep(&pause, NULL);
        if (asked && !strcmp(argv[1], "exit"))
            exit(status);
        if (asked && !strcmp(argv[1], "_exit"))
            _exit(status);
        if (asked && !strcmp(argv[1], "quick"))
            quick_exit(status);
        if (asked && !strcmp(argv[1], "return"))
            return status;
        if (asked && !strcmp(argv[1], "late") && ++behind == 60)
            return status;
    }
    return 0;
}
"#;

/// A region, a line, and the end.
const ENDS: &str = r#"
#include <stdio.h>
int main(void) {
    unsigned long s = 0;
#pragma omp parallel for reduction(+ : s) num_threads(2)
    for (int k = 0; k < 20000000; k++)
        s += k ^ s;
    puts(s ? "last" : "");
}
"#;

fn asked() -> PathBuf {
    compiled("on-request", "asked", ASKED, &["-O1", "-fopenmp"])
}

#[test]
fn it_goes_on() {
    let (f, exe) = (Field::new("true"), asked());
    let log = f.work.join("log");
    let cases = [
        ("exit", "3", libc::SIGTERM),
        ("exit", "0", libc::SIGTERM),
        ("return", "143", libc::SIGINT),
        ("_exit", "1", libc::SIGTERM),
        ("quick", "2", libc::SIGTERM),
        ("handler", "4", libc::SIGINT),
        // Checkpoints would have been due while it knew already that it ends.
        ("late", "5", libc::SIGTERM),
    ];
    for (n, (how, status, signal)) in cases.into_iter().enumerate() {
        f.clear();
        let args = [how, status, "150"];
        let want = reference(&exe, &args, &[]).out;
        let start =
            || start_into(run(&f.s.path("ckpt"), &["--resume", "--every", "20ms"], &exe, &args), &log);
        let promp = start();
        wait("some lines", || read(&log).lines().count() > 20);
        let whom = promp.id() as i32 * if n % 2 == 0 { 1 } else { -1 };
        kill(whom, signal);
        let end = f.end(promp);
        let what = format!("{how} {status}: {}", end.err);
        assert_eq!(end.status.to_string(), status, "{what}");
        assert!(end.err.contains("after a request to end: with --resume it goes on"), "{what}");
        let end = f.end(start());
        assert_eq!((end.status, end.out), (0, want), "{what}{}", end.err);
        let end = f.end(start());
        assert!(end.err.contains("has ended by itself"), "{what}{}", end.err);
    }
}

/// Who goes on, and ends much later or by itself, has ended; so has one that nobody has asked.
#[test]
fn ends_of_its_own() {
    let (f, exe) = (Field::new("true"), asked());
    let log = f.work.join("log");
    let start = |args: &[&str]| {
        start_into(run(&f.s.path("ckpt"), &["--resume", "--every", "20ms"], &exe, args), &log)
    };
    for args in [["exit", "3", "3"], ["never", "3", "3"]] {
        f.clear();
        let end = f.end(start(&args));
        assert!(end.status == 0 && !end.err.contains("goes on"), "{args:?}: {}", end.err);
        let end = f.end(start(&args));
        assert!(end.err.contains("has ended by itself"), "{args:?}: {}", end.err);
    }
}

/// Asked to end by a signal that the runtime takes in the program's place, when it is about to end anyway:
/// the next run does what is left, which is nothing where it has ended by itself before.
#[test]
fn asked_at_its_very_end() {
    let (f, exe) = (Field::new("true"), compiled("on-request", "steps", ENDS, &["-O1", "-fopenmp"]));
    let (log, mut rng) = (f.work.join("log"), Seeded(5));
    let (mut done, mut cut) = (0, 0);
    for _ in 0..60 * scale() {
        f.clear();
        let options = ["--resume", "--every", "1ms", "--on-signal", "TERM=checkpoint-exit"];
        let start = || start_into(run(&f.s.path("ckpt"), &options, &exe, &[]), &log);
        let promp = start();
        let pid = promp.id() as i32;
        wait("the last line", || read(&log).contains("last"));
        std::thread::sleep(std::time::Duration::from_micros(rng.below(1500)));
        kill(pid, libc::SIGTERM);
        let (first, again) = (f.end(promp), f.end(start()));
        let what = format!("{} {}{}{}", first.status, first.err, again.status, again.err);
        assert_eq!((again.status, &*again.out), (0, "last\n"), "{what}");
        match first.status {
            0 => assert!(again.err.contains("has ended by itself"), "{what}"),
            85 => {}
            other => assert_eq!(other, 143, "{what}"),
        }
        done += u32::from(first.status == 0);
        cut += u32::from(first.status == 85);
    }
    println!("{done} times done, {cut} times cut");
    assert!(done > 0, "{cut}");
}

/// Of a script the step goes on.
#[test]
fn a_step_goes_on() {
    let exe = asked();
    let mut f = Field::new(&format!("{} exit 3 150; echo behind", text(&exe)));
    f.options = vec!["--every", "20ms"];
    let want = format!("{}behind\n", reference(&exe, &["exit", "3", "150"], &[]).out);
    let promp = f.start();
    let log = f.work.join("log");
    wait("some lines", || read(&log).lines().count() > 20);
    kill(-(promp.id() as i32), libc::SIGTERM);
    let first = f.end(promp);
    assert!(first.err.contains("after a request to end"), "{}", first.err);
    let end = f.end(f.start());
    assert_eq!((end.status, end.out), (0, want), "{}{}", first.err, end.err);
}

/// Killed before there is a checkpoint: the run that was cut says what comes of it.
#[test]
fn killed_before_the_first_checkpoint() {
    let s = Scratch::new("no-checkpoint");
    for (script, said) in
        [("sleep 100", true), ("exec sleep 100", true), ("kill -9 $$", true), ("exit 3", false)]
    {
        let dir = s.path("ckpt");
        let _ = fs::remove_dir_all(&dir);
        let promp = started(&mut run(&dir, &["--resume"], "bash".as_ref(), &["-c", script]));
        if script.contains("sleep") {
            // Nothing else: what promp starts has promp's own words before it has become the program.
            wait("it has begun", || {
                child_of(&promp)
                    .is_some_and(|pid| read(format!("/proc/{pid}/cmdline").as_ref()) == "sleep\x00100\0")
            });
            kill(promp.id() as i32, libc::SIGTERM);
        }
        let end = ended(promp, LIMIT);
        assert_eq!(
            end.err.contains("before its first checkpoint was complete"),
            said,
            "{script}: {}",
            end.err
        );
    }
}
