//! OMPT: what tools are told of programs with every construct, against the specification (OpenMP 5.1, chapter
//! 4). c-tests/ompt/recorder.c is a tool that writes down what it is told. [`Record::check`] holds that
//! against the rules which hold for every program; how often what happens is counted by hand.

mod found;
mod others;
mod record;

use crate::common::*;
use record::{Call, Record};
use std::collections::{BTreeMap, HashSet};

/// What is expected: a callback with its kind, as [`Record::counts`] has it, and how often.
type Want = Vec<(String, usize)>;

/// Callbacks that come in pairs, begin and end.
fn pairs(name: &str, kind: u32, n: usize) -> Want {
    vec![(format!("{name} {kind}"), n), (format!("{name} end {kind}"), n)]
}

/// `n` synchronisations of a kind.
fn syncs(kind: u32, n: usize) -> Want {
    [pairs("sync_region", kind, n), pairs("sync_region_wait", kind, n)].concat()
}

/// `n` times a lock of a kind.
fn locks(kind: u32, n: usize) -> Want {
    ["mutex_acquire", "mutex_acquired", "mutex_released"].map(|name| (format!("{name} {kind}"), n)).to_vec()
}

fn plain(all: &[(&str, usize)]) -> Want {
    all.iter().map(|&(name, n)| (name.to_string(), n)).collect()
}

/// `n` tasks that are created, executed and done.
fn tasks(n: usize) -> Want {
    plain(&[("task_create", n), ("task_schedule 7", n), ("task_schedule 1", n)])
}

/// A `single` that one of four executes, `n` times.
fn singles(n: usize) -> Want {
    [pairs("work", 3, n), pairs("work", 4, 3 * n)].concat()
}

/// Threads, regions and their `members` in all, where `workers` were made.
fn regions(regions: usize, members: usize, workers: usize) -> Want {
    let own = plain(&[
        ("thread_begin 1", 1),
        ("thread_begin 2", workers),
        ("thread_end", workers + 1),
        ("parallel_begin", regions),
        ("parallel_end", regions),
        // The initial task's, too.
        ("implicit_task", members + 1),
        ("implicit_task end", members + 1),
    ]);
    [own, syncs(9, members)].concat()
}

#[track_caller]
fn are(r: &Record, want: &[Want], chance: &[&str]) {
    r.check();
    let mut all = BTreeMap::new();
    for (name, n) in want.iter().flatten().filter(|(_, n)| *n > 0) {
        *all.entry(name.clone()).or_insert(0) += n;
    }
    let mut got = r.counts();
    got.retain(|name, _| !chance.contains(&name.as_str()));
    assert_eq!(got, all);
}

/// What a part of c-tests/observe/events.c tells.
#[track_caller]
fn events(which: &str, env: &[(&str, &str)], want: &[Want], chance: &[&str]) -> Record {
    let r = Record::of(&build("observe/events.c", &[]), &[which], env);
    are(&r, want, chance);
    r
}

/// Likewise c-tests/ompt/more.c.
fn more(which: &str, env: &[(&str, &str)]) -> Record {
    Record::of(&build("ompt/more.c", &[]), &[which], env)
}

