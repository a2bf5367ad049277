"""MemoryStore in a file of stores: memories beside the sessions, or in a file of their own."""

from squidbot.adapters.sqlite3.memory.store import SqliteMemoryStore

__all__ = ["SqliteMemoryStore"]
