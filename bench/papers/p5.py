"""P5: load monitoring and balancing of synchronisation segments."""

from __future__ import annotations

import p5_runs
from frame import Idea, Paper, Picture, Row, Table

BT = "BT in C, four threads"
DIFFERS = "NPB 2.3's BT and four CPUs in the paper; threads beyond the CPUs share them here."
LOSES = "which segments lose most is the machine's"
TUNED = [
    Row(
        "lhsy S",
        "lhsy's first segment, faster after the scan (S)",
        "about 50 %",
        50.0,
        None,
        "more",
        "its loop is even over the planes: only what does not divide by four is lost",
    ),
    Row(
        "lhsy W",
        "lhsy's first segment, faster after the scan (W)",
        "about 50 %",
        50.0,
        None,
        "more",
        "as above",
    ),
    Row(
        "z S",
        "z_solve_cell's second segment, faster after the scan (S)",
        "+16.3 %",
        16.3,
        None,
        "more",
        "at most what its imbalance is: four threads and ten planes have three, three, two and two",
    ),
    Row(
        "z W",
        "z_solve_cell's second segment, faster after the scan (W)",
        "+7.3 %",
        7.3,
        None,
        "more",
        "at most what its imbalance is: four threads and 22 planes have six, six, five and five",
    ),
    Row(
        "z A",
        "z_solve_cell's second segment, faster after the scan (A)",
        "−0.3 % (balanced)",
        -0.3,
        None,
        "more",
    ),
    Row("whole S", "all segments that are worth it, together (S)", "not given"),
    Row("whole W", "all segments that are worth it, together (W)", "not given"),
]

PAPER = Paper(
    key="p5",
    title="Load monitoring and balancing of synchronisation segments",
    where="Acta Electronica Sinica 33(5), 2005.",
    proposes="""
Which part of a parallel program is worth tuning? The unit is the code between two neighbouring
synchronisations: larger units hide imbalance, single steps of a schedule show imbalance that is not there.
Each thread is measured from behind the first synchronisation to just before the next. For segment i on m
threads speed-up is the sum of all threads' times over the slowest one's, tp; efficiency is that over m. The
weighted residual efficiency, WRE = tp(i) / Σ tp · (1 − efficiency), says how much of the program's time is
lost in the segment. What is above a threshold is scanned: static, dynamic and guided schedules, with
chunks of N/(i·m), i = n … 1, and numbers of threads; the best stays, the rest is looked at again until
nothing is chosen. promp measures the same without a change of the program, names the cause and an advice a
segment, and its tuner finds a schedule while the program runs, by the cost model (P2) instead of a scan.
""",
    ideas=[
        Idea(
            "segments between synchronisations, measured in each thread",
            "crates/tools/src/monitor/mod.rs",
            "tests/monitor.rs::busy_times_are_what_the_program_measured",
        ),
        Idea(
            "WRE, efficiency, ranking",
            "crates/report/src/segments.rs",
            "tests/monitor.rs::all_shapes_of_teams",
        ),
        Idea("scan of schedules and chunks", "crates/omp/src/work/tune/exact.rs", "tests/exact.rs"),
        Idea(
            "the best is kept, the rest looked at again",
            "crates/model/src/search.rs",
            "tests/tuner.rs::a_second_run_searches_nothing",
        ),
        Idea(
            "numbers of threads",
            "crates/omp/src/work/tune/regions.rs",
            "tests/tuner.rs::regions_of_serial_code",
        ),
    ],
    tables=[
        Table(
            "p5-wre",
            "Weighted residual efficiency of BT's segments",
            "`promp run --monitor`, static schedules as NPB has them; the three segments that lose most.",
            DIFFERS,
            [
                Row(
                    f"{size} {n}",
                    f"{BT} ({size}): number {n} by WRE",
                    "names only: lhsy, z_solve_cell",
                    why=LOSES,
                )
                for size in p5_runs.CLASSES
                for n in (1, 2, 3)
            ],
            p5_runs.residual,
            (30, 200),
        ),
        Table(
            "p5-scan",
            "Scan of schedules and chunks",
            "the same binary with schedule(runtime), all schedules in turn; the slowest thread's time "
            "with static over that with the schedule that is best, medians.",
            DIFFERS,
            TUNED,
            p5_runs.tuned,
            (300, 1500),
        ),
    ],
    picture=Picture(
        "p5-scan", ["lhsy S", "lhsy W", "z S", "z W", "z A"], "BT's segments, faster after the scan, per cent"
    ),
)
