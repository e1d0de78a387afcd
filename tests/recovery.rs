//! Sweeps: each program, each thread, sampled points, kinds and delays. A run either prints what libgomp's run prints, or
//! refuses with status 70. Nothing is wrong, nothing hangs.

use crate::common::draws::Draws;
use crate::common::*;
use promp_settings::schedules::Sched;
use promp_settings::spec::{Kind, Loses, Sent};
use std::path::Path;

/// Outcomes of a sweep.
#[derive(Default, Debug)]
struct Tally {
    same: u32,
    refused: u32,
    struck: u32,
    recomputed: u32,
}

/// Runs one specification; panics on a wrong result or a hang.
fn one(exe: &Path, args: &[&str], env: &[(&str, &str)], spec: &str, want: &Run, tally: &mut Tally) {
    let mut env = env.to_vec();
    env.push(("PROMP_FAULT", spec));
    let got = promp(exe, args, &env);
    let what = format!("{} {args:?} {env:?}", exe.display());
    assert!(!got.hung, "{what}: hung; stderr: {}", got.err);
    if got.err.contains(" failed (") {
        tally.struck += 1;
    }
    if got.err.contains("recomputed by") || got.err.contains("is repeated") {
        tally.recomputed += 1;
    }
    if got.status == 70 {
        assert!(got.err.contains("; stopping"), "{what}: a refusal without its message: {}", got.err);
        eprintln!("refused: {spec}: {}", got.err.trim());
        tally.refused += 1;
        return;
    }
    assert_eq!((got.status, &got.out), (want.status, &want.out), "{what}: wrong; stderr: {}", got.err);
    tally.same += 1;
}

/// A sampled sweep with replayable work vouched for.
fn sweep(source: &str, flags: &[&str], args: &[&str], points: &[&str], regions: u64, samples: u64) -> Tally {
    sweep_of(4, source, flags, args, points, regions, samples)
}

/// [`sweep`] with so many threads.
fn sweep_of(
    threads: u64,
    source: &str,
    flags: &[&str],
    args: &[&str],
    points: &[&str],
    regions: u64,
    samples: u64,
) -> Tally {
    let exe = build(source, flags);
    let number = threads.to_string();
    let env = [("OMP_NUM_THREADS", &*number), ("PROMP_REPLAY", "assume"), ("PROMP_WATCHDOG", "60ms")];
    let want = reference(&exe, args, &env[..1]);
    let mut rng = Seeded(source.len() as u64 * 977 + flags.len() as u64 + threads - 4);
    let mut tally = Tally::default();
    let mut draws = Draws::of(samples);
    while let Some(i) = draws.next(tally.struck > 0) {
        let kind = if i % 8 == 7 { "hang" } else { *rng.pick(&["kill", "kill", "crash"]) };
        let thread = rng.below(threads);
        let region = 1 + rng.below(regions);
        let nth = 1 + rng.below(6);
        let delay = *rng.pick(&["0", "0", "20us", "100us", "400us", "1500us"]);
        let at = *rng.pick(points);
        let spec = format!("{kind}@thread={thread},region={region},nth={nth},delay={delay},at={at}");
        one(&exe, args, &env, &spec, &want, &mut tally);
    }
    eprintln!("{source} {flags:?} {threads} threads: {tally:?}");
    tally
}

/// The kernels and the number of regions that each executes in class S.
const KERNELS: [(&str, u64); 5] = [("ep", 1), ("cg", 15), ("mg", 1), ("ft", 7), ("is", 12)];

#[test]
fn kernels_with_dynamic_schedules() {
    for (k, regions) in KERNELS {
        let t = sweep(
            &format!("npb/{k}.c"),
            &["-DDYNAMIC=2"],
            &["S"],
            &["chunk", "chunk", "barrier", "region"],
            regions,
            16,
        );
        assert!(t.struck > 0 && t.same > t.refused, "{k}: {t:?}");
    }
}

