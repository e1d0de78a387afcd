"""P3: application-level checkpoints of what lives, by data-flow analysis."""
from __future__ import annotations

import math

from frame import Idea, Paper, Picture, Row, Table
from p3_images import KERNELS, sizes, times
from p3_places import models, places, shares

# As published, class B: MB of an image, seconds of a checkpoint, per cent of the run, seconds of a restore.
PUBLISHED = {"bt": (30.4, 0.21, 0.13, 0.72), "cg": (37.3, 0.38, 0.92, 0.71), "ft": (257.6, 1.32, 2.35, 2.23),
             "mg": (129.4, 0.67, 7.53, 0.54)}
# C3's images, which have all memory.
C3 = {"bt": ("1.2 GB (C3)", 1200.0), "cg": ("428 MB (C3)", 428.0), "mg": ("438 MB (C3)", 438.0)}
# Why what lives, by the class's sizes alone, is more than the published image.
ALIVE = {"bt": "u and the forcing live, 5 words for each of 102³ cells, 42.4 MB each; the published image is "
               "smaller than u alone",
         "cg": "the matrix lives, 13.7 million values and columns; the published image is smaller than its "
               "values",
         "ft": "u and the factors live, 16 and 8 bytes for each of 512·256² points, 537 and 268 MB; the "
               "published image is smaller than either",
         "mg": "the solution lives, 258³ words, 137.4 MB; the published image is smaller than that"}
WHOLE = {"mg": "our MG has an array more a level, for results before they are swapped"}
LATER = {"bt": "u lives and changes in each step, 42.4 MB", "mg": ALIVE["mg"]}


def image_rows() -> list[Row]:
    """Whole images, live ones, later ones, and those of programs in which nothing is said by hand."""
    rows = []
    for key, (size, *_) in PUBLISHED.items():
        name, given = key.upper(), C3.get(key, ("not given", None))
        rows += [Row(f"whole-{key}", f"{name}: all memory", given[0], given[1], better="less",
                     why=WHOLE.get(key, "")),
                 Row(f"live-{key}", f"{name}: what lives, the first image", f"{size} MB", size, better="less",
                     why=ALIVE[key]),
                 Row(f"later-{key}", f"{name}: ... each later image", f"{size} MB", size, better="less",
                     why=LATER.get(key, ""))]
        if key != "bt":
            rows.append(Row(f"found-{key}", f"{name}: ... found by promp-cc alone, the first image",
                            f"{size} MB", size, better="less", why=ALIVE[key]))
    return rows


def time_rows() -> list[Row]:
    """One checkpoint, its share of a run, and a restore."""
    rows = []
    for key, (_, took, share, restore) in PUBLISHED.items():
        name = key.upper()
        rows += [Row(f"stop-{key}", f"{name}: stands for the first one", f"{took} s", took, better="less"),
                 Row(f"again-{key}", f"{name}: ... for each later one", f"{took} s", took, better="less"),
                 Row(f"share-{key}", f"{name}: the first one's share of the run", f"{share} %", share,
                     better="less"),
                 Row(f"write-{key}", f"{name}: written beside the run", "not given apart"),
                 Row(f"restore-{key}", f"{name}: a restart, until it goes on", f"{restore} s", restore,
                     better="less",
                     why="its image is larger")]
    return rows


CLASS_B = "Five runs of each program in turn, a few steps of class B, two checkpoints at a place by a plan"
MACHINE = "the paper: NPB OMP 3.2, 32 nodes; here one machine, all CPUs up to four (FULL=1: all), in C."
IMAGES = Table(
    "p3-images", "Image sizes of class B",
    f"{CLASS_B}. MB are 10⁶ bytes. What is dead is said by promp_dead at the head of the main loop (MG: in "
    "front of the last residual), or found by promp-cc. The first image is what `promp inspect` says that a "
    "restart reads; a later one is what was written: what lives and has changed. All memory: the first "
    "image, and what was left out of it.",
    MACHINE, image_rows(), sizes, (190, 190))
TIMES = Table(
    "p3-times", "One checkpoint, its share of the run, and a restore, class B",
    f"{CLASS_B}: those of the table above. The share is of a whole run, as long as these steps say. A "
    "restart: from the command `promp restart` until the program goes on, five times.",
    MACHINE + " Published times have the writing in them; ours is done while the program runs.",
    time_rows(), times, (5, 5))
