#!/usr/bin/env python3
"""What one failure costs: NPB EP, built with promp-cc, one thread killed in the middle of the loop, for several numbers of threads.

    bench/recovery.py [--class B] [--threads 2,4,8] [--rounds 3] [--json FILE]

The paper's scheme loses the failed thread's whole share, 1/k of the loop, which the k-1 survivors execute again: (1/k)/(k-1) of the loop,
if it is lost at its end; published for EP.B with 4 threads: 25 % of the run time.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RELEASE = ROOT + "/target/release"


def run(exe, size, threads, fault=None):
    """Seconds, and the report."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "PROMP_", "LD_", "GOMP_"))}
    with tempfile.TemporaryDirectory() as d:
        env.update(OMP_NUM_THREADS=str(threads), LD_PRELOAD=RELEASE + "/libpromp.so", PROMP_REPORT=d + "/r", PROMP_VERBOSE="0")
        if fault:
            env["PROMP_FAULT"] = fault
        t = time.time()
        subprocess.run([exe, size], env=env, check=True, stdout=subprocess.DEVNULL)
        return time.time() - t, json.load(open(d + "/r"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--class", dest="size", default="B")
    p.add_argument("--threads", default="2,4,8")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--json")
    a = p.parse_args()
    exe = ROOT + "/target/bench/ep-proved"
    os.makedirs(os.path.dirname(exe), exist_ok=True)
    subprocess.run([RELEASE + "/promp-cc", "-O2", "-fopenmp", "-fno-promp-runtime", "-o", exe, ROOT + "/c-tests/npb/ep.c", "-lm"], check=True)
    out = {}
    print(f"EP.{a.size}, {os.cpu_count()} CPUs, medians of {a.rounds}, interleaved\n")
    print("| threads | without failure s | one killed s | cost % | the paper's scheme, at most % | iterations lost | recovered in ms |\n|---|---|---|---|---|---|---|")
    for k in map(int, a.threads.split(",")):
        plain, killed, lost, took = [], [], [], []
        delay = None
        for _ in range(a.rounds):
            t, _ = run(exe, a.size, k)
            plain.append(t)
            delay = delay or int(t * 500)
            t, r = run(exe, a.size, k, f"kill@thread=1,delay={delay}ms")
            killed.append(t)
            assert r["failures"] and r["failures"][0]["recovery"] == "recompute", r
            lost.append(r["failures"][0]["lost_iterations"])
            took.append(r["failures"][0]["recovery_s"] * 1e3)
        x, y = statistics.median(plain), statistics.median(killed)
        out[k] = {"plain_s": x, "killed_s": y, "lost": lost, "recovery_ms": took}
        print(f"| {k} | {x:.2f} | {y:.2f} | {100 * (y / x - 1):+.1f} | {100 / k / (k - 1):.1f} | {statistics.median(lost):.0f} | {statistics.median(took):.0f} |", flush=True)
    if a.json:
        json.dump(out, open(a.json, "w"), indent=1)


main()
