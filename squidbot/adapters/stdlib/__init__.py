"""What needs no package: stores that live in memory, for tests and for hosts that keep nothing.

| file     | holds |
|----------|-------|
| sessions | `InMemoryStore`: transcripts, summaries and claims |
| memories | `InMemoryMemoryStore`: durable facts, as long as the process |
| changes  | what a change would make of memories, decided before it is made |
| journal  | `FileMemoryStore`: durable facts in one file of JSON lines |
| lines    | such a file: checksums, appending, writing it anew |
| daybook  | `Daybook`: a journal in a folder, a file of JSON lines for each day |
| model_files | `ModelFiles`: a folder with a file for each model, written whole or not at all |
| vectors  | `ExactIndex`, `InMemoryVectors`: the nearest of some thousands, and what they are of |
"""

from squidbot.adapters.stdlib.daybook import Daybook
from squidbot.adapters.stdlib.memories import FileMemoryStore, InMemoryMemoryStore
from squidbot.adapters.stdlib.sessions import InMemoryStore
from squidbot.adapters.stdlib.vectors import ExactIndex, InMemoryVectors

__all__ = ["Daybook", "ExactIndex", "FileMemoryStore", "InMemoryMemoryStore", "InMemoryStore", "InMemoryVectors"]
