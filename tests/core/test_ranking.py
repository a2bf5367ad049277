"""Which messages answer a query best, over postings made of texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.recall.search import CANDIDATES, best, has_phrase, read_query, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import SearchMatch
    from squidbot.core.recall.search import Word

WORDS = ("red", "green", "blue", "grey", "rare7")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=4), max_size=40)


class Texts:
    """Messages that are texts, and the number of questions that were asked of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.terms = [terms(text) for text in texts]
        self.messages = len(texts)
        self.asked = self.read = 0

    def newest(self, words: Sequence[Word], below: int, limit: int) -> list[int]:
        """Look at each text."""
        self.asked += 1
        found = (
            seq
            for seq in reversed(range(min(below, self.messages)))
            if all(any(self.terms[seq].issuperset(each) for each in word) for word in words)
        )
        return [seq for seq, _ in zip(found, range(limit), strict=False)]

    def sizes(self, seqs: Sequence[int]) -> list[int]:
        """Return words."""
        return [len(self.texts[seq].split()) for seq in seqs]

    def payloads(self, seqs: Sequence[int]) -> list[str]:
        """Return the texts as messages."""
        self.read += len(seqs)
        return [json.dumps({"content": self.texts[seq]}, ensure_ascii=seq % 2 == 0) for seq in seqs]


def seqs(found: Sequence[SearchMatch]) -> list[int]:
    """Return the messages that were found."""
    return [each.seq for each in found]


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=4), max_size=40), st.lists(st.sampled_from(WORDS), min_size=1)
)
def test_all_that_has_a_word_is_found_best_first(texts: list[list[str]], query: list[str]) -> None:
    """Found is what has any of the words; scores fall; ties are newest first; all words go before some."""
    found = best(read_query(" ".join(query)), Texts([" ".join(text) for text in texts]), 100)
    assert set(seqs(found)) == {seq for seq, text in enumerate(texts) if set(text) & set(query)}
    assert found == sorted(found, key=lambda each: (-each.score, -each.seq))
    wholes = [set(query) <= set(texts[each.seq]) for each in found]
    assert wholes == sorted(wholes, reverse=True)


@given(
    TEXTS,
    st.sampled_from(["red", "red green", '"red green"', '"red green" blue', "grey rare7"]),
    st.integers(1, 7),
    st.integers(1, 12),
)
def test_pages_are_the_whole_cut_when_messages_are_many(
    texts: list[list[str]], query: str, limit: int, times: int
) -> None:
    """However many there are, pages one behind the other are what one long page is."""
    postings = Texts([" ".join(text) for text in texts] * times)
    whole = best(read_query(query), postings, 10_000)
    pages: list[SearchMatch] = []
    while page := best(read_query(query), postings, limit * 13, pages[-1] if pages else None):
        pages += page
    assert pages == whole
    assert len(set(seqs(whole))) == len(whole)


def test_every_message_is_reached_when_candidates_are_fewer() -> None:
    """Behind the candidates come all others, newest first, with score 0."""
    texts = Texts(["red"] * 1000 + ["green"] * 1000 + ["red green"] * 3)
    found = best(read_query("red green"), texts, 5000)
    assert sorted(seqs(found)) == list(range(2003))
    assert seqs(found)[:3] == [2002, 2001, 2000]
    others = [each.seq for each in found if each.score == 0]
    assert others == sorted(others, reverse=True)
    assert 1000 < len(others) < 2003 - CANDIDATES + 3


def test_old_message_with_all_words_is_first_when_newer_ones_have_some() -> None:
    """What has all the words is a candidate however old it is."""
    texts = ["red green", *["red"] * 2000, *["green"] * 2000]
    assert best(read_query("red green"), Texts(texts), 1)[0].seq == 0


def test_rare_word_leads_when_the_others_are_common() -> None:
    """A message with the one rare word goes before newer ones that have all the others."""
    texts = ["rare7 grey"] + ["red green"] * 3000
    assert best(read_query("red green rare7"), Texts(texts), 1)[0].seq == 0


def test_short_message_leads_when_a_long_one_has_the_same_words() -> None:
    """Length counts, and less than words do."""
    texts = ["red green", "red " + "grey " * 900, "red", "red green " + "grey " * 5000]
    assert seqs(best(read_query("red green"), Texts(texts), 9)) == [0, 3, 2, 1]


def test_phrase_is_read_in_few_texts_when_it_is_common() -> None:
    """Texts are read in the order of the page, until it is full."""
    postings = Texts(["red green"] * 500)
    assert len(best(read_query('"red green"'), postings, 10)) == 10
    assert postings.read <= 16


def test_phrase_is_found_behind_the_candidates_when_its_words_are_everywhere() -> None:
    """The texts that have the words apart do not hide the one that has the phrase."""
    texts = ["red green", *["green red"] * 2000]
    assert seqs(best(read_query('"red green"'), Texts(texts), 3)) == [0]


def test_few_questions_are_asked_when_a_query_is_long() -> None:
    """Each word is looked up once, and a few rare ones once more."""
    words = [f"word{number}" for number in range(32)]
    postings = Texts([" ".join(words[number % 7 :]) for number in range(600)])
    best(read_query(" ".join(words)), postings, 20)
    assert postings.asked <= 32 + 8


def test_nothing_is_found_when_nothing_is_asked_for() -> None:
    """No message, no word that is known, or a page of none."""
    assert best(read_query("red"), Texts([]), 9) == []
    assert best(read_query("red"), Texts(["green"]), 9) == []
    assert best(read_query("red"), Texts(["red"]), 0) == []
    assert best(read_query("red"), Texts(["red"]), -1) == []


@given(st.text(max_size=20), st.lists(st.text(max_size=30), max_size=9))
def test_phrases_of_a_page_occur_in_its_texts(phrase: str, texts: list[str]) -> None:
    """Whatever was asked for, a text without a quoted phrase is not on the page."""
    quoted = f'"{phrase.replace(chr(34), " ")}"'
    if not terms(quoted):
        return
    wanted = read_query(quoted)
    found = set(seqs(best(wanted, Texts([*texts, phrase]), 99)))
    assert {seq for seq, text in enumerate([*texts, phrase]) if has_phrase(text, wanted.phrases[0])} == found
