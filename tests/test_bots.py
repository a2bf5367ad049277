"""What settings say of a bot: whether it requires memory, and whether it uses tools (B-30, B-32)."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core.memories import Scope
from squidbot.core.memory.view import MemoryQuery, NewMemory
from squidbot.plugins.host import HostRuntime, call_tool
from squidbot.plugins.store_tools import StoreTools

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.engine import Engine
    from squidbot.session import Session

NOVA, SPARK, ECHO = (Scope(user="ann", bot=bot) for bot in ("nova", "spark", "echo"))
BOTS = {"spark": {"uses_tools": False}, "echo": {"requires_memory": False}}
ALL = {"memory": {"allow_tools": True}, "goals": {"tool": True}, "journal": {"enabled": True}}


def opened(tmp_path: Path, **more: object) -> Engine:
    """Return an engine with three bots: of one nothing is said, one uses no tools, one requires no memory."""
    settings = {"store": {"path": f"{tmp_path}/s.db"}, "summary": {"scheduler": "none"}, "bots": BOTS, **more}
    return squidbot.load(settings)


def tools(session: Session) -> dict[str, str]:
    """Return the tools of a session's model by name, each as JSON."""
    return {tool["function"]["name"]: json.dumps(tool) for tool in session.tools}


def test_bot_that_uses_no_tools_gets_a_memory_that_it_can_only_search(tmp_path: Path) -> None:
    """B-47, B-30: "a read-only `memory(action="search")` tool, even for bots that don't have `uses_tools: true`"."""
    journal = {**ALL["journal"], "folder": f"{tmp_path}/journal"}
    with opened(tmp_path, **{**ALL, "journal": journal}) as engine:
        nova, spark = (engine.session(scope.bot, scope=scope) for scope in (NOVA, SPARK))
        writes = {"goal", "add_journal_entry", "add_declarative_note", "add_summary_note", "reindex_workspace"}
        assert writes <= tools(nova).keys()
        assert "forget" in tools(nova)["memory"]
        assert tools(spark).keys() == {"history", "memory", "list_journal_entries", "journal_status"}
        assert "forget" not in tools(spark)["memory"]
        engine.memories(SPARK).add(NewMemory("The boat is teal."), 1.0)
        assert "teal" in spark.memory({"action": "search", "query": "boat"}).text
        assert spark.memory({"action": "add", "text": "The boat is red."}).is_error
        for name in writes:
            assert spark.call(name, {"content": "x", "summary": "x", "action": "set", "text": "x"}).is_error, name
        assert engine.journal(SPARK).days() == []
        assert spark.goals.goals().active is None
        assert not nova.memory({"action": "add", "text": "The boat is red."}).is_error


def test_bot_that_requires_no_memory_has_none(tmp_path: Path) -> None:
    """B-47, B-30: "All bots with `requires_memory: true` get the memory search tool"; the others get nothing of it."""
    with opened(tmp_path, memory={"allow_tools": True}) as engine:
        echo, nova = (engine.session(scope.bot, scope=scope) for scope in (ECHO, NOVA))
        assert tools(echo).keys() == {"history"}
        assert "memory" in tools(nova)
        for scope in (ECHO, NOVA):
            engine.memories(scope).add(NewMemory("The user's boat is teal.", "core", trust="user"), 1.0)
        refused = echo.memory({"action": "search", "query": "boat"})
        assert refused.is_error
        assert "bots.echo.requires_memory is false" in refused.text
        assert "teal" in str(nova.assemble("Which colour has my boat?").messages)
        assert "teal" not in str(echo.assemble("Which colour has my boat?").messages)


@pytest.mark.parametrize("extract", [None, "rules"])
def test_facts_are_learned_for_every_bot_that_requires_memory(tmp_path: Path, extract: str | None) -> None:
    """B-32: "Ensure auto-extraction runs for all memory-enabled bots (not just non-tool)"."""
    with opened(tmp_path, memory={"extract": extract} if extract else {}) as engine:
        sessions = [engine.session("one", scope=scope) for scope in (NOVA, SPARK, ECHO)]
        for session in sessions:
            session.record({"role": "user", "content": "I live in Porto, and I prefer tabs."}, "Noted.")
        engine.run_jobs()
        for scope, learned in ((NOVA, True), (SPARK, True), (ECHO, False)):
            assert ("Porto" in engine.memories(scope).listed(MemoryQuery(), time.time()).text) == learned


def test_files_are_not_indexed_for_a_bot_that_requires_no_memory(tmp_path: Path) -> None:
    """B-30, P-11: nobody could find them."""
    (tmp_path / "a.md").write_text("The heron is blue.", encoding="utf-8")
    with opened(tmp_path, memory={"index_paths": [f"{tmp_path}/a.md"], "extract": "off"}) as engine:
        for bot, number in (("echo", 0), ("spark", 1)):
            session = engine.session(bot, scope=Scope(bot=bot))
            session.record({"role": "user", "content": "hello"}, "Hello.")
            assert len(engine.run_jobs(session)) == number


def test_hosts_and_servers_offer_a_bot_what_its_sessions_do(tmp_path: Path) -> None:
    """B-30: a host's tools, and those of a server, are of its bot."""
    settings = {"bots": BOTS, **ALL, "journal": {"enabled": True, "folder": f"{tmp_path}/journal"}}
    for scope, there in ((NOVA, True), (SPARK, False)):
        hosted = HostRuntime(
            f"{tmp_path}/{scope.bot}.db", host="a test", form="openai.chat", settings=settings, scope=scope
        )
        session = hosted.conversation("a").session
        names = {tool.name for tool in hosted.tools}
        assert ("memory_add" in names) == ("goal" in names) == there
        assert "memory_search" in names
        answer = call_tool(session, "add_journal_entry", {"summary": "Moved the facts."})
        assert ("uses_tools is false" in answer) != there
        server = StoreTools(hosted, scope)
        assert ("memory_add" in {tool.name for tool in server.tools}) == there
        assert server.call("memory_add", {"text": "The boat is teal."}).is_error != there
        assert server.call("add_journal_entry", {"summary": "Moved it again."}).is_error != there
        hosted.close()
