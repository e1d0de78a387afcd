//! Programs nobody here wrote, from Debian and PyPI: the same results as with their own OpenMP runtime.

use crate::common::draws::Draws;
use crate::common::saved::*;
use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Command;

fn compile(source: &str, libs: &[&str]) -> Option<PathBuf> {
    let exe = out_dir().join(source.replace(['/', '.'], "_"));
    std::fs::create_dir_all(exe.parent().unwrap()).unwrap();
    let out = Command::new("gcc")
        .args(["-O2", "-fopenmp", "-w", "-o"])
        .arg(&exe)
        .arg(root().join("c-tests").join(source))
        .args(libs)
        .arg("-lm")
        .output()
        .ok()?;
    out.status.success().then_some(exe)
}

/// Same output and status under libgomp and promp, also with private state saved and with threads dying between chunks.
fn same(exe: &Path, args: &[&str], extra: &[(&str, &str)]) {
    for threads in ["2", "4"] {
        let mut env = extra.to_vec();
        env.push(("OMP_NUM_THREADS", threads));
        let want = reference(exe, args, &env);
        assert_eq!(want.status, 0, "{}: {}", exe.display(), want.err);
        for mode in
            [&[][..], &[("PROMP_REPLAY", "assume")], &[("PROMP_FAULT", "kill@thread=1,at=region,region=1")]]
        {
            let mut env = env.clone();
            env.extend(mode);
            let got = promp(exe, args, &env);
            assert_eq!((got.status, &got.out), (0, &want.out), "{} {env:?}: {}", exe.display(), got.err);
        }
    }
}

#[test]
fn openblas() {
    let dirs = ["/usr/lib/x86_64-linux-gnu/openblas-openmp"];
    let Some(dir) = dirs.iter().find(|d| Path::new(d).join("libopenblas.so").exists()) else {
        available("OpenBLAS (libopenblas-openmp-dev)", false);
        return;
    };
    let lib = format!("-L{dir}");
    let run = format!("-Wl,-rpath,{dir}");
    let exe = compile("others/openblas.c", &[&lib, "-lopenblas", &run]).expect("the program builds");
    same(&exe, &[], &[]);
}

#[test]
fn fftw() {
    match compile("others/fftw.c", &["-lfftw3_omp", "-lfftw3"]) {
        Some(exe) => same(&exe, &[], &[]),
        None => {
            available("FFTW (libfftw3-dev)", false);
        }
    }
}

/// Libraries with event loops and threads of their own, which block all signals: rolled back, and restarted after the process died.
#[test]
fn event_loops() {
    let s = Scratch::new("loops");
    for (source, library, package) in
        [("others/libuv.c", "-luv", "libuv1-dev"), ("others/zeromq.c", "-lzmq", "libzmq3-dev")]
    {
        let exe = compile(source, &[library, "-lpthread"]);
        if !available(package, exe.is_some()) {
            continue;
        }
        let exe = exe.expect("compiled");
        same(&exe, &[], &[]);
        let want = reference(&exe, &[], &[THREADS]);
        let (mut back, mut draws) = (0, Draws::of(6));
        while let Some(seed) = draws.next(back > 3) {
            let kind = ["kill", "crash", "memerr"][seed as usize % 3];
            let fault = format!("{kind}@mtbf=60ms,seed={seed},count=4");
            let set =
                [("PROMP_FAULT", &*fault), ("PROMP_CKPT_INTERVAL", "20ms"), ("PROMP_CKPT_THREADS", "all")];
            let run = checkpointed(&exe, &[], &s.path("ckpt"), &set);
            assert_eq!((run.status, &run.out), (0, &want.out), "{source} {fault}: {run:?}");
            back += run.err.matches("rolled back to checkpoint").count();
        }
        assert!(back > 3, "{source}: only {back} rollbacks");
        // ZeroMQ takes a process with another number for a child made by fork.
        if !may_choose_number() {
            println!("SKIPPED: {source}, restarted: the number of a process may not be chosen here");
            continue;
        }
        let (dir, out) = (s.path("again"), s.path("out"));
        for round in 0..4 * scale() {
            let _ = (std::fs::remove_dir_all(&dir), std::fs::remove_file(&out));
            let mut c = Command::new(command());
            c.args(["run", "--threads", "4", "--every", "15ms", "--all-threads", "--ckpt"]);
            c.arg(&dir).arg("--").arg(&exe);
            let after = std::time::Duration::from_millis(80 + 60 * round % 250);
            let kill = |since| since > after && has_generation(&dir);
            let ended = start_with(c, &out, Some(&kill), |_| ()).or_else(|| start(restart(&dir), &out, None));
            let good = ended.is_some_and(|e| went_well(e, &messages(&out))) && read(&out) == want.out;
            assert!(good, "{source} {round}: {ended:?} {} {}", read(&out), messages(&out));
        }
    }
}

