"""YAML read and written: plain values only, and the same back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError
from squidbot.wiring.registry import read_yaml, write_yaml

yaml = pytest.importorskip("squidbot.adapters.yaml", reason="the adapter's package is an extra", exc_type=ImportError)

safe_load = pytest.importorskip("yaml").safe_load

if TYPE_CHECKING:
    from squidbot.adapters.yaml import Plain

texts = st.text() | st.text(" \n\t\r\x85\u2028ab:-#|>'\"1.e+~?", max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_value_comes_back_when_it_was_written(value: Plain) -> None:
    """Whatever texts it has: words that YAML takes for numbers, times and truths, lines, ends of lines of any kind."""
    assert yaml.read(yaml.write(value), "x.yml") == value


@given(st.text())
def test_text_is_read_or_refused_whatever_it_is(text: str) -> None:
    """Nothing else is raised, and nothing but plain values come out."""
    try:
        value = yaml.read(text, "x.yml")
    except ConfigError:
        return
    assert yaml.read(yaml.write(value), "x.yml") == value


@pytest.mark.parametrize("unit", ["1", "1:", "1_", "-", "2001-12-14 ", "1.", "0x", "yes ", "a", "é"])
@pytest.mark.parametrize("chars", [199, 200, 201, pytest.param(10_000, marks=pytest.mark.slow)])
def test_long_text_comes_back_and_is_quoted_when_it_begins_like_a_number(unit: str, chars: int) -> None:
    """What numbers look like is asked of its first 200 characters; a reader of YAML 1.1 takes it for a text, too."""
    text = (unit * chars)[:chars].strip()
    written = yaml.write([text, {text: "x"}])
    assert yaml.read(written, "x.yml") == [text, {text: "x"}]
    assert safe_load(written) == [text, {text: "x"}]


@pytest.mark.parametrize("number", [10**199, -(10**250), 10**4_000])
def test_long_number_stays_one(number: int) -> None:
    """Its first characters are one."""
    assert yaml.read(yaml.write([number]), "x.yml") == [number]


def test_lines_of_a_text_are_written_as_lines() -> None:
    """So that people can read and change them; keys keep their order."""
    written = yaml.write({"name": "notes", "about": "one: # §\n  two ü\n", "all": ["a", "b"]})
    assert written == "name: notes\nabout: |\n  one: # §\n    two ü\nall:\n- a\n- b\n"


def test_times_stay_texts_and_names_of_keys_are_texts() -> None:
    """A day is what was written; `yes` and `on` are words; a key that looks like a number is its text."""
    read = yaml.read("day: 2026-11-22\nat: 2026-11-22T10:00:00Z\nflag: on\nright: true\n7: seven\n", "x.yml")
    assert read == {"day": "2026-11-22", "at": "2026-11-22T10:00:00Z", "flag": "on", "right": True, "7": "seven"}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a: [1, 2", "x.yml, line 1"),
        ("a: 1\na: 2\n", "x.yml, line 2: the key a stands twice"),
        ("a: !!python/object/apply:os.system ['id']\n", "x.yml, line 1"),
        ("a: &x [1]\nb: *x\n", "x.yml, line 2: what is named by & and repeated by"),
        ("a: 1\n---\nb: 2\n", "x.yml, line 2"),
        ("? [1, 2]\n: 3\n", "x.yml, line 1: a key has to be a text"),
        ("a: \x00\n", "x.yml"),
        ("[" * 500 + "]" * 500, "x.yml: nested too deep"),
        (f"a: {'9' * 5_000}\n", "x.yml, line 1: 99999999999999999999 is no int"),
    ],
)
def test_what_is_no_plain_value_is_refused_with_its_line(text: str, wrong: str) -> None:
    """Nothing is made up, run, or read in part."""
    with pytest.raises(ConfigError) as caught:
        yaml.read(text, "x.yml")
    assert wrong in str(caught.value)


def test_nothing_reads_as_nothing() -> None:
    """An empty file, and one of comments alone."""
    assert yaml.read("", "x.yml") is None
    assert yaml.read("# later\n", "x.yml") is None


def test_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever needs it comes by `builtin`."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "squidbot.adapters.yaml", raising=False)
    with pytest.raises(ConfigError, match=r"notes/x.yml needs YAML.*pip install 'squidbot-context\[yaml\]'"):
        read_yaml("a: 1", "notes/x.yml")
    with pytest.raises(ConfigError, match=r"notes/x.yml needs YAML"):
        write_yaml({}, "notes/x.yml")


def test_all_others_come_here_by_one_way() -> None:
    """Which imports the package when it is asked for."""
    assert read_yaml(write_yaml({"a": ["b"]}, "x.yml"), "x.yml") == {"a": ["b"]}
