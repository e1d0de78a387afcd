//! Restart elsewhere: self-contained checkpoints, without the files that the run had
//! (docs/internals/restart-elsewhere.md).

use crate::common::saved::*;
use crate::common::*;
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

const STEPS: [&str; 1] = ["1200"];
/// The sums do not depend on the number of threads, of which more than there are CPUs take long.
const ALONE: [(&str, &str); 1] = [("OMP_NUM_THREADS", "1")];

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
        let want = reference(&exe, &STEPS, &ALONE).out;
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

/// The copy of a library that is unloaded goes with the last checkpoint that needs it.
#[test]
fn copies_that_no_checkpoint_needs_are_removed() {
    let s = Scratch::new("containedless");
    let (dir, out, library) = (s.path("ckpt"), s.path("out"), s.path("unloaded.so"));
    let code = s.path("unloaded.c");
    fs::write(&code, "int of_no_use = 1234567;\n").expect("a file");
    let made = Command::new("gcc").args(["-shared", "-fPIC", "-o"]).args([&library, &code]).status();
    assert!(made.expect("gcc").success());
    let bytes = fs::read(&library).expect("the library");
    let is_kept = || {
        let copies = fs::read_dir(dir.join("files")).into_iter().flatten().flatten();
        copies.into_iter().any(|c| fs::read(c.path()).is_ok_and(|b| b == bytes))
    };
    let mut c = Command::new(command());
    c.args(["run", "--threads", "2", "--every", "30ms", "--self-contained", "--ckpt"]).arg(&dir).arg("--");
    c.arg(build("ckpt/unloads.c", &["-ldl"])).arg(&library).current_dir(&s.0);
    let loaded = std::cell::Cell::new(false);
    let due = |_| {
        let kept = is_kept();
        if kept && !loaded.replace(true) {
            fs::write(s.path("go"), "").expect("a file");
        }
        loaded.get() && !kept
    };
    assert!(start_with(c, &out, Some(&due), |_| ()).is_none(), "{}", messages(&out));
    fs::remove_file(&library).expect("the library");
    fs::write(s.path("end"), "").expect("a file");
    let ended = start(restart(&dir), &out, None).expect("it ends");
    assert!(went_well(ended, &messages(&out)), "{}", messages(&out));
    assert_eq!(read(&out), "499500\n");
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
    let g = d.newest(|_| true, |_| ()).expect("a checkpoint");
    let f = g.about.mapped.iter().find(|f| f.path == text(&lib)).expect("the library");
    let copy = promp_image::file_copies::place(&h.dir(), f);
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

/// The image says that the run's kernel had another object (vDSO): one whose functions nobody may execute,
/// since they are not this kernel's.
fn with_another_kernel(dir: &Path, change: impl Fn(&mut Vec<u8>)) {
    let d = promp_image::Directory::open(dir).expect("a directory");
    let newest = d.newest(|_| true, |_| ()).expect("a checkpoint");
    for n in d.generations() {
        let path = dir.join(format!("gen-{n}"));
        if n != newest.number {
            fs::remove_file(path).expect("a file");
            continue;
        }
        let mut g = d.read(n).expect("a checkpoint");
        let kernel = g.about.kernel.as_mut().expect("the kernel's object");
        let mut object = fs::read(promp_image::file_copies::place(dir, kernel)).expect("its copy");
        change(&mut object);
        kernel.sum = promp_image::sum(&object);
        promp_image::file_copies::write(dir, &promp_image::file_copies::name(kernel), &object)
            .expect("a copy");
        fs::write(path, promp_image::encode(n, &g.about, &g.index, promp_image::Sums::Aside))
            .expect("a file");
    }
}

/// Fills what is executed of an object with traps: its section of code.
fn trap(object: &mut [u8]) {
    use object::{Object, ObjectSection};
    let file = object::File::parse(&*object).expect("an object");
    let (at, len) = file.section_by_name(".text").and_then(|s| s.file_range()).expect("code");
    object[at as usize..(at + len) as usize].fill(0xcc);
}

/// Runs the program of clocks until there are two checkpoints.
fn clocks(s: &Scratch) -> (PathBuf, PathBuf, String) {
    let exe = build("ckpt/clocks.c", &[]);
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    let want = reference(&exe, &["2500"], &ALONE).out;
    let due = |_| newest(&dir) >= 2;
    let ended = start_with(first_run(&exe, &["2500"], &dir), &out, Some(&due), |_| ());
    assert!(ended.is_none(), "{}", messages(&out));
    (dir, out, want)
}

#[test]
fn under_another_kernel() {
    let s = Scratch::new("kernel");
    let (dir, out, want) = clocks(&s);
    with_another_kernel(&dir, |object| trap(object));
    // Twice: from a checkpoint that was taken under the other one, too.
    let before = newest(&dir);
    let killed = start_with(restart(&dir), &out, Some(&|_| newest(&dir) > before + 1), |_| ()).is_none();
    assert!(killed || read(&out) == want, "{}", messages(&out));
    assert!(messages(&out).contains("another kernel"), "{}", messages(&out));
    if killed {
        let ended = start(restart(&dir), &out, None).expect("it ends");
        assert!(went_well(ended, &messages(&out)), "{}", messages(&out));
    }
    assert_eq!(read(&out), want, "{}", messages(&out));
}

#[test]
fn kernels_that_do_not_go_together() {
    let s = Scratch::new("kernelno");
    let (dir, out, _) = clocks(&s);
    with_another_kernel(&dir, |object| {
        while let Some(at) = object.windows(13).position(|w| w == b"clock_gettime") {
            object[at] = b'x';
        }
    });
    refused(restart(&dir), &out, "has no function");
    let d = promp_image::Directory::open(&dir).expect("a directory");
    let g = d.newest(|_| true, |_| ()).expect("a checkpoint");
    fs::remove_file(promp_image::file_copies::place(&dir, g.about.kernel.as_ref().expect("it")))
        .expect("a copy");
    refused(restart(&dir), &out, "is another one than that of the run");
}

/// Has this machine what the programs of these tests are not to use?
fn has_wide_registers() -> bool {
    let there = promp_image::cpu_features().iter().any(|f| f == "avx512f");
    if !there {
        println!("SKIPPED: this machine's CPUs have no AVX-512");
    }
    there
}

/// A run of features.c, bound to a level.
fn bound(level: &str, dir: &Path) -> Run {
    let mut c = Command::new(command());
    clean(&mut c);
    c.env_remove("GLIBC_TUNABLES").args(["run", "--threads", "2", "--cpu", level, "--ckpt"]).arg(dir);
    c.arg("--").arg(build("ckpt/features.c", &[]));
    limited(c, LIMIT)
}

fn word<'a>(text: &'a str, name: &str) -> &'a str {
    let mut words = text.split_whitespace();
    words.find(|w| *w == name);
    words.next().unwrap_or_default()
}

