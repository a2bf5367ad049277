"""Programs of one person: memory goes on over conversations, and they share it."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from squidbot import SHARED, ConfigError, Scope
from squidbot.plugins import llm, mcp
from squidbot.plugins.host import HostRuntime
from squidbot.plugins.scopes import told_scope
from squidbot.wiring.person import OWNER, machine_user

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_llm_and_mcp_share_the_facts_of_the_person(tmp_path: Path) -> None:
    """A.1: what one is told the other finds, in any conversation; other programs' shared scope has none of it."""
    path = str(tmp_path / "mem.db")
    hosted = llm.opened(llm.Switch(store=path))
    hosted.answer("memory_add", "one", {"text": "The boat is called Heron."})
    assert "Heron" in hosted.answer("memory_search", "two", {"query": "boat"})
    server = mcp.Squidbot(path)
    assert "Heron" in server.store_tools.call("memory_search", {"query": "boat"}).text
    assert repr(machine_user().user) in server.store_tools.call("status", {}).text
    shared = mcp.Squidbot(path, scope=SHARED)
    assert "Heron" not in shared.store_tools.call("memory_search", {"query": "boat"}).text
    assert "shared by all" in shared.store_tools.call("status", {}).text
    for each in (hosted, server.hosted, shared.hosted):
        each.close()
    llm.opened.cache_clear()


@pytest.mark.parametrize("failure", [KeyError("uid"), OSError("no user"), ImportError("pwd")])
def test_a_machine_without_user_names_has_an_owner(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user has no name: which error that is depends on the version."""

    def fails() -> str:
        raise failure

    monkeypatch.setattr(getpass, "getuser", fails)
    assert machine_user() == Scope(user=OWNER)


def test_a_server_for_other_machines_needs_tokens(tmp_path: Path) -> None:
    """A.1: whoever connects would be the person of this machine."""
    with pytest.raises(ConfigError, match="users need tokens"):
        mcp.Squidbot(tmp_path / "mem.db").run("lan", 1)
    wrong: Any = machine_user
    with pytest.raises(ConfigError, match="a server has one scope"):
        mcp.Squidbot(tmp_path / "mem.db", scope=wrong)


@pytest.mark.parametrize(
    ("scope", "says"),
    [
        (Scope(user="u\n1"), "of the user 'u\\n1'"),
        (Scope(thread="a"), "of this conversation alone"),
        (SHARED, "shared by all"),
    ],
)
def test_scopes_are_told_in_words(scope: Scope, says: str) -> None:
    """On one line, whatever the name."""
    assert says in told_scope(scope)


def _journal(path: Path, folder: Path) -> HostRuntime:
    settings = {
        "journal": {"enabled": True, "folder": str(folder)},
        "memory": {"index_paths": [str(path / "notes")]},
        "summary": {
            "scheduler": "none"
        },  # what the thread does, `run_jobs` does here: it would pass over what that has
    }
    return HostRuntime(path / "mem.db", host="a test", form="openai.chat", settings=settings)


def test_conversations_of_nobody_share_files_and_no_journal(tmp_path: Path) -> None:
    """A.1: files of the settings are found by all without `reindex` by hand; an entry only by its conversation."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "boat.md").write_text("# Boat\n\nThe boat is teal.\n", encoding="utf-8")
    hosted = _journal(tmp_path, tmp_path / "journal")
    said: list[Callable[[], object]] = []
    for name, words in (("one", "Heron was painted."), ("two", "Stork was sold.")):
        session = hosted.conversation(name).session
        session.record({"role": "user", "content": words}, "Noted.")
        said.append(lambda session=session: hosted.engine.iterated(session))  # type: ignore[misc]  # a default
    for each in said:
        each()
    hosted.engine.run_jobs(reason="request")
    for name, own, other in (("one", "Heron", "Stork"), ("two", "Stork", "Heron")):
        memory = hosted.conversation(name).session.memory
        assert "teal" in memory({"action": "search", "query": "teal boat"}).text
        assert f"{own} was" in memory({"action": "search", "query": own}).text
        assert "nothing relevant" in memory({"action": "search", "query": other}).text
    folders = [each for each in (tmp_path / "journal").iterdir() if each.is_dir()]
    assert len(folders) == 2
    hosted.close()


def test_a_scope_of_the_engine_stays_as_it_was(tmp_path: Path) -> None:
    """A program over `load` says whose facts it uses; without a scope all share them."""
    with squidbot.load({"store": {"path": str(tmp_path / "mem.db")}}) as engine:
        engine.session("one").memory({"action": "add", "text": "The boat is called Heron."})
        assert "Heron" in engine.session("two").memory({"action": "search", "query": "boat"}).text
