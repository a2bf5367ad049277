"""What a device may say of itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.devices import MOST_BYTES, Device, shown, sound

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
