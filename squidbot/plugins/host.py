"""What the host plugins share: an engine opened when needed, conversations by id, and failures that stay inside."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections import OrderedDict
from dataclasses import replace
from itertools import chain, groupby, islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, overload

from squidbot.adapters.common.threads import SharedLock
from squidbot.codecs.fields import results
from squidbot.core import events
from squidbot.core.arguments import not_in_paths
from squidbot.core.budget import read_budget
from squidbot.core.errors import BudgetError, ConfigError, SquidbotError
from squidbot.core.events import Event
from squidbot.core.messages import BEHIND_SCENES, Kind, Portable, ToolResult, Words
from squidbot.core.recall.history import body_of, speaker
from squidbot.core.text import clip, count, one_line, stamp
from squidbot.core.transcript.lineage import CALLER, Caller
from squidbot.core.transcript.records import append
from squidbot.core.transcript.scopes import SCOPE
from squidbot.core.transcript.windows import WINDOW
from squidbot.core.view.marks import fence, refused
from squidbot.plugins.lists import (
    ENOUGH,
    FEW_LINES,
    MOST_LINES,
    READ_MESSAGES,
    AgentRun,
    HostForm,
    Listed,
    Match,
    Recorded,
    Rewritten,
    continues,
    digest,
    edited,
    first_new,
    first_unknown,
    gap_at,
    goes_further,
    has_all,
    leaves,
    matched,
    no_id,
    past_others,
    places,
    rewritten,
    shortened,
)
from squidbot.plugins.scopes import checked, going_on, scope_of
from squidbot.tools.table import FOR_HOSTS, HOST_DEFAULTS, HOST_HINTS, named, offered
from squidbot.wiring.calls import end_calls
from squidbot.wiring.claims import wait

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.memories import Scope
    from squidbot.core.messages import Message, Part, Role, StoredMessage, Usage
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.transcript.lines import Run
    from squidbot.core.view.current import SessionContext
    from squidbot.engine import Engine
    from squidbot.plugins.scopes import GivenScope
    from squidbot.session import Assembly, Session
    from squidbot.tools.tool import Tool

    Payload = Mapping[str, object]

Value = TypeVar("Value")
Key = TypeVar("Key")

# A host's conversation: records new messages, and sends the model what fits.

BEGINS_AGAIN: Final = (
    "%.60r: the program's list has none of the recorded messages, so the conversation begins again without them; "
    "`squidbot session lines` lists both"
)
# The result of a call whose run was interrupted.
CANCELLED: Final = "cancelled before it finished"
# Why messages are forgotten that a host has removed.
REMOVED: Final = "the program has removed them"
# So many runs at once are told apart in one conversation.
MOST_RUNS: Final = 8
# So many calls that were closed are remembered.
MOST_CLOSED: Final = 64
# How often the window is cut to shorten a request: one cut may not reach a request far below the window.
MOST_CUTS: Final = 3


class HostRequest:
    """One call of the model: what to send, and what to do with its reply.

    Attributes:
        messages: what to send, oldest first, in the host's form.
        assembly: what they are made of.
        run: the run that asks, None if its list is empty; and the number of the line that it is on.
        is_answered: whether the reply is recorded.
    """

    def __init__(
        self, messages: list[Any], conversation: HostConversation, assembly: Assembly, run: AgentRun | None
    ) -> None:
        """Take what `HostConversation.before` has made."""
        self._conversation = conversation
        self.messages, self.assembly, self.run, self.line = messages, assembly, run, conversation.line
        self.is_answered = False

    @property
    def session_id(self) -> str:
        """The conversation's id."""
        return self._conversation.session.session_id

    def after(self, reply: Any, usage: Usage | None = None, further: Sequence[Any] = ()) -> None:  # noqa: ANN401  # the host's
        """Record the reply, durably, with the usage that the provider reported; a second call does nothing.

        `further` messages belong to the reply. If another run of the conversation has asked meanwhile, the reply stays
        on the line of its own request.

        Raises:
            ValueError: it is not of the host's form.
            StoreError: nothing was stored.
        """
        self._conversation.reply(self, reply, usage, further)

    def shorter(self) -> HostRequest | None:
        """Return a shorter request for this one, which was refused as too long; None if it can't be made shorter.

        The window of sessions with this model is smaller from then on.
        """
        return self._conversation.shorter(self)


