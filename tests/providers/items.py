"""The rules of Responses items: calls and outputs, reasoning and what follows it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .openai_words import refusal
from .segments import digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .script import Json

_SECRET = b"known to this server alone"
_CALLS = {"function_call": "function call", "custom_tool_call": "custom tool call"}
_OUTPUTS = {"function_call_output": "function call output", "custom_tool_call_output": "custom tool call output"}
# What may stand behind reasoning: what the model itself made.
_MADE = (*_CALLS, "message", "reasoning", "web_search_call", "file_search_call", "code_interpreter_call", "mcp_call")


def kind_of(item: Json) -> str:
    """Return an item's type; a message may go without."""
    return str(item.get("type", "message"))


def check_pairs(items: Sequence[Json]) -> None:
    """Check that each call has an output behind it, and each output a call before it.

    Raises:
        Refusal: one has not.
    """
    calls: dict[object, str] = {}
    answered: set[object] = set()
    for item in items:
        if (kind := kind_of(item)) in _CALLS:
            calls[item["call_id"]] = _CALLS[kind]
        elif kind in _OUTPUTS:
            if item["call_id"] not in calls:
                message = f"No tool call found for {_OUTPUTS[kind]} with call_id {item['call_id']}."
                raise refusal(message, "input")
            answered.add(item["call_id"])
    for call, words in calls.items():
        if call not in answered:
            raise refusal(f"No tool output found for {words} {call}.", "input")


@dataclass
class Reasoning:
    """The reasoning that was issued: what stands behind it, and what it was made from."""

    followers: dict[str, str] = field(default_factory=dict)
    leaders: dict[str, str] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)

    def issue(self, before: Sequence[Json], instructions: str, output: Sequence[Json], *, store: bool) -> None:
        """Remember an answer's items, and encrypt their reasoning, which is bound to all that stood before."""
        prefix = prefix_of(before, instructions)
        for number, item in enumerate(output):
            if store:
                self.stored.add(str(item["id"]))
            behind = output[number + 1] if number + 1 < len(output) else None
            if item["type"] == "reasoning":
                item["encrypted_content"] = _sealed({"id": str(item["id"]), "prefix": prefix})
                if behind is not None:
                    self.followers[str(item["id"])] = str(behind["id"])
                    self.leaders[str(behind["id"])] = str(item["id"])
            else:
                prefix = digest(prefix, _comparable(item))

    def check(self, items: Sequence[Json], instructions: str, *, store: bool, binds: bool) -> list[Json]:
        """Check the reasoning among items, and return what was left out, as the provider reports it.

        Raises:
            Refusal: reasoning stands without the item behind it, an item without the reasoning before it, or the
                encrypted content is not what was issued, or is missing where nothing is stored.
        """
        dropped: list[Json] = []
        prefix = prefix_of((), instructions)
        for number, item in enumerate(items):
            before = items[number - 1] if number else {}
            behind = items[number + 1] if number + 1 < len(items) else {}
            if kind_of(item) != "reasoning":
                self._check_led(item, before)
                prefix = digest(prefix, _comparable(item))
                continue
            self._check_followed(item, behind)
            claim = self._opened(item, store=store)
            if binds and claim is not None and claim["prefix"] != prefix:
                dropped.append(
                    {"type": "reasoning", "action": "removed", "id": item["id"], "reason": "prefix_mismatch"}
                )
        return dropped

    def _check_followed(self, item: Json, behind: Json) -> None:
        wanted = self.followers.get(str(item["id"]))
        made = kind_of(behind) in _MADE and behind.get("role", "assistant") == "assistant" if behind else False
        if not made or (wanted is not None and behind.get("id", wanted) != wanted):
            raise refusal(
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.", "input"
            )

    def _check_led(self, item: Json, before: Json) -> None:
        wanted = self.leaders.get(str(item.get("id")))
        if wanted is not None and before.get("id") != wanted:
            raise refusal(
                f"Item '{item['id']}' of type '{kind_of(item)}' was provided without its required 'reasoning' item:"
                f" '{wanted}'.",
                "input",
            )

    def _opened(self, item: Json, *, store: bool) -> dict[str, str] | None:
        sealed = item.get("encrypted_content")
        if sealed is None:
            if not store or item["id"] not in self.stored:
                raise refusal(
                    f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false. Try"
                    " again with `store` set to true, or remove this item from your input.",
                    "input",
                    status=404,
                )
            return None
        claim = _opened(str(sealed))
        if claim is None or claim["id"] != item["id"]:
            raise refusal(
                "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or"
                " parsed.",
                code="invalid_encrypted_content",
            )
        return claim


def prefix_of(items: Sequence[Json], instructions: str) -> str:
    """Return the digest of what stands before reasoning, other reasoning left out."""
    found = digest("prefix", instructions)
    for item in items:
        if kind_of(item) != "reasoning":
            found = digest(found, _comparable(item))
    return found


def _comparable(item: Json) -> str:
    """Return an item as text, without ids, status and what is null: neither is part of what a model reads."""
    left_out = ("id", "status", "type")
    kept = sorted((key, value) for key, value in item.items() if key not in left_out and value is not None)
    return f"{kind_of(item)} {json.dumps(dict(kept))}"


def _sealed(claim: dict[str, str]) -> str:
    text = json.dumps(claim)
    mac = hmac.new(_SECRET, text.encode(), hashlib.sha256).hexdigest()[:32]
    return base64.b64encode(f"{mac}{text}".encode()).decode()


def _opened(sealed: str) -> dict[str, str] | None:
    try:
        raw = base64.b64decode(sealed, validate=True).decode()
        claim: dict[str, str] = json.loads(raw[32:])
    except (binascii.Error, ValueError):
        return None
    good = hmac.compare_digest(hmac.new(_SECRET, raw[32:].encode(), hashlib.sha256).hexdigest()[:32], raw[:32])
    return claim if good else None
