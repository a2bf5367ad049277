"""Recorded sessions of many agents: what each strategy costs and keeps in each window, and p99 of its decisions.

`--sessions DIR` names a folder of transcripts; `--rivals` replays them through other managers, too, by a script that
takes `TRANSCRIPT --window N --json FILE`. Beside the sessions a folder `compactions` may lie, with what agents carried
over compactions of their own: a script `carry.py` compares that with squidbot's notes of the same size.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.report import Bar, Result, Table
from squidbot.core.settings import STRATEGIES
from squidbot.core.tokens.counters import TEMPLATE_TOKENS, builtin_counter
from squidbot.replay.metrics import Ruler
from squidbot.replay.results import percentile
from squidbot.replay.runner import Places, conversations_of, replay
from squidbot.replay.terms import open_replay_store, terms_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from squidbot.core.ports import TokenCounter
    from squidbot.replay.runner import ReplayCall

__all__ = ["WINDOWS", "Amount", "measure"]

WINDOWS = (8_000, 16_000, 32_000, 128_000)
# The cost of a call; names kept that were last seen so many tokens ago; the user's own messages. `users` counts those
# that programs wrote in the user's role as well.
COST, RECALL, OLD_RECALL, OWN, P99 = "cost", "> 8K", "> 32K", "own words", "p99 ms"
# What the issue of quality asks for at 32,000 tokens: of the median, and of the worst tenth.
_BAR_WINDOW, _P99_MS = 32_000, 100.0
_ASKED = {"balanced": (2_500, (0.96, 0.85), (0.90, 0.70)), "coherence": (4_500, (0.99, 0.92), (0.95, 0.80))}
_OWN_ASKED = (1.0, 0.9)
# The same of what is carried over a compaction in as many tokens, and in twice as many: the least median of each.
# With a model's summary, in the same room.
_CARRIED = {
    "N1": {"literals": 0.7, "words": 0.3, "users": 0.9},
    "N2": {"literals": 0.9, "words": 0.4, "users": 1.0},
    "M1": {"literals": 0.65, "words": 0.37},
    "V+": {"literals": 0.55, "words": 0.38, "users": 0.95},
}
# Of the drawing, in characters.
_WIDTH, _HEIGHT = 76, 16


class Amount(NamedTuple):
    """What is replayed: the smallest `sessions` of a folder, None for no folder, in these windows.

    `rivals` is the script of other managers, `carry` that of compactions, None for neither; `ranks` are those of the
    tokenizer that measures all requests, None for squidbot's own.
    """

    folder: Path | None
    sessions: int
    windows: Sequence[int] = WINDOWS
    rivals: Path | None = None
    carry: Path | None = None
    ranks: Path | None = None


class Score(NamedTuple):
    """What one policy cost and kept in one session; None for what nothing was needed of, or nobody measures."""

    policy: str
    cost: float
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


def measure(amount: Amount, progress: Callable[[str], None]) -> Result:
    """Replay the sessions under each strategy, and what else there is."""
    result = Result("corpus")
    paths = sorted(amount.folder.glob("*.jsonl"), key=lambda path: path.stat().st_size) if amount.folder else []
    paths = paths[: amount.sessions]
    if not paths:
        result.remarks.append("not measured: name a folder of transcripts with --sessions")
        return result
    for window in amount.windows:
        scores = _scores(paths, window, amount, progress)
        policies = list(dict.fromkeys(score.policy for score in scores))
        rows = {name: _row([score for score in scores if score.policy == name]) for name in policies}
        title = f"{len(paths)} sessions at {window:,} tokens: cost in input tokens a call, medians and worst tenths"
        lines = tuple((name, tuple(row.values())) for name, row in rows.items())
        result.tables.append(Table(title, tuple(next(iter(rows.values()))), lines))
        result.drawings += _front(window, rows)
        if window == _BAR_WINDOW:
            result.bars += [bar for name in _ASKED for bar in _bars(name, rows[name])]
    if amount.carry and amount.folder and (cases := sorted((amount.folder.parent / "compactions").glob("*.json"))):
        progress(f"corpus: {len(cases)} compactions")
        _carried(result, amount.carry, cases)
    return result


def _scores(paths: Sequence[Path], window: int, amount: Amount, progress: Callable[[str], None]) -> list[Score]:
    """Return the scores of all sessions in one window, by policy in a fixed order.

    Two processes on the two threads of a core take 1.4 times as long each (84 ms became 120): those whose decisions are
    timed run on half of the processors, the other managers on all of them.
    """
    timed = [partial(_replayed, path, window, name, amount.ranks) for name in STRATEGIES for path in reversed(paths)]
    others = [partial(_rivals, amount.rivals, path, window) for path in reversed(paths)] if amount.rivals else []
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
            tally, recall = outcome.tally, outcome.tally.nlr
            late = percentile(outcome.seconds, 0.99)
            scores.append(
                Score(
                    strategy,
                    tally.bite,
                    recall[8_000],
                    recall[32_000],
                    tally.own_verbatim,
                    tally.users_verbatim,
                    tally.breaks,
                    tally.over,
                    tally.pairs_broken,
                    sum(calls),
                    len(outcome.failures),
                    late and late * 1e3,
                )
            )
    return scores


def _real(ranks: Path | None) -> TokenCounter | None:
    if ranks is None:
        return None
    from squidbot.adapters.tiktoken import TiktokenCounter  # noqa: PLC0415  # an extra

    return TiktokenCounter(ranks)


def _rivals(script: Path, path: Path, window: int) -> list[Score]:
    """Return what other managers cost and keep, by the script; nothing where a manager fails."""
    rows = _run(script, str(path), "--window", str(window))
    assert isinstance(rows, dict)
    return [_rival(name, row) for name, row in rows.items()]


def _rival(name: str, row: dict[str, Any]) -> Score:
    recall = row["nlr"]
    counted = row["users"], row["breaks"], row["over"], row["pairs"]
    return Score(name, row["bite"], recall["8000"], recall["32000"], None, *counted)


def _run(script: Path, *arguments: str) -> object:
    """Return the JSON that a script writes."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [sys.executable, str(script), *arguments, "--json", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # the caller's own script
        if done.returncode or not out.exists():
            raise RuntimeError(f"{script.name} ended with {done.returncode}: {done.stderr[-300:]}")
        return json.loads(out.read_text(encoding="utf-8"))


