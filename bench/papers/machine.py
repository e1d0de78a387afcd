"""The machine, the programs, and runs of them in turn."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import platform
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence

from frame import ROUNDS, NotHere

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RELEASE = ROOT / "target/release"
LIBRARY = RELEASE / "libpromp.so"
PROMP = RELEASE / "promp"
BUILT = ROOT / "target/papers"
NPB = ROOT / "c-tests/npb"
# What a program gets to see of the caller's environment.
DROPPED = ("OMP_", "GOMP_", "PROMP_", "LD_", "KMP_")
LIMIT_S = 600


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A run: seconds, what it printed, its status, and promp's report if there was one."""

    seconds: float
    out: str
    err: str
    status: int
    report: dict


@dataclasses.dataclass
class Run:
    """One `make papers`: what the machine has, how much is asked for, and who is told how far it is."""

    full: bool
    told: Callable[[int, int], None] = lambda done, of: None

    @property
    def cpus(self) -> int:
        """CPUs that this process may use."""
        return len(os.sched_getaffinity(0))

    @property
    def threads(self) -> int:
        """As many threads as CPUs, at most four unless more is asked for; at least two."""
        return max(2, self.cpus if self.full else min(self.cpus, 4))

    def needs_memory(self, megabytes: int, what: str) -> None:
        """Raises NotHere where `what` would not fit into the memory that is free."""
        lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable:"))
        if free < megabytes:
            raise NotHere(f"{what} needs {megabytes} MB of memory, {free} are free")

    def in_turn(self, ways: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
        """ROUNDS figures of each way; a round has one of each, in changing order."""
        took: dict[str, list[float]] = {name: [] for name in ways}
        for n in range(ROUNDS):
            order = list(ways)
            random.Random(n).shuffle(order)
            for i, name in enumerate(order):
                took[name].append(ways[name]())
                self.told(n * len(ways) + i + 1, ROUNDS * len(ways))
        return took


def gpu() -> bool:
    """Whether there is a GPU that offloading could use."""
    return shutil.which("nvidia-smi") is not None and pathlib.Path("/dev/nvidiactl").exists()


def words(run: Run) -> str:
    """The machine in a sentence."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**30
    graphics = "a GPU" if gpu() else "no GPU"
    return f"{run.cpus} CPUs ({model}), {memory} GiB of memory, {graphics}"


def surroundings() -> dict[str, str]:
    """The caller's environment, without what would change a run."""
    return {k: v for k, v in os.environ.items() if not k.startswith(DROPPED)}


@functools.cache
def build(name: str, source: str, *flags: str, proved: bool = False) -> str:
    """Builds a program of c-tests or bench, in C or Fortran; with promp-cc if `proved`. Its path."""
    exe = BUILT / "bin" / name
    exe.parent.mkdir(parents=True, exist_ok=True)
    fortran = source.endswith(".f90")
    if not shutil.which("gfortran" if fortran else "gcc"):
        raise NotHere("gfortran is not there" if fortran else "gcc is not there")
    own = RELEASE / ("promp-fc" if fortran else "promp-cc")
    if proved and not own.exists():
        raise NotHere("promp-cc is not built: there are no headers for GCC plugins")
    compiler = [str(own), "-fno-promp-runtime"] if proved else ["gfortran" if fortran else "gcc"]
    command = [
        *compiler,
        "-O2",
        "-fopenmp",
        "-w",
        "-foffload=disable",
        *flags,
        "-o",
        str(exe),
        str(ROOT / source),
        "-lm",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotHere(f"{source} could not be built: {done.stderr.strip().splitlines()[-1]}")
    return str(exe)


def execute(
    command: Sequence[str],
    env: Mapping[str, str] = {},
    *,
    promp: bool = True,
    ok: bool = True,
    limit: float = LIMIT_S,
) -> Outcome:
    """Runs a program, under promp with a report unless told otherwise. A status other than 0 is an error if
    `ok`: a figure of a run that failed is none."""
    kept = surroundings()
    with tempfile.TemporaryDirectory() as folder:
        if promp:
            kept |= {"LD_PRELOAD": str(LIBRARY), "PROMP_REPORT": folder + "/report", "PROMP_VERBOSE": "0"}
        begin = time.perf_counter()
        done = subprocess.run(
            command, env=kept | dict(env), capture_output=True, text=True, timeout=limit, check=False
        )
        took = time.perf_counter() - begin
        if ok and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}: {done.stderr[-500:]}")
        report = pathlib.Path(folder, "report")
        read = json.loads(report.read_text()) if report.exists() else {}
        return Outcome(took, done.stdout, done.stderr, done.returncode, read)


def verified(outcome: Outcome) -> Outcome:
    """The outcome, if an NPB kernel has verified its result."""
    if "verification successful" not in outcome.out.lower():
        raise RuntimeError(f"a wrong result: {outcome.out[-300:]} {outcome.err[-300:]}")
    return outcome
