"""Damaged and hostile headers: each gives a Header or a ModelFileError that names the file, in little time and memory.

SQUIDBOT_FULL_EFFORT=1 tries 100,000 of them, in minutes; else a sample. The numbers are drawn from a seed, so a
case that fails is told by its number, and is the same each time.
"""

from __future__ import annotations

import os
import struct
import tracemalloc
from random import Random
from time import process_time
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.gguf import read_header
from squidbot.core.errors import ModelFileError
from squidbot.core.sizing.header import Header, Tensor, type_id
from squidbot.testing import offline_chat_model, write_gguf
from squidbot.testing.ggufs import Typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from squidbot.testing.ggufs import Metadata

FULL = bool(os.environ.get("SQUIDBOT_FULL_EFFORT"))
CASES = 100_000 if FULL else 600
MOST_SECONDS = 3.0  # of one case, of this process; usually under a thousandth
MOST_BYTES = 40 * 2**20  # at once, of one case; every fifth is watched, which makes it twenty times as slow
ODD_NUMBERS = (
    *(0, 1, 2, 3, 4, 7, 8, 9, 12, 13, 255, 4096, 4097, 2**16, 2**20, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40),
    *(2**60, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1),
)

WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


# -- what they are made from ------------------------------------------------------------------------------------------


def seeds(folder: Path) -> list[list[Path]]:
    """Write models as real ones are shaped, and return the parts of each."""
    blocks = [
        Tensor(f"blk.{number}.{name}.weight", shape, type_id(kind))
        for number in range(4)
        for name, shape, kind in (
            ("attn_q", (256, 256), "q4_K"),
            ("ffn_down_exps", (512, 256, 4), "mxfp4"),
            ("attn_norm", (256,), "f32"),
        )
    ]
    said: Metadata = {
        "general.architecture": "gemma3",
        "gemma3.block_count": 4,
        "gemma3.attention.head_count_kv": [4, 4, 0, 4],
        "gemma3.attention.sliding_window_pattern": [True, False, True, True],
        "gemma3.rope.freq_base": 1e6,
        "general.size": Typed("u64", 2**40),
        "general.shift": Typed("f64", -1.5),
        "general.tags": ["text", "é", ""],
        "tokenizer.chat_template": "{{ x }}" * 50,
    }
    long: Metadata = {
        "tokenizer.ggml.tokens": [f"t{number}" for number in range(4100)],
        "tokenizer.ggml.scores": [1.0] * 4100,
        "general.alignment": 64,
    }
    return [
        [offline_chat_model(folder / "offline.gguf")],
        write_gguf(folder / "v3.gguf", said, blocks),
        write_gguf(folder / "v2.gguf", said, blocks[:2], version=2),
        write_gguf(folder / "long.gguf", {**said, **long}, blocks[:3], alignment=64),
        write_gguf(folder / "split.gguf", said, blocks, parts=3),
        write_gguf(folder / "empty.gguf", {}, []),
    ]


