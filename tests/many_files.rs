//! Programs of many files as people write them, built by the drivers: error paths with message and exit, rows
//! behind pointers, pipelines made by hand, templates and vectors, modules, archives, libraries. Wherever a
//! thread is killed, what they print is right; what is refused is so with file and line.

use crate::common::draws::Draws;
use crate::common::*;
use std::path::{Path, PathBuf};

fn dir() -> PathBuf {
    out_folder("many_files")
}

fn tool(program: &Path, args: &[&str]) {
    tool_in(&dir(), program, args);
}

/// Objects of sources of c-tests/many_files.
fn objects(compiler: &Path, sources: &[&str], flags: &[&str]) -> Vec<String> {
    let object = |s: &&str| {
        let source = root().join("c-tests/many_files").join(s).display().to_string();
        let name = format!("{}{}.o", s.replace('.', "_"), flags.concat());
        tool(compiler, &[&["-O2", "-fopenmp", "-c", "-o", &name, &source], flags].concat());
        name
    };
    sources.iter().map(object).collect()
}

fn linked(compiler: &Path, name: &str, objects: &[String], more: &[&str]) -> PathBuf {
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    tool(compiler, &[&["-fopenmp", "-fno-promp-runtime", "-o", name], &objects[..], more].concat());
    dir().join(name)
}

/// Kills threads of `exe` at random, with the default settings and with all old values saved, until enough
/// work was executed again.
fn survives(exe: &Path) {
    let four = ("OMP_NUM_THREADS", "4");
    let want = reference(exe, &[], &[four]);
    assert!(want.status == 0 && !want.out.is_empty(), "{exe:?}: {}", want.err);
    let runs = if long() { 200 } else { 1 };
    for budget in [&[][..], &[("PROMP_SAVE_BUDGET", "all")]] {
        let (mut right, mut struck, mut refused) = (0, 0, Vec::new());
        let mut draws = Draws::between(runs, 400);
        while let Some(seed) = draws.next(right >= 6.max(4 * refused.len()) && struck >= 4) {
            let fault = format!("kill@mtbf=8ms,count=4,seed={seed}");
            let env = [&[four, ("PROMP_FAULT", &*fault)], budget].concat();
            let r = promp(exe, &[], &env);
            if r.was_in_serial_work() {
                continue;
            }
            if r.was_refused(&want.out, &format!("{exe:?} {fault}")) {
                let place =
                    r.err.lines().any(|l| [".c:", ".cpp:", ".hpp:", ".f90:"].iter().any(|e| l.contains(e)));
                assert!(place, "{exe:?} {fault}: {}", r.err);
                refused.push(r.err);
            } else {
                right += 1;
                struck += r.executed_again();
            }
        }
        // A call of a function that gcc has built (station.c) is not made twice. How much time a program
        // spends in it is its own affair.
        let opaque = refused.iter().filter(|said| said.contains(": calls unknown.")).count();
        let n = refused.len();
        println!(
            "{exe:?} {budget:?}: {right} right, repeated {struck} times, {n} refused ({opaque} where opaque)"
        );
        let few = if long() { 20 } else { 4 };
        let enough = right >= few * (n - opaque);
        assert!(struck >= 4 && (budget.is_empty() || enough), "{exe:?}: {right}, {struck}; {refused:#?}");
    }
}

#[test]
fn error_paths_and_rows_behind_pointers() {
    let Some(cc) = driver("promp-cc") else { return };
    survives(&linked(&cc, "rows", &objects(&cc, &["rows.c"], &[]), &[]));
}

#[test]
fn locks_in_loops() {
    let Some(cc) = driver("promp-cc") else { return };
    survives(&linked(&cc, "locks", &objects(&cc, &["locks.c"], &[]), &[]));
}

/// What a thread has done in one that it has not left nobody has seen.
#[test]
fn work_in_lock_sections() {
    let Some(cc) = driver("promp-cc") else { return };
    survives(&linked(&cc, "held", &objects(&cc, &["held.c"], &[]), &[]));
}

#[test]
fn pipelines_with_flags_and_fences() {
    let Some(cc) = driver("promp-cc") else { return };
    survives(&linked(&cc, "flags", &objects(&cc, &["flags.c"], &[]), &[]));
}

/// A program some of whose work must not be executed again: what it prints is right, or the run is refused.
struct Careful {
    name: &'static str,
    compiler: &'static str,
    sources: &'static [&'static str],
    threads: &'static str,
    /// At least so many runs, in long tests and in short ones.
    runs: [u64; 2],
    /// Of runs that were refused, and of work executed again.
    enough: fn(usize, usize) -> bool,
}

