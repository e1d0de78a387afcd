//! The examples in docs/examples fit the tree: patches that add one of a kind, by which
//! docs/internals/contributing.md shows what such a change touches: its file, its rows, its test, and what is
//! made from tables. With PROMP_TEST_LONG the tree that has it is built, and its tests are run there.

use crate::common::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A patch, and what it may touch.
struct Example {
    name: &'static str,
    /// Where what it does stands.
    own: &'static [&'static str],
    /// Tables that name it: lines come to them, none changes.
    rows: &'static [&'static str],
    /// Its test: likewise.
    tests: &'static [&'static str],
    /// Made from the tables (`make docs`).
    made: &'static [&'static str],
    /// Unit tests of its own, or that hold tables against documents: a package, and a part of names.
    units: &'static [(&'static str, &'static str)],
    /// Tests of whole programs, of which some go through the table.
    checks: &'static [&'static str],
}

const EXAMPLES: [Example; 5] = [
    Example {
        name: "event",
        own: &["src/entry/alloc.rs"],
        rows: &["crates/omp/src/observe/event.rs"],
        tests: &["c-tests/observe/events.c", "tests/observe.rs"],
        made: &[],
        units: &[],
        checks: &["observe::"],
    },
    Example {
        name: "fault",
        own: &[],
        rows: &["crates/values/src/fault_kinds.rs"],
        tests: &["tests/recovery.rs"],
        made: &["docs/environment.md"],
        units: &[("promp-values", "fault_kinds"), ("promp-settings", "page")],
        checks: &["recovery::bus_errors", "recovery::each_kind_of_fault"],
    },
    Example {
        name: "resource",
        own: &["crates/ckpt/src/resources/autogroup.rs"],
        rows: &[
            "crates/ckpt/src/resources/attributes/tests.rs",
            "crates/ckpt/src/resources/mod.rs",
            "crates/ckpt/src/resources/table.rs",
            "crates/image/src/about.rs",
        ],
        tests: &[],
        made: &["docs/internals/attributes.md"],
        units: &[("promp-ckpt", "resources::"), ("promp-image", "")],
        checks: &["kernel_state::"],
    },
    Example {
        name: "schedule",
        own: &["crates/values/src/schedules/trapezoid.rs"],
        rows: &["crates/values/src/schedules/mod.rs"],
        tests: &[],
        made: &[],
        units: &[("promp-values", "schedules")],
        checks: &["constructs::loops", "recovery::each_kind_of_schedule", "tuner::"],
    },
    Example {
        name: "setting",
        own: &["crates/recover/src/stop.rs"],
        rows: &["crates/settings/src/catalogue.rs"],
        tests: &["c-tests/ft/transient.c", "tests/robustness.rs"],
        made: &["docs/environment.md"],
        units: &[("promp-settings", "")],
        checks: &["robustness::"],
    },
];

impl Example {
    fn patch(&self) -> PathBuf {
        root().join("docs/examples").join(self.name).with_extension("patch")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.patch()).expect(self.name)
    }
}

/// A patch as git says it: of each file how many lines come, and how many go.
fn touched(patch: &Path) -> Vec<(u32, u32, String)> {
    let mut git = Command::new("git");
    let o = git.args(["apply", "--numstat"]).arg(patch).current_dir(root()).output().expect("git");
    assert!(o.status.success(), "{}: {}", patch.display(), String::from_utf8_lossy(&o.stderr));
    let lines = String::from_utf8(o.stdout).expect("UTF-8");
    let number = |text: Option<&str>| text.and_then(|n| n.parse().ok()).expect("a number of lines");
    let row = |line: &str| {
        let mut parts = line.split('\t');
        (number(parts.next()), number(parts.next()), parts.next().expect("a path").to_owned())
    };
    lines.lines().map(row).collect()
}

/// Asks git whether a patch could be applied to the tree as it is.
fn check(patch: &Path) -> (bool, String) {
    let mut git = Command::new("git");
    let o = git.args(["apply", "--check"]).arg(patch).current_dir(root()).output().expect("git");
    (o.status.success(), String::from_utf8_lossy(&o.stderr).into_owned())
}

