//! The library's dynamic symbols against the table abi/symbols.tsv, and the loader's view of it.

use crate::common::*;
use std::collections::{BTreeMap, BTreeSet};
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
        assert_eq!(f.len(), 6, "{line}");
        assert!(root().join("src").join(f[4]).exists(), "{line}");
        for test in f[5].split(' ').filter(|t| *t != "conformance") {
            assert!(root().join(format!("tests/{test}.rs")).exists(), "{line}");
        }
        want.insert(match f[1].strip_prefix('@') {
            Some(old) => format!("{}@{old}", f[0]),
            None => format!("{}@@{}", f[0], f[1]),
        });
    }
    assert!(want.len() > 480, "the table has shrunk to {}", want.len());
    let have = exported();
    let missing: Vec<_> = want.difference(&have).collect();
    let extra: Vec<_> =
        have.difference(&want).filter(|s| !s.starts_with("promp_") && *s != "__gmon_start__").collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:?}, not in the table {extra:?}");
}

/// docs/internals/symbols.md is made from the table: one line a construct and version.
#[test]
fn the_documents_list_is_that_of_the_table() {
    let table = std::fs::read_to_string(root().join("abi/symbols.tsv")).unwrap();
    let mut groups: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for line in table.lines().filter(|l| !l.starts_with('#')) {
        let f: Vec<&str> = line.split('\t').collect();
        groups.entry((f[3], f[1])).or_default().push(f[0]);
    }
    let mut text = String::from(
        "# Symbols\n\nEvery symbol of libgomp 12 and of later GCCs that promp exports, by construct and version; made from abi/symbols.tsv, which\n\
         also names the first GCC, the source file and the tests. A version with a leading @ is an old, non-default one.\n\n\
         | construct | version | symbols |\n|---|---|---|\n",
    );
    for ((construct, version), names) in &groups {
        let names: Vec<_> = names.iter().map(|n| format!("`{n}`")).collect();
        text += &format!("| {construct} | {version} | {} |\n", names.join(" "));
    }
    let path = root().join("docs/internals/symbols.md");
    if std::env::var_os("PROMP_WRITE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(have == text, "docs/internals/symbols.md is not what the table says: run `make docs`");
}

#[test]
fn nothing_of_ours_leaks_into_the_program() {
    let list = std::fs::read_to_string(root().join("abi/own.txt")).expect("abi/own.txt");
    let ours: Vec<&str> = list.lines().collect();
    for s in exported() {
        let name = s.split('@').next().unwrap();
        assert!(
            ["GOMP_", "GOACC_", "omp_", "acc_"].iter().any(|p| name.starts_with(p)) || ours.contains(&name),
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
    let exe = out_dir().join("linked");
    let dir = library();
    let dir = dir.parent().unwrap().to_str().unwrap();
    let src = root().join("c-tests/constructs/loops.c");
    let obj = out_dir().join("linked.o");
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

/// Every further library would be loaded into every program.
#[test]
fn needs_only_libc() {
    let out = Command::new("readelf").args(["-d", "-W"]).arg(library()).output().expect("readelf");
    let text = String::from_utf8_lossy(&out.stdout);
    let needed: Vec<&str> =
        text.lines().filter(|l| l.contains("(NEEDED)")).filter_map(|l| l.split(['[', ']']).nth(1)).collect();
    let other: Vec<_> =
        needed.iter().filter(|n| !["libc.so.6", "ld-linux-x86-64.so.2"].contains(n)).collect();
    assert!(needed.contains(&"libc.so.6") && other.is_empty(), "{needed:?}");
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
