//! Programs that use promp.h or promp.f90 do without promp what they do otherwise.

use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;

const SUM: &str = "sum 249750.0\n";

/// `sources` built by `compiler`, with these options and what is linked.
fn compiled_by(name: &str, compiler: &Path, words: &[&str], sources: &[&str], linked: &[&str]) -> PathBuf {
    let (root, exe) = (root(), out_folder("header").join(name));
    let mut c = Command::new(compiler);
    c.arg(format!("-I{}", root.join("include").display())).args(["-fopenmp", "-Wall", "-Wextra", "-Werror"]);
    c.args(words).arg("-o").arg(&exe).args(sources.iter().map(|s| root.join(s))).args(linked);
    // Modules of Fortran's are written to the folder.
    c.current_dir(out_folder("header"));
    let ran = limited(c, LIMIT);
    assert_eq!(ran.status, 0, "{name}: {}", ran.err);
    exe
}

fn with_and_without(exe: &Path) {
    let alone = reference(exe, &[], &[("OMP_NUM_THREADS", "3")]);
    assert_eq!((alone.status, &*alone.out), (0, SUM), "{}: {}", exe.display(), alone.err);
    assert!(alone.err.contains("version 0 ") && alone.err.contains("fails -1"), "{}", alone.err);
    let with = promp(exe, &[], &[("OMP_NUM_THREADS", "3")]);
    assert_eq!((with.status, &*with.out), (0, SUM), "{}: {}", exe.display(), with.err);
    assert!(with.err.contains("version 100 ") && with.err.contains("fails -1"), "{}", with.err);
}

#[test]
fn in_c_and_cpp() {
    let source = ["c-tests/header/calls.c"];
    for (name, compiler, words) in [
        ("c99-O0", "gcc", &["-std=c99", "-pedantic", "-O0"][..]),
        ("c-O2", "gcc", &["-O2"]),
        ("cpp-O0", "g++", &["-x", "c++", "-std=c++11", "-pedantic", "-O0"]),
        ("cpp-O3", "g++", &["-x", "c++", "-O3", "-flto"]),
    ] {
        with_and_without(&compiled_by(name, Path::new(compiler), words, &source, &[]));
    }
}

#[test]
fn by_the_drivers() {
    let Some(cc) = driver("promp-cc") else { return };
    let source = ["c-tests/header/calls.c"];
    for (name, words) in [("cc-O2", ["-O2", "-fno-promp-runtime"]), ("cc-O0", ["-O0", "-fno-promp-runtime"])]
    {
        with_and_without(&compiled_by(name, &cc, &words, &source, &[]));
    }
}

#[test]
fn in_fortran() {
    let sources = ["include/promp.f90", "c-tests/header/stubs.f90"];
    for (name, words) in [("f-O0", "-O0"), ("f-O2", "-O2"), ("f-exports", "-rdynamic")] {
        let folder = library().parent().expect("a folder").display().to_string();
        let linked = ["-L", &folder, "-lpromp-stubs"];
        with_and_without(&compiled_by(name, Path::new("gfortran"), &[words], &sources, &linked));
    }
}
