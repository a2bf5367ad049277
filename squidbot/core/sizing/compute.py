"""The compute buffer of one device: a closed form in the model's dimensions, and a guard above it.

llama.cpp plans this buffer by walking the graph of a batch. What it comes to is decided in one of three places, the
attention of a layer, its feed-forward part or the logits, and for each there is a sum of the tensors that live there
at once. Source: fitted to the dry run of llama.cpp 0c1e57098 (llama-cpp-python 0.3.36); the guard is what kept the
result from ever being under on the cases that were measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from squidbot.core.sizing.layers import is_mla, widest_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.sizing.context import CardKind
    from squidbot.core.sizing.header import Header
    from squidbot.core.sizing.layers import Layer

__all__ = [
    "MIB",
    "UNKNOWN",
    "WIDE",
    "Compute",
    "ComputeKind",
    "Seat",
    "Shape",
    "Work",
    "beside_of",
    "compute_of",
    "shape_of",
]

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
