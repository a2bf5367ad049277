"""Model files for tests: GGUF files of any content, with empty tensors as holes, and a tiny chat model.

The layout is llama.cpp's (`ggml/src/gguf.cpp` of 0c1e57098): magic, version, counts, metadata, table of tensors, data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import prod
from pathlib import Path
from random import Random
from struct import pack
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.sizing.header import Tensor, tensor_bytes, type_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

__all__ = ["Data", "Item", "Metadata", "Typed", "offline_chat_model", "part_path", "write_gguf"]

#: A value of metadata.
Item = bool | int | float | str
# GGUF's numbers for the types of metadata, and how struct packs one.
_TYPES: Final = {
    "u8": (0, "B"),
    "i8": (1, "b"),
    "u16": (2, "H"),
    "i16": (3, "h"),
    "u32": (4, "I"),
    "i32": (5, "i"),
    "f32": (6, "f"),
    "bool": (7, "?"),
    "string": (8, ""),
    "u64": (10, "Q"),
    "i64": (11, "q"),
    "f64": (12, "d"),
}
_ARRAY: Final = 9


class Typed(NamedTuple):
    """A value with an explicit type, or the items of an array.

    Attributes:
        kind: "u8" to "f64", "bool" or "string".
        value: the value, or the items.
    """

    kind: str
    value: Item | Sequence[Item]


#: Metadata by key. Values that are not `Typed`: bool and str as such, float as f32, int as the first of u32, i32, u64,
#: i64 that holds it.
Metadata = Mapping[str, Item | Sequence[Item] | Typed]
#: Returns the bytes of a tensor.
Data = Callable[[Tensor], bytes]


def write_gguf(  # noqa: PLR0913  # a file has many properties, each with a default
    path: str | PathLike[str],
    metadata: Metadata,
    tensors: Sequence[Tensor],
    *,
    data: Data | None = None,
    version: int = 3,
    alignment: int = 32,
    parts: int = 1,
) -> list[Path]:
    """Write a model file, or one of several parts, and return their paths, the first part's first.

    Args:
        path: of the file; of several parts `name-00001-of-00003.gguf` for a path of `name.gguf`.
        metadata: by full key; the first part has it all. `general.alignment` and `split.*` are added where needed.
        tensors: in the order of the file; parts get equal shares of them.
        data: the bytes of a tensor, as many as its type and shape say; None: a hole, which takes no room on the disk.
        version: of the format; 2 and 3 lie alike.
        alignment: of each tensor's data.
        parts: how many files.
    """
    path = Path(path)
    keys = dict(metadata)
    if alignment != 32:
        keys.setdefault("general.alignment", alignment)
    if parts == 1:
        _write(path, _head(version, keys, tensors), tensors, data, alignment)
        return [path]
    paths = [part_path(path, number, parts) for number in range(parts)]
    for number, part in enumerate(paths):
        split = {
            "split.no": Typed("u16", number),
            "split.count": Typed("u16", parts),
            "split.tensors.count": Typed("i32", len(tensors)),
        }
        first, last = (len(tensors) * edge // parts for edge in (number, number + 1))
        own = keys if number == 0 else {key: keys[key] for key in ("general.alignment",) if key in keys}
        own_tensors = tensors[first:last]
        _write(part, _head(version, {**own, **split}, own_tensors), own_tensors, data, alignment)
    return paths


def part_path(path: Path, number: int, parts: int) -> Path:
    """Return the path of a part, from 0, as llama.cpp names it."""
    return path.with_name(f"{path.stem}-{number + 1:05d}-of-{parts:05d}{path.suffix}")


def _write(path: Path, head: bytes, tensors: Sequence[Tensor], data: Data | None, alignment: int) -> None:
    sizes = [-(-tensor_bytes(tensor) // alignment) * alignment for tensor in tensors]
    offsets = list(accumulate(sizes, initial=0))
    head += b"".join(
        _string(tensor.name)
        + pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        + pack("<IQ", tensor.type_id, offset)
        for tensor, offset in zip(tensors, offsets, strict=False)
    )
    head += bytes(-len(head) % alignment)
    with path.open("wb") as file:
        file.write(head)
        for tensor, size in zip(tensors, sizes, strict=True):
            if data is not None:
                raw = data(tensor)
                assert len(raw) == tensor_bytes(tensor), f"{tensor.name} has {len(raw)} bytes"
                file.write(raw.ljust(size, b"\0"))
        file.truncate(len(head) + offsets[-1])


def _head(version: int, metadata: Metadata, tensors: Sequence[Tensor]) -> bytes:
    entries = (_string(key) + _value(value) for key, value in metadata.items())
    return b"GGUF" + pack("<IQQ", version, len(tensors), len(metadata)) + b"".join(entries)


def _value(value: Item | Sequence[Item] | Typed) -> bytes:
    kind, plain = value if isinstance(value, Typed) else (_kind(value), value)
    number, form = _TYPES[kind]
    if isinstance(plain, Sequence) and not isinstance(plain, str):
        return pack("<IIQ", _ARRAY, number, len(plain)) + b"".join(_item(form, item) for item in plain)
    return pack("<I", number) + _item(form, plain)


def _item(form: str, item: Item) -> bytes:
    return pack(f"<{form}", item) if form else _string(str(item))


def _string(text: str) -> bytes:
    raw = text.encode()
    return pack("<Q", len(raw)) + raw


def _kind(value: Item | Sequence[Item]) -> str:
    items = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    for name, plain in (("bool", bool), ("string", str)):
        if all(isinstance(item, plain) for item in items):
            return name
    numbers = [item for item in items if isinstance(item, int)]
    return _whole(numbers) if len(numbers) == len(items) else "f32"


def _whole(numbers: Sequence[int]) -> str:
    ranges = {"u32": (0, 2**32), "i32": (-(2**31), 2**31), "u64": (0, 2**64), "i64": (-(2**63), 2**63)}
    return next(kind for kind, (low, end) in ranges.items() if low <= min(numbers) and max(numbers) < end)


# -- the tiny chat model ----------------------------------------------------------------------------------------------

_WORDS: Final = ("he", "the", "\u2581the", "no")  # each is one that came before it and one character more, so it is met
# ChatML, and tools as Hermes and Qwen have them, which runtimes know: they read a call back, and can ask for one.
_TEMPLATE: Final = (
    "{% if tools %}{{ '<|im_start|>system\\n<tools>' }}"
    "{% for tool in tools %}{{ '\\n' + (tool | tojson) }}{% endfor %}"
    "{{ '\\n</tools><|im_end|>\\n' }}{% endif %}"
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + (message['content'] or '') }}"
    "{% for call in message['tool_calls'] or [] %}"
    "{{ '<tool_call>\\n' + ({'name': call['function']['name'], 'arguments': call['function']['arguments']} | tojson) }}"
    "{{ '\\n</tool_call>' }}"
    "{% endfor %}"
    "{{ '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
_SHAPES: Final = {
    "token_embd": (32, 360),
    "output_norm": (32,),
    "blk.0.attn_norm": (32,),
    "blk.0.attn_q": (32, 32),
    "blk.0.attn_k": (32, 16),
    "blk.0.attn_v": (32, 16),
    "blk.0.attn_output": (32, 32),
    "blk.0.ffn_norm": (32,),
    "blk.0.ffn_gate": (32, 64),
    "blk.0.ffn_up": (32, 64),
    "blk.0.ffn_down": (64, 32),
}


def offline_chat_model(path: str | PathLike[str], *, more_tokens: Sequence[str] = ()) -> Path:
    """Write a chat model of 93 kB that real runtimes load and chat with, and return its path.

    Architecture llama, one layer, 360 tokens, trained for 2,048; the same bytes each time. Each ASCII character, each
    other byte and four words are tokens. Text begins with `<s>`; chats are ChatML and end in `<|im_end|>`. Its weights
    are random: it answers anything, so it tests everything but quality. `more_tokens` adds a token for each text: with
    "<tool_call>", a test can make the model call a tool.
    """
    draw = Random(7)  # noqa: S311  # the weights must be the same each time

    def weights(tensor: Tensor) -> bytes:
        count = prod(tensor.shape)
        if "norm" in tensor.name:
            return pack(f"<{count}f", *[1.0] * count)
        return pack(f"<{count}f", *(draw.gauss(0, tensor.shape[0] ** -0.5) for _ in range(count)))

    embedding = (_SHAPES["token_embd"][0], _SHAPES["token_embd"][1] + len(more_tokens))
    shapes = {**_SHAPES, "token_embd": embedding}
    tensors = [Tensor(f"{name}.weight", shape, type_id("f32")) for name, shape in shapes.items()]
    return write_gguf(path, _offline_metadata(more_tokens), tensors, data=weights)[0]


def _offline_metadata(more_tokens: Sequence[str]) -> Metadata:
    vocabulary = [*_vocabulary(), *((text, 4) for text in more_tokens)]
    scores = [-float(max(0, number - 258)) for number in range(len(vocabulary))]
    return {
        "general.architecture": "llama",
        "general.name": "offline chat",
        "llama.block_count": 1,
        "llama.context_length": 2048,
        "llama.embedding_length": 32,
        "llama.feed_forward_length": 64,
        "llama.attention.head_count": 2,
        "llama.attention.head_count_kv": 1,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": 16,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [text for text, _ in vocabulary],
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": Typed("i32", [kind for _, kind in vocabulary]),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.eot_token_id": 359,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": _TEMPLATE,
    }


def _vocabulary() -> Iterator[tuple[str, int]]:
    """Yield texts and types of tokens, with llama.cpp's numbers: 1 normal, 2 unknown, 3 control, 4 added, 6 byte."""
    yield from (("<unk>", 2), ("<s>", 3), ("</s>", 3))
    yield from ((f"<0x{byte:02X}>", 6) for byte in range(256))
    yield from ((text, 1) for text in ("\u2581", *map(chr, range(33, 127)), *_WORDS))
    yield from (("<|im_start|>", 3), ("<|im_end|>", 3))
