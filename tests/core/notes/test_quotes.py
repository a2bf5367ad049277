"""What notes take over from a text: values with their keys, names by place, code lines, failures, sentences."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.literals import literals_of, names_in
from squidbot.core.notes.calls import failure
from squidbot.core.notes.extract import (
    NoteUnit,
    json_lines,
    result_units,
    sentence,
    sentences,
)
from squidbot.core.text import clip, one_line


def labelled(units: list[NoteUnit]) -> dict[str, list[str]]:
    """Return the texts of units by their label, in order."""
    found: dict[str, list[str]] = {}
    for unit in units:
        found.setdefault(unit.label, []).append(unit.text)
    return found


def test_shown_gives_json_values_the_key_that_they_belong_to() -> None:
    """A number or an id without its word tells nothing; a list's items stand under the list's key."""
    result = {"user": {"user_id": "mia_li_3668", "tier": "gold"}, "bookings": ["NO6JO3", "AIXC49"], "note": None}
    assert labelled(list(result_units(json.dumps(result), of_file=False))) == {
        "user_id:": ["mia_li_3668"],
        "tier:": ["gold"],
        "bookings:": ["NO6JO3", "AIXC49"],
    }


def test_shown_ranks_ids_above_other_values_and_points_in_time_last() -> None:
    """What is asked for by name again comes first."""
    result = {"booking_id": "NO6JO3", "fare_class": "Y_FLEX2", "created_at": "2024-05-20T11:37:17"}
    units = {unit.label: unit for unit in result_units(json.dumps(result), of_file=False)}
    assert units["booking_id:"].base > units["fare_class:"].base > units["created_at:"].base
    assert units["created_at:"].weight == 0


def test_shown_gives_no_weight_to_one_value_of_many_under_a_key() -> None:
    """Twenty prices without their flights are noise; a single price is a fact."""
    many = list(result_units(json.dumps([{"price": 100 + at} for at in range(20)]), of_file=False))
    one = list(result_units(json.dumps({"price": 120}), of_file=False))
    assert [unit.weight for unit in many] == [0.0] * 20
    assert one[0].weight > 0


@pytest.mark.parametrize("text", ["", "ok", "(no output)", "None\n", "done.", "Error: no such booking"])
def test_shown_says_nothing_of_a_result_without_news(text: str) -> None:
    """Silence, a bare yes, and a failure (which the line's head tells) are no outcome worth words."""
    assert "gave" not in labelled(list(result_units(text, of_file=False)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/cart.ts(8,49): error TS2307: Cannot find module './tax'", True),
        ("collected 3 items\n\nFAILED tests/test_cart.py::test_total - assert 1 == 2", True),
        ("E   KeyError: 'rate'", True),
        ("Traceback (most recent call last):", True),
        ("npm ERR! code 1", True),
        ("fatal: not a git repository", True),
        ("bash: tsc: command not found", True),
        ("cat: x.py: No such file or directory", True),
        ("Command exited with code 1", True),
        ('{"error": "card declined"}', True),
        ("Error: gift card balance is not enough", True),
        ("2 failed, 3 passed in 0.1s", True),
        ("错误 找不到文件", True),
        ("0 failed, 3 passed", False),
        ("Found 0 errors", False),
        ("no errors", False),
        ("All checks passed!", False),
        ("this.errorCount = 0; // errors are counted here", False),
        ("handleError(error) {", False),
        ('throw new TypeError("bad rate")', False),
    ],
)
def test_failure_tells_errors_from_talk_of_errors(text: str, expected: bool) -> None:  # noqa: FBT001 - a table
    """Compilers, test runners, shells and services report failures in their ways; code only speaks of them."""
    assert bool(failure(text, of_file=False)) is expected


def test_failure_is_the_first_line_that_tells_it() -> None:
    """With file and line where the tool names them."""
    text = "checking\nsrc/cart.ts(8,49): error TS2307: no module\nsrc/tax.ts(1,1): error TS1: too"
    assert failure(text, of_file=False) == "src/cart.ts(8,49): error TS2307: no module"


def test_failure_is_not_read_out_of_a_file_that_was_shown() -> None:
    """A long file with an error message in it was read all right; a short answer can tell that it was not."""
    assert failure("raise ValueError('Error: bad')\n" * 40, of_file=True) == ""
    assert failure("Error: no such file: cart.py", of_file=True) == "Error: no such file: cart.py"


def test_json_lines_quote_code_lines_as_the_arguments_hold_them() -> None:
    """The letter of an escape glued to a name stands in the request in this form only."""
    arguments = json.dumps({"new": "class Cart {\n\tcartTotal: number;\n\treturn 1;\n}"})
    assert list(json_lines(arguments)) == ["`\\tcartTotal: number;`"]


def test_sentences_are_free_of_marks_of_form() -> None:
    """Bullets, numbers of lists and bold are left out; so is what has no words."""
    text = "# Plan\n1. **Move** the cart. Then test it!\n- keep `tax.py`\n---\n2.\n"
    assert list(sentences(text)) == ["Plan", "Move the cart.", "Then test it!", "keep `tax.py`"]


def test_sentences_end_where_chinese_and_japanese_ones_end() -> None:
    """No space follows their full stop."""
    assert list(sentences("税率が違います。次に修正します。")) == ["税率が違います。", "次に修正します。"]


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("[DECISION] prices stay net - LOCKED", "We decided to keep prices net."),
        ("The root cause is a stale cache.", "That is because the cache is stale."),
        ("It fails because the cache is stale.", "It fails with the cache."),
        ("She moved to Lyon on 3 May 2021.", "She moved to another town."),
        ("The total is 4500 for both.", "The total is right for both."),
        ("They talked about painting and pottery.", "How nice for you!"),
        ("The parser drops comments.", "Let me look at the parser next:"),
    ],
)
def test_sentence_is_worth_more_the_more_it_tells(more: str, less: str) -> None:
    """Marks of goals, then findings, then reasons; names, dates and numbers; filler and exclamations least."""
    assert sentence(more, 0.2).weight > sentence(less, 0.2).weight


@given(text=st.text(max_size=300), most=st.integers(min_value=1, max_value=80))
def test_clip_cuts_behind_a_whole_word(text: str, most: int) -> None:
    """What is kept is the start of the text, and no name is cut in two."""
    cut = clip(one_line(text), most)
    whole = one_line(text)
    if cut != whole:
        kept = cut.removesuffix(" …")
        assert whole.startswith(kept)
        assert len(kept) <= most
        rest = whole[len(kept) : len(kept) + 1]
        assert not (kept[-1:].isascii() and kept[-1:].isalnum() and rest.isascii() and rest.isalnum())


@given(text=st.text(max_size=500), of_file=st.booleans())
def test_shown_and_failure_take_any_text(text: str, of_file: bool) -> None:  # noqa: FBT001 - a property
    """Results come from anywhere: nothing raises, no unit is empty, every name shown stands in the text."""
    failure(text, of_file=of_file)
    units = list(result_units(text, of_file=of_file))
    assert all(unit.text for unit in units)
    assert all(unit.text in one_line(text) for unit in units if unit.label in {"defines", "imports", "uses", "shows"})


def test_shown_takes_json_of_any_depth() -> None:
    """Deeper than Python's recursion: then the names in it are shown as of any text."""
    assert list(result_units("[" * 100_000 + "]" * 100_000, of_file=False)) == []


@given(text=st.text(max_size=60))
def test_names_in_is_literals_of(text: str) -> None:
    """The cached form for short texts finds the same, each once."""
    assert sorted(names_in(text)) == sorted(literals_of(text))
