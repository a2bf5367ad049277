"""What finds passages for a question: ours, and the ways that everybody has, to stand beside."""

from __future__ import annotations

import json
import re
import sqlite3
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from benchmarks.exact import Index
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.memory.injection import MessageSearch
from squidbot.core.messages import Category, Cost, StoredMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.conversations import Question
    from squidbot.core.memories import Passage

__all__ = ["FINDERS", "Finder", "Make", "Ours", "fused"]

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


class Ours:
    """Finds by squidbot's own search, in memory."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._index = Index(passages)

    def rank(self, question: Question) -> Sequence[str]:
        """Return its candidates."""
        return [hit.key for hit in self._index.search(question.text, len(self._index), question.now)]


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


class Form(NamedTuple):
    """How SQLite's full-text search is used."""

    tokenizer: str = "porter unicode61"
    drops_stop_words: bool = True
    has_head: bool = True  # speaker and date stand in the text
    window: int = 0


class FullText:
    """Finds by SQLite's FTS5: any of the question's words, in the order of its bm25()."""

    def __init__(self, passages: Sequence[Passage], form: Form) -> None:
        self._form = form
        self._keys = [each.key for each in passages]
        self._base = sqlite3.connect(":memory:")
        self._base.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='{form.tokenizer}')")
        texts = [_head(each) + each.text if form.has_head else each.text for each in passages]
        rows = [
            (number, " ".join(texts[place] for place in _around(passages, number, form.window)))
            for number in range(len(passages))
        ]
        self._base.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", rows)

    def rank(self, question: Question) -> Sequence[str]:
        """Return what has any of the words."""
        words = dict.fromkeys(_WORD.findall(question.text.lower()))
        if self._form.drops_stop_words:
            words = {each: None for each in words if each not in STOP_WORDS} or words
        match = " OR ".join(f'"{each}"' for each in words)
        if not match:
            return []
        rows = self._base.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank, rowid DESC", (match,))
        return [self._keys[number] for (number,) in rows]


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


def full_text(form: Form) -> Make:
    """Return what makes a full-text finder of that form."""
    return lambda passages: FullText(passages, form)


FINDERS: dict[str, Make] = {
    "perfect ranking": Perfect,
    "recency": Newest,
    "FTS5 unicode61": full_text(Form("unicode61", drops_stop_words=False, has_head=False)),
    "FTS5 porter": full_text(Form(drops_stop_words=False, has_head=False)),
    "FTS5 porter, stop words": full_text(Form(has_head=False)),
    "BM25, speaker, date": full_text(Form()),
    "BM25, three turns": full_text(Form(window=WINDOW)),
    "squidbot, no model": Ours,
    "squidbot, history search": Told,
}


def _head(passage: Passage) -> str:
    date = "" if passage.time is None else datetime.fromtimestamp(passage.time, UTC).strftime("%d %B %Y ")
    return f"{date}{passage.speaker}: "


def _around(passages: Sequence[Passage], number: int, window: int) -> list[int]:
    first, last = max(0, number - window), min(len(passages), number + window + 1)
    return [each for each in range(first, last) if passages[each].group == passages[number].group]
