//! Restart elsewhere: self-contained checkpoints, without the files that the run had
//! (docs/restart-elsewhere.md).

mod common;
use common::saved::*;
use common::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program with a loader, libraries and a promp that are nobody else's.
struct House {
    scratch: Scratch,
    /// What it is made of.
    files: Vec<PathBuf>,
    want: String,
}

const STEPS: [&str; 1] = ["1500"];

impl House {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let folder = scratch.path("house");
        fs::create_dir_all(&folder).expect("a folder");
        let (exe, loader) = (folder.join("app"), folder.join("loader.so"));
        let made = Command::new("gcc")
            .args(["-O2", "-fopenmp", "-w", "-foffload=disable", "-o"])
            .arg(&exe)
            .arg(root().join("c-tests/ckpt/elastic.c"))
            .arg(format!("-Wl,--dynamic-linker={}", text(&loader)))
            .arg(format!("-Wl,--disable-new-dtags,-rpath={}", text(&folder)))
            .status();
        assert!(made.expect("gcc").success());
        let promp = folder.join("libpromp.so");
        fs::copy(library(), &promp).expect("the library");
        // What the system's loader would take, it takes from the folder.
        let needed = |of: &Path| {
            let said = Command::new("ldd").arg(of).output().expect("ldd").stdout;
            let said = String::from_utf8_lossy(&said).into_owned();
            let path = |l: &str| l.split_whitespace().find(|w| w.starts_with('/')).map(PathBuf::from);
            said.lines().filter_map(path).collect::<Vec<_>>()
        };
        let mut files = vec![exe.clone(), loader.clone(), promp.clone()];
        for from in needed(&library()).into_iter().chain(needed(&build("ckpt/elastic.c", &[]))) {
            let name = from.file_name().expect("a file").to_str().expect("UTF-8");
            let to = if name.starts_with("ld-linux") { loader.clone() } else { folder.join(name) };
            fs::copy(&from, &to).expect("a library");
            files.push(to);
        }
        files.sort();
        files.dedup();
        let want = reference(&exe, &STEPS, &[THREADS]).out;
        assert!(!want.is_empty());
        Self { scratch, files, want }
    }

    fn dir(&self) -> PathBuf {
        self.scratch.path("ckpt")
    }

    fn out(&self) -> PathBuf {
        self.scratch.path("out")
    }

    /// Runs the program with `options` and kills it when it has `generations`; before that, when it has
    /// one, `meanwhile` happens.
    fn killed(&self, dir: &Path, options: &[&str], generations: u64, meanwhile: &dyn Fn(&Self)) {
        let _ = fs::remove_file(self.out());
        let exe = self.scratch.path("house/app");
        let mut c = Command::new(command());
        c.args(["run", "--threads", "4", "--every", "40ms"]).args(options).arg("--ckpt").arg(dir);
        c.arg("--").arg(&exe).args(STEPS);
        let done = std::cell::Cell::new(false);
        let due = |_| {
            if has_generation(dir) && !done.replace(true) {
                meanwhile(self);
            }
            newest(dir) >= generations
        };
        let library = self.scratch.path("house/libpromp.so");
        let set = |c: &mut Command| {
            c.env("PROMP_LIBRARY", library);
        };
        assert!(start_with(c, &self.out(), Some(&due), set).is_none(), "{}", messages(&self.out()));
    }

    fn remove(&self) {
        self.files.iter().for_each(|f| drop(fs::remove_file(f)));
    }

    /// Other files have the names, as after an update: none of them would do.
    fn replace(&self) {
        for f in &self.files {
            let aside = f.with_extension("new");
            fs::write(&aside, b"another").expect("a file");
            fs::set_permissions(&aside, PermissionsExt::from_mode(0o755)).expect("a file");
            fs::rename(&aside, f).expect("a file");
        }
    }

    /// Goes on in `dir` to the end, by way of one more kill.
    fn goes_on(&self, dir: &Path) -> String {
        let before = newest(dir);
        let mut said = String::new();
        if start_with(restart(dir), &self.out(), Some(&|_| newest(dir) > before + 1), |_| ()).is_none() {
            said = messages(&self.out());
            let ended = start(restart(dir), &self.out(), None).expect("it ends");
            assert!(went_well(ended, &messages(&self.out())), "{said}{}", messages(&self.out()));
        }
        said += &messages(&self.out());
        assert_eq!(read(&self.out()), self.want, "{said}");
        said
    }
}

