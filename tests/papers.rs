//! docs/papers.md, which `make papers` makes: every published figure has its row, no cell is empty, and a run
//! of the command goes on where it was. The figures themselves are measured, not tested.

use crate::common::*;
use std::process::Command;
use std::time::Duration;

/// What each paper says was measured: the part, what a row must name, and the published value that must
/// stand in it.
const PUBLISHED: &[(&str, &str, &str)] = &[
    ("P1", "EP, time without failures", "about 1.00"),
    ("P1", "FT, time without failures", "about 1.00"),
    ("P1", "IS, time without failures", "about 1.00"),
    ("P1", "EP, one killed in the middle, 4 threads", "25 %"),
    ("P1", "FT, one killed in the middle, 16 threads", "less with more threads"),
    ("P1", "IS, one killed in the middle, 8 threads", "less with more threads"),
    ("P1", "EP, saving state", "0.06 % (C3: 0.00 %)"),
    ("P1", "FT, saving state", "0.17 % (C3: 18.87 %)"),
    ("P1", "IS, saving state", "0.12 % (C3: 14.02 %)"),
    ("P1", "EP, restoring", "0.36 % (C3: 0.50 %)"),
    ("P1", "FT, restoring", "1.56 % (C3: 11.30 %)"),
    ("P1", "IS, restoring", "1.89 % (C3: 7.83 %)"),
    ("P2", "Jacobi 512²", ""),
    ("P2", "Jacobi 768²", ""),
    ("P2", "Jacobi 1024²", ""),
    ("P2", "avefront 64³", ""),
    ("P2", "avefront 128³", ""),
    ("P2", "avefront 256³", ""),
    ("P2", "EP S", "−99.7 to +26.2"),
    ("P2", "EP W", "−99.7 to +26.2"),
    ("P2", "EP A", "−99.7 to +26.2"),
    ("P3", "BT", "0.21 s"),
    ("P3", "CG", "0.38 s"),
    ("P3", "FT", "1.32 s"),
    ("P3", "MG", "0.67 s"),
    ("P3", "BT", "0.72 s"),
    ("P3", "CG", "0.71 s"),
    ("P3", "FT", "2.23 s"),
    ("P3", "MG", "0.54 s"),
    ("P3", "BT", "0.13 %"),
    ("P3", "CG", "0.92 %"),
    ("P3", "FT", "2.35 %"),
    ("P3", "MG", "7.53 %"),
    ("P3", "BT", "30.4 MB"),
    ("P3", "CG", "37.3 MB"),
    ("P3", "FT", "257.6 MB"),
    ("P3", "MG", "129.4 MB"),
    ("P3", "BT", "1.2 GB"),
    ("P3", "CG", "428 MB"),
    ("P3", "MG", "438 MB"),
    ("P3", "CG", "44 %"),
    ("P3", "5", "15 to 30 %"),
    ("P3", "the run takes longer by", "5 %"),
    ("P4", "eager ÷ plain", "135.6 s"),
    ("P4", "lazy, a section of calls", "80.8 s"),
    ("P4", "lazy, a section an iteration", "79.6 s"),
    ("P4", "overhead", "−75 %"),
    ("P4", "eager ÷ lazy", "2.5"),
    ("P5", "lhs", "50 %"),
    ("P5", "(W)", "7.3 %"),
    ("P5", "(S)", "16.3 %"),
    ("P5", "(A)", "−0.3 %"),
];

fn page() -> String {
    std::fs::read_to_string(root().join("docs/papers.md")).expect("docs/papers.md: `make papers` makes it")
}

/// The cells of each row of the tables in a paper's part of the page, heads left out.
fn rows(page: &str, part: &str) -> Vec<Vec<String>> {
    let begin = page.find(&format!("\n## {part}. ")).unwrap_or_else(|| panic!("no part {part}"));
    let text = &page[begin + 4..];
    let text = &text[..text.find("\n## ").unwrap_or(text.len())];
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect()
    };
    text.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| what |")).map(cells).collect()
}

#[test]
fn every_published_figure_has_its_row() {
    let page = page();
    for (part, what, value) in PUBLISHED {
        let is = |r: &Vec<String>| r[0].contains(what) && r.get(1).is_some_and(|p| p.contains(value));
        let found = rows(&page, part).iter().any(is);
        assert!(found, "{part}: no row of {what:?} with the published value {value:?}");
    }
}

#[test]
fn no_cell_is_empty_without_a_reason() {
    let page = page();
    assert!(!page.contains("not measured yet"), "a table was not measured: make papers RESUME=1");
    for part in ["P1", "P2", "P3", "P4", "P5"] {
        let rows = rows(&page, part);
        assert!(rows.len() > 8, "{part}: {} rows", rows.len());
        for row in &rows {
            assert!(row.iter().all(|cell| !cell.is_empty()), "{part}: an empty cell in {row:?}");
            let reason = row.get(2).filter(|c| c.starts_with("not run here"));
            assert!(reason.is_none_or(|c| c.len() > 22), "{part}: no reason in {row:?}");
        }
    }
}

/// Runs the command on results of the test's own.
fn papers(results: &str, args: &[&str]) -> (Run, String) {
    let dir = saved::Scratch::new("papers");
    std::fs::write(dir.path("results.json"), results).unwrap();
    let to = dir.path("page.md");
    let mut command = Command::new("python3");
    command.arg(root().join("bench/papers/make.py")).args(args);
    command.arg("--page").arg(&to).arg("--folder").arg(&dir.0);
    let run = limited(command, Duration::from_secs(60));
    (run, std::fs::read_to_string(to).unwrap_or_default())
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let eager = r#"{"text": "3.25", "value": 3.25, "spread": [3.0, 3.5], "rounds": 3}"#;
    let measured = format!(r#"{{"p4-gpu": {{"GPU eager": {eager}}}}}"#);
    let (run, page) = papers(&measured, &["--resume", "--only", "p4-gpu"]);
    assert_eq!(run.status, 0, "{}", run.err);
    let row = rows(&page, "P4").into_iter().find(|r| r[0] == "eager ÷ plain (GPU)").expect("the row");
    // A second run: 4.7 times the range of three rounds to each side.
    let kept = ["3.25", "[3.00, 3.50]", "[0.900, 5.60]", "3", "yes"];
    assert_eq!(&row[2..], kept, "what was measured is kept");
    assert!(!run.err.contains("p4-gpu:"), "measured again: {}", run.err);
}

#[test]
fn what_cannot_be_measured_here_says_why() {
    let (run, page) = papers("{}", &["--only", "p4-gpu"]);
    assert_eq!(run.status, 0, "{}", run.err);
    let row = rows(&page, "P4").into_iter().find(|r| r[0] == "eager ÷ plain (GPU)").expect("the row");
    assert!(row[2].starts_with("not run here: ") && row[2].contains("p4-gpu.txt"), "{row:?}");
}
