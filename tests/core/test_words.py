"""Texts as terms, and how a query is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.core.recall.search import PIECE_CHARS, has_phrase, may_have_phrase, payload_texts, read_query, terms

TEXTS = st.text(st.characters(exclude_categories=()), max_size=80)


def finds(query: str, text: str) -> bool:
    """Say whether a text has every word and phrase of a query."""
    wanted, there = read_query(query), terms(text)
    has_words = all(any(there.issuperset(each) for each in word) for word in wanted.words)
    return has_words and all(has_phrase(text, phrase) for phrase in wanted.phrases)


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("src/cache_store.py", {"src", "cache", "store", "py", "src_cache", "cache_store", "store_py"}),
        ("parseHTTPHeader", {"parse", "http", "header", "parse_http", "http_header", "parsehttpheader"}),
        ("ERR_4711, fine.", {"err", "4711", "err_4711", "fine"}),
        ("缓存", {"缓", "存", "缓_存"}),
        ("a\0b \ud800c", {"a", "b", "c"}),
        ("é É e\u0301", {"e"}),
        ("", set()),
        ("...!? \u200b", set()),
        ("x" * 256, set()),
        ("y" * 100, {"y" * PIECE_CHARS}),
    ],
)
def test_terms_are_pieces_and_pairs_of_what_is_joined(text: str, due: set[str]) -> None:
    """A name is found by its pieces and by any row of them; data is no word; nothing odd gets into a term."""
    assert terms(text) == due


@given(TEXTS)
@example("\ud800\0_-/")
@example("ǅ ŉ İ ﬀ ㎏ ½")
def test_terms_hold_letters_digits_and_one_sign_only(text: str) -> None:
    """Whatever a text is made of, a term can be quoted as it is, in any language of queries."""
    for term in terms(text):
        assert term
        assert not set(term) & set(" \0\"'()*:^-+,.;%\\/\n\t"), ascii(term)
        term.encode()


@given(TEXTS)
@example("ﬁNE ΑΣ ΣΑ")
def test_terms_are_the_same_when_case_is_changed(text: str) -> None:
    """The words of a text in lower case are found by what was written."""
    lower = text.lower()
    for word in text.split():
        if terms(word) and '"' not in word:
            assert finds(word, text), ascii(word)
            if word.isascii():
                assert finds(word.lower(), text), ascii(word)
                assert finds(word.upper().lower(), lower), ascii(word)


@given(st.text("缓存价格为十分钟キャッシュ캐시를ราคาแคช", min_size=1, max_size=30), st.data())
def test_any_part_is_found_when_words_have_no_spaces(text: str, data: st.DataObject) -> None:
    """Scripts without spaces are found by any one or more characters in a row."""
    first = data.draw(st.integers(0, len(text) - 1))
    last = data.draw(st.integers(first + 1, len(text)))
    part = text[first:last]
    assert finds(part, text)
    assert finds(f'"{part}"', text)


@given(st.lists(st.from_regex(r"[A-Za-z0-9]{1,8}", fullmatch=True), min_size=2, max_size=9), st.data())
def test_any_row_of_pieces_is_found_when_they_make_a_path(pieces: list[str], data: st.DataObject) -> None:
    """A path is found by any part of it that ends at a joint."""
    path = "".join(piece + data.draw(st.sampled_from("/._-\\:")) for piece in pieces)[:-1]
    first = data.draw(st.integers(0, len(pieces) - 1))
    last = data.draw(st.integers(first + 1, len(pieces)))
    assert finds("/".join(pieces[first:last]), f"see {path}, please")


@pytest.mark.parametrize(
    ("query", "text", "due"),
    [
        ('"port 6380"', "on port 6380.", True),
        ('"port 6380"', "port or 6380", False),
        ('"port 6380"', "report 6380", False),
        ('"port 6380"', "port 63801", False),
        ('"parse http"', "parseHTTPHeader", True),
        ('"parsehttpheader now"', "parseHTTPHeader now", True),
        ('"größe xl"', "GRÖSSE: XL", True),
        ("\u201eport 6380\u201c", "port 6380", True),
        ("\u00abport 6380\u00bb", "6380 port", False),
        ('"unclosed phrase', "phrase, unclosed", True),
        ("MyClass.java", "myclass.java", True),
        ("myclass.java", "MyClass.java", True),
        ("store.cache", "cache_store", False),
    ],
)
def test_phrases_and_names_are_found_in_their_order(query: str, text: str, due: bool) -> None:  # noqa: FBT001
    """A quoted phrase is pieces in a row, and so is a name; where they are joined, and how, does not matter."""
    assert finds(query, text) is due


@given(TEXTS)
@example('"" AND "')
@example("NEAR(a, b)*")
def test_any_query_is_read_unless_it_has_no_word(query: str) -> None:
    """A query is refused only if there is nothing in it that a text could have."""
    if not terms(query):
        with pytest.raises(ValueError, match="nothing to look for"):
            read_query(query)
        return
    wanted = read_query(query)
    assert wanted.words or wanted.phrases
    assert finds(query, query)


@given(st.lists(st.text('aB1 _-.,\n\t"\\/nt\u00e9', max_size=8), min_size=1, max_size=5), st.booleans(), st.data())
def test_no_phrase_is_ruled_out_that_is_there(texts: list[str], ascii_only: bool, data: st.DataObject) -> None:  # noqa: FBT001
    """What a text has, its payload may have, however it is escaped."""
    text = " ".join(texts)
    payload = json.dumps({"arguments": json.dumps({"x": text}, ensure_ascii=ascii_only)}, ensure_ascii=ascii_only)
    part = data.draw(st.sampled_from(texts))
    if terms(part):
        (phrase,) = read_query('"' + part.replace('"', " ") + '"').phrases
        if has_phrase(text, phrase):
            assert may_have_phrase(payload, phrase)


def test_inflected_words_are_found_when_they_are_english() -> None:
    """A question rarely has the form of the answer; other scripts and names stay as they are."""
    for query, text in (("painting", "she painted"), ("decided", "we decide"), ("cache", "caches"), ("boxes", "box")):
        assert finds(query, text), query
    assert not finds("class", "clas")
    assert not finds("cats2", "cat2")


def test_long_texts_and_queries_are_cut() -> None:
    """Work is bounded: what stands behind a million characters is not found, nor asked for behind 32 words."""
    assert "end" not in terms("word " * 200_000 + "end")
    assert len(read_query(" ".join(f"w{number}" for number in range(100))).words) == 32


def test_said_is_all_but_structure_when_a_payload_is_json() -> None:
    """Texts, names and what tools are given are searched; roles, ids, kinds, signatures and data are not."""
    payload = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "one"},
            {"type": "thinking", "thinking": "two", "signature": "U2lnbmVk"},
            {
                "type": "tool_use",
                "id": "toolu_1",
                "name": "run",
                "input": {"role": "admin", "port": 8080, "deep": [1.5]},
            },
            {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo"}},
        ],
        "tool_calls": [{"id": "call_1", "function": {"name": "read", "arguments": '{"path": "a\\nb", "all": true}'}}],
        "created": 1_700_000_000,
    }
    due = ["one", "two", "run", "role", "admin", "port", "8080", "deep", "1.5", "read", "path", "a\nb", "all"]
    assert payload_texts(json.dumps(payload)) == due


@pytest.mark.parametrize(
    "payload", ["", "plain words", "{", "[" * 100_000, "9" * 5000, '"\ud800"', "null", "{}", "[[]]"]
)
def test_said_takes_any_text_when_it_is_no_message(payload: str) -> None:
    """What is not JSON is searched as it is; nothing is refused."""
    assert payload_texts(payload) in ([payload], [payload.strip('"')], [])


@given(
    st.recursive(
        TEXTS | st.integers() | st.booleans() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)
    )
)
def test_said_never_raises(value: object) -> None:
    """Any JSON value is a payload."""
    assert all(isinstance(text, str) for text in payload_texts(json.dumps(value)))
