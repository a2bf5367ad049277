"""What needs no package: stores that live in memory, for tests and for hosts that keep nothing.

| file     | holds |
|----------|-------|
| sessions | `InMemoryStore`: transcripts, summaries and claims |
| memories | `InMemoryMemoryStore`: durable facts, as long as the process |
"""

from squidbot.adapters.stdlib.memories import InMemoryMemoryStore
from squidbot.adapters.stdlib.sessions import InMemoryStore

__all__ = ["InMemoryMemoryStore", "InMemoryStore"]
