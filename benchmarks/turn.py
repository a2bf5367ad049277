"""A turn at 1,000 to 1,000,000 stored messages, beside plain SQLite in the same run.

The floor of `assemble` reads the rows that are sent by primary key from the same file and adds up their stored counts;
that of `record` inserts the same payloads into a table of its own, in one transaction, with the same durability. Ours
and the floor take turns, and so do the sizes, so that noise of the machine falls on all alike.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.bench import Bench, Where
from benchmarks.report import Bar, Result, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["Amount", "measure"]

# CPU milliseconds of a fresh object by window (performance.md, P1); 8K has no figure there.
MOST_FRESH_MS = {32_000: 2.0, 128_000: 5.0}
# A warm assemble reads nothing, the floor reads each row that is sent: the larger the window, the less of it is left.
MOST_WARM_RATIO = {8_000: 3.0, 32_000: 1.0, 128_000: 1.0}
EVICTED_ROUNDS = 5


class Amount(NamedTuple):
    """How much is measured: the windows in tokens, the turns of each session, the fresh objects of each."""

    windows: tuple[int, ...]
    turns: int
    fresh: int


def measure(files: Mapping[int, Path], folder: Path, amount: Amount, progress: Callable[[str], None]) -> Result:
    """Measure turns on seeded files, given by their number of messages."""
    result = Result("turn")
    for window in amount.windows:
        with ExitStack() as opened:
            benches = [
                opened.enter_context(closing(Bench(Where(path, messages, window), folder)))
                for messages, path in files.items()
            ]
            _run(benches, amount, progress)
            result.tables.append(_table(window, benches))
            result.bars += _bars(window, benches)
    result.remarks.append(
        "CPU ms are medians; wall ms are p50 and p99, and depend on the disk and on who else uses the machine."
    )
    return result


def _run(benches: list[Bench], amount: Amount, progress: Callable[[str], None]) -> None:
    window = benches[0].where.window_tokens
    for bench in benches:
        progress(f"turn: first plan at {bench.where.messages:,} messages, window {window:,}")
        bench.open()
    progress(f"turn: {amount.fresh} fresh objects at each size, window {window:,}")
    for bench in benches:
        bench.settle()
    for _ in range(amount.fresh):
        for bench in benches:
            bench.fresh()
    for _ in range(EVICTED_ROUNDS):
        for bench in benches:
            bench.fresh(evicted=True)
    progress(f"turn: {amount.turns} turns at each size, window {window:,}")
    for _ in range(amount.turns):
        for bench in benches:
            bench.take_turn()


def _table(window: int, benches: list[Bench]) -> Table:
    cpu = {
        "first plan": "opened",
        "fresh: open, assemble, encode": "fresh",
        "  of it open the file": "fresh open",
        "  of it load and assemble": "fresh assemble",
        "  of it encode": "fresh encode",
        "  floor, new connection": "fresh floor",
        "warm: assemble": "assemble",
        "  encode": "payloads",
        "  floor": "floor",
        "record an exchange": "record",
        "  bare insert": "bare record",
        "record a step with a tool": "record tool",
        "  bare insert of it": "bare record tool",
        "event (assemble with a new plan)": "event",
        "record behind an event": "record behind event",
        "event that is made and not taken": "skipped event",
    }
    rows: list[tuple[str, tuple[float | None, ...]]] = [
        ("stored messages sent", tuple(bench.rows for bench in benches)),
        ("tokens sent (bound)", tuple(bench.tokens for bench in benches)),
        *((f"{name}, CPU ms", tuple(bench.times[kind].cpu_ms for bench in benches)) for name, kind in cpu.items()),
        ("event, CPU ms, longest", tuple(max(bench.times["event"].cpu, default=0.0) * 1e3 for bench in benches)),
        ("events", tuple(len(bench.times["event"].cpu) for bench in benches)),
        ("events not taken", tuple(len(bench.times["skipped event"].cpu) for bench in benches)),
    ]
    for name in ("fresh", "evicted", "evicted floor", "assemble", "record", "bare record"):
        for fraction, shown in ((0.5, "p50"), (0.99, "p99")):
            rows.append((f"{name}, wall ms, {shown}", tuple(bench.times[name].wall_ms(fraction) for bench in benches)))
    columns = tuple(f"{bench.where.messages:,}" for bench in benches)
    return Table(f"A turn in a window of {window:,} tokens, by stored messages", columns, tuple(rows))


def _bars(window: int, benches: list[Bench]) -> list[Bar]:
    least, most = benches[0], benches[-1]
    size = f"{most.where.messages:,}"
    at = f"at {window:,} tokens, {size} messages"
    grows = [
        Bar(f"{name} {at}, x {least.where.messages:,}", _ratio(most, kind, least, kind), at_most=1.5)
        for name, kind in (("fresh", "fresh"), ("warm assemble", "assemble"), ("record", "record"), ("event", "event"))
        if least.times[kind].cpu and most.times[kind].cpu
    ]
    floors = [
        Bar(f"fresh {at}, x floor", _ratio(most, "fresh", most, "fresh floor"), at_most=4.0),
        Bar(f"warm assemble {at}, x floor", _ratio(most, "assemble", most, "floor"), at_most=MOST_WARM_RATIO[window]),
        Bar(f"record {at}, x bare insert", _ratio(most, "record", most, "bare record"), at_most=3.0),
        Bar(
            f"record with tool {at}, x bare insert", _ratio(most, "record tool", most, "bare record tool"), at_most=3.0
        ),
    ]
    record = most.times["record"]
    absolute = [
        Bar(f"record {at}, CPU ms (P3)", record.cpu_ms, at_most=0.5),
        Bar(f"record {at}, wall ms p50 (P3)", record.wall_ms(0.5), at_most=1.0),
        Bar(f"record {at}, wall ms p99 (P3)", record.wall_ms(0.99), at_most=20.0),
        Bar(f"fresh {at}, file evicted, wall ms p50 (P2)", most.times["evicted"].wall_ms(0.5), at_most=30.0),
    ]
    if window in MOST_FRESH_MS:
        absolute.insert(0, Bar(f"fresh {at}, CPU ms (P1)", most.times["fresh"].cpu_ms, at_most=MOST_FRESH_MS[window]))
    return [*grows, *floors, *absolute]


def _ratio(bench: Bench, kind: str, other: Bench, than: str) -> float:
    return bench.times[kind].cpu_ms / other.times[than].cpu_ms