class HostConversation:
    """One session of a host. Threads may share it: calls of one conversation follow each other."""

    def __init__(self, session: Session, form: HostForm, *, erases: bool = False) -> None:
        """Take a session in the host's form; nothing is read or written yet.

        With `erases`, messages that the host has removed from its list are forgotten.
        """
        self._erases = erases
        self.session = session
        self._form = form
        # Tools use the session, too: their calls must not interrupt a turn.
        self._lock = session.lock
        # The messages of the line that is talked on.
        self._known = Recorded(session.core.line, form)
        # How many messages the session had, on all lines, when this was done with it.
        self._stored = 0
        # The marks of the newest list, and how many of its messages a reply follows, that reply included.
        self._marks: list[tuple[str, int]] = []
        # The newest runs, by how their lists begin. Runs at once list only their own turns: what one records is no edit
        # of another's.
        self._runs: dict[tuple[str, int], AgentRun] = {}
        self._run: AgentRun | None = None
        self._settled = 0
        # Whether a host that lists everything, or has ids, has listed an earlier turn: then a turn alone is all of it.
        self._lists_all = False
        self._beside: tuple[str, list[Payload]] = "", []
        # The newest request; None if there was none since the last reply.
        self._newest: HostRequest | None = None
        # Where a call was closed that another run had open: the line, and the message.
        self._closed: OrderedDict[str, tuple[int, int]] = OrderedDict()
        # Whether every recorded call has its result, as far as is known.
        self._is_settled = False

    @property
    def awaits(self) -> bool:
        """Whether the newest request has no reply yet."""
        return self._newest is not None

    @property
    def line(self) -> int | None:
        """The number of the line that is talked on, as far as is known."""
        return self._known.number

    @property
    def is_behind(self) -> bool:
        """Whether others have recorded messages since its last call."""
        return self.session.wired.store.head(self.session.session_id)[0] != self._stored

    def before(
        self,
        listed: Sequence[Any],
        *,
        system: str = "",
        tools: Sequence[Mapping[str, object]] = (),
        is_kept: bool | None = None,
    ) -> HostRequest:
        """Record the new messages of a host's list, durably, and return the request to send.

        `listed` has the messages that the host would send, oldest first, without the system text: everything, the end,
        or the newest turn. The host also sends `system` and `tools`. Call the model with the request, then its `after`.
        `is_kept`: the host itself keeps the list from turn to turn, and has done so before this call; False: it
        may have begun now; None: it does not keep it, or that is unknown.

        Raises:
            BudgetError: the request can't be made to fit; the new messages are recorded.
            ValueError: a message is not of the host's form.
            StoreError: the store failed.
        """
        with self._lock:
            self._newest = None
            messages, names = self._new(listed, is_kept=is_kept)
            self._part(messages)
            behind = max((at for at, message in enumerate(messages, 1) if message.role == "assistant"), default=0)
            self._settle(messages)
            self._is_settled = False  # until all of it is recorded
            self._record(messages[:behind], names[:behind])
            self._beside = system, [*tools]
            assembly = self._assemble(messages[behind:])
            self._record(assembly.incoming, names[behind:])
            self._is_settled = not any(message.calls for message in messages)
            self._note()
            asks_again = not messages and bool(listed) and self._role(listed[-1]) != "assistant"
            return self._sent(assembly, asks_again=asks_again)

    def said(self, listed: Sequence[Any]) -> None:
        """Record the new messages of a host's list, durably, without a request.

        Calls stay open until something other than a result follows them.

        Raises:
            ValueError: a message is not of the host's form.
            StoreError: nothing was stored.
        """
        with self._lock:
            messages, names = self._new(listed)
            if any(message.role != "tool" for message in messages):
                self._settle(messages)
            self._is_settled = False
            self._record(messages, names)
            self._note()

    def after(self, reply: Any, usage: Usage | None = None, further: Sequence[Any] = ()) -> None:  # noqa: ANN401  # the host's
        """Record the reply to the newest request, as `HostRequest.after`; without one, do nothing.

        Then the next request records the host's list.

        Raises:
            ValueError: it is not of the host's form.
            StoreError: nothing was stored.
        """
        newest = self._newest
        if newest is not None:
            newest.after(reply, usage, further)

    def reply(self, request: HostRequest, reply: Any, usage: Usage | None, further: Sequence[Any]) -> None:  # noqa: ANN401  # the host's
        """Record the reply to a request; see `HostRequest.after`."""
        with self._lock:
            if request.is_answered:
                return
            known, is_newest = self._known, request is self._newest
            payloads = [self._form.dump(message) for message in (reply, *further)]
            messages = [self._form.codec.to_message(payload) for payload in payloads]
            request.is_answered = True
            if is_newest:
                self._newest = None
            if request.line is not None and request.line != known.number:
                self._go_to(request.line)
            self._settle(messages)  # another run may have calls open
            rows = self.session.record(*messages, usage=usage if is_newest else None)
            self._is_settled = not any(message.calls for message in messages)
            names = [*map(self._form.name, payloads)]
            known.add(rows, names)
            self._stored = known.line.stored
            run = request.run
            if run is not None:
                run = run._replace(replies=[*run.replies, *names], recorded=len(known))
                self._runs[run.marks[0]] = run
                self._run = run if is_newest else self._run

    def works_for(self, call_id: str) -> None:
        """Record, durably, that the session works for a tool call of the session above it; once for each call.

        Raises:
            StoreError: nothing was stored.
        """
        store, session_id = self.session.wired.store, self.session.session_id

        def due() -> Caller | None:
            newest = CALLER.newest(store, session_id)
            return None if newest and newest.call_id == call_id else Caller(call_id, time.time())

        append(store, session_id, CALLER, due, "it does not name the call that called it", wait=wait)

    def shorter(self, request: HostRequest | None = None) -> HostRequest | None:
        """Return a shorter request for one, None for the newest; see `HostRequest.shorter`."""
        with self._lock:
            before, newest = self.session, self._newest
            if newest is None or (request is not None and request is not newest):
                return None
            try:
                for _ in range(MOST_CUTS):
                    self.session = self.session.overflowed(None)
                    assembly = self._assemble([])
                    if assembly.report.cost.bound < newest.assembly.report.cost.bound:
                        return self._sent(assembly)
            except (BudgetError, ConfigError):
                pass
            self.session = before
            return None

    def _new(
        self, listed: Sequence[Any], *, is_kept: bool | None = None
    ) -> tuple[list[Message], list[tuple[str, str]]]:
        """Return the messages of a list that are not recorded yet, and their names.

        If the list leaves the line, the conversation goes on along another one from here.
        """
        known = self._known
        number, count = known.number, len(known)
        line = self.session.core.current_line()
        self.session.core.stay()  # another process may go to another line during this run
        looked = count if number is not None and line.begins_as(number, count) else None
        known.take(line, keeps=looked or 0)
        self._is_settled = self._is_settled and looked == len(known)
        given = Listed(listed, self._form)
        marks, self._run = given.marks, None
        run = self._runs.get(marks[0]) if marks else None
        if run and not is_kept and run.is_elsewhere(given, known):
            self._go_to(run.line)
        going_on = run.goes_on(given, known, is_kept=bool(is_kept)) if run else None
        new: Sequence[int] = range(going_on or 0, len(given))
        if going_on is None:
            new = self._elsewhere(given, looked, is_kept=is_kept)
        elif not self._lists_all and (self._form.is_whole or any(given.ids)):
            self._lists_all = given.message(-1).role == "user"
        self._marks, self._settled = marks, given.replied()
        return [given.message(at) for at in new], [given.name(at) for at in new]

    def _elsewhere(self, given: Listed, looked: int | None, *, is_kept: bool | None) -> Sequence[int]:
        """Return the indexes of what is new in a list that does not simply go on, and go to the line that it is on.

        `looked`: how many messages the line had at the last call; None if it is another line or the first call.
        """
        known, marks = self._known, given.marks
        change = rewritten(self._marks, given, self._settled) if looked is not None else None
        if change is None and is_kept and looked != len(known) and any(given.ids):
            # In a new process, or where another one went on: what is gone or put in shows in the ids.
            ids = known.ids[-READ_MESSAGES:]
            change = rewritten([(each, 0) for each in ids], given, len(ids), by_ids=True)
        is_other_run = bool(marks and self._marks) and marks[0] != self._marks[0] and marks[0] in self._runs
        new = self._rewritten(given, change) if change and not is_other_run else None
        if new is None and is_other_run and not known.line.lines.made:
            new = self._of_other_run(given)
        if new is None:
            # A list that the host keeps is never behind: it is the conversation.
            seen = None if is_kept else looked
            is_all = is_kept or (is_kept is False and bool(self._marks)) or self._lists_all
            new = self._behind(given, seen, is_all=is_all)
        return new

    def _of_other_run(self, given: Listed) -> Sequence[int] | None:
        """Return the indexes of what is new in the list of one of several runs at once; None if none of it is known."""
        match = matched(given, self._known)
        return range(match.listed, len(given)) if match else None

    def _has_any(self, given: Listed) -> bool:
        """Return whether the line has any message of a list, or none of this host's at all."""
        known = self._known
        ids = {*given.ids} - {""}
        return (
            not any(known.words[-READ_MESSAGES:])
            or not ids.isdisjoint(known.ids[-READ_MESSAGES:])
            or bool(places(given, known))
        )

    def _behind(self, given: Listed, looked: int | None, *, is_all: bool) -> Sequence[int]:
        """Return the indexes of the new messages of a list, and go to the line that it is on.

        `looked`: how many messages the line had at the last call; None if it is another line or the first call.
        `is_all`: the list is all that the host has of the conversation.
        """
        known = self._known
        place = continues(given, known)
        if place is not None:
            return range(place, len(given))
        match = matched(given, known)
        back = edited(given, known, match) if match else 0
        gone = match.before(back) if match and (back or leaves(given, known, match, looked)) else None
        gone = past_others(known, gone) if gone and not back else gone
        if gone or known.line.lines.made:
            # Where the host is behind, only a line that has more of its list is meant.
            found = self._along(given, gone, least=match.listed if match and match.recorded == looked else 0)
            if found is not None:
                return range(found, len(given))
        if match and match.length > 1 and match.recorded < len(known) and not self._form.is_whole:
            return range(match.listed, len(given))  # what others have said since stays in front of it
        if is_all and not self._has_any(given):
            _LOG.info(BEGINS_AGAIN, self.session.session_id)
            # All of it is gone.
            self._leave(len(known), [(0, len(known) - 1)])
        return self._unknown(given)

    def _rewritten(self, given: Listed, change: Rewritten) -> Sequence[int] | None:
        """Go along another line from where a host has changed its list, and return the indexes of what is new on it.

        None if messages are gone only, or nothing has changed that is recorded.
        """
        known, at = self._known, change.from_here
        found = places(given, known)
        gaps = [run for gap in change.gaps if (run := gap_at(gap, given, known, found))]
        if at is not None and (at == 0 or at - 1 in found):
            # What follows may be recorded, behind what is gone, or written in another way.
            while at in found:
                gaps.append((found[at - 1] + 1 if at else 0, found[at] - 1))
                at += 1
        else:
            at = len(given)
        behind = len(known) if at == len(given) else found[at - 1] + 1 if at else 0
        gaps = [(first, last) for first, last in gaps if first <= last]
        if behind == len(known) and not gaps:
            return None
        along = self._along(given, Match(at, behind, ENOUGH), gaps)
        return None if along is None or at == len(given) else range(along, len(given))

    def _along(self, given: Listed, gone: Match | None, gaps: Sequence[Run] = (), least: int = 0) -> int | None:
        """Go to the line that a list is on, or begin one where it leaves the line that it goes along furthest.

        `gone`: how far it goes along the line that is talked on; `gaps`: the runs of places there that it lacks.
        `least`: other lines must have more of it. Return how many messages of the list are recorded there; None if no
        line has any of them.
        """
        known, best = self._known, gone
        start = chosen = known.line
        if gone is None and len(given) < 2:  # a turn alone is new, whatever is recorded
            return None
        # A line that has all of what it has of the list is better than one that goes further, but lacks some of it.
        furthest = (bool(gaps) or has_all(given, known, gone), gone.listed) if gone else (least > 0, least)
        is_many = len(start.lines.made) > FEW_LINES
        for line in islice(start.all(), MOST_LINES) if furthest < (True, len(given)) else ():
            other = Recorded(line, self._form)
            other.take(line)
            if line is start or (is_many and gone and not goes_further(given, other, gone)):
                continue
            match = matched(given, other)
            if match is None or (True, match.listed) <= furthest or not has_all(given, other, match):
                continue
            is_left = match.recorded < len(other)
            if not edited(given, other, match) and (not is_left or leaves(given, other, match, None)):
                best, chosen, furthest = match, line, (True, match.listed)
        if best is None:
            return None
        if chosen is not start:
            self._go_to(chosen.line)
            gaps = ()
        if best.recorded < len(known) or gaps:
            self._leave(best.recorded, gaps, shortened(given, known, best))
        return best.listed

    def _go_to(self, line: int) -> None:
        """Go on along a line."""
        self.session.switch(line)
        self._known.take(self.session.core.line)

    def _leave(self, place: int, gaps: Sequence[Run], fewer: Sequence[int] = ()) -> None:
        """Begin a line with the first messages of the present one, but for runs of them; all are places.

        `fewer`: those that the host says in fewer words.
        """
        known = self._known
        line = known.line
        behind = line.seqs(place, place) or [line.head(line.session_id)[0]]
        gone = [ends for first, last in gaps if (ends := line.seqs(first, last))]
        kept = [seq for each in fewer for seq in line.seqs(each, each)]
        runs = [(ends[0], ends[-1]) for ends in gone]
        # Another process may have gone to another line meanwhile.
        self.session.core.branch(behind[0], runs, line=known.number, shortened=kept, now=time.time())
        if self._erases and gone:
            self.session.forget(*chain.from_iterable(gone), reason=REMOVED)
        known.take(self.session.core.line, keeps=min([place, *(first for first, _ in gaps)]))
        self._is_settled = False

    def _unknown(self, given: Listed) -> Sequence[int]:
        """Return the indexes of the new messages of a list: by the host's ids if it keeps them, else by their words.

        If the newest recorded messages are in the list, the new ones are behind them. Otherwise each is looked up: the
        list may lack some of what is recorded, and have others between.
        """
        ids, known = given.ids, self._known
        if any(ids) and len(known):
            newest = known.ids[-1]
            place = len(ids) - ids[::-1].index(newest) if newest and newest in ids else 0
            # A host that makes up new ids for each request is found out by the newest: the others are not read.
            few = max(READ_MESSAGES, 2 * len(ids))
            if not {*known.ids[-few:]}.isdisjoint({*ids} - {""}):
                return self._by_ids(given, place)
        return range(self._first_new(given), len(ids))

    def _by_ids(self, given: Listed, place: int) -> Sequence[int]:
        """Return the indexes of the new messages of a list by the host's ids; `place` is behind the newest, 0: unknown.

        Unknown messages in front of all known ones stand for older ones, as another middleware's summary does.
        """
        ids, recorded, own = given.ids, self._known.ids[:], {*given.ids}
        known = {*recorded} - {""}
        places = [at for at, each in enumerate(ids) if each in known]
        place = place or places[-1] + 1
        new = [at for at in range(places[0], len(ids)) if ids[at] not in known]
        if new and new[0] < place:
            # The host may list a message under another id than before.
            words = {self._known.words[at] for at in reversed(range(len(recorded))) if recorded[at] not in own}
            new = [at for at in new if at >= place or given.words[at] not in words]
        if new and new[-1] < len(ids) - 1 and given.message(-1).role == "user":
            new.append(len(ids) - 1)  # the host puts the same message last again
        return new

    def _role(self, message: Any) -> Role:  # noqa: ANN401  # the host's
        return self._form.codec.to_message(self._form.dump(message)).role

    def _first_new(self, given: Listed) -> int:
        listed, known = given.words, self._known.words
        if not self._form.is_whole:
            return first_new(listed, known)
        place = first_unknown(listed, known)
        if place < len(listed) or not listed or listed[-1] == known[-1]:
            return place
        # The host asks again after an interrupted answer: the user's last message must come last.
        return next((at for at in range(len(listed) - 1, -1, -1) if given.message(at).role == "user"), place)

    def _assemble(self, messages: Sequence[Message]) -> Assembly:
        system, tools = self._beside
        return self.session.assemble(*messages, system=system, tools=tools)

    def _sent(self, assembly: Assembly, *, asks_again: bool = False) -> HostRequest:
        """Return the request to send; without the newest replies if the host asks again, since it discarded them."""
        made = self._newest = HostRequest(self._messages(assembly, asks_again=asks_again), self, assembly, self._run)
        return made

    def _messages(self, assembly: Assembly, *, asks_again: bool) -> list[Any]:
        load, own, parts = self._form.load, self._beside[0], assembly.core.parts
        first, left_out = parts[0], _removable(parts)
        if asks_again:
            made = (Kind.MESSAGE, "assistant"), (Kind.SLIMMED, "assistant"), (Kind.NOTICE, "user")
            backwards = range(len(parts) - 1, 0, -1)
            left_out |= {*takewhile(lambda at: (parts[at].kind, parts[at].role) in made, backwards)}
        if not own or first.kind is not Kind.SYSTEM or not (first.text or "").startswith(own):
            return assembly.read(load, without=left_out)
        # The host sends its own system text; we add the text of a mode after it.
        messages: list[Any] = assembly.read(load, without={0, *left_out})
        ours = (first.text or "")[len(own) :].strip()
        return [load(self._form.codec.adopt(Portable("system", (Words(ours),)))), *messages] if ours else messages

    def _record(self, messages: Sequence[object], names: Sequence[tuple[str, str]]) -> Sequence[StoredMessage]:
        if not messages:
            return ()
        rows = self.session.record(list(messages))  # type: ignore[arg-type]  # messages, or rows of them
        self._known.add(rows, names)
        return rows

    def _note(self) -> None:
        """Note how the run goes whose list was just recorded."""
        known, marks = self._known, self._marks
        self._stored = known.line.stored
        self._run = AgentRun(marks, [], known.number or 0, len(known)) if marks else None
        if self._run is not None:
            self._runs.pop(marks[0], None)
            self._runs[marks[0]] = self._run
            if len(self._runs) > MOST_RUNS:
                del self._runs[next(iter(self._runs))]

    def _part(self, messages: Sequence[Message]) -> None:
        """Begin a line for a run whose open calls another run of the conversation has closed: its results follow."""
        closed = [self._closed.pop(call_id, None) for message in messages for call_id in message.results]
        places = [place for place in closed if place is not None and place[0] == self._known.number]
        if places:
            line, seq = min(places)
            self.session.core.branch(seq, line=line, now=time.time())
            self._known.take(self.session.core.line)
            self._is_settled = False

    def _settle(self, messages: Sequence[Message]) -> None:
        """Answer open calls that no new message answers: their run was interrupted, and each call needs a result."""
        if self._is_settled:
            return
        given = {result for message in messages for result in message.results}
        open_calls = [call_id for call_id in self.session.core.room().open_calls if call_id not in given]
        if open_calls:
            outcomes = (ToolResult(call_id, (Words(CANCELLED),), failed=True) for call_id in open_calls)
            payloads = results(self._form.codec, outcomes)
            # They are recorded now, even if their form requires another time in them.
            answers = [replace(self._form.codec.to_message(payload), time=None) for payload in payloads]
            rows = self._record(answers, [("", "")] * len(answers))
            for call_id, seq in [(call_id, row.seq) for row in rows for call_id in row.result_ids]:
                self._closed[call_id] = self._known.number or 0, seq
                _keep(self._closed, call_id, MOST_CLOSED)