#[test]
fn a_tool_is_told_of_regions() {
    // Three of four threads, and one of one.
    let r = events("regions", &[], &[regions(4, 13, 3)], &[]);
    assert!(r.lines[0].starts_with("start version=202011 runtime=promp "), "{}", r.lines[0]);
    assert!(r.lines.iter().any(|l| l == "initialize device=0 data=42"));
    assert_eq!(r.lines.last().map(String::as_str), Some("finalize data=7"));
    assert_eq!(r.run.err, "");
    let begun: Vec<_> = r.calls.iter().filter(|c| c.name == "parallel_begin").collect();
    assert_eq!(begun.iter().map(|c| c.n("asked")).collect::<Vec<_>>(), [4, 4, 4, 1]);
    for region in begun {
        let of = |c: &&Call| c.name == "implicit_task" && !c.end && c.word("region") == region.word("region");
        let mut members: Vec<_> = r.calls.iter().filter(of).map(|c| (c.n("index"), c.n("size"))).collect();
        members.sort();
        let n = region.n("asked");
        assert_eq!(members, (0..n).map(|i| (i, n)).collect::<Vec<_>>());
    }
    // One of two, and one of two in each of its members.
    let r = events("nested", &[], &[regions(3, 6, 3)], &[]);
    let inner = |c: &&Call| c.name == "parallel_begin" && c.hex("exit") != 0;
    assert_eq!(r.calls.iter().filter(inner).count(), 2);
    // Without a clause, what was asked for is what OMP_NUM_THREADS says.
    let r = Record::of(&build("npb/cg.c", &[]), &["S"], &[("OMP_NUM_THREADS", "3")]);
    r.check();
    assert!(r.calls.iter().filter(|c| c.name == "parallel_begin").all(|c| c.n("asked") == 3));
}

#[test]
fn leagues() {
    let r = more("league", &[]);
    // The league, which has three initial tasks and no barrier, and three regions of two.
    let own = plain(&[("implicit_task", 3), ("implicit_task end", 3)]);
    are(&r, &[regions(4, 6, 1), own, syncs(5, 3), tasks(3)], &[]);
    let league: Vec<_> =
        r.calls.iter().filter(|c| c.name == "parallel_begin" && c.hex("flags") == 0x4000_0002).collect();
    let [begun] = league[..] else { panic!("{league:?}") };
    assert_eq!(begun.n("asked"), 3);
    let its = |c: &&Call| c.name == "implicit_task" && !c.end && c.word("region") == begun.word("region");
    let teams: Vec<_> = r.calls.iter().filter(its).collect();
    let how = |c: &&Call| (c.n("index"), c.n("size"), c.word("flags").to_string());
    assert_eq!(teams.iter().map(how).collect::<Vec<_>>(), [0, 1, 2].map(|i| (i, 3, "1".to_string())));
    // The regions are encountered by the teams' own tasks, one each.
    let inner = r.calls.iter().filter(|c| c.name == "parallel_begin" && c.hex("flags") != 0x4000_0002);
    let by: Vec<_> = inner.map(|c| c.n("task")).collect();
    assert_eq!(by, teams.iter().map(|c| c.n("task")).collect::<Vec<_>>());
}

#[test]
fn threads_of_the_program() {
    let mut r = more("threads", &[]);
    r.first_calls_meet = true;
    r.check();
    assert_eq!(r.count(|c| c.name == "thread_begin" && c.n("type") == 1), 4);
    assert_eq!(r.count(|c| c.name == "parallel_begin"), 3);
    assert_eq!(r.count(|c| c.name == "implicit_task" && c.end && c.word("flags") == "1"), 4);
}

#[test]
fn worksharing() {
    // dynamic,5: 20 chunks; static: the compiler's own, then a barrier; dynamic,1 nowait: 7; an explicit
    // barrier; combined dynamic,10: 10.
    let r = events(
        "loops",
        &[],
        &[regions(2, 8, 3), syncs(8, 4), syncs(3, 8), pairs("work", 1, 12), plain(&[("dispatch 3", 37)])],
        &[],
    );
    let mut chunks: Vec<_> = r.calls.iter().filter(|c| c.name == "dispatch").map(|c| c.n("n")).collect();
    chunks.sort();
    assert_eq!(chunks, [vec![1; 7], vec![5; 20], vec![10; 10]].concat());
    let counts: HashSet<_> = r.calls.iter().filter(|c| c.name == "work").map(|c| c.n("count")).collect();
    assert_eq!(counts, HashSet::from([7, 100]));
    // Three sections with a barrier, two in a combined construct.
    events(
        "sections",
        &[],
        &[regions(2, 8, 3), syncs(8, 4), pairs("work", 2, 8), plain(&[("dispatch 2", 5)])],
        &[],
    );
    // One with a barrier; one without; one with copyprivate, which has a synchronisation for the data and its
    // barrier.
    events("singles", &[], &[regions(1, 4, 3), syncs(3, 8), syncs(4, 4), singles(3)], &[]);
}

