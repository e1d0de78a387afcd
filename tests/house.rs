//! The checks of the house itself.

mod common;

use common::root;
use std::path::Path;
use std::process::{Command, Output};

/// Runs one of the project's checks in `folder`.
fn check(tool: &str, args: &[&str], folder: &Path) -> Output {
    let mut c = Command::new("python3");
    c.arg(root().join("tools").join(tool)).args(args).current_dir(folder);
    c.output().expect("python3")
}

/// A copy of `src` in a folder of its own, with `text` in front of `file`.
fn copied(name: &str, file: &str, text: &str) -> std::path::PathBuf {
    let to = root().join("target/house").join(name);
    let _ = std::fs::remove_dir_all(&to);
    std::fs::create_dir_all(&to).expect("target is writable");
    let copy = Command::new("cp").arg("-r").arg(root().join("src")).arg(&to).status();
    assert!(copy.expect("cp").success());
    let path = to.join("src").join(file);
    let old = std::fs::read_to_string(&path).expect("a source file");
    std::fs::write(&path, format!("{text}\n{old}")).expect("target is writable");
    to.join("src")
}

#[test]
fn the_layers_are_kept() {
    let o = check("layers.py", &[], root());
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stdout));
}

#[test]
fn an_upward_arrow_is_seen() {
    for (i, (file, text, named)) in [
        ("sys/time.rs", "use crate::entry::omp;", "src/sys/time.rs names entry/"),
        ("icv/parse.rs", "use crate::{sys::futex, work::{loops, site}};", "src/icv/parse.rs names work/"),
        ("work/pace.rs", "fn f() { crate::ckpt::first() }", "src/work/pace.rs names ckpt/"),
    ]
    .into_iter()
    .enumerate()
    {
        let src = copied(&format!("up{i}"), file, text);
        let o = check("layers.py", &["--source", src.to_str().expect("UTF-8")], root());
        let said = String::from_utf8_lossy(&o.stdout).into_owned();
        assert!(!o.status.success() && said.contains(named), "{text}: {said}");
    }
}

#[test]
fn a_downward_arrow_and_a_comment_are_not_faults() {
    for (i, (file, text)) in [
        ("entry/omp.rs", "use crate::sys::futex as _;"),
        ("sys/time.rs", "// use crate::entry::omp;"),
        ("work/pace.rs", "use crate::task::count as _;"),
    ]
    .into_iter()
    .enumerate()
    {
        let src = copied(&format!("down{i}"), file, text);
        let o = check("layers.py", &["--source", src.to_str().expect("UTF-8")], root());
        assert!(o.status.success(), "{text}: {}", String::from_utf8_lossy(&o.stdout));
    }
}
