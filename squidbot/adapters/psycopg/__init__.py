"""Transcripts, records, summaries and claims in PostgreSQL, by psycopg."""

from squidbot.adapters.psycopg.store import PostgresqlStore

__all__ = ["PostgresqlStore"]
