"""Shared by token counters: exact ones, with their count as bound, and counts kept in a file."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from squidbot.adapters.common.files import OWN_FILE, open_own
from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from squidbot.core.ports import Certificate

Key = TypeVar("Key")
Value = TypeVar("Value")
# Newest journals, sessions and faults in memory; others are looked up, or reported, again.
MOST_HELD: Final = 1_000


def hold(held: dict[Key, Value], key: Key, value: Value, most: int = 0) -> None:
    """Hold a value as the newest one; drop the oldest beyond the limit. For one thread at a time."""
    held.pop(key, None)
    held[key] = value
    if len(held) > (most or MOST_HELD):
        del held[next(iter(held))]


class ExactCounter(ABC):
    """A `TokenCounter` with the model's own tokenizer."""

    certificate: Certificate = "exact"

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def count(self, text: str) -> int:
        """Return the tokens of a text; a lone surrogate counts as U+FFFD, its replacement."""

    def upper_bound(self, text: str) -> int:
        """Return the count: an exact counter needs no other bound."""
        return self.count(text)

    def measure(self, text: str) -> Cost:
        """Return the count as both estimate and bound, in tokens."""
        tokens = self.count(text)
        return Cost(tokens, tokens)


# A digest and a number each: some megabytes.
MOST_TEXTS: Final = 65_536
# Enough digits of a digest to tell all texts apart.
DIGEST_CHARS: Final = 32
_LINE: Final = re.compile(r"([0-9a-f]{32}) ([0-9]{1,9})")


class KeptCounts:
    """Counts of texts by digest. Threads may share it.

    After a disk failure or a damaged line, a text is only counted again.
    """

    def __init__(self, counter: str) -> None:
        """Take the counter's name, unique to its counts. They stay in memory until `keep` names a file."""
        self._counter = counter
        self._known: dict[str, int] = {}
        self._path: Path | None = None
        self._lock = threading.Lock()

    def keep(self, path: str | os.PathLike[str]) -> None:
        """Read a file, if it exists, and append to it from now on."""
        with self._lock:
            self._path = Path(path)
            with suppress(OSError):  # none yet; or unreadable, and then each text is counted once more
                lines = self._path.read_text(encoding="ascii", errors="replace").splitlines()
                found = [line for line in map(_LINE.fullmatch, lines) if line]
                self._known |= {line[1]: int(line[2]) for line in found[-MOST_TEXTS:]}
                if len(lines) > 2 * MOST_TEXTS:
                    self._shorten(self._path)

    def key(self, text: str) -> str:
        """Return the key of a text."""
        named = f"{self._counter}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(named).hexdigest()[:DIGEST_CHARS]

    def get(self, key: str) -> int | None:
        """Return the count of a text by its key; `None` if it has none yet."""
        with self._lock:
            return self._known.get(key)

    def put(self, key: str, count: int) -> None:
        """Add the count of a text, also to the file, if any."""
        with self._lock:
            hold(self._known, key, count, MOST_TEXTS)
            if self._path is not None:
                with suppress(OSError):  # then it is counted once more
                    self._add(self._path, f"{key} {count}\n")

    @staticmethod
    def _add(path: Path, line: str) -> None:
        # One write at the end: lines of several processes never mix.
        number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, OWN_FILE)
        try:
            os.write(number, line.encode("ascii"))
        finally:
            os.close(number)

    def _shorten(self, path: Path) -> None:
        """Write only the newest. Counts added meanwhile by other processes are lost."""
        new = path.with_name(f"{path.name}.new")
        with open_own(new, "w") as file:
            file.write("".join(f"{key} {count}\n" for key, count in self._known.items()).encode("ascii"))
        new.replace(path)
