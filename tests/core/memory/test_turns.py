"""Messages of a session are found as memories are: by their words, and by what stands around them."""

from __future__ import annotations

import json
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.memory.injection import PIECE_CHARS, READ_CHARS, READ_MESSAGES, MessageSearch
from squidbot.core.messages import Category, Erasure
from squidbot.testing.values import made_message

from ..promises.histories import effort

if TYPE_CHECKING:
    from collections.abc import Iterable

    from squidbot.core.messages import Message, StoredMessage
    from squidbot.core.ports import TranscriptStore

CODEC = OpenAIChat()
DAY = 86_400.0
NOW = 1_700_000_000.0
WORDS = ("kettle", "heron", "harbour", "deploy", "the", "what?", "yesterday", "Ada")
TALK = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=60)


def told(texts: Iterable[str], store: TranscriptStore | None = None, time: float | None = None) -> MessageSearch:
    """Return the search over a session in which this was said."""
    kept = store or InMemoryStore()
    kept.append("s", 0, [replace(made_message(seq, text), time=time) for seq, text in enumerate(texts)])
    return MessageSearch(kept, "s", lambda _: CODEC)


def seqs(turns: MessageSearch, query: str, now: float | None = None) -> list[int]:
    """Return what is found, best first."""
    return [row.seq for row, _ in turns.found(query, now)]


def test_an_answer_is_found_by_its_question() -> None:
    """It has none of the words; what stands beside nothing that was found is not."""
    filler = [f"filler {number}" for number in range(20)]
    turns = told([*filler, "Which harbour did the ferry leave from?", "Tartu, by its old quay.", *filler])
    assert seqs(turns, "harbour of the ferry")[:2] in ([20, 21], [21, 20])
    assert set(seqs(turns, "harbour of the ferry")) == {18, 19, 20, 21, 22}


@pytest.mark.parametrize("query", ["harbour", '"the harbour" ferry', "the harbour"])
def test_one_word_or_a_phrase_is_found_where_it_stands(query: str) -> None:
    """Whoever asks so wants just that; grammar is no word."""
    assert seqs(told(["hello", "the harbour", "yes", "no"]), query) == [1]


def test_words_of_one_subject_are_found() -> None:
    """Nobody said the word that is asked for, where another is said, too."""
    turns = told(["nothing", *("grey sky" for _ in range(9)), "my guitar is out of tune", *("wind" for _ in range(9))])
    assert 10 in seqs(turns, "which instrument, or sky")


def test_days_are_told_from_when_it_is_asked(store: InMemoryStore) -> None:
    """Of two that say the same, the one of that day is first."""
    times = (NOW - 40 * DAY, NOW - 1 * DAY, NOW - 20 * DAY)
    said = [replace(made_message(seq, "we mended the red gate"), time=time) for seq, time in enumerate(times)]
    store.append("s", 0, said)
    assert seqs(MessageSearch(store, "s", lambda _: CODEC), "who mended the gate yesterday?", NOW)[0] == 1


def test_who_is_named_is_who_speaks() -> None:
    """By the name that the host gave."""
    said = [
        replace(
            made_message(seq), payload=json.dumps({"role": "user", "name": name, "content": "I sold my boat today"})
        )
        for seq, name in ((0, "Ada"), (1, "Bo"))
    ]
    store = InMemoryStore()
    store.append("s", 0, [replace(each, time=NOW + each.seq * DAY) for each in said])
    assert seqs(MessageSearch(store, "s", lambda _: CODEC), "did Ada sell the boat")[0] == 0


def test_what_is_gone_stands_beside_nothing(store: InMemoryStore) -> None:
    """Neither tombstones nor copies are found, though what is beside them is."""
    turns = told(["red gate?", "the secret word", "grey", "red gate?", "green"], store)
    grave = replace(made_message(1, "forgotten"), category=Category.FORGOTTEN)
    store.forget("s", Erasure((5, 0), (grave,)))
    store.append("s", 5, [replace(made_message(5, "red gate"), category=Category.RECALLED)])
    found = list(turns.found("red gate"))
    assert {row.seq for row, _ in found} == {0, 2, 3, 4}
    assert "secret" not in repr(found)


def test_all_that_has_a_word_is_found_in_the_end() -> None:
    """Behind what was ranked, each once, and scored 0."""
    found = list(told(f"plan of part{number} gate" for number in range(300)).found("the plan of the gate"))
    assert sorted(row.seq for row, _ in found) == list(range(300))
    assert [score for _, score in found].count(0.0) == 300 - len({row.seq for row, score in found if score})


def test_what_is_read_is_bounded() -> None:
    """However long the messages are: what was not read comes behind, as the store has it."""
    read: list[int] = []

    class Counting(InMemoryStore):
        def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
            rows = super().pick(session_id, seqs)
            read.append(sum(len(row.payload) for row in rows))
            return rows

    long = "gate and plan " * (READ_CHARS // 14 // 20)
    found = told([long] * 40, Counting()).found("gate of the plan")
    next(found)
    assert sum(read) <= READ_CHARS + READ_MESSAGES * len(long) * 1.1
    assert len(list(found)) == 39


def test_a_word_far_down_in_a_long_message_counts() -> None:
    """The piece around it is looked at."""
    long = "filler words here. " * (10 * PIECE_CHARS // 19) + "The heron stood in the pond. " + "more. " * 900
    others = [f"a heron {number}" for number in range(10)]
    assert seqs(told([*others, "x", "y", "z", long]), "heron stood pond")[0] == 13


def test_a_query_that_is_only_data_is_found_as_the_store_has_it() -> None:
    """A hash is no word to weigh."""
    digest = "ab12" * 20
    assert seqs(told(["x", digest[:64]]), digest[:64]) == [1]


@effort(30)
@given(TALK, st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join))
def test_every_store_answers_the_same(texts: list[str], query: str) -> None:
    """Each message once, scores 0 to 1 and falling, ties newest first; all that has a word is there."""
    found = list(told(texts).found(query, NOW))
    with TemporaryDirectory() as folder, SqliteStore(f"{folder}/s.db") as kept:
        assert list(told(texts, kept).found(query, NOW)) == found
    keys = [(-score, -row.seq) for row, score in found]
    assert keys == sorted(keys)
    assert len({row.seq for row, _ in found}) == len(found)
    assert all(0 <= score <= 1 for _, score in found)
    having = {each.seq for each in told(texts).transcripts.search("s", query, 1000)}
    assert having <= {row.seq for row, _ in found}


class Plain:
    """The codec of a host whose messages are plain text."""

    def decode(self, payload: str) -> Message:
        """Return the text as a user's message."""
        return CODEC.decode(json.dumps({"role": "user", "content": payload}))


def test_messages_of_a_form_that_is_no_json_are_found(store: InMemoryStore) -> None:
    """Though they have what looks like a name; `named` is what a host's own form has."""
    said = [
        replace(made_message(seq), payload=text) for seq, text in enumerate(("the harbour", 'the "name" of the heron'))
    ]
    store.append("s", 0, said)
    assert seqs(MessageSearch(store, "s", lambda _: Plain()), "heron") == [1]  # type: ignore[arg-type,return-value]  # all it uses
