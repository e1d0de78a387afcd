//! Programs between others: what has been read from a pipe cannot be read again, so a rollback or a restart that would need it is refused.

use crate::common::left::terminal;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::io::{Read, Write, pipe};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Strikes while the work after the checkpoint is done, which must not be repeated.
const FAIL: &str = "memerr@thread=1,region=2,delay=2ms";
const DIE: &str = "die@region=2,delay=2ms";

/// What the program prints if its sum is that of 5 and 7, or nothing.
fn wanted(mode: &str, input: &str) -> String {
    let exe = build("ckpt/streams.c", &[]);
    let mut c = Command::new(exe);
    c.arg(mode).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = c.spawn().expect("the program");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("a pipe");
    String::from_utf8(child.wait_with_output().expect("its end").stdout).expect("text")
}

struct Case {
    s: Scratch,
    dir: PathBuf,
}

impl Case {
    fn new(name: &str) -> Self {
        let s = Scratch::new(name);
        Self { dir: s.path("ckpt"), s }
    }

    /// The program with a checkpoint at its first region, and `fault` after it.
    fn program(&self, args: &[&str], fault: &str) -> Command {
        let mut c = Command::new(build("ckpt/streams.c", &[]));
        clean(&mut c);
        c.args(args).env("LD_PRELOAD", library()).env(THREADS.0, THREADS.1).env("PROMP_FAULT", fault);
        c.env("PROMP_CKPT_DIR", &self.dir).env("PROMP_CKPT_INTERVAL", "1h");
        c.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let _ = fs::remove_dir_all(&self.dir);
        c
    }

    /// Starts `c`, and waits for the checkpoint.
    fn start(&self, c: &mut Command) -> Child {
        let child = started(c);
        let began = Instant::now();
        // The one before the program began is not meant.
        while promp_image::generation_files(&self.dir).first().is_none_or(|n| *n <= 1) {
            assert!(began.elapsed() < LIMIT, "no checkpoint");
            std::thread::sleep(Duration::from_millis(1));
        }
        child
    }
}

/// Status, output and messages of `child`, which does not hang.
fn end(child: Child) -> Run {
    let run = ended(child, LIMIT);
    assert!(!run.hung, "it hangs: {}", run.err);
    run
}

fn send(to: impl Into<OwnedFd>, what: &str) {
    fs::File::from(to.into()).write_all(what.as_bytes()).expect("a pipe");
}

#[test]
fn input_that_was_read_since_the_checkpoint() {
    let t = Case::new("input");
    let gone = |run: Run, what: &str| {
        assert_eq!((run.status, run.out.as_str()), (70, ""), "{run:?}");
        assert!(run.err.contains("no rollback: the program has") && run.err.contains(what), "{}", run.err);
    };
    // From a pipe, in a way that nobody knows of, or after a question whose answer would not know of what is read again (tests/input.rs has the others).
    for mode in ["direct", "polls"] {
        let (from, to) = pipe().expect("a pipe");
        let child = t.start(t.program(&[mode], FAIL).stdin(from));
        send(to, "2 5 7\n");
        gone(end(child), "read from pipe:");
    }
    for mode in ["after", "twice"] {
        let (from, to) = pipe().expect("a pipe");
        let first = if mode == "twice" { "1 3\n" } else { "" };
        send(to.try_clone().expect("a pipe"), first);
        let child = t.start(t.program(&[mode], FAIL).stdin(from));
        send(to, "2 5 7\n");
        let run = end(child);
        assert_eq!((run.status, run.out), (0, wanted(mode, &format!("{first}2 5 7\n"))), "{}", run.err);
        assert!(run.err.contains("rolled back"), "{}", run.err);
    }
    // From one with a name, opened before the checkpoint or after it.
    let fifo = t.s.path("fifo");
    let name = std::ffi::CString::new(text(&fifo)).expect("a name");
    // SAFETY: a C string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    for (mode, what) in [("opened", "read from /"), ("opens", "opened /")] {
        let to = fs::OpenOptions::new().read(true).write(true).open(&fifo).expect("the pipe");
        let child = t.start(&mut t.program(&[mode, text(&fifo)], FAIL));
        // As long as somebody has it open, it keeps what it holds.
        send(to.try_clone().expect("the pipe"), "2 5 7\n");
        gone(end(child), what);
        drop(to);
    }
}

