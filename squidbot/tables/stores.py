"""`[store]` and `[memory]`: where sessions and durable facts are kept."""

from __future__ import annotations

import attrs

from squidbot.checks import NO_NAMES, Extract, File, Isolated, Names, Patterns, Place, Portion, Size, Whole

__all__ = ["Memory", "Store"]

# Where no path is set: no file of sessions; memory stands in the same file as they.
IN_MEMORY, BESIDE = File(""), Place("")
NO_PATTERNS = Patterns(())
# 1.3 million words; what is longer is data.
INDEX_BYTES = Whole(8 << 20)
# Decisions, section 11; B-33.
ISOLATION, MIN_RELEVANCE = Isolated("bot"), Portion(0.3)
MEMORY_INDEX, MEMORY_PROFILE, MEMORY_COLD_START = Size(200), Size(300), Size(200)


@attrs.frozen
class Store:
    """`[store]`: where sessions are kept. Without a path, and without an adapter: in memory."""

    path: File = IN_MEMORY
    adapter: str | None = None


@attrs.frozen
class Memory:
    """`[memory]`: durable facts, beyond sessions."""

    enabled: bool = True
    provider: str = "auto"
    path: Place = BESIDE
    isolation: Isolated = ISOLATION
    min_relevance: Portion = MIN_RELEVANCE
    write: bool = True
    allow_tools: bool | None = None
    in_prompt: bool = True
    index_tokens: Size = MEMORY_INDEX
    profile_tokens: Size = MEMORY_PROFILE
    cold_start_tokens: Size = MEMORY_COLD_START
    extract: Extract | None = None
    llm: str | None = None
    merge: bool = False
    embedder: str = "none"
    index: str = "auto"
    redact_names: Names | None = None
    redact_patterns: Patterns = NO_PATTERNS
    index_paths: Names = NO_NAMES
    index_most_bytes: Whole = INDEX_BYTES