/// What the C library chooses at a level, told by itself.
#[test]
fn levels_bind_what_libc_chooses() {
    let s = Scratch::new("level");
    let own = reference(&build("ckpt/features.c", &[]), &[], &[]).out;
    let third = bound("x86-64-v3", &s.path("a"));
    if third.status == 64 {
        println!("SKIPPED: {}", third.err);
        return;
    }
    assert!(word(&third.out, "avx2") == "1" && word(&third.out, "avx512f") == "0", "{own}{}", third.out);
    assert!(word(&third.out, "avx512vl") == "0" && word(&third.out, "xsavec") == "0", "{}", third.out);
    let second = bound("x86-64-v2", &s.path("b"));
    assert!(word(&second.out, "avx2") == "0" && word(&second.out, "avx512f") == "0", "{}", second.out);
    // Without AVX libc has no choice; what it takes from the third level on depends on the machine.
    assert!(word(&second.out, "memcpy") != word(&own, "memcpy"), "{own}{}", second.out);
    let none = bound("x86-64-v9", &s.path("c"));
    assert!(none.status == 64 && none.err.contains("possible values: x86-64-v2"), "{}", none.err);
}

/// A restart where /proc/cpuinfo does not show AVX-512 and what came after it, nor `more`; none where that
/// cannot be had.
fn on_a_lower_machine(s: &Scratch, dir: &Path, more: &str) -> Command {
    let own = fs::read_to_string("/proc/cpuinfo").expect("it");
    let late = |w: &&str| {
        !(w.starts_with("avx512") || w.starts_with("amx") || ["xsavec", "rdpid", more].contains(w))
    };
    let less: Vec<String> =
        own.lines().map(|l| l.split(' ').filter(late).collect::<Vec<_>>().join(" ")).collect();
    let file = s.path("cpuinfo");
    fs::write(&file, less.join("\n") + "\n").expect("a file");
    let mut c = Command::new("unshare");
    c.args(["-m", "sh", "-c", "mount --bind \"$0\" /proc/cpuinfo || exit 99; exec \"$@\""]).arg(&file);
    c.arg(command()).arg("restart").arg(dir);
    c
}

#[test]
fn on_machines_with_fewer_features() {
    let may = limited(
        {
            let mut c = Command::new("unshare");
            c.args(["-m", "mount", "--bind", "/proc/version", "/proc/cpuinfo"]);
            c
        },
        LIMIT,
    );
    if may.status != 0 || !has_wide_registers() {
        println!("SKIPPED: {}", may.err);
        return;
    }
    let s = Scratch::new("lower");
    let out = s.path("out");
    let killed = |flags: &[&str], level: &[&str]| {
        let (exe, dir) = (build("ckpt/features.c", flags), s.path("ckpt"));
        let _ = (fs::remove_dir_all(&dir), fs::remove_file(&out));
        let mut c = Command::new(command());
        c.env_remove("GLIBC_TUNABLES");
        c.args(["run", "--threads", "4", "--every", "40ms"]).args(level).arg("--ckpt").arg(&dir);
        c.arg("--").arg(&exe).arg("2500");
        let ended = start_with(c, &out, Some(&|_| newest(&dir) >= 2), |_| ());
        assert!(ended.is_none(), "{}", messages(&out));
        (exe, dir)
    };
    let third = ["--cpu", "x86-64-v3"];
    let (exe, dir) = killed(&[], &third);
    let want = reference(&exe, &["2500"], &ALONE).out;
    let ended = start(on_a_lower_machine(&s, &dir, ""), &out, None).expect("it ends");
    assert!(went_well(ended, &messages(&out)), "{}", messages(&out));
    assert_eq!(word(&read(&out), "sum"), word(&want, "sum"), "{}", messages(&out));
    // Not bound; bound to more than there is; with code of its own for more.
    let (_, dir) = killed(&[], &[]);
    refused(on_a_lower_machine(&s, &dir, ""), &out, "lack features that the run may use: ");
    let (_, dir) = killed(&[], &third);
    refused(
        on_a_lower_machine(&s, &dir, "bmi2"),
        &out,
        "was bound to x86-64-v3, and this machine's CPUs lack",
    );
    let (_, dir) = killed(&["-DWIDE"], &third);
    refused(on_a_lower_machine(&s, &dir, ""), &out, "has code for avx512f, which this machine's CPUs lack");
}
