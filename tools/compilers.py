#!/usr/bin/env python3
"""Programs of newer compilers under promp and under their own libgomp.

    tools/compilers.py [--gcc 14,16,17] [--threads 1,2,4,8] [--kills N] [--only GLOB] [--dir DIR]

Makes Debian systems with these compilers in DIR (target/compilers; as root, with mmdebstrap): trixie for
GCC 14, sid for GCC 16 and for 17, which is the package gcc-snapshot. Builds this project's test programs in them,
runs each under the compiler's own libgomp and under promp, and compares status and output. Then kills threads in
kernels of GCC 17.
Exit status 1 if anything differs, 77 if the systems cannot be made here.
"""
import argparse
import fnmatch
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOME = ROOT / "target/compilers"
SNAPSHOT = "/usr/lib/gcc-snapshot"
# GCC's version: Debian's suite, packages, folder of its programs, suffix of their names, its libraries.
COMPILERS = {
    "14": ("trixie", ["gcc-14", "g++-14", "gfortran-14"], "/usr/bin", "-14", ""),
    "16": ("sid", ["gcc-16", "g++-16", "gfortran-16"], "/usr/bin", "-16", ""),
    "17": ("sid", ["gcc-snapshot"], SNAPSHOT + "/bin", "", SNAPSHOT + "/lib"),
}
MIRROR = "http://deb.debian.org/debian"
DRIVERS = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran"}
# What is not the same from run to run, or is about the machine.
LEFT_OUT = {"newer/routines.c", "constructs/icvs.c"}
# Errors that libgomp answers with failed assertions where they are compiled in.
LEFT_OUT |= {"constructs/openacc_api.c"}
FOLDERS = ["constructs", "npb", "newer"]
MORE = ["ft/reduction.c", "ft/nested.c", "ft/wavefront.c", "ft/jacobi.c", "ft/tasktree.c", "ft/atomics.c"]
VARIES = re.compile(r"time|second|mop|/s\b", re.I)


def make_systems(home, wanted):
    """The systems that are not there yet; False with a message if they cannot be made."""
    missing = {}
    for v in wanted:
        suite, packages, bin_, suffix, _ = COMPILERS[v]
        if not (home / suite / (bin_ + "/gcc" + suffix).lstrip("/")).exists():
            missing.setdefault(suite, set()).update(packages)
    if missing and (os.geteuid() != 0 or not shutil.which("mmdebstrap")):
        print(f"compilers: {', '.join(missing)} of Debian cannot be made: needs root and mmdebstrap")
        return False
    for suite, packages in missing.items():
        if (home / suite).exists():
            print(f"compilers: {home / suite} lacks some of {', '.join(sorted(packages))}; remove it")
            return False
        # All of a suite's compilers at once: the systems are kept.
        every = {p for s, ps, *_ in COMPILERS.values() if s == suite for p in ps}
        every = sorted(every | {"libc6-dev", "make"})
        print(f"compilers: making {suite} with {', '.join(every)}", flush=True)
        home.mkdir(parents=True, exist_ok=True)
        command = ["mmdebstrap", "--variant=minbase", '--aptopt=Acquire::Check-Valid-Until "false"',
                   "--include=" + ",".join(every), suite, str(home / suite), MIRROR]
        with open(home / (suite + ".log"), "w") as log:
            if subprocess.run(command, stdout=log, stderr=log).returncode != 0:
                print(f"compilers: {suite} cannot be made; see {log.name}")
                return False
    return True


