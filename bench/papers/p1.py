"""P1: parallel recomputing (PR-OMP, GiFT-OMP)."""

from __future__ import annotations

import os

import p1_runs
from frame import Idea, Paper, Picture, Row, Table

CPUS = len(os.sched_getaffinity(0))


def share(threads: int) -> float:
    """What the paper's scheme costs at most, in per cent of the loop's time: the whole share, 1/k of the
    work, executed again by the k - 1 survivors on as many CPUs as there are."""
    return 100 * min(threads, CPUS) / threads / min(threads - 1, CPUS)


def fragment(m: int) -> float:
    """The iterations of a fragment of two threads' loop, and one, in per cent of all."""
    return 100 * (-(-p1_runs.PARTS // 2 // m) + 1) / p1_runs.PARTS


PUBLISHED = {
    "ep": ("0.06 % (C3: 0.00 %)", 0.06),
    "ft": ("0.17 % (C3: 18.87 %)", 0.17),
    "is": ("0.12 % (C3: 14.02 %)", 0.12),
}
RESTORED = {
    "ep": ("0.36 % (C3: 0.50 %)", 0.36),
    "ft": ("1.56 % (C3: 11.30 %)", 1.56),
    "is": ("1.89 % (C3: 7.83 %)", 1.89),
}
CLASSES = "classes A (B with FULL=1; the paper: EP.B, FT.B, IS.C on 8 nodes of 4 cores), two CPUs and more"

FREE_ROWS = [
    Row(
        f"{k} free",
        f"{k.upper()}, time without failures ÷ the original's (libgomp)",
        "about 1.00",
        1.0,
        1.0,
        "less",
        "built by promp-cc: static loops come from the runtime, with PROMP_FT=off, too",
    )
    for k in p1_runs.KERNELS
]
SAVED_ROWS = [
    Row(
        f"{k} saved",
        f"{k.upper()}, saving state, share of the run",
        *PUBLISHED[k],
        None,
        "less",
        "old values are saved for at most 2 % of a loop's time (PROMP_SAVE_BUDGET)",
    )
    for k in p1_runs.KERNELS
]
FAILED_ROWS = [
    Row(
        f"{k} {n}",
        f"{k.upper()}, one killed in the middle, {n} threads: longer by",
        "25 %" if (k, n) == ("ep", 4) else "less with more threads" if k != "ep" else "not given",
        25.0 if (k, n) == ("ep", 4) else None,
        min(25.0, share(n)) if (k, n) == ("ep", 4) else share(n),
        "less",
        "" if k == "ep" else "runs of this length differ by more than a failure costs",
    )
    for k in p1_runs.KERNELS
    for n in (2, 4, 8, 16)
]
RESTORED_ROWS = [
    Row(
        f"{k} restored",
        f"{k.upper()}, restoring and recomputing, share of the run with one failure",
        *RESTORED[k],
        None,
        "less",
        "from the failure to the end of recomputing; the others go on meanwhile",
    )
    for k in p1_runs.KERNELS
]
FRAGMENT_ROWS = [
    Row(
        f"frags {m}",
        f"PR_FRAGS({m}): iterations lost, of all",
        "the formula's fragment, and one",
        None,
        fragment(m),
        "less",
    )
    for m in p1_runs.FRAGMENTS
]
SCHEDULE_ROWS = [
    Row(
        f"recompute {s}",
        f"PR_SCHE({s.upper()}), PR_FRAGS(1), 4 threads: longer by",
        f"at most {share(4):.0f} %, by the formula",
        None,
        share(4),
        "less",
    )
    for s in ("static", "dynamic")
]
EXAMPLE_ROWS = [
    Row(
        "matrix",
        "their matrix example and its constructs (C): right results, of 40 killed runs",
        "c is said not to need saving: wrong",
        None,
        40,
        "more",
    ),
    Row(
        "workshare",
        "workshare, sections, single (Fortran): right results, of 40 killed runs",
        "recomputed serially",
        None,
        40,
        "more",
    ),
    Row(
        "recovered",
        "of those, recovered without a checkpoint (others are refused with a reason)",
        "not given",
        None,
        72,
        "more",
        "what stands in work that cannot be executed again is refused",
    ),
]

PAPER = Paper(
    key="p1",
    title="Parallel recomputing (PR-OMP, GiFT-OMP)",
    where="Journal of Software 23(2), 2012.",
    proposes="""
When a thread fails in the middle of a parallel loop, its surviving team recomputes what it had, in parallel,
instead of all going back. The program is cut into segments, of a serial part and one parallel loop. Each
saves its state, runs, looks for failures at the loop's end, and recomputes what is lost. Which iterations
those are follows by arithmetic from a static schedule, and from a record of chunks taken for a dynamic one.
`PR_FRAGS(m)` cuts a long loop into m pieces, `PR_SCHE` says how the lost share is dealt out. Loops are
recomputed in parallel; sections, workshare and single serially. What is saved is what is live at the
segment's entry. A failure is fail-stop; after the loop's end each thread reads who has failed. A compile tool
(GiFT-OMP) writes the segments into the source. promp has them as runtime and compiler plugin: nothing is
written into sources, and failures inside recoveries, and partly executed iterations, are survived, too.
""",
    ideas=[
        Idea("segments between runtime calls", "plugin/src/segments/segments.cc", "tests/explain.rs"),
        Idea(
            "save, run, detect, recompute",
            "crates/recover/src/recover.rs",
            "tests/recovery.rs::kernels_with_static_schedules",
        ),
        Idea(
            "record of chunks taken (schedule bookkeeping)",
            "crates/omp/src/work/ledger.rs",
            "tests/recovery.rs::kernels_with_dynamic_schedules",
        ),
        Idea(
            "lost iterations by arithmetic; PR_FRAGS",
            "crates/omp/src/work/share.rs",
            "tests/static_schedules.rs",
        ),
        Idea(
            "PR_SCHE: the lost share over the survivors",
            "crates/omp/src/work/survivors.rs",
            "tests/recovery.rs::recompute_static_and_shrink",
        ),
        Idea(
            "liveness at a segment's entry: old values in a log",
            "crates/undo/src/log.rs",
            "tests/private_data.rs",
        ),
        Idea(
            "failures during recovery",
            "crates/recover/src/recover.rs",
            "tests/recovery.rs::several_failures",
        ),
        Idea(
            "thread failure descriptor",
            "crates/recover/src/failure_records.rs",
            "tests/recovery.rs::what_a_failed_thread_holds",
        ),
        Idea(
            "sections, single, workshare",
            "crates/recover/src/recover.rs",
            "tests/recovery.rs::other_programs",
        ),
    ],
    tables=[
        Table(
            "p1-free",
            "Failure-free time, and the share of saving",
            "each kernel, built by promp-cc, in turn under libgomp, promp with PROMP_FT=off and promp, which "
            "saves; saving is what the last takes over the one before.",
            CLASSES + ".",
            [*FREE_ROWS, *SAVED_ROWS],
            p1_runs.without_failures,
            (250, 2500),
        ),
        Table(
            "p1-failure",
            "Time with one failure",
            "in turn without and with one thread killed in the middle; longer by what the rounds' times say, "
            "in per cent. Held to the published value; where there is none, to the formula: "
            "a whole share, recomputed by the survivors on the CPUs there are.",
            "class W (A with FULL=1); threads beyond the CPUs share them.",
            [*FAILED_ROWS, *RESTORED_ROWS],
            p1_runs.with_a_failure,
            (110, 1500),
        ),
        Table(
            "p1-recomputing",
            "Fragments, and static and dynamic recomputing",
            "one long static loop in two threads, one killed in the middle: `lost_iterations` of the report; "
            "for PR_SCHE four threads, in turn without and with the kill.",
            "the paper gives formulas only.",
            [*FRAGMENT_ROWS, *SCHEDULE_ROWS],
            p1_runs.recomputing,
            (60, 90),
        ),
        Table(
            "p1-examples",
            "The compile tool's examples",
            "built by promp-cc and promp-fc; a thread is killed at forty points, two thirds of them in the "
            "middle of work; compared with the run of the same program under libgomp.",
            "their tool translates sources; promp-cc compiles them as they are.",
            EXAMPLE_ROWS,
            p1_runs.examples,
            (30, 30),
        ),
    ],
    picture=Picture(
        "p1-failure",
        [f"ep {n}" for n in (2, 4, 8, 16)],
        "One thread killed: how much longer EP takes, per cent",
    ),
)
