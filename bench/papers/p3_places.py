"""P3's places: what lives where in CG, the choice of 5 of 8 places, shares of runs, the protocol's models."""
from __future__ import annotations

import functools
import itertools
import re
import shutil
import statistics
import subprocess
import tempfile

from frame import Figure, NotHere, number, of, ratio
from machine import BUILT, LIMIT_S, ROOT, Run, build, execute, verified
from p3_images import KERNELS, NEVER, known, planned

VECTORS, PAPERS_VECTORS = 6, 3
PLACES, CHOSEN = 8, 5
# Steps of the solver in one iteration.
SOLVER = 25
# The three of the paper: behind the solver, behind the residual, in front of x's next value.
BEHIND_SOLVER, BEHIND_RESIDUAL, NEXT_VALUE = 4, 6, 7
# R(T) ≥ 0.99: with class A a checkpoint every second, with class B every ten.
MTBF_S, RELIABILITY = {"A": 100, "B": 1000}, 0.99
# Runs of class A of some seconds: so many times its steps; of BT's 200 steps 40.
TIMES = {"bt": "40+0", "cg": "4", "ft": "2", "mg": "3"}
HOLES = {"mixes": "the_published_protocol_mixes_old_and_new_data",
         "blocks": "the_published_protocol_deadlocks_with_a_barrier"}


def position(number_of_visit: int) -> int:
    """Which of CG's eight places a visit is of: the head, three for each step of the solver, four more."""
    within = (number_of_visit - 1) % (1 + 3 * SOLVER + 4)
    return 0 if within == 0 else 1 + (within - 1) % 3 if within <= 3 * SOLVER else within - 3 * SOLVER + 3


def live_vectors(run: Run) -> list[float]:
    """Of CG's six vectors so many live at each of its eight places: by what a checkpoint there has left out.

    A run for each place, with a plan of one visit of it. Only whole pages are left out, so what one vector
    counts is a fifth of what is left out at the head, where five are dead."""
    exe = build("p3-cg-places", "c-tests/npb/cg.c", "-DPLACES=8")
    left_out = []
    with tempfile.TemporaryDirectory(dir=BUILT, ignore_cleanup_errors=True) as folder:
        report = known(exe, folder, "A")
        for at in range(PLACES):
            visits = [v for v in report["visits"] if position(v["number"]) == at]
            visit = visits[len(visits) // 2]
            plan = planned(report, [(visit["number"], visit["place"])], folder)
            env = {"PROMP_CKPT_DIR": f"{folder}/{at}", "PROMP_CKPT_INTERVAL": NEVER, "PROMP_CKPT_PLAN": plan,
                   "OMP_NUM_THREADS": str(run.threads)}
            taken = verified(execute([exe, "A"], env)).report["checkpoints"]
            left_out.append(max(c["left_out"] for c in taken))
            run.told(at + 1, PLACES)
    each = left_out[0] / (VECTORS - 1)
    return [round(VECTORS - left / each, 1) for left in left_out]


def choices(sizes: list[float]) -> tuple[float, float]:
    """The least sum of five of the sizes, and the mean over all choices of five."""
    sums = [sum(some) for some in itertools.combinations(sizes, CHOSEN)]
    return min(sums), statistics.mean(sums)


def places(run: Run) -> dict[str, Figure]:
    """CG's live sets at the paper's three points and the choice among eight."""
    live = live_vectors(run)
    three = [live[k] for k in (BEHIND_SOLVER, BEHIND_RESIDUAL, NEXT_VALUE)]
    found = {f"cg-{k}": Figure(f"{number(v, 1)} d", v) for k, v in enumerate(three)}
    less = (1 - sum(three) / (3 * PAPERS_VECTORS)) * 100
    of_all = (1 - sum(three) / (3 * VECTORS)) * 100
    found["cg-less"] = Figure(f"{number(less)} % (of all six: {number(of_all)} %)", less)
    best, mean = choices(live)
    saved = (1 - best / mean) * 100
    listed = ", ".join(number(v, 1) for v in live)
    text = f"{number(saved)} % ({number(best, 1)} d of {number(mean, 1)} d; the eight: {listed} d)"
    found["choice"] = Figure(text, saved)
    return found


def shares(run: Run) -> dict[str, Figure | str]:
    """What checkpoints at T from R(T) cost of a run: runs with and without, in turn."""
    size = "B" if run.full else "A"
    found: dict[str, Figure | str] = {}
    ways, seen = {}, []
    for key, kernel in KERNELS.items():
        try:
            run.needs_memory(kernel.memory_mb if run.full else kernel.memory_mb // 3, f"{key.upper()}.{size}")
            exe = kernel.built(*([] if run.full else [f"-DTIMES={TIMES[key]}"]))
        except NotHere as why:
            found[f"run-{key}"] = str(why)
            continue

        def took(exe: str = exe, rule: str | None = None) -> float:
            with tempfile.TemporaryDirectory(dir=BUILT) as folder:
                env = {"OMP_NUM_THREADS": str(run.threads)}
                if rule:
                    env |= {"PROMP_CKPT_DIR": folder, "PROMP_CKPT_INTERVAL": rule}
                    env["PROMP_MTBF"] = f"{MTBF_S[size]}s"
                outcome = verified(execute([exe, size], env))
                seen.extend(c["interval_s"] / MTBF_S[size] for c in outcome.report.get("checkpoints", []))
                return outcome.seconds

        ways[f"{key} without"] = took
        ways[f"{key} with"] = functools.partial(took, rule=f"reliability:{RELIABILITY}")
    measured = run.in_turn(ways)
    for key in KERNELS:
        if f"{key} with" in measured:
            found[f"run-{key}"] = ratio(measured[f"{key} with"], measured[f"{key} without"], less_one=True)
    found["interval"] = of(seen, "", 5)
    return found


def models(run: Run) -> dict[str, Figure]:
    """The loom models of the protocol as published and of ours."""
    cargo = shutil.which("cargo")
    if not cargo:
        raise NotHere("cargo, which builds the models, is not installed")
    manifest = str(ROOT / "tests/loom/Cargo.toml")
    command = [cargo, "test", "--release", "--manifest-path", manifest, "checkpoint"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * LIMIT_S, check=False)
    told = dict(re.findall(r"^test checkpoint::(\w+)(?: - should panic)? \.\.\. (\w+)$", done.stdout, re.M))
    if not told:
        raise NotHere(f"the models could not be built: {done.stderr.strip().splitlines()[-1]}")
    run.told(1, 1)
    found = {key: Figure("shown" if told.get(name) == "ok" else "not shown", float(told.get(name) == "ok"))
             for key, name in HOLES.items()}
    ours = [name for name in told if name not in HOLES.values()]
    bad = sum(told[name] != "ok" for name in ours)
    return found | {"ours": Figure(f"{bad} in {len(ours)} models", float(bad))}
