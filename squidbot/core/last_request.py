"""A session's newest answered request, stored so that any process continues where another one stopped."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget import Reserve
from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Cost, Record
from squidbot.core.tokens.calibration import UsageCalibration
from squidbot.core.transcript.records import RecordKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import ContextWindow, Part, StoredMessage, Usage
    from squidbot.core.plan import PlanRecord, Section
    from squidbot.core.tokens.calibration import RequestGrowth

__all__ = ["REQUEST", "REQUESTS", "SEALED_PARTS", "LastRequest", "Mode", "digest", "seal", "tokens_used"]

REQUEST = "request"
NOTHING = Cost(0, 0)
NO_MODE = "no mode"
# How many of a request's last parts are compared with the next one's: only the newest step is ever rendered again, and
# a step with more parts than this has its first ones fixed by what follows them.
SEALED_PARTS = 8
# Not stored by name: the number is the record's own, bills have a form of their own, the others are for the next one.
_UNSTORED = frozenset({"number", "added", "sent", "bills"})


class Mode(NamedTuple):
    """The mode of a call: its name, "" for none; whether somebody chose it for the session; its turns' label.

    Only a call that opens a turn is in another mode than the one before.
    """

    name: str = ""
    chosen: bool = False
    label: str = ""


class LastRequest(NamedTuple):
    """What is carried from one request to the next.

    Attributes:
        number: how many records of requests there are before this one; again: how many of these and this one only
            repeat a request with what was reported for it since.
        cost: of the request, as counted; outside: what system text, tools and head cost of it.
        system, tools: hashes of the host's system text and tools; "" for none.
        told: (name, hash) of the head's sections as the model was last told.
        plan_id: the plan it was made under; -1 for none.
        parts, seal: how many parts it had, and a hash of the last of them.
        messages: how many messages of the transcript it ended with; -1 if what came with it was not recorded as it
            was sent, or not behind the same messages.
        window_id, limit: the window that it was made under, and what it might have cost.
        pressed: whether history had reached the mark at which a snapshot is made unasked.
        rungs: the rungs of the ladder that it had reached; noticed: whether the model has been told since the first of
            them was.
        bills: what reported usage has taught.
        certified, certificate: what the request costs at most, in tokens, and how that is known; 0 and "" if by the
            counter alone.
        skipped: events in a row that would have saved too little; rests_until: compaction rests until then, in
            seconds since 1970; None if it does not.
        mode: the mode of its system text, "" for none; mode_chosen: whether somebody chose it for the session;
            mode_told: the label of turns that the model was told last.
        reserve: the room for the answers of its turn; None: the window's.
        added: what it has behind the request before it; sent: its parts. Neither is stored, since only its own record
            needs them.
    """

    number: int = -1
    again: int = 0
    cost: Cost = NOTHING
    outside: Cost = NOTHING
    system: str = ""
    tools: str = ""
    told: tuple[tuple[str, str], ...] = ()
    plan_id: int = -1
    parts: int = 0
    seal: str = ""
    messages: int = -1
    window_id: str = ""
    limit: Cost = NOTHING
    pressed: bool = False
    rungs: tuple[str, ...] = ()
    noticed: bool = False
    bills: UsageCalibration = UsageCalibration()
    certified: int = 0
    certificate: str = ""
    skipped: int = 0
    rests_until: float | None = None
    mode: str = ""
    mode_chosen: bool = False
    mode_told: str = ""
    reserve: Reserve | None = None
    added: RequestGrowth | None = None
    sent: tuple[Part, ...] = ()

    @property
    def requests(self) -> int:
        """How many requests have been recorded, this one among them."""
        return self.number + 1 - self.again

    @property
    def known(self) -> bool:
        """Whether there has been a request at all."""
        return self.number >= 0

    def is_before(self, plan: PlanRecord | None) -> bool:
        """Return whether a plan is younger than this, the newest recorded request: its call is tried again."""
        return plan is not None and plan.plan_id > self.plan_id

    def told_by(self, plan: PlanRecord | None) -> LastRequest:
        """Return the past of a call; where a plan was made or brought back since, the model knows its head."""
        return self.told_of(plan.sections) if plan is not None and self.is_before(plan) else self

    def broken_by(self, parts: Sequence[Part], plan_id: int) -> bool:
        """Return whether a request under the same plan does not extend this one."""
        if not self.known or plan_id != self.plan_id:
            return False
        return len(parts) < self.parts or seal(parts[: self.parts]) != self.seal

    def recorded(self, sent: Sequence[StoredMessage], rows: Sequence[StoredMessage]) -> LastRequest:
        """Return the past whose request can be rebuilt only if `rows` begin with what came with it, as it was sent."""
        if len(rows) >= len(sent) and all(map(_is_as_sent, sent, rows)):
            return self
        return self._replace(messages=-1)

    def told_of(self, sections: Sequence[Section]) -> LastRequest:
        """Return the past in which the model has been told these sections; of memory's own it is told no change."""
        announced = [section for section in sections if not section.is_remembered]
        return self._replace(told=tuple((section.name, digest(section.text)) for section in announced))

    def news(self, sections: Sequence[Section]) -> str | None:
        """Return the text that tells what of the head differs from what the model was told; None for nothing."""
        if not sections and not self.told:
            return None
        announced = dict(self.told)
        changed = [section for section in sections if announced.pop(section.name, None) != digest(section.text)]
        lines = [f"[{section.name} is now:]\n{section.text}" for section in changed]
        lines.extend(f"[{name} was removed]" for name in announced)
        return "\n".join(lines) or None

    @property
    def mode_name(self) -> str:
        """The name of its mode as people know it: "off" for none."""
        return self.mode or "off"

    @property
    def in_its_mode(self) -> Mode:
        """The mode of a call like the newest one."""
        return Mode(self.mode, self.mode_chosen, self.mode_told)

    def reserve_under(self, window: ContextWindow) -> Reserve | None:
        """Return the room for the answers of the newest request's turn; None if it was made under another window."""
        return self.reserve if self.window_id == window.window_id else None

    def labelled(self, mode: Mode) -> str | None:
        """Return the line that tells in which mode earlier turns were said; None if the model knows it."""
        if not self.known or self.mode_told == mode.label:
            return None
        return f"[from here on: {mode.label or NO_MODE}; before this: {self.mode_told or NO_MODE}]"

    def record(self, usage: Usage | None) -> Record:
        """Return the record of the request, with what its provider reported."""
        fields = zip(self._fields, _USUAL, self, strict=True)
        body: dict[str, object] = {
            name: value for name, usual, value in fields if value != usual and name not in _UNSTORED
        }
        if self.bills.reports:
            body["bills"] = self.bills.to_json()
        if usage:
            body["usage"] = [usage.input_tokens, usage.output_tokens, usage.cached_tokens]
        return Record(REQUEST, self.number, _written(body))

    @classmethod
    def of(cls, record: Record) -> LastRequest:
        """Return the past that `record` wrote.

        Raises:
            DamagedStoreError: the record can't be read.
        """
        return REQUESTS.read(record)._replace(number=record.number)


