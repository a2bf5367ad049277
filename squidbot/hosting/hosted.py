"""What a plugin for a host is made of: an engine at first need, conversations by id, and failures that stay inside."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from squidbot.core import events
from squidbot.core.arguments import not_in_paths
from squidbot.core.budget.window import read_budget
from squidbot.core.errors import BudgetError, ConfigError, SquidbotError
from squidbot.core.events import Event
from squidbot.core.leases import newest_lease
from squidbot.core.memories import Scope
from squidbot.hosting.conversations import Conversation, Form

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from squidbot.engines import Engine
    from squidbot.hosting.toolkit import Tool
    from squidbot.sessions import Session

__all__ = ["REQUEST", "Hosted"]

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


class Hosted:
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
                from squidbot.engines import load  # noqa: PLC0415  # a plugin is constructed in no time

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
        from squidbot.hosting import toolkit  # noqa: PLC0415  # a plugin is constructed in no time

        failed = toolkit.OUT_OF_ORDER.format(tool)
        return self.safely(
            f"answer {tool}", session_id, lambda: toolkit.call(talk().session, tool, arguments), failed, passes=True
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
        last = newest_lease(engine.wired.store, session_id) if not model and window_tokens is None else None
        if last is None:
            window_tokens = self._window(model, window_tokens)
        elif (model := last.model) or self._budget is not None:
            same = self._budget is None and engine.wired.lease(model) == last
            window_tokens = None if same else last.window_tokens
        return engine.session(
            session_id, model=model, window_tokens=window_tokens, form=self._form, scope=self._scope or Scope()
        )

    def _window(self, model: str, known: int | None) -> int | None:
        """Return the smaller one of budget and window, or the budget's share of the window; None: as settings say."""
        budget = self._budget
        if budget is None:
            return known
        lease = None if known else self.engine.wired.lease(model)
        tokens = known or (lease.window_tokens if lease else 0)
        is_known = lease is None or lease.source != "default"
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


def _keep(known: OrderedDict[Key, Value], newest: Key, most: int) -> None:
    """Make a key the newest one, and let the oldest go where there are too many."""
    known.move_to_end(newest)
    while len(known) > most:
        known.popitem(last=False)


def _offers(given: Mapping[str, object]) -> bool:
    """Return whether settings may switch tools on or off."""
    memory = given.get("memory")
    allows = isinstance(memory, Mapping) and "allow_tools" in memory
    return allows or bool({"context", "goals", "journal", "profile"} & given.keys())


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
