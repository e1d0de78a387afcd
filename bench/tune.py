#!/usr/bin/env python3
"""The tuner against every schedule there is: regret and gain.

Kernels whose best schedule differs (bench/programs/tune, in C, C++ and Fortran) are executed with
schedule(runtime). The oracle tries every schedule by OMP_SCHEDULE under promp; the tuner starts from one of
them. The line sweeps of `bt` are schedule(static), built by promp-cc; nothing can be chosen in `wavefront`
and `pipeline`, whose oracle is the run without the tuner. Rounds are interleaved; figures are medians of
what the rounds' times are to each other, since a cache line's way changes from minute to minute.

    regret   the tuner's time in the latter half of the run over the oracle's best: in each round over that
             of the schedule that the other rounds found best, since the best of nine is a lucky one, too
    whole    the whole run, search included, over the same run with PROMP_TUNE=off
    gain     what the same loop takes under libgomp with the schedule the tuner starts from, over the tuner's
    libomp   likewise under LLVM's runtime

    bench/tune.py [--rounds N] [--sizes 128,256,512] [--kernels a,b] [--threads 2] [--from auto]
                  [--competitor] [--serial] [--json FILE]
    bench/tune.py --all         idle, with a competitor, and auto-parallelised code: bench/results/tune.md

The first round has all schedules; later ones those that took at most a quarter longer than the best of them.
What misses its bar is listed at the end. Two sizes of all twenty kernels take some ten minutes:

    bench/tune.py --sizes 128,512 --rounds 5 --seconds 0.25
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "bench/programs/tune"
BUILT = ROOT / "target/bench/tune"
TARGET = ROOT / "target/release"
LIBRARY = TARGET / "libpromp.so"
RESULTS = ROOT / "bench/results/tune.md"
ORACLE = ["static", "static,1", "static,8", "dynamic,1", "dynamic,4", "dynamic,16", "dynamic,64",
          "guided", "guided,8"]
# What is built: the name, the compiler, the source, more flags. `-runtime`: what the oracle executes.
PROGRAMS = [("kernels", "gcc", "kernels.c", []), ("rows", "gfortran", "rows.f90", []),
            ("graph", "g++", "graph.cpp", []), ("wavefront", "gcc", "wavefront.c", []),
            ("pipeline", "g++", "pipeline.cpp", []),
            ("bt", str(TARGET / "promp-cc"), "bt.c", ["-fno-promp-runtime"]),
            ("bt-runtime", str(TARGET / "promp-cc"), "bt.c",
             ["-fno-promp-runtime", "-DSCHEDULE=runtime"])]
FIXED = ["wavefront", "pipeline"]
# Cubes of other sizes take too long, or no time.
SIZES = {"bt": {128: 16, 256: 32, 512: 48}}
NPB = ["ep", "cg", "is", "mg", "ft"]
# A schedule that takes so many times as long as the best one, once, is not the best.
FAR = 1.25
# What the tuner is held to: of all rows in the median, and of each.
BARS = {"regret": (1.03, 1.08), "whole": (1.01, 1.03), "tuned / serial": (1.02, 1.02)}
KERNELS_HEAD = ["kernel", "size", "best", "regret", "whole", "gain", "libomp"]
SERIAL_HEAD = ["code", "serial, s", "libgomp / serial", "tuned / serial", "libgomp / tuned"]


def build() -> list[str]:
    """Builds the programs; the names of all kernels."""
    BUILT.mkdir(parents=True, exist_ok=True)
    names = []
    for name, compiler, source, flags in PROGRAMS:
        command = [compiler, "-O2", "-fopenmp", *flags, "-o", str(BUILT / name), str(SOURCES / source), "-lm"]
        try:
            subprocess.run(command, cwd=BUILT, check=True)
        except FileNotFoundError:
            print(f"{compiler} is not there: {name} is left out", file=sys.stderr)
            continue
        if name == "kernels":
            names += subprocess.run([BUILT / name], capture_output=True, text=True, check=True).stdout.split()
        elif not name.endswith("-runtime"):
            names.append(name)
    return names


def clean(env: dict[str, str]) -> dict[str, str]:
    """The environment without what others have set."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "PROMP_", "LD_"))}
    return {**kept, **env}


