"""`squidbot status`: devices, models and their windows, packages, stores; what is active, what is not, and why."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO
from squidbot.commands.paper import Paper
from squidbot.commands.reading.installed import command_for
from squidbot.commands.reading.machine import found_here
from squidbot.commands.reading.modes import prompt_json, prompt_line
from squidbot.commands.texts import percent
from squidbot.config import load_settings

if TYPE_CHECKING:
    from squidbot.commands.reading.hosts import HostFound
    from squidbot.commands.reading.installed import Package
    from squidbot.commands.reading.machine import Found, ModelFound
    from squidbot.core.devices import Device

__all__ = ["status"]

MIB = 2**20


@click.command()
@click.option("--config", metavar="FILE", help="The settings.  [default: ./squidbot.toml]")
@options.store
@options.as_json
def status(*, config: str | None, store: str | None, as_json: bool) -> None:
    """Show what squidbot finds here: devices, models, hosts, stores; what is active, what is not, and why.

    Nothing is loaded, downloaded or written.
    """
    loaded = load_settings(config)
    if store:
        loaded = loaded.changed(store={"path": str(Path(store).absolute()), "adapter": "sqlite3"})
    found = found_here(loaded)
    if as_json:
        options.print_json(_json(found))
    else:
        paper = Paper()
        _put_devices(paper, found)
        _put_models(paper, found)
        _put_hosts(paper, found)
        _put_packages(paper, found)
        _put_store(paper, found)
        for problem in found.problems:
            paper.say(f"! {problem}", "bold red")
        paper.print()
    click.get_current_context().exit(ANSWER_IS_NO if found.problems else 0)


def _put_devices(paper: Paper, found: Found) -> None:
    paper.heading("Devices")
    for device in found.probed.devices:
        paper.say(f"{device.number}: {_device(device)}", indent="  ")
    if not found.probed.devices:
        paper.say("no GPU found: models are put into main memory", indent="  ")
    if found.main is not None:
        free, total = _mib(found.main.available_bytes), _mib(found.main.total_bytes)
        paper.say(f"main memory: {free} free of {total}", indent="  ")
    for one in found.probed.tried:
        if one.reason:
            paper.say(f"{one.source}: {one.reason}", "dim", indent="  ")
    paper.blank()


def _device(device: Device) -> str:
    free = "does not tell what is free" if device.free_bytes is None else f"{_mib(device.free_bytes)} free"
    busy = f", {percent(device.utilisation_fraction)} busy" if device.utilisation_fraction is not None else ""
    shares = ", shares main memory" if device.unified else ""
    pressed = f", memory pressure {device.pressure}" if device.pressure else ""
    said = f"{device.name or device.vendor}, {free} of {_mib(device.total_bytes)}{busy}{shares}{pressed}"
    return f"{said} (by {device.source})"


def _put_models(paper: Paper, found: Found) -> None:
    paper.heading("Models")
    for one in found.models:
        name = one.alias or "any other"
        if one.lease is None:
            paper.say(f"{name}: no window: {one.problem}", indent="  ")
            continue
        lease = one.lease
        adaptive = found.loaded.settings.allocation.adaptive
        answer = f"{'up to ' if adaptive else ''}{lease.reserved_output_tokens:,} of them for the answer"
        paper.say(
            f"{name}: window {lease.window_tokens:,} tokens ({lease.source}, tier {one.tier}), {answer}; "
            f"counted by {lease.counter}",
            indent="  ",
        )
        if one.counted:
            paper.say(f"counted so: {one.counted}", "dim", indent="    ")
        if lease.detail:
            paper.say(lease.detail, "dim", indent="    ")
        if one.loading is not None:
            paper.say(_loading(one), "dim", indent="    ")
        if one.prompt is not None:
            paper.say(prompt_line(one.prompt), "dim", indent="    ")
    paper.blank()


def _loading(one: ModelFound) -> str:
    loading = one.loading
    if loading is None:
        return ""
    layers = "all" if loading.n_gpu_layers < 0 else str(loading.n_gpu_layers)
    flash = "on" if loading.flash_attn else "off"
    return (
        f"loaded with n_ctx {loading.n_ctx}, n_batch {loading.n_batch}, n_ubatch {loading.n_ubatch}, layers on GPUs "
        f"{layers}, KV cache {loading.type_k}/{loading.type_v}, flash attention {flash}"
    )


def _put_hosts(paper: Paper, found: Found) -> None:
    paper.heading("Hosts")
    for one in found.hosts:
        if one.versions is None:
            paper.say(f"{one.host.name}: not installed", "dim", indent="  ")
            paper.say(one.reason, "dim", indent="    ")
            continue
        known = ", ".join(f"{name} {version}" for name, version in one.versions.items())
        paper.say(f"{one.host.name}: {'' if one.active else 'not '}active ({known})", indent="  ")
        paper.say(one.reason, indent="    ")
    paper.blank()


def _put_packages(paper: Paper, found: Found) -> None:
    paper.heading("Packages")
    for package, version in found.packages:
        if version is not None:
            paper.say(f"{package.adapter}: {package.distribution} {version}, {package.purpose}", indent="  ")
        else:
            paper.say(f"{package.adapter}: not installed; {package.purpose}", "dim", indent="  ")
            how = f"the extra {package.extra} is missing; {command_for(package, found.probed)}   ({package.cost})"
            paper.say(how, "dim", indent="    ")
    paper.blank()


def _put_store(paper: Paper, found: Found) -> None:
    store = found.store
    paper.heading("Store")
    said = store.health or store.problem
    paper.say(f"{store.adapter}: {store.path}: {said}" if store.path else f"{store.adapter}: {said}", indent="  ")
    facts = found.facts
    paper.say(f"durable facts: {facts.kept}", indent="  ")
    if facts.vectors:
        paper.say(f"vectors: {facts.vectors}", indent="    ")
    if facts.nearest:
        paper.say(f"nearest by {facts.nearest}", indent="    ")
    for remark in facts.remarks:
        paper.say(remark, "dim", indent="    ")
    paper.blank()


def _json(found: Found) -> dict[str, object]:
    return {
        "settings": found.loaded.source,
        "devices": [one._asdict() for one in found.probed.devices],
        "main_memory": found.main._asdict() if found.main else None,
        "probes": [one._asdict() for one in found.probed.tried],
        "models": [_model_json(one) for one in found.models],
        "hosts": [_host_json(one) for one in found.hosts],
        "packages": [_package_json(found, package, version) for package, version in found.packages],
        "store": found.store._asdict(),
        "memory": found.facts._asdict(),
        "problems": found.problems,
    }


def _model_json(one: ModelFound) -> dict[str, object]:
    lease, sized = one.lease, one.sized
    return {
        "alias": one.alias,
        "window": lease.window_tokens if lease else None,
        "reserved_output_tokens": lease.reserved_output_tokens if lease else None,
        "source": lease.source if lease else None,
        "detail": lease.detail if lease else None,
        "counter": lease.counter if lease else None,
        "counted": one.counted,
        "tier": one.tier or None,
        "largest_window": sized.window_tokens if sized else None,
        "loading": asdict(one.loading) if one.loading else None,
        "prompt": prompt_json(one.prompt),
        "problem": one.problem or None,
    }


def _host_json(one: HostFound) -> dict[str, object]:
    told = {"name": one.host.name, "extra": one.host.extra, "command": one.host.command, "line": one.host.line}
    versions = one.versions or {}
    needs = [
        {"distribution": name, "version": versions.get(name), "least": one.host.needs[name]} for name in one.host.needs
    ]
    return {**told, "needs": needs, "active": one.active, "reason": one.reason}


def _package_json(found: Found, package: Package, version: str | None) -> dict[str, object]:
    told = {"adapter": package.adapter, **package._asdict(), "command": command_for(package, found.probed)}
    return {**told, "version": version}


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:,.1f} MiB"
