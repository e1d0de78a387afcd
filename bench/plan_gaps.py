"""How well a second run keeps to a plan (docs/internals/live-sets.md): the share of gaps between checkpoints
that are at most the interval, and bytes beside what the rule without a plan has written. Part of
bench/checkpoints.py (--plan)."""
import json
import subprocess
import tempfile

import live_sets

CLI = live_sets.ROOT + "/target/release/promp"


def gaps(report, interval):
    """Late ones, and all; from the first checkpoint on."""
    at = [c["at_s"] for c in report["checkpoints"]]
    between = [b - a for a, b in zip(at, at[1:])]
    return sum(g > interval for g in between), len(between)


def later_bytes(report):
    """A checkpoint, on average; the first one has what never changes, too."""
    all = [c["bytes"] for c in report["checkpoints"][1:]]
    return sum(all) / len(all) / 1e6 if all else None


def table(run, size, seconds, rounds, times, directory, kernels):
    """A line for each program: `rounds` second runs of a plan of one first run."""
    print(f"Class {size}, two threads, interval of {seconds} s: `bench/checkpoints.py --plan {seconds} "
          f"--class {size} --rounds {rounds} --times {times} --kernels {','.join(kernels)}`\n")
    print("| program | gaps at most the interval, by the plan | without it | MB, by the plan | without it |")
    print("|---|---|---|---|---|", flush=True)
    for name, _, command in live_sets.chosen(kernels):
        exe = live_sets.built(command, name, times)
        every = f"{seconds}s"
        first = run([exe, size], every, directory=directory)[2]
        with tempfile.TemporaryDirectory(dir=directory) as d:
            report, plan = d + "/report", d + "/plan"
            json.dump(first, open(report, "w"))
            command = [CLI, "plan", report, "-o", plan, "--every", every]
            made = subprocess.run(command, capture_output=True, text=True)
            if made.returncode:
                print(f"| {name} | {made.stderr.strip().splitlines()[-1]} | – | – | – |", flush=True)
                continue
            extra = {"PROMP_CKPT_PLAN": plan}
            runs = [run([exe, size], every, extra=extra, directory=directory)[2] for _ in range(rounds)]
        line = []
        for reports in [runs, [first]]:
            late, all = (sum(x) for x in zip(*(gaps(r, seconds) for r in reports)))
            line.append(f"{all - late} of {all}")
        sizes = [s for s in map(later_bytes, runs) if s is not None]
        show = lambda v: "–" if v is None else f"{v:.1f}"
        mean = sum(sizes) / len(sizes) if sizes else None
        print(f"| {name} | {' | '.join(line)} | {show(mean)} | {show(later_bytes(first))} |", flush=True)
