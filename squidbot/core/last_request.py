"""A session's newest answered request, stored so that any process can continue where another one stopped."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import lru_cache
from operator import is_
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget import Reserve
from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Cost, Record, Usage
from squidbot.core.tokens.calibration import UsageCalibration
from squidbot.core.transcript.records import RecordKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import ContextWindow, Part, StoredMessage
    from squidbot.core.plan import PlanRecord, Section
    from squidbot.core.tokens.calibration import RequestGrowth

REQUEST = "request"
NOTHING = Cost(0, 0)
NO_MODE = "no mode"
# How many of a request's last parts are compared with the next one's: only the newest step is ever rendered again, and
# if it has more parts than this, the later ones fix the first ones.
SEALED_PARTS = 8
# Not stored by name: the record has the number, bills have their own form, the others are for the next request.
_UNSTORED = frozenset({"number", "added", "sent", "bills"})


class Mode(NamedTuple):
    """The mode of a call: its name, "" for none; whether somebody chose it for the session; its turns' label.

    Only a call that opens a turn can change the mode.
    """

    name: str = ""
    chosen: bool = False
    label: str = ""


class LastRequest(NamedTuple):
    """What one request passes on to the next.

    Attributes:
        number: how many records of requests precede this one; again: how many of these and this one only repeat a
            request to add its usage report.
        cost: of the request, as counted; outside: the share of system text, tools and head in it.
        system, tools: hashes of the host's system text and tools; "" for none.
        told: (name, hash) of the head's sections as last sent to the model.
        plan_id: the plan it was made under; -1 for none.
        parts, seal: how many parts it had, and a hash of the last of them.
        messages: how many messages of the transcript it ended with; -1 if its own messages were not recorded as
            sent, or not behind the same messages.
        window_id, limit: the window that it was made under, and the most that it could have cost.
        pressed: whether history had reached the mark for an automatic snapshot.
        rungs: the rungs of the ladder that it had reached; noticed: whether the model has had a notice since the
            first of them.
        bills: the calibration by reported usage.
        certified, certificate: the most that the request costs, in tokens, and how that is known; 0 and "" if only
            the counter says it.
        skipped: compactions in a row that would have saved too little; rests_until: when compaction resumes, in
            seconds since 1970; `None` if it does not rest.
        mode: the mode of its system text, "" for none; mode_chosen: whether somebody chose it for the session;
            mode_told: the label of turns last sent to the model.
        reserve: the room for the answers of its turn; `None`: the window's.
        added: what it has behind the request before it; sent: its parts. Neither is stored: its own record needs
            the first, and this process's next request the second.
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
    def most_tokens(self) -> int:
        """The most tokens that the request costs, as far as known."""
        return self.certified or self.cost.bound

    @property
    def requests(self) -> int:
        """How many requests have been recorded, including this one."""
        return self.number + 1 - self.again

    @property
    def known(self) -> bool:
        """Whether there has been a request at all."""
        return self.number >= 0

    def is_before(self, plan: PlanRecord | None) -> bool:
        """Return whether a plan is newer than this, the newest recorded request: its call is being retried."""
        return plan is not None and plan.plan_id > self.plan_id

    def told_by(self, plan: PlanRecord | None) -> LastRequest:
        """Return the state for a call; if a plan was made or restored since, the model knows its head."""
        return self.told_of(plan.sections) if plan is not None and self.is_before(plan) else self

    def broken_by(self, parts: Sequence[Part], plan_id: int) -> bool:
        """Return whether a request under the same plan does not extend this one."""
        if not self.known or plan_id != self.plan_id:
            return False
        if len(parts) < self.parts:
            return True
        sealed = parts[max(0, self.parts - SEALED_PARTS) : self.parts]
        # If this process made both requests, they hold the same parts.
        is_same = len(self.sent) == self.parts and all(map(is_, sealed, self.sent[-SEALED_PARTS:]))
        return not is_same and seal(sealed) != self.seal

    def recorded(self, sent: Sequence[StoredMessage], rows: Sequence[StoredMessage]) -> LastRequest:
        """Return the state whose request can be rebuilt only if `rows` begin with its messages, as sent."""
        return self if begins_as_sent(rows, sent) else self._replace(messages=-1)

    def told_of(self, sections: Sequence[Section]) -> LastRequest:
        """Return the state after these sections were sent to the model; memory's own sections send no changes."""
        announced = [section for section in sections if not section.is_remembered]
        return self._replace(told=tuple((section.name, digest(section.text)) for section in announced))

    def news(self, sections: Sequence[Section]) -> str | None:
        """Return the text with the changes to the head since it was last sent; `None` without any."""
        if not sections and not self.told:
            return None
        announced = dict(self.told)
        changed = [section for section in sections if announced.pop(section.name, None) != digest(section.text)]
        lines = [f"[{section.name} is now:]\n{section.text}" for section in changed]
        lines.extend(f"[{name} was removed]" for name in announced)
        return "\n".join(lines) or None

    @property
    def mode_name(self) -> str:
        """The display name of its mode: "off" for none."""
        return self.mode or "off"

    @property
    def in_its_mode(self) -> Mode:
        """The mode of a call like the newest one."""
        return Mode(self.mode, self.mode_chosen, self.mode_told)

    def reserve_under(self, window: ContextWindow) -> Reserve | None:
        """Return the room for the answers of the newest request's turn; `None` if another window was in force."""
        return self.reserve if self.window_id == window.window_id else None

    def limit_under(self, window: ContextWindow) -> int:
        """Return the input limit that it was made under, in tokens; as counted if another window was in force."""
        if self.window_id != window.window_id:
            return self.limit.bound
        reserve = self.reserve_under(window)
        reserved_tokens = reserve.tokens if reserve else window.reserved_output_tokens
        return min(self.limit.bound, window.window_tokens - reserved_tokens)

    def labelled(self, mode: Mode) -> str | None:
        """Return the line that names the mode of earlier turns; `None` if the model knows it."""
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
        """Return the state that `record` wrote.

        Raises:
            DamagedStoreError: the record can't be read.
        """
        return REQUESTS.read(record)._replace(number=record.number)


