//! The compile side: verdicts on constructs, kernels built with the drivers and killed, objects under the system's libgomp.

use crate::common::draws::Draws;
use crate::common::driven::*;
use crate::common::*;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[test]
fn no_verdict_is_optimistic() {
    no_verdict_is_optimistic_in("verdicts.c", 80);
}

#[test]
fn no_verdict_on_atomic_additions_is_optimistic() {
    no_verdict_is_optimistic_in("additions.c", 26);
}

fn no_verdict_is_optimistic_in(file: &str, programs: u32) {
    let Some(cc) = driver("promp-cc") else { return };
    let source = root().join("c-tests/compiler").join(file);
    let text = std::fs::read_to_string(&source).expect("the programs");
    let object = out_dir().join(file).with_extension("o");
    let rank = |v: &str| ["idempotent", "undo", "opaque"].iter().position(|x| *x == v).expect("a verdict");
    // Functions whose construct is in another function.
    let elsewhere = HashMap::from([
        ("with_distinct_arguments", "two_pointers"),
        ("with_one_aliased_call", "alias_at_one_call"),
    ]);
    for level in ["-O1", "-O2", "-O3", "-Os"] {
        let report = compile(
            &cc,
            &[
                level,
                "-fopenmp",
                "-fpromp-report",
                "-c",
                "-o",
                object.to_str().unwrap(),
                source.to_str().unwrap(),
            ],
        );
        let mut found: HashMap<&str, &str> = HashMap::new();
        for line in report.lines() {
            let Some((_, m)) = line.split_once("promp: ") else { continue };
            let words: Vec<&str> = m.splitn(5, [' ', ':']).collect();
            let [kind, "in", function, _, rest] = words[..] else { continue };
            if ["loop", "sections", "single"].contains(&kind) {
                let v = rest.trim_start().split([':', ' ']).next().unwrap_or("");
                // What can be executed again in parts has parts that cannot.
                let v = if rest.trim_start().starts_with("in parts:") { "opaque" } else { v };
                // The least optimistic of a function's constructs would hide others: the most optimistic one counts.
                let best = found.entry(function).or_insert(v);
                if rank(v) < rank(best) {
                    *best = v;
                }
            }
        }
        let (mut seen, mut wrong) = (0, Vec::new());
        for line in text.lines() {
            let Some((verdict, rest)) = line.strip_prefix("/* ").and_then(|l| l.split_once(" */ ")) else {
                continue;
            };
            let (truth, expected) = verdict.split_once(", reported ").unwrap_or((verdict, verdict));
            if !["idempotent", "undo", "opaque"].contains(&truth) {
                continue;
            }
            let name = rest.split('(').next().unwrap().rsplit([' ', '*']).next().unwrap();
            let Some(got) = found.get(elsewhere.get(name).unwrap_or(&name)) else {
                wrong.push(format!("{name}: no verdict"));
                continue;
            };
            seen += 1;
            if rank(got) < rank(truth) {
                wrong.push(format!("{name}: {got} is optimistic, it is {truth}"));
            } else if level == "-O2" && *got != expected {
                wrong.push(format!("{name}: reported {got}, expected {expected}"));
            }
        }
        assert!(wrong.is_empty(), "{level}: {wrong:#?}");
        assert!(seen >= programs, "{seen} programs");
    }
}

/// Runs of a kernel in which a thread failed.
#[derive(Default, Debug)]
struct Killed {
    runs: u32,
    recomputed: u32,
    refused: u32,
}

