"""Results as values, as text for a terminal, and as JSON."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from math import isnan
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OWN_COUNT", "Bar", "Interval", "Progress", "Result", "Table", "as_json", "as_text"]

# What stands in figures beside squidbot.
PACKAGES = (
    "deepagents", "langchain", "langchain-core", "langgraph", "llm", "openai-agents", "pydantic-ai-harness",
    "pydantic-ai-slim", "strands-agents", "tiktoken",
)  # fmt: skip
# How tokens are counted where no tokenizer's ranks are known.
OWN_COUNT = "squidbot's own count"
# Longer heads of columns are wrapped, in characters.
HEAD = 18


class Interval(float):
    """A figure, and from where to where it would lie in 95 of 100 samples."""

    low: float
    high: float

    def __new__(cls, value: float, low: float, high: float) -> Self:
        """Make one."""
        made = super().__new__(cls, value)
        made.low, made.high = low, high
        return made

    def __str__(self) -> str:
        """Return it for a table."""
        return f"{float(self):.1f} [{self.low:.1f}, {self.high:.1f}]"

    def as_json(self) -> dict[str, float]:
        """Return it as values for JSON."""
        return {"value": float(self), "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Table:
    """Figures side by side. Each row is a name and a value for each column; None where there is none.

    `about` says by values what the title says in words.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    about: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """One figure and what it has to be: at most, or at least, so much."""

    name: str
    value: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def met(self) -> bool:
        """Whether the figure is where it has to be; what could not be measured is not."""
        over = self.at_most is not None and self.value > self.at_most
        under = self.at_least is not None and self.value < self.at_least
        return not (over or under or isnan(self.value))


@dataclass(slots=True)
class Result:
    """What one part of the benchmarks found.

    `remarks` are sentences that the figures need beside them, `drawings` are of lines of text, for a terminal alone.
    """

    part: str
    tables: list[Table] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    drawings: list[str] = field(default_factory=list)


class Progress:
    """One line on standard error that says what is being measured; a line each where that is no terminal."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._live = sys.stderr.isatty()

    def __call__(self, doing: str) -> None:
        """Show what is being done now; "" clears the line."""
        seconds = time.monotonic() - self._began
        if self._live:
            print(f"\r\x1b[K{f'{seconds:4.0f} s  {doing}' if doing else ''}", end="", file=sys.stderr, flush=True)
        elif doing:
            print(f"{seconds:4.0f} s  {doing}", file=sys.stderr, flush=True)


def as_text(results: list[Result]) -> str:
    """Return all tables, then every bar with its figure."""
    lines: list[str] = []
    for result in results:
        for table in result.tables:
            lines += _table_lines(table)
        lines += [*(f"{drawing}\n" for drawing in result.drawings), *(f"  {remark}" for remark in result.remarks), ""]
    bars = [bar for result in results for bar in result.bars]
    if bars:
        lines.append("Bars")
        width = max(len(bar.name) for bar in bars)
        lines += [f"  {bar.name:{width}}  {_number(bar.value):>9}  {_wanted(bar)}" for bar in bars]
    return "\n".join(lines)


def as_json(results: list[Result]) -> dict[str, object]:
    """Return everything as values for JSON, with the machine it was measured on."""
    machine = {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": platform.platform(),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }
    made = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "commit": _commit(), "versions": _versions()}
    bars = [{**asdict(bar), "part": result.part, "met": bar.met} for result in results for bar in result.bars]
    parts = [
        {"part": result.part, "tables": list(map(_table_json, result.tables)), "remarks": result.remarks}
        for result in results
    ]
    return {**made, "machine": machine, "bars": [_finite(bar) for bar in bars], "parts": parts}


def _processor() -> str:
    """Return the processor's name, as Linux says it; "" elsewhere."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _commit() -> str:
    """Return the commit that was measured; "" where there is no git."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # git, in our own folder
    except OSError:
        return ""
    return done.stdout.strip()


def _versions() -> dict[str, str]:
    """Return the versions of the packages that stand in figures, of those that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _table_lines(table: Table) -> list[str]:
    width = max(28, *(len(name) for name, _ in table.rows))
    cells = [(name, [_cell(value) for value in values]) for name, values in table.rows]
    heads = [wrap(column, HEAD, break_long_words=False) or [""] for column in table.columns]
    sizes = [
        max(10, *(len(text) + 2 for text in (*head, *(row[place] for _, row in cells))))
        for place, head in enumerate(heads)
    ]
    high = max(map(len, heads), default=1)
    tops = zip_longest(*([""] * (high - len(head)) + head for head in heads), fillvalue="")
    lines = [("", list(top)) for top in tops] + cells
    return [table.title, *(f"  {name:{width}}{_aligned(row, sizes)}" for name, row in lines), ""]


def _aligned(texts: list[str], sizes: list[int]) -> str:
    return "".join(f"{text:>{size}}" for text, size in zip(texts, sizes, strict=True))


def _table_json(table: Table) -> dict[str, object]:
    rows = {name: _finite(dict(zip(table.columns, values, strict=True))) for name, values in table.rows}
    about = {"about": dict(table.about)} if table.about else {}
    return {"title": table.title, **about, "rows": rows}


def _finite(values: Mapping[str, object]) -> dict[str, object]:
    """Return values with None for what is not a number: JSON has no other form for it."""
    plain = {key: value.as_json() if isinstance(value, Interval) else value for key, value in values.items()}
    return {key: None if isinstance(value, float) and isnan(value) else value for key, value in plain.items()}


def _cell(value: float | None) -> str:
    return str(value) if isinstance(value, Interval) else _number(value)


def _number(value: float | None) -> str:
    if value is None or isnan(value):
        return "-"
    if value == int(value) and abs(value) >= 10:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def _wanted(bar: Bar) -> str:
    wanted = [f"at most {_number(bar.at_most)}"] if bar.at_most is not None else []
    wanted += [f"at least {_number(bar.at_least)}"] if bar.at_least is not None else []
    return f"{' and '.join(wanted):18} {'met' if bar.met else 'MISSED'}"
