//! Restart elsewhere: with another number of threads (docs/internals/restart-elsewhere.md).

use crate::common::draws::{Draws, spaced};
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A run of `exe` with `threads` that may go on with other numbers of them.
fn first(exe: &Path, args: &[&str], threads: u32, dir: &Path) -> Command {
    let mut c = Command::new(command());
    c.args(["run", "--any-threads", "--every", "30ms", "--threads", &threads.to_string(), "--ckpt"]);
    c.arg(dir).arg("--").arg(exe).args(args);
    c
}

/// Runs `exe` with `threads` and kills it when it has a checkpoint taken in serial code. False: it ended.
fn killed_in_serial_code(exe: &Path, args: &[&str], threads: u32, dir: &Path, out: &Path) -> bool {
    let _ = fs::remove_dir_all(dir);
    let _ = fs::remove_file(out);
    start_with(first(exe, args, threads, dir), out, Some(&|_| has_serial(dir, 1)), |_| ()).is_none()
}

/// Is there a checkpoint taken in serial code, later than `before` and than the program's beginning?
fn has_serial(dir: &Path, before: u64) -> bool {
    has_serial_behind(dir, before, 2)
}

/// ... than so many regions.
fn has_serial_behind(dir: &Path, before: u64, regions: u64) -> bool {
    let Ok(d) = promp_image::Directory::open(dir) else { return false };
    let serial = |n: u64| d.read(n).is_ok_and(|g| g.about.alone && g.about.region > regions);
    d.generations().into_iter().any(|n| n > before && serial(n))
}

fn restart_with(dir: &Path, threads: u32, more: &[&str]) -> Command {
    let mut c = Command::new(command());
    c.args(["restart", "--threads", &threads.to_string()]).args(more).arg(dir);
    c
}

/// Goes on in `dir` with `threads`; what it says on both streams.
fn gone_on(dir: &Path, threads: u32, more: &[&str], out: &Path) -> (String, String) {
    let ended = start(restart_with(dir, threads, more), out, None).expect("it ends");
    let said = messages(out);
    assert!(went_well(ended, &said), "{threads} threads: {said}");
    (read(out), said)
}

/// All pairs of numbers of threads.
#[test]
fn another_number_of_threads() {
    let s = Scratch::new("elastic");
    let exe = build("ckpt/elastic.c", &[]);
    let want = reference(&exe, &["1500"], &[THREADS]).out;
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    let counts = [1, 2, 3, 4, 8];
    let pairs = counts.iter().flat_map(|&n| counts.map(|m| (n, m)));
    // In a short run a part of them, which all numbers are in.
    let few = [(1, 4), (4, 2), (2, 8), (8, 3), (3, 1)];
    for (n, m) in pairs.filter(|p| long() || few.contains(p)) {
        assert!(killed_in_serial_code(&exe, &["1500"], n, &dir, &out), "{n}: no checkpoint in serial code");
        let (sum, said) = gone_on(&dir, m, &[], &out);
        assert_eq!(sum, want, "{n} to {m}: {said}");
        let teams: Vec<&str> = said.lines().filter_map(|l| l.strip_prefix("teams of ")).collect();
        assert!(teams.contains(&&*m.to_string()), "{n} to {m}: {said}");
    }
}

/// In a checkpoint from before the first region nobody has asked for the number yet.
#[test]
fn from_before_the_first_region() {
    let s = Scratch::new("elasticlate");
    let exe = build("ckpt/elastic.c", &["-DLATE"]);
    let (dir, out, go) = (s.path("ckpt"), s.path("out"), s.path("go"));
    fs::write(&go, "").expect("a file");
    let want = alone(&exe, &["300"], &s.0);
    for (n, m) in [(4, 2), (1, 3)] {
        let _ = (fs::remove_dir_all(&dir), fs::remove_file(&out), fs::remove_file(&go));
        let mut c = first(&exe, &["300"], n, &dir);
        c.current_dir(&s.0);
        assert!(start_with(c, &out, Some(&|_| has_generation(&dir)), |_| ()).is_none());
        fs::write(&go, "").expect("a file");
        let (sum, said) = gone_on(&dir, m, &[], &out);
        assert_eq!(sum, want, "{n} {m}: {said}");
        assert!(said.contains(&format!("teams of {m}")), "{said}");
    }
}

