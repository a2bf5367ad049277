"""Windows that refusals have shown to be smaller than settings say, found where sessions are kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from squidbot.core import events
from squidbot.core.budget.resolution import Resolved
from squidbot.core.errors import StoreError
from squidbot.core.events import Event
from squidbot.core.leases import LEARNED, learned_tokens
from squidbot.core.withdrawing import Finds

if TYPE_CHECKING:
    from squidbot.core.ports import Observer, TranscriptStore
    from squidbot.tables import Model

__all__ = ["PLAIN_SOURCES", "Discoveries", "LearnedWindows", "learned_for", "refused"]

# What `Resolved.source` calls it.
SOURCE = "overflow"
# Windows that somebody has named: the source says all.
PLAIN_SOURCES = ("manual", "model-definition", "global-config", "default")


def learned_for(alias: str, model: Model, found: Resolved) -> str:
    """Return what a learned window is learned for: the model behind an alias, and the window that settings give it.

    Where either becomes another, what was learned holds no longer.
    """
    return f"{model.model or alias}@{model.url or model.adapter or ''} {found.window_tokens}"


def refused(found: Resolved, window_tokens: int, refused_tokens: int) -> Resolved:
    """Return the smaller window that a refusal of so many tokens has shown, in the place of the one that was found."""
    step = f"cut to {window_tokens:,}: the provider refused {refused_tokens:,}"
    return Resolved(window_tokens, SOURCE, (*found.steps, step))


class Discoveries:
    """Tells of windows that nobody has named: found out of a file, a server, by extensions, or by a refusal."""

    def __init__(self, observer: Observer) -> None:
        """Nothing was found yet."""
        self._observer = observer
        self._told: dict[str, tuple[int, str]] = {}

    def tell(self, alias: str, found: Resolved) -> None:
        """Tell of the window of a model, once, and again where another one is found."""
        if found.source in PLAIN_SOURCES or self._told.get(alias) == found[:2]:
            return
        self._told[alias] = found[:2]
        cause, tokens = f"{found.source}: {'; '.join(found.steps)}", found.window_tokens
        told = Event(events.CONTEXT_DISCOVERED, "", cause, tokens_before=tokens, tokens_after=tokens, model=alias)
        self._observer.notify(told)


class LearnedWindows:
    """What the sessions of a store have learned; looked for once for each model, and until what is awaited is kept."""

    def __init__(self, store: TranscriptStore, observer: Observer) -> None:
        """Look nothing up yet; a store that can't find sessions by what their records say has none."""
        self._store = store
        self._observer = observer
        self._known: dict[str, int | None] = {}
        # What sessions of this process are about to keep; others may have kept less.
        self._awaited: dict[str, int] = {}

    def within(self, found: Resolved, name: str) -> Resolved:
        """Return a window as refusals have shown it; `name` is what it is learned for."""
        if name not in self._known or name in self._awaited:
            self._known[name] = self._looked_up(name)
        tokens = self._known[name]
        if tokens is not None and tokens <= self._awaited.get(name, 0):
            self._awaited.pop(name, None)
        if tokens is None or tokens >= found.window_tokens:
            return found
        step = f"cut to {tokens:,}: the provider refused more before"
        return Resolved(tokens, SOURCE, (*found.steps, step))

    def await_kept(self, name: str, window_tokens: int) -> None:
        """Look again until that window is kept for a name: a session will, once something is answered in it."""
        self._awaited[name] = window_tokens

    def _looked_up(self, name: str) -> int | None:
        store = self._store
        if not isinstance(store, Finds):
            return None
        try:
            sessions = store.sessions_with(LEARNED, [json.dumps(name)])
            return learned_tokens((one for each in sessions for one in store.records(each, LEARNED)), name)
        except StoreError as error:
            self._observer.notify(Event(events.DEGRADED, "", f"learned windows were not read: {error}"))
            return None
