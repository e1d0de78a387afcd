//! What part promp has in a program: one answer for `promp run` and `promp doctor`, from the program's file
//! and the libraries that the loader would load with it.

mod launchers;
mod program_objects;
mod unmet_requests;

pub use program_objects::{OF_GCC, Object, Symbol, loaded};
pub use unmet_requests::{say_unknown_names, say_what_cannot_be_had};

use crate::elf::{self, Kind};
use crate::{Failure, Outcome};
use std::ffi::CString;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is known before it is started.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// promp is its OpenMP runtime.
    Runtime,
    /// Nothing that is loaded with it uses OpenMP; it may load or start something that does.
    NotKnown,
    /// None: why, and what to do.
    Nothing(Reason),
}

/// Why promp has no part in a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Reason {
    /// What the program is.
    pub is: String,
    /// What to do.
    pub todo: &'static str,
}

impl Reason {
    fn new(is: impl Into<String>, todo: &'static str) -> Self {
        Self { is: is.into(), todo }
    }
}

/// Programs that cannot be started, or that the loader would run without the library, are refused: they would
/// silently run unprotected.
pub fn check(program: &Path) -> Outcome {
    let name = program.display();
    let refused = |why: String| Err(Failure::new(126, format!("{name} {why}")));
    let meta = program.metadata().map_err(|e| Failure::new(66, format!("{name}: {e}")))?;
    if meta.is_dir() {
        return refused("is a directory".into());
    }
    if meta.mode() & 0o111 == 0 {
        return refused("is not executable (chmod +x)".into());
    }
    if meta.mode() & 0o6000 != 0 {
        return refused(
            "is set-user-ID or set-group-ID: the loader ignores LD_PRELOAD for it, so promp cannot protect it"
                .into(),
        );
    }
    if has_capabilities(program) && !nix::unistd::getuid().is_root() {
        return refused(
            "has file capabilities (getcap): the loader ignores LD_PRELOAD for it, so promp cannot protect \
             it; use a copy without them (cp does not copy them)"
                .into(),
        );
    }
    if let Some(musl) = elf::interpreter(program).filter(|i| is_musls(i)) {
        return refused(format!(
            "is built for the C library musl ({}), for which there is no promp; build it for glibc",
            musl.display()
        ));
    }
    match elf::kind(program) {
        Ok(Kind::Dynamic) => Ok(()),
        Ok(Kind::Script) => match script_interpreter(program) {
            Some(by) if !by.exists() => {
                refused(format!("is a script for {}, which is not there", by.display()))
            }
            _ => Ok(()),
        },
        Ok(Kind::Static) => refused(
            "is statically linked: there is no loader that could put libpromp.so into it; link it \
             dynamically, or with -lpromp"
                .into(),
        ),
        Ok(Kind::Foreign) => refused("is not a program for x86-64".into()),
        Ok(Kind::Unknown) => refused("is neither an ELF program nor a script".into()),
        Err(e) => Err(Failure::new(66, format!("{name} cannot be read: {e}"))),
    }
}

/// The part in a program that [`check`] has passed.
pub fn of(program: &Path) -> Part {
    if elf::kind(program).ok() != Some(Kind::Dynamic) {
        return Part::NotKnown;
    }
    let Ok((paths, missing)) = loaded(program) else { return Part::NotKnown };
    let objects: Vec<Object> = paths.iter().filter_map(|p| Object::read(p).ok()).collect();
    if objects.len() < paths.len() || !missing.is_empty() {
        return Part::NotKnown;
    }
    of_objects(&objects)
}

/// … whose objects these are.
fn of_objects(objects: &[Object]) -> Part {
    let any = |is: &dyn Fn(&Object) -> bool| objects.iter().any(is);
    if any(&|o| o.wants(&OF_GCC) || o.asks_by_version()) {
        return Part::Runtime;
    }
    if any(&|o| o.wants(&["__kmpc_"])) {
        let is = "is built for LLVM's OpenMP runtime (libomp), whose place promp does not take";
        return Part::Nothing(Reason::new(is, "build it with gcc, g++ or gfortran and -fopenmp"));
    }
    if any(&|o| o.wants(&["omp_", "acc_"])) || any(&|o| o.may_bring_others) {
        return Part::NotKnown;
    }
    Part::Nothing(Reason::new("uses no OpenMP, nor do its libraries", "build it with -fopenmp"))
}

fn is_musls(interpreter: &Path) -> bool {
    interpreter.file_name().is_some_and(|n| n.as_bytes().starts_with(b"ld-musl-"))
}

/// Does the file give whoever executes it more rights?
fn has_capabilities(program: &Path) -> bool {
    let Ok(path) = CString::new(program.as_os_str().as_bytes()) else { return false };
    // SAFETY: both are C strings; no buffer: only the size is asked for.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), core::ptr::null_mut(), 0) > 0 }
}

/// Who executes a script, by its `#!` line.
fn script_interpreter(script: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    std::fs::File::open(script).ok()?.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?.trim_ascii();
    let name = line.split(|b| b.is_ascii_whitespace()).next().filter(|n| n.starts_with(b"/"))?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(wanted: &[&str], may_bring_others: bool) -> Object {
        Object { may_bring_others, ..Object::asking(wanted) }
    }

    #[test]
    fn the_part_comes_of_what_is_asked_for() {
        let of = |objects: &[Object]| of_objects(objects);
        assert_eq!(of(&[object(&["GOMP_parallel"], false)]), Part::Runtime);
        assert_eq!(
            of(&[object(&[], false), object(&["GOMP_barrier", "__kmpc_fork_call"], true)]),
            Part::Runtime
        );
        assert_eq!(of(&[object(&[], true)]), Part::NotKnown);
        assert_eq!(of(&[object(&["omp_get_wtime"], false)]), Part::NotKnown);
        for (objects, word) in [
            (vec![object(&["__kmpc_fork_call", "omp_get_wtime"], true)], "libomp"),
            (vec![object(&[], false)], "no OpenMP"),
        ] {
            let Part::Nothing(why) = of(&objects) else { panic!("{word}") };
            assert!(why.is.contains(word), "{why:?}");
        }
    }

    #[test]
    fn musls_loader_is_known_by_its_name() {
        assert!(is_musls(Path::new("/lib/ld-musl-x86_64.so.1")));
        assert!(!is_musls(Path::new("/lib64/ld-linux-x86-64.so.2")));
    }

    #[test]
    fn who_executes_a_script() {
        let file = std::env::temp_dir().join(format!("promp-script-{}", std::process::id()));
        for (text, by) in [
            ("#!/bin/sh\n", Some("/bin/sh")),
            ("#! /usr/bin/env -S python3 -u\n", Some("/usr/bin/env")),
            ("#!/bin/sh", Some("/bin/sh")),
            ("#!\n", None),
            ("#!sh\n", None),
        ] {
            std::fs::write(&file, text).expect("a folder for files");
            assert_eq!(script_interpreter(&file), by.map(PathBuf::from), "{text:?}");
        }
        std::fs::remove_file(&file).expect("it was written");
    }
}
