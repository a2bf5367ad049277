"""Pictures of the benchmarks' page as SVG, for light and for dark pages, in the colours of squidbot's reports."""

from __future__ import annotations

from html import escape
from math import log10
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["SCHEMES", "Group", "Point", "bars", "front"]


class _Colours(NamedTuple):
    page: str
    text: str
    faint: str
    line: str
    ours: str
    other: str


SCHEMES: Final = {
    "light": _Colours("#ffffff", "#1b1f27", "#565f6d", "#d3d9e2", "#0060a8", "#d55e00"),
    "dark": _Colours("#14171c", "#e6e9ee", "#a6afbc", "#363e4a", "#6db6ff", "#e8702a"),
}
_WIDTH, _COLUMNS, _HIGH, _LEFT, _GAP = 930, 3, 170, 44, 26
_TOP, _HEAD, _FOOT = 34, 20, 30
_LETTER, _SMALL = 7.0, 12


class Point(NamedTuple):
    """A policy in one group: what it costs and keeps. `is_over`: some of its requests exceed the window."""

    name: str
    cost: float
    kept: float
    is_ours: bool
    is_over: bool


class Group(NamedTuple):
    """The sessions of an agent, and the policies replayed on them."""

    name: str
    points: Sequence[Point]


def front(title: str, groups: Sequence[Group], scheme: str) -> str:
    """Return small pictures beside each other: cost to the right (each ten times as far), names kept upwards."""
    colours = SCHEMES[scheme]
    names = list(dict.fromkeys(point.name for group in groups for point in group.points))
    marks = dict(zip(names, ascii_lowercase, strict=False))
    wide = (_WIDTH - _COLUMNS * (_LEFT + _GAP)) / _COLUMNS
    made: list[str] = []
    for place, group in enumerate(groups):
        row, column = divmod(place, _COLUMNS)
        x = _LEFT + column * (wide + _LEFT + _GAP)
        made += _plot(group, marks, (x, _TOP + row * (_HIGH + _HEAD + _FOOT) + _HEAD, wide), colours)
    rows = -(-len(groups) // _COLUMNS)
    y = _TOP + rows * (_HIGH + _HEAD + _FOOT) + 14
    ours = {point.name for group in groups for point in group.points if point.is_ours}
    legend, end = _legend([(marks[name], name, name in ours) for name in names], y, colours)
    return _svg(title, [*made, *legend], end + 12, colours)


def bars(title: str, rows: Mapping[str, Mapping[str, tuple[float, float | None]]], ours: str, scheme: str) -> str:
    """Return groups of bars from 0 to 1, a tick where the second figure is. Names that begin with `ours` are ours."""
    colours, made = SCHEMES[scheme], list[str]()
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    longest = max(len(name) for name in names) * _LETTER + 16
    wide, y = _WIDTH - longest - 60, _TOP + 8.0
    for head, row in rows.items():
        made.append(_text(4, y + 10, head, colours.text, 13, weight=600))
        y += 20
        for name, (value, tick) in row.items():
            colour = colours.ours if name.startswith(ours) else colours.other
            made.append(_text(longest - 8, y + 10, name, colours.faint, _SMALL, "end"))
            made.append(
                f'<rect x="{longest:.0f}" y="{y}" width="{max(1.0, value * wide):.1f}" height="12" fill="{colour}"/>'
            )
            if tick is not None:
                at = longest + tick * wide
                made.append(f'<path d="M{at:.1f} {y - 1}v14" stroke="{colours.text}" stroke-width="2"/>')
            made.append(_text(longest + value * wide + 6, y + 10, f"{value:.2f}", colours.text, _SMALL))
            y += 17
        y += 8
    return _svg(title, made, y + 6, colours)


def _plot(group: Group, marks: Mapping[str, str], box: tuple[float, float, float], colours: _Colours) -> Iterator[str]:
    x, y, wide = box
    costs = [point.cost for point in group.points if point.cost > 0]
    low, high = log10(min(costs)) - 0.05, log10(max(costs)) + 0.05
    yield _text(x, y - 8, group.name, colours.text, 13, weight=600)
    for share in (0.0, 0.5, 1.0):
        at = y + (1 - share) * _HIGH
        yield f'<path d="M{x:.1f} {at:.1f}h{wide:.1f}" stroke="{colours.line}"/>'
        yield _text(x - 6, at + 4, f"{share:g}", colours.faint, 11, "end")
    for at, cost, anchor in ((x, 10**low, "start"), (x + wide, 10**high, "end")):
        yield _text(at, y + _HIGH + 15, f"{cost:,.0f}", colours.faint, 11, anchor)

    def place(point: Point) -> tuple[float, float]:
        return x + (log10(max(point.cost, 1.0)) - low) / (high - low) * wide, y + (1 - point.kept) * _HIGH

    ours = sorted(place(point) for point in group.points if point.is_ours)
    yield (
        f'<path d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in ours)}" fill="none" stroke="{colours.ours}"/>'
        if ours
        else ""
    )
    for point in group.points:
        a, b = place(point)
        colour = colours.ours if point.is_ours else colours.faint if point.is_over else colours.other
        fill = "none" if point.is_over else colour
        yield f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'
        yield _text(a + 6, b + 4, marks[point.name], colour, 11)


def _legend(entries: Sequence[tuple[str, str, bool]], y: float, colours: _Colours) -> tuple[list[str], float]:
    made, x = [], 4.0
    for mark, name, is_ours in entries:
        words = f"{mark} {name}"
        if x + len(words) * _LETTER > _WIDTH:
            x, y = 4.0, y + 18
        made.append(_text(x, y, words, colours.ours if is_ours else colours.text, _SMALL))
        x += len(words) * _LETTER + 14
    return made, y


def _text(  # noqa: PLR0913, PLR0917  # what a text in a picture has
    x: float, y: float, words: str, colour: str, size: int, anchor: str = "start", *, weight: int = 400
) -> str:
    beside = "" if anchor == "start" else f' text-anchor="{anchor}"'
    heavy = "" if weight == 400 else f' font-weight="{weight}"'  # as usual
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}"{beside}{heavy}>{escape(words)}</text>'


def _svg(title: str, drawn: Sequence[str], high: float, colours: _Colours) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {high:.0f}" font-family="system-ui, sans-serif"'
    )
    parts = [
        f'{head} role="img" aria-label="{escape(title)}">',
        f'<rect width="100%" height="100%" rx="6" fill="{colours.page}"/>',
        _text(4, 19, title, colours.text, 15, weight=600),
        *filter(None, drawn),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