_written = json.JSONEncoder(separators=(",", ":")).encode
# The values that a record leaves out; what a request costs is always there.
_USUAL = tuple({**LastRequest._field_defaults, "cost": None}.values())


def _read(text: str) -> LastRequest:
    """Return the request of a JSON text, which leaves out default values."""
    body = json.loads(text)
    known = {name: value for name, value in body.items() if name in LastRequest._field_defaults}
    sections = tuple((str(name), str(text)) for name, text in body.get("told", ()))
    fields = {
        "cost": Cost(*body["cost"]),
        "outside": Cost(*body.get("outside", NOTHING)),
        "limit": Cost(*body.get("limit", NOTHING)),
        "told": sections,
        "rungs": tuple(map(str, body.get("rungs", ()))),
        "bills": UsageCalibration.from_json(body.get("bills", [])),
        "reserve": Reserve(*body["reserve"]) if "reserve" in body else None,
    }
    return LastRequest(**{**known, **fields})


REQUESTS = RecordKind(REQUEST, _read, tuple)


def _is_as_sent(sent: StoredMessage, row: StoredMessage) -> bool:
    if sent is row:
        return True
    return replace(sent, time=row.time, category=row.category, turn=row.turn) == row


def tokens_used(records: Sequence[Record]) -> int | None:
    """Return what the providers reported for these requests, read and written, in tokens; None if none did.

    Raises:
        DamagedStoreError: a record can't be read.
    """
    found: list[int] = []
    for record in records:
        try:
            usage = json.loads(record.body).get("usage")
            found += [usage[0] + usage[1]] if usage else []
        except (ValueError, TypeError, AttributeError, IndexError) as error:
            raise DamagedStoreError(f"cannot read request {record.number}: {error}") from error
    return sum(found) if found else None


def seal(parts: Sequence[Part]) -> str:
    """Return a hash of the last parts of a request: of what is sent, by reference where the transcript holds it."""
    return _hashed("".join(map(_sealed, parts[-SEALED_PARTS:])))


# Of the parts of a request all but the newest were sealed for the one before.
@lru_cache(maxsize=64)
def _sealed(part: Part) -> str:
    fields: list[object] = [
        part.kind,
        part.role,
        part.first_seq,
        part.text,
        part.arguments,
        part.notice,
        part.call_ids,
        part.result_ids,
    ]
    # Most have no label, and older records know of none.
    return _hashed(json.dumps([*fields, part.label] if part.label else fields))


# A call hashes the same system text and tools, tens of kilobytes, several times.
@lru_cache(maxsize=16)
def digest(text: str) -> str:
    """Return a short hash of a text; "" for an empty one."""
    return _hashed(text) if text else ""


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