#[test]
fn imagemagick() {
    let exe = Path::new("/usr/bin/convert");
    let real = std::fs::canonicalize(exe)
        .is_ok_and(|p| p.display().to_string().contains("im6") || p.display().to_string().contains("magick"));
    if !available("ImageMagick", real) {
        return;
    }
    let args = [
        "-size",
        "400x300",
        "plasma:tomato-steelblue",
        "-seed",
        "7",
        "-blur",
        "0x3",
        "-resize",
        "250x",
        "-rotate",
        "12",
        "-depth",
        "8",
        "rgb:-",
    ];
    let args: Vec<&str> = [&["-seed", "7"][..], &args[..]].concat();
    let sum = |run: Run| {
        (
            run.status,
            run.out.len(),
            run.out.bytes().fold(0u64, |h, b| h.wrapping_mul(31).wrapping_add(b.into())),
        )
    };
    let want = sum(reference(exe, &args, &[("OMP_NUM_THREADS", "1")]));
    assert!(want.0 == 0 && want.1 > 1000);
    for threads in ["1", "4"] {
        let env = [("OMP_NUM_THREADS", threads)];
        // Plasma draws random numbers thread by thread: compare with libgomp on one thread, where the order is fixed, and
        // for more threads only that it succeeds.
        let got = sum(promp(exe, &args, &env));
        assert_eq!(got.0, 0);
        if threads == "1" {
            assert_eq!(got, want);
        }
    }
    let fixed = [
        "-size",
        "640x480",
        "gradient:red-blue",
        "-swirl",
        "90",
        "-gaussian-blur",
        "0x2",
        "-depth",
        "8",
        "rgb:-",
    ];
    let want = sum(reference(exe, &fixed, &[("OMP_NUM_THREADS", "4")]));
    for mode in ["on", "off"] {
        assert_eq!(sum(promp(exe, &fixed, &[("OMP_NUM_THREADS", "4"), ("PROMP_FT", mode)])), want);
    }
}

/// A Python that has `module`, from PyPI.
fn python_with(module: &str) -> Option<PathBuf> {
    let python = root().join(".venv/bin/python");
    let import = format!("import {module}");
    let have = Command::new(&python).args(["-c", &import]).output().is_ok_and(|o| o.status.success());
    available(&format!("{module} (pip)"), have).then_some(python)
}

#[test]
fn scikit_learn() {
    let Some(python) = python_with("sklearn") else { return };
    let script = root().join("c-tests/others/kmeans.py");
    let script = script.to_str().unwrap();
    let env = [("OMP_NUM_THREADS", "4"), ("OPENBLAS_NUM_THREADS", "1")];
    let want = reference(&python, &[script], &env);
    assert_eq!(want.status, 0, "{}", want.err);
    let got = promp(&python, &[script], &env);
    assert_eq!((got.status, &got.out), (0, &want.out), "{}", got.err);
    // A child that fits after its parent did: hangs under libgomp.
    let fork = promp(&python, &[script, "fork"], &env);
    assert!(fork.status == 0 && fork.out.contains("child agrees True"), "{fork:?}");
}

/// Its page says by the names of scikit-learn's functions where the time goes.
#[test]
fn scikit_learn_has_a_page_with_names() {
    let Some(python) = python_with("sklearn") else { return };
    let at = Scratch::new("sklearn-page");
    let (report, page) = (at.path("report.json"), at.path("page.html"));
    let (report, page) = (report.to_str().unwrap(), page.to_str().unwrap());
    let cli = |args: &[&str]| {
        let mut c = Command::new(library().with_file_name("promp"));
        clean(&mut c);
        c.args(args).env("OPENBLAS_NUM_THREADS", "1").current_dir(root().join("c-tests/others"));
        limited(c, LIMIT)
    };
    let fit = "from kmeans import fit; print(fit())";
    let ran = ["run", "--monitor", "--threads", "2", "--report", report, "--"];
    let run = cli(&[&ran[..], &[python.to_str().unwrap(), "-c", fit]].concat());
    assert_eq!(run.status, 0, "{}", run.err);
    let made = cli(&["report", report, "--html", page]);
    assert_eq!(made.status, 0, "{made:?}");
    let json = cli(&["report", report, "--json"]);
    let r: promp_report::Report = serde_json::from_str(&json.out).expect("JSON");
    let regions: Vec<_> = r.segments.iter().filter(|s| s.level == Some(1)).collect();
    let wide = crate::common::browser::wider_than_its_place(page.as_ref());
    assert!(wide.as_ref().is_none_or(String::is_empty), "{wide:?}");
    let text = std::fs::read_to_string(page).expect("the page");
    // Cython's names are shown as those of the Python functions they come from.
    assert!(text.contains("sklearn.cluster._k_means_"), "no segment of k-means: {regions:#?}");
    // Wheels have no lines: the file and the offset in it stand for them.
    let placed = |s: &promp_report::Segment| s.begin.as_ref().is_some_and(|b| b.offset != 0);
    assert!(regions.iter().all(|s| placed(s) && s.function.is_some()), "{regions:#?}");
}

