//! PROMP_CKPT_POISON=1 finds what was wrongly said to be dead: it says what that is, where it was said, and
//! who reads it (docs/internals/live-sets.md).

use crate::common::driven::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The line about a wrong proof, of runs of `exe` that are rolled back to checkpoints taken at its place.
/// `None` where the system does not let missing pages be awaited.
fn said(exe: &Path, what: &str) -> Option<String> {
    let s = Scratch::new(&format!("wrong{}{what}", exe.file_name().unwrap().to_str().unwrap()));
    let doctor = limited(
        {
            let mut c = Command::new(command());
            c.arg("doctor");
            c
        },
        LIMIT,
    );
    if !doctor.out.lines().any(|l| l.starts_with("yes") && l.contains("copying while running")) {
        eprintln!("SKIPPED: no permission to let system calls wait for memory (userfaultfd)");
        return None;
    }
    let mut all = String::new();
    // On a fast machine the first checkpoint comes late; what has been copied elsewhere leaves nothing out.
    for region in [40, 80, 120, 160, 240, 300, 600, 1200, 2400, 4800, 9600] {
        let steps = (region * 3 / 2).max(200).to_string();
        let args = [what, &steps];
        let want = reference(exe, &args, &[THREADS]);
        let fault = format!("memerr@thread=1,region={region},at=region,delay=30us");
        let set = [
            ("PROMP_CKPT_POISON", "1"),
            ("PROMP_FAULT", &*fault),
            ("PROMP_CKPT_INTERVAL", "10ms"),
            ("PROMP_REPLAY", "never"),
        ];
        let run = checkpointed(exe, &args, &s.path("ckpt"), &set);
        assert!(!run.hung && (run.status == 0 || too_early(&run)), "{what}: {}", run.err);
        if let Some(line) = run.err.lines().find(|l| l.contains("a wrong proof")) {
            // It was right to say so. And the image that shows it stays, or a later one that does without
            // it, too.
            assert!(run.out != want.out || ["c", "u"].contains(&what), "{what}: {}", run.err);
            let went_back = run.err.split("rolled back to checkpoint ").nth(1).expect("a rollback");
            let number: u64 = went_back.split(' ').next().unwrap().parse().expect("a number");
            let newest = promp_image::generation_files(&s.path("ckpt")).first().copied();
            assert!(newest >= Some(number), "{newest:?}: {}", run.err);
            return Some(line.into());
        }
        if run.err.contains("rolled back") && what == "n" {
            assert_eq!(run.out, want.out, "{}", run.err);
        }
        all += &run.err;
    }
    if what == "n" {
        assert!(all.contains("rolled back"), "{all}");
        return Some(String::new());
    }
    panic!("{what}: nothing was said: {all}");
}

/// Does the line have all of these?
fn has(line: &str, parts: &[&str]) {
    assert!(parts.iter().all(|p| line.contains(p)), "{line}: {parts:?}");
}

#[test]
fn who_reads_a_static_array_or_the_heap() {
    let exe = build("ckpt/wrong.c", &[]);
    let read = ["as dead at place (addr2line -e", "reads", "at step._omp_fn.0 (addr2line -e"];
    let Some(line) = said(&exe, "s") else { return };
    has(&line, &[&["a wrong proof: kept was left out of checkpoint", "thread "], &read[..]].concat());
    has(&said(&exe, "h").unwrap(), &[&["memory of 524288 bytes at 0x"], &read[..]].concat());
    // What the place is called by the compile side.
    let table = ["a wrong proof: kept (of a table) was left out", "as dead at main (wrong.c:1)", read[2]];
    has(&said(&exe, "t").unwrap(), &table);
    assert_eq!(said(&exe, "n").unwrap(), "");
}

/// For the kernel an instruction that counts memory up writes; and a page that a system call reads is
/// nobody's but the program's.
#[test]
fn who_counts_up_or_hands_to_the_kernel() {
    let exe = build("ckpt/wrong.c", &[]);
    let Some(line) = said(&exe, "u") else { return };
    has(&line, &["a wrong proof: counted was left out", "as dead at place", " at step (addr2line"]);
    // Beside other work the checkpoint may come behind the last such call: then main reads it.
    let calls = (0..5).any(|_| {
        let line = said(&exe, "c").unwrap();
        has(&line, &["a wrong proof: kept was left out"]);
        line.contains("in a system call from ")
    });
    assert!(calls, "no system call has read it");
}

#[test]
fn who_reads_what_fortran_says_is_dead() {
    let (module, program) = (root().join("include/promp.f90"), root().join("c-tests/ckpt/wrong.f90"));
    let s = Scratch::new("wrongf90");
    let exe = s.path("wrong");
    let sources = [text(&module), text(&program)];
    let flags = ["-O2", "-fopenmp", "-w", "-foffload=disable"];
    let lib = library();
    let with = [text(&lib), "-Wl,--allow-shlib-undefined", "-o", text(&exe)];
    tool_in(&s.0, &PathBuf::from("gfortran"), &[&flags[..], &sources, &with].concat());
    let Some(line) = said(&exe, "h") else { return };
    let read = ["as dead at MAIN__ (addr2line -e", " at MAIN__._omp_fn.0 (addr2line -e"];
    has(&line, &[&["memory of 524288 bytes at 0x"], &read[..]].concat());
    has(
        &said(&exe, "s").unwrap(),
        &[&["a wrong proof: __fields_MOD_fixed was left out"], &read[..]].concat(),
    );
}

/// promp-cc does not see what inline assembler reads that names a variable: it is wrong, and what it says
/// names the variable and the line of the place.
#[test]
fn what_promp_cc_did_not_see() {
    let Some(cc) = driver("promp-cc") else { return };
    let source = root().join("c-tests/ckpt/wrong.c");
    let exe = driven(&cc, "ckpt/wrong.c", &["-fpromp-report", "-DHIDDEN"]);
    let lines = fs::read_to_string(&source).unwrap();
    let line = 1 + lines.lines().position(|l| l.contains("#pragma promp checkpoint")).unwrap();
    let Some(said) = said(&exe, "p") else { return };
    let place = format!("as dead at main ({}:{line})", text(&source));
    has(&said, &["a wrong proof: hidden (524288 bytes) was left out", &place, "reads._omp_fn.0"]);
}
