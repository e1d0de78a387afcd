#!/usr/bin/env python3
"""The papers' programs and tables, measured: docs/papers.md, and target/papers/papers.md with pictures.

    bench/papers/make.py [--full] [--resume] [--only p1,p3] [--page FILE]
    bench/papers/make.py --write-only      the page and the pictures of what was measured before

What was measured is kept in results.json, a table at a time: --resume measures what is not in
there. A row that cannot be measured on this machine says why; the others are. `make papers [FULL=1]` builds
what is needed first. Nothing else should run meanwhile.
"""

import argparse
import dataclasses
import importlib
import json
import pathlib
import sys
import time

import page
import picture
from frame import Figure, NotHere
from machine import BUILT, PROMP, ROOT, Run, words

HERE = pathlib.Path(__file__).resolve().parent
# One file a paper.
PAPERS = [importlib.import_module(f.stem).PAPER for f in sorted(HERE.glob("p[0-9].py"))]


class Progress:
    """A bar on a terminal, a line a table elsewhere: how much is done, and how long the rest takes."""

    def __init__(self, tables, full):
        self.left = {t.key: t.seconds[full] for t in tables}
        self.whole, self.begin = sum(self.left.values()), time.monotonic()
        self.now = ""

    def table(self, t):
        """Begins a table."""
        self.now = t.key
        self.say(f"{t.key}: {t.title}", end="\n")

    def told(self, done, of):
        """`done` of `of` runs of this table are done."""
        if sys.stderr.isatty():
            part = self.left[self.now] * (1 - done / max(of, 1))
            self.say(f"{self.now}: {done} of {of}", part=part, end="")

    def say(self, text, part=None, end="\n"):
        """The bar and a text."""
        rest = sum(v for k, v in self.left.items() if k != self.now)
        rest += self.left[self.now] if part is None else part
        share = 1 - rest / max(self.whole, 1)
        bar = "#" * round(20 * share)
        print(
            f"\r[{bar:.<20}] {100 * share:3.0f} %, about {rest / 60:.0f} min left  {text:<50}",
            end=end,
            file=sys.stderr,
            flush=True,
        )

    def done(self, t):
        """Ends a table."""
        self.left[t.key] = 0


def kept(file: pathlib.Path) -> dict:
    """What was measured before."""
    if not file.exists():
        return {}
    read = json.loads(file.read_text())
    return {
        key: {row: Figure(**r) if isinstance(r, dict) else r for row, r in rows.items()}
        for key, rows in read.items()
    }


def keep(results: dict, file: pathlib.Path) -> None:
    """Writes what was measured, aside and then in place."""
    plain = {
        key: {row: dataclasses.asdict(r) if isinstance(r, Figure) else r for row, r in rows.items()}
        for key, rows in results.items()
    }
    aside = file.with_suffix(".part")
    aside.write_text(json.dumps(plain, indent=1))
    aside.rename(file)


def measure(table, run) -> dict:
    """All rows of a table; a reason for each where it cannot be measured here."""
    try:
        return table.measure(run)
    except NotHere as why:
        return {row.key: str(why) for row in table.rows}


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--full", action="store_true", help="class B, and as many threads as CPUs")
    options.add_argument("--resume", action="store_true", help="go on where an interrupted run was")
    options.add_argument("--only", default="", help="some papers, or tables: p1,p3-images")
    options.add_argument("--page", default=str(ROOT / "docs/papers.md"))
    options.add_argument("--folder", type=pathlib.Path, default=BUILT, help="results.json and the pictures")
    options.add_argument("--write-only", action="store_true", help="measure nothing")
    given = options.parse_args()
    if not PROMP.exists():
        print(f"papers: {PROMP} is not built: make papers builds it", file=sys.stderr)
        return 1
    only = [name for name in given.only.split(",") if name]
    given.folder.mkdir(parents=True, exist_ok=True)
    file = given.folder / "results.json"
    results = kept(file) if given.resume or given.write_only or only else {}
    asked = [t for p in PAPERS for t in p.tables if not only or p.key in only or t.key in only]
    if given.resume:
        asked = [t for t in asked if t.key not in results]
    run = Run(given.full)
    if not given.write_only:
        progress = Progress(asked, given.full)
        run.told = progress.told
        for t in asked:
            progress.table(t)
            results[t.key] = measure(t, run)
            keep(results, file)
            progress.done(t)
        print(f"\rmeasured in {(time.monotonic() - progress.begin) / 60:.1f} min{'':<60}", file=sys.stderr)
    with open(given.page, "w", encoding="utf-8") as out:
        out.write(page.page(PAPERS, results, words(run)))
    (given.folder / "papers.md").write_text(page.page(PAPERS, results, words(run), pictures=True))
    for p in PAPERS:
        (given.folder / f"{p.key}.svg").write_text(picture.bars(p, results.get(p.picture.table, {})))
    print(f"{given.page}, and a picture a paper: {given.folder}/p1.svg …")
    return 0


if __name__ == "__main__":
    sys.exit(main())
