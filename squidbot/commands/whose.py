"""Whose facts a command is about, and the store that they are in."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from squidbot.bootstrap import wire
from squidbot.commands import options
from squidbot.config import StoreTable, load_settings
from squidbot.core.errors import ConfigError, StoreError
from squidbot.core.memories import Scope
from squidbot.memory import provider_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.config import Loaded
    from squidbot.core.memory.asking import Memories

__all__ = ["opened", "scoped", "written_beside"]

_STORE = click.option("--store", metavar="FILE.db", help="The file they are in.  [default: that of ./squidbot.toml]")


def scoped(command: Callable[..., object]) -> Callable[..., object]:
    """Give a command the options that say whose facts are meant, and --json."""
    for part in ("agent", "bot", "user", "tenant"):
        command = click.option(f"--{part}", default="", help=f"Whose facts: the {part}.")(command)
    return _STORE(options.as_json(command))


@contextmanager
def opened(
    whose: dict[str, str], *, makes: bool = False, told: set[str] | None = None
) -> Iterator[tuple[Memories, Loaded]]:
    """Give the facts that a scope sees, of the file that is named, else of the settings, and these.

    `makes` one that is missing. With `told` what is forgotten goes from what sessions were told of it, too: those of
    the file that is named, else of the settings; the ids of those that were told are added to it.

    Raises:
        ConfigError: a setting is wrong, or facts would be kept in memory only.
        StoreError: there is no such file, or it can't be opened.
    """
    loaded, file = load_settings(), whose.pop("store", None)
    if file:
        loaded = loaded.changed(memory={"path": file, "provider": "sqlite3"})
    name, path = provider_of(loaded)
    if name == "stdlib":
        raise ConfigError("facts are kept in no file; say --store FILE.db, or set memory.path in ./squidbot.toml")
    if name == "sqlite3" and not makes and not Path(path).exists():
        raise StoreError(f"{path}: there is no such file; squidbot memory add makes it")
    # Else sessions have nothing to do with it: their store is neither opened nor made.
    store = StoreTable() if told is None else _sessions(loaded, StoreTable(file) if file else loaded.settings.store)
    kept = {"path": store.path, "adapter": store.adapter}
    wired = wire(loaded.changed(memory={"provider": name, "path": path}, store=kept))
    try:
        memories = wired.remembering.memories(wired.meter(), Scope(**whose))
        if told is not None:
            memories = replace(memories, forgot=lambda *fact: told.update(wired.withdraw(*fact)))
        yield memories, wired.loaded
    finally:
        wired.close()


def written_beside(store: str | None) -> str:
    """Return the file that says what was written of the store that is named, else of the settings'; "" for none."""
    loaded = load_settings()
    path = store or loaded.settings.store.path
    return f"{loaded.absolute(path)}-written" if path and Path(loaded.absolute(path)).exists() else ""


def _sessions(loaded: Loaded, store: StoreTable) -> StoreTable:
    """Return where the sessions are, none where that is a file which is not there: nothing is made by forgetting."""
    is_missing = store.path and not Path(loaded.absolute(store.path)).exists()
    return StoreTable() if is_missing else store
