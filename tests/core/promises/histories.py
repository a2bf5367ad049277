"""Hostile histories, setups and inputs to draw from: what hosts record when something went wrong, and odder things."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from squidbot.core.budget import HistoryCaps, Ladder
from squidbot.core.engine import Inputs
from squidbot.core.plan import JOURNAL_SECTION, REMEMBERED, Section
from squidbot.core.settings import STRATEGIES, HistorySettings
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.core.view.marks import MEMORIES, fence
from squidbot.core.view.renderer import fenced

from .driver import CLASSES, Setup, Talk, assistant, message, result

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from squidbot.core.messages import Message

# What goes wrong in one text each: empty, blank, many tokens a character, no Unicode scalar, marks of squidbot's own.
ODD = (
    "", " ", "\0", "\ud800", "\udfff\ud83d", "\N{GRINNING FACE}\N{ZERO WIDTH JOINER}\N{FIRE}",
    "\u4f60\u597d\u4e16\u754c",
    "\uc548\ub155", "\u202e\u0000", "</notice>", "</squidbot memory>", "[continue]", "m0 recall s0-3.beef", '{"a": [1',
    "\r\n\x85\u2028",
)  # fmt: skip
PLAIN = (
    "yes", "please fix src/app/main.py", "Error: file not found", "decided: use SQLite", "x = 1\n",
    "3f2504e0-4f89-11d3",
    "[DECISION] use SQLite - LOCKED\n", "- [GOAL] ship it by May\n[NEXT] write the parser\n",
    "the quick brown fox jumps over it. ", "def parse(text: str) -> int:\n    return 0\n", '{"path": "a/b.py"}',
)  # fmt: skip
CALL_IDS = ("a", "b", "c", "\ud83d", "call_0123456789")
ARGUMENTS = ("", "{}", "[]", '{"path": "a/b.py", "n": 1}', "no JSON", '{"text": "\ud800"}', "NaN")
NAMES = ("read", "write_file", "\N{GRINNING FACE}")


# A strategy that is made once is checked once: hundreds would be made for each example.
@cache
def texts(most: int = 4000) -> st.SearchStrategy[str]:
    """Return texts of up to about `most` characters: odd ones, plain ones, and either of them over and over."""
    short = st.sampled_from((*ODD, *PLAIN)) | st.text(max_size=40)
    long = st.builds(lambda unit, size: (unit or "-") * (size // max(1, len(unit))), short, st.integers(1, most))
    return st.one_of(short, short, long)


@cache
def calls() -> st.SearchStrategy[tuple[str, str, str]]:
    """Return tool calls as (id, name, arguments); ids come back within a step and over steps."""
    long = st.builds(
        lambda text, size: '{"content": "' + text * size + '"}', st.sampled_from(PLAIN[:1]), st.integers(1, 900)
    )
    return st.tuples(st.sampled_from(CALL_IDS), st.sampled_from(NAMES), st.sampled_from(ARGUMENTS) | long)


@cache
def stepping() -> st.SearchStrategy[list[tuple[str, str, str]]]:
    """Return the calls of a step."""
    return st.lists(calls(), max_size=4)


@cache
@st.composite
def steps(draw: st.DrawFn, most: int) -> list[Message]:
    """Draw an assistant's step: calls, and results that are all there, missing, in another order, twice, or strange."""
    made = draw(stepping())
    step = [assistant(draw(texts(most)), *made)]
    ids = [one[0] for one in made]
    fate = draw(st.sampled_from(["answered", "answered", "answered", "missing", "twice", "strange", "reversed"]))
    if fate == "missing":
        ids = ids[: draw(st.integers(0, max(0, len(ids) - 1)))]
    elif fate == "twice":
        ids = ids * 2
    elif fate == "strange":
        ids = [*ids, draw(st.sampled_from(CALL_IDS))]
    elif fate == "reversed":
        ids = ids[::-1]
    return [*step, *(result(one, draw(texts(most))) for one in ids)]


@cache
def _one(role: str, most: int) -> st.SearchStrategy[list[Message]]:
    return texts(most).map(lambda text: [message(role, text)])


@cache
def _late(most: int) -> st.SearchStrategy[list[Message]]:
    return st.builds(lambda one, text: [result(one, text)], st.sampled_from(CALL_IDS), texts(most))


