"""What a plugin for a host is made of: an engine at first need, conversations by id, and failures that stay inside."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar, overload

from squidbot.codecs import jsontext
from squidbot.codecs.fields import adopted, as_object
from squidbot.core import events
from squidbot.core.arguments import not_in_paths
from squidbot.core.budget import read_budget
from squidbot.core.errors import BudgetError, ConfigError, SquidbotError
from squidbot.core.events import Event
from squidbot.core.memories import Scope
from squidbot.core.messages import BEHIND_SCENES, Kind, Portable, ToolResult, Words
from squidbot.core.recall.history import body_of, speaker
from squidbot.core.text import clip, one_line, stamp
from squidbot.core.transcript.windows import WINDOW
from squidbot.core.view.current import SessionContext
from squidbot.core.view.marks import fence, refused
from squidbot.session import Session
from squidbot.tools.table import FOR_HOSTS, HOST_DEFAULTS, HOST_HINTS, named, offered

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from squidbot.core.messages import Message, Part, Role, StoredMessage, Usage
    from squidbot.core.ports import Codec, TranscriptStore
    from squidbot.core.view.current import SessionContext
    from squidbot.engine import Engine
    from squidbot.session import Assembly, Session
    from squidbot.tools.tool import Tool


# Which messages of a host's list are new: it may be all, the end, or what was said since; hosts
# rarely say which.

# So many messages, one behind the other, nobody says twice: with what was answered to each.
ENOUGH: Final = 24


def identity(payload: object, volatile: Collection[str]) -> str:
    """Return what tells a message from others with other words: a digest of it, without the keys in `volatile`.

    These are left out wherever they stand: times, ids of runs, what a host writes anew each time.
    """
    return hashlib.sha256(jsontext.write(_lasting(payload, frozenset(volatile))).encode()).hexdigest()


def first_new(listed: Sequence[str], recorded: Sequence[str]) -> int:
    """Return from which place on the messages of a list are new, by their identities; its length where none is.

    What is recorded ends somewhere in the list, or nowhere: the place counts behind which most of it stands, message by
    message, and of several the first: what was said twice is rather recorded twice than lost. No more of either is
    looked at than that takes: where all of what is recorded stands, or `ENOUGH` of it, there is no better place.
    """
    whole = len(recorded)
    if 0 < whole <= len(listed) and _common(listed, whole, recorded) == min(whole, ENOUGH):
        return whole  # a host that lists all, and nothing else
    best, most = 0, 0
    for place in range(len(listed), 0, -1) if recorded else ():
        if listed[place - 1] == recorded[-1] and (found := _common(listed, place, recorded)) >= max(most, 1):
            best, most = place, found
            if found == ENOUGH:
                break
    return best


def first_unknown(listed: Sequence[str], recorded: Sequence[str]) -> int:
    """Return from which place on the messages of a list are new, where the host lists all that it knows each time.

    It may know less than is recorded: a turn that failed it forgets. So what is known is the beginning of the list, as
    far as it stands among what is recorded, in that order.
    """
    place = first_new(listed, recorded)
    if place and _common(listed, place, recorded) == ENOUGH:
        return place
    known = 0
    # One that lists less than half of what is recorded has begun anew.
    for each in recorded[-2 * len(listed) - ENOUGH :]:
        if known < len(listed) and listed[known] == each:
            known += 1
    return max(known, place)


def _common(listed: Sequence[str], end: int, recorded: Sequence[str]) -> int:
    """Return how many messages in front of a place of the list are those that were recorded last, up to `ENOUGH`."""
    count, longest = 0, min(end, len(recorded), ENOUGH)
    while count < longest and listed[end - 1 - count] == recorded[-1 - count]:
        count += 1
    return count


def _lasting(value: object, volatile: frozenset[str]) -> object:
    if isinstance(value, dict):
        kept: Mapping[str, object] = {key: value[key] for key in sorted(value) if key not in volatile}
        return {key: _lasting(inner, volatile) for key, inner in kept.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_lasting(inner, volatile) for inner in value]
    return value


# Long lists of which little is looked at: a host's, and what is recorded; each member is made when it
# is asked for.

Value_co = TypeVar("Value_co", covariant=True)

# How many recorded messages are read at once.
READ_MESSAGES: Final = 256


class Made(Sequence[Value_co], Generic[Value_co]):
    """A sequence whose members are made from their places, each once, when they are first asked for."""

    def __init__(self, length: int, make: Callable[[int], Value_co]) -> None:
        """Take how many there are, and what makes the one at a place, 0 to `length` - 1."""
        self._length = length
        self._make = make
        self._made: dict[int, Value_co] = {}

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Value_co: ...
    @overload
    def __getitem__(self, place: slice) -> list[Value_co]: ...
    def __getitem__(self, place: int | slice) -> Value_co | list[Value_co]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(self._length))]
        number = place + self._length if place < 0 else place
        if not 0 <= number < self._length:
            raise IndexError(place)
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]


class Recorded(Sequence[str]):
    """What each recorded message of a conversation is known by, in order; read from the end on, as far as needed."""

    def __init__(self, read: Callable[[int, int], Iterable[str]]) -> None:
        """Take what reads the names of messages, from one to another, both included; there are none so far."""
        self._read = read
        self._names: list[str | None] = []

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        found = self._names[place]
        if found is None:
            last = place + len(self) if place < 0 else place
            first = max(0, last + 1 - READ_MESSAGES)
            for number, name in enumerate(self._read(first, last), first):
                self._names[number] = name
            found = self._names[place]
        if found is None:
            raise IndexError(place)
        return found

    def grow(self, length: int) -> None:
        """Take in that so many are recorded, whoever did."""
        self._names += [None] * (length - len(self))

    def add(self, names: Iterable[str]) -> None:
        """Take in what was recorded last."""
        self._names += names


# A conversation that a host leads: what it has said so far is recorded, and what its model is to see
# comes back.

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
            outcomes = tuple(ToolResult(call_id, (Words(CANCELLED),), failed=True) for call_id in open_calls)
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


Key = TypeVar("Key")
Value = TypeVar("Value")

_LOG: Final = logging.getLogger("squidbot")
# What failed, in `safely`, where a request goes out as the program made it.
REQUEST: Final = "prepare this request"
PASS, RAISE = "pass", "raise"
# The key that an error names where the window of a session is too small.
WINDOW_KEY: Final = "window.default"
# Engines that were opened before this process was forked. They are never closed, nor collected: closing a connection to
# SQLite that crossed a fork destroys the file, as using it does.
_LEFT: Final[list[object]] = []
# How many conversations are held at once; one that was let go is read again from the store.
MOST_HELD: Final = 64
# Of how many it is known which model they had last, where that is not stored yet.
MOST_NEWEST: Final = 4096
# How many kinds of what was logged are known, so that each is logged once; the oldest are logged again.
MOST_TOLD: Final = 256
# Numbers make no other kind of failure.
_NUMBER: Final = re.compile(r"\d[\d,._]*")


class HostRuntime:
    """squidbot inside of one host. Threads may share it.

    `store` is the file that keeps everything; None: as `settings` say, which are a squidbot.toml, a mapping of its
    form, or None for the one in this folder. `budget` is the largest request and its answer in tokens, or a share of
    the model's window (`read_budget`); where the window is known to be smaller, the window counts; the user knows it
    as `budget_key`. `on_error` says what becomes of a failure of ours: "pass", the program goes on without squidbot, or
    "raise"; None: "pass", and the user has no such choice. `form`, `telling`,
    `volatile`, `is_whole` and `read` are the host's: see `Form`.
    """

    def __init__(  # noqa: PLR0913  # what a user may say, and what a plugin knows
        self,
        store: str | Path | None,
        *,
        host: str,
        form: str,
        telling: Callable[[Mapping[str, object]], object],
        volatile: Collection[str] = (),
        is_whole: bool = False,
        read: Callable[[str], object] = json.loads,
        budget: float | str | None = None,
        settings: str | Path | Mapping[str, object] | None = None,
        scope: Scope | None = None,
        on_error: str | None = None,
        budget_key: str = "budget=",
    ) -> None:
        """Check what can be checked without a file; `open` finds what else is wrong.

        Raises:
            ConfigError: the budget, the path or the scope is none, or `on_error` is unknown.
        """
        if on_error is not None and on_error not in (PASS, RAISE):
            raise ConfigError(
                f"on_error = {on_error!a:.60}: say {PASS!r} to go on without squidbot, or {RAISE!r} to stop"
            )
        self._host, self._form, self._identity = host, form, (telling, volatile, is_whole, read)
        if store is not None and not _is_file(store):
            raise ConfigError(f"path = {store!a:.60}: name the file that keeps everything, such as 'mem.db'")
        self._budget = read_budget(budget)
        self._settings = settings if store is None else _with_store(settings, store)
        # Whether the user has written settings, and so knows their keys.
        self._is_set_up = settings is not None or (store is None and Path("squidbot.toml").is_file())
        if scope is not None and not (isinstance(scope, Scope) and all(isinstance(part, str) for part in scope)):
            raise ConfigError(f"scope = {scope!a:.60}: it is a squidbot.Scope, each of its parts a text")
        self._scope = scope
        self._on_error, self._budget_key = on_error, budget_key
        self._choice = '; to stop instead, pass on_error="raise"' if on_error else ""
        self._engine: Engine | None = None
        self._pid = os.getpid()
        # By id, model, and the window that the host knows.
        self._held: OrderedDict[tuple[str, str, int | None], Conversation] = OrderedDict()
        self._newest: OrderedDict[str, tuple[str, str, int | None]] = OrderedDict()
        self._lock = threading.RLock()
        self._told: OrderedDict[str, None] = OrderedDict()

    @property
    def engine(self) -> Engine:
        """The engine, opened at first need, and again in a process that was forked since.

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
        """Read the settings and open the store now: what is wrong with them is found where a program starts.

        Raises:
            ConfigError: a setting is wrong.
            StoreError: the store can't be opened.
        """
        self.engine.wired.store.head("any")

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools for the host's model: what settings switch on is among them; without settings, or wrong ones, not.

        A wrong setting is told where the engine is opened. No file but the settings' is read.
        """
        from squidbot.config import load_settings  # noqa: PLC0415

        try:
            return offered(FOR_HOSTS, load_settings(self._settings).settings)
        except ConfigError:
            return HOST_DEFAULTS

    def offer_tools(self) -> tuple[Tool, ...]:
        """Return the tools for the host's model; where they can't be told, those of a host without settings."""
        return self.safely("offer its tools", "", lambda: self.tools, HOST_DEFAULTS)

    def conversation(self, session_id: str, model: str = "", window_tokens: int | None = None) -> Conversation:
        """Return the conversation of an id with a model, the same as long as it is held.

        `model` is what the host calls its model, `window_tokens` that model's window, if known. Without both it is the
        newest one of the id: who looks something up, or records a reply, need not know the model.

        Raises:
            ConfigError: a setting is wrong, or the id is none.
            StoreError: the store can't be opened.
        """
        with self._lock:
            engine = self.engine
            key = session_id, model, window_tokens
            newest = self._newest.get(session_id, key)
            if not model and window_tokens is None:
                key = newest
            held = self._held.get(key)
            if held is None:
                made = self._opened(*key)
                if newest in self._held:  # calls of one conversation follow each other, whatever model they are for
                    made.lock = self._held[newest].session.lock
                codec = engine.wired.codecs[self._form]
                held = self._held[key] = Conversation(made, Form(codec, *self._identity))
            self._newest[session_id] = key
            _keep(self._newest, session_id, MOST_NEWEST)
            _keep(self._held, key, MOST_HELD)
            return held

    def forget(self, session_id: str, seqs: Sequence[int], reason: str) -> None:
        """Take messages out for good, as `Session.forget` does; none of them is known any more, if it is said again.

        Raises:
            NotFoundError: a message is not there; nothing was forgotten.
            StoreError: nothing was forgotten.
        """
        session = self.conversation(session_id).session
        with session.lock:  # the other conversations go on meanwhile
            if seqs:
                session.forget(*seqs, reason=reason)
            with self._lock:
                for key in [each for each in self._held if each[0] == session_id]:
                    del self._held[key]

    def safely(
        self, what: str, session_id: str, act: Callable[[], Value], otherwise: Value, *, passes: bool = False
    ) -> Value:
        """Return what comes of an act of ours, or `otherwise` where it fails: the host goes on without squidbot (H1).

        `what` is what was tried, as in "squidbot could not ...". One event, and one line in the log for each kind of
        failure, say so. What ends a program passes. Where the user wants failures raised they are, but for one that
        `passes`, such as that of a tool, which the model is told of.

        Raises:
            Exception: what `act` raised, where the user wants it.
        """
        try:
            return act()
        except Exception as error:
            told = self._in_users_words(error)
            goes_on = "it is sent unchanged" if what == REQUEST else "the program goes on"
            cause = f"squidbot could not {what} in {self._host}; {goes_on}: {_said(told)}"
            if self._on_error == RAISE and not passes:
                if told is error:
                    raise
                raise told from error
            # Who has the choice hears of it once, with the first failure.
            self._tell_once(cause, self._choice)
            self._choice = ""
            if self._engine is not None:
                self._engine.wired.relay.notify(Event(events.DEGRADED, session_id, cause))
            return otherwise

    def answer(
        self, tool: str, session_id: str, talk: Callable[[], Conversation], arguments: Mapping[str, object]
    ) -> str:
        """Return what a call of one of our tools answers, as text for the model; that it failed is text, too."""
        failed = f"<{tool} is out of order; go on without it>"
        return self.safely(
            f"answer {tool}", session_id, lambda: call_tool(talk().session, tool, arguments), failed, passes=True
        )

    def _in_users_words(self, error: Exception) -> Exception:
        """Return an error that names what this user can change, who may have written no settings."""
        if not isinstance(error, BudgetError) or not error.key.startswith(WINDOW_KEY):
            return error
        if self._budget is not None:
            return error.to_raise(f"{self._budget_key}{self._budget:.12g}, which holds the answer, too")
        return error if self._is_set_up else error.to_raise(f"{self._budget_key}, or take a model with a larger window")

    def close(self) -> None:
        """Close the engine, if it was opened; a second call does nothing."""
        with self._lock:
            engine, self._engine = self._engine, None
            self._held.clear()
        if engine is not None:
            engine.close()

    def _opened(self, session_id: str, model: str, window_tokens: int | None) -> Session:
        """Return a session under the window that holds; without model and window under those that it had last."""
        engine = self.engine
        last = WINDOW.newest(engine.wired.store, session_id) if not model and window_tokens is None else None
        if last is None:
            window_tokens = self._window(model, window_tokens)
        elif (model := last.model) or self._budget is not None:
            same = self._budget is None and engine.wired.window(model) == last
            window_tokens = None if same else last.window_tokens
        return engine.session(
            session_id, model=model, window_tokens=window_tokens, form=self._form, scope=self._scope or Scope()
        )

    def _window(self, model: str, known: int | None) -> int | None:
        """Return the smaller one of budget and window, or the budget's share of the window; None: as settings say."""
        budget = self._budget
        if budget is None:
            return known
        window = None if known else self.engine.wired.window(model)
        tokens = known or (window.window_tokens if window else 0)
        is_known = window is None or window.source != "default"
        if budget < 1:
            if not is_known:
                self._tell_once(
                    f"budget={budget:g}: the window of the model {model!r} is not known, so this is a share of "
                    f"{tokens:,} tokens; give budget as a number of tokens, or the window as "
                    f"models.<name>.context_window in the settings"
                )
            return max(1, int(budget * tokens))
        if is_known and tokens < budget:
            self._tell_once(
                f"budget={int(budget)} is more than the window of the model {model!r} has, {tokens:,} tokens: "
                f"requests keep within the window; give a smaller budget, or none"
            )
            return tokens
        return int(budget)

    def _tell_once(self, text: str, advice: str = "") -> None:
        """Log something, each kind of it once, and some advice behind it."""
        with self._lock:
            kind = _NUMBER.sub("0", text)
            is_new = kind not in self._told
            self._told[kind] = None
            _keep(self._told, kind, MOST_TOLD)
        if is_new:
            _LOG.warning("%s%s", text, advice)


