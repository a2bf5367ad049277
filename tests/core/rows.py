"""Stored messages and parts with round costs, for tests of what only reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.messages import Category, Cost, Kind, Part, StoredMessage
from squidbot.core.view.renderer import Renderer

from .promises.driver import CLASSES, CODEC, assistant, message, result

if TYPE_CHECKING:
    from squidbot.core.messages import Message, Role

RENDERER = Renderer(CLASSES, {CODEC.tag: CODEC})


def row(
    seq: int,
    role: Role = "user",
    *,
    calls: tuple[str, ...] = (),
    answers: str | None = None,
    tokens: int = 10,
    time: float | None = None,
    turn: int = 0,
    text: str = "text",
) -> StoredMessage:
    """Return the stored message at a seq; `answers` names the call that it answers, `tokens` is both its costs."""
    said: Message = message(role, text)
    if answers is not None:
        said = result(answers, text)
    elif calls:
        said = assistant(text, *((call, "read", "{}") for call in calls))
    cost = Cost(tokens, tokens)
    return StoredMessage(
        seq=seq,
        turn=turn,
        role=said.role,
        category=Category.DIALOG,
        codec=CODEC.tag,
        payload=said.payload,
        call_ids=calls,
        result_ids=said.results,
        cost=cost,
        sent_cost=cost,
        counter=CLASSES.name,
        time=time,
    )


def part(role: Role, kind: Kind = Kind.MESSAGE, seq: int = 0, **fields: tuple[str, ...]) -> Part:
    """Return a part of 10 tokens."""
    return Part(kind, role, Cost(10, 10), seq, seq, payload="{}", codec=CODEC.tag, **fields)  # type: ignore[arg-type]
