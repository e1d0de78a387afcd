"""What live sets save (docs/internals/live-sets.md): bytes, stop and rollback times, and slow-down of
checkpoints taken at a place, beside whole ones of the same program. Part of bench/checkpoints.py (--live)."""
import os
import statistics
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def grid(name, size):
    """What lives, in bytes, by the kernel's own sizes."""
    mg = {"S": 32, "W": 128, "A": 256, "B": 256}
    cg = {"S": 1400, "W": 7000, "A": 14000, "B": 75000}
    adi = {"S": 12, "W": 36, "A": 64, "B": 102}
    bt = {**adi, "W": 24}
    level = 8 * (mg[size] + 2) ** 3
    lives = {"ft": 0, "cg": 8 * cg[size], "adi": 8 * 5 * adi[size] ** 3, "bt": 2 * 8 * 5 * bt[size] ** 3,
             "mg": 2 * level, "mg best": level}
    return lives[name]


def programs():
    """Name, what of `grid` lives, and the command that builds it (the output is appended)."""
    said = ["gcc", "-O2", "-fopenmp", "-w"]
    found = [ROOT + "/target/release/promp-cc", "-O2", "-fopenmp", "-w"]
    folders = ["-J", ROOT + "/target/bench", "-I", ROOT + "/c-tests/npb"]
    fortran = [ROOT + "/target/release/promp-fc", *found[1:], "-cpp", *folders]
    source = lambda k, ext: [f"{ROOT}/c-tests/npb/{k}.{ext}", "-lm"]
    for kernel in ["ft", "cg", "adi", "bt", "mg"]:
        yield f"{kernel.upper()}, promp_dead", kernel, [*said, "-DPLACES=1", *source(kernel, "c")]
    yield "MG, promp_dead, best place", "mg best", [*said, "-DPLACES=2", *source("mg", "c")]
    ahead = [*found, "-fpromp-foresee"]
    yield "MG in C, promp-cc", "mg", [*ahead, "-DPLACES=3", *source("mg", "c")]
    yield "MG in C, promp-cc, best place", "mg best", [*ahead, "-DPLACES=4", *source("mg", "c")]
    for kernel in ["ft", "cg"]:
        yield f"{kernel.upper()} in C, promp-cc", kernel, [*found, *source(kernel, "c")]
        yield f"{kernel.upper()} in Fortran, promp-cc", kernel, [*fortran, *source(kernel, "f90")]


def built(command, name, times):
    exe = f"{ROOT}/target/bench/live-{''.join(c if c.isalnum() else '-' for c in name)}-{times}"
    os.makedirs(os.path.dirname(exe), exist_ok=True)
    subprocess.run([*command, f"-DTIMES={times}", "-o", exe], check=True)
    return exe


def median(values):
    return statistics.median(values) if values else None


def at_places(report):
    """Later checkpoints of a run at which what is dead was left out; and all later ones."""
    later = report["checkpoints"][1:]
    most = max((c["left_out"] for c in later), default=0)
    return [c for c in later if c["left_out"] > 0 and c["left_out"] >= 0.98 * most], later


def row(run, exe, size, interval, rounds, directory, variants):
    """Of whole checkpoints ("off") and of those at places ("on"): bytes, stop, restore (ms), slow-down as the
    median of the rounds' ratios with its quartiles. A round has a run of each kind, in changing order."""
    took = {kind: [] for kind in ["alone", *variants]}
    taken = {kind: [] for kind in variants}
    for k in range(rounds):
        order = list(took)
        for kind in order[k % len(order):] + order[: k % len(order)]:
            extra = {} if kind == "alone" else {"PROMP_CKPT_LIVE": kind}
            every = None if kind == "alone" else interval
            seconds, _, report = run([exe, size], every, extra=extra, directory=directory)
            took[kind].append(seconds)
            if kind != "alone":
                there, later = at_places(report)
                taken[kind] += there if kind == "on" else later
    cells = {}
    for kind in variants:
        extra = {"PROMP_CKPT_LIVE": kind, "PROMP_FAULT": "kill@mtbf=150ms,count=10"}
        failures = run([exe, size], interval, extra=extra, directory=directory)[2]["failures"]
        back = [f["recovery_s"] * 1e3 for f in failures if f["recovery"] == "rollback"]
        stop = [c["stop_s"] * 1e3 for c in taken[kind]]
        size_mb = [c["bytes"] / 1e6 for c in taken[kind]]
        ratios = [t / t0 for t, t0 in zip(took[kind], took["alone"])]
        cells[kind] = (len(taken[kind]), median(size_mb), median(stop), median(back), slow_down(ratios))
    return cells


