"""What a paper's file is made of: ideas with their places, tables of rows, and what was measured."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence


# Rounds of each row, where a run is not too long for so many.
ROUNDS = 5
# By the number of rounds: 99 of 100 times the medians of two runs lie no farther apart than so often the
# range of the rounds of one, by simulation for times that scatter normally.
APART = {3: 4.7, 5: 1.3, 7: 0.84, 9: 0.63, 15: 0.39, 20: 0.30}


class NotHere(Exception):
    """Something cannot be measured on this machine; the text says why, as it stands in the page."""


@dataclasses.dataclass(frozen=True)
class Figure:
    """What was measured for a row.

    text    as it stands in the page, with its unit
    value   the same as a number, in the unit of the published one; None if the two cannot be compared
    spread  least and most of the rounds, in the same unit; None for what is counted
    rounds  how many runs of each kind it is made of
    """

    text: str
    value: float | None = None
    spread: tuple[float, float] | None = None
    rounds: int = 1


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of a table.

    key        its name in the results
    what       what is measured
    published  the paper's value, as it stands in the page; "not given" where there is none
    value      the paper's value as a number
    goal       what promp is held to where that is not the published value
    better     "less" or "more": which way is better; None where nothing is compared
    why        why a value that is not better cannot be, or is not yet
    """

    key: str
    what: str
    published: str = "not given"
    value: float | None = None
    goal: float | None = None
    better: str | None = None
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of a paper.

    key      its name: results and pictures
    title    what the paper calls it
    how      how it is measured here
    differs  what differs from the paper: machine, class, threads
    rows     see Row
    measure  measures all rows in one go, interleaved: Run -> {key: Figure, or the reason why there is none}
    seconds  about how long that takes with two CPUs; with FULL=1
    """

    key: str
    title: str
    how: str
    differs: str
    rows: Sequence[Row]
    measure: Callable
    seconds: tuple[int, int] = (30, 300)


@dataclasses.dataclass(frozen=True)
class Idea:
    """What a paper proposes, the file that has it, and the test that holds it."""

    what: str
    file: str
    test: str


@dataclasses.dataclass(frozen=True)
class Picture:
    """Bars: a group a row of `table`, of those whose keys are named, published beside measured."""

    table: str
    keys: Sequence[str]
    title: str


@dataclasses.dataclass(frozen=True)
class Paper:
    """One paper; `proposes` are its ten lines."""

    key: str
    title: str
    where: str
    proposes: str
    ideas: Sequence[Idea]
    tables: Sequence[Table]
    picture: Picture


def ratio(top: Sequence[float], bottom: Sequence[float], *, less_one: bool = False, unit: str = "") -> Figure:
    """The median of what the rounds' times are to each other, with the least and the most of them.

    less_one: as per cent more. unit: behind the figure."""
    each = [(x / y - 1) * 100 if less_one else x / y for x, y in zip(top, bottom)]
    return of(each, unit or (" %" if less_one else ""), 1 if less_one else None)


def of(each: Sequence[float], unit: str = "", digits: int | None = None) -> Figure:
    """The median of figures, with the least and the most of them."""
    middle = statistics.median(each)
    return Figure(number(middle, digits) + unit, middle, (min(each), max(each)), len(each))


def second(figure: Figure) -> tuple[float, float] | None:
    """Where a second run's figure lies, 99 times of 100; None for what is counted.

    Few rounds say little of how much more rounds differ: the range of three holds another three's median
    six times of ten only."""
    if not figure.spread or figure.value is None:
        return None
    rounds = max((n for n in APART if n <= figure.rounds), default=min(APART))
    off = APART[rounds] * (figure.spread[1] - figure.spread[0])
    return figure.value - off, figure.value + off


def number(value: float, digits: int | None = None) -> str:
    """Three digits that count, or `digits` behind the point; no minus before a zero."""
    if digits is None:
        size = abs(value)
        digits = 3 if size < 2 else 2 if size < 10 else 1 if size < 100 else 0
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def verdict(row: Row, figure: Figure) -> str:
    """Whether a row is better than what was published, or its goal; or why not."""
    held_to = row.goal if row.goal is not None else row.value
    if row.better is None or held_to is None or figure.value is None:
        return row.why or "nothing to compare"
    sign = 1 if row.better == "more" else -1
    if sign * (figure.value - held_to) >= 0:
        return "yes"
    reaches = figure.spread and sign * (figure.spread[1 if sign > 0 else 0] - held_to) >= 0
    missed = "within the spread" if reaches else "no"
    return f"{missed}: {row.why}" if row.why else missed