def _removable(parts: Sequence[Part]) -> set[int]:
    """Return the indexes of forgotten messages that a request can go without, so that nothing hints at them.

    Runs of them go where calls and results stay together, and user and model still take turns.
    """
    found: set[int] = set()
    if Kind.FORGOTTEN not in [part.kind for part in parts]:  # nearly every request
        return found
    for is_forgotten, run in groupby(range(len(parts)), lambda place: parts[place].kind is Kind.FORGOTTEN):
        if not is_forgotten:
            continue
        places = [*run]
        calls = {call_id for place in places for call_id in parts[place].call_ids}
        results = {call_id for place in places for call_id in parts[place].result_ids}
        before = parts[places[0] - 1].role if places[0] else "system"
        behind = parts[places[-1] + 1].role if places[-1] + 1 < len(parts) else ""
        if calls == results and before != behind and (before != "system" or behind in {"user", ""}):
            found.update(places)
    return found


_LOG: Final = logging.getLogger("squidbot")
#: For `HostRuntime.safely`: after this failure, the host sends its own request.
REQUEST: Final = "prepare this request"
#: For `HostRuntime.safely`: after this failure, the host's list has the reply, and the next call records it.
REPLY: Final = "record a reply"
PASS, RAISE = "pass", "raise"
# What becomes of messages that a program removes.
HIDE, FORGET = "hide", "forget"
# The key that an error names where the window of a session is too small.
WINDOW_KEY: Final = "window.default"
# Engines from before this process was forked. They are never closed nor collected: closing or using a connection to
# SQLite after a fork destroys the file.
_LEFT: Final[list[object]] = []
# How many conversations are held at once; the others are read from the store again.
MOST_HELD: Final = 64
# How many sessions' newest models are remembered until they are stored.
MOST_NEWEST: Final = 4096
# How many kinds of warnings are remembered, to log each only once.
MOST_WARNINGS: Final = 256
# Warnings that differ in a number are of one kind.
_NUMBER: Final = re.compile(r"\d[\d,._]*")


