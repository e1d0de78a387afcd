//! Sections of kernels that promp-cc finds on the control tree, or that directives mark: where they begin and
//! end, how many are verified, and what is wrong with marks.

use crate::common::*;
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

/// Compiles `source` (a path) with a driver; status, messages.
fn compile(name: &str, source: &str, exe: &str, flags: &[&str]) -> Option<Run> {
    let mut c = Command::new(driver(name)?);
    c.args(["-O2", "-fopenmp", "-w", "-fno-promp-runtime", "-foffload=disable"]).args(flags);
    c.arg("-o").arg(out_dir().join(exe)).arg(source);
    Some(limited(c, Duration::from_secs(120)))
}

/// Runs on *separate*; sections and kernels that were verified.
fn verified(exe: &str, env: &[(&str, &str)]) -> (Run, [u64; 3]) {
    let report = out_dir().join(format!("{exe}-{}.json", std::process::id()));
    let mut all = vec![
        ("PROMP_DEVICES", "separate"),
        ("PROMP_SDC", "lazy:100000"),
        ("PROMP_SDC_ASSUME", "*"),
        ("PROMP_SDC_LATENCY", "60s"),
        ("PROMP_REPORT", report.to_str().expect("UTF-8")),
    ];
    all.extend(env);
    let r = promp(&out_dir().join(exe), &[], &all);
    let text = std::fs::read_to_string(&report).unwrap_or_default();
    let _ = std::fs::remove_file(&report);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    (r, ["sections", "kernels", "found"].map(|k| json["sdc"][k].as_u64().unwrap_or(0)))
}

/// Where sections of `c-tests/sdc/NAME.c` begin and end is what its comments say. Its result is libgomp's,
/// with three errors `nth` kernels apart, too, and as many sections and kernels are verified.
fn are_found(name: &str, sections: u64, kernels: u64, nth: u32) {
    let path = root().join(format!("c-tests/sdc/{name}.c"));
    let flags = ["-fpromp-sdc", "-fpromp-report"];
    let Some(r) = compile("promp-cc", path.to_str().unwrap(), name, &flags) else { return };
    assert_eq!(r.status, 0, "{}", r.err);
    let mut found = BTreeSet::new();
    for line in r.err.lines().filter(|l| l.contains("a section of kernels ")) {
        let number: usize = line.split(':').nth(1).and_then(|n| n.parse().ok()).expect("file:line:");
        found.insert((number, line.rsplit(' ').next().expect("a word").to_string()));
    }
    let text = std::fs::read_to_string(&path).expect("the program");
    let mut wanted = BTreeSet::new();
    for (i, line) in text.lines().enumerate() {
        let Some((_, words)) = line.split_once("/* ") else { continue };
        for word in words.trim_end_matches(" */").split(", ") {
            wanted.insert((i + 1, word.to_string()));
        }
    }
    assert_eq!(found, wanted, "{name}");
    let want = reference(&build(&format!("sdc/{name}.c"), &[]), &[], &[]);
    let (r, counts) = verified(name, &[]);
    assert_eq!((r.status, &r.out, counts), (0, &want.out, [sections, kernels, 0]), "{name}: {}", r.err);
    let (r, counts) = verified(name, &[("PROMP_FAULT", &format!("sdc@kernel=3,nth={nth},count=3"))]);
    assert_eq!((r.status, &r.out, counts), (0, &want.out, [sections, kernels, 3]), "{name}: {}", r.err);
}

#[test]
fn sections_are_found_in_every_structure() {
    // Two in the block, one for the loop, three in the one that is cut, two and one beside a write-back, two
    // by themselves, two through the function.
    are_found("sections", 13, 23, 5);
}

/// One for the loop, one for the nest, three in the one that is cut outside, one for each branch, eight in
/// the switch, one in the loop that is left early, two with the jump. By the runtime alone: two.
#[test]
fn sections_are_found_where_control_is_not_straight() {
    are_found("structures", 20, 53, 12);
}

/// In C and Fortran: the whole loop is one section, without them each kernel would be one.
#[test]
fn directives_mark_sections() {
    let c = "#include <stdio.h>\nint a[9];\nint main(void) {\n#pragma omp target data map(tofrom:a)\n{\n\
             #pragma promp sdc checkpoint\nfor (int t = 0; t < 7; t++)\n#pragma omp target map(alloc:a)\n\
             a[3] += t;\n#pragma promp sdc error-detect\n}\nprintf(\"%d\\n\", a[3]);\n}\n";
    let f = "program p\ninteger :: a(9) = 0, t\n!$omp target data map(tofrom:a)\n!$promp sdc checkpoint\n\
             do t = 0, 6\n!$omp target map(alloc:a)\na(3) = a(3) + t\n!$omp end target\nend do\n\
             !$promp sdc error-detect\n!$omp end target data\nprint '(i0)', a(3)\nend\n";
    for (name, file, text) in [("promp-cc", "marked.c", c), ("promp-fc", "marked.f90", f)] {
        let path = out_dir().join(file);
        std::fs::write(&path, text).expect("target is writable");
        let exe = file.replace('.', "_");
        let Some(r) = compile(name, path.to_str().expect("UTF-8"), &exe, &[]) else { return };
        assert_eq!(r.status, 0, "{file}: {}", r.err);
        let (r, counts) = verified(&exe, &[("PROMP_SDC", "lazy:1")]);
        assert_eq!((r.status, r.out.trim(), counts), (0, "21", [1, 7, 0]), "{file}: {}", r.err);
    }
}

#[test]
fn marks_that_break_a_rule_are_errors_with_a_place() {
    let program = |body: &str| {
        format!("int a[9];\nvoid f(int n) {{\n#pragma omp target data map(tofrom:a)\n{{\n{body}\n}}\n}}\n")
    };
    let (begin, end) = ("#pragma promp sdc checkpoint\n", "#pragma promp sdc error-detect\n");
    let kernel = "#pragma omp target map(alloc:a)\na[1]++;\n";
    let back = "#pragma omp target update from(a)\n";
    for (body, line, why) in [
        (format!("{kernel}{begin}{kernel}{end}"), 5, "a kernel outside of a section"),
        (format!("{begin}{kernel}{back}{end}"), 8, "data come from the device inside of a section"),
        (format!("{begin}{kernel}{begin}{kernel}{end}"), 8, "begins inside of another one"),
        (format!("if (n)\n{{\n{begin}}}\n{kernel}{end}"), 9, "outside of a section"),
        (format!("{begin}{kernel}"), 2, "the function ends inside of a section"),
        ("#pragma promp sdc begin\n;".into(), 5, "checkpoint or error-detect"),
        ("#pragma promp sdc error\n;".into(), 5, "checkpoint or error-detect"),
    ] {
        let path = out_dir().join("marks.c");
        std::fs::write(&path, program(&body)).expect("target is writable");
        let Some(r) = compile("promp-cc", path.to_str().expect("UTF-8"), "marks.o", &["-c"]) else { return };
        assert_ne!(r.status, 0, "{body}");
        let place = |l: &str| l.contains(&format!("marks.c:{line}:")) && l.contains(why);
        assert!(r.err.lines().any(place), "line {line}, {why}: {}", r.err);
    }
}
