"""Small texts of the command line: exit codes, text safe for terminals, counts, ids, times, plan changes."""

from __future__ import annotations

import json
import math
import re
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from squidbot.core import text as core_text
from squidbot.core.errors import (
    BudgetError,
    ConfigError,
    DamagedStoreError,
    ModelFileError,
    SquidbotError,
    TranscriptError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.plan import PlanRecord

ANSWER_IS_NO, USAGE, BUDGET_IMPOSSIBLE, DAMAGED_DATA, INTERRUPTED = 1, 2, 3, 4, 130
_SPACE = re.compile(r"\s+")
_LONG_UNIT = re.compile(r"(minute|hour)s?")
# What notebooks show is made of these, too.
line, count, percent, span = core_text.line, core_text.count, core_text.percent, core_text.span


def complain(text: str) -> None:
    """Print one line on standard error, several lines as one."""
    click.echo(f"squidbot: {line('; '.join(text.splitlines()))}", err=True)


def stop(text: str, code: int) -> NoReturn:
    """Print the reason, and end with this exit code."""
    complain(text)
    raise click.exceptions.Exit(code)


def confirm(question: str) -> None:
    """Ask, and end unless the answer is yes; where nobody can answer, say how to go on."""
    try:
        is_sure = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        stop("nobody is here to answer; pass --yes", ANSWER_IS_NO)
    if not is_sure:
        raise click.Abort


def exit_code(error: SquidbotError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, BudgetError):
        return BUDGET_IMPOSSIBLE
    if isinstance(error, ConfigError):
        return USAGE
    return DAMAGED_DATA if isinstance(error, TranscriptError | DamagedStoreError | ModelFileError) else ANSWER_IS_NO


def lines(text: str) -> list[str]:
    """Return the lines of a text, each safe for a terminal; tabs become spaces."""
    return [line(row.expandtabs(4)) for row in text.splitlines()]


def block(text: str) -> str:
    """Return a text of several lines, safe for a terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else "?" for char in text.replace("\r\n", "\n"))


def shorter(text: str, chars: int) -> str:
    """Return the beginning of a text as one line of at most that many characters; "…" marks a cut."""
    # The rest is not read: a tool's output may be megabytes long.
    head = text[: 4 * chars + 1]
    flat = line(_SPACE.sub(" ", head).strip())
    whole = len(flat) <= chars and len(head) == len(text)
    return flat if whole else f"{flat[: max(0, chars - 1)].rstrip()}…"


def parameters(arguments: str, columns: int) -> str:
    """Return a tool call's argument string for one line: `path="a.py", lines=3` if it is a JSON object."""
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return shorter(arguments, columns)
    said = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    return shorter(", ".join(said), columns)


def facts_text(facts: int, past: int) -> str:
    """Return how many durable facts hold, and how many were replaced or forgotten."""
    return f"{count(facts, 'fact')}{f', {past:,} replaced or forgotten' if past else ''}"


def left_out(left: Mapping[str, int]) -> str:
    """Return counts as a list for a summary; "" for nothing."""
    return ", ".join(f"{number:,} {kind}" for kind, number in sorted(left.items()) if number)


def seqs(found: Sequence[int], most: int = 8) -> str:
    """Return the names of messages, at most that many of them."""
    return named([span(seq) for seq in found], most)


def named(found: Sequence[str], most: int, joint: str = " ") -> str:
    """Return names, at most that many of them."""
    return joint.join(found[:most]) + (f" and {len(found) - most:,} more" if len(found) > most else "")


def clock(time: float | None) -> str:
    """Return a time in seconds since 1970 as date and time of day in UTC; "-" for none, or one outside the calendar."""
    stamped = core_text.stamp(time)
    return f"{stamped} UTC" if stamped else "-"


def ago(time: float | None, now: float) -> str:
    """Return how long ago a time was: "3 hours ago", "just now"; "-" for none, or a future one. Both in seconds."""
    return core_text.ago(time, now) or "-"


def short_ago(time: float | None, now: float) -> str:
    """Return the same for a narrow column: "5 min ago", "3 h ago"."""
    return _LONG_UNIT.sub(lambda found: "min" if found[1] == "minute" else "h", ago(time, now))


def event_line(plan: PlanRecord) -> str:
    """Return one line about a plan change: which plan, why, what it costs."""
    place, price = plan.first_changed, plan.price
    text = f"plan {plan.plan_id}, {plan.cause}: {plan.tokens_before:,} -> {plan.tokens_after:,} tokens"
    text += " as counted, with system text and tools"
    if place is not None:
        text += f", {place.token_offset:,} in front unchanged"
    if price is not None and price.tokens:
        pays = price.break_even_requests
        after = (
            f"worth it after {count(math.ceil(pays), 'request')}"
            if pays is not None
            else "not repaid by smaller requests"
        )
        summaries = f" ({price.summary_tokens:,.0f} for summaries)" if price.summary_tokens else ""
        text += f"; costs {price.tokens:,.0f} input tokens{summaries}, {after}"
    return text


def prompt_line(prompt: Mapping[str, Any]) -> str:
    """Return a mode's system text, given as by `prompt_json`: its cost part by part, and what did not fit."""
    parts = ", ".join(f"{name} {tokens:,}" for name, tokens in prompt["parts"].items())
    left = f"; {count(prompt['left_out'], 'paragraph')} left out" if prompt["left_out"] else ""
    return f"mode {prompt['mode']}: {prompt['tokens']:,} of at most {prompt['cap']:,} tokens ({parts}){left}"
