"""What P5's tables measure: segments of NPB's BT."""

from __future__ import annotations

import statistics

import p5_segments
from frame import Figure, number
from machine import Run

CLASSES = ("S", "W", "A")
THREADS = 4


def residual(run: Run) -> dict[str, Figure | str]:
    """The segments that lose most, by class."""
    rows: dict[str, Figure | str] = {}
    for done, size in enumerate(CLASSES):
        if size == "A" and not run.full:
            rows |= {f"A {n}": "class A is for FULL=1" for n in (1, 2, 3)}
            continue
        found = p5_segments.wre(size, THREADS)
        for n, r in enumerate(found[:3], 1):
            rows[f"{size} {n}"] = Figure(
                f"{r['segment']}: WRE {r['wre']:.4f}, efficiency {r['efficiency']:.2f}"
            )
        rows |= {f"{size} {n}": "BT has no more segments" for n in range(len(found) + 1, 4)}
        run.told(done + 1, len(CLASSES))
    return rows


def faster(runs: dict[str, list[dict]], key: tuple[str, int]) -> Figure:
    """By how much, in per cent, a segment's slowest thread is faster with the schedule that is best."""
    took = {s: [r[key]["tp_s"] for r in seen] for s, seen in runs.items()}
    best = min((s for s in took if s != "static"), key=lambda s: statistics.median(took[s]))
    each = [100 * (before / after - 1) for before, after in zip(took["static"], took[best])]
    middle = statistics.median(each)
    return Figure(f"{number(middle, 1)} % with {best}", middle, (min(each), max(each)), len(each))


def scanned(run: Run, size: str, ways: list[str], rounds: int) -> dict[str, list[dict]]:
    """The segments of `rounds` runs with each schedule, in turn."""
    exe = p5_segments.program()
    runs: dict[str, list[dict]] = {s: [] for s in ways}
    for n in range(rounds):
        for i, schedule in enumerate(ways if n % 2 == 0 else ways[::-1]):
            runs[schedule].append(p5_segments.segments(p5_segments.report(exe, size, THREADS, schedule)))
            run.told(n * len(ways) + i + 1, rounds * len(ways))
    return runs


def tuned(run: Run) -> dict[str, Figure | str]:
    """The paper's two segments, and all together."""
    rows: dict[str, Figure | str] = {"z A": "class A is for FULL=1"}
    for size in CLASSES if run.full else CLASSES[:2]:
        ways = p5_segments.schedules(p5_segments.LINES[size], THREADS)
        if size == "A":
            ways = ["static", "static,1", "dynamic,1", "guided,1"]
        runs = scanned(run, size, ways, 3)
        rows[f"z {size}"] = faster(runs, ("z_solve_cell", 2))
        if size != "A":
            rows[f"lhsy {size}"] = faster(runs, ("lhsy", 1))
            rows[f"whole {size}"] = together(runs)
    return rows


def together(runs: dict[str, list[dict]]) -> Figure:
    """All segments that are worth a scan, each with its best schedule: faster by."""
    median = lambda s, key, of: statistics.median(r[key][of] for r in runs[s])
    chosen = [k for k in runs["static"][0] if median("static", k, "wre") >= p5_segments.CHOSEN]
    if not chosen:
        return Figure("no segment loses half a per cent")
    before = sum(median("static", k, "tp_s") for k in chosen)
    after = sum(min(median(s, k, "tp_s") for s in runs) for k in chosen)
    return Figure(
        f"{number(100 * (before / after - 1), 1)} %, {len(chosen)} segments", rounds=len(runs["static"])
    )
