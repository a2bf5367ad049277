"""Exact counts from a rank file that the test writes itself."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.tiktoken import CUT_TOKENS, PIECE_CHARS, TiktokenCounter
from squidbot.core.errors import ConfigError
from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from pathlib import Path

MERGES = (b"he", b"ll", b"hell", b"hello", b" w", b"or", b" wor", b"ld", b" world", b"aa", b"aaaa")


def rank_lines() -> list[bytes]:
    """Return the lines of a vocabulary of all bytes and a few merges."""
    tokens = [bytes([value]) for value in range(256)] + list(MERGES)
    return [base64.b64encode(token) + b" %d" % rank for rank, token in enumerate(tokens)]


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> TiktokenCounter:
    """A counter over the small vocabulary."""
    path = tmp_path_factory.mktemp("ranks") / "tiny_cl100k.tiktoken"
    path.write_bytes(b"\n".join(rank_lines()) + b"\n")
    return TiktokenCounter(path)


def test_count_is_exact_when_ranks_are_local(counter: TiktokenCounter) -> None:
    """Two merged words are two tokens; other letters are one each."""
    assert counter.count("hello world") == 2
    assert counter.count("xyz") == 3
    assert counter.count("") == 0


def test_counter_names_its_file_when_asked(counter: TiktokenCounter) -> None:
    """The name is what stored counts are labelled with."""
    assert (counter.name, counter.certificate) == ("tiktoken:tiny_cl100k", "exact")


@given(text=st.text(st.characters(codec=None, exclude_categories=()), max_size=100))
def test_bound_is_the_count_when_text_is_anything(counter: TiktokenCounter, text: str) -> None:
    """No str raises, lone surrogates included; count and bound agree and stay within the bytes."""
    count = counter.count(text)
    assert counter.upper_bound(text) == count
    assert counter.measure(text) == Cost(count, count)
    assert 0 <= count <= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("pieces", [64, pytest.param(1024, marks=pytest.mark.slow)])
@pytest.mark.parametrize("char", ["a", " ", "!", "\n", "\ud800"])
def test_long_run_is_cut_into_pieces_when_it_has_no_break(counter: TiktokenCounter, char: str, pieces: int) -> None:
    """A run of up to a megabyte is counted in pieces, quickly, and not below what the pieces cost."""
    whole = counter.count(char * PIECE_CHARS)
    size = len((char * PIECE_CHARS).encode("utf-8", "surrogatepass")) * pieces
    assert counter.count(char * PIECE_CHARS * pieces) == min(size, pieces * (whole + CUT_TOKENS))


def test_line_without_spaces_is_exact_when_its_words_are_short(counter: TiktokenCounter) -> None:
    """Compact JSON of any length has no piece to cut: its count stays exact."""
    cell = '{"hello":1},'
    assert counter.count(cell * 1000) == 1000 * counter.count(cell)


def test_text_around_a_long_run_is_counted_when_it_is_cut(counter: TiktokenCounter) -> None:
    """What stands before and after the run is not lost."""
    run = "x" * (PIECE_CHARS + 1)
    assert counter.count(f"hello {run} world") >= counter.count("hello ") + counter.count(run) + counter.count(" world")


def test_special_tokens_are_plain_text_when_somebody_writes_them(counter: TiktokenCounter) -> None:
    """A user's `<|endoftext|>` costs what its letters cost."""
    assert counter.count("<|endoftext|>") == len("<|endoftext|>")


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"aGVsbG8= 0\nno-rank\n", ":2"),
        (b"aGVsbG8= zero\n", ":1"),
        (b"\n\n*** 3\n", ":3"),
        (b"aGVsbG8= 0\n\n\xff\xfe 7\n", ":3"),
        (b"", ":1"),
        (b"   \n", ":1"),
    ],
)
def test_broken_file_is_named_with_its_line_when_read(tmp_path: Path, content: bytes, where: str) -> None:
    """The message says which line of which file is wrong."""
    path = tmp_path / "broken_o200k.tiktoken"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        TiktokenCounter(path)
    assert str(caught.value).endswith(f"@ {path}{where}")


def test_missing_byte_is_refused_when_ranks_are_incomplete(tmp_path: Path) -> None:
    """A vocabulary without some byte could not count every text; the file is refused at once."""
    path = tmp_path / "short_cl100k.tiktoken"
    path.write_bytes(b"\n".join(line for number, line in enumerate(rank_lines()) if number != 0xFE))
    with pytest.raises(ConfigError, match="no token for the byte 0xfe"):
        TiktokenCounter(path)


def test_missing_file_is_a_config_error_when_opened(tmp_path: Path) -> None:
    """No path, no download: the file must be there."""
    with pytest.raises(ConfigError, match="can't be read"):
        TiktokenCounter(tmp_path / "absent_o200k.tiktoken")


def test_unknown_name_says_what_to_give_when_no_pattern_is_known(tmp_path: Path) -> None:
    """The pattern follows from the file's name; otherwise it must be given."""
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(b"\n".join(rank_lines()))
    with pytest.raises(ConfigError, match="give pattern= o200k, cl100k, qwen or a regular expression"):
        TiktokenCounter(path)
    assert TiktokenCounter(path, pattern="cl100k").count("hello world") == 2
    assert TiktokenCounter(path, pattern=r"\S+|\s+").count("hello world") == 5


def test_wrong_pattern_is_a_config_error_when_given(tmp_path: Path) -> None:
    """A regular expression that does not compile is named as such."""
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(b"\n".join(rank_lines()))
    with pytest.raises(ConfigError, match="pattern"):
        TiktokenCounter(path, pattern="(")


def test_digits_are_split_as_the_file_says_when_it_is_qwen(tmp_path: Path) -> None:
    """Qwen's pattern takes digits one at a time; cl100k's takes three, which here are one token."""
    ranks = [*rank_lines(), *(base64.b64encode(token) + b" %d" % rank for rank, token in ((300, b"12"), (301, b"123")))]
    for name, expected in (("qwen", 3), ("cl100k_base", 1)):
        (tmp_path / f"{name}.tiktoken").write_bytes(b"\n".join(ranks))
        assert TiktokenCounter(tmp_path / f"{name}.tiktoken").count("123") == expected


def test_decomposed_letter_is_composed_first_when_the_file_is_qwen(tmp_path: Path) -> None:
    """Qwen normalises to NFC before it counts: an e and a combining accent are the two bytes of one letter."""
    for name, expected in (("qwen", 2), ("cl100k_base", 3)):
        (tmp_path / f"{name}.tiktoken").write_bytes(b"\n".join(rank_lines()))
        assert TiktokenCounter(tmp_path / f"{name}.tiktoken").count("e\u0301") == expected
