"""Files of JSON: one value a line, or one value over many lines, and where each of them stands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from squidbot.codecs.fields import read_entries
from squidbot.core.errors import TranscriptError

if TYPE_CHECKING:
    import pathlib

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def write(tmp_path: pathlib.Path, text: str) -> pathlib.Path:
    """Write a file as it is, line ends included."""
    path = tmp_path / "values.json"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n \n"])
def test_read_entries_gives_a_value_a_line_when_lines_end_in_any_way(tmp_path: pathlib.Path, end: str) -> None:
    """Lines are counted as an editor does; blank ones count for `line` and not for `index`."""
    entries = read_entries(write(tmp_path, end.join(['{"a": 1}', ' {"b": 2} ', "3"])))
    step = 3 if end == "\n\n \n" else 1
    assert [entry.value for entry in entries] == [{"a": 1}, {"b": 2}, 3]
    assert [entry.text for entry in entries] == ['{"a": 1}', '{"b": 2}', "3"]
    assert [(entry.line, entry.index) for entry in entries] == [(1, 0), (1 + step, 1), (1 + 2 * step, 2)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(values=st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=3), min_size=2, max_size=4))
def test_read_entries_gives_each_value_when_a_line_is_an_object(
    tmp_path: pathlib.Path, values: list[dict[str, object]]
) -> None:
    """Whatever the objects hold, a line of JSON is never taken for a part of a larger value."""
    lines = [json.dumps(value, ensure_ascii=False) for value in values]
    assert [entry.value for entry in read_entries(write(tmp_path, "\n".join(lines)))] == values


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(value=st.lists(VALUES, max_size=3) | st.dictionaries(st.text(max_size=5), VALUES, max_size=3))
def test_read_entries_gives_one_value_when_it_goes_over_many_lines(tmp_path: pathlib.Path, value: object) -> None:
    """Indented JSON is one value."""
    (entry,) = read_entries(write(tmp_path, "\n" + json.dumps(value, indent=2) + "\n"))
    assert (entry.value, entry.line, entry.index) == (value, 2, 0)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"a": 1}\n  {"b": }\n', 2, 9),
        ('\n\n{"a": 1\n{"b": 2}\n', 3, 8),
        ('[\n{"a": 1}\n{"b": 2}\n]', 3, 1),
        ('{\n "a": 1,\n\n "b": ]\n}', 4, 7),
    ],
)
def test_read_entries_names_the_place_when_json_is_broken(
    tmp_path: pathlib.Path, text: str, line: int, column: int
) -> None:
    """Line and column are those of the file, also behind blank lines and in indented values."""
    with pytest.raises(TranscriptError, match=f"at column {column};") as caught:
        read_entries(write(tmp_path, text))
    assert caught.value.line == line
