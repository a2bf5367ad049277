"""Notes made by rule: what stands for a block of old messages when no language model has summarized it."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from squidbot.core.literals import literals_of
from squidbot.core.messages import Cost
from squidbot.core.notes import Line, Reading, Unit, bounded, names_in, read
from squidbot.core.tokens import measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Message
    from squidbot.core.ports import TokenCounter

__all__ = ["Notes", "extract", "render"]


# What costs more tokens for its worth is left out even where there is room.
LEAST_WORTH_PER_TOKEN = 0.015


@dataclass(frozen=True, slots=True)
class Notes:
    """A text that stands for messages, and its cost in tokens without any template around it."""

    text: str
    cost: Cost


def extract(
    messages: Sequence[Message],
    *,
    limit_tokens: int,
    counter: TokenCounter,
    known: frozenset[str] = frozenset(),
    users_verbatim: bool = True,
    first_seq: int = 0,
) -> Notes:
    """Return notes on messages whose cost.bound is at most `limit_tokens`; the same input gives the same text.

    `known` are literals that stand elsewhere in the request; nothing is listed for their sake. With
    `users_verbatim` the users' messages follow the notes word for word, so the notes leave them out. `first_seq` is
    the seq of the first message. A limit too small for any notes gives an empty text.
    """
    covered = set(known)
    if users_verbatim:
        for message in messages:
            if message.role == "user":
                covered |= literals_of(bounded(message.text))
    reading = read(messages, users_verbatim=users_verbatim)
    header = _header(messages, first_seq)
    return render(reading, header=header, limit_tokens=limit_tokens, counter=counter, known=frozenset(covered))


def render(
    reading: Reading, *, header: str, limit_tokens: int, counter: TokenCounter, known: frozenset[str] = frozenset()
) -> Notes:
    """Return what was read as notes under a header line; `limit_tokens` and `known` as for `extract`."""
    lines = [(line, list(line.units.values())) for line in reading.lines.values()]
    picks = _ranked(reading, lines, set(known), ENOUGH * limit_tokens)
    return _fitting(header, lines, picks, limit_tokens, counter, known)


def _header(messages: Sequence[Message], first_seq: int) -> str:
    calls = sum(len(message.calls) for message in messages)
    last_seq = first_seq + max(0, len(messages) - 1)
    return f"Notes on messages {first_seq}-{last_seq} ({calls} tool calls), by rule, in order:"


# The words ranked for a note cost, roughly counted, this many times its limit: the rough count is under the bound.
ENOUGH = 1.3


@lru_cache(maxsize=16_384)
def _about_tokens(text: str) -> float:
    """Return roughly what words cost in tokens; it only ranks, and never decides what fits."""
    return 1.0 + len(text) / 4.5 + 0.3 * sum(map(str.isdigit, text))


def _ranked(
    reading: Reading, lines: list[tuple[Line, list[Unit]]], covered: set[str], enough: float
) -> list[tuple[int, int]]:
    """Return (line, unit) in the order in which they are worth their tokens; unit -1 is a line's head.

    A head comes before its units. The order does not depend on any limit, so that more room only adds; it ends where
    about `enough` tokens are named.
    """
    heap: list[tuple[float, int, int]] = []
    best_units: dict[int, list[int]] = {}
    names = names_in

    def gain(unit: Unit) -> float:
        return unit.weight + sum(reading.worth(name, unit.base) for name in names(unit.text) if name not in covered)

    def promising(line: int) -> list[int]:
        if line not in best_units:
            units = lines[line][1]
            worth = [-gain(unit) / _about_tokens(unit.text) for unit in units]
            best_units[line] = heapq.nsmallest(12, range(len(units)), key=worth.__getitem__)
        return best_units[line]

    def density(line: int, unit: int) -> float:
        if unit >= 0:
            return gain(lines[line][1][unit]) / _about_tokens(lines[line][1][unit].text)
        head = _head(lines[line][0], covered)
        value = gain(Unit(head, weight=lines[line][0].weight))
        cost = _about_tokens(head) + 2
        best = value / cost
        for at in promising(line):
            more = lines[line][1][at]
            value, cost = value + gain(more), cost + _about_tokens(more.text)
            best = max(best, value / cost)
        return best

    for index in range(len(lines)):
        heapq.heappush(heap, (-density(index, -1), index, -1))
    picks: list[tuple[int, int]] = []
    used = 0.0
    while heap and used <= enough:
        _, line, unit = heapq.heappop(heap)
        now = density(line, unit)
        if now <= LEAST_WORTH_PER_TOKEN:
            continue
        if heap and now < -heap[0][0] - 1e-12:
            heapq.heappush(heap, (-now, line, unit))
            continue
        picks.append((line, unit))
        used += _about_tokens(_head(lines[line][0], covered) if unit < 0 else lines[line][1][unit].text)
        covered |= names(_head(lines[line][0], covered) if unit < 0 else lines[line][1][unit].text)
        if unit < 0:
            for at in range(len(lines[line][1])):
                heapq.heappush(heap, (-density(line, at), line, at))
    return picks


def _head(line: Line, covered: set[str] | frozenset[str]) -> str:
    return line.short if line.short and line.path in covered else line.head


def _fitting(
    header: str,
    lines: list[tuple[Line, list[Unit]]],
    picks: list[tuple[int, int]],
    limit_tokens: int,
    counter: TokenCounter,
    known: frozenset[str],
) -> Notes:
    """Return the text of as many picks, best first, as cost at most the limit."""
    low, high = 0, len(picks)
    best = Notes("", measure(counter, ""))
    while low <= high:
        middle = (low + high) // 2
        text = _text(header, lines, picks[:middle], known)
        cost = measure(counter, text)
        if cost.bound <= limit_tokens:
            best, low = Notes(text, cost), middle + 1
        else:
            high = middle - 1
    return best


def _text(
    header: str, lines: list[tuple[Line, list[Unit]]], picks: list[tuple[int, int]], known: frozenset[str]
) -> str:
    chosen: dict[int, list[int]] = {}
    for line, unit in picks:
        chosen.setdefault(line, [])
        if unit >= 0:
            chosen[line].append(unit)
    rows = ["- " + _head(lines[at][0], known) + _behind(lines[at][1], sorted(chosen[at])) for at in sorted(chosen)]
    return "\n".join([header, *rows])


def _behind(units: list[Unit], chosen: list[int]) -> str:
    parts: dict[str, list[str]] = {}
    for at in chosen:
        parts.setdefault(units[at].label, []).append(units[at].text)
    text = ""
    for label, words in parts.items():
        text += f"; {label}: {', '.join(words)}" if label else " | " + " ".join(words)
    return text
