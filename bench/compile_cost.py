#!/usr/bin/env python3
"""What being built by promp-cc costs without failures: the NPB kernels in C and Fortran with their default schedules, built by GCC and by the
drivers, both under promp, interleaved; medians, and quartiles of the rounds' ratios.

With --shapes the programs of c-tests/cost instead, by one thread, long enough (about a second each, times
--scale) to tell what lasts from what the first milliseconds cost: the least CPU times, which neighbours
disturb less than others.

With --aligned both builds get -falign-loops=64: short loops that lie in two lines of the cache by chance
take up to 1.6 times as long.

With --builds what the drivers make of it, and how long that takes: bytes of code, and CPU time of compiler
and linker; of the shapes and, with --packages, of packages that tools/debian_source.sh has unpacked in a
folder. The table goes to standard output or, with --into, between its marks in a file.

usage: bench/compile_cost.py [--class A] [--rounds 5] [--kernels ep,cg,is,mg,ft]
       bench/compile_cost.py --shapes [--aligned] [--scale 1] [--rounds 5] [--kernels sort,graph,...]
       bench/compile_cost.py --builds [--packages DIR] [--rounds 5] [--into docs/internals/compile-side.md]
"""
import argparse
import math
import os
import re
import shutil
import statistics
import subprocess
import sys

from run import OUT, ROOT, RUNTIMES, run

COMPILERS = {"c": ("gcc", "promp-cc"), "f90": ("gfortran", "promp-fc")}
# Of c-tests/cost: size, and how often all is done.
SHAPES = {
    "fluid.f90": (100, 240),
    "graph.c": (20000, 600),
    "hyperplane.c": (200, 8000),
    "lines.c": (200, 4000),
    "mesh.cpp": (16, 800),
    "particles.c": (3000, 60),
    "penta.cpp": (24, 600),
    "pipeline.c": (60, 1000),
    "rows.c": (160, 400),
    "sort.cpp": (200000, 800),
    "sparse.f90": (8000, 500),
    "sweep.c": (200, 1000),
    "transpose.f90": (400, 1000),
}
# Of Debian: how they are built, and what comes of it.
PACKAGES = {
    "coinor-csdp": ("make CC=$CC LIBS='-L../lib -lsdp -lopenblas -lm'", "solver/csdp"),
    "libsharp": ("./configure >/dev/null && make", ".libs/libsharp.so"),
    "hypre": (
        "cd src && CFLAGS='-O2 -fopenmp' CXXFLAGS='-O2 -fopenmp' LDFLAGS=-fopenmp ./configure --without-MPI "
        "--with-openmp --disable-fortran >/dev/null && make && make -C test ij",
        "src/test/ij",
    ),
}
DRIVERS = ("promp-cc", "promp-c++")
MARKS = ("<!-- made by bench/compile_cost.py -->\n", "<!-- end -->\n")


def command(compiler, kernel, language, folder="npb", options=()):
    """Builds a kernel: the command and the program."""
    exe = os.path.join(OUT, f"{kernel}-{language}-{compiler}")
    modules = exe + ".mod"
    os.makedirs(modules, exist_ok=True)
    driver = compiler.startswith("promp")
    cmd = [os.path.join(ROOT, "target/release", compiler) if driver else compiler, *(["-fno-promp-runtime"] if driver else [])]
    cmd += ["-cpp", "-J", modules] if language == "f90" else []
    source = os.path.join(ROOT, f"c-tests/{folder}/{kernel}.{language}")
    return [*cmd, *options, "-O2", "-fopenmp", "-w", "-o", exe, source, "-lm"], exe


def build(*what):
    cmd, exe = command(*what)
    subprocess.run(cmd, check=True)
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


def used(cmd, **more):
    """Seconds of CPU time that a command takes, with all that it starts."""
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    _, p.returncode, used = os.wait4(p.pid, 0)
    if p.returncode:
        sys.exit(f"{cmd}: wait status {p.returncode}")
    return used.ru_utime + used.ru_stime


def code_bytes(exe):
    out = subprocess.run(["size", "-A", exe], check=True, capture_output=True, text=True).stdout
    return int(re.search(r"^\.text +(\d+)", out, re.M)[1])


def package(folder, name, compiler):
    """Builds a package anew, and says where its product is and what that has taken."""
    how, product = PACKAGES[name]
    copy = os.path.join(OUT, f"{name}-{compiler}")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(os.path.join(folder, name), copy, symlinks=True)
    pair = ("gcc", "g++") if compiler == "gcc" else [os.path.join(ROOT, "target/release", d) for d in DRIVERS]
    took = used(["bash", "-c", how], cwd=copy, env={**os.environ, "CC": pair[0], "CXX": pair[1]})
    return os.path.join(copy, product), took


def builds(rounds, packages, into):
    lines = ["| built | code, GCC | drivers | ratio | CPU s, GCC | drivers | ratio |", "|---" * 7 + "|"]
    compilers = {**COMPILERS, "cpp": ("g++", "promp-c++")}
    growth, slower = [], []

    def row(name, exes, times):
        (a, b), (s, t) = map(code_bytes, exes), times
        growth.append(b / a)
        slower.append(t / s)
        lines.append(f"| {name} | {a} | {b} | {b / a:.2f} | {s:.2f} | {t:.2f} | {t / s:.2f} |")
        print(lines[-1], file=sys.stderr)

    for name in SHAPES:
        kernel, language = name.split(".")
        both = [command(c, kernel, language, "cost") for c in compilers[language]]
        least = [min(used(cmd) for _ in range(rounds)) for cmd, _ in both]
        row(name, [exe for _, exe in both], least)
    for name in PACKAGES if packages else ():
        if os.path.isdir(os.path.join(packages, name)):
            both = [package(packages, name, c) for c in ("gcc", "promp-cc")]
            row(name, *zip(*both))
    mean = statistics.geometric_mean
    lines.append(f"| geometric mean | | | {mean(growth):.2f} | | | {mean(slower):.2f} |")
    table = "".join(line + "\n" for line in lines)
    if not into:
        print(table, end="")
        return
    with open(into, encoding="utf-8") as f:
        before, _, rest = f.read().partition(MARKS[0])
    if not rest:
        sys.exit(f"{into} has no {MARKS[0]}")
    with open(into, "w", encoding="utf-8") as f:
        f.write(before + MARKS[0] + table + MARKS[1] + rest.partition(MARKS[1])[2])


def shapes(rounds, scale, only, options):
    print("| program | GCC s | drivers s | ratio |\n|---|---|---|---|")
    compilers = {**COMPILERS, "cpp": ("g++", "promp-c++")}
    ratios = []
    for name, (size, times) in SHAPES.items():
        kernel, language = name.split(".")
        if only and kernel not in only:
            continue
        exes = [build(c, kernel, language, "cost", options) for c in compilers[language]]
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
    p.add_argument("--aligned", action="store_true")
    p.add_argument("--scale", type=float, default=1)
    p.add_argument("--builds", action="store_true")
    p.add_argument("--packages")
    p.add_argument("--into")
    a = p.parse_args()
    if a.shapes:
        options = ["-falign-loops=64"] if a.aligned else []
        return shapes(a.rounds, a.scale, a.kernels and a.kernels.split(","), options)
    if a.builds:
        return builds(a.rounds, a.packages, a.into)
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
