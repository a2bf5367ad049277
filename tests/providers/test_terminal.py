"""`squidbot chat` on a real terminal, as a new user has it: the real SDKs, a server with the rules of providers."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from squidbot.adapters.common.providers import USUAL_KEYS
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.core.transcript.bookkeeping import CUT

from .script import Call, Model, Text, Thought
from .wire import KEY, Fault, Providers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .script import Asked, Piece

pexpect = pytest.importorskip("pexpect")
pytest.importorskip("prompt_toolkit")
pytest.importorskip("anthropic", exc_type=ImportError)
pytest.importorskip("openai", exc_type=ImportError)

# What is typed is tried with a scripted model in any run, and what these SDKs do without a terminal.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COMMAND = ["-c", "from squidbot.cli import main; main(prog_name='squidbot')", "chat"]
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])")
# What a terminal is told where something can be typed.
TYPING = "\x1b[?2004h"
SETTINGS = """
[store]
path = "kept.db"
[models.claude]
adapter = "anthropic"
model = "tiny"
url = "{claude}"
[models.gpt]
adapter = "openai"
model = "tiny"
url = "{gpt}"
context_window = 16000
[models.responses]
adapter = "openai"
api = "responses"
model = "tiny"
url = "{gpt}"
context_window = 16000
[models.responses.options]
service_tier = "flex"
"""


def says(asked: Asked) -> Sequence[Piece]:
    """Look things up once where it is asked to, else answer at length."""
    said = asked.body.get("messages") or asked.body.get("input")
    assert isinstance(said, list)
    if "look it up" in str(said[-1]):
        return [Thought("hm"), Text("I look."), Call("history", '{"action": "search", "query": "Ophelia"}')]
    return [Thought("hm"), Text(f"Answer to {len(said)}. " + " ".join(f"word-{number}" for number in range(90)))]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Providers]:
    """The server, and settings of three models behind it."""
    with Providers(models={"tiny": Model(window=16_000)}, script=says) as one:
        text = SETTINGS.format(claude=one.url, gpt=one.openai_url)
        (tmp_path / "squidbot.toml").write_text(text, encoding="utf-8")
        yield one


class Terminal:
    """The command on a terminal of 80 columns, as somebody drives it who waits for what is to be seen."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG", "LC_ALL"}}
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        home = {"HOME": str(folder), "PYTHONPATH": paths, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}
        keys = dict.fromkeys(USUAL_KEYS.values(), KEY)
        self.spawned: Any = pexpect.spawn(
            sys.executable,
            [*COMMAND, *arguments],
            cwd=folder,
            env=kept | home | keys,
            dimensions=(40, 80),
            timeout=30,
            encoding="utf-8",
        )
        self.start = self.wait("/help lists the commands")

    def wait(self, text: str) -> str:
        """Wait until a text is seen, and return what was seen up to it, as plain text."""
        self.spawned.expect_exact(text)
        return ESCAPES.sub("", self.spawned.before).replace("\r", "") + text

    def say(self, text: str, until: str = " out; worth ") -> str:
        """Type it as soon as something can be typed, and return what is seen until a text."""
        self.spawned.expect_exact(TYPING)
        self.spawned.send(f"{text}\r")
        return self.wait(until)

    def end(self) -> None:
        """Type Ctrl-D, and see it end well."""
        self.spawned.expect_exact(TYPING)
        self.spawned.sendeof()
        self.spawned.expect(pexpect.EOF)
        self.spawned.close()
        assert self.spawned.exitstatus == 0


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Start the command; all are gone behind the test."""
    started: list[Terminal] = []

    def start(*arguments: str) -> Terminal:
        started.append(Terminal(tmp_path, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.spawned.close(force=True)


def test_a_new_user_goes_on_with_another_provider(server: Providers, terminal: Callable[..., Terminal]) -> None:
    """A turn with a tool, a broken stream, /compact and /undo; then a restart."""
    one = terminal("--model", "claude")
    assert "window 16,000 tokens" in one.start
    assert "Answer to 1. word-0" in one.say("my cat is called Ophelia")
    seen = one.say("look it up")
    assert '-> history action="search", query="Ophelia"' in seen
    assert "Answer to 5." in seen
    server.faults = [Fault(cut_after=8)]
    one.say("count", "your message is kept, and the partial answer")
    one.say("/compact", "/undo takes it back")
    one.say("/undo", "everything is sent verbatim")
    one.end()

    again = terminal("--model", "gpt")
    assert "8 messages so far" in again.start
    assert "that answer broke off: unreachable" in again.start
    assert "hm" not in again.start.split("model:")[1]
    assert "Answer to " in again.say("go on")
    assert "Ophelia" in server.requests[-1].raw.decode()
    assert "broke off" in server.requests[-1].raw.decode()
    again.end()
    assert server.refused == []
    assert server.held == []


def test_a_second_session_knows_nothing_of_the_first(server: Providers, terminal: Callable[..., Terminal]) -> None:
    """With a third provider, in a mode and with options of its own; a restart goes on with it.

    But for facts: those are of the person who uses this machine, and a question is none.
    """
    one = terminal("--model", "gpt")
    assert "Answer to " in one.say("what rhymes with Ophelia?")
    assert "Ophelia" in server.requests[-1].raw.decode()
    one.end()
    other = terminal("--model", "responses", "--new", "--mode", "developer")
    assert "mode         developer" in other.say("/status", "tools ")
    assert "Answer to " in other.say("hello")
    assert "Ophelia" not in server.requests[-1].raw.decode()
    assert server.requests[-1].body["service_tier"] == "flex"
    other.end()
    assert "mode         developer" in terminal("--model", "responses").say("/status", "tools ")
    assert server.refused == []
    assert server.held == []


def test_a_terminal_that_is_killed_in_mid_answer_goes_on(
    server: Providers, terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    """What had come over the wire is there at the next start, and the provider is told that it is not whole."""
    one = terminal("--model", "claude")
    # Only now: asking for the window would take it, and the whole answer could come before the end.
    server.faults = [Fault(stall_after=8)]
    one.say("count", "word-1")
    one.spawned.kill(signal.SIGKILL)
    one.spawned.wait()
    again = terminal("--model", "claude")
    assert "that answer broke off: the program ended before it did" in again.start
    again.say("go on")
    assert "the program ended before it did" in server.requests[-1].raw.decode()
    again.end()
    store = SqliteStore(str(tmp_path / "kept.db"), create=False)
    cut = CUT.newest(store, "chat")
    store.close()
    assert cut is not None
    assert cut.seq == 1
    assert not list(tmp_path.glob("*.heard"))
    assert server.refused == []
