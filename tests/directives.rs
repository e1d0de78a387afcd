//! The drivers' own words: what they pass through to GCC, and `#pragma promp`.

use crate::common::driven::*;
use crate::common::*;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LOOPS: &str = "#include <vector>
int main() {
    std::vector<int> v(1000, 1);
    int s = 0;
#pragma omp parallel for reduction(+ : s)
    for (auto i = v.begin(); i < v.end(); ++i) s += *i;
#pragma omp parallel for reduction(+ : s)
    for (int x : v) s += x;
    return s == 2000 ? 0 : 1;
}
";

#[test]
fn the_drivers_pass_everything_else_through() {
    let Some(cc) = driver("promp-cc") else { return };
    let dir = out_folder("driver");
    std::fs::write(dir.join("a.cc"), LOOPS).unwrap();
    let file = |n: &str| dir.join(n).to_str().unwrap().to_string();
    let cxx = cc.with_file_name("promp-c++");
    compile(&cxx, &["-O2", "-fopenmp", "-o", &file("a"), &file("a.cc")]);
    assert_eq!(reference(Path::new(&file("a")), &[], &[]).status, 0, "linked against libpromp by the driver");
    // Separate compilation, no OpenMP at all, and questions to the compiler.
    compile(&cxx, &["-O2", "-fopenmp", "-c", "-o", &file("a.o"), &file("a.cc")]);
    compile(&cxx, &["-fopenmp", "-o", &file("b"), &file("a.o")]);
    assert_eq!(reference(Path::new(&file("b")), &[], &[]).status, 0);
    compile(&cxx, &["-o", &file("c"), &file("a.cc")]);
    assert_eq!(reference(Path::new(&file("c")), &[], &[]).status, 0);
    assert!(Command::new(&cc).arg("--version").output().unwrap().stdout.starts_with(b"gcc"));
    // A compiler that the plugin is not for.
    let r = Command::new(&cc).env("PROMP_CC", "/bin/true").args(["-fopenmp", "-c", "x.c"]).output().unwrap();
    let e = String::from_utf8_lossy(&r.stderr).into_owned();
    assert!(
        r.status.code() == Some(1) && e.contains("the plugin is for GCC") && e.contains("PROMP_CC"),
        "{e}"
    );
}

#[test]
fn directives_reach_the_runtime() {
    let (Some(cc), Some(fc)) = (driver("promp-cc"), driver("promp-fc")) else { return };
    for exe in [driven(&cc, "compiler/directives.c", &[]), driven(&fc, "compiler/directives.f90", &[])] {
        let expected = reference(&exe, &[], &[]);
        assert_eq!((expected.status, expected.out.trim()), (0, "143988040.0"), "{}", expected.err);
        let report = out_dir().join("report.json");
        for (threads, tune) in [(1u64, "off"), (2, "off"), (4, "off"), (2, "on"), (4, "on")] {
            let threads_text = threads.to_string();
            let mut env = vec![
                ("OMP_NUM_THREADS", threads_text.as_str()),
                ("PROMP_REPORT", report.to_str().expect("UTF-8")),
                ("PROMP_TUNE", tune),
            ];
            if tune == "off" {
                env.push(("PROMP_REPRODUCIBLE", "1"));
            }
            let r = promp(&exe, &[], &env);
            assert_eq!((r.status, &r.out), (0, &expected.out), "{}", r.err);
            let text = std::fs::read_to_string(&report).expect("written");
            let report: serde_json::Value = serde_json::from_str(&text).expect("a report");
            let chunks = report["chunks"].as_u64().expect("a number");
            // Five fragments and three a thread, and a whole chunk each in the last loop (reproducible:
            // nothing is cut unasked).
            let least = threads * (5 + 3 + 1);
            assert!(
                if tune == "off" { chunks == least } else { chunks >= least },
                "{exe:?} {tune}: {chunks}"
            );
        }
    }
}

#[test]
fn misused_directives_are_errors_with_a_place() {
    let Some(cc) = driver("promp-cc") else { return };
    for language in ["c", "c++"] {
        let mut c = Command::new(&cc);
        c.args(["-fopenmp", "-x", language, "-c", "-o", "/dev/null"])
            .arg(root().join("c-tests/compiler/misuse.c"));
        let r = limited(c, Duration::from_secs(60));
        assert_eq!(r.status, 1);
        for (line, text) in [
            (1, "belongs inside a function"),
            (3, "expects the number of fragments"),
            (4, "expects the number of fragments"),
            (5, "expects (static) or (dynamic)"),
            (6, "takes no argument"),
            (11, "not allowed inside"),
        ] {
            let found = r
                .err
                .lines()
                .any(|l| l.contains(&format!("misuse.c:{line}:")) && l.contains("error") && l.contains(text));
            assert!(found, "{language}, line {line}, {text}: {}", r.err);
        }
    }
}
