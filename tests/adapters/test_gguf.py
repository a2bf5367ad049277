"""The header of a model file: what is read, what is refused and in which words, and how little it costs."""

from __future__ import annotations

import os
import struct
import tracemalloc
from time import process_time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from squidbot.adapters import gguf
from squidbot.adapters.gguf import HeaderCursor, read_header
from squidbot.core.errors import ModelFileError
from squidbot.core.sizing.header import TENSOR_TYPES, Header, LongArray, Tensor, type_id
from squidbot.testing import offline_chat_model, write_gguf
from squidbot.testing.ggufs import Typed

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.testing.ggufs import Item, Metadata

LLAMA: Metadata = {"general.architecture": "llama", "llama.block_count": 1}
F32 = type_id("f32")


# -- what is read -----------------------------------------------------------------------------------------------------


def test_read_header_returns_what_the_offline_model_says(tmp_path: Path) -> None:
    """Keys with their values, tensors in order, the size of the file."""
    path = offline_chat_model(tmp_path / "m.gguf")
    header = read_header(path)
    assert header.architecture == "llama"
    assert header.number("attention.head_count_kv") == 1
    assert header.metadata["llama.attention.layer_norm_rms_epsilon"] == struct.unpack("f", struct.pack("f", 1e-5))[0]
    assert header.metadata["tokenizer.ggml.add_bos_token"] is True
    assert header.tensors[0] == Tensor("token_embd.weight", (32, 360), F32)
    assert len(header.tensors) == 11
    assert (header.file_bytes, header.parts) == (path.stat().st_size, 1)


ranges = {"u8": (0, 2**8), "i16": (-(2**15), 2**15), "u32": (0, 2**32), "i32": (-(2**31), 2**31)}
ranges |= {"i8": (-(2**7), 2**7), "u16": (0, 2**16), "u64": (0, 2**64), "i64": (-(2**63), 2**63)}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
items: dict[str, st.SearchStrategy[Item]] = {kind: st.integers(low, end - 1) for kind, (low, end) in ranges.items()}
items |= {"f32": st.floats(width=32, allow_nan=False), "f64": st.floats(allow_nan=False), "bool": st.booleans()}
items |= {"string": texts}
values = st.sampled_from(sorted(items)).flatmap(
    lambda kind: st.builds(Typed, st.just(kind), items[kind] | st.lists(items[kind], max_size=5).map(tuple))
)
keys = texts.filter(lambda key: bool(key) and not key.startswith(("split.", "general.alignment")))
shapes = st.sampled_from(sorted(TENSOR_TYPES)).flatmap(
    lambda kind: st.tuples(
        st.lists(st.integers(1, 5), min_size=1, max_size=4).map(
            lambda sizes: (sizes[0] * TENSOR_TYPES[kind].block, *sizes[1:])
        ),
        st.just(kind),
    )
)
tables = st.dictionaries(texts.filter(bool), shapes, max_size=6).map(
    lambda found: tuple(Tensor(name, shape, kind) for name, (shape, kind) in found.items())
)


