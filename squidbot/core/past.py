"""What a session remembers of its newest answered request, so that any process goes on where another one stopped."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.counting.tokens import Calibration
from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Cost, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Part, StoredMessage, Usage
    from squidbot.core.plan import Section

__all__ = ["REQUEST", "SEALED_PARTS", "Past", "digest", "seal"]

REQUEST = "request"
NOTHING = Cost(0, 0)
# How many of a request's last parts are compared with the next one's: only the newest atom is ever rendered anew, and
# an atom with more parts than this has its first ones fixed by what follows them.
SEALED_PARTS = 8
# What a record leaves out where it is so: there is one for each request, and most of them have most of these.
UNSAID: Mapping[str, object] = {
    "system": "",
    "tools": "",
    "told": (),
    "plan": -1,
    "messages": -1,
    "lease": "",
    "pressed": False,
    "rungs": (),
    "noticed": False,
    "calibration": Calibration().to_json(),
    "skipped": 0,
    "rests_until": None,
    "usage": None,
}


class Past(NamedTuple):
    """What is carried from one request to the next.

    Attributes:
        number: how many requests have been recorded before this one.
        cost: of the request, as counted; outside: what system text, tools and head cost of it.
        system, tools: hashes of the host's system text and tools; "" for none.
        told: (name, hash) of the head's sections as the model was last told.
        plan_id: the plan it was made under; -1 for none.
        parts, seal: how many parts it had, and a hash of the last of them.
        messages: how many messages of the transcript it ended with; -1 where what came with it was not recorded as it
            was sent, or not behind the same messages.
        lease_id, limit: the lease that it was made under, and what it might have cost.
        pressed: whether history had reached the mark at which a snapshot is made unasked.
        rungs: the rungs of the ladder that it had reached; noticed: whether the model has been told since the first of
            them was.
        calibration: what reported usage has taught.
        skipped: events in a row that would have saved too little; rests_until: compaction rests until then, in
            seconds since 1970; None where it does not.
    """

    number: int = -1
    cost: Cost = NOTHING
    outside: Cost = NOTHING
    system: str = ""
    tools: str = ""
    told: tuple[tuple[str, str], ...] = ()
    plan_id: int = -1
    parts: int = 0
    seal: str = ""
    messages: int = -1
    lease_id: str = ""
    limit: Cost = NOTHING
    pressed: bool = False
    rungs: tuple[str, ...] = ()
    noticed: bool = False
    calibration: Calibration = Calibration()
    skipped: int = 0
    rests_until: float | None = None

    @property
    def known(self) -> bool:
        """Whether there has been a request at all."""
        return self.number >= 0

    def broken_by(self, parts: Sequence[Part], plan_id: int) -> bool:
        """Return whether a request under the same plan does not extend this one."""
        if not self.known or plan_id != self.plan_id:
            return False
        return len(parts) < self.parts or seal(parts[: self.parts]) != self.seal

    def recorded(self, sent: Sequence[StoredMessage], rows: Sequence[StoredMessage]) -> Past:
        """Return the past whose request can be rebuilt only if `rows` begin with what came with it, as it was sent."""
        if len(rows) >= len(sent) and all(map(_is_as_sent, sent, rows)):
            return self
        return self._replace(messages=-1)

    def told_of(self, sections: Sequence[Section]) -> Past:
        """Return the past in which the model has been told these sections; of memory's own it is told no change."""
        told = [one for one in sections if not one.is_remembered]
        return self._replace(told=tuple((section.name, digest(section.text)) for section in told))

    def news(self, sections: Sequence[Section]) -> str | None:
        """Return the text that tells what of the head differs from what the model was told; None for nothing (D3)."""
        told = dict(self.told)
        changed = [section for section in sections if told.pop(section.name, None) != digest(section.text)]
        lines = [f"[{section.name} is now:]\n{section.text}" for section in changed]
        lines.extend(f"[{name} no longer holds]" for name in told)
        return "\n".join(lines) or None

    def record(self, usage: Usage | None) -> Record:
        """Return the record of the request, with what its provider reported."""
        body: dict[str, object] = {
            "cost": self.cost,
            "outside": self.outside,
            "system": self.system,
            "tools": self.tools,
            "told": self.told,
            "plan": self.plan_id,
            "parts": self.parts,
            "seal": self.seal,
            "messages": self.messages,
            "lease": self.lease_id,
            "limit": self.limit,
            "pressed": self.pressed,
            "rungs": self.rungs,
            "noticed": self.noticed,
            "calibration": self.calibration.to_json(),
            "skipped": self.skipped,
            "rests_until": self.rests_until,
            "usage": [usage.input_tokens, usage.output_tokens, usage.cached_tokens] if usage else None,
        }
        said = {name: value for name, value in body.items() if name not in UNSAID or value != UNSAID[name]}
        return Record(REQUEST, self.number, json.dumps(said, separators=(",", ":")))

    @classmethod
    def of(cls, record: Record) -> Past:
        """Return the past that `record` wrote.

        Raises:
            DamagedStoreError: the record can't be read.
        """
        try:
            body = {**UNSAID, **json.loads(record.body)}
            return cls(
                number=record.number,
                cost=Cost(*body["cost"]),
                outside=Cost(*body["outside"]),
                system=body["system"],
                tools=body["tools"],
                told=tuple((name, text) for name, text in body["told"]),
                plan_id=body["plan"],
                parts=body["parts"],
                seal=body["seal"],
                messages=body["messages"],
                lease_id=body["lease"],
                limit=Cost(*body["limit"]),
                pressed=body["pressed"],
                rungs=tuple(str(rung) for rung in body["rungs"]),
                noticed=body["noticed"],
                calibration=Calibration.from_json(body["calibration"]),
                skipped=body["skipped"],
                rests_until=body["rests_until"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedStoreError(f"request {record.number} can't be read: {error}") from error


def _is_as_sent(sent: StoredMessage, row: StoredMessage) -> bool:
    if sent is row:
        return True
    return replace(sent, time=row.time, category=row.category, turn=row.turn) == row


def seal(parts: Sequence[Part]) -> str:
    """Return a hash of the last parts of a request: of what is sent, by reference where the transcript holds it."""
    kept = [
        [part.kind, part.role, part.first_seq, part.text, part.arguments, part.notice, part.call_ids, part.result_ids]
        for part in parts[-SEALED_PARTS:]
    ]
    return digest(json.dumps(kept))


def digest(text: str) -> str:
    """Return a short hash of a text; "" for an empty one."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16] if text else ""
