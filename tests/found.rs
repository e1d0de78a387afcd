//! The runtime is found however it is looked for: by the handle of a file, by a file's name, by threadpoolctl
//! and ctypes, in copies with other names. What belongs to others stays theirs.

use crate::common::saved::text;
use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Asks for functions in many ways. Prints in what kind of object each was found, and what setting the number
/// of threads by it does to the next region.
const ASKS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
static int team(void) {
    int n = 0;
    #pragma omp parallel
    #pragma omp single
    n = omp_get_num_threads();
    return n;
}
static int which = 2;
static void try(const char *how, void *f) {
    omp_set_num_threads(4);
    if (!f) { printf("%s: none\n", how); return; }
    which = which == 2 ? 3 : 2;
    ((void (*)(int))f)(which);
    printf("%s: %s\n", how, team() == which ? "ours" : "another");
}
int main(int n, char **arg) {
    const char *file = arg[1];
    void *h = dlopen(file, RTLD_NOW);
    if (!h) { puts(dlerror()); return 1; }
    const char *name = "omp_set_num_threads";
    try("handle", dlsym(h, name));
    try("version", dlvsym(h, name, "OMP_1.0"));
    try("Fortran", NULL);
    int four = 2;
    ((void (*)(int *))dlsym(h, "omp_set_num_threads_"))(&four);
    printf("Fortran's: %d\n", team());
    try("default", dlsym(RTLD_DEFAULT, name));
    try("program", dlsym(dlopen(NULL, RTLD_NOW), name));
    try("again", dlsym(dlopen(file, RTLD_NOW | RTLD_NOLOAD), name));
    try("global", dlsym(dlopen(file, RTLD_NOW | RTLD_GLOBAL), name));
    void *(*next)(const char *) = (void *(*)(const char *))dlsym(dlopen(arg[2], RTLD_NOW), "next");
    try("next of a library's", next(name));
    try("a library's dependence", dlsym(dlopen(arg[2], RTLD_NOW), name));
    dlerror();
    void *none = dlsym(h, "omp_no_such_name");
    printf("no such name: %d %d\n", none == NULL, strstr(dlerror(), "omp_no_such_name") != NULL);
    none = dlvsym(h, name, "OMP_9.9");
    printf("no such version: %d %d\n", none == NULL, strstr(dlerror(), "OMP_9.9") != NULL);
    printf("parallel: %d\n", dlsym(h, "GOMP_parallel") == dlsym(RTLD_DEFAULT, "GOMP_parallel"));
    printf("locks: %d\n", dlsym(h, "omp_set_lock") == (void *)omp_set_lock);
    printf("OpenACC: %d\n", dlsym(h, "acc_get_num_devices") == dlsym(RTLD_DEFAULT, "acc_get_num_devices"));
    printf("of libc: %d\n", dlsym(RTLD_NEXT, "puts") == (void *)puts && dlsym(h, "malloc") != NULL);
    return 0;
}
"#;

/// A library that is loaded later, with the runtime among those behind it.
const LATER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
void *next(const char *name) { return dlsym(RTLD_NEXT, name); }
int threads(void) { return omp_get_max_threads(); }
int team(void) {
    int n = 0;
    #pragma omp parallel
    #pragma omp single
    n = omp_get_num_threads();
    return n;
}
"#;

/// `promp run -- exe args`.
fn promp_run(exe: &Path, args: &[&str]) -> Run {
    let mut c = Command::new(library().with_file_name("promp"));
    clean(&mut c);
    c.args(["run", "--threads", "4", "--"]).arg(exe).args(args);
    limited(c, LIMIT)
}

/// Under LD_PRELOAD, and by `promp run`.
fn both(exe: &Path, args: &[&str]) -> [Run; 2] {
    [promp(exe, args, &[("OMP_NUM_THREADS", "4")]), promp_run(exe, args)]
}

fn shared(folder: &str, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    compiled(folder, name, source, &[&["-shared", "-fPIC"], flags].concat())
}

/// The system's libgomp.
fn libgomp() -> PathBuf {
    let asked = Command::new("gcc").arg("-print-file-name=libgomp.so").output().expect("gcc");
    let path = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim().to_owned());
    path.canonicalize().expect("gcc's libgomp")
}

/// A copy with a name as wheels have it.
fn copy(folder: &str) -> PathBuf {
    let to = out_folder(folder).join("libgomp-a34b3233.so.1.0.0");
    std::fs::copy(libgomp(), &to).expect("target is writable");
    to
}

