//! What becomes of a measured program when its live file is cut, made longer, removed or replaced, or when
//! the program closes it: it goes on, and its report has all of it.

use crate::common::jobs::wait;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// 50 visits, a wait for a file, 50 visits. "closes": all descriptors that it does not know, before that.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int n = 0;
    for (int i = 0; i < 100; i++) {
#pragma omp parallel for reduction(+ : n)
        for (int k = 0; k < 100; k++)
            n += k;
        if (i == 0 && argc > 2)
            closefrom(3);
        if (i == 0)
            puts("waits"), fflush(stdout);
        while (i == 50 && access(argv[1], F_OK))
            usleep(1000);
    }
    printf("%d\n", n);
    return 3;
}
"#;

fn live_path(pid: u32) -> PathBuf {
    // SAFETY: no pointers.
    promp_report::live::path(unsafe { libc::geteuid() }, pid).into()
}

/// Runs the program, does `harm` to its live file while it waits; what `promp top` says then.
fn harmed(name: &str, closes: bool, harm: impl Fn(&Path)) -> Run {
    let s = Scratch::new(&format!("live-{name}"));
    let exe = compiled("live_file", "waits", PROGRAM, &["-O1", "-fopenmp"]);
    let (go, report) = (s.path("go"), s.path("report"));
    let mut c = Command::new(&exe);
    clean(&mut c);
    c.arg(&go).args(closes.then_some("closes"));
    c.env("LD_PRELOAD", library()).env("OMP_NUM_THREADS", "2");
    c.env("PROMP_MONITOR", "segments").env("PROMP_REPORT", &report);
    c.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = c.spawn().expect("the program");
    let path = live_path(child.id());
    wait("the live file", || fs::symlink_metadata(&path).is_ok());
    // It has made its first visit, and waits or will.
    std::thread::sleep(Duration::from_millis(100));
    harm(&path);
    let mut top = Command::new(command());
    clean(&mut top);
    top.args(["top", "--once", &child.id().to_string()]);
    let top = limited(top, LIMIT);
    fs::write(&go, "").expect("a file");
    let end = ended(child, LIMIT);
    let _ = fs::remove_file(&path);
    assert_eq!(end.status, 3, "{name}: {}", end.err);
    assert!(end.out.ends_with("495000\n"), "{name}: {end:?}");
    let report: serde_json::Value = serde_json::from_str(&read(&report)).expect("a report");
    let visits = report["segments"].as_array().expect("segments").iter().map(|s| s["visits"].as_u64());
    assert_eq!(visits.flatten().max(), Some(100), "{name}: {report}");
    top
}

fn set_len(path: &Path, bytes: u64) {
    let file = fs::OpenOptions::new().write(true).open(path);
    let _ = file.and_then(|f| f.set_len(bytes));
}

#[test]
fn it_cannot_be_cut() {
    for bytes in [0, 1, 100, 4096, 65536, 1 << 30] {
        let top = harmed(&format!("{bytes}"), false, |path| set_len(path, bytes));
        assert!(top.status == 0 && top.out.contains("regions"), "{bytes}: {top:?}");
    }
    let top = harmed("created", false, |path| drop(fs::File::create(path)));
    assert_eq!(top.status, 0, "{top:?}");
}

#[test]
fn it_may_go() {
    let top = harmed("removed", false, |path| fs::remove_file(path).expect("removed"));
    assert!(top.status == 66 && top.err.contains("is not measured"), "{top:?}");
    let top = harmed("replaced", false, |path| {
        fs::remove_file(path).and_then(|()| fs::write(path, "something else")).expect("replaced")
    });
    assert!(top.status == 65 && top.err.contains("not a live file"), "{top:?}");
    let top = harmed("elsewhere", false, |path| {
        fs::remove_file(path).expect("removed");
        std::os::unix::fs::symlink("/etc/passwd", path).expect("replaced")
    });
    assert!(top.status == 66 && top.err.contains("cannot be read"), "{top:?}");
    let top = harmed("closed", true, |_| ());
    assert!(top.status == 66 && top.err.contains("the program has closed it"), "{top:?}");
}
