#!/usr/bin/env python3
"""Checks what promp is built from: sources, licences, versions. Says whose notices go with it.

Every package is of crates.io, has a licence that is in ALLOWED, and is there in one version, or in those of
TWICE. What is no longer twice is an error, too. Nothing is fetched: Cargo knows what it has built.

    tools/licences.py            check; exit status 1 and a line for each fault
    tools/licences.py --notices  print the notices of all that is in the library and the commands
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
# One of them for each part of a licence's expression that is joined by AND.
ALLOWED = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "Zlib",
           "Unicode-3.0", "Unlicense", "0BSD", "CC0-1.0", "MIT-0", "BSL-1.0"}
# Only for what builds promp, and is in nothing that is installed.
ALLOWED_IN_TOOLS = {"MPL-2.0"}
# Packages in two versions, and why.
TWICE = {
    "syn": "of macros, while crates are built",
}
# Where a package has no file of its licence, its expression is what there is.
FILES = re.compile(r"(LICEN[SC]E|COPYING|NOTICE|UNLICENSE|COPYRIGHT)", re.I)
# Packages of promp of which nothing is installed.
TOOLS = {"promp-checks", "promp-header"}


def metadata() -> dict:
    """What Cargo knows."""
    command = ["cargo", "metadata", "--offline", "--locked", "--format-version", "1",
               "--filter-platform", "x86_64-unknown-linux-gnu"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"licences: nothing can be listed; build it first (make build): {done.stderr.strip()}")
    return json.loads(done.stdout)


def may_be_used(expression: str, allowed: set[str]) -> bool:
    """Is there an allowed choice in a licence's expression (SPDX; `/` is an older OR)?"""
    parts = re.split(r"\s+AND\s+", expression.replace("/", " OR "))
    return all(set(re.split(r"\s+OR\s+", part.strip("() "))) & allowed for part in parts)


def faults(known: dict) -> list[str]:
    """What must not be."""
    found, versions = [], {}
    installed = {p["id"] for p in shipped(known)}
    for p in known["packages"]:
        allowed = ALLOWED if p["id"] in installed else ALLOWED | ALLOWED_IN_TOOLS
        name = f"{p['name']} {p['version']}"
        if p["source"] not in (None, REGISTRY):
            found.append(f"{name}: from {p['source']}, expected crates.io")
        if not may_be_used(p["license"] or "", allowed):
            found.append(f"{name}: licence {p['license']}, expected one of {', '.join(sorted(allowed))}")
        versions.setdefault(p["name"], set()).add(p["version"])
    for name, all_ in sorted(versions.items()):
        if len(all_) > 1 and name not in TWICE:
            found.append(f"{name}: versions {', '.join(sorted(all_))}, expected one (TWICE says why not)")
    found += [f"{name}: there is one version; TWICE need not name it" for name in TWICE
              if len(versions.get(name, ())) < 2]
    return found


def shipped(known: dict) -> list[dict]:
    """The packages of others that are in what is installed."""
    packages = {p["id"]: p for p in known["packages"]}
    nodes = {n["id"]: n for n in known["resolve"]["nodes"]}
    left = [i for i in known["workspace_members"] if packages[i]["name"] not in TOOLS]
    seen = set(left)
    while left:
        for d in nodes[left.pop()]["deps"]:
            normal = any(k["kind"] is None for k in d["dep_kinds"])
            macro = "proc-macro" in packages[d["pkg"]]["targets"][0]["kind"]
            if normal and not macro and d["pkg"] not in seen:
                seen.add(d["pkg"])
                left.append(d["pkg"])
    others = (packages[i] for i in seen if packages[i]["source"])
    return sorted(others, key=lambda p: (p["name"], p["version"]))


def notices(packages: list[dict]) -> str:
    """Their names, licences and texts; a text that several have stands once."""
    whose: dict[str, list[str]] = {}
    for p in packages:
        folder = pathlib.Path(p["manifest_path"]).parent
        # Sources of others that a package brings along are one folder below.
        near = sorted([*folder.glob("*"), *folder.glob("*/*")])
        texts = [f.read_text(errors="replace").strip() for f in near if f.is_file() and FILES.match(f.name)]
        for text in texts or [f"(no text of its own; {p['license']})"]:
            whose.setdefault(text, []).append(f"{p['name']} {p['version']} ({p['license']})")
    line = "-" * 80
    parts = ["\n".join([line, *sorted(set(names)), line, "", text, ""]) for text, names in whose.items()]
    return "promp contains, or is linked with, the following packages.\n\n" + "\n".join(parts)


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--notices", action="store_true", help="print the notices")
    known = metadata()
    if options.parse_args().notices:
        print(notices(shipped(known)), end="")
        return 0
    found = faults(known)
    for fault in found:
        print(fault)
    if not found:
        others = sum(p["source"] is not None for p in known["packages"])
        print(f"licences: {others} packages, all of crates.io, {len(TWICE)} in two versions")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
