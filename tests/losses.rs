//! What a run says of its largest loss, of programs whose loss is known (c-tests/losses).

use crate::common::draws::Draws;
use crate::common::*;
use promp_report::{Loss, Report};
use std::path::PathBuf;
use std::process::Command;

fn cli(args: &[&str]) -> Run {
    let mut c = Command::new(library().with_file_name("promp"));
    clean(&mut c);
    c.args(args);
    limited(c, LIMIT)
}

/// The program measured with two threads, by `launcher`: its report's file, and what it has lost.
fn losses(program: &str, launcher: &[&str]) -> (PathBuf, Vec<Loss>) {
    let exe = build(&format!("losses/{program}.c"), &["-g"]);
    let file = out_folder("losses").join(format!("{program}.json"));
    let (exe, report) = (exe.to_str().unwrap(), file.to_str().unwrap());
    let run = ["run", "--monitor", "--threads", "2", "--report", report, "--"];
    let ran = cli(&[&run[..], launcher, &[exe]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    let json = cli(&["report", report, "--json"]).out;
    let r: Report = serde_json::from_str(&json).expect("a report");
    (file, r.efficiency.expect("measured").losses)
}

/// What the machine does to a program: others have its CPUs.
fn is_the_machines(l: &Loss) -> bool {
    ["stolen CPU", "late threads"].contains(&l.cause.as_str())
}

/// The largest loss, but for what the machine does, is this one; and on a machine that does nothing to it the
/// sentence on top names it.
fn names(program: &str, cause: &str, words: &str) {
    let (mut right, mut draws, mut seen) = (false, Draws::between(1, 20), Vec::new());
    while draws.next(right).is_some() {
        let (file, all) = losses(program, &[]);
        let own = all.iter().find(|l| !is_the_machines(l));
        right = own.is_some_and(|l| l.cause == cause && l.share > 0.05);
        let Some(first) = all.first() else { continue };
        assert!(all.iter().all(|l| l.share <= first.share), "{program}: {all:?}");
        let text = cli(&["report", file.to_str().unwrap()]).out;
        assert!(text.contains(&format!("most lost  {}", first.text)), "{program}: {text}");
        if right {
            assert!(own.is_some_and(|l| l.text.contains(words)), "{program}: {all:?}");
        }
        let page = cli(&["report", file.to_str().unwrap(), "--html", "-"]).out;
        let sentence = page.split("class=\"verdict\"").nth(1).and_then(|t| t.split("</p>").next());
        let first = first.text.replace('\'', "&#39;");
        assert!(
            sentence.is_some_and(|s| s.replace('\'', "&#39;").contains(&first)),
            "{program}: {sentence:?}"
        );
        seen.push(all);
    }
    assert!(right, "{program}: {seen:#?}");
}

#[test]
fn uneven_work() {
    names("uneven", "uneven work", "uneven work in main (uneven.c:");
}

#[test]
fn tiny_regions() {
    names("tiny", "short regions", "60000 visits in main (tiny.c:");
}

#[test]
fn serial_code() {
    names("serial", "serial code", "while one thread works: serial code in main");
}

#[test]
fn a_lock() {
    names("lock", "locks", "waits for locks, critical or ordered sections in main (lock.c:");
}

#[test]
fn cpus_that_are_not_there() {
    let (_, all) = losses("even", &["taskset", "-c", &an_allowed_cpu()]);
    assert!(all.first().is_some_and(is_the_machines), "{all:?}");
    let stolen = all.iter().find(|l| l.cause == "stolen CPU");
    assert!(stolen.is_some_and(|l| l.share > 0.2 && l.text.contains("someone else's")), "{all:?}");
}

/// One that this process may use.
fn an_allowed_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let list = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).expect("a list of CPUs");
    list.trim().split(['-', ',']).next().expect("a CPU").to_owned()
}
