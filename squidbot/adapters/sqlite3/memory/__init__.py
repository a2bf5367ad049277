"""MemoryStore in SQLite: memories beside the sessions, in their own file, or in memory."""

from squidbot.adapters.sqlite3.memory.store import InMemoryMemoryStore, SqliteMemoryStore

__all__ = ["InMemoryMemoryStore", "SqliteMemoryStore"]
