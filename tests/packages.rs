//! Other people's projects built by the drivers as they are, with CC=promp-cc: their own tests pass, and programs of theirs survive
//! failures. Long: sources are fetched from Debian by package name into target/packages.

use crate::common::draws::Draws;
use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A package: its own way to be built and tested, and a file that must then hold our tables.
struct Package {
    name: &'static str,
    build: &'static str,
    check: &'static str,
    product: &'static str,
}

const PACKAGES: [Package; 3] = [
    Package {
        name: "libsoxr",
        build: "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && make -C build -j2",
        check: "cd build && ctest",
        product: "build/src/libsoxr.so",
    },
    Package {
        name: "fftw3",
        build: "./configure --enable-openmp --enable-shared --disable-static --disable-fortran --disable-doc && make -j2",
        check: "make -C tests check",
        product: "threads/.libs/libfftw3_omp.so",
    },
    Package {
        name: "graphicsmagick",
        build: "./configure --enable-shared --disable-static --without-x --without-perl && make -j2",
        check: "make check",
        product: "magick/.libs/libGraphicsMagick.so",
    },
];

/// A package with a program that is killed: what of its output is compared, and how often a thread fails.
struct Killed {
    package: Package,
    folder: &'static str,
    command: &'static [&'static str],
    lines: &'static [&'static str],
    every: &'static str,
    /// At least so much (%) of the time of its loops is proved, and so many of a hundred runs end well.
    proved: f64,
    recovered: usize,
}

/// Solvers and transforms of many files, with OpenMP in their inner loops.
const KILLED: [Killed; 3] = [
    Killed {
        package: Package {
            name: "coinor-csdp",
            build: "make CC=\"$CC\" LIBS='-L../lib -lsdp -lopenblas -lm'",
            check: "cd test && rm -f *.out && make && for t in theta1 g50; do \
                    diff <(grep objective $t.correct) <(grep objective $t.out) || exit 1; done",
            product: "solver/csdp",
        },
        folder: "test",
        command: &["../solver/csdp", "theta1.dat-s"],
        lines: &["objective", "infeasibility", "Gap"],
        every: "15ms",
        proved: 90.0,
        recovered: 80,
    },
    Killed {
        package: Package {
            name: "libsharp",
            build: "./configure && make -j2",
            check: "make check",
            product: ".libs/libsharp.so",
        },
        folder: ".",
        command: &["./sharp_testsuite", "acctest"],
        lines: &["assed", "ailed", "error"],
        every: "40ms",
        proved: 90.0,
        recovered: 80,
    },
    Killed {
        package: Package {
            name: "hypre",
            build: "cd src && CFLAGS='-O2 -fopenmp' CXXFLAGS='-O2 -fopenmp' LDFLAGS=-fopenmp ./configure \
                    --without-MPI --with-openmp --disable-fortran && make -j2 && \
                    make -C test ij struct sstruct",
            check: "make -C src check && cat src/test/*.err && [ ! -s src/test/ij.err ]",
            product: "src/test/ij",
        },
        folder: "src/test",
        command: &["./ij", "-n", "30", "30", "30", "-solver", "1"],
        lines: &["Iterations", "Residual"],
        every: "60ms",
        proved: 90.0,
        recovered: 80,
    },
];

fn folder(package: &str) -> PathBuf {
    root().join("target/packages").join(package)
}

/// Runs a shell command in a package's folder with our drivers as its compilers.
fn shell(package: &str, what: &str) -> Run {
    let mut c = Command::new("bash");
    c.args(["-c", what]).current_dir(folder(package)).env("OMP_NUM_THREADS", "4");
    for (variable, name) in [("CC", "promp-cc"), ("CXX", "promp-c++")] {
        c.env(variable, driver(name).expect("looked for before"));
    }
    limited(c, Duration::from_secs(900))
}

fn end(text: &str) -> &str {
    let from = text.char_indices().rev().nth(2000).map_or(0, |(i, _)| i);
    &text[from..]
}

/// Builds a package if that has not been done.
fn built(p: &Package) -> bool {
    let mut fetch = Command::new(root().join("tools/debian_source.sh"));
    fetch.arg(root().join("target/packages")).arg(p.name);
    let run = limited(fetch, Duration::from_secs(300));
    if !available(&format!("Debian's source of {}", p.name), run.status == 0) {
        return false;
    }
    let r = shell(p.name, p.build);
    assert_eq!((r.status, r.hung), (0, false), "{}: {}\n{}", p.name, end(&r.out), end(&r.err));
    let bytes = std::fs::read(folder(p.name).join(p.product)).expect("the product");
    for word in ["promp_segments", "libpromp.so"] {
        assert!(bytes.windows(word.len()).any(|w| w == word.as_bytes()), "{}: no {word}", p.product);
    }
    true
}

#[test]
fn packages_pass_their_own_tests() {
    if !long() || driver("promp-cc").is_none() {
        return;
    }
    for p in &PACKAGES {
        passes(p);
    }
    failures_in_graphicsmagick();
}

