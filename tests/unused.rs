//! Runs in which nothing of OpenMP happens: whoever asked for something hears so at the end, and the report
//! says so; nobody else hears anything.

use crate::common::saved::{Scratch, command, read, text};
use crate::common::*;
use std::process::Command;

fn promp(args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut c = Command::new(command());
    clean(&mut c);
    c.args(args).envs(env.iter().copied());
    limited(c, LIMIT)
}

fn one_region() -> String {
    let source = "int main(void) {
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n += 1;
    return n < 1;
}";
    text(&compiled("unused", "region", source, &["-fopenmp"])).to_owned()
}

/// It asks the runtime something, and has no region.
fn asks() -> String {
    let source = "#include <omp.h>
int main(void) { return omp_get_max_threads() < 1; }";
    text(&compiled("unused", "asks", source, &["-fopenmp"])).to_owned()
}

/// Nobody can know before what `env` and shells start.
#[test]
fn nothing_happened() {
    let s = Scratch::new("unused");
    let (dir, report) = (s.path("ckpt"), s.path("report.json"));
    let asks = asks();
    for command in [&["env", "true"][..], &["bash", "-c", ":"], &["bash", "-c", "exec true"], &[&asks]] {
        for (options, env, words) in [
            (&["--report", text(&report)][..], &[][..], &["nothing in the report", "--report"][..]),
            (&["--monitor"], &[], &["no measurements", "--monitor"]),
            (&["--fault", "kill"], &[], &["--fault"]),
            (&[], &[("PROMP_TUNE", "on")], &["no tuning"]),
            (&["--ckpt", text(&dir)], &[], &["no checkpoints", "--ckpt"]),
            (&["--ckpt", text(&dir), "--monitor"], &[], &["no measurements"]),
        ] {
            let _ = std::fs::remove_file(&report);
            let run = promp(&[&["run"], options, &["--"], command].concat(), env);
            let what = format!("{command:?} {options:?} {env:?}: {run:?}");
            assert!(run.status == 0 && run.out.is_empty(), "{what}");
            // It has used the runtime: checkpoints were possible, and what became of the fault is said.
            let used =
                command == [&asks] && !(options.contains(&"--monitor") || options.contains(&"--report"));
            if used && (options.contains(&"--ckpt") || options.contains(&"--fault")) {
                assert!(!run.err.contains("has ended, and"), "{what}");
                continue;
            }
            assert_eq!(run.err.matches("has ended, and").count(), 1, "{what}");
            for w in words.iter().filter(|_| command != [&asks]) {
                assert!(run.err.contains(w), "{w}: {what}");
            }
            if options.contains(&"--report") {
                let json: serde_json::Value = serde_json::from_str(&read(&report)).expect("a report");
                assert_eq!(json["regions"], 0, "{json}");
                let why = if command == [&asks] { "no parallel region" } else { "not called" };
                assert!(json["why"].as_str().is_some_and(|w| w.contains(why)), "{json}");
                let shown = promp(&["report", text(&report)], &[]);
                assert!(shown.status == 0 && shown.out.contains(why), "{shown:?}");
            }
        }
    }
}

#[test]
fn nothing_was_asked_for_or_something_happened() {
    let s = Scratch::new("used");
    let (dir, report) = (s.path("ckpt"), s.path("report.json"));
    let (asks, region) = (asks(), one_region());
    let (twice, before) = (format!("{region}; {region}"), format!("{region}; {asks}"));
    let runs: [(&[&str], &[&str]); 10] = [
        (&[], &["env", "true"]),
        (&[], &[&asks]),
        (&["--report", text(&report)], &[&region]),
        (&["--ckpt", text(&dir)], &[&region]),
        (&["--monitor"], &["env", &region]),
        // Who has started others does not know what they have done.
        (&["--monitor"], &["sh", "-c", &twice]),
        (&["--report", text(&report)], &["sh", "-c", &twice]),
        (&["--report", text(&report)], &["bash", "-c", &before]),
        (&["--monitor"], &["bash", "-c", &before]),
        (&["--fault", "kill@region=7,thread=9"], &["sh", "-c", "ls / >/dev/null; ls / >/dev/null; :"]),
    ];
    for (options, command) in runs {
        let _ = std::fs::remove_file(&report);
        let run = promp(&[&["run"], options, &["--"], command].concat(), &[]);
        assert!(run.status == 0 && !run.err.contains("has ended, and"), "{command:?} {options:?} {run:?}");
        if options.contains(&"--report") {
            let json: serde_json::Value = serde_json::from_str(&read(&report)).expect("a report");
            assert!(json["why"].is_null() && json["regions"] == 1, "{command:?} {json}");
        }
    }
}

/// Of reports it is known: nobody has written one.
#[test]
fn a_script_without_openmp_has_a_report_that_says_so() {
    let s = Scratch::new("unused-script");
    let report = s.path("report.json");
    std::fs::write(&report, "an older one").expect("a file");
    std::thread::sleep(std::time::Duration::from_millis(20));
    let run = promp(
        &["run", "--report", text(&report), "--", "bash", "-c", "ls / >/dev/null; ls / >/dev/null; :"],
        &[],
    );
    assert!(
        run.status == 0 && run.err.contains("no process that it has started has written a report"),
        "{run:?}"
    );
    assert!(read(&report).contains("\"regions\": 0"), "{}", read(&report));
}

/// What has been said before the start is not said again; the report is written.
#[test]
fn what_was_said_is_said_once() {
    let s = Scratch::new("unused-said");
    let report = s.path("report.json");
    let plain = compiled("unused", "plain", "int main(void) { return 0; }", &[]);
    let run = promp(&["run", "--report", text(&report), "--", text(&plain)], &[]);
    assert!(run.status == 0 && run.err.contains("uses no OpenMP"), "{run:?}");
    assert_eq!(run.err.lines().count(), 1, "{run:?}");
    assert!(read(&report).contains("\"regions\": 0"), "{}", read(&report));
    let quiet = promp(&["run", "--monitor", "--", "env", "true"], &[("PROMP_VERBOSE", "0")]);
    assert!(quiet.status == 0 && quiet.err.is_empty(), "{quiet:?}");
    // Nor do those speak that others have started.
    let mut c = Command::new("sh");
    clean(&mut c);
    c.args(["-c", "true; env true"]).env("LD_PRELOAD", library()).env("PROMP_MONITOR", "segments");
    let run = limited(c, LIMIT);
    assert!(run.status == 0 && run.err.is_empty(), "{run:?}");
}

/// LLVM's runtime, found late: the report says which one was there.
#[test]
fn another_runtime_is_named() {
    let own = compiled("unused", "libomp.so.5", "void __kmpc_barrier(void) {}", &["-shared", "-fPIC"]);
    let source = "#include <dlfcn.h>
int main(int c, char **v) { return !dlopen(v[1], RTLD_NOW); }";
    let exe = compiled("unused", "late", source, &["-ldl"]);
    let run = promp(&["run", "--monitor", "--", text(&exe), text(&own)], &[]);
    assert!(run.status == 0 && run.err.contains("libomp.so.5, whose place promp does not take"), "{run:?}");
}
