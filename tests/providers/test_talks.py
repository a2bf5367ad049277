"""Long conversations through a server with the providers' rules: what the cache reads, and from one to another."""

from __future__ import annotations

import functools
import json
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.messages import ToolCall
from squidbot.core.portable import Outcome, Words
from squidbot.replay.charges import charges_of
from squidbot.replay.command import Places, run
from squidbot.replay.wiring import open_counter, terms_for

from .script import Model
from .talks import talk, thinking
from .wire import KEY, Providers

pytest.importorskip("anthropic", exc_type=ImportError)
pytest.importorskip("openai", exc_type=ImportError)

from squidbot.adapters.anthropic import AnthropicModel  # behind the check that the SDKs are there
from squidbot.adapters.anthropic.client import Account as AnthropicAccount
from squidbot.adapters.openai import OpenAIChatModel, OpenAIResponsesModel
from squidbot.adapters.openai.client import Account

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from squidbot.core.messages import StoredMessage
    from squidbot.core.portable import Portable
    from squidbot.core.ports import Codec, LoadedModel
    from squidbot.replay.metrics import Tally

    from .script import Json

FORMS = ("anthropic.messages", "openai.chat", "openai.responses")
WINDOW_TOKENS, ROOM_TOKENS = 12_000, 1_000
BUDGET: dict[str, object] = {"budget": {"reserved_output_tokens": ROOM_TOKENS}}
# What only its own provider can read, as it stands in the JSON of messages.
SEALED = ('"signature"', '"thinking"', "encrypted_content", '"reasoning', '"rs_', '"msg_', '"resp_', '"fc_', "chatcmpl")


def model_of(server: Providers, form: str) -> LoadedModel:
    """Return the adapter of a form over a server."""
    if form == "anthropic.messages":
        one = AnthropicAccount(server.url, environment={"ANTHROPIC_API_KEY": KEY})
        return AnthropicModel("tiny", account=one, drops_stale=True)
    other = Account(server.openai_url, environment={"OPENAI_API_KEY": KEY})
    return (OpenAIChatModel if form == "openai.chat" else OpenAIResponsesModel)("tiny", account=other)


@pytest.fixture
def talking() -> Providers:
    """A server that is not open yet, whose model thinks, and whose tokens are those that sessions count."""
    count = functools.lru_cache(maxsize=None)(builtin_counter("classes").count)
    return Providers(models={"tiny": Model(window=WINDOW_TOKENS)}, script=thinking, count=count)


def rows(engine: squidbot.Engine) -> list[StoredMessage]:
    """Return what was recorded."""
    return engine.wired.store.read("s", 0, engine.wired.store.head("s")[0])


def predicted(recorded: Sequence[StoredMessage], prices: str, path: Path) -> Tally:
    """Return what `squidbot replay` says of a recording, under the terms that the session had."""
    path.write_text("".join(f"{json.dumps(json.loads(row.payload))}\n" for row in recorded), encoding="utf-8")
    terms = terms_for(WINDOW_TOKENS, ROOM_TOKENS, "balanced", open_counter("classes"), "tokens", charges_of(prices))
    return run(read_transcripts(path), terms, Places((str(path),)), compare=False, tick=lambda: None).outcomes[0].tally


@pytest.mark.parametrize(("form", "turns", "off_fraction"), [(FORMS[0], 200, 0.005), (FORMS[1], 80, 0.02)])
def test_a_long_conversation_is_never_refused_and_the_cache_reads_what_the_replay_predicts(
    talking: Providers, tmp_path: Path, form: str, turns: int, off_fraction: float
) -> None:
    """Thinking, parallel calls, pauses that outlive the cache, plans in dozens; OpenAI's cache counts in steps."""
    prices = form.partition(".")[0]
    with talking, squidbot.load({"prices": prices, **BUDGET}) as engine:
        chat = model_of(talking, form)
        steps = talk(talking, chat, engine.session("s", form=form, window_tokens=WINDOW_TOKENS), range(turns))
        chat.close()
        tally = predicted(rows(engine), prices, tmp_path / "recorded.jsonl")
        events = len(engine.wired.store.records("s", "plan"))
    assert talking.refused == []
    assert talking.held == []
    assert len(steps) == tally.calls == 2 * turns
    assert events > turns // 20
    read = sum(step.reply.cached_tokens for step in steps) / sum(step.reply.input_tokens for step in steps)
    assert read == pytest.approx(tally.reuse, rel=off_fraction)


@pytest.mark.parametrize(("first", "then"), list(permutations(FORMS, 2)))
def test_a_conversation_goes_on_with_another_provider(talking: Providers, first: str, then: str) -> None:
    """Text and tool pairs stay; signatures, sealed reasoning and ids of items are dropped, and nothing else."""
    with talking, squidbot.load(BUDGET) as engine:
        chats = {form: model_of(talking, form) for form in (first, then)}
        talk(talking, chats[first], engine.session("s", form=first, window_tokens=WINDOW_TOKENS), range(6))
        before = rows(engine)
        codecs = engine.wired.codecs
        steps = talk(talking, chats[then], engine.session("s", form=then, window_tokens=WINDOW_TOKENS), range(6, 9))
        for chat in chats.values():
            chat.close()
    assert talking.refused == []
    assert [step.reply.finish for step in steps] == ["tool_calls", "stop"] * 3
    crossed = said(codecs[then], steps[0].messages[:-1])
    assert crossed == [one for row in before for one in pieces(codecs[row.codec].portable(row.payload))]
    assert any(mark in row.payload for row in before for mark in SEALED) == (first != "openai.chat")
    assert not [mark for mark in SEALED if mark in json.dumps(steps[0].messages)]


def said(codec: Codec, messages: Sequence[Json]) -> list[str]:
    """Return what a request says, piece by piece."""
    return [one for message in messages for one in pieces(codec.portable(json.dumps(message)))]


def pieces(message: Portable) -> list[str]:
    """Return the pieces of a message as texts: words, calls with their arguments, results, each with its call's id."""
    found: list[str] = []
    for piece in message.pieces:
        if isinstance(piece, Words):
            found.append(f"{message.role} says {piece.text}")
        elif isinstance(piece, ToolCall):
            found.append(f"{piece.id} calls {piece.name} with {json.dumps(json.loads(piece.arguments))}")
        elif isinstance(piece, Outcome):
            found.append(f"{piece.call_id} gave {' '.join(str(one) for one in piece.said)}")
    return found
