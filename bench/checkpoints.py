#!/usr/bin/env python3
"""What checkpoints cost: stop, write and restore times, bytes, slow-down, beside the machine's limits measured in the same run.

    bench/checkpoints.py [--class A] [--times 1] [--gib 1] [--intervals 1,5,30] [--copy auto,stopped] [--rounds 3] [--json FILE] [--criu COMMAND] [--full-memory]

Beside CRIU, if it is installed and runs on this kernel: one image of each kernel half-way through, under libgomp, as root.
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import live_sets
import plan_gaps

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIB = ROOT + "/target/release/libpromp.so"
CLI = ROOT + "/target/release/promp"

LIMITS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
int main(int argc, char **argv) {
    size_t n = 256 << 20;
    char *a = mmap(0, n, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *b = mmap(0, n, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(a, 1, n); memset(b, 2, n);
    double best = 1e9;
    for (int i = 0; i < 5; i++) { double t = now(); for (size_t p = 0; p < n; p += 4096) memcpy(b + p, a + p, 4096); t = now() - t; if (t < best) best = t; }
    printf("%.3f ", n / best / 1e9);
    mprotect(a, n, PROT_READ); mprotect(a, n, 3);
    double t = now(); for (size_t p = 0; p < n; p += 4096) a[p] = 3; printf("%.3f ", (now() - t) / (n / 4096) * 1e6);
    int f = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    t = now(); for (size_t p = 0; p < n; p += 1 << 20) if (write(f, a + p, 1 << 20) < 0) return 1;
    double w = now() - t; fdatasync(f); printf("%.3f %.3f\n", n / w / 1e9, n / (now() - t) / 1e9);
    unlink(argv[1]);
}
"""


def build(source, *flags):
    exe = f"{ROOT}/target/bench/{os.path.basename(source)}{''.join(flags)}"
    os.makedirs(os.path.dirname(exe), exist_ok=True)
    subprocess.run(["gcc", "-O2", "-fopenmp", "-w", *flags, "-o", exe, f"{ROOT}/c-tests/{source}", "-lm"], check=True)
    return exe


def free():
    """Bytes of memory that nothing is in, not even a file's pages."""
    return next(int(line.split()[1]) * 1024 for line in open("/proc/meminfo") if line.startswith("MemFree:"))


def as_large_as_memory(directory):
    """A file of holes."""
    holes = tempfile.TemporaryFile(dir=directory)
    holes.truncate(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return holes


def fill(holes):
    """Fills free memory with pages of a file of holes, as on a machine that has been up for a while: new memory then comes from those,
    which are given up at once, and not from a virtual machine's host."""
    holes.seek(0)
    while free() > 256 << 20 and holes.read(64 << 20):
        pass


def clean():
    return {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "PROMP_", "LD_", "GOMP_"))}


def run(cmd, interval=None, threads=2, extra=None, directory=None):
    """Seconds, of them the CPUs' in the kernel, and the report (None without checkpoints)."""
    env = dict(clean(), OMP_NUM_THREADS=str(threads), LD_PRELOAD=LIB, **(extra or {}))
    with tempfile.TemporaryDirectory(dir=directory) as d:
        if interval:
            env.update(PROMP_CKPT_DIR=d + "/ckpt", PROMP_CKPT_INTERVAL=interval)
        env["PROMP_REPORT"] = d + "/report"
        t, before = time.time(), os.times().children_system
        r = subprocess.run(cmd, env=env, capture_output=True, text=True)
        t, kernel = time.time() - t, os.times().children_system - before
        if r.returncode:
            sys.exit(f"{cmd}: {r.returncode} {r.stderr}")
        return t, kernel, json.load(open(d + "/report"))


def limits(directory):
    with tempfile.TemporaryDirectory(dir=directory) as d:
        open(d + "/l.c", "w").write(LIMITS)
        subprocess.run(["gcc", "-O2", "-w", "-o", d + "/l", d + "/l.c"], check=True)
        v = subprocess.run([d + "/l", d + "/file"], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(["copy_GB_s", "write_protected_us", "file_GB_s", "file_synced_GB_s"], map(float, v)))


def varints(data):
    """Field numbers and values of a protocol-buffer message without anything but numbers and messages."""
    def number(i):
        v = shift = 0
        while True:
            v |= (data[i] & 127) << shift
            i, shift = i + 1, shift + 7
            if not data[i - 1] & 128:
                return v, i
    i, out = 0, {}
    while i < len(data):
        key, i = number(i)
        value, i = number(i)
        if key & 7 == 2:
            value, i = data[i:i + value], i + value
        out[key >> 3] = value
    return out


