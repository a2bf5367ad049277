"""Recorded sessions of many agents: what each strategy costs and keeps in each window, and p99 of its decisions.

`--sessions DIR` names a folder of transcripts, else those of `--data` are taken, which `benchmarks.fetch` brings.
`--rivals` replays them through the managers of other libraries, too (`managers`). All sessions stand in one table for
each window, those of each agent in one of its own.
"""

from __future__ import annotations

import os
import statistics
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.fetch import catalogue
from benchmarks.managers import available, missing
from benchmarks.report import OWN_COUNT, Bar, Result, Table
from squidbot.core.settings import STRATEGIES
from squidbot.core.tokens.counters import TEMPLATE_TOKENS, builtin_counter
from squidbot.replay.metrics import Ruler
from squidbot.replay.recording import CODECS, Reader, recording_of
from squidbot.replay.results import percentile
from squidbot.replay.rivals import score_rival
from squidbot.replay.runner import Places, conversations_of, replay
from squidbot.replay.terms import open_replay_store, terms_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from squidbot.core.ports import TokenCounter
    from squidbot.replay.metrics import Tally
    from squidbot.replay.runner import ReplayCall

__all__ = ["WINDOWS", "Amount", "measure"]

WINDOWS = (8_000, 16_000, 32_000, 128_000)
# The cost of a call; names kept that were last seen so many tokens ago; the user's own messages. `users` counts those
# that programs wrote in the user's role as well.
COST, NEAR_RECALL, RECALL, OLD_RECALL, OWN, P99 = "cost", "> 2K", "> 8K", "> 32K", "own words", "p99 ms"
# What the issue of quality asks for at 32,000 tokens: of the median, and of the worst tenth.
_BAR_WINDOW, _P99_MS = 32_000, 100.0
_ASKED = {"balanced": (2_500, (0.96, 0.85), (0.90, 0.70)), "coherence": (4_500, (0.99, 0.92), (0.95, 0.80))}
_OWN_ASKED = (1.0, 0.9)
# Of the drawing, in characters.
_WIDTH, _HEIGHT = 76, 16


class Amount(NamedTuple):
    """What is replayed: the smallest `sessions` of a folder, None for no folder, in these windows.

    With `rivals` other managers are measured, too; `ranks` are those of the tokenizer that measures all requests, None
    for squidbot's own.
    """

    folder: Path | None
    sessions: int
    windows: Sequence[int] = WINDOWS
    rivals: bool = False
    ranks: Path | None = None


class Score(NamedTuple):
    """What one policy cost and kept in one conversation of an agent; None where nothing was needed, or measured."""

    policy: str
    agent: str
    cost: float
    near_recall: float | None
    recall: float | None
    old_recall: float | None
    own: float | None
    users: float
    breaks: int
    over: int
    parted: int
    under: int = 0
    refused: int = 0
    p99_ms: float | None = None


_MEASURED = ("cost", "near_recall", "recall", "old_recall", "own", "users")
_COUNTED = ("breaks", "over", "parted", "under", "refused")


def measure(amount: Amount, progress: Callable[[str], None]) -> Result:
    """Replay the sessions under each strategy, and what else there is."""
    result = Result("corpus")
    paths = sorted(amount.folder.glob("*.jsonl"), key=lambda path: path.stat().st_size) if amount.folder else []
    paths = paths[: amount.sessions]
    if not paths:
        result.remarks.append("not measured: name a folder of transcripts with --sessions")
        return result
    agents = {made.to.rpartition("/")[2]: (made.agent, made.domain) for made in catalogue()}
    for window in amount.windows:
        scores = _scores(paths, window, amount, progress)
        groups = {"": _by_file(scores)}
        for score in scores:
            agent, domain = agents.get(score.agent, (score.agent.rstrip("0123456789-"), ""))
            groups.setdefault(f"{agent} ({domain})" if domain else agent, []).append(score)
        # A single agent needs no table of its own.
        for name, group in groups.items() if len(groups) > 1 + 1 else [("", groups[""])]:
            rows, talks = _rows(group)
            title = f"{talks} sessions at {window:,} tokens: cost in input tokens a call, medians and worst tenths"
            lines = tuple((policy, tuple(row.values())) for policy, row in rows.items())
            about = {"window": window, "group": name, "sessions": talks}
            result.tables.append(
                Table(f"{name}: {title}" if name else title, tuple(next(iter(rows.values()))), lines, about)
            )
            if not name:
                result.drawings += _front(window, rows)
                result.bars += (
                    [bar for each in _ASKED for bar in _bars(each, rows[each])] if window == _BAR_WINDOW else []
                )
    result.remarks.append(f"Tokens are {amount.ranks.stem if amount.ranks else OWN_COUNT}.")
    if amount.rivals and missing():
        result.remarks.append(f"not installed: {', '.join(missing())}")
    return result


