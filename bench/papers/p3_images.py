"""P3's images: what one checkpoint of class B holds, how long the program stands, how long a restart takes.

A program is started with a plan (PROMP_CKPT_PLAN) of two visits of its place: nothing depends on when an
interval is over. It does a few steps of class B; what restarts read is of runs stopped at the first image.
"""
from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence

from frame import ROUNDS, Figure, NotHere, number, of
from machine import BUILT, LIBRARY, LIMIT_S, PROMP, ROOT, Run, build, execute, surroundings

# No checkpoint but those that are planned.
NEVER = "1000s"
DISK_MB = 6000


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A program: source, flags, steps of class B, memory, visits between images, who says what is dead."""
    key: str
    source: str
    flags: Sequence[str]
    steps: int
    memory_mb: int
    apart: int = 6
    proved: bool = False

    def built(self, *more: str) -> str:
        """The program; a reason where its source is not in the tree."""
        if not (ROOT / self.source).exists():
            raise NotHere(f"{self.source} is not there")
        name = "-".join(["p3", self.key, *(["found"] if self.proved else []), *more])
        return build(name, self.source, *self.flags, *more, proved=self.proved)


NPB = "c-tests/npb"
KERNELS = {k.key: k for k in [
    Kernel("bt", f"{NPB}/bt.c", ("-DPLACES=1",), 200, 1200),
    Kernel("cg", f"{NPB}/cg.c", ("-DPLACES=1",), 75, 900),
    Kernel("ft", f"{NPB}/ft.c", ("-DPLACES=1",), 20, 2600, apart=2),
    Kernel("mg", f"{NPB}/mg.c", ("-DPLACES=2",), 20, 900)]}
# Nothing said by hand: promp-cc finds what is dead.
FOUND = {k.key: k for k in [
    Kernel("cg", f"{NPB}/cg.c", (), 75, 900, proved=True),
    Kernel("ft", f"{NPB}/ft.c", (), 20, 2600, apart=2, proved=True),
    Kernel("mg", f"{NPB}/mg.c", ("-DPLACES=4", "-fpromp-foresee"), 20, 900, proved=True)]}


@dataclasses.dataclass
class Sample:
    """One run: MB left out of the first image at a place, MB written for the second, and seconds."""
    left_out: float
    later: float
    stop: float
    stop_later: float
    write: float
    whole_run: float


@dataclasses.dataclass
class Held:
    """The first image at a place by itself: MB that a restart reads, and seconds of restarts."""
    alone: float
    restores: list[float]


def settings() -> dict[str, str]:
    """The environment of a program under promp, which says what it does."""
    return surroundings() | {"LD_PRELOAD": str(LIBRARY), "PROMP_VERBOSE": "2"}


def known(exe: str, folder: str, size: str = "S") -> dict:
    """The report of a run with checkpoints, which has the places and their visits."""
    env = {"PROMP_CKPT_DIR": folder + "/known", "PROMP_CKPT_INTERVAL": "1s"}
    return execute([exe, size], env, ok=False).report


def planned(report: dict, visits: Sequence[tuple[int, int]], folder: str) -> str:
    """The file of a plan of these visits (number, place) for the program of the report."""
    told, plan = pathlib.Path(folder, "report"), pathlib.Path(folder, "plan")
    told.write_text(json.dumps(report))
    command = [str(PROMP), "plan", str(told), "-o", str(plan), "--every", "1s"]
    subprocess.run(command, check=True, capture_output=True)
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"take": sorted(visits), "leave": []}))
    return str(plan)


def started(kernel: Kernel, exe: str, run: Run, folder: str) -> dict[str, str]:
    """The environment of a run of class B with a plan of two visits; its images go to `folder`/images.

    In a region the first visit cannot be planned."""
    report = known(exe, folder)
    if len(report["places"]) != 1:
        raise NotHere(f"{kernel.source} has {len(report['places'])} places where one is expected")
    plan = planned(report, [(2, 0), (2 + kernel.apart, 0)], folder)
    return {"OMP_NUM_THREADS": str(run.threads), "PROMP_CKPT_DIR": folder + "/images",
            "PROMP_CKPT_PLAN": plan, "PROMP_CKPT_INTERVAL": NEVER, "PROMP_CKPT_KEEP": "9"}


def spoken(command: Sequence[str], env: dict[str, str]) -> subprocess.Popen:
    """Starts a program whose stderr is read."""
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def stopped_at_first(command: Sequence[str], env: dict[str, str]) -> int:
    """Runs a program until something was left out of a checkpoint, and kills it: the checkpoint's number."""
    program = spoken(command, settings() | env)
    limit = threading.Timer(LIMIT_S, program.kill)
    limit.start()
    line = next((said for said in program.stderr if "dead pages left out" in said), None)
    program.kill()
    program.communicate()
    limit.cancel()
    if line is None:
        raise NotHere(f"{command[0]} has taken no checkpoint at its place")
    return generation(line)


def generation(line: str) -> int:
    """The number in "promp: checkpoint 3 taken: …"."""
    return int(line.split()[2])


