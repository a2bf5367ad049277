"""`squidbot session context`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


def test_documents_are_shown_loaded_and_dropped(copied: Callable[..., Result]) -> None:
    """Exit code 1 where there are none; what is wrong says what to do (P-13)."""
    none = copied("session", "context", "support/43")
    assert none.exit_code == 1
    assert "0 documents" in none.output
    wrong = copied("session", "context", "support/43", "load", "a.md")
    assert wrong.exit_code == 2
    assert "set it to a folder" in wrong.output
    with Path("squidbot.toml").open("a", encoding="utf-8") as settings:
        settings.write('[context]\nfolder = "context"\n')
    assert "no such folder" in copied("session", "context", "support/43", "load", "a.md").output
    Path("context").mkdir()
    Path("context/a.md").write_text("The walrus.", encoding="utf-8")
    Path("context/b.md").write_text("The squid.", encoding="utf-8")
    assert "a.md" in copied("session", "context", "support/43", "load", "a.md").output
    shown = copied("session", "context", "support/43")
    assert shown.exit_code == 0
    assert "b.md  10 bytes, not loaded" in shown.output
    told = json.loads(copied("session", "context", "support/43", "--json").output)
    assert [one["path"] for one in told["documents"]] == ["a.md"]
    assert told["files"] == [{"path": "b.md", "bytes": 10}]
    assert "0 documents" in copied("session", "context", "support/43", "drop", "a.md").output
    assert copied("session", "context", "support/43", "drop", "a.md").exit_code == 1
    assert copied("session", "context", "support/43", "forget", "a.md").exit_code == 0
    assert b"The walrus." not in Path("kept.db").read_bytes()
    assert "never had a document" in copied("session", "context", "support/43", "forget", "a.md").output
    assert copied("session", "context", "support/43", "load").exit_code == 2
    pytest.importorskip("yaml")
    Path("context/context_config.yml").write_text("core_files: [gone.md]", encoding="utf-8")
    shown = copied("session", "context", "support/43")
    assert "b.md  10 bytes" in shown.output
    assert "no such file: 'gone.md'" in shown.output
    assert copied("session", "context", "support/43", "load", "../x").exit_code == 2
