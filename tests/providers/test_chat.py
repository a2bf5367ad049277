"""Conversations with the real SDKs over a server with the providers' rules: tools, broken streams, changes of model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.chat.conversation import ChatSession
from squidbot.core.transcript.bookkeeping import CUT

from .script import Call, Model, Text, saying
from .wire import KEY, Fault, Providers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from squidbot.core.messages import ToolCall

    from .script import Piece

pytest.importorskip("anthropic", exc_type=ImportError)
pytest.importorskip("openai", exc_type=ImportError)

WAYS = {
    "claude": {"adapter": "anthropic"},
    "gpt": {"adapter": "openai"},
    "responses": {"adapter": "openai", "api": "responses"},
}


class Seen:
    """A watcher that keeps what it sees."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.answers: list[str] = []

    def asked(self, assembly: squidbot.Assembly) -> None:
        """See that it fits."""
        assert assembly.report.cost.bound <= assembly.report.limit.bound

    def piece(self, text: str) -> None:
        """Keep it."""
        self.pieces.append(text)

    def ended(self) -> None:
        """See it."""

    def called(self, _call: ToolCall, answer: squidbot.Answer) -> None:
        """Keep what it answers."""
        self.answers.append(answer.text)

    def remark(self, text: str) -> None:
        """See it."""


LOOKS: Sequence[Piece] = [
    Text("I look twice."),
    Call("history", '{"action": "search", "query": "herring"}'),
    Call("memory", '{"action": "search", "query": "herring"}'),
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Providers]:
    """A server that each of the models is behind."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Providers({"tiny": Model(window=16_000)}) as made:
        yield made


@pytest.fixture
def engine(server: Providers, tmp_path: Path) -> Iterator[squidbot.Engine]:
    """Settings with the same model in three ways; one that knows a larger window than it is served with."""
    models = {
        alias: {**said, "model": "tiny", "context_window": 16_000, "max_tokens": 400, "url": _url(server, alias)}
        for alias, said in WAYS.items()
    }
    with squidbot.load({"store": {"path": str(tmp_path / "s.db")}, "models": models}) as made:
        yield made


def _url(server: Providers, alias: str) -> str:
    return server.url if alias == "claude" else server.openai_url


def talk(engine: squidbot.Engine, alias: str, watcher: Seen | None = None) -> ChatSession:
    """Return a conversation with a model in the one session."""
    model = engine.model(alias)

    def opens() -> squidbot.Session:
        return engine.session("s", model=alias, form=model.form)

    return ChatSession(model, opens, watcher or Seen(), system="Be brief.")


def refused(server: Providers) -> list[str]:
    """Return what was refused, but for the question which kind of server it is, which goes to any address."""
    return [one for one in server.refused if "anthropic-version" not in one]


@pytest.mark.parametrize("alias", WAYS)
def test_parallel_calls_are_answered_as_the_provider_wants_them(
    engine: squidbot.Engine, server: Providers, alias: str
) -> None:
    """No request is refused; the words come in pieces, the usage is recorded with each request."""
    server.script = saying("Noted.", LOOKS, "It eats herring.", "Yes.")
    seen = Seen()
    one = talk(engine, alias, seen)
    one.say("The squid eats herring.")
    turn = one.say("What does it eat?")
    assert (turn.text, turn.calls, turn.broken) == ("It eats herring.", ["history", "memory"], "")
    assert "".join(seen.pieces) == "Noted.I look twice.It eats herring."
    assert "The squid eats herring." in seen.answers[0]
    assert one.say("Sure?").text == "Yes."
    assert refused(server) == []
    assert all(sent.usage and sent.usage.input_tokens > 0 for sent in turn.sent)


@pytest.mark.parametrize("alias", WAYS)
def test_stream_that_the_server_breaks_off_is_kept(engine: squidbot.Engine, server: Providers, alias: str) -> None:
    """As far as it came, flagged; the next turn is valid, and tells the model."""
    server.script = saying("One two three four five six seven eight nine ten. " * 20)
    one = talk(engine, alias)
    server.faults = [Fault(cut_after=8)]
    turn = one.say("Count!")
    assert turn.broken.startswith("unreachable")
    assert turn.text.startswith("One")
    assert "ten. " * 2 not in turn.text
    cut = CUT.newest(engine.wired.store, "s")
    assert cut is not None
    assert cut.seq == 1
    assert one.say("Go on.").broken == ""
    assert "broke off" in server.requests[-1].raw.decode()
    assert refused(server) == []


def test_conversation_goes_on_with_every_other_model(engine: squidbot.Engine, server: Providers) -> None:
    """In one session: what was said, and calls with their results, go with it; nothing is refused."""
    server.script = saying(LOOKS, "First.", LOOKS, "Second.", LOOKS, "Third.", "Fourth.")
    for alias, said in (("claude", "First."), ("gpt", "Second."), ("responses", "Third."), ("claude", "Fourth.")):
        assert talk(engine, alias).say(f"I talk to {alias} about herring.").text == said
    assert refused(server) == []
    assert "I talk to gpt about herring." in server.requests[-1].raw.decode()


@pytest.mark.parametrize("alias", WAYS)
def test_provider_that_finds_a_request_too_long_gets_a_shorter_one(
    engine: squidbot.Engine, server: Providers, alias: str
) -> None:
    """Its window is half of what the settings say: one request is refused, and the turn is answered."""
    server.script = saying("Yes. " * 60)
    one = talk(engine, alias)
    for number in range(12):
        one.say(f"part {number}: " + "squid and herring " * 100)
    server.world.models = {"tiny": Model(window=2_100)}
    for number in range(4):
        turn = one.say(f"more {number}: " + "squid and herring " * 20)
        assert turn.broken == "", (number, turn.broken)
    assert 1 <= len(refused(server)) <= 2, server.refused
    assert one.session.window.window_tokens < 16_000