def slow_down(ratios):
    """The median, and its quartiles where there are enough."""
    if len(ratios) < 3:
        return f"{median(ratios):.3f}"
    low, mid, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{mid:.3f} [{low:.3f}, {high:.3f}]"


def chosen(kernels):
    """Those of `programs` that are of one of these kernels."""
    return [p for p in programs() if p[1].split()[0] in kernels]


def table(run, size, interval, rounds, times, directory, kernels, variants):
    """The table's lines."""
    lines = [
        f"Class {size}, two threads, a checkpoint every {interval}, medians; "
        + " → ".join(NAMED[v] for v in variants),
        f"`bench/checkpoints.py --live {','.join(variants)} --class {size} --live-every {interval} "
        f"--rounds {rounds} --times {times} --kernels {','.join(kernels)}`",
        "",
        "| program | lives, MB | MB a checkpoint | stop, ms | rollback, ms | run time ÷ without | number |",
        "|---|---|---|---|---|---|---|",
    ]
    show = lambda v, digits: "–" if v is None else f"{v:.{digits}f}"
    for name, lives, command in chosen(kernels):
        exe = built(command, name, times)
        cells = row(run, exe, size, interval, rounds, directory, variants)
        each = [cells[v] for v in variants]
        figures = [" → ".join(show(c[i], d) for c in each) for i, d in [(1, 1), (2, 1), (3, 1)]]
        figures += [" → ".join(c[4] for c in each), ", ".join(str(c[0]) for c in each)]
        lines.append(f"| {name} | {grid(lives, size) / 1e6:.1f} | {' | '.join(figures)} |")
        print(lines[-1], flush=True)
    return lines


NAMED = {"off": "whole ones (`PROMP_CKPT_LIVE=off`)", "on": "at a place"}
BEGIN, END = "<!-- made by bench/live_sets.py -->", "<!-- end -->"
# MB of the first image, which has all that never changes, too (docs/internals/live-sets.md).
FIRST = {"ft": 810, "mg": 280, "mg best": 280}
# MB of later ones: the goals of class B.
LATER = {"ft": 2, "cg": 1, "adi": 43, "bt": 86, "mg": 276, "mg best": 140}


def bytes_table(run, size, interval, times, directory, kernels):
    """What is written at places, one run of each program; nothing of it is a time."""
    command = f"bench/checkpoints.py --live-bytes --class {size} --live-every {interval} --times {times}"
    lines = [
        f"MB a checkpoint at a place, class {size}, two threads, a checkpoint every {interval}: the first,",
        "the median of later ones and how many they are. *At most*: the goals of class B; of other classes",
        "1.02 of what lives and a MB of the runtime's own. What is above is bold.",
        "",
        f"    {command} --write",
        "",
        "| program | lives, by its sizes | at most | first | later | number | left out |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, lives, build in chosen(kernels):
        report = run([built(build, name, times), size], interval, directory=directory)[2]
        there, _ = at_places(report)
        left = median([c["left_out"] for c in there]) or 0
        first = next((c["bytes"] for c in report["checkpoints"] if c["left_out"] >= 0.9 * left > 0), None)
        # The first one there still has what has changed before.
        later = [c["bytes"] / 1e6 for c in there if c["bytes"] != first]
        b = size == "B"
        most = LATER[lives] if b else round(1.02 * grid(lives, size) / 1e6 + 1, 1)
        goal = lambda mb, limit: "–" if mb is None else f"**{mb:.1f}**" if mb > limit else f"{mb:.1f}"
        cells = [f"{grid(lives, size) / 1e6:.1f}", str(most)]
        cells += [goal(first and first / 1e6, FIRST.get(lives, 1e9) if b else 1e9), goal(median(later), most)]
        cells += [str(len(later)), f"{left / 1e6:.1f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def write(lines):
    """Puts the table into the document."""
    path = ROOT + "/docs/internals/live-sets.md"
    text = open(path).read()
    before, rest = text.split(BEGIN, 1)
    behind = rest.split(END, 1)[1]
    open(path, "w").write(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + behind)
