"""What a plugin for a host is made of: an engine at first need, conversations by id, and failures that stay inside."""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from squidbot.core import events
from squidbot.core.errors import ConfigError
from squidbot.core.events import Event
from squidbot.core.memories import Scope
from squidbot.hosting.conversations import Conversation, Form

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from squidbot.engines import Engine
    from squidbot.hosting.toolkit import Tool

__all__ = ["Hosted"]

Value = TypeVar("Value")

_LOG: Final = logging.getLogger("squidbot")
# How many conversations are held at once; one that was let go is read again from the store.
MOST_HELD: Final = 64


class Hosted:
    """squidbot inside of one host. Threads may share it.

    `store` is the file that keeps everything; None: as `settings` say, which are a squidbot.toml, a mapping of its
    form, or None for the one in this folder. `budget` is the largest request and its answer in tokens, or a share of
    the model's window. `form`, `telling`, `volatile`, `is_whole` and `read` are the host's: see `Form`.
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
        budget: float | None = None,
        settings: str | Path | Mapping[str, object] | None = None,
        scope: Scope | None = None,
    ) -> None:
        """Check what can be checked without a file.

        Raises:
            ConfigError: the budget is none.
        """
        if budget is not None and not (0 < budget < 1 or (budget >= 1 and budget % 1 == 0 and budget is not True)):
            raise ConfigError(f"budget = {budget!r}: it is a number of tokens, or a share of the window below 1")
        self._host, self._form, self._identity = host, form, (telling, volatile, is_whole, read)
        self._budget = budget
        self._settings = settings if store is None else _with_store(settings, store)
        self._scope = scope
        self._engine: Engine | None = None
        self._held: OrderedDict[str, Conversation] = OrderedDict()
        self._lock = threading.RLock()
        self._failed: set[str] = set()

    @property
    def engine(self) -> Engine:
        """The engine, opened at first need.

        Raises:
            ConfigError: a setting is wrong.
            StoreError: the store can't be opened.
        """
        with self._lock:
            if self._engine is None:
                from squidbot.engines import load  # noqa: PLC0415  # a plugin is constructed in no time

                self._engine = load(self._settings)
            return self._engine

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools for the host's model: what settings switch on is among them; without settings, or wrong ones, not.

        A wrong setting is told where the engine is opened. No file but the settings' is read.
        """
        from squidbot.hosting.toolkit import TOOLS, tools_of  # noqa: PLC0415  # a plugin is constructed in no time

        given = self._settings
        if (isinstance(given, Mapping) and not _offers(given)) or (
            given is None and not Path("squidbot.toml").is_file()
        ):
            return TOOLS
        from squidbot.config import load_settings  # noqa: PLC0415

        try:
            return tools_of(load_settings(self._settings).settings)
        except ConfigError:
            return TOOLS

    def conversation(self, session_id: str, model: str = "", window_tokens: int | None = None) -> Conversation:
        """Return the conversation of an id, the same as long as it is held.

        `model` is what the host calls its model, `window_tokens` that model's window, if known.

        Raises:
            ConfigError: a setting is wrong, or the id is none.
            StoreError: the store can't be opened.
        """
        with self._lock:
            held = self._held.get(session_id)
            if held is None:
                session = self.engine.session(
                    session_id,
                    model=model,
                    window_tokens=self._window(window_tokens),
                    form=self._form,
                    scope=self._scope or Scope(),
                )
                codec = self.engine.wired.codecs[self._form]
                held = self._held[session_id] = Conversation(session, Form(codec, *self._identity))
            self._held.move_to_end(session_id)
            while len(self._held) > MOST_HELD:
                self._held.popitem(last=False)
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
                self._held.pop(session_id, None)

    def safely(self, what: str, session_id: str, act: Callable[[], Value], otherwise: Value) -> Value:
        """Return what comes of an act of ours, or `otherwise` where it fails: the host goes on without squidbot (H1).

        One event, and one line in the log for each kind of failure, say so. What ends a program passes.
        """
        try:
            return act()
        except Exception as error:  # noqa: BLE001  # a raising plugin would kill the host's run
            cause = f"squidbot failed at {what} in {self._host}, which goes on without it: {_said(error)}"
            if cause not in self._failed:
                self._failed.add(cause)
                _LOG.warning("%s", cause)
            if self._engine is not None:
                self._engine.wired.relay.notify(Event(events.DEGRADED, session_id, cause))
            return otherwise

    def close(self) -> None:
        """Close the engine, if it was opened; a second call does nothing."""
        with self._lock:
            engine, self._engine = self._engine, None
            self._held.clear()
        if engine is not None:
            engine.close()

    def _window(self, known: int | None) -> int | None:
        if self._budget is None:
            return known
        if self._budget >= 1:
            return int(self._budget)
        return int(self._budget * known) if known else None


def _offers(given: Mapping[str, object]) -> bool:
    """Return whether settings may switch tools on or off."""
    memory = given.get("memory")
    allows = isinstance(memory, Mapping) and "allow_tools" in memory
    return allows or bool({"context", "goals", "journal", "profile"} & given.keys())


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
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