const CAREFUL: [Careful; 6] = [
    // Flags that nothing says are flags: work that may be one is never written again.
    Careful {
        name: "plain_flags",
        compiler: "promp-cc",
        sources: &["plain_flags.c"],
        threads: "2",
        runs: [300, 25],
        enough: |refused, _| refused > 0,
    },
    // A call of a function with a fence in it is more than a fence: what it updates is not updated twice.
    Careful {
        name: "fenced",
        compiler: "promp-cc",
        sources: &["fenced.c"],
        threads: "4",
        runs: [100, 10],
        enough: |refused, _| refused > 0,
    },
    // What a function updates before its first runtime call is not updated twice.
    Careful {
        name: "before_first",
        compiler: "promp-cc",
        sources: &["before_first.c", "twice.c"],
        threads: "4",
        runs: [200, 20],
        enough: |refused, _| refused > 4,
    },
    // What a function does before it ends the program is done once.
    Careful {
        name: "last_words",
        compiler: "promp-cc",
        sources: &["last_words.c"],
        threads: "2",
        runs: [100, 10],
        enough: |refused, _| refused > 4,
    },
    // What stands behind a call that does not come back, at a function's end, is another function.
    Careful {
        name: "last",
        compiler: "promp-cc",
        sources: &["last.c"],
        threads: "4",
        runs: [100, 10],
        enough: |refused, again| again >= 20 && refused == 0,
    },
    // Functions for errors that make runtime calls, and end the program or throw: only who calls them is
    // lost.
    Careful {
        name: "pieces",
        compiler: "promp-c++",
        sources: &["pieces.cpp", "piece.cpp", "get.cpp"],
        threads: "4",
        runs: [200, 10],
        enough: |refused, again| again >= 20.max(refused),
    },
];

#[test]
fn what_must_not_be_executed_again() {
    for c in &CAREFUL {
        let Some(compiler) = driver(c.compiler) else { return };
        let exe = linked(&compiler, c.name, &objects(&compiler, c.sources, &[]), &[]);
        let (refused, again) = right_or_refused(&exe, c.threads, c.runs, &c.enough);
        assert!((c.enough)(refused, again), "{}: {again} executed again, {refused} refused", c.name);
    }
}

/// A reduction is merged by one instruction. Behind it the work is not executed again, proved or not.
#[test]
fn behind_the_merge_of_a_reduction() {
    let Some(cc) = driver("promp-cc") else { return };
    let step = objects(Path::new("gcc"), &["step.c"], &[]);
    for number in ["unsigned long", "double"] {
        let main = objects(&cc, &["merges.c"], &[&format!("-DNUMBER={number}")]);
        let exe = linked(&cc, "merges", &[main, step.clone()].concat(), &[]);
        let r = promp(&exe, &[], &[]);
        assert!(r.status == 70 && r.err.contains("behind an atomic update"), "{number}: {} {}", r.out, r.err);
        assert!(r.err.contains("merges.c:"), "{number}: {}", r.err);
    }
}

/// Kills threads of `exe`: what it prints is right, or the run is refused; how often that was so, and how
/// often work was executed again. Until that is enough, and as often as is said at least, in long tests and
/// in short ones.
fn right_or_refused(
    exe: &Path,
    threads: &str,
    runs: [u64; 2],
    enough: &dyn Fn(usize, usize) -> bool,
) -> (usize, usize) {
    let number = ("OMP_NUM_THREADS", threads);
    let want = reference(exe, &[], &[number]);
    assert_eq!(want.status, 0, "{}", want.err);
    let (mut refused, mut again) = (0, 0);
    let mut draws = Draws::between(runs[usize::from(!long())], 20 * runs[0]);
    while let Some(seed) = draws.next(enough(refused, again)) {
        let fault = format!("kill@mtbf=3ms,count=2,seed={seed}");
        let r = promp(exe, &[], &[number, ("PROMP_FAULT", &fault)]);
        if r.was_refused(&want.out, &format!("{exe:?}, {fault}")) {
            refused += 1;
        } else {
            again += r.executed_again();
        }
    }
    println!("{exe:?}: {refused} refused, work executed again {again} times");
    (refused, again)
}

/// Loops with unknown functions in them: what is updated behind these is saved behind them, or refused.
#[test]
fn updates_behind_unknown_functions() {
    let Some(cc) = driver("promp-cc") else { return };
    let unknown = objects(Path::new("gcc"), &["station.c"], &[]);
    let exe = linked(&cc, "stations", &[objects(&cc, &["stations.c"], &[]), unknown].concat(), &["-lm"]);
    survives(&exe);
}

