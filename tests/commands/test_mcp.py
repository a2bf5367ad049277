"""`squidbot mcp`, without a client: what it is told, and what it says. tests/plugins/test_mcp.py speaks with it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from squidbot.cli import main
from squidbot.plugins.mcp import Squidbot

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["mcp", *arguments])


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str, int]]:
    """Return where servers are started, and in which store; none listens."""
    started: list[tuple[str, str, int]] = []

    def note(self: Squidbot, host: str = "", port: int = 0) -> None:
        started.append((self.store_tools.call("status", {}).text.splitlines()[0], host, port))

    monkeypatch.setattr(Squidbot, "run", note)
    monkeypatch.chdir(tmp_path)
    return started


@pytest.mark.parametrize(
    ("address", "host", "port"), [("127.0.0.1:8000", "127.0.0.1", 8000), ("[::1]:80", "::1", 80), ("lan:1", "lan", 1)]
)
def test_it_serves_where_it_is_told(served: list[tuple[str, str, int]], address: str, host: str, port: int) -> None:
    """Where others can reach it, it says what that means, and needs a scope: the shared one was the default."""
    result = run("--store", "mem.db", "--http", address, *(["--shared"] if host == "lan" else []))
    assert result.exit_code == 0, result.output
    assert served == [("store: mem.db", host, port)]
    assert ("anyone who can connect" in result.stderr) is (host == "lan")


def test_settings_say_which_store(served: list[tuple[str, str, int]], tmp_path: Path) -> None:
    """Without an option those of the folder."""
    (tmp_path / "squidbot.toml").write_text('[store]\npath = "kept.db"\n', encoding="utf-8")
    assert run().exit_code == 0
    assert served == [("store: kept.db", "", 0)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no store: pass --store FILE.db"),
        (["--store", "mem.db", "--http", "8000"], "'8000' is not an address"),
        (["--store", "mem.db", "--http", "here:99999"], "'here:99999' is not an address"),
        (["--store", "mem.db", "--config", "squidbot.toml"], "not both"),
    ],
)
def test_what_is_wrong_is_one_line(served: list[tuple[str, str, int]], arguments: list[str], says: str) -> None:
    """Exit code 2, and nothing is started."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in result.stderr.splitlines()[-1]
    assert served == []


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """C18."""
    monkeypatch.delitem(sys.modules, "squidbot.plugins.mcp", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    result = run("--store", "mem.db")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.endswith("; the extra mcp is missing; in your clone: pip install '.[mcp]'")
