"""Public checks, one per port: an adapter is whatever passes its check. No pytest needed.

A failing check raises AssertionError with the promise and the result. A factory returns a fresh, empty store for each
call; the check closes a store that has a `close` method. Run them without `python -O`.

This module imports each check on first use, so that importing it is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from squidbot.testing.codecs import check_codec
    from squidbot.testing.ggufs import offline_chat_model, write_gguf
    from squidbot.testing.hosts.points import HOST_CHECKS, check_host_plugin
    from squidbot.testing.memories import check_memory_store, made_memory
    from squidbot.testing.models import (
        HashedWords,
        check_chat,
        check_embedder,
        check_llm,
        check_loaded_model,
        check_token_counter,
    )
    from squidbot.testing.observers import check_observer
    from squidbot.testing.probes import check_gpu_probe
    from squidbot.testing.transcripts import (
        check_claims,
        check_finds,
        check_search_across,
        check_summary_store,
        check_transcript_store,
    )
    from squidbot.testing.values import made_message, made_summary
    from squidbot.testing.vectors import check_vector_index, made_entry

__all__ = [
    "HOST_CHECKS",
    "HashedWords",
    "check_chat",
    "check_claims",
    "check_codec",
    "check_embedder",
    "check_finds",
    "check_gpu_probe",
    "check_host_plugin",
    "check_llm",
    "check_loaded_model",
    "check_memory_store",
    "check_observer",
    "check_search_across",
    "check_summary_store",
    "check_token_counter",
    "check_transcript_store",
    "check_vector_index",
    "made_entry",
    "made_memory",
    "made_message",
    "made_summary",
    "offline_chat_model",
    "write_gguf",
]

_HOMES = {
    "codecs": ["check_codec"],
    "ggufs": ["offline_chat_model", "write_gguf"],
    "hosts.points": ["HOST_CHECKS", "check_host_plugin"],
    "memories": ["check_memory_store", "made_memory"],
    "models": ["HashedWords", "check_chat", "check_embedder", "check_llm", "check_loaded_model", "check_token_counter"],
    "observers": ["check_observer"],
    "probes": ["check_gpu_probe"],
    "transcripts": [
        "check_claims",
        "check_finds",
        "check_search_across",
        "check_summary_store",
        "check_transcript_store",
    ],
    "values": ["made_message", "made_summary"],
    "vectors": ["check_vector_index", "made_entry"],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a type checker knows the names above, and so finds a misspelt one

    def __getattr__(name: str) -> object:
        """Return a public name from the module where it is at home (PEP 562)."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return [*globals(), *__all__]
