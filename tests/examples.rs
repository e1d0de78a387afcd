//! The examples in docs/examples fit the tree: patches that add one of a kind, by which
//! docs/internals/contributing.md shows what such a change touches.

use crate::common::root;
use std::path::PathBuf;
use std::process::Command;

/// The patches.
fn examples() -> Vec<PathBuf> {
    let all = std::fs::read_dir(root().join("docs/examples")).expect("docs/examples");
    let all = all.map(|e| e.expect("an entry").path());
    all.filter(|p| p.extension().is_some_and(|e| e == "patch")).collect()
}

/// Asks git whether a patch could be applied to the tree as it is.
fn check(patch: &std::path::Path) -> (bool, String) {
    let mut git = Command::new("git");
    let o = git.args(["apply", "--check"]).arg(patch).current_dir(root()).output().expect("git");
    (o.status.success(), String::from_utf8_lossy(&o.stderr).into_owned())
}

#[test]
fn each_one_can_be_applied() {
    let all = examples();
    assert!(!all.is_empty(), "no example");
    for patch in all {
        let (fits, said) = check(&patch);
        assert!(fits, "{}: make it anew (`git diff >` it): {said}", patch.display());
    }
}

#[test]
fn one_that_does_not_fit_is_seen() {
    let text = std::fs::read_to_string(&examples()[0]).expect("a patch");
    let line = text.lines().find(|l| l.starts_with(' ') && l.len() > 20).expect("a line of context");
    let wrong = crate::common::out_dir().join("wrong.patch");
    std::fs::write(&wrong, text.replacen(line, " there is no such line", 1)).expect("written");
    assert!(!check(&wrong).0, "{line}");
}
