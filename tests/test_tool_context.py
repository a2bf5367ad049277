"""Documents in a session's head: of the project, of a folder, on demand; kept, announced, dropped (P-02, P-13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core import events
from squidbot.core.errors import BudgetError, ConfigError, NotFoundError
from squidbot.core.view.marks import tool_names
from squidbot.plugins.host import HostRuntime, call_tool

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.events import Event
    from squidbot.engine import Engine


class Heard:
    """An extension that keeps what went wrong."""

    def __init__(self) -> None:
        self.said: list[str] = []

    @squidbot.hookimpl
    def on_event(self, event: Event) -> None:
        """Keep it."""
        if event.name == events.DEGRADED:
            self.said.append(event.cause)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a context folder, documents, and settings that name a store."""
    (tmp_path / "context" / "docs").mkdir(parents=True)
    (tmp_path / "context" / "docs" / "api.md").write_text("The walrus API has two calls.")
    (tmp_path / "context" / "style.md").write_text("Short lines.")
    (tmp_path / "AGENTS.md").write_text("Run the squid tests.")
    (tmp_path / "squidbot.toml").write_text('[store]\npath = "kept.db"\n[context]\nfolder = "context"\n')
    return tmp_path


def loaded(folder: Path, /, **context: object) -> Engine:
    """Return an engine over the folder's store."""
    text = "\n".join(f"{key} = {'true' if value is True else repr(value)}" for key, value in context.items())
    (folder / "squidbot.toml").write_text(f'[store]\npath = "kept.db"\n[context]\n{text}\n')
    return squidbot.load(folder / "squidbot.toml")


def sent(session: squidbot.Session, text: str = "Hello") -> str:
    """Say something and return all that is sent."""
    made = session.assemble(text)
    session.record(made.incoming, "Yes.")
    return str(made.messages)


def test_project_is_read_only_where_settings_want_it(folder: Path) -> None:
    """Off by itself; on, its first document stands in the head, and a changed one is announced (P-02)."""
    with loaded(folder) as engine:
        assert "squid tests" not in sent(engine.session("plain"))
    with loaded(folder, autoload_project_docs=True) as engine:
        session = engine.session("s")
        assert "AGENTS.md:\\nRun the squid tests." in sent(session)
        first = session.request(0).messages
        (folder / "AGENTS.md").write_text("Run the octopus tests.")
        made = session.assemble("Again")
        assert made.messages[: len(first)] == first
        assert "[context [project] is now:]" in str(made.messages[-1])
        assert "octopus" in str(made.messages[-1])
        session.record(made.incoming, "Yes.")
        assert "octopus" not in str(session.assemble("And now?").messages[-1]), "it is announced once"


def test_core_files_stand_in_every_session_and_stay_when_they_are_gone(folder: Path) -> None:
    """What the configuration names is loaded at the start; a restart, and a lost file, change nothing (P-02)."""
    pytest.importorskip("yaml")
    config = folder / "context" / "context_config.yml"
    config.write_text("core_files:\n  - docs/api.md\n")
    with loaded(folder, folder="context") as engine:
        assert "walrus API" in sent(engine.session("s"))
    (folder / "context" / "docs" / "api.md").unlink()
    heard = Heard()
    with squidbot.load(folder / "squidbot.toml", extensions=[heard]) as engine:
        session = engine.session("s")
        assert "walrus API" in sent(session)
        session.context.drop("docs/api.md")
        assert "docs/api.md was removed" in sent(session)
        assert [one.name for one in session.context.documents.all()] == [], "what was dropped stays out"
        assert heard.said == ["no such file: 'docs/api.md' below " + str(folder / "context")]


def test_document_is_loaded_on_demand_and_survives_restart_and_compaction(folder: Path) -> None:
    """Announced at once, in the head from the next event on, in any process; changed files are announced (P-13)."""
    with loaded(folder, folder="context") as engine:
        session = engine.session("s", window_tokens=8_000)
        for number in range(8):
            made = session.assemble(f"{number} " + "And why? " * 60)
            session.record(made.incoming, "So it is. " * 100)
        assert session.load_context("docs/api.md").text == "The walrus API has two calls."
        made = session.assemble("Which calls?")
        assert "[context docs/api.md is now:]\\nThe walrus API" in str(made.messages[-1])
        session.record(made.incoming, "Two.")
    with loaded(folder) as engine:  # without the folder, and without the file
        session = engine.session("s", window_tokens=8_000)
        session.compact()
        assert "squidbot context docs/api.md" in str(session.preview().messages[0])
        assert "docs/api.md is now" not in sent(session).split("Hello")[-1]
    (folder / "context" / "docs" / "api.md").write_text("It has three calls.")
    with loaded(folder, folder="context") as engine:
        again = engine.session("s", window_tokens=8_000).assemble("And now?")
        assert "It has three calls." in str(again.messages[-1])


