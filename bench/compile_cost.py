#!/usr/bin/env python3
"""What being built by promp-cc costs without failures: the NPB kernels in C and Fortran with their default schedules, built by GCC and by the
drivers, both under promp, interleaved; medians, and quartiles of the rounds' ratios.

usage: bench/compile_cost.py [--class A] [--rounds 5] [--kernels ep,cg,is,mg,ft]
"""
import argparse
import os
import statistics
import subprocess
import sys

from run import OUT, ROOT, run

COMPILERS = {"c": ("gcc", "promp-cc"), "f90": ("gfortran", "promp-fc")}


def build(compiler, kernel, language):
    exe = os.path.join(OUT, f"{kernel}-{language}-{compiler}")
    modules = exe + ".mod"
    os.makedirs(modules, exist_ok=True)
    driver = compiler.startswith("promp")
    cmd = [os.path.join(ROOT, "target/release", compiler) if driver else compiler, *(["-fno-promp-runtime"] if driver else [])]
    cmd += ["-cpp", "-J", modules] if language == "f90" else []
    source = os.path.join(ROOT, f"c-tests/npb/{kernel}.{language}")
    subprocess.run([*cmd, "-O2", "-fopenmp", "-w", "-o", exe, source, "-lm"], check=True)
    return exe


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--class", dest="size", default="A")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--kernels", default="ep,cg,is,mg,ft")
    a = p.parse_args()
    print("| kernel | GCC s | drivers s | ratio |\n|---|---|---|---|")
    for kernel in a.kernels.split(","):
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
