#!/usr/bin/env python3
"""What PROMP_SDC=chunks:P% costs without errors: the NPB kernels and ADI, built by promp-cc -fpromp-sdc, with
chunks verified and without, and built by promp-cc alone, interleaved in changing order; medians of the
rounds' quotients, with quartiles, of the time that passes and of user and system time.

usage: bench/chunks.py [--class A] [--share 5%] [--rounds 5] [--threads 2] [--kernels ep,cg,...]
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from run import OUT, ROOT, RUNTIMES

KERNELS = ["ep", "cg", "ft", "mg", "adi", "is"]


def build(kernel, flags):
    os.makedirs(OUT, exist_ok=True)
    exe = os.path.join(OUT, f"{kernel}-chunks{'-sdc' if flags else ''}")
    driver = os.path.join(ROOT, "target/release/promp-cc")
    source = os.path.join(ROOT, f"c-tests/npb/{kernel}.c")
    command = [driver, "-fno-promp-runtime", "-O2", "-fopenmp", "-w", *flags, "-o", exe, source, "-lm"]
    subprocess.run(command, check=True)
    return exe


def run(args, exe, share):
    """Seconds that passed, seconds of the CPUs, and what the report says of chunks."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "PROMP_", "LD_"))}
    env |= RUNTIMES["promp"] | {"OMP_NUM_THREADS": str(args.threads)}
    with tempfile.TemporaryDirectory() as folder:
        if share:
            env |= {"PROMP_SDC": f"chunks:{share}", "PROMP_REPORT": folder + "/report.json"}
        start = time.perf_counter()
        p = subprocess.Popen([exe, args.cls], env=env, stdout=subprocess.PIPE, text=True)
        out = p.stdout.read()
        _, p.returncode, used = os.wait4(p.pid, 0)
        took = time.perf_counter() - start
        if p.returncode or "verification successful" not in out:
            sys.exit(f"{exe} {args.cls}: wait status {p.returncode}: {out}")
        sdc = {}
        if share:
            with open(folder + "/report.json") as f:
                sdc = json.load(f)["sdc"]
    return took, used.ru_utime + used.ru_stime, sdc


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--class", dest="cls", default="A")
    p.add_argument("--share", default="5%")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--kernels", default=",".join(KERNELS))
    args = p.parse_args()
    print("| kernel | seconds | off ÷ plain | chunks ÷ off | CPU time, chunks ÷ off | chunks | verified |")
    print("|---|---|---|---|---|---|---|")
    for kernel in args.kernels.split(","):
        plain, sdc = build(kernel, []), build(kernel, ["-fpromp-sdc"])
        ways = {"plain": (plain, None), "off": (sdc, None), "chunks": (sdc, args.share)}
        rounds = []
        for _ in range(args.rounds):
            order = random.sample(list(ways), len(ways))
            rounds.append({way: run(args, *ways[way]) for way in order})

        def ratio(a, b, what):
            all_of = sorted(r[a][what] / r[b][what] for r in rounds)
            q = statistics.quantiles(all_of, n=4, method="inclusive") if len(all_of) > 1 else all_of * 3
            return f"{q[1]:.3f} [{q[0]:.3f}, {q[2]:.3f}]"

        told = rounds[-1]["chunks"][2]
        seconds = statistics.median(r["off"][0] for r in rounds)
        print(
            f"| {kernel} | {seconds:.2f} | {ratio('off', 'plain', 0)} | {ratio('chunks', 'off', 0)} |"
            f" {ratio('chunks', 'off', 1)} | {told.get('chunks', 0)} | {told.get('chunks_verified', 0)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
