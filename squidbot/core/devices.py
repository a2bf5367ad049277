"""What a look at the machine found: the devices that a model could be put on, and who said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable


# No device has more: 1 PiB. A figure above it is a mistake, not memory.
MOST_BYTES = 1 << 50
# Names of devices, and reasons, are one line for people.
SHOWN_CHARS = 200

Vendor = Literal["nvidia", "amd", "apple", "intel", "other"]
# How hard an operating system with unified memory says it is pressed.
Pressure = Literal["normal", "warning", "critical"]


class Device(NamedTuple):
    """One device as it is now.

    Attributes:
        number: from 0, in the order in which the model's runtime will see them.
        uuid: the vendor's own name for this very device; "" where unknown.
        name: what it is called, for people.
        vendor: who made it.
        total_bytes: its memory, or of unified memory what a GPU may have.
        free_bytes: what nobody uses at this moment, other programs and the desktop counted; at most the total; None
            where it does not tell.
        unified: whether it shares main memory.
        source: the probe that says so.
        utilisation_fraction: how busy it is, 0 to 1; None where unknown.
        pressure: None where the system does not tell.
    """

    number: int
    uuid: str
    name: str
    vendor: Vendor
    total_bytes: int
    free_bytes: int | None
    unified: bool
    source: str
    utilisation_fraction: float | None = None
    pressure: Pressure | None = None


class Tried(NamedTuple):
    """One source that was asked: how many devices it found, and in a sentence why not more; "" where all went well."""

    source: str
    found: int
    reason: str


class Probed(NamedTuple):
    """What a probe saw: the devices by number, and each source that was asked, in order."""

    devices: tuple[Device, ...]
    tried: tuple[Tried, ...]


class MainMemory(NamedTuple):
    """Main memory as this process may use it, in bytes: all of it, and what can still be taken without swapping."""

    total_bytes: int
    available_bytes: int


def shown(text: str) -> str:
    """Return what somebody else wrote as one printable line of at most 200 characters."""
    words = " ".join(text[: 8 * SHOWN_CHARS].split())
    line = "".join(char if char.isprintable() else "?" for char in words)
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 3] + "..."


def sound(device: Device) -> Device | None:
    """Return a device as the values above promise it, whatever a driver or program said; None where it has no memory.

    Free memory is at most the total (Intel's driver on Windows has said more), and None where it was negative; a
    utilisation outside of 0 to 1 is None; texts are one printable line.
    """
    total, free, busy = device.total_bytes, device.free_bytes, device.utilisation_fraction
    if not 0 < total <= MOST_BYTES:
        return None
    return device._replace(
        uuid=shown(device.uuid),
        name=shown(device.name) or "GPU",
        free_bytes=None if free is None or free < 0 else min(free, total),
        utilisation_fraction=busy if busy is not None and 0 <= busy <= 1 else None,
    )


# What NVIDIA's management library says, as devices: the rules, whoever calls it.

SUCCESS = 0
NOT_SUPPORTED = 3
NOT_FOUND = 6
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
UNKNOWN = 999

# A count above is a mistake: no machine has so many cards, and a card has at most 7 or 8 MIG devices.
MOST_CARDS = 256
MOST_INSTANCES = 64

_REASONS = {
    NOT_SUPPORTED: "it does not tell",
    4: "the permission to ask it is missing",
    9: "the NVIDIA driver is not loaded",
    LIBRARY_NOT_FOUND: "NVIDIA's library libnvidia-ml is not installed",
    FUNCTION_NOT_FOUND: "the NVIDIA driver is too old to be asked",
    10: "the NVIDIA driver did not answer in time",
    15: "the GPU is lost: it has fallen off the bus, or failed",
    16: "the GPU has to be reset",
    17: "the operating system does not let it through",
    18: "the NVIDIA driver and its library are of different versions: restart the machine",
}

_Handle = TypeVar("_Handle")


class Nvml(Protocol[_Handle]):
    """NVML's calls. Each returns NVML's code, 0 where it went well, and then the value, else None; none raises."""

    def start(self) -> int:
        """Load and initialise the library; a start that went well is ended by `stop`."""

    def stop(self) -> None:
        """Shut it down."""

    def count(self) -> tuple[int, int | None]:
        """Return the number of cards."""

    def card(self, index: int) -> tuple[int, _Handle | None]:
        """Return a card by its number on the bus, from 0."""

    def instances(self, card: _Handle) -> tuple[int, int | None]:
        """Return how many MIG devices a card may have at most; 0 where MIG is off."""

    def instance(self, card: _Handle, index: int) -> tuple[int, _Handle | None]:
        """Return a card's MIG device by its place, from 0; places can be empty (code 6)."""

    def memory(self, handle: _Handle, version: int) -> tuple[int, tuple[int, int] | None]:
        """Return (total, free) in bytes by the second version of the call, or the first."""

    def uuid(self, handle: _Handle) -> tuple[int, str | None]:
        """Return the name that is unique in the world."""

    def title(self, handle: _Handle) -> tuple[int, str | None]:
        """Return the name of the product."""

    def busy(self, handle: _Handle) -> tuple[int, int | None]:
        """Return how busy it is, in percent."""


def reason(code: int) -> str:
    """Return what one of NVML's codes means, for people; never empty."""
    return _REASONS.get(code, f"NVML failed with its error {code}")


def as_devices(nvml: Nvml[_Handle], source: str, main_memory: Callable[[], MainMemory | None]) -> Probed:
    """Return the devices in NVML's order, that of the bus, and why any is missing; `main_memory` is for unified ones.

    A card in MIG mode is not listed, its MIG devices are: its own figures mean nothing to a program that runs in one.
    A device that can't be read keeps its number, so that the others keep theirs.
    """
    code = nvml.start()
    if code:
        return Probed((), (Tried(source, 0, reason(code)),))
    try:
        look = _Look(nvml, source, main_memory, [], [])
        look.cards()
    finally:
        nvml.stop()
    return Probed(tuple(look.found), (Tried(source, len(look.found), "; ".join(look.reasons)),))


class _Look(NamedTuple, Generic[_Handle]):
    """One look at all cards: what is asked, what was found so far, and what was not, with why."""

    nvml: Nvml[_Handle]
    source: str
    main_memory: Callable[[], MainMemory | None]
    found: list[Device]
    reasons: list[str]

    def cards(self) -> None:
        """Look at every card in order."""
        code, count = self.nvml.count()
        if code or count is None:
            self.reasons.append(reason(code))
            return
        if not count:
            self.reasons.append("the NVIDIA driver knows no device")
        number = 0
        for index in range(min(count, MOST_CARDS)):
            code, card = self.nvml.card(index)
            if code or card is None:
                self.reasons.append(f"device {number}: {reason(code)}")
                number += 1
                continue
            code, places = self.nvml.instances(card)
            if code or not places:
                self._add(number, card)
                number += 1
            else:
                number += self._instances(number, card, min(places, MOST_INSTANCES))

    def _instances(self, number: int, card: _Handle, places: int) -> int:
        """Look at a card's MIG devices, the first of which gets `number`; return how many there are."""
        taken = 0
        for place in range(places):
            code, handle = self.nvml.instance(card, place)
            if code == NOT_FOUND:
                continue
            if code or handle is None:
                self.reasons.append(f"device {number + taken}: {reason(code)}")
            else:
                self._add(number + taken, handle)
            taken += 1
        if not taken:
            self.reasons.append(f"device {number}: MIG is on, and no MIG device was made")
        return taken

    def _memory(self, handle: _Handle) -> tuple[tuple[int, int] | None, bool, str]:
        """Return (total, free) in bytes, whether it is main memory, and where there is none why."""
        code, memory = self.nvml.memory(handle, 2)
        if code:
            # Drivers before 510 have the first version only; it counts what is reserved as used.
            code, memory = self.nvml.memory(handle, 1)
        if code == NOT_SUPPORTED:
            # GB10, Jetson: the GPU has no memory of its own.
            return self.main_memory(), True, "it shares main memory, which does not tell"
        return memory, False, reason(code)

    def _add(self, number: int, handle: _Handle) -> None:
        """Take a device, or why it can't be read."""
        memory, unified, why = self._memory(handle)
        if memory is None:
            self.reasons.append(f"device {number}: {why}")
            return
        busy = self.nvml.busy(handle)[1]
        device = sound(
            Device(
                number,
                self.nvml.uuid(handle)[1] or "",
                self.nvml.title(handle)[1] or "NVIDIA GPU",
                "nvidia",
                memory[0],
                memory[1],
                unified,
                self.source,
                None if busy is None else busy / 100,
            )
        )
        if device is None:
            self.reasons.append(f"device {number}: it says that it has {memory[0]} bytes")
        else:
            self.found.append(device)
