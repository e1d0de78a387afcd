#!/usr/bin/env python3
"""What being built by promp-cc costs without failures: the NPB kernels in C and Fortran with their default schedules, built by GCC and by the
drivers, both under promp, interleaved; medians, and quartiles of the rounds' ratios.

With --shapes the programs of c-tests/cost instead, by one thread, long enough (about a second each, times
--scale) to tell what lasts from what the first milliseconds cost: the least CPU times, which neighbours
disturb less than others.

usage: bench/compile_cost.py [--class A] [--rounds 5] [--kernels ep,cg,is,mg,ft]
       bench/compile_cost.py --shapes [--scale 1] [--rounds 5] [--kernels sort,graph,...]
"""
import argparse
import math
import os
import statistics
import subprocess
import sys

from run import OUT, ROOT, RUNTIMES, run

COMPILERS = {"c": ("gcc", "promp-cc"), "f90": ("gfortran", "promp-fc")}
# Of c-tests/cost: size, and how often all is done.
SHAPES = {
    "fluid.f90": (100, 240),
    "graph.c": (20000, 600),
    "mesh.cpp": (16, 800),
    "particles.c": (3000, 60),
    "penta.cpp": (24, 600),
    "rows.c": (160, 400),
    "sort.cpp": (200000, 800),
    "sparse.f90": (8000, 500),
}


def build(compiler, kernel, language, folder="npb"):
    exe = os.path.join(OUT, f"{kernel}-{language}-{compiler}")
    modules = exe + ".mod"
    os.makedirs(modules, exist_ok=True)
    driver = compiler.startswith("promp")
    cmd = [os.path.join(ROOT, "target/release", compiler) if driver else compiler, *(["-fno-promp-runtime"] if driver else [])]
    cmd += ["-cpp", "-J", modules] if language == "f90" else []
    source = os.path.join(ROOT, f"c-tests/{folder}/{kernel}.{language}")
    subprocess.run([*cmd, "-O2", "-fopenmp", "-w", "-o", exe, source, "-lm"], check=True)
    return exe


def cpu_time(exe, args):
    """Output and seconds of CPU time of one run by one thread under promp."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "PROMP_", "LD_"))}
    env.update(RUNTIMES["promp"], OMP_NUM_THREADS="1")
    p = subprocess.Popen([exe, *map(str, args)], env=env, stdout=subprocess.PIPE)
    out = p.stdout.read()
    _, p.returncode, used = os.wait4(p.pid, 0)
    if p.returncode:
        sys.exit(f"{exe} {args}: wait status {p.returncode}")
    return out, used.ru_utime + used.ru_stime


def shapes(rounds, scale, only):
    print("| program | GCC s | drivers s | ratio |\n|---|---|---|---|")
    compilers = {**COMPILERS, "cpp": ("g++", "promp-c++")}
    ratios = []
    for name, (size, times) in SHAPES.items():
        kernel, language = name.split(".")
        if only and kernel not in only:
            continue
        exes = [build(c, kernel, language, "cost") for c in compilers[language]]
        least, outs = [math.inf, math.inf], [None, None]
        for r in range(rounds):
            for i in (0, 1) if r % 2 else (1, 0):
                outs[i], took = cpu_time(exes[i], (size, max(1, round(times * scale))))
                least[i] = min(least[i], took)
            if outs[0] != outs[1]:
                sys.exit(f"{name}: {outs[0]} by GCC, {outs[1]} by the driver")
        ratios.append(least[1] / least[0])
        print(f"| {name} | {least[0]:.2f} | {least[1]:.2f} | {ratios[-1]:.3f} |", flush=True)
    print(f"\nGeometric mean {statistics.geometric_mean(ratios):.3f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--class", dest="size", default="A")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--kernels")
    p.add_argument("--shapes", action="store_true")
    p.add_argument("--scale", type=float, default=1)
    a = p.parse_args()
    if a.shapes:
        return shapes(a.rounds, a.scale, a.kernels and a.kernels.split(","))
    print("| kernel | GCC s | drivers s | ratio |\n|---|---|---|---|")
    for kernel in (a.kernels or "ep,cg,is,mg,ft").split(","):
        for language, compilers in COMPILERS.items():
            exes = [build(c, kernel, language) for c in compilers]
            times = [[], []]
            for r in range(a.rounds):
                for i in (0, 1) if r % 2 else (1, 0):
                    out, took = run([exes[i], a.size], "promp", 2)
                    if "verification successful" not in (out or ""):
                        sys.exit(f"{exes[i]} {a.size}: {out}")
                    times[i].append(took)
            ratios = sorted(y / x for x, y in zip(*times))
            gcc, ours = map(statistics.median, times)
            spread = f"[{ratios[len(ratios) // 4]:.2f}, {ratios[-1 - len(ratios) // 4]:.2f}]"
            print(f"| {kernel.upper()}.{language} | {gcc:.2f} | {ours:.2f} | {ours / gcc:.2f} {spread} |", flush=True)


if __name__ == "__main__":
    main()