class _Key(NamedTuple):
    """What tells the conversations of a session apart; `window_tokens` is the window that the host knows."""

    session_id: str
    model: str
    window_tokens: int | None
    scope: Scope


class HostRuntime:
    """squidbot inside of one host. Threads may share it.

    `store` is the file that keeps everything; None uses the store of `settings`: a squidbot.toml, a mapping of its
    form, or None for the squidbot.toml of this folder. `budget` limits a request and its answer, in tokens or as a
    fraction of the model's window (`read_budget`); a smaller known window wins. Errors name it as `budget_key`.
    After a failure, `on_error="pass"` continues without squidbot and "raise" raises; None means "pass" where the user
    has no choice. `form` is the tag of the host's codec; `key`, `id_of`, `is_whole`, `dump`, `load` and `mark`: see
    `HostForm`. `scope`: see `scope_of`. Messages that a program removes are kept, and the model does not see them; with
    `on_remove="forget"` they are erased.
    """

    def __init__(  # noqa: PLR0913  # what a user may say, and what a plugin knows
        self,
        store: str | Path | None,
        *,
        host: str,
        form: str,
        key: Callable[[Mapping[str, object]], object] = dict,
        id_of: Callable[[Any], str] = no_id,
        is_whole: bool = False,
        dump: Callable[[Any], Mapping[str, object]] = dict,
        load: Callable[[str], Any] = json.loads,
        mark: Callable[[Any], int] = digest,
        budget: float | str | None = None,
        settings: str | Path | Mapping[str, object] | None = None,
        scope: GivenScope = None,
        on_error: str | None = None,
        on_remove: str = HIDE,
        budget_key: str = "budget=",
    ) -> None:
        """Check the arguments; `open` checks files.

        Raises:
            ConfigError: the budget, the path, the scope, `on_error` or `on_remove` is wrong.
        """
        if on_error not in (None, PASS, RAISE):
            raise ConfigError(
                f"on_error = {on_error!a:.60}: use {PASS!r} to continue without squidbot, or {RAISE!r} to stop"
            )
        if on_remove not in (HIDE, FORGET):  # of any type
            raise ConfigError(
                f"on_remove = {on_remove!a:.60}: use {HIDE!r} to keep what the program removes, where the model "
                f"does not see it, or {FORGET!r} to erase it"
            )
        if store is not None and not _is_file(store):
            raise ConfigError(f"path = {store!a:.60}: pass the path of the store, such as 'mem.db'")
        self._host, self._form, self._how = host, form, (key, id_of, is_whole, dump, load, mark)
        self._on_remove = on_remove
        self._budget, self._budget_key = read_budget(budget), budget_key
        self._settings = settings if store is None else _with_store(settings, store)
        # Whether the user has written settings, and so knows their keys.
        self._is_set_up = settings is not None or (store is None and Path("squidbot.toml").is_file())
        self._scope, self._on_error = checked(scope), on_error
        self._choice = '; to stop instead, pass on_error="raise"' if on_error else ""
        self._engine: Engine | None = None
        self._pid = os.getpid()
        self._held: OrderedDict[_Key, HostConversation] = OrderedDict()
        self._newest: OrderedDict[str, _Key] = OrderedDict()
        self._lock = SharedLock()
        self._warned: OrderedDict[str, None] = OrderedDict()

    @property
    def engine(self) -> Engine:
        """The engine, opened on first use, and again in a forked process.

        Raises:
            ConfigError: a setting is wrong.
            StoreError: the store can't be opened.
        """
        with self._lock:
            if self._pid != os.getpid():
                _LEFT.append((self._engine, [*self._held.values()]))
                self._engine, self._pid = None, os.getpid()
                self._held.clear()
            if self._engine is None:
                from squidbot.engine import load  # noqa: PLC0415  # a plugin is constructed in no time

                self._engine = load(self._settings)
            return self._engine

    def open(self) -> None:
        """Read the settings and open the store now, so that a program finds mistakes when it starts.

        Raises:
            ConfigError: a setting is wrong.
            StoreError: the store can't be opened.
        """
        self.engine.wired.store.head("any")

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools for the host's model, as the settings say; the default tools if the settings are wrong.

        Opening the engine reports wrong settings. This reads no other file.
        """
        from squidbot.config import load_settings  # noqa: PLC0415  # as above

        def offer() -> tuple[Tool, ...]:
            try:
                return offered(FOR_HOSTS, load_settings(self._settings).settings, self.alone("").bot)
            except ConfigError:
                return HOST_DEFAULTS

        return self.safely("offer its tools", "", offer) or HOST_DEFAULTS

    def scope(self, session_id: str, context: object = None, /, **places: object) -> Scope:
        """Return whose facts a call of a conversation reads and writes; see `scope_of`.

        Raises:
            ConfigError: the user's function fails, or a user's id is none.
        """
        return scope_of(self._scope, session_id, context, **places)

    def alone(self, session_id: str) -> Scope:
        """Return whose facts a conversation uses outside of the host's calls: only those know users."""
        return scope_of(None if callable(self._scope) else self._scope, session_id)

    def conversation(
        self, session_id: str, model: str = "", window_tokens: int | None = None, scope: Scope | None = None
    ) -> HostConversation:
        """Return the conversation of an id with a model: the same object while it is cached.

        `model` is the host's name for its model, `window_tokens` that model's window, if known. Without both, you get
        the newest conversation of the id. `scope` says whose facts this call uses; None: those of the last call.

        Raises:
            ConfigError: a setting is wrong, the id is empty, or the conversation is another user's.
            StoreError: the store can't be opened.
        """
        with self._lock:
            engine = self.engine
            newest = self._newest.get(session_id)
            if scope is None:
                scope = newest.scope if newest else self.alone(session_id)
            key = _Key(session_id, model, window_tokens, scope)
            if newest and not model and window_tokens is None:
                key = newest._replace(scope=scope)
            held = self._held.get(key)
            # Between a request and its reply nobody asks again.
            if held is None or (not scope.user and not held.awaits and held.is_behind):
                key = key._replace(scope=going_on(engine.wired.store, session_id, scope))
                held = self._held.get(key)
            if held is None:
                session = self._open_session(key)
                # Calls of one conversation follow each other, whatever their model and scope.
                if newest and newest in self._held:
                    session.lock = self._held[newest].session.lock
                held = self._held[key] = HostConversation(
                    session,
                    HostForm(engine.wired.codecs[self._form], *self._how),
                    erases=self._on_remove == FORGET,
                )
            self._newest[session_id] = key
            _keep(self._newest, session_id, MOST_NEWEST)
            _keep(self._held, key, MOST_HELD)
            return held

    def sub_agent(self, session_id: str, agent: str, child_id: str | None = None) -> str:
        """Give a sub-agent its caller's context, and return the id of its own conversation.

        That begins with the goals, decisions, documents and pins of the caller's, `session_id`, without what was said
        there. Its id is `child_id`, or SESSION/AGENT; a conversation that has begun like that goes on as it is. Its
        window is that of the model that the host runs it with. If this fails, the sub-agent runs without the context.

        Raises:
            SquidbotError: with `on_error="raise"`, as `Engine.sub_agent`.
        """
        made = child_id or f"{session_id}/{agent}"

        def give() -> None:
            known = SCOPE.newest(self.engine.wired.store, session_id)
            parent = self.conversation(session_id, scope=known.scope if known else None).session
            self.engine.sub_agent(parent, agent, session_id=made)

        self.safely("give a sub-agent its caller's context", session_id, give)
        return made

    def is_stored(self, session_id: str) -> bool:
        """Return whether a conversation has messages.

        Raises:
            StoreError: the store failed.
        """
        return self.engine.wired.store.head(session_id)[0] > 0

    def remove(self, session_id: str, seqs: Sequence[int], reason: str, scope: Scope | None = None) -> None:
        """Remove the newest messages, as `on_remove` says; the host may send them again.

        `scope` is the conversation's; None: that of its last call.

        Raises:
            NotFoundError: there is no such message; nothing was removed.
            StoreError: nothing was removed.
        """
        session = self.conversation(session_id, scope=scope).session
        with session.lock:  # the other conversations continue meanwhile
            if seqs and self._on_remove == FORGET:
                session.forget(*seqs, reason=reason)
            elif seqs:
                session.branch(min(seqs))
            with self._lock:
                for key in [key for key in self._held if key.session_id == session_id]:
                    del self._held[key]

    @overload
    def safely(self, what: str, session_id: str, act: Callable[[], Value]) -> Value | None: ...
    @overload
    def safely(
        self, what: str, session_id: str, act: Callable[[], Value], otherwise: Value, *, passes: bool = False
    ) -> Value: ...
    def safely(
        self, what: str, session_id: str, act: Callable[[], Any], otherwise: Any = None, *, passes: bool = False
    ) -> Any:
        """Return the result of `act`, or `otherwise` if it fails: the host continues without squidbot.

        `what` completes "squidbot could not ...". Each failure is an event; each kind of failure is logged once. With
        `on_error="raise"` failures are raised, except those that pass, such as a tool's, which the model reads.
        Exceptions that end a program are not caught.

        Raises:
            Exception: what `act` raised, with `on_error="raise"`.
        """
        try:
            return act()
        except Exception as error:
            told = self._in_users_words(error)
            goes_on = "sending it unchanged" if what == REQUEST else "the program continues"
            cause = f"squidbot could not {what} in {self._host}; {goes_on}: {_text_of(told)}"
            if self._on_error == RAISE and not passes:
                if told is error:
                    raise
                raise told from error
            # The first warning tells users how to stop instead.
            self.warn_once(cause, self._choice)
            self._choice = ""
            if self._engine is not None:
                self._engine.wired.relay.notify(Event(events.DEGRADED, session_id, cause))
            return otherwise

    def answer(
        self,
        tool: str,
        session_id: str,
        arguments: Mapping[str, object],
        scope: Callable[[], Scope | None] | None = None,
    ) -> str:
        """Answer a call of one of our tools with text for the model; a failure is text, too.

        `scope` returns whose facts it uses; None: those of the conversation's last call.
        """

        def act() -> str:
            whose = scope() if scope else None
            return call_tool(self.conversation(session_id, scope=whose).session, tool, arguments)

        return self.safely(f"answer {tool}", session_id, act, f"<{tool} failed; continue without it>", passes=True)

    def warn_once(self, text: str, advice: str = "") -> None:
        """Log a warning, each kind of it once, with advice behind it."""
        with self._lock:
            kind = _NUMBER.sub("0", text)
            is_new = kind not in self._warned
            self._warned[kind] = None
            _keep(self._warned, kind, MOST_WARNINGS)
        if is_new:
            _LOG.warning("%s%s", text, advice)

    def close(self) -> None:
        """Close the engine, if it was opened, behind calls that threads have at hand; a second call does nothing."""
        end_calls()
        with self._lock:
            engine, self._engine = self._engine, None
            self._held.clear()
        if engine is not None:
            engine.close()

    def _in_users_words(self, error: Exception) -> Exception:
        """Return the error with a key that this user can change: not all users write settings."""
        if not isinstance(error, BudgetError) or not error.key.startswith(WINDOW_KEY):
            return error
        if self._budget is not None:
            return error.to_raise(f"{self._budget_key}{self._budget:.12g}, which includes the answer")
        return error if self._is_set_up else error.to_raise(f"{self._budget_key}, or use a model with a larger window")

    def _open_session(self, key: _Key) -> Session:
        """Return a session in the right window; without model and window, as its last one, within the budget."""
        session_id, model, window_tokens, scope = key
        engine = self.engine
        last = WINDOW.newest(engine.wired.store, session_id) if not model and window_tokens is None else None
        if last is None or not last.model:
            # The last window of a model without a name may come from another budget.
            window_tokens = self._window(model, window_tokens)
        else:
            model, budget = last.model, self._budget
            same = budget is None and engine.wired.window(model) == last
            known = last.window_tokens if budget is None or budget < 1 else min(last.window_tokens, int(budget))
            window_tokens = None if same else known
        return engine.session(session_id, model=model, window_tokens=window_tokens, form=self._form, scope=scope)

    def _window(self, model: str, known: int | None) -> int | None:
        """Return the smaller of budget and window, or the budget's fraction of the window; None: the settings'."""
        budget = self._budget
        if budget is None:
            return known
        window = None if known else self.engine.wired.window(model)
        tokens = known or (window.window_tokens if window else 0)
        is_known = window is None or window.source != "default"
        if budget < 1:
            if not is_known:
                self.warn_once(
                    f"budget={budget:g}: the window of the model {model!r} is unknown, so this is a fraction of "
                    f"{tokens:,} tokens; pass budget in tokens, or set "
                    f"models.<name>.context_window in the settings"
                )
            return max(1, int(budget * tokens))
        if is_known and tokens < budget:
            self.warn_once(
                f"budget={int(budget)} is larger than the window of the model {model!r}, {tokens:,} tokens: "
                f"requests keep within the window; pass a smaller budget, or none"
            )
            return tokens
        return int(budget)


