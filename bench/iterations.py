#!/usr/bin/env python3
"""What checkpoints cost a program that prints a line in every iteration: the time of iterations in which one is taken, beside that of the
iterations around them, in the same run. So the speed of a machine that changes from minute to minute does not matter.

    bench/iterations.py [--interval 5] [--rounds 3] PROGRAM ARGUMENT...
"""
import argparse
import json
import os
import pty
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def lines(command, env):
    """When the program wrote each line, in seconds after its start. On a terminal, so that it writes each at once."""
    ours, its = pty.openpty()
    began = time.monotonic()
    p = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=its, stderr=subprocess.DEVNULL)
    os.close(its)
    out = []
    while True:
        try:
            text = os.read(ours, 65536)
        except OSError:
            text = b""
        if not text:
            break
        out += [time.monotonic() - began] * text.count(b"\n")
    os.close(ours)
    if p.wait():
        raise SystemExit(f"{command}: status {p.returncode}")
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--interval", type=float, default=5, help="seconds")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("program", nargs=argparse.REMAINDER)
    a = p.parse_args()
    if not a.program:
        p.error("which program?")
    print("| run | iteration s | first large checkpoint: s longer | later ones: number | s longer, each | of the interval |\n|---|---|---|---|---|---|")
    for r in range(a.rounds):
        with tempfile.TemporaryDirectory() as d:
            env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "PROMP_", "LD_", "GOMP_"))}
            env.update(OMP_NUM_THREADS="2", LD_PRELOAD=ROOT + "/target/release/libpromp.so", PROMP_REPORT=d + "/report",
                       PROMP_CKPT_DIR=d + "/ckpt", PROMP_CKPT_INTERVAL=f"{a.interval}s")
            at = lines(a.program, env)
            taken = json.load(open(d + "/report"))["checkpoints"]
        # Before the first large one, what has changed is noted half an interval after the one before, and memory is touched.
        large = max(range(len(taken)), key=lambda i: taken[i]["dirty_pages"])
        windows = [(c["at_s"] - 0.1 if i != large else taken[max(i - 1, 0)]["at_s"] + a.interval / 2,
                    c["at_s"] + c["stop_s"] + c["write_s"] + 0.1) for i, c in enumerate(taken)]
        spans = list(zip(at, at[1:]))
        inside = [next((i for i, w in enumerate(windows) if s[0] < w[1] and w[0] < s[1]), None) for s in spans]
        plain = [(k, e - b) for k, (b, e) in enumerate(spans) if inside[k] is None]
        if len(plain) < 4:
            raise SystemExit(f"only {len(plain)} of {len(spans)} iterations are without a checkpoint: a longer interval?")
        longer = [0.0] * len(taken)
        for k, (b, e) in enumerate(spans):
            if inside[k] is not None:
                around = sorted(plain, key=lambda x: abs(x[0] - k))[:4]
                longer[inside[k]] += e - b - statistics.median(t for _, t in around)
        # Those that lie within the iterations as a whole.
        later = [t for i, t in enumerate(longer) if i > large and windows[i][1] < at[-1]]
        each = statistics.mean(later) if later else float("nan")
        period = statistics.mean(y["at_s"] - x["at_s"] for x, y in zip(taken[large:], taken[large + 1:])) if later else float("nan")
        print(f"| {r + 1} | {statistics.median(t for _, t in plain):.2f} | {longer[large]:.2f} | {len(later)} | {each:.2f} | {100 * each / period:.1f} % |",
              flush=True)


main()
