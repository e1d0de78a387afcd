//! What happens is told: the events of programs with every construct, counted by hand from the specification
//! (OpenMP 5.1, chapter 4, and the constructs' own sections). c-tests/observe/events.c has the programs:
//! teams of four, one construct after another.

use crate::common::*;

/// What a run of the program with this argument tells, as PROMP_EVENTS=count prints it: "Row sort: number".
fn told(which: &str, env: &[(&str, &str)]) -> Vec<String> {
    let exe = build("observe/events.c", &[]);
    let mut env = env.to_vec();
    env.push(("PROMP_EVENTS", "count"));
    let run = promp(&exe, &[which], &env);
    assert_eq!((run.status, run.hung), (0, false), "{which}: {}", run.err);
    // Whether a thread has to wait, and what it does meanwhile, is as it happens; so is whether a task is
    // done before another one comes that depends on it.
    let chance = |l: &&str| ["Help", "Pause", "TaskWaits"].iter().any(|c| l.starts_with(c));
    let lines = run.err.lines().filter_map(|l| l.strip_prefix("promp: event "));
    lines.filter(|l| !chance(l)).map(String::from).collect()
}

/// The events of `n` synchronisations of a team of a kind.
fn sync(kind: &str, n: u32) -> Vec<String> {
    ["SyncArrive", "SyncLeave"].map(|row| format!("{row} {kind}: {n}")).to_vec()
}

/// Likewise with tasks.
fn task_sync(kind: &str, n: u32) -> Vec<String> {
    ["TaskSyncBegin", "TaskSyncArrive", "TaskSyncLeave"].map(|row| format!("{row} {kind}: {n}")).to_vec()
}

/// The events of the threads and of `regions` regions with `tasks` implicit tasks in all, where `workers`
/// workers were made and sent away.
fn regions(regions: u32, tasks: u32, workers: u32) -> Vec<String> {
    let mut all = sync("Join", tasks);
    all.extend([
        format!("ParallelBegin: {regions}"),
        format!("ParallelEnd: {regions}"),
        format!("ImplicitBegin: {tasks}"),
        format!("ImplicitEnd: {tasks}"),
        // The initial thread ends after the last count.
        "ThreadBegin no: 1".into(),
        format!("ThreadBegin yes: {workers}"),
        format!("ThreadEnd: {workers}"),
    ]);
    all
}

#[track_caller]
fn are(which: &str, env: &[(&str, &str)], parts: &[Vec<String>], more: &[&str]) {
    let mut want: Vec<String> = parts.concat();
    want.extend(more.iter().map(|s| s.to_string()));
    let mut got = told(which, env);
    want.sort();
    got.sort();
    assert_eq!(got, want, "{which}");
}

#[test]
fn regions_and_their_members() {
    // Three of four threads, one of one.
    are("regions", &[], &[regions(4, 13, 3)], &[]);
    // One of two, and one of two in each of its members.
    are("nested", &[], &[regions(3, 6, 3)], &[]);
}

#[test]
fn worksharing() {
    // dynamic,5: 20 chunks; static: the compiler's own, then a barrier; dynamic,1 nowait: 7; an explicit
    // barrier; combined dynamic,10: 10.
    are(
        "loops",
        &[],
        &[regions(2, 8, 3), sync("Work", 4), sync("Barrier", 8)],
        &["WorkBegin Loop: 12", "WorkEnd Loop: 12", "Chunk Loop: 37"],
    );
    // Three sections with a barrier, two in a combined construct.
    are(
        "sections",
        &[],
        &[regions(2, 8, 3), sync("Work", 4)],
        &["WorkBegin Sections: 8", "WorkEnd Sections: 8", "Chunk Sections: 5"],
    );
    // One with a barrier; one without; one with copyprivate, which has a synchronisation for the data and its
    // barrier.
    are(
        "singles",
        &[],
        &[regions(1, 4, 3), sync("Barrier", 8), sync("Copy", 4)],
        &["Single yes: 3", "Single no: 9"],
    );
}

#[test]
fn mutual_exclusion() {
    // Each of four: a critical section, a named one, a lock; a nestable lock twice. Then each kind of lock
    // once by a test.
    are(
        "locks",
        &[],
        &[regions(1, 4, 3)],
        &[
            "LockInit Lock: 1",
            "LockInit Nest: 1",
            "LockDestroy Lock: 1",
            "LockDestroy Nest: 1",
            "LockWait Critical: 8",
            "LockGot Critical: 8",
            "LockGive Critical: 8",
            "LockWait Lock: 5",
            "LockGot Lock: 5",
            "LockGive Lock: 5",
            "LockWait Nest: 5",
            "LockGot Nest: 5",
            "LockGive Nest: 5",
            "LockNest yes: 4",
            "LockNest no: 4",
        ],
    );
    // 8 iterations in chunks of 2.
    are(
        "ordered",
        &[],
        &[regions(1, 4, 3)],
        &[
            "WorkBegin Loop: 4",
            "WorkEnd Loop: 4",
            "Chunk Loop: 4",
            "LockWait Ordered: 8",
            "LockGot Ordered: 8",
            "LockGive Ordered: 8",
        ],
    );
}

#[test]
fn tasks() {
    // Ten; one undeferred; one in a taskgroup with one in it; two with dependences; a final one with an
    // included one. A taskwait without and one with dependences, which is an empty task, too. The single's
    // barrier.
    are(
        "tasks",
        &[],
        &[regions(1, 4, 3), sync("Barrier", 4), task_sync("Taskwait", 2), task_sync("Taskgroup", 1)],
        &[
            "Single yes: 1",
            "Single no: 3",
            "TaskCreate: 18",
            "TaskDepends: 3",
            "TaskBegin: 17",
            "TaskEnd: 17",
            "TaskSkipped: 1",
        ],
    );
    // Five tasks in a taskgroup, a thousand without; the single ends the region, so it has no barrier.
    are(
        "taskloops",
        &[],
        &[regions(1, 4, 3), task_sync("Taskgroup", 1)],
        &[
            "Single yes: 1",
            "Single no: 3",
            "WorkBegin Taskloop: 2",
            "WorkEnd Taskloop: 2",
            "TaskCreate: 1005",
            "TaskBegin: 1005",
            "TaskEnd: 1005",
        ],
    );
    are(
        "detached",
        &[],
        &[regions(1, 4, 3), sync("Barrier", 4), task_sync("Taskwait", 1)],
        &["Single yes: 1", "Single no: 3", "TaskCreate: 2", "TaskBegin: 2", "TaskEnd: 2", "TaskFulfil: 2"],
    );
}

#[test]
fn cancellation() {
    // A loop of one iteration is cancelled by who has it; the region by its primary thread, which the other
    // three find.
    are(
        "cancelled",
        &[("OMP_CANCELLATION", "true")],
        &[regions(1, 4, 3), sync("Work", 4), sync("Barrier", 4)],
        &[
            "WorkBegin Loop: 4",
            "WorkEnd Loop: 4",
            "Chunk Loop: 1",
            "Cancel Loop: 1",
            "Cancel Parallel: 1",
            "CancelFound Parallel: 3",
        ],
    );
}

#[test]
fn nobody_listens_unless_asked() {
    let exe = build("observe/events.c", &[]);
    let run = promp(&exe, &["tasks"], &[("PROMP_EVENTS", "off")]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let run = promp(&exe, &["tasks"], &[("PROMP_EVENTS", "all")]);
    assert_eq!(run.status, 0);
    assert!(run.err.contains("PROMP_EVENTS=all is not understood: accepted are off, count"), "{}", run.err);
}
