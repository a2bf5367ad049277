"""A language model that should write summaries, and raises or hangs."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

import attrs

from squidbot import engines
from squidbot.bootstrap import wire
from squidbot.checks import Size, Whole
from squidbot.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from squidbot.bootstrap import Wired
    from squidbot.config import Loaded
    from squidbot.core.messages import Completion
    from squidbot.hookspecs import Register

__all__ = ["Useless", "summarized_by"]

NAME: Final = "useless"
# The longest that it hangs, if nobody lets it go.
HANGS_SECONDS: Final = 60.0


class Useless:
    """Writes no summary: it raises, or hangs until it is let go."""

    name = NAME

    def __init__(self, *, hangs: bool) -> None:
        """It was not asked yet."""
        self._hangs = hangs
        self.asked, self.let_go = threading.Event(), threading.Event()

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Write nothing.

        Raises:
            RuntimeError: always.
        """
        del system, prompt, max_output_tokens
        self.asked.set()
        if self._hangs:
            self.let_go.wait(HANGS_SECONDS)
        raise RuntimeError("a summarizer that fails")

    @hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.llm(NAME, lambda _rest: self)


@contextmanager
def summarized_by(model: Useless) -> Iterator[None]:
    """Have every engine that is opened meanwhile ask it for summaries."""

    def changed(loaded: Loaded, extensions: Iterable[object] = ()) -> Wired:
        summary = attrs.evolve(loaded.settings.summary, llm=NAME, min_messages=Whole(2), min_input_tokens=Size(100))
        other = attrs.evolve(loaded, settings=attrs.evolve(loaded.settings, summary=summary))
        return wire(other, [*extensions, model])

    try:
        with patch.object(engines, "wire", changed):
            yield
    finally:
        model.let_go.set()
