//! Every function of promp.h, in C99, C++11, Fortran and Python, under promp, under libgomp without it, and
//! linked with it: a process for each cell, which returns what docs/api.md says, and computes what it does
//! otherwise.

use crate::common::prefix::python_site;
use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A function: the number that comes of it (c-tests/header/table.c) with the runtime, and without.
struct Row {
    function: &'static str,
    with: &'static str,
    without: &'static str,
    /// Thread 1 is killed meanwhile: by the function itself, or as it is set.
    killed: bool,
}

const fn row(function: &'static str, with: &'static str, without: &'static str) -> Row {
    Row { function, with, without, killed: false }
}

const fn killed(function: &'static str, with: &'static str, without: &'static str) -> Row {
    Row { function, with, without, killed: true }
}

/// One failure that was recovered: 100 + 10 · PROMP_KILL + 1.
const TABLE: [Row; 14] = [
    row("promp_version", "100", "0"),
    row("promp_present", "1", "0"),
    row("promp_potential_ckpt", "0", "0"),
    row("promp_dead", "0", "0"),
    // Without it the run would be refused (70).
    killed("promp_replayable", "0", "0"),
    row("promp_frags", "0", "0"),
    row("promp_recompute", "0", "0"),
    row("promp_sdc_checkpoint", "0", "0"),
    row("promp_sdc_detect", "0", "0"),
    killed("promp_fail", "0", "-1"),
    killed("promp_failures", "111", "0"),
    killed("promp_failures_sized", "111", "0"),
    // Regions; where nothing is written there is what was there before, 7.
    row("promp_stats", "1", "7"),
    row("promp_stats_sized", "1", "7"),
];
const SUM: &str = "4498500";
const FAULT: (&str, &str) = ("PROMP_FAULT", "kill@thread=1,region=1,delay=300us");
/// How often a cell is tried until its failure strikes.
const TRIES: usize = 20;

fn source(name: &str) -> PathBuf {
    root().join("c-tests/header").join(name)
}

/// What links a program with promp, or another's functions that find it when it is there.
fn linked(with: &[&str]) -> Vec<String> {
    let libraries = library().parent().expect("a folder").display().to_string();
    // Bound at once: a thread that is killed in the loader may hold its lock, which is a refusal.
    let place = format!("-Wl,-z,now,--no-as-needed,-rpath,{libraries}");
    let mut all = vec![format!("-L{libraries}"), place];
    all.extend(with.iter().map(|w| (*w).to_owned()));
    all
}

/// A compiler, run in the folder of its language.
fn compile(folder: &Path, compiler: &str, words: &[&str], sources: &[PathBuf], linked: &[String]) {
    let mut c = Command::new(compiler);
    c.current_dir(folder).args(["-fopenmp", "-Wall", "-Wextra", "-Werror", "-foffload=disable"]);
    c.arg(format!("-I{}", root().join("include").display())).args(words).args(sources).args(linked);
    let ran = limited(c, LIMIT);
    assert_eq!(ran.status, 0, "{compiler} {words:?}: {}", ran.err);
}

/// How a language's program is started for a function; the second one is linked with promp.
type Starts = [Box<dyn Fn(&str) -> Command>; 2];

/// A language whose programs are compiled: `without` is what one is linked with that does without promp.
fn built(language: &str, compiler: &str, words: &[&str], sources: &[&str], without: &[&str]) -> Starts {
    let folder = empty_folder(&format!("api-table/{language}"));
    compile(&folder, "gcc", &["-O1", "-c", "-o", "three.o"], &[source("three.c")], &[]);
    let sources: Vec<PathBuf> = sources.iter().map(|s| root().join(s)).collect();
    [("without", without), ("linked", &["-lpromp"][..])].map(|(name, libraries)| {
        // Whatever language the sources are said to be of, three.o is an object.
        let linked = linked(&[&["-xnone", "three.o"], libraries].concat());
        compile(&folder, compiler, &[words, &["-o", name]].concat(), &sources, &linked);
        let exe = folder.join(name);
        let start: Box<dyn Fn(&str) -> Command> = Box::new(move |function| {
            let mut c = Command::new(&exe);
            c.arg(function);
            c
        });
        start
    })
}

