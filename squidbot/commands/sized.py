"""The size of a model, as a table that a person understands, and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from squidbot.commands.texts import count
from squidbot.core.sizing.memory import MIB

if TYPE_CHECKING:
    from squidbot.adapters.llama_cpp.verify import Measured
    from squidbot.commands.paper import Paper
    from squidbot.commands.reading.sizes import Size
    from squidbot.commands.reading.verified import Verified
    from squidbot.core.sizing.fit import Alternative
    from squidbot.core.sizing.memory import Held, Sizing

__all__ = ["CHANGES", "put_size", "size_json"]

CHANGES = {
    "window": "a smaller window",
    "flash_attn": "flash attention on",
    "swa_full": "sliding layers that keep only what they see",
    "q8_0": "q8_0 KV cache",
    "q4_0": "q4_0 KV cache",
    "n_ubatch": "batches of 256",
    "n_gpu_layers": "fewer layers on GPUs",
    "cpu": "no GPU",
}
BOUNDS = {
    "vram": "GPU memory",
    "memory": "main memory",
    "native-limit": "what the model was trained with",
    "model-cap": "its context_window in the settings",
    "window.max": "window.max",
}
NOTHING_FITS = "no other cache, batch or number of layers would make it fit: free memory, or take a smaller model"
NOT_COUNTED = "the driver's context and pools (the margin is for them), draft models, LoRA, tensor overrides"
# llama.cpp tells a cache beside others to 0.01 MiB only.
ROUNDED_BYTES = MIB // 200 + 1
# Keys of JSON that are a field of `Sizing`; null where the header does not tell.
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
COLUMNS = ("", "MiB", "")


def put_size(paper: Paper, answer: Size) -> None:
    """Put down what goes where, what is left, and what would change it."""
    paper.heading(f"{Path(answer.asked.path).name}: {_what(answer)}")
    if answer.sizing is None:
        paper.say(answer.refused)
    else:
        _put_verdict(paper, answer, answer.sizing)
        for held in answer.sizing.devices:
            paper.blank()
            _put_device(paper, held)
        _put_others(paper, answer.others)
        if _nothing_fits(answer):
            paper.blank()
            paper.say(NOTHING_FITS)
        paper.blank()
        said = "compute by llama.cpp's dry run, all else" if answer.sizing.method == "dry run" else "said"
        paper.say(f"{said} by the file's header; not counted: {NOT_COUNTED}", "dim")
    if answer.verified is not None:
        paper.blank()
        _put_verified(paper, answer, answer.verified)


def size_json(answer: Size) -> dict[str, object]:
    """Return it as values that JSON holds; sizes in bytes, windows in tokens."""
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
        "others": [_other_json(one) for one in answer.others],
        "verified": _verified_json(answer, answer.verified) if answer.verified else None,
    }


def _what(answer: Size) -> str:
    sizing = answer.sizing
    if sizing is None:
        return answer.header.architecture
    trained = f", trained for {sizing.trained_tokens:,} tokens" if sizing.trained_tokens else ""
    return f"{sizing.architecture}, {count(sizing.blocks, 'layer')}{trained}"


def _put_verdict(paper: Paper, answer: Size, sizing: Sizing) -> None:
    found, asked = answer.found, answer.asked.loading.n_ctx
    if asked:
        fits = "fits" if sizing.fits else "does not fit"
        trained = sizing.trained_tokens
        beyond = f"; the model was trained with {trained:,}" if 0 < trained < asked else ""
        paper.say(f"a window of {sizing.window_tokens:,} tokens {fits}{beyond}", "bold")
    if found is not None and found.window_tokens is not None:
        bound = f", bound by {BOUNDS[found.bound_by]}" if found.bound_by else ""
        paper.say(f"largest window {found.window_tokens:,} tokens{bound}", "bold")
    elif found is not None and not asked:
        paper.say(f"does not fit: {found.reason}", "bold")
    per_token = f"{sizing.kv_bytes_per_token:,} bytes of cache a token"
    loading = sizing.loading
    types = loading.type_k if loading.type_k == loading.type_v else f"{loading.type_k}/{loading.type_v}"
    paper.say(f"{per_token} ({types}), batches of {sizing.context.n_ubatch}")


def _put_device(paper: Paper, held: Held) -> None:
    """Put down one device: what it has free, what goes there, and what is left."""
    name = "main memory" if held.kind == "cpu" else f"device {held.name or held.number} ({held.kind})"
    layers = f", {count(held.layers, 'layer')}" if held.layers else ""
    paper.heading(f"{name}{layers}")
    compute = held.compute
    rows = [
        ("weights", held.weights_bytes, "exact"),
        ("KV cache", held.kv_bytes, "exact"),
        ("recurrent state", held.recurrent_bytes, "exact"),
        ("compute", compute.total_bytes, _compute(held)),
        ("further files", held.extra_bytes, "such as a projector"),
        ("margin", held.margin_bytes, "stays free"),
    ]
    table = [[name, _mib(size), note] for name, size, note in rows if size]
    if held.free_bytes is not None and held.left_bytes is not None:
        table.insert(0, ["free", _mib(held.free_bytes), "beside what GPUs share" if held.shared else "now"])
        short = held.left_bytes < 0
        table.append(["too little", _mib(-held.left_bytes), ""] if short else ["left", _mib(held.left_bytes), ""])
    paper.table(COLUMNS, table, texts=("",), indent="  ")


def _compute(held: Held) -> str:
    compute = held.compute
    if compute.kind == "unknown":
        return compute.reason
    if compute.kind == "dry run":
        return "llama.cpp's own plan"
    said = f"{_mib(compute.closed_bytes)} + {_mib(compute.guard_bytes)} guard"
    return f"{said}; wide: {compute.reason}" if compute.kind == "wide" else said


def _nothing_fits(answer: Size) -> bool:
    """Return whether it is known that it does not fit, whatever is changed."""
    sizing, found = answer.sizing, answer.found
    known = sizing is not None and sizing.compute_kind != "unknown"
    return known and found is not None and found.window_tokens is None and not answer.others


def _put_others(paper: Paper, others: tuple[Alternative, ...]) -> None:
    if not others:
        return
    paper.blank()
    paper.heading(
        "what would fit" if any(one.change in {"n_gpu_layers", "cpu"} for one in others) else "more would fit"
    )
    rows = []
    for one in others:
        layers = f" ({one.sizing.loading.n_gpu_layers})" if one.change == "n_gpu_layers" else ""
        rows.append((f"{CHANGES[one.change]}{layers}", one.window_tokens, "tokens"))
    paper.numbers(rows)


def _put_verified(paper: Paper, answer: Size, verified: Verified) -> None:
    said, sizing = verified.said, answer.sizing
    paper.heading(f"llama.cpp's own dry run (llama-cpp-python {verified.version})")
    if said.failure:
        paper.say(said.failure)
        return
    rows = [("tensors", verified.model_bytes, _differs(verified.model_bytes, answer.tensor_bytes))]
    rows.append(("KV cache", said.kv_bytes, _differs(said.kv_bytes, sizing.kv_bytes if sizing else None, said)))
    if said.recurrent_bytes:
        mine = sizing.recurrent_bytes if sizing else None
        rows.append(("recurrent state", said.recurrent_bytes, _differs(said.recurrent_bytes, mine, said)))
    for name, compute in said.compute_bytes.items():
        rows.append((f"compute, {name}", compute, "on this machine"))
    paper.numbers(rows)
    paper.say("in bytes; header and dry run are compared", "dim")


def _differs(size_bytes: int, mine: int | None, said: Measured | None = None) -> str:
    """Return how a size that llama.cpp says stands to the header's; what it rounds is equal where it could be."""
    if mine is None:
        return "the header does not tell"
    rounded = ROUNDED_BYTES * len(said.caches) if said is not None else 0
    if size_bytes == mine:
        return "equal"
    if abs(size_bytes - mine) <= rounded:
        return f"equal, as far as it is told: the header says {mine:,}"
    return f"the header says {mine:,}: {size_bytes - mine:+,}"


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:,.1f}"