/// A Python program is rolled back with the threads of its own, and has the same results.
fn python_rolls_back(python: &Path, args: &[&str], env: (&str, &str), mtbf: &str, s: &Scratch) {
    let want = reference(python, args, &[THREADS, env]);
    assert_eq!(want.status, 0, "{}", want.err);
    let (mut back, mut draws) = (0, Draws::of(3));
    while let Some(seed) = draws.next(back > 0) {
        // A kill often finds a thread where nothing is lost; lost memory always needs a rollback.
        let fault =
            format!("{}@mtbf={mtbf},seed={seed},count=3", ["memerr", "kill", "crash"][seed as usize % 3]);
        let set = [env, ("PROMP_FAULT", &*fault)];
        let run = checkpointed(python, args, &s.path("ckpt"), &set);
        assert_eq!((run.status, &run.out), (0, &want.out), "{fault}: {}", run.err);
        back += run.err.matches("rolled back to checkpoint").count();
    }
    assert!(back > 0, "the faults do not strike");
}

/// numpy brings an OpenBLAS with threads of its own. They are saved and rolled back with the rest.
#[test]
fn scikit_learn_with_checkpoints() {
    let Some(python) = python_with("sklearn") else { return };
    let fit = "from kmeans import fit; print([fit() for _ in range(3)])";
    let scripts = root().join("c-tests/others");
    python_rolls_back(
        &python,
        &["-c", fit],
        ("PYTHONPATH", text(&scripts)),
        "60ms",
        &Scratch::new("sklearn"),
    );
}

/// Compiled while it runs; tqdm has a thread and locks that other processes could share.
#[test]
fn numba_with_checkpoints() {
    numba_rolls_back("numba, tqdm", ["jit.py", "400"], "4", "200ms");
}

/// Memory that could be shared, and a file that is written to as memory.
#[test]
fn shared_memory_of_python_with_checkpoints() {
    numba_rolls_back("numba", ["shared.py", "300"], "2", "300ms");
}

fn numba_rolls_back(modules: &str, [script, steps]: [&str; 2], threads: &str, mtbf: &str) {
    let Some(python) = python_with(modules) else { return };
    let path = root().join("c-tests/others").join(script);
    let env = ("NUMBA_NUM_THREADS", threads);
    python_rolls_back(&python, &[text(&path), steps], env, mtbf, &Scratch::new(script));
}

fn python_script(name: &str, module: &str, args: &[&str]) {
    let Some(python) = python_with(module) else { return };
    let script = root().join("c-tests/others").join(name);
    let args: Vec<&str> = [&[script.to_str().unwrap()][..], args].concat();
    let env = [("OMP_NUM_THREADS", "4")];
    let want = reference(&python, &args, &env);
    assert_eq!(want.status, 0, "{}", want.err);
    for mode in ["on", "off"] {
        let got = promp(&python, &args, &[env[0], ("PROMP_FT", mode)]);
        assert_eq!((got.status, &got.out), (0, &want.out), "{}", got.err);
    }
}

#[test]
fn numpy_over_openblas() {
    let have = Path::new("/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so").exists();
    if available("OpenBLAS, OpenMP build", have) {
        python_script("numpy_openblas.py", "numpy", &[]);
    }
}

/// Long: the wheels are large. `make setup-long` installs them.
#[test]
fn xgboost() {
    if long() {
        python_script("boosting.py", "xgboost", &["xgboost"]);
    }
}

/// Long, see `xgboost`.
#[test]
fn lightgbm() {
    if long() {
        python_script("boosting.py", "lightgbm", &["lightgbm"]);
    }
}

/// Long: Debian's package is large. The same state and energies to the last digit (`-reprod`).
#[test]
fn gromacs() {
    if !long() || !available("GROMACS", Path::new("/usr/bin/gmx").exists()) {
        return;
    }
    let script = root().join("c-tests/others/gromacs.sh");
    let dir = std::env::temp_dir().join(format!("promp-gromacs-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let run = |args: &[&str], preload: bool, env: &[(&str, &str)]| {
        let mut c = Command::new(&script);
        c.args(args).current_dir(&dir).envs(env.iter().copied());
        if preload {
            c.env("LD_PRELOAD", library());
        }
        limited(c, LIMIT)
    };
    assert_eq!(run(&["prepare"], false, &[]).status, 0);
    for threads in ["1", "4"] {
        let want = run(&["run", threads], false, &[]);
        assert!(want.status == 0 && want.out.contains("Total Energy"), "{want:?}");
        for mode in ["on", "off"] {
            let got = run(&["run", threads], true, &[("PROMP_FT", mode)]);
            assert_eq!((got.status, &got.out), (0, &want.out), "{}", got.err);
        }
    }
    let _ = std::fs::remove_dir_all(&dir);
}