#[test]
fn input_that_a_rollback_does_not_need() {
    let t = Case::new("idle");
    let fine = |child: Child, want: &str| {
        let run = end(child);
        assert_eq!((run.status, run.out.as_str()), (0, want), "{run:?}");
        assert!(run.err.contains("failed (memerr)") && run.err.contains("rolled back"), "{}", run.err);
    };
    // Nobody sends anything, or sends it while nobody reads.
    let want = wanted("never", "");
    for sent in ["", "2 5 7\n"] {
        let (from, to) = pipe().expect("a pipe");
        let child = t.start(t.program(&["never"], FAIL).stdin(from));
        send(to.try_clone().expect("a pipe"), sent);
        fine(child, &want);
    }
    // It was read before, and the pipe is open or has ended.
    let want = wanted("before", "2 5 7\n");
    for open in [true, false] {
        let (from, to) = pipe().expect("a pipe");
        send(to.try_clone().expect("a pipe"), "2 5 7\n");
        let keep = open.then_some(to);
        fine(t.start(t.program(&["before"], FAIL).stdin(from)), &want);
        drop(keep);
    }
    // What a program sends itself it sends again, once.
    fine(t.start(&mut t.program(&["own"], FAIL)), &wanted("own", ""));
}

/// tests/output.rs has more of pipes.
#[test]
fn what_others_see_again() {
    let t = Case::new("again");
    let out = t.s.path("out");
    let pipe = end(t.start(&mut t.program(&["says"], FAIL)));
    let file = end(t.start(t.program(&["says"], FAIL).stdout(fs::File::create(&out).expect("a file"))));
    for (run, out) in [(&pipe, pipe.out.clone()), (&file, read(&out))] {
        assert_eq!((run.status, out), (0, wanted("says", "")), "{run:?}");
        assert!(run.err.contains("rolled back") && !run.err.contains("again"), "{}", run.err);
    }
    // A call that nobody knows of.
    let run = end(t.start(&mut t.program(&["calls"], FAIL)));
    assert_eq!((run.status, run.out), (0, format!("a line\n{}", wanted("calls", ""))), "{}", run.err);
    assert!(run.err.contains("what was sent to pipe:") && run.err.contains("sent again"), "{}", run.err);
}

#[test]
fn what_was_typed_is_asked_for_again() {
    let t = Case::new("typed");
    let (mut master, terminal) = terminal();
    let mut child = t.start(t.program(&["after"], FAIL).stdin(terminal));
    master.write_all(b"2 5 7\n").expect("the terminal");
    let mut messages = child.stderr.take().expect("piped");
    let mut said = String::new();
    while !said.contains("is asked for again") {
        let mut some = [0u8; 512];
        let n = messages.read(&mut some).expect("a pipe");
        assert!(n > 0, "{said}");
        said.push_str(&String::from_utf8_lossy(&some[..n]));
    }
    master.write_all(b"2 5 7\n").expect("the terminal");
    let run = end(child);
    assert_eq!((run.status, run.out), (0, wanted("after", "2 5 7\n")), "{said}");
}

#[test]
fn sockets_as_standard_input() {
    let t = Case::new("sockets");
    let (ours, its) = UnixStream::pair().expect("sockets");
    let run = end(started(t.program(&["quick"], "memerr@region=9").stdin(OwnedFd::from(its))));
    assert_eq!((run.status, run.out), (0, wanted("quick", "")), "{}", run.err);
    assert!(run.err.contains("no checkpoint now: descriptor 0 is a socket whose other side"), "{}", run.err);
    drop(ours);
    let (ours, its) = UnixStream::pair().expect("sockets");
    ours.shutdown(std::net::Shutdown::Write).expect("a socket");
    let run = end(t.start(t.program(&["never"], FAIL).stdin(OwnedFd::from(its))));
    assert_eq!((run.status, run.out), (0, wanted("never", "")), "{}", run.err);
    assert!(run.err.contains("rolled back"), "{}", run.err);
}

