"""Which tools of memory a model gets, which index is taken (P-11), and who reads files anew."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core.errors import ConfigError
from squidbot.core.memories import Scope
from squidbot.plugins.host import HostRuntime, call_tool
from squidbot.plugins.store_tools import StoreTools

if TYPE_CHECKING:
    from pathlib import Path


REINDEX, NOTE = "reindex_workspace", "add_declarative_note"


def names(tools: object) -> list[str]:
    """Return what tools are called."""
    return [load["function"]["name"] for load in json.loads(json.dumps(tools))]


@pytest.mark.parametrize(
    ("allowed", "there"),
    [(None, ["history", "memory"]), (True, ["history", "memory", REINDEX, NOTE]), (False, ["history"])],
)
def test_tools_of_memory_are_there_as_settings_allow(tmp_path: Path, *, allowed: bool | None, there: list[str]) -> None:
    """P-11, C19: false denies, true gives the one that indexes, too, unset vetoes nothing; hosts and MCP as well."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("The heron is blue.", encoding="utf-8")
    memory: dict[str, object] = {"index_paths": [f"{tmp_path}/notes"]}
    settings = {"memory": memory | ({} if allowed is None else {"allow_tools": allowed})}
    hosted = HostRuntime(f"{tmp_path}/s.db", host="a test", form="openai.chat", settings=settings)
    session = hosted.conversation("a").session
    assert names(session.tools) == there
    indexed = session.call(REINDEX, "")
    assert indexed.is_error == (not allowed)
    assert ("1 new" in indexed.text) == bool(allowed)
    denied = allowed is False
    assert session.memory({"action": "search", "query": "heron"}).is_error == denied
    assert ("memory_add" in [tool.name for tool in hosted.tools]) != denied
    assert (REINDEX in [tool.name for tool in hosted.tools]) == bool(allowed)
    assert ("allow_tools is false" in call_tool(session, "memory_add", {"text": "x"})) == denied
    assert "allow_tools" not in call_tool(session, "memory_search", {"query": "heron"})
    assert StoreTools(hosted, Scope()).call("memory_list", {}).is_error == denied
    if allowed:
        assert "heron is blue" in session.memory({"action": "search", "query": "heron"}).text
        assert call_tool(session, REINDEX, {}) == "[files checked: 1 unchanged]"
    hosted.close()


def test_settings_that_cant_be_read_deny(tmp_path: Path) -> None:
    """P-11: nothing is answered, and the host goes on without it."""
    wrong = tmp_path / "squidbot.toml"
    wrong.write_text('[memory]\nallow_tools = "perhaps"\n', encoding="utf-8")
    hosted = HostRuntime(None, host="a test", form="openai.chat", settings=wrong)
    with pytest.raises(ConfigError, match=r"memory.allow_tools"):
        _ = hosted.engine
    answer = StoreTools(hosted, Scope()).call("memory_list", {})
    assert answer.is_error


def test_first_index_that_is_installed_is_taken(tmp_path: Path) -> None:
    """P-11: in the order that is named; a name that nobody offers is refused at load, wherever it stands."""
    settings = {"store": {"path": f"{tmp_path}/s.db"}, "memory": {"index": "nobody, stdlib"}}
    with pytest.raises(ConfigError, match=r"unknown index of vectors 'nobody'"):
        squidbot.load(settings)
    settings["memory"] = {"index": "lancedb, stdlib"}
    with squidbot.load(settings) as engine:
        assert type(engine.wired.vector_index("", "m", 3)).__module__.split(".")[2] in {"lancedb", "stdlib"}
