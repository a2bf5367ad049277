"""Model files to test with: what they hold byte by byte, and that real runtimes chat with the tiny model."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from squidbot.core.sizing.header import Tensor
from squidbot.testing import offline_chat_model, write_gguf
from squidbot.testing.ggufs import Typed

if TYPE_CHECKING:
    from pathlib import Path

SHA256 = "e8473decbdfe3307987ede730cbc8aec9e3d2a597494f4a2d43e9c6c31f4e0ff"
WRITE = "import sys; from squidbot.testing import offline_chat_model; offline_chat_model(sys.argv[1])"


def test_write_gguf_lays_out_header_table_and_data(tmp_path: Path) -> None:
    """Byte by byte: magic, version, counts; a key, its type, its value; a tensor's name, shape, type, offset; data."""
    (path,) = write_gguf(tmp_path / "m.gguf", {"a": 7}, [Tensor("t", (2, 1), 0)], data=lambda _: b"\x01" * 8)
    head = b"GGUF" + bytes([3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    entry = bytes([1, 0, 0, 0, 0, 0, 0, 0]) + b"a" + bytes([4, 0, 0, 0, 7, 0, 0, 0])
    table = bytes([1, 0, 0, 0, 0, 0, 0, 0]) + b"t" + bytes([2, 0, 0, 0, 2]) + bytes(7) + bytes([1]) + bytes(7)
    table += bytes(4 + 8)
    start = len(head + entry + table)
    padded = head + entry + table + bytes(-start % 32)
    assert path.read_bytes() == padded + b"\x01" * 8 + bytes(24)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, b"\7\0\0\0\1"),
        (-1, b"\5\0\0\0\xff\xff\xff\xff"),
        (2**32, b"\x0a\0\0\0\0\0\0\0\1\0\0\0"),
        (1.0, b"\6\0\0\0\0\0\x80\x3f"),
        ("é", b"\x08\0\0\0\2\0\0\0\0\0\0\0\xc3\xa9"),
        ([1, -2], b"\x09\0\0\0\5\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\xfe\xff\xff\xff"),
        ([True], b"\x09\0\0\0\7\0\0\0\1\0\0\0\0\0\0\0\1"),
        (Typed("f64", 1.0), b"\x0c\0\0\0\0\0\0\0\0\0\xf0\x3f"),
        (Typed("u16", (1, 2)), b"\x09\0\0\0\2\0\0\0\2\0\0\0\0\0\0\0\1\0\2\0"),
    ],
)
def test_write_gguf_gives_values_the_type_that_holds_them(tmp_path: Path, value: object, expected: bytes) -> None:
    """Types are chosen by value unless they are said."""
    (path,) = write_gguf(tmp_path / "m.gguf", {"k": value}, [])  # type: ignore[dict-item]  # each is one that it takes
    raw = path.read_bytes()
    assert raw[33 : 33 + len(expected)] == expected
    assert not raw[33 + len(expected) :].strip(b"\0")


def test_write_gguf_leaves_a_hole_where_tensors_have_no_data(tmp_path: Path) -> None:
    """A tensor of 256 GiB takes no room on the disk."""
    (path,) = write_gguf(tmp_path / "m.gguf", {}, [Tensor("t", (2**18, 2**18), 0)])
    assert path.stat().st_size > 2**38
    assert path.stat().st_blocks * 512 < 2**20


def test_write_gguf_splits_into_parts_as_llama_cpp_names_them(tmp_path: Path) -> None:
    """Each part has its own tensors and says which of how many it is; the first has the metadata."""
    tensors = [Tensor(f"t{number}", (8,), 0) for number in range(5)]
    paths = write_gguf(tmp_path / "m.gguf", {"general.architecture": "x"}, tensors, parts=3, alignment=64)
    assert [path.name for path in paths] == [f"m-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    texts = [path.read_bytes() for path in paths]
    assert [text.count(b"general.architecture") for text in texts] == [1, 0, 0]
    assert [text.count(b"general.alignment") for text in texts] == [1, 1, 1]
    assert [[number for number in range(5) if b"t%d" % number in text] for text in texts] == [[0], [1, 2], [3, 4]]


def test_offline_chat_model_has_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    """So that a test can name what a model answered; 93 kB."""
    path = offline_chat_model(tmp_path / "here.gguf")
    subprocess.run([sys.executable, "-c", WRITE, str(tmp_path / "there.gguf")], check=True, timeout=60)
    assert sha256(path.read_bytes()).hexdigest() == SHA256
    assert (tmp_path / "there.gguf").read_bytes() == path.read_bytes()


def test_offline_chat_model_chats_in_xllamacpp(tmp_path: Path) -> None:
    """The real runtime loads it, renders ChatML, counts its tokens and answers within the limit that it is given."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="the real runtime: the extra xllamacpp")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(offline_chat_model(tmp_path / "model.gguf"))
    settings.n_ctx, settings.n_parallel, settings.port = 512, 1, 0
    settings.fit_params = settings.warmup = False
    settings.verbosity = -1
    asked = {"messages": [{"role": "user", "content": "no the he"}], "max_tokens": 4, "temperature": 0}
    answer = xllamacpp.Server(settings).handle_chat_completions(asked)
    # <s> <|im_start|> u s e r \n; no, " the", a space, he; <|im_end|> \n <|im_start|>; a s s i s t a n t \n.
    assert answer["usage"]["prompt_tokens"] == 7 + 4 + 3 + 10
    assert 1 <= answer["usage"]["completion_tokens"] <= 4
    assert answer["choices"][0]["message"]["role"] == "assistant"
