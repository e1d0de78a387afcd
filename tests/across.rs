//! Proofs across files: programs of several files, with known verdicts, linked in every way, and with
//! functions that are not what they were.

use crate::common::draws::Draws;
use crate::common::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const UNITS: [&str; 4] = ["functions", "more", "cycle_even", "cycle_odd"];

fn dir() -> PathBuf {
    out_folder("across")
}

/// Runs a compiler or linker in the folder of the results.
fn tool(program: &Path, args: &[&str]) {
    tool_in(&dir(), program, args);
}

/// An object file of a unit of c-tests/across.
fn object(compiler: &Path, unit: &str, name: &str, flags: &[&str]) {
    let source = root().join(format!("c-tests/across/{unit}.c"));
    let mut args = vec!["-O2", "-fopenmp", "-c", "-o", name, source.to_str().expect("UTF-8")];
    args.extend(flags);
    tool(compiler, &args);
}

/// Objects `PREFIX_UNIT.o` of all units of the program; `unknown` by gcc.
fn objects(cc: &Path, prefix: &str, flags: &[&str]) -> Vec<String> {
    let name = |u: &str| format!("{prefix}_{u}.o");
    for u in UNITS.iter().chain(&["loops"]) {
        object(cc, u, &name(u), flags);
    }
    object(Path::new("gcc"), "unknown", &name("unknown"), flags);
    UNITS.iter().chain(&["loops", "unknown"]).map(|u| name(u)).collect()
}

/// What is said of each line of a file: verdict and reason.
type Verdicts = HashMap<usize, (String, String)>;

const LOOPS: &str = "loops.c";

/// What the report of a run says of each line of a source file.
fn verdicts(exe: &str, source: &str, env: &[(&str, &str)]) -> Verdicts {
    let (exe, report) = (dir().join(exe), dir().join(format!("{exe}.json")));
    let mut all = vec![("PROMP_REPORT", report.to_str().expect("UTF-8")), ("OMP_NUM_THREADS", "2")];
    all.extend(env);
    let preloaded = env.iter().any(|e| e.0 == "LD_PRELOAD");
    let r = if preloaded { reference(&exe, &[], &all) } else { promp(&exe, &[], &all) };
    assert_eq!(r.status, 0, "{exe:?}: {}", r.err);
    let text = std::fs::read(&report).expect("the report");
    let report: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let file = format!("{}:", source.rsplit('/').next().expect("a name"));
    let mut found = HashMap::new();
    for l in report["loops"].as_array().expect("loops") {
        let said = |k: &str| l[k].as_str().unwrap_or_default().to_string();
        let line = said("at").strip_prefix(&file).and_then(|n| n.parse().ok()).expect("a line of the file");
        // What can be executed again in parts has parts that cannot.
        let verdict = said("verdict").replace("in parts", "opaque");
        found.insert(line, (verdict, said("why")));
    }
    found
}

fn rank(verdict: &str) -> usize {
    ["idempotent", "undo", "opaque"].iter().position(|v| *v == verdict).unwrap_or_else(|| panic!("{verdict}"))
}

/// A function of a source file with what stands in front of it: `/* VERDICT[, reported VERDICT] */`, and the
/// same for other ways to put the program together, `/* WHEN: VERDICT[, …] */`.
struct Known {
    name: String,
    lines: std::ops::Range<usize>,
    verdict: String,
    when: Option<(String, String)>,
}

fn known(source: &str) -> Vec<Known> {
    let text = std::fs::read_to_string(root().join("c-tests/across").join(source)).expect("the program");
    let lines: Vec<&str> = text.lines().collect();
    let is_verdict = |l: &str| ["/* idempotent", "/* undo", "/* opaque"].iter().any(|v| l.starts_with(v));
    let all = (0..lines.len()).filter(|&i| is_verdict(lines[i])).map(|i| {
        let said = lines[i].trim_start_matches("/* ").trim_end_matches(" */");
        let (verdict, when) =
            said.split_once(" */ /* ").map_or((said, None), |(v, w)| (v, w.split_once(": ")));
        let name = lines[i + 1].trim_start_matches("static void ").split('(').next().expect("a name");
        let end = (i + 1..lines.len()).find(|&j| lines[j].starts_with("/*")).unwrap_or(lines.len());
        Known {
            name: name.into(),
            lines: i + 1..end + 1,
            verdict: verdict.into(),
            when: when.map(|(w, v)| (w.into(), v.into())),
        }
    });
    all.collect()
}

