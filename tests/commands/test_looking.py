"""Looking changes nothing: no reading command writes a byte, makes a file, or opens a session under another window."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import squidbot

from .conftest import BEGAN, talk

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

READING = [
    ["session", "list"],
    ["session", "show", "support/42"],
    ["session", "show", "support/42", "m14"],
    ["session", "show", "support/42", "--request"],
    ["session", "show", "support/42", "--request", "40"],
    ["session", "explain", "support/42"],
    ["session", "explain", "support/42", "m14"],
    ["session", "log", "support/42", "--last", "5"],
    ["session", "recall", "support/42", "m14"],
    ["session", "export", "support/42", "--format", "anthropic"],
    ["session", "snapshots", "support/42"],
    ["store", "doctor"],
]


def hashes() -> dict[str, str]:
    """Return a hash of every file in the current folder, by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in Path().iterdir()}


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
def test_reading_command_writes_no_byte(
    copied: Callable[..., Result], arguments: list[str], as_json: list[str]
) -> None:
    """Not where nobody else has the store open: same files, same bytes."""
    before = hashes()
    assert copied(*arguments, *as_json).exit_code == 0
    assert hashes() == before


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_reading_command_leaves_a_live_store_alone(copied: Callable[..., Result], arguments: list[str]) -> None:
    """A host has it open, and has written what is in the log of the file only: file and log stay as they are."""
    with squidbot.load() as engine:
        talk(engine.session("live"), 1, began=BEGAN)
        before = hashes()
        assert {"kept.db", "kept.db-wal"} <= set(before)
        assert copied(*arguments).exit_code == 0
        after = hashes()
        for name in ("kept.db", "kept.db-wal"):
            assert after[name] == before[name]
        # The host goes on as if nobody had looked.
        engine.session("live").record("Thanks.")


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_reading_command_leaves_what_a_crash_has_left(
    copied: Callable[..., Result], tmp_path: Path, arguments: list[str]
) -> None:
    """A log that nobody emptied into the file: the next host does that, and not who looks."""
    with squidbot.load() as engine:
        engine.session("support/42").record("And this stands in the log alone.")
        for name in ("kept.db", "kept.db-wal"):
            shutil.copy(tmp_path / name, tmp_path / f"left-{name}")
    store = ["--store", "left-kept.db"]
    before = hashes()
    assert before["left-kept.db-wal"] != hashlib.sha256(b"").hexdigest()
    assert copied(*arguments, *store).exit_code == 0
    after = hashes()
    assert {name: after[name] for name in before} == before
    assert "in the log alone" in copied("session", "show", "support/42", "--limit", "1", *store).output


def test_search_writes_nothing_once_its_index_is_made(copied: Callable[..., Result]) -> None:
    """The first search brings the index up to date; those behind it only read."""
    copied("session", "search", "support/42", "part_3_1")
    before = hashes()
    assert copied("session", "search", "support/42", "part_4_1").exit_code == 0
    assert hashes() == before


def test_looking_opens_a_session_under_the_window_that_it_had(copied: Callable[..., Result]) -> None:
    """Other settings in squidbot.toml change nothing of what stands: the next request is the same, byte for byte."""
    before = json.loads(copied("session", "show", "support/42", "--request", "--json").output)
    settings = Path("squidbot.toml")
    settings.write_text(settings.read_text().replace("3000", "64000") + '[budget]\ncounter = "bytes"\n')
    after = json.loads(copied("session", "show", "support/42", "--request", "--json").output)
    assert after == before
    listed = {
        one["session"]: one["window"] for one in json.loads(copied("session", "list", "--json").output)["sessions"]
    }
    assert listed["support/42"] == 3_000


def test_store_alone_tells_the_window(copied: Callable[..., Result], tmp_path: Path) -> None:
    """Without any squidbot.toml: the store names it."""
    (tmp_path / "squidbot.toml").unlink()
    made = json.loads(copied("session", "explain", "support/42", "--store", "kept.db", "--json").output)
    assert (made["budget"]["window"], made["lease"]["source"]) == (3_000, "recorded")


def test_help_of_every_command_is_quick() -> None:
    """`squidbot --help` imports no command, no engine, no table, no database."""
    program = (
        "import sys\nfrom squidbot.cli import main\n"
        "try:\n    main(['--help'])\n"
        "finally:\n    print(sorted(name for name in sys.modules if name.startswith(('squidbot.', 'rich', 'sqlite3'))))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    loaded = set(ran.stdout.splitlines()[-1].strip("[]").replace("'", "").split(", "))
    assert loaded <= {
        "squidbot.cli",
        "squidbot.cli.texts",
        "squidbot.core",
        "squidbot.core.errors",
        "squidbot.core.text",
        "squidbot.adapters",
        "squidbot.adapters.common",
        "squidbot.adapters.common.packages",  # names alone: what `--version` asks for
    }
