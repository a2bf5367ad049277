"""Signed thinking: who may read it, what it is bound to, and that nobody touches it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .segments import THINKING, blocks_of, canonical, digest
from .turns import Broken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .script import Json
    from .turns import Turn

_SECRET = b"known to this server alone"


@dataclass
class Signatures:
    """The thinking that was issued, by the calls that came with it: an open tool loop has to bring it back."""

    issued: dict[str, list[Json]] = field(default_factory=dict)

    def sign(self, body: Json, model: str, blocks: Sequence[Json], last: str) -> None:
        """Sign the thinking in an answer to a request: its `signature`, or its `data`, is filled in.

        `last` is the thinking block before it, as `check` found it.
        """
        prefix = _Prefix(body)
        for number, block in enumerate(blocks):
            if block["type"] in THINKING:
                name, text = _parts(block)
                identifier = digest(prefix.digest, str(number), str(text))
                claim = {"model": model, "prefix": prefix.digest, "after": last, "id": identifier, "text": digest(text)}
                block[name] = _sealed(claim, text if name == "data" else "")
                last = identifier
            else:
                prefix.add("assistant", block)
        kept = [dict(block) for block in blocks if block["type"] in THINKING]
        self.issued.update({str(block["id"]): kept for block in blocks if block["type"] == "tool_use"})

    def check(self, body: Json, model: str, turns: Sequence[Turn], *, binds: bool) -> tuple[list[Json], str]:
        """Check the thinking in a request; return what was left out, as the provider reports it, and the last kept id.

        Raises:
            Broken: some of it was touched, or stands behind other words than when it was made.
        """
        self._check_open_loop(body, turns)
        checked = _Checked(body, model, binds)
        messages = body["messages"]
        assert isinstance(messages, list)
        for number, message in enumerate(messages):
            blocks = blocks_of(message["content"])
            for place, block in enumerate(blocks):
                checked.take(str(message["role"]), block, f"messages.{number}.content.{place}")
        return checked.dropped, checked.last

    def _check_open_loop(self, body: Json, turns: Sequence[Turn]) -> None:
        if len(turns) < 2 or turns[-1].blocks[0].block["type"] != "tool_result":
            return
        step = turns[-2]
        config = body.get("thinking")
        manual = isinstance(config, dict) and config.get("type") == "enabled"
        first = step.blocks[0]
        if manual and first.block["type"] not in THINKING:
            raise Broken(
                f"messages.{first.message}.content.0.type: Expected `thinking` or `redacted_thinking`, but found"
                f" `{first.block['type']}`. When `thinking` is enabled, a final `assistant` message must start with a"
                " thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
            )
        calls = [str(placed.block["id"]) for placed in step.blocks if placed.block["type"] == "tool_use"]
        sent = [placed for placed in step.blocks if placed.block["type"] in THINKING]
        issued = next((self.issued[call] for call in calls if call in self.issued), None)
        if sent and issued is not None and [placed.block for placed in sent] != issued:
            raise Broken(
                f"messages.{sent[0].message}.content.{sent[0].place}: `thinking` or `redacted_thinking` blocks in the"
                " latest assistant message cannot be modified. These blocks must remain as they were in the original"
                " response."
            )


class _Prefix:
    """What stands before a block, thinking left out: its neighbours are checked by name."""

    def __init__(self, body: Json | None = None, *, whole: bool = True) -> None:
        self.digest = digest("prefix")
        if body is None:
            return
        tools, messages = body.get("tools", []), body["messages"]
        assert isinstance(tools, list)
        assert isinstance(messages, list)
        for tool in tools:
            self.add("tools", tool)
        for block in blocks_of(body.get("system", [])):
            self.add("system", block)
        for message in messages if whole else ():
            for block in blocks_of(message["content"]):
                self.add(message["role"], block)

    def add(self, role: str, block: Json) -> None:
        """Let a block pass."""
        if block.get("type") not in THINKING:
            self.digest = digest(self.digest, role, canonical(block))


@dataclass
class _Checked:
    """The thinking of one request, looked at in order."""

    body: Json
    model: str
    binds: bool
    dropped: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._prefix = _Prefix(self.body, whole=False)
        self.last = ""

    def take(self, role: str, block: Json, path: str) -> None:
        """Look at the next block."""
        if block["type"] not in THINKING:
            self._prefix.add(role, block)
            return
        name, _ = _parts(block)
        claim = _opened(block)
        if claim is None:
            raise Broken(f"{path}: Invalid `{name}` in `{block['type']}` block")
        if claim["model"] != self.model:
            self._drop(path, "model_binding_mismatch")
            return
        moved = self.last and claim["after"] != self.last
        if self.binds and (moved or claim["prefix"] != self._prefix.digest):
            if _behavior(self.body) != "drop_block":
                raise Broken(
                    f"{path}: Invalid `{name}` in `{block['type']}` block. The block is bound to a different"
                    " conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to"
                    ' "drop_block".'
                )
            self._drop(path, "prefix_binding_mismatch")
            return
        self.last = claim["id"]

    def _drop(self, path: str, reason: str) -> None:
        self.dropped.append({"type": "thinking_dropped", "path": path, "reason": reason})


def _behavior(body: Json) -> object:
    config = body.get("thinking")
    binding = config.get("block_binding") if isinstance(config, dict) else None
    return binding.get("prefix_mismatch_behavior") if isinstance(binding, dict) else None


def _parts(block: Json) -> tuple[str, str]:
    """Return the name of the field that holds the signature, and the text that is signed."""
    return ("signature", str(block["thinking"])) if block["type"] == "thinking" else ("data", str(block["data"]))


def _sealed(claim: dict[str, str], hidden: str) -> str:
    text = json.dumps({**claim, "hidden": hidden})
    mac = hmac.new(_SECRET, text.encode(), hashlib.sha256).hexdigest()[:32]
    return base64.b64encode(f"{mac}{text}".encode()).decode()


def _opened(block: Json) -> dict[str, str] | None:
    """Return what a block's signature says; None where it, or what it signs, was touched."""
    name, text = _parts(block)
    try:
        raw = base64.b64decode(str(block[name]), validate=True).decode()
        claim: dict[str, str] = json.loads(raw[32:])
    except (binascii.Error, ValueError):
        return None
    good = hmac.compare_digest(hmac.new(_SECRET, raw[32:].encode(), hashlib.sha256).hexdigest()[:32], raw[:32])
    signed = claim["hidden"] if name == "data" else text
    return claim if good and claim["text"] == digest(signed) else None
