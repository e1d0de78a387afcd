"""The page: docs/papers.md, of the papers' files and what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frame import Figure, Paper, Row, Table, number, second, verdict

HEAD = """# The papers

promp implements five published systems. `make papers` runs their programs and makes this page: each paper's
ideas, where they are in promp, and each of its tables with the published value and promp's. Rounds are
interleaved; a figure is the median, with the least and the most of the rounds in brackets. A second run is
within the brackets behind them 99 times of 100, if rounds scatter normally and the machine is as fast as
then: on one that shares its CPUs times follow what others do. `make papers FULL=1` uses larger classes, and
all CPUs.
"""
COLUMNS = ["what", "published", "promp", "least to most", "a second run", "rounds", "at least as good"]


def cells(row: Row, result: Figure | str) -> list[str]:
    """A row of the page; where nothing was measured the reason stands in place of the figure."""
    if isinstance(result, str):
        return [row.what, row.published, f"not run here: {result}", "none", "none", "0", "not run here"]
    spread, again = brackets(result.spread, "one figure"), brackets(second(result), "not said")
    return [row.what, row.published, result.text, spread, again, str(result.rounds), verdict(row, result)]


def brackets(ends: tuple[float, float] | None, otherwise: str) -> str:
    """Both ends of an interval."""
    return f"[{number(ends[0])}, {number(ends[1])}]" if ends else otherwise


def lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    made = ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *made]) + "\n"


def table(t: Table, results: Mapping[str, Figure | str]) -> str:
    """A table with its words."""
    rows = [cells(row, results.get(row.key, "not measured yet")) for row in t.rows]
    return f"### {t.title}\n\nHow: {t.how}\nWhat differs: {t.differs}\n\n{lines(COLUMNS, rows)}"


def paper(p: Paper, results: Mapping[str, Mapping[str, Figure | str]], pictures: bool) -> str:
    """A paper's part of the page."""
    ideas = [[i.what, f"`{i.file}`", f"`{i.test}`"] for i in p.ideas]
    parts = [
        f"## {p.key.upper()}. {p.title}\n\n{p.where}\n\n{p.proposes.strip()}\n",
        lines(["their idea", "where it is", "what holds it"], ideas),
    ]
    parts += [table(t, results.get(t.key, {})) for t in p.tables]
    named = f"The picture of `make papers`: `target/papers/{p.key}.svg`. {p.picture.title}.\n"
    parts.append(f"![{p.picture.title}]({p.key}.svg)\n" if pictures else named)
    return "\n".join(parts)


def page(
    papers: Sequence[Paper],
    results: Mapping[str, Mapping[str, Figure | str]],
    machine: str,
    pictures: bool = False,
) -> str:
    """The whole page; with the pictures in it, or where they are."""
    words = f"\nMeasured on {machine}. {counted(papers, results)}\n"
    return "\n".join([HEAD.rstrip() + "\n" + words, *[paper(p, results, pictures) for p in papers]])


def counted(papers: Sequence[Paper], results: Mapping[str, Mapping[str, Figure | str]]) -> str:
    """How many rows are as good as the published value, and how many are not."""
    all_rows = [
        (row, results.get(t.key, {}).get(row.key)) for p in papers for t in p.tables for row in t.rows
    ]
    said = [verdict(row, r) for row, r in all_rows if isinstance(r, Figure)]
    good, close = said.count("yes"), sum(v.startswith("within") for v in said)
    missed = sum(v == "no" or v.startswith("no:") for v in said)
    absent = len(all_rows) - len(said)
    nothing = len(said) - good - close - missed
    return (
        f"Of {len(all_rows)} rows {good} are at least as good as the published value or the goal, {close} "
        f"within the spread, {missed} not. {nothing} have nothing to be compared with, {absent} were not run."
    )