impl Killed {
    /// One run of a kernel with its default schedules, built with the drivers: verified, or refused with a reason.
    fn run(&mut self, exe: &Path, class: &str, fault: &str) {
        // Whether saving is worth its price depends on the machine; whether it is right does not.
        let saving = ("PROMP_SAVE_BUDGET", "all");
        let env = [("OMP_NUM_THREADS", "4"), ("PROMP_FAULT", fault), ("PROMP_VERBOSE", "1"), saving];
        let r = promp(exe, &[class], &env);
        assert!(!r.hung, "{exe:?} {fault}: hangs\n{}", r.err);
        self.runs += 1;
        if r.status == 70 {
            assert!(r.err.contains("stopping"), "{exe:?} {fault}: {}", r.err);
            println!("{exe:?} {fault}: {}", r.err);
            self.refused += 1;
            return;
        }
        let verified = r.status == 0 && r.out.contains("successful");
        assert!(verified, "{exe:?} {fault}: {} {}\n{}", r.status, r.out, r.err);
        self.recomputed += u32::from(r.err.contains("recomputed") || r.err.contains("repeated"));
    }
}

/// The report of a run.
fn report(exe: &Path, class: &str) -> serde_json::Value {
    let file = out_dir().join("report.json");
    let r = promp(exe, &[class], &[("PROMP_REPORT", file.to_str().expect("UTF-8"))]);
    assert_eq!(r.status, 0, "{}", r.err);
    serde_json::from_slice(&std::fs::read(&file).expect("the report")).expect("JSON")
}

/// The share of the time spent in loops that the report says is idempotent or undo.
fn share_that_can_be_repeated(exe: &Path) -> f64 {
    let report = report(exe, "S");
    let loops = report["loops"].as_array().expect("loops");
    let time = |verdicts: &[&str]| -> f64 {
        let matching = loops.iter().filter(|l| verdicts.contains(&l["verdict"].as_str().expect("a verdict")));
        matching.map(|l| l["seconds"].as_f64().expect("a time")).sum()
    };
    time(&["idempotent", "undo"]) / time(&["idempotent", "undo", "opaque", "unknown"])
}

#[test]
fn kernels_with_static_schedules_survive() {
    let (Some(cc), Some(fc)) = (driver("promp-cc"), driver("promp-fc")) else { return };
    let rounds = if long() { 200 } else { 4 };
    let mut at_random = Killed::default();
    let mut all = Vec::new();
    let fault = |seed| format!("kill@mtbf={}ms,seed={seed},count=4", 5 + seed % 20);
    for k in ["cg", "ft", "mg", "is", "ep", "bt"] {
        for (driver, ext) in [(&cc, "c"), (&fc, "f90")].into_iter().take(if k == "bt" { 1 } else { 2 }) {
            let exe = driven(driver, &format!("npb/{k}.{ext}"), &[]);
            // The same object under the system's libgomp.
            let r = reference(&exe, &["S"], &[("OMP_NUM_THREADS", "3")]);
            assert!(
                r.status == 0 && r.out.contains("successful"),
                "{exe:?} under libgomp: {} {}",
                r.out,
                r.err
            );
            // A thread that loses its CPU in the shortest loop makes that the longest: once more, then.
            let (mut share, mut draws) = (0.0, Draws::between(1, 20));
            while draws.next(share >= 0.9).is_some() {
                share = share_that_can_be_repeated(&exe);
            }
            assert!(share >= 0.9, "{exe:?}: only {share:.2} of the loops' time is idempotent or undo");
            let class = if k == "ep" || !long() { "S" } else { "W" };
            for seed in 1..=rounds {
                at_random.run(&exe, class, &fault(seed));
            }
            let mut swept = Killed::default();
            let regions = report(&exe, class)["regions"].as_u64().expect("a number");
            let mut rng = Seeded(rounds);
            for i in 0..rounds {
                let (thread, region, nth) = (i % 4, 1 + rng.below(regions), 1 + rng.below(3));
                // The primary thread can be behind the region after a delay: in serial work.
                let delay = if thread == 0 { 0 } else { *rng.pick(&[0, 20, 150, 600]) };
                let at = format!("thread={thread},region={region},nth={nth},delay={delay}us");
                swept.run(&exe, class, &format!("kill@{at}"));
            }
            println!("{k}.{ext}: {swept:?}, at random so far: {at_random:?}");
            assert_eq!(swept.refused, 0, "{exe:?}");
            all.push((exe, class));
        }
    }
    // What is refused struck serial work between two regions.
    let enough = |t: &Killed| t.recomputed > 0 && t.refused * 10 <= t.runs;
    let mut draws = Draws::between(0, 20 * rounds).from(rounds + 1);
    while let Some(seed) = draws.next(enough(&at_random)) {
        all.iter().for_each(|(exe, class)| at_random.run(exe, class, &fault(seed)));
    }
    assert!(enough(&at_random), "{at_random:?}");
}