/// Members of teams so large that they meet in several groups (team/barrier.rs).
#[test]
fn larger_teams() {
    for (threads, samples) in [(8, 10), (16, 6), (24, 6)] {
        for (k, regions) in [("cg", 15), ("mg", 1)] {
            let points = ["barrier", "barrier", "chunk", "region"];
            let source = format!("npb/{k}.c");
            let t = sweep_of(threads, &source, &["-DDYNAMIC=2"], &["S"], &points, regions, samples);
            assert!(t.struck > 0 && t.same > t.refused, "{k} {threads}: {t:?}");
        }
    }
}

/// Whatever the kind: its chunks are noted before they run, and lost ones are executed again.
#[test]
fn each_kind_of_schedule() {
    for kind in Sched::ALL {
        let t = sweep("ft/runtime.c", &[], &[&(*kind as u32).to_string()], &["chunk"], 20, 10);
        assert!(t.struck > 0 && t.refused == 0, "{kind:?}: {t:?}");
    }
}

/// Loops of a few chunks a thread, which members take several at once (work/shared_batches.rs).
#[test]
fn short_loops() {
    for (threads, samples) in [(2, 10), (4, 10), (8, 10), (16, 6), (24, 6)] {
        let t = sweep_of(threads, "ft/short.c", &[], &[], &["chunk"], 8, samples);
        assert!(t.struck > 0 && t.refused == 0, "{threads}: {t:?}");
    }
}

/// Taskloops, whose ranges are split by halves by whoever takes them: failures at pieces and at barriers,
/// then as many as there are, at any time, until several pieces were executed again.
#[test]
fn taskloops_of_larger_teams() {
    for threads in [8, 16, 24] {
        let source = "ft/taskloop.c";
        // Which thread has a piece when is chance.
        let t = sweep_of(threads, source, &[], &[], &["task", "task", "barrier"], 24, 40);
        assert_eq!(t.refused, 0, "{threads}: {t:?}");
        let exe = build(source, &[]);
        let number = threads.to_string();
        let env = [("OMP_NUM_THREADS", &*number), ("PROMP_REPLAY", "assume")];
        let (want, mut t) = (reference(&exe, &[], &env[..1]), Tally::default());
        let mut draws = Draws::between(8 * scale(), 400 * scale());
        while let Some(seed) = draws.next(t.recomputed > 2) {
            one(&exe, &[], &env, &format!("kill@mtbf=2ms,seed={seed},count=10"), &want, &mut t);
        }
        assert!(t.refused == 0 && t.recomputed > 2, "{threads}: {t:?}");
    }
}

#[test]
fn kernels_with_static_schedules() {
    let mut struck = 0;
    for (k, regions) in KERNELS {
        let t = sweep(&format!("npb/{k}.c"), &[], &["S"], &["region", "barrier"], regions, 10);
        assert!(t.same > t.refused, "{k}: {t:?}");
        struck += t.struck;
    }
    assert!(struck > 0);
}

#[test]
fn other_programs() {
    sweep("ft/jacobi.c", &[], &[], &["region", "barrier"], 2, 10);
    sweep("ft/jacobi.c", &["-DDYNAMIC=5"], &[], &["chunk", "barrier"], 2, 12);
    sweep("ft/wavefront.c", &[], &[], &["chunk"], 5, 12);
    sweep("ft/tasktree.c", &[], &[], &["task", "task", "region", "single"], 1, 16);
    sweep("ft/nested.c", &[], &[], &["chunk", "region", "barrier"], 6, 12);
    sweep("ft/reduction.c", &[], &[], &["chunk", "region", "critical"], 60, 24);
    sweep("ft/big.c", &[], &[], &["chunk"], 1, 10);
}

