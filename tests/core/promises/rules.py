"""The rules of a request, checked on what is really sent; written apart from the code that keeps them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from squidbot.core.messages import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Part, StoredMessage
    from squidbot.core.view.assembly import CoreAssembly

    from .driver import Call


def sent(assembly: CoreAssembly) -> list[dict[str, object]]:
    """Return the messages of a request as a provider reads them."""
    return [json.loads(payload) for payload in assembly.payloads]


def rendered(one: dict[str, object]) -> str:
    """Return what a model reads of a message: its text, then its tool calls."""
    content = one.get("content") or ""
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)  # type: ignore[attr-defined]
    calls: list[dict[str, dict[str, str]]] = one.get("tool_calls") or []  # type: ignore[assignment]
    return text + "".join(f"\n{call['function']['name']} {call['function']['arguments']}" for call in calls)


def pairs_broken(messages: Sequence[dict[str, object]]) -> str | None:
    """Return what breaks the pairs of calls and results, or None: every call is answered once, directly behind it."""
    waiting: set[object] = set()
    for place, one in enumerate(messages):
        if one["role"] == "tool":
            if one["tool_call_id"] not in waiting:
                return f"message {place} is a result without its call"
            waiting.remove(one["tool_call_id"])
            continue
        if waiting:
            return f"message {place} stands before the results of {waiting}"
        waiting = {call["id"] for call in one.get("tool_calls") or []}  # type: ignore[attr-defined]
    return f"the results of {waiting} are missing" if waiting else None


def is_said(part: Part) -> bool:
    """Return whether a part is one message of the transcript, as it was said or cut."""
    return part.kind in {Kind.SYSTEM, Kind.MESSAGE, Kind.SLIMMED} and part.first_seq >= 0


def transcript_of(call: Call) -> tuple[StoredMessage, ...]:
    """Return the transcript that a call's request stands for: what is stored, and what came with the call."""
    return (*call.before.messages, *call.request.incoming)


def breaks_at(old: CoreAssembly, new: CoreAssembly) -> int | None:
    """Return the place of the first message that differs from the request before, or None where that is a prefix."""
    if new.payloads[: len(old.payloads)] == old.payloads and new.parts[: len(old.parts)] == old.parts:
        return None
    pairs = enumerate(zip(old.payloads, new.payloads, old.parts, new.parts, strict=False))
    different = (place for place, (a, b, c, d) in pairs if a != b or c != d)
    return next(different, min(len(old.parts), len(new.parts)))
