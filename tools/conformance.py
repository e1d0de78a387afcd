#!/usr/bin/env python3
"""GCC's own libgomp test suite under libgomp and under promp.

    tools/conformance.py fetch DIR [--package gcc-16 --suite sid]
                                                download and unpack the suite of Debian's gcc-12 source
                                                package into DIR
    tools/conformance.py build DIR [-j N] [--drivers FOLDER] [--devices]
                                                build its run-type tests for C, C++ and Fortran; with --drivers by the promp-cc,
                                                promp-c++ and promp-fc found there, OpenMP only, as programs that any runtime can run
    (with --devices: those with device constructs, for a device with memory of its own)
    tools/conformance.py run DIR NAME [--preload LIB] [--env K=V ...] [-j N] [--timeout S]
                                                [--only GLOB] [--driven] [--devices]
                                                build and run: with --gcc 14, 16 or 17 by and with that
                                                compiler in its Debian system (tools/compilers.py), in which
                                                DIR must lie; libgomp is its own
    tools/conformance.py table DIR REFERENCE NAME...   compare runs, as Markdown
    tools/conformance.py devices DIR REFERENCE NAME... the same for runs of the tests with device constructs

Nothing of the suite becomes part of this project: it is unpacked outside the tree.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import compilers

FORTRAN = (".f90", ".f", ".F90", ".F", ".f95", ".f03", ".f08")
OPENMP = ["-fopenmp", "-foffload=disable"]
# OpenACC on the host, as GCC's own test driver builds it where there is no device.
OPENACC = ["-fopenacc", "-foffload=disable", "-DACC_DEVICE_TYPE_host=1", "-DACC_MEM_SHARED=1"]
SUBSUITES = [
    ("libgomp.c", "gcc", (".c",), OPENMP),
    ("libgomp.c-c++-common", "gcc", (".c",), OPENMP),
    ("libgomp.c++", "g++", (".C", ".c"), OPENMP),
    ("libgomp.fortran", "gfortran", FORTRAN, OPENMP),
    ("libgomp.oacc-c", "gcc", (".c",), OPENACC),
    ("libgomp.oacc-c-c++-common", "gcc", (".c",), OPENACC),
    ("libgomp.oacc-c++", "g++", (".C", ".c"), OPENACC),
    ("libgomp.oacc-fortran", "gfortran", FORTRAN, OPENACC),
]
# OpenACC where the device has memory of its own. Functions of the host run there, so no type of device
# is named.
OPENACC_DEVICE = ["-fopenacc", "-foffload=disable", "-DACC_MEM_SHARED=0"]
DEVICE_CONSTRUCTS = (
    r"(#\s*pragma\s+omp|!\$omp)\s+[^\n]*\btarget\b|omp_target_|device_num|num_devices|initial_device"
)
DRIVERS = {"gcc": "promp-cc", "g++": "promp-c++", "gfortran": "promp-fc"}
UNSUPPORTED = r"offload_device|nvptx|gcn|vect_simd|avx512|cuda|ia32|sync_int_long_stack|openacc_(nvidia|radeon)"


def fetch(a):
    folder = os.path.abspath(a.dir)
    tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "debian_source.sh")
    subprocess.run([tool, "--only", "*/gcc-*.tar.xz", "--suite", a.suite, folder, a.package], check=True)
    inner = glob.glob(f"{folder}/{a.package}/gcc-*.tar.xz")[0]
    subprocess.run(["tar", "xJf", inner, "--wildcards", "*/libgomp/testsuite/*"], cwd=folder, check=True)
    os.unlink(inner)


def words(text):
    return re.findall(r'"((?:[^"\\]|\\.)*)"', text)


def plan(suite, devices=False):
    """The tests that DejaGnu would run here, with their options, as dictionaries."""
    tests = []
    for sub, compiler, extensions, always in SUBSUITES:
        if devices and always is OPENACC:
            always = OPENACC_DEVICE
        base = os.path.join(suite, sub)
        for root, _, files in os.walk(base):
            for f in sorted(files):
                if f.endswith(extensions):
                    t = one(os.path.join(root, f), base, sub, compiler, always, devices)
                    if t:
                        tests.append(t)
    return tests


def one(path, base, sub, compiler, always, devices):
    text = open(path, errors="replace").read()
    if always is OPENMP and devices and not re.search(DEVICE_CONSTRUCTS, text, re.I):
        return None
    own_memory = re.sub(r"^offload_device", "offload_device_shared", UNSUPPORTED)
    unsupported = own_memory if devices else UNSUPPORTED
    openacc = "-fopenacc" in always
    t = dict(name=sub + "/" + os.path.relpath(path, base), cc=compiler, opts=["-O2", *always], srcs=[path],
             env={"ACC_DEVICE_TYPE": "host"} if always is OPENACC else {}, openacc=openacc,
             fail=False, skip=None, dir=os.path.dirname(path))
    kind = "run"
    for d, arg in re.findall(r"\{\s*(dg-[a-z-]+)\s+(.*)\}\s*(?:\*/)?\s*$", text, re.M):
        if d == "dg-do":
            kind = arg.split()[0]
            if openacc and re.search(unsupported, arg):
                t["skip"] = arg
            if "xfail" in arg:
                t["skip"] = "xfail"
        elif d == "dg-options" and "target" not in arg:
            t["opts"] = always + (words(arg)[0].split() if words(arg) else [])
        elif d == "dg-additional-options":
            other_target = "target" in arg and not re.search(r"x86|i\?86|native|pthread|fopenmp", arg)
            if not other_target and "offload" not in arg and words(arg):
                t["opts"] += words(arg)[0].split()
        elif d == "dg-additional-sources":
            names = (words(arg)[0] if words(arg) else arg.split("{")[0]).split()
            t["srcs"] += [os.path.join(t["dir"], n.strip('"')) for n in names]
        elif d == "dg-set-target-env-var":
            w = arg.replace('"', " ").split()
            if len(w) >= 2:
                t["env"][w[0]] = w[1]
        elif d == "dg-shouldfail":
            t["fail"] = True
        elif d == "dg-skip-if" and always is OPENACC and re.search(r"ACC_MEM_SHARED=|DEVICE_TYPE_", arg):
            t["skip"] = "wants a device with its own memory"
        elif d == "dg-skip-if" and devices and "ACC_MEM_SHARED=0" in arg:
            t["skip"] = "wants the host's memory"
        elif d == "dg-require-effective-target" and re.search(unsupported, arg):
            t["skip"] = arg
    return t if kind == "run" else None


class Here:
    """The machine itself."""

    drivers = {"gcc": "gcc", "g++": "g++", "gfortran": "gfortran"}

    def inside(self, path):
        return os.path.abspath(path)

    def command(self, command, env, folder):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "PROMP_", "LD_"))}
        return ["env", "-i", "-C", folder, *(f"{k}={v}" for k, v in {**keep, **env}.items()), *command]


class There:
    """A newer compiler in its Debian system."""

    def __init__(self, version):
        compilers.own_mounts()
        self.system = compilers.System(compilers.HOME, version)
        self.drivers = {n: f"{self.system.bin}/{n}{self.system.suffix}" for n in Here.drivers}
        self.command = self.system.command

    def inside(self, path):
        """How the file is called there."""
        return "/" + str(pathlib.Path(path).resolve().relative_to(self.system.root.resolve()))


def place(a):
    return There(a.gcc) if a.gcc else Here()


def names(a, what):
    """A file of this compiler's among those of others."""
    return os.path.join(a.dir, (f"gcc{a.gcc}-" if a.gcc else "") + what)


