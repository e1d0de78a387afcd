//! One OpenMP runtime to a program: who asks another one for a name that promp lacks is stopped before its
//! first line, however it comes; who has a whole runtime of another family, or functions of its own with such
//! names, goes on.

use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The status that docs/environment.md gives.
const TWO_RUNTIMES: i32 = 76;

/// A folder with the libraries and programs of one test.
struct Bench(PathBuf);

impl Bench {
    fn new(name: &str) -> Self {
        Self(empty_folder(&format!("runtimes/{name}")))
    }

    fn cc(&self, out: &str, text: &str, flags: &[&str]) -> PathBuf {
        let (source, out) = (self.0.join(format!("{out}.c")), self.0.join(out));
        std::fs::write(&source, text).expect("target is writable");
        let mut c = Command::new("gcc");
        c.args(["-w", "-O1", "-o"]).arg(&out).arg(&source).arg("-L").arg(&self.0);
        c.arg(format!("-Wl,-rpath,{}", self.0.display())).args(flags);
        let run = c.output().expect("gcc");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        out
    }

    /// A library with these functions in this version; without one if it is empty.
    fn library(&self, file: &str, functions: &[&str], version: &str) -> PathBuf {
        let text: String = functions.iter().map(|f| format!("int {f}(void) {{ return 0; }}\n")).collect();
        let map = self.0.join(format!("{file}.map"));
        let script = format!("{version} {{ global: {}; local: *; }};\n", functions.join("; "));
        std::fs::write(&map, script).expect("target is writable");
        let (map, soname) =
            (format!("-Wl,--version-script={}", map.display()), format!("-Wl,-soname,{file}"));
        self.cc(file, &text, &["-shared", "-fPIC", &map, &soname])
    }

