"""How much memory a model takes: its parts put together for each device, for one window after the other."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass, replace
from struct import pack, unpack
from typing import TYPE_CHECKING, Literal, NamedTuple

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.header import (
    CACHE_TYPES,
    EVEN_BATCHES,
    LOADED_OF_PREDICTING,
    NEVER_TIED,
    NO_FLASH,
    TENSOR_TYPES,
    Header,
    Tensor,
    blocks_of,
    cache_type,
    is_mla,
    layers_of,
    row_bytes,
    tensor_bytes,
    type_id,
    widest_value,
    windows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from squidbot.core.sizing.header import Card, CardKind, Layer, Loading


# What a model takes on each device, with one window: weights, cache, compute buffer, and what is
# left.

# "header": worked out from the file's header; "dry run": said by llama.cpp, which planned everything and took nothing.
Method = Literal["header", "dry run"]
# Best first.
_TRUST: tuple[ComputeKind, ...] = ("dry run", "guarded", "wide", "unknown")


class Held(NamedTuple):
    """What one device holds; sizes in bytes.

    Attributes:
        number: its place among the cards that were asked about; -1: main memory.
        name: as its card has it; "" where it has none.
        kind: whose rules it allocates by.
        layers: how many are here, the output counted as one.
        weights_bytes, kv_bytes, recurrent_bytes: exact.
        compute: the compute buffer.
        extra_bytes: of further files, such as a vision projector.
        margin_bytes: what has to stay free.
        free_bytes: before anything is loaded; None where unknown: then there is room.
        shared: whether it is main memory, and `free_bytes` what GPUs that share it leave of it.
    """

    number: int
    name: str
    kind: CardKind
    layers: int
    weights_bytes: int
    kv_bytes: int
    recurrent_bytes: int
    compute: Compute
    extra_bytes: int = 0
    margin_bytes: int = 0
    free_bytes: int | None = None
    shared: bool = False

    @property
    def total_bytes(self) -> int:
        """All that the model takes here; without the margin."""
        context = self.kv_bytes + self.recurrent_bytes
        return self.weights_bytes + context + self.compute.total_bytes + self.extra_bytes

    @property
    def left_bytes(self) -> int | None:
        """What is free with the model loaded, above the margin; below 0: so much too little; None where unknown."""
        return None if self.free_bytes is None else self.free_bytes - self.total_bytes - self.margin_bytes

    @property
    def fits(self) -> bool:
        """Whether there is room for it, as far as is known."""
        return self.compute.kind != "unknown" and (self.left_bytes is None or self.left_bytes >= 0)


@dataclass(frozen=True, slots=True)
class Sizing:
    """What a model takes with one window: the value that is printed, published and decided by.

    Attributes:
        architecture: by llama.cpp's name.
        blocks: layers of the file, the output not counted.
        trained_tokens: the window it was trained with; 0 where the file does not say.
        loading: how it is loaded; context: what llama.cpp makes of that, `context.n_seq` is the window.
        devices: in the order of the cards; main memory last, because it holds the token embedding at least.
        kv_bytes_per_token: by which the cache grows with each token of the window, all devices together: that of
            layers that see everything.
        method: who says so.
    """

    architecture: str
    blocks: int
    trained_tokens: int
    loading: Loading
    context: Context
    devices: tuple[Held, ...]
    kv_bytes_per_token: int
    method: Method = "header"

    @property
    def window_tokens(self) -> int:
        """The window of one sequence."""
        return self.context.n_seq

    @property
    def weights_bytes(self) -> int:
        """Weights on all devices."""
        return sum(held.weights_bytes for held in self.devices)

    @property
    def kv_bytes(self) -> int:
        """Cached keys and values on all devices."""
        return sum(held.kv_bytes for held in self.devices)

    @property
    def recurrent_bytes(self) -> int:
        """State that does not grow with the window, on all devices."""
        return sum(held.recurrent_bytes for held in self.devices)

    @property
    def compute_bytes(self) -> int:
        """Compute buffers of all devices, guards included."""
        return sum(held.compute.total_bytes for held in self.devices)

    @property
    def extra_bytes(self) -> int:
        """Further files."""
        return sum(held.extra_bytes for held in self.devices)

    @property
    def total_bytes(self) -> int:
        """All of it, on all devices; without margins."""
        return sum(held.total_bytes for held in self.devices)

    @property
    def compute_kind(self) -> ComputeKind:
        """How far to trust the compute buffers: as far as the least certain one that decides whether it fits."""
        return max((held.compute.kind for held in self._decisive), key=_TRUST.index)

    @property
    def fits(self) -> bool:
        """Whether every device has room for its part and its margin, as far as is known."""
        return all(held.fits for held in self.devices)

    @property
    def tightest(self) -> Held:
        """The device with the least left, of those that tell."""
        known = [(held.left_bytes, held) for held in self.devices if held.left_bytes is not None]
        return min(known, key=lambda each: each[0])[1] if known else self.devices[0]

    @property
    def _decisive(self) -> tuple[Held, ...]:
        """GPUs, and main memory where there is none."""
        return self.devices[:-1] or self.devices


def sharing(sizing: Sizing, cards: Sequence[Card]) -> Sizing:
    """Return a sizing whose main memory has free what the GPUs leave that share it, their margins kept.

    Each would fit by itself, and all of it would not. Where no card is unified, the sizing as it is.
    """
    gpus, main = sizing.devices[:-1], sizing.devices[-1]
    taken = sum(held.total_bytes + held.margin_bytes for held in gpus if cards[held.number].unified)
    if not taken or main.free_bytes is None:
        return sizing
    left = main._replace(free_bytes=max(main.free_bytes - taken, 0), shared=True)
    return replace(sizing, devices=(*gpus, left))


# What llama.cpp makes of the batch and the window that it is given, and how many tokens a layer's
# cache holds.

# Cells are made in these steps, for speed (llama.cpp 0c1e57098).
CELLS_STEP = 256


class Context(NamedTuple):
    """A context as llama.cpp sets it up, in tokens, by its own names.

    Attributes:
        n_ctx: of all sequences together.
        n_batch, n_ubatch: of a logical and of a physical batch.
        n_seq: the window of one sequence: what is leased.
        streams: how many caches there are side by side.
        n_tokens: of the largest batch that is computed at once (u).
        n_outputs: for how many of them logits are made (o).
    """

    n_ctx: int
    n_batch: int
    n_ubatch: int
    n_seq: int
    streams: int
    n_tokens: int
    n_outputs: int


def pad(number: int, step: int) -> int:
    """Return the smallest multiple of `step` that is at least `number`."""
    return -(-number // step) * step


def context_of(loading: Loading, header: Header) -> Context:
    """Return the context that a model is given.

    Source: llama_context's constructor and its reservation of graphs, llama.cpp 0c1e57098.

    Raises:
        ConfigError: no window, batch or sequence is left.
        ModelFileError: the window that it was trained with is asked for, and missing in the file.
    """
    sequences = loading.n_seq_max
    asked = loading.n_ctx or header.number("context_length")
    n_batch = min(asked, loading.n_batch)
    n_ubatch = min(n_batch, loading.n_ubatch or loading.n_batch)
    if min(asked, n_batch, n_ubatch, sequences) < 1:
        raise ConfigError("n_ctx, n_batch, n_ubatch and n_seq_max must be 1 or more")
    n_ctx = n_seq = pad(asked, CELLS_STEP)
    if not loading.kv_unified:
        n_seq = pad(n_ctx // sequences, CELLS_STEP)
        n_ctx = n_seq * sequences
    n_tokens = pad(min(n_ctx, n_ubatch), sequences)
    n_outputs = min(n_tokens, n_batch if loading.n_outputs_max is None else loading.n_outputs_max or n_batch)
    return Context(n_ctx, n_batch, n_ubatch, n_seq, 1 if loading.kv_unified else sequences, n_tokens, n_outputs)


def cells(layer: Layer, context: Context, loading: Loading) -> int:
    """Return for how many tokens of each stream a layer's attention cache has room; of sliding layers not for all."""
    if not layer.window or loading.swa_full:
        return context.n_seq
    shared = loading.n_seq_max if loading.kv_unified else 1
    return pad(min(context.n_seq, layer.window * shared + context.n_ubatch), CELLS_STEP)


