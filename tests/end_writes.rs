//! What is written at a program's end, and cannot be: a full disk, a quota, a disk that fails, interrupted
//! and short writes, at each system call in turn. The program's own status and output are what they are; what
//! is missing is said; a report is whole or not there; and nobody is told that a program has ended well of
//! which that is not known.

use crate::common::at_end::*;
use crate::common::faults::How;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::process::Command;

#[test]
fn reports() {
    let s = Scratch::new("end-report");
    let (exe, file) = (program(&s), s.path("end/report"));
    fs::create_dir(s.path("end")).expect("a folder");
    let command = || {
        fs::write(&file, "old").expect("a file");
        let mut c = Command::new(&exe);
        clean(&mut c);
        c.env("LD_PRELOAD", library()).env("PROMP_REPORT", &file).env("OMP_NUM_THREADS", "2");
        c
    };
    skipped(sweep(&["end/"], command, |ran, failed, how| {
        assert_eq!((ran.status, ran.out.as_str()), (3, "499500\n"), "{failed}: {ran:?}");
        let text = read(&file);
        let is_whole = serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|r| r["regions"] == 1);
        let said = ran.err.contains("cannot write the report");
        assert!(is_whole != said || (said && text == "old"), "{failed}: {text:?} {ran:?}");
        assert!(is_whole || text == "old", "{failed}: {text:?} {ran:?}");
        assert!(is_whole || how != How::Short, "{failed}: {ran:?}");
        let left = fs::read_dir(s.path("end")).expect("a folder").count();
        assert!(left == 1 || failed.contains(" /"), "{failed}: {left} files");
    }));
}

/// The end record, and what `--resume` says of the run then.
#[test]
fn end_records() {
    let s = Scratch::new("end-record");
    let (exe, dir) = (program(&s), s.path("ckpt"));
    let run = |options: &[&str]| {
        let mut c = Command::new(promp_command());
        clean(&mut c);
        c.args(["run", "--threads", "2", "--ckpt"]).arg(&dir).args(options).arg("--").arg(&exe);
        c
    };
    let command = || {
        let _ = fs::remove_dir_all(&dir);
        run(&[])
    };
    skipped(sweep(&["ended"], command, |ran, failed, _| {
        assert_eq!((ran.status, ran.out.as_str()), (3, "499500\n"), "{failed}: {ran:?}");
        let known = fs::read_to_string(dir.join("ended")).is_ok();
        assert!(known || ran.err.contains("how the program has ended cannot be noted"), "{failed}: {ran:?}");
        let again = limited(run(&["--resume"]), LIMIT);
        let expected = if known { [3, 3] } else { [3, 71] };
        assert!(expected.contains(&again.status), "{failed}: {again:?}");
        assert!(again.status == 3 || again.err.contains("cannot be read with which status"), "{again:?}");
    }));
}

fn promp_command() -> std::path::PathBuf {
    command()
}

/// What `promp run` notes before it starts the program.
#[test]
fn run_records() {
    let s = Scratch::new("end-run");
    let (exe, dir) = (program(&s), s.path("ckpt"));
    let command = || {
        let _ = fs::remove_dir_all(&dir);
        let mut c = Command::new(promp_command());
        clean(&mut c);
        c.args(["run", "--threads", "2", "--ckpt"]).arg(&dir).arg("--").arg(&exe);
        c
    };
    skipped(sweep(&["new-run", "ckpt/run", "ckpt/owner"], command, |ran, failed, _| {
        let went_on = (ran.status, ran.out.as_str()) == (3, "499500\n");
        let refused = [64, 74].contains(&ran.status) && ran.out.is_empty() && ran.err.contains("promp: ");
        assert!(went_on || refused, "{failed}: {ran:?}");
    }));
}