def inspected(folder: str, which: int | None = None) -> float:
    """MB that a checkpoint holds by itself: what a restart reads; the newest one unless told otherwise."""
    command = [str(PROMP), "inspect", "--json", folder]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    images = [i for i in json.loads(told.stdout) if which in (None, i["generation"])]
    return max(images, key=lambda i: i["generation"])["bytes"] / 1e6


def restored(folder: str, which: int) -> float:
    """Seconds from `promp restart` until the program goes on. It has ended when this returns: the next
    restart would wait for it."""
    command = [str(PROMP), "restart", "--generation", str(which), folder]
    begin = time.perf_counter()
    program = spoken(command, settings())
    said = []
    for line in program.stderr:
        said.append(line)
        if "restarted from" in line:
            took = time.perf_counter() - begin
            program.terminate()
            program.communicate()
            return took
    raise NotHere(f"a restart failed: {''.join(said)[-200:]}")


def room(kernel: Kernel, run: Run) -> None:
    """A reason where memory or the disk is too small."""
    run.needs_memory(kernel.memory_mb, f"{kernel.key.upper()}.B")
    free = shutil.disk_usage(BUILT).free // 10**6
    if free < DISK_MB:
        raise NotHere(f"images need {DISK_MB} MB of disk, {free} are free")


def sample(kernel: Kernel, exe: str, run: Run) -> Sample:
    """A run of a few steps of class B, with two images at its place."""
    with tempfile.TemporaryDirectory(dir=BUILT, ignore_cleanup_errors=True) as folder:
        env = started(kernel, exe, run, folder)
        # So few steps do not give the class's result.
        report = execute([exe, "B"], env, ok=False).report
    there = [c for c in report["checkpoints"] if c["left_out"] > 0]
    if len(there) != 2:
        raise NotHere(f"{exe} has taken {len(there)} checkpoints at its place, where two were planned")
    one, two = there
    step = (two["at_s"] - one["at_s"]) / kernel.apart
    return Sample(one["left_out"] / 1e6, two["bytes"] / 1e6, one["stop_s"], two["stop_s"], one["write_s"],
                  one["at_s"] + (kernel.steps - 1) * step)


def held(kernel: Kernel, run: Run, restarts: int = 0) -> Held:
    """A run that is stopped at the first image at its place, and restarts from it."""
    exe = kernel.built()
    room(kernel, run)
    with tempfile.TemporaryDirectory(dir=BUILT, ignore_cleanup_errors=True) as folder:
        which, images = stopped_at_first([exe, "B"], started(kernel, exe, run, folder)), folder + "/images"
        return Held(inspected(images, which), [restored(images, which) for _ in range(restarts)])


def megabytes(value: float) -> Figure:
    """A size."""
    return Figure(f"{number(value, 1)} MB", value)


def found_alone(kernel: Kernel, run: Run) -> Figure | str:
    """The first image of a program in which nothing is said by hand, or the reason."""
    try:
        return megabytes(held(kernel, run).alone)
    except NotHere as why:
        return str(why)


@dataclasses.dataclass
class Measured:
    """What is known of a kernel; a reason where it is not."""
    samples: list[Sample]
    held: Held | None = None
    why: str = ""


_measured: dict[bool, dict[str, Measured]] = {}


def measured(run: Run) -> dict[str, Measured]:
    """All kernels, in turn; once for the two tables."""
    if run.full in _measured:
        return _measured[run.full]
    ways, found = {}, {key: Measured([]) for key in KERNELS}

    def one(key: str, exe: str) -> float:
        found[key].samples.append(sample(KERNELS[key], exe, run))
        return found[key].samples[-1].stop

    for key, kernel in KERNELS.items():
        try:
            found[key].held = held(kernel, run, restarts=ROUNDS)
            # TIMES × the class's steps: so many, whatever the class has.
            exe = kernel.built(f"-DTIMES={3 + kernel.apart}+0")
            ways[key] = lambda key=key, exe=exe: one(key, exe)
        except NotHere as why:
            found[key].why = str(why)
    run.in_turn(ways)
    _measured[run.full] = found
    return found


def sizes(run: Run) -> dict[str, Figure | str]:
    """The table of sizes."""
    found = {}
    for key, m in measured(run).items():
        found[f"live-{key}"] = m.why or megabytes(m.held.alone)
        found[f"later-{key}"] = m.why or of([s.later for s in m.samples], " MB", 1)
        found[f"whole-{key}"] = m.why or of([m.held.alone + s.left_out for s in m.samples], " MB", 1)
    return found | {f"found-{key}": found_alone(kernel, run) for key, kernel in FOUND.items()}


def times(run: Run) -> dict[str, Figure | str]:
    """The table of times, in seconds; shares in per cent."""
    rows = [("stop", " s", lambda s: s.stop), ("again", " s", lambda s: s.stop_later),
            ("share", " %", lambda s: 100 * s.stop / s.whole_run), ("write", " s", lambda s: s.write)]
    found = {}
    for key, m in measured(run).items():
        for name, unit, value in rows:
            found[f"{name}-{key}"] = m.why or of([value(s) for s in m.samples], unit)
        found[f"restore-{key}"] = m.why or of(m.held.restores, " s")
    return found
