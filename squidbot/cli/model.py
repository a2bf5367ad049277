"""`squidbot model size`: how much memory a model file needs, where, and the largest window that fits."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import click

from squidbot.adapters.gguf import read_header
from squidbot.adapters.gpus import Machine
from squidbot.adapters.llama_cpp.verify import verify
from squidbot.cli.open_store import without_store
from squidbot.cli.output import CONFIG_OPTION, Result, ResultGroup, config_given, tokens
from squidbot.cli.texts import ANSWER_IS_NO, count
from squidbot.config import load_settings
from squidbot.config.checks import AUTO_LAYERS, KvType
from squidbot.core.errors import ConfigError, SizingError
from squidbot.core.sizing.fit import (
    SLOW_TYPES,
    Alternative,
    Bound,
    Bounds,
    Fit,
    WindowSearch,
    limit_of,
    windows_between,
)
from squidbot.core.sizing.header import Card, tensor_bytes
from squidbot.core.sizing.memory import MIB, ComputeBuffer, ReservedMemory, measure, model_of, placed, sharing
from squidbot.models import cards_of, loading_of, model_file, projector_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.adapters.llama_cpp.verify import DryRun, DryRunSetting
    from squidbot.cli.printer import Printer
    from squidbot.config import Loaded
    from squidbot.core.sizing.header import Header, Loading
    from squidbot.core.sizing.memory import DeviceMemory, Sizing

_BYTES = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?)\s*(?:([KMGT])(i?)B?|B)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
# Settings to ask about in one child process: each takes milliseconds, a child a second.
AT_ONCE = 16
# llama.cpp's names of buffers on a device: "CUDA0", "ROCm1", "Vulkan0", "Metal"; "CUDA_Host" and "CPU" are not.
_ON_DEVICE = re.compile(r"(?:CUDA|ROCm|HIP|Vulkan|SYCL|Metal|MTL)(\d*)(?:_Private|_Mapped)?")
CHANGES = {
    "window": "a smaller window",
    "flash_attn": "flash attention on",
    "swa_full": "sliding layers that keep only what they see",
    "q8_0": "q8_0 KV cache",
    "q5_1": "q5_1 KV cache",
    "q5_0": "q5_0 KV cache",
    "q4_1": "q4_1 KV cache",
    "q4_0": "q4_0 KV cache",
    "n_ubatch": "batches of 256",
    "margin": "a margin of 512 MiB",
    "n_gpu_layers": "fewer layers on GPUs",
    "cpu": "no GPU",
}
# What else to know of a change.
_NOTES = {
    **dict.fromkeys(SLOW_TYPES, "; slow on NVIDIA unless llama.cpp has GGML_CUDA_FA_ALL_QUANTS"),
    "margin": "; if no other program needs the GPU",
}
BOUNDS = {
    "vram": "GPU memory",
    "memory": "main memory",
    "native-limit": "the length the model was trained for",
    "model-cap": "its context_window in the settings",
    "window.max": "window.max",
}
NOTHING_FITS = "no other setting makes it fit: free some memory or choose a smaller model"
NOT_COUNTED = "the driver's context and pools (the margin is for them), draft models, LoRA, tensor overrides"
# llama.cpp rounds the size of a cache beside others to 0.01 MiB.
ROUNDED_BYTES = MIB // 200 + 1
# Keys of JSON that are a field of `Sizing`; null if not in the header.
MEASURED = {
    "trained_tokens": "trained_tokens",
    "layers": "blocks",
    "window": "window_tokens",
    "weights_bytes": "weights_bytes",
    "kv_bytes": "kv_bytes",
    "recurrent_bytes": "recurrent_bytes",
    "compute_bytes": "compute_bytes",
    "compute_kind": "compute_kind",
    "total_bytes": "total_bytes",
    "kv_bytes_per_token": "kv_bytes_per_token",
    "source": "method",
}


def _bytes(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Return the bytes in "16000000000", "15500MiB" or "16GB,24GB", one number for each device."""
    if value is None:
        return None
    sizes = []
    for text in value.split(","):
        match = _BYTES.fullmatch(text.strip())
        if match is None:
            raise click.BadParameter(f"{text[:40]!r} is not a number of bytes; write 16000000000, 16GB or 15500MiB")
        base = 1024 if match[3] else 1000
        size_bytes = int(float(match[1]) * base ** _POWERS[(match[2] or "").lower()])
        if size_bytes < MIB:
            raise click.BadParameter(f"{text[:40]!r} is less than 1 MiB; name the unit, as in 7.6GiB or 15500MiB")
        sizes.append(size_bytes)
    return tuple(sizes)