@given(
    st.dictionaries(keys, values, max_size=6),
    tables,
    st.tuples(st.sampled_from([2, 3]), st.sampled_from([1, 8, 32, 64, 4096]), st.integers(1, 3)),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_read_header_returns_what_was_written(
    tmp_path: Path, metadata: dict[str, Typed], tensors: tuple[Tensor, ...], form: tuple[int, int, int]
) -> None:
    """For any keys, values of all types, tensors of all types, versions, alignments and numbers of parts."""
    version, alignment, parts = form
    paths = write_gguf(tmp_path / "m.gguf", metadata, tensors, version=version, alignment=alignment, parts=parts)
    header = read_header(paths[-1])
    assert header.tensors == tensors
    assert {key: value for key, value in header.metadata.items() if key in metadata} == {
        key: typed.value for key, typed in metadata.items()
    }
    added = {"general.alignment"} | ({"split.no", "split.count", "split.tensors.count"} if parts > 1 else set())
    assert set(header.metadata) - set(metadata) <= added
    assert (header.parts, header.file_bytes) == (parts, sum(path.stat().st_size for path in paths))


def test_read_header_keeps_arrays_of_up_to_4096_items(tmp_path: Path) -> None:
    """Longer ones are checked and stand as what they are: per-layer arrays are short, vocabularies are long."""
    said: Metadata = {
        "a": [1] * 4096,
        "b": [1.5] * 4097,
        "c": ["é"] * 4096,
        "d": ["\u2581the"] * 100_000,
        "e": "x" * (2**20 + 1),
        "f": 7,
    }
    (path,) = write_gguf(tmp_path / "m.gguf", said, [Tensor("t", (8,), F32)])
    header = read_header(path)
    assert header.metadata == {
        **said,
        "a": (1,) * 4096,
        "b": LongArray(6, 4097),
        "c": ("é",) * 4096,
        "d": LongArray(8, 100_000),
        "e": LongArray(0, 2**20 + 1),
    }
    assert header.tensors == (Tensor("t", (8,), F32),)


def test_read_header_joins_parts_given_any_of_them(tmp_path: Path) -> None:
    """Tensors of all parts in order, the metadata of the first, the bytes of all."""
    tensors = [Tensor(f"t{number}", (256, 9), type_id("q4_K")) for number in range(7)]
    paths = write_gguf(tmp_path / "m.gguf", LLAMA, tensors, parts=3)
    headers = [read_header(path) for path in paths]
    assert headers[0] == headers[1] == headers[2]
    assert headers[2].architecture == "llama"
    assert headers[2].tensors == tuple(tensors)
    assert headers[2].file_bytes == sum(path.stat().st_size for path in paths)
    assert headers[2].parts == 3


def test_read_header_finds_the_parts_beside_a_link(tmp_path: Path) -> None:
    """Caches keep links in one folder to files in another, that are named by their hash."""
    paths = write_gguf(tmp_path / "m.gguf", LLAMA, [Tensor(f"t{number}", (8,), F32) for number in range(4)], parts=2)
    (tmp_path / "links").mkdir()
    for number, path in enumerate(paths):
        path.rename(tmp_path / f"hash{number}")
        (tmp_path / "links" / path.name).symlink_to(tmp_path / f"hash{number}")
    assert read_header(tmp_path / "links" / paths[1].name).parts == 2


# -- what is refused --------------------------------------------------------------------------------------------------


def refused(path: Path) -> str:
    """Return the words in which a file is refused, which name it."""
    with pytest.raises(ModelFileError) as caught:
        read_header(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("beginning", "said"),
    [
        (b"", "it is empty; download it again"),
        (b"GG", "an incomplete download"),
        (b"PK\x03\x04" + bytes(60), "a ZIP archive, as PyTorch checkpoints are; convert it"),
        (b"\x80\x02}q\x00", "a Python pickle"),
        (struct.pack("<Q", 40) + b'{"__metadata__":{}}', "a safetensors file; convert it"),
        (b"\n<!DOCTYPE html><html>", "a web page, which a refused download leaves behind"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer.*git lfs pull"),
        (b'{"error":"Access to model is restricted"}', "JSON, perhaps a server's error"),
        (b"tjgg" + bytes(40), "a GGML file from before GGUF"),
        (b"\x1f\x8b\x08", "compressed with gzip; unpack it"),
        (bytes(1000), "begins with zeros, as a download that was never filled"),
        (b"\x7fELF\x02\x01\x01\x00", r"begins with b'\\x7fELF\\x02\\x01\\x01\\x00'; give a file that ends in .gguf"),
    ],
)
def test_read_header_says_what_a_file_looks_like_that_is_none(tmp_path: Path, beginning: bytes, said: str) -> None:
    """The usual mistakes are called by their names, and say what to do."""
    path = tmp_path / "m.gguf"
    path.write_bytes(beginning)
    with pytest.raises(ModelFileError, match=f"byte 0: not a GGUF file; .*{said}"):
        read_header(path)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (1, "byte 4: the file has GGUF version 1, versions 2 and 3 are read; get it newly converted"),
        (4, "byte 4: the file has GGUF version 4"),
        (3 << 24, "byte 4: the file is big-endian; get it as little-endian"),
        (0, "byte 4: "),
    ],
)
def test_read_header_refuses_other_versions(tmp_path: Path, version: int, said: str) -> None:
    """Version 1 had other lengths; what is newer is unknown; the other byte order is named."""
    (path,) = write_gguf(tmp_path / "m.gguf", LLAMA, [], version=version)
    assert said in refused(path)


def test_read_header_refuses_a_download_that_is_not_whole(tmp_path: Path) -> None:
    """The last tensor's data end beyond the file's end: how far it is, and how far it should be."""
    (path,) = write_gguf(tmp_path / "m.gguf", LLAMA, [Tensor("t", (1001,), F32)])
    whole = path.stat().st_size
    os.truncate(path, 1000)
    assert "byte 1000: the file ends here, but its last tensor at byte 4164; it is an incomplete" in refused(path)
    os.truncate(path, whole - 28)  # what is only padding may be missing
    assert read_header(path).tensors == (Tensor("t", (1001,), F32),)


