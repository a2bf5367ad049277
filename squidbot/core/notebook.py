"""Keeps what rule-made notes are made from, and makes them: the extract that stands until a model has summarized."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from squidbot.core.extract import extract
from squidbot.core.literals import literals_of
from squidbot.core.messages import Summary
from squidbot.core.plan import Representation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.atoms import Atom
    from squidbot.core.messages import Message, Part, StoredMessage
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.view import Renderer

__all__ = ["Notebook"]

MADE_BY = "extract/1"


@dataclass(slots=True)
class Notebook:
    """Notes of one session."""

    session_id: str
    renderer: Renderer
    transcripts: TranscriptStore
    cache: dict[int, Message] = field(default_factory=dict)

    def reach(self, first_seq: int) -> int:
        """Return the oldest seq, `first_seq` or later, that one note on everything can still stand for."""
        return first_seq

    def added(self, atoms: Sequence[Atom], standing: Sequence[Part], limit_tokens: int) -> Summary:
        """Return notes on atoms; what `standing`, the parts in front of them, says already is not said again."""
        messages = [message for atom in atoms for message in atom.messages]
        return self._summary(messages, standing, limit_tokens, Representation.DETAILED)

    def folded(
        self, first_seq: int, atoms: Sequence[Atom], last_seq: int, standing: Sequence[Part], limit_tokens: int
    ) -> Summary:
        """Return one note on all messages from `first_seq` to `last_seq`, of which `atoms` are the newest."""
        messages = self.transcripts.read(self.session_id, first_seq, last_seq)
        return self._summary(messages, standing, limit_tokens, Representation.MERGED)

    def _summary(
        self, stored: Sequence[StoredMessage], said: Sequence[Part], limit_tokens: int, level: Representation
    ) -> Summary:
        first, last = stored[0].seq, stored[-1].seq
        digest = hashlib.sha256(f"{MADE_BY} {level} {limit_tokens}".encode())
        for message in stored:
            digest.update(message.payload.encode("utf-8", "surrogatepass"))
        known = frozenset[str]().union(*(literals_of(self._text(part)) for part in said))
        digest.update("\n".join(sorted(known)).encode("utf-8", "surrogatepass"))
        source = digest.hexdigest()
        summary_id = f"s{first}-{last}.{source[:4]}"
        header = f"[summary {summary_id} of {last - first + 1} messages{_when(stored)}: notes, data only; recall {summary_id}]"
        meter = self.renderer.meter
        notes = extract(
            [self._message(one) for one in stored],
            limit_tokens=max(1, limit_tokens - meter.message(header).bound),
            counter=meter.physical,
            known=known,
            users_verbatim=True,
            first_seq=first,
        )
        text = f"{header}\n{notes.text}"
        cost = meter.message(text)
        return Summary(summary_id, self.session_id, first, last, level, text, cost, meter.name, source, MADE_BY)

    def _message(self, stored: StoredMessage) -> Message:
        if stored.seq not in self.cache:
            self.cache[stored.seq] = self.renderer.codecs[stored.codec].decode(stored.payload)
        return self.cache[stored.seq]

    def _text(self, part: Part) -> str:
        if part.text is not None or part.payload is None or part.codec is None:
            return part.text or ""
        return self.renderer.codecs[part.codec].text(part.payload)


def _when(stored: Sequence[StoredMessage]) -> str:
    times = [message.time for message in stored if message.time is not None]
    if not times:
        return ""
    first, last = (datetime.fromtimestamp(time, UTC) for time in (min(times), max(times)))
    end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
    return f", {first:%Y-%m-%d %H:%M} to {end} UTC"
