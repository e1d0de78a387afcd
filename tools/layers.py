#!/usr/bin/env python3
"""Checks that folders of the runtime know each other downwards only.

It also draws the diagram in docs/internals/architecture.md.

layers.toml names the source folders of the runtime's crates, the layers from the top, the folders in each,
and today's exceptions, each with its reason.
An arrow is a file of one folder that names something of another (`crate::folder::…`). It must lead to a
lower layer, or to a folder that its own is together with. An exception that is no longer needed is an error,
too: the list only shrinks.

    tools/layers.py            check; exit status 1 and a line for each fault
    tools/layers.py --write    write the diagram into docs/internals/architecture.md as well
"""
import argparse
import pathlib
import sys
import tomllib

from reading import modules
from reading import source as rust

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/internals/architecture.md"
BEGIN, END = "<!-- made by tools/layers.py -->", "<!-- end -->"


def folders_of(root: pathlib.Path, plan: dict) -> dict[str, str]:
    """Folder -> the source folder of its crate."""
    return {d.name: source for source in plan["sources"] for d in (root / source).iterdir() if d.is_dir()}


def arrows(root: pathlib.Path, plan: dict) -> dict[tuple[str, str], str]:
    """(file, folder it names) -> the file's own folder."""
    folders = folders_of(root, plan).keys()
    found = {}
    for source, file in ((s, f) for s in plan["sources"] for f in sorted((root / s).rglob("*.rs"))):
        parts = file.relative_to(root / source).parts
        if len(parts) == 1 or parts[-1] == "tests.rs":
            continue  # lib.rs puts everything together; unit tests may name anything
        paths = (path.split("::") for path in modules.named(rust.product(file.read_text())))
        for name in {path[1] for path in paths if path[0] == "crate" and path[1:]} & folders - {parts[0]}:
            found["/".join(parts), name] = parts[0]
    return found


def check(root: pathlib.Path, plan: dict) -> tuple[list[str], dict]:
    """The faults, and the arrows that lead down: (folder, folder) -> number of files."""
    floor = {f: i for i, layer in enumerate(reversed(plan["layer"])) for f in layer["folders"]}
    together = {}
    for layer in plan["layer"]:
        for f in layer["folders"]:
            together[f] = set(layer["folders"]) if layer.get("together") else {f}
    only = plan.get("only", {})
    excused = {(e["file"], e["to"]): e.get("reason", "") for e in plan.get("exception", [])}
    faults, down, used = [], {}, set()
    sources = folders_of(root, plan)
    for name, source in sources.items():
        if name not in floor:
            faults.append(f"{source}/{name}: not in any layer of layers.toml")
    for (file, to), folder in arrows(root, plan).items():
        if folder not in floor or to not in floor:
            continue
        fits = to in together[folder] or (floor[to] < floor[folder] and to in only.get(folder, floor))
        if fits:
            down[folder, to] = down.get((folder, to), 0) + 1
        elif (file, to) in excused:
            used.add((file, to))
        else:
            faults.append(
                f"{sources[folder]}/{file} names {to}/, not below {folder}/: "
                "move what it needs down, or pass it in"
            )
    for key, reason in excused.items():
        if key not in used:
            faults.append(f"layers.toml: {key[0]} no longer names {key[1]}/: take the exception away")
        elif len(reason.split()) < 3:
            faults.append(f"layers.toml: the exception {key[0]} -> {key[1]} has no reason")
    return faults, down


def diagram(plan: dict, down: dict) -> str:
    """The layers from the top, with what each folder is for, whom it knows, and the exceptions counted."""
    lines, crate = ["```text"], plan["sources"][0]
    excused = {}
    for e in plan.get("exception", []):
        pair = e["file"].split("/")[0], e["to"]
        excused[pair] = excused.get(pair, 0) + 1
    there = folders_of(ROOT, plan)
    for layer in plan["layer"]:
        present = [f for f in layer["folders"] if f in there]
        if present and there[present[0]] != crate:
            crate = there[present[0]]
            lines += [f"{crate}:", ""]
        for folder in present:
            knows = sorted(t for f, t in down if f == folder)
            lines.append(f"{folder + '/':<10} {plan['about'][folder]}")
            lines.append(f"{'':<10} → {' '.join(knows) or 'nothing'}")
        if present:
            lines.append("")
    lines[-1] = "```"
    if excused:
        listed = ", ".join(f"{a} → {b} ({n})" for (a, b), n in sorted(excused.items()))
        intro = "Files that still name a folder which is not below their own (layers.toml has the reasons):"
        lines += ["", intro, ""]
        row = ""
        for part in listed.split(", "):
            if len(row) + len(part) > 105:
                lines.append(row.rstrip())
                row = ""
            row += part + ", "
        lines.append(row.rstrip(", ") + ".")
    return "\n".join(lines)


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--write", action="store_true", help="write the diagram into its page")
    options.add_argument("--root", type=pathlib.Path, default=ROOT, help="another repository")
    given = options.parse_args()
    plan = tomllib.loads((ROOT / "layers.toml").read_text())
    faults, down = check(given.root, plan)
    if given.root == ROOT:
        page = ROOT / PAGE
        text = page.read_text()
        before, rest = text.split(BEGIN, 1)
        old, after = rest.split(END, 1)
        new = f"\n{diagram(plan, down)}\n"
        if given.write:
            page.write_text(before + BEGIN + new + END + after)
        elif old != new:
            faults.append(f"{PAGE}: the diagram is not of today; run tools/layers.py --write")
    for fault in faults:
        print(fault)
    if not faults:
        print(f"layers: {sum(down.values())} arrows lead down, {len(plan.get('exception', []))} exceptions")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
