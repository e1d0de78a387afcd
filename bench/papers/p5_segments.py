#!/usr/bin/env python3
"""Synchronisation segments of NPB's BT: which lose most (weighted residual efficiency), and what other
schedules do for them. Measures only.

    bench/papers/p5_segments.py [--classes S,W] [--threads 4] [--rounds 3] [--json]

A segment is the code between two neighbouring synchronisations, named by its function and its number there:
`z_solve_cell 2` is the elimination behind the first cells. tp is the slowest thread's time in it, summed over
visits, ts that of all threads, and WRE = (tp - ts/m) / sum of all tp. The scan runs the program once a round
with each schedule: static, and static, dynamic and guided with chunks of N/(i m), i = n ... 1.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / "target/release"
BUILT = ROOT / "target/bench/papers"
LINES = {"S": 10, "W": 22, "A": 62, "B": 100}  # planes of lines inside the cube
LIMIT = 600  # seconds for one run
SUMS = ("visits", "tp_s", "wall_s", "wre")
CHOSEN = 0.005  # the least WRE of a segment that is scanned


def program():
    """BT whose loops are schedule(runtime)."""
    BUILT.mkdir(parents=True, exist_ok=True)
    exe = BUILT / "bt-runtime"
    flags = ["-g", "-O3", "-fopenmp", "-w", "-DRUNTIME"]
    command = ["gcc", *flags, "-o", str(exe), str(ROOT / "c-tests/npb/bt.c"), "-lm"]
    subprocess.run(command, check=True)
    return exe


def report(exe, cls, threads, schedule, **settings):
    """The report of one run, with names. The result must verify."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "PROMP_", "LD_"))}
    env |= {"OMP_SCHEDULE": schedule, **settings}
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/report.json"
        command = [RELEASE / "promp", "run", "--threads", str(threads), "--monitor", "--report", file]
        command += ["--", exe, cls]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode or "verification successful" not in done.stdout:
            sys.exit(f"BT {cls} with {schedule}: status {done.returncode}: {done.stdout}{done.stderr}")
        named = subprocess.run([RELEASE / "promp", "report", "--json", file], capture_output=True, text=True)
        return json.loads(named.stdout)


def segments(seen):
    """Segments of the parallel region by (function, number in it): visits from several places are one."""
    inside = [s for s in seen["segments"] if s.get("level") and s.get("line") and s["to"] != "region end"]
    lines = {}
    for s in inside:
        lines.setdefault(s["function"], set()).add(s["line"])
    found = {}
    for s in inside:
        key = (s["function"], sorted(lines[s["function"]]).index(s["line"]) + 1)
        row = {"segment": "%s %d" % key, "line": s["line"], "ends": set(), "ts_s": 0}
        row = found.setdefault(key, row | dict.fromkeys(SUMS, 0))
        row["ends"].add(s["end"]["offset"])
        row["ts_s"] += sum(s["busy_s"])
        for of in SUMS:
            row[of] += s.get(of) or 0
    return found


def ranked(found, threads):
    """Rows by falling WRE, with rank and efficiency."""
    rows = sorted(found.values(), key=lambda r: -r["wre"])
    for rank, r in enumerate(rows, 1):
        r |= {"rank": rank, "efficiency": r["ts_s"] / r["tp_s"] / threads if r["tp_s"] else 1}
    return rows


def wre(cls, threads=4):
    """The segments of one run as NPB has them, static: rank, segment, visits, ts_s, tp_s, efficiency, wre."""
    rows = ranked(segments(report(program(), cls, threads, "static")), threads)
    return [{k: v for k, v in r.items() if k != "ends"} for r in rows]


def schedules(trips, threads):
    """What the paper scans: chunks of N/(i m) from many to one a thread, in the three kinds."""
    chunks = sorted({-(-trips // (i * threads)) for i in range(1, trips + 1)})
    return ["static"] + [f"{kind},{c}" for kind in ("static", "dynamic", "guided") for c in chunks]


def tuned(exe, cls, threads):
    """What the tuner decides, from schedule(auto), by segment; nothing where its search is not over."""
    seen = report(exe, cls, threads, "auto", PROMP_TUNE="on")
    rows, decisions = segments(seen), {}
    for t in seen["tuning"]:
        # A loop is known by the call that begins it; the segment is the one whose end comes next.
        within = [(end, key) for key, r in rows.items() if key[0] == t["function"] for end in r["ends"]]
        later = [(end, key) for end, key in within if end > t["offset"]]
        if later and t["decision"]:
            decisions[min(later)[1]] = t["decision"]
    return decisions


def scan(cls, threads=4, rounds=3):
    """Of the segments worth it: tp with static and with the best schedule, medians of interleaved rounds."""
    exe, ways = program(), schedules(LINES[cls], threads)
    runs = {s: [] for s in ways}
    for turn in range(rounds):
        for s in ways if turn % 2 == 0 else ways[::-1]:
            runs[s].append(segments(report(exe, cls, threads, s)))
    median = lambda s, key, of: statistics.median(r[key][of] for r in runs[s])
    decisions, rows = tuned(exe, cls, threads), []
    for key, first in runs["static"][0].items():
        loss = median("static", key, "wre")
        if loss < CHOSEN:
            continue
        best = min(ways, key=lambda s: median(s, key, "tp_s"))
        before, after = median("static", key, "tp_s"), median(best, key, "tp_s")
        rows.append({
            "segment": first["segment"], "wre": loss, "before_s": before, "best": best, "after_s": after,
            "faster": before / after - 1, "before_wall_s": median("static", key, "wall_s"),
            "after_wall_s": median(best, key, "wall_s"), "after_wre": median(best, key, "wre"),
            "tuner": decisions.get(key),
        })
    rows.sort(key=lambda r: -r["wre"])
    return [{"rank": i} | r for i, r in enumerate(rows, 1)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--classes", default="S,W")
    p.add_argument("--threads", type=int, default=4)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--json", action="store_true")
    given = p.parse_args()
    for cls in given.classes.split(","):
        found = {"wre": wre(cls, given.threads), "scan": scan(cls, given.threads, given.rounds)}
        for what, rows in found.items():
            print(json.dumps({"class": cls, what: rows}) if given.json else f"{what}, class {cls}")
            for r in [] if given.json else rows:
                print("  " + "  ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in r.values()))


if __name__ == "__main__":
    main()