def kind(a):
    return "-driven" if a.drivers else "-devices" if a.devices else ""


def build(a):
    suites = glob.glob(a.dir + "/*/libgomp/testsuite")
    if not suites:
        sys.exit(f"{a.dir}: no libgomp/testsuite; run `fetch` first")
    there = place(a)
    bin = names(a, "bin" + kind(a))
    os.makedirs(bin, exist_ok=True)

    def make(t):
        if t["skip"] or a.drivers and "-fopenacc" in t["opts"]:
            return t, "skipped"
        exe = t["exe"] = os.path.abspath(os.path.join(bin, t["name"].replace("/", "__")))
        if os.path.exists(exe):
            return t, "built"
        work = exe + ".dir"
        os.makedirs(work, exist_ok=True)
        compiler = [there.drivers[t["cc"]]]
        if a.drivers:
            compiler = [os.path.join(os.path.abspath(a.drivers), DRIVERS[t["cc"]]), "-fno-promp-runtime"]
        modules = ["-J", there.inside(work)] if t["cc"] == "gfortran" else []
        cmd = [*compiler, *t["opts"], *modules, "-I", there.inside(t["dir"]), "-w", "-o", there.inside(exe)]
        cmd += [there.inside(s) if os.path.exists(s) else s for s in t["srcs"]] + ["-lm"]
        try:
            r = subprocess.run(there.command(cmd, {}, there.inside(work)), capture_output=True, timeout=1800)
        except subprocess.TimeoutExpired:
            return t, "compiler timed out"
        if r.returncode and a.drivers:
            print(t["name"], r.stderr.decode(errors="replace")[-300:])
        return t, "built" if r.returncode == 0 else "does not build here"

    with concurrent.futures.ThreadPoolExecutor(a.j) as pool:
        done = list(pool.map(make, [t for t in plan(suites[0], a.devices) if fnmatch.fnmatch(t["name"], a.only)]))
    with open(names(a, f"tests{kind(a)}.json"), "w") as f:
        json.dump([t for t, s in done if s == "built"], f)
    print(dict(collections.Counter(s for _, s in done)))