def call_tool(session: Session, name: str, arguments: Mapping[str, object]) -> str:
    """Answer a call of one of the tools for hosts, as text for the model; what went wrong is text, too.

    Where the next request has no room for the answer, the conversation is compacted first: the model can't do it.

    Raises:
        KeyError: there is no tool of that name.
    """
    tool = named(FOR_HOSTS, name, session.wired.loaded.settings)
    if tool is None:
        raise KeyError(name)
    try:
        # Models call several tools at once: what one takes of the room, the next one leaves.
        with session.lock:
            told = session.lookups.answer(tool, arguments, time.time(), HOST_HINTS)
            if told.wants_room and session.compact() is not None:
                told = session.lookups.answer(tool, arguments, time.time(), HOST_HINTS)
            return told.text
    except SquidbotError as error:
        return refused(error, "failed")


def _keep(known: OrderedDict[Key, Value], newest: Key, most: int) -> None:
    """Make a key the newest one, and let the oldest go where there are too many."""
    known.move_to_end(newest)
    while len(known) > most:
        known.popitem(last=False)


def _is_file(store: object) -> bool:
    """Return whether something is the path of a file: what the settings take (`checks`), and a path object."""
    spelled = os.fspath(store) if isinstance(store, os.PathLike) else store
    return isinstance(spelled, str) and bool(spelled.strip()) and not not_in_paths(spelled)


