"""P4: LazyFT, silent errors of devices."""

from __future__ import annotations

import p4_runs
from frame import Idea, Paper, Picture, Row, Table

SEPARATE = "the device is promp's *separate* one, on the host's CPUs; the paper had a GPU, 1000 iterations"
ALL = "each check reads and writes all of the device's data; the paper's looks at what a kernel wrote"
ROWS = [
    Row("eager", "eager ÷ plain", "5.50 (135.6 s ÷ 24.65 s)", 5.50, None, "less", ALL),
    Row("calls", "lazy, a section of calls, ÷ plain", "3.28 (80.8 s)", 3.28, None, "less", ALL),
    Row("iteration", "lazy, a section an iteration, ÷ plain", "3.23 (79.6 s)", 3.23, None, "less", ALL),
    Row("best", "lazy, n by the model, ÷ plain", "2.20 (5.50 ÷ 2.5)", 2.20, None, "less"),
    Row("overhead", "overhead of lazy with the model's n against eager's", "−75 %", -75.0, None, "less"),
    Row(
        "gain",
        "eager ÷ lazy with the model's n",
        "2.5",
        2.5,
        None,
        "more",
        "at most 1 + V/2K, V the check and K the kernel: a check that costs less gains less by being put off",
    ),
]
MODEL_ROWS = [
    Row(
        "model",
        "E(n) of the model against the measured time of the verified part, MTBF 30 s: off by",
        "not given",
        None,
        20,
        "less",
        "the first section's rates are guesses",
    ),
    Row("chosen", "n that the model has chosen, MTBF 30 s", "not given"),
]
PLACES = [
    Row(
        "found",
        "errors found, of those injected, each kernel of two steps",
        "all",
        None,
        100,
        "more",
        "one that changes nothing that its section gives is not found, and does not count",
    ),
    Row("wrong", "runs with another result", "none", None, 0, "less"),
    Row("refused", "runs that were stopped", "none", None, 0, "less"),
]


def on(rows: list[Row], device: str) -> list[Row]:
    """The rows, on another device."""
    return [
        Row(f"{device} {r.key}", f"{r.what} ({device})", r.published, r.value, r.goal, r.better, r.why)
        for r in rows
    ]


PAPER = Paper(
    key="p4",
    title="Silent errors on CPU-GPU systems (LazyFT)",
    where="Journal of Software 22(10), 2011.",
    proposes="""
Transient faults in an accelerator's arithmetic corrupt results without a word. Checking each kernel right
behind it (eager) costs several times the kernel. LazyFT lets errors live on the device, and checks once,
before data are copied back to the host. Sections are bracketed by a checkpoint and a detection: each kernel
lies in one, no copy to the host does. They are found on the program's control tree. What kernels write has
a second copy; kernels run twice; the copies are compared on the device at the section's end. At a section's
beginning the variables that live there are kept; where the copies differ, they are put back and the section
runs again. How many kernels or iterations make a section follows from a time model with the failure rate, by
dynamic programming. promp signs results instead of keeping them twice where the device can, and needs no
change of the program; the compiler finds sections only to make them longer.
""",
    ideas=[
        Idea(
            "lazy detection, before data come back",
            "crates/device/src/device/sdc/mod.rs",
            "tests/silent_errors.rs::every_error_is_found_and_repaired",
        ),
        Idea(
            "sections on the control tree, six rules",
            "plugin/src/openmp/sections.cc",
            "tests/sections.rs::sections_are_found_in_every_structure",
        ),
        Idea(
            "the two rules, checked",
            "plugin/src/openmp/sections.cc",
            "tests/sections.rs::marks_that_break_a_rule_are_errors_with_a_place",
        ),
        Idea(
            "twofold execution, compared on the device",
            "crates/device/src/device/sdc/comparison.rs",
            "tests/silent_errors.rs::without_errors_nothing_is_found",
        ),
        Idea(
            "back up, restore and run again",
            "crates/device/src/device/sdc/section.rs",
            "tests/silent_errors.rs::errors_at_random_times",
        ),
        Idea(
            "n by the time model",
            "crates/device/src/device/sdc/time_model.rs",
            "crates/device/src/device/sdc/time_model.rs",
        ),
    ],
    tables=[
        Table(
            "p4-swim",
            "Swim 1023²: plain, eager, lazy",
            "`c-tests/sdc/swim.c`, the same kernels in all modes, in turn; its own seconds of the kernels. A "
            "section of calls is one of its three functions, an iteration has seven kernels.",
            SEPARATE + ".",
            ROWS,
            p4_runs.separate,
            (150, 600),
        ),
        Table(
            "p4-model",
            "The time model",
            "the run with PROMP_MTBF=30s: `predicted_s` of the report beside what was measured.",
            "a failure rate of the same size as the paper's; no failure is injected.",
            MODEL_ROWS,
            p4_runs.model,
            (50, 150),
        ),
        Table(
            "p4-places",
            "An error at each place",
            "PROMP_FAULT=sdc in each of Swim's kernels in turn, under lazy; outputs are compared.",
            "the paper injects none; size 63.",
            PLACES,
            p4_runs.places,
            (30, 30),
        ),
        Table(
            "p4-gpu",
            "The same on a GPU",
            "`bench/papers/p4.sh` in the folder that `tools/gpu_folder.sh` makes.",
            "a GPU of today.",
            on(ROWS, "GPU"),
            p4_runs.graphics,
            (5, 5),
        ),
    ],
    picture=Picture("p4-swim", ["eager", "calls", "iteration", "best"], "Swim 1023², times the plain run"),
)