#[test]
fn mutual_exclusion() {
    // Each of four: a critical section, a named one, a lock; a nestable lock twice. Then each kind of lock
    // once by a test.
    let r = events(
        "locks",
        &[],
        &[
            regions(1, 4, 3),
            locks(5, 8),
            plain(&[("lock_init 1", 1), ("lock_init 3", 1), ("lock_destroy 1", 1), ("lock_destroy 3", 1)]),
            plain(&[("mutex_acquire 1", 4), ("mutex_acquired 1", 4), ("mutex_released 1", 5)]),
            plain(&[("mutex_acquire 2", 1), ("mutex_acquired 2", 1)]),
            // The owner asks for it, too, and has it once more.
            plain(&[("mutex_acquire 3", 8), ("mutex_acquired 3", 4), ("mutex_released 3", 5)]),
            plain(&[("mutex_acquire 4", 1), ("mutex_acquired 4", 1), ("nest_lock", 4), ("nest_lock end", 4)]),
        ],
        &[],
    );
    let locks_of = |kind| {
        let of = |c: &&Call| c.name == "mutex_acquire" && c.n("kind") == kind;
        r.calls.iter().filter(of).map(|c| c.word("at").to_string()).collect::<HashSet<_>>().len()
    };
    assert_eq!((locks_of(1), locks_of(5)), (1, 2));
    // 8 iterations in chunks of 2.
    events(
        "ordered",
        &[],
        &[regions(1, 4, 3), locks(7, 8), pairs("work", 1, 4), plain(&[("dispatch 3", 4)])],
        &[],
    );
    let r = more("first_lock", &[]);
    r.check();
    assert_eq!((r.count(|c| c.name == "lock_init"), r.count(|c| c.name == "lock_destroy")), (1, 1));
}

#[test]
fn explicit_tasks() {
    // Ten; one undeferred; one in a taskgroup with one in it; two with dependences; a final one with an
    // included one. A taskwait without and one with dependences, which is a task, too.
    let r = events(
        "tasks",
        &[],
        &[
            regions(1, 4, 3),
            syncs(3, 4),
            syncs(5, 2),
            syncs(6, 1),
            singles(1),
            tasks(17),
            plain(&[("task_create", 1), ("task_schedule 8", 1), ("dependences", 3)]),
        ],
        &["task_dependence"],
    );
    let with = |flags: u64| r.count(|c| c.name == "task_create" && c.hex("flags") & flags == flags);
    // Undeferred: the one that is, the included one, the taskwait. Final: two.
    assert_eq!((with(0x0800_0000), with(0x2000_0000), with(4), with(0x10)), (3, 2, 17, 1));
    // Five tasks in a taskgroup, a thousand without; the single ends the region, so it has no barrier.
    events(
        "taskloops",
        &[],
        &[regions(1, 4, 3), syncs(6, 1), singles(1), pairs("work", 7, 2), tasks(1005)],
        &[],
    );
    // One is fulfilled in its body; the other one's body may have ended before.
    let either = ["task_schedule 5", "task_schedule 6", "task_schedule 1", "task_schedule 4"];
    let r = events(
        "detached",
        &[],
        &[
            regions(1, 4, 3),
            syncs(3, 4),
            syncs(5, 1),
            singles(1),
            plain(&[("task_create", 2), ("task_schedule 7", 2)]),
        ],
        &either,
    );
    let n = |status| r.count(|c| c.name == "task_schedule" && c.n("status") == status);
    assert_eq!((n(5) + n(6), n(1) + n(4)), (2, 2));
    assert_eq!(n(4), n(6));
}