def run(a):
    tests = json.load(open(names(a, f"tests{kind(a)}.json")))
    if a.only:
        tests = [t for t in tests if fnmatch.fnmatch(t["name"], a.only)]
    there = place(a)
    count = [0]

    def go(t):
        env = dict(kv.split("=", 1) for kv in a.env)
        env.update(t["env"])
        if a.preload:
            env["LD_PRELOAD"] = there.inside(a.preload)
        work = t["exe"] + ".dir"
        os.makedirs(work, exist_ok=True)
        start = time.time()
        try:
            command = there.command([there.inside(t["exe"])], env, there.inside(work))
            r = subprocess.run(command, capture_output=True, timeout=a.timeout, stdin=subprocess.DEVNULL)
            good = (r.returncode != 0) == t["fail"]
            result = "PASS" if good else f"FAIL {r.returncode}"
        except subprocess.TimeoutExpired:
            result = "TIMEOUT"
        count[0] += 1
        if sys.stderr.isatty():
            print(f"\r{a.name}: {count[0]}/{len(tests)}", end="", file=sys.stderr)
        return t["name"], result, time.time() - start

    with concurrent.futures.ThreadPoolExecutor(a.j) as pool:
        results = list(pool.map(go, tests))
    with open(names(a, a.name + ".tsv"), "w") as f:
        f.writelines(f"{n}\t{r}\t{s:.2f}\n" for n, r, s in results)
    print(f"{a.name}: {sum(r == 'PASS' for _, r, _ in results)} of {len(results)} pass")


# Why libgomp itself does not pass a test on a machine without a device.
WHY = [
    ("libgomp.c++/target-*", "wants a device with memory of its own (`offload_device_nonshared_as`)"),
    ("*/struct-elem-5.c", "wants a device with memory of its own (`offload_device_nonshared_as`)"),
    ("*/declare-variant-3-sm30.c", "wants an NVIDIA device"),
    ("*/pr104783*", "the compiled code itself crashes at its first access, whatever the runtime (GCC bug 104783)"),
    ("libgomp.fortran/target-*", "without the `-DMEM_SHARED` of a host that counts as a device, it expects a copy of the data"),
    ("libgomp.oacc*/deep-copy-*", "wants a device with memory of its own: asks that data is not present"),
    ("*/gang-reduction-var-assignment.c", "expected to fail on the host (`dg-xfail-run-if`, GCC bug 88852)"),
    ("*/insufficient-resources.c", "must fail on NVIDIA devices only (`dg-shouldfail`)"),
    ("*/vector-length-64-2.c", "must fail on NVIDIA devices only (`dg-shouldfail`)"),
    ("*/stop-[13].f", "must fail on devices only (`dg-shouldfail`)"),
]


# The same for tests on a device with memory of its own that runs the host's functions.
HOST_CODE = "the code that runs is the host's"
WHY_DEVICES = [
    ("*/address-space-1.c", "the host's code uses the variable, which is at no address of the program"),
    ("*/declare-variant-2.c", "the host's code has `kind(host)`, but is not on the initial device"),
    ("*/declare_target-2.C", "variables of `declare target` are the host's"),
    ("*/target-link-1.c", "variables of `declare target` are the host's"),
    ("*acc*on_device*", HOST_CODE + ": GCC has answered `acc_on_device` for the host"),
    ("*acc-on-device*", HOST_CODE + ": GCC has answered `acc_on_device` for the host"),
    ("*/if-1.*", HOST_CODE + ": GCC has answered `acc_on_device` for the host"),
    ("*/routine-nohost-1.f90", HOST_CODE + ": GCC has answered `acc_on_device` for the host"),
    ("*/stop-[13].f", "must fail on GPUs only: " + HOST_CODE),
    ("*/acc_get_property*", "wants the device to be the host, or one of a maker's"),
    ("*/acc_prof-*", "wants a device that is programmed by CUDA"),
    ("*/subset-subarray-mappings-2.c", "wants events of device memory, which are a GPU's plugin's"),
    ("*/declare-5.f90", "common blocks: expected to fail (`dg-xfail-run-if`, GCC bug 92790)"),
    ("*/no_create-5.c", "expected to fail (`dg-xfail-run-if`)"),
    ("*/struct-3-1-1.c", "must be refused, and is"),
    ("*reduction*", "gangs: " + HOST_CODE + ", which has one"),
    ("*/firstprivate-1.*", "gangs: " + HOST_CODE + ", which has one"),
    ("*/private-atomic-1-gang.c", "gangs: " + HOST_CODE + ", which has one"),
    ("*/insufficient-resources.c", "must fail on NVIDIA devices only (`dg-shouldfail`)"),
    ("*/vector-length-64-2.c", "must fail on NVIDIA devices only (`dg-shouldfail`)"),
    ("*async_target-2*", "asks for more than one team or thread of the device's own"),
]