def _with_store(settings: str | Path | Mapping[str, object] | None, store: str | Path) -> Mapping[str, object]:
    """Return settings with a file to keep everything in; a model may add memories.

    Raises:
        ConfigError: a file of settings says already where.
    """
    if isinstance(settings, str | Path):
        raise ConfigError(f"a store and a file of settings: leave one out, {settings} says where with store.path")
    given = settings or {}
    memory = given.get("memory", {})
    return {
        **given,
        "memory": {"write": True, **memory} if isinstance(memory, dict) else memory,
        "store": {"path": str(store)},
    }


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())
    return (text if isinstance(error, SquidbotError) else f"{type(error).__name__}: {text}")[:300]


# What can be told of a conversation at a glance.

# How many of the newest messages are quoted, and how much of each.
NEWEST: Final = 6
QUOTED_CHARS: Final = 300
# About as many characters of English as a token has.
TOKEN_CHARS: Final = 4


def told_of(store: TranscriptStore, session_id: str, messages: int) -> str:
    """Return how long a conversation is and when it was held, as one phrase."""
    ends = store.pick(session_id, {0, messages - 1}) if messages else []
    times = [stamp(row.time) for row in ends]
    held = f", {times[0]} to {times[-1]} UTC" if times and all(times) else ""
    return f"{messages:,} message{'s' * (messages != 1)}{held}"


