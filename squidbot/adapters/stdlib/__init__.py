"""Without packages: sessions in memory, exact vector search, the journal's files."""

from squidbot.adapters.stdlib.daybook import Daybook
from squidbot.adapters.stdlib.sessions import InMemoryStore
from squidbot.adapters.stdlib.vectors import ExactIndex

__all__ = ["Daybook", "ExactIndex", "InMemoryStore"]