def call_tool(session: Session, name: str, arguments: Mapping[str, object]) -> str:
    """Answer a call of one of the tools for hosts, as text for the model; a failure is text, too.

    If the next request has no room for the answer, this compacts the conversation first: the model can't.

    Raises:
        KeyError: there is no tool of that name.
    """
    tool = named(FOR_HOSTS, name, session.wired.loaded.settings, session.scope.bot)
    if tool is None:
        raise KeyError(name)
    try:
        # Models call several tools at once: each answer leaves less room for the next one.
        with session.lock:
            answer = session.lookups.answer(tool, arguments, time.time(), HOST_HINTS)
            if answer.wants_room and session.compact(for_tool=True) is not None:
                answer = session.lookups.answer(tool, arguments, time.time(), HOST_HINTS)
            return answer.text
    except SquidbotError as error:
        return refused(error, "failed")


def _keep(known: OrderedDict[Key, Value], newest: Key, most: int) -> None:
    """Make a key the newest one, and drop the oldest beyond `most`."""
    known.move_to_end(newest)
    while len(known) > most:
        known.popitem(last=False)


def _is_file(store: object) -> bool:
    """Return whether a value is a valid path."""
    text = os.fspath(store) if isinstance(store, os.PathLike) else store
    return isinstance(text, str) and bool(text.strip()) and not not_in_paths(text)


