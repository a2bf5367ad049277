"""How much of what answers a question a search finds, in how many passages and tokens.

    python -m benchmarks.memory [PATH] [--only file|made] [--ranks FILE] [--merge TURNS | --pad TURNS]
                                [--also MODULE:NAME] [--json FILE]

PATH holds conversations in LoCoMo's form, of short turns; beside them stand conversations made here (`made`), of pages
about software. What helps on the ones can hurt on the others, so both are measured unless --only names one; without
PATH it is those made here. A question counts as answered when all turns of its evidence are among what
is returned: the first k of a ranking, or those first ones that cost at most so many tokens, as "speaker: text". What a
search leaves out is not returned. Tokens are cl100k's where its ranks are given or found, else four characters each,
which the title says. MiniLM stands beside the others where its weights and onnxruntime are installed; --also names
something else that makes a finder (see `finders.Make`).
Of the file's turns --merge makes pages of so many turns, --pad only of one speaker's turns, with so many of another
conversation, which counts as no answer though it may be one.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.conversations import CATEGORIES, merged, padded, read, shown
from benchmarks.finders import FINDERS
from benchmarks.made import made
from benchmarks.meant import finders
from benchmarks.report import Bar, Progress, Result, Table, as_json, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.conversations import Conversation, Question
    from benchmarks.finders import Make

__all__ = ["main", "measure"]

PASSAGES = (5, 10, 20, 50)
BUDGETS_TOKENS = (500, 1_000, 2_000, 4_000)
# Of the figures by category and by conversation: the budget that the bars are at.
BUDGET_TOKENS = 1_000
# Issue 6: the least, on short turns, at so many tokens.
AT_LEAST = {
    "squidbot, no model": {1_000: 72.0, 2_000: 78.0},
    "squidbot, MiniLM + FAISS": {1_000: 80.0, 2_000: 85.0},
}
RANKS = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "tokenizers" / "cl100k_base.tiktoken"


class Need(NamedTuple):
    """What has to be returned until a question's evidence is whole; infinite where it never is."""

    question: Question
    passages: float
    tokens: float


class Outcome(NamedTuple):
    """What one finder needs for each question, and the CPU time it took, in milliseconds."""

    needs: list[Need]
    query_ms: float
    added_ms: float


