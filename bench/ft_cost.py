#!/usr/bin/env python3
"""What fault tolerance costs without failures.

Runs each NPB kernel under libgomp, promp with PROMP_FT=off, promp with PROMP_FT=on, and promp with private state copied at every
save point (PROMP_REPLAY=assume), interleaved and in changing order, and prints ratios of medians with the quartiles of the ratio
round by round. Writes bench/results/ft_cost.{json,md}.

usage: bench/ft_cost.py [--rounds N] [--class W] [--threads N] [--kernels ep,cg,...]
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARY = os.path.join(ROOT, "target/release/libpromp.so")
MODES = {
    "libgomp": {},
    "off": {"LD_PRELOAD": LIBRARY, "PROMP_FT": "off"},
    "on": {"LD_PRELOAD": LIBRARY, "PROMP_FT": "on"},
    "saving": {"LD_PRELOAD": LIBRARY, "PROMP_REPLAY": "assume"},
}


def build(kernel, dynamic):
    out = os.path.join(ROOT, "target/bench")
    os.makedirs(out, exist_ok=True)
    exe = os.path.join(out, kernel + ("-dynamic" if dynamic else "-static"))
    chunk = {"ep": 1, "cg": 64, "is": 1, "mg": 1, "ft": 1}[kernel]
    flags = [f"-DDYNAMIC={chunk}"] if dynamic else []
    subprocess.run(["gcc", "-O2", "-fopenmp", "-w", *flags, "-o", exe, os.path.join(ROOT, f"c-tests/npb/{kernel}.c"), "-lm"], check=True)
    return exe


def run(exe, cls, threads, mode):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "PROMP_", "LD_"))}
    env.update(MODES[mode], OMP_NUM_THREADS=str(threads))
    start = time.perf_counter()
    out = subprocess.run([exe, cls], env=env, capture_output=True, text=True, timeout=300)
    took = time.perf_counter() - start
    if "verification successful" not in out.stdout:
        sys.exit(f"{exe} {cls} under {mode}: {out.stdout} {out.stderr}")
    return took


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--class", dest="cls", default="W")
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--kernels", default="ep,cg,is,mg,ft")
    a = p.parse_args()
    rows = []
    for kernel in a.kernels.split(","):
        for dynamic in (False, True):
            exe = build(kernel, dynamic)
            times = {m: [] for m in MODES}
            for r in range(a.rounds + 1):
                order = list(MODES)
                random.Random(r).shuffle(order)
                for m in order:
                    t = run(exe, a.cls, a.threads, m)
                    if r > 0:  # the first round warms up
                        times[m].append(t)
                print(f"\r{kernel} {'dynamic' if dynamic else 'static '} {r}/{a.rounds}", end="", file=sys.stderr)
            print(file=sys.stderr)
            row = {"kernel": kernel, "schedule": "dynamic" if dynamic else "static", "class": a.cls, "threads": a.threads}
            for m in MODES:
                row[m + "_s"] = statistics.median(times[m])
            for name, top, bottom in (("on/off", "on", "off"), ("saving/off", "saving", "off"), ("on/libgomp", "on", "libgomp")):
                ratios = [x / y for x, y in zip(times[top], times[bottom])]
                q = statistics.quantiles(ratios, n=4)
                row[name] = row[top + "_s"] / row[bottom + "_s"]
                row[name + " quartiles"] = [q[0], q[2]]
            rows.append(row)
    lines = [
        f"Class {a.cls}, {a.threads} threads, {a.rounds} interleaved rounds; ratios of medians, quartiles of the rounds' ratios in brackets.",
        "",
        "| kernel | schedule | libgomp s | off s | on/off | saving/off | on/libgomp |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        cell = lambda n: f"{r[n]:.3f} [{r[n + ' quartiles'][0]:.3f}, {r[n + ' quartiles'][1]:.3f}]"
        lines.append(f"| {r['kernel'].upper()} | {r['schedule']} | {r['libgomp_s']:.3f} | {r['off_s']:.3f} | {cell('on/off')} | {cell('saving/off')} | {cell('on/libgomp')} |")
    geo = lambda n: statistics.geometric_mean(r[n] for r in rows)
    lines.append(f"| geometric mean | | | | {geo('on/off'):.4f} | {geo('saving/off'):.4f} | {geo('on/libgomp'):.4f} |")
    text = "\n".join(lines) + "\n"
    results = os.path.join(ROOT, "bench/results")
    os.makedirs(results, exist_ok=True)
    with open(os.path.join(results, "ft_cost.json"), "w") as f:
        json.dump(rows, f, indent=1)
    with open(os.path.join(results, "ft_cost.md"), "w") as f:
        f.write(text)
    print(text)


main()
