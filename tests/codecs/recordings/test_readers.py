"""The table of readers, and what they share: how lines are read in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from squidbot.codecs.recordings import Position, readers
from squidbot.codecs.recordings.lines import MOST_BYTES, entries

if TYPE_CHECKING:
    from pathlib import Path

CLAUDE = {"type": "user", "parentUuid": None, "message": {"role": "user", "content": "hi"}}
CODEX = {"type": "session_meta", "payload": {"id": "x"}}


def test_each_reader_has_its_name_and_knows_its_form(tmp_path: Path) -> None:
    """By structure, whatever the file is called."""
    assert {"claude-code", "codex"} <= {*readers.agents()}
    assert [readers.reader(name).NAME for name in readers.agents()] == readers.agents()
    for name, value in (("claude-code", CLAUDE), ("codex", CODEX)):
        path = tmp_path / "some.txt"
        path.write_text(json.dumps(value) + "\n")
        found = readers.reader_of(path)
        assert found is not None
        assert found is readers.reader(name)
    path.write_text("[1, 2]")
    assert readers.reader_of(path) is None


def test_agent_that_is_none_is_refused() -> None:
    """With those that are known."""
    with pytest.raises(ValueError, match=r"'vim' is no agent .* claude-code, codex"):
        readers.reader("vim")


def test_recordings_are_where_the_agent_keeps_them(tmp_path: Path) -> None:
    """An agent that is not there has none."""
    path = tmp_path / ".claude" / "projects" / "-p" / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    assert [*readers.recordings("claude-code", tmp_path, {})] == [path]
    assert not [*readers.recordings("codex", tmp_path, {})]


def test_table_imports_no_reader() -> None:
    """Commands and hooks start quickly."""
    told = "import squidbot.codecs.recordings.readers as r, sys; print(r.agents(), *sys.modules)"
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout
    assert "'codex'" in found
    assert "squidbot.codecs.recordings.codex" not in found
    assert "squidbot.codecs.anthropic_messages" not in found


@pytest.mark.parametrize(
    ("line", "unread"),
    [
        pytest.param(b'{"a": "' + b"x" * MOST_BYTES + b'"}', "lines of more than 32 MiB", id="a long line"),
        pytest.param(b'{"a": [' + b"[]," * 700_000 + b"[]]}", "lines of more than 1,000,000 values", id="many values"),
        pytest.param(b'{"a":' * 10_000 + b"}" * 10_000, "broken lines", id="deep nesting"),
        pytest.param(b"{'a': 1}", "broken lines", id="no JSON"),
        pytest.param(b"[1]", "broken lines", id="no object"),
        pytest.param(b'{"a": NaN}', "broken lines", id="no number"),
        pytest.param(b'{"a": "\xff"}', "broken lines", id="no UTF-8"),
    ],
)
def test_line_that_can_not_be_read_is_counted(tmp_path: Path, line: bytes, unread: str) -> None:
    """And those behind it are read."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"b": 1}\n' + line + b"\n\n" + b'{"b": 2}')
    counted: Counter[str] = Counter()
    found = [*entries(path, Position(), counted)]
    assert [(entry.value, entry.line) for entry in found] == [({"b": 1}, 1), ({"b": 2}, 4)]
    assert found[-1].end == path.stat().st_size
    assert counted == {unread: 1}


@pytest.mark.parametrize("cut", [0, 1])
def test_line_read_before_its_end_was_written_counts_once(tmp_path: Path, cut: int) -> None:
    """A whole object is read without it."""
    path = tmp_path / "a.jsonl"
    first, rest = b'{"b": 1}\n', b'{"b": 2}\n{"b": 3}\n'
    path.write_bytes(first[: len(first) - cut])
    (entry,) = entries(path, Position(), Counter())
    path.write_bytes(first + rest)
    found = [*entries(path, Position(entry.end, "", entry.line), Counter())]
    assert [each.line for each in (entry, *found)] == [1, 2, 3]


def test_lines_behind_a_million_are_counted_as_one(tmp_path: Path) -> None:
    """A file of a hundred million empty lines takes no minute."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n" * 2_000_000 + b'{"b": 2}\n')
    counted: Counter[str] = Counter()
    assert not [*entries(path, Position(), counted)]
    assert counted == {"files with more than 1,000,000 lines": 1}