def _row(scores: Sequence[Score]) -> dict[str, float | None]:
    """Return the figures of a policy by their columns."""
    row: dict[str, float | None] = {COST: statistics.median(score.cost for score in scores)}
    for column, name in ((RECALL, "recall"), (OLD_RECALL, "old_recall"), (OWN, "own")):
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


def _carried(result: Result, script: Path, cases: Sequence[Path]) -> None:
    """Add what is kept over a compaction by the vendor's summary (V), and by squidbot.

    In its size (N1) and twice that (N2); in its size with the vendor's text as the summary of a model (M1); and by what
    stands beside the vendor's text after the agent's own compaction (V+).
    """
    rows = _run(script, *map(str, cases), "--times", "1", "2")
    ours = Path(__file__).with_name("carried.py")
    by_model = _run(ours, str(script), *map(str, cases), "--times", "1")
    beside = _run(ours, str(script), *map(str, cases), "--times", "1", "--beside")
    assert isinstance(rows, list)
    assert isinstance(by_model, list)
    assert isinstance(beside, list)
    kinds = ("literals", "words", "users", "users4")
    lines = []
    found = {name: [row[name] for row in rows] for name in ("V", "N1", "N2")}
    found |= {"M1": [row["N1"] for row in by_model], "V+": [row["N1"] for row in beside]}
    for name, each in found.items():
        made = [one for one in each if one]
        figures = {kind: _spread(one[kind] for one in made) for kind in kinds}
        lines.append((name, tuple(figure for kind in kinds for figure in figures[kind])))
        for kind, least in _CARRIED.get(name, {}).items():
            result.bars.append(Bar(f"carried, {name}: {kind}, median", figures[kind][0] or 0.0, at_least=least))
    of = "the vendor's summary (V), notes of its size (N1), twice that (N2), with it (M1), it and what it left out (V+)"
    title = f"{len(cases)} compactions: {of}"
    columns = tuple(text for kind in kinds for text in (kind, f"{kind} tenth"))
    result.tables.append(Table(title, columns, tuple(lines)))
