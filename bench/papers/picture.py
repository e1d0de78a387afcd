"""Pictures: a group of two bars a row, published and measured, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

from frame import Figure, Paper, number

WIDTH, TOP, GROUP, BAR, LEFT = 760, 64, 52, 16, 300
COLOURS = {"published": "#8a8f98", "promp": "#1c6fb8"}


def bars(paper: Paper, results: Mapping[str, Figure | str]) -> str:
    """The picture of a paper, with a logarithmic axis where the values are far apart."""
    table = next(t for t in paper.tables if t.key == paper.picture.table)
    rows = [r for r in table.rows if r.key in paper.picture.keys and isinstance(results.get(r.key), Figure)]
    pairs = [(r, r.value, results[r.key]) for r in rows]
    values = [v for _, p, f in pairs for v in (p, f.value) if v and v > 0]
    most, least = max(values, default=1.0), min(values, default=1.0)
    logarithmic = most / least > 50

    def length(value: float) -> float:
        if value <= 0:
            return 0.0
        room = WIDTH - LEFT - 90
        share = math.log(value / least * 2) / math.log(most / least * 2) if logarithmic else value / most
        return room * max(share, 0.004)

    height = TOP + GROUP * len(pairs) + 20
    axis = ", logarithmic" if logarithmic else ""
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="16" y="26" font-size="16">{escape(paper.picture.title)}{axis}</text>',
    ]
    for i, (name, colour) in enumerate(COLOURS.items()):
        out.append(
            f'<rect x="{LEFT + i * 120}" y="38" width="12" height="12" fill="{colour}"/>'
            f'<text x="{LEFT + 18 + i * 120}" y="49">{name}</text>'
        )
    for i, (row, published, figure) in enumerate(pairs):
        y = TOP + i * GROUP
        out.append(f'<text x="{LEFT - 12}" y="{y + 22}" text-anchor="end">{escape(row.what[:44])}</text>')
        if published is not None:
            out.append(bar(y, length(published), COLOURS["published"], number(published)))
        out.append(bar(y + BAR + 2, length(figure.value or 0), COLOURS["promp"], number(figure.value or 0)))
        if figure.spread:
            middle = y + BAR + 2 + BAR / 2
            ends = [LEFT + length(v) for v in figure.spread]
            out.append(
                f'<line x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{middle}" y2="{middle}" stroke="#0b2c4a"/>'
            )
    return "\n".join([*out, "</svg>"]) + "\n"


def bar(y: float, width: float, colour: str, text: str) -> str:
    """A bar with its figure."""
    return (
        f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'
        f'<text x="{LEFT + width + 6:.1f}" y="{y + 13}">{escape(text)}</text>'
    )