/// Python, with the wheel's module, and the loop in a library.
fn python() -> Starts {
    let folder = empty_folder("api-table/python");
    let site = python_site(&folder);
    [("without", &[][..]), ("linked", &["-lpromp"])].map(|(name, libraries)| {
        let library = folder.join(format!("{name}.so"));
        let words = ["-O1", "-shared", "-fPIC", "-o", library.to_str().expect("UTF-8")];
        compile(&folder, "gcc", &words, &[source("three.c")], &linked(libraries));
        let site = site.clone();
        let start: Box<dyn Fn(&str) -> Command> = Box::new(move |function| {
            let mut c = Command::new("python3");
            c.arg(source("table.py")).arg(&library).arg(function).env("PYTHONPATH", &site);
            c
        });
        start
    })
}

/// All cells of a language.
fn all_cells(language: &str, [plain, linked]: Starts) {
    let preload = ("LD_PRELOAD", library());
    for row in &TABLE {
        for way in ["under promp", "without promp", "linked"] {
            let with = way != "without promp";
            let cell = format!("{language}, {}, {way}", row.function);
            let want = format!("{} {SUM}\n", if with { row.with } else { row.without });
            let ran = (0..TRIES).map(|_| {
                let mut c = if way == "linked" { linked(row.function) } else { plain(row.function) };
                clean(&mut c);
                if way == "under promp" {
                    c.env(preload.0, &preload.1);
                }
                if row.killed && row.function != "promp_fail" {
                    c.env(FAULT.0, FAULT.1);
                }
                let ran = limited(c, LIMIT);
                assert!(ran.status == 0 && ran.out.ends_with(&format!(" {SUM}\n")), "{cell}: {ran:?}");
                ran
            });
            let struck = |ran: &Run| ran.err.contains("thread 1 failed (kill)");
            let ran = ran.into_iter().find(|ran| struck(ran) || !row.killed || !with);
            let ran = ran.unwrap_or_else(|| panic!("{cell}: no failure strikes in {TRIES} runs"));
            assert_eq!(ran.out, want, "{cell}: {}", ran.err);
            assert!(struck(&ran) == (row.killed && with), "{cell}: {}", ran.err);
        }
    }
}

#[test]
fn in_c99() {
    let words = ["-std=c99", "-pedantic", "-O1"];
    all_cells("C99", built("c99", "gcc", &words, &["c-tests/header/table.c"], &[]));
}

#[test]
fn in_cpp11() {
    let words = ["-x", "c++", "-std=c++11", "-pedantic", "-O2"];
    all_cells("C++11", built("cpp11", "g++", &words, &["c-tests/header/table.c"], &[]));
}

#[test]
fn in_fortran() {
    let sources = ["include/promp.f90", "c-tests/header/table.f90"];
    all_cells("Fortran", built("fortran", "gfortran", &["-O1"], &sources, &["-lpromp-stubs"]));
}

#[test]
fn in_python() {
    all_cells("Python", python());
}

/// No function is without its row.
#[test]
fn the_table_has_all_functions() {
    let header = std::fs::read_to_string(root().join("include/promp.h")).expect("promp.h");
    let declared = header.lines().filter_map(|line| {
        let values = ["PROMP_VALUE_(int, ", "PROMP_VALUE_(size_t, ", "static inline int "];
        let begins = values.iter().chain(&["PROMP_VOID_(", "PROMP_DIRECTIVE_("]);
        begins.into_iter().find_map(|begin| line.strip_prefix(begin))?.split([',', '(']).next()
    });
    let declared: Vec<&str> = declared.collect();
    assert_eq!(declared.len(), TABLE.len(), "{declared:?}");
    for function in declared {
        assert!(TABLE.iter().any(|row| row.function == function), "{function} has no row");
    }
}