SHARES = Table(
    "p3-shares", "Checkpoints at T from R(T) ≥ 0.99",
    "Runs with `PROMP_CKPT_INTERVAL=reliability:0.99` and without in turn, five of each: the median of the "
    "ratios. A failure every 100 s on average is a checkpoint every second.",
    "the paper's MTBF is not known to us, nor its T. Class A with two to four times the steps (BT: 40 "
    "steps), so that a run takes some seconds; FULL=1: class B, MTBF 1000 s.",
    [Row("interval", "T / MTBF, at most −ln(0.99)", "0.01005", -math.log(0.99), better="less"),
     *(Row(f"run-{key}", f"{key.upper()}: the run takes longer by", "at most 5 %", 5.0, better="less",
           why="runs are short: the first checkpoint, which has all memory, is one of few")
       for key in KERNELS)],
    shares, (185, 1200))
PLACES = Table(
    "p3-places", "Where to checkpoint: CG's live sets, and 5 places of 8",
    "CG.A with eight places in an iteration (`-DPLACES=8`), one run and one checkpoint for each: what it "
    "left out, in vectors of d words. The five places with the least in sum against the mean of all 56 "
    "choices, which is what a choice by chance costs: counted, not estimated.",
    "our CG has six vectors (it updates by way of a second array), the paper counts three; the matrix, which "
    "never changes, is not counted: only the first image has it. The paper's program and "
    "places are not known to us; neighbours may be further apart than T here.",
    [Row("cg-0", "CG: live behind the solver", "2 d", 2.0, better="less"),
     Row("cg-1", "CG: live behind the residual's norm", "2 d", 2.0, better="less"),
     Row("cg-2", "CG: live in front of x's next value", "d", 1.0, better="less"),
     Row("cg-less", "CG: less than three times 3 d", "44 %", 44.0, better="more"),
     Row("choice", "5 places of 8: saved against a choice by chance", "15 to 30 %", 30.0, better="more")],
    places, (20, 20))
MODELS = Table(
    "p3-protocol", "The protocol under contention",
    "`cargo test --release --manifest-path tests/loom/Cargo.toml checkpoint`: loom executes all "
    "interleavings of a model, up to a number of preemptions; the published protocol is modelled to the "
    "letter.",
    "the paper shows no such figures.",
    [Row("mixes", "published: an image mixes old and new data", "not known there"),
     Row("blocks", "published: each thread waits for the other", "not known there"),
     Row("ours", "ours: models with either fault", "none is intended", 0.0, better="less")],
    models, (60, 60))

PAPER = Paper(
    "p3", "Application-level checkpoints with extended data-flow analysis",
    "Chinese Journal of Computers 33(10), 2010.",
    """A checkpoint saves the variables that live where it is taken, not all memory. Liveness is solved on a
control-flow graph with one copy of a parallel region a thread, in which the clauses' implicit definitions and
uses (private, firstprivate, lastprivate, threadprivate, copyin, reduction) are written out, for the master
and for a worker. The user marks candidates; one is taken if the time since the last checkpoint reaches T,
with R(T) = e^(−λT) ≥ 0.99, or if another thread has begun. The master writes what is shared and its own, each
worker its own. A protocol without blocking (a flag, a counter) lets workers compute on while the master
saves. On a restart a stack of labels leads from call to call to the checkpoint. Of N candidates M are chosen
so that neighbours are at most T apart and the bytes are least in sum: a 0-1 programme there, a shortest path
here. promp saves pages of the process, leaves out what is dead, and writes what has changed.""",
    [Idea("liveness with the clauses' definitions and uses", "plugin/src/checkpoints/dead.cc",
          "tests/live.rs::the_compile_side_says_what_is_dead"),
     Idea("liveness from a place on, on all ways", "plugin/src/checkpoints/ways.cc",
          "tests/random_live.rs::random_programs_with_dead_memory"),
     Idea("parts of arrays, tables of pointers", "crates/foresee/src/loop_footprint.rs",
          "tests/live.rs::the_compile_side_finds_what_lives_in_kernels"),
     Idea("images of what lives alone", "crates/ckpt/src/control/dead_memory_claims.rs",
          "tests/live.rs::dead_memory_is_not_in_the_image"),
     Idea("potential checkpoints", "crates/ckpt/src/control/site_choice.rs",
          "tests/live.rs::kernels_write_what_lives"),
     Idea("the protocol, without its two holes", "crates/ckpt/src/control/checkpoint_site.rs",
          "tests/loom/src/checkpoint.rs"),
     Idea("T from R(T)", "crates/model/src/interval.rs", "crates/model/src/interval.rs"),
     Idea("the least bytes from candidates", "cli/src/plan.rs", "tests/plan.rs::a_plan_is_made_and_kept_to"),
     Idea("a restart at the checkpoint's place", "crates/ckpt/src/restart/mod.rs",
          "tests/live.rs::restarts_without_what_is_dead")],
    [IMAGES, TIMES, SHARES, PLACES, MODELS],
    Picture("p3-images", [f"live-{key}" for key in KERNELS], "Images of class B, MB"))
