"""What P4's tables measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frame import ROUNDS, Figure, NotHere, of, ratio
from machine import BUILT, Outcome, Run, build, execute, gpu

MODES = {"plain": "off", "eager": "eager", "calls": "lazy:calls", "iteration": "lazy:7", "best": "lazy:auto"}
# A section for each of the three functions, as the source says.
BY_HAND = "lazy:calls"
PRINTED = BUILT / "p4-gpu.txt"


def swim(mode: str, size: int, steps: int, *, ok: bool = True, **more: str) -> Outcome:
    """Swim on the separate device."""
    env = {
        "PROMP_DEVICES": "separate",
        "PROMP_SDC": "lazy" if mode == BY_HAND else mode,
        "PROMP_SDC_ASSUME": "*",
        "PROMP_SDC_LATENCY": "10m",
    }
    by_hand = ["-DCALLS"] if mode == BY_HAND else []
    exe = build("swim" + "".join(by_hand), "c-tests/sdc/swim.c", *by_hand)
    return execute([exe, str(size), str(steps)], env | more, ok=ok)


def kernels_s(done: Outcome) -> float:
    """Seconds of its kernels."""
    return next(float(line.split()[1]) for line in done.err.splitlines() if line.startswith("seconds "))


def compared(took: Mapping[str, Sequence[float]]) -> dict[str, Figure]:
    """The rows of a table of modes."""
    rows = {key: ratio(took[key], took["plain"]) for key in ("eager", "calls", "iteration", "best")}
    over = {key: [m - p for m, p in zip(took[key], took["plain"])] for key in ("eager", "best")}
    return rows | {
        "overhead": ratio(over["best"], over["eager"], less_one=True),
        "gain": ratio(took["eager"], took["best"]),
    }


def separate(run: Run) -> dict[str, Figure | str]:
    """All modes on the separate device, in turn."""
    run.needs_memory(1000, "Swim 1023² with its copies")
    steps, results = 40 if run.full else 8, set()

    def seconds(mode: str) -> float:
        done = swim(mode, 1023, steps)
        results.add(done.out)
        if len(results) > 1:
            raise RuntimeError(f"Swim's results differ: {results}")
        return kernels_s(done)

    ways = {key: lambda mode=mode: seconds(mode) for key, mode in MODES.items()}
    return compared(run.in_turn(ways))


def model(run: Run) -> dict[str, Figure | str]:
    """What the model had expected, beside what was measured."""
    off, chosen = [], []
    for n in range(ROUNDS):
        sdc = swim("lazy:auto", 1023, 40 if run.full else 8, PROMP_MTBF="30s").report["sdc"]
        measured = sdc["run_s"] + sdc["again_s"] + sdc["compare_s"]
        off.append(100 * abs(sdc["predicted_s"] / measured - 1))
        chosen.append(sdc["kernels_a_section"])
        run.told(n + 1, ROUNDS)
    return {"model": of(off, " %"), "chosen": of(chosen, " kernels", 0)}


def places(run: Run) -> dict[str, Figure | str]:
    """One error in each kernel of two steps, in its first execution and in the one that verifies it. One that
    is injected and not found has left no trace in what its section gave."""
    want = swim("lazy:7", 63, 2)
    kernels = want.report["sdc"]["kernels"]
    faults = [
        f"sdc@kernel={k},count=1,run={which},bit=random,seed={k}"
        for k in range(1, kernels + 1)
        for which in ("first", "again")
    ]
    counts = dict.fromkeys(("injected", "found", "wrong", "refused"), 0)
    for n, fault in enumerate(faults, 1):
        done = swim("lazy:7", 63, 2, ok=False, PROMP_FAULT=fault)
        counts["refused"] += done.status != 0
        counts["wrong"] += done.status == 0 and done.out != want.out
        for of_it in ("injected", "found"):
            counts[of_it] += done.report["sdc"][of_it]
        run.told(n, len(faults))
    found = 100 * counts["found"] / max(counts["injected"], 1)
    rows = {"found": Figure(f"{counts['found']} of {counts['injected']}", found)}
    return rows | {
        key: Figure(f"{counts[key]} of {len(faults)}", counts[key]) for key in ("wrong", "refused")
    }


def graphics(run: Run) -> dict[str, Figure | str]:
    """What p4.sh has printed on a machine with a GPU."""
    if not PRINTED.exists():
        there = "p4.sh has not been run on it" if gpu() else "there is no GPU"
        raise NotHere(f"{there}; `target/papers/p4-gpu.txt` is what p4.sh prints there")
    took: dict[str, list[float]] = {key: [] for key in MODES}
    sums = set()
    for line in PRINTED.read_text().splitlines():
        mode, seconds, *rest = line.split()
        took[next(key for key, m in MODES.items() if m == mode)].append(float(seconds))
        sums.add(tuple(rest))
    if len(sums) != 1:
        raise RuntimeError(f"{PRINTED}: the results differ: {sums}")
    return {f"GPU {key}": figure for key, figure in compared(took).items()}