#[test]
fn what_a_failed_thread_holds() {
    let t = sweep(
        "ft/holders.c",
        &[],
        &[],
        &["critical", "single", "ordered", "sections", "barrier", "chunk"],
        1,
        40,
    );
    assert!(t.struck > 0);
    // Where nothing is in flight the thread goes on with all it holds.
    let exe = build("ft/holders.c", &[]);
    let env = [("OMP_NUM_THREADS", "4")];
    let want = reference(&exe, &[], &env);
    for at in ["critical", "single", "ordered", "sections", "barrier", "chunk", "region", "serial"] {
        for nth in 1..=4 * scale() {
            let mut tally = Tally::default();
            one(&exe, &[], &env, &format!("kill@at={at},nth={nth}"), &want, &mut tally);
            assert_eq!(tally.refused, 0, "{at} {nth}");
        }
    }
}

/// The control flow of a `switch` is followed through its table of jumps: what may be repeated is. What counts in between is not.
#[test]
fn loops_of_switches() {
    let env = [("OMP_NUM_THREADS", "4"), ("PROMP_REPLAY", "assume")];
    let mut rng = Seeded(31);
    for flags in [&["-O2"][..], &["-O0"], &["-O3", "-fno-pie", "-no-pie"], &["-O0", "-fno-pie", "-no-pie"]] {
        let exe = build("ft/switch.c", flags);
        for what in ["pure", "merges", "counts"] {
            let want = reference(&exe, &[what], &env[..1]);
            let mut tally = Tally::default();
            let mut draws = Draws::of(12);
            while draws.next(what != "pure" || tally.recomputed > 2).is_some() {
                // A crash may strike in a library's function, the loader's for one, where it cannot wait and is refused.
                let kind = if what == "pure" { "kill" } else { *rng.pick(&["kill", "kill", "crash"]) };
                let (mtbf, seed) = (200 + rng.below(800), rng.below(1000));
                let spec = format!("{kind}@mtbf={mtbf}us,seed={seed},count=4");
                one(&exe, &[what], &env, &spec, &want, &mut tally);
            }
            eprintln!("{what} {flags:?}: {tally:?}");
            if what == "pure" {
                assert!(tally.refused == 0 && tally.recomputed > 2, "{flags:?}: {tally:?}");
            }
        }
    }
}

/// Work with atomic updates in it, so small that many failures strike between it and the runtime's own code: it is executed once, or refused.
#[test]
fn atomic_updates() {
    let env = [("OMP_NUM_THREADS", "4"), ("PROMP_REPLAY", "assume")];
    let mut rng = Seeded(41);
    let (mut merges, mut draws) = (Tally::default(), Draws::between(1, 20));
    while draws.next(merges.refused > 0 && merges.recomputed > 0).is_some() {
        for flags in [&["-O2"][..], &["-O0"], &["-O3", "-fno-pie", "-no-pie"]] {
            let exe = build("ft/atomics.c", flags);
            for (what, runs) in [("chunks", 40), ("merges", 80), ("waits", 10), ("tasks", 20)] {
                let want = reference(&exe, &[what], &env[..1]);
                let mut tally = Tally::default();
                for _ in 0..runs * scale() {
                    let (mtbf, seed) = (200 + rng.below(800), rng.below(1000));
                    let spec = format!("kill@mtbf={mtbf}us,seed={seed},count=4");
                    let tally = if what == "merges" { &mut merges } else { &mut tally };
                    one(&exe, &[what], &env, &spec, &want, tally);
                }
            }
        }
    }
    assert!(merges.refused > 0 && merges.recomputed > 0, "{merges:?}");
}

/// A thread that is stopped in a call of a library (the allocator with its one arena locked, a block being moved, the program called
/// back) is stopped when the call has returned. One that crashes there cannot wait: refused, and nobody waits for its lock.
#[test]
fn calls_of_libraries() {
    let exe = build("ft/library.c", &[]);
    let mut env = vec![("OMP_NUM_THREADS", "4"), ("PROMP_REPLAY", "assume"), ("MALLOC_ARENA_MAX", "1")];
    let want = reference(&exe, &[], &env[..1]);
    env.push(("PROMP_WATCHDOG", "100ms"));
    let mut rng = Seeded(23);
    let mut waited = Tally::default();
    let mut crashed = Tally::default();
    let mut draws = Draws::of(40);
    while let Some(i) = draws.next(waited.recomputed * 4 > waited.struck && crashed.refused > 0) {
        let kind = *rng.pick(&["kill", "kill", "hang"]);
        let (thread, region, nth) = (1 + rng.below(3), 1 + rng.below(4), 1 + rng.below(20));
        let delay = rng.below(1000);
        let at = format!("thread={thread},region={region},nth={nth},delay={delay}us");
        one(&exe, &[], &env, &format!("{kind}@{at}"), &want, &mut waited);
        if i % 2 == 0 {
            one(&exe, &[], &env, &format!("crash@{at}"), &want, &mut crashed);
        }
    }
    eprintln!("{waited:?} {crashed:?}");
    assert!(waited.refused == 0 && waited.recomputed * 4 > waited.struck, "{waited:?}");
    assert!(crashed.refused > 0, "{crashed:?}");
}

