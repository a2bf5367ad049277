"""What a device may say of itself, and how NVML's answers become devices."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.devices import MOST_BYTES, Device, MainMemory, Probed, as_devices, reason, shown, sound

GOOD = Device(0, "GPU-1", "Card", "nvidia", 100, 50, unified=False, source="nvml", utilisation_fraction=0.5)


def test_sound_device_stays_as_it_is_when_it_keeps_the_promises() -> None:
    """Nothing is changed on a device that is as it should be; a name is never empty."""
    assert sound(GOOD) == GOOD
    assert sound(GOOD._replace(name=" \n"))._replace(name="") == GOOD._replace(name="")  # type: ignore[union-attr]  # it is there


@pytest.mark.parametrize("total", [0, -1, MOST_BYTES + 1])
def test_device_is_refused_when_its_memory_is_none(total: int) -> None:
    """Nothing, less than nothing, and more than any machine has."""
    assert sound(GOOD._replace(total_bytes=total)) is None


@given(
    total=st.integers(),
    free=st.none() | st.integers(),
    busy=st.none() | st.floats(),
    texts=st.tuples(st.text(), st.text(min_size=300)),
)
def test_device_keeps_the_promises_whatever_is_said(
    total: int, free: int | None, busy: float | None, texts: tuple[str, str]
) -> None:
    """Free within the total, a fraction within 0 and 1, one printable line for texts, or no device."""
    device = sound(Device(0, *texts, "amd", total, free, unified=False, source="x", utilisation_fraction=busy))
    if device is None:
        assert not 0 < total <= MOST_BYTES
        return
    assert device.free_bytes is None or 0 <= device.free_bytes <= device.total_bytes == total
    assert (device.free_bytes is None) == (free is None or free < 0)
    assert device.utilisation_fraction is None or 0 <= device.utilisation_fraction <= 1
    assert (device.uuid + device.name).isprintable()
    assert len(device.uuid) <= 200 >= len(device.name)


def test_shown_text_is_one_line_when_it_was_many() -> None:
    """Lines become words, what can't be printed a question mark, what is too long is cut with dots."""
    assert shown(" two\nlines\t\x00 ") == "two lines ?"
    assert shown("x" * 200) == "x" * 200
    assert shown("x" * 201) == "x" * 197 + "..."


# -- NVML --------------------------------------------------------------------------------------------------------------


class Card(NamedTuple):
    """What an NVML made of values says of a card, or of a MIG device: a code instead where it fails."""

    memory: tuple[int, int] | int = (100, 60)
    memory2: tuple[int, int] | int = (100, 50)
    instances: tuple[Card | int, ...] | int = ()
    handle: int = 0
    busy: int = 40
    uuid: int = 0


class Library:
    """`core.nvml.Nvml` of values."""

    def __init__(self, cards: list[Card], start: int = 0, count: int = 0) -> None:
        self.cards = cards
        self.codes = (start, count)
        self.running = 0

    def start(self) -> int:
        """Start, or not."""
        self.running += not self.codes[0]
        return self.codes[0]

    def stop(self) -> None:
        """Stop."""
        self.running -= 1

    def count(self) -> tuple[int, int | None]:
        """Return the number of cards."""
        return self.codes[1], None if self.codes[1] else len(self.cards)

    def card(self, index: int) -> tuple[int, Card | None]:
        """Return a card."""
        card = self.cards[index]
        return card.handle, None if card.handle else card

    def instances(self, card: Card) -> tuple[int, int | None]:
        """Return the number of places."""
        return (card.instances, None) if isinstance(card.instances, int) else (0, len(card.instances))

    def instance(self, card: Card, index: int) -> tuple[int, Card | None]:
        """Return what is in a place."""
        assert not isinstance(card.instances, int)
        found = card.instances[index]
        return (found, None) if isinstance(found, int) else (0, found)

    def memory(self, handle: Card, version: int) -> tuple[int, tuple[int, int] | None]:
        """Return the memory by either version."""
        said = handle.memory2 if version == 2 else handle.memory
        return (said, None) if isinstance(said, int) else (0, said)

    def uuid(self, handle: Card) -> tuple[int, str | None]:
        """Return the unique name."""
        return handle.uuid, None if handle.uuid else "GPU-1"

    def title(self, handle: Card) -> tuple[int, str | None]:
        """Return the name."""
        return handle.uuid, None if handle.uuid else "Card"

    def busy(self, handle: Card) -> tuple[int, int | None]:
        """Return the percent."""
        return 0, handle.busy


