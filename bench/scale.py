#!/usr/bin/env python3
"""promp, libgomp and libomp with 2 to all CPUs, from one folder that runs on any Linux machine.

    bench/scale.py pack DIR          build the suites and put them, the runtimes and this script into DIR
    DIR/scale.py run [--minutes M]   there: measure, interleaved; write scale.json there, print tables
    bench/scale.py show scale.json   print the tables again

Rounds are interleaved: every binary is run under each runtime in turn, for each number of threads, and ratios
are medians of the rounds' ratios. Rounds are added until the time is used up.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SUITES = ("sync", "sched", "tasks", "array")
PROGRAMS = {
    "fib": "24", "fib_final": "28", "nqueens": "10", "nqueens_final": "11", "sort": "1000", "tree": "60", "lu": "32",
    "floorplan": "5", "many": "1000",
}
STACK = {"deep": "1000"}  # bytes of stack a level
KERNELS = {"cg": "A", "mg": "A", "is": "A", "ft": "W", "adi": "W", "bt": "W", "ep": "W"}
RUNTIMES = ("libgomp", "libomp", "promp")
LIMIT = 20  # seconds for one run; what takes longer is left out from then on


def pack(folder: pathlib.Path) -> None:
    """Builds what is measured and copies the runtimes."""
    root = HERE.parent
    folder.mkdir(parents=True, exist_ok=True)
    sources = [(f"bench/suites/{s}.c", s) for s in SUITES]
    sources += [(f"bench/programs/{p}.c", p) for p in (*PROGRAMS, *STACK)]
    sources += [(f"c-tests/npb/{k}.c", k) for k in KERNELS]
    for source, name in sources:
        command = ["gcc", "-O2", "-fopenmp", "-w", "-s", "-o", str(folder / name), str(root / source), "-lm"]
        subprocess.run(command, check=True)
    shutil.copy(root / "target/release/libpromp.so", folder / "libpromp.so")
    subprocess.run(["strip", "--strip-unneeded", str(folder / "libpromp.so")], check=True)
    ask = ["gcc", "-print-file-name=libgomp.so.1"]
    found = subprocess.run(ask, capture_output=True, text=True, check=True)
    peers = {"libgomp": found.stdout.strip(), "libomp": "/usr/lib/x86_64-linux-gnu/libomp.so.5"}
    for runtime, path in peers.items():
        if not os.path.exists(path):
            print(f"scale: no {path}: {runtime} is left out")
            continue
        (folder / runtime).mkdir(exist_ok=True)
        shutil.copy(os.path.realpath(path), folder / runtime / "libgomp.so.1")
    shutil.copy(__file__, folder / "scale.py")
    print(f"scale: {folder} is ready; there: ./scale.py run")


def environment(runtime: str, threads: int) -> dict:
    """The environment of one run."""
    unwanted = ("OMP_", "GOMP_", "KMP_", "PROMP_", "LD_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
    if runtime == "promp":
        env["LD_PRELOAD"] = str(HERE / "libpromp.so")
        env["LD_LIBRARY_PATH"] = str(HERE / "libgomp")
    else:
        env["LD_LIBRARY_PATH"] = str(HERE / runtime)
    return env | {"OMP_NUM_THREADS": str(threads)}


def measure(job: tuple, runtime: str, threads: int) -> dict | None:
    """One run's rows: name -> value (ns, or s of a program); None if it took too long."""
    suite, name, argument = job
    command = [str(HERE / name), *([argument] if argument else [])]
    began = time.perf_counter()
    try:
        env = environment(runtime, threads)
        r = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None
    took = time.perf_counter() - began
    if r.returncode:
        where = f"{name} under {runtime}, {threads} threads"
        sys.exit(f"scale: {where}: exit status {r.returncode}\n{r.stdout}{r.stderr}")
    if suite == "kernels":
        if "verification successful" not in r.stdout:
            sys.exit(f"scale: {name} under {runtime}, {threads} threads:\n{r.stdout}")
        return {f"{name} {argument}": took}
    rows = dict(line.split("\t") for line in r.stdout.splitlines())
    if suite == "programs":
        return {f"{name} {argument}": float(rows["time"])}
    return {k: float(v) for k, v in rows.items()}


