"""Records: small values beside the messages of a session, how each kind is stored and read, and how they are appended.

A session has records of many kinds (`core.kinds` lists them). Several processes may write to one session: a writer that
came too late decides again, after a pause, for a while.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final, ForwardRef, Generic, TypeAlias, TypeVar

from squidbot.core.errors import BusyError, DamagedStoreError, StoreError, UnconfirmedError
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractContextManager

    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import TranscriptStore


# Waits for a random part of a number of seconds, and returns the time in seconds, by a monotonic clock.
Wait: TypeAlias = "Callable[[float], float]"
# Opens a claim to a session's next plan: yields what takes it, and returns whether it did; None: this process has it.
Claimed: TypeAlias = "Callable[[str], AbstractContextManager[Callable[[], bool] | None]]"
Value = TypeVar("Value")
State = TypeVar("State")
Done = TypeVar("Done")

# A person waits for the turn. Writers that never stop are a program gone wrong, or far too many.
MOST_SECONDS: Final = 12.0
# What an append takes; then twice as long each time, so that many who wait come in one behind the other, up to half a
# second: after that nobody else has been there for long.
FIRST_SECONDS: Final = 0.002
LONGEST_SECONDS: Final = 0.5
# A message is mostly a few kilobytes, the output of a tool up to megabytes.
PAGE_MESSAGES: Final = 256
# The JSON types of the annotations of fields.
_TYPES: Final[dict[str, set[type]]] = {
    "int": {int},
    "str": {str},
    "bool": {bool},
    "float": {float, int},
    "None": {type(None)},
}


_written: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=astuple).encode


def as_fields(value: object) -> dict[str, object]:
    """Return the fields of a value by name, as `fields` reads them, without default values."""
    cls = type(value)
    # A named tuple keeps its defaults there, a dataclass on itself or, with slots, in the fields that it lists.
    listed = {name: field.default for name, field in getattr(cls, "__dataclass_fields__", {}).items()}
    defaults = {**listed, **getattr(cls, "_field_defaults", {})}
    present = {name: getattr(value, name) for name in cls.__annotations__}
    return {name: item for name, item in present.items() if name not in defaults or item != defaults[name]}


def fields(cls: type[Value], check: Callable[[Value], Value] | None = None) -> Callable[[str], Value]:
    """Return a decoder that makes a value of a class from a JSON text of its fields by name, each of its own type.

    `check` returns the value as it is used, or raises ValueError.
    """
    hints = cls.__annotations__.items()
    types = {name: hint.__forward_arg__ if isinstance(hint, ForwardRef) else str(hint) for name, hint in hints}
    plain = {name: _types(hint) for name, hint in types.items()}

    def decode(text: str) -> Value:
        body = json.loads(text)
        for name, value in body.items():
            if type(value) not in plain.get(name, ()):
                body[name] = _typed(types.get(name, ""), value)
        decoded = cls(**body)
        return check(decoded) if check else decoded

    return decode


def _typed(wanted: str, value: object) -> object:
    outer, inside, inner = wanted.partition("[")
    if inside:
        if not isinstance(value, list):
            raise TypeError(f"{value!a:.40} is no list")
        items = (_typed(inner.rstrip("]").partition(",")[0], item) for item in value)
        return frozenset(items) if outer == "frozenset" else tuple(items)
    allowed = _types(wanted)
    if allowed and type(value) not in allowed:  # of JSON nothing is of a class made of another: no bool is an int
        raise TypeError(f"{value!a:.40} is not of the type {wanted}")
    return value


@cache
def _types(wanted: str) -> set[type]:
    """Return the types that JSON may have for an annotation; an empty set means any."""
    known = [_TYPES.get(name) for name in wanted.split(" | ")]
    return set[type]().union(*filter(None, known)) if None not in known else set()


@dataclass(frozen=True, eq=False)
class RecordKind(Generic[Value, State]):
    """One kind of record.

    Attributes:
        name: what the store calls it.
        decode: makes a value of its JSON text; raises ValueError, KeyError, TypeError and their like.
        fold: makes of all values of a session, oldest first, what they say together.
        encode: makes of a value what JSON can have; its fields by name where nothing else is given.
        title: what errors call it; its name where nothing else is given.
        without: makes the value that takes the place of another one where these messages are forgotten, None where it
            says nothing of them. Kinds that quote messages have it.
        until: returns the message behind the last one that a value speaks of. Kinds without it speak of none, or hold
            on every line alike.
    """

    name: str
    decode: Callable[[str], Value]
    fold: Callable[[Sequence[Value]], State]
    encode: Callable[[Value], object] = as_fields
    title: str = ""
    without: Callable[[Value, AbstractSet[int]], Value | None] | None = None
    until: Callable[[Value], int] | None = None

    def record(self, number: int, value: Value) -> Record:
        """Return the record of this number that holds a value."""
        return Record(self.name, number, _written(self.encode(value)))

    def records(self, values: Iterable[Value], first_number: int = 0) -> list[Record]:
        """Return the records of several values, numbered from there on."""
        return [self.record(number, value) for number, value in enumerate(values, first_number)]

    def behind(self, newest: Record | None, value: Value) -> Record:
        """Return the record of a value behind the newest one of its kind, None for none."""
        return self.record(newest.number + 1 if newest else 0, value)

    def due(self, newest: Record | None, value: Value) -> list[Record]:
        """Return the record of a value, to be stored behind the newest one; none if that one says the same.

        Raises:
            DamagedStoreError: the newest one can't be read.
        """
        return [] if newest and self.read(newest) == value else [self.behind(newest, value)]

    def read(self, record: Record) -> Value:
        """Return the value that a record holds.

        Raises:
            DamagedStoreError: it holds none.
        """
        try:
            return self.decode(record.body)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise DamagedStoreError(f"{self.title or self.name} {record.number} can't be read: {error}") from error

    def all(self, store: TranscriptStore, session_id: str, first_number: int = 0) -> list[Value]:
        """Return the values of a session from that number on, oldest first; raises as `read`."""
        return [self.read(record) for record in store.records(session_id, self.name, first_number)]

    def newest(self, store: TranscriptStore, session_id: str) -> Value | None:
        """Return the newest value of a session, None if it has none; raises as `read`."""
        last = store.last_record(session_id, self.name)
        return None if last is None else self.read(last)

    def state(self, store: TranscriptStore, session_id: str) -> State:
        """Return all values of a session, folded; raises as `read`."""
        return self.fold(self.all(store, session_id))

    def count_before(self, store: TranscriptStore, session_id: str, seq: int) -> int:
        """Return how many of a session's records, from the first, speak of messages before one alone; as `read`."""
        values = self.all(store, session_id)
        until = self.until or (lambda _: 0)
        return next((count for count, value in enumerate(values) if until(value) > seq), len(values))

    def without_messages(self, store: TranscriptStore, session_id: str, seqs: AbstractSet[int]) -> Iterator[Record]:
        """Yield the replacements of the records of a session that quote these messages."""
        if self.without is not None:
            for number, value in enumerate(self.all(store, session_id)):
                if (left := self.without(value, seqs)) is not None:
                    yield self.record(number, left)


