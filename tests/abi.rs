//! The library's dynamic symbols against the table abi/symbols.tsv, and the loader's view of it.

mod common;
use common::*;
use std::collections::BTreeSet;
use std::process::Command;

/// name@@version or name@version of every symbol the library defines.
fn exported() -> BTreeSet<String> {
    let out = Command::new("nm")
        .args(["-D", "--with-symbol-versions", "--defined-only"])
        .arg(library())
        .output()
        .expect("nm");
    String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter_map(|l| l.split_whitespace().nth(2))
        // Version nodes themselves are listed as absolute symbols named after themselves.
        .filter(|s| s.split('@').next() != s.rsplit('@').next())
        .map(str::to_string)
        .collect()
}

#[test]
fn symbols_are_those_of_the_table() {
    let table = std::fs::read_to_string(root().join("abi/symbols.tsv")).unwrap();
    let mut want = BTreeSet::new();
    for line in table.lines().filter(|l| !l.starts_with('#')) {
        let f: Vec<&str> = line.split('\t').collect();
        if f[3] == "done" {
            want.insert(match f[1].strip_prefix('@') {
                Some(old) => format!("{}@{old}", f[0]),
                None => format!("{}@@{}", f[0], f[1]),
            });
        }
    }
    assert!(want.len() > 280, "the table has shrunk to {}", want.len());
    let have = exported();
    let missing: Vec<_> = want.difference(&have).collect();
    let extra: Vec<_> = have.difference(&want).filter(|s| !s.starts_with("promp_")).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:?}, not in the table {extra:?}");
}

#[test]
fn nothing_of_ours_leaks_into_the_program() {
    let ours = [
        "promp_version",
        "promp_potential_ckpt",
        "promp_replayable",
        "promp_frags",
        "promp_recompute",
        "promp_fail",
        "promp_failures",
        "promp_stats",
    ];
    for s in exported() {
        let name = s.split('@').next().unwrap();
        assert!(
            name.starts_with("GOMP_") || name.starts_with("omp_") || ours.contains(&name),
            "{s} is exported"
        );
    }
}

#[test]
fn works_under_libgomps_name_without_a_word_from_the_loader() {
    let dir = root().join("target/as-libgomp");
    std::fs::create_dir_all(&dir).unwrap();
    let link = dir.join("libgomp.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(library(), &link).unwrap();
    for source in ["constructs/loops.c", "constructs/tasks.c", "constructs/routines.f90"] {
        let exe = build(source, &[]);
        let want = reference(&exe, &[], &[]);
        let mut c = Command::new(&exe);
        c.env("LD_LIBRARY_PATH", &dir);
        let got = limited(c, LIMIT);
        assert_eq!((got.status, got.out, got.err.as_str()), (0, want.out, ""), "{source}");
    }
}

#[test]
fn links_with_lpromp() {
    let exe = root().join("target/c-tests/linked");
    let dir = library();
    let dir = dir.parent().unwrap().to_str().unwrap();
    let src = root().join("c-tests/constructs/loops.c");
    let obj = root().join("target/c-tests/linked.o");
    build("constructs/loops.c", &[]);
    let ok = |c: &mut Command| assert!(c.status().unwrap().success());
    ok(Command::new("gcc").args(["-O2", "-fopenmp", "-w", "-c", "-o"]).arg(&obj).arg(&src));
    ok(Command::new("gcc").arg("-o").arg(&exe).arg(&obj).args([
        "-L",
        dir,
        "-lpromp",
        &format!("-Wl,-rpath,{dir}"),
    ]));
    let libs = Command::new("ldd").arg(&exe).output().unwrap();
    assert!(!String::from_utf8_lossy(&libs.stdout).contains("libgomp"));
    let want = reference(&build("constructs/loops.c", &[]), &[], &[]);
    assert_eq!(limited(Command::new(&exe), LIMIT).out, want.out);
}

#[test]
fn loading_costs_nothing_and_starts_nothing() {
    let run = promp(
        std::path::Path::new("/bin/sh"),
        &["-c", "ls /proc/self/task | wc -l; grep -c libpromp /proc/self/maps"],
        &[],
    );
    let mut lines = run.out.lines();
    assert_eq!(lines.next(), Some("1"), "{run:?}");
    assert!(lines.next().is_some_and(|n| n != "0"), "it was loaded: {run:?}");
}