/// GCC's own calls for static loops are none of the program's: nobody has to vouch.
#[test]
fn static_loops_of_gcc() {
    let s = Scratch::new("elasticstatic");
    let exe = build("ckpt/elastic.c", &["-DSTATIC"]);
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    let want = reference(&exe, &["2000"], &[THREADS]).out;
    for (from, to) in [(4, 2), (2, 3), (1, 4)] {
        assert!(killed_in_serial_code(&exe, &["2000"], from, &dir, &out), "{from}");
        let (sum, said) = gone_on(&dir, to, &[], &out);
        assert_eq!(sum, want, "{from} {to}: {said}");
        assert!(said.contains(&format!("teams of {to}")), "{said}");
    }
}

/// promp-cc has the runtime deal out static loops: its programs do not ask at all, whatever the loops are.
#[test]
fn static_loops_of_promp_cc() {
    let Some(cc) = driver("promp-cc") else { return };
    let s = Scratch::new("elasticcc");
    let (dir, out, exe) = (s.path("ckpt"), s.path("out"), s.path("elastic"));
    // Of chunks; vectorised.
    for (flags, from, to) in [(["-O2", "-DCHUNK=40"], 4, 2), (["-O3", "-DSTATIC"], 2, 3)] {
        let mut c = Command::new(&cc);
        c.args(flags).args(["-march=x86-64-v3", "-fopenmp", "-w", "-fno-promp-runtime", "-o"]).arg(&exe);
        c.arg(root().join("c-tests/ckpt/elastic.c"));
        let built = limited(c, LIMIT);
        assert_eq!(built.status, 0, "{}", built.err);
        let want = reference(&exe, &["2000"], &[THREADS]).out;
        assert!(killed_in_serial_code(&exe, &["2000"], from, &dir, &out), "{from}");
        let (sum, said) = gone_on(&dir, to, &[], &out);
        assert_eq!(sum, want, "{from} {to}: {said}");
        assert!(said.contains(&format!("teams of {to}")), "{said}");
    }
}

/// A program of promp-cc's.
fn by_promp(name: &str, source: &str, flags: &[&str], exe: &Path) -> bool {
    let Some(compiler) = driver(name) else { return false };
    let mut c = Command::new(compiler);
    c.args(flags).args(["-fopenmp", "-w", "-fno-promp-runtime", "-o"]).arg(exe);
    c.arg(root().join("c-tests/ckpt").join(source)).current_dir(exe.parent().expect("a folder"));
    let built = limited(c, LIMIT);
    assert_eq!(built.status, 0, "{source} {flags:?}: {}", built.err);
    true
}

/// Who only shows the number of threads may go on with another: promp-cc knows it, in C, C++ and Fortran.
#[test]
fn numbers_that_are_only_shown() {
    let s = Scratch::new("elasticshown");
    let (dir, out, exe) = (s.path("ckpt"), s.path("out"), s.path("program"));
    let programs: [(&str, &str, &[&str]); 4] = [
        ("promp-cc", "elastic.c", &["-O2", "-DTELLS"]),
        ("promp-cc", "elastic.c", &["-O0", "-DTELLS"]),
        ("promp-c++", "shown.cc", &["-O3", "-flto"]),
        ("promp-fc", "shown.f90", &["-O2"]),
    ];
    for (compiler, source, flags) in programs {
        if !by_promp(compiler, source, flags, &exe) {
            return;
        }
        let args = ["3000"];
        let want = reference(&exe, &args, &[THREADS]).out;
        assert!(killed_in_serial_code(&exe, &args, 4, &dir, &out), "{source}: no checkpoint in serial code");
        let (sum, said) = gone_on(&dir, 3, &[], &out);
        assert_eq!(sum, want, "{source}: {said}");
        assert!(said.contains("teams of 3"), "{source}: {said}");
    }
}

/// The same, where it is not so, or nobody has looked.
#[test]
fn numbers_that_are_not_only_shown() {
    let s = Scratch::new("elastickept");
    let (dir, out, exe) = (s.path("ckpt"), s.path("out"), s.path("program"));
    let args = ["2000"];
    let mut cases = vec![(build("ckpt/elastic.c", &["-DTELLS"]), "it has called omp_get_max_threads (main")];
    if by_promp("promp-cc", "elastic.c", &["-O2", "-DTELLS", "-DSTREAM"], &exe) {
        cases.push((exe, "uses open_memstream, so what it has shown may be in memory"));
    }
    for (exe, says) in cases {
        assert!(killed_in_serial_code(&exe, &args, 4, &dir, &out), "{says}: no checkpoint in serial code");
        refused(restart_with(&dir, 2, &[]), &out, says);
    }
}

