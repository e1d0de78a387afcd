//! What part promp has in a program is said before it starts, and `promp doctor` says the same.

use crate::common::*;
use std::path::Path;
use std::process::Command;

const OPENMP: &str = "int main(void) {
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n += 1;
    return n < 1;
}";

fn promp(args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut c = Command::new(library().with_file_name("promp"));
    c.args(args).envs(env.iter().copied()).current_dir(out_folder("part"));
    limited(c, LIMIT)
}

fn script(name: &str, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let file = out_folder("part").join(name);
    std::fs::write(&file, text).expect("target is writable");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    file.display().to_string()
}

fn path(p: &Path) -> &str {
    p.to_str().expect("UTF-8")
}

#[test]
fn what_cannot_be_had_is_said_before_the_program_starts() {
    let plain = compiled("part", "plain", "int main(void) { return 0; }", &[]);
    let openmp = compiled("part", "openmp", OPENMP, &["-fopenmp"]);
    // Its own stand-in for LLVM's runtime: what counts is what the program asks for.
    let own = "void __kmpc_barrier(void) {}";
    let runtime = compiled("part", "libkmpc.so", own, &["-shared", "-fPIC"]);
    let llvm = "void __kmpc_barrier(void); int main(void) { __kmpc_barrier(); return 0; }";
    let llvm = compiled("part", "llvm", llvm, &["-Wl,--no-as-needed", path(&runtime)]);
    for (program, word) in [(&plain, "uses no OpenMP"), (&llvm, "libomp")] {
        let program = path(program);
        let run = promp(&["run", "--ckpt", "none", "--report", "none.json", "--", program], &[]);
        assert_eq!(run.status, 0, "{run:?}");
        for w in [word, "no checkpoints", "--ckpt", "--report"] {
            assert!(run.err.contains(w), "{w}: {run:?}");
        }
        let run = promp(&["run", "--", program], &[("PROMP_MONITOR", "segments")]);
        assert!(run.err.contains("PROMP_MONITOR"), "{run:?}");
        let run = promp(&["run", "--", program], &[]);
        assert!(run.status == 0 && run.err.is_empty(), "{run:?}");
        let run = promp(&["run", "--strict", "--", program], &[]);
        assert!(run.status == 126 && run.err.contains(word), "{run:?}");
        let run = promp(&["doctor", program], &[]);
        assert!(run.status == 0 && run.out.contains(word), "{run:?}");
    }
    for command in [&["env", "-i", path(&openmp)][..], &["nice", "env", "-", path(&openmp)]] {
        let words = ["run", "--ckpt", "cleared", "--"];
        let run = promp(&[&words[..], command].concat(), &[]);
        assert!(run.status == 0 && run.err.contains("LD_PRELOAD"), "{command:?} {run:?}");
        let run = promp(&[&["run", "--strict", "--"], command].concat(), &[]);
        assert_eq!(run.status, 126, "{command:?} {run:?}");
    }
    // What has a part, and what may start something that has, is not spoken of.
    for command in [&[path(&openmp)][..], &["env", path(&openmp)], &["sh", "-c", path(&openmp)]] {
        let run = promp(&[&["run", "--strict", "--report", "r.json", "--"], command].concat(), &[]);
        assert!(run.status == 0 && run.err.is_empty(), "{command:?} {run:?}");
    }
}

#[test]
fn the_doctor_has_the_status_of_the_run() {
    let nobody = script("nobody.sh", "#!/no/such/shell\n");
    let fine = script("fine.sh", "#!/bin/sh\nexit 0\n");
    let text = script("text", "no program\n");
    let cut = script("cut", "\u{7f}ELF");
    let still = compiled("part", "static", "int main(void) { return 0; }", &["-static"]);
    for (program, status) in
        [(&*nobody, 126), (&fine, 0), (&text, 126), (&cut, 126), (path(&still), 126), ("/no/such", 127)]
    {
        for command in ["run", "doctor"] {
            assert_eq!(promp(&[command, program], &[]).status, status, "{command} {program}");
        }
    }
    let without = [("PROMP_LIBRARY", "/no/such/libpromp.so")];
    for args in [&["run", &*fine][..], &["doctor", &fine], &["doctor"]] {
        assert_eq!(promp(args, &without).status, 69, "{args:?}");
    }
}

#[test]
fn unknown_names_are_said_once() {
    let exe = compiled("part", "names", OPENMP, &["-fopenmp"]);
    for (wrong, right) in [
        ("PROMP_CKPT_DIRS", "mean PROMP_CKPT_DIR?"),
        ("PROMP_REPROT", "mean PROMP_REPORT?"),
        ("PROMP_VERBOS", "mean PROMP_VERBOSE?"),
        ("PROMP_FALT", "mean PROMP_FAULT?"),
        ("PROMP_WEATHER_TODAY", "ignored"),
    ] {
        let run = promp(&["run", "--", path(&exe)], &[(wrong, "x")]);
        assert!(run.status == 0 && run.err.contains(right), "{run:?}");
        assert_eq!(run.err.matches(&format!("{wrong} is")).count(), 1, "{run:?}");
        let mut c = Command::new(&exe);
        c.env(wrong, "x").env("LD_PRELOAD", library());
        let run = limited(c, LIMIT);
        assert!(run.status == 0 && run.err.contains(right), "{run:?}");
    }
}
