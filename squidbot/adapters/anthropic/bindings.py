"""Which reasoning is stale: what stood before it when it was made, and what stands there now.

Newer models sign reasoning together with its prefix: tools, system, the messages and the reasoning before it. Where a
plan changes the past within a tool loop, reasoning has to come back all the same, and is refused unless the request
says what becomes of it (Anthropic's documentation, preserved thinking).
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Bindings"]

# A signature and two digests each; a plan that reaches further back has left their reasoning out.
_MOST_KNOWN: Final = 4_096
_SIGNED: Final = {"thinking": "signature", "redacted_thinking": "data"}

Json = dict[str, object]


class _Bound(NamedTuple):
    """What stood before a block of reasoning: everything else, as a digest, and the reasoning before it, or ""."""

    prefix: bytes
    after: bytes


class Bindings:
    """The reasoning that one model has made here, and before which words. Threads may share it."""

    def __init__(self) -> None:
        """Nothing is known yet; what another process was answered never is."""
        self._known: dict[bytes, _Bound] = {}
        self._lock = threading.Lock()

    def learn(self, request: Mapping[str, object], answer: Mapping[str, object]) -> None:
        """Keep before which words the reasoning of an answer was made."""
        content = answer.get("content")
        if not isinstance(content, list) or not any(_signature(block) for block in content):
            return
        said = {**request, "messages": [*_listed(request.get("messages")), {"role": "assistant", "content": content}]}
        made = {_signature(block) for block in content}
        with self._lock:
            self._known.update({key: bound for key, bound in _bound(said) if key in made})
            while len(self._known) > _MOST_KNOWN:
                self._known.pop(next(iter(self._known)))

    def has_stale(self, request: Mapping[str, object]) -> bool:
        """Return whether a request brings reasoning back behind other words than it was made."""
        with self._lock:
            known = dict(self._known)
        if not known:
            return False
        for key, now in _bound(request):
            then = known.get(key, now)
            if now.prefix != then.prefix or (now.after and now.after != then.after):
                return True
        return False


def _bound(request: Mapping[str, object]) -> Iterator[tuple[bytes, _Bound]]:
    """Yield each piece of reasoning, as a digest, with what stands before it, in order."""
    prefix, after = hashlib.sha256(), b""
    for part in ("tools", "system"):
        for block in _blocks(request.get(part)):
            prefix.update(_canonical(part, block))
    for message in _listed(request.get("messages")):
        for block in _blocks(message.get("content")):
            if key := _signature(block):
                yield key, _Bound(prefix.digest(), after)
                after = key
            else:
                prefix.update(_canonical(str(message.get("role")), block))


def _signature(block: object) -> bytes:
    """Return a digest of a block's signature; nothing for what is no reasoning."""
    if not isinstance(block, dict) or block.get("type") not in _SIGNED:
        return b""
    return hashlib.sha256(str(block.get(_SIGNED[block["type"]])).encode("utf-8", "surrogatepass")).digest()


def _canonical(role: str, block: Mapping[str, object]) -> bytes:
    """Return a block as bytes; where the cache ends is no part of what is said."""
    said = {key: value for key, value in block.items() if key != "cache_control"}
    return json.dumps([role, said], sort_keys=True).encode()


def _blocks(content: object) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else _listed(content)


def _listed(content: object) -> list[Json]:
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
