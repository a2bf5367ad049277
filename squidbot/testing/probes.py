"""The check of a GpuProbe."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from squidbot.core.devices import MOST_BYTES, Device, Pressure, Probed, Vendor

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.ports import GpuProbe

__all__ = ["check_gpu_probe"]


def check_gpu_probe(factory: Callable[[], GpuProbe]) -> None:
    """Check the promises of `ports.GpuProbe` on this machine, with or without a GPU; a factory returns a new probe.

    A probe that finds nothing must say why. Free memory may change between two calls, the devices may not.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    probe = factory()
    assert probe.name, "a probe's name is not empty: settings and devices name it"
    probed = _looked(probe)
    again = _looked(factory())
    named = [(device.number, device.uuid, device.name, device.total_bytes) for device in probed.devices]
    others = [(device.number, device.uuid, device.name, device.total_bytes) for device in again.devices]
    assert named == others, f"two looks see the same devices, not {named} and then {others}"


def _looked(probe: GpuProbe) -> Probed:
    """Probe once and check the result."""
    try:
        probed = probe.probe()
    except Exception as error:
        raise AssertionError(f"probe() never raises, and raised {error!r}") from error
    numbers = [device.number for device in probed.devices]
    assert numbers == sorted(set(numbers)), f"numbers are unique and in order, not {numbers}"
    assert all(number >= 0 for number in numbers), f"numbers begin at 0: {numbers}"
    sources = [tried.source for tried in probed.tried]
    assert sources, "every source that was asked is named: there is none"
    assert all(sources), f"every source has a name: {sources}"
    for tried in probed.tried:
        assert tried.found >= 0, f"a source finds 0 devices or more: {tried}"
        assert tried.found or tried.reason, f"a source that finds nothing says why: {tried}"
        assert tried.reason.isprintable(), f"a reason is one printable line: {tried}"
    for device in probed.devices:
        _check_device(device, sources)
    return probed


def _check_device(device: Device, sources: list[str]) -> None:
    """Check one device's figures and texts."""
    assert device.source in sources, f"a device's source is one of those that were asked, {sources}: {device}"
    assert isinstance(device.total_bytes, int), f"bytes are whole: {device}"
    assert 0 < device.total_bytes <= MOST_BYTES, f"a device has memory, at most 1 PiB: {device}"
    if device.free_bytes is not None:
        assert isinstance(device.free_bytes, int), f"bytes are whole: {device}"
        assert 0 <= device.free_bytes <= device.total_bytes, f"0 <= free <= total: {device}"
    busy = device.utilisation_fraction
    assert busy is None or 0 <= busy <= 1, f"a utilisation is 0 to 1: {device}"
    assert device.vendor in get_args(Vendor), f"a vendor is one of {get_args(Vendor)}: {device}"
    assert device.pressure in (None, *get_args(Pressure)), f"a pressure is one of {get_args(Pressure)}: {device}"
    assert device.name, f"a device has a name for people: {device}"
    assert (device.name + device.uuid).isprintable(), f"a device's texts are printable: {device}"
