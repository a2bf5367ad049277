"""The fields of a message: what they have to be, what is said where they are not, and what media cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.codecs import fields
from squidbot.codecs.fields import PayloadError


@pytest.mark.parametrize(
    ("value", "expected"),
    [({}, "an object"), ([], "a list"), ("", "a string"), (True, "a boolean"), (None, "null"), (1, "a number")],
)
def test_kind_names_a_value_when_it_is_json(value: object, expected: str) -> None:
    """A boolean is no number here, though Python thinks so."""
    assert fields.kind(value) == expected
    assert fields.kind(1.5) == "a number"


def test_as_dict_says_missing_when_there_is_nothing() -> None:
    """Nothing and something wrong are two mistakes."""
    assert fields.as_dict({"a": 1}, "function") == {"a": 1}
    with pytest.raises(PayloadError, match=r"^function is missing; expected an object$"):
        fields.as_dict(None, "function")
    with pytest.raises(PayloadError, match=r"^function is a list; expected an object$"):
        fields.as_dict([], "function")


def test_as_list_is_empty_when_there_is_nothing() -> None:
    """An explicit null is an empty list; anything else is a mistake."""
    assert fields.as_list([1], "tool_calls") == [1]
    assert fields.as_list(None, "tool_calls") == []
    with pytest.raises(PayloadError, match=r"^tool_calls is a string; expected a list$"):
        fields.as_list("c1", "tool_calls")


@pytest.mark.parametrize(("obj", "wrong"), [({}, "missing"), ({"id": ""}, "empty"), ({"id": 5}, "a number")])
def test_as_name_says_what_is_wrong_when_it_is_no_name(obj: dict[str, object], wrong: str) -> None:
    """An id that is empty pairs with nothing."""
    assert fields.as_name({"id": "c1"}, "id", "a call") == "c1"
    with pytest.raises(PayloadError, match=rf"^id of a call is {wrong}; expected a non-empty string$"):
        fields.as_name(obj, "id", "a call")


def test_as_object_refuses_when_a_payload_is_another_value() -> None:
    """Broken JSON and a list are both no message; the text says which."""
    assert fields.as_object('{"role": "user"}') == {"role": "user"}
    with pytest.raises(PayloadError, match="not a list"):
        fields.as_object("[]")
    with pytest.raises(ValueError, match="broken JSON"):
        fields.as_object("{")


@given(st.text(max_size=40), st.text(max_size=40))
def test_with_notice_keeps_what_was_said_when_it_adds_a_notice(content: str, notice: str) -> None:
    """What the user said stays in front, byte for byte; the notice stays whole behind it."""
    sent = fields.with_notice(content, notice)
    assert isinstance(sent, str)
    assert sent.startswith(content)
    assert sent.endswith(fields.fenced(notice))
    parts = [{"type": "text", "text": content}]
    assert fields.with_notice(parts, notice) == [*parts, {"type": "text", "text": notice}]


@given(st.integers(0, 50_000_000), st.integers(0, 1_000_000))
def test_media_tokens_never_fall_when_data_grow(size: int, more: int) -> None:
    """And nothing is cheaper than one page, nor dearer than its own characters once it is large."""
    assert fields.media_tokens(size) <= fields.media_tokens(size + more)
    assert 4_600 <= fields.media_tokens(size) <= max(4_600, size)
