"""What needs no package: stores that live in memory, for tests and for hosts that keep nothing."""

from squidbot.adapters.stdlib.daybook import Daybook
from squidbot.adapters.stdlib.memories import FileMemoryStore, InMemoryMemoryStore
from squidbot.adapters.stdlib.sessions import InMemoryStore
from squidbot.adapters.stdlib.vectors import ExactIndex, InMemoryVectors

__all__ = ["Daybook", "ExactIndex", "FileMemoryStore", "InMemoryMemoryStore", "InMemoryStore", "InMemoryVectors"]