fn newest(dir: &Path) -> u64 {
    promp_image::generation_files(dir).first().copied().unwrap_or(0)
}

const CONTAINED: [&str; 1] = ["--self-contained"];

#[test]
fn without_any_of_its_files() {
    let h = House::new("containedgone");
    h.killed(&h.dir(), &CONTAINED, 2, &|_| ());
    h.remove();
    let said = h.goes_on(&h.dir());
    assert!(said.contains("libc.so.6 is taken from its copy"), "{said}");
}

#[test]
fn with_others_in_their_place() {
    let h = House::new("containedother");
    h.killed(&h.dir(), &CONTAINED, 2, &|_| ());
    h.replace();
    h.goes_on(&h.dir());
}

/// The system is updated while the program runs: what it has mapped has no name any more.
#[test]
fn replaced_while_it_runs() {
    let h = House::new("containedupdate");
    h.killed(&h.dir(), &CONTAINED, 4, &|h| h.replace());
    h.goes_on(&h.dir());
}

/// Only the promp is another build.
#[test]
fn with_another_promp() {
    let h = House::new("containedpromp");
    h.killed(&h.dir(), &CONTAINED, 2, &|_| ());
    let lib = h.scratch.path("house/libpromp.so");
    let mut bytes = fs::read(&lib).expect("the library");
    bytes.push(0);
    fs::write(&lib, bytes).expect("a file");
    let said = h.goes_on(&h.dir());
    assert!(said.contains("libpromp.so is taken from its copy"), "{said}");
}

/// On another machine: nothing but the exported file.
#[test]
fn exported_with_all_it_needs() {
    let h = House::new("containedexport");
    h.killed(&h.dir(), &CONTAINED, 2, &|_| ());
    let (file, other) = (h.scratch.path("file"), h.scratch.path("other"));
    let run = |args: &[&str]| {
        let r = limited(
            {
                let mut c = Command::new(command());
                c.args(args);
                c
            },
            LIMIT,
        );
        assert_eq!(r.status, 0, "{}", r.err);
    };
    run(&["export", text(&h.dir()), "-o", text(&file)]);
    h.remove();
    fs::remove_dir_all(h.dir()).expect("a folder");
    run(&["import", text(&file), text(&other)]);
    h.goes_on(&other);
}

#[test]
fn what_is_missing_is_named() {
    let h = House::new("containedno");
    let (plain, out) = (h.scratch.path("plain"), h.out());
    let lib = h.scratch.path("house/libc.so.6");
    h.killed(&plain, &[], 1, &|_| ());
    h.killed(&h.dir(), &CONTAINED, 1, &|_| ());
    let spaced = h.scratch.path("a folder");
    h.killed(&spaced, &CONTAINED, 1, &|_| ());
    fs::remove_file(&lib).expect("a file");
    refused(restart(&plain), &out, "libc.so.6 is gone (`promp run --self-contained` keeps copies)");
    refused(restart(&spaced), &out, "give the directory a name without blanks");
    // Its copy: damaged, then gone.
    let d = promp_image::Directory::open(&h.dir()).expect("a directory");
    let g = d.newest(|_| ()).expect("a checkpoint");
    let f = g.about.mapped.iter().find(|f| f.path == text(&lib)).expect("the library");
    let copy = promp_image::kept::place(&h.dir(), f);
    let good = fs::read(&copy).expect("the copy");
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 1;
    fs::write(&copy, &bad).expect("the copy");
    refused(restart(&h.dir()), &out, "is damaged");
    fs::remove_file(&copy).expect("the copy");
    refused(restart(&h.dir()), &out, "is gone, and its copy cannot be used");
    // The checkpoint has stayed.
    fs::write(&copy, &good).expect("the copy");
    fs::set_permissions(&copy, PermissionsExt::from_mode(0o700)).expect("the copy");
    h.goes_on(&h.dir());
}
