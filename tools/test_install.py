#!/usr/bin/env python3
"""Installs the packages in clean Debian systems, and uses what they bring: a table with a row a check.

    tools/test_install.py [--dir DIR] [--systems bookworm,trixie] [--ways tarball,make,wheel,deb,source]

Makes the systems in DIR (target/roots; as root, with mmdebstrap), without Rust. In each, without a network:
the binary tarball, `make install`, the wheel and the Debian packages, which are made before; then each is
removed, and leaves nothing. tools/install_checks.sh is what is checked. Where GCC is another one than here
its plugin is made from what is installed. `source` is built here from its tarball, without a network.
What installs are the commands of docs/install.md as they stand there; from the first to a survived kill they
take less than a minute. A row is the system, the way, the check, PASS or FAIL, and why. Exit status 1 if
anything fails, 77 if the systems cannot be made here.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from compilers import MIRROR, mount_inside, own_mounts
from packing import archives, debs, listing, wheel

ROOT = listing.ROOT
COMMON = ["make", "cmake", "pkgconf", "python3-venv", "man-db", "bash-completion", "environment-modules",
          "binutils", "gcc", "libc6-dev", "lintian"]
# What else a system has, and the GCC whose plugin is made there.
SYSTEMS = {"bookworm": ([], ""), "trixie": (["g++-14", "gcc-14-plugin-dev"], "14")}
TEST = "/promp-test"
PAGE = ROOT / "docs/install.md"
# Commands of the page that are other ones here: we are root, and Debian asks nobody.
SHELL = 'sudo() { "$@"; }; apt() { DEBIAN_FRONTEND=noninteractive command apt-get -qq "$@"; }\n'
# The groups of checks (install_checks.sh) behind the first one, `run`.
ALL = "cc found pages"
# Seconds from nothing to a survived kill.
BAR = 60
# Where nothing may be left.
LOOKED_AT = ["etc", "opt", "usr"]


@dataclasses.dataclass
class Step:
    """A command of the shell, in the system or here, and what it does."""
    what: str
    command: str
    here: bool = False


@dataclasses.dataclass
class Way:
    """How something is installed where, checked and removed."""
    install: list[Step]
    prefix: str
    # What else is made, for these groups of checks.
    more: list[Step]
    groups: str
    after: list[Step]


def page(heading: str) -> str:
    """The commands below a heading of the page, in bold or a title."""
    parts = re.split(r"^(?:## |\*\*)", PAGE.read_text(), flags=re.M)
    block = next(re.search(r"^```sh\n(.*?)^```$", part, flags=re.S | re.M) for part in parts
                 if part.startswith(heading))
    return SHELL + block[1]


class Table:
    """The rows, which are printed as they come."""

    def __init__(self):
        self.passed = self.failed = 0

    def row(self, system: str, way: str, check: str, why: str) -> bool:
        """A check that has passed if there is no `why`."""
        self.passed, self.failed = self.passed + (not why), self.failed + bool(why)
        print(f"{system:9} {way:8} {check:45} {'FAIL: ' + why if why else 'PASS'}", flush=True)
        return not why


def last_words(text: str) -> str:
    """The end of what a command has said, in one line."""
    return " / ".join(text.strip().splitlines()[-3:])[-300:] or "it says nothing"


class System:
    """A Debian system in a folder."""

    def __init__(self, home: pathlib.Path, name: str):
        self.name, self.root = name, home / name
        packages, self.gcc = SYSTEMS[name]
        if not (self.root / "usr/bin/lintian").exists():
            home.mkdir(parents=True, exist_ok=True)
            print(f"making {self.root}", flush=True)
            include = "--include=" + ",".join(COMMON + packages)
            subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", include, name, self.root, MIRROR],
                           check=True)
        mount_inside(self.root)
        self.put()

    def put(self) -> None:
        """What is tested, and what tests it."""
        here = self.root / TEST.lstrip("/")
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(ROOT / "c-tests/install", here / "cmake")
        shutil.copy(here / "cmake/regions.c", here)
        shutil.copy(ROOT / "tools/install_checks.sh", here)
        for file in archives.OUT.iterdir():
            shutil.copy(file, here)
        # There is no Fortran.
        text = (here / "cmake/CMakeLists.txt").read_text().replace(" C Fortran", " C")
        (here / "cmake/CMakeLists.txt").write_text(text.split("add_executable(fortran")[0])

    def run(self, command: str) -> subprocess.CompletedProcess:
        """A command of the shell in the system."""
        clean = ["/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/root"]
        inside = ["unshare", "--net", "chroot", str(self.root), *clean, "sh", "-ec", command]
        return subprocess.run(inside, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)

    def step(self, way: str, step: Step, table: Table) -> bool:
        """One step, and its row."""
        if step.here:
            done = subprocess.run(["sh", "-ec", step.command], cwd=ROOT, capture_output=True, text=True)
        else:
            done = self.run(step.command)
        why = last_words(done.stdout + done.stderr) if done.returncode else ""
        return table.row(self.name, way, step.what, why)

    def files(self) -> set[str]:
        """What there is where packages put files."""
        found = set()
        for top in LOOKED_AT:
            for folder, folders, files in os.walk(self.root / top):
                at = os.path.relpath(folder, self.root)
                found |= {f"{at}/{name}" for name in folders + files}
        return {f for f in found if "__pycache__" not in f}

    def check(self, name: str, prefix: str, groups: str, table: Table) -> None:
        """Groups of checks, a row a check."""
        done = self.run(f"sh {TEST}/install_checks.sh {prefix} {groups}")
        for line in done.stdout.splitlines():
            check, _, why = line.partition("\t")
            table.row(self.name, name, check, why)
        if done.returncode:
            table.row(self.name, name, "all checks are made", last_words(done.stderr))

    def use(self, name: str, way: Way, table: Table) -> None:
        """Installs, checks, removes; a row each."""
        before, begin = self.files(), time.monotonic()
        if all(self.step(name, step, table) for step in way.install):
            self.check(name, way.prefix, "run", table)
            took = time.monotonic() - begin
            table.row(self.name, name, f"from nothing to that: {took:.1f} s", f"{BAR} s" * (took > BAR))
            if all(self.step(name, step, table) for step in way.more):
                self.check(name, way.prefix, way.groups, table)
        for step in way.after:
            self.step(name, step, table)
        left = sorted(self.files() - before)
        table.row(self.name, name, "nothing is left", ", ".join(left[:5]))


def by_tarball(system: System) -> Way:
    """Unpacked in somebody's home."""
    home, name = "/opt/me", f"promp-{listing.version()}-x86_64-linux"
    unpack = f"HOME={home}; . /etc/profile.d/modules.sh; cd {TEST}; {page('Tarball')} promp --version"
    prefix = f"{home}/opt/{name}"
    return Way([Step("the page's commands", unpack)], prefix, plugin(system, prefix), ALL,
               [Step("it is removed", f"rm -r {home}")])


