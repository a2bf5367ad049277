"""How much is measured, and the seeded files that it is measured on."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.host import SESSION
from benchmarks.seed import seed
from benchmarks.servers import Amount as Clients
from benchmarks.ticks import Served

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["FULL", "QUICK", "TINY", "Files", "Sizes"]


class Sizes(NamedTuple):
    """How much is measured.

    `messages` are seeded, `windows` in tokens; `turns` of a warm session, `fresh` objects and `processes` a figure;
    `exchanges` for the disk, `policy_turns` of the replayed conversation; `noises` put into a file, a message of `huge`
    MB; durable `memories`; `vectors` beside an index; messages of a conversation in a `hosted` program; a `history` in
    tokens; conversations `served` in one event loop; the smallest recorded `sessions` of a folder; `clients` of a
    server; the first `talks` of each set; messages `recorded` by agents, and how many `hooks` of each kind.
    """

    messages: tuple[int, ...]
    windows: tuple[int, ...]
    turns: int
    fresh: int
    processes: int
    exchanges: int
    policy_turns: int
    noises: int
    huge_mb: int
    memories: tuple[int, ...]
    vectors: tuple[int, ...]
    hosted: tuple[int, ...]
    history: int
    served: Served
    sessions: int
    clients: Clients
    talks: int
    recorded: int
    hooks: int


FULL = Sizes(
    (1_000, 100_000, 1_000_000), (8_000, 32_000, 128_000), 240, 41, 15, 1_000, 2_000, 60, 50, (20_000, 1_000_000),
    (1_000, 100_000, 1_000_000), (1_000, 100_000), 60_000, Served(100, 300_000, 15.0), 1_000,
    Clients((1_000, 100_000), (1, 8, 64), 3.0, 60, 2_000), 1_000, 100_000, 125,
)  # fmt: skip
QUICK = Sizes(
    (1_000, 100_000),
    (8_000, 32_000),
    60,
    11,
    5,
    200,
    200,
    20,
    50,
    (20_000,),
    (1_000, 60_000),
    (1_000, 10_000),
    60_000,
    Served(100, 300_000, 5.0),
    6,
    Clients((1_000,), (1, 8), 2.0, 20, 200),
    2,
    100_000,
    20,
)
TINY = Sizes(
    (40, 400), (8_000,), 4, 2, 1, 10, 12, 2, 1, (40,), (40, 400), (40,), 3_000, Served(2, 3_000, 0.1), 1,
    Clients((40,), (1, 2), 0.2, 4, 4), 2, 200, 2,
)  # fmt: skip


@dataclass(slots=True)
class Files:
    """Seeded files by number of messages, made when first asked for.

    They are worked on in `folder`; with `keep`, untouched ones stay there for the next run.
    """

    sizes: tuple[int, ...]
    folder: Path
    keep: Path | None
    progress: Callable[[str], None]
    made: dict[int, Path] = field(default_factory=dict)

    def all(self) -> dict[int, Path]:
        """Return every file, smallest first."""
        return {messages: self.of(messages) for messages in sorted(self.sizes)}

    def largest(self) -> tuple[int, Path]:
        """Return the largest number of messages and its file."""
        return max(self.sizes), self.of(max(self.sizes))

    def of(self, messages: int) -> Path:
        """Return the file with so many messages in the session `SESSION`."""
        if messages not in self.made:
            path = self.folder / f"work-{messages}.db"
            kept = self.keep / f"seed-{messages}.db" if self.keep else None
            self.progress(f"seeding {messages:,} messages")
            if kept is None:
                seed(path, SESSION, messages)
            else:
                if not kept.exists():
                    unfinished = kept.with_suffix(".part")
                    unfinished.unlink(missing_ok=True)
                    seed(unfinished, SESSION, messages)
                    unfinished.rename(kept)
                shutil.copy(kept, path)
            self.made[messages] = path
        return self.made[messages]
