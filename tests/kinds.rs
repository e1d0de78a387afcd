//! Twelve kinds of programs: `promp run` and `promp doctor` say the same of each, with the same status.

use crate::common::saved::{Scratch, command};
use crate::common::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PLAIN: &str = "int main(void) { return 0; }";
const OPENMP: &str = "int main(void) {
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n += 1;
    return n < 1;
}";
const LLVM: &str = "void __kmpc_barrier(void); int main(void) { __kmpc_barrier(); return 0; }";
/// It asks both for what is theirs.
const BOTH: &str = "void __kmpc_barrier(void);
int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1)
        __kmpc_barrier();
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n += 1;
    return n < 1;
}";
const LOADS: &str = "#include <dlfcn.h>
int main(void) {
    void (*f)(void (*)(void *), void *, unsigned, unsigned);
    void *h = dlopen(\"libgomp.so.1\", RTLD_NOW | RTLD_GLOBAL);
    *(void **)&f = h ? dlsym(h, \"GOMP_parallel\") : 0;
    return !f;
}";

/// A program, and what is to be said of it.
struct Kind {
    name: &'static str,
    file: PathBuf,
    /// Of `promp run` and `promp doctor`.
    status: i32,
    /// What both say, if anything; of what cannot be had, or why it is not started.
    says: &'static str,
    /// Who runs them, if not root: what root may execute keeps its library.
    user: Option<u32>,
}

fn path(p: &Path) -> &str {
    p.to_str().expect("UTF-8")
}

fn executable(file: PathBuf, content: &[u8], mode: u32) -> PathBuf {
    fs::write(&file, content).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it is ours");
    file
}

/// Gives a file the right to open ports below 1024, as setcap(8) does. False: not allowed.
fn give_capability(file: &Path) -> bool {
    let name = std::ffi::CString::new(path(file)).expect("no zeros");
    // Revision 2, effective; permitted: CAP_NET_BIND_SERVICE.
    let words: [u32; 5] = [0x0200_0001, 1 << 10, 0, 0, 0];
    let (value, length) = (words.as_ptr().cast(), size_of_val(&words));
    // SAFETY: both are C strings, and the value is as long as it says.
    unsafe { libc::setxattr(name.as_ptr(), c"security.capability".as_ptr(), value, length, 0) == 0 }
}

/// Not executable as what it says it is, or by those who execute it.
fn damaged(s: &Scratch, whole: &[u8]) -> Vec<Kind> {
    let kind = |name, file, status, says| Kind { name, file, status, says, user: None };
    let mut other = whole.to_vec();
    other[4] = 1; // ELFCLASS32
    other[18..20].copy_from_slice(&3u16.to_le_bytes()); // EM_386
    vec![
        kind("i386", executable(s.path("i386"), &other, 0o755), 126, "x86-64"),
        kind("cut", executable(s.path("cut"), &whole[..40], 0o755), 126, "neither an ELF program"),
        kind("set-user-ID", executable(s.path("suid"), whole, 0o4755), 126, "set-user-ID"),
        kind("script", executable(s.path("script"), b"#!/bin/sh\nexit 0\n", 0o755), 0, ""),
        kind("script of nobody", executable(s.path("no"), b"#!/no/sh\n", 0o755), 126, "not there"),
    ]
}

fn kinds(s: &Scratch) -> Vec<Kind> {
    let kind = |name, file, status, says| Kind { name, file, status, says, user: None };
    let of = |name, text, flags: &[&str]| compiled("kinds", name, text, flags);
    // Its own stand-in for LLVM's runtime: what counts is what the program asks for.
    let runtime = of("libkmpc.so", "void __kmpc_barrier(void) {}", &["-shared", "-fPIC"]);
    let with = ["-Wl,--no-as-needed", path(&runtime)];
    let openmp = of("gcc", OPENMP, &["-fopenmp"]);
    let whole = fs::read(&openmp).expect("it was built");
    let mut all = vec![
        kind("GCC's", openmp, 0, ""),
        kind("libomp's", of("llvm", LLVM, &with), 0, "libomp"),
        kind("both", of("both", BOTH, &[&["-fopenmp"][..], &with].concat()), 0, ""),
        kind("none", of("plain", PLAIN, &[]), 0, "uses no OpenMP"),
        kind("static", of("static", PLAIN, &["-static"]), 126, "statically linked"),
        kind("found by dlopen", of("loads", LOADS, &["-ldl"]), 0, ""),
    ];
    all.extend(damaged(s, &whole));
    let musl = s.path("musl");
    fs::write(s.path("musl.c"), PLAIN).expect("a source");
    let built = Command::new("musl-gcc").arg("-o").arg(&musl).arg(s.path("musl.c")).status();
    if available("musl-gcc (musl-tools)", built.is_ok_and(|s| s.success())) {
        all.push(kind("musl", musl, 126, "musl"));
    }
    let file = executable(s.path("capable"), &whole, 0o755);
    if available("who may give capabilities to files", give_capability(&file)) {
        all.push(Kind { user: Some(65534), ..kind("file capabilities", file, 126, "file capabilities") });
    }
    all
}

#[test]
fn run_and_doctor_agree() {
    let s = Scratch::new("kinds");
    fs::set_permissions(&s.0, fs::Permissions::from_mode(0o777)).expect("it is ours");
    fs::create_dir(s.path("ckpt")).expect("a folder");
    fs::set_permissions(s.path("ckpt"), fs::Permissions::from_mode(0o777)).expect("it is ours");
    let all = kinds(&s);
    assert!(all.len() >= 11, "{}", all.len());
    for k in &all {
        let promp = |args: &[&str]| {
            let mut c = Command::new(command());
            clean(&mut c);
            k.user.map(|u| c.uid(u));
            c.args(args).arg(&k.file).current_dir(&s.0);
            limited(c, LIMIT)
        };
        let run = promp(&["run", "--ckpt", path(&s.path("ckpt").join(k.name.replace(' ', "-"))), "--"]);
        let doctor = promp(&["doctor"]);
        if k.user.is_some()
            && (run.err.contains("ermission denied") || doctor.err.contains("ermission denied"))
        {
            eprintln!("skipped: {}: other users may not read the build's folder", k.name);
            continue;
        }
        assert_eq!((run.status, doctor.status), (k.status, k.status), "{}: {run:?} {doctor:?}", k.name);
        let said = doctor.out.clone() + &doctor.err;
        assert!(run.err.contains(k.says) && said.contains(k.says), "{}: {run:?} {doctor:?}", k.name);
        let cannot = run.err.contains("no checkpoints (--ckpt);");
        assert_eq!(cannot, k.status == 0 && !k.says.is_empty(), "{}: {run:?}", k.name);
        let strict = promp(&["run", "--strict", "--"]);
        let as_said = if k.says.is_empty() { 0 } else { 126 };
        assert_eq!(strict.status, as_said, "{}, strictly: {strict:?}", k.name);
    }
}
