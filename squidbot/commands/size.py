"""`squidbot size`: what a model file takes of memory, where, and the largest window that fits."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO
from squidbot.commands.paper import Paper
from squidbot.commands.reading.machine import looked
from squidbot.commands.reading.sizes import Asked, size_of
from squidbot.commands.sized import put_size, size_json
from squidbot.config import load_settings
from squidbot.config.checks import AUTO_LAYERS, KvType
from squidbot.core.errors import ConfigError
from squidbot.core.sizing.fit import Bounds
from squidbot.core.sizing.header import Card
from squidbot.core.sizing.memory import Reserved
from squidbot.models import cards_of, loading_of, model_file, projector_bytes
from squidbot.wiring.gpus import Machine

if TYPE_CHECKING:
    from squidbot.config import Loaded
    from squidbot.core.devices import MainMemory, Probed

__all__ = ["size"]

MIB = 2**20
_BYTES = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?)\s*(?:([KMGT])(i?)B?|B)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def _bytes(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Return the bytes that "16000000000", "15500MiB" or "16GB,24GB" names, one for each device."""
    if value is None:
        return None
    sizes = []
    for text in value.split(","):
        match = _BYTES.fullmatch(text.strip())
        if match is None:
            raise click.BadParameter(f"{text[:40]!r} is no number of bytes; write 16000000000, 16GB or 15500MiB")
        base = 1024 if match[3] else 1000
        sizes.append(int(float(match[1]) * base ** _POWERS[(match[2] or "").lower()]))
    return tuple(sizes)


def _layers(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Return a number of layers; "all" is -1."""
    known = {"auto": AUTO_LAYERS, "all": -1}
    if value is None or value in known:
        return None if value is None else known[value]
    if not re.fullmatch(r"-1|[0-9]{1,6}", value):
        raise click.BadParameter(f"{value[:40]!r} is no number of layers; write 0 or more, all, or auto")
    return int(value)


@click.command()
@click.argument("model")
@click.option("--window", metavar="N", callback=options.tokens, help="This window, and not the largest that fits.")
@click.option("--kv", type=click.Choice(get_args(KvType)), help="The type of the KV cache.  [default: f16]")
@click.option("--gpu-layers", metavar="N|all|auto", callback=_layers, help="Layers on GPUs.  [default: all]")
@click.option("--vram", metavar="BYTES,...", callback=_bytes, help="Free memory of each GPU, not that of this machine.")
@click.option("--batch", metavar="N", type=click.IntRange(1), help="Tokens of a physical batch.  [default: 512]")
@click.option("--no-flash-attn", is_flag=True, help="Without flash attention.")
@click.option("--margin", metavar="MIB", type=click.IntRange(0), help="What stays free on a device.  [default: 1536]")
@click.option("--verify", is_flag=True, help="Ask llama.cpp itself, too: a dry run in a child, nothing is loaded.")
@options.as_json
def size(*, model: str, vram: tuple[int, ...] | None, verify: bool, as_json: bool, **given: object) -> None:
    """Say what MODEL takes of memory, and the largest window that fits; it is not loaded.

    MODEL is a GGUF file, of several parts any, or an alias of ./squidbot.toml whose values the options then change.
    """
    loaded, main = load_settings(), Machine().main_memory()
    asked = _asked(loaded, _alias(loaded, model), model, given)
    cards = _named(vram, main) if vram else cards_of(_probed(loaded), main)
    if not cards:
        raise ConfigError("nothing on this machine tells how much of its memory is free; name it with --vram BYTES")
    answer = size_of(asked._replace(cards=cards, verify=verify))
    if as_json:
        options.print_json(size_json(answer))
    else:
        paper = Paper()
        put_size(paper, answer)
        paper.print()
    click.get_current_context().exit(0 if answer.fits else ANSWER_IS_NO)


def _alias(loaded: Loaded, model: str) -> str:
    """Return which model of the settings is meant, "" for a file.

    Raises:
        ConfigError: there is neither.
    """
    path, models = Path(model), loaded.settings.models
    # A folder may be called as a model is.
    if path.is_file() or (path.exists() and model not in models):
        return ""
    if model in models:
        return model
    known = f", and no such model among {', '.join(models)}" if models else ""
    raise ConfigError(f"{model}: there is no such file{known}")


def _asked(loaded: Loaded, alias: str, path: str, given: dict[str, object]) -> Asked:
    """Return what is to be sized: as the settings have it, then as the options say."""
    settings = loaded.settings
    wanted = settings.model(alias)
    layers = given["gpu_layers"] if given["gpu_layers"] is not None else wanted.n_gpu_layers
    changes: dict[str, object] = {"n_gpu_layers": max(int(str(layers)), -1), "n_ctx": given["window"] or 0}
    if given["kv"]:
        changes |= {"type_k": given["kv"], "type_v": given["kv"]}
    if given["batch"]:
        changes["n_ubatch"] = given["batch"]
    if given["no_flash_attn"]:
        changes["flash_attn"] = False
    margin = settings.window.vram_margin_mib if given["margin"] is None else int(str(given["margin"]))
    file = model_file(loaded, alias) if alias else path
    if not file:
        raise ConfigError(f"{alias!r} has no file: set its path, or repo_id and filename @ {loaded.source}")
    return Asked(
        file,
        # The options have been checked one by one; `replace` can't see that.
        replace(loading_of(loaded, wanted), **changes),  # type: ignore[arg-type]
        (),
        Bounds(settings.window.min, settings.window.max, wanted.context_window),
        Reserved(margin * MIB, projector_bytes(loaded, alias)),
        auto_layers=layers == AUTO_LAYERS,
    )


def _probed(loaded: Loaded) -> Probed:
    with looked(loaded) as wired:
        return wired.models.probed()


def _named(vram: tuple[int, ...], main: MainMemory | None) -> tuple[Card, ...]:
    """Return devices of these sizes, by the rules of CUDA, and main memory as it is."""
    cards = [Card("cuda", free_bytes, str(number)) for number, free_bytes in enumerate(vram)]
    return (*cards, *([Card("cpu", main.available_bytes, "main memory")] if main else []))
