"""What P1's tables measure."""

from __future__ import annotations

import random

from frame import ROUNDS, Figure, NotHere, of, ratio
from machine import Run, build, execute, verified

PROGRAMS = "bench/papers/programs"
KERNELS = ["ep", "ft", "is"]
FRAGMENTS = [1, 2, 4, 8, 16]
# Iterations of the loop that is cut into fragments.
PARTS = 16384
MEMORY_MB = {"A": 700, "B": 2200}


def kernel(name: str) -> str:
    """An NPB kernel, built by promp-cc."""
    return build(f"{name}-proved", f"c-tests/npb/{name}.c", proved=True)


def without_failures(run: Run) -> dict[str, Figure | str]:
    """libgomp, promp without fault tolerance, promp."""
    size, rows = "B" if run.full else "A", {}
    for name in KERNELS:
        run.needs_memory(MEMORY_MB[size], f"class {size}")
        exe, threads = kernel(name), {"OMP_NUM_THREADS": str(run.threads)}

        def seconds(env: dict, promp: bool) -> float:
            return verified(execute([exe, size], threads | env, promp=promp)).seconds

        took = run.in_turn(
            {
                "libgomp": lambda: seconds({}, False),
                "off": lambda: seconds({"PROMP_FT": "off"}, True),
                "on": lambda: seconds({}, True),
            }
        )
        rows[f"{name} free"] = ratio(took["on"], took["libgomp"])
        rows[f"{name} saved"] = ratio(took["on"], took["off"], less_one=True)
    return rows


def with_a_failure(run: Run) -> dict[str, Figure | str]:
    """Each kernel without a failure, and with one thread killed in its middle, by number of threads."""
    size, rows = "A" if run.full else "W", {}
    for name in KERNELS:
        exe, restored = kernel(name), []
        for threads in (2, 4, 8, 16):
            env = {"OMP_NUM_THREADS": str(threads)}
            # The shortest of three: half of a first run's time may lie behind the end of the next ones.
            alone = min(verified(execute([exe, size], env)).seconds for _ in range(3))
            fault = {"PROMP_FAULT": f"kill@region=any,thread=1,delay={int(alone * 500)}ms"} | env
            refused: list[str] = []

            def killed() -> float:
                done = execute([exe, size], fault, ok=False)
                failures = done.report.get("failures", [])
                if done.status or not failures:
                    refused.append(failures[0]["recovery"] if failures else "nobody was killed")
                    return float("nan")
                restored.append(100 * sum(f["recovery_s"] for f in failures) / verified(done).seconds)
                return done.seconds

            took = run.in_turn(
                {"plain": lambda: verified(execute([exe, size], env)).seconds, "killed": killed}
            )
            pairs = [(k, p) for k, p in zip(took["killed"], took["plain"]) if k == k]
            rows[f"{name} {threads}"] = (
                ratio(*zip(*pairs), less_one=True)
                if pairs
                else f"all {ROUNDS} failures were refused: {refused[0]}"
            )
        rows[f"{name} restored"] = of(restored, " %") if restored else "every failure was refused"
    return rows


def recomputing(run: Run) -> dict[str, Figure | str]:
    """Iterations lost by number of fragments; time by kind of recomputing."""
    exe = build("fragments", f"{PROGRAMS}/fragments.c", proved=True)
    rows = {}
    for m in FRAGMENTS:
        env = {"OMP_NUM_THREADS": "2"}
        command = [exe, str(PARTS), str(m), "dynamic"]
        alone = execute(command, env)
        lost = []
        for n in range(ROUNDS):
            fault = {"PROMP_FAULT": f"kill@thread=1,delay={int(alone.seconds * (300 + 100 * n))}ms"}
            done = execute(command, env | fault)
            same(done.out, alone.out)
            lost += [100 * f["lost_iterations"] / PARTS for f in done.report["failures"]]
            run.told(n + 1, ROUNDS)
        rows[f"frags {m}"] = of(lost, " %")
    for kind in ("static", "dynamic"):
        env = {"OMP_NUM_THREADS": "4"}
        command = [exe, str(PARTS), "1", kind]
        alone = execute(command, env)
        fault = {"PROMP_FAULT": f"kill@thread=1,delay={int(alone.seconds * 500)}ms"} | env
        took = run.in_turn(
            {
                "plain": lambda: execute(command, env).seconds,
                "killed": lambda: execute(command, fault).seconds,
            }
        )
        rows[f"recompute {kind}"] = ratio(took["killed"], took["plain"], less_one=True)
    return rows


def examples(run: Run) -> dict[str, Figure | str]:
    """Killed runs of the examples, which are right or refused."""
    rows: dict[str, Figure | str] = {}
    programs = {"matrix": [build("examples", f"{PROGRAMS}/examples.c", proved=True), "160"]}
    try:
        programs["workshare"] = [build("workshare", f"{PROGRAMS}/workshare.f90", proved=True)]
    except NotHere as why:
        rows["workshare"] = str(why)
    recovered = struck = 0
    for row, command in programs.items():
        env, drawn, right = {"OMP_NUM_THREADS": "4"}, random.Random(row), 0
        want = execute(command, env, promp=False).out
        for n in range(40):
            at = drawn.choice(["chunk", "barrier", "single", "sections", "region"])
            fault = f"kill@thread=any,region=any,at={at},nth={drawn.randint(1, 3)},seed={n}"
            fault += f",delay={drawn.choice([0, 20, 200])}us"
            got = execute(command, env | {"PROMP_FAULT": fault}, ok=False)
            if got.status not in (0, 70):
                raise RuntimeError(f"{command} {fault}: status {got.status}: {got.err}")
            right += got.status == 70 or got.out == want
            struck += bool(got.report.get("failures"))
            recovered += got.status == 0 and bool(got.report.get("failures"))
            run.told(n + 1, 40)
        rows[row] = Figure(f"{right} of 40", right)
    rows["recovered"] = Figure(f"{recovered} of {struck} killed", 80 * recovered / max(struck, 1))
    return rows


def same(got: str, want: str) -> None:
    """Raises where a killed run has printed something else."""
    if got != want:
        raise RuntimeError(f"a wrong result: {got!r} instead of {want!r}")
