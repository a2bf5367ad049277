"""How full GPUs are, and who is told: borders, what is the window's own doing, and how often."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.devices import Device, Pressure
from squidbot.core.sizing.vram import COOLDOWN_SECONDS, Level, Notice, Watch, level

TOTAL = 100 << 20
LOW, WARNING, CRITICAL, EMERGENCY = "low-memory", "memory-warning", "memory-critical", "memory-emergency"


def gpu(percent: float, number: int = 0, pressure: Pressure | None = None) -> Device:
    """Return a device of 100 MiB that is so full."""
    free = TOTAL - int(TOTAL * percent / 100)
    return Device(number, "", "Card", "nvidia", TOTAL, free, unified=False, source="x", pressure=pressure)


def names(notices: tuple[Notice, ...]) -> list[str]:
    """Return the names alone."""
    return [notice.name for notice in notices]


def told(opened: float, *looks: tuple[float, float], margin_bytes: int = 0) -> list[list[str]]:
    """Return what each look, (seconds, percent), tells of a device that was so full right after loading."""
    watch = Watch.opened([gpu(opened)], margin_bytes)
    found = []
    for now, percent in looks:
        notices, watch = watch.look([gpu(percent)], now)
        found.append(names(notices))
    return found


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (0, Level.NORMAL),
        (6999, Level.NORMAL),
        (7000, Level.WARNING),
        (8499, Level.WARNING),
        (8500, Level.CRITICAL),
        (9500, Level.CRITICAL),
        (9501, Level.EMERGENCY),
        (10000, Level.EMERGENCY),
    ],
)
def test_level_has_its_borders_where_decisions_put_them(used: int, expected: Level) -> None:
    """70 % is a warning, 85 % critical, 95 % critical still; counted in whole bytes (O-13)."""
    assert level(used, 10000) == expected


def test_level_is_exact_when_memory_is_large() -> None:
    """One byte decides at 141 GB, too."""
    total = 20 * (7 << 30)
    assert [level(total * 19 // 20 + more, total) for more in (0, 1)] == [Level.CRITICAL, Level.EMERGENCY]
    assert [level(total * 14 // 20 - less, total) for less in (0, 1)] == [Level.WARNING, Level.NORMAL]


def test_watch_tells_each_rise_when_memory_fills_up() -> None:
    """Leaving NORMAL is told beside the new level; each further level once."""
    assert told(50, (1, 60), (2, 72), (3, 80), (4, 90), (5, 96), (6, 97)) == [
        [],
        [LOW, WARNING],
        [],
        [CRITICAL],
        [EMERGENCY],
        [],
    ]
    assert told(10, (1, 99)) == [[LOW, EMERGENCY]]


def test_watch_tells_nothing_of_what_the_model_itself_takes() -> None:
    """The level right after loading is the window's own doing, and so is coming back to it from below."""
    assert told(90, (1, 90), (2, 94), (100, 40), (200, 90)) == [[], [], [], []]
    assert told(90, (1, 96)) == [[EMERGENCY]]
    assert told(97, (1, 99)) == [[]]


def test_watch_tells_it_again_when_it_comes_back_after_a_while() -> None:
    """Within 30 seconds the same is not told twice; if it lasts it is told then, and what is worse at once."""
    assert told(50, (0, 72), (5, 60), (10, 72), (29, 72), (30, 72), (31, 72)) == [
        [LOW, WARNING],
        [],
        [],
        [],
        [LOW, WARNING],
        [],
    ]
    assert told(50, (0, 72), (5, 60), (10, 86)) == [[LOW, WARNING], [], [CRITICAL]]
    assert told(50, (0, 72), (5, 60), (10, 72), (20, 60), (40, 60)) == [[LOW, WARNING], [], [], [], []]
    assert told(50, (100, 72), (101, 60), (3, 72)) == [[LOW, WARNING], [], [LOW, WARNING]]


def test_watch_tells_when_free_memory_falls_under_half_the_margin() -> None:
    """A margin of 20 MiB: 10 free are enough, fewer are told, once; within the level that loading brought, too."""
    margin = 20 << 20
    assert told(80, (0, 90), margin_bytes=margin) == [[CRITICAL]]
    assert told(86, (0, 90), (1, 91), (2, 92), margin_bytes=margin) == [[], [CRITICAL], []]
    assert told(86, (0, 91), (1, 89), (40, 91), margin_bytes=margin) == [[CRITICAL], [], [CRITICAL]]
    assert told(91, (0, 92), (1, 86), (2, 91), margin_bytes=margin) == [[], [], []]
    assert told(10, (0, 60), margin_bytes=100 << 20) == [[LOW]]


def test_watch_keeps_devices_apart_when_there_are_several() -> None:
    """Each has its own level at loading and its own rest; one that is new, silent or gone changes nothing."""
    watch = Watch.opened([gpu(50, 0), gpu(90, 1)], 0)
    notices, watch = watch.look([gpu(72, 0), gpu(91, 1), gpu(99, 2)], 1)
    assert [(notice.device.number, notice.name) for notice in notices] == [(0, LOW), (0, WARNING)]
    notices, watch = watch.look([gpu(99, 0)._replace(free_bytes=None), gpu(96, 1), gpu(99, 2)], 2)
    assert [(notice.device.number, notice.name) for notice in notices] == [(1, EMERGENCY)]
    notices, watch = watch.look([gpu(99, 0)], 3)
    assert [(notice.device.number, notice.name) for notice in notices] == [(0, EMERGENCY)]


def test_watch_heeds_what_the_system_says_of_shared_memory() -> None:
    """Apple's word for pressure counts beside the share that is used, whichever is worse."""
    watch = Watch.opened([gpu(10, pressure="normal")], 0)
    notices, watch = watch.look([gpu(10, pressure="warning")], 1)
    assert names(notices) == [LOW, WARNING]
    notices, watch = watch.look([gpu(96, pressure="critical")], 2)
    assert names(notices) == [EMERGENCY]


def test_notice_carries_its_figures() -> None:
    """Share, device and a sentence that says that the window stays."""
    ((_, notice), _) = Watch.opened([gpu(50)], 0).look([gpu(72)], 1)
    sentence = "device 0, Card: 28 of 100 MiB are free; the window stays as it is"
    assert notice == Notice(WARNING, sentence, notice.fraction, gpu(72))
    assert notice.fraction == pytest.approx(0.72)


@given(
    opened=st.integers(0, 100),
    margin=st.integers(0, TOTAL),
    looks=st.lists(st.tuples(st.floats(0, 100), st.integers(0, 100)), max_size=12),
)
def test_watch_never_tells_the_same_twice_within_its_rest(
    opened: int, margin: int, looks: list[tuple[float, int]]
) -> None:
    """Whatever is read: nothing is told twice within 30 seconds, and nothing of a device no fuller than at loading."""
    last: dict[str, float] = {}
    times = sorted(now for now, _ in looks)
    fills = [percent for _, percent in looks]
    for now, percent, found in zip(
        times, fills, told(opened, *zip(times, fills, strict=True), margin_bytes=margin), strict=True
    ):
        for name in found:
            assert now - last.get(name, -COOLDOWN_SECONDS) >= COOLDOWN_SECONDS
            last[name] = now
        assert percent > opened or not found
