"""Reports of a session: collecting the data, beside the turns that they show, and how large the page is."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING

import squidbot
from benchmarks.clocks import Times
from benchmarks.report import Bar, Result, Table
from benchmarks.ticks import words
from squidbot.replay.terms import SCORING
from squidbot.report.data import ReportSource, report_data
from squidbot.report.page import page_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["measure"]

ROUNDS = 3
COLUMNS = ("messages", "calls", "turns ms", "data ms", "data / turns", "page ms", "page KB without texts")
# What a page of 1,000 messages may have beside their texts (issue: 1.5 MB).
MOST_KB = 1_500.0


def measure(exchanges: int, progress: Callable[[str], None]) -> Result:
    """Measure sessions of so many exchanges and of four times as many; CPU times, p50."""
    rows = []
    for number in (exchanges, 4 * exchanges):
        progress(f"pages: a session of {number:,} exchanges")
        with squidbot.load({"summary": {"scheduler": "none"}}) as engine:
            rows.append(_measured(engine, number))
    table = Table("The report of a session", COLUMNS, tuple((f"{row[0]:,.0f} messages", row) for row in rows))
    small, large = rows
    bars = [
        Bar("collecting a report's data, as a share of the turns' CPU", large[4], at_most=0.1),
        Bar("growth of that per message, four times as long", large[3] / large[0] / (small[3] / small[0]), at_most=1.5),
        Bar("a page of 1,000 messages without texts, KB", 1e3 * large[6] / large[0], at_most=MOST_KB),
    ]
    return Result("pages", [table], bars)


def _talk(session: squidbot.Session, exchanges: int) -> None:
    """Record so many exchanges, each with a request."""
    chance = random.Random(1)  # noqa: S311  # words, no secrets
    for number in range(exchanges):
        now = 1.7e9 + 60 * number
        made = session.assemble(words(chance, 40), now=now)
        session.record(*made.incoming, words(chance, 60), now=now)


def _measured(engine: squidbot.Engine, exchanges: int) -> tuple[float, ...]:
    times, session = {name: Times() for name in ("turns", "data", "page")}, engine.session("s", window_tokens=8_000)
    times["turns"].of(lambda: _talk(session, exchanges))
    for _ in range(ROUNDS):
        data = times["data"].of(lambda: report_data(ReportSource(session.core, SCORING)))
        times["page"].of(partial(page_of, data))
    turns, built, page = (times[name].cpu_ms for name in ("turns", "data", "page"))
    size = len(page_of(data._replace(texts=[]))) / 1e3
    messages, calls = len(data.values["messages"]), len(data.values["calls"])
    return float(messages), float(calls), turns, built, built / turns, page, size