def test_documents_take_at_most_a_quarter_of_the_window(folder: Path) -> None:
    """Refused with what it costs; in a smaller window a line stands in its place (P-13)."""
    (folder / "context" / "long.md").write_text("word " * 3_000)
    with loaded(folder, folder="context") as engine:
        narrow = engine.session("s", window_tokens=8_000)
        with pytest.raises(BudgetError, match=r"long.md has .* tokens; drop another document.* of 2000 tokens"):
            narrow.load_context("long.md")
        wide = engine.session("s", window_tokens=64_000)
        wide.load_context("long.md")
        assert "word word" in sent(wide)
        assert "[left out: " in sent(engine.session("s", window_tokens=8_000))
        assert "word word" in sent(engine.session("s", window_tokens=64_000))


def test_what_is_wrong_unasked_is_told_once_and_no_turn_fails(folder: Path) -> None:
    """A configuration that can't be read, a folder that is not there (C4 of errors: they are for who must act)."""
    pytest.importorskip("yaml")
    (folder / "context" / "context_config.yml").write_text("core_files: 7")
    loaded(folder, folder="context").close()
    heard = Heard()
    with squidbot.load(folder / "squidbot.toml", extensions=[heard]) as engine:
        session = engine.session("s")
        sent(session)
        sent(session)
    assert len(heard.said) == 1
    assert "core_files must be a list of paths" in heard.said[0]
    with loaded(folder, folder="nowhere") as engine:
        session = engine.session("s")
        sent(session)
        with pytest.raises(ConfigError, match=r"no such folder: .*nowhere; create it, or change context.folder"):
            session.load_context("a.md")
    with loaded(folder) as engine, pytest.raises(ConfigError, match=r"set it to a folder"):
        engine.session("s").load_context("a.md")


def test_tool_lists_loads_and_drops(folder: Path) -> None:
    """Offered where there is a folder, to sessions and hosts; what is wrong with a call is told (P-13)."""
    with loaded(folder) as engine:
        assert tool_names(engine.session("s").tools) == ["history", "memory"]
    with loaded(folder, folder="context") as engine:
        session = engine.session("s")
        assert tool_names(session.tools) == ["history", "memory", "context"]
        told = session.call("context", {"action": "list"}).text
        assert told == "in view: nothing\ndocs/api.md (29 bytes)\nstyle.md (12 bytes)"
        assert "1 line]" in session.call("context", '{"action": "load", "path": "style.md"}').text
        assert session.call("context", {"action": "list"}).text.startswith("in view: style.md\n")
        assert "leaves the view" in session.call("context", {"action": "drop", "path": "./style.md"}).text
        for arguments, said in (
            ({"action": "dance"}, "action must be one of list, load, drop"),
            ({"action": "load"}, "path must be"),
            ({"action": "load", "path": "../AGENTS.md"}, "not a path below the folder"),
            ({"action": "load", "path": "gone.md"}, "no such file"),
            ({"action": "drop", "path": "style.md"}, "this session has no document 'style.md'"),
            ("{", "not JSON"),
        ):
            answer = session.call("context", arguments)
            assert answer.is_error
            assert said in answer.text
    hosted = HostRuntime(None, host="t", form="openai.chat", settings=folder / "squidbot.toml")
    assert [one.name for one in hosted.tools] == ["memory_search", "memory_add", "history", "context"]
    assert "in view" in call_tool(hosted.conversation("a").session, "context", {"action": "list"})
    hosted.close()


def test_unknown_document_can_not_be_dropped(folder: Path) -> None:
    """The text lists those there are."""
    with loaded(folder, folder="context") as engine:
        session = engine.session("s")
        session.load_context("style.md")
        with pytest.raises(NotFoundError, match=r"this session has no document '../x'; it has: style.md"):
            session.context.drop("../x")