def _with_store(settings: str | Path | Mapping[str, object] | None, store: str | Path) -> Mapping[str, object]:
    """Return settings with this store, a file or the address of a database; a model may add memories.

    Raises:
        ConfigError: the settings are a file, which names its own store, or they name another store.
    """
    if isinstance(settings, str | Path):
        raise ConfigError(
            f"pass a store or a settings file, not both: name the store in {settings} (store.path or store.url), and"
            " pass no other"
        )
    given = settings or {}
    memory, table, key = given.get("memory", {}), given.get("store", {}), "url" if "://" in str(store) else "path"
    if isinstance(table, dict):
        for name in {"path", "url"} & table.keys():
            if name != key or str(table[name]) != str(store):
                raise ConfigError(f"pass a store or settings with store.{name}, not both: they name different stores")
        table = {**table, key: str(store)}
    return {**given, "memory": {"write": True, **memory} if isinstance(memory, dict) else memory, "store": table}


def _text_of(error: Exception) -> str:
    text = " ".join(str(error).split())
    return (text if isinstance(error, SquidbotError) else f"{type(error).__name__}: {text}")[:300]


# A conversation at a glance.

# How many of the newest messages are quoted, and how much of each.
NEWEST: Final = 6
QUOTED_CHARS: Final = 300
# About the length of a token in English.
TOKEN_CHARS: Final = 4


