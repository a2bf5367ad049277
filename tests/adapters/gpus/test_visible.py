"""Which devices CUDA and ROCm see: the rules of their variables, on devices made for a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.gpus import amd_visible, nvidia_visible
from squidbot.core.devices import Device, ProbeAttempt, ProbeResult

if TYPE_CHECKING:
    from collections.abc import Mapping

GIB = 1 << 30
ORDER = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def card(number: int, name: str = "A", free: int | None = 8, uuid: str = "") -> Device:
    """Return a device with so many GiB free of 24."""
    uuid = uuid or f"GPU-{number}aaa-{number}bbb"
    return Device(number, uuid, name, "nvidia", 24 * GIB, None if free is None else free * GIB, False, "nvml")  # noqa: FBT003  # a value's field


def seen(environ: Mapping[str, str], *cards: Device) -> tuple[list[str], str]:
    """Return the unique names of what CUDA sees, numbered anew, and the reason."""
    probed = nvidia_visible(ProbeResult(cards, (ProbeAttempt("nvml", len(cards), ""),)), environ)
    assert [device.number for device in probed.devices] == list(range(len(probed.devices)))
    return [device.uuid[4:8] for device in probed.devices], probed.tried[0].reason


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (None, ["0aaa", "1aaa", "2aaa"]),
        ("0,1,2", ["0aaa", "1aaa", "2aaa"]),
        ("2,0", ["2aaa", "0aaa"]),
        (" 1 , 2 ", ["1aaa", "2aaa"]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("0,-1,1", ["0aaa"]),
        ("1,7,0", ["1aaa"]),
        ("1,1", ["1aaa"]),
        ("0,,1", ["0aaa"]),
        ("GPU-2", ["2aaa"]),
        ("GPU-2aaa-2bbb,GPU-0A", ["2aaa", "0aaa"]),
        ("GPU-", []),
        ("2aaa", []),
        ("MIG-2", []),
        ("GPU-2,0", ["2aaa", "0aaa"]),
        ("99999999999999999999999", []),
    ],
)
def test_cuda_sees_what_its_variable_leaves_when_cards_are_alike(value: str | None, names: list[str]) -> None:
    """Numbers and beginnings of unique names, in the order of the variable; nothing behind what fits no device."""
    environ = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    found, reason = seen(environ, card(0), card(1), card(2))
    assert found == names
    assert (f"CUDA_VISIBLE_DEVICES={value}" in reason) == (len(names) < 3)


def test_cuda_sees_nothing_when_the_beginning_of_a_name_fits_two() -> None:
    """A name that is cut too short fits no single device."""
    cards = (card(0, uuid="GPU-77aa"), card(1, uuid="GPU-77ab"))
    assert seen({"CUDA_VISIBLE_DEVICES": "GPU-77a"}, *cards)[0] == []
    assert seen({"CUDA_VISIBLE_DEVICES": "GPU-77ab"}, *cards)[0] == ["77ab"]


def frees(environ: Mapping[str, str], *cards: Device) -> tuple[list[int | None], str]:
    """Return how many GiB are free on each device that CUDA sees, and the reason."""
    probed = nvidia_visible(ProbeResult(cards, (ProbeAttempt("nvml", len(cards), ""),)), environ)
    found = [device.free_bytes for device in probed.devices]
    return [None if free is None else free // GIB for free in found], probed.tried[0].reason


def test_unlike_cards_get_the_least_free_when_their_order_is_not_known() -> None:
    """CUDA orders by speed, NVML by bus: only an order that is set, or unique names, tell which card is which."""
    cards = (card(0, "A", 20), card(1, "B", 3))
    for value in ("0", "1", "0,1", "1,0"):
        found, reason = frees({"CUDA_VISIBLE_DEVICES": value}, *cards)
        assert found == [3] * len(value.split(","))
        assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in reason
    assert frees({}, *cards)[0] == [3, 3]
    assert frees({**ORDER, "CUDA_VISIBLE_DEVICES": "0"}, *cards)[0] == [20]
    assert frees(ORDER, *cards) == ([20, 3], "")
    assert frees({"CUDA_VISIBLE_DEVICES": "GPU-0,GPU-1"}, *cards) == ([20, 3], "")
    assert frees({}, card(0, "A", 20), card(1, "A", 3)) == ([20, 3], "")
    assert frees({}, card(0, "A", 20), card(1, "B", None))[0] == [None, None]
    assert frees({}, card(0, "A", 20)) == ([20], "")


def test_mig_devices_bring_a_hint_when_a_program_could_use_one_of_several() -> None:
    """A CUDA program uses one MIG device: with more of them visible it is said how to name it."""
    cards = (card(0, uuid="MIG-0aaa"), card(1, uuid="MIG-1aaa"))
    assert "one MIG device" in seen({}, *cards)[1]
    found, reason = seen({"CUDA_VISIBLE_DEVICES": "MIG-1"}, *cards)
    assert (found, "one MIG device" in reason) == (["1aaa"], False)


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({}, ["0aaa", "1aaa", "2aaa"]),
        ({"ROCR_VISIBLE_DEVICES": "1,2"}, ["1aaa", "2aaa"]),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, ["2aaa"]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-2", "HIP_VISIBLE_DEVICES": "1"}, []),
        ({"HIP_VISIBLE_DEVICES": ""}, []),
        ({"HIP_VISIBLE_DEVICES": "-1"}, []),
        ({"CUDA_VISIBLE_DEVICES": "2"}, ["2aaa"]),
        ({"CUDA_VISIBLE_DEVICES": "2", "HIP_VISIBLE_DEVICES": "0"}, ["0aaa"]),
    ],
)
def test_rocm_sees_what_its_variables_leave_when_there_are_two(environ: dict[str, str], names: list[str]) -> None:
    """The one of the driver first, and that of HIP counts what is left of it."""
    cards = (card(0), card(1), card(2))
    probed = amd_visible(ProbeResult(cards, (ProbeAttempt("amdgpu", 3, ""),)), environ)
    assert [device.uuid[4:8] for device in probed.devices] == names
    assert [device.number for device in probed.devices] == list(range(len(names)))
    assert bool(probed.tried[0].reason) == (len(names) < 3)


@given(
    value=st.one_of(st.text(), st.lists(st.sampled_from(["0", "1", "GPU-1", "GPU-", "-1", "x"])).map(",".join)),
    frees=st.lists(st.none() | st.integers(0, 24), max_size=4),
)
def test_no_value_of_a_variable_adds_a_device_or_memory(value: str, frees: list[int | None]) -> None:
    """Whatever is set: each device at most once, and none has more free than it had."""
    cards = tuple(card(number, "AB"[number % 2], free) for number, free in enumerate(frees))
    for see in (nvidia_visible, amd_visible):
        probed = see(ProbeResult(cards, (ProbeAttempt("x", len(cards), ""),)), {"CUDA_VISIBLE_DEVICES": value})
        names = [device.uuid for device in probed.devices]
        assert len(set(names)) == len(names) <= len(cards)
        for device in probed.devices:
            (before,) = [one.free_bytes for one in cards if one.uuid == device.uuid]
            assert device.free_bytes is None or (before is not None and device.free_bytes <= before)