@pytest.mark.parametrize("value", [[1] * 5000, ["t"] * 5000, "t" * (2**20 + 1), ["t"] * 9, [1] * 9, "t", 7])
def test_read_header_refuses_a_last_value_that_lacks_a_byte(tmp_path: Path, value: Item | list[Item]) -> None:
    """Kept or passed over, there is nothing behind it that would be missed."""
    (path,) = write_gguf(tmp_path / "m.gguf", {"a": value}, [], alignment=1)
    assert list(read_header(path).metadata) == ["a", "general.alignment"]
    head = path.read_bytes()
    head = head[:16] + struct.pack("<Q", 1) + head[24 : head.index(b"general.alignment") - 8]
    path.write_bytes(head)
    assert list(read_header(path).metadata) == ["a"]
    path.write_bytes(head[:-1])
    assert "the file ends at byte" in refused(path)


def test_read_header_refuses_a_file_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    """The size was asked before: what is not there any more is missed all the same."""
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(100))
    with path.open("rb", buffering=0) as file:
        cursor = HeaderCursor(file, str(path), 200)
        assert cursor.take(90, "zeros") == bytes(90)
        with pytest.raises(ModelFileError, match=r"byte 90: the file ends at byte 200, within zeros"):
            cursor.take(20, "zeros")


