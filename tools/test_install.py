#!/usr/bin/env python3
"""Installs the packages in clean Debian systems, and uses what they bring.

    tools/test_install.py [--dir DIR] [--suites bookworm,trixie]

Makes the systems in DIR (target/roots; as root, with mmdebstrap), without Rust. In each: the binary tarball,
the wheel and the Debian packages, which are made before. tools/install_checks.sh is what is checked. A
plugin for another GCC is made from what is installed. Exit status 1 if anything fails, 77 if the systems
cannot be made here.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

from compilers import MIRROR, own_mounts
from packing import archives, debs, listing, wheel

ROOT = listing.ROOT
COMMON = ["make", "cmake", "pkgconf", "python3-venv", "man-db", "bash-completion", "environment-modules",
          "binutils", "gcc", "libc6-dev"]
SUITES = {"bookworm": [], "trixie": ["g++-14", "gcc-14-plugin-dev"]}


def system(home: pathlib.Path, suite: str) -> pathlib.Path:
    """A Debian system; made if it is not there yet."""
    root = home / suite
    if not (root / "usr/bin/gcc").exists():
        home.mkdir(parents=True, exist_ok=True)
        print(f"making {root}", flush=True)
        subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", "--include=" +
                        ",".join(COMMON + SUITES[suite]), suite, root, MIRROR], check=True)
    return root


def inside(root: pathlib.Path, *command: str) -> bool:
    """Runs a command in the system; prints what it says if it fails."""
    clean = ["/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/root"]
    done = subprocess.run(["chroot", root, *clean, *command], capture_output=True, text=True, timeout=600)
    output = done.stdout + done.stderr
    if done.returncode or "FAIL" in output or "ok " in output:
        print(output.strip(), flush=True)
    return done.returncode == 0 and "FAIL" not in output


def checks(suite: str, root: pathlib.Path) -> bool:
    """Each way to install, one after the other."""
    for folder, kind in [("proc", ["-t", "proc"]), ("sys", ["--rbind"]), ("dev", ["--rbind"])]:
        subprocess.run(["mount", *kind, "/" + folder, root / folder], check=True)
    here = root / "promp-test"
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(ROOT / "c-tests/install", here / "cmake")
    shutil.copy(here / "cmake/regions.c", here)
    shutil.copy(ROOT / "tools/install_checks.sh", here)
    for file in archives.OUT.iterdir():
        shutil.copy(file, here)
    text = (here / "cmake/CMakeLists.txt").read_text().replace(" C Fortran", " C")
    (here / "cmake/CMakeLists.txt").write_text(text.split("add_executable(fortran")[0])
    version, fine = listing.version(), True
    folder = f"/opt/promp-{version}-x86_64-linux"
    for way, steps in [
        ("tarball", [f"tar -C /opt -xf /promp-test/promp-{version}-x86_64-linux.tar.gz"]
         + ([f"make -s -j2 -C {folder}/lib/promp/plugin GCC=gcc-14"] if suite != "bookworm" else [])
         + [f"sh /promp-test/install_checks.sh {folder}"]),
        ("wheel", ["python3 -m venv --clear /opt/venv", "/opt/venv/bin/pip -q install /promp-test/*.whl",
                   "cd /tmp && echo 'import promp; promp.checkpoint(); print(promp.stats())' > s.py",
                   "cd /tmp && /opt/venv/bin/python -m promp run s.py | grep regions",
                   "cd /tmp && /opt/venv/bin/python s.py | grep None",
                   "cd /tmp && gcc -fopenmp /promp-test/regions.c -o r",
                   "cd /tmp && OMP_NUM_THREADS=4 /opt/venv/bin/promp run --replay assume --fault "
                   "kill@thread=1,region=20 ./r 2>&1 | grep 'thread 1 failed'"]),
        ("deb", ["dpkg -i /promp-test/libpromp0*.deb /promp-test/promp_*.deb /promp-test/promp-dev*.deb"]
         + (["dpkg -i /promp-test/promp-cc-*.deb"] if suite == "bookworm" else
            ["make -s -j2 -C /usr/lib/x86_64-linux-gnu/promp/plugin GCC=gcc-14"])
         + ["sh /promp-test/install_checks.sh /usr", "dpkg -P promp-cc-12 promp-dev promp libpromp0"]),
    ]:
        done = all(inside(root, "sh", "-c", step) or print(f"     in: {step}") for step in steps)
        print(f"{suite}, {way}: {'works' if done else 'FAILS'}", flush=True)
        fine = fine and done
    return fine


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--dir", type=pathlib.Path, default=ROOT / "target/roots")
    options.add_argument("--suites", default=",".join(SUITES))
    given = options.parse_args()
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        print("test_install: needs root and mmdebstrap")
        return 77
    own_mounts()
    archives.binary()
    debs.build()
    wheel.build()
    results = [checks(suite, system(given.dir, suite)) for suite in given.suites.split(",")]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