def _layers(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Return a number of layers; "all" is -1."""
    known = {"auto": AUTO_LAYERS, "all": -1}
    if value is None or value in known:
        return None if value is None else known[value]
    if not re.fullmatch(r"-1|[0-9]{1,6}", value):
        raise click.BadParameter(f"{value[:40]!r} is not a number of layers; write 0 or more, all, or auto")
    return int(value)


@click.group(cls=ResultGroup)
def model() -> None:
    """Show how much memory a model file needs, and the largest window that fits."""


@model.command()
@click.argument("model")
@click.option(
    "--window",
    metavar="N",
    callback=tokens,
    help="Window in tokens: 32768, or 32Ki; 32k is 32,000.  [default: the largest that fits]",
)
@click.option("--kv", type=click.Choice(get_args(KvType)), help="Type of the KV cache.  [default: f16]")
@click.option(
    "--gpu-layers",
    metavar="N|all|auto",
    callback=_layers,
    help="Layers on GPUs, counting the output as one; auto: as many as fit.  [default: all]",
)
@click.option(
    "--vram",
    metavar="BYTES,...",
    callback=_bytes,
    help="Free memory of each GPU: 24GB, or 15500MiB,8GiB.  [default: that of this machine]",
)
@click.option(
    "--batch", metavar="N", type=click.IntRange(1), help="Tokens of a physical batch (n_ubatch).  [default: 512]"
)
@click.option("--no-flash-attn", is_flag=True, help="Size without flash attention.")
@click.option(
    "--margin", metavar="MIB", type=click.IntRange(0), help="MiB to leave free on each device.  [default: 1536]"
)
@CONFIG_OPTION
@click.option("--verify", is_flag=True, help="Compare with a dry run of llama.cpp; needs llama-cpp-python.")
def size(*, model: str, vram: tuple[int, ...] | None, verify: bool, **given: Any) -> Result:  # noqa: ANN401  # options
    """Show how much memory a model needs, where, and the largest window that fits. Nothing is loaded.

    MODEL is a GGUF file (of several parts, any of them), or an alias of ./squidbot.toml, whose values the options
    override. Exit codes: 1 it does not fit, or its layout is unknown; 4 the file is damaged.
    """
    loaded, main = load_settings(config_given()), Machine().main_memory()
    asked = _asked(loaded, _alias(loaded, model), model, given)
    if vram:
        # Devices of these sizes, by the rules of CUDA, and the actual main memory.
        named = [Card("cuda", free_bytes, str(number)) for number, free_bytes in enumerate(vram)]
        cards = (*named, *([Card("cpu", main.available_bytes, "main memory")] if main else []))
    else:
        with without_store(loaded) as wired:
            cards = cards_of(wired.models.probed(), main)
    if not cards:
        raise ConfigError("cannot find out how much memory is free; pass --vram BYTES")
    answer = _sized(asked._replace(cards=cards, verify=verify))
    return Result(_size_json(answer), lambda out: _put_size(out, answer), 0 if answer.fits else ANSWER_IS_NO)


def _alias(loaded: Loaded, model: str) -> str:
    """Return the model of the settings, "" for a file.

    Raises:
        ConfigError: there is neither.
    """
    path, models = Path(model), loaded.settings.models
    # A folder may have a model's name.
    if path.is_file() or (path.exists() and model not in models):
        return ""
    if model in models:
        return model
    known = f", and no such model among {', '.join(models)}" if models else ""
    raise ConfigError(f"{model}: no such file{known}; pass a .gguf file, or the alias of a model of your settings")


def _asked(loaded: Loaded, alias: str, path: str, given: dict[str, Any]) -> SizeRequest:
    """Return the request for sizing: the settings, then the options."""
    settings = loaded.settings
    wanted = settings.model(alias)
    layers = given["gpu_layers"] if given["gpu_layers"] is not None else wanted.n_gpu_layers
    changes: dict[str, Any] = {"n_gpu_layers": max(layers, -1), "n_ctx": given["window"] or 0}
    if given["kv"]:
        changes |= {"type_k": given["kv"], "type_v": given["kv"]}
    if given["batch"]:
        changes["n_ubatch"] = given["batch"]
    if given["no_flash_attn"]:
        changes["flash_attn"] = False
    margin = settings.window.vram_margin_mib if given["margin"] is None else given["margin"]
    file = model_file(loaded, alias) if alias else path
    if not file:
        raise ConfigError(f"{alias!r} has no file: set its path, or repo_id and filename @ {loaded.source}")
    return SizeRequest(
        file,
        replace(loading_of(loaded, wanted), **changes),
        (),
        Bounds(settings.window.min, settings.window.max, wanted.context_window),
        ReservedMemory(margin * MIB, projector_bytes(loaded, alias)),
        auto_layers=layers == AUTO_LAYERS,
    )


# -- what is found ---------------------------------------------------------------------------------------------


class SizeRequest(NamedTuple):
    """A request for sizing.

    Attributes:
        path: the model file.
        loading: how it is loaded; `n_ctx` 0: with the largest window that fits.
        cards: the devices.
        bounds: the range of windows to search.
        reserved: the bytes set aside besides.
        auto_layers: whether fewer layers on GPUs are acceptable.
        verify: whether to ask llama.cpp itself, too.
    """

    path: str
    loading: Loading
    cards: tuple[Card, ...]
    bounds: Bounds
    reserved: ReservedMemory
    auto_layers: bool = False
    verify: bool = False


class SizeAnswer(NamedTuple):
    """The answer.

    Attributes:
        header: the file's header.
        sizing: the model's needs with the requested window, else with the largest that fits, else with the
            smallest; `None` if unknown.
        found: the largest window; `None` if unknown.
        others: settings that would fit better.
        refused: why the header gives no answer; "" if it does.
        verified: `None` without a check by llama.cpp.
    """

    asked: SizeRequest
    header: Header
    sizing: Sizing | None
    found: Fit | None
    others: tuple[Alternative, ...]
    refused: str
    verified: DryRun | None

    @property
    def tensor_bytes(self) -> int:
        """The tensors that llama.cpp loads, each once, without padding."""
        loaded = {tensor.name: tensor for tensor, _ in placed(self.header, self.asked.loading, ())}
        return sum(map(tensor_bytes, loaded.values()))

    @property
    def fits(self) -> bool:
        """Whether the request fits, with the window that the settings ask for if no other is wanted."""
        return self.sizing is not None and self.sizing.fits and not self.missed_tokens

    @property
    def missed_tokens(self) -> int:
        """The window that the settings ask for, if memory is too small for it and no other window is wanted; else 0."""
        is_short = self.found is not None and self.found.bound_by in {"vram", "memory"}
        return self.asked.bounds.cap_tokens or 0 if is_short and not self.asked.loading.n_ctx else 0


def _sized(asked: SizeRequest) -> SizeAnswer:
    """Return how much memory a model needs.

    Raises:
        ConfigError: llama.cpp would refuse these settings.
        ModelFileError: the file is damaged.
        ModelLoadError: llama.cpp itself does not load it.
        SizingError: llama.cpp was requested, and is missing.
    """
    header = read_header(asked.path)
    try:
        answer = _from_header(asked, header)
    except SizingError as error:
        answer = SizeAnswer(asked, header, None, None, (), str(error), None)
    if not asked.verify:
        return answer
    if answer.sizing and answer.sizing.compute_kind == "unknown":
        answer = _found_by_llama_cpp(asked, header, answer, answer.sizing)
    verified = verify(asked.path, [answer.sizing.loading if answer.sizing else asked.loading])
    sizing = _with_compute(answer.sizing, verified.settings[0]) if answer.sizing else None
    return answer._replace(verified=verified, sizing=sizing)


def _from_header(asked: SizeRequest, header: Header) -> SizeAnswer:
    model, loading, bounds = model_of(header), asked.loading, asked.bounds
    if loading.n_ctx:
        bounds = Bounds(min(bounds.least_tokens, loading.n_ctx), max(bounds.most_tokens, loading.n_ctx))
    if asked.auto_layers:
        held = bounds._replace(least_tokens=loading.n_ctx or bounds.least_tokens)
        loading = WindowSearch(model, loading, asked.cards, held, asked.reserved).with_layers_that_fit()
    search = WindowSearch(model, loading, asked.cards, bounds, asked.reserved)
    found = search.fit()
    sizing = found.sizing
    if loading.n_ctx:
        sizing = sharing(measure(model, loading, asked.cards, asked.reserved), asked.cards)
        search = search._replace(bounds=Bounds(loading.n_ctx, loading.n_ctx))
    others = _others(search.alternatives(), sizing)
    return SizeAnswer(asked, header, sizing, found, others, "", None)


def _found_by_llama_cpp(asked: SizeRequest, header: Header, answer: SizeAnswer, sizing: Sizing) -> SizeAnswer:
    """Return the answer with the largest window that fits by llama.cpp itself, if not in the header."""
    model, bounds = model_of(header), asked.bounds
    windows = windows_between(model, bounds)
    largest = _largest_window(
        asked.path, sizing.loading, windows, lambda loading: measure(model, loading, asked.cards, asked.reserved)
    )
    if largest is None:
        reason = "llama.cpp was asked, and does not see these devices, or has no room on them"
        found = answer.found._replace(reason=f"{sizing.devices[0].compute.reason}; {reason}") if answer.found else None
        return answer._replace(found=found)
    window, taken = largest
    bound: Bound = "memory" if len(taken.devices) == 1 else "vram"
    found = Fit(window, limit_of(model, bounds)[1] if window == windows[-1] else bound, taken)
    return answer._replace(found=found, sizing=sizing if asked.loading.n_ctx else taken)


def _others(found: Sequence[Alternative], sizing: Sizing) -> tuple[Alternative, ...]:
    """Return the alternatives that would change something: all if nothing fits."""
    return tuple(one for one in found if not sizing.fits or one.window_tokens > sizing.window_tokens)


def _with_compute(sizing: Sizing, measured: DryRunSetting) -> Sizing:
    """Return a sizing with llama.cpp's own compute buffers, if it sees the devices of the sizing.

    A sizing for other devices is returned unchanged: for named ones, or for GPUs that this build of llama.cpp does not
    know.
    """
    buffers: dict[int, int] = {}
    for name, size_bytes in measured.compute_bytes.items():
        found = _ON_DEVICE.fullmatch(name)
        number = int(found[1] or 0) if found else -1
        buffers[number] = buffers.get(number, 0) + size_bytes
    devices = {held.number for held in sizing.devices if held.number >= 0}
    if measured.failure or devices != {number for number in buffers if number >= 0}:
        return sizing

    def planned(held: DeviceMemory) -> DeviceMemory:
        return held._replace(compute=ComputeBuffer(buffers.get(held.number, 0), 0, "dry run"))

    return replace(sizing, devices=tuple(map(planned, sizing.devices)), method="dry run")


def _largest_window(
    path: str, loading: Loading, windows: Sequence[int], sizing_at: Callable[[Loading], Sizing]
) -> tuple[int, Sizing] | None:
    """Return the last of rising windows that fits by llama.cpp's own compute buffers, and the model's needs with it.

    For models whose header does not give the compute buffers. `None` if none fits, or llama.cpp misses the devices.

    Raises:
        ModelLoadError: llama.cpp does not load the file.
        SizingError: llama-cpp-python is not installed.
    """
    fits, too_large, found = -1, len(windows), None
    while too_large - fits > 1:
        places = sorted({fits + (too_large - fits) * part // (AT_ONCE + 1) for part in range(1, AT_ONCE + 1)} - {fits})
        run = verify(path, [replace(loading, n_ctx=windows[place]) for place in places])
        for place, measured in zip(places, run.settings, strict=True):
            sizing = _with_compute(sizing_at(measured.loading), measured)
            if not sizing.fits:
                too_large = place
                break
            fits, found = place, (windows[place], sizing)
    return found


# -- printed ---------------------------------------------------------------------------------------------------


def _put_size(out: Printer, answer: SizeAnswer) -> None:
    """Put what goes where, what is left, and what would change it."""
    out.heading(f"{Path(answer.asked.path).name}: {_what(answer)}")
    if answer.sizing is None:
        out.say(answer.refused)
    else:
        _put_verdict(out, answer, answer.sizing)
        for held in answer.sizing.devices:
            out.blank()
            _put_device(out, held)
        _put_others(out, answer.others)
        if _nothing_fits(answer):
            out.blank()
            out.say(NOTHING_FITS)
        out.blank()
        dry = "compute buffers by llama.cpp's dry run, the rest " if answer.sizing.method == "dry run" else ""
        out.say(f"{dry}by the file's header; not counted: {NOT_COUNTED}", "dim")
    if answer.verified is not None:
        out.blank()
        _put_verified(out, answer, answer.verified)


def _size_json(answer: SizeAnswer) -> dict[str, object]:
    """Return the answer for JSON; sizes in bytes, windows in tokens."""
    sizing = answer.sizing
    measured = {key: getattr(sizing, name) if sizing else None for key, name in MEASURED.items()}
    return {
        "path": answer.asked.path,
        "architecture": answer.header.architecture,
        "parts": answer.header.parts,
        "file_bytes": answer.header.file_bytes,
        "tensor_bytes": answer.tensor_bytes,
        **(measured if sizing or not answer.verified else measured | _told_json(answer.verified)),
        **_found_json(answer),
        "loading": asdict(sizing.loading if sizing else answer.asked.loading),
        "devices": [_device_json(held) for held in sizing.devices] if sizing else [],
        "others": [_other_json(other) for other in answer.others],
        "verified": _verified_json(answer, answer.verified) if answer.verified else None,
    }


def _what(answer: SizeAnswer) -> str:
    sizing = answer.sizing
    if sizing is None:
        return answer.header.architecture
    trained = f", trained for {sizing.trained_tokens:,} tokens" if sizing.trained_tokens else ""
    return f"{sizing.architecture}, {count(sizing.blocks, 'layer')}{trained}"


def _put_verdict(out: Printer, answer: SizeAnswer, sizing: Sizing) -> None:
    found, asked = answer.found, answer.asked.loading.n_ctx
    if asked:
        fits = "fits" if sizing.fits else "does not fit"
        trained = sizing.trained_tokens
        beyond = f"; the model was trained with {trained:,}" if 0 < trained < asked else ""
        out.say(f"a window of {sizing.window_tokens:,} tokens {fits}{beyond}", "bold")
    if found is not None and found.window_tokens is not None:
        bound = f", bound by {BOUNDS[found.bound_by]}" if found.bound_by else ""
        out.say(f"largest window {found.window_tokens:,} tokens{bound}", "bold")
        if answer.missed_tokens:
            out.say(f"the settings ask for {answer.missed_tokens:,} tokens, which do not fit", "bold")
    elif found is not None and not asked:
        out.say(f"does not fit: {found.reason}", "bold")
    per_token = f"{sizing.kv_bytes_per_token:,} bytes of cache a token"
    loading = sizing.loading
    types = loading.type_k if loading.type_k == loading.type_v else f"{loading.type_k}/{loading.type_v}"
    out.say(f"{per_token} ({types}), batches of {sizing.context.n_ubatch}")


def _put_device(out: Printer, held: DeviceMemory) -> None:
    """Put one device: its free memory, its contents, and what is left."""
    name = "main memory" if held.kind == "cpu" else f"device {held.name or held.number} ({held.kind})"
    layers = f", {count(held.layers, 'layer')}" if held.layers else ""
    out.heading(f"{name}{layers}")
    compute = held.compute
    rows = [
        ("weights", held.weights_bytes, "exact"),
        ("KV cache", held.kv_bytes, "exact"),
        ("recurrent state", held.recurrent_bytes, "exact"),
        ("compute", compute.total_bytes, _compute(held)),
        ("further files", held.extra_bytes, "such as a projector"),
        ("margin", held.margin_bytes, "stays free"),
    ]
    table = [(name, size, note) for name, size, note in rows if size]
    if held.free_bytes is not None and held.left_bytes is not None:
        table.insert(0, ("free", held.free_bytes, "beside what GPUs share" if held.shared else "now"))
        table.append(("left" if held.left_bytes >= 0 else "too little", abs(held.left_bytes), ""))
    out.table([{"": name, "MiB": _mib(size), " ": note} for name, size, note in table], indent="  ")


def _compute(held: DeviceMemory) -> str:
    compute = held.compute
    if compute.kind == "unknown":
        return compute.reason
    if compute.kind == "dry run":
        return "llama.cpp's own plan"
    text = f"{_mib(compute.closed_bytes)} + {_mib(compute.guard_bytes)} guard"
    return f"{text}; wide: {compute.reason}" if compute.kind == "wide" else text


def _nothing_fits(answer: SizeAnswer) -> bool:
    """Return whether it surely does not fit, whatever is changed."""
    sizing, found = answer.sizing, answer.found
    known = sizing is not None and sizing.compute_kind != "unknown"
    return known and found is not None and found.window_tokens is None and not answer.others


def _put_others(out: Printer, others: tuple[Alternative, ...]) -> None:
    if not others:
        return
    out.blank()
    out.heading(
        "what would fit" if any(other.change in {"n_gpu_layers", "cpu"} for other in others) else "more would fit"
    )
    rows = []
    for one in others:
        layers = f" ({one.sizing.loading.n_gpu_layers})" if one.change == "n_gpu_layers" else ""
        *first, last = [CHANGES[change] for change in (one.change, *one.also)]
        notes = "".join(_NOTES.get(change, "") for change in (one.change, *one.also))
        name = f"{', '.join(first)} and {last}" if first else f"{last}{layers}"
        rows.append((name, one.window_tokens, f"tokens{notes}"))
    out.numbers(rows)


def _put_verified(out: Printer, answer: SizeAnswer, verified: DryRun) -> None:
    measured, sizing = verified.settings[0], answer.sizing
    out.heading(f"llama.cpp's own dry run (llama-cpp-python {verified.version})")
    if measured.failure:
        out.say(measured.failure)
        return
    rows = [("tensors", verified.model_bytes, _differs(verified.model_bytes, answer.tensor_bytes))]
    mine = sizing.kv_bytes if sizing else None
    rows.append(("KV cache", measured.kv_bytes, _differs(measured.kv_bytes, mine, measured)))
    if measured.recurrent_bytes:
        mine = sizing.recurrent_bytes if sizing else None
        rows.append(("recurrent state", measured.recurrent_bytes, _differs(measured.recurrent_bytes, mine, measured)))
    for name, compute in measured.compute_bytes.items():
        rows.append((f"compute, {name}", compute, "on this machine"))
    out.numbers(rows)
    out.say("bytes, header against dry run", "dim")


def _differs(size_bytes: int, mine: int | None, measured: DryRunSetting | None = None) -> str:
    """Return how a size by llama.cpp compares to the header's; a rounded one is equal if it could be."""
    if mine is None:
        return "not in the header"
    rounded = ROUNDED_BYTES * len(measured.caches) if measured is not None else 0
    if size_bytes == mine:
        return "equal"
    if abs(size_bytes - mine) <= rounded:
        return f"equal where reported: the header says {mine:,}"
    return f"the header says {mine:,}: {size_bytes - mine:+,}"


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:,.1f}"


