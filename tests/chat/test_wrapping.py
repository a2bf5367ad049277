"""Text in pieces: folded between words on a terminal, with nothing in it that a terminal obeys."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from squidbot.chat.screen import Wrapping

TEXT = st.text(alphabet=st.sampled_from("ab \n\t好\x1b`-é"), max_size=200)


def written(pieces: list[str], columns: int | None) -> str:
    """Return what is written of pieces on a terminal of so many columns."""
    out: list[str] = []
    wrapping = Wrapping(out.append, None if columns is None else (lambda: columns))
    for piece in pieces:
        wrapping.add(piece)
    wrapping.end()
    return "".join(out)


def test_words_stand_whole_on_lines_that_fit() -> None:
    """Between two words; a word that fits no line stands on its own."""
    text = f"one two three four five six seven {'x' * 40} eight"
    assert written([text], 21).splitlines() == ["one two three four", "five six seven", "x" * 40, "eight"]


@given(TEXT, st.lists(st.integers(0, 200), max_size=5), st.integers(20, 60))
def test_pieces_make_no_difference(text: str, cuts: list[int], columns: int) -> None:
    """The same text is the same, however it comes."""
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert written(pieces, columns) == written([text], columns)


@given(TEXT, st.integers(20, 60))
def test_nothing_is_obeyed_and_no_word_is_lost(text: str, columns: int) -> None:
    """An escape is a question mark; all else is there in order, whatever the width."""
    shown = written([text], columns)
    assert "\x1b" not in shown
    assert shown.split() == text.replace("\x1b", "?").split()


@given(st.lists(st.text(alphabet="abc好", min_size=1, max_size=8), max_size=60), st.integers(20, 90))
def test_no_line_is_wider_than_the_terminal(words: list[str], columns: int) -> None:
    """Wide characters count double."""
    assert all(cell_len(line) <= columns for line in written([" ".join(words)], columns).splitlines())


def test_code_is_not_folded() -> None:
    """Between fences each line stands as it was written, and is folded again behind them."""
    code = "x = " + "1 + " * 30 + "1"
    lines = written([f"Look:\n```python\n{code}\n```\n" + "word " * 10], 26).splitlines()
    assert code in lines
    assert lines[-2:] == ["word word word word word", "word word word word word"]


def test_pipe_gets_the_text_as_it_is() -> None:
    """Of any length, with one end of line."""
    assert written(["word " * 60, "end"], None) == "word " * 60 + "end\n"
    assert written([], None) == ""