def overview(shelf: SessionContext, session: Session, most_tokens: int) -> str:
    """Return how a conversation began, its notes as its next request has them, and what was said last.

    Notes are cut to about `most_tokens`, the oldest first. Of the newest messages system text, context and what tools
    put out are counted only, unless `ui.show_context_messages` is set (P-05).

    Raises:
        StoreError: the store failed.
    """
    messages = shelf.transcripts.head(shelf.session_id)[0]
    first = max(1, messages - NEWEST)
    everything = session.wired.loaded.settings.ui.show_context_messages
    lines = [_quoted(row, shelf) for row in shelf.read(0, 0)]
    notes = "\n".join(_notes(session))[-most_tokens * TOKEN_CHARS :]
    lines += [f"notes:\n{notes}"] if notes else []
    lines += [f"[{first - 1:,} messages between]"] if first > 1 else []
    newest = shelf.read(first, messages - 1) if messages > 1 else []
    shown = [row for row in newest if everything or row.category not in BEHIND_SCENES]
    lines += [_quoted(row, shelf) for row in shown]
    hidden = len(newest) - len(shown)
    lines += [f"[{hidden} of these are system text, context or tool output, not shown]"] if hidden else []
    about = f"{told_of(shelf.transcripts, shelf.session_id, messages)}"
    return fence("conversation", about, "\n".join(lines))