_written = json.JSONEncoder(separators=(",", ":")).encode
# The default values, which a record leaves out; the cost of a request is always stored.
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


REQUESTS = RecordKind(REQUEST, _read, tuple, until=lambda request: request.messages)


def begins_as_sent(rows: Sequence[StoredMessage], sent: Sequence[StoredMessage]) -> bool:
    """Return whether messages begin with those that a request brought, as it sent them."""
    return len(rows) >= len(sent) and all(map(_is_as_sent, sent, rows))


def _is_as_sent(sent: StoredMessage, row: StoredMessage) -> bool:
    if sent is row:
        return True
    return replace(sent, time=row.time, category=row.category, turn=row.turn) == row


def tokens_used(records: Sequence[Record]) -> int | None:
    """Return the reported tokens of these requests, read and written; `None` if nothing was reported.

    Raises:
        DamagedStoreError: a record can't be read.
    """
    found = [sum(usage[:2]) for usage in map(usage_of, records) if usage]
    return sum(found) if found else None


def usage_of(record: Record) -> Usage | None:
    """Return what the provider reported for the request of a record; `None` for nothing.

    Raises:
        DamagedStoreError: the record can't be read.
    """
    try:
        reported = json.loads(record.body).get("usage")
        return Usage(*map(int, reported)) if reported else None
    except (ValueError, TypeError, AttributeError) as error:
        raise DamagedStoreError(f"cannot read request {record.number}: {error}") from error


def seal(parts: Sequence[Part]) -> str:
    """Return a hash of the last parts of a request, as sent; parts in the transcript by reference."""
    return _hashed("".join(map(_sealed, parts[-SEALED_PARTS:])))


# All parts of a request but the newest were sealed for the one before.
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
    # Most have no label, and older records lack one.
    return _hashed(json.dumps([*fields, part.label] if part.label else fields))


# A call hashes the same system text and tools, tens of kilobytes, several times.
@lru_cache(maxsize=16)
def digest(text: str) -> str:
    """Return a short hash of a text; "" for an empty one."""
    return _hashed(text) if text else ""


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