def devices(a):
    """What *separate* does not pass, and why; beside libgomp with a plugin whose device runs functions of
    the host."""
    load = lambda n: dict(line.split("\t")[:2] for line in open(f"{a.dir}/{n}.tsv"))
    ref, runs = load(a.reference), {n: load(n) for n in a.names}
    print("Tests with device constructs on a device with memory of its own:\n")
    print("| run | pass | of | passes that libgomp has and it has not |\n|---|---|---|---|")
    for n, r in {a.reference: ref, **runs}.items():
        lost = sorted(k for k in r if ref.get(k) == "PASS" and r[k] != "PASS")
        print(f"| {n} | {sum(v == 'PASS' for v in r.values())} | {len(r)} | {', '.join(lost) or 'none'} |")
    print(f"\n| test that promp does not pass | {a.reference} | promp, all runs | why |\n|---|---|---|---|")
    for k in sorted(set().union(*runs.values())):
        got = sorted({r.get(k, "-") for r in runs.values()})
        if got != ["PASS"]:
            why = next((w for pattern, w in WHY_DEVICES if fnmatch.fnmatch(k, pattern)), "")
            print(f"| {k} | {ref.get(k, '-')} | {', '.join(got)} | {why} |")


def table(a):
    load = lambda n: dict(line.split("\t")[:2] for line in open(names(a, n + ".tsv")))
    runs = {n: load(n) for n in [a.reference, *a.names]}
    ref = runs[a.reference]
    print("| run | pass | of | passes that libgomp has and it has not |\n|---|---|---|---|")
    for n, r in runs.items():
        lost = sorted(k for k in r if ref.get(k) == "PASS" and r[k] != "PASS")
        print(f"| {n} | {sum(v == 'PASS' for v in r.values())} | {len(r)} | {', '.join(lost) or 'none'} |")
    print(f"\nTests that {a.reference} itself does not pass here (exit status, or minus the signal):\n")
    print(f"| test | {a.reference} | promp, all runs | why |\n|---|---|---|---|")
    for k in sorted(ref):
        if ref[k] != "PASS":
            got = sorted({runs[n].get(k, "-") for n in a.names})
            why = next((w for pattern, w in WHY if fnmatch.fnmatch(k, pattern)), "")
            print(f"| {k} | {ref[k]} | {', '.join(got)} | {why} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    s = p.add_subparsers(required=True)
    c = s.add_parser("fetch"); c.add_argument("dir"); c.set_defaults(do=fetch)
    c.add_argument("--package", default="gcc-12"); c.add_argument("--suite", default="bookworm")
    c = s.add_parser("build"); c.add_argument("dir"); c.add_argument("-j", type=int, default=os.cpu_count())
    c.add_argument("--drivers"); c.add_argument("--gcc"); c.add_argument("--only", default="*")
    c.add_argument("--devices", action="store_true"); c.set_defaults(do=build)
    c = s.add_parser("run"); c.add_argument("dir"); c.add_argument("name"); c.add_argument("--preload")
    c.add_argument("--env", action="append", default=[]); c.add_argument("-j", type=int, default=os.cpu_count())
    c.add_argument("--timeout", type=float, default=60); c.add_argument("--only"); c.add_argument("--driven", action="store_true", dest="drivers")
    c.add_argument("--devices", action="store_true")
    c.add_argument("--gcc"); c.set_defaults(do=run)
    c = s.add_parser("table"); c.add_argument("dir"); c.add_argument("reference"); c.add_argument("names", nargs="+")
    c.add_argument("--gcc"); c.set_defaults(do=table)
    c = s.add_parser("devices"); c.add_argument("dir"); c.add_argument("reference")
    c.add_argument("names", nargs="+"); c.set_defaults(do=devices)
    a = p.parse_args()
    a.do(a)


main()