    /// Calls of `names` in a function, and in a program that prints before and after it.
    fn caller(&self, names: &[&str]) -> (String, String) {
        let declared: String = names.iter().map(|n| format!("int {n}(void);\n")).collect();
        let calls: String = names.iter().map(|n| format!("{n}();")).collect();
        let function = format!(
            "#include <stdio.h>\n{declared}
             int f(void) {{ {calls} puts(\"called\"); return fflush(stdout); }}\n"
        );
        let early = "__attribute__((constructor)) static void early(void) { puts(\"early\"); }\n";
        (function.clone() + early, function + early + "int main(void) { puts(\"first\"); return f() < 0; }\n")
    }
}

/// Runs with promp preloaded.
fn preloaded(exe: &Path, args: &[&str]) -> Run {
    promp(exe, args, &[])
}

fn stopped(run: &Run, says: &[&str]) {
    assert_eq!((run.status, run.out.as_str()), (TWO_RUNTIMES, ""), "{run:?}");
    assert!(says.iter().all(|s| run.err.contains(s)), "expected {says:?}: {}", run.err);
}

fn went_on(run: &Run) {
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{run:?}");
    assert!(run.out.ends_with("called\n"), "{run:?}");
}

const FUTURE: &str = "GOMP_from_the_future";

/// Loads its first argument and calls `f` in it. The second says how.
const LOADER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int n, char **arg) {
#pragma omp parallel
    { }
    int deep = n > 2 && !strcmp(arg[2], "deep"), apart = n > 2 && !strcmp(arg[2], "apart");
    int lazy = n > 2 && !strcmp(arg[2], "lazy");
    void *h = apart ? dlmopen(LM_ID_NEWLM, arg[1], RTLD_NOW)
                    : dlopen(arg[1], (lazy ? RTLD_LAZY : RTLD_NOW) | (deep ? RTLD_DEEPBIND : 0));
    if (!h) { puts(dlerror()); return 1; }
    int (*f)(void) = (int (*)(void))dlsym(h, "f");
    return f() < 0;
}
"#;

#[test]
fn names_of_the_future_stop_the_program_before_its_first_line() {
    let b = Bench::new("future");
    b.library("libfuture.so", &[FUTURE], "GOMP_9.9");
    let (part, whole) = b.caller(&[FUTURE]);
    let says = ["GOMP_from_the_future", "version GOMP_9.9", "libfuture.so"];
    for flags in [&["-lfuture"][..], &["-lfuture", "-fopenmp"], &["-lfuture", "-no-pie"]] {
        let exe = b.cc("program", &whole, flags);
        stopped(&preloaded(&exe, &[]), &says);
        assert_eq!(reference(&exe, &[], &[]).status, 0);
    }
    // Linked with promp, no preloading.
    let dir = library().parent().expect("a folder").display().to_string();
    let (at, found) = (format!("-L{dir}"), format!("-Wl,-rpath,{dir}"));
    for order in [["-lpromp", "-lfuture"], ["-lfuture", "-lpromp"]] {
        let exe = b.cc("linked", &whole, &["-Wl,--no-as-needed", &at, order[0], order[1], &found]);
        stopped(&reference(&exe, &[], &[]), &says);
    }
    // In a library of the program's, with its constructor; by dlopen, however.
    b.cc("libpart.so", &part, &["-shared", "-fPIC", "-lfuture"]);
    let exe = b.cc("with-library", "int f(void); int main(void) { return f() < 0; }", &["-lpart"]);
    stopped(&preloaded(&exe, &[]), &["libpart.so calls GOMP_from_the_future"]);
    let loader = b.cc("loader", LOADER, &["-fopenmp"]);
    let plain = b.cc("plain-loader", LOADER, &[]);
    let part = b.0.join("libpart.so").display().to_string();
    for exe in [&loader, &plain] {
        for how in ["now", "lazy", "deep"] {
            stopped(&preloaded(exe, &[&part, how]), &["libpart.so calls GOMP_from_the_future"]);
        }
        // Another namespace has a runtime of its own.
        went_on(&preloaded(exe, &[&part, "apart"]));
    }
}

/// What counts is the name with its version; a renamed copy of libgomp in a wheel, as well as a hash table of
/// the old kind, changes nothing.
#[test]
fn versions_copies_and_old_tables() {
    let b = Bench::new("versions");
    for (i, (file, name, version)) in [
        ("libgomp-a34b3233.so.1", "GOMP_barrier", "GOMP_9.9"),
        ("libgomp-a34b3233.so.1", "omp_from_the_future", "OMP_9.9"),
        ("libgomp-a34b3233.so.1", "acc_from_the_future", "OACC_9.9"),
        ("libgomp-a34b3233.so.1", "GOACC_from_the_future", "GOACC_9.9"),
    ]
    .into_iter()
    .enumerate()
    {
        b.library(file, &[name], version);
        let (_, whole) = b.caller(&[name]);
        let file = format!("-l:{file}");
        for (j, style) in ["gnu", "sysv", "both"].into_iter().enumerate() {
            let style = format!("-Wl,--hash-style={style}");
            let exe = b.cc(&format!("program-{i}-{j}"), &whole, &[&file, &style]);
            stopped(&preloaded(&exe, &[]), &[name, version, "libgomp-a34b3233.so.1"]);
        }
    }
}

#[test]
fn what_is_no_mix_goes_on() {
    let b = Bench::new("beside");
    // Functions that only begin like OpenMP's; a runtime of another family with its own names, beside
    // functions that both have.
    b.library("libpursuit.so", &["omp_solve", "acc_rate"], "PURSUIT_1");
    b.library(
        "libother.so",
        &["__kmpc_fork_call", "GOMP_parallel", "omp_from_the_future", "omp_in_parallel"],
        "VERSION",
    );
    for (i, (names, flags)) in [
        (&["omp_solve", "acc_rate"][..], &["-lpursuit"][..]),
        (&["__kmpc_fork_call", "omp_from_the_future", "omp_in_parallel"], &["-lother"]),
        (&["omp_from_the_future"], &["-lother"]),
        // Everything there is already, in a copy with another name.
        (&["omp_in_parallel", "GOMP_barrier"], &["-fopenmp"]),
    ]
    .into_iter()
    .enumerate()
    {
        let (part, whole) = b.caller(names);
        went_on(&preloaded(&b.cc(&format!("program-{i}"), &whole, flags), &[]));
        let flags: Vec<&str> = [flags, &["-shared", "-fPIC"]].concat();
        let part = b.cc(&format!("libpart-{i}.so"), &part, &flags).display().to_string();
        let loader = b.cc("loader", LOADER, &["-fopenmp"]);
        for how in ["now", "lazy", "deep", "apart"] {
            went_on(&preloaded(&loader, &[&part, how]));
        }
    }
    // Nobody has it, and nobody calls it.
    let weak = "#include <stdio.h>\n__attribute__((weak)) void GOMP_from_the_future(void);
        int main(void) { if (GOMP_from_the_future) GOMP_from_the_future(); puts(\"called\"); return 0; }";
    went_on(&preloaded(&b.cc("weak", weak, &[]), &[]));
}

/// Libraries come and go, and one is stopped only when it is there.
#[test]
fn after_libraries_have_gone() {
    let b = Bench::new("gone");
    b.library("libfuture.so", &[FUTURE], "GOMP_9.9");
    let (part, _) = b.caller(&[FUTURE]);
    let (good, _) = b.caller(&["omp_in_parallel"]);
    b.cc("libbad.so", &part, &["-shared", "-fPIC", "-lfuture"]);
    b.cc("libgood.so", &good, &["-shared", "-fPIC", "-fopenmp"]);
    let text = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int n, char **arg) {
    for (int i = 1; i < n; i++) {
        void *h = dlopen(arg[i], RTLD_NOW);
        if (!h) { puts(dlerror()); return 1; }
        fprintf(stderr, "loaded %d\n", i);
        dlclose(h);
    }
}"#;
    let exe = b.cc("program", text, &[]);
    let [good, bad] = ["libgood.so", "libbad.so"].map(|l| b.0.join(l).display().to_string());
    let run = preloaded(&exe, &[&good, &good, &bad, &good]);
    assert_eq!(run.status, TWO_RUNTIMES, "{run:?}");
    assert!(run.err.contains("loaded 2\n") && !run.err.contains("loaded 3\n"), "{}", run.err);
    assert_eq!(preloaded(&exe, &[&good, &good, &good]).status, 0);
}

#[test]
fn the_doctor_says_it_beforehand() {
    let b = Bench::new("doctor");
    b.library("libfuture.so", &[FUTURE], "GOMP_9.9");
    let (_, bad) = b.caller(&[FUTURE, "omp_in_parallel"]);
    let (_, good) = b.caller(&["omp_in_parallel"]);
    let bad = b.cc("bad", &bad, &["-lfuture", "-fopenmp"]);
    let good = b.cc("good", &good, &["-fopenmp"]);
    let still = b.cc("static", "int main(void) { return 0; }", &["-static"]);
    let doctor = |program: &Path| {
        let mut c = Command::new(library().with_file_name("promp"));
        c.arg("doctor").arg(program);
        limited(c, LIMIT)
    };
    let run = doctor(&bad);
    assert_eq!(run.status, TWO_RUNTIMES, "{run:?}");
    assert!(run.out.contains("no  one OpenMP runtime") && run.out.contains("GOMP_9.9"), "{run:?}");
    let run = doctor(&good);
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.out.contains("yes one OpenMP runtime"), "{run:?}");
    assert_eq!(doctor(&still).status, 126);
    assert_eq!(doctor(Path::new("/no/such/program")).status, 127);
}