#[test]
fn dependences() {
    let r = more("dependences", &[]);
    // GCC leaves the single's barrier in front of the region's end, for the tasks use what lies on its stack.
    let want = [
        syncs(3, 4),
        regions(1, 4, 3),
        singles(1),
        tasks(3),
        plain(&[("dependences", 3), ("task_dependence", 3)]),
    ];
    are(&r, &want, &[]);
    let made: Vec<u64> = r.calls.iter().filter(|c| c.name == "task_create").map(|c| c.n("new")).collect();
    let all = r.calls.iter().filter(|c| c.name == "task_dependence");
    let mut edges: Vec<_> = all.map(|c| (c.n("source"), c.n("sink"))).collect();
    edges.sort();
    // Of the first one by two addresses.
    assert_eq!(edges, [(made[0], made[2]), (made[0], made[2]), (made[1], made[2])]);
    let kinds = |of: u64| {
        let line =
            r.lines.iter().find(|l| l.starts_with("dependences ") && l.contains(&format!("task={of} ")));
        let mut kinds: Vec<_> = line.expect("told").split(' ').filter_map(|w| w.rsplit_once(':')).collect();
        kinds.sort_by_key(|k| k.1);
        kinds.into_iter().map(|k| k.1.to_string()).collect::<Vec<_>>()
    };
    // out and inout are inout (3); in is 1, mutexinoutset 4.
    assert_eq!(kinds(made[0]), ["3", "3"]);
    assert_eq!(kinds(made[2]), ["1", "1", "1", "4"]);
}

#[test]
fn cancellation() {
    // A loop of one iteration is cancelled by who has it; the region by its primary thread, which the other
    // three find.
    let r = events(
        "cancelled",
        &[("OMP_CANCELLATION", "true")],
        &[
            regions(1, 4, 3),
            syncs(8, 4),
            syncs(3, 4),
            pairs("work", 1, 4),
            plain(&[("dispatch 3", 1), ("cancel", 5)]),
        ],
        &[],
    );
    let with = |flags: u64| r.count(|c| c.name == "cancel" && c.hex("flags") == flags);
    assert_eq!((with(0x14), with(0x11), with(0x21)), (1, 1, 3));
}

#[test]
fn what_only_newer_compilers_tell() {
    let r = more("newer", &[]);
    are(
        &r,
        &[
            regions(1, 4, 3),
            singles(1),
            pairs("work", 1, 4),
            // The share of each, and the chunk that it says.
            plain(&[("dispatch 3", 8), ("masked", 1), ("masked end", 1)]),
            pairs("reduction", 7, 4),
        ],
        &[],
    );
}

#[test]
fn the_program_speaks_to_the_tool() {
    let r = more("control", &[]);
    // 1 + 5; 2 + 3; the tool ends itself; there is none any more.
    assert_eq!(r.run.out, "6 5 4 -2\n");
    assert_eq!(r.count(|c| c.name == "control_tool"), 3);
    assert_eq!(r.count(|c| c.name == "parallel_begin"), 0);
    let exe = build("ompt/more.c", &[]);
    let run = promp(&exe, &["control"], &[]);
    assert_eq!((run.status, run.out.as_str()), (0, "-2 -2 -2 -2\n"));
    let only = ("RECORDER_ONLY", "parallel_begin");
    assert_eq!(more("control", &[only]).run.out, "-1 -1 -1 -1\n");
    let r = more("directives", &[]);
    r.check();
    let errors: Vec<_> = r.calls.iter().filter(|c| c.name == "error").collect();
    assert!(matches!(errors[..], [e] if e.n("severity") == 1 && e.word("message") == "watch"), "{errors:?}");
}

