"""Files of WorkspaceAI of form 3.0, read and written; what is not taken is counted."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.codecs import jsontext
from squidbot.codecs.workspaceai import (
    ConversationSummary,
    Exchange,
    ModelFile,
    Omissions,
    read,
    stamp,
    tokens_of,
    write,
)

# The example of the document.
DOCUMENT = {
    "metadata": {
        "version": "3.0",
        "model": "qwen2.5:7b",
        "created": "2025-09-04T10:00:00Z",
        "last_updated": "2025-09-04T10:30:00Z",
        "total_exchanges": 1,
        "total_tokens": 4,
        "context_window": 32768,
    },
    "current_conversation": [
        {
            "user": {"content": "Hello", "tokens": 5},
            "assistant": {"content": "Hi there!", "tokens": 8},
            "metadata": {
                "timestamp": "2025-09-04T10:00:00Z",
                "mode": "chat",
                "total_tokens": 13,
                "complexity_score": 0.1,
            },
        }
    ],
    "recent_conversations": [
        {"summary": "Python.", "exchange_count": 8, "total_tokens": 2400, "date_range": "2025-09-03 to 2025-09-03"}
    ],
    "summarized_conversations": [{"summary": "React.", "exchange_count": 25}],
}
TEXTS = st.text(st.characters(), max_size=40)
TIMES = st.none() | st.integers(-(10**9) * 10**6, 4 * 10**15).map(lambda micros: micros / 10**6)


def test_example_of_the_document_is_read_and_comes_back() -> None:
    """W-04: all its fields, with the figures that it says."""
    left: Omissions = Counter()
    file = read(DOCUMENT, left)
    assert (file.model, file.window_tokens, file.created) == ("qwen2.5:7b", 32768, "2025-09-04T10:00:00Z")
    assert file.exchanges[0].time == datetime(2025, 9, 4, 10, tzinfo=UTC).timestamp()
    assert [summary.list_name for summary in file.summaries] == ["recent", "summarized"]
    assert json.loads(write(file)) == DOCUMENT
    assert not left


@given(
    st.lists(st.tuples(TEXTS, TEXTS, TIMES), max_size=5),
    st.lists(st.tuples(st.sampled_from(("recent", "summarized")), TEXTS), max_size=3),
)
def test_what_was_said_comes_back_from_the_text_of_a_file(
    said: list[tuple[str, str, float | None]], shelves: list[tuple[str, str]]
) -> None:
    """W-04, W-08: any words, lone surrogates too, and times to the microsecond; figures are counted."""
    held = tuple(
        ConversationSummary("recent" if list_name == "recent" else "summarized", text, {})
        for list_name, text in shelves
    )
    file = ModelFile("m", tuple(Exchange(*one) for one in said), tuple(sorted(held, key=lambda one: one.list_name)))
    text = write(file)
    again = read(jsontext.parse(text.encode().decode()), Counter())
    assert [(exchange.user, exchange.assistant) for exchange in again.exchanges] == [one[:2] for one in said]
    assert again.digests == file.digests
    head = json.loads(text)["metadata"]
    assert head["total_exchanges"] == len(said)
    assert head["total_tokens"] == sum(tokens_of(user) + tokens_of(assistant) for user, assistant, _ in said)
    assert write(read(jsontext.parse(text), Counter())) == text


def test_tokens_are_a_third_of_the_characters() -> None:
    """W-08: at least one."""
    assert [tokens_of(text) for text in ("", "ab", "abcdef", "abcdefgh")] == [1, 1, 2, 2]


def test_time_is_spelled_in_utc() -> None:
    """W-04: as the document has it."""
    assert stamp(1756980000.0) == "2025-09-04T10:00:00Z"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"metadata": None}, "metadata is null; expected an object"),
        (
            {"metadata": {"version": "2.0"}},
            "metadata.version is '2.0', not '3.0'; read it with squidbot store import-older",
        ),
        ({"metadata": {"version": "3.0", "model": 7}}, "metadata.model is a number; expected a string"),
        ({"current_conversation": {}}, "current_conversation is an object; expected a list"),
        ({"current_conversation": ["x"]}, "current_conversation.0 is a string; expected an object"),
        ({"current_conversation": [{"user": {"content": "x"}}]}, "current_conversation.0.assistant is null"),
        (
            {"current_conversation": [{"user": {"content": 1}, "assistant": {"content": ""}}]},
            "current_conversation.0.user.content is a number; expected a string",
        ),
        ({"recent_conversations": [{}]}, "recent_conversations.0.summary is null; expected a string"),
    ],
)
def test_what_is_no_such_file_is_named_with_its_place(change: dict[str, object], says: str) -> None:
    """W-05: validated before anything is taken."""
    with pytest.raises(ValueError, match=says.replace(".", r"\.")):
        read({**DOCUMENT, **change}, Counter())


@pytest.mark.parametrize("missing", ["metadata", "current_conversation"])
def test_required_keys_are_named_where_they_are_missing(missing: str) -> None:
    """W-05: `metadata` and `current_conversation`."""
    with pytest.raises(ValueError, match=f"{missing} is missing"):
        read({key: value for key, value in DOCUMENT.items() if key != missing}, Counter())


def test_what_no_file_has_is_counted_and_left() -> None:
    """W-04: keys that nobody knows, figures that are none, times that are none."""
    left: Omissions = Counter()
    exchange = {
        "user": {"content": "a", "tokens": "many", "mood": 1},
        "assistant": {"content": "b"},
        "metadata": {"timestamp": "yesterday", "mode": 7},
        "rating": 5,
    }
    head = {"version": "3.0", "model": "m", "colour": "red"}
    value = {"metadata": head, "current_conversation": [exchange], "notes": []}
    file = read(value, left)
    assert (file.exchanges[0].user, file.exchanges[0].time) == ("a", None)
    assert left == {
        "key notes": 1,
        "key metadata.colour": 1,
        "key rating of an exchange": 1,
        "key user.tokens": 1,
        "key user.mood": 1,
        "key metadata.mode": 1,
        "times that are none": 1,
    }


@given(st.floats(0, 4e9))
@example(1795846370.5485535)  # half a microsecond: multiplied it is rounded up, as a date down
def test_exchange_is_the_same_one_when_it_comes_back(time: float) -> None:
    """W-04: whatever its time, so that nothing is imported twice."""
    said = Exchange("Hello", "Hi there!", time)
    (again,) = read(jsontext.parse(write(ModelFile("m", (said,)))), Counter()).exchanges
    assert again.digest == said.digest