def measure(
    conversations: Sequence[Conversation],
    makes: dict[str, Make],
    count: Callable[[str], int],
    progress: Progress,
    part: str = "memory",
) -> Result:
    """Measure finders, on the average over all questions; bars are those of short turns."""
    found: dict[str, list[Outcome]] = {}
    for name, make in makes.items():
        progress(name)
        found[name] = [_outcome(each, make, count) for each in conversations]
    result = Result(part)
    head = "" if part == "memory" else f"{part}: "
    questions = sum(len(each.questions) for each in conversations)
    result.tables = [
        _by_size(f"{head}% of {questions} questions with all evidence returned", found),
        _by_category(f"{head}the same at {BUDGET_TOKENS:,} tokens, by category", found),
        _by_conversation(f"{head}the same at {BUDGET_TOKENS:,} tokens, by conversation", found),
        _by_time(f"{head}CPU ms", found),
    ]
    result.bars = _bars(found)
    skipped = sum(each.skipped for each in conversations)
    result.remarks.append(f"{skipped} questions left out: they name no evidence, or none that is there.")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables, write the JSON; return the exit code, 0 whatever the figures are."""
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.only == "file" and args.path is None:
        parser.error("--only file needs PATH")
    progress = Progress()
    count, unit = _counter(args.ranks)
    makes = FINDERS | finders() | {name: _named(name) for name in args.also}
    results = []
    if args.path is not None and args.only != "made":
        results.append(measure(_given(args), makes, count, progress))
        if args.pad or args.merge > 1:
            results[-1].bars.clear()  # they are for short turns
    if args.only != "file":
        results.append(measure(made(), makes, count, progress, "pages made here"))
        results[-1].bars.clear()
    for result in results:
        result.remarks.append(f"Tokens are {unit}.")
    progress("")
    print(as_text(results))
    if args.json:
        args.json.write_text(json.dumps(as_json(results), indent=2), encoding="utf-8")
    return 0


def _given(args: argparse.Namespace) -> list[Conversation]:
    """Return the conversations of the file that is named, as they are wanted."""
    conversations = read(args.path)
    if args.merge > 1:
        conversations = [merged(each, args.merge) for each in conversations]
    return padded(conversations, args.pad) if args.pad else conversations


def _outcome(conversation: Conversation, make: Make, count: Callable[[str], int]) -> Outcome:
    costs = {each.key: count(shown(each)) for each in conversation.passages}
    began = time.process_time()
    finder = make(conversation.passages)
    made = time.process_time()
    ranked = [finder.rank(each) for each in conversation.questions]
    ended = time.process_time()
    needs = [_need(question, keys, costs) for question, keys in zip(conversation.questions, ranked, strict=True)]
    query_ms = (ended - made) * 1000 / max(1, len(needs))
    return Outcome(needs, query_ms, (made - began) * 1000 / max(1, len(costs)))


def _need(question: Question, keys: Sequence[str], costs: dict[str, int]) -> Need:
    missing, tokens = set(question.evidence), 0
    for number, key in enumerate(keys, 1):
        tokens += costs[key]
        missing.discard(key)
        if not missing:
            return Need(question, number, tokens)
    return Need(question, math.inf, math.inf)


def _by_size(title: str, found: dict[str, list[Outcome]]) -> Table:
    columns = (*(f"k={each}" for each in PASSAGES), *(f"{each:,} tok" for each in BUDGETS_TOKENS))
    rows = []
    for name, outcomes in found.items():
        needs = [need for outcome in outcomes for need in outcome.needs]
        cells = [_percent([need.passages <= most for need in needs]) for most in PASSAGES]
        cells += [_percent([need.tokens <= most for need in needs]) for most in BUDGETS_TOKENS]
        rows.append((name, tuple(cells)))
    return Table(title, columns, tuple(rows))


def _bars(found: dict[str, list[Outcome]]) -> list[Bar]:
    """Return what is asked of ours, on conversations of short turns."""
    bars = []
    for name in (each for each in AT_LEAST if each in found):
        needs = [need for outcome in found[name] for need in outcome.needs]
        for most, least in AT_LEAST[name].items():
            share = _percent([need.tokens <= most for need in needs])
            if share is not None:
                bars.append(Bar(f"{name}: % at {most:,} tokens", share, at_least=least))
    return bars


def _by_category(title: str, found: dict[str, list[Outcome]]) -> Table:
    columns = tuple(CATEGORIES.values())
    rows = []
    for name, outcomes in found.items():
        needs = [need for outcome in outcomes for need in outcome.needs]
        cells = [
            _percent([need.tokens <= BUDGET_TOKENS for need in needs if need.question.category == category])
            for category in columns
        ]
        rows.append((name, tuple(cells)))
    return Table(title, columns, tuple(rows))


def _by_conversation(title: str, found: dict[str, list[Outcome]]) -> Table:
    most = max(map(len, found.values()), default=0)
    rows = [
        (name, tuple(_percent([need.tokens <= BUDGET_TOKENS for need in outcome.needs]) for outcome in outcomes))
        for name, outcomes in found.items()
    ]
    return Table(title, tuple(str(number) for number in range(1, most + 1)), tuple(rows))


def _by_time(title: str, found: dict[str, list[Outcome]]) -> Table:
    rows = [
        (name, (_mean([each.query_ms for each in outcomes]), _mean([each.added_ms for each in outcomes])))
        for name, outcomes in found.items()
    ]
    return Table(title, ("a query", "a passage"), tuple(rows))


def _percent(answers: Sequence[bool]) -> float | None:
    return 100 * sum(answers) / len(answers) if answers else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _counter(ranks: Path | None) -> tuple[Callable[[str], int], str]:
    """Return what counts tokens, and its name: the real ones where there are ranks and a package that reads them."""
    path = ranks or (RANKS if RANKS.exists() else None)
    if path is not None:
        try:
            from squidbot.adapters.tiktoken import TiktokenCounter  # noqa: PLC0415  # an extra
        except ImportError:
            pass
        else:
            return TiktokenCounter(path).count, path.stem
    return lambda text: (len(text) + 3) // 4, "four characters each"


def _named(name: str) -> Make:
    module, _, attribute = name.partition(":")
    make: Make = getattr(import_module(module), attribute)
    return make


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description="What a search finds of memories.")
    parser.add_argument("path", nargs="?", type=Path, metavar="PATH", help="conversations in LoCoMo's form")
    parser.add_argument("--only", choices=("file", "made"), help="measure those of PATH alone, or those made here")
    parser.add_argument("--ranks", type=Path, metavar="FILE", help="tiktoken ranks that count tokens")
    parser.add_argument("--merge", type=int, default=1, metavar="TURNS", help="make one passage of so many turns")
    parser.add_argument(
        "--pad", type=int, default=0, metavar="TURNS", help="put so many others around every second one"
    )
    parser.add_argument("--also", action="append", default=[], metavar="MODULE:NAME", help="another maker of a finder")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
