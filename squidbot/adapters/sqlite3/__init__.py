"""TranscriptStore and SummaryStore in one SQLite file, readable with any SQLite tool (view `transcript`)."""

from squidbot.adapters.sqlite3.store import SqliteStore

__all__ = ["SqliteStore"]
