"""What search finds facts by, brought up to them or made anew: the index of words, vectors, and their index."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from squidbot.commands.texts import count
from squidbot.core.memory.meaning import ByMeaning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.ports import MemoryStore

__all__ = ["Remade", "bar", "remade"]


class Remade(NamedTuple):
    """What was made.

    Attributes:
        words: of how many facts and pieces the index of words was made anew; 0 for none.
        model: who made vectors; "" where no embedder is named.
        vectors: how many were made.
        waiting: how many facts and pieces have none all the same.
    """

    words: int = 0
    model: str = ""
    vectors: int = 0
    waiting: int = 0

    def lines(self) -> Iterator[str]:
        """Yield what a person is told of it."""
        if self.words:
            yield f"words: of {count(self.words, 'entry', 'entries')} indexed anew"
        if self.model:
            left = f"; {self.waiting:,} have none, and are found by their words" if self.waiting else ""
            made = f"{self.vectors:,} made" if self.vectors or left else "all were there, made"
            yield f"vectors: {made} by {self.model}{left}"


def remade(store: MemoryStore, *, anew: bool) -> Remade:
    """Make the vectors that wait, and bring their index up to them; `anew` all of it, and the index of words.

    Raises:
        ConfigError: an embedder is named, and can't be had.
        LLMError: it makes no vectors; those made before are kept.
        StoreError: the disk failed.
    """
    words, plain = 0, store.by_words if isinstance(store, ByMeaning) else store
    reindex = getattr(plain, "reindex", None)
    if anew and callable(reindex):
        with bar("indexing words") as tick:
            words = int(reindex(tick))
    if not isinstance(store, ByMeaning):
        return Remade(words)
    model = store.opened().embedder.name
    with bar("making vectors") as tick:
        made = _Counted(tick)
        (store.reembed if anew else store.embed)(made)
    return Remade(words, model, made.done, store.by_words.waiting(model))


class _Counted:
    """Remembers how many are done."""

    def __init__(self, tick: Callable[[int, int], None]) -> None:
        self._tick = tick
        self.done = 0

    def __call__(self, done: int, among: int) -> None:
        self.done = done
        self._tick(done, among)


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many are done, of how many, on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)
        yield lambda done, among: shown.update(task, completed=done, total=among)
