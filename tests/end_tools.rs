//! What those write who look on or tune (statistics, counts, traces, tuning files, what was tried to find a
//! tool), and cannot: each system call in turn fails, is interrupted, or writes less. The program's own
//! status and output are what they are; a file is whole or as it was; what is missing is said, if there is
//! a place for it.

use crate::common::at_end::*;
use crate::common::faults::{self, How};
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The program, or a shell that becomes it.
fn under_promp(mut c: Command, set: &[(&str, &str)]) -> Command {
    clean(&mut c);
    c.env("LD_PRELOAD", library()).env("OMP_NUM_THREADS", "2").envs(set.iter().copied());
    c
}

/// The program did what it does; a call that fails is no reason for another end.
fn is_itself(ran: &Run, failed: &str) {
    assert_eq!((ran.status, ran.out.as_str()), (3, "499500\n"), "{failed}: {ran:?}");
}

/// Has the call failed for good? Of what is short the rest is written, and so is what was interrupted.
fn for_good(failed: &str, how: How) -> bool {
    let writes = failed.contains(&format!(", {} ", libc::SYS_write));
    how != How::Short && !(writes && how == How::Error(libc::EINTR))
}

fn folder(s: &Scratch) {
    fs::create_dir(s.path("end")).expect("a folder");
}

/// Standard error is a file on a full disk: statistics, a report and counts that go there.
#[test]
fn lines_on_standard_error() {
    let s = Scratch::new("end-lines");
    let (exe, file) = (program(&s), s.path("end/err"));
    folder(&s);
    for (set, first, last) in [
        (("PROMP_STATS", "1"), "promp: ", "PROMP_MONITOR=segments does\n"),
        (("PROMP_REPORT", "-"), "{\n", "}\n"),
        (("PROMP_EVENTS", "count"), "promp: event ", "\n"),
    ] {
        let command = || {
            let _ = fs::remove_file(&file);
            let mut c = Command::new("sh");
            c.args(["-c", "exec 2>>\"$1\"; exec env LD_PRELOAD=\"$2\" \"$0\""]).args([
                &exe,
                &file,
                &library(),
            ]);
            let mut c = under_promp(c, &[set]);
            c.env_remove("LD_PRELOAD");
            c
        };
        let whole = limited(command(), LIMIT);
        is_itself(&whole, "nothing");
        let lines = read(&file).lines().count();
        skipped(sweep(&["end/err"], command, |ran, failed, how| {
            if ran.status == 2 && failed.starts_with("call 1,") {
                // The shell's own call.
                return;
            }
            is_itself(ran, failed);
            let text = read(&file);
            let all = text.starts_with(first) && text.ends_with(last) && text.lines().count() == lines;
            let lost = for_good(failed, how)
                && (text.is_empty() || set.1 == "count" && text.lines().count() + 1 == lines);
            assert!(all || lost, "{set:?}, {failed}: {text:?}");
        }));
    }
}

/// A report with every span of every thread.
#[test]
fn traces() {
    let s = Scratch::new("end-trace");
    let (exe, file) = (program(&s), s.path("end/trace"));
    folder(&s);
    let command = || {
        fs::write(&file, "old").expect("a file");
        let mut c = Command::new(&exe);
        c.arg("again");
        under_promp(c, &[("PROMP_REPORT", text(&file)), ("PROMP_MONITOR", "trace")])
    };
    skipped(sweep(&["end/trace", "end/."], command, |ran, failed, how| {
        is_itself(ran, failed);
        let text = read(&file);
        let report = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
        let is_whole = report.get("trace").is_some_and(|t| !t.is_null());
        let said = ran.err.contains("cannot write the report");
        assert!(is_whole != said || (said && text == "old"), "{failed}: {} bytes, {ran:?}", text.len());
        assert!(
            is_whole || (text == "old" && for_good(failed, how)),
            "{failed}: {} bytes, {ran:?}",
            text.len()
        );
    }));
}

const FIRST: &str = "promp tuning 1\n";
const OTHERS: &str =
    "loop at=ab+0x10 in=f._omp_fn.0 n=2^8 threads=2 machine=M choice=guided,N/8 takes=1e-6 own=2e-6\n";

fn tuned(exe: &Path, file: &Path) -> Command {
    fs::write(file, [FIRST, OTHERS].concat()).expect("a file");
    let mut c = Command::new(exe);
    c.arg("again");
    under_promp(c, &[("PROMP_TUNE", text(file)), ("PROMP_VERBOSE", "0")])
}

/// What others have found stays in it.
#[test]
fn tuning_files() {
    let s = Scratch::new("end-tuning");
    let (exe, file) = (program(&s), s.path("end/tuning"));
    folder(&s);
    skipped(sweep(
        &["/end"],
        || tuned(&exe, &file),
        |ran, failed, how| {
            is_itself(ran, failed);
            let text = read(&file);
            assert!(
                text.starts_with(FIRST) && text.ends_with('\n') && text.contains("machine=M"),
                "{failed}: {text}"
            );
            let is_new = text.contains("in=main._omp_fn.");
            let said =
                ran.err.contains("the tuning file") && ran.err.contains(crate::common::saved::text(&file));
            assert!(is_new || (said && for_good(failed, how)), "{failed}: {text} {ran:?}");
            assert!(!is_new || !said, "{failed}: {text} {ran:?}");
            let left = fs::read_dir(s.path("end")).expect("a folder").count();
            assert!(left == 1 || failed.contains(" 263 "), "{failed}: {left} files");
        },
    ));
}

/// Two that end at the same time put their entries together: a signal while one waits for the other does not
/// have it go on without.
#[test]
fn a_lock_that_is_interrupted_is_waited_for() {
    let s = Scratch::new("end-lock");
    let (exe, file) = (program(&s), s.path("end/tuning"));
    folder(&s);
    let flock = format!("{} ", libc::SYS_flock);
    let mut whole = 0;
    for at in 0.. {
        let Some((ran, seen)) = faults::run(tuned(&exe, &file), &["/end"], at, How::Error(libc::EINTR))
        else {
            return skipped::<()>(None);
        };
        is_itself(&ran, "EINTR");
        let failed = seen.failed.unwrap_or_default();
        if at == 0 {
            whole = seen.calls;
        } else if failed.starts_with(&flock) {
            assert_eq!(seen.calls, whole + 1, "{failed}");
            return;
        }
        assert!(at <= whole, "no lock is taken: {whole} calls");
    }
}

/// What was tried to find a tool (OMP_TOOL_VERBOSE_INIT).
#[test]
fn what_was_tried_to_find_a_tool() {
    let s = Scratch::new("end-tool");
    let (exe, file) = (program(&s), s.path("end/log"));
    folder(&s);
    let command = || {
        fs::write(&file, "old\n").expect("a file");
        let set = [("OMP_TOOL_LIBRARIES", "/nowhere/tool.so"), ("OMP_TOOL_VERBOSE_INIT", text(&file))];
        under_promp(Command::new(&exe), &set)
    };
    skipped(sweep(&["end/log"], command, |ran, failed, how| {
        is_itself(ran, failed);
        let text = read(&file);
        let is_whole = text.starts_with("old\npromp: tool: ") && text.ends_with("there is none\n");
        let said = ran.err.contains("OMP_TOOL_VERBOSE_INIT=");
        assert!(is_whole || (text == "old\n" && said && for_good(failed, how)), "{failed}: {text:?} {ran:?}");
    }));
}