def uses_flash(header: Header, loading: Loading) -> bool:
    """Return whether flash attention is on: as asked, but not for an architecture that has none.

    Raises:
        ModelFileError: the file names no architecture.
    """
    return loading.flash_attn and header.architecture not in NO_FLASH


# Which layer is on which device, and how many bytes of weights each device takes.

# Main memory, as the number of a device.
CPU = -1
# How devices align tensors.
ALIGNMENT_BYTES: dict[CardKind, int] = {"cpu": 32, "cuda": 128, "hip": 128, "metal": 32, "vulkan": 256, "sycl": 128}
# CUDA's matrix kernels read whole runs of this many elements (MATRIX_ROW_PADDING; HIP is the same code).
ROW_STEP = 512

_BLOCK = re.compile(r"blk\.(\d+)\.")
# Made with the output, and with the first block; what is in neither list, nor in a block, stays in main memory.
_WITH_OUTPUT = ("output", "cls", "altup_", "dense_2.", "dense_3.")
_WITH_FIRST = ("token_embd_norm.", "per_layer_model_proj.", "per_layer_proj_norm.")
# Once on each device that holds layers.
_EVERYWHERE = re.compile(r"rope_(freqs|factors_\w+)\.")


class Placed(NamedTuple):
    """One tensor on one device: its number from 0, or CPU."""

    tensor: Tensor
    device: int


def place(blocks: int, loading: Loading, cards: Sequence[Card]) -> tuple[int, ...]:
    """Return the device of each block and, last, of the output: its number from 0, or CPU.

    Source: load_tensors of llama.cpp 0c1e57098, which compares shares in 32 bits.

    Args:
        blocks: all blocks of the file.
        loading: how many layers are on GPUs, and the shares of each.
        cards: the devices, main memory left out or named "cpu".

    Raises:
        ConfigError: `tensor_split` has more shares than there are GPUs, a negative one, or one that is no number.
    """
    gpus = [number for number, card in enumerate(cards) if card.kind != "cpu"]
    layers = blocks + 1
    wanted = loading.n_gpu_layers if loading.n_gpu_layers >= 0 else layers
    if not gpus or not wanted:
        return (CPU,) * layers
    start, count = max(layers - wanted, 0), min(wanted, layers)
    points = _points(loading.tensor_split, [cards[number].free_bytes for number in gpus])
    devices = [CPU] * start
    for number in range(count):
        share = _f32(number / count)
        devices.append(next((gpu for gpu, point in zip(gpus, points, strict=True) if point > share), gpus[-1]))
    return tuple(devices)


def _points(split: Sequence[float], free: Sequence[int]) -> list[float]:
    """Return where, from 0 to 1, each GPU's share of the layers ends."""
    if len(split) > len(free) or any(not 0 <= share < float("inf") for share in split):
        raise ConfigError(f"tensor_split must be at most {len(free)} shares of 0 or more, not {tuple(split)}")
    shares: list[float] = [*split, *(0.0,) * (len(free) - len(split))] if any(split) else [*free]
    if not any(shares):  # devices that tell nothing share evenly
        shares = [1.0] * len(free)
    total, points = 0.0, []
    for share in shares:
        total = _f32(total + _f32(share))
        points.append(total)
    return [_f32(point / total) for point in points]


def _f32(number: float) -> float:
    """Return a number as 32 bits hold it."""
    return float(unpack("f", pack("f", number))[0])


def placed(header: Header, loading: Loading, cards: Sequence[Card]) -> tuple[Placed, ...]:
    """Return every tensor that is loaded, on its device; one that several devices hold comes once for each.

    Source of the rules: create_tensor of llama.cpp 0c1e57098.

    Raises:
        ConfigError: `tensor_split` is wrong.
        ModelFileError: the blocks are out of their range.
    """
    blocks, _ = blocks_of(header)
    devices = place(blocks, loading, cards)
    holding = sorted({devices[number] for number in _turning(header)})
    tied = header.tensor("output.weight") is None and header.architecture not in NEVER_TIED
    embedding = sorted({CPU, devices[blocks] if tied else CPU})
    found: list[Placed] = []
    for tensor in header.tensors:
        if _EVERYWHERE.match(tensor.name):
            found.extend(Placed(tensor, device) for device in holding)
        elif tensor.name == "token_embd.weight":
            found.extend(Placed(tensor, device) for device in embedding)
        elif tensor.name.startswith("blk."):
            found.extend(_of_block(header, tensor, devices))
        else:
            found.append(Placed(tensor, _device(header.architecture, tensor.name, devices[0], devices[blocks])))
    return tuple(found)


