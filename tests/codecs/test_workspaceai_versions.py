"""Files of versions 1.0 and 2.0 in form 3.0."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from squidbot.codecs.workspaceai import files_of, to_version_2, to_version_3, version_of

if TYPE_CHECKING:
    from squidbot.codecs.workspaceai import Omissions

PLAIN = {"user": "hello", "assistant": "hi", "timestamp": "2025-09-04T10:00:00Z"}
OBJECTS = {"user": {"content": "a"}, "assistant": {"content": "b"}, "metadata": {"model": "llama3.1:8b"}}


def test_version_is_what_a_file_says_or_the_first() -> None:
    """W-17: files of version 1.0 say nothing."""
    values: tuple[object, ...] = (
        [],
        {},
        {"metadata": {}},
        {"metadata": {"version": "2.0"}},
        {"metadata": {"version": "3.0"}},
    )
    assert [version_of(value) for value in values] == ["1.0", "1.0", "1.0", "2.0", "3.0"]
    with pytest.raises(ValueError, match=r"metadata\.version is '4\.0'; known: 1\.0, 2\.0, 3\.0"):
        version_of({"metadata": {"version": "4.0"}})


def test_plain_strings_and_objects_are_exchanges_of_their_models() -> None:
    """W-17, V20: a string alone is what the user said; who names no model is `qwen2.5:7b`'s."""
    left: Omissions = Counter()
    files = files_of({"current_conversation": [PLAIN, OBJECTS, "only this"]}, left)
    said = {file.model: [(one.user, one.assistant) for one in file.exchanges] for file in files}
    assert said == {"qwen2.5:7b": [("hello", "hi"), ("only this", "")], "llama3.1:8b": [("a", "b")]}
    assert files[0].exchanges[0].time == 1756980000.0
    assert files[0].exchanges[0].details["mode"] == "unknown"
    assert not left
    assert files_of([PLAIN], left)[0].exchanges == files[0].exchanges[:1]


def test_versions_are_climbed_one_by_one() -> None:
    """W-17: 1.0 -> 2.0 -> 3.0, with the figures that each has."""
    second = to_version_2({"current_conversation": [PLAIN], "recent_conversations": ["Boats."]}, Counter())
    assert second["metadata"] == {"version": "2.0", "migrated_from": "1.0"}
    assert second["current_conversation"] == [
        {
            "user": {"content": "hello", "tokens": 1},
            "assistant": {"content": "hi", "tokens": 1},
            "metadata": {"mode": "unknown", "total_tokens": 2, "timestamp": "2025-09-04T10:00:00Z"},
        }
    ]
    third = to_version_3(second)
    assert list(third) == ["qwen2.5:7b"]
    assert third["qwen2.5:7b"]["recent_conversations"] == [{"summary": "Boats."}]


def test_summaries_are_of_the_only_model_or_the_default() -> None:
    """W-17: a file of several models does not say whose they are."""
    alone = files_of({"current_conversation": [OBJECTS], "summarized_conversations": ["x"]}, Counter())
    assert [(one.model, len(one.summaries)) for one in alone] == [("llama3.1:8b", 1)]
    both = {"current_conversation": [OBJECTS, PLAIN], "summarized_conversations": ["x"]}
    assert {one.model: len(one.summaries) for one in files_of(both, Counter())} == {"llama3.1:8b": 0, "qwen2.5:7b": 1}
    empty = files_of({"current_conversation": []}, Counter())
    assert [(one.model, one.exchanges) for one in empty] == [("qwen2.5:7b", ())]


def test_version_that_is_forced_goes_before_what_a_file_says() -> None:
    """W-17: a file that names a version it is not of."""
    value = {"metadata": {"version": "9"}, "current_conversation": [PLAIN]}
    assert len(files_of(value, Counter(), "1.0")) == 1
    with pytest.raises(ValueError, match="known"):
        files_of(value, Counter())


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (7, "current_conversation is a number"),
        ({}, "current_conversation is missing; a file of version 1.0 has a list"),
        ({"current_conversation": [7]}, "current_conversation.0 is a number; an exchange is an object, or a string"),
        ({"current_conversation": [{"user": 7}]}, "current_conversation.0.user is a number"),
        ({"current_conversation": [], "recent_conversations": 1}, "recent_conversations is a number; expected a list"),
        ({"metadata": {"version": "2.0"}}, "current_conversation is missing or not a list; a file of version 2.0"),
    ],
)
def test_what_is_no_file_is_named_with_its_place(value: object, says: str) -> None:
    """W-17: nothing of it is taken."""
    with pytest.raises(ValueError, match=says):
        files_of(value, Counter())
