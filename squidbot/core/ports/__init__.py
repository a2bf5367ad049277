"""What the core asks of the outside. A port is a small promise; nobody has to inherit.

| file     | holds |
|----------|-------|
| stores   | `TranscriptStore`, `SummaryStore`; `Claims`, `Drops`, which a store may have beside them |
| memories | `MemoryStore`: durable facts |
| models   | `LLM`, `Chat`, `LoadedModel`, `Summarizer`; `Embedder`, and what it may have beside: `Calibrated` |
| counting | `TokenCounter`, and how far it can be trusted |
| codecs   | `Codec`: one host's form of messages; `ShowsImages`, which it may have beside |
| around   | `GpuProbe`, `Observer` |
"""

from squidbot.core.ports.around import GpuProbe, Observer
from squidbot.core.ports.codecs import Codec, ShowsImages
from squidbot.core.ports.counting import Certificate, TokenCounter
from squidbot.core.ports.memories import MemoryStore
from squidbot.core.ports.models import LLM, Calibrated, Chat, Embedder, LoadedModel, Summarizer
from squidbot.core.ports.stores import Claims, Drops, SummaryStore, TranscriptStore

__all__ = [
    "LLM",
    "Calibrated",
    "Certificate",
    "Chat",
    "Claims",
    "Codec",
    "Drops",
    "Embedder",
    "GpuProbe",
    "LoadedModel",
    "MemoryStore",
    "Observer",
    "ShowsImages",
    "Summarizer",
    "SummaryStore",
    "TokenCounter",
    "TranscriptStore",
]