def looked(
    *cards: Card, start: int = 0, count: int = 0, main: MainMemory | None = None
) -> tuple[list[tuple[int, ...]], str]:
    """Return (number, total, free) of each device, and the reason; what was started is stopped."""
    library = Library(list(cards), start, count)
    probed: Probed = as_devices(library, "nvml", lambda: main)
    assert library.running == 0
    ((source, found, said),) = probed.tried
    assert (source, found) == ("nvml", len(probed.devices))
    return [
        (one.number, one.total_bytes, -1 if one.free_bytes is None else one.free_bytes) for one in probed.devices
    ], said


def test_nvml_prefers_the_second_version_when_there_are_both() -> None:
    """The second version knows what is reserved; the first stands in where it fails, for whatever reason."""
    assert looked(Card(), Card(memory2=13), Card(memory2=25)) == ([(0, 100, 50), (1, 100, 60), (2, 100, 60)], "")


def test_nvml_leaves_out_what_fails_and_goes_on() -> None:
    """Each device that fails is a reason with its number; the others keep theirs; unknown names are filled in."""
    broken = Card(memory2=15, memory=15)
    devices, said = looked(Card(handle=15), broken, Card(uuid=999), Card(memory2=(0, 0)))
    assert devices == [(2, 100, 50)]
    assert said.count(reason(15)) == 2
    assert said.startswith("device 0: ")
    assert said.endswith("device 3: it says that it has 0 bytes")


def test_nvml_lists_mig_devices_when_a_card_has_them() -> None:
    """Places that are empty are passed over, one that fails keeps its number, a card without any says so."""
    mig = Card(instances=(6, Card(memory2=(10, 5)), 6, 15, Card(memory2=(20, 6))))
    devices, said = looked(mig, Card(instances=3), Card(instances=(6, 6)), Card())
    assert devices == [(0, 10, 5), (2, 20, 6), (3, 100, 50), (4, 100, 50)]
    assert said == f"device 1: {reason(15)}; device 4: MIG is on, and no MIG device was made"


def test_nvml_takes_main_memory_when_a_device_has_none() -> None:
    """Not supported by both versions: unified; without main memory's figures it is a reason."""
    shared = Card(memory2=3, memory=3)
    assert looked(shared, main=MainMemory(64, 32)) == ([(0, 64, 32)], "")
    assert looked(shared) == ([], "device 0: it shares main memory, which does not tell")


def test_nvml_says_why_when_it_does_not_start() -> None:
    """Codes become sentences; one that nobody knows keeps its number; no card is a reason, too."""
    assert looked(start=9) == ([], "the NVIDIA driver is not loaded")
    assert looked(start=77) == ([], "NVML failed with its error 77")
    assert looked(Card(), count=999) == ([], "NVML failed with its error 999")
    assert looked() == ([], "the NVIDIA driver knows no device")


@given(
    st.lists(
        st.builds(
            Card,
            memory=st.integers(0, 30) | st.tuples(st.integers(), st.integers()),
            memory2=st.integers(0, 30) | st.tuples(st.integers(), st.integers()),
            instances=st.integers(0, 30) | st.lists(st.integers(1, 30) | st.just(Card())).map(tuple),
            handle=st.sampled_from([0, 0, 15]),
            busy=st.integers(),
        ),
        max_size=5,
    )
)
def test_nvml_answer_is_devices_in_order_or_reasons_whatever_it_says(cards: list[Card]) -> None:
    """Numbers rise, free is within the total, and who finds nothing says why."""
    devices, said = looked(*cards, main=MainMemory(64, 32))
    assert [number for number, *_ in devices] == sorted({number for number, *_ in devices})
    assert all(-1 <= free <= total for _, total, free in devices)
    assert devices or said
