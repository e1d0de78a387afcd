#!/usr/bin/env python3
"""promp beside libgomp and libomp: constructs, task programs, kernels, more threads than CPUs, start-up.

Every binary is run under each runtime in turn, round by round in changing order, on this machine. Figures are medians over the rounds; a
ratio is the median of the rounds' ratios, with their quartiles beside it. Writes bench/results/bench.json, bench.md and
an SVG for each suite, and with --readme the table in README.md.

usage: bench/run.py [--quick] [--rounds N] [--threads N] [--only SUITE,...] [--readme] [--render]
"""
import argparse
import json
import math
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "target/bench")
RESULTS = os.path.join(ROOT, "bench/results")
LIBRARY = os.path.join(ROOT, "target/release/libpromp.so")
LIMIT = 60  # seconds for one run; what takes longer is reported as that

RUNTIMES = {
    "libgomp": {},
    "libomp": {"LD_LIBRARY_PATH": os.path.join(OUT, "libomp")},
    "promp off": {"LD_PRELOAD": LIBRARY, "PROMP_FT": "off"},
    "promp": {"LD_PRELOAD": LIBRARY},
}
PEERS = ("libgomp", "libomp")
BEFORE = "promp before"  # with --against: another build of this library, instead of the peers


def build(source, name=None, *flags):
    exe = os.path.join(OUT, name or os.path.splitext(os.path.basename(source))[0])
    cmd = ["gcc", "-O2", "-fopenmp", "-w", *flags, "-o", exe, os.path.join(ROOT, source), "-lm"]
    subprocess.run(cmd, check=True)
    return exe


