#!/usr/bin/env python3
"""The tuner against every schedule there is: regret and gain.

Kernels whose best schedule differs (bench/programs/tune, in C, C++ and Fortran) are executed with
schedule(runtime). The oracle tries every schedule by OMP_SCHEDULE under promp; the tuner starts from one of
them. Rounds are interleaved; figures are medians.

    regret   the tuner's time in the latter half of the run over the oracle's best
    whole    the whole run, search included, over the same run with PROMP_TUNE=off
    gain     what the same loop takes under libgomp with the schedule the tuner starts from, over the tuner's

    bench/tune.py [--rounds N] [--sizes 128,256,512] [--kernels a,b] [--threads 2] [--from auto]
                  [--competitor] [--serial] [--json FILE]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "bench/programs/tune"
BUILT = ROOT / "target/bench/tune"
LIBRARY = ROOT / "target/release/libpromp.so"
ORACLE = ["static", "static,1", "static,8", "dynamic,1", "dynamic,4", "dynamic,16", "dynamic,64",
          "guided", "guided,8"]


def build() -> list[str]:
    """Builds the programs; the names of all kernels."""
    BUILT.mkdir(parents=True, exist_ok=True)
    def compiled(compiler: str, name: str) -> bool:
        source = next(SOURCES.glob(f"{name}.*"))
        command = [compiler, "-O2", "-fopenmp", "-o", BUILT / name, source, "-lm"]
        try:
            return subprocess.run(command, cwd=BUILT, check=False).returncode == 0
        except FileNotFoundError:
            print(f"{compiler} is not there: {name} is left out", file=sys.stderr)
            return False
    compiled("gcc", "kernels")
    names = subprocess.run([BUILT / "kernels"], capture_output=True, text=True, check=True).stdout.split()
    return names + [n for n, c in (("rows", "gfortran"), ("graph", "g++")) if compiled(c, n)]


def run(kernel: str, size: int, executions: int, env: dict[str, str]) -> tuple[float, float, str]:
    """Seconds of the whole run, of the latter half, and the checksum."""
    own = BUILT / kernel
    command = [own] if own.exists() else [BUILT / "kernels", kernel]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "PROMP_", "LD_"))}
    done = subprocess.run([*map(str, command), str(size), str(executions)], env={**clean, **env},
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise SystemExit(f"{kernel} {size}: status {done.returncode}: {done.stderr}")
    whole, half, total = done.stdout.split()
    return float(whole), float(half), total


def compete(cpu: int) -> subprocess.Popen:
    """A process that takes half of one CPU."""
    busy = "import os,time\nos.sched_setaffinity(0,{%d})\nwhile True:\n t=time.time()\n" % cpu
    busy += " while time.time()-t<.005: pass\n time.sleep(.005)\n"
    return subprocess.Popen([sys.executable, "-c", busy])


def libomp() -> str | None:
    """LLVM's runtime, where it is installed: it has libgomp's interface, too."""
    found = sorted(pathlib.Path("/usr/lib").glob("**/libomp.so.5"))
    return str(found[0]) if found else None


def measure(kernel: str, size: int, given: argparse.Namespace) -> dict:
    """All ways of one kernel, interleaved."""
    base = {"OMP_NUM_THREADS": str(given.threads)}
    promp = {**base, "LD_PRELOAD": str(LIBRARY)}
    start = given.start
    ways = {f"oracle {s}": {**promp, "OMP_SCHEDULE": s} for s in ORACLE}
    ways["off"] = {**promp, "OMP_SCHEDULE": start}
    ways["tuned"] = {**promp, "OMP_SCHEDULE": start, "PROMP_TUNE": "on"}
    ways["libgomp"] = {**base, "OMP_SCHEDULE": start}
    if (other := libomp()):
        ways["libomp"] = {**base, "OMP_SCHEDULE": start, "LD_PRELOAD": other}
    times: dict[str, list] = {w: [] for w in ways}
    sums = set()
    # So many executions that a run takes about the time asked for.
    one = run(kernel, size, 4, ways["off"])[0] / 4
    executions = max(40, min(20000, int(given.seconds / max(one, 1e-7))))
    for _ in range(given.rounds):
        for way, env in ways.items():
            whole, half, total = run(kernel, size, executions, env)
            times[way].append((whole, half))
            sums.add(total)
    if len(sums) > 1:
        raise SystemExit(f"{kernel} {size}: results differ: {sums}")
    whole = {w: statistics.median(t[0] for t in v) for w, v in times.items()}
    half = {w: statistics.median(t[1] for t in v) for w, v in times.items()}
    best = min((w for w in ways if w.startswith("oracle")), key=lambda w: half[w])
    return {"kernel": kernel, "size": size, "executions": executions, "best": best.split(" ")[1],
            "regret": half["tuned"] / half[best], "whole": whole["tuned"] / whole["off"],
            "gain": half["libgomp"] / half["tuned"],
            "libomp": half["libomp"] / half["tuned"] if "libomp" in half else None}


def serial(given: argparse.Namespace) -> list[dict]:
    """Auto-parallelised serial code: serial, libgomp, promp, promp tuned."""
    source = ROOT / "c-tests/tune/serial.c"
    for name, flags in (("serial", []), ("parallel", ["-ftree-parallelize-loops=2", "-pthread"])):
        subprocess.run(["gcc", "-O2", *flags, "-o", BUILT / name, source], check=True)
    tune = {"LD_PRELOAD": str(LIBRARY), "PROMP_TUNE": "on"}
    ways = {"serial": ("serial", {}), "libgomp": ("parallel", {}), "tuned": ("parallel", tune)}
    times: dict[str, list[float]] = {w: [] for w in ways}
    for _ in range(given.rounds):
        for way, (name, env) in ways.items():
            before = os.times()
            subprocess.run([BUILT / name, "2000"], env={**os.environ, **env}, check=True,
                           stdout=subprocess.DEVNULL)
            times[way].append(os.times().elapsed - before.elapsed)
    return [{"way": w, "seconds": statistics.median(t)} for w, t in times.items()]


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--sizes", default="128,256,512")
    options.add_argument("--kernels")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--seconds", type=float, default=0.5, help="of one run")
    options.add_argument("--from", dest="start", default="auto", help="where the tuner starts from")
    options.add_argument("--competitor", action="store_true", help="another process takes half of one CPU")
    options.add_argument("--serial", action="store_true", help="auto-parallelised serial code only")
    options.add_argument("--json", type=pathlib.Path)
    given = options.parse_args()
    names = build()
    other = compete(min(os.sched_getaffinity(0))) if given.competitor else None
    try:
        load, cpus = os.getloadavg()[0], len(os.sched_getaffinity(0))
        print(f"{cpus} CPUs, load {load:.1f}, {given.threads} threads, from schedule({given.start})")
        if given.serial:
            rows = serial(given)
            for r in rows:
                print(f"{r['way']:<10} {r['seconds']:.3f} s")
        else:
            chosen = given.kernels.split(",") if given.kernels else names
            print("kernel        size        best  regret   whole   gain  libomp")
            rows = []
            for kernel in chosen:
                for size in map(int, given.sizes.split(",")):
                    r = measure(kernel, size, given)
                    rows.append(r)
                    peer = f"{r['libomp']:.2f}" if r["libomp"] else "-"
                    print(f"{kernel:<12} {size:>5} {r['best']:>11} {r['regret']:>7.3f} {r['whole']:>7.3f} "
                          f"{r['gain']:>6.2f} {peer:>7}", flush=True)
            for what in ("regret", "whole", "gain"):
                v = sorted(r[what] for r in rows)
                print(f"{what}: median {statistics.median(v):.3f}, from {v[0]:.3f} to {v[-1]:.3f}")
        if given.json:
            given.json.write_text(json.dumps(rows, indent=1) + "\n")
    finally:
        if other:
            other.kill()


if __name__ == "__main__":
    main()