/// Compares with what stands in the source for a program put together like this; what of it is not as it is
/// said there, by the functions' names.
fn differences(found: &Verdicts, source: &str, how: &str) -> Vec<String> {
    let (mut wrong, all) = (Vec::new(), known(source));
    assert!(all.len() >= 50, "{} functions", all.len());
    for mut k in all {
        let verdict = match &k.when {
            Some((when, v)) if when == how => v,
            _ => &k.verdict,
        };
        let (truth, expected) = verdict.split_once(", reported ").unwrap_or((verdict, verdict));
        let name = &k.name;
        match k.lines.find_map(|l| found.get(&l)) {
            None => wrong.push(format!("{name}: no verdict")),
            Some((got, why)) if rank(got) < rank(truth) => {
                wrong.push(format!("{name}: {got} is optimistic, it is {truth} ({why})"));
            }
            Some((got, why)) if got != expected => {
                wrong.push(format!("{name}: {got}, expected {expected} ({why})"));
            }
            Some(_) => {}
        }
    }
    wrong
}

#[test]
fn verdicts_across_files_are_true_at_every_level() {
    let Some(cc) = driver("promp-cc") else { return };
    for level in ["-O1", "-O2", "-O3", "-Os"] {
        let exe = format!("across{level}");
        let mut args = vec!["-fopenmp", "-fno-promp-runtime", "-o", &exe];
        let objects = objects(&cc, &exe, &[level]);
        args.extend(objects.iter().map(String::as_str));
        args.push("-lm");
        tool(&cc, &args);
        let wrong = differences(&verdicts(&exe, LOOPS, &[]), LOOPS, "");
        let optimistic: Vec<&String> = wrong.iter().filter(|w| w.contains("optimistic")).collect();
        assert!(optimistic.is_empty() && (level != "-O2" || wrong.is_empty()), "{level}: {wrong:#?}");
    }
}

/// However it is linked, the runtime finds the same.
#[test]
fn it_does_not_matter_how_a_program_is_linked() {
    let Some(cc) = driver("promp-cc") else { return };
    let mut objects = objects(&cc, "linked", &[]);
    for (u, name) in UNITS.iter().zip(&mut objects) {
        *name = format!("linked_pic_{u}.o");
        object(&cc, u, name, &["-fPIC"]);
    }
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let (parts, main) = (&objects[..UNITS.len()], &objects[UNITS.len()..]);
    let program = |exe: &str, more: &[&str]| {
        tool(&cc, &[&["-fopenmp", "-fno-promp-runtime", "-o", exe], main, more, &["-lm"]].concat());
        let wrong = differences(&verdicts(exe, LOOPS, &[]), LOOPS, "");
        assert!(wrong.is_empty(), "{exe}: {wrong:#?}");
    };
    // A static archive.
    let _ = std::fs::remove_file(dir().join("libparts.a"));
    tool(Path::new("ar"), &[&["rcs", "libparts.a"], parts].concat());
    program("linked_archive", &["libparts.a"]);
    // A relocatable link.
    tool(Path::new("ld"), &[&["-r", "-o", "parts.o"], parts].concat());
    program("linked_relocatable", &["parts.o"]);
    // A shared library, by gcc and not by the driver; the program is not position independent, too.
    tool(Path::new("gcc"), &[&["-shared", "-o", "libacross.so"], parts, &["-lm"]].concat());
    let here = format!("-Wl,-rpath,{}", dir().display());
    program("linked_shared", &["-L.", "-lacross", &here]);
    program("linked_no_pie", &["-no-pie", "-L.", "-lacross", &here]);
    // Sections that nobody needs are left out.
    program("linked_gc", &[parts, &["-Wl,--gc-sections"]].concat());

    // A preloaded library, built by gcc, replaces a function of the shared library.
    object(Path::new("gcc"), "interposed", "interposed.o", &["-fPIC"]);
    tool(Path::new("gcc"), &["-shared", "-o", "libinterposed.so", "interposed.o"]);
    let preload = format!("{}:{}", dir().join("libinterposed.so").display(), library().display());
    let found = verdicts("linked_shared", LOOPS, &[("LD_PRELOAD", &preload)]);
    let verdict = |name: &str| {
        let mut k = known(LOOPS).into_iter().find(|k| k.name == name).expect("a function");
        k.lines.find_map(|l| found.get(&l)).expect("its verdict").clone()
    };
    for name in ["writes_what_it_gets", "two_files_on", "by_a_function_of_this_file", "further_and_further"] {
        let (v, why) = verdict(name);
        assert!(v == "opaque" && why.contains("which promp-cc has not built"), "{name}: {v} {why}");
    }
    assert_eq!(verdict("values").0, "idempotent");
}