def run(kernel: str, size: int, executions: int, env: dict[str, str]) -> tuple[float, float, str]:
    """Seconds of the whole run, of the latter half, and the checksum."""
    own = BUILT / kernel
    command = [own] if own.exists() else [BUILT / "kernels", kernel]
    done = subprocess.run([*map(str, command), str(size), str(executions)], env=clean(env),
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise SystemExit(f"{kernel} {size}: status {done.returncode}: {done.stderr}")
    whole, half, total = done.stdout.split()
    return float(whole), float(half), total


def compete(cpu: int) -> subprocess.Popen:
    """A process that takes half of one CPU."""
    busy = "import os,time\nos.sched_setaffinity(0,{%d})\nwhile True:\n t=time.time()\n" % cpu
    busy += " while time.time()-t<.005: pass\n time.sleep(.005)\n"
    return subprocess.Popen([sys.executable, "-c", busy])


def libomp() -> str | None:
    """LLVM's runtime, where it is installed: it has libgomp's interface, too."""
    found = sorted(pathlib.Path("/usr/lib").glob("**/libomp.so.5"))
    return str(found[0]) if found else None


def ways_of(kernel: str, given: argparse.Namespace) -> dict[str, tuple[str, dict[str, str]]]:
    """All ways of a kernel: the program, and its environment."""
    base = {"OMP_NUM_THREADS": str(given.threads), "OMP_SCHEDULE": given.start}
    promp = {**base, "LD_PRELOAD": str(LIBRARY)}
    oracle = kernel + "-runtime" if (BUILT / f"{kernel}-runtime").exists() else kernel
    ways = {"off": (kernel, promp), "tuned": (kernel, {**promp, "PROMP_TUNE": "on"}),
            "libgomp": (kernel, base)}
    if (other := libomp()):
        ways["libomp"] = (kernel, {**base, "LD_PRELOAD": other})
    if kernel in FIXED:
        ways["oracle -"] = ways["off"]
    else:
        ways |= {f"oracle {s}": (oracle, {**promp, "OMP_SCHEDULE": s}) for s in ORACLE}
    return ways


def ratio(times: list[float], over: list[float]) -> float:
    """What the rounds' times are to each other."""
    return statistics.median(a / b for a, b in zip(times, over))


def best_of(ways: dict[str, list[float]], but: int | None = None) -> str:
    """The way of the least median, leaving a round out, if there are others."""
    def middle(times: list[float]) -> float:
        return statistics.median([t for i, t in enumerate(times) if i != but] or times)
    return min(ways, key=lambda w: middle(ways[w]))


def measure(kernel: str, size: int, given: argparse.Namespace) -> dict:
    """All ways of one kernel, interleaved."""
    ways = ways_of(kernel, given)
    times: dict[str, list] = {w: [] for w in ways}
    sums = set()
    # So many executions that a run takes about the time asked for.
    one = run(kernel, size, 4, ways["off"][1])[0] / 4
    executions = max(40, min(20000, int(given.seconds / max(one, 1e-7))))
    repeated = list(ways)
    for number in range(given.rounds):
        for way in repeated:
            program, env = ways[way]
            whole, half, total = run(program, size, executions, env)
            times[way].append((whole, half))
            sums.add(total)
        if number == 0:
            first = {w: times[w][0][1] for w in ways}
            least = min(t for w, t in first.items() if w.startswith("oracle"))
            repeated = [w for w in ways if not w.startswith("oracle") or first[w] <= FAR * least]
    if len(sums) > 1:
        raise SystemExit(f"{kernel} {size}: results differ: {sums}")
    whole = {w: [t[0] for t in v] for w, v in times.items()}
    half = {w: [t[1] for t in v] for w, v in times.items()}
    oracle = {w: half[w] for w in repeated if w.startswith("oracle")}
    least = [oracle[best_of(oracle, but=i)][i] for i in range(given.rounds)]
    return {"kernel": kernel, "size": size, "executions": executions, "best": best_of(oracle).split(" ")[1],
            "regret": ratio(half["tuned"], least), "whole": ratio(whole["tuned"], whole["off"]),
            "gain": ratio(half["libgomp"], half["tuned"]),
            "libomp": ratio(half["libomp"], half["tuned"]) if "libomp" in half else None}


def seconds(program: str, arguments: list[str], env: dict[str, str]) -> float:
    """How long a program takes."""
    began = time.monotonic()
    subprocess.run([str(BUILT / program), *arguments], env=clean(env), check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def serial(given: argparse.Namespace) -> list[dict]:
    """Auto-parallelised serial code, nest by nest, and the NPB kernels: serial, libgomp, promp tuned."""
    many = [f"-ftree-parallelize-loops={given.threads}", "-pthread"]
    codes = {"nests": ROOT / "c-tests/tune/serial.c"} | {k: ROOT / f"c-tests/npb/{k}.c" for k in NPB}
    for name, source in codes.items():
        for kind, flags in (("serial", []), ("parallel", many)):
            command = ["gcc", "-O2", "-w", *flags, "-o", BUILT / f"{name}-{kind}", source, "-lm"]
            subprocess.run(command, check=True)
    listed = subprocess.run([BUILT / "nests-serial"], capture_output=True, text=True, check=True)
    names = listed.stdout.split()
    tune = {"LD_PRELOAD": str(LIBRARY), "PROMP_TUNE": "on"}
    ways = {"serial": ("serial", {}), "libgomp": ("parallel", {}), "tuned": ("parallel", tune)}
    rows = []
    for code, program in [(n, "nests") for n in names] + [(k, k) for k in NPB]:
        arguments = [given.npb_class]
        if program == "nests":
            # So many repetitions that they take the time asked for, beside making and adding up the data.
            rest = seconds("nests-serial", ["0", code], {})
            few = 100
            while (took := seconds("nests-serial", [str(few), code], {}) - rest) < 0.05 and few < 10_000_000:
                few *= 4
            arguments = [str(max(40, int(few * given.seconds / took))), code]
        times: dict[str, list[float]] = {w: [] for w in ways}
        for _ in range(given.rounds):
            for way, (kind, env) in ways.items():
                times[way].append(seconds(f"{program}-{kind}", arguments, env))
        serial = statistics.median(times["serial"])
        rows.append({"code": code, "serial": serial}
                    | {w: serial * ratio(times[w], times["serial"]) for w in ("libgomp", "tuned")})
    return rows


def kernels(names: list[str], given: argparse.Namespace) -> list[dict]:
    """All kernels of all sizes."""
    chosen = given.kernels.split(",") if given.kernels else names
    sizes = list(map(int, given.sizes.split(",")))
    rows = []
    for kernel in chosen:
        for size in sizes:
            rows.append(measure(kernel, SIZES.get(kernel, {}).get(size, size), given))
            print(" ".join(f"{c:>12}" for c in cells(rows[-1])), flush=True)
    return rows


def cells(r: dict) -> list[str]:
    """A row of a table."""
    if "kernel" in r:
        peer = f"{r['libomp']:.2f}" if r["libomp"] else "-"
        return [r["kernel"], str(r["size"]), r["best"], f"{r['regret']:.3f}", f"{r['whole']:.3f}",
                f"{r['gain']:.2f}", peer]
    s, g, t = r["serial"], r["libgomp"], r["tuned"]
    return [r["code"], f"{s:.3f}", f"{g / s:.3f}", f"{t / s:.3f}", f"{g / t:.2f}"]


def columns(rows: list[dict]) -> dict[str, list[float]]:
    """The figures that there are bars and medians of."""
    if "kernel" in rows[0]:
        return {w: [r[w] for r in rows] for w in ("regret", "whole", "gain")}
    return {"tuned / serial": [r["tuned"] / r["serial"] for r in rows],
            "libgomp / tuned": [r["libgomp"] / r["tuned"] for r in rows]}


def misses(rows: list[dict]) -> list[str]:
    """What misses its bar, a line each."""
    names = [" ".join(str(r[k]) for k in ("kernel", "size", "code") if k in r) for r in rows]
    lines = []
    for what, values in columns(rows).items():
        if what not in BARS:
            continue
        (most, worst), middle = BARS[what], statistics.median(values)
        if middle > most:
            lines.append(f"missed: {what}, median {middle:.3f}, the bar is {most}")
        over = [f"{n} {v:.3f}" for n, v in zip(names, values) if v > worst]
        if over:
            lines.append(f"missed: {what}, the bar for each is {worst}: {', '.join(over)}")
    return lines or ["all bars held"]


def summary(rows: list[dict]) -> list[str]:
    """Medians, the worst, and what misses its bar."""
    found = columns(rows).items()
    return [f"{w}: median {statistics.median(v):.3f}, from {min(v):.3f} to {max(v):.3f}"
            for w, v in found] + misses(rows)


def circumstances(given: argparse.Namespace) -> str:
    """Where and how."""
    load, cpus = os.getloadavg()[0], len(os.sched_getaffinity(0))
    text = f"{cpus} CPUs, load {load:.1f} at the start, {given.threads} threads, {given.rounds} rounds"
    # What runs here adds up to one thread each.
    return text + (": *too busy a machine for these figures to mean anything*" if load > cpus / 2 else "")


def table(title: str, how: str, head: list[str], rows: list[dict]) -> str:
    """A section of the results."""
    lines = [f"## {title}", "", how + ".", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(cells(r)) + " |" for r in rows]
    return "\n".join(lines + ["", *(s + "  " for s in summary(rows)), "", ""])


def every(names: list[str], given: argparse.Namespace) -> dict[str, list[dict]]:
    """Everything, into bench/results/tune.md."""
    text = "# The tuner: regret, cost of the search, gain\n\nWritten by `bench/tune.py --all`"
    text += "; the columns are explained in `bench/tune.py --help`.\n\n"
    found = {}
    for title, busy in (("Idle", False), ("Another process takes half of one CPU", True)):
        how = f"{circumstances(given)}, from schedule({given.start})"
        other = compete(min(os.sched_getaffinity(0))) if busy else None
        try:
            found[title] = kernels(names, given)
        finally:
            if other:
                other.kill()
        text += table(title, how, KERNELS_HEAD, found[title])
    how = circumstances(given)
    title = f"Serial code that the compiler makes parallel (NPB: class {given.npb_class})"
    found[title] = serial(given)
    text += table(title, how, SERIAL_HEAD, found[title])
    given.results.write_text(text.rstrip() + "\n")
    print(f"written to {given.results}")
    return found


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--sizes", default="128,256,512")
    options.add_argument("--kernels")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--seconds", type=float, default=0.5, help="of one run")
    options.add_argument("--from", dest="start", default="auto", help="where the tuner starts from")
    options.add_argument("--competitor", action="store_true", help="another process takes half of one CPU")
    options.add_argument("--serial", action="store_true", help="auto-parallelised serial code only")
    options.add_argument("--npb-class", default="W", help="of the NPB kernels")
    options.add_argument("--all", action="store_true", help="everything, into bench/results/tune.md")
    options.add_argument("--results", type=pathlib.Path, default=RESULTS, help="another file for --all")
    options.add_argument("--json", type=pathlib.Path)
    given = options.parse_args()
    names = build()
    if given.all:
        rows = every(names, given)
    else:
        other = compete(min(os.sched_getaffinity(0))) if given.competitor else None
        try:
            print(f"{circumstances(given)}, from schedule({given.start})")
            print(" ".join(f"{h:>12}" for h in (SERIAL_HEAD if given.serial else KERNELS_HEAD)))
            rows = serial(given) if given.serial else kernels(names, given)
            if given.serial:
                print("\n".join(" ".join(f"{c:>12}" for c in cells(r)) for r in rows))
            print("\n".join(summary(rows)))
        finally:
            if other:
                other.kill()
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
