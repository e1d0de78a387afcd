#!/usr/bin/env python3
"""Programs of other people, built by GCC and by the drivers: whether both print the same, how much of the
time of their loops is proved, instructions by one thread (callgrind; of a long run less those of a short
one), and 20 runs in which threads are killed: right, refused, wrong.

The sources are Debian's, as tools/debian_source.sh DIR fasttree cd-hit muscle healpix-fortran voronota
unpacks them; the first program is libstdc++'s parallel mode, of the compiler's own headers. HEALPix (Fortran,
a mesh of the sphere) and Voronota (C++, a triangulation) get main functions of ours. Inputs are made here,
from a seed.

usage: bench/other_programs.py DIR [--only fasttree,cd-hit,...] [--kills 20]
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys

from run import OUT, ROOT

RELEASE = os.path.join(ROOT, "target/release")
LIB = os.path.join(RELEASE, "libpromp.so")
# How each is built in a folder of its own, its program, its arguments ({in}: the input, {out}: its output),
# the alphabet, families, members and lengths of short, long and killed inputs, rates of changes and losses,
# and how often a thread is killed.
CD_HIT = "make openmp=yes CC=$CXX cd-hit cd-hit-est"
OTHERS = f"{ROOT}/c-tests/others"
HEALPIX = (
    "healpix_types.F90 indmed.f90 bit_manipulation.F90 extension.F90 misc_utils.F90 long_intrinsic.F90 "
    "num_rec.F90 statistics.f90 pix_tools.F90 udgrade_nr.f90 mask_tools.F90"
)
PROTEIN = "ACDEFGHIKLMNPQRSTVWY"
PROGRAMS = {
    "parallel_mode": (
        f"$CXX -O2 -fopenmp -D_GLIBCXX_PARALLEL -w -o pm {OTHERS}/parallel_mode.cpp",
        "./pm {in}",
        ("15000", "60000", "200000"),
        "20ms",
    ),
    "fasttree": (
        "$CC -O2 -fopenmp -DOPENMP -w -o ft fasttree.c -lm",
        "./ft -nt -nosupport {in}",
        ("ACGT", (1, 16, 120), (1, 40, 120), (1, 120, 400), 0.05, 0),
        "100ms",
    ),
    "cd-hit": (
        CD_HIT,
        "./cd-hit -i {in} -o out -c 0.7 -T {threads} >&2 && cat out.clstr",
        (PROTEIN, (4, 10, 160), (10, 12, 160), (12, 30, 220), 0.04, 0.01),
        "25ms",
    ),
    "cd-hit-est": (
        CD_HIT,
        "./cd-hit-est -i {in} -o out -c 0.9 -n 8 -T {threads} >&2 && cat out.clstr",
        ("ACGT", (4, 10, 300), (10, 12, 300), (10, 30, 400), 0.01, 0.003),
        "10ms",
    ),
    "muscle": (
        "make -C src CXX=$CXX",
        "src/Linux/muscle -align {in} -output out -threads {threads} >&2 && cat out",
        (PROTEIN, (1, 8, 50), (1, 16, 120), (1, 16, 120), 0.12, 0.02),
        "30ms",
    ),
    "healpix-fortran": (
        "cd src/f90/mod && sh gen_udgrade_code >&2 && "
        f"$FC -O2 -fopenmp -w -cpp -DGFORTRAN -o ../../../hp {HEALPIX} {OTHERS}/healpix.f90",
        "./hp {in}",
        ("16", "64", "64"),
        "10ms",
    ),
    "voronota": (
        "$CXX -O2 -fopenmp -w -Isrc -o vo src/modes/mode_calculate_vertices_in_parallel.cpp "
        f"{OTHERS}/voronota.cpp",
        "./vo {in}",
        ("300", "1000", "2000"),
        "20ms",
    ),
}


def family(r, members, length, alphabet, rate, loss):
    """Sequences that come from each other by changes and losses."""
    base = "".join(r.choice(alphabet) for _ in range(length))
    out = []
    for _ in range(members):
        source = r.choice(out) if out and r.random() < 0.7 else base
        kept = (c for c in source if r.random() >= loss)
        out.append("".join(r.choice(alphabet) if r.random() < rate else c for c in kept))
    return out


def inputs(folder, of):
    """The short, the long and the killed input: a number, or a file."""
    if len(of) == 3:
        return of
    alphabet, *sizes, rate, loss = of
    names = []
    for i, (families, members, length) in enumerate(sizes):
        r = random.Random(7 + i)
        all_of = [s for _ in range(families) for s in family(r, members, length, alphabet, rate, loss)]
        names.append(os.path.join(folder, f"input{i}"))
        with open(names[-1], "w", encoding="ascii") as f:
            f.writelines(f">s{k}\n{s}\n" for k, s in enumerate(all_of))
    return names


def build(source, name, compiler):
    folder = os.path.join(OUT, f"others-{name}-{compiler}")
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.isdir(source):
        shutil.copytree(source, folder, symlinks=True)
    else:
        os.makedirs(folder)
    ours = [os.path.join(RELEASE, d) for d in ("promp-cc", "promp-c++", "promp-fc")]
    c, cxx, fortran = ("gcc", "g++", "gfortran") if compiler == "gcc" else ours
    env = {**os.environ, "CC": c, "CXX": cxx, "FC": fortran}
    how = ["bash", "-c", PROGRAMS[name][0]]
    done = subprocess.run(how, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr[-2000:]}")
    return folder


def start(folder, command, given, threads, tool="", **more):
    ours = ("OMP_", "GOMP_", "PROMP_", "LD_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    env.update(more, OMP_NUM_THREADS=str(threads))
    line = tool + command.replace("{in}", given).replace("{threads}", str(threads))
    how = ["bash", "-c", line]
    return subprocess.run(how, cwd=folder, env=env, capture_output=True, text=True, timeout=600)


def instructions(folder, command, given):
    tool = "valgrind --tool=callgrind --callgrind-out-file=/dev/null "
    # Nearly the default, but for the first 20 ms, in which the budget does not count.
    said = start(folder, command, given, 1, tool, LD_PRELOAD=LIB, PROMP_SAVE_BUDGET="1.99%").stderr
    return int(re.search(r"refs: +([\d,]+)", said)[1].replace(",", ""))


def proved(folder, command, given):
    report = os.path.join(folder, "report.json")
    start(folder, command, given, 4, PROMP_REPORT=report)
    with open(report, encoding="utf-8") as f:
        loops = json.load(f)["loops"]
    seconds = sum(row["seconds"] for row in loops)
    lost = sum(row["unsafe_s"] for row in loops)
    return f"{100 * (1 - lost / seconds):.1f} %" if seconds else "no loops"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("packages")
    p.add_argument("--only")
    p.add_argument("--kills", type=int, default=20)
    a = p.parse_args()
    print("| program | loop time proved | instructions | killed | right | refused | wrong |")
    print("|---" * 7 + "|")
    for name in a.only.split(",") if a.only else PROGRAMS:
        _, command, of, every = PROGRAMS[name]
        source = os.path.join(a.packages, "cd-hit" if name == "cd-hit-est" else name)
        both = [build(source, name, c) for c in ("gcc", "promp-cc")]
        short, long, killed = inputs(both[0], of)
        want = start(both[0], command, killed, 4).stdout
        if not want or start(both[1], command, killed, 4).stdout != want:
            sys.exit(f"{name}: the builds do not print the same")
        x, y = (instructions(b, command, long) - instructions(b, command, short) for b in both)
        ends = {"right": 0, "refused": 0, "wrong": 0}
        for seed in range(1, a.kills + 1):
            r = start(both[1], command, killed, 4, PROMP_FAULT=f"kill@mtbf={every},seed={seed},count=3")
            right = r.returncode == 0 and r.stdout == want
            ends["refused" if r.returncode == 70 else "right" if right else "wrong"] += 1
        row = [name, proved(both[1], command, killed), f"{y / x:.3f}", a.kills, *ends.values()]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
