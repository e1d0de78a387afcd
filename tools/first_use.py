#!/usr/bin/env python3
"""Writes abi/first_use.txt: the library's functions that nearly every program executes, in the order of
their first use. The linker puts them side by side (build.rs), so that a program that starts touches few pages
of code.

    tools/first_use.py [LIBRARY]

LIBRARY is target/release/libpromp.so if not given, built as for users; gcc and valgrind are needed. The steps
are programs of bench/programs: one that ends at once, one that has a region, constructs. What a step executes
and the ones before it do not comes behind those. Names are patterns: `*` stands for the hashes that compilers
put into them. A name that is no longer there does no harm, nor does a function that is not listed.
"""
import bisect
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "abi/first_use.txt"
STEPS = [
    ("a program that ends at once", [("start",)]),
    ("its first region", [("start", "4"), ("start", "16")]),
    ("constructs", [(p, "20", str(i)) for p, n in (("constructs", 9), ("calls", 5)) for i in range(n)]),
]


def executed(library: pathlib.Path, out: pathlib.Path, command: list[str]) -> set[str]:
    """The library's functions that `command` executes."""
    counted = ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={out}", *command]
    env = {"LD_PRELOAD": str(library), "OMP_NUM_THREADS": "4", "PATH": "/usr/bin:/bin"}
    subprocess.run(counted, check=True, env=env, capture_output=True)
    names, objects, found, ours = {}, {}, set(), False
    for line in out.read_text().splitlines():
        if m := re.match(r"ob=\((\d+)\)(?: (.*))?$", line):
            ours = objects.setdefault(m[1], m[2]).endswith(library.name)
        elif m := re.match(r"cob=\((\d+)\) (.*)$", line):
            objects[m[1]] = m[2]
        elif m := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line):
            name = names.setdefault(m[2], m[3])
            if ours and not m[1]:
                found.add(name)
    return found


class Names:
    """The library's functions: where they are, and all names of those that have several."""

    def __init__(self, library: pathlib.Path):
        at = {}
        symbols = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
        for line in symbols.splitlines():
            if m := re.match(r"([0-9a-f]+) [tT] ([^@]+)", line):
                at.setdefault(int(m[1], 16), []).append(m[2])
        self.starts = sorted(at)
        self.at = at
        self.alike = {name: names for names in at.values() for name in names}

    def of(self, found: str) -> list[str]:
        """The names of what callgrind calls `found`, which may be an address."""
        if found.startswith("0x"):
            i = bisect.bisect(self.starts, int(found, 16))
            return self.at[self.starts[i - 1]] if i else []
        found = re.sub(r"'\d+$", "", found)
        return self.alike.get(found, [found])


def pattern(name: str) -> str:
    """What stands for the function whatever the compiler's hashes."""
    name = re.sub(r"\.llvm\.\d+$", "*", name)
    name = re.sub(r"17h[0-9a-f]{16}E", "17h*E", name)
    return re.sub(r"Cs[0-9A-Za-z]+_", "Cs*_", name) if name.startswith("_R") else name


def main() -> None:
    library = ROOT / "target/release/libpromp.so"
    library = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else library).resolve()
    names = Names(library)
    seen, lines = set(), [f"# {sentence}" for sentence in (
        "The library's functions that nearly every program executes, in the order of their first use.",
        "tools/first_use.py writes this list, and says what it is for.")]
    with tempfile.TemporaryDirectory() as d:
        for what, runs in STEPS:
            found = set()
            for program, *args in runs:
                exe = pathlib.Path(d, program)
                if not exe.exists():
                    source = ROOT / f"bench/programs/{program}.c"
                    subprocess.run(["gcc", "-O2", "-fopenmp", "-o", exe, source], check=True)
                found |= executed(library, pathlib.Path(d, "out"), [str(exe), *args])
            new = {pattern(n) for name in found for n in names.of(name)} - seen
            seen |= new
            lines += [f"# {what}", *sorted(new)]
    LIST.write_text("\n".join(lines) + "\n")


main()