def _turning(header: Header) -> list[int]:
    """Return the blocks that the factors of positions are loaded for."""
    blocks, predicting = blocks_of(header)
    if header.architecture == "step35":
        return list(range(blocks))
    layers = range(blocks - predicting)
    if header.architecture == "gemma4":
        slides = windows(header, len(layers))
        return [number for number in layers if not slides[number]]
    return list(layers)


def _of_block(header: Header, tensor: Tensor, devices: Sequence[int]) -> list[Placed]:
    """Return a block's tensor on its device, or nothing where it is not loaded."""
    blocks, predicting = blocks_of(header)
    block = _BLOCK.match(tensor.name)
    number = int(block[1]) if block else blocks
    part = tensor.name[block.end() :] if block else ""
    loaded = number < blocks - predicting or (number < blocks and _still_loaded(header.architecture, part))
    return [Placed(tensor, devices[number])] if loaded else []


def _still_loaded(architecture: str, part: str) -> bool:
    """Return whether a tensor of a block that only predicts further tokens is loaded all the same."""
    rule = LOADED_OF_PREDICTING.get(architecture)
    return rule is not None and rule.match(part) is not None


def _device(architecture: str, name: str, first: int, output: int) -> int:
    """Return the device of a tensor that is in no block."""
    if name.startswith(_WITH_OUTPUT):
        return output
    if name.startswith(_WITH_FIRST):  # lfm2 calls the norm of its output by the name of another one
        return output if architecture in ("lfm2", "lfm2moe") else first
    return CPU


def weights_bytes(header: Header, loading: Loading, cards: Sequence[Card]) -> dict[int, int]:
    """Return the bytes of weights by device, CPU among them; devices without any are left out.

    Raises:
        ConfigError: `tensor_split` is wrong.
        ModelFileError: the blocks are out of their range, a tensor's type is unknown, or its rows are no whole blocks.
    """
    total: dict[int, int] = {}
    for tensor, device in placed(header, loading, cards):
        kind: CardKind = "cpu" if device == CPU else cards[device].kind
        held = held_bytes(tensor_bytes(tensor), tensor.type_id, tensor.shape[0], kind)
        total[device] = total.get(device, 0) + held
    return total


