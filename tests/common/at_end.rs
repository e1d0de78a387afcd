//! What a program writes at its end, and what becomes of it where each system call in turn fails.

use super::faults::{self, How};
use super::saved::Scratch;
use super::*;
use std::fs;

/// Computes in one region, with an argument in that one again and again; says so, ends with status 3.
const PROGRAM: &str = r#"
#include <stdio.h>
int main(int argc, char **argv) {
    int n = 0;
    for (int k = 0; k < (argc > 1 ? 60 : 1); k++) {
        n = 0;
#pragma omp parallel for schedule(dynamic, 7) reduction(+ : n)
        for (int i = 0; i < 1000; i++) {
            for (volatile int j = 0; j < 200; j++);
            n += i;
        }
    }
    printf("%d\n", n);
    return 3;
}
"#;

pub fn program(s: &Scratch) -> PathBuf {
    let (source, exe) = (s.path("program.c"), s.path("program"));
    fs::write(&source, PROGRAM).expect("a file");
    let made = Command::new("gcc").args(["-O1", "-fopenmp", "-o"]).args([&exe, &source]).status();
    assert!(made.expect("gcc").success());
    exe
}

pub const ERRORS: [How; 5] = [
    How::Error(libc::ENOSPC),
    How::Error(libc::EDQUOT),
    How::Error(libc::EIO),
    How::Error(libc::EINTR),
    How::Short,
];

/// Gives each call about the files of `words` each of the errors; `check` looks at the run and at what has
/// failed. How many calls there were, and runs.
pub fn sweep(
    words: &[&str],
    command: impl Fn() -> Command,
    mut check: impl FnMut(&Run, &str, How),
) -> Option<(u64, u32)> {
    let (ran, seen) = faults::run(command(), words, 0, How::Short)?;
    assert_eq!((ran.status, ran.out.as_str()), (3, "499500\n"), "{ran:?}");
    assert!(seen.calls >= 2, "{seen:?}");
    let mut runs = 0;
    for at in 1..=seen.calls {
        for how in ERRORS {
            let (ran, seen) = faults::run(command(), words, at, how)?;
            let failed = format!("call {at}, {}, {how:?}", seen.failed.unwrap_or_default());
            assert!(!ran.hung, "{failed}: {ran:?}");
            check(&ran, &failed, how);
            runs += 1;
        }
    }
    eprintln!("{words:?}: {} calls, {runs} runs", seen.calls);
    Some((seen.calls, runs))
}

pub fn skipped<T>(did: Option<T>) {
    available("seccomp(2) with a listener", did.is_some());
}
