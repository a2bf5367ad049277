"""A store as commands open it: its sessions, under their own windows, and their messages."""

from __future__ import annotations

import difflib
from bisect import bisect_right
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import click

from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.sqlite3.files import has_log
from squidbot.bootstrap import wire
from squidbot.cli.output import config_given
from squidbot.cli.texts import count, named, span
from squidbot.config import load_settings
from squidbot.core.errors import BudgetError, ConfigError, DamagedStoreError, NotFoundError, SquidbotError, StoreError
from squidbot.core.plan import PlanRecord
from squidbot.core.ports import SupportsSessions
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.core.transcript.lineage import BELOW, CALLER, Lineage, above, children_of, parent_of
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.scopes import spelled
from squidbot.core.transcript.windows import WINDOW
from squidbot.hookspecs import hookimpl
from squidbot.memory import provider_of, sessions_of
from squidbot.services.recordings import default_store
from squidbot.wiring.registry import database, store_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from squidbot.bootstrap import Wired
    from squidbot.config import Loaded
    from squidbot.core.messages import ContextWindow, StoredMessage, ToolCall
    from squidbot.core.ports import Codec, MemoryStore
    from squidbot.core.session import CoreSession
    from squidbot.hookspecs import Register, Store

# How many similar ids, or ids with the same beginning, an error names.
MOST_NAMED = 5
# The length of an unknown id in errors.
MOST_ID_CHARS = 60
# How many rows of a whole session are read at once.
PAGE_ROWS = 1_000
# A tool's result follows its call, mostly directly: search this many messages back.
CALLS_BACK = 64


@dataclass(frozen=True, slots=True)
class SeenSession:
    """A session under its own window, with the meter of its texts."""

    wired: Wired
    core: CoreSession
    meter: Meter


class ChildSession(NamedTuple):
    """A session, the call of its parent that it works for ("" if unknown), and since when, in seconds since 1970."""

    session_id: str
    call_id: str
    at: float | None

    def call_in(self, rows: Sequence[StoredMessage]) -> tuple[StoredMessage, str] | None:
        """Return the message of the parent with that call, and the call's id; "" if only its time tells."""
        named = [(row, call_id) for row in rows for call_id in row.call_ids if self._names(call_id)]
        if named or self.call_id or self.at is None:
            before = [one for one in named if not _is_later(one[0], self.at)]
            return next(iter([*reversed(before), *named]), None)
        row = _calling_at(rows, self.at)
        return (row, "") if row else None

    def _names(self, call_id: str) -> bool:
        """Return whether it works for a call: some sessions have the call's id in theirs, as it is or spelled."""
        if self.call_id or not call_id:
            return bool(call_id) and call_id == self.call_id
        return any(f"/{each}/" in f"{self.session_id}/" for each in (call_id, spelled(call_id)))


def _calling_at(rows: Sequence[StoredMessage], at: float) -> StoredMessage | None:
    """Return the newest message that had calls without results at a time; None if there is none."""
    before = [row for row in rows if row.time is not None and row.time <= at]
    answered = {result for row in before for result in row.result_ids}
    return next((row for row in reversed(before) if row.call_ids and not answered.issuperset(row.call_ids)), None)


def _is_later(row: StoredMessage, at: float | None) -> bool:
    return row.time is not None and at is not None and row.time > at


class ShownMessage(NamedTuple):
    """A message as stored, its text without tool calls, its calls, and (id, tool) of the calls that it answers.

    The tool is "" if its call was not found; `codec` is `None` if none reads the payload. `children` are the sessions
    that work for its calls, each with the call's id, "" where only the time shows that it is one of them. `line` is the
    line that it was recorded on, if the one that is talked on lacks it.
    """

    row: StoredMessage
    text: str
    calls: tuple[ToolCall, ...]
    answers: tuple[tuple[str, str], ...]
    codec: Codec | None = None
    children: tuple[tuple[str, str], ...] = ()
    line: int | None = None

    @property
    def handle(self) -> str:
        """The id for people and models."""
        return span(self.row.seq)

    @property
    def who(self) -> str:
        """Its author: its role, and the tools that it answers for."""
        return " ".join(filter(None, (self.row.role, ", ".join(tool or call_id for call_id, tool in self.answers))))

    @property
    def is_cut(self) -> bool:
        """Whether it was truncated on arrival."""
        return self.row.sent_text is not None or self.row.sent_arguments is not None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        row = self.row
        return {
            "id": self.handle,
            "turn": span(row.turn),
            "other_line": self.line,
            "role": row.role,
            "category": row.category.value,
            "time": row.time,
            "tokens": row.cost.estimate,
            "bound": row.cost.bound,
            "sent_tokens": row.sent_cost.estimate,
            "sent_bound": row.sent_cost.bound,
            "counter": row.counter,
            "text": self.text,
            "tool_calls": [{"id": call.id, "tool": call.name, "parameters": call.arguments} for call in self.calls],
            "answers": [{"id": call_id, "tool": tool} for call_id, tool in self.answers],
            "children": [{"session": child, "call": call_id or None} for child, call_id in self.children],
            "truncated": self.is_cut,
            "sent_text": row.sent_text,
            "notice": row.notice,
        }