def _found_json(answer: Size) -> dict[str, object]:
    window, bound, _, reason, *_ = answer.found or (None, None, None, answer.refused)
    return {"largest_window": window, "bound_by": bound, "fits": answer.fits, "reason": reason}


def _told_json(verified: Verified) -> dict[str, object]:
    """Return what llama.cpp alone tells, of a layout that the header does not."""
    said = verified.said
    if said.failure:
        return {}
    compute = sum(said.compute_bytes.values())
    return {
        "window": said.window_tokens,
        "weights_bytes": verified.model_bytes,
        "kv_bytes": said.kv_bytes,
        "recurrent_bytes": said.recurrent_bytes,
        "compute_bytes": compute,
        "compute_kind": "dry run",
        "total_bytes": verified.model_bytes + said.kv_bytes + said.recurrent_bytes + compute,
        "source": "dry run",
    }


def _device_json(held: Held) -> dict[str, object]:
    return {
        "number": held.number,
        "name": held.name,
        "kind": held.kind,
        "layers": held.layers,
        "free_bytes": held.free_bytes,
        "weights_bytes": held.weights_bytes,
        "kv_bytes": held.kv_bytes,
        "recurrent_bytes": held.recurrent_bytes,
        "compute_bytes": held.compute.total_bytes,
        "guard_bytes": held.compute.guard_bytes,
        "compute_kind": held.compute.kind,
        "extra_bytes": held.extra_bytes,
        "margin_bytes": held.margin_bytes,
        "total_bytes": held.total_bytes,
        "left_bytes": held.left_bytes,
    }


def _other_json(one: Alternative) -> dict[str, object]:
    return {
        "change": one.change,
        "window": one.window_tokens,
        "n_gpu_layers": one.sizing.loading.n_gpu_layers,
        "total_bytes": one.sizing.total_bytes,
    }


def _verified_json(answer: Size, verified: Verified) -> dict[str, object]:
    said, sizing = verified.said, answer.sizing
    return {
        "version": verified.version,
        "failure": said.failure or None,
        "window": said.window_tokens,
        "tensor_bytes": verified.model_bytes,
        "kv_bytes": said.kv_bytes,
        "recurrent_bytes": said.recurrent_bytes,
        "compute": dict(said.compute_bytes),
        "exact": said.exact,
        "tensor_difference_bytes": verified.model_bytes - answer.tensor_bytes,
        "kv_difference_bytes": said.kv_bytes - sizing.kv_bytes if sizing else None,
        "recurrent_difference_bytes": said.recurrent_bytes - sizing.recurrent_bytes if sizing else None,
    }
