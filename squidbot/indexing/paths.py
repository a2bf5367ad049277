"""What is indexed: what the settings name, the journal of a scope, and what is asked for by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from squidbot.indexing.walking import named
from squidbot.journals import indexed_of
from squidbot.remembering import NOBODY, provider_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.config import Loaded
    from squidbot.core.memories import Scope

__all__ = ["Paths"]


class Paths(NamedTuple):
    """What is indexed.

    Attributes:
        folder: what relative paths are relative to.
        configured: paths, folders and patterns of the settings.
        asked: what is asked for by hand; all that is configured, or was asked for before, where there is nothing.
        most_bytes: larger files are passed over.
        without: files whose path begins with one of these are passed over in silence: the store's own, the page that
            is made of a journal, and the journals of others.
        drops: whether what is asked for is taken out.
    """

    folder: Path
    configured: Sequence[str] = ()
    asked: Sequence[str] = ()
    most_bytes: int = 1 << 23
    without: tuple[str, ...] = ()
    drops: bool = False

    @classmethod
    def of(
        cls, loaded: Loaded, asked: Iterable[str | Path] = (), *, drops: bool = False, scope: Scope = NOBODY
    ) -> Paths:
        """Return what the settings name, the journal of a scope where it is kept, and what is asked for by hand.

        That is relative to the current folder.
        """
        memory = loaded.settings.memory
        here = [named(loaded.folder, Path.cwd() / Path(each).expanduser()) for each in asked]
        own, apart = indexed_of(loaded, scope)
        without = tuple(filter(None, (provider_of(loaded)[1], *apart)))
        return cls(loaded.folder, (*memory.index_paths, *own), here, memory.index_most_bytes, without, drops)