def shown_messages(rows: Iterable[StoredMessage], codecs: Mapping[str, Codec]) -> list[ShownMessage]:
    """Return rows decoded. A payload that no codec can read is shown as it is."""
    tools: dict[str, str] = {}
    shown = []
    for row in rows:
        text, codec = row.payload, codecs.get(row.codec)
        calls: tuple[ToolCall, ...] = ()
        reads: Codec | None = None
        if codec is not None:
            with suppress(ValueError):
                message = codec.decode(row.payload)
                text, calls, reads = message.text, message.calls, codec
        answers = tuple((call_id, tools.get(call_id, "")) for call_id in row.result_ids)
        shown.append(ShownMessage(row, text, calls, answers, reads))
        tools.update({call.id: call.name for call in calls})
    return shown


class OpenStore:
    """A store, and the settings it was opened with. No method writes."""

    def __init__(self, wired: Wired) -> None:
        """Use `open_store`."""
        self.wired = wired

    @property
    def store(self) -> Store:
        """Both ports."""
        return self.wired.store

    @property
    def file(self) -> str:
        """The absolute path of a store in SQLite; "" for another one."""
        store = self.wired.loaded.settings.store
        is_file = bool(store.path) and store.adapter in {None, "sqlite3", _ReadOnlyStore.name}
        return self.wired.loaded.absolute(store.path) if is_file else ""

    @property
    def codecs(self) -> Mapping[str, Codec]:
        """The forms of messages, by tag."""
        return self.wired.codecs

    def codec(self, tag: str) -> Codec:
        """Return the codec of a form of messages.

        Raises:
            ConfigError: no loaded extension has it.
        """
        if tag not in self.codecs:
            known = ", ".join(self.codecs)
            raise ConfigError(f"no codec reads messages of the form {tag!r} (known: {known}); load its extension")
        return self.codecs[tag]

    def sessions(self) -> list[tuple[str, int]]:
        """Return (id, number of messages) of every session, oldest first.

        Raises:
            StoreError: the store can't list its sessions, or failed.
        """
        return sessions_of(self.store)

    def line(self, session_id: str, number: int | None = None) -> LineStore:
        """Return the store as a line of a session shows it; None: the line that is talked on.

        Raises:
            click.UsageError: there is no such line.
        """
        try:
            line = LineStore(self.store, session_id, number)
            line.head(session_id)
        except NotFoundError as error:
            raise click.UsageError(str(error)) from error
        return line

    def find(self, given: str) -> str:
        """Return the id of the session of this name, or of the only one whose id begins with it.

        Raises:
            SquidbotError: there is none, or more than one; the text names similar ones.
        """
        if 1 <= len(given) <= 1024 and self.store.head(given) != (0, 0):
            return given
        ids = [name for name, _ in self.sessions()]
        found = [name for name in ids if given and name.startswith(given)]
        if len(found) != 1:
            raise SquidbotError(_not_one(given, found, ids))
        return found[0]

    def chosen(self, given: str | None) -> list[str]:
        """Return the session of this name, or all sessions for `None`."""
        return [self.find(given)] if given else [name for name, _ in self.sessions()]

    def length(self, session_id: str) -> int:
        """Return how many messages a session has."""
        return self.store.head(session_id)[0]

    def check_message(self, session_id: str, seq: int | None) -> None:
        """Check that a session has a message; `None` is any.

        Raises:
            click.UsageError: it does not.
        """
        messages = self.length(session_id)
        if seq is not None and seq >= messages:
            raise click.UsageError(f"there is no m{seq}: the session has {count(messages, 'message')}")

    def rows(self, session_id: str, first_seq: int, last_seq: int) -> tuple[list[StoredMessage], list[int]]:
        """Return the messages of a range, both ends included, and the seqs of damaged ones, which are left out.

        Raises:
            DamagedStoreError: damage keeps the store from reading the intact rows.
        """
        try:
            return self.store.read(session_id, first_seq, last_seq), []
        except DamagedStoreError:
            intact = getattr(self.store, "read_intact", None)
            if intact is None:
                raise
            return cast("tuple[list[StoredMessage], list[int]]", intact(session_id, first_seq, last_seq))

    def pages(self, session_id: str, first_seq: int = 0) -> Iterator[tuple[list[StoredMessage], list[int]]]:
        """Yield all messages from `first_seq` on, a page at a time, as `rows` does."""
        messages = self.length(session_id)
        for start in range(first_seq, messages, PAGE_ROWS):
            yield self.rows(session_id, start, min(start + PAGE_ROWS, messages) - 1)

    def shown(self, session_id: str, first_seq: int, last_seq: int) -> tuple[list[ShownMessage], list[int]]:
        """Return the messages of a range decoded, and the seqs of damaged ones."""
        rows, damaged = self.rows(session_id, max(0, first_seq - CALLS_BACK), last_seq)
        found = [message for message in shown_messages(rows, self.codecs) if message.row.seq >= first_seq]
        if any(message.calls for message in found):
            # The results of the last calls come soon after them.
            later = self.rows(session_id, last_seq + 1, min(last_seq + CALLS_BACK, self.length(session_id) - 1))[0]
            children = self._calling(session_id, [*(message.row for message in found), *later])
            found = [message._replace(children=tuple(children.get(message.row.seq, ()))) for message in found]
        line = self.line(session_id)
        if line.lines.made:
            found = [
                one if line.has(one.row.seq) else one._replace(line=line.lines.line_of(one.row.seq)) for one in found
            ]
        return found, [seq for seq in damaged if seq >= first_seq]

    def _calling(self, session_id: str, rows: Sequence[StoredMessage]) -> dict[int, list[tuple[str, str]]]:
        """Return the sessions that work for the calls of these messages, by the messages' seqs; see `ShownMessage`."""
        found: dict[int, list[tuple[str, str]]] = {}
        for name in self.children(session_id):
            with suppress(DamagedStoreError):
                for child in self._callers(name):
                    if place := child.call_in(rows):
                        found.setdefault(place[0].seq, []).append((name, place[1]))
        return found

    def _callers(self, session_id: str) -> list[ChildSession]:
        """Return the calls that a session works for, oldest first; if none is recorded, when it began.

        Raises:
            DamagedStoreError: a record or a message can't be read.
        """
        if callers := CALLER.all(self.store, session_id):
            return [ChildSession(session_id, *caller) for caller in callers]
        began = self.store.pick(session_id, {0}) if self.length(session_id) else []
        parent = parent_of(self.store, session_id)
        return [ChildSession(session_id, "", parent.at if parent else began[0].time if began else None)]

    def children(self, session_id: str) -> list[str]:
        """Return the sessions directly below one, oldest first: those that go on from it, and those with an id below.

        What can't be read, and what the store can't list, is left out.
        """
        known = set[str]()
        with suppress(DamagedStoreError):
            known = {one.other for one in children_of(self.store, session_id)}
        every = dict(self.sessions()) if isinstance(self.store, SupportsSessions) else dict.fromkeys(sorted(known), 0)
        return [name for name in every if name in known or above(name, every.__contains__) == session_id]

    def parent(self, session_id: str) -> Lineage | None:
        """Return the session that one goes on from, or that its id is below.

        Raises:
            DamagedStoreError: a record can't be read.
        """
        if known := parent_of(self.store, session_id):
            return known
        found = above(session_id, lambda name: self.store.head(name) != (0, 0))
        return Lineage(found, BELOW, 0) if found else None

    def caller(self, session_id: str, parent_id: str) -> tuple[int, str] | None:
        """Return the message of its parent whose call a session works for now, and the call's id; `None` if unknown.

        The id is "" if only the time tells. Raises as `parent`.
        """
        child, messages = self._callers(session_id)[-1], self.length(parent_id)
        if child.at is None:
            place = messages
        else:
            at = child.at
            place = bisect_right(range(messages), at, key=lambda seq: self.store.pick(parent_id, {seq})[0].time or 0.0)
        found = child.call_in(self.rows(parent_id, max(0, place - CALLS_BACK), min(place, messages - 1))[0])
        return (found[0].seq, found[1]) if found else None

    def plans(self, session_id: str) -> list[PlanRecord]:
        """Return every plan of a session, oldest first.

        Raises:
            DamagedStoreError: one can't be read.
        """
        return [PlanRecord.from_json(record.body) for record in self.line(session_id).records(session_id, "plan")]

    def window(self, session_id: str) -> tuple[ContextWindow, str]:
        """Return the window that a session ran under, and its source.

        "recorded"; "settings" (the present ones give exactly the window of its newest plan); "assumed" (the present
        ones, and nothing shows whether they were its own).

        Raises:
            DamagedStoreError: its record can't be read.
            BudgetError: it has none, and the settings leave no token for input.
        """
        recorded = WINDOW.newest(self.store, session_id)
        if recorded is not None:
            return recorded, "recorded"
        stored = self.line(session_id).last_record(session_id, "plan")
        wanted = PlanRecord.from_json(stored.body).window_id if stored else None
        for alias in ("", *self.wired.loaded.settings.models):
            try:
                window = self.wired.window(alias)
            except BudgetError:
                continue
            if window.window_id == wanted:
                return window, "settings"
        assumed = self.wired.window()
        # A plan made under another window would not be in force, so keep the id of its window.
        return (assumed if wanted is None else replace(assumed, window_id=wanted)), "assumed"

    def seen(self, session_id: str) -> SeenSession:
        """Return the engine's session under its own window and counter; raises as `window`."""
        window, _ = self.window(session_id)
        meter = self._meter(window)
        core = self.wired.engine.session(session_id, window, meter, self.wired.history(window))
        return SeenSession(self.wired, core, meter)

    def session(self, session_id: str) -> CoreSession:
        """Return the engine's session under its own window; raises as `window`."""
        return self.seen(session_id).core

    def _meter(self, window: ContextWindow) -> Meter:
        """Return the meter that the window names, if its counter is available; else that of the settings."""
        meter = self.wired.meter(window.model)
        if meter.name == window.counter:
            return meter
        policy, _, physical = window.counter.rpartition("/")
        try:
            return Meter(self.wired.counter(physical), builtin_counter(policy) if policy else None)
        except ConfigError:
            return meter