def run(minutes: float, threads: list[int]) -> dict:
    """Rounds of everything until the time is used up; at least one."""
    jobs = [(s, s, "") for s in SUITES if (HERE / s).exists()]
    jobs += [("programs", p, a) for p, a in PROGRAMS.items()]
    jobs += [("stack", p, a) for p, a in STACK.items()]
    jobs += [("kernels", k, a) for k, a in KERNELS.items()]
    runtimes = [r for r in RUNTIMES if r == "promp" or (HERE / r).is_dir()]
    samples, slow, began, rounds = {}, set(), time.time(), 0
    longest = 0.0
    while rounds == 0 or time.time() - began + longest < minutes * 60:
        round_began = time.time()
        for n in threads:
            for job in jobs:
                for i in range(len(runtimes)):
                    runtime = runtimes[(i + rounds) % len(runtimes)]
                    if (job[1], runtime, n) in slow:
                        continue
                    rows = measure(job, runtime, n)
                    if rows is None:
                        slow.add((job[1], runtime, n))
                        continue
                    for row, value in rows.items():
                        key = f"{job[0]}\t{row}\t{n}"
                        samples.setdefault(key, {}).setdefault(runtime, []).append(value)
                if sys.stderr.isatty():
                    print(f"\rround {rounds + 1}, {n} threads: {job[1]:<20}", end="", file=sys.stderr)
        rounds += 1
        longest = max(longest, time.time() - round_began)
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "?")
    about = {"cpus": os.cpu_count(), "cpu": cpu, "kernel": platform.release(), "rounds": rounds}
    return {"machine": about, "threads": threads, "samples": samples}


def ratios(samples: dict) -> tuple[float, str] | None:
    """promp to the better of its peers, and which one that is."""
    peers = {r: statistics.median(v) for r, v in samples.items() if r != "promp"}
    if not peers or "promp" not in samples:
        return None
    best = min(peers, key=peers.get)
    pairs = [x / y for x, y in zip(samples["promp"], samples[best]) if y]
    return (statistics.median(pairs), best) if pairs else None


def show(result: dict) -> None:
    """A geometric mean a suite and number of threads, then all rows that are behind somewhere."""
    m = result["machine"]
    print(f"{m['cpu']}, {m['cpus']} CPUs, Linux {m['kernel']}, {m['rounds']} rounds")
    print("promp to the better of its peers\n")
    rows, means = {}, {}
    for key, samples in result["samples"].items():
        suite, row, n = key.split("\t")
        if r := ratios(samples):
            rows.setdefault((suite, row), {})[int(n)] = (*r, statistics.median(samples["promp"]))
            means.setdefault(suite, {}).setdefault(int(n), []).append(math.log(r[0]))
    heads = " | ".join(map(str, result["threads"]))
    line = "|---" * (len(result["threads"]) + 1)
    print(f"| suite, geometric mean | {heads} |\n{line}|")
    for suite, by in means.items():
        cells = (f"{math.exp(statistics.mean(by[n])):.2f}" for n in result["threads"])
        print(f"| {suite} | " + " | ".join(cells) + " |")
    print(f"\n| behind by more than 5 % | {heads} | promp, most threads | better peer |\n{line}|---|---|")
    for (suite, row), by in rows.items():
        if any(r[0] > 1.05 for r in by.values()):
            cells = " | ".join(f"{by[n][0]:.2f}" if n in by else "" for n in result["threads"])
            ratio, peer, value = by[max(by)]
            unit = {"programs": "s", "kernels": "s", "stack": "B"}.get(suite, "ns")
            print(f"| {suite}: {row} | {cells} | {value:.4g} {unit} | {peer} |")
    print(f"\n| all rows | {heads} |\n{line}|")
    for (suite, row), by in rows.items():
        cells = " | ".join(f"{by[n][0]:.2f}" if n in by else "" for n in result["threads"])
        print(f"| {suite}: {row} | {cells} |")


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    commands = options.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="make the folder")
    packing.add_argument("folder", type=pathlib.Path)
    running = commands.add_parser("run", help="measure, in the folder")
    running.add_argument("--minutes", type=float, default=4)
    running.add_argument("--threads", help="e.g. 2,4,8,16; by default powers of two up to the CPUs")
    showing = commands.add_parser("show", help="print the tables")
    showing.add_argument("file", type=pathlib.Path)
    given = options.parse_args()
    if given.command == "pack":
        pack(given.folder)
        return
    if given.command == "show":
        show(json.loads(given.file.read_text()))
        return
    cpus = len(os.sched_getaffinity(0))
    threads = [2**i for i in range(1, 10) if 2**i <= cpus] or [2]
    if given.threads:
        threads = [int(n) for n in given.threads.split(",")]
    result = run(given.minutes, threads)
    (HERE / "scale.json").write_text(json.dumps(result))
    show(result)


if __name__ == "__main__":
    main()