def by_make(system: System) -> Way:
    """`make install`, from here: to /usr/local, and to a home and away again."""
    where = f"DESTDIR='{system.root}'"
    make = f"export {where}; {page('From source').replace('$HOME', '/root')}"
    return Way([Step("the page's commands", make, True)], "/usr/local", plugin(system, "/usr/local"), ALL,
               [Step("make uninstall", f"make -s uninstall {where}", True)])


def by_wheel(_: System) -> Way:
    """In an environment of Python's."""
    gone = "! find /opt/venv -name promp -o -name 'promp-*' | grep ."
    there = f"python3 -m venv /opt/venv; . /opt/venv/bin/activate; export PIP_NO_INDEX=1; cd {TEST}"
    install = f"{there}; echo 'import promp' >x.py; {page('Python')}"
    return Way([Step("the page's commands", install)], "/opt/venv", [], "python",
               [Step("pip uninstall", f"/opt/venv/bin/pip -q uninstall -y promp && {gone}"),
                Step("the environment is removed", "rm -r /opt/venv")])


def by_debs(system: System) -> Way:
    """The Debian packages."""
    own = f"promp-cc-{listing.gcc().partition('.')[0]}"
    names, install = ["libpromp0", "promp", "promp-dev", own], f"cd {TEST}; {page('Debian')}"
    if system.gcc:
        names, install = names[:3], install.replace(f"./{own}_*.deb", "")
    lintian = f"lintian --allow-root --fail-on error {TEST}/*.deb"
    make = f"make -s -j2 -C /usr/lib/x86_64-linux-gnu/promp/plugin GCC=gcc-{system.gcc}"
    more = [Step(f"the plugin for GCC {system.gcc} is made", make)] if system.gcc else []
    return Way([Step("the page's commands", install)], "/usr", [Step("lintian", lintian), *more], ALL,
               [Step("dpkg -P", "dpkg -P " + " ".join(reversed(names)))])


def plugin(system: System, prefix: str) -> list[Step]:
    """The step that makes the plugin by the page's command, where the system's GCC is another one."""
    make = page("promp-cc for another GCC").replace("PREFIX", prefix)
    return [Step(f"the plugin for GCC {system.gcc} is made", make)] if system.gcc else []


def source(table: Table) -> None:
    """The source tarball, built here without a network: it has all crates."""
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as scratch:
        subprocess.run(["tar", "-C", scratch, "--strip-components=1", "-xf", archives.source()], check=True)
        env = {**os.environ, "CARGO_HOME": scratch + "/cargo", "CARGO_PROFILE_DEV_DEBUG": "0"}
        env.pop("CARGO_TARGET_DIR", None)
        build = "unshare --net cargo build --offline --workspace && target/debug/promp --version"
        done = subprocess.run(["sh", "-c", build], cwd=scratch, env=env, capture_output=True, text=True)
        table.row("here", "source", "it is built without a network",
                  last_words(done.stderr) if done.returncode else "")


WAYS = {"tarball": by_tarball, "make": by_make, "wheel": by_wheel, "deb": by_debs}


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--dir", type=pathlib.Path, default=ROOT / "target/roots")
    options.add_argument("--systems", default=",".join(SYSTEMS))
    options.add_argument("--ways", default=",".join([*WAYS, "source"]))
    given = options.parse_args()
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        print("test_install: needs root and mmdebstrap")
        return 77
    own_mounts()
    shutil.rmtree(archives.OUT, ignore_errors=True)
    archives.binary()
    debs.build()
    wheel.build()
    archives.sums()
    table, ways = Table(), given.ways.split(",")
    if "source" in ways:
        source(table)
    for name in given.systems.split(","):
        system = System(given.dir, name)
        for way in [w for w in WAYS if w in ways]:
            system.use(way, WAYS[way](system), table)
    print(f"{table.passed} PASS, {table.failed} FAIL")
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