def held_bytes(size_bytes: int, type_id: int, row: int, card: CardKind) -> int:
    """Return what a device takes for a tensor of `size_bytes` whose rows have `row` elements.

    Sources: ggml's buffer types as of llama.cpp 0c1e57098. Of Vulkan and SYCL the alignment is the largest that a
    device may ask for, so that they may take a few bytes less.

    Raises:
        ModelFileError: the type is unknown.
    """
    if card in ("cuda", "hip") and row % ROW_STEP and TENSOR_TYPES[type_id].block > 1:
        size_bytes += row_bytes(type_id, ROW_STEP - row % ROW_STEP)
    step = ALIGNMENT_BYTES[card]
    return -(-size_bytes // step) * step


# The memory of a model's context: keys and values, and recurrent state, by device; and what a token
# of it takes.

F32 = type_id("f32")


class Caches(NamedTuple):
    """The memory of a context in bytes, by device (`placement.CPU` among them); devices without any are left out."""

    kv_bytes: dict[int, int]
    recurrent_bytes: dict[int, int]


class Kept(NamedTuple):
    """One tensor of a context: its type, the elements of a row, its rows, and whether it is attention's."""

    layer: int
    type_id: int
    row: int
    rows: int
    attention: bool

    @property
    def size_bytes(self) -> int:
        """Its bytes, without any padding of a device."""
        return row_bytes(self.type_id, self.row) * self.rows


def kept(header: Header, loading: Loading) -> tuple[Kept, ...]:
    """Return the tensors of a model's context: K, V, R, S of each layer that has them.

    Source: the constructors of llama.cpp's caches (0c1e57098). Without flash attention V lies transposed, and each
    layer's is as wide as the widest one's.

    Raises:
        SizingError: the architecture's layout is unknown.
        ConfigError: a cache's type is unknown, or no window, batch or sequence is left.
        ModelFileError: a key that is needed is missing or wrong, or a row is no whole number of its type's blocks.
    """
    context = context_of(loading, header)
    type_k, type_v = cache_type(loading.type_k, "type_k"), cache_type(loading.type_v, "type_v")
    latent, widest = is_mla(header), 0 if uses_flash(header, loading) else widest_value(header)
    rows = loading.n_seq_max * (1 + loading.n_rs_seq)
    found = []
    for layer in layers_of(header):
        if layer.kv_heads:
            tokens = cells(layer, context, loading) * context.streams
            found.append(Kept(layer.number, type_k, layer.key_length * layer.kv_heads, tokens, attention=True))
            if not latent:
                width = widest or layer.value_length * layer.kv_heads
                found.append(Kept(layer.number, type_v, width, tokens, attention=True))
        if layer.recurrent:
            found.append(Kept(layer.number, F32, layer.conv_elements, rows, attention=False))
            found.append(Kept(layer.number, F32, layer.state_elements, rows, attention=False))
    return tuple(found)


def caches_of(header: Header, loading: Loading, cards: Sequence[Card]) -> Caches:
    """Return the memory of a model's context, exact: each layer's lies where its weights are.

    Raises:
        SizingError: the architecture's layout is unknown.
        ConfigError: a cache's type or `tensor_split` is wrong, or no window, batch or sequence is left.
        ModelFileError: a key that is needed is missing or wrong, or a row is no whole number of its type's blocks.
    """
    devices = place(blocks_of(header)[0], loading, cards)
    found = Caches({}, {})
    for one in kept(header, loading):
        device = devices[one.layer]
        kind: CardKind = "cpu" if device == CPU else cards[device].kind
        total = found.kv_bytes if one.attention else found.recurrent_bytes
        total[device] = total.get(device, 0) + held_bytes(one.size_bytes, one.type_id, one.row, kind)
    return found


def kv_bytes_per_token(header: Header, loading: Loading) -> int:
    """Return what one more token of one sequence takes, in bytes, in the layers that keep the whole window.

    Raises:
        SizingError: the architecture's layout is unknown.
        ConfigError: a cache's type is unknown.
        ModelFileError: a key that is needed is missing or wrong, or a row is no whole number of its type's blocks.
    """
    grows = {layer.number for layer in layers_of(header) if _grows(layer, loading)}
    rows = (row_bytes(one.type_id, one.row) for one in kept(header, loading) if one.attention and one.layer in grows)
    return sum(rows)


def fixed_bytes(header: Header, loading: Loading) -> int:
    """Return what the context takes however large the window: sliding layers, and recurrent state; in bytes.

    Windows so small that sliding layers hold all of them take less.

    Raises:
        SizingError: the architecture's layout is unknown.
        ConfigError: a cache's type is unknown, or no window, batch or sequence is left.
        ModelFileError: a key that is needed is missing or wrong, or a row is no whole number of its type's blocks.
    """
    grows = {layer.number for layer in layers_of(header) if _grows(layer, loading)}
    return sum(one.size_bytes for one in kept(header, loading) if not (one.attention and one.layer in grows))


def _grows(layer: Layer, loading: Loading) -> bool:
    return layer.kv_heads > 0 and (loading.swa_full or not layer.window)


# The compute buffer of one device: a closed form in the model's dimensions, and a guard above it.

MIB = 2**20

# "guarded": closed form and guard, measured; "wide": a looser guard, because the closed form was seen to fail there, or
# nothing was measured; "unknown": only llama.cpp itself can say; "dry run": it said so.
ComputeKind = Literal["guarded", "wide", "unknown", "dry run"]

# Architectures whose graphs pass the narrow guard, or could not be measured against it.
WIDE = frozenset(
    {"command-r", "cohere2moe", "plamo", "gptneox", "ernie4_5-moe", "phimoe", "hy_v3", "step35", "arctic", "jamba"}
    | {"dots1", "olmoe", "gemma3n", "gemma4", "granitehybrid", "falcon-h1", "nemotron_h", "qwen35", "qwen35moe"}
    | {"plamo2", "lfm2moe", "kimi-linear", "grok"}
)
# Architectures whose graphs follow another form altogether.
UNKNOWN = frozenset({"mamba", "mamba2", "rwkv7", "arwkv7", "bitnet"})
# Where the mask of the attention is still held when logits are made.
_MASK_STAYS = frozenset({"phi3", "gpt-oss"})
# The largest window that the guard was measured with. Beyond it, as with `swa_full`, logits were seen not to find the
# room of the mask: of Gemma-3-27B at 180,224 to 190,464 tokens alone.
MEASURED_TOKENS = 131_072
# Backends that turn a quantised cache into f16, a layer at a time, for flash attention.
_COPYING: frozenset[CardKind] = frozenset({"cuda", "hip"})
# Backends whose buffers were compared with llama.cpp's; by its rules for CUDA, HIP's are the same.
_MEASURED: frozenset[CardKind] = frozenset({"cuda", "hip", "cpu"})
# With several devices llama.cpp keeps this many copies of a batch's inputs in flight (GGML_SCHED_MAX_COPIES).
_COPIES = 4


class Shape(NamedTuple):
    """The dimensions of a model that its compute buffer depends on; lengths in elements.

    Attributes:
        architecture: by llama.cpp's name.
        embedding: of one token between layers.
        vocabulary: rows of the token embedding.
        heads, kv_heads: the largest of any layer.
        key_length, value_length: the largest of one head; of MLA the cached latent, and its part that serves as value.
        value_width: V of one token in the widest layer, cached or not; 0 of MLA.
        query_length: of MLA, what the queries of one head pass through on the way, together; 0: no MLA.
        ffn, expert_ffn, shared_ffn: the widest of any block; 0 where there is none.
        experts_used: for one token.
        fused: whether queries, keys and values come from one tensor.
        slides: whether any layer slides.
    """

    architecture: str
    embedding: int
    vocabulary: int
    heads: int
    kv_heads: int
    key_length: int
    value_length: int
    value_width: int
    query_length: int
    ffn: int
    expert_ffn: int
    shared_ffn: int
    experts_used: int
    fused: bool
    slides: bool


class Work(NamedTuple):
    """What is computed at once, in one context.

    Attributes:
        tokens: of a physical batch, of all sequences.
        outputs: tokens of it that logits are made for.
        window_tokens: of one sequence.
        cells: of the attention layer that caches most; sliding_cells: of sliding layers, 0 where there are none.
        streams: caches side by side.
        flash_attn: whether flash attention is on.
        keys_quantised, values_quantised: whether the cache of K, of V, is anything but f16.
        swa_full: whether sliding layers keep the whole window.
    """

    tokens: int
    outputs: int
    window_tokens: int
    cells: int
    sliding_cells: int
    streams: int
    flash_attn: bool
    keys_quantised: bool
    values_quantised: bool
    swa_full: bool = False


class Seat(NamedTuple):
    """What one device does of the work.

    Attributes:
        kind: whose rules it allocates by.
        logits: whether the output layer is here.
        devices: how many share the layers.
        first: whether no other has layers before.
        partial: whether some layers stay in main memory.
        copied_bytes: with `partial`, the largest tensor that is copied in from there, for one operation.
        cached_bytes: with `partial`, the largest cache of a layer there: it is copied in, too, to attend.
    """

    kind: CardKind
    logits: bool = True
    devices: int = 1
    first: bool = True
    partial: bool = False
    copied_bytes: int = 0
    cached_bytes: int = 0


class Compute(NamedTuple):
    """The compute buffer of one device, in bytes.

    Attributes:
        closed_bytes: by the closed form; 0 where unknown.
        guard_bytes: what is added, so that it is never under.
        kind: how far to trust it.
        reason: why it is wide or unknown, in a sentence; "" where guarded.
    """

    closed_bytes: int
    guard_bytes: int
    kind: ComputeKind
    reason: str = ""

    @property
    def total_bytes(self) -> int:
        """Both together."""
        return self.closed_bytes + self.guard_bytes


def shape_of(header: Header, layers: Sequence[Layer]) -> Shape:
    """Return what the compute buffer depends on, from the header of a model and its layers.

    Widths are those of the tensors, not of the keys: where the two differ, llama.cpp's graph follows the tensors.

    Raises:
        ModelFileError: a key that is needed is missing or out of its range.
    """
    blocks = header.number("block_count")
    heads = header.numbers("attention.head_count", blocks, 0)
    kv_heads = heads
    if header.value("attention.head_count_kv") is not None:
        kv_heads = header.numbers("attention.head_count_kv", blocks)
    table = header.tensor("token_embd.weight")
    key_length = max(layer.key_length for layer in layers)
    value_length = max(layer.value_length for layer in layers)
    query_length = 0
    if is_mla(header):
        value_length = header.number("attention.kv_lora_rank")
        ways = header.number("attention.key_length_mla") + header.number("rope.dimension_count", 0)
        query_length = ways + value_length + key_length
    return Shape(
        header.architecture,
        header.number("embedding_length"),
        table.shape[1] if table and len(table.shape) > 1 else header.number("vocab_size", 0),
        max(heads),
        max(kv_heads),
        key_length,
        value_length,
        0 if query_length else widest_value(header),
        query_length,
        *_widths(header),
        header.number("expert_used_count", 0),
        header.tensor("blk.0.attn_qkv.weight") is not None,
        any(layer.window for layer in layers),
    )


def compute_of(shape: Shape, work: Work, seat: Seat) -> Compute:
    """Return the compute buffer of a device that does its part of the work.

    It never falls when the window, and with it the cells, grows.
    """
    reason = _unknown(shape, work, seat)
    if reason:
        return Compute(0, 0, "unknown", reason)
    terms = _Terms(shape, work, seat)
    attention = terms.attention() + (seat.cached_bytes if seat.partial else 0)
    layer = max(attention, terms.feed_forward()) + terms.in_flight
    guarded, closed = layer + terms.layer_guard(), layer
    if seat.logits:
        logits = terms.logits() + terms.in_flight + (terms.mask if terms.in_flight else 0)
        guarded, closed = max(guarded, logits + terms.logits_guard()), max(closed, logits)
    reason = _wide(shape, seat)
    guard = closed // 2 + terms.mask + 64 * MIB if reason else guarded + 16 * MIB - closed
    if seat.partial:  # weights that stay in main memory come in for one operation at a time
        closed, guard = closed + seat.copied_bytes, guard + 64 * MIB
    return Compute(closed, guard, "wide" if reason else "guarded", reason)


def beside_of(shape: Shape, work: Work, seat: Seat) -> Compute:
    """Return the buffer in main memory that stands beside those of GPUs: the inputs of a batch; of several as often.

    Where layers stay in main memory (`seat.partial`), it is at most what all of them would take there.
    """
    alone = Seat("cpu")
    if seat.partial:
        whole = compute_of(shape, work, alone)
        reason = "what main memory computes beside GPUs is known only roughly"
        return whole if whole.kind == "unknown" else whole._replace(kind="wide", reason=reason)
    terms = _Terms(shape, work, alone)
    inputs = _COPIES * terms.mask + (_COPIES + 1) * terms.x if seat.devices > 1 else terms.mask + 2 * terms.x
    return Compute(inputs, 16 * MIB, "guarded")


class _Terms:
    """The tensors of a batch by their bytes: f32, masks with flash attention f16."""

    def __init__(self, shape: Shape, work: Work, seat: Seat) -> None:
        self.shape, self.work = shape, work
        self.x = 4 * work.tokens * shape.embedding
        self.y = 4 * work.tokens * shape.key_length * shape.heads
        self.z = 4 * work.tokens * shape.value_length * shape.heads
        self.mask = self._mask()
        self.copies = self._copies() if seat.kind in _COPYING else 0
        piped = seat.devices > 1 and not seat.partial
        arriving = self.x if seat.first else 2 * self.x  # what the device before it hands on is an input, too
        self.in_flight = _COPIES * arriving + (_COPIES - 1) * self.mask if piped else 0

    def _mask(self) -> int:
        shape, work = self.shape, self.work
        seen = work.window_tokens + work.sliding_cells
        if work.flash_attn:
            return 2 * work.tokens * seen
        places = 0 if shape.query_length else 8 * work.tokens * shape.value_width * (2 if shape.slides else 1)
        return 4 * work.tokens * seen + places

    def _copies(self) -> int:
        """Return the bytes of one layer's cache as f16, made where it is kept in another type."""
        shape, work = self.shape, self.work
        if not work.flash_attn:
            return 0
        keys = shape.key_length if work.keys_quantised else 0
        values = shape.value_length if work.values_quantised and not shape.query_length else 0
        return 2 * work.cells * shape.kv_heads * (keys + values) * work.streams

    def attention(self) -> int:
        """Return what is held while a layer attends."""
        shape, work = self.shape, self.work
        scores = 4 * work.tokens * work.cells * shape.heads
        if shape.query_length:
            queries = 4 * work.tokens * shape.heads * shape.query_length
            if work.flash_attn:
                extra = self.z + self.copies if self.copies else 0
            else:
                extra = scores + 2 * work.window_tokens * shape.value_length * work.streams
            return self.mask + 3 * self.x + queries + extra
        fused = 0
        if shape.fused:
            widths = shape.heads * shape.key_length + shape.kv_heads * (shape.key_length + shape.value_length)
            fused = 4 * work.tokens * widths
        return self.mask + 2 * self.x + self.y + self.z + (self.copies if work.flash_attn else scores) + fused

    def feed_forward(self) -> int:
        """Return what is held while the feed-forward part of a layer is made."""
        shape, work, x = self.shape, self.work, self.x
        late = self.y + (0 if work.flash_attn or shape.query_length else self.z)
        wide = shape.embedding if shape.embedding > 2 * shape.expert_ffn else 0
        inner = max(
            12 * work.tokens * shape.ffn,
            4 * work.tokens * shape.experts_used * (3 * shape.expert_ffn + wide),
            12 * work.tokens * shape.shared_ffn + x if shape.shared_ffn else 0,
        )
        return self.mask + 2 * x + max(x, late) + inner

    def logits(self) -> int:
        """Return what is held while logits are made."""
        return 4 * self.work.outputs * (self.shape.vocabulary + self.shape.embedding)

    def layer_guard(self) -> int:
        """Return what is put on top of a layer: one and a half of its largest tensor of a batch."""
        return max(self.x, self.y // 2 if self.shape.query_length else self.y) * 3 // 2

    def logits_guard(self) -> int:
        """Return what is put on top of the logits; the mask, too, where it was seen to be held still."""
        work = self.work
        stays = (
            self.shape.architecture in _MASK_STAYS
            or (work.swa_full and self.shape.slides)
            or work.window_tokens > MEASURED_TOKENS
        )
        return 5 * max(self.x, self.y) + (self.mask if stays else 0)


def _widths(header: Header) -> tuple[int, int, int]:
    """Return the largest inner widths of the feed-forward parts: dense, of an expert, of the shared experts."""
    return (
        _widest(header, "ffn_down.weight"),
        _widest(header, "ffn_down_exps.weight"),
        _widest(header, "ffn_down_shexp.weight"),
    )


def _widest(header: Header, name: str) -> int:
    wanted: Iterable[int] = (
        tensor.shape[0]
        for tensor in header.tensors
        if tensor.name.endswith(name) and tensor.name.startswith("blk.") and tensor.name.split(".", 2)[2] == name
    )
    return max(wanted, default=0)


def _unknown(shape: Shape, work: Work, seat: Seat) -> str:
    if shape.architecture in UNKNOWN:
        return f"the compute buffer of {shape.architecture!r} can't be said from the header: use --verify"
    if seat.partial and not work.flash_attn:
        return "with layers in main memory the compute buffer is known only with flash attention: turn it on"
    return ""


def _wide(shape: Shape, seat: Seat) -> str:
    if shape.architecture in WIDE:
        return f"the compute buffer of {shape.architecture!r} is known only roughly"
    if seat.kind not in _MEASURED:
        return f"compute buffers on {seat.kind} are known only roughly"
    if seat.partial and seat.devices > 1:
        return "compute buffers are known only roughly where several devices and main memory share the layers"
    return ""


# What llama.cpp would refuse, or die of, said before it is asked.

# The bounds of llama.cpp 0c1e57098 (LLAMA_MAX_SEQ); windows are 32 bits wide.
SEQUENCES_MAX = 256
TOKENS_MAX = 2**31 - 1
# Whole numbers by their smallest and largest value.
RANGES = {
    "n_ctx": (0, TOKENS_MAX),
    "n_batch": (1, TOKENS_MAX),
    "n_ubatch": (1, TOKENS_MAX),
    "n_seq_max": (1, SEQUENCES_MAX),
    "n_gpu_layers": (-1, TOKENS_MAX),
    "n_rs_seq": (0, TOKENS_MAX),
    "n_outputs_max": (1, TOKENS_MAX),
}


def check_loading(header: Header, loading: Loading) -> None:
    """Check that llama.cpp loads a model in this way.

    Some of what it does not load ends its process: hence before. A window that is larger than the model was trained
    with is loaded, and allowed here.

    Raises:
        ConfigError: it does not; the text has the key, and the nearest value that does.
        SizingError: the architecture's layout is unknown.
        ModelFileError: a key that is needed is missing or wrong.
    """
    _check_numbers(loading)
    cache_type(loading.type_k, "type_k")
    cache_type(loading.type_v, "type_v")
    _check_flash(header, loading)
    if is_mla(header) and loading.type_k != loading.type_v:
        raise ConfigError(f"type_v must be {loading.type_k}, as type_k is: {header.architecture} keeps both in one")
    _check_batch(header, loading)
    for layer in layers_of(header):
        if layer.kv_heads:
            _check_layer(header, layer, loading)


def _check_numbers(loading: Loading) -> None:
    for key, (least, most) in RANGES.items():
        value: int | None = getattr(loading, key)
        if value is not None and not least <= value <= most:
            nearest = least if value < least else most
            raise ConfigError(f"{key} must be {least} to {most}, not {value}; the nearest is {nearest}")
    _check_outputs(loading)
    if any(not 0 <= share < float("inf") for share in loading.tensor_split):
        raise ConfigError(f"tensor_split must be shares of 0 or more, not {loading.tensor_split}")


def _check_outputs(loading: Loading) -> None:
    """Check that each sequence may have logits: llama.cpp asserts it (llama-context.cpp, graph_reserve)."""
    batch = min(loading.n_batch, loading.n_ctx or loading.n_batch)
    outputs = loading.n_outputs_max or batch
    if outputs < loading.n_seq_max:
        key = "n_outputs_max" if loading.n_outputs_max else "n_batch and n_ctx"
        raise ConfigError(
            f"{key} must be {loading.n_seq_max} or more, as n_seq_max is, not {outputs}; n_seq_max = 1 fits"
        )


def _check_flash(header: Header, loading: Loading) -> None:
    kind = loading.type_v
    if _block(kind) == 1:
        return
    if header.architecture in NO_FLASH:
        raise ConfigError(f"type_v must be f16 or bf16, not {kind}: {header.architecture} has no flash attention")
    if not loading.flash_attn:
        raise ConfigError(f"flash_attn must be true for type_v = {kind}; without it, the nearest type_v is f16")
    several = loading.n_seq_max > 1 and not loading.kv_unified
    if header.architecture == "phi3" and several and _block(loading.type_k) > 1:
        raise ConfigError(
            f"kv_unified must be true, or n_seq_max 1, for phi3 with type_v = {kind}: it ends the process"
        )


def _check_batch(header: Header, loading: Loading) -> None:
    """Check that each sequence gets as many tokens of a batch as the others, where that is needed."""
    if header.architecture not in EVEN_BATCHES or loading.kv_unified:
        return
    batch = context_of(loading, header).n_ubatch
    if batch % loading.n_seq_max:
        nearest = max(batch // loading.n_seq_max, 1) * loading.n_seq_max
        raise ConfigError(
            f"n_ubatch must be a multiple of n_seq_max ({loading.n_seq_max}) for {header.architecture}, not {batch}; "
            f"the nearest is {nearest}"
        )


def _check_layer(header: Header, layer: Layer, loading: Loading) -> None:
    """Check that a layer's rows are whole blocks, with flash attention those of each head, too."""
    value_length = header.number("attention.value_length", 0) if is_mla(header) else layer.value_length
    sides = (("type_k", loading.type_k, layer.key_length), ("type_v", loading.type_v, value_length))
    for key, name, length in sides:
        block = _block(name)
        if uses_flash(header, loading) and length % block:
            raise ConfigError(f"{key} = {name} needs heads of a multiple of {block}, not {length}; {_plain(key)}")
        if length * layer.kv_heads % block:
            width = length * layer.kv_heads
            raise ConfigError(f"{key} = {name} needs rows of a multiple of {block}, not {width}; {_plain(key)}")


def _plain(key: str) -> str:
    nearest = next(iter(CACHE_TYPES))
    return f"the nearest that fits is {key} = {nearest}"


def _block(name: str) -> int:
    return TENSOR_TYPES[cache_type(name)].block


class Reserved(NamedTuple):
    """What is set aside beside what llama.cpp takes, in bytes.

    Attributes:
        margin_bytes: what stays free on each device for what is not counted: the driver's context, workspaces, pools
            (1,536 MiB: C12). Main memory has one only where it is the only device.
        extra_bytes: of further files that are loaded, too, such as a vision projector; on the first device.
    """

    margin_bytes: int = 1536 * MIB
    extra_bytes: int = 0


DEFAULT_RESERVED = Reserved()


def measure(
    model: ModelLayout, loading: Loading, cards: Sequence[Card] = (), reserved: Reserved = DEFAULT_RESERVED
) -> Sizing:
    """Return what a model takes on each device; nothing is loaded.

    Args:
        model: the model.
        loading: how it is to be loaded; `n_ctx` 0: with the window it was trained with.
        cards: the GPUs in the order of their numbers; a card "cpu" among them says what main memory has free. Without
            a GPU everything lies in main memory.
        reserved: what is set aside besides.

    Raises:
        ConfigError: llama.cpp would not load it so: a type of the cache, flash attention, a number out of its range.
        SizingError: the type of a tensor is unknown.
        ModelFileError: a key that is needed is missing or out of its range.
    """
    return Measure(model, loading, cards, reserved).at(loading.n_ctx)


class _Group(NamedTuple):
    """Tensors of the context that are alike: of that type and row; rows 0: of attention, as many as there are cells."""

    type_id: int
    row: int
    window: int
    rows: int


class Measure:
    """A model on its devices, all but the window decided: asked for one window after the other."""

    def __init__(
        self, model: ModelLayout, loading: Loading, cards: Sequence[Card] = (), reserved: Reserved = DEFAULT_RESERVED
    ) -> None:
        """Place layers and weights; parameters and exceptions are those of `measure`."""
        check_loading(model.header, loading)
        self._model, self._loading, self._cards, self._reserved = model, loading, tuple(cards), reserved
        self._gpus = [number for number, card in enumerate(cards) if card.kind != "cpu"]
        # Of any window: the rows of attention are made anew for each that is asked about.
        self._kept = kept(model.header, replace(loading, n_ctx=CELLS_STEP))
        kinds: set[CardKind] = {"cpu", *(card.kind for card in cards)}
        self._layer_bytes = {kind: model.layer_bytes(kind) for kind in kinds}
        # Of the layers that cache, one for each window: they have the same number of cells.
        self._windows = {layer.window: layer for layer in model.layers if layer.kv_heads}
        self._put(loading)

    def _put(self, loading: Loading) -> None:
        self._loading = loading
        self._places = place(self._model.blocks, loading, self._cards)
        self._weights = self._weigh()
        self._groups = self._group()
        self._growth = self._grows()
        self._partial = bool(self._gpus) and CPU in self._places
        self._copied_bytes = self._copied()
        self._main_rows = self._rows_in_main()

    def with_layers(self, n_gpu_layers: int) -> Measure:
        """Return the same with so many layers on the GPUs; cheaper than from the beginning."""
        other = copy(self)
        other._put(replace(self._loading, n_gpu_layers=n_gpu_layers))  # noqa: SLF001  # its own kind
        return other

    def at(self, n_ctx: int) -> Sizing:
        """Return what the model takes with that window, in tokens of all sequences; 0: as trained.

        Raises:
            ConfigError: no window, batch or sequence is left.
            ModelFileError: the window that it was trained with is asked for, and missing in the file.
        """
        model, loading = self._model, replace(self._loading, n_ctx=n_ctx)
        context = context_of(loading, model.header)
        room = {window: cells(layer, context, loading) for window, layer in self._windows.items()}
        work = self._work(context, room)
        in_main = max((room[window] * row for window, row in self._main_rows.items()), default=0) * context.streams
        devices = tuple(
            self._held(number, context, room, self._compute(number, work, in_main)) for number in (*self._gpus, CPU)
        )
        name = model.shape.architecture
        return Sizing(name, model.blocks, model.trained_tokens, loading, context, devices, self._growth)

    def _weigh(self) -> dict[int, int]:
        """Return the weights of each device: tensors of blocks by their block, the others one by one."""
        weights = weights_bytes(self._model.outside, self._loading, self._cards)
        for layer, number in zip(self._model.layers, self._places, strict=False):  # others stand behind the layers
            weights[number] = weights.get(number, 0) + self._layer_bytes[self._kind(number)][layer.number]
        return weights

    def _group(self) -> dict[int, dict[_Group, int]]:
        """Return by device how many tensors of each group its part of the context has."""
        windows = [layer.window for layer in self._model.layers]
        found: dict[int, dict[_Group, int]] = {}
        for one in self._kept:
            groups = found.setdefault(self._places[one.layer], {})
            group = _Group(one.type_id, one.row, windows[one.layer], 0 if one.attention else one.rows)
            groups[group] = groups.get(group, 0) + 1
        return found

    def _grows(self) -> int:
        """Return the bytes by which the context grows with each token of a window."""
        return sum(
            count * row_bytes(group.type_id, group.row)
            for groups in self._groups.values()
            for group, count in groups.items()
            if not group.rows and (not group.window or self._loading.swa_full)
        )

    def _copied(self) -> int:
        """Return the bytes of the largest tensor that is copied to a GPU for one operation."""
        model = self._model
        sizes = (model.largest_bytes[layer.number] for layer in model.layers if self._places[layer.number] == CPU)
        return max(sizes, default=0) + (model.output_bytes if self._places[-1] == CPU else 0)

    def _card(self, number: int) -> Card | None:
        if number != CPU:
            return self._cards[number]
        return next((card for card in self._cards if card.kind == "cpu"), None)

    def _rows_in_main(self) -> dict[int, int]:
        """Return by window the most bytes that a token takes in one layer of main memory."""
        rows: dict[int, int] = {}
        for one in self._kept:
            if one.attention and self._places[one.layer] == CPU:
                rows[one.layer] = rows.get(one.layer, 0) + row_bytes(one.type_id, one.row)
        found: dict[int, int] = {}
        for number, size in rows.items():
            window = self._model.layers[number].window
            found[window] = max(found.get(window, 0), size)
        return found

    def _kind(self, number: int) -> CardKind:
        return "cpu" if number == CPU else self._cards[number].kind

    def _work(self, context: Context, room: Mapping[int, int]) -> Work:
        loading = self._loading
        return Work(
            context.n_tokens,
            context.n_outputs,
            context.n_seq,
            max(room.values(), default=context.n_seq),
            max((tokens for window, tokens in room.items() if window), default=0),
            context.streams,
            uses_flash(self._model.header, loading),
            loading.type_k != "f16",
            loading.type_v != "f16",
            loading.swa_full,
        )

    def _held(self, number: int, context: Context, room: Mapping[int, int], compute: Compute) -> Held:
        kind, gpus = self._kind(number), self._gpus
        kv_bytes = recurrent_bytes = 0
        for group, count in self._groups.get(number, {}).items():
            rows = group.rows or room[group.window] * context.streams
            taken = count * held_bytes(row_bytes(group.type_id, group.row) * rows, group.type_id, group.row, kind)
            if group.rows:
                recurrent_bytes += taken
            else:
                kv_bytes += taken
        first = number == (gpus[0] if gpus else CPU)
        card = self._card(number)
        return Held(
            number,
            card.name if card else "",
            kind,
            self._places.count(number),
            self._weights.get(number, 0),
            kv_bytes,
            recurrent_bytes,
            compute,
            self._reserved.extra_bytes if first else 0,
            0 if number == CPU and gpus else self._reserved.margin_bytes,
            card.free_bytes if card else None,
        )

    def _compute(self, number: int, work: Work, cached_bytes: int) -> Compute:
        shape, places = self._model.shape, self._places
        if number not in places and number != CPU and not self._partial:
            return Compute(0, 0, "guarded")
        seat = Seat(
            self._kind(number),
            logits=places[-1] in (number, CPU),
            devices=max(len(self._gpus), 1),
            first=number == places[0],
            partial=self._partial,
            copied_bytes=self._copied_bytes,
            cached_bytes=cached_bytes,
        )
        return beside_of(shape, work, seat) if number == CPU and self._gpus else compute_of(shape, work, seat)


# What a model's header says of memory, worked out once, for any window on any devices.

# The shape and the type of a tensor: what its bytes follow from.
Form = tuple[tuple[int, ...], int]


class ModelLayout(NamedTuple):
    """A model, as far as its memory goes.

    Attributes:
        header: all of it; outside: the same without the tensors of layers.
        layers: what each keeps, in order; blocks that only predict further tokens are left out.
        blocks: all of the file; the output counts as one more behind them.
        shape: what the compute buffer depends on.
        trained_tokens: the window it was trained with; 0 where the file does not say.
        forms: of each layer, how many tensors there are of each shape and type.
        largest_bytes: of each layer, its largest tensor.
        output_bytes: the matrix that makes logits.
    """

    header: Header
    outside: Header
    layers: tuple[Layer, ...]
    blocks: int
    shape: Shape
    trained_tokens: int
    forms: tuple[dict[Form, int], ...]
    largest_bytes: tuple[int, ...]
    output_bytes: int

    def layer_bytes(self, kind: CardKind) -> list[int]:
        """Return the bytes of weights that each layer takes on a device of that kind."""
        held: dict[Form, int] = {}
        for form in {form for forms in self.forms for form in forms}:
            shape, type_id = form
            held[form] = held_bytes(tensor_bytes(Tensor("", shape, type_id)), type_id, shape[0], kind)
        return [sum(count * held[form] for form, count in forms.items()) for forms in self.forms]


def model_of(header: Header) -> ModelLayout:
    """Return what the header of a model says of memory.

    Raises:
        SizingError: the layout of its cache is unknown, or the type of a tensor.
        ModelFileError: a key that is needed is missing or out of its range.
    """
    layers = layers_of(header)
    blocks, _ = blocks_of(header)
    forms, largest, outside = _sorted(header, len(layers))
    matrix = header.tensor("output.weight") or header.tensor("token_embd.weight")
    return ModelLayout(
        header,
        Header(header.metadata, tuple(outside), header.file_bytes, header.parts),
        layers,
        blocks,
        shape_of(header, layers),
        header.number("context_length", 0),
        forms,
        largest,
        tensor_bytes(matrix) if matrix else 0,
    )


def _sorted(header: Header, layers: int) -> tuple[tuple[dict[Form, int], ...], tuple[int, ...], list[Tensor]]:
    """Return the forms and the largest tensor of each layer, and the tensors that are in none of them."""
    forms: tuple[dict[Form, int], ...] = tuple({} for _ in range(layers))
    outside: list[Tensor] = []
    sizes: dict[Form, int] = {}
    for tensor in header.tensors:
        place, _, rest = tensor.name.partition(".")
        number = rest.partition(".")[0] if place == "blk" else ""
        if not number.isdecimal() or int(number) >= layers:
            outside.append(tensor)
        else:
            form, own = (tensor.shape, tensor.type_id), forms[int(number)]
            if form not in sizes:
                sizes[form] = tensor_bytes(tensor)
            own[form] = own.get(form, 0) + 1
    return forms, tuple(max((sizes[form] for form in own), default=0) for own in forms), outside