def criu(command, cmd, directory):
    """One image by CRIU of a program half-way through: seconds that it was frozen and that all took, bytes; or why there is none."""
    command = shlex.split(command)
    try:
        check = subprocess.run([*command, "check"], capture_output=True, text=True)
    except FileNotFoundError:
        return f"{command[0]} is not installed"
    if check.returncode:
        return "`criu check`: " + "; ".join(check.stderr.strip().splitlines())
    env = dict(clean(), OMP_NUM_THREADS="2")
    quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    t = time.time()
    subprocess.run(cmd, env=env, check=True, **quiet)
    half = (time.time() - t) / 2
    with tempfile.TemporaryDirectory(dir=directory) as d:
        p = subprocess.Popen(cmd, env=env, **quiet)
        time.sleep(half)
        t = time.time()
        r = subprocess.run([*command, "dump", "-t", str(p.pid), "-D", d, "--leave-running"], capture_output=True, text=True)
        took = time.time() - t
        p.kill()
        p.wait()
        if r.returncode:
            return "`criu dump`: " + "; ".join(r.stderr.strip().splitlines())
        stats = open(d + "/stats-dump", "rb").read()[12:]  # behind two magic numbers and the length
        frozen = varints(varints(stats)[1])[2] / 1e6
        return frozen, took, sum(e.stat().st_size for e in os.scandir(d))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--class", dest="size", default="A")
    p.add_argument("--times", type=int, default=1, help="slow-down: so many times the iterations of the class, for runs that are longer than an interval")
    p.add_argument("--gib", type=float, default=1)
    p.add_argument("--kernels", default="cg,ft,mg,adi")
    p.add_argument("--intervals", default="1,5,30")
    p.add_argument("--copy", default="auto", help="slow-down: values of PROMP_CKPT_COPY, in turn")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--dir", default=None, help="where images go (default: the temporary folder)")
    p.add_argument("--json")
    p.add_argument("--live", nargs="?", const="off,on", metavar="KINDS",
                   help="live sets only, in rounds: off (whole checkpoints), on (at places), or both")
    p.add_argument("--live-bytes", action="store_true", help="... their bytes alone, one run of each program")
    p.add_argument("--write", action="store_true", help="... and into docs/internals/live-sets.md")
    p.add_argument("--live-every", default="300ms", help="... how often")
    p.add_argument("--plan", type=float, metavar="SECONDS",
                   help="second runs that keep to a plan, with this interval")
    p.add_argument("--criu", default="criu", help="how CRIU is called")
    p.add_argument("--full-memory", action="store_true", help="slow-down: fill free memory with a file's pages before each run")
    a = p.parse_args()
    if a.live:
        kernels, variants = a.kernels.split(","), a.live.split(",")
        if not set(variants) <= set(live_sets.NAMED):
            p.error(f"--live {a.live}: expected off, on or off,on")
        how = (a.size, a.live_every, a.rounds, a.times, a.dir, kernels, variants)
        return print("\n".join(live_sets.table(run, *how)))
    if a.plan:
        return plan_gaps.table(run, a.size, a.plan, a.rounds, a.times, a.dir, a.kernels.split(","))
    if a.live_bytes:
        lines = live_sets.bytes_table(run, a.size, a.live_every, a.times, a.dir, a.kernels.split(","))
        return live_sets.write(lines) if a.write else None
    out = {"limits": limits(a.dir)}
    copy = out["limits"]["copy_GB_s"]
    print("limits:", out["limits"])
    print("\n| program | checkpoint | pages | MB | stop ms | limit ms (1.5 x copy + 5) | write ms |\n|---|---|---|---|---|---|---|")
    ok, ok_changing = [], []

    def limit(c):
        return 1.5 * c["dirty_pages"] * 4096 / copy / 1e6 + 5

    def rows(name, report, ok=ok):
        done = report["checkpoints"]
        later = sorted(done[1:], key=lambda c: c["stop_s"])
        pick = [("first", done[0])]
        if later:
            pick += [("median of the others", later[len(later) // 2]), ("worst", max(done, key=lambda c: c["stop_s"] * 1e3 / limit(c)))]
        for label, c in pick:
            print(f"| {name} | {label} | {c['dirty_pages']} | {c['bytes'] / 1e6:.1f} | {c['stop_s'] * 1e3:.1f} | {limit(c):.1f} | {c['write_s'] * 1e3:.1f} |", flush=True)
        ok.extend(c["stop_s"] * 1e3 <= limit(c) for c in done)
        out.setdefault("checkpoints", {})[name] = done

    kernels = {k: build(f"npb/{k}.c") for k in a.kernels.split(",")}
    for k, exe in kernels.items():
        rows(f"{k.upper()}.{a.size}", run([exe, a.size], "200ms", directory=a.dir)[2])
    dirty = build("ckpt/dirty.c")
    for percent in [1, 10, 100] if a.gib else []:
        # Long enough for several checkpoints after the first that has everything, whose writing takes seconds.
        seconds = str(int(5 + 5 * a.gib))
        rows(f"{a.gib:g} GiB, {percent} %", run([dirty, str(int(a.gib * 1024)), str(percent), "1", seconds], "1s", directory=a.dir)[2])
    for what, row in [("pages", "4096"), ("pieces of 4 MiB", str(4 << 20))] if a.gib else []:
        report = run([dirty, str(int(a.gib * 1024)), "1", "1", seconds, str(int(5 + a.gib)), row], "1s", directory=a.dir)[2]
        rows(f"{a.gib:g} GiB, 100 %, then {what}, 1 %", report, ok_changing)
    print(f"\ncheckpoints within the limit: {sum(ok)} of {len(ok)}; of the last two programs {sum(ok_changing)} of {len(ok_changing)}")

    if a.rounds:
        holes = as_large_as_memory(a.dir) if a.full_memory else None
        cases = [(i, copy) for i in a.intervals.split(",") for copy in a.copy.split(",")]
        print("\nSlow-down: median [least, most] of the rounds' ratios; seconds of the CPUs in the kernel, median")
        print("\n| program | without s, kernel s | " + " | ".join(f"every {i} s, {copy}" for i, copy in cases) + " |")
        print("|---" * (2 + len(cases)) + "|")
        for k in kernels:
            exe = build(f"npb/{k}.c", *([f"-DTIMES={a.times}"] if a.times > 1 else []))
            took = {case: [] for case in [None, *cases]}
            for _ in range(a.rounds):
                for case in took:
                    if holes:
                        fill(holes)
                    interval, extra = (case[0] + "s", {"PROMP_CKPT_COPY": case[1]}) if case else (None, None)
                    took[case].append(run([exe, a.size], interval, extra=extra, directory=a.dir)[:2])
            out.setdefault("slowdown", {})[k] = {"alone" if c is None else " ".join(c): t for c, t in took.items()}
            kernel = {case: statistics.median(t[1] for t in times) for case, times in took.items()}
            cells = []
            for case in cases:
                ratios = sorted(with_[0] / without[0] for with_, without in zip(took[case], took[None]))
                cells.append(f"{statistics.median(ratios):.3f} [{ratios[0]:.2f}, {ratios[-1]:.2f}], {kernel[case]:.1f}")
            print(f"| {k.upper()}.{a.size} | {statistics.median(t[0] for t in took[None]):.2f}, {kernel[None]:.1f} | " + " | ".join(cells) + " |", flush=True)

    print("\n| program | rollback ms (median) |\n|---|---|")
    for k, exe in kernels.items():
        r = run([exe, a.size], "200ms", extra={"PROMP_FAULT": "kill@mtbf=150ms,count=10"}, directory=a.dir)[2]
        took = [f["recovery_s"] * 1e3 for f in r["failures"] if f["recovery"] == "rollback"]
        if took:
            print(f"| {k.upper()}.{a.size} | {statistics.median(took):.1f} |")
    print("\n| program | CRIU: frozen ms | in all ms | MB |\n|---|---|---|---|")
    for k, exe in kernels.items():
        got = criu(a.criu, [exe, a.size], a.dir)
        cells = got if isinstance(got, str) else "{:.1f} | {:.1f} | {:.1f}".format(got[0] * 1e3, got[1] * 1e3, got[2] / 1e6)
        print(f"| {k.upper()}.{a.size} | {cells} |", flush=True)
        out.setdefault("criu", {})[k] = got
    if a.json:
        json.dump(out, open(a.json, "w"), indent=1)


main()