def libomp():
    """A folder in which LLVM's runtime has libgomp's name; False if it is not installed."""
    found = [os.path.join(d, "libomp.so.5") for d in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")]
    found = [f for f in found if os.path.exists(f)]
    if not found:
        return False
    folder = RUNTIMES["libomp"]["LD_LIBRARY_PATH"]
    os.makedirs(folder, exist_ok=True)
    link = os.path.join(folder, "libgomp.so.1")
    if os.path.lexists(link):
        os.unlink(link)
    os.symlink(found[0], link)
    return True


def run(cmd, runtime, threads, more=None):
    """Output and seconds of one run, with `more` in its environment; None if it took too long."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "KMP_", "PROMP_", "LD_"))}
    env.update(RUNTIMES[runtime], OMP_NUM_THREADS=str(threads), **(more or {}))
    if os.path.basename(cmd[0]) == "launch" and "LD_PRELOAD" in env:
        env["LAUNCH_PRELOAD"] = env.pop("LD_PRELOAD")
    start = time.perf_counter()
    try:
        r = subprocess.run(cmd, env=env, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None, LIMIT
    took = time.perf_counter() - start
    if r.returncode:
        sys.exit(f"{' '.join(cmd)} under {runtime}: exit status {r.returncode}\n{r.stdout}{r.stderr}")
    return r.stdout, took


class Job:
    """A command whose output, or time, gives rows."""

    def __init__(self, suite, cmd, unit, read, threads=None, rounds=None, others=0, env=None):
        self.suite, self.cmd, self.unit, self.read, self.threads, self.rounds = suite, cmd, unit, read, threads, rounds
        self.others = others  # processes that compute meanwhile
        self.env = env
        self.label = os.path.basename(cmd[0])
        self.samples = {}  # row -> runtime -> one value a round
        self.dropped = set()  # runtimes that took too long
        self.results = set()

    def measure(self, runtime, threads):
        if runtime in self.dropped:
            return
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(self.others)]
        try:
            out, took = run(self.cmd, runtime, self.threads or threads, self.env)
        finally:
            for o in others:
                o.kill()
                o.wait()
        if out is None:
            self.dropped.add(runtime)
            return
        for row, value in self.read(out, took):
            if row == "result":
                self.results.add(value)
            else:
                self.samples.setdefault(row, {}).setdefault(runtime, []).append(value)
        if len(self.results) > 1:
            sys.exit(f"{self.label} under {runtime}: results differ: {self.results}")


def lines(out, _):
    for line in out.splitlines():
        name, value = line.split("\t")
        yield name, float(value)


def saving(out, _):
    for name, value in lines(out, _):
        yield name + ", saving", value


def program(name):
    def read(out, _):
        for row, value in lines(out, _):
            yield (name, value) if row == "time" else (row, value)

    return read


def verified(name):
    def read(out, took):
        if "verification successful" not in out:
            sys.exit(f"{name}: {out}")
        yield name, took

    return read


def jobs(a):
    quick = a.quick
    # A round of these takes a second, in which a line's way may take three times as long as in the next one.
    constructs = a.rounds if quick else 5 * a.rounds
    few = a.rounds if a.against or a.only else min(a.rounds, 3)
    suites = {
        "sync": lambda: [Job("sync", [build("bench/suites/sync.c")], "ns", lines, rounds=constructs)],
        "sched": lambda: [Job("sched", [build("bench/suites/sched.c")], "ns", lines, rounds=constructs)],
        "array": lambda: [Job("array", [build("bench/suites/array.c")], "ns", lines, rounds=constructs)],
        "tasks": lambda: [Job("tasks", [build("bench/suites/tasks.c")], "ns", lines, rounds=constructs)],
        "programs": lambda: [
            Job("programs", [build(f"bench/programs/{n}.c"), size[quick]], "s", program(label))
            for n, label, size in (
                ("fib", "Fibonacci", ("28", "23")), ("nqueens", "n-queens", ("11", "9")), ("sort", "sort", ("4000", "500")),
                ("tree", "unbalanced tree", ("60", "60")), ("lu", "sparse LU", ("48", "24")),
                ("fib_final", "Fibonacci, final", ("32", "25")), ("nqueens_final", "n-queens, final", ("11", "9")),
                ("floorplan", "floor plan, final", ("6", "4")), ("many", "4,000 threads", ("4000", "500")))
        ] + [
            Job("programs", [build("bench/programs/many.c"), "500" if quick else "10000"], "s",
                program("two teams of 10,000 threads"), rounds=few)
        ],
        "kernels": lambda: [
            Job("kernels", [build(f"c-tests/npb/{k}.c", f"{k}-{s}", *flags), "S" if quick else "A"], "s", verified(f"{k.upper()} {s}"))
            for k, chunk in (("ep", 1), ("cg", 64), ("is", 1), ("mg", 1), ("ft", 1))
            for s, flags in (("static", []), ("dynamic", [f"-DDYNAMIC={chunk}"]))
        ],
        "crowded": lambda: [
            Job("crowded", [build(f"c-tests/npb/{k}.c", f"{k}-static"), "S" if quick else "W"], "s",
                verified(f"{k.upper()}, {n} threads"), threads=n, rounds=few)
            for k in ("adi", "cg") for n in ((2, 8) if quick else (2, 4, 8, 16))
        ],
        "shared": lambda: [
            Job("shared", [build(f"c-tests/npb/{k}.c", f"{k}-static"), "S"], "s", verified(f"{k.upper()}, {n} threads"),
                threads=n, rounds=few, others=len(os.sched_getaffinity(0)))
            for k in ("adi", "cg", "mg") for n in ((4,) if quick else (2, 4))
        ],
        "start": lambda: [
            Job("start", [build("bench/programs/launch.c"), "50" if quick else "200", build("bench/programs/start.c")], "µs",
                lambda out, took: ((f"a program that ends at once", v) for _, v in lines(out, took))),
            Job("start", [build("bench/programs/start.c"), str(a.threads)], "µs",
                lambda out, took: (("first region", v) for r, v in lines(out, took) if r == "first region"), rounds=4 * a.rounds),
            Job("start", [build("bench/programs/deep.c"), "1000"], "B", lines, rounds=1),
            Job("start", [build("bench/programs/deep.c"), "1000"], "B", saving, rounds=1,
                env={"PROMP_REPLAY": "assume"}),
            Job("start", [build("bench/programs/start.c"), "64"], "KiB",
                lambda out, took: (("resident, 64 idle threads", v) for r, v in lines(out, took) if r == "memory")),
        ],
    }
    chosen = a.only.split(",") if a.only else suites
    return [j for s in chosen for j in suites[s]()]


def summarise(job, names):
    for row, samples in job.samples.items():
        about = {"suite": job.suite, "row": row, "unit": job.unit, "date": time.strftime("%Y-%m-%d")}
        yield compare(about | {n + " samples": samples[n] for n in names if n in samples})


def compare(r):
    """Medians, and the medians and quartiles of the rounds' ratios: runs of one round follow each other, so a change of the machine's speed
    between two rounds does not count."""
    samples = {k.removesuffix(" samples"): v for k, v in r.items() if k.endswith(" samples")}
    r.update({n: statistics.median(v) for n, v in samples.items()})
    for peer in [*PEERS, "promp off", BEFORE]:
        if peer in samples and "promp" in samples:
            q = sorted(x / y for x, y in zip(samples["promp"], samples[peer]) if y)
            if q:
                r["promp/" + peer] = statistics.median(q)
                r["spread " + peer] = [q[len(q) // 4], q[-1 - len(q) // 4]]
    return r


def number(x, unit):
    if x is None:
        return f"> {LIMIT} s"
    if unit == "s":
        return f"{x:.3f}"
    return f"{x:.0f}" if x >= 100 else f"{x:.1f}"


def markdown(rows, names, facts):
    out = [f"{facts['cpu']}, {facts['cpus']} CPUs, {facts['compiler']}, {facts['threads']} threads unless said; "
           f"rounds are interleaved.", ""]
    if facts["limits"]:
        out += ["Limits of the machine, without OpenMP: " + "; ".join(f"{k} {v:.0f}" if v >= 20 else f"{k} {v:.1f}"
                                                                     for k, v in facts["limits"].items()) + " (ns).", ""]
    for suite in dict.fromkeys(r["suite"] for r in rows):
        mine = [r for r in rows if r["suite"] == suite]
        rounds = [len(next(v for k, v in r.items() if k.endswith(" samples"))) for r in mine]
        most = f"{min(rounds)}" + (f" to {max(rounds)}" if max(rounds) > min(rounds) else "")
        dates = sorted({r.get("date", facts["date"]) for r in mine})
        out += [f"## {suite}", "", f"{most} rounds; {', '.join(dates)}.", "", "| row | unit | " + " | ".join(names) + " | promp/libgomp | promp/libomp | on/off |",
                "|---" * (len(names) + 5) + "|"]
        for r in mine:
            def ratio(peer):
                if "promp/" + peer not in r:
                    return "–"
                lo, hi = r["spread " + peer]
                return f"{r['promp/' + peer]:.2f} [{lo:.2f}, {hi:.2f}]"

            cells = [number(r.get(n), r["unit"]) for n in names]
            out.append(f"| {r['row']} | {r['unit']} | " + " | ".join(cells) + f" | {ratio('libgomp')} | {ratio('libomp')} | {ratio('promp off')} |")
        out.append("")
    return "\n".join(out)


def with_others(rows, stored):
    """`rows`, and those of other suites that were measured before, in the usual order."""
    if os.path.exists(stored):
        new = {r["suite"] for r in rows}
        last = json.load(open(stored))
        rows = rows + [{"date": last["machine"]["date"]} | r for r in last["rows"] if r["suite"] not in new]
    return sorted(rows, key=lambda r: list(WHAT).index(r["suite"]))


def mean(rows, peer):
    v = [math.log(r["promp/" + peer]) for r in rows if r.get("promp/" + peer)]
    return math.exp(sum(v) / len(v)) if v else None


def against(a):
    """This library and another build of it, as a table: each row's ratio, each suite's geometric mean."""
    RUNTIMES[BEFORE] = {"LD_PRELOAD": os.path.abspath(a.against)}
    _, rows = measure(a, [BEFORE, "promp"])
    out = []
    for suite in dict.fromkeys(r["suite"] for r in rows):
        mine = [r for r in rows if r["suite"] == suite and "promp/" + BEFORE in r]
        out += [f"## {suite}: {mean(mine, BEFORE):.3f} of {len(mine)} rows", "",
                "| row | unit | before | now | now/before |", "|---|---|---|---|---|"]
        for r in mine:
            lo, hi = r["spread " + BEFORE]
            cells = [r["row"], r["unit"], number(r[BEFORE], r["unit"]), number(r["promp"], r["unit"])]
            out.append(f"| {' | '.join(cells)} | {r['promp/' + BEFORE]:.3f} [{lo:.3f}, {hi:.3f}] |")
        out.append("")
    return "\n".join(out)


WHAT = {
    "sync": "regions, barriers, loops, single, critical, locks", "sched": "loop schedules", "array": "data clauses on arrays",
    "tasks": "task constructs", "programs": "task programs", "kernels": "NPB kernels, class A",
    "crowded": "2 to 16 threads on the machine's CPUs",
    "shared": "CPUs that other processes use, too", "start": "start-up, idle memory, stack",
}


def readme(rows, facts):
    out = [f"Time of promp with fault tolerance on, as a ratio to the others (less is better): {facts['cpus']} CPUs, "
           f"{facts['compiler']}, {facts['threads']}\nthreads; `make bench`.", "",
           "| | rows | to libgomp | to libomp | not slower than libgomp |", "|---|---|---|---|---|"]
    for suite in dict.fromkeys(r["suite"] for r in rows):
        mine = [r for r in rows if r["suite"] == suite]
        good = sum(r["promp/libgomp"] <= 1 or r["spread libgomp"][0] <= 1 for r in mine if "promp/libgomp" in r)
        cell = lambda peer: f"{mean(mine, peer):.2f}" if mean(mine, peer) else "–"
        out.append(f"| {WHAT[suite]} | {len(mine)} | {cell('libgomp')} | {cell('libomp')} | {good} |")
    return "\n".join(out)


def plots(rows, names):
    try:
        import matplotlib
    except ImportError:
        print("no plots: python3-matplotlib is not installed", file=sys.stderr)
        return
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "promp"
    from matplotlib import pyplot

    colours = {"libomp": "#999999", "promp off": "#9ecae1", "promp": "#08519c"}
    for suite in dict.fromkeys(r["suite"] for r in rows):
        mine = [r for r in rows if r["suite"] == suite and r.get("libgomp")]
        if not mine:
            continue
        shown = [n for n in names if n != "libgomp"]
        fig, ax = pyplot.subplots(figsize=(8, 0.8 + 0.34 * len(mine)))
        for i, n in enumerate(shown):
            y = [k + (i - (len(shown) - 1) / 2) * 0.26 for k in range(len(mine))]
            ax.barh(y, [r.get(n, 0) / r["libgomp"] for r in mine], height=0.24, color=colours[n], label=n)
        ax.axvline(1, color="black", linewidth=1)
        ax.set_xscale("log")
        ax.set_yticks(range(len(mine)), [r["row"] for r in mine], fontsize=8)
        ax.invert_yaxis()
        ax.set_xlabel("time as a ratio to libgomp's (logarithmic; left is faster)")
        ax.legend(fontsize=8)
        ax.set_title(WHAT[suite], fontsize=10)
        fig.tight_layout()
        fig.savefig(os.path.join(RESULTS, f"bench-{suite}.svg"), metadata={"Date": None})
        pyplot.close(fig)


def machine(a, limits):
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    gcc = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    return {"cpu": cpu, "cpus": len(os.sched_getaffinity(0)), "compiler": "GCC " + gcc.split()[-1], "threads": a.threads,
            "rounds": a.rounds, "date": time.strftime("%Y-%m-%d"), "limits": limits}


def measure(a, names):
    """Runs everything; facts about the machine, and the rows."""
    limits = {}
    if len(os.sched_getaffinity(0)) > 1:
        out, _ = run([build("bench/suites/limits.c")], "libgomp", 1)
        limits = dict(lines(out or "", 0))
    todo = jobs(a)
    total = sum(j.rounds or a.rounds for j in todo) * len(names)
    done, order = 0, random.Random(1)
    for j in todo:
        for r in range(j.rounds or a.rounds):
            turn = names[:]
            order.shuffle(turn)
            for n in turn:
                done += 1
                if sys.stderr.isatty():
                    print(f"\r\033[K{done}/{total} {j.suite}: {j.label} under {n}", end="", file=sys.stderr)
                j.measure(n, a.threads)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return machine(a, limits), [r for j in todo for r in summarise(j, names)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true", help="smaller programs, three rounds: under three minutes")
    p.add_argument("--rounds", type=int)
    p.add_argument("--threads", type=int, default=min(2, len(os.sched_getaffinity(0))))
    p.add_argument("--only", help="suites, separated by commas; rows of others stay those of the last run")
    p.add_argument("--readme", action="store_true", help="write the table in README.md")
    p.add_argument("--render", action="store_true", help="write table and plots from the last run's JSON again")
    p.add_argument("--against", metavar="LIBRARY",
                   help="another build of libpromp.so: only this one and that, nothing is written")
    a = p.parse_args()
    a.rounds = a.rounds or (3 if a.quick else 9)
    os.makedirs(OUT, exist_ok=True)
    os.makedirs(RESULTS, exist_ok=True)
    if a.against:
        print(against(a))
        return
    names = list(RUNTIMES)
    if not libomp():
        print("libomp is left out: libomp.so.5 is not there (Debian: libomp5-14)", file=sys.stderr)
        names.remove("libomp")
    name = "quick" if a.quick else "bench"
    stored = os.path.join(RESULTS, name + ".json")
    if a.render:
        last = json.load(open(stored))
        facts, rows = last["machine"], [compare(r) for r in last["rows"]]
    else:
        facts, rows = measure(a, names)
        if a.only:
            rows = with_others(rows, stored)
        json.dump({"machine": facts, "rows": rows}, open(stored, "w"), indent=1)
    text = markdown(rows, names, facts)
    open(os.path.join(RESULTS, name + ".md"), "w").write(text)
    if not a.quick:
        plots(rows, names)
    print(text)
    print(readme(rows, facts))
    if a.readme:
        path = os.path.join(ROOT, "README.md")
        old = open(path).read()
        new = re.sub(r"(<!-- bench -->\n).*?(<!-- /bench -->)", lambda m: m[1] + readme(rows, facts) + "\n" + m[2], old, flags=re.S)
        open(path, "w").write(new)


if __name__ == "__main__":
    main()
