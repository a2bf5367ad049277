"""The memory of a model: its parts summed for each device, for one window after the other."""

from __future__ import annotations

import re
from collections import Counter
from copy import copy
from dataclasses import dataclass, replace
from struct import pack, unpack
from typing import TYPE_CHECKING, Literal, NamedTuple

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.header import (
    BLOCKS_MAX,
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
    heads_of,
    is_mla,
    layers_of,
    row_bytes,
    tensor_bytes,
    type_id,
    widest_value,
    windows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.sizing.header import Card, CardKind, Layer, Loading


# "header": worked out from the file's header; "dry run": said by llama.cpp, which planned everything and took nothing.
Method = Literal["header", "dry run"]
# Best first.
_TRUST: tuple[ComputeKind, ...] = ("dry run", "guarded", "wide", "unknown")


class DeviceMemory(NamedTuple):
    """The memory of a model on one device, in bytes.

    Attributes:
        number: its place among the cards; -1: main memory.
        name: the card's name, or "".
        kind: whose rules it allocates by.
        layers: how many are here; the output counts as one.
        weights_bytes, kv_bytes, recurrent_bytes: exact.
        compute: the compute buffer.
        extra_bytes: further files, such as a vision projector.
        margin_bytes: what has to stay free.
        free_bytes: before anything is loaded; `None` if unknown, which counts as enough.
        shared: whether `free_bytes` is what GPUs that share main memory leave of it.
    """

    number: int
    name: str
    kind: CardKind
    layers: int
    weights_bytes: int
    kv_bytes: int
    recurrent_bytes: int
    compute: ComputeBuffer
    extra_bytes: int = 0
    margin_bytes: int = 0
    free_bytes: int | None = None
    shared: bool = False

    @property
    def total_bytes(self) -> int:
        """All that the model takes here, without the margin."""
        context = self.kv_bytes + self.recurrent_bytes
        return self.weights_bytes + context + self.compute.total_bytes + self.extra_bytes

    @property
    def left_bytes(self) -> int | None:
        """The bytes that stay free above the margin; negative if it does not fit; `None` if unknown."""
        return None if self.free_bytes is None else self.free_bytes - self.total_bytes - self.margin_bytes

    @property
    def fits(self) -> bool:
        """Whether there is room, as far as is known."""
        return self.compute.kind != "unknown" and (self.left_bytes is None or self.left_bytes >= 0)


@dataclass(frozen=True, slots=True)
class Sizing:
    """The memory that a model takes with one window.

    Attributes:
        architecture: llama.cpp's name for it.
        blocks: the file's layers, without the output.
        trained_tokens: the window it was trained with; 0 if the file does not say.
        loading: how it is loaded.
        context: what llama.cpp makes of `loading`; `context.n_seq` is the window.
        devices: in the order of the cards, main memory last.
        kv_bytes_per_token: growth of the cache per token of the window, over all devices.
        method: where the figures come from.
    """

    architecture: str
    blocks: int
    trained_tokens: int
    loading: Loading
    context: ContextShape
    devices: tuple[DeviceMemory, ...]
    kv_bytes_per_token: int
    method: Method = "header"

    @property
    def window_tokens(self) -> int:
        """The window of one sequence."""
        return self.context.n_seq

    @property
    def weights_bytes(self) -> int:
        """Weights on all devices."""
        return sum(device.weights_bytes for device in self.devices)

    @property
    def kv_bytes(self) -> int:
        """Cached keys and values on all devices."""
        return sum(device.kv_bytes for device in self.devices)

    @property
    def recurrent_bytes(self) -> int:
        """Recurrent state, which does not grow with the window, on all devices."""
        return sum(device.recurrent_bytes for device in self.devices)

    @property
    def compute_bytes(self) -> int:
        """Compute buffers of all devices, guards included."""
        return sum(device.compute.total_bytes for device in self.devices)

    @property
    def extra_bytes(self) -> int:
        """Further files on all devices."""
        return sum(device.extra_bytes for device in self.devices)

    @property
    def total_bytes(self) -> int:
        """Everything on all devices, without margins."""
        return sum(device.total_bytes for device in self.devices)

    @property
    def compute_kind(self) -> ComputeKind:
        """How exact the compute buffers are: the least certain of the GPUs, or of main memory without GPUs."""
        decisive = self.devices[:-1] or self.devices
        return max((device.compute.kind for device in decisive), key=_TRUST.index)

    @property
    def fits(self) -> bool:
        """Whether every device has room for its part and its margin, as far as is known."""
        return all(device.fits for device in self.devices)

    @property
    def tightest(self) -> DeviceMemory:
        """The device with the fewest bytes left, among devices whose free memory is known."""
        known = [(device.left_bytes, device) for device in self.devices if device.left_bytes is not None]
        return min(known, key=lambda row: row[0])[1] if known else self.devices[0]


def sharing(sizing: Sizing, cards: Sequence[Card]) -> Sizing:
    """Return a sizing in which unified GPUs, margins included, take their memory from main memory."""
    gpus, main = sizing.devices[:-1], sizing.devices[-1]
    taken = sum(gpu.total_bytes + gpu.margin_bytes for gpu in gpus if cards[gpu.number].unified)
    if not taken or main.free_bytes is None:
        return sizing
    left = main._replace(free_bytes=max(main.free_bytes - taken, 0), shared=True)
    return replace(sizing, devices=(*gpus, left))


# Cells are made in these steps, for speed (llama.cpp 0c1e57098).
CELLS_STEP = 256


class ContextShape(NamedTuple):
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


def context_of(loading: Loading, header: Header) -> ContextShape:
    """Return the context that a model is given.

    Source: llama_context's constructor and its reservation of graphs, llama.cpp 0c1e57098.

    Raises:
        ConfigError: no window, batch or sequence is left.
        ModelFileError: the window that it was trained with is asked for, and missing in the file.
    """
    sequences = loading.n_seq_max
    wanted = loading.n_ctx or header.number("context_length")
    n_batch = min(wanted, loading.n_batch)
    n_ubatch = min(n_batch, loading.n_ubatch or loading.n_batch)
    if min(wanted, n_batch, n_ubatch, sequences) < 1:
        raise ConfigError("n_ctx, n_batch, n_ubatch and n_seq_max must be 1 or more")
    n_ctx = n_seq = pad(wanted, CELLS_STEP)
    if not loading.kv_unified:
        n_seq = pad(n_ctx // sequences, CELLS_STEP)
        n_ctx = n_seq * sequences
    n_tokens = pad(min(n_ctx, n_ubatch), sequences)
    n_outputs = min(n_tokens, n_batch if loading.n_outputs_max is None else loading.n_outputs_max or n_batch)
    return ContextShape(n_ctx, n_batch, n_ubatch, n_seq, 1 if loading.kv_unified else sequences, n_tokens, n_outputs)


def cells(layer: Layer, context: ContextShape, loading: Loading) -> int:
    """Return the tokens of each stream that a layer's attention cache holds; sliding layers do not hold all."""
    if not layer.window or loading.swa_full:
        return context.n_seq
    shared = loading.n_seq_max if loading.kv_unified else 1
    return pad(min(context.n_seq, layer.window * shared + context.n_ubatch), CELLS_STEP)


def uses_flash(architecture: str, loading: Loading) -> bool:
    """Return whether flash attention is on: as requested, but not for an architecture that has none."""
    return loading.flash_attn and architecture not in NO_FLASH


# The placement of layers on devices, and the bytes of weights on each device.

# Main memory, as the number of a device.
CPU = -1
# How devices align tensors.
ALIGNMENT_BYTES: dict[CardKind, int] = {"cpu": 32, "cuda": 128, "hip": 128, "metal": 32, "vulkan": 256, "sycl": 128}
# CUDA's matrix kernels read whole runs of this many elements (MATRIX_ROW_PADDING; HIP is the same code).
ROW_STEP = 512

_BLOCK = re.compile(r"blk\.(\d+)\.")
_NOTHING = re.compile(r"(?!)")
# Made with the output, and with the first block; what is in neither list, nor in a block, stays in main memory.
_WITH_OUTPUT = ("output", "cls", "altup_", "dense_2.", "dense_3.")
_WITH_FIRST = ("token_embd_norm.", "per_layer_model_proj.", "per_layer_proj_norm.")
# Once on each device that holds layers.
_EVERYWHERE = re.compile(r"rope_(freqs|factors_\w+)\.")


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


def placed(header: Header, loading: Loading, cards: Sequence[Card]) -> tuple[tuple[Tensor, int], ...]:
    """Return every tensor that is loaded, on its device; one that several devices hold comes once for each.

    Source of the rules: create_tensor of llama.cpp 0c1e57098.

    Raises:
        ConfigError: `tensor_split` is wrong.
        ModelFileError: the blocks are out of their range.
    """
    blocks, predicting = blocks_of(header)
    devices = place(blocks, loading, cards)
    holding = sorted({devices[number] for number in _rope_blocks(header)})
    tied = header.tensor("output.weight") is None and header.architecture not in NEVER_TIED
    embedding = sorted({CPU, devices[blocks] if tied else CPU})
    predicted = LOADED_OF_PREDICTING.get(header.architecture, _NOTHING)
    found: list[tuple[Tensor, int]] = []
    for tensor in header.tensors:
        if _EVERYWHERE.match(tensor.name):
            places = holding
        elif tensor.name == "token_embd.weight":
            places = embedding
        elif not tensor.name.startswith("blk."):
            places = [_device(header.architecture, tensor.name, devices[0], devices[blocks])]
        else:
            number, part = _block_part(tensor.name)
            is_loaded = number < blocks - predicting or (number < blocks and predicted.match(part))
            places = [devices[number]] if is_loaded else []
        found.extend((tensor, device) for device in places)
    return tuple(found)


def _block_part(name: str) -> tuple[int, str]:
    """Return the block of a tensor, beyond all blocks if it has no number, and the rest of its name."""
    block = _BLOCK.match(name)
    return (int(block[1]), name[block.end() :]) if block else (BLOCKS_MAX, "")


def _rope_blocks(header: Header) -> list[int]:
    """Return the blocks that the factors of positions are loaded for."""
    blocks, predicting = blocks_of(header)
    if header.architecture == "step35":
        return list(range(blocks))
    layers = range(blocks - predicting)
    if header.architecture == "gemma4":
        slides = windows(header, len(layers))
        return [number for number in layers if not slides[number]]
    return list(layers)


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
        size = held_bytes(tensor_bytes(tensor), tensor.type_id, tensor.shape[0], kind)
        total[device] = total.get(device, 0) + size
    return total


def held_bytes(size_bytes: int, type_id: int, row: int, card: CardKind) -> int:
    """Return the bytes that a device takes for a tensor of `size_bytes` whose rows have `row` elements.

    Sources: ggml's buffer types as of llama.cpp 0c1e57098. Of Vulkan and SYCL the alignment is the largest that a
    device may ask for, so that they may take a few bytes less.

    Raises:
        ModelFileError: the type is unknown.
    """
    if card in ("cuda", "hip") and row % ROW_STEP and TENSOR_TYPES[type_id].block > 1:
        size_bytes += row_bytes(type_id, ROW_STEP - row % ROW_STEP)
    step = ALIGNMENT_BYTES[card]
    return -(-size_bytes // step) * step


F32 = type_id("f32")


class ContextTensor(NamedTuple):
    """One tensor of a context.

    Attributes:
        layer: the number of its layer, whose sliding window is `window`; 0: it sees everything.
        type_id, row, rows: its type, the elements of a row, and its rows.
        attention: whether it holds keys or values; otherwise recurrent state.
    """

    layer: int
    window: int
    type_id: int
    row: int
    rows: int
    attention: bool


def context_tensors(header: Header, loading: Loading) -> tuple[ContextTensor, ...]:
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
    latent, widest = is_mla(header), 0 if uses_flash(header.architecture, loading) else widest_value(header)
    rows = loading.n_seq_max * (1 + loading.n_rs_seq)
    found = []
    for layer in layers_of(header):
        number, window = layer.number, layer.window
        if layer.kv_heads:
            tokens = cells(layer, context, loading) * context.streams
            widths = [(type_k, layer.key_length * layer.kv_heads)]
            if not latent:
                widths.append((type_v, widest or layer.value_length * layer.kv_heads))
            found += [ContextTensor(number, window, kind, width, tokens, attention=True) for kind, width in widths]
        if layer.recurrent:
            states = (layer.conv_elements, layer.state_elements)
            found += [ContextTensor(number, window, F32, width, rows, attention=False) for width in states]
    return tuple(found)


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
        ffn, expert_ffn, shared_ffn: the widest of any block; 0 if there is none.
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


class DeviceRole(NamedTuple):
    """The role of one device in a batch.

    Attributes:
        kind: whose rules it allocates by.
        logits: whether the output layer is here.
        devices: how many share the layers.
        first: whether no other device has layers before.
        partial: whether some layers stay in main memory.
        copied_bytes: with `partial`, the largest tensor that is copied in from there for one operation.
        cached_bytes: with `partial`, the largest cache of a layer there, which is copied in to attend.
    """

    kind: CardKind
    logits: bool = True
    devices: int = 1
    first: bool = True
    partial: bool = False
    copied_bytes: int = 0
    cached_bytes: int = 0


class ComputeBuffer(NamedTuple):
    """The compute buffer of one device, in bytes.

    Attributes:
        closed_bytes: by the closed form; 0 if unknown.
        guard_bytes: added so that the sum is never too small.
        kind: how far to trust it.
        reason: why it is wide or unknown, in a sentence; "" if guarded.
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
    """Return the dimensions that the compute buffer depends on, from the header of a model and its layers.

    Widths are those of the tensors, not of the keys: where the two differ, llama.cpp's graph follows the tensors.

    Raises:
        ModelFileError: a key that is needed is missing or out of its range.
    """
    heads, kv_heads = heads_of(header, header.number("block_count"))
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
        _widest(header, "ffn_down.weight"),
        _widest(header, "ffn_down_exps.weight"),
        _widest(header, "ffn_down_shexp.weight"),
        header.number("expert_used_count", 0),
        header.tensor("blk.0.attn_qkv.weight") is not None,
        any(layer.window for layer in layers),
    )


def _widest(header: Header, name: str) -> int:
    """Return the largest first dimension of the blocks' tensors of that name; 0 if there are none."""
    found = (tensor for tensor in header.tensors if tensor.name.endswith(name) and tensor.name.startswith("blk."))
    return max((tensor.shape[0] for tensor in found if tensor.name.split(".", 2)[2] == name), default=0)


class ComputeTerms:
    """The tensors of one batch, in bytes: f32; masks are f16 with flash attention."""

    def __init__(self, shape: Shape, loading: Loading, context: ContextShape, room: Mapping[int, int]) -> None:
        """Take `room`: the cells of attention layers by their sliding window, 0 for layers that see everything."""
        self.shape, self.loading, self.context = shape, loading, context
        self.flash = uses_flash(shape.architecture, loading)
        self.tokens = tokens = context.n_tokens
        self.cells = max(room.values(), default=context.n_seq)
        self.x = 4 * tokens * shape.embedding
        self.y = 4 * tokens * shape.key_length * shape.heads
        self.z = 4 * tokens * shape.value_length * shape.heads
        self.logits = 4 * context.n_outputs * (shape.vocabulary + shape.embedding)
        seen = context.n_seq + max((cells for window, cells in room.items() if window), default=0)
        places = 0 if shape.query_length else 8 * tokens * shape.value_width * (2 if shape.slides else 1)
        self.mask = 2 * tokens * seen if self.flash else 4 * tokens * seen + places
        # One layer's cache as f16, made with flash attention where it is kept in another type.
        keys = shape.key_length if loading.type_k != "f16" else 0
        values = shape.value_length if loading.type_v != "f16" and not shape.query_length else 0
        self.f16_copies = 2 * self.cells * shape.kv_heads * (keys + values) * context.streams if self.flash else 0

    def attention(self, copies: int) -> int:
        """Return the bytes in use while a layer attends; `copies` is the cache as f16, 0 if none is made."""
        shape = self.shape
        scores = 4 * self.tokens * self.cells * shape.heads
        if shape.query_length:
            queries = 4 * self.tokens * shape.heads * shape.query_length
            latent = 2 * self.context.n_seq * shape.value_length * self.context.streams
            extra = (self.z + copies if copies else 0) if self.flash else scores + latent
            return self.mask + 3 * self.x + queries + extra
        fused = 0
        if shape.fused:
            widths = shape.heads * shape.key_length + shape.kv_heads * (shape.key_length + shape.value_length)
            fused = 4 * self.tokens * widths
        return self.mask + 2 * self.x + self.y + self.z + (copies if self.flash else scores) + fused

    def feed_forward(self) -> int:
        """Return the bytes in use while the feed-forward part of a layer is computed."""
        shape, x = self.shape, self.x
        late = self.y + (0 if self.flash or shape.query_length else self.z)
        wide = shape.embedding if shape.embedding > 2 * shape.expert_ffn else 0
        inner = max(
            12 * self.tokens * shape.ffn,
            4 * self.tokens * shape.experts_used * (3 * shape.expert_ffn + wide),
            12 * self.tokens * shape.shared_ffn + x if shape.shared_ffn else 0,
        )
        return self.mask + 2 * x + max(x, late) + inner

    def layer_guard(self) -> int:
        """Return the guard of a layer: one and a half of its largest tensor of a batch."""
        return max(self.x, self.y // 2 if self.shape.query_length else self.y) * 3 // 2

    def logits_guard(self) -> int:
        """Return the guard of the logits, with the mask if it was seen to be still in use."""
        swa_full = self.loading.swa_full and self.shape.slides
        stays = self.shape.architecture in _MASK_STAYS or swa_full or self.context.n_seq > MEASURED_TOKENS
        return 5 * max(self.x, self.y) + (self.mask if stays else 0)


def compute_of(terms: ComputeTerms, role: DeviceRole) -> ComputeBuffer:
    """Return the compute buffer of a device. It never shrinks when the window grows."""
    kind, reason = _trust(terms, role)
    if kind == "unknown":
        return ComputeBuffer(0, 0, "unknown", reason)
    in_flight = 0
    if role.devices > 1 and not role.partial:
        # What the device before hands on is an input, too.
        in_flight = _COPIES * (terms.x if role.first else 2 * terms.x) + (_COPIES - 1) * terms.mask
    attention = terms.attention(terms.f16_copies if role.kind in _COPYING else 0)
    attention += role.cached_bytes if role.partial else 0
    closed = max(attention, terms.feed_forward()) + in_flight
    guarded = closed + terms.layer_guard()
    if role.logits:
        logits = terms.logits + in_flight + (terms.mask if in_flight else 0)
        guarded, closed = max(guarded, logits + terms.logits_guard()), max(closed, logits)
    guard = closed // 2 + terms.mask + 64 * MIB if kind == "wide" else guarded + 16 * MIB - closed
    if role.partial:  # weights that stay in main memory come in for one operation at a time
        closed, guard = closed + role.copied_bytes, guard + 64 * MIB
    return ComputeBuffer(closed, guard, kind, reason)


def beside_of(terms: ComputeTerms, role: DeviceRole) -> ComputeBuffer:
    """Return the buffer in main memory beside those of GPUs: a batch's inputs, several times with several GPUs.

    Where layers stay in main memory (`role.partial`), it is at most what all of them would take there.
    """
    if role.partial:
        whole = compute_of(terms, DeviceRole("cpu"))
        reason = "what main memory computes beside GPUs is known only roughly"
        return whole if whole.kind == "unknown" else whole._replace(kind="wide", reason=reason)
    piped = role.devices > 1
    inputs = _COPIES * terms.mask + (_COPIES + 1) * terms.x if piped else terms.mask + 2 * terms.x
    return ComputeBuffer(inputs, 16 * MIB, "guarded")


def _trust(terms: ComputeTerms, role: DeviceRole) -> tuple[ComputeKind, str]:
    """Return how exact a compute buffer is, and why it is no better."""
    name = terms.shape.architecture
    if name in UNKNOWN:
        return "unknown", f"cannot derive the compute buffer of {name!r} from the header: use --verify"
    if role.partial and not terms.flash:
        return "unknown", "with layers in main memory the compute buffer is known only with flash attention: turn it on"
    if name in WIDE:
        return "wide", f"the compute buffer of {name!r} is known only roughly"
    if role.kind not in _MEASURED:
        return "wide", f"compute buffers on {role.kind} are known only roughly"
    if role.partial and role.devices > 1:
        return "wide", "compute buffers are known only roughly when several devices and main memory share the layers"
    return "guarded", ""


# Settings that llama.cpp would refuse, or end its process for, checked before.

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
        if uses_flash(header.architecture, loading) and length % block:
            raise ConfigError(f"{key} = {name} needs heads of a multiple of {block}, not {length}; {_plain(key)}")
        if length * layer.kv_heads % block:
            width = length * layer.kv_heads
            raise ConfigError(f"{key} = {name} needs rows of a multiple of {block}, not {width}; {_plain(key)}")


def _plain(key: str) -> str:
    nearest = next(iter(CACHE_TYPES))
    return f"the nearest that fits is {key} = {nearest}"


def _block(name: str) -> int:
    return TENSOR_TYPES[cache_type(name)].block


class ReservedMemory(NamedTuple):
    """Reserved memory beside llama.cpp's own, in bytes.

    Attributes:
        margin_bytes: stays free on each device for the driver's context, workspaces and pools, which are not counted.
            Main memory has one only where it is the only device.
        extra_bytes: further files that are loaded, such as a vision projector; on the first device.
    """

    margin_bytes: int = 1536 * MIB
    extra_bytes: int = 0


DEFAULT_RESERVED = ReservedMemory()


def measure(
    model: ModelLayout, loading: Loading, cards: Sequence[Card] = (), reserved: ReservedMemory = DEFAULT_RESERVED
) -> Sizing:
    """Return the memory of a model on each device; nothing is loaded.

    Args:
        model: the model.
        loading: how it is to be loaded; `n_ctx` 0: with the window it was trained with.
        cards: the GPUs in the order of their numbers; a card "cpu" says what main memory has free. Without GPUs
            everything lies in main memory.
        reserved: what is set aside besides.

    Raises:
        ConfigError: llama.cpp would not load it so: a cache type, flash attention, a number out of range.
        SizingError: the type of a tensor is unknown.
        ModelFileError: a key that is needed is missing or out of range.
    """
    return SizingCalculator(model, loading, cards, reserved).at(loading.n_ctx)


class SizingCalculator:
    """Computes the memory of a model on its devices for one window after the other."""

    def __init__(
        self,
        model: ModelLayout,
        loading: Loading,
        cards: Sequence[Card] = (),
        reserved: ReservedMemory = DEFAULT_RESERVED,
    ) -> None:
        """Place layers and weights; parameters and exceptions are those of `measure`."""
        check_loading(model.header, loading)
        self._model, self._cards, self._reserved = model, tuple(cards), reserved
        self._gpus = [number for number, card in enumerate(cards) if card.kind != "cpu"]
        # With any window: the rows of attention are computed for each window that is asked about.
        self._tensors = context_tensors(model.header, replace(loading, n_ctx=CELLS_STEP))
        kinds: set[CardKind] = {"cpu", *(card.kind for card in cards)}
        self._layer_bytes = {kind: model.layer_bytes(kind) for kind in kinds}
        self._largest = [max(map(tensor_bytes, tensors), default=0) for tensors in model.tensors]
        # One caching layer for each sliding window: those of the same window have the same number of cells.
        self._windows = {layer.window: layer for layer in model.layers if layer.kv_heads}
        self._place(loading)

    def _place(self, loading: Loading) -> None:
        """Choose the device of each layer, and sum up everything that does not depend on the window."""
        model = self._model
        self._loading = loading
        self._places = place(model.blocks, loading, self._cards)
        self._partial = bool(self._gpus) and CPU in self._places
        self._weights = weights_bytes(model.outside, loading, self._cards)
        for layer, device in zip(model.layers, self._places, strict=False):  # others stand behind the layers
            weight = self._layer_bytes[self._kind(device)][layer.number]
            self._weights[device] = self._weights.get(device, 0) + weight
        # With layers in main memory, its largest tensor is copied to a GPU for one operation.
        in_main = (size for size, place in zip(self._largest, self._places, strict=False) if place == CPU)
        self._copied_bytes = max(in_main, default=0) + (model.output_bytes if self._places[-1] == CPU else 0)
        # By device, how many context tensors of each kind there are; those of attention get their rows later.
        self._context: dict[int, Counter[ContextTensor]] = {}
        self._growth = 0
        main_rows: dict[tuple[int, int], int] = {}
        for tensor in self._tensors:
            device = self._places[tensor.layer]
            alike = tensor._replace(layer=0, rows=0 if tensor.attention else tensor.rows)
            self._context.setdefault(device, Counter())[alike] += 1
            if tensor.attention:
                size = row_bytes(tensor.type_id, tensor.row)
                self._growth += size if not tensor.window or loading.swa_full else 0
                if device == CPU:
                    main_rows[tensor.window, tensor.layer] = main_rows.get((tensor.window, tensor.layer), 0) + size
        self._main_rows = [(window, size) for (window, _), size in main_rows.items()]

    def with_layers(self, n_gpu_layers: int) -> SizingCalculator:
        """Return a calculator with `n_gpu_layers` layers on the GPUs; cheaper than starting anew."""
        other = copy(self)
        other._place(replace(self._loading, n_gpu_layers=n_gpu_layers))  # noqa: SLF001  # its own kind
        return other

    def at(self, n_ctx: int) -> Sizing:
        """Return the memory of the model with a window of `n_ctx` tokens over all sequences; 0: as trained.

        Raises:
            ConfigError: no window, batch or sequence is left.
            ModelFileError: the trained window is asked for, and missing in the file.
        """
        model, loading = self._model, replace(self._loading, n_ctx=n_ctx)
        context = context_of(loading, model.header)
        room = {window: cells(layer, context, loading) for window, layer in self._windows.items()}
        terms = ComputeTerms(model.shape, loading, context, room)
        cached_bytes = max((room[window] * size for window, size in self._main_rows), default=0) * context.streams
        devices = tuple(self._device(number, room, terms, cached_bytes) for number in (*self._gpus, CPU))
        name = model.shape.architecture
        return Sizing(name, model.blocks, model.trained_tokens, loading, context, devices, self._growth)

    def _kind(self, number: int) -> CardKind:
        return "cpu" if number == CPU else self._cards[number].kind

    def _device(self, number: int, room: Mapping[int, int], terms: ComputeTerms, cached_bytes: int) -> DeviceMemory:
        kind, gpus = self._kind(number), self._gpus
        sizes = {True: 0, False: 0}
        for tensor, count in self._context.get(number, {}).items():
            rows = room[tensor.window] * terms.context.streams if tensor.attention else tensor.rows
            size = row_bytes(tensor.type_id, tensor.row) * rows
            sizes[tensor.attention] += count * held_bytes(size, tensor.type_id, tensor.row, kind)
        main = next((card for card in self._cards if card.kind == "cpu"), None)
        card = main if number == CPU else self._cards[number]
        return DeviceMemory(
            number,
            card.name if card else "",
            kind,
            self._places.count(number),
            self._weights.get(number, 0),
            sizes[True],
            sizes[False],
            self._compute(number, terms, cached_bytes),
            self._reserved.extra_bytes if number == (gpus[0] if gpus else CPU) else 0,
            0 if number == CPU and gpus else self._reserved.margin_bytes,
            card.free_bytes if card else None,
        )

    def _compute(self, number: int, terms: ComputeTerms, cached_bytes: int) -> ComputeBuffer:
        places = self._places
        if number not in places and number != CPU and not self._partial:
            return ComputeBuffer(0, 0, "guarded")
        role = DeviceRole(
            self._kind(number),
            logits=places[-1] in (number, CPU),
            devices=max(len(self._gpus), 1),
            first=number == places[0],
            partial=self._partial,
            copied_bytes=self._copied_bytes,
            cached_bytes=cached_bytes,
        )
        return beside_of(terms, role) if number == CPU and self._gpus else compute_of(terms, role)


class ModelLayout(NamedTuple):
    """A model, as far as its memory goes.

    Attributes:
        header: all of it; outside: the same without the tensors of layers.
        layers: what each keeps, in order, without blocks that only predict further tokens.
        tensors: those of each layer.
        blocks: all of the file; the output counts as one more behind them.
        shape: what the compute buffer depends on.
        trained_tokens: the window it was trained with; 0 if the file does not say.
        output_bytes: the matrix that makes logits.
    """

    header: Header
    outside: Header
    layers: tuple[Layer, ...]
    tensors: tuple[list[Tensor], ...]
    blocks: int
    shape: Shape
    trained_tokens: int
    output_bytes: int

    def layer_bytes(self, kind: CardKind) -> list[int]:
        """Return the bytes of weights that each layer takes on a device of that kind."""
        sizes: dict[tuple[tuple[int, ...], int], int] = {}  # most tensors are like that of another layer
        found = [0] * len(self.tensors)
        for number, tensors in enumerate(self.tensors):
            for _, shape, kind_id in tensors:
                if (shape, kind_id) not in sizes:
                    size = tensor_bytes(Tensor("", shape, kind_id))
                    sizes[shape, kind_id] = held_bytes(size, kind_id, shape[0], kind)
                found[number] += sizes[shape, kind_id]
        return found


def model_of(header: Header) -> ModelLayout:
    """Return the layout of a model's memory by its header.

    Raises:
        SizingError: the layout of its cache is unknown, or the type of a tensor.
        ModelFileError: a key that is needed is missing or out of its range.
    """
    layers = layers_of(header)
    blocks, _ = blocks_of(header)
    tensors: tuple[list[Tensor], ...] = tuple([] for _ in layers)
    outside: list[Tensor] = []
    for tensor in header.tensors:
        place, _, rest = tensor.name.partition(".")
        number = rest.partition(".")[0] if place == "blk" else ""
        inside = number.isdecimal() and int(number) < len(layers)
        (tensors[int(number)] if inside else outside).append(tensor)
    matrix = header.tensor("output.weight") or header.tensor("token_embd.weight")
    return ModelLayout(
        header,
        Header(header.metadata, tuple(outside), header.file_bytes, header.parts),
        layers,
        tensors,
        blocks,
        shape_of(header, layers),
        header.number("context_length", 0),
        tensor_bytes(matrix) if matrix else 0,
    )