def _notes(session: Session) -> list[str]:
    try:
        standing = session.core.room().standing
    except BudgetError:
        return []
    return [part.text for part in standing.sent if part.kind is Kind.SUMMARY and part.text]


def _quoted(row: StoredMessage, shelf: SessionContext) -> str:
    return f"m{row.seq} {speaker(row)}: {clip(one_line(body_of(row, shelf.renderer)), QUOTED_CHARS)}"


# What is refused: by a provider a request that is too long, where a host has no error for that; by us
# a switch.

# The words of Anthropic, OpenAI, Gemini, Mistral, vLLM, llama.cpp and LM Studio. Tokens alone are no sign: limits of a
# minute are counted in them, too.
_WORDS: Final = re.compile(
    r"prompt is too long|request_too_large|maximum (?:context|input) length|maximum number of tokens allowed"
    r"|context_length_exceeded|exceed.{0,50}\bcontext|input is too (?:long|large)|longer than the maximum"
    r"|greater than the context length|context (?:the )?overflows|too large for model with \d+ maximum context",
    re.IGNORECASE | re.DOTALL,
)
# The states by which HTTP refuses what was asked for; none is known of a model in this process.
_REFUSED: Final = (None, 400, 413, 422)


def is_too_long(error: BaseException) -> bool:
    """Say whether an error of a model is its provider's refusal of a request that does not fit the window."""
    if getattr(error, "status_code", None) not in _REFUSED:
        return False
    return _WORDS.search(f"{getattr(error, 'code', '')} {error}") is not None