def told_of(store: TranscriptStore, session_id: str, messages: int) -> str:
    """Return how long a conversation is and when it was held, as one phrase."""
    ends = store.pick(session_id, {0, messages - 1}) if messages else []
    times = [stamp(row.time) for row in ends]
    held = f", {times[0]} to {times[-1]} UTC" if times and all(times) else ""
    return f"{count(messages, 'message')}{held}"


def overview(shelf: SessionContext, session: Session, most_tokens: int) -> str:
    """Return a conversation's first message, the notes of its next request, and its newest messages.

    Notes are cut to about `most_tokens`, the oldest first. System text, context, tool outputs and automated ones among
    the newest messages are only counted, unless `ui.show_context_messages` is set.

    Raises:
        StoreError: the store failed.
    """
    messages = shelf.transcripts.head(shelf.session_id)[0]
    first = max(1, messages - NEWEST)
    everything = session.wired.loaded.settings.ui.show_context_messages
    lines = [_quoted(row, shelf) for row in shelf.read(0, 0)]
    notes = "\n".join(_notes(session))[-most_tokens * TOKEN_CHARS :]
    lines += [f"notes:\n{notes}"] if notes else []
    lines += [f"[{count(first - 1, 'message')} between]"] if first > 1 else []
    newest = shelf.read(first, messages - 1) if messages > 1 else []
    shown = [row for row in newest if everything or row.category not in BEHIND_SCENES]
    lines += [_quoted(row, shelf) for row in shown]
    hidden = len(newest) - len(shown)
    lines += [f"[{hidden} of these are system text, context or tool output, not shown]"] if hidden else []
    about = f"{told_of(shelf.transcripts, shelf.session_id, messages)}"
    return fence("conversation", about, "\n".join(lines))