/// From a restart with another number it goes on as from any other run: killed again and again.
#[test]
fn again_and_again() {
    let s = Scratch::new("elasticagain");
    let exe = build("ckpt/elastic.c", &[]);
    let want = reference(&exe, &["2000"], &[THREADS]).out;
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    assert!(killed_in_serial_code(&exe, &["2000"], 4, &dir, &out));
    let mut threads = [2, 5, 1].into_iter();
    loop {
        let Some(n) = threads.next() else {
            // The last ones as they are.
            let ended = start(restart(&dir), &out, None).expect("it ends");
            assert!(went_well(ended, &messages(&out)), "{}", messages(&out));
            break;
        };
        let before = promp_image::generation_files(&dir)[0];
        let later = |_: Duration| has_serial(&dir, before);
        if let Some(ended) = start_with(restart_with(&dir, n, &[]), &out, Some(&later), |_| ()) {
            assert!(went_well(ended, &messages(&out)), "{}", messages(&out));
            break;
        }
    }
    assert_eq!(read(&out), want);
}

/// Rollbacks after such a restart: failures of threads that are new.
#[test]
fn failures_afterwards() {
    let s = Scratch::new("elasticback");
    let exe = build("ckpt/elastic.c", &[]);
    let want = reference(&exe, &["1500"], &[THREADS]).out;
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    let (mut failed, mut draws) = (false, Draws::between(1, 40));
    while let Some(seed) = draws.next(failed) {
        let _ = (fs::remove_dir_all(&dir), fs::remove_file(&out));
        let mut c = Command::new(command());
        c.args(["run", "--any-threads", "--every", "30ms", "--threads", "2", "--ckpt"]).arg(&dir);
        c.args(["--fault", &spaced(&format!("kill@thread=3,mtbf=100ms,count=6,seed={seed}"))]);
        c.arg("--").arg(&exe).arg("1500");
        assert!(start_with(c, &out, Some(&|_| has_serial(&dir, 1)), |_| ()).is_none());
        let (sum, said) = gone_on(&dir, 4, &[], &out);
        assert_eq!(sum, want, "{said}");
        failed = said.contains("thread 3 failed");
    }
    assert!(failed, "the faults do not strike");
}

/// What depends on the number of threads, or may, and how that is said.
#[test]
fn refusals_name_the_call() {
    let s = Scratch::new("elasticno");
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    let cases: [(&[&str], &str, &str); 4] = [
        (&[], "m", "it has called omp_get_max_threads (main"),
        (&[], "s", "it has called omp_set_num_threads (main"),
        (&["-DNUMBER"], "", "uses omp_get_thread_num"),
        (&["-DPRIVATE"], "", "bytes for each thread"),
    ];
    for (flags, word, says) in cases {
        let exe = build("ckpt/elastic.c", flags);
        let args = ["2000", word];
        let want = reference(&exe, &args, &[THREADS]).out;
        assert!(killed_in_serial_code(&exe, &args, 4, &dir, &out), "{flags:?} {word}");
        refused(restart_with(&dir, 2, &[]), &out, says);
        assert!(messages(&out).contains("--vouch"), "{}", messages(&out));
        // The image stays, and somebody can vouch.
        let (sum, said) = gone_on(&dir, 2, &["--vouch"], &out);
        assert_eq!(sum, want, "{flags:?} {word}: {said}");
        assert!(said.contains("teams of 2"), "{said}");
    }
}

/// A checkpoint in the middle of a region is none for another number of threads.
#[test]
fn not_in_a_region() {
    let s = Scratch::new("elasticone");
    let exe: PathBuf = build("ckpt/elastic.c", &["-DONE"]);
    let want = reference(&exe, &["2000"], &[THREADS]).out;
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    let mut c = Command::new(command());
    c.args(["run", "--threads", "4", "--every", "30ms", "--ckpt"]).arg(&dir).arg("--").arg(&exe).arg("2000");
    // Not the first two, which are taken before the program and its region begin.
    let some = |_: Duration| promp_image::generation_files(&dir).last().is_some_and(|&oldest| oldest >= 3);
    assert!(start_with(c, &out, Some(&some), |_| ()).is_none());
    refused(restart_with(&dir, 2, &[]), &out, "while several threads were in the program");
    let (sum, said) = gone_on(&dir, 4, &[], &out);
    assert_eq!(sum, want, "{said}");
}