class _ReadOnlyStore:
    """The store of a SQLite file as commands open it: created only on request, never changed by reading.

    `follows`: it sees what others write from now on; then facts are only read, too.
    """

    name = "_sqlite3-looking"

    def __init__(self, *, writes: bool, makes: bool = False, follows: bool = False) -> None:
        self._writes = writes
        self._makes = makes
        self._follows = follows and not writes

    @hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.store(self.name, self._store)
        register.memory(self.name, self._facts)

    @staticmethod
    def _facts(path: str) -> MemoryStore:
        from squidbot.adapters.sqlite3.memory.store import SqliteMemoryStore  # noqa: PLC0415  # most need none

        if not Path(path).exists():
            raise NotFoundError(f"{path}: no durable facts are stored there yet")
        return SqliteMemoryStore(path, read_only=True)

    def _store(self, path: str) -> Store:
        if self._follows:
            return SqliteStore(path, read_only=True, follows=True)
        # At rest, a file opened as usual and not written to stays unchanged. But whoever closes one last moves what its
        # log holds into the file, such as what a crashed host has left.
        in_use = has_log(path)
        return SqliteStore(path, create=self._makes, read_only=in_use and not self._writes)


@contextmanager
def open_store(  # noqa: PLR0913  # how it is opened
    path: str | None,
    *,
    writes: bool = False,
    makes: bool = False,
    tenant: str | None = None,
    follows: bool = False,
    config: str | None = None,
) -> Iterator[OpenStore]:
    """Yield the store of a file; for `None` that of ./squidbot.toml, else that of coding agents, if there is one.

    Other settings are from ./squidbot.toml, or from the file of --config.

    Unless `writes`, no byte of a SQLite file changes; `makes` creates a missing one. `tenant` goes before that of the
    settings. `follows`: for long, and by several threads: it shows what others write meanwhile. `config` names
    another file of settings, for commands without that option.

    Raises:
        ConfigError: a setting is wrong, no store is named, or a file has no tenants.
        StoreError: there is no such file, or it can't be opened.
    """
    loaded = _loaded(path, config)
    if tenant is not None:
        if store_name(loaded) != "psycopg":
            raise ConfigError("only a store in PostgreSQL has tenants; leave --tenant out")
        loaded = loaded.changed(store={"tenant": tenant})
    store = loaded.settings.store
    if store.path and store.adapter in {None, "sqlite3"}:
        if not makes and not Path(loaded.absolute(store.path)).exists():
            raise StoreError(f"{store.path}: no such file; pass --store FILE.db")
        # Facts stay where they were: beside the sessions, whatever opens these.
        provider, facts = provider_of(loaded)
        memory = {"provider": provider, "path": facts}
        if follows and not writes and provider == "sqlite3":
            memory |= {"provider": _ReadOnlyStore.name, "embedder": "none"}
        loaded = loaded.changed(store={"adapter": _ReadOnlyStore.name}, memory=memory)
    with ExitStack() as stack:
        is_asked = store_name(loaded) == "psycopg" and not makes
        # The server stays open: the store shares its connections, and what they know of the tables.
        if is_asked and not stack.enter_context(closing(database(loaded))).version():
            raise StoreError(
                f"{loaded.store_place}: no tables yet; squidbot store migrate makes them, as the schema's owner"
            )
        opened = _ReadOnlyStore(writes=writes, makes=makes, follows=follows)
        yield OpenStore(stack.enter_context(closing(wire(loaded, [opened]))))


