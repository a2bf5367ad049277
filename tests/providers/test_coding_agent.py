"""examples/coding_agent.py, with OpenAI's SDK against a server that enforces the provider's rules and its window."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from tests.example_programs import program

from .script import Call, Model, Text, saying
from .wire import KEY, Providers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .script import Piece

openai = pytest.importorskip("openai", exc_type=ImportError)

WINDOW_TOKENS = 12_000
TEST = f"import prices\n\nassert prices.TTL == 600, prices.TTL\nprint('passed')\n{'# why: it is so' * 40}\n"
# Each is worth a fifth of the window.
LOGS = {f"log_{number}.txt": f"line {number} of the log says nothing\n" * 250 for number in range(12)}
TASK = "Make the test pass."


def called(name: str, **arguments: str) -> list[Piece]:
    """Return a step of the model that calls a tool."""
    return [Call(name, json.dumps(arguments))]


STEPS: list[Sequence[Piece]] = [
    called("run", command=f"{sys.executable} check.py"),
    called("read", path="prices.py"),
    *(called("read", path=name) for name in LOGS),
    called("history", action="search", query="AssertionError"),
    called("edit", path="prices.py", old="TTL = 60\n", new="TTL = 600\n"),
    called("run", command=f"{sys.executable} check.py"),
    [Text("It passes now.")],
]


@pytest.fixture
def providers() -> Iterator[Providers]:
    """A server whose model has a small window."""
    with Providers({"tiny": Model(window=WINDOW_TOKENS)}) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose test fails, and a user who allows all commands."""
    (tmp_path / "project").mkdir()
    for name, text in {"prices.py": "TTL = 60\n", "check.py": TEST, **LOGS}.items():
        (tmp_path / "project" / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr("builtins.input", lambda _: "y")
    return tmp_path / "project"


def worked(providers: Providers, session: squidbot.Session, folder: Path, task: str = TASK) -> str | None:
    """Have the agent work on a task."""
    made = program("coding_agent")
    made.MODEL = "tiny"  # type: ignore[attr-defined]  # the server's
    with openai.OpenAI(api_key=KEY, base_url=providers.openai_url, max_retries=0) as client:
        said: str | None = made.work(client, session, folder, task)
    return said


def results(session: squidbot.Session) -> list[str]:
    """Return what the tools have answered."""
    store = session.wired.store
    rows = store.read(session.session_id, 0, store.head(session.session_id)[0] - 1)
    return [json.loads(row.payload)["content"] for row in rows if row.role == "tool"]


def test_the_agent_ends_a_task_that_is_larger_than_its_window(
    providers: Providers, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No request is refused or too long; what left the window is found, and the next task knows the first."""
    providers.script = saying(*STEPS)
    store = {"store": {"path": str(folder.parent / "squid.db")}}
    with squidbot.load(store) as engine:
        session = engine.session("project", window_tokens=WINDOW_TOKENS)
        assert worked(providers, session, folder) == "It passes now."
        first, *_, found, _, last = results(session)
        assert "AssertionError: 60" in first
        assert "AssertionError" in found
        assert last.startswith("exit code 0\npassed")
    with squidbot.load(store) as engine:
        session = engine.session("project", window_tokens=WINDOW_TOKENS)
        assert worked(providers, session, folder, "And now?") == "It passes now."
    assert "TTL = 600" in (folder / "prices.py").read_text("utf-8")
    assert providers.refused == []
    sent: list[dict[str, Any]] = providers.bodies("/v1/chat/completions")
    assert len(sent) == len(STEPS) + 1
    assert all(TASK in json.dumps(body["messages"]) for body in sent)
    assert "log_3.txt" in json.dumps(sent[6]["messages"])
    printed = capsys.readouterr().out
    assert f"of {WINDOW_TOKENS * 3 // 4:,} tokens" in printed
    assert "slimmed" in printed


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (called("read", path="../secret.txt"), "failed: ../secret.txt is outside of the folder"),
        (called("read", path="gone.txt"), "failed: [Errno 2]"),
        (called("edit", path="prices.py", old="T", new="U"), "failed: prices.py has `old` 3 times, not once"),
        (called("run", command="exit 3"), "exit code 3"),
        (called("run", folder="/"), "failed: "),
        ([Call("read", "no JSON")], "failed: "),
        (called("sing", song="Heron"), "unknown tool"),
    ],
)
def test_what_goes_wrong_is_told_to_the_model(
    step: Sequence[Piece], told: str, providers: Providers, folder: Path
) -> None:
    """The turn goes on."""
    (folder.parent / "secret.txt").write_text("secret", encoding="utf-8")
    (folder / "prices.py").write_text("TTL, T = 1, 2\n", encoding="utf-8")
    providers.script = saying(step, "Done.")
    with squidbot.load({}) as engine:
        session = engine.session("project", window_tokens=WINDOW_TOKENS)
        assert worked(providers, session, folder) == "Done."
        (result,) = results(session)
    assert told in result
    assert providers.refused == []


def test_a_command_that_the_user_refuses_is_not_run(
    providers: Providers, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Return alone refuses."""
    monkeypatch.setattr("builtins.input", lambda _: "")
    providers.script = saying(called("run", command="touch ran"), "Then not.")
    with squidbot.load({}) as engine:
        session = engine.session("project", window_tokens=WINDOW_TOKENS)
        worked(providers, session, folder)
        assert results(session) == ["failed: the user does not want that"]
    assert not (folder / "ran").exists()
