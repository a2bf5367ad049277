"""Transcripts, records, summaries, claims and facts in PostgreSQL, by psycopg."""

from squidbot.adapters.psycopg.memories import PostgresqlMemoryStore
from squidbot.adapters.psycopg.store import PostgresqlStore

__all__ = ["PostgresqlMemoryStore", "PostgresqlStore"]