def fields(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each count, length, type, shape and offset of a whole header stands, and its bytes."""

    def number(at: int, size: int) -> int:
        return int.from_bytes(raw[at : at + size], "little")

    def text(at: int) -> int:
        return at + 8 + number(at, 8)

    yield from ((4, 4), (8, 8), (16, 8))
    at = 24
    for _ in range(number(16, 8)):
        yield at, 8
        at = text(at)
        yield at, 4
        kind, at = number(at, 4), at + 4
        count = 1
        if kind == 9:
            yield from ((at, 4), (at + 4, 8))
            kind, count, at = number(at, 4), number(at + 4, 8), at + 12
        for index in range(count if kind == 8 else 0):
            if index < 3:
                yield at, 8
            at = text(at)
        if kind != 8:
            yield at, WIDTHS[kind]
            at += WIDTHS[kind] * count
    for _ in range(number(8, 8)):
        yield at, 8
        at = text(at)
        yield at, 4
        dimensions = number(at, 4)
        yield from ((at + 4 + 8 * dimension, 8) for dimension in range(dimensions))
        at += 4 + 8 * dimensions
        yield from ((at, 4), (at + 4, 8))
        at += 12


# -- how they are damaged ---------------------------------------------------------------------------------------------


class Damage:
    """One header's damage, drawn from a seed."""

    def __init__(self, draw: Random, places: list[tuple[int, int]]) -> None:
        """Damage by what is drawn; the header's fields are at these places."""
        self.draw = draw
        self.places = places
        self.end = places[-1][0] + 32

    def within(self, raw: bytearray) -> int:
        """Return a place in the header."""
        return self.draw.randrange(min(self.end, len(raw)) or 1)

    def bits(self, raw: bytearray) -> None:
        """Flip some bits."""
        for _ in range(self.draw.randint(1, 8)):
            at = self.within(raw)
            raw[at : at + 1] = bytes(byte ^ 1 << self.draw.randrange(8) for byte in raw[at : at + 1])

    def run(self, raw: bytearray) -> None:
        """Write over a run of bytes."""
        at, length = self.within(raw), self.draw.choice((1, 4, 8, 30))
        filled = self.draw.choice((b"\0" * length, b"\xff" * length, self.draw.randbytes(length)))
        raw[at : at + length] = filled

    def cut(self, raw: bytearray) -> None:
        """Cut it off."""
        del raw[self.within(raw) :]

    def shifted(self, raw: bytearray) -> None:
        """Put bytes in, or take some out."""
        at = self.within(raw)
        raw[at : at + self.draw.choice((0, 0, 1, 8))] = self.draw.randbytes(self.draw.choice((0, 1, 4, 8)))

    def moved(self, raw: bytearray) -> None:
        """Copy one piece of the header over another."""
        source, target, length = self.within(raw), self.within(raw), self.draw.choice((4, 8, 24, 64))
        raw[target : target + length] = raw[source : source + length]

    def field(self, raw: bytearray) -> None:
        """Give a count, a length, a type, a dimension or an offset another value."""
        at, size = self.draw.choice(self.places)
        old = int.from_bytes(raw[at : at + size], "little")
        near = (old - 1, old + 1, old * 2, old + 32, len(raw), len(raw) - at, len(raw) // 8)
        new = self.draw.choice((self.draw.choice(ODD_NUMBERS), self.draw.choice(near), self.draw.getrandbits(8 * size)))
        raw[at : at + size] = (new % 2 ** (8 * size)).to_bytes(size, "little")

    def types(self, raw: bytearray) -> None:
        """Swap two fields of the same width: a type for another type, a length for an offset."""
        at, size = self.draw.choice(self.places)
        other, _ = self.draw.choice([place for place in self.places if place[1] == size])
        raw[at : at + size], raw[other : other + size] = raw[other : other + size], raw[at : at + size]

    def done(self, raw: bytearray) -> None:
        """Do one to three of these."""
        kinds: tuple[Callable[[bytearray], None], ...]
        kinds = (self.bits, self.run, self.cut, self.shifted, self.moved, self.field, self.field, self.types)
        for _ in range(self.draw.choice((1, 1, 2, 3))):
            self.draw.choice(kinds)(raw)


class Case:
    """Files to damage, time and again."""

    def __init__(self, folder: Path) -> None:
        """Keep the models in memory, and where their fields are."""
        self.folder = folder
        (folder / "seeds").mkdir()
        models = seeds(folder / "seeds")
        self.models = [[(path.name, path.read_bytes()) for path in model] for model in models]
        self.places = {name: list(fields(raw)) for model in self.models for name, raw in model}

    def write(self, number: int) -> list[Path]:
        """Write the case of that number, and return its files; the first one is damaged, or one of its parts."""
        draw = Random(number)  # noqa: S311  # the same damage each time is what is wanted
        model = draw.choice(self.models)
        damaged = draw.randrange(len(model))
        paths = []
        for index, (name, whole) in enumerate(model):
            path = self.folder / f"{number}{name}"
            raw = bytearray(whole)
            if index == damaged:
                Damage(draw, self.places[name]).done(raw)
            path.write_bytes(raw)
            if index == damaged and draw.random() < 0.1:  # one in ten is as large as models are
                os.truncate(path, 2 ** draw.randrange(20, 41))
            paths.append(path)
        return paths


def test_fields_finds_what_a_header_is_made_of(tmp_path: Path) -> None:
    """So that the damage is done where it hurts: counts, a key, its type and value, a tensor's row."""
    (path,) = write_gguf(tmp_path / "m.gguf", {"a": 7, "b": ["x"]}, [Tensor("t", (8, 2), 0)])
    raw = path.read_bytes()
    found = [int.from_bytes(raw[at : at + size], "little") for at, size in fields(raw)]
    head = struct.unpack("<IQQ", raw[4:24])
    assert found == [*head, 1, 4, 7, 1, 9, 8, 1, 1, 1, 2, 8, 2, 0, 0]


def test_damaged_headers_give_typed_errors_in_bounded_time_and_memory(tmp_path: Path) -> None:
    """Bits, runs, cuts, fields, types: never another exception, never minutes, never gigabytes; some stay whole."""
    case = Case(tmp_path)
    outcomes = {"header": 0, "refused": 0}
    slowest = largest = 0.0
    for number in range(CASES):
        paths = case.write(number)
        if number % 5 == 0:
            result, size = watched(paths[-1])
            largest = max(largest, size)
            assert size < MOST_BYTES, f"case {number}: {size} bytes"
        else:
            begin = process_time()
            result = outcome(paths[-1])
            slowest = max(slowest, process_time() - begin)
            assert slowest < MOST_SECONDS, f"case {number}: {slowest} s"
        outcomes[result] += 1
        for path in paths:
            path.unlink()
    print(f"{outcomes}, slowest {slowest * 1e3:.1f} ms, most {largest / 2**20:.1f} MiB")  # noqa: T201  # with -s
    assert min(outcomes.values()) > CASES // 20, outcomes


def watched(path: Path) -> tuple[str, int]:
    """Read a header, and return how it went and the most memory that it took at once."""
    tracemalloc.start()
    try:
        return outcome(path), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def outcome(path: Path) -> str:
    """Read a header as the sizing does, and return how it went."""
    try:
        header = read_header(path)
    except ModelFileError as error:
        # It names the file, or the part of it that is at fault.
        assert str(path.parent) in str(error)  # noqa: PT017  # what is said matters as much as that it is
        return "refused"
    assert isinstance(header, Header)
    try:
        header.numbers("attention.head_count_kv", header.number("block_count", 1) % 100)
    except ModelFileError as error:
        assert str(error)  # noqa: PT017  # the same
    return "header"


@pytest.mark.parametrize("number", range(6))
def test_whole_headers_are_read(tmp_path: Path, number: int) -> None:
    """What is damaged above is whole before, so that it is the damage that is refused."""
    assert read_header(seeds(tmp_path)[number][-1]).file_bytes > 0