/// The live file, which is memory: without it the program is measured all the same.
#[test]
fn live_files() {
    let s = Scratch::new("end-live");
    let (exe, file) = (program(&s), s.path("report"));
    let command = || {
        let _ = fs::remove_file(&file);
        let mut c = Command::new(&exe);
        clean(&mut c);
        c.env("LD_PRELOAD", library()).env("PROMP_REPORT", &file).env("OMP_NUM_THREADS", "2");
        c.env("PROMP_MONITOR", "segments");
        c
    };
    skipped(sweep(&["promp-live-"], command, |ran, failed, _| {
        assert_eq!((ran.status, ran.out.as_str()), (3, "499500\n"), "{failed}: {ran:?}");
        let report: serde_json::Value = serde_json::from_str(&read(&file)).expect("a report");
        assert!(report["segments"].as_array().is_some_and(|s| !s.is_empty()), "{failed}: {report}");
    }));
    for f in fs::read_dir("/dev/shm").expect("a folder").flatten() {
        let name = f.file_name().display().to_string();
        let pid = name.rsplit('-').next().and_then(|p| p.parse::<u32>().ok());
        // One whose removal has failed; the next program that is measured would remove it.
        if name.starts_with("promp-live-")
            && pid.is_some_and(|p| !fs::exists(format!("/proc/{p}")).is_ok_and(|e| e))
        {
            let _ = fs::remove_file(f.path());
        }
    }
}

/// Limits on the size of files: nothing of promp's ends the program.
#[test]
fn limits_on_the_size_of_files() {
    let s = Scratch::new("end-limit");
    let (exe, file) = (program(&s), s.path("report"));
    for blocks in ["0", "1", "2", "8", "64", "512"] {
        for (set, says) in [
            (&["PROMP_MONITOR=segments"][..], "no live file"),
            (&["PROMP_REPORT"], "cannot write the report"),
            (&["PROMP_REPORT", "PROMP_MONITOR=trace"], "cannot write the report"),
            (&["PROMP_CKPT_DIR"], ""),
        ] {
            let _ = (fs::remove_file(&file), fs::remove_dir_all(s.path("ckpt")));
            let mut c = Command::new("sh");
            clean(&mut c);
            // Messages and output go to pipes.
            c.args(["-c", "ulimit -f \"$0\"; exec env \"$@\"", blocks]);
            c.arg(format!("LD_PRELOAD={}", text(&library())));
            for &setting in set {
                let value = match setting {
                    "PROMP_REPORT" => format!("PROMP_REPORT={}", text(&file)),
                    "PROMP_CKPT_DIR" => format!("PROMP_CKPT_DIR={}", text(&s.path("ckpt"))),
                    _ => setting.into(),
                };
                c.arg(value);
            }
            c.args(["OMP_NUM_THREADS=2"]).arg(&exe);
            let ran = limited(c, LIMIT);
            let refused =
                set == ["PROMP_CKPT_DIR"] && ran.status == 64 && ran.err.contains("promp: PROMP_CKPT_DIR=");
            let ended = (ran.status, ran.out.as_str()) == (3, "499500\n");
            assert!(ended || refused, "{blocks} {set:?}: {ran:?}");
            if blocks == "0" && !says.is_empty() {
                assert!(ran.err.contains(says), "{blocks} {set:?}: {ran:?}");
            }
            let report = read(&file);
            assert!(
                report.is_empty() || serde_json::from_str::<serde_json::Value>(&report).is_ok(),
                "{report}"
            );
        }
    }
}

/// The same limits for what `promp run` writes itself: it says that it cannot.
#[test]
fn limits_on_the_size_of_records() {
    let s = Scratch::new("end-limit-records");
    let exe = program(&s);
    for blocks in ["0", "1", "8", "512"] {
        for options in [&["--ckpt"][..], &["--steps", "--ckpt"], &["--auto-restart", "1", "--ckpt"]] {
            let _ = fs::remove_dir_all(s.path("ckpt"));
            let mut c = Command::new("sh");
            clean(&mut c);
            c.args(["-c", "ulimit -f \"$0\"; exec \"$@\"", blocks]).arg(promp_command()).arg("run");
            c.args(options).arg(s.path("ckpt")).arg("--").arg(&exe);
            let ran = limited(c, LIMIT);
            let ended = (ran.status, ran.out.as_str()) == (3, "499500\n");
            let refused = [64, 74].contains(&ran.status) && ran.err.contains("promp: ");
            assert!(ended || refused, "{blocks} {options:?}: {ran:?}");
        }
    }
}