def server_held(switch: str) -> ConfigError:
    """Return the error for a switch that has the provider hold the conversation, by the switch's name (V10)."""
    return ConfigError(
        f"{switch} has the provider keep the conversation, which squidbot then can't bound: leave it out, or leave "
        "squidbot out"
    )


# Whether and how squidbot is switched on in a host that loads it wherever both are installed: a file
# of the host's.


class Switch(NamedTuple):
    """What a user said when switching squidbot on.

    Attributes:
        store: the file that keeps everything; "" where `settings` say it.
        budget: the largest request and its answer in tokens, or a share of the window below 1; None: the window.
        settings: a squidbot.toml; "" for none.
    """

    store: str = ""
    budget: float | None = None
    settings: str = ""


def read(path: Path) -> Switch:
    """Return how squidbot is switched on.

    Raises:
        ConfigError: it is not, or the file says nothing of the kind; the text says which.
    """
    try:
        told = json.loads(path.read_text("utf-8"))
        return Switch(str(told["store"]), read_budget(told["budget"]), str(told["settings"]))
    except FileNotFoundError as error:
        raise ConfigError("it is not switched on") from error
    except ConfigError as error:
        raise ConfigError(f"{path} can't be read: {error}") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} can't be read: {error!r}") from error


def write(path: Path, switch: Switch) -> None:
    """Switch squidbot on.

    Raises:
        OSError: the file can't be written.
    """
    path.write_text(json.dumps(switch._asdict(), indent=2) + "\n", "utf-8")