#[test]
fn by_handle_it_is_the_one_that_the_regions_use() {
    let exe = compiled("found", "asks", ASKS, &["-fopenmp", "-ldl"]);
    let later = shared("found", "liblater.so", LATER, &["-fopenmp"]);
    let copy = copy("found");
    for file in ["libgomp.so.1", text(&libgomp()), text(&copy)] {
        let args = [file, text(&later)];
        for run in both(&exe, &args) {
            assert_eq!(run.status, 0, "{file}: {run:?}");
            assert!(!run.out.contains("another"), "{file}: {run:?}");
            // As under libgomp, but for the copy, which is another one there.
            let want = reference(&exe, &["libgomp.so.1", text(&later)], &[("OMP_NUM_THREADS", "4")]);
            assert_eq!(run.out, want.out, "{file}: {}", run.err);
        }
    }
}

#[test]
fn what_is_not_the_runtimes_is_left_alone() {
    // A library with names of its own that begin like OpenMP's; one that stands in for a few of a runtime's
    // functions; another namespace, which has a runtime as a whole; a program that has no runtime.
    let own = "int omp_solve(void) { return 5; } void acc_rate(void) {}";
    let own = shared("found", "libown.so", own, &[]);
    let stands_in = "int omp_get_max_threads(void) { return 77; } void GOMP_barrier(void) {}";
    let stands_in = shared("found", "libstandsin.so", stands_in, &[]);
    let source = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static int call(void *h, const char *name) { return ((int (*)(void))dlsym(h, name))(); }
int main(int n, char **arg) {
    void *own = dlopen(arg[1], RTLD_NOW), *in = dlopen(arg[2], RTLD_NOW);
    printf("%d %d\n", call(own, "omp_solve"), call(in, "omp_get_max_threads"));
    void *apart = dlmopen(LM_ID_NEWLM, "libgomp.so.1", RTLD_NOW);
    Dl_info at;
    if (!apart || !dladdr(dlsym(apart, "omp_set_num_threads"), &at)) return 1;
    puts(strrchr(at.dli_fname, '/'));
    void *m = dlsym(RTLD_NEXT, "malloc"), *v = dlvsym(RTLD_NEXT, "memcpy", "GLIBC_2.14");
    printf("%d %d %d\n", m != NULL, v != NULL, dlsym(own, "omp_none") == NULL);
    return 0;
}
"#;
    for flags in [&[][..], &["-fopenmp", "-Wl,--no-as-needed"]] {
        let exe = compiled("found", &format!("others-{}", flags.len()), source, flags);
        for run in both(&exe, &[text(&own), text(&stands_in)]) {
            assert_eq!((run.status, run.out.as_str()), (0, "5 77\n/libgomp.so.1\n1 1 1\n"), "{run:?}");
        }
    }
}

/// Names that a newer libgomp has and promp lacks are not given out: a second runtime would answer.
#[test]
fn a_name_of_the_future_is_not_found() {
    let future = "void GOMP_offload_unregister_ver(void) {} int omp_from_the_future(void) { return 1; }
        int omp_get_max_threads(void) { return 99; }";
    let future = shared("found", "libgomp-future.so.1", future, &[]);
    let source = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int n, char **arg) {
    void *h = dlopen(arg[1], RTLD_NOW), *f = dlsym(h, "omp_from_the_future");
    const char *why = dlerror();
    printf("%d %d\n", f == NULL, why && strstr(why, "omp_from_the_future") != NULL);
    printf("%d\n", ((int (*)(void))dlsym(h, "omp_get_max_threads"))());
    return 0;
}
"#;
    let exe = compiled("found", "future", source, &["-fopenmp"]);
    for run in both(&exe, &[text(&future)]) {
        assert_eq!((run.status, run.out.as_str()), (0, "1 1\n4\n"), "{run:?}");
    }
}

/// threadpoolctl looks through the loaded files, and calls what it finds by its handle.
#[test]
fn threadpoolctl_and_ctypes_limit_the_regions() {
    let later = shared("found", "libteam.so", LATER, &["-fopenmp"]);
    let python = Path::new("/usr/bin/python3");
    let have = Command::new(python).args(["-c", "import threadpoolctl"]).output();
    if !available("python3-threadpoolctl", have.is_ok_and(|o| o.status.success())) {
        return;
    }
    let script = root().join("c-tests/found/limits.py");
    let args = [text(&script), text(&later), "libgomp.so.1"];
    let want = reference(python, &args, &[("OMP_NUM_THREADS", "4")]);
    assert!(want.out.contains("limited 1 {1}\n") && want.out.contains("done 3 {3}\n"), "{want:?}");
    for run in both(python, &args) {
        assert_eq!((run.status, &run.out), (0, &want.out), "{}", run.err);
    }
}
