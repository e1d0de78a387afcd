#!/usr/bin/env python3
"""What verification of kernels costs: swim plain, eager, and lazy with N kernels a section.

    bench/sdc.py [--device separate|nvptx] [--size N] [--steps S] [--runs R] [--keep K] [--modes M,M,...]
                 [--mtbf DURATION]

A row a mode: seconds (least of the runs), times plain, sections, kernels a section, seconds of the verified
part and what the time model had expected of it, megabytes of device data and of what is kept of them. Below,
eager / lazy:auto and what it can be at most: 1 + V / 2K, V the checks and K the kernel of a section of one.
`lazy:calls` has a section for each of Swim's three functions, as its source says; an iteration is lazy:7.
The programs for nvptx are those that tools/gpu_folder.sh has built. All modes run the same kernels.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODES = ["off", "eager", "lazy:1", "lazy:5", "lazy:10", "lazy:20", "lazy:50", "lazy:1000000", "lazy:auto"]
CALLS = "lazy:calls"  # sections by hand


def program(device, mode):
    if device == "nvptx":
        if mode == CALLS:
            sys.exit(f"{CALLS} is for --device separate: tools/gpu_folder.sh builds no such program")
        return ROOT + "/target/gpu/bin/swim"
    exe = ROOT + "/target/c-tests/bench_swim" + ("_calls" if mode == CALLS else "")
    flags = ["-O2", "-fopenmp", "-foffload=disable", "-w", *(["-DCALLS"] if mode == CALLS else [])]
    subprocess.run(["gcc", *flags, "-o", exe, ROOT + "/c-tests/sdc/swim.c", "-lm"], check=True)
    return exe


def run(args, exe, mode):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "PROMP_", "LD_"))}
    with tempfile.TemporaryDirectory() as folder:
        env |= {
            "LD_PRELOAD": ROOT + "/target/release/libpromp.so",
            "PROMP_DEVICES": args.device,
            "PROMP_SDC": "lazy" if mode == CALLS else mode,
            "PROMP_SDC_KEEP": args.keep,
            "PROMP_SDC_LATENCY": "10m",
            "PROMP_REPORT": folder + "/report.json",
        }
        if args.mtbf:
            env["PROMP_MTBF"] = args.mtbf
        if args.device == "separate":
            env["PROMP_SDC_ASSUME"] = "*"
        done = subprocess.run([exe, str(args.size), str(args.steps)], env=env, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{mode}: status {done.returncode}: {done.stderr}")
        lines = done.stderr.splitlines()
        seconds = next(float(line.split()[1]) for line in lines if line.startswith("seconds "))
        with open(folder + "/report.json") as f:
            return seconds, done.stdout, json.load(f).get("sdc")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", choices=["separate", "nvptx"], default="separate")
    p.add_argument("--size", type=int, default=255)
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--keep", choices=["auto", "copies", "signatures"], default="auto")
    p.add_argument("--mtbf", help="mean time between failures, by which lazy:auto chooses N")
    p.add_argument("--modes", default=",".join(MODES))
    args = p.parse_args()
    modes = ["off"] + [m for m in args.modes.split(",") if m != "off"]
    exes = {mode: program(args.device, mode) for mode in modes}
    best, results, kernels = {}, set(), {None}
    for _ in range(args.runs):
        for mode in modes:
            r = run(args, exes[mode], mode)
            results.add(r[1])
            kernels.add(r[2]["kernels"] if r[2] else None)
            if mode not in best or r[0] < best[mode][0]:
                best[mode] = r
    if len(results) != 1:
        sys.exit(f"the results differ: {results}")
    if len(kernels) > 2:
        sys.exit(f"the modes verify different numbers of kernels: {kernels}")
    plain = best["off"][0]
    print("| mode | seconds | x plain | sections | N | measured s | model s | MB | kept MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for mode in modes:
        seconds, _, sdc = best[mode]
        row = f"| {mode} | {seconds:.3f} | {seconds / plain:.2f} |"
        if sdc:
            measured = sdc["run_s"] + sdc["again_s"] + sdc["compare_s"]
            row += f" {sdc['sections']} | {sdc['kernels_a_section']} | {measured:.3f} |"
            row += f" {sdc['predicted_s']:.3f} | {sdc['bytes'] / 1e6:.1f} | {sdc['bytes_kept'] / 1e6:.1f} |"
        else:
            row += " | | | | | |"
        print(row)
    if "eager" in best and "lazy:auto" in best:
        eager = best["eager"][2]
        most = 1 + eager["compare_s"] / (eager["run_s"] + eager["again_s"])
        print(f"\neager / lazy:auto {best['eager'][0] / best['lazy:auto'][0]:.2f}, at most {most:.2f}")


if __name__ == "__main__":
    main()
