//! Files that others have written: reports, tuning files, plans. The command ends soon, says what is wrong,
//! and sends nothing to the terminal that would change it.

use crate::common::hostile::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::Path;

/// A report of a program with a loop.
fn report(s: &Scratch) -> String {
    let file = s.path("report");
    let set = [("PROMP_REPORT", text(&file)), ("PROMP_MONITOR", "segments"), THREADS];
    let ran = promp(&build("ckpt/streams.c", &[]), &["never"], &set);
    assert_eq!(ran.status, 0, "{}", ran.err);
    read(&file)
}

fn pipe(path: &Path) {
    let name = std::ffi::CString::new(text(path)).expect("a name");
    // SAFETY: a C string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
}

#[test]
fn modules_that_never_end() {
    let s = Scratch::new("modules");
    let good = report(&s);
    let (_, behind) = good.split_once("\"module\": \"").expect("a module");
    let (module, _) = behind.split_once('"').expect("its end");
    assert!(module.contains("streams"), "{module}");
    let fifo = s.path("fifo");
    pipe(&fifo);
    for other in ["/dev/zero", "/dev/tty", "/dev/full", "/", "/proc/kmsg", "a\u{1b}]0;x\u{7}", text(&fifo)] {
        let file = s.path("changed");
        let escaped = serde_json::to_string(other).expect("a text");
        fs::write(&file, good.replace(&format!("\"{module}\""), &escaped)).expect("a file");
        for view in [&["report"][..], &["report", "--segments", "9"], &["report", "--explain"]] {
            run(&[view, &[text(&file)]].concat());
        }
        let html = s.path("html");
        run(&["report", "--html", text(&html), text(&file)]);
    }
}

#[test]
fn reports_that_never_end() {
    for args in [&["report", "/dev/zero"][..], &["plan", "/dev/zero"], &["tune", "--show", "/dev/zero"]] {
        let run = run(args);
        assert!([64, 65, 66].contains(&run.status), "{args:?}: {run:?}");
    }
}

#[test]
fn names_that_a_terminal_would_obey() {
    let s = Scratch::new("names");
    let good = report(&s);
    let file = s.path("changed");
    let bad = "\\u001b[2J\\u001b]0;owned\\u0007\\u009b31m\u{9b}31m\\r\\b";
    let program: serde_json::Value = serde_json::from_str(&good).expect("a report");
    let program = program["program"].as_str().expect("a program");
    fs::write(&file, good.replace(program, bad)).expect("a file");
    for view in [&["report"][..], &["report", "--explain"], &["report", "--json"]] {
        let run = run(&[view, &[text(&file)]].concat());
        assert_eq!(run.status, 0, "{run:?}");
        assert!(!run.out.contains(['\u{9b}', '\u{8}', '\r']), "{view:?}: {run:?}");
    }
}

/// Any byte may be another one, and any part may be missing.
#[test]
fn mutated_reports() {
    let s = Scratch::new("mutated");
    let good = report(&s).into_bytes();
    let file = s.path("changed");
    let mut rng = Seeded(7);
    for _ in 0..rounds(60) {
        let bytes = mutated(&good, b"0123456789-e{}[],:\"", &mut rng);
        fs::write(&file, &bytes).expect("a file");
        let run = run(&["report", text(&file)]);
        assert!([0, 65, 66].contains(&run.status), "{run:?}");
    }
}