/// A run of `exe` with `threads`, killed when it has a checkpoint taken in serial code, or any, if it comes
/// to none. Programs that end before that are killed sooner. False: they end too soon.
fn killed_somewhere(s: &Scratch, exe: &Path, args: &[&str], threads: u32) -> bool {
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    for serial in [true, false] {
        let _ = (fs::remove_dir_all(&dir), fs::remove_file(&out));
        let mut c = first(exe, args, threads, &dir);
        c.current_dir(&s.0);
        let due = |since: Duration| match serial {
            true => has_serial_behind(&dir, 1, 0) || since > Duration::from_secs(3) && has_generation(&dir),
            false => has_generation(&dir),
        };
        if start_with(c, &out, Some(&due), |_| ()).is_none() && !had_ended(&dir) {
            return true;
        }
    }
    false
}

/// Kernels and programs of others: they go on with another number of threads, to the same result, or what
/// speaks against it is named.
#[test]
fn kernels_and_programs_of_others() {
    let s = Scratch::new("elasticothers");
    let mut letters = Seeded(7);
    let mut family = |letter: &[u8], members: usize, length: usize| {
        let one = |i| {
            let text = (0..length).map(|_| char::from(*letters.pick(letter))).collect::<String>();
            format!(">s{i}\n{text}\n")
        };
        (0..members).map(one).collect::<String>()
    };
    fs::write(s.path("genes.fa"), family(b"ACGT", 60, 900)).expect("a file");
    fs::write(s.path("proteins.fa"), family(b"ACDEFGHIKLMNPQRSTVWY", 24, 200)).expect("a file");
    let kernel = |name: &str| (build(&format!("npb/{name}"), &[]), vec!["A"]);
    let of_others = [
        ("/usr/bin/fasttreeMP", vec!["-nt", "-quiet", "-nosupport", "genes.fa"]),
        ("/usr/bin/clustalo", vec!["-i", "proteins.fa", "--force"]),
        ("/usr/bin/muscle", vec!["-align", "proteins.fa", "-output", "/dev/stdout"]),
        ("/usr/bin/convert", vec!["-size", "1200x900", "plasma:red-blue", "-blur", "0x20", "out.png"]),
    ];
    let mut programs = ["cg.c", "is.c", "ft.c", "ep.c"].map(kernel).to_vec();
    programs.extend(of_others.into_iter().map(|(exe, args)| (PathBuf::from(exe), args)));
    // In a short run one pair of those that are soon done, or refused.
    let few_programs = ["cg_c", "is_c", "clustalo"];
    programs.retain(|(exe, _)| long() || few_programs.iter().any(|e| text(exe).ends_with(e)));
    programs.retain(|(exe, _)| is_asked_for(exe));
    let counts = [1, 2, 3, 4, 8];
    let pairs = counts.iter().flat_map(|&n| counts.map(|m| (n, m)));
    let few = [(4, 2)];
    let (mut same, mut named) = (0, 0);
    for (exe, args) in programs {
        if !available(text(&exe), exe.exists()) {
            continue;
        }
        for (n, m) in pairs.clone().filter(|p| long() || few.contains(p)) {
            let what = format!("{} {n} to {m}", exe.display());
            if !killed_somewhere(&s, &exe, &args, n) {
                println!("{what}: it ends before its first checkpoint");
                continue;
            }
            let (dir, out) = (s.path("ckpt"), s.path("out"));
            let mut c = restart_with(&dir, m, &[]);
            c.current_dir(&s.0);
            let ended = start(c, &out, None).expect("it ends");
            let said = messages(&out);
            if ended.code() == Some(71) {
                // Where several threads were in the program, or a call or data that depends on their number.
                let early = "before the program first used OpenMP";
                let reasons = ["several threads were", early, "has called omp_", " uses ", "for each thread"];
                assert!(reasons.iter().any(|r| said.contains(r)), "{what}: {said}");
                println!("{what}: {}", said.lines().last().unwrap_or_default());
                named += 1;
                continue;
            }
            assert!(went_well(ended, &said), "{what}: {said}");
            let want = alone(&exe, &args, &s.0);
            assert_eq!(read(&out), want, "{what}: {said}");
            println!("{what}: the same");
            same += 1;
        }
    }
    println!("{same} the same, {named} refused");
    assert!(same > 0, "{same} the same, {named} refused");
}

/// What a program writes under libgomp, with one thread: these results do not depend on how many there are.
fn alone(exe: &Path, args: &[&str], folder: &Path) -> String {
    let mut c = Command::new(exe);
    clean(&mut c);
    c.args(args).current_dir(folder).env("OMP_NUM_THREADS", "1");
    limited(c, LIMIT).out
}
