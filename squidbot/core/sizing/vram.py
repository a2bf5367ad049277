"""How full the GPUs under an open model are: reported as events, never by another window."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core import events

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from squidbot.core.devices import Device, Pressure


# The same is reported of a device again after this time.
COOLDOWN_SECONDS = 30.0


class Level(IntEnum):
    """How full a device is, lowest first; `level` has the borders."""

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
# Apple's report of the pressure on the memory that all programs share.
_PRESSED: Mapping[Pressure | None, Level] = {"warning": Level.WARNING, "critical": Level.CRITICAL}


def level(used_bytes: int, total_bytes: int) -> Level:
    """Return how full a device with `total_bytes`, more than 0, is; the borders are 70, 85 and 95 %.

    At 70 % it is a warning, at 85 % critical, and above 95 % an emergency.
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
        return f"device {device.number} does not report free memory"
    return f"device {device.number} {_level_of(device, device.free_bytes).name}"


class Notice(NamedTuple):
    """Something to report of a device.

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


class _DeviceHistory(NamedTuple):
    """The history of one device since its model was loaded.

    `opened` is its level right after that, and `opened_tight` whether free memory was under half the margin then;
    `level` is the last reported one, or a lower one since, never below `opened`, and `tight` likewise; `reported` is
    the time of the last report by name, in seconds.
    """

    opened: Level
    opened_tight: bool
    level: Level
    tight: bool
    reported: Mapping[str, float]

    def may_report(self, name: str, now: float) -> bool:
        """Return whether a name may be reported again; a clock that was set back does not silence it."""
        last = self.reported.get(name)
        return last is None or not 0 <= now - last < COOLDOWN_SECONDS


class Watch(NamedTuple):
    """The devices under a model since it was loaded, as a value; each look returns the next.

    Attributes:
        margin_bytes: the free memory that sizing left (`window.vram_margin_mib`).
        devices: what is known of each, by its number.
    """

    margin_bytes: int
    devices: Mapping[int, _DeviceHistory]

    @classmethod
    def opened(cls, devices: Iterable[Device], margin_bytes: int) -> Watch:
        """Return the watch right after loading: how full the devices are now is the model's own doing."""
        return cls(margin_bytes, {}).look(devices, 0.0)[1]

    def look(self, devices: Iterable[Device], now: float) -> tuple[tuple[Notice, ...], Watch]:
        """Return the notices for a new reading at `now`, in seconds, and the next watch.

        Reported are a level above the one right after loading, with `low-memory` first where it leaves NORMAL, and
        free memory below half the margin; the same of one device only every 30 seconds, as long as it lasts. A new
        device starts with its first reading; one without a figure, or missing in the reading, keeps its state.
        """
        known = dict(self.devices)
        notices: list[Notice] = []
        for device in devices:
            if device.free_bytes is None:
                continue
            before = known.get(device.number)
            if before is None:
                found, tight = _level_of(device, device.free_bytes), self._tight(device.free_bytes)
                known[device.number] = _DeviceHistory(found, tight, found, tight, {})
            else:
                names, known[device.number] = self._due(before, device, device.free_bytes, now)
                notices += [_notice(name, device, device.free_bytes) for name in names]
        return tuple(notices), self._replace(devices=known)

    def _tight(self, free_bytes: int) -> bool:
        return 2 * free_bytes < self.margin_bytes

    def _due(
        self, before: _DeviceHistory, device: Device, free_bytes: int, now: float
    ) -> tuple[tuple[str, ...], _DeviceHistory]:
        """Return the event names that are due for a device, and its next state."""
        found, tight = _level_of(device, free_bytes), self._tight(free_bytes)
        due: tuple[str, ...] = ()
        if found > before.level:
            due = (events.LOW_MEMORY,) * (before.level == Level.NORMAL) + (_EVENTS[found],)
        elif tight and not before.tight:
            due = (_EVENTS[found],)
        names = tuple(name for name in due if before.may_report(name, now))
        if due and not names:
            # It stays due until it is reported, or over.
            return (), before
        reported = {**before.reported, **dict.fromkeys(names, now)}
        tight = tight or before.opened_tight
        return names, before._replace(level=max(found, before.opened), tight=tight, reported=reported)


def _level_of(device: Device, free_bytes: int) -> Level:
    """Return a device's level, by its used memory and by the pressure that its system reports."""
    return max(level(device.total_bytes - free_bytes, device.total_bytes), _PRESSED.get(device.pressure, Level.NORMAL))


def _notice(name: str, device: Device, free_bytes: int) -> Notice:
    fraction = 1 - free_bytes / device.total_bytes
    free, total = free_bytes >> 20, device.total_bytes >> 20
    cause = f"device {device.number}, {device.name}: {free} of {total} MiB are free; the window stays as it is"
    return Notice(name, cause, fraction, device)
