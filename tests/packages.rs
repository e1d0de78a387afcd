//! Other people's projects built by the drivers as they are, with CC=promp-cc: their own tests pass, and a program of theirs survives
//! failures. Long: sources are fetched from Debian by package name into target/packages.

mod common;
use common::*;
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
        if built(p) {
            let r = shell(p.name, p.check);
            assert_eq!((r.status, r.hung), (0, false), "{}: {}\n{}", p.name, end(&r.out), end(&r.err));
        }
    }
    failures_in_graphicsmagick();
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
    let (mut refused, mut back) = (0, 0);
    for seed in 0..60 {
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
