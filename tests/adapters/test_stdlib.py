"""The stores in memory."""

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.testing import check_summary_store, check_transcript_store


def test_in_memory_store_keeps_the_promises_of_transcripts() -> None:
    """The public check of the port passes."""
    check_transcript_store(InMemoryStore)


def test_in_memory_store_keeps_the_promises_of_summaries() -> None:
    """The public check of the port passes."""
    check_summary_store(InMemoryStore)
