//! Checkpoints of programs and their shared libraries: at load and at the end, found in another way or at
//! other addresses by the process that goes on, installed anew.

use crate::common::saved::*;
use crate::common::*;
use promp_image::Directory;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A program and a library that it uses, both made from `source`.
fn with_library(s: &Scratch, source: &str) -> PathBuf {
    let compile = |exe: &Path, args: &[&str]| {
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-fopenmp", "-o"]).arg(exe).arg(root().join("c-tests").join(source)).args(args);
        assert!(gcc.status().expect("gcc").success());
    };
    let (library, exe) = (s.path("libpart.so"), s.path("whole"));
    compile(&library, &["-DLIBRARY", "-shared", "-fPIC"]);
    compile(&exe, &[text(&library), &format!("-Wl,-rpath,{}", s.path("").display())]);
    exe
}

/// Libraries may write when they are left, after this one has been: a program that is killed then has not
/// ended.
#[test]
fn killed_while_libraries_are_left() {
    let s = Scratch::new("last");
    let exe = with_library(&s, "ckpt/last.c");
    let want = reference(&exe, &[], &[THREADS]);
    assert!(want.out.ends_with("last words\n"), "{want:?}");
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    let ends = |_| read(&out).contains("the program ends") && has_generation(&dir);
    let killed = start_with(first_run(&exe, &[], &dir), &out, Some(&ends), |_| ());
    assert!(killed.is_none(), "it must have been killed: {killed:?}");
    let status = start(restart(&dir), &out, None).expect("it ends");
    assert!(status.success(), "{status}: {}", messages(&out));
    assert_eq!(read(&out), want.out);
}

/// The runtime is used by a library's constructor, before its own: this process is still the one that
/// restarts, and what it was started with, here a pipe, is still its surroundings.
#[test]
fn a_library_that_uses_openmp_when_loaded() {
    let s = Scratch::new("loaded");
    let exe = with_library(&s, "ckpt/loaded.c");
    let want = reference(&exe, &[], &[THREADS]);
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    let saved = |since| since > Duration::from_millis(300) && has_generation(&dir);
    let piped = start_with(first_run(&exe, &[], &dir), &out, Some(&saved), |c| {
        c.stdin(Stdio::piped());
    });
    assert!(piped.is_none(), "it must have been killed: {piped:?}");
    for i in 0.. {
        if let Some(status) = start(restart(&dir), &out, (i < 2).then_some(Duration::from_millis(150))) {
            let err = messages(&s.path("out"));
            assert!(went_well(status, &err), "{err}");
            break;
        }
    }
    assert_eq!(fs::read_to_string(&out).unwrap(), want.out);
}

/// Links in `folder` to the libraries of `objects`, by the names that they are looked up by.
fn link_libraries(folder: &Path, objects: &[&Path], which: impl Fn(&str) -> bool) {
    fs::create_dir(folder).unwrap();
    for object in objects {
        let told = Command::new("ldd").arg(object).output().expect("ldd");
        for line in String::from_utf8_lossy(&told.stdout).lines() {
            let mut words = line.split_whitespace();
            if let (Some(name), Some("=>"), Some(path)) = (words.next(), words.next(), words.next())
                && which(name)
            {
                let _ = std::os::unix::fs::symlink(path, folder.join(name)); // or there is one already
            }
        }
    }
}

/// A directory with a checkpoint of a killed program whose libraries were looked up in `folder` first.
fn killed_with(folder: &Path, exe: &Path, s: &Scratch, out: &Path) -> PathBuf {
    let dir = s.path("ckpt");
    killed_after_two(
        &dir,
        out,
        || first_run(exe, &["W"], &dir),
        |c| {
            c.env("LD_LIBRARY_PATH", folder);
        },
    );
    dir
}

/// Starts what `command` gives, and kills it when its second checkpoint in `dir` is complete. It begins anew
/// if it has ended before.
fn killed_after_two(dir: &Path, out: &Path, command: impl Fn() -> Command, set: impl Fn(&mut Command)) {
    let saved = |_| promp_image::generation_files(dir).first().is_some_and(|&g| g > 1);
    let killed = |_| {
        let _ = fs::remove_dir_all(dir);
        let _ = fs::remove_file(out);
        let was_killed = start_with(command(), out, Some(&saved), &set).is_none();
        // It may have noted its end already.
        was_killed && !Directory::open(dir).is_ok_and(|d| d.finished())
    };
    assert!((0..20).any(killed), "it always ends before its second checkpoint: {}", messages(out));
}

