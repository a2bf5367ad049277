"""What a person waits for at a history of 1,000 exchanges, through the Python face and its file: the six times of W-18.

Each may take a tenth of what document 002 allows (V25). The exchanges are real ones: asked, answered and recorded.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import squidbot
from benchmarks.clocks import Times
from benchmarks.floor import Insert, Reader, sum_fresh
from benchmarks.host import SESSION, Host
from benchmarks.report import Bar, Result, Table
from squidbot.core.budget import score_complexity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from benchmarks.host import Call
    from squidbot.core.messages import StoredMessage

__all__ = ["measure"]

# Two models to switch between; the first is the document's own.
MODEL, OTHER = "qwen2.5:7b", "llama3.1:8b"
WINDOW = 32_000
# What document 002 allows at 1,000 exchanges, in milliseconds, and the share of it that we may take.
ALLOWED_MS = {
    "load": 100.0,
    "count": 10.0,
    "assembly": 50.0,
    "complexity": 5.0,
    "model switch": 10.0,
    "durable save": 50.0,
}
SHARE = 0.1
ROUNDS = 40
PATH = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": f"{name} a file of the project", "parameters": PATH}}
    for name in ("read_file", "write_file", "list_files", "search_files")
]
QUESTION = "First compare the two designs, then analyze what each of them costs, and create a table? Which is better?"


class Face(NamedTuple):
    """An engine on a file, and its session."""

    engine: squidbot.Engine
    session: squidbot.Session


class Latency:
    """A talk on a file, and what its calls took by what was called."""

    def __init__(self, folder: Path) -> None:
        """Open a new file, and one for bare inserts."""
        self.times: defaultdict[str, Times] = defaultdict(Times)
        self._path = folder / "latency.db"
        self._host = Host()
        self._face = self._opened()
        self._insert = Insert(folder / "latency-bare.db")

    def close(self) -> None:
        """Close the files."""
        self._insert.close()
        self._face.engine.close()

    def talk(self, exchanges: int) -> None:
        """Have so many exchanges, none of them measured."""
        for _ in range(exchanges):
            for call in self._host.turn():
                self._answered(call, self._asked(call))

    def turn(self) -> None:
        """Have one more turn, each call measured beside its floor; requests with an event are counted apart."""
        with closing(Reader(self._path, SESSION)) as reader:
            for call in self._host.turn():
                self._take(call, reader)

    def fresh(self) -> None:
        """Open the file and a session as a new process does; then what it has read by a new connection alone."""
        face = self.times["load"].of(self._loaded)
        with closing(face.engine), closing(Reader(self._path, SESSION)) as reader:
            keys = reader.keys(face.session.preview().core)
            self.times["load floor"].of(lambda: sum_fresh(self._path, keys))

    def switch(self) -> None:
        """Go to the other model, and back to the first; what stands in its window is read, too."""
        for model in (OTHER, MODEL):
            session = self.times["model switch"].of(partial(self._face.engine.session, SESSION, model=model))
            self.times["model switch, history read"].of(session.core.room)

    def count(self) -> None:
        """Say what the history costs and what is left; count a question that is new; score one."""
        self.times["count"].of(self._face.session.core.room)
        meter, said = self._face.session.meter, self._host.question().text
        self.times["count a new question"].of(lambda: meter.text(said))
        self.times["complexity"].of(lambda: score_complexity(QUESTION, tools_mode=True))

    def _take(self, call: Call, reader: Reader) -> None:
        made = self.times["assembly"].of(partial(self._asked, call))
        if made.core.event is not None:
            self.times["assembly"].move_last_to(self.times["assembly with an event"])
        keys = reader.keys(made.core)
        self.times["assembly floor"].of(partial(reader.sum, keys))
        stored = self.times["durable save"].of(partial(self._answered, call, made))
        self.times["durable save floor"].of(partial(self._insert.store, stored))

    def _answered(self, call: Call, made: squidbot.Assembly) -> tuple[StoredMessage, ...]:
        return self._face.session.record(*made.incoming, call.reply, now=call.time)

    def _loaded(self) -> Face:
        face = self._opened()
        face.session.core.room()
        return face

    def _opened(self) -> Face:
        models = {MODEL: {"context_window": WINDOW}, OTHER: {"context_window": 4 * WINDOW}}
        engine = squidbot.load({"store": {"path": str(self._path)}, "models": models})
        return Face(engine, engine.session(SESSION, model=MODEL))

    def _asked(self, call: Call) -> squidbot.Assembly:
        """Ask as a host does, with its system text and its tools, up to the messages that it sends."""
        made = self._face.session.assemble(*call.incoming, system=self._host.inputs.system, tools=TOOLS, now=call.time)
        _ = made.messages
        return made


def measure(folder: Path, exchanges: int, progress: Callable[[str], None]) -> Result:
    """Measure behind so many exchanges, recorded one by one through the Python face."""
    with closing(Latency(folder)) as latency:
        progress(f"latency: {exchanges:,} exchanges are recorded")
        latency.talk(exchanges)
        progress(f"latency: {ROUNDS} rounds behind {exchanges:,} exchanges")
        for _ in range(min(ROUNDS, 2 * exchanges)):
            latency.turn()
            latency.count()
            latency.switch()
            latency.fresh()
        times = dict(latency.times)
    result = Result("latency", [_table(times, exchanges)])
    result.bars = [
        Bar(f"{name} at {exchanges:,} exchanges, wall ms p50 (V25)", times[name].wall_ms(0.5), at_most=SHARE * allowed)
        for name, allowed in ALLOWED_MS.items()
    ]
    result.remarks = [
        f"A tenth of what document 002 allows is the bar; window {WINDOW:,} tokens, the file in the system's cache.",
        "Load: settings, store and session opened anew, and all that the next request needs of the history read.",
    ]
    return result


def _table(times: Mapping[str, Times], exchanges: int) -> Table:
    rows = [
        (name, (one.cpu_ms, one.wall_ms(0.5), one.wall_ms(0.99), ALLOWED_MS.get(name)))
        for name, one in sorted(times.items())
    ]
    columns = ("CPU ms", "wall ms p50", "wall ms p99", "W-18 allows")
    return Table(f"What a person waits for behind {exchanges:,} exchanges", columns, tuple(rows))
