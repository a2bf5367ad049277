"""A conversation that a host leads: what it has said so far is recorded, and what its model is to see comes back."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.codecs.fields import adopted, as_object
from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.messages import Kind
from squidbot.core.portable import Outcome, Portable, Words
from squidbot.hosting.listing import Made, Recorded
from squidbot.hosting.matching import first_new, first_unknown, identity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from squidbot.core.messages import Message, Part, Role, Usage
    from squidbot.core.ports import Codec
    from squidbot.sessions import Assembly, Session

__all__ = ["Conversation", "Form"]

# What stands for the result of a call that a host broke off.
CANCELLED: Final = "cancelled: it was not run to its end"
# How often a window is cut for a request to become shorter: it may have been well below what the window held.
MOST_CUTS: Final = 3

if TYPE_CHECKING:
    Payload = Mapping[str, object]


class Form(NamedTuple):
    """How a host writes its messages.

    Attributes:
        codec: reads and makes them.
        telling: gives what of a message tells it from another.
        volatile: keys inside of that which a host writes anew each time: times, made up ids.
        is_whole: the host lists all that it knows of a conversation each time.
        read: makes a message for the host, or a list of them, of a payload that is sent.
    """

    codec: Codec
    telling: Callable[[Payload], object]
    volatile: Collection[str] = ()
    is_whole: bool = False
    read: Callable[[str], object] = json.loads

    def identity(self, payload: Payload) -> str:
        """Return what tells a message from others with other words."""
        return identity(self.telling(payload), self.volatile)


class Conversation:
    """One session of a host. Threads may share it: calls of one conversation follow each other."""

    def __init__(self, session: Session, form: Form) -> None:
        """Take the session, which is in the host's form; nothing is read or written yet."""
        self.session = session
        self._form = form
        # Tools reach the session itself: between its calls of one turn none of theirs may come.
        self._lock = session.lock
        self._known = Recorded(self._names)
        self._given: tuple[str, list[Mapping[str, object]]] = "", []
        # The newest request; None where none was made since the last reply.
        self._newest: Assembly | None = None
        # Whether every call that was recorded has its result, as far as is known.
        self._is_settled = False

    def before(
        self, listed: Sequence[Payload], *, system: str = "", tools: Sequence[Mapping[str, object]] = ()
    ) -> list[dict[str, object]]:
        """Record what is new in a host's list, durably, and return what its model is to see of the conversation.

        `listed` is what the host would send, oldest first, without the system text: all, the end, or what was said
        since; of a long list whose members are made when asked for, `listing.Made`, few are. `system` and `tools` are
        what it sends beside it. What is returned goes before the model is called; the reply goes to `after`.

        Raises:
            BudgetError: nothing makes the request fit; what was new is recorded.
            ValueError: a message is not of the host's form.
            StoreError: the store failed.
        """
        with self._lock:
            self._newest = None
            self._grow()
            names = Made(len(listed), lambda place: self._form.identity(listed[place]))
            place = self._first_new(listed, names)
            said = [self._form.codec.to_message(each) for each in listed[place:]]
            behind = max((number for number, each in enumerate(said, 1) if each.role == "assistant"), default=0)
            self._settle(said)
            self._is_settled = False  # until all of it is recorded
            if behind:
                self._record(said[:behind], names[place : place + behind])
            self._given = system, list(tools)
            made = self._assembled(said[behind:])
            self._record(made.incoming, names[place + behind :])
            self._is_settled = not any(each.calls for each in said)
            return self._sent(made)

    def said(self, listed: Sequence[Payload]) -> None:
        """Record what is new in what a host lists, durably, with no request: for hosts that hand over what was said.

        Calls stay open until something else than their results is said: more of these may come.

        Raises:
            ValueError: a message is not of the host's form.
            StoreError: nothing was stored.
        """
        with self._lock:
            self._grow()
            names = [self._form.identity(each) for each in listed]
            place = self._first_new(listed, names)
            said = [self._form.codec.to_message(each) for each in listed[place:]]
            if any(each.role != "tool" for each in said):
                self._settle(said)
            self._is_settled = False
            self._record(said, names[place:])

    def after(self, reply: Payload, usage: Usage | None = None, further: Sequence[Payload] = ()) -> None:
        """Record a model's reply, durably; `usage` is what the provider reported, `further` messages that it is of.

        Nothing is done where `before` has made no request for it: the next one takes in what the host has.

        Raises:
            ValueError: it is not of the host's form.
            StoreError: nothing was stored.
        """
        with self._lock:
            if self._newest is None:
                return
            self._newest = None
            replies = (reply, *further)
            said = [*map(self._form.codec.to_message, replies)]
            self.session.record(*said, usage=usage)
            self._is_settled = not any(each.calls for each in said)
            self._known.add(map(self._form.identity, replies))

    def shorter(self) -> list[dict[str, object]] | None:
        """Return less for a request that was refused as too long; None where it can't be made smaller.

        Sessions with the model have a smaller window from then on.
        """
        with self._lock:
            before, newest = self.session, self._newest
            if newest is None:
                return None
            try:
                for _ in range(MOST_CUTS):
                    self.session = self.session.overflowed(None)
                    made = self._assembled([])
                    if made.report.cost.bound < newest.report.cost.bound:
                        return self._sent(made)
            except (BudgetError, ConfigError):
                pass
            # Nothing has come of it: what is said next has the window that it had.
            self.session = before
            return None

    def _grow(self) -> None:
        """Take in what other processes have recorded."""
        recorded = self.session.wired.store.head(self.session.session_id)[0]
        self._is_settled = self._is_settled and recorded == len(self._known)
        self._known.grow(recorded)

    def _first_new(self, listed: Sequence[Payload], names: Sequence[str]) -> int:
        if not self._form.is_whole:
            return first_new(names, self._known)
        place = first_unknown(names, self._known)
        if place < len(names) or not names or names[-1] == self._known[-1]:
            return place
        # Asked again behind an answer that was broken off: from the user's last word on, so that it is the end.
        backwards = range(len(listed) - 1, -1, -1)
        return next((each for each in backwards if self._form.codec.to_message(listed[each]).role == "user"), place)

    def _assembled(self, said: Sequence[Message]) -> Assembly:
        system, tools = self._given
        return self.session.assemble(*said, system=system, tools=tools)

    def _sent(self, made: Assembly) -> list[dict[str, object]]:
        self._newest = made
        read, own = self._form.read, self._given[0]
        first, gone = made.core.parts[0], _whole_gone(made.core.parts)
        if not own or first.kind is not Kind.SYSTEM or not (first.text or "").startswith(own):
            return made.read(read, without=gone)
        # The host sends its own system text; what stands behind it, the text of a mode, is ours.
        ours = (first.text or "")[len(own) :].strip()
        return [*([as_object(self._made("system", ours))] if ours else []), *made.read(read, without={0, *gone})]

    def _made(self, role: Role, text: str) -> str:
        return self._form.codec.adopt(Portable(role, (Words(text),)))

    def _record(self, said: Sequence[object], names: Sequence[str]) -> None:
        if said:
            self.session.record(list(said))  # type: ignore[arg-type]  # messages, or rows of them
            self._known.add(names)

    def _settle(self, said: Sequence[Message]) -> None:
        """Answer calls that nothing new answers: their run was broken off, and each call needs its result (V1)."""
        if self._is_settled:
            return
        done = {result for each in said for result in each.results}
        open_calls = [call_id for call_id in self.session.core.room().open_calls if call_id not in done]
        if open_calls:
            outcomes = tuple(Outcome(call_id, (Words(CANCELLED),), failed=True) for call_id in open_calls)
            made = adopted(self._form.codec, Portable("tool", outcomes))
            # They are of now, whatever time a form has to have in them.
            self._record([replace(self._form.codec.to_message(each), time=None) for each in made], [""] * len(made))

    def _names(self, first: int, last: int) -> list[str]:
        """Return what recorded messages are known by."""
        rows = self.session.wired.store.read(self.session.session_id, first, last)
        return [self._identity(row.codec, row.payload) for row in rows]

    def _identity(self, codec: str, payload: str) -> str:
        """Return what a recorded message is known by; "" for one of another host's form, which this one never lists."""
        if codec != self._form.codec.tag:
            return ""
        return self._form.identity(as_object(payload))


def _whole_gone(parts: Sequence[Part]) -> set[int]:
    """Return the places of forgotten messages that a request can do without, so that nothing hints at them.

    Runs of them go where calls and results stay together, and users and model still take turns.
    """
    gone: set[int] = set()
    if not any(part.kind is Kind.FORGOTTEN for part in parts):  # nearly every request
        return gone
    for is_gone, run in groupby(range(len(parts)), lambda place: parts[place].kind is Kind.FORGOTTEN):
        if not is_gone:
            continue
        places = [*run]
        calls = {call_id for place in places for call_id in parts[place].call_ids}
        results = {call_id for place in places for call_id in parts[place].result_ids}
        before = parts[places[0] - 1].role if places[0] else "system"
        behind = parts[places[-1] + 1].role if places[-1] + 1 < len(parts) else ""
        if calls == results and before != behind and (before != "system" or behind in {"user", ""}):
            gone.update(places)
    return gone