/// Built by gcc it is refused, built by promp-cc it is recovered.
fn recovered_by_undo(source: &str) {
    let Some(cc) = driver("promp-cc") else { return };
    let expected = reference(&build(source, &[]), &[], &[]);
    let mut met = [false, false];
    for (i, exe) in [build(source, &[]), driven(&cc, source, &[])].iter().enumerate() {
        let mut draws = Draws::between(20, 800);
        while let Some(seed) = draws.next(met[i]) {
            let fault = format!("kill@mtbf=3ms,seed={seed},count=3");
            let env = [("OMP_NUM_THREADS", "4"), ("PROMP_FAULT", &fault), ("PROMP_SAVE_BUDGET", "all")];
            let r = promp(exe, &[], &env);
            if r.status == 70 {
                // A thread that dies in the middle of libc, or in serial work, is refused in either case.
                let elsewhere = r.err.contains("library function that may hold a lock")
                    || r.err.contains("in serial work");
                assert!(i == 0 || elsewhere, "{source} refused: {}", r.err);
                met[0] |= !elsewhere;
            } else {
                assert_eq!((r.status, &r.out), (0, &expected.out), "{source} {fault}: {}", r.err);
                met[i] |= i == 1 && r.err.contains("recomputed");
            }
        }
    }
    assert_eq!(met, [true, true], "{source}: refused without, recovered with the compile side");
}

#[test]
fn old_values_are_saved_where_a_loop_writes_what_it_reads() {
    let Some(cc) = driver("promp-cc") else { return };
    for flags in ["-O1", "-O2", "-O3", "-Os", "-O2 -fwrapv", "-O3 -ffast-math"] {
        for elements in ["-fpromp-report", "-fpromp-elements -fpromp-report"] {
            let mut flags: Vec<&str> = flags.split(' ').collect();
            flags.extend(elements.split(' '));
            let (exe, report) = driven_and_reported(&cc, "compiler/apart.c", &flags);
            let opaque: Vec<&str> = report
                .lines()
                .filter(|l| l.contains(": opaque: "))
                .filter_map(|l| l.split("promp: loop in ").nth(1)?.split(':').next())
                .collect();
            assert!(opaque.is_empty() || !elements.contains("elements"), "{flags:?}: {opaque:?}");
            let mut run = Command::new(exe);
            run.args(&opaque);
            let r = limited(run, Duration::from_secs(60));
            assert!(r.status == 0 && r.out.contains(" 0 missed, 0 wrong"), "{flags:?}: {}", r.out);
            let needless: Vec<&str> = r.out.lines().filter_map(|l| l.strip_prefix("needless: ")).collect();
            for known in ["shifted", "backwards", "halved", "right_shift", "third_from_the_end"] {
                assert!(
                    flags.contains(&"-fwrapv") || !needless.contains(&known),
                    "{flags:?} saves needlessly: {needless:?}"
                );
            }
            let whole = [
                "transposed",
                "mirrored",
                "stencil",
                "stepwise",
                "wide",
                "running",
                "until_found",
                "some_reads",
            ];
            if flags[0] == "-O2" && flags.len() == 2 {
                assert!(
                    !whole.iter().any(|x| needless.contains(x)),
                    "{flags:?} saves needlessly: {needless:?}"
                );
            }
        }
    }
}

#[test]
fn an_update_is_recovered_by_undo() {
    recovered_by_undo("ft/update.c");
}

#[test]
fn rows_that_are_cleared_or_not_are_recovered() {
    recovered_by_undo("compiler/filled.c");
}

#[test]
fn atomic_additions_are_taken_back() {
    recovered_by_undo("compiler/counted.c");
}