def messages_of(store: TranscriptStore, session_id: str, first_seq: int = 0) -> Iterator[StoredMessage]:
    """Yield the messages of a session from one on, in order; a page of them is read at once."""
    messages = store.head(session_id)[0]
    for first in range(first_seq, messages, PAGE_MESSAGES):
        yield from store.read(session_id, first, min(messages, first + PAGE_MESSAGES) - 1)


def pauses(wait: Wait | None = None, longest_seconds: float = LONGEST_SECONDS) -> Iterator[None]:
    """Yield for each try, with longer and longer pauses between them, until `MOST_SECONDS` have passed.

    Without `wait` nobody waits, and each pause counts for as long as it would be at most.
    """
    begun = wait(0.0) if wait else 0.0
    longest, passed = FIRST_SECONDS, 0.0
    while passed < MOST_SECONDS:
        yield
        passed = wait(longest) - begun if wait else passed + longest
        longest = min(2 * longest, longest_seconds)


def retry(  # noqa: PLR0913  # where, what, and how it is told and waited for
    store: TranscriptStore,
    session_id: str,
    act: Callable[[tuple[int, int]], Done],
    undone: str,
    *,
    wait: Wait | None = None,
    look: Callable[[], tuple[int, int]] | None = None,
) -> Done:
    """Call `act` with the numbers of messages and records, and return its result; again if another writer came first.

    `undone` says what was not done, as a sentence's end. `look` returns the two numbers in place of the store.

    Raises:
        BusyError: others never stopped.
        StoreError: the store failed; UnconfirmedError if it is unknown whether `act` was done.
    """
    look = look or partial(store.head, session_id)
    for _ in pauses(wait):
        head = look()
        try:
            return act(head)
        except UnconfirmedError:  # what is behind `head` may be its own
            raise
        except StoreError:
            if store.head(session_id) == head:
                raise
    raise BusyError(session_id, MOST_SECONDS, undone)


def check_unchanged(session_id: str, head: tuple[int, int], seen: tuple[int, int] | None) -> None:
    """Check that nobody has written to a session since its numbers of messages and records were those.

    Raises:
        StoreError: others have.
    """
    if seen is not None and head != seen:
        raise StoreError(f"{session_id}: others have written meanwhile; nothing was written; try again")


def append(  # noqa: PLR0913  # as for `retry`
    store: TranscriptStore,
    session_id: str,
    kind: RecordKind[Value, State],
    decide: Callable[[], Value | None],
    undone: str,
    *,
    wait: Wait | None = None,
) -> Value | None:
    """Append the value that `decide` returns, durably, and return it; None for nothing.

    It is decided again where another writer came first: what `decide` reads of this kind is the newest there is.

    Raises:
        BusyError, StoreError: nothing was appended.
    """

    def act(head: tuple[int, int]) -> Value | None:
        newest = store.last_record(session_id, kind.name)
        value = decide()
        if value is not None:
            store.append(session_id, head[0], (), (kind.behind(newest, value),))
        return value

    return retry(store, session_id, act, undone, wait=wait)
