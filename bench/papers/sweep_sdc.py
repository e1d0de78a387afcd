#!/usr/bin/env python3
"""One silent error at each place of Swim: is it found and repaired? Measures only.

    bench/papers/sweep_sdc.py [--size 63] [--steps 2] [--mode lazy:7]

Each kernel of each step is hit once in its first execution, once in the one that is to verify it, in a run of
its own, by one bit of a block that it writes. The result must be the one of a run without errors.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "target/bench/papers"
KERNELS = 7  # of a step of Swim
LIMIT = 120  # seconds for one run


def program():
    """Swim, whose target regions run on the device *separate*."""
    BUILT.mkdir(parents=True, exist_ok=True)
    exe = BUILT / "swim"
    flags = ["-O2", "-fopenmp", "-foffload=disable", "-w"]
    subprocess.run(["gcc", *flags, "-o", str(exe), str(ROOT / "c-tests/sdc/swim.c"), "-lm"], check=True)
    return exe


def run(exe, size, steps, mode, fault=None):
    """Status, output and what the report has of silent errors."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "PROMP_", "LD_"))}
    with tempfile.TemporaryDirectory() as folder:
        env |= {
            "LD_PRELOAD": str(ROOT / "target/release/libpromp.so"), "OMP_NUM_THREADS": "2",
            "PROMP_DEVICES": "separate", "PROMP_SDC": mode, "PROMP_SDC_ASSUME": "*",
            "PROMP_REPORT": folder + "/report.json",
        }
        if fault:
            env["PROMP_FAULT"] = fault
        command = [exe, str(size), str(steps)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT)
        report = pathlib.Path(folder, "report.json")
        sdc = json.loads(report.read_text()).get("sdc") if report.exists() else None
        return done.returncode, done.stdout, sdc or {}


def sweep(n=63, steps=2, mode="lazy:7"):
    """A grid of n by n. Counts: errors injected, found, repaired; runs with another result, runs refused.
    One that is injected and not found has left no trace in what its section gave."""
    exe = program()
    status, want, seen = run(exe, n, steps, mode)
    assert status == 0 and seen.get("kernels") == KERNELS * steps and not seen["unverified"], (status, seen)
    counts = dict.fromkeys(("runs", "injected", "found", "repaired", "wrong", "refused"), 0)
    for kernel in range(1, KERNELS * steps + 1):
        for which in ("first", "again"):
            fault = f"sdc@kernel={kernel},count=1,run={which},bit=random,seed={kernel}"
            status, out, seen = run(exe, n, steps, mode, fault)
            counts["runs"] += 1
            counts["refused"] += status != 0
            counts["wrong"] += status == 0 and out != want
            for of in ("injected", "found", "repaired"):
                counts[of] += seen.get(of, 0)
    return {"size": n, "steps": steps, "mode": mode, "kernels": KERNELS * steps} | counts


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--size", type=int, default=63)
    p.add_argument("--steps", type=int, default=2)
    p.add_argument("--mode", default="lazy:7")
    given = p.parse_args()
    print(json.dumps(sweep(given.size, given.steps, given.mode)))


if __name__ == "__main__":
    main()