def settings_of(path: str | None) -> Loaded:
    """Return the settings with the store of `open_store`.

    Raises:
        ConfigError: a setting is wrong, or no store is named.
    """
    return _loaded(path)


def file_of(path: str | None) -> str:
    """Return the file of a store as an absolute path; `path` as in `open_store`. It may be missing or damaged.

    Raises:
        ConfigError: a setting is wrong, no store is named, or it is not a SQLite file.
    """
    loaded = _loaded(path)
    store = loaded.settings.store
    if not store.path or store.adapter not in {None, "sqlite3"}:
        raise ConfigError(f"the store {store.adapter} is not a file; pass --store FILE.db")
    return loaded.absolute(store.path)


@contextmanager
def without_store(loaded: Loaded) -> Iterator[Wired]:
    """Yield an engine from settings, with sessions in memory: reading must not create a store.

    Raises:
        ConfigError: an adapter or extension of the settings is missing.
    """
    wired = wire(loaded.changed(store={"path": "", "url": "", "adapter": "stdlib"}))
    try:
        yield wired
    finally:
        wired.close()


def is_address(path: str) -> bool:
    """Return whether `--store` names a database rather than a file."""
    return "://" in path


def with_store(loaded: Loaded, path: str) -> Loaded:
    """Return settings with the store in this file, or at this address."""
    if is_address(path):
        return loaded.changed(store={"path": "", "url": path, "adapter": None})
    return loaded.changed(store={"path": str(Path(path).absolute()), "url": "", "adapter": "sqlite3"})


