"""A store that is looked into: its sessions by the beginning of their ids, their rows, what damage leaves of them."""

from __future__ import annotations

import difflib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from squidbot.bootstrap import wire
from squidbot.commands.texts import count
from squidbot.config import load_settings
from squidbot.core.errors import ConfigError, DamagedStoreError, SquidbotError, StoreError
from squidbot.hookspecs import hookimpl
from squidbot.memory import provider_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from squidbot.bootstrap import Wired
    from squidbot.config import Loaded
    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import Codec
    from squidbot.hookspecs import Register, Store

__all__ = ["Opened", "Rows", "file_of", "opened"]

# How many ids an error names, of those that are near, or that begin alike.
MOST_NAMED = 5
# Of an id that nobody gave, as errors show it.
MOST_ID_CHARS = 60
# How many rows are read at once where a whole session is.
PAGE_ROWS = 1_000


class Rows(NamedTuple):
    """Messages in order of seq, and the seqs of those that are damaged and left out."""

    found: list[StoredMessage]
    damaged: list[int]


@runtime_checkable
class _Lists(Protocol):
    def sessions(self) -> list[tuple[str, int]]:
        """Return (id, number of messages) of every session, oldest first."""


@runtime_checkable
class _Salvages(Protocol):
    def read_intact(self, session_id: str, first_seq: int, last_seq: int) -> tuple[list[StoredMessage], list[int]]:
        """Return what `read` would, without the damaged messages, and their seqs."""


class Opened:
    """A store, and the settings it was opened with. No method writes."""

    def __init__(self, wired: Wired) -> None:
        """Use `opened`."""
        self.wired = wired

    @property
    def store(self) -> Store:
        """Both ports."""
        return self.wired.store

    @property
    def codecs(self) -> Mapping[str, Codec]:
        """The forms of messages, by tag."""
        return self.wired.codecs

    def codec(self, tag: str) -> Codec:
        """Return the codec of a form of messages.

        Raises:
            ConfigError: no loaded extension brings it.
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
        if not isinstance(self.store, _Lists):
            raise StoreError("this store can't list its sessions; it has no method `sessions`")
        return self.store.sessions()

    def find(self, given: str) -> str:
        """Return the id of the session that is called so, or whose id alone begins so.

        Raises:
            SquidbotError: there is none, or more than one; the text names the nearest.
        """
        if 1 <= len(given) <= 1024 and self.store.head(given) != (0, 0):
            return given
        ids = [name for name, _ in self.sessions()]
        found = [name for name in ids if given and name.startswith(given)]
        if len(found) != 1:
            raise SquidbotError(_not_one(given, found, ids))
        return found[0]

    def length(self, session_id: str) -> int:
        """Return how many messages a session has."""
        return self.store.head(session_id)[0]

    def rows(self, session_id: str, first_seq: int, last_seq: int) -> Rows:
        """Return the messages of a range, both ends included; where some are damaged, the others.

        Raises:
            DamagedStoreError: the store is damaged and can't serve what is whole.
        """
        try:
            return Rows(self.store.read(session_id, first_seq, last_seq), [])
        except DamagedStoreError:
            if not isinstance(self.store, _Salvages):
                raise
            return Rows(*self.store.read_intact(session_id, first_seq, last_seq))

    def pages(self, session_id: str, first_seq: int = 0) -> Iterator[Rows]:
        """Yield all messages from `first_seq` on, a page at a time."""
        messages = self.length(session_id)
        for start in range(first_seq, messages, PAGE_ROWS):
            yield self.rows(session_id, start, min(start + PAGE_ROWS, messages) - 1)


class _Looking:
    """The store of a SQLite file as these commands open it: never made where there is none."""

    name = "_sqlite3-looking"

    def __init__(self, *, writes: bool, makes: bool = False) -> None:
        self._writes = writes
        self._makes = makes

    @hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.store(self.name, self._store)

    def _store(self, path: str) -> Store:
        from squidbot.adapters.sqlite3 import SqliteStore  # noqa: PLC0415  # other stores need none

        # At rest, a file that is opened as usual and not written to stays as it is. Closing one whose log stands there
        # would empty the log into it, were a crashed host the last to have it open.
        in_use = Path(f"{path}-wal").exists()
        return SqliteStore(path, create=self._makes, read_only=in_use and not self._writes)


@contextmanager
def opened(path: str | None, *, writes: bool = False, makes: bool = False) -> Iterator[Opened]:
    """Give the store of a file, or (None) that of ./squidbot.toml; the other settings are those of ./squidbot.toml.

    Unless `writes`, not a byte of a SQLite file is changed; with `makes` one that is not there is made.

    Raises:
        ConfigError: a setting is wrong, or no store is named.
        StoreError: there is no such file, or it can't be opened.
    """
    loaded = _loaded(path)
    store = loaded.settings.store
    if store.path and store.adapter in {None, "sqlite3"}:
        if not makes:
            _check_there(loaded.absolute(store.path), store.path)
        # Facts stay where they were: beside the sessions, whatever opens these.
        provider, facts = provider_of(loaded)
        loaded = loaded.changed(store={"adapter": _Looking.name}, memory={"provider": provider, "path": facts})
    wired = wire(loaded, [_Looking(writes=writes, makes=makes)])
    try:
        yield Opened(wired)
    finally:
        wired.close()


def file_of(path: str | None) -> str:
    """Return the file of a store as an absolute path; `path` as for `opened`. It need not be whole, nor be there.

    Raises:
        ConfigError: a setting is wrong, no store is named, or it is none in a SQLite file.
    """
    loaded = _loaded(path)
    store = loaded.settings.store
    if not store.path or store.adapter not in {None, "sqlite3"}:
        raise ConfigError(f"the store {store.adapter} is no file; this needs one, name it with --store FILE.db")
    return loaded.absolute(store.path)


def _loaded(path: str | None) -> Loaded:
    loaded = load_settings()
    store = loaded.settings.store
    if path is None:
        if not store.path and store.adapter is None:
            raise ConfigError("no store is named; say --store FILE.db, or set store.path in ./squidbot.toml")
        return loaded
    return loaded.changed(store={"path": str(Path(path).absolute()), "adapter": "sqlite3"})


def _check_there(path: str, given: str) -> None:
    """Check that a store is there: looking at nothing must not make one.

    Raises:
        StoreError: it is not.
    """
    if not Path(path).exists():
        raise StoreError(f"{given}: there is no such file; name a store with --store FILE.db")


def _not_one(given: str, found: list[str], ids: list[str]) -> str:
    """Return what to say where no session, or more than one, is called so."""
    shown = f"{given[:MOST_ID_CHARS]!r}"
    if found:
        return f"{count(len(found), 'session')} begin with {shown}: {_named(found)}"
    near = _near(given, ids) if given else []
    if near:
        return f"no session {shown}; near it: {_named(near)}"
    return f"no session {shown}; there are: {_named(ids)}" if ids else "the store has no session"


def _near(given: str, ids: list[str]) -> list[str]:
    """Return ids that hold what was given, then those that are spelled much alike."""
    holding = [name for name in ids if given.lower() in name.lower()]
    return holding + [name for name in difflib.get_close_matches(given, ids, MOST_NAMED, 0.4) if name not in holding]


def _named(ids: list[str]) -> str:
    named = ", ".join(f"{name[:MOST_ID_CHARS]}" for name in ids[:MOST_NAMED])
    return f"{named} and {len(ids) - MOST_NAMED:,} more" if len(ids) > MOST_NAMED else named
