//! `promp report DIR`: the reports of a job array in one table.

use crate::common::*;
use promp_report::{Checkpoint, Efficiency, Failure, Report};
use std::path::{Path, PathBuf};
use std::process::Command;

fn cli(args: &[&str]) -> Run {
    let mut c = Command::new(library().with_file_name("promp"));
    clean(&mut c);
    c.arg("report").args(args);
    limited(c, LIMIT)
}

/// A folder of its own.
fn folder(name: &str) -> PathBuf {
    let at = out_folder("job-array").join(name);
    let _ = std::fs::remove_dir_all(&at);
    std::fs::create_dir_all(&at).expect("a folder");
    at
}

fn write(at: &Path, r: &Report) {
    std::fs::create_dir_all(at.parent().expect("a folder")).expect("a folder");
    std::fs::write(at, serde_json::to_string(r).unwrap()).expect("room for a report");
}

/// That of task `i`.
fn report(i: u32) -> Report {
    Report {
        program: "/bin/heat".into(),
        threads: 4,
        wall_s: 10.0 + f64::from(i),
        regions: 100,
        failures: vec![Failure { recovery: "recompute".into(), ..Failure::default() }; (i % 3) as usize],
        checkpoints: vec![Checkpoint { stop_s: 0.01, ..Checkpoint::default() }; 2],
        efficiency: Some(Efficiency { parallel: 0.5, load_balance: 0.6, ..Efficiency::default() }),
        ..Report::default()
    }
}

/// The first words of the table's rows.
fn names(run: &Run) -> Vec<&str> {
    let rows = run.out.lines().skip(1).take_while(|l| !l.is_empty());
    rows.filter_map(|l| l.split_whitespace().next()).collect()
}

#[test]
fn a_folder_of_reports() {
    let at = folder("flat");
    for i in [1, 2, 10, 9] {
        write(&at.join(format!("{i}.json")), &report(i));
    }
    std::fs::write(at.join("other.json"), "{}").unwrap();
    std::fs::write(at.join("heat.log"), "a log").unwrap();
    let run = cli(&[at.to_str().unwrap()]);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(names(&run), ["1.json", "2.json", "9.json", "10.json"], "{}", run.out);
    for word in [
        "failures",
        "survived",
        "checkpoints",
        "parallel efficiency",
        "4 runs of /bin/heat",
        "the median 19.0 s",
    ] {
        assert!(run.out.contains(word), "{word}: {}", run.out);
    }
    // What is the same for all, or for none, has no column.
    assert!(!run.out.contains("program") && !run.out.contains("most lost"), "{}", run.out);
    let json = cli(&[at.to_str().unwrap(), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(4));
    assert_eq!(json[3]["report"]["wall_s"], 20.0);
}

#[test]
fn folders_in_folders_and_files_that_are_named() {
    let at = folder("deep");
    write(&at.join("task1/report.json"), &report(1));
    write(&at.join("task2/report.json"), &Report { program: "/bin/other".into(), ..report(2) });
    let run = cli(&[at.to_str().unwrap()]);
    assert_eq!(names(&run), ["task1/report.json", "task2/report.json"], "{}", run.out);
    assert!(run.out.contains("program") && run.out.contains("other"), "{}", run.out);
    let [a, b] = [1, 2].map(|i| at.join(format!("task{i}/report.json")).display().to_string());
    let run = cli(&[&b, &a]);
    assert_eq!((run.status, names(&run).len()), (0, 2), "{run:?}");
    let several = cli(&[&a, &b, "--html", "-"]);
    assert!(several.status == 64 && several.err.contains("--html is about one report"), "{several:?}");
    // One file is a report as ever.
    assert!(cli(&[&a]).out.starts_with("program    /bin/heat"));
}

#[test]
fn what_is_none_is_said() {
    let at = folder("none");
    let run = cli(&[at.to_str().unwrap()]);
    assert!(run.status == 66 && run.err.contains("has no report"), "{run:?}");
    std::fs::write(at.join("x.json"), "[1]").unwrap();
    let run = cli(&[at.to_str().unwrap()]);
    assert!(run.status == 66 && run.err.contains("1 are none of promp's"), "{run:?}");
    write(&at.join("y.json"), &report(0));
    let gone = at.join("gone.json");
    let run = cli(&[at.to_str().unwrap(), gone.to_str().unwrap()]);
    assert!(run.status == 66 && run.err.contains("gone.json"), "{run:?}");
    let broken = at.join("x.json");
    let run = cli(&[at.to_str().unwrap(), broken.to_str().unwrap()]);
    assert!(run.status == 65 && run.err.contains("x.json is not a promp report"), "{run:?}");
}
