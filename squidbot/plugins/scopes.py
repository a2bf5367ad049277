"""Whose durable facts a call of a host reads and writes: a user's, one conversation's, or those that all share.

Of agents within agents: which conversation and which user a sub-agent has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

from squidbot.core.errors import ConfigError
from squidbot.core.memories import SHARED, Scope
from squidbot.core.transcript.scopes import MOST_ID_CHARS, SCOPE, short_id, spelled
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.ports import TranscriptStore

#: The type of `scope=`: a scope, a function of the host's context, or None to look for a user's id.
GivenScope: TypeAlias = "Scope | Callable[[Any], Scope | str | None] | None"
# The key or attribute of a host's context that names the user.
USER_ID: Final = "user_id"
_KINDS: Final = "a squidbot.Scope of strings, squidbot.SHARED, or a function that returns a Scope, a user's id or None"


def checked(given: object) -> GivenScope:
    """Return a valid value of `scope=`.

    Raises:
        ConfigError: it is none.
    """
    if given is None or _is_scope("scope", given):
        return given  # type: ignore[return-value]  # as checked
    if callable(given) and not isinstance(given, type):
        return given
    raise ConfigError(f"scope = {given!a:.60}: pass {_KINDS}")


def scope_of(given: GivenScope, session_id: str, context: object = None, /, **places: object) -> Scope:
    """Return whose facts a call reads and writes.

    A function gets the host's `context` and decides alone. Without one, a scope without a user gets the first user id
    among `places`, the parts of the context by name. Where nobody is named, the facts belong to the
    conversation alone; only `SHARED` belongs to all.

    Raises:
        ConfigError: the function fails, or a user's id is none.
    """
    found = _asked(given, context) if callable(given) else given
    if found == SHARED and found is not None:
        return SHARED
    scope = found or Scope()
    if not scope.user and not callable(given):
        scope = scope._replace(user=next(filter(None, (_user_in(name, place) for name, place in places.items())), ""))
    return scope if scope.user or scope.thread else scope._replace(thread=session_id)


def going_on(store: TranscriptStore, session_id: str, scope: Scope) -> Scope:
    """Return the scope in which a conversation goes on: its own if nobody is named and this machine's person began it.

    Raises:
        StoreError: the store failed.
    """
    if scope.user or not scope.thread:
        return scope
    known = SCOPE.newest(store, session_id)
    return known.scope if known and known.scope == machine_user() else scope


def child_id(parent: str, *parts: str) -> str:
    """Return the id of a sub-agent's conversation, `PARENT/PART/...`: parts are its tool and the id of its call."""
    return short_id("/".join((parent, *map(spelled, parts))))


def numbered(session_id: str) -> Iterator[str]:
    """Yield the ids of conversations that are named alike: `ID`, `ID/1`, `ID/2`, ..."""
    yield session_id
    yield from (short_id(f"{session_id}/{number}") for number in count(1))


def scope_in(caller: Scope, session_id: str, scope: Scope) -> Scope:
    """Return the scope of a conversation within its caller's: if it names nobody, its caller's.

    A sub-agent works for the user who talks with its caller, and is told what they said: nobody else may read that.
    What it names itself, such as its own bot, stays.
    """
    is_nobody = not scope.user and scope.thread == session_id and scope.tenant in ("", caller.tenant)
    if not caller.user or not is_nobody:
        return scope
    named = {name: part for name, part in scope._asdict().items() if part and name != "thread"}
    return caller._replace(**named)


@dataclass(eq=False)
class OpenCall:
    """A tool call of a run, or other work within which a program may run agents: those runs are its children.

    So are runs with the id of a run whose call is open: what they say can't stand between the call and its result.

    Attributes:
        named: the id of its first child; a second one has `/1` behind it.
        run: what tells the run apart that made the call.
        busy: the ids by which the host knows the conversations of that run, and of those that it runs in.
        around: the call in which that run began, if any.
        scope: returns whose the run is.
        children: the conversations of the runs within it, by what tells those apart.
        is_open: whether it is at work.
    """

    named: str
    run: object
    busy: frozenset[str]
    around: OpenCall | None
    scope: Callable[[], Scope]
    children: dict[object, str] = field(default_factory=dict)
    is_open: bool = True
    lock: Lock = field(default_factory=Lock)

    def child(self, run: object, is_used: Callable[[str], bool]) -> str:
        """Return the id for a run; `is_used` returns whether a conversation exists: an id may come again."""
        with self.lock:  # tools may run several in threads
            if run not in self.children:
                taken = set(self.children.values())
                free = (each for each in numbered(self.named) if each not in taken and not is_used(each))
                self.children[run] = next(free)
            return self.children[run]


def told_scope(scope: Scope) -> str:
    """Return whose facts a scope's are, as a phrase."""
    if scope.user:
        return f"of the user {scope.user!a:.60}"
    return "of this conversation alone" if scope.thread else "shared by all"


def _asked(function: Callable[[Any], object], context: object) -> Scope | None:
    """Return the scope that a user's function decides; None if it names nobody."""
    try:
        made = function(context)
    except Exception as error:
        raise ConfigError(f"scope: your function failed: {type(error).__name__}: {error}"[:300]) from error
    if made is None or _is_scope("scope: your function returned scope", made):
        return made  # type: ignore[return-value]  # as checked
    if isinstance(made, str):
        return Scope(user=_name("scope: your function returned", made)) if made else None
    raise ConfigError(f"scope: your function returned {made!a:.60}: return a Scope, a user's id, or None")


def _user_in(name: str, place: object) -> str:
    """Return the user's id in a part of a host's context; "" for none."""
    try:
        found = place.get(USER_ID) if isinstance(place, Mapping) else getattr(place, USER_ID, None)
    except Exception as error:
        raise ConfigError(f"scope: {name} has no readable {USER_ID}: {type(error).__name__}: {error}"[:300]) from error
    return "" if found is None or found == "" else _name(f"scope: {USER_ID} in {name} is", found)


def _name(what: str, value: object) -> str:
    """Return a user's id as text."""
    if isinstance(value, (int, UUID)) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or len(value) > MOST_ID_CHARS:
        raise ConfigError(
            f"{what} {value!a:.60}: a user's id is a string of 1 to {MOST_ID_CHARS:,} characters, a whole number or "
            f"a UUID; or pass {_KINDS} as scope="
        )
    return value


def _is_scope(named: str, value: object) -> bool:
    """Return whether a value is a scope; an error begins with its name.

    Raises:
        ConfigError: it is one, and a part of it is no string.
    """
    for name, part in value._asdict().items() if isinstance(value, Scope) else ():
        if not isinstance(part, str):
            raise ConfigError(f"{named}.{name} must be a string, not {part!a:.60}")
    return isinstance(value, Scope)
