#!/usr/bin/env python3
"""Measures the house, and holds it to the ceilings in house.toml.

house.toml has a rule for each measure: what nothing may be above. What is older than the rule stands below it
with a ceiling of its own, which only falls. Nothing lands that raises one.

    tools/house.py            the table; exit status 1 and a line for each figure above its ceiling
    tools/house.py NAME ...   the figures of these measures that are above the rule, and what was counted
    tools/house.py --lower    lower the ceilings to today's figures; no ceiling is ever raised
"""
import argparse
import pathlib
import sys
import tomllib

from reading.measures import MEASURES, Figures, Tree

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Ceilings:
    """What house.toml says of one measure."""

    def __init__(self, entry: dict):
        self.rule: int = entry["rule"]
        # Ceilings are multiples of it, so that changes to different things do not meet here.
        self.step: int = entry.get("step", 1)
        # None: a measure that is new takes today's figures at the next --lower.
        self.older: dict[str, int] | None = entry.get("older")

    def of(self, name: str) -> int:
        """The ceiling of one figure."""
        return max(self.rule, (self.older or {}).get(name, self.rule))

    def lower(self, figures: Figures) -> None:
        """Brings the ceilings down to today's figures."""
        allowed, self.older = self.older, {}
        for name, figure in sorted(figures.items()):
            today = -(-figure.value // self.step) * self.step
            ceiling = today if allowed is None else min(today, allowed.get(name, self.rule))
            if ceiling > self.rule:
                self.older[name] = ceiling


def written(comment: str, ceilings: dict[str, Ceilings]) -> str:
    """The text of house.toml."""
    text = comment
    for key, ceiling in ceilings.items():
        text += f"\n# {MEASURES[key][0]}\n[{key}]\nrule = {ceiling.rule}\n"
        text += f"step = {ceiling.step}\n" if ceiling.step != 1 else ""
        text += f"[{key}.older]\n" + "".join(f'"{name}" = {n}\n' for name, n in (ceiling.older or {}).items())
    return text


def table(measured: dict[str, Figures], ceilings: dict[str, Ceilings]) -> str:
    """A row a measure: its rule, how many are above it, the largest."""
    rows = [f"{'measure':<16}{'rule':>7}{'above':>7}{'most':>8}  of"]
    for key, figures in measured.items():
        rule = ceilings[key].rule
        above = sum(figure.value > rule for figure in figures.values())
        name, most = max(figures.items(), key=lambda item: item[1].value, default=("", None))
        rows.append(f"{key:<16}{rule:>7}{above:>7}{most.value if most else 0:>8}  {name}")
    return "\n".join(rows)


def listing(key: str, figures: Figures, ceilings: Ceilings) -> str:
    """All figures of a measure that are above its rule, from the largest."""
    rows = [f"{key}: {MEASURES[key][0]} (rule: {ceilings.rule})"]
    for name, figure in sorted(figures.items(), key=lambda item: -item[1].value):
        if figure.value > ceilings.rule:
            rows.append(f"{figure.value:>8}  {name}" + "".join(f"\n{'':>12}{one}" for one in figure.of))
    return "\n".join(rows)


def faults(measured: dict[str, Figures], ceilings: dict[str, Ceilings]) -> list[str]:
    """A line for each figure that is above its ceiling."""
    found = []
    for key, figures in measured.items():
        for name, figure in sorted(figures.items()):
            if figure.value > (most := ceilings[key].of(name)):
                of = f": {', '.join(figure.of)}" if 0 < len(figure.of) <= 12 else ""
                found.append(f"{name}: {figure.value} {MEASURES[key][0]}, {most} at most ({key}){of}")
    return found


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    names = [[], *MEASURES]  # the empty list is what argparse checks where none is given
    options.add_argument("names", nargs="*", metavar="NAME", choices=names, help="a measure's name")
    options.add_argument("--lower", action="store_true", help="lower the ceilings to today's figures")
    options.add_argument("--root", type=pathlib.Path, default=ROOT, help="another repository")
    given = options.parse_args()
    page = given.root / "house.toml"
    text = page.read_text()
    listed = tomllib.loads(text)
    if unknown := listed.keys() ^ MEASURES.keys():
        print(f"house.toml: {', '.join(sorted(unknown))}: not both there and in tools/reading/measures.py")
        return 1
    tree = Tree(given.root)
    ceilings = {key: Ceilings(entry) for key, entry in listed.items()}
    measured = {key: MEASURES[key][1](tree) for key in given.names or ceilings}
    if given.names:
        print("\n".join(listing(key, figures, ceilings[key]) for key, figures in measured.items()))
        return 0
    if given.lower:
        for key, ceiling in ceilings.items():
            ceiling.lower(measured[key])
        page.write_text(written(text[: text.index("\n\n") + 1], ceilings))
    print(table(measured, ceilings))
    found = faults(measured, ceilings)
    print("\n".join(found or ["house: nothing is above its ceiling"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