@cache
def histories(most: int = 4000, largest: int = 14) -> st.SearchStrategy[Talk]:
    """Return histories of up to `largest` steps and sayings, with texts of up to about `most` characters.

    Times advance, stand still, step back, or are missing.
    """
    kinds = [
        _one("user", most),
        _one("user", most),
        steps(most),
        steps(most),
        steps(most),
        _late(most),
        _one("system", most),
    ]
    gaps = st.lists(st.sampled_from([None, 0.0, 5.0, -60.0, 400.0, 4000.0]), max_size=6)
    return st.builds(
        lambda groups, steps: timed([one for group in groups for one in group], steps),
        st.lists(st.one_of(kinds), max_size=largest),
        gaps,
    )


def timed(history: Sequence[Message], gaps: Sequence[float | None]) -> Talk:
    """Return the history with a clock that makes these steps over and over, in seconds; None: no time is known."""
    now = 1_700_000_000.0
    made = Talk()
    for place, one in enumerate(history):
        gap = gaps[place % len(gaps)] if gaps else None
        now += gap or 0.0
        made.append(replace(one, time=None if gap is None else now))
    return made


def tame(turns: int, words: int = 40, *, start: int = 0) -> list[Message]:
    """Return a plain conversation: in every turn a question, a call with its result, and an answer."""
    said: list[Message] = []
    for turn in range(start, start + turns):
        said.append(message("user", f"question {turn}: " + "please look at it " * (words // 4)))
        said.append(assistant("", (f"t{turn}", "read", f'{{"path": "src/part_{turn}.py"}}')))
        said.append(result(f"t{turn}", f"content of part_{turn}: " + "value " * words))
        said.append(assistant(f"answer {turn}: " + "because of this " * (words // 4)))
    return said


WORDS = Meter(CLASSES.physical, builtin_counter("words"))
METERS = (CLASSES, CLASSES, Meter(builtin_counter("bytes")))
VARIANTS = (
    *STRATEGIES.values(),
    HistorySettings(high_fraction=0.9, low_fraction=0.9),
    HistorySettings(min_saving_fraction=0.0),
    HistorySettings(min_recent_messages=50),
    HistorySettings(cap=HistoryCaps(120, 200, 40, 2, reduces=True, pointer=10)),
    HistorySettings(cap=HistoryCaps(60, 60, 0, 3, reduces=False, pointer=10)),
    HistorySettings(says_notes=True),
    HistorySettings(scope="inline"),
    HistorySettings(scope="summaries"),
    HistorySettings(scope="none"),
    HistorySettings(floor_turns=2, keep_recent_tokens=300, min_recent_messages=2),
    HistorySettings(beside_summaries=True, ladder=Ladder(compact_at_messages=9, low_water_messages=6)),
    HistorySettings(user_verbatim_fraction=0.0, notes_fraction=0.0),
    HistorySettings(gap_seconds=1.0, min_note_tokens=1),
    HistorySettings(output_fraction=1.0, step_fraction=1.0),
    HistorySettings(assistant_fraction=0.15),
    HistorySettings(assistant_fraction=0.05, min_saving_fraction=0.0, low_fraction=0.5),
    HistorySettings(ladder=Ladder(0.1, 0.2, 0.3, 0.4, compact_at_tokens=400, compact_at_messages=8)),
)


@cache
@st.composite
def setups(draw: st.DrawFn, windows: Sequence[int] = (2048, 2048, 2048, 4096, 8192)) -> Setup:
    """Draw a window, a reserve, settings and a meter; in some the policy counts words."""
    window_tokens = draw(st.sampled_from(windows))
    reserve = draw(st.sampled_from([None, None, 0, 1, window_tokens // 2]))
    settings = draw(st.sampled_from(VARIANTS))
    if draw(st.integers(0, 3)) == 0:
        limit = draw(st.sampled_from([100, 400, 1500]))
        return Setup(window_tokens, reserve, replace(settings, policy_limit=limit), WORDS)
    return Setup(window_tokens, reserve, settings, draw(st.sampled_from(METERS)))


def unmarked(setup: Setup) -> Setup:
    """Return the setup without what fires an event whatever the room: the high-water mark alone does."""
    settings = replace(setup.settings, cap=None, scope="inline+summaries")
    return replace(setup, settings=replace(settings, ladder=settings.ladder.without_marks()))


class Remembering(NamedTuple):
    """A memory that says of its facts as many as fit, counted by bytes, which no counter's bound is above."""

    facts: tuple[str, ...] = ()

    def head(self, limit_tokens: int) -> tuple[Section, ...]:
        """Return the newest facts that fit, as two sections, and the oldest as the journal's, if it fits."""
        journal = [
            Section(JOURNAL_SECTION, fact)
            for fact in self.facts[:1]
            if _bytes(fenced(JOURNAL_SECTION, fact)) <= limit_tokens
        ]
        for first in range(len(self.facts)):
            halves = ("\n".join(self.facts[first::2]), "\n".join(self.facts[first + 1 :: 2]))
            made = [Section(f"{REMEMBERED}{name}", text) for name, text in zip("ab", halves, strict=True) if text]
            if sum(_bytes(fenced(one.name, one.text)) for one in made) <= limit_tokens:
                return (*(one._replace(memories=self.facts[first:]) for one in made), *journal)
        return tuple(journal)

    def start(self, prompt: str, limit_tokens: int, head: Sequence[Section]) -> str | None:
        """Return the first fact that fits and has the length of the prompt's last digit; what the head has not said."""
        known = {fact for section in head for fact in section.memories}
        for fact in self.facts[len(prompt) % 3 :]:
            text = fence(MEMORIES, "from before", f"- f-0: {fact}")
            if fact not in known and _bytes(text) <= limit_tokens:
                return text
        return None

    def resume(self, limit_tokens: int, head: Sequence[Section], noticed: Sequence[str]) -> str | None:
        """Return the oldest fact as the journal's, if it fits and is not in view."""
        for fact in self.facts[:1]:
            seen = any(one.text == fact for one in head) or any(fact in one for one in noticed)
            text = fence("journal", "before this pause", fact)
            return None if seen or _bytes(text) > limit_tokens else text
        return None

    def withdrawn(self, memory_ids: Collection[str]) -> frozenset[str]:
        """Return none: whatever was said may be said."""
        return frozenset(()) & frozenset(memory_ids)

    def unsaid(self, memory_ids: Collection[str]) -> bool:
        """Return False: all was said here."""
        return not frozenset(memory_ids)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) + 64


@cache
def remembering() -> st.SearchStrategy[Remembering]:
    """Return memories with nothing in them, little, or more than fits."""
    facts = st.sampled_from(["Likes tea.", "Lives in Oslo.", "\N{GRINNING FACE}", "\ud800", "Speaks of bees. " * 9])
    return st.builds(Remembering, st.lists(facts, max_size=30).map(tuple))


@cache
def inputs() -> st.SearchStrategy[Inputs]:
    """Return what a host gives beside the conversation: nothing, mostly."""
    section = st.builds(Section, st.sampled_from(["memory", "profile"]), st.sampled_from(["", "likes tea", "\ud800"]))
    full = st.builds(
        Inputs,
        system=st.sampled_from(["", "You are helpful.", "Be brief. " * 30]),
        tools=st.sampled_from(["", '[{"name": "read"}]']),
        sections=st.lists(section, max_size=2, unique_by=lambda one: one.name).map(tuple),
        notice=st.sampled_from([None, "", "it is 12:00", "</notice>", "12 % used " * 10]),
        now=st.none(),
        unprompted=st.one_of(st.none(), remembering()),
    )
    return st.one_of(st.just(Inputs()), full)


@cache
def schedules() -> st.SearchStrategy[list[Inputs]]:
    """Return inputs by call: the one of a call's number, over and over; most often the same for all."""
    return st.one_of(inputs().map(lambda one: [one]), st.lists(inputs(), min_size=1, max_size=4))


def effort(examples: int) -> settings:
    """Return the settings of a property: so many examples, times PROMISE_EFFORT where the environment has it."""
    times = int(os.environ.get("PROMISE_EFFORT", "1"))
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    phases = [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]
    return settings(max_examples=examples * times, deadline=None, suppress_health_check=slow, phases=phases)
