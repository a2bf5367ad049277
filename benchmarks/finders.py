"""What finds passages for a question: ours, and the ways that everybody has, to stand beside."""

from __future__ import annotations

import json
import re
import sqlite3
import weakref
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from benchmarks.exact import Index
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.memory.injection import MessageSearch
from squidbot.core.messages import Category, Cost, StoredMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.conversations import Question
    from squidbot.core.memories import MemoryHit, Passage

__all__ = [
    "FINDERS", "LIMIT", "NO_MODEL", "PLAIN", "USER_FIRST", "Finder", "FullText", "Make", "Scoring", "fused",
    "is_assistant",
]  # fmt: skip

NO_MODEL, PLAIN, USER_FIRST = "squidbot, no model", "FTS5 porter", "BM25, user's turns first"
# More is asked of squidbot by nobody: some 6,000 tokens of short turns.
LIMIT = 200
# What conversations call a program, in lower case.
ASSISTANTS = ("assistant", "ai", "bot")
# Characters of which a clause has no spaces between its words.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
_WORD = re.compile(r"\w+")
# What a question has for its grammar alone.
_GRAMMAR = """
a about after all also am an and any are as at be because been before being but by can could did do does doing for
from had has have he her hers him his how i if in into is it its just kind like may me might more most my of on or other
our out over s she should so some such t than that the their them then there these they this those to too up us very was
we were what when where which while who whom whose why will with would you your
"""
STOP_WORDS = frozenset(_GRAMMAR.split())
WINDOW = 1  # turns on each side


class Finder(Protocol):
    """Something that ranks the passages it was made from."""

    def rank(self, question: Question) -> Sequence[str]:
        """Return the keys of passages, best first, each at most once; what it would not return is left out."""


if TYPE_CHECKING:
    # What makes a finder of a conversation's passages, in order.
    Make = Callable[[Sequence[Passage]], Finder]


@runtime_checkable
class Scoring(Finder, Protocol):
    """Something that says how likely what it finds answers a question."""

    def hits(self, question: Question) -> Sequence[MemoryHit]:
        """Return what `rank` does, with scores."""


class Ours:
    """Finds by squidbot's own search, in memory."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._index = Index(passages)

    def rank(self, question: Question) -> Sequence[str]:
        """Return the best."""
        return [hit.key for hit in self.hits(question)]

    def hits(self, question: Question) -> Sequence[MemoryHit]:
        """Return the best, with their scores."""
        return self._index.search(question.text, LIMIT, question.now)


class Told:
    """Finds by the search of `history`, in a session whose messages the passages are."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._keys = [each.key for each in passages]
        store, codec = InMemoryStore(), OpenAIChat()
        store.append("talk", 0, [_message(seq, each) for seq, each in enumerate(passages)])
        self._turns = MessageSearch(store, "talk", lambda _: codec)

    def rank(self, question: Question) -> Sequence[str]:
        """Return all that has any of its words, and what stands beside the best."""
        return [self._keys[row.seq] for row, _ in self._turns.found(question.text, question.now)]


def _message(seq: int, passage: Passage) -> StoredMessage:
    payload = json.dumps({"role": "user", "name": passage.speaker, "content": passage.text})
    cost = Cost(len(payload) // 4, len(payload))
    return StoredMessage(
        seq, seq, "user", Category.DIALOG, "openai.chat", payload, (), (), cost, cost, "characters", passage.time
    )


class Newest:
    """Finds the newest, whatever is asked."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._keys = [each.key for each in reversed(passages)]

    def rank(self, question: Question) -> Sequence[str]:
        """Return all, newest first."""
        del question
        return self._keys


class Perfect:
    """Finds what is wanted, cheapest first: what no search can pass."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._keys = [each.key for each in passages]

    def rank(self, question: Question) -> Sequence[str]:
        """Return the evidence."""
        return [key for key in self._keys if key in question.evidence]


class FullText:
    """Finds by SQLite's FTS5 with its porter stemmer: any of the question's words, in the order of its bm25().

    A plain one takes texts as they are. Else stop words are dropped from the question, speaker and date stand in the
    text, and Chinese and Japanese are searched by pairs of characters, as FTS5 takes a whole clause for one word.
    """

    def __init__(self, passages: Sequence[Passage], *, is_plain: bool = False, window: int = 0) -> None:
        self._is_plain = is_plain
        self._keys = [each.key for each in passages]
        self._base = sqlite3.connect(":memory:")
        weakref.finalize(self, self._base.close)
        self._base.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')")
        texts = [each.text if is_plain else _paired(_head(each) + each.text) for each in passages]
        rows = [
            (number, "\n".join(texts[each] for each in _around(passages, number, window)))
            for number in range(len(passages))
        ]
        self._base.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", rows)

    def rank(self, question: Question) -> Sequence[str]:
        """Return what has any of the words."""
        text = question.text if self._is_plain else _paired(question.text)
        words = dict.fromkeys(_WORD.findall(text.lower()))
        if not self._is_plain:
            words = {each: None for each in words if each not in STOP_WORDS} or words
        match = " OR ".join(f'"{each}"' for each in words)
        if not match:
            return []
        rows = self._base.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank, rowid DESC", (match,))
        return [self._keys[number] for (number,) in rows]


class UserFirst:
    """Finds by BM25; all that a user said comes before what the assistant said."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._found = FullText(passages)
        self._said = {each.key for each in passages if not is_assistant(each.speaker)}

    def rank(self, question: Question) -> Sequence[str]:
        """Return what has any of the words."""
        return sorted(self._found.rank(question), key=lambda key: key not in self._said)


class Fused:
    """Finds by the sum of reciprocal ranks in what others found."""

    def __init__(self, finders: Sequence[Finder], constant: int = 60) -> None:
        self._finders = finders
        self._constant = constant

    def rank(self, question: Question) -> Sequence[str]:
        """Return all that any found."""
        scores: dict[str, float] = {}
        for finder in self._finders:
            for place, key in enumerate(finder.rank(question), 1):
                scores[key] = scores.get(key, 0.0) + 1 / (self._constant + place)
        return sorted(scores, key=lambda key: -scores[key])


def fused(makes: Sequence[Make], constant: int = 60) -> Make:
    """Return what makes a finder that fuses others."""
    return lambda passages: Fused([make(passages) for make in makes], constant)


def is_assistant(speaker: str) -> bool:
    """Return whether a speaker is a program."""
    return speaker.lower() in ASSISTANTS


FINDERS: dict[str, Make] = {
    "perfect ranking": Perfect,
    "recency": Newest,
    PLAIN: lambda passages: FullText(passages, is_plain=True),
    "BM25": FullText,
    "BM25, three turns": lambda passages: FullText(passages, window=WINDOW),
    USER_FIRST: UserFirst,
    NO_MODEL: Ours,
    "squidbot, history search": Told,
}


def _head(passage: Passage) -> str:
    date = "" if passage.time is None else datetime.fromtimestamp(passage.time, UTC).strftime("%d %B %Y ")
    return f"{date}{passage.speaker}: "


def _around(passages: Sequence[Passage], number: int, window: int) -> list[int]:
    first, last = max(0, number - window), min(len(passages), number + window + 1)
    return [each for each in range(first, last) if passages[each].group == passages[number].group]


def _paired(text: str) -> str:
    """Return a text whose runs of Chinese and Japanese characters are their pairs."""
    return _UNSPACED.sub(_pairs, text)


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(map(''.join, pairwise(run))) or run} "
