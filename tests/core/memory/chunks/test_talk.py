"""Conversations and journals in pieces: who said it, when, and whom to trust."""

from __future__ import annotations

from datetime import UTC, datetime

from squidbot.core.memory.chunks import MOST_WORDS, Chunk, count_words, entries, talk
from squidbot.core.messages import Message, ToolCall


def same(text: str) -> str:
    """Take no secret out."""
    return text


def test_turn_is_a_piece_and_what_a_tool_printed_is_not_trusted() -> None:
    """Instructions are not what was said; a call is told by its name and the beginning of its arguments."""
    said = [
        Message("system", "You are a bot.", "{}", "c"),
        Message("user", "Where is the boat?", "{}", "c", time=5.0),
        Message("assistant", "", "{}", "c", calls=(ToolCall("1", "find", '{"what": "boat"}'),)),
        Message("tool", "in the harbour", "{}", "c", results=("1",)),
        Message("user", "also printed", "{}", "c", results=("2",)),
        Message("assistant", "", "{}", "c"),
    ]
    assert list(talk("s", said, same)) == [
        Chunk("Where is the boat?", (), "s", "user", 5.0),
        Chunk('find {"what": "boat"}', (), "s", "assistant"),
        Chunk("in the harbour", (), "s", "tool", None, "tool"),
        Chunk("also printed", (), "s", "tool", None, "tool"),
    ]


def test_long_turn_is_several_pieces_and_secrets_are_taken_out_before() -> None:
    """A secret that a cut would tear is still seen whole."""
    long = " ".join(f"Sentence {number} says little." for number in range(200))
    found = list(talk("", [Message("user", long, "{}", "c")], lambda text: text.replace("199 says", "[redacted]")))
    assert all(count_words(piece.text) <= MOST_WORDS for piece in found)
    assert "[redacted]" in found[-1].text


def test_entry_of_a_journal_is_told_by_its_words_and_its_fields() -> None:
    """Whatever they are called; times as texts, seconds or milliseconds."""
    found = list(
        entries(
            [
                {"ts": "2026-11-20T10:00:00Z", "note": "Chose PostgreSQL.", "tags": ["db", "port"], "empty": ""},
                {"time": 1_700_000_000_000, "role": "tool", "content": "ls", "n": {"a": 1}},
                {"date": "someday", "kind": "decision"},
                {"time": True, "text": "?!"},
            ],
            same,
        )
    )
    assert found == [
        Chunk(
            "Chose PostgreSQL.\ntags: db, port", time=datetime(2026, 11, 20, 10, tzinfo=UTC).timestamp(), tag="journal"
        ),
        Chunk('ls\nn: {"a": 1}', speaker="tool", time=1_700_000_000.0, trust="tool", tag="journal"),
        Chunk("date: someday\nkind: decision", tag="journal"),
        Chunk("?!\ntime: true", tag="journal"),
    ]


def test_time_that_is_none_is_none() -> None:
    """JSON as Python reads it has numbers that are no moment: one such line does not keep a file from being found."""
    odd: tuple[object, ...] = (float("nan"), float("inf"), -float("inf"), 10**400, True, [], "soon", "9999-99-99")
    found = list(entries([{"ts": value, "note": "decision: teal"} for value in odd], same))
    assert [one.time for one in found] == [None] * len(odd)
    (said,) = talk("s", [Message("user", "hello", "{}", "c", time=float("nan"))], same)
    assert said.time is None
    assert [entry.time for entry in entries([{"ts": 5, "note": "x"}, {"ts": 5e12, "note": "x"}], same)] == [5.0, 5e9]