/// The process dies; what it has read since the checkpoint is gone if the new one gets the same pipe.
#[test]
fn restarts_of_programs_that_read_from_pipes() {
    let t = Case::new("restarted");
    let supervised = |mode: &str, dir: &Path| {
        let mut c = Command::new(command());
        clean(&mut c);
        let _ = fs::remove_dir_all(dir);
        c.args(["run", "--threads", "4", "--every", "1h", "--auto-restart", "3", "--fault", DIE, "--ckpt"]);
        c.arg(dir).arg("--").arg(build("ckpt/streams.c", &[])).arg(mode);
        c.stdout(Stdio::piped()).stderr(Stdio::piped());
        c
    };
    for (mode, status, said) in [
        ("never", 0, "restarted from"),
        ("after", 71, "the program reads from"),
        ("before", 71, "reads from"),
    ] {
        let (from, to) = pipe().expect("a pipe");
        if mode == "before" {
            send(to.try_clone().expect("a pipe"), "2 5 7\n");
        }
        let child = t.start(supervised(mode, &t.dir).stdin(from));
        if mode == "after" {
            send(to.try_clone().expect("a pipe"), "2 5 7\n");
        }
        let run = end(child);
        let want = if status == 0 { wanted(mode, "") } else { String::new() };
        assert_eq!((run.status, run.out.as_str()), (status, want.as_str()), "{mode}: {run:?}");
        assert!(run.err.contains(said), "{mode}: {}", run.err);
        // By hand, with the rest of the input from elsewhere: nothing, here.
        if mode == "before" {
            let mut c = restart(&t.dir);
            clean(&mut c);
            c.env("PROMP_FAULT", "").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let run = end(started(&mut c));
            assert_eq!((run.status, run.out), (0, wanted(mode, "2 5 7\n")), "{}", run.err);
            assert!(run.err.contains("goes on reading from /dev/null"), "{}", run.err);
        }
        drop(to);
    }
    // All of it was there at the beginning, and it has ended: there is nothing to lose.
    let (from, to) = pipe().expect("a pipe");
    send(to, "2 5 7\n");
    let run = end(t.start(supervised("before", &t.dir).stdin(from)));
    assert_eq!((run.status, run.out), (0, wanted("before", "2 5 7\n")), "{}", run.err);
    assert!(run.err.contains("restarted from"), "{}", run.err);
}

/// The program that waits in libc's calls, under libgomp and with a checkpoint every 5 ms.
fn waits(t: &Case, mode: &str) -> [Run; 2] {
    [None, Some(library())].map(|library| {
        let ((from, _to), (_out, into)) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
        let mut c = Command::new(build("ckpt/cancel.c", &[]));
        clean(&mut c);
        c.arg(mode).env(THREADS.0, THREADS.1).stdin(from).stdout(into).stderr(Stdio::piped());
        if let Some(library) = library {
            let _ = fs::remove_dir_all(&t.dir);
            c.env("LD_PRELOAD", library).env("PROMP_CKPT_DIR", &t.dir).env("PROMP_CKPT_THREADS", "all");
            c.env("PROMP_CKPT_INTERVAL", "5ms").env("PROMP_VERBOSE", "1");
        }
        end(started(&mut c))
    })
}

/// Also where a pipe is followed; a checkpoint may freeze the thread at any moment, and does not end the wait.
#[test]
fn threads_that_are_cancelled_while_they_wait() {
    let t = Case::new("cancelled");
    for mode in ["own", "read", "gets", "full", "puts", "sleep", "usleep", "poll", "timed", "select", "jump"]
    {
        let [want, got] = waits(&t, mode);
        assert_eq!((want.status, want.err.matches(", 0 locked, enabled").count()), (0, 1), "{}", want.err);
        assert_eq!((got.status, got.err), (0, want.err));
    }
}

/// Waits that a checkpoint interrupts are as long as they should be, but for the time up to its first one.
#[test]
fn waits_take_their_time() {
    let t = Case::new("waits");
    let [_, run] = waits(&t, "times");
    let times: Vec<f64> = run.err.split([' ', ',']).filter_map(|w| w.parse().ok()).collect();
    assert_eq!((run.status, times.len()), (0, 3), "{}", run.err);
    assert!(times[0] >= 60.0 && times[1] < 600.0, "{}", run.err);
}