def _found_json(answer: SizeAnswer) -> dict[str, object]:
    window, bound, _, reason, *_ = answer.found or (None, None, None, answer.refused)
    return {"largest_window": window, "bound_by": bound, "fits": answer.fits, "reason": reason}


def _told_json(verified: DryRun) -> dict[str, object]:
    """Return what only llama.cpp knows, of a layout that the header does not describe."""
    measured = verified.settings[0]
    if measured.failure:
        return {}
    compute = sum(measured.compute_bytes.values())
    return {
        "window": measured.window_tokens,
        "weights_bytes": verified.model_bytes,
        "kv_bytes": measured.kv_bytes,
        "recurrent_bytes": measured.recurrent_bytes,
        "compute_bytes": compute,
        "compute_kind": "dry run",
        "total_bytes": verified.model_bytes + measured.kv_bytes + measured.recurrent_bytes + compute,
        "source": "dry run",
    }


def _device_json(held: DeviceMemory) -> dict[str, object]:
    keys = ("number", "name", "kind", "layers", "free_bytes", "weights_bytes", "kv_bytes", "recurrent_bytes")
    more = ("extra_bytes", "margin_bytes", "total_bytes", "left_bytes")
    compute = held.compute
    values = {"compute_bytes": compute.total_bytes, "guard_bytes": compute.guard_bytes, "compute_kind": compute.kind}
    return {key: getattr(held, key) for key in (*keys, *more)} | values


def _other_json(one: Alternative) -> dict[str, object]:
    return {
        "change": one.change,
        "also": list(one.also),
        "window": one.window_tokens,
        "n_gpu_layers": one.sizing.loading.n_gpu_layers,
        "total_bytes": one.sizing.total_bytes,
    }


def _verified_json(answer: SizeAnswer, verified: DryRun) -> dict[str, object]:
    measured, sizing = verified.settings[0], answer.sizing
    return {
        "version": verified.version,
        "failure": measured.failure or None,
        "window": measured.window_tokens,
        "tensor_bytes": verified.model_bytes,
        "kv_bytes": measured.kv_bytes,
        "recurrent_bytes": measured.recurrent_bytes,
        "compute": dict(measured.compute_bytes),
        "exact": measured.exact,
        "tensor_difference_bytes": verified.model_bytes - answer.tensor_bytes,
        "kv_difference_bytes": measured.kv_bytes - sizing.kv_bytes if sizing else None,
        "recurrent_difference_bytes": measured.recurrent_bytes - sizing.recurrent_bytes if sizing else None,
    }