def _loaded(path: str | None, config: str | None = None) -> Loaded:
    loaded = load_settings(config or config_given())
    if path is not None:
        return with_store(loaded, path)
    if names_no_store(loaded):
        agents = default_store()
        if not agents.exists():
            raise ConfigError("no store: pass --store FILE.db, or set store.path or store.url in ./squidbot.toml")
        return with_store(loaded, str(agents))
    return loaded


def names_no_store(loaded: Loaded) -> bool:
    """Return whether settings leave it open where sessions are: then commands take those of coding agents."""
    return store_name(loaded) == "stdlib" and loaded.settings.store.adapter is None


def _not_one(given: str, found: list[str], ids: list[str]) -> str:
    """Return the error text if no session, or more than one, has this name."""
    shown = f"{given[:MOST_ID_CHARS]!r}"
    if found:
        return f"{count(len(found), 'session')} begin with {shown}: {_named(found)}"
    holding = [name for name in ids if given and given.lower() in name.lower()]
    alike = difflib.get_close_matches(given, ids, MOST_NAMED, 0.4) if given else []
    near = holding + [name for name in alike if name not in holding]
    if near:
        return f"no session {shown}; near it: {_named(near)}"
    return f"no session {shown}; there are: {_named(ids)}" if ids else "the store has no session"


def _named(ids: list[str]) -> str:
    return named([name[:MOST_ID_CHARS] for name in ids], MOST_NAMED, ", ")