/// The linker takes another definition of a function than the one that was there when its callers were
/// compiled.
#[test]
fn what_counts_is_the_definition_that_is_linked() {
    let Some(cc) = driver("promp-cc") else { return };
    let all = objects(&cc, "chosen", &[]);
    for (i, compiler) in [cc.clone(), PathBuf::from("gcc")].iter().enumerate() {
        object(compiler, "replaced", "replaced.o", &[]);
        let exe = format!("chosen{i}");
        let mut args = vec!["-fopenmp", "-fno-promp-runtime", "-o", &exe, "replaced.o"];
        args.extend(all.iter().map(String::as_str));
        args.push("-lm");
        tool(&cc, &args);
        let wrong = differences(&verdicts(&exe, LOOPS, &[]), LOOPS, "");
        assert_eq!(wrong.len(), 1, "{wrong:#?}");
        let verdict = ["undo", "opaque"][i];
        assert!(wrong[0].starts_with(&format!("is_chosen: {verdict}")), "{wrong:?}");
    }
}

/// Functions that are not what they seem: they keep pointers, share globals, are called through pointers,
/// replaced when the program is linked, or by a preloaded library.
#[test]
fn traps_of_other_files() {
    const TRAPS: &str = "traps/traps.c";
    let Some(cc) = driver("promp-cc") else { return };
    let gcc = PathBuf::from("gcc");
    let here = format!("-Wl,-rpath,{}", dir().display());
    let shared = |by: &Path, unit: &str, library: &str, level: &str| {
        let name = format!("trap_{library}.o");
        object(by, &format!("traps/{unit}"), &name, &[level, "-fPIC"]);
        tool(&gcc, &["-shared", "-fopenmp", "-o", &format!("libtrap_{library}.so"), &name]);
    };
    let linked = |exe: &str, objects: &[&str], library: &str| {
        let mut args = vec!["-fopenmp", "-fno-promp-runtime", "-o", exe];
        args.extend(objects);
        args.extend(["-L.", library, &here, "-lm"]);
        tool(&cc, &args);
    };
    for level in ["-O1", "-O2", "-O3"] {
        let name = |u: &str| format!("trap{level}_{u}.o");
        let objects = ["traps", "keeps", "globals", "called", "chosen", "behind", "makes", "rows", "handed"]
            .map(|u| {
                object(&cc, &format!("traps/{u}"), &name(u), &[level]);
                name(u)
            });
        let objects = objects.each_ref().map(String::as_str);
        let part = format!("shared{level}");
        shared(&cc, "shared", &part, level);
        let (exe, part) = (format!("traps{level}"), format!("-ltrap_{part}"));
        linked(&exe, &objects, &part);
        let check = |found: &Verdicts, how: &str| {
            let wrong = differences(found, TRAPS, how);
            let optimistic: Vec<&String> = wrong.iter().filter(|w| w.contains("optimistic")).collect();
            assert!(
                optimistic.is_empty() && (level != "-O2" || wrong.is_empty()),
                "{level} {how}: {wrong:#?}"
            );
        };
        check(&verdicts(&exe, TRAPS, &[]), "");
        if level != "-O2" {
            continue;
        }
        for by in [&cc, &gcc] {
            object(by, "traps/replaced", "trap_replaced.o", &[level]);
            linked("traps_replaced", &[&["trap_replaced.o"], &objects[..]].concat(), &part);
            shared(by, "preloaded", "preloaded", level);
            let preload = dir().join("libtrap_preloaded.so");
            let preload = format!("{}:{}", preload.display(), library().display());
            for (exe, how, env) in
                [("traps_replaced", "replaced", &[][..]), (&exe, "preloaded", &[("LD_PRELOAD", &*preload)])]
            {
                let found = verdicts(exe, TRAPS, env);
                if by == &cc {
                    check(&found, how);
                    continue;
                }
                // Nothing is known of what another compiler has built.
                for mut k in known(TRAPS).into_iter().filter(|k| k.when.as_ref().is_some_and(|w| w.0 == how))
                {
                    let (verdict, why) = k.lines.find_map(|l| found.get(&l)).expect("a verdict");
                    assert!(
                        verdict == "opaque"
                            && (why.contains("promp-cc has not built")
                                || why.contains("not the library's own")),
                        "{}: {why}",
                        k.name
                    );
                }
            }
        }
    }
}