/// A thread of the program's own, another team, or another process, may have seen an addition that is to be
/// taken back.
#[test]
fn additions_that_others_may_see_are_refused() {
    let Some(cc) = driver("promp-cc") else { return };
    let exe = driven(&cc, "compiler/counted.c", &[]);
    let expected = reference(&exe, &[], &[]);
    for who in ["thread", "nested", "shared"] {
        let (mut refused, mut draws) = (0, Draws::between(20, 400));
        while let Some(seed) = draws.next(refused > 0) {
            let fault = format!("kill@mtbf=3ms,seed={seed},count=3");
            let env = [("OMP_NUM_THREADS", "4"), ("PROMP_FAULT", &*fault), ("PROMP_SAVE_BUDGET", "all")];
            let r = promp(&exe, &[who], &env);
            if r.status == 70 {
                refused += u32::from(r.err.contains("others than its team may have seen"));
            } else {
                assert_eq!((r.status, &r.out), (0, &expected.out), "{who} {fault}: {}", r.err);
            }
        }
        assert!(refused > 0, "{who}: nothing is refused for being seen");
    }
}

#[test]
fn inline_functions_of_several_units_keep_their_verdicts() {
    let Some(cxx) = driver("promp-c++") else { return };
    let dir = out_folder("inline");
    let source = |n: &str| root().join("c-tests/compiler").join(n).to_str().unwrap().to_string();
    let exe = dir.join("inline");
    let (main, other) = (source("inline_main.cpp"), source("inline_other.cpp"));
    compile(&cxx, &["-O2", "-fopenmp", "-fno-promp-runtime", "-o", exe.to_str().unwrap(), &main, &other]);
    let expected = reference(&exe, &[], &[]);
    assert_eq!(expected.status, 0);
    let recovered = (1..=400).find(|seed| {
        let fault = format!("kill@mtbf=3ms,seed={seed},count=3");
        let env = [("OMP_NUM_THREADS", "4"), ("PROMP_FAULT", &*fault), ("PROMP_SAVE_BUDGET", "all")];
        let r = promp(&exe, &[], &env);
        let refused = r.status == 70 && r.err.contains("library function that may hold a lock");
        assert!(refused || (r.status, &r.out) == (0, &expected.out), "{fault}: {} {}", r.status, r.err);
        r.err.contains("recomputed")
    });
    assert!(recovered.is_some(), "never recovered");
}

/// Old values that do not fit into a log, or for whose log there is no memory: refused for that, or still
/// complete and executed again.
#[test]
fn old_values_without_room_are_refused() {
    let Some(cc) = driver("promp-cc") else { return };
    let threads = ("OMP_NUM_THREADS", "2");
    let exe = driven(&cc, "compiler/no_room.c", &[]);
    for (mode, why) in [("much", "were too many to be saved"), ("memory", "there was no memory")] {
        let want = reference(&exe, &[mode], &[threads]);
        let all_saved = ("PROMP_SAVE_BUDGET", "all");
        let whole = promp(&exe, &[mode], &[threads, all_saved]).took.as_millis() as u64;
        let refused = (0..24).any(|tries| {
            let delay = whole * (3 + tries % 6) / 10; // behind what is saved, most of the time
            let fault = format!("kill@thread={},region=2,at=region,delay={delay}ms", tries % 2);
            let r = promp(&exe, &[mode], &[threads, ("PROMP_FAULT", &fault), all_saved]);
            if r.status == 70 {
                assert!(r.err.contains(why) && r.err.contains("no_room.c:"), "{mode} {fault}: {}", r.err);
            } else {
                assert_eq!((r.status, &r.out), (0, &want.out), "{mode} {fault}: {}", r.err);
            }
            r.status == 70
        });
        assert!(refused, "{mode}: none refused");
    }
}

