"""Where each value of squidbot.toml stands: the line of its key, however the file is written."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.config import Settings, load_settings
from squidbot.config.loading import lines_of
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

TEXT = '''# a comment
prices = "anthropic"  # an entry

observers = [
  "structlog",  # = [x]
]
budget.counter = "bytes"

[window]
targetSize = 4096

[models."a.b"]
context_window = 9000
tokenizer = """
by\\
tes"""
prices = "gemini"

[models.empty]
'''


def test_origins_name_the_line_of_every_value(tmp_path: Path) -> None:
    """Dotted keys, tables in a line, values of several lines, other names of a key."""
    file = tmp_path / "mine.toml"
    file.write_text(TEXT.replace('"""\nby\\\ntes"""', "'''\nbytes'''"), encoding="utf-8")
    found = {key: source for key, _, source in load_settings(file).origins() if source != "default"}
    assert found == {
        "prices": "mine.toml:2",
        "observers": "mine.toml:4",
        "budget.counter": "mine.toml:7",
        "window.default": "mine.toml:10",
        'models."a.b".context_window': "mine.toml:13",
        'models."a.b".tokenizer': "mine.toml:14",
        'models."a.b".prices': "mine.toml:16",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[window]\n\ntargetSize = 0\n", "must be > 0, not 0 @ mine.toml.window.default (line 3)"),
        ("window = { max = 'x' }\n", "'x' is not a number of tokens; .* @ mine.toml.window.max .line 1.$"),
        ("[window]\nmax = 9\ndefault = 4\ntargetSize = 4\n", "keep one @ mine.toml.window (line 4)"),
        ("[compression]\nstrength = 7\n", "@ mine.toml.compression (line 2)"),
        ("[models.a]\nprices = 3\n", "must be a string, not 3 @ mine.toml.models['a'].prices (line 2)"),
    ],
)
def test_an_error_names_the_line(tmp_path: Path, text: str, message: str) -> None:
    """Under whatever name the key stands there."""
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    assert message in str(caught.value) or re.search(message, str(caught.value))


def test_lines_of_knows_where_tables_begin() -> None:
    """A table that sets nothing has a line, too."""
    assert lines_of(TEXT)["models", "empty"] == 19
    assert lines_of("") == {}


NAMES = st.sampled_from(["a", "b c", "d.e", 'f"g', "é"])
VALUES = st.recursive(
    st.integers() | st.sampled_from(['"x"', '"""\n[a]\nb = 1\n"""', "'#'", "true"]),
    lambda inner: st.lists(inner, max_size=3).map(lambda many: f"[\n{', '.join(map(str, many))}\n]"),
)


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, min_size=1, max_size=4), max_size=4))
def test_lines_of_finds_every_key_in_any_text(tables: dict[str, dict[str, object]]) -> None:
    """Each key is on the line that is told, whatever stands in the values around it."""
    said = "\n".join(
        f"[{_quoted(table)}]\n" + "\n".join(f"{_quoted(key)} = {value}" for key, value in keys.items())
        for table, keys in tables.items()
    )
    assert set(tomllib.loads(said)) == set(tables)
    lines, text = lines_of(said), said.splitlines()
    for table, keys in tables.items():
        assert text[lines[table,] - 1] == f"[{_quoted(table)}]"
        for key in keys:
            assert text[lines[table, key] - 1].startswith(f"{_quoted(key)} = ")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'


@pytest.mark.parametrize("key", ["models", *(field for field in Settings.__annotations__ if field != "models")])
def test_every_table_has_a_tier(key: str) -> None:
    """Job, model or policy: no setting is without one."""
    settings: dict[str, object] = {"models": {"m": {}}, "price_table": {"p": {}}, "bots": {"b": {}}}
    tiers = {origin.tier for origin in load_settings(settings).origins() if origin.key.split(".")[0] == key}
    assert len(tiers) == 1
    assert tiers <= {"job", "physical", "policy"}
