"""Long conversations through a server with the providers' rules: what the cache reads, and from one to another."""

from __future__ import annotations

import functools
import json
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import pytest

import squidbot
from squidbot.adapters.common.providers import USUAL_KEYS
from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.messages import ToolCall, ToolResult, Words
from squidbot.core.tokens.counters import builtin_counter
from squidbot.replay.runner import Places, run
from squidbot.replay.terms import charges_of, open_counter, terms_for

from .script import Model
from .talks import talk, thinking
from .wire import KEY, Providers

pytest.importorskip("anthropic", exc_type=ImportError)
pytest.importorskip("openai", exc_type=ImportError)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from squidbot.core.messages import Portable, StoredMessage
    from squidbot.core.ports import Codec
    from squidbot.replay.metrics import Tally

    from .script import Json

FORMS = ("anthropic.messages", "openai.chat", "openai.responses")
WINDOW_TOKENS, ROOM_TOKENS = 9_000, 1_000
# What only its own provider can read, as it stands in the JSON of messages.
SEALED = ('"signature"', '"thinking"', "encrypted_content", '"reasoning', '"rs_', '"msg_', '"resp_', '"fc_', "chatcmpl")


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's key, where the adapters look for it."""
    for name in USUAL_KEYS.values():
        monkeypatch.setenv(name, KEY)


def settings(server: Providers, options: Mapping[str, object] | None = None, /, **more: object) -> dict[str, object]:
    """Return settings with a model for each form, called like it, and what a user would write and no more.

    `options` are those of OpenAI's models.
    """
    claude = {"adapter": "anthropic", "url": server.url, "model": "tiny", "context_window": WINDOW_TOKENS}
    gpt = {**claude, "adapter": "openai", "url": server.openai_url, "options": dict(options or {})}
    models = dict(zip(FORMS, (claude, gpt, {**gpt, "api": "responses"}), strict=True))
    return {"models": models, "budget": {"reserved_output_tokens": ROOM_TOKENS}, **more}


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
    return run(read_transcripts(path), terms, Places((str(path),)), tick=lambda: None).outcomes[0].tally


class Way(NamedTuple):
    """A form, whose prices plans go by, what its model is like, and how far from the replay's the share read may be."""

    form: str
    prices: str
    model: Model
    options: Json
    off_fraction: float


# OpenAI's older models have a cache that counts in steps of 128 tokens; newer ones are told where a prefix ends.
_OLDER, _NEWER = Model(window=WINDOW_TOKENS), Model(window=WINDOW_TOKENS, marks=True)
_TOLD: Json = {"prompt_cache_options": {"ttl": "30m"}}
WAYS = {
    "claude": Way(FORMS[0], "anthropic", _OLDER, {}, 0.005),
    "chat": Way(FORMS[1], "openai", _OLDER, {}, 0.02),
    "responses": Way(FORMS[2], "openai", _OLDER, {}, 0.02),
    "newer-chat": Way(FORMS[1], "openai-30m", _NEWER, _TOLD, 0.01),
    "newer-responses": Way(FORMS[2], "openai-30m", _NEWER, _TOLD, 0.01),
}
# The other provider, its forms and its older cache take as long.
IN_ANY_RUN = ("claude",)


@pytest.mark.parametrize("turns", [40, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [name if name in IN_ANY_RUN else pytest.param(name, marks=pytest.mark.slow) for name in WAYS]
)
def test_a_long_conversation_is_never_refused_and_the_cache_reads_what_the_replay_predicts(
    talking: Providers, tmp_path: Path, name: str, turns: int
) -> None:
    """By settings alone: thinking, parallel calls, pauses that outlive the cache, plans in dozens."""
    way = WAYS[name]
    talking.world.models = {"tiny": way.model}
    with talking, squidbot.load(settings(talking, way.options, prices=way.prices)) as engine:
        session = engine.session("s", form=way.form, window_tokens=WINDOW_TOKENS)
        steps = talk(talking, engine.model(way.form), session, range(turns))
        tally = predicted(rows(engine), way.prices, tmp_path / "recorded.jsonl")
        events = len(engine.wired.store.records("s", "plan"))
    assert talking.refused == []
    assert talking.held == []
    assert len(steps) == tally.calls == 2 * turns
    assert events >= turns // 20
    read = sum(step.reply.cached_tokens for step in steps) / sum(step.reply.input_tokens for step in steps)
    assert read == pytest.approx(tally.reuse, rel=way.off_fraction)


@pytest.mark.parametrize(("first", "then"), list(permutations(FORMS, 2)))
def test_a_conversation_goes_on_with_another_provider(talking: Providers, first: str, then: str) -> None:
    """And back: text and tool pairs stay; signatures, sealed reasoning and ids of items are dropped, nothing else."""
    with talking, squidbot.load(settings(talking)) as engine:
        chats = {form: engine.model(form) for form in (first, then)}
        talk(talking, chats[first], engine.session("s", form=first, window_tokens=WINDOW_TOKENS), range(3))
        before = rows(engine)
        codecs = engine.wired.codecs
        steps = talk(talking, chats[then], engine.session("s", form=then, window_tokens=WINDOW_TOKENS), range(3, 5))
        talk(talking, chats[first], engine.session("s", form=first, window_tokens=WINDOW_TOKENS), range(5, 6))
    assert talking.refused == []
    assert [step.reply.finish for step in steps] == ["tool_calls", "stop"] * 2
    crossed = said(codecs[then], steps[0].messages[:-1])
    assert crossed == [piece for row in before for piece in pieces(codecs[row.codec].portable(row.payload))]
    assert any(mark in row.payload for row in before for mark in SEALED) == (first != "openai.chat")
    assert not [mark for mark in SEALED if mark in json.dumps(steps[0].messages)]


def said(codec: Codec, messages: Sequence[Json]) -> list[str]:
    """Return what a request says, piece by piece."""
    return [piece for message in messages for piece in pieces(codec.portable(json.dumps(message)))]


def pieces(message: Portable) -> list[str]:
    """Return the pieces of a message as texts: words, calls with their arguments, results, each with its call's id."""
    found: list[str] = []
    for piece in message.pieces:
        if isinstance(piece, Words):
            found.append(f"{message.role} says {piece.text}")
        elif isinstance(piece, ToolCall):
            found.append(f"{piece.id} calls {piece.name} with {json.dumps(json.loads(piece.arguments))}")
        elif isinstance(piece, ToolResult):
            found.append(f"{piece.call_id} gave {' '.join(str(one) for one in piece.said)}")
    return found
