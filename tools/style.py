#!/usr/bin/env python3
"""Checks texts and sources: widths, links, and names of files that are gone.

No line of a text or a source is wider than 110 characters (tables and links of texts excepted); style.toml
has how many wide lines older files still have, which may only become fewer. Links of texts lead to files that
exist, and so do the names of files that stand in backquotes, and tests of them (`tests/FILE.rs::NAME`).
Each kind of docs/internals/inputs.md has at least five rows. Pages for users (README.md, docs, docs/howto)
have at most 12,000 words together, without the pages and blocks that are generated, and no sentence over 25
words.

    tools/style.py            check; exit status 1 and a line for each fault
    tools/style.py --write    lower the numbers in style.toml to today's
"""
import argparse
import pathlib
import re
import sys
import tomllib

from reading import texts
from reading.files import tracked
from reading.measures import FOR_USERS

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDEST = 110
WIDTHS = {".rs", ".md", ".cc", ".h", ".py", ".c", ".cpp", ".hpp", ".f90", ".sh"}
OUTPUT = re.compile(r"^( *)```text\n.*?^ *```$", flags=re.S | re.M)
INPUTS, ROWS = "docs/internals/inputs.md", 5
# Pages for users. Made from tables, or lists: not counted, and their sentences are not measured.
SHELF_WORDS, SENTENCE_WORDS = 12_000, 25
NOT_COUNTED = ("docs/environment.md", "docs/api.md", "docs/SUMMARY.md", "docs/papers.md")
GENERATED = ("bench/results/", "docs/papers.md", "docs/internals/symbols.md", "docs/internals/conformance.md")


def wide_lines(file: str) -> list[int]:
    """Numbers of the lines that are too wide."""
    text = (ROOT / file).read_text(errors="replace")
    if file.endswith(".md"):  # what a command has printed is as wide as it is
        text = OUTPUT.sub(lambda block: "\n" * block[0].count("\n"), text)
    lines = enumerate(text.splitlines(), 1)
    wide = [(n, line.strip()) for n, line in lines if len(line) > WIDEST]
    if file.endswith(".md"):
        wide = [(n, line) for n, line in wide if not line.startswith("|") and " " in line]
    return [n for n, line in wide]


def dead_links(file: str, files: set[str]) -> list[str]:
    """Faults in the links and names of files of one text."""
    faults = []
    text = re.sub(r"```.*?```", "", (ROOT / file).read_text(), flags=re.S)
    here = (ROOT / file).parent
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target and not target.startswith("mailto:") and not (here / target).exists():
            faults.append(f"{file}: the link to {target} leads nowhere")
    folders = "src|cli|crates|image|plugin|tests|c-tests|bench|tools|docs|include|abi"
    for name in re.findall(rf"`((?:{folders})/[\w./-]+\.\w+)`", text):
        if name not in files and not name.startswith("bench/results"):
            faults.append(f"{file}: there is no {name}")
    for test, name in re.findall(r"`(tests/\w+\.rs)::(\w+)`", text):
        if test not in files or f"fn {name}()" not in (ROOT / test).read_text():
            faults.append(f"{file}: {test} has no test {name}")
    return faults


def by_hand(text: str) -> str:
    """A page without its blocks of output and what stands between <!-- NAME --> and <!-- /NAME -->."""
    return re.sub(r"^<!-- (\w+) -->\n.*?^<!-- /\1 -->$", "", OUTPUT.sub("", text), flags=re.S | re.M)


def long_shelf(files: list[str]) -> list[str]:
    """Faults of the pages for users: too many words in all, sentences that are too long."""
    pages = [f for f in files if FOR_USERS.fullmatch(f) and f not in NOT_COUNTED]
    read = {page: by_hand((ROOT / page).read_text()) for page in pages}
    words = sum(len(text.split()) for text in read.values())
    faults = [f"pages for users: {words} words, {SHELF_WORDS} are the most"] if words > SHELF_WORDS else []
    for page, text in read.items():
        long = [n for n in texts.sentences(text) if n > SENTENCE_WORDS]
        faults += [f"{page}: a sentence of {n} words, {SENTENCE_WORDS} are the most" for n in long]
    return faults


def poor_kinds(file: str) -> list[str]:
    """Kinds of inputs with fewer rows than a kind is to have."""
    kinds = re.split(r"^## ", (ROOT / file).read_text(), flags=re.M)[1:]
    rows = {k.splitlines()[0]: len(re.findall(r"^\|.*`tests/", k, flags=re.M)) for k in kinds}
    return [f"{file}: {kind}: {n} rows, {ROWS} are the least" for kind, n in rows.items() if n < ROWS]


def main() -> int:
    global ROOT
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--write", action="store_true", help="lower the numbers in style.toml to today's")
    options.add_argument("--root", type=pathlib.Path, default=ROOT, help="another repository")
    given = options.parse_args()
    ROOT = given.root
    listed = ROOT / "style.toml"
    allowed = tomllib.loads(listed.read_text())["wide"] if listed.exists() else {}
    files, faults, today = tracked(ROOT), [], {}
    known = set(files)
    for file in files:
        if file.startswith(GENERATED):
            continue
        if pathlib.Path(file).suffix in WIDTHS and (wide := wide_lines(file)):
            today[file] = len(wide)
            if len(wide) > allowed.get(file, 0):
                where = ", ".join(map(str, wide[:5]))
                faults.append(f"{file}: {len(wide)} lines are wider than {WIDEST} characters, "
                              f"{allowed.get(file, 0)} are allowed (lines {where} …)")
        if file.endswith(".md"):
            faults += dead_links(file, known)
        if file == INPUTS:
            faults += poor_kinds(file)
    faults += long_shelf(files)
    if given.write:
        numbers = {f: min(n, allowed[f]) for f, n in today.items() if f in allowed} if allowed else today
        text = "# Lines wider than 110 characters in files that are older than the rule (tools/style.py).\n"
        text += "# The numbers only shrink.\n[wide]\n"
        listed.write_text(text + "".join(f'"{f}" = {n}\n' for f, n in sorted(numbers.items())))
    for fault in faults:
        print(fault)
    if not faults:
        print(f"style: {len(files)} files, {sum(today.values())} wide lines left in {len(today)} older ones")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