/// The program that was killed ends as if it had not been.
fn continues(restart: Command, out: &Path) {
    let status = start(restart, out, None);
    assert!(status.is_some_and(|s| s.success()), "{status:?}: {}", messages(out));
    assert!(read(out).contains("verification successful"), "{}", read(out));
}

/// The loader maps /etc/ld.so.cache where it looks libraries up in it, but not where it finds them in
/// LD_LIBRARY_PATH: other memory of its own lies elsewhere then.
#[test]
fn libraries_found_in_another_way() {
    let exe = build("npb/cg.c", &[]);
    for before in [true, false] {
        let s = Scratch::new("loader");
        let (out, folder) = (s.path("out"), s.path("libraries"));
        let make = || link_libraries(&folder, &[&exe, &library()], |_| true);
        if before {
            make();
        }
        let dir = killed_with(&folder, &exe, &s, &out);
        if before {
            fs::remove_dir_all(&folder).unwrap();
        } else {
            make();
        }
        continues(restart(&dir), &out);
    }
}

/// With a cache longer by megabytes libc lies elsewhere, too. LD_PRELOAD, by which it is brought to its
/// place, cannot name what lies in a folder with a space in its name.
#[test]
fn libraries_at_other_addresses() {
    let exe = build("npb/cg.c", &[]);
    for name in ["libraries", "a space"] {
        let s = Scratch::new("cache");
        let (out, folder) = (s.path("out"), s.path(name));
        link_libraries(&folder, &[&exe], |library| library.starts_with("libm."));
        let dir = killed_with(&folder, &exe, &s, &out);
        let longer = |then: &str| {
            let script = format!(
                "cd {d} && cp /etc/ld.so.cache cache && truncate -s 4M cache || exit 99
                 mount --bind cache /etc/ld.so.cache || exit 99
                 {then}",
                d = s.0.display()
            );
            let mut c = Command::new("unshare");
            c.args(["-m", "bash", "-c", &script]);
            c
        };
        let right = limited(longer("true"), LIMIT);
        if right.status != 0 {
            eprintln!("SKIPPED: no right to mount a file: {}", right.err);
            return;
        }
        let again = longer(&format!("exec {} restart {}", command().display(), dir.display()));
        match name {
            "a space" => refused(again, &out, "does it read the same as then"),
            _ => continues(again, &out),
        }
    }
}

/// The same content in another file, as after the installation of the same package.
#[test]
fn libraries_installed_anew() {
    let exe = build("npb/cg.c", &[]);
    let s = Scratch::new("anew");
    let (dir, out, copy) = (s.path("ckpt"), s.path("out"), s.path("libpromp.so"));
    fs::copy(library(), &copy).unwrap();
    let run = || {
        let mut c = Command::new(&exe);
        c.arg("W");
        c
    };
    killed_after_two(&dir, &out, run, |c| {
        c.env("LD_PRELOAD", &copy).env(THREADS.0, THREADS.1);
        c.env("PROMP_CKPT_DIR", &dir).env("PROMP_CKPT_INTERVAL", "50ms");
    });
    let other = s.path("other");
    fs::copy(library(), &other).unwrap();
    fs::rename(&other, &copy).unwrap();
    continues(restart(&dir), &out);
}

/// The folder in which the program was started, or to which it has gone.
#[test]
fn a_working_directory_that_is_gone() {
    let s = Scratch::new("folder");
    let (exe, dir, out) = (build("npb/cg.c", &[]), s.path("ckpt"), s.path("out"));
    let folder = s.path("folder");
    fs::create_dir(&folder).unwrap();
    let start = || first_run(&exe, &["W"], &dir);
    killed_after_two(&dir, &out, start, |c| {
        c.current_dir(&folder);
    });
    fs::remove_dir(&folder).unwrap();
    refused(restart(&dir), &out, "working directory");
    fs::create_dir(&folder).unwrap();
    continues(restart(&dir), &out);
}