def _notes(session: Session) -> list[str]:
    try:
        standing = session.core.room().view
    except BudgetError:
        return []
    return [part.text for part in standing.sent if part.kind is Kind.SUMMARY and part.text]


def _quoted(row: StoredMessage, shelf: SessionContext) -> str:
    return f"m{row.seq} {speaker(row)}: {clip(one_line(body_of(row, shelf.renderer)), QUOTED_CHARS)}"


# Errors: a provider refuses a request as too long, or we refuse a host's option.

# The words of Anthropic, OpenAI, Gemini, Mistral, vLLM, llama.cpp and LM Studio. "Tokens" alone proves nothing: rate
# limits are in tokens, too.
_WORDS: Final = re.compile(
    r"prompt is too long|request_too_large|maximum (?:context|input) length|maximum number of tokens allowed"
    r"|context_length_exceeded|exceed.{0,50}\bcontext|input is too (?:long|large)|longer than the maximum"
    r"|greater than the context length|context (?:the )?overflows|too large for model with \d+ maximum context",
    re.IGNORECASE | re.DOTALL,
)
# The HTTP statuses of a refused request; a model in this process has none.
_REFUSED: Final = (None, 400, 413, 422)


def is_too_long(error: BaseException) -> bool:
    """Return whether a provider refused a request because it does not fit the window."""
    if getattr(error, "status_code", None) not in _REFUSED:
        return False
    return _WORDS.search(f"{getattr(error, 'code', '')} {error}") is not None


def server_held(switch: str) -> ConfigError:
    """Return the error for an option, by its name, that makes the provider keep the conversation."""
    return ConfigError(
        f"{switch} makes the provider keep the conversation, so squidbot can't limit requests: remove it, or remove "
        "squidbot"
    )