/// Lock sections in functions of other files: what these do behind the last one, and their callers behind the
/// call, is recovered each by itself.
#[test]
fn lock_sections_in_functions_of_other_files() {
    let Some(cc) = driver("promp-cc") else { return };
    let part = objects(&cc, &["deposit.c"], &[]);
    let exe = linked(&cc, "deposits", &[objects(&cc, &["deposits.c"], &[]), part.clone()].concat(), &["-lm"]);
    survives(&exe);
    // Of a caller that gcc has built nothing is known: it is not executed again with what it has called.
    let main = objects(Path::new("gcc"), &["deposits.c"], &["-DGCC"]);
    let exe = linked(&cc, "deposits_gcc", &[main, part].concat(), &["-lm"]);
    let (refused, again) = right_or_refused(&exe, "4", [200, 10], &|refused, again| refused > 1 && again > 1);
    assert!(refused > 1 && again > 1, "{again} executed again, {refused} refused");
}

/// What other files' functions update is saved in loops that have stopped saving, or that need not save.
#[test]
fn updates_in_functions_of_loops_with_two_versions() {
    let Some(cc) = driver("promp-cc") else { return };
    survives(&linked(&cc, "behind", &objects(&cc, &["behind.c", "behind_bump.c"], &[]), &[]));
}

/// Members of structures, whose old values are saved in one piece.
#[test]
fn updates_of_elements_side_by_side() {
    let Some(cc) = driver("promp-cc") else { return };
    survives(&linked(&cc, "triples", &objects(&cc, &["triples.c"], &[]), &["-lm"]));
}

/// Rows at equal distances, and members of structures, are saved together.
#[test]
fn updates_of_rows_at_equal_distances() {
    let Some(cc) = driver("promp-cc") else { return };
    survives(&linked(&cc, "butterflies", &objects(&cc, &["butterflies.c"], &[]), &[]));
}

/// Loops that are too large for two versions, or have exceptions in them.
#[test]
fn updates_in_loops_with_flags() {
    let Some(cxx) = driver("promp-c++") else { return };
    let unknown = objects(Path::new("gcc"), &["station.c"], &[]);
    let exe = linked(&cxx, "flagged", &[objects(&cxx, &["flagged.cpp"], &[]), unknown].concat(), &[]);
    survives(&exe);
}

/// Blocks of operator new in vectors, behind pointers, and in chains that other files build and delete.
#[test]
fn blocks_that_are_deleted() {
    let Some(cxx) = driver("promp-c++") else { return };
    survives(&linked(&cxx, "blocks", &objects(&cxx, &["blocks.cpp", "chains.cpp"], &[]), &[]));
}

/// Functions that are called through pointers: several of the file, and now and then one that gcc has built.
#[test]
fn pointers_to_several_functions() {
    let Some(cc) = driver("promp-cc") else { return };
    let unknown = objects(Path::new("gcc"), &["station.c"], &[]);
    survives(&linked(&cc, "several", &[objects(&cc, &["several.c"], &[]), unknown].concat(), &["-lm"]));
}

/// Functions that are handed to others, and by them to others; one of the kind prints.
#[test]
fn functions_that_are_handed_over() {
    let Some(cc) = driver("promp-cc") else { return };
    survives(&linked(&cc, "handed", &objects(&cc, &["handed.c"], &[]), &["-lm"]));
}

/// Arrays that C's qsort sorts, by functions of this file and of another.
#[test]
fn arrays_that_are_sorted() {
    let Some(cc) = driver("promp-cc") else { return };
    survives(&linked(&cc, "sorted", &objects(&cc, &["sorted.c", "orders.c"], &[]), &[]));
}

/// Maps, sets, lists and tables, whose nodes are linked in and taken out by functions of the C++ library.
#[test]
fn nodes_of_containers() {
    let Some(cxx) = driver("promp-c++") else { return };
    survives(&linked(&cxx, "nodes", &objects(&cxx, &["nodes.cpp"], &[]), &[]));
}

