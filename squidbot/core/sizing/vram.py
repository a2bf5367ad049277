"""How full the GPUs under a session's model are, and who is told: events only, never another window."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core import events

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from squidbot.core.devices import Device, Pressure


# The same is told of a device again after so long (decisions.md section 8).
COOLDOWN_SECONDS = 30.0


class Level(IntEnum):
    """How full a device is, lowest first; which shares these are `level` says."""

    NORMAL = 0
    WARNING = 1
    CRITICAL = 2
    EMERGENCY = 3


_EVENTS: Mapping[Level, str] = {
    Level.NORMAL: events.LOW_MEMORY,
    Level.WARNING: events.MEMORY_WARNING,
    Level.CRITICAL: events.MEMORY_CRITICAL,
    Level.EMERGENCY: events.MEMORY_EMERGENCY,
}
# Apple's own word for how hard its memory is pressed, which all programs share.
_PRESSED: Mapping[Pressure | None, Level] = {"warning": Level.WARNING, "critical": Level.CRITICAL}


def level(used_bytes: int, total_bytes: int) -> Level:
    """Return how full a device with `total_bytes`, more than 0, is: its borders are 70, 85 and 95 % (O-13).

    70 % is a warning already, 85 % critical; 95 % is critical still, and any byte more an emergency.
    """
    used = 100 * used_bytes
    if used > 95 * total_bytes:
        return Level.EMERGENCY
    if used >= 85 * total_bytes:
        return Level.CRITICAL
    return Level.WARNING if used >= 70 * total_bytes else Level.NORMAL


def fullness(device: Device) -> str:
    """Return how full a device is: its number and the name of its level."""
    if device.free_bytes is None:
        return f"device {device.number} does not tell"
    return f"device {device.number} {_level_of(device, device.free_bytes).name}"


class Notice(NamedTuple):
    """One thing to tell of a device.

    Attributes:
        name: one of the four memory events' names.
        cause: a sentence with the figures.
        fraction: the share of its memory that is used, 0 to 1.
        device: the device as it was found.
    """

    name: str
    cause: str
    fraction: float
    device: Device


class _Watched(NamedTuple):
    """One device since its model was loaded.

    `opened` is its level right after that, and `opened_tight` whether free memory was under half the margin then;
    `level` is the one that was told last, or to which it has fallen since, never below `opened`, and `tight` likewise;
    `told` is when each name was told, in seconds.
    """

    opened: Level
    opened_tight: bool
    level: Level
    tight: bool
    told: Mapping[str, float]

    def rested(self, name: str, now: float) -> bool:
        """Return whether a name was not told within the cooldown; a clock that was set back does not silence it."""
        last = self.told.get(name)
        return last is None or not 0 <= now - last < COOLDOWN_SECONDS


class Watch(NamedTuple):
    """The devices under a model since it was loaded: a value; each look gives the next.

    Attributes:
        margin_bytes: the free memory that sizing left (`window.vram_margin_mib`).
        devices: what is known of each, by its number.
    """

    margin_bytes: int
    devices: Mapping[int, _Watched]

    @classmethod
    def opened(cls, devices: Iterable[Device], margin_bytes: int) -> Watch:
        """Return the watch at the opening of a window, right after loading: how full they are now is its own doing."""
        return cls(margin_bytes, {}).look(devices, 0.0)[1]

    def look(self, devices: Iterable[Device], now: float) -> tuple[tuple[Notice, ...], Watch]:
        """Return what is to be told of a new reading at `now`, in seconds, by device, and the watch from then on.

        Told is a level above the one right after loading, `low-memory` first where it leaves NORMAL, and free memory
        that falls under half the margin; not the same of one device within 30 seconds, but then, if it lasts. A
        device that was never seen before is as its first reading finds it; one that does not tell what is free, or is
        not in the reading, stays as it was.
        """
        known = dict(self.devices)
        notices: list[Notice] = []
        for device in devices:
            if device.free_bytes is None:
                continue
            before = known.get(device.number)
            if before is None:
                found, tight = _level_of(device, device.free_bytes), self._tight(device.free_bytes)
                known[device.number] = _Watched(found, tight, found, tight, {})
            else:
                names, known[device.number] = self._seen(before, device, device.free_bytes, now)
                notices += [_notice(name, device, device.free_bytes) for name in names]
        return tuple(notices), self._replace(devices=known)

    def _tight(self, free_bytes: int) -> bool:
        return 2 * free_bytes < self.margin_bytes

    def _seen(self, before: _Watched, device: Device, free_bytes: int, now: float) -> tuple[tuple[str, ...], _Watched]:
        """Return the names to tell of a device now, and what is known of it then."""
        found, tight = _level_of(device, free_bytes), self._tight(free_bytes)
        due: tuple[str, ...] = ()
        if found > before.level:
            due = (events.LOW_MEMORY,) * (before.level == Level.NORMAL) + (_EVENTS[found],)
        elif tight and not before.tight:
            due = (_EVENTS[found],)
        names = tuple(name for name in due if before.rested(name, now))
        if due and not names:
            # Not told yet: it is due until it is told, or over.
            return (), before
        told = {**before.told, **dict.fromkeys(names, now)}
        tight = tight or before.opened_tight
        return names, before._replace(level=max(found, before.opened), tight=tight, told=told)


def _level_of(device: Device, free_bytes: int) -> Level:
    """Return a device's level: by what is used of it, and by what its system says of the memory that all share."""
    return max(level(device.total_bytes - free_bytes, device.total_bytes), _PRESSED.get(device.pressure, Level.NORMAL))


def _notice(name: str, device: Device, free_bytes: int) -> Notice:
    fraction = 1 - free_bytes / device.total_bytes
    free, total = free_bytes >> 20, device.total_bytes >> 20
    cause = f"device {device.number}, {device.name}: {free} of {total} MiB are free; the window stays as it is"
    return Notice(name, cause, fraction, device)
