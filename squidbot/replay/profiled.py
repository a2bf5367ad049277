"""A replay under a profile: its sessions are those of a program whose squidbot.toml names it, with nothing left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.bootstrap import wire
from squidbot.config import load_settings
from squidbot.core.counting.meter import Meter
from squidbot.hookspecs import hookimpl
from squidbot.profiles import KEY
from squidbot.replay.charges import SCORING
from squidbot.replay.wiring import Live, Terms
from squidbot.sessions import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.messages import Message, StoredMessage, Usage
    from squidbot.core.ports import TokenCounter
    from squidbot.core.view.assembly import Assembly
    from squidbot.hookspecs import Register
    from squidbot.replay.charges import Charges
    from squidbot.replay.wiring import Store, Unit

__all__ = ["Profiled", "profiled_terms", "settings_of"]

# What a replay has of its own: no file, no thread, no facts, and no documents but those that were said.
OWN: Mapping[str, Mapping[str, object]] = {
    "store": {"adapter": "replayed"},
    "summary": {"scheduler": "none"},
    "memory": {"enabled": False},
    "journal": {"enabled": False},
    "context": {"folder": "", "autoload_project_docs": False},
}


def settings_of(profile: str, **given: object) -> dict[str, object]:
    """Return the settings of a replay: a profile, and above it what the user wrote, by dotted names; None for nothing.

    Names have two underscores for a dot: `budget__counter`.
    """
    settings: dict[str, dict[str, object]] = {table: dict(keys) for table, keys in OWN.items()}
    for name, value in given.items():
        if value is not None:
            table, _, key = name.partition("__")
            settings.setdefault(table, {})[key] = value
    return {KEY: profile, **settings}


def profiled_terms(
    settings: Mapping[str, object], window_tokens: int, counter: TokenCounter, charges: Charges = SCORING
) -> Terms:
    """Return the terms of a replay under settings, measured by `counter`, whatever the sessions themselves count by.

    Raises:
        ConfigError: there is no such profile, or a value of the settings is wrong.
        BudgetError: the reserve leaves no room for input.
    """
    from squidbot.adapters.stdlib import InMemoryStore  # noqa: PLC0415  # only to look what a session would have

    profiled = Profiled(str(settings[KEY]), settings, charges)
    session = profiled.session("terms", "openai.chat", InMemoryStore())
    loaded = session.wired.loaded
    unit: Unit = "words" if loaded.policy and loaded.settings.budget.caps.unit == "words" else "tokens"
    lease = session.wired.lease("", window_tokens)
    return Terms(
        lease,
        Meter(counter),
        loaded.settings.pressure.strategy,
        session.wired.history(lease),
        unit,
        charges,
        opens=profiled,
        profile=profiled.name,
    )


@dataclass(frozen=True, slots=True)
class Profiled:
    """Opens sessions under settings that name a profile."""

    name: str
    settings: Mapping[str, object]
    charges: Charges = SCORING

    def live(self, conversation: Conversation, terms: Terms, store: Store) -> Live:
        """Return a session for a conversation, in the window of the terms.

        Raises:
            StoreError: the store failed.
        """
        return _Live(self.session(conversation.id, conversation.codec, store, terms.lease.window_tokens))

    def session(self, session_id: str, form: str, store: Store, window_tokens: int | None = None) -> Session:
        """Return a session of that id in a store.

        Raises:
            ConfigError: there is no such profile, or a value of the settings is wrong.
            BudgetError: the reserve leaves no room for input.
            StoreError: the store failed.
        """
        wired = wire(load_settings(self.settings), [_Offer(store)])
        return Session(wired, session_id, wired.lease("", window_tokens), wired.codecs[form])


class _Live:
    """A session as the runner drives it: at the times of the recording, or at none that goes on."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._now = 0.0

    def record(self, message: Message, usage: Usage | None) -> tuple[StoredMessage, ...]:
        """Record a message, and what the newest request was billed; return it as stored."""
        self._now = self._now if message.time is None else message.time
        return self._session.record(message, usage=usage, now=self._now)

    def assemble(self) -> Assembly:
        """Return the request for what is recorded."""
        return self._session.assemble(now=self._now).core


class _Offer:
    """The extension that has sessions kept in the store of the replay."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer the store."""
        register.store("replayed", lambda _: self._store)
