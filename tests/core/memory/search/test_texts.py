"""Words without their inflections, what speaks of the same, and what is seen of a text at a glance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.memories import Passage
from squidbot.core.memory.search import ParsedQuery, features_of, instructs, lower_words, terms_of
from squidbot.core.memory.words import STOP_WORDS, root, stem, synonyms

from .talk import at


@pytest.mark.parametrize(
    "forms",
    [
        "run runs running ran",
        "adopt adopts adopted adopting",
        "stop stopped stopping stops",
        "family families",
        "study studies studied studying",
        "child children",
        "box boxes boxing",
        "horse horses",
        "bake baked baking bakes",
        "happy happily",
        "die died dying dies",
        "colour color colors",
        "buy bought buying",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    """Regular ones and others."""
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    "words", ["seed see", "bus bush", "need knee", "news nose", "thing th", "bring br", "organ orga"]
)
def test_other_words_have_other_stems(words: str) -> None:
    """An ending that is none is left alone."""
    assert len({stem(word) for word in words.split()}) == 2


@pytest.mark.parametrize("words", ["adopt adoption", "paint painter", "teach teacher", "equip equipment"])
def test_a_family_has_one_root(words: str) -> None:
    """Derived words, which have stems of their own."""
    assert len({stem(word) for word in words.split()}) == 2
    assert len({root(stem(word)) for word in words.split()}) == 1


@given(st.text(max_size=20))
def test_any_word_has_a_stem_and_a_root(word: str) -> None:
    """Nothing of something is never left, and what is not English stays as it is."""
    assert bool(stem(word)) == bool(word)
    assert bool(root(stem(word))) == bool(word)
    if not word.isascii():
        assert stem(word) == word


def test_kin_is_mutual_and_never_as_near_as_the_word_itself() -> None:
    """Whoever is asked for finds the other; stop words are nobody's kin."""
    for word in ("pet", "dog", "music", "kid", "bakery", "database"):
        for other in synonyms(stem(word)):
            assert 0 < other.near < 1
            assert stem(word) in {back.stem for back in synonyms(other.stem)}
    assert synonyms("xyzzy") == ()
    assert all(other.stem not in STOP_WORDS for other in synonyms("pet"))


def test_a_passage_is_seen_at_a_glance() -> None:
    """Its terms in order, whether it asks, who speaks of himself, whether it instructs."""
    seen = features_of(
        Passage("k", "Yesterday I showed Ilse Moen my three kettles. Don't you like kettles?", "", at("2031-05-20"))
    )
    assert seen.terms == ("yesterday", "show", "ils", "moen", "thre", "kettl", "kettl")
    assert seen.asks
    assert not seen.instructs
    assert 0 < seen.own_fraction < 0.3
    plain = features_of(Passage("k", "It rained."))
    assert plain == (("rain",), False, 0.0, False)


def test_data_in_a_text_is_passed_over() -> None:
    """A word of hundreds of letters is none."""
    assert terms_of("kettle " + "x" * 300 + " gate") == ("kettl", "gat")
    assert lower_words("Kettle's " + "x" * 300) == ["kettle"]


def test_names_in_code_are_cut_at_their_joints() -> None:
    """Whole and in parts."""
    assert {"user", "token", "get_user"} <= set(terms_of("call getUserToken() in user_token.py"))


@pytest.mark.parametrize(
    ("text", "asker", "other"),
    [
        ("When did I plant the oats?", True, False),
        ("How did you say I should plant them?", False, True),
        ("Who rang?", False, False),
        ("Wann habe ich den Hafer ges\u00e4t?", True, False),
        ("\u00bfQu\u00e9 dije yo?", True, False),
        ("Que m'avez-vous dit ?", False, True),
        ("\u0413\u0434\u0435 \u044f \u0436\u0438\u0432\u0443?", True, False),
        ("\u6211\u4f4f\u5728\u54ea\u91cc", True, False),
        ("\u4f60\u63a8\u8350\u4e86\u4ec0\u4e48", False, True),
    ],
)
def test_a_question_says_whom_it_is_about(text: str, asker: bool, other: bool) -> None:  # noqa: FBT001
    """The one who asks, or what the other said."""
    query = ParsedQuery.of(text)
    assert (query.of_asker, query.of_other) == (asker, other)


@pytest.mark.parametrize(
    "text", ["Wo wohnt Ann?", "\u732b\u53eb\u4ec0\u4e48\u540d\u5b57\uff1f", "where is the barge", "barge"]
)
def test_a_question_is_no_list_of_words(text: str) -> None:
    """In whatever language; several words without grammar are one."""
    assert not ParsedQuery.of(text).is_words
    assert ParsedQuery.of("barge mill").is_words


@pytest.mark.parametrize(
    "text", ["Always name versions.", "please never push", "Immer auf Deutsch.", "\u603b\u662f\u7528\u4e2d\u6587"]
)
def test_a_standing_instruction_is_known_by_how_it_begins(text: str) -> None:
    """In several languages; the same words later in a sentence are none."""
    assert instructs(text)
    assert not instructs(f"It was he who {text}")


@pytest.mark.parametrize("text", ["Never mind", "When I was young", "Always?", "never heard of it"])
def test_what_only_begins_so_is_no_standing_instruction(text: str) -> None:
    """Remarks and questions."""
    assert not instructs(text)


def test_speakers_are_asked_about_and_not_looked_for() -> None:
    """By any word of their names; dates are compared, not looked for."""
    query = ParsedQuery.of("What did Ada Holt buy on 8 May 2031?", at("2031-09-01"), ["Ada Holt", "Bo"])
    assert query.terms == ("buy",)
    assert query.named == {stem("ada"), stem("holt")}
    assert len(query.days) == 1
    assert ParsedQuery.of("On 8 May 2031", at("2031-09-01")).terms


@pytest.mark.parametrize(
    ("form", "base"),
    [
        ("wrote", "write"),
        ("left", "leave"),
        ("leaves", "leave"),
        ("came", "come"),
        ("flew", "fly"),
        ("driven", "drive"),
        ("wives", "wife"),
        ("laid", "lay"),
        ("caching", "cache"),
        ("died", "die"),
    ],
)
def test_every_form_of_a_word_meets_the_word(form: str, base: str) -> None:
    """Irregular ones, too: one by one, and wherever rules cut the base itself."""
    assert stem(form) == stem(base)


def test_no_word_of_one_subject_is_nearer_than_its_subject() -> None:
    """The words of software are subjects as others are; none stands for itself."""
    assert {"crash", "fix"} <= {each.word for each in synonyms(stem("bugs"))}
    assert {"folder", "path"} <= {each.word for each in synonyms(stem("file"))}
    assert all(each.stem != term and 0 < each.near < 1 for term in ("bug", "fil", "hous") for each in synonyms(term))