/// Operators that the program has replaced are never called twice, nor later, nor left out: built by gcc, by
/// the driver, in the same unit; nor are those of a C++ library that is linked in taken for anything.
#[test]
fn replaced_operators_are_called_as_they_are() {
    let Some(cxx) = driver("promp-c++") else { return };
    let gxx = Path::new("g++");
    let main = objects(&cxx, &["pooled.cpp"], &[]);
    let with = |by: &Path, name: &str| {
        let pool = objects(by, &["pool.cpp"], &[]);
        linked(&cxx, name, &[main.clone(), pool].concat(), &[])
    };
    let mut again = 0;
    for exe in [
        with(gxx, "pooled_gcc"),
        with(&cxx, "pooled"),
        linked(&cxx, "pooled_one", &objects(&cxx, &["pooled.cpp"], &["-DPOOL=\"pool.cpp\""]), &[]),
        linked(
            &cxx,
            "blocks_static",
            &objects(&cxx, &["blocks.cpp", "chains.cpp"], &[]),
            &["-static-libstdc++"],
        ),
    ] {
        // What the last one has may be repeated.
        let last = exe.ends_with("blocks_static");
        again += right_or_refused(&exe, "4", [100, 12], &|_, now| !last || again + now > 0).1;
    }
    assert!(again > 0, "no failure struck what can be executed again");
}

#[test]
fn generators_in_files_archives_and_libraries() {
    let Some(cc) = driver("promp-cc") else { return };
    let main = objects(&cc, &["walks.c"], &[]);
    let part = objects(&cc, &["draw.c"], &["-fPIC"]);
    survives(&linked(&cc, "walks", &[main.clone(), part.clone()].concat(), &[]));
    let _ = std::fs::remove_file(dir().join("libdraw.a"));
    tool(Path::new("ar"), &["rcs", "libdraw.a", &part[0]]);
    tool(&cc, &["-shared", "-fopenmp", "-fno-promp-runtime", "-o", "libdraw.so", &part[0]]);
    survives(&linked(&cc, "walks_archive", &main, &["libdraw.a"]));
    let path = format!("-Wl,-rpath,{}", dir().display());
    survives(&linked(&cc, "walks_library", &main, &["-L.", "-ldraw", &path]));
}

/// A region of a library of another compiler is one call of a library: a stop waits until it is over, and a
/// crash, which cannot wait, is refused with the library's name.
#[test]
fn regions_of_libraries_of_other_compilers() {
    let Some(cc) = driver("promp-cc") else { return };
    let relay = objects(Path::new("gcc"), &["relay.c"], &["-fPIC"]);
    tool(Path::new("gcc"), &["-shared", "-fopenmp", "-o", "librelay.so", &relay[0]]);
    let path = format!("-Wl,-rpath,{}", dir().display());
    let exe = linked(&cc, "relays", &objects(&cc, &["relays.c"], &[]), &["-L.", "-lrelay", &path]);
    let two = ("OMP_NUM_THREADS", "2");
    let want = reference(&exe, &[], &[two]);
    // Runs that waited, and that were refused in the library.
    let strikes = |kind: &str, enough: &dyn Fn(usize, usize) -> bool| {
        let (mut waited, mut refused, mut draws) = (0, 0, Draws::between(4, 200));
        while let Some(seed) = draws.next(enough(waited, refused)) {
            let fault = format!("{kind}@mtbf=2ms,count=3,seed={seed}");
            let r = promp(&exe, &[], &[two, ("PROMP_FAULT", &fault)]);
            if r.was_refused(&want.out, &fault) {
                let inside = r.err.contains("relay._omp_fn.0 of librelay.so, which promp-cc has not built");
                assert!(inside || r.err.contains("in serial work"), "{fault}: {}", r.err);
                refused += usize::from(inside);
            } else {
                waited += usize::from(r.err.contains("nothing was lost"));
            }
        }
        (waited, refused)
    };
    let (waited, refused) = strikes("kill", &|waited, refused| waited >= 6 + refused);
    assert!(waited >= 6 + refused, "kills: {waited} waited, {refused} refused");
    let (_, refused) = strikes("crash", &|_, refused| refused > 0);
    assert!(refused > 0, "no crash struck");
}

#[test]
fn templates_and_vectors_in_several_units() {
    let Some(cxx) = driver("promp-c++") else { return };
    survives(&linked(&cxx, "grids", &objects(&cxx, &["grids.cpp", "grid.cpp"], &[]), &[]));
}

#[test]
fn modules_and_pure_routines_of_other_files() {
    let Some(fc) = driver("promp-fc") else { return };
    // Constant arguments are still there at -O1.
    let other = objects(&fc, &["other_main.f90", "other_part.f90"], &["-O1"]);
    survives(&linked(&fc, "other", &other, &[]));
    survives(&linked(&fc, "cells", &objects(&fc, &["cells_module.f90", "cells_main.f90"], &[]), &[]));
}