/// Whatever takes the host: it is named, and the chunk that was lost is executed again.
#[test]
fn each_kind_of_fault() {
    let exe = build("ft/reduction.c", &[]);
    let env = [("OMP_NUM_THREADS", "4"), ("PROMP_REPLAY", "assume"), ("PROMP_WATCHDOG", "60ms")];
    let want = reference(&exe, &[], &env[..1]);
    let takes_a_host = |k: &Kind| k.loses() != Loses::Memory && k.sent() != Sent::Process;
    for kind in Kind::injected().filter(takes_a_host) {
        let (mut tally, mut draws) = (Tally::default(), Draws::of(8));
        while let Some(i) = draws.next(tally.recomputed > 0) {
            // At a point it strikes in the runtime, where nothing is lost; at other times in the work.
            let (word, thread) = (kind.name(), i / 2 % 4);
            let at = [format!("region=3,thread={thread}"), format!("mtbf=200us,seed={i},count=3")];
            let spec = format!("{word}@{}", at[i as usize % 2]);
            one(&exe, &[], &env, &spec, &want, &mut tally);
        }
        assert!(tally.same > tally.refused && tally.recomputed > 0, "{kind:?}: {tally:?}");
    }
}

/// Stops of two kinds that are under way to the same threads at the same time.
#[test]
fn kinds_that_meet() {
    let exe = build("npb/cg.c", &["-DDYNAMIC=8"]);
    let env = [("OMP_NUM_THREADS", "4"), ("PROMP_REPLAY", "assume")];
    let want = reference(&exe, &["S"], &env[..1]);
    let (mut tally, mut draws) = (Tally::default(), Draws::of(4));
    while let Some(seed) = draws.next(tally.struck >= 2) {
        let spec =
            format!("crash@mtbf=300us,seed={seed},count=100;kill@mtbf=300us,seed={},count=100", seed + 50);
        one(&exe, &["S"], &env, &spec, &want, &mut tally);
    }
    assert!(tally.struck >= 2, "{tally:?}");
}

#[test]
fn several_failures() {
    let exe = build("npb/cg.c", &["-DDYNAMIC=8"]);
    let env = [("OMP_NUM_THREADS", "4"), ("PROMP_REPLAY", "assume")];
    let want = reference(&exe, &["S"], &env[..1]);
    let mut tally = Tally::default();
    for spec in [
        // All but one, at once and one after another; all; the same thread again and again.
        "kill@thread=1;kill@thread=2;kill@thread=3",
        "kill@thread=0;kill@thread=1;kill@thread=2",
        "kill@thread=0,delay=50us;kill@thread=1,delay=50us;kill@thread=2,delay=50us;kill@thread=3,delay=50us",
        "kill@thread=1,count=5,region=any;kill@thread=2,nth=2;crash@thread=3,nth=3,delay=30us",
        "kill@thread=1,nth=1;kill@thread=1,nth=2;kill@thread=1,nth=3;kill@thread=1,nth=4",
    ] {
        one(&exe, &["S"], &env, spec, &want, &mut tally);
    }
    let mut draws = Draws::between(2, 100);
    while let Some(seed) = draws.next(tally.struck >= 6) {
        let spec = match seed % 2 {
            1 => format!("kill@mtbf=3ms,seed={seed},count=20"),
            _ => format!("crash@mtbf=5ms,seed={seed},count=10;kill@mtbf=4ms,seed={seed},count=10"),
        };
        one(&exe, &["S"], &env, &spec, &want, &mut tally);
    }
    assert!(tally.struck >= 6, "{tally:?}");
    // A failure while others recompute: survivors of a large chunk are hit in turn.
    let exe = build("npb/ep.c", &["-DDYNAMIC=16"]);
    let want = reference(&exe, &["S"], &env[..1]);
    let mut draws = Draws::of(6);
    while let Some(seed) = draws.next(tally.recomputed > 0) {
        let spec = format!("kill@thread=1,delay=3ms;kill@mtbf=6ms,seed={seed},count=8");
        one(&exe, &["S"], &env, &spec, &want, &mut tally);
    }
    assert!(tally.recomputed > 0, "{tally:?}");
}