def own_mounts():
    """Goes on in a mount namespace of its own: what a System mounts is gone with this program."""
    if os.geteuid() == 0 and "PROMP_OWN_MOUNTS" not in os.environ:
        os.environ["PROMP_OWN_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])


def mount_inside(root):
    """What programs in the system at `root` look for."""
    for folder, kind in [("proc", ["-t", "proc"]), ("sys", ["--rbind"]), ("dev", ["--rbind"])]:
        if not any((root / folder / name).exists() for name in ["self", "kernel", "fd"]):
            subprocess.run(["mount", *kind, "/" + folder, str(root / folder)], check=True)


class System:
    """A compiler in its system."""

    def __init__(self, home, version):
        suite, _, self.bin, self.suffix, self.libraries = COMPILERS[version]
        self.version, self.root = version, home / suite
        mount_inside(self.root)
        self.here = self.root / "promp"
        for folder in ["c-tests", "include"]:
            shutil.copytree(ROOT / folder, self.here / folder, dirs_exist_ok=True)
        self.out = self.here / ("gcc" + version)
        self.out.mkdir(exist_ok=True)
        # A new file: programs may run with the old one.
        (self.out / "libpromp.so").unlink(missing_ok=True)
        shutil.copy(ROOT / "target/release/libpromp.so", self.out)
        self.library = f"/promp/gcc{version}/libpromp.so"

    def command(self, command, env, folder="/"):
        """The command that runs `command` inside, in `folder`."""
        whole = {"PATH": self.bin + ":/usr/bin:/bin", "HOME": "/tmp", **env}
        if self.libraries:
            whole["LD_LIBRARY_PATH"] = self.libraries
        sets = [f"{k}={v}" for k, v in whole.items()]
        return ["chroot", str(self.root), "/usr/bin/env", "-i", "-C", folder, *sets, *command]

    def run(self, command, env, limit):
        """(status, output, messages) of a command inside; None where it takes too long."""
        try:
            done = subprocess.run(self.command(command, env), stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=limit)
        except subprocess.TimeoutExpired:
            return None
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def build(self, source, flags=()):
        """The program's path inside, or None with a message."""
        name = re.sub(r"\W", "_", source + "".join(flags))
        driver = DRIVERS[pathlib.Path(source).suffix]
        fortran = ["-cpp", "-J", f"/promp/gcc{self.version}"] if driver == "gfortran" else []
        exe = f"/promp/gcc{self.version}/{name}"
        command = [f"{self.bin}/{driver}{self.suffix}", "-O2", "-fopenmp", "-foffload=disable", "-w",
                   *flags, *fortran, "-I/promp/include", "-o", exe, f"/promp/c-tests/{source}", "-lm", "-lpthread", "-ldl"]
        done = self.run(command, {}, 300)
        if done is None or done[0] != 0:
            print(f"gcc {self.version}: {source} does not compile: {done and done[2][-300:]}")
            return None
        return exe


def kept(text):
    """The lines of an output that must be the same."""
    return [line for line in text.splitlines() if not VARIES.search(line)]


def programs(only):
    """Sources of the test programs."""
    found = [f"{d}/{p.name}" for d in FOLDERS for p in sorted((ROOT / "c-tests" / d).iterdir())
             if p.suffix in DRIVERS]
    return [s for s in found + MORE if s not in LEFT_OUT and fnmatch.fnmatch(s, only)]


def compare(system, threads, only):
    """Numbers of runs that were the same and that were not."""
    same, differ = 0, 0
    for source in programs(only):
        flags = ["-fopenacc"] if "openacc" in source else []
        # The calls that only GCC 17's libgomp has.
        if source == "newer/dealt.c" and system.version != "17":
            continue
        exe = system.build(source, flags)
        if exe is None:
            differ += 1
            continue
        command = [exe] + (["S"] if source.startswith("npb/") else [])
        for n in threads:
            env = {"OMP_NUM_THREADS": n}
            # Passive: with more threads than processors libgomp's would look for each other for minutes.
            own = {**env, "OMP_WAIT_POLICY": "passive"}
            want = system.run(command, own, 300)
            got = system.run(command, {**env, "LD_PRELOAD": system.library}, 300)
            if want and got and want[0] == got[0] and kept(want[1]) == kept(got[1]):
                same += 1
                continue
            again = system.run(command, own, 300)
            if want and again and kept(want[1]) != kept(again[1]):
                print(f"gcc {system.version}: {source}, {n} threads: libgomp's own runs differ; left out")
                continue
            differ += 1
            print(f"gcc {system.version}: {source}, {n} threads: {want and want[0]} under libgomp, "
                  f"{got and got[0]} under promp {got and (got[2] or got[1])[-300:]!r}", flush=True)
    return same, differ


def kill(system, samples):
    """Threads die in kernels with static loops: the same output, or a refusal."""
    tally = {"same": 0, "refused": 0, "wrong": 0, "not struck": 0}
    random.seed(1)
    for kernel in ["npb/cg.c", "npb/mg.c", "npb/ft.c", "newer/dealt.c"]:
        exe = system.build(kernel)
        command = [exe] + (["S"] if kernel.startswith("npb") else [])
        want = system.run(command, {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"}, 300)
        for _ in range(samples):
            delay = random.choice(["0", "20us", "100us", "400us", "1500us"])
            fault = f"kill@thread={random.randrange(4)},region={random.randint(1, 9)}," \
                    f"at={random.choice(['chunk', 'barrier'])},nth={random.randint(1, 6)},delay={delay}"
            env = {"OMP_NUM_THREADS": "4", "LD_PRELOAD": system.library, "PROMP_REPLAY": "assume",
                   "PROMP_FAULT": fault}
            got = system.run(command, env, 300)
            if got and got[0] == 70 and "failed (" in got[2]:
                tally["refused"] += 1
            elif got and got[0] == want[0] and kept(got[1]) == kept(want[1]):
                tally["same" if "failed (" in got[2] else "not struck"] += 1
            else:
                tally["wrong"] += 1
                print(f"gcc {system.version}: {kernel}, {fault}: {got}")
    print(f"gcc {system.version}, killed threads: " + ", ".join(f"{n} {what}" for what, n in tally.items()))
    return tally["wrong"]


def main():
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--dir", type=pathlib.Path, default=HOME)
    options.add_argument("--gcc", default="14,16,17")
    options.add_argument("--threads", default="1,2,4,8")
    options.add_argument("--only", default="*")
    options.add_argument("--kills", type=int, default=20)
    given = options.parse_args()
    own_mounts()
    versions = given.gcc.split(",")
    if not make_systems(given.dir, versions):
        return 77
    failures = 0
    for version in versions:
        system = System(given.dir, version)
        same, differ = compare(system, given.threads.split(","), given.only)
        print(f"gcc {version}: {same} runs the same under promp, {differ} not", flush=True)
        failures += differ
        if version == "17" and given.kills:
            failures += kill(system, given.kills)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