/// Signals that come all the time while old values are saved, and a child in which regions go on, where
/// libgomp hangs: the answer is that of the program without OpenMP.
#[test]
fn signals_and_children_while_old_values_are_saved() {
    let Some(cc) = driver("promp-cc") else { return };
    let exe = driven(&cc, "compiler/ticks.c", &[]);
    let want = reference(&build("compiler/ticks.c", &["-fno-openmp"]), &[], &[]);
    assert_eq!(want.status, 0, "{want:?}");
    let (mut repeated, mut draws) = (0, Draws::of(4));
    while let Some(seed) = draws.next(repeated >= 4) {
        let fault = format!("kill@mtbf=15ms,count=3,seed={seed}");
        for budget in ["2%", "all"] {
            let env = [("OMP_NUM_THREADS", "2"), ("PROMP_FAULT", &*fault), ("PROMP_SAVE_BUDGET", budget)];
            let r = promp(&exe, &[], &env);
            if r.was_in_serial_work() {
                continue;
            } else if r.status != 0 && budget == "2%" {
                // 3: the child was refused.
                let refused = matches!(r.status, 3 | 70) && r.err.contains("old values are not saved");
                assert!(refused, "{fault}: {r:?}");
            } else {
                assert_eq!((r.status, &r.out), (0, &want.out), "{fault}, {budget}: {}", r.err);
            }
            repeated += r.err.matches("recomputed").count();
        }
    }
    assert!(repeated >= 4, "{repeated} recomputed");
}

/// Chunks that are lost since they have stopped saving have no save points between them: killed there, they
/// are refused. Where only some chunks are, the others are repeated.
#[test]
fn chunks_without_save_points_are_refused_and_others_are_not() {
    let Some(cc) = driver("promp-cc") else { return };
    let exe = driven(&cc, "compiler/vain.c", &[]);
    let (mut repeated, mut refused, mut tries) = ([0; 2], [0; 2], 0);
    let enough = |repeated: [u32; 2], refused: [u32; 2]| refused[0] > 3 && repeated[1] > 3;
    while !enough(repeated, refused) && tries < 40 {
        tries += 1;
        for (kind, mode) in ["often", "seldom"].into_iter().enumerate() {
            let expected = reference(&exe, &[mode, "10"], &[("OMP_NUM_THREADS", "2")]);
            assert_eq!(expected.status, 0, "{mode} under libgomp: {}", expected.err);
            let fault = format!("kill@thread={},region=2,at=region,delay={}us", tries % 2, 100 * (tries % 9));
            let env = [("OMP_NUM_THREADS", "2"), ("PROMP_FAULT", &*fault), ("PROMP_SAVE_BUDGET", "0%")];
            let r = promp(&exe, &[mode, "10"], &env);
            if r.status == 70 {
                assert!(r.err.contains("old values are not saved"), "{mode} {fault}: {}", r.err);
                refused[kind] += 1;
            } else {
                assert_eq!((r.status, &r.out), (0, &expected.out), "{mode} {fault}: {}", r.err);
                repeated[kind] += u32::from(r.err.contains("recomputed"));
            }
        }
    }
    println!("after {tries}: often, seldom: repeated {repeated:?}, refused {refused:?}");
    assert!(enough(repeated, refused), "repeated {repeated:?}, refused {refused:?}");
}

#[test]
fn static_iterations_stay_with_their_threads() {
    let Some(cc) = driver("promp-cc") else { return };
    for level in ["-O0", "-O2"] {
        let (ours, gcc) =
            (driven(&cc, "compiler/visible.c", &[level]), build("compiler/visible.c", &[level]));
        for args in [["1000", "7"], ["1234", "5"], ["3", "1"], ["97", "1000"]] {
            for threads in ["1", "3", "4"] {
                let env = [("OMP_NUM_THREADS", threads)];
                let expected = reference(&gcc, &args, &env);
                assert_eq!(expected.status, 0);
                assert_eq!(
                    reference(&ours, &args, &env).out,
                    expected.out,
                    "{level} {args:?} {threads} under libgomp"
                );
                assert_eq!(
                    promp(&ours, &args, &env).out,
                    expected.out,
                    "{level} {args:?} {threads} under promp"
                );
            }
        }
    }
}
