"""What P5's tables measure: synchronisation segments of NPB's BT, and what other schedules do for them.

A segment is the code between two neighbouring synchronisations, named by its function and its number there:
`z_solve_cell 2` is the elimination behind the first cells. tp is the slowest thread's time in it, summed over
visits, ts that of all threads, and WRE = (tp - ts/m) / sum of all tp.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from collections.abc import Sequence

from frame import ROUNDS, Figure, number
from machine import PROMP, Run, build, execute, surroundings, verified

CLASSES = ("S", "W", "A")
THREADS = 4
LINES = {"S": 10, "W": 22, "A": 62}  # planes of lines inside the cube
SUMS = ("tp_s", "wre")
CHOSEN = 0.005  # the least WRE of a segment that is scanned

# By function and number in it: sums over visits of tp and WRE, and ts.
Segments = dict[tuple[str, int], dict[str, float]]


def seen(size: str, schedule: str) -> Segments:
    """The segments of a run of BT whose loops are schedule(runtime). Its functions return to their callers
    (no tail calls): that keeps their names. The result must verify."""
    exe = build("bt-runtime", "c-tests/npb/bt.c", "-g", "-O3", "-DRUNTIME", "-fno-optimize-sibling-calls")
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/report.json"
        command = [
            str(PROMP),
            "run",
            "--threads",
            str(THREADS),
            "--monitor",
            "--report",
            file,
            "--",
            exe,
            size,
        ]
        verified(execute(command, {"OMP_SCHEDULE": schedule}, promp=False))
        named = subprocess.run(
            [PROMP, "report", "--json", file], env=surroundings(), capture_output=True, text=True, check=True
        )
    return segments(json.loads(named.stdout))


def segments(report: dict) -> Segments:
    """Segments of the parallel region: visits from several places are one."""
    inside = [s for s in report["segments"] if s.get("level") and s.get("line") and s["to"] != "region end"]
    lines: dict[str, set[int]] = {}
    for s in inside:
        lines.setdefault(s["function"], set()).add(s["line"])
    found: Segments = {}
    for s in inside:
        key = (s["function"], sorted(lines[s["function"]]).index(s["line"]) + 1)
        row = found.setdefault(key, dict.fromkeys(("ts_s", *SUMS), 0.0))
        row["ts_s"] += sum(s["busy_s"])
        for of in SUMS:
            row[of] += s.get(of) or 0
    return found


def residual(run: Run) -> dict[str, Figure | str]:
    """The segments that lose most, by class."""
    rows: dict[str, Figure | str] = {}
    for done, size in enumerate(CLASSES):
        if size == "A" and not run.full:
            rows |= {f"A {n}": "class A is for FULL=1" for n in (1, 2, 3)}
            continue
        ranked = sorted(seen(size, "static").items(), key=lambda pair: -pair[1]["wre"])
        for n, ((function, which), r) in enumerate(ranked[:3], 1):
            efficiency = r["ts_s"] / r["tp_s"] / THREADS if r["tp_s"] else 1
            rows[f"{size} {n}"] = Figure(
                f"{function} {which}: WRE {r['wre']:.4f}, efficiency {efficiency:.2f}"
            )
        rows |= {f"{size} {n}": "BT has no more segments" for n in range(len(ranked) + 1, 4)}
        run.told(done + 1, len(CLASSES))
    return rows


def schedules(size: str) -> list[str]:
    """What the paper scans: chunks of N/(i m) from many to one a thread, in three kinds; of class A few."""
    if size == "A":
        return ["static", "static,1", "dynamic,1", "guided,1"]
    trips = LINES[size]
    chunks = sorted({-(-trips // (i * THREADS)) for i in range(1, trips + 1)})
    return ["static"] + [f"{kind},{c}" for kind in ("static", "dynamic", "guided") for c in chunks]


class Scan:
    """The segments of ROUNDS runs with each schedule, in turn."""

    def __init__(self, run: Run, size: str):
        ways = schedules(size)
        self.runs: dict[str, list[Segments]] = {s: [] for s in ways}
        for n in range(ROUNDS):
            for i, schedule in enumerate(ways if n % 2 == 0 else ways[::-1]):
                self.runs[schedule].append(seen(size, schedule))
                run.told(n * len(ways) + i + 1, ROUNDS * len(ways))

    def each(self, schedule: str, key: tuple[str, int], of: str) -> Sequence[float]:
        """`of` of a segment in each run with this schedule."""
        return [r[key][of] for r in self.runs[schedule]]

    def median(self, schedule: str, key: tuple[str, int], of: str) -> float:
        """The median of them."""
        return statistics.median(self.each(schedule, key, of))

    def faster(self, key: tuple[str, int]) -> Figure:
        """By how much, in per cent, a segment's slowest thread is faster with the schedule that is best."""
        others = (s for s in self.runs if s != "static")
        best = min(others, key=lambda s: self.median(s, key, "tp_s"))
        pairs = zip(self.each("static", key, "tp_s"), self.each(best, key, "tp_s"))
        each = [100 * (before / after - 1) for before, after in pairs]
        middle = statistics.median(each)
        return Figure(f"{number(middle, 1)} % with {best}", middle, (min(each), max(each)), len(each))

    def together(self) -> Figure:
        """All segments that are worth a scan, each with its best schedule: faster by."""
        chosen = [k for k in self.runs["static"][0] if self.median("static", k, "wre") >= CHOSEN]
        if not chosen:
            return Figure("no segment loses half a per cent")
        before = sum(self.median("static", k, "tp_s") for k in chosen)
        after = sum(min(self.median(s, k, "tp_s") for s in self.runs) for k in chosen)
        text = f"{number(100 * (before / after - 1), 1)} %, {len(chosen)} segments"
        return Figure(text, rounds=ROUNDS)


def tuned(run: Run) -> dict[str, Figure | str]:
    """The paper's two segments, and all together."""
    rows: dict[str, Figure | str] = {"z A": "class A is for FULL=1"}
    for size in CLASSES if run.full else CLASSES[:2]:
        scan = Scan(run, size)
        rows[f"z {size}"] = scan.faster(("z_solve_cell", 2))
        if size != "A":
            rows[f"lhsy {size}"] = scan.faster(("lhsy", 1))
            rows[f"whole {size}"] = scan.together()
    return rows