def test_read_header_refuses_every_shorter_file(tmp_path: Path) -> None:
    """Cut anywhere, in the header or in the data."""
    path = offline_chat_model(tmp_path / "m.gguf")
    whole = path.read_bytes()
    for length in [*range(0, 9000, 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert "download" in refused(path)


def entry(key: bytes, raw: bytes) -> bytes:
    """Return the bytes of a key and of its type and value."""
    return struct.pack("<Q", len(key)) + key + raw


def written(path: Path, *entries: bytes, tensors: tuple[bytes, ...] = ()) -> Path:
    """Write a file from raw entries, with room behind."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries))
    path.write_bytes(head + b"".join(entries) + b"".join(tensors) + bytes(4096))
    return path


def table_row(name: bytes, *shape: int, kind: int = F32, offset: int = 0) -> bytes:
    """Return the bytes of one row of the table of tensors."""
    return entry(name, struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset))


U32, HUGE = struct.pack("<II", 4, 7), 2**63
BAD_ENTRIES = {
    "byte 41: duplicate key 'a'": [entry(b"a", U32), entry(b"a", U32)],
    "byte 24: a key has 0 bytes": [entry(b"", U32)],
    "byte 24: a key has 70000 bytes": [entry(b"k" * 70_000, U32)],
    "byte 24: a key is not UTF-8": [entry(b"\xff", U32)],
    "byte 24: the file ends at byte 4132, within a key of 9223372036854775808 bytes": [
        struct.pack("<Q", HUGE) + b"abcd"
    ],
    "byte 33: the value of 'a' has the unknown type 13": [entry(b"a", struct.pack("<I", 13))],
    "byte 37: the value of 'a' has items of the unknown type 9": [entry(b"a", struct.pack("<IIQ", 9, 9, 1))],
    "within the value of 'a' of 100000 items": [entry(b"a", struct.pack("<IIQ", 9, 8, 100_000))],
    "within the value of 'a' of 73786976294838206464 bytes": [entry(b"a", struct.pack("<IIQ", 9, 12, HUGE))],
    "within the value of 'a' of 9223372036854775807 bytes": [entry(b"a", struct.pack("<IQ", 8, HUGE - 1))],
    "general.alignment is 24, no power of two": [entry(b"general.alignment", struct.pack("<II", 4, 24))],
    "general.alignment is 0, no power of two": [entry(b"general.alignment", struct.pack("<II", 4, 0))],
    "general.alignment is True, no power of two": [entry(b"general.alignment", struct.pack("<IB", 7, 1))],
}


@pytest.mark.parametrize("said", BAD_ENTRIES)
def test_read_header_refuses_bad_metadata(tmp_path: Path, said: str) -> None:
    """Each fault is named with its byte."""
    assert said in refused(written(tmp_path / "m.gguf", *BAD_ENTRIES[said]))


BAD_TABLES = {
    "duplicate tensor 't'": [table_row(b"t", 8), table_row(b"t", 8, offset=32)],
    "byte 24: the name of a tensor has 300 bytes": [table_row(b"t" * 300, 8)],
    "the tensor 't' has 5 dimensions": [table_row(b"t", 1, 1, 1, 1, 1)],
    "the tensor 't' has 0 dimensions": [table_row(b"t")],
    "the tensor 't' has the shape (8, 0)": [table_row(b"t", 8, 0)],
    "the tensor 't' has the shape (4294967296, 4294967296)": [table_row(b"t", 2**32, 2**32)],
    "tensor 't': unknown tensor type 4": [table_row(b"t", 8, kind=4)],
    "tensor 't': a row of 8 elements is not a whole number": [table_row(b"t", 8, kind=12)],
    "the data of 't' begins at 32, expected 0": [table_row(b"t", 8, offset=32)],
    "the data of 'u' begins at 0, expected 32": [table_row(b"t", 8), table_row(b"u", 8)],
}


@pytest.mark.parametrize("said", BAD_TABLES)
def test_read_header_refuses_bad_tensors(tmp_path: Path, said: str) -> None:
    """Each fault is named with its byte."""
    assert said in refused(written(tmp_path / "m.gguf", tensors=tuple(BAD_TABLES[said])))


@pytest.mark.parametrize(("place", "said"), [(8, "byte 8: 65537 tensors"), (16, "byte 16: 65537 keys")])
def test_read_header_refuses_counts_beyond_any_model(tmp_path: Path, place: int, said: str) -> None:
    """Before anything is read for them."""
    path = written(tmp_path / "m.gguf")
    raw = bytearray(path.read_bytes())
    raw[place : place + 8] = struct.pack("<Q", 65537)
    path.write_bytes(raw)
    assert said in refused(path)


def test_read_header_refuses_parts_that_do_not_belong_together(tmp_path: Path) -> None:
    """A part that is missing, is another one's, has another name, or brings a tensor twice is named."""
    tensors = [Tensor(f"t{number}", (8,), F32) for number in range(6)]
    first, second, third = write_gguf(tmp_path / "m.gguf", LLAMA, tensors, parts=3)
    whole = second.read_bytes()
    second.unlink()
    with pytest.raises(ModelFileError, match=r"part 2 of 3: .*m-00002-of-00003.gguf is not there; download all parts"):
        read_header(third)
    second.write_bytes(third.read_bytes())
    with pytest.raises(ModelFileError, match=r"m-00002-of-00003.gguf: by its name part 2 of 3, but .* are \(2, 3\)"):
        read_header(first)
    second.write_bytes(whole.replace(b"t2", b"t1"))
    with pytest.raises(ModelFileError, match="a tensor is in two parts"):
        read_header(first)
    smaller = write_gguf(tmp_path / "s.gguf", LLAMA, [Tensor(f"u{number}", (8,), F32) for number in range(3)], parts=3)
    second.write_bytes(smaller[1].read_bytes())
    with pytest.raises(ModelFileError, match="the parts have 5 tensors together, 6 were due"):
        read_header(first)
    second.write_bytes(whole)
    assert read_header(first).parts == 3
    third.rename(tmp_path / "third.gguf")
    with pytest.raises(ModelFileError, match=r"third.gguf: one of 3 parts, not named as such"):
        read_header(tmp_path / "third.gguf")


def test_read_header_refuses_what_is_no_file(tmp_path: Path) -> None:
    """Nothing there, a folder, a pipe (which would block), a name that no file has: said, never another exception."""
    assert "is not there; check the path" in refused(tmp_path / "none.gguf")
    assert "a folder or a device; name the .gguf file itself" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe.gguf")
    assert "a folder or a device" in refused(tmp_path / "pipe.gguf")
    with pytest.raises(ModelFileError, match="can't be read"):
        read_header("a\0b.gguf")
    with pytest.raises(ModelFileError, match="can't be read"):
        read_header("x" * 5000)


def test_read_header_refuses_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system says is passed on, with what to do; root is refused nothing, so the refusal is played."""
    path = offline_chat_model(tmp_path / "m.gguf")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse)
    assert "can't be read: [Errno 13] Permission denied; check the path and who may read it" in refused(path)


# -- what it costs ----------------------------------------------------------------------------------------------------


def test_read_header_reads_again_only_what_has_changed(tmp_path: Path) -> None:
    """The same value while all parts are as they were; a changed part is read, and a damaged one is not remembered."""
    tensors = [Tensor(f"t{number}", (8,), F32) for number in range(4)]
    first, second = write_gguf(tmp_path / "m.gguf", LLAMA, tensors, parts=2)
    header = read_header(first)
    assert read_header(first) is header
    os.utime(second, ns=(1, 1))
    assert read_header(first) is not header
    assert read_header(first) == header
    second.write_bytes(b"")
    assert "it is empty" in refused_part(first)
    write_gguf(tmp_path / "m.gguf", {**LLAMA, "llama.block_count": 2}, tensors, parts=2)
    assert read_header(first).number("block_count") == 2


def refused_part(path: Path) -> str:
    """Return the words in which a model is refused for another of its parts."""
    with pytest.raises(ModelFileError) as caught:
        read_header(path)
    return str(caught.value)


def test_read_header_of_400_gigabytes_takes_neither_time_nor_memory(tmp_path: Path) -> None:
    """DeepSeek-V3's size with a vocabulary of 129,280: far below a second, under 2 MiB beside what is kept."""
    tensors = [Tensor(f"blk.{number}.ffn_up_exps.weight", (7168, 2048, 256), type_id("q4_K")) for number in range(180)]
    said: Metadata = {**LLAMA, "tokenizer.ggml.tokens": ["token" * 2] * 129_280}
    (path,) = write_gguf(tmp_path / "m.gguf", said, tensors)
    assert path.stat().st_size > 379e9
    tracemalloc.start()
    read_header(path)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * 2**20, f"{peak} bytes, {kept} kept"
    os.utime(path, ns=(1, 1))
    begin = process_time()
    read_header(path)
    assert process_time() - begin < 1.0  # 15 ms where nothing else runs


@pytest.mark.parametrize("count", [2**22 + 1, 2**36])
def test_read_header_refuses_strings_beyond_any_vocabulary(tmp_path: Path, count: int) -> None:
    """A terabyte of empty strings is refused by their number, before one is looked at."""
    path = written(tmp_path / "m.gguf", entry(b"a", struct.pack("<IIQ", 9, 8, count)))
    os.truncate(path, 2**40)
    assert f"brings the header to {count} strings, at most 4194304 are read" in refused(path)


@pytest.mark.parametrize("most", [2**18, pytest.param(gguf.MOST_STRINGS, marks=pytest.mark.slow)])
def test_read_header_passes_over_as_many_strings_as_it_takes_in_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The most that a hostile file gets out of it: four million strings, then the next array is refused."""
    monkeypatch.setattr(gguf, "MOST_STRINGS", most)
    arrays = [
        entry(b"a", struct.pack("<IIQ", 9, 8, most) + bytes(8 * most)),
        entry(b"b", struct.pack("<IIQ", 9, 8, 5000)),
    ]
    path = written(tmp_path / "m.gguf", *arrays)
    os.truncate(path, 2**40)
    begin = process_time()
    assert f"'b' brings the header to {most + 5000} strings" in refused(path)
    assert process_time() - begin < 3.0 * most / 2**22  # a tenth of it where nothing else runs


def test_read_header_of_strings_without_end_is_bounded_in_memory(tmp_path: Path) -> None:
    """Half a terabyte in texts of a gigabyte: a chunk of each is looked at, and none is held."""
    path = written(tmp_path / "m.gguf", entry(b"a", struct.pack("<IIQ", 9, 8, 5000)))
    with path.open("r+b") as file:
        for number in range(500):
            file.seek(24 + 9 + 16 + number * (8 + 2**30))
            file.write(struct.pack("<Q", 2**30))
    os.truncate(path, 2**40)
    tracemalloc.start()
    assert "the header is over 67108864 bytes long" in refused(path)
    assert tracemalloc.get_traced_memory()[1] < 2 * 2**20
    tracemalloc.stop()


def test_read_header_keeps_no_more_than_a_header_needs(tmp_path: Path) -> None:
    """Many texts, each short enough to be kept, are refused together."""
    (path,) = write_gguf(tmp_path / "m.gguf", {f"k{number}": "x" * 2**19 for number in range(20)}, [])
    assert "the metadata hold over 8388608 bytes in short values" in refused(path)
    (path,) = write_gguf(tmp_path / "m.gguf", {f"k{number}": [False] * 4096 for number in range(40)}, [])
    assert "the metadata hold over 8388608 bytes in short values" in refused(path)


def test_headers_of_tests_are_headers(tmp_path: Path) -> None:
    """A file without a tensor or a key is a header all the same, of no architecture."""
    (path,) = write_gguf(tmp_path / "m.gguf", {}, [])
    assert read_header(path) == Header({}, (), path.stat().st_size)
    with pytest.raises(ModelFileError, match=r"general.architecture is missing"):
        _ = read_header(path).architecture