/// What is said of the lines of a program's report, and that it gives the same result with threads killed.
fn other_language(exe: &str, expected: &[(&str, &str)]) {
    let (path, file) = (dir().join(exe), dir().join(format!("{exe}.json")));
    let env = [("PROMP_REPORT", file.to_str().expect("UTF-8")), ("OMP_NUM_THREADS", "3")];
    let (want, r) = (reference(&path, &[], &[]), promp(&path, &[], &env));
    assert!(r.status == 0 && r.out == want.out, "{exe}: {} {}", r.out, r.err);
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).expect("the report")).expect("JSON");
    let said: Vec<(String, String)> = report["loops"]
        .as_array()
        .expect("loops")
        .iter()
        .map(|l| ["at", "verdict"].map(|k| l[k].as_str().expect("a text").to_string()).into())
        .collect();
    for &(at, verdict) in expected {
        assert!(said.contains(&(at.into(), verdict.into())), "{exe}, {at} is not {verdict}: {said:?}");
    }
    let (mut back, mut draws) = (0, Draws::between(6, 200));
    while let Some(seed) = draws.next(back >= 3) {
        let fault = format!("kill@mtbf=2ms,count=4,seed={seed}");
        let env = [("OMP_NUM_THREADS", "3"), ("PROMP_FAULT", fault.as_str()), ("PROMP_VERBOSE", "1")];
        let r = promp(&path, &[], &env);
        let right = r.status == 0 && r.out == want.out;
        assert!(
            right || (r.status == 70 && r.err.contains("stopping")),
            "{exe}, {fault}: {} {}",
            r.out,
            r.err
        );
        back += u32::from(right && (r.err.contains("recomputed") || r.err.contains("repeated")));
    }
    assert!(back >= 3, "{exe}: no failure struck work in flight");
}

#[test]
fn templates_and_exceptions_of_several_units() {
    let Some(cxx) = driver("promp-c++") else { return };
    let source = |u: &str| root().join(format!("c-tests/across/cpp/{u}.cpp")).display().to_string();
    for u in ["main", "shapes"] {
        tool(&cxx, &["-O2", "-fopenmp", "-c", "-o", &format!("cpp_{u}.o"), &source(u)]);
    }
    tool(&cxx, &["-fopenmp", "-fno-promp-runtime", "-o", "cpp", "cpp_main.o", "cpp_shapes.o"]);
    other_language(
        "cpp",
        &[
            ("main.cpp:22", "undo"),
            ("main.cpp:25", "undo"),
            ("main.cpp:28", "in parts"),
            ("main.cpp:31", "in parts"),
        ],
    );
}

#[test]
fn modules_of_fortran_and_functions_of_c() {
    let (Some(fc), Some(cc)) = (driver("promp-fc"), driver("promp-cc")) else { return };
    let source = |u: &str| root().join(format!("c-tests/across/fortran/{u}")).display().to_string();
    for u in ["state", "main"] {
        tool(&fc, &["-O2", "-fopenmp", "-c", "-o", &format!("f90_{u}.o"), &source(&format!("{u}.f90"))]);
    }
    tool(&cc, &["-O2", "-fopenmp", "-c", "-o", "f90_store.o", &source("store.c")]);
    tool(&fc, &["-fopenmp", "-fno-promp-runtime", "-o", "f90", "f90_main.o", "f90_state.o", "f90_store.o"]);
    other_language("f90", &[("main.f90:20", "idempotent"), ("main.f90:25", "undo"), ("main.f90:29", "undo")]);
}