#[test]
fn reproducible_means_byte_identical() {
    let exe = build("ft/reduction.c", &[]);
    let cg = build("npb/cg.c", &["-DDYNAMIC=4"]);
    for (exe, args) in [(exe, &[][..]), (cg, &["S"])] {
        let env = [("OMP_NUM_THREADS", "4"), ("PROMP_REPLAY", "assume"), ("PROMP_REPRODUCIBLE", "1")];
        let want = promp(&exe, args, &env);
        assert_eq!(want.status, 0);
        let (mut tally, mut draws) = (Tally::default(), Draws::between(5, 100));
        while let Some(n) = draws.next(tally.struck > 0) {
            let nth = 1 + (n - 1) % 5;
            for delay in ["0", "60us", "300us"] {
                let spec = format!("kill@thread={},region=2,nth={nth},delay={delay}", nth % 4);
                one(&exe, args, &env, &spec, &want, &mut tally);
            }
        }
        assert!(tally.struck > 0, "{tally:?}");
    }
}

#[test]
fn recompute_static_and_shrink() {
    let exe = build("npb/ep.c", &["-DDYNAMIC=8"]);
    let want = reference(&exe, &["S"], &[("OMP_NUM_THREADS", "4")]);
    for extra in [("PROMP_RECOMPUTE", "static"), ("PROMP_AFTER", "shrink")] {
        let env = [("OMP_NUM_THREADS", "4"), ("PROMP_REPLAY", "assume"), extra];
        let mut tally = Tally::default();
        for t in 0..4 {
            one(&exe, &["S"], &env, &format!("kill@thread={t},delay=5ms"), &want, &mut tally);
        }
        assert!(tally.struck > 0 && tally.refused < 4, "{tally:?}");
    }
}

#[test]
fn non_replayable_work_is_never_wrong() {
    let exe = build("ft/update.c", &[]);
    let env = [("OMP_NUM_THREADS", "4")];
    let want = reference(&exe, &[], &env);
    let (mut idle, mut busy) = (Tally::default(), Tally::default());
    for i in 0..10 * scale() {
        one(
            &exe,
            &[],
            &env,
            &format!("kill@thread={},region={},nth={}", i % 4, 1 + i % 5, 1 + i % 7),
            &want,
            &mut idle,
        );
        let spec = format!("kill@thread={},region={},nth=1,delay={}us", i % 4, 1 + i % 9, 5 + 13 * (i % 6));
        one(&exe, &[], &env, &spec, &want, &mut busy);
    }
    // Whether a delayed kill strikes in a chunk or in the runtime is chance, about one in four: tried until one has.
    for i in 0..200 {
        if busy.refused > 0 {
            break;
        }
        let spec = format!("kill@thread={},region={},nth=1,delay={}us", i % 4, 1 + i % 29, 5 + 37 * (i % 28));
        one(&exe, &[], &env, &spec, &want, &mut busy);
    }
    assert_eq!(idle.refused, 0, "nothing was in flight: it goes on: {idle:?}");
    assert!(busy.refused > 0, "{busy:?}");
}
