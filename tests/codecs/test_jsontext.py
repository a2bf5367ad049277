"""JSON text: what it holds, what it refuses, and how it reads times."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.codecs import jsontext

# Every str there is: lone surrogates, NUL and all.
ANY_TEXT = st.text(st.characters(), max_size=60)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def joined(text: str) -> str:
    """Return the text with each pair of surrogates as the one character that the pair spells."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@given(ANY_TEXT)
def test_write_keeps_any_text_when_it_is_read_again(text: str) -> None:
    """Lone surrogates, NUL and line separators come back; a pair of surrogates is the character that it spells."""
    written = jsontext.write(text)
    assert jsontext.parse(written) == joined(text)
    assert written.encode()


@given(JSON_VALUES)
def test_write_gives_the_same_text_when_it_is_read_and_written_again(value: object) -> None:
    """A payload that went through the codec once does not change any more."""
    written = jsontext.write(jsontext.parse(jsontext.write(value)))
    assert jsontext.write(jsontext.parse(written)) == written


def test_write_leaves_characters_as_they_are_when_they_are_utf_8() -> None:
    """Chinese text and emoji stay readable in a store."""
    assert jsontext.write({"a": "价格 🌧"}) == '{"a": "价格 🌧"}'


def test_write_escapes_when_a_lone_surrogate_is_inside() -> None:
    """What can't be UTF-8 is escaped, so that any store can hold the text."""
    assert jsontext.write("é\ud800") == '"\\u00e9\\ud800"'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"bytes", object()])
def test_write_refuses_when_json_has_no_form_for_it(value: object) -> None:
    """A payload that no provider could read is never stored."""
    with pytest.raises(ValueError, match="JSON"):
        jsontext.write(value)


def test_parse_keeps_integers_exactly_when_they_have_400_digits() -> None:
    """Integers are not rounded through a float."""
    digits = "7" * 400
    assert jsontext.write(jsontext.parse(f'{{"n": {digits}}}')) == f'{{"n": {digits}}}'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[NaN]", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("[1e999]", "too large"),
        ("[" + "1" * 5000 + "]", "4300 digits"),
        ("[" * 100_000, "deeper than 200 levels"),
        ("[" * 300 + "]" * 300, "deeper than 200 levels"),
        ('{"a":' * 300 + "1" + "}" * 300, "deeper than 200 levels"),
    ],
)
def test_parse_says_why_when_it_refuses(text: str, says: str) -> None:
    """Python would read some of these; the next program down the line would not."""
    with pytest.raises(jsontext.JsonTextError, match=says):
        jsontext.parse(text)


def test_parse_names_line_and_column_when_the_json_is_broken() -> None:
    """The place is where a person has to look, counted from 1."""
    with pytest.raises(jsontext.JsonTextError) as caught:
        jsontext.parse('{"a": 1,\n "b": }')
    assert (caught.value.line, caught.value.column) == (2, 7)


@given(JSON_VALUES, JSON_VALUES)
def test_rewriter_writes_what_write_does(first: object, second: object) -> None:
    """Whatever it wrote before; the same value again, too, which is then the very text."""
    writer = jsontext.Rewriter()
    assert writer.write(first) == jsontext.write(first)
    again = writer.write(second)
    assert again == jsontext.write(second) or second == first
    assert jsontext.parse(again) == jsontext.parse(jsontext.write(second))


def test_rewriter_sees_what_was_changed_inside() -> None:
    """Who owns the value may hand over the same one again, changed; and what it wrote it does not write twice."""
    tools = [{"name": "look", "needs": ["where"]}]
    writer = jsontext.Rewriter()
    text = writer.write(tools)
    assert writer.write([{"name": "look", "needs": ["where"]}]) is text
    tools[0]["needs"] = ["when"]
    assert writer.write(tools) == '[{"name": "look", "needs": ["when"]}]'


def test_parse_takes_nesting_when_it_is_as_deep_as_allowed() -> None:
    """The limit itself is inside."""
    depth = jsontext.DEEPEST_LEVELS
    text = "[" * depth + "]" * depth
    assert json.dumps(jsontext.parse(text)) == text


@given(ANY_TEXT)
def test_utf8_bytes_is_what_utf_8_takes_when_surrogates_count_three(text: str) -> None:
    """The count never raises, and agrees with Python's encoder wherever that has an answer."""
    assert jsontext.utf8_bytes(text) == sum(len(char.encode("utf-8", "surrogatepass")) for char in text)


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        (None, None),
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T00:00:10.250Z", 10.25),
        ("1970-01-01T01:00:10+01:00", 10.0),
        ("1970-01-01T00:00:10", 10.0),
        (0, 0.0),
        (1_764_547_200, 1_764_547_200.0),
        (1_764_547_200.5, 1_764_547_200.5),
        (1_764_547_200_500, 1_764_547_200.5),
    ],
)
def test_seconds_reads_a_time_when_it_is_iso_seconds_or_milliseconds(stamp: object, expected: float | None) -> None:
    """All the ways in which recordings write a time."""
    assert jsontext.seconds(stamp) == expected


@pytest.mark.parametrize("stamp", ["yesterday", "", True, [], {}, float("inf"), float("nan"), 10**400, -(10**18)])
def test_seconds_refuses_when_it_is_no_time(stamp: object) -> None:
    """A wrong time is said, not guessed."""
    with pytest.raises(ValueError, match="timestamp"):
        jsontext.seconds(stamp)