/// Builds a package, if it can be had, and runs its own tests.
fn passes(p: &Package) -> bool {
    let there = built(p);
    if there {
        let r = shell(p.name, p.check);
        assert_eq!((r.status, r.hung), (0, false), "{}: {}\n{}", p.name, end(&r.out), end(&r.err));
    }
    there
}

#[test]
fn programs_of_packages_survive() {
    if long() && driver("promp-cc").is_some() {
        KILLED.iter().filter(|k| passes(&k.package)).for_each(survives);
    }
}

/// Killed a hundred times at default settings: the output that it has without failures, or a refusal.
fn survives(k: &Killed) {
    let (name, at) = (k.package.name, folder(k.package.name));
    let run = |env: &[(&str, &str)]| {
        let mut c = Command::new(k.command[0]);
        clean(&mut c);
        c.args(&k.command[1..]).current_dir(at.join(k.folder));
        c.env("OMP_NUM_THREADS", "4").envs(env.iter().copied());
        limited(c, LIMIT)
    };
    let said = |r: &Run| -> Vec<String> {
        r.out.lines().filter(|l| k.lines.iter().any(|w| l.contains(w))).map(String::from).collect()
    };
    let report = at.join("report.json");
    let want = run(&[("PROMP_REPORT", report.to_str().expect("UTF-8"))]);
    assert!(want.status == 0 && !said(&want).is_empty(), "{name}: {} {}", want.out, want.err);
    let text = std::fs::read(&report).expect("the report");
    let report: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let sum = |what: &str| -> f64 {
        report["loops"].as_array().expect("loops").iter().filter_map(|l| l[what].as_f64()).sum()
    };
    let proved = 100.0 * (1.0 - sum("unsafe_s") / sum("seconds"));
    let (mut right, mut again, mut refused) = (0, 0, Vec::new());
    for seed in 1..=100 {
        let fault = format!("kill@mtbf={},seed={seed},count=3", k.every);
        let r = run(&[("PROMP_FAULT", &fault)]);
        if r.status == 70 {
            refused.push(r.err);
            continue;
        }
        assert!(r.status == 0 && said(&r) == said(&want), "{name}, {fault}: {}\n{}", r.out, r.err);
        right += 1;
        again += r.err.matches("recomputed").count() + r.err.matches("repeated").count();
    }
    let refusals = refused.len();
    println!(
        "{name}: {proved:.1} % proved, {right} of 100 right, {again} times executed again, {refusals} refused"
    );
    assert!(
        again > 0 && right >= k.recovered && proved >= k.proved,
        "{name}: {right}, {proved}: {refused:#?}"
    );
}

/// Its loops call into its pixel cache, which nobody can prove repeatable: without a checkpoint that is refused, with checkpoints
/// the picture is the failure-free one.
fn failures_in_graphicsmagick() {
    let at = folder("graphicsmagick");
    if !at.join("utilities/.libs/gm").exists() {
        return;
    }
    let convert = |out: &Path, env: &[(&str, &str)]| {
        let mut c = Command::new(at.join("utilities/.libs/gm"));
        c.args(
            "convert -size 1800x1200 gradient:red-blue -blur 0x3 -rotate 7 -resize 1500x -sharpen 0x2"
                .split(' '),
        );
        c.args("-modulate 90,120 -median 2 -wave 5x30".split(' ')).arg(out);
        let libraries = format!("{0}/magick/.libs:{0}/wand/.libs", at.display());
        c.env("LD_LIBRARY_PATH", libraries).env("OMP_NUM_THREADS", "4").envs(env.iter().copied());
        limited(c, LIMIT)
    };
    let (want, got, dir) = (at.join("want.ppm"), at.join("got.ppm"), at.join("checkpoints"));
    let dir = dir.to_str().expect("UTF-8");
    assert_eq!(convert(&want, &[]).status, 0);
    let want = std::fs::read(want).expect("the picture");
    let (mut refused, mut back, mut draws) = (0, 0, Draws::between(60, 400));
    while let Some(seed) = draws.next(refused > 0 && back > 0) {
        let fault = format!("kill@mtbf=150ms,seed={seed},count=4");
        let checkpoints = [("PROMP_CKPT_DIR", dir), ("PROMP_CKPT_INTERVAL", "50ms")];
        for set in [&checkpoints[..], &[]] {
            let _ = std::fs::remove_dir_all(dir);
            let _ = std::fs::remove_file(&got);
            let run = convert(&got, &[&[("PROMP_FAULT", &*fault)], set].concat());
            if run.status == 70 && set.is_empty() {
                refused += 1;
                continue;
            }
            assert_eq!(run.status, 0, "{fault}: {}", end(&run.err));
            assert!(
                std::fs::read(&got).is_ok_and(|g| g == want),
                "{fault}: another picture: {}",
                end(&run.err)
            );
            back += run.err.matches("rolled back to checkpoint").count();
        }
    }
    assert!(refused > 0 && back > 0, "{refused} refused, {back} rolled back: the faults do not strike");
}