/// What functions write behind structures they save themselves; what they free is kept until work is done.
#[test]
fn memory_behind_structures_is_put_back() {
    let Some(cc) = driver("promp-cc") else { return };
    let objects = ["structures", "behind", "rows", "makes", "keeps", "shared"].map(|u| {
        object(&cc, &format!("traps/{u}"), &format!("trap_{u}.o"), &[]);
        format!("trap_{u}.o")
    });
    let mut args = vec!["-fopenmp", "-fno-promp-runtime", "-o", "structures"];
    args.extend(objects.iter().map(String::as_str));
    tool(&cc, &args);
    let exe = dir().join("structures");
    let four = ("OMP_NUM_THREADS", "4");
    let want = reference(&exe, &[], &[four]);
    let (mut back, mut refused, mut draws) = (0, 0, Draws::between(if long() { 720 } else { 1 }, 1200));
    while let Some(seed) = draws.next(back >= 60) {
        let fault = format!("kill@mtbf=3ms,count=5,seed={seed}");
        let r = promp(&exe, &[], &[four, ("PROMP_SAVE_BUDGET", "all"), ("PROMP_FAULT", &fault)]);
        let right = r.status == 0 && r.out == want.out;
        assert!(right || r.status == 70, "{fault}: {} {}, not {}\n{}", r.status, r.out, want.out, r.err);
        refused += u32::from(!right);
        back += r.err.matches("recomputed").count() + r.err.matches("repeated").count();
    }
    assert!(back >= 20 && back as u32 >= 10 * refused, "{back} times executed again, {refused} refused");
}

/// Libraries that come after the first region, go, and leave their addresses to others.
#[test]
fn libraries_that_come_and_go() {
    let Some(cc) = driver("promp-cc") else { return };
    let gcc = PathBuf::from("gcc");
    for (unit, name, by) in
        [("run", "run", &cc), ("plain", "plain", &cc), ("counts", "counts", &cc), ("plain", "foreign", &gcc)]
    {
        object(by, &format!("plugins/{unit}"), &format!("come_{name}.o"), &["-fPIC"]);
    }
    for name in ["plain", "counts", "foreign"] {
        let (library, part) = (format!("libcome_{name}.so"), format!("come_{name}.o"));
        tool(&gcc, &["-shared", "-fopenmp", "-o", &library, "come_run.o", &part]);
    }
    object(&gcc, "plugins/main", "come_main.o", &[]);
    tool(&gcc, &["-fopenmp", "-o", "come", "come_main.o", "-ldl"]);
    let exe = dir().join("come");
    let path = |name: &str| dir().join(format!("libcome_{name}.so")).display().to_string();
    for (libraries, all_recovered) in [(&["plain"][..], true), (&["plain", "counts", "foreign"], false)] {
        let paths: Vec<String> = libraries.iter().map(|l| path(l)).collect();
        let args: Vec<&str> = paths.iter().map(String::as_str).collect();
        let four = ("OMP_NUM_THREADS", "4");
        let want = reference(&exe, &args, &[four]);
        let (mut back, mut refused, mut draws) = (0, 0, Draws::between(10, 400));
        while let Some(seed) = draws.next(back >= 10 && (refused >= 3 || all_recovered)) {
            let fault = format!("kill@mtbf=10ms,count=3,seed={seed}");
            let r = promp(&exe, &args, &[four, ("PROMP_FAULT", &fault)]);
            if r.was_in_serial_work() {
                continue;
            }
            if r.status == 70 && !all_recovered {
                // In the call, or in the region of the program, which gcc has built.
                let says = |what| r.err.contains(what);
                assert!(says("run.c:5: ") || says("in region 1 in work not known"), "{fault}: {}", r.err);
                refused += 1;
            } else {
                assert_eq!((r.status, &r.out), (0, &want.out), "{fault}: {}", r.err);
            }
            back += r.err.matches("recomputed").count();
        }
        assert!(back >= 10 && (refused >= 3 || all_recovered), "{libraries:?}: {back}, {refused}");
    }
}
