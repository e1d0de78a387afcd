//! Messages go to what was standard error when the program began, or nowhere: never into a file of the
//! program's that has got its number.

use crate::common::jobs::wait;
use crate::common::saved::{Scratch, command, has_generation, read, text};
use crate::common::*;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};

const KILL: (&str, &str) = ("PROMP_FAULT", "kill@thread=1,region=5");

/// Messages of all kinds: a failure, which is refused or made good, settings, what a setting wants to see.
const SPOKEN: [&[(&str, &str)]; 6] = [
    &[KILL, ("PROMP_REPLAY", "never")],
    &[KILL, ("PROMP_REPLAY", "assume")],
    &[("OMP_SCHEDULE", "junk")],
    &[("PROMP_WATCHDOG", "junk"), ("PROMP_SAVE_BUDGET", "x")],
    &[("OMP_DISPLAY_ENV", "verbose"), ("OMP_DISPLAY_AFFINITY", "true")],
    &[("PROMP_REPORT", "-"), ("OMP_TOOL_VERBOSE_INIT", "stderr")],
];

fn numbers(n: u32) -> String {
    (0..n).map(|k| format!("{k}\n")).collect()
}

/// The program's command, with standard error as `redirect` says.
fn program(data: &Path, how: &str, rounds: &str, redirect: &str) -> Command {
    let mut c = Command::new("bash");
    clean(&mut c);
    // Not for the shell, which opens files of its own.
    c.args(["-c", &format!("LD_PRELOAD=$LIBRARY exec \"$@\" {redirect}"), "bash"]);
    c.arg(build("ft/data_file.c", &[])).arg(data).arg(how).args(rounds.split(' ')).env("LIBRARY", library());
    c
}

#[test]
fn a_file_with_the_number_of_standard_error_has_no_messages() {
    let s = Scratch::new("data-file");
    let data = s.path("data");
    for (how, redirect, fd) in
        [("opened", "2>&-", 2), ("closed", "", 2), ("moved", "", 2), ("opened", "2>&- 0<&-", 0)]
    {
        for settings in SPOKEN {
            let mut c = program(&data, how, "20", redirect);
            c.envs(settings.iter().copied());
            let run = limited(c, LIMIT);
            let what = format!("{how} {redirect} {settings:?}: {run:?}");
            let refused = run.status == 70;
            assert!(refused || run.status == 0, "{what}");
            assert!(refused || run.out.starts_with(&format!("{fd} ")), "{what}");
            let held = read(&data);
            let all = numbers(20);
            assert!(if refused { all.starts_with(&held) } else { held == all }, "{what}\n{held}");
        }
    }
}

#[test]
fn standard_error_that_is_there_has_them() {
    let s = Scratch::new("data-file-kept");
    let data = s.path("data");
    for redirect in ["", "2>&1", "2>$LOG", "2>>$LOG", "2<>$LOG", "0<&-"] {
        for settings in SPOKEN {
            let log = s.path("log");
            fs::write(&log, "").expect("a log");
            let mut c = program(&data, "kept", "20", redirect);
            c.envs(settings.iter().copied()).env("LOG", &log);
            let run = limited(c, LIMIT);
            let said = read(&log) + &run.err + &run.out;
            let words =
                ["failed (kill)", "libgomp: ", "PROMP_WATCHDOG=junk", "_OPENMP = ", "\"regions\": 20"];
            assert!(words.iter().any(|w| said.contains(w)), "{redirect} {settings:?} {said} {run:?}");
            assert!(!read(&data).contains(|c: char| c.is_alphabetic()), "{redirect} {settings:?}");
        }
    }
}

const ROUNDS: u32 = 2000;

/// A run with checkpoints that is killed as soon as there is one, and restarted: thread 1 fails in a region
/// that comes later.
fn restarted(s: &Scratch, how: &str, redirect: &str, count: &str) -> Run {
    let dir = s.path("ckpt");
    let _ = fs::remove_dir_all(&dir);
    let _ = fs::remove_file(s.path("data"));
    let mut c = program(&s.path("data"), how, &format!("{ROUNDS}{count}"), redirect);
    c.env("PROMP_CKPT_DIR", &dir).env("PROMP_CKPT_INTERVAL", "50ms").env("PROMP_REPLAY", "never");
    c.env("PROMP_FAULT", format!("kill@thread=1,region={}", ROUNDS - 2));
    let mut first: Child = started(&mut c);
    wait("a checkpoint", || has_generation(&dir));
    // SAFETY: a child of ours.
    unsafe { libc::kill(first.id() as i32, libc::SIGKILL) };
    first.wait().expect("a child");
    let mut c = Command::new(command());
    clean(&mut c);
    c.args(["restart", text(&dir)]);
    limited(c, LIMIT)
}

#[test]
fn after_a_restart_it_is_the_new_process_standard_error() {
    let s = Scratch::new("data-file-restart");
    let run = restarted(&s, "kept", "2>&1", "");
    assert!(run.status == 0, "{run:?}");
    assert!((run.err.clone() + &run.out).contains("thread 1 failed (kill)"), "{run:?}");
    for (how, redirect) in [("opened", "2>&-"), ("moved", "2>&1")] {
        let run = restarted(&s, how, redirect, "");
        assert!(run.status == 0 && read(&s.path("data")) == numbers(ROUNDS), "{how} {run:?}");
        // Nor is it taken for messages, which stay what they are when the program goes back.
        let run = restarted(&s, how, redirect, " count");
        assert!(run.status == 0 && run.out.ends_with(&format!(" {ROUNDS}\n")), "{how} {run:?}");
    }
}

/// As with libgomp.
#[test]
fn words_that_the_program_asks_for_go_where_it_has_its_standard_error() {
    let source = "#include <omp.h>\n#include <fcntl.h>\n#include <unistd.h>
int main(int argc, char **argv) {
    dup2(open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644), 2);
    omp_display_env(0);
    omp_display_affinity(\"%n\");
}";
    let exe = compiled("data_file", "asks", source, &["-fopenmp"]);
    let s = Scratch::new("data-file-asks");
    let data = s.path("data");
    let run = promp(&exe, &[text(&data)], &[]);
    let held = read(&data);
    assert!(held.contains("_OPENMP") && held.ends_with("\n0\n") && run.err.is_empty(), "{held} {run:?}");
}