def _by_file(scores: Sequence[Score]) -> list[Score]:
    """Return one score for each policy and file: a hundred short conversations count as one recording."""
    files: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        files.setdefault((score.policy, score.agent), []).append(score)
    return [_together(group) for group in files.values()]


def _together(scores: Sequence[Score]) -> Score:
    """Return medians of what is measured, sums of what is counted, and the latest decision."""
    values: dict[str, Any] = {name: _spread(getattr(score, name) for score in scores)[0] for name in _MEASURED}
    values |= {name: sum(getattr(score, name) for score in scores) for name in _COUNTED}
    late = max((score.p99_ms for score in scores if score.p99_ms is not None), default=None)
    return scores[0]._replace(**values, p99_ms=late)


def _rows(scores: Sequence[Score]) -> tuple[dict[str, dict[str, float | None]], int]:
    """Return the rows of policies, and how many conversations there are."""
    policies = dict.fromkeys(score.policy for score in scores)
    rows = {name: _row([score for score in scores if score.policy == name]) for name in policies}
    return rows, sum(score.policy == next(iter(policies)) for score in scores)


def _scores(paths: Sequence[Path], window: int, amount: Amount, progress: Callable[[str], None]) -> list[Score]:
    """Return the scores of all sessions in one window, by policy in a fixed order.

    Two processes on the two threads of a core take 1.4 times as long each (84 ms became 120): those whose decisions are
    timed run on half of the processors, the other managers on all of them.
    """
    timed = [partial(_replayed, path, window, name, amount.ranks) for name in STRATEGIES for path in reversed(paths)]
    others = [partial(_rivals, path, window, amount.ranks) for path in reversed(paths)] if amount.rivals else []
    count, scores = os.cpu_count() or 1, []
    for jobs, processes in ((timed, max(1, count // 2)), (others, count)):
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(job): number for number, job in enumerate(jobs)}
            found: dict[int, list[Score]] = {}
            for done in as_completed(waiting):
                found[waiting[done]] = done.result()
                progress(f"corpus: {window:,} tokens, {len(found)} of {len(jobs)} replays")
        scores += [score for number in range(len(jobs)) for score in found[number]]
    return scores


def _replayed(path: Path, window: int, strategy: str, ranks: Path | None) -> list[Score]:
    """Replay one file under a strategy."""
    classes = builtin_counter("classes")
    ruler = Ruler(_real(ranks) or classes)
    terms = terms_for(window, None, strategy, classes, "tokens")
    scores: list[Score] = []
    with open_replay_store(None) as store:
        for conversation in conversations_of(Places((str(path),))):
            calls: list[bool] = []

            def watch(call: ReplayCall, calls: list[bool] = calls) -> None:
                costs = (ruler.measured(block.role, block.text).cost.estimate for block in call.blocks or ())
                calls.append(call.bound_tokens < sum(cost - TEMPLATE_TOKENS for cost in costs))

            outcome = replay(conversation, terms, store, ruler, watch)
            late = percentile(outcome.seconds, 0.99)
            counted = sum(calls), len(outcome.failures), late and late * 1e3
            scores.append(_score(strategy, path, outcome.tally, *counted))
    return scores


def _rivals(path: Path, window: int, ranks: Path | None) -> list[Score]:
    """Replay one file through other managers."""
    ruler = Ruler(_real(ranks) or builtin_counter("classes"))
    terms = terms_for(window, None, "balanced", builtin_counter("classes"), "tokens")
    scores = []
    for conversation in conversations_of(Places((str(path),))):
        recording = recording_of(conversation, Reader(conversation, CODECS))
        for kind in available():
            scored = score_rival(kind(terms.limit_tokens, ruler), recording, ruler, lambda: None)
            scores.append(_score(kind.name, path, scored.tally))
    return scores


def _score(  # noqa: PLR0913, PLR0917  # what is counted beside the tally
    policy: str, path: Path, tally: Tally, under: int = 0, refused: int = 0, late: float | None = None
) -> Score:
    recall, kept = tally.nlr, (tally.own_verbatim, tally.users_verbatim)
    counts = tally.breaks, tally.over, tally.pairs_broken, under, refused
    return Score(policy, path.name, tally.bite, recall[2_000], recall[8_000], recall[32_000], *kept, *counts, late)


def _real(ranks: Path | None) -> TokenCounter | None:
    if ranks is None:
        return None
    from squidbot.adapters.tiktoken import TiktokenCounter  # noqa: PLC0415  # an extra

    return TiktokenCounter(ranks)


def _row(scores: Sequence[Score]) -> dict[str, float | None]:
    """Return the figures of a policy by their columns."""
    row: dict[str, float | None] = {COST: _spread(score.cost or None for score in scores)[0]}
    for column, name in ((NEAR_RECALL, "near_recall"), (RECALL, "recall"), (OLD_RECALL, "old_recall"), (OWN, "own")):
        row[column], row[f"{column} tenth"] = _spread(getattr(score, name) for score in scores)
    for name in ("users", "breaks"):
        row[name] = statistics.median(getattr(score, name) for score in scores)
    for name in ("over", "parted", "under", "refused"):
        row[name] = float(sum(getattr(score, name) for score in scores))
    row[P99] = max((score.p99_ms for score in scores if score.p99_ms is not None), default=None)
    return row


def _spread(values: Iterable[float | None]) -> tuple[float | None, float | None]:
    """Return the median and the worst tenth; None for both where there is no value."""
    found = sorted(value for value in values if value is not None)
    return (statistics.median(found), found[len(found) // 10]) if found else (None, None)


def _bars(name: str, row: dict[str, float | None]) -> Iterator[Bar]:
    cost, recall, old = _ASKED[name]
    yield Bar(f"corpus, {name}: cost, median", row[COST] or 0.0, at_most=cost)
    for column, (median, tenth) in {RECALL: recall, OLD_RECALL: old, OWN: _OWN_ASKED}.items():
        for key, least, of in ((column, median, "median"), (f"{column} tenth", tenth, "worst tenth")):
            figure = row[key]
            if figure is not None:
                yield Bar(f"corpus, {name}: {column}, {of}", figure, at_least=least)
    for what in ("over", "parted", "under"):
        yield Bar(f"corpus, {name}: requests {what}", row[what] or 0.0, at_most=0)
    yield Bar(f"corpus, {name}: a decision, p99 of the worst session, ms", row[P99] or 0.0, at_most=_P99_MS)


def _front(window: int, rows: dict[str, dict[str, float | None]]) -> list[str]:
    """Return the policies as points of cost (to the right) and recall (upwards), drawn; nothing without any."""
    points = {name: (row[COST] or 0.0, row[RECALL]) for name, row in rows.items()}
    known = {name: (cost, recall) for name, (cost, recall) in points.items() if recall is not None}
    if not known:
        return []
    costs, recalls = zip(*known.values(), strict=True)
    grid = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    for mark, (cost, recall) in zip(ascii_lowercase, known.values(), strict=False):
        across = round((cost - min(costs)) / (max(costs) - min(costs) or 1.0) * (_WIDTH - 1))
        up = round((recall - min(recalls)) / (max(recalls) - min(recalls) or 1.0) * (_HEIGHT - 1))
        grid[_HEIGHT - 1 - up][across] = mark
    edges = {0: f"{max(recalls):.3f}", _HEIGHT - 1: f"{min(recalls):.3f}"}
    drawn = [f"  {edges.get(at, ''):>5} |{''.join(row).rstrip()}" for at, row in enumerate(grid)]
    axis = f"        {min(costs):<{_WIDTH - 8},.0f}{max(costs):>8,.0f}"
    legend = "  " + ", ".join(f"{mark} {name}" for mark, name in zip(ascii_lowercase, known, strict=False))
    title = f"Front at {window:,} tokens: names kept beyond 8,000 tokens, by cost"
    return ["\n".join([title, *drawn, f"        {'-' * _WIDTH}", axis, legend])]
