"""Which devices a model is put on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.devices import Device, MainMemory, Probed
from squidbot.models.windows import cards_of

if TYPE_CHECKING:
    from squidbot.core.devices import Vendor


def device(number: int, vendor: Vendor, free_bytes: int | None) -> Device:
    """Return a device with that much free."""
    return Device(number, "", "Card", vendor, 1000, free_bytes, unified=False, source="test")


def test_cards_are_the_devices_that_tell_what_is_free() -> None:
    """In order, by the rules of their vendor, main memory behind them."""
    probed = Probed((device(0, "amd", 10), device(2, "amd", 30)), ())
    cards = cards_of(probed, MainMemory(1000, 700))
    assert [(card.kind, card.free_bytes, card.name) for card in cards] == [
        ("hip", 10, "0: Card"),
        ("hip", 30, "2: Card"),
        ("cpu", 700, "main memory"),
    ]
    assert cards_of(Probed((), ()), None) == ()


def test_there_are_no_cards_when_one_that_a_runtime_would_use_does_not_tell() -> None:
    """Neither are the others, nor is main memory what the model is sized for: it would lie elsewhere."""
    main = MainMemory(1000, 700)
    assert cards_of(Probed((device(0, "amd", 10), device(1, "amd", None)), ()), main) == ()
    assert cards_of(Probed((device(0, "nvidia", None),), ()), main) == ()
    other = Probed((device(0, "nvidia", None), device(1, "amd", 30)), ())
    assert [card.kind for card in cards_of(other, main)] == ["hip", "cpu"]


def test_cards_are_of_one_vendor() -> None:
    """A runtime is built for one: that whose cards have most free together."""
    probed = Probed((device(0, "nvidia", 40), device(1, "amd", 30), device(2, "amd", 20)), ())
    assert [card.kind for card in cards_of(probed, None)] == ["hip", "hip"]
    probed = Probed((device(0, "nvidia", 60), device(1, "amd", 30), device(2, "amd", 20)), ())
    assert [card.kind for card in cards_of(probed, None)] == ["cuda"]