#[test]
fn devices() {
    // target; target data, update, its end; enter and exit data: all by a device's number.
    let kinds = [1, 2, 4, 3, 2, 3];
    for (setting, number, host) in [("none", 0, 0), ("separate:2", 0, 2)] {
        let r = more("target", &[("PROMP_DEVICES", setting)]);
        r.check();
        assert!(r.lines.contains(&format!("initialize device={host} data=42")), "{setting}");
        for end in [false, true] {
            let told = r.calls.iter().filter(|c| c.name == "target_emi" && c.end == end);
            let told: Vec<_> = told.map(|c| (c.n("kind"), c.n("device"))).collect();
            assert_eq!(told, kinds.map(|k| (k, number)), "{setting}");
        }
        let n = |name: &str, kind: Option<u64>| {
            r.count(|c| c.name == name && c.end && kind.is_none_or(|k| c.n("type") == k))
        };
        let ops = [1, 2, 3, 4].map(|k| n("target_data_op_emi", Some(k)));
        // tofrom, to, to, delete of one array.
        let maps = r.calls.iter().filter(|c| c.name == "target_map_emi");
        let maps: Vec<_> =
            maps.map(|c| (c.n("flags"), c.n("bytes"), c.n("moved"), c.n("target") > 0)).collect();
        let flags: &[u64] = if setting == "none" { &[] } else { &[3, 1, 1, 16] };
        assert!(maps.iter().all(|m| (m.1, m.2, m.3) == (8000, 1, true)), "{maps:?}");
        assert_eq!(maps.iter().map(|m| m.0).collect::<Vec<_>>(), flags, "{setting}");
        let ended = r.count(|c| c.name == "device_finalize");
        if setting == "none" {
            assert_eq!((ops, n("target_submit_emi", None), ended), ([0; 4], 0, 0));
        } else {
            // Memory comes and goes three times; data go there for each of these and the update, and come
            // back from the target region.
            assert_eq!((ops, n("target_submit_emi", None), ended), ([3, 4, 1, 3], 1, 1));
            let back = r.calls.iter().find(|c| c.name.starts_with("target_data_op") && c.n("type") == 3);
            assert_eq!(back.map(|c| c.n("bytes")), Some(8000));
        }
    }
}

#[test]
fn failures_are_not_told() {
    let exe = build("npb/cg.c", &[]);
    let env = [("OMP_NUM_THREADS", "3"), ("PROMP_REPLAY", "assume")];
    let free = Record::of(&exe, &["S"], &env);
    free.check();
    for fault in
        ["kill@thread=1,region=5,at=barrier,nth=20,delay=20us", "kill@thread=1,mtbf=10ms,count=6,seed=4"]
    {
        let mut env = env.to_vec();
        env.push(("PROMP_FAULT", fault));
        let r = Record::of(&exe, &["S"], &env);
        r.check();
        assert_eq!(r.run.out, free.run.out, "{fault}");
        assert_eq!(r.counts(), free.counts(), "{fault}");
        assert!(fault.contains("mtbf") || r.run.err.contains("thread 1 failed (kill)"), "{}", r.run.err);
    }
    // The tool's own memory goes back with the program's.
    let dir = out_dir().join(format!("ompt-ckpt-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let mut env = env.to_vec();
    env.extend([
        ("PROMP_CKPT_DIR", dir.to_str().expect("UTF-8")),
        ("PROMP_CKPT_INTERVAL", "5ms"),
        ("PROMP_FAULT", "memerr@thread=1,region=10,at=barrier,nth=200"),
    ]);
    let r = Record::of(&exe, &["S"], &env);
    let _ = std::fs::remove_dir_all(&dir);
    r.check();
    assert_eq!(r.counts(), free.counts());
    assert!(r.run.err.contains("rolled back to checkpoint"), "{}", r.run.err);
}

#[test]
fn nothing_grows_under_a_tool() {
    let exe = build("monitor/shapes.c", &[]);
    let tool = build("ompt/bad.c", &["-shared", "-fPIC"]);
    let env = [("OMP_TOOL_LIBRARIES", tool.to_str().expect("UTF-8"))];
    let regions = (20_000 * scale()).min(100_000).to_string();
    let run = promp(&exe, &["regions", &regions], &env);
    assert!(run.out.starts_with("grown: no\n"), "{}", run.out);
    let forks = (50 * scale()).min(1000).to_string();
    assert_eq!(promp(&exe, &["forks", &forks], &env).out, "total 2\n");
}