#[test]
fn all_are_listed() {
    let entries = fs::read_dir(root().join("docs/examples")).expect("docs/examples");
    let there: BTreeSet<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    assert_eq!(there, EXAMPLES.iter().map(Example::patch).collect());
}

#[test]
fn each_one_can_be_applied() {
    for e in &EXAMPLES {
        let (fits, said) = check(&e.patch());
        assert!(fits, "{}: make it anew (`git diff >` it): {said}", e.name);
    }
}

#[test]
fn one_that_does_not_fit_is_seen() {
    for e in &EXAMPLES {
        let text = e.text();
        let line = text.lines().find(|l| l.starts_with(' ') && l.len() > 20).expect("a line of context");
        let wrong = out_dir().join("wrong.patch");
        fs::write(&wrong, text.replacen(line, " there is no such line", 1)).expect("written");
        assert!(!check(&wrong).0, "{}: {line}", e.name);
    }
}

/// It touches its own file, its rows, its test, what is made from tables, and nothing else.
#[test]
fn each_one_touches_its_file_its_rows_and_its_test() {
    for e in &EXAMPLES {
        let mut may = [e.own, e.rows, e.tests, e.made].concat();
        may.sort_unstable();
        let touched = touched(&e.patch());
        let mut files: Vec<&str> = touched.iter().map(|(_, _, file)| &**file).collect();
        files.sort_unstable();
        assert_eq!(files, may, "{}", e.name);
        for (_, gone, file) in &touched {
            let only_more = [e.rows, e.tests].concat().contains(&&**file);
            assert!(!only_more || *gone == 0, "{}: {file}: {gone} lines of others change", e.name);
        }
    }
}

/// A copy of the tree as it is, in which only what differs is written: what was built there is built anew as
/// far as it must be.
fn copied(to: &Path) {
    let mut git = Command::new("git");
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let o = git.args(list).current_dir(root()).output().expect("git");
    let names = String::from_utf8(o.stdout).expect("UTF-8");
    let names: BTreeSet<&str> = names.split_terminator('\0').collect();
    let of_patches = EXAMPLES.iter().flat_map(|e| touched(&e.patch())).map(|(_, _, file)| file);
    of_patches.filter(|f| !names.contains(&**f)).for_each(|f| drop(fs::remove_file(to.join(f))));
    for (name, from) in names.iter().map(|name| (name, root().join(name))) {
        let Ok(content) = fs::read(&from) else { continue };
        let file = to.join(name);
        if fs::read(&file).is_ok_and(|now| now == content) {
            continue;
        }
        fs::create_dir_all(file.parent().expect("a folder")).expect("target is writable");
        fs::copy(&from, &file).expect("copied");
    }
}

/// Runs a command in the tree that has the patch.
#[track_caller]
fn works(tree: &Path, command: &str, args: &[&str]) -> String {
    let mut c = Command::new(command);
    // For git it is no part of this repository, which has a name for it that is to be ignored.
    c.args(args).current_dir(tree).env("GIT_CEILING_DIRECTORIES", out_dir()).env_remove("PROMP_TEST_LONG");
    let run = limited(c, Duration::from_secs(3600));
    assert_eq!((run.status, run.hung), (0, false), "{command} {args:?}: {}{}", run.out, run.err);
    run.out
}

/// With PROMP_TEST_LONG; PROMP_TEST_ONLY=fault is for that one.
#[test]
fn each_one_works() {
    if !long() {
        println!("SKIPPED: five trees are built: with PROMP_TEST_LONG");
        return;
    }
    let tree = out_folder("examples");
    for e in EXAMPLES.iter().filter(|e| is_asked_for(&e.patch())) {
        copied(&tree);
        works(&tree, "git", &["apply", e.patch().to_str().expect("UTF-8")]);
        works(&tree, "make", &["-s", "build", "plugin"]);
        for (package, part) in e.units {
            works(&tree, "cargo", &["test", "-q", "--profile", "checks", "-p", package, part]);
        }
        for part in e.checks {
            works(&tree, "python3", &["tools/test.py", "--group", "checks", part]);
        }
    }
    copied(&tree);
}
