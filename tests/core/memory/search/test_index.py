"""What is found for a question: both steps of a search, on a conversation made up for it."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.exact import Index, lookups
from squidbot.core.memories import Passage
from squidbot.core.memory.search import MIN_RELEVANCE, ParsedQuery, PreparedPassage, features_of, score

from .talk import NOW, at, passages

if TYPE_CHECKING:
    from collections.abc import Iterable

TEXTS = st.text(st.characters(exclude_categories=()), max_size=60)
SAID = "kettle blue gate sheep pond heron ferry I you was the in May 2031 ?"
WORDS = st.lists(st.sampled_from(SAID.split()), max_size=9)
PASSAGES = st.lists(
    st.builds(
        Passage,
        st.integers(0, 30).map(str),
        st.one_of(TEXTS, WORDS.map(" ".join)),
        st.sampled_from(("", "Ada", "Bo")),
        st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
        st.sampled_from(("", "a", "b")),
        st.integers(0, 9),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def index() -> Index:
    """Index the conversation."""
    return Index(passages())


@pytest.mark.parametrize(
    ("question", "due"),
    [
        ("What colour has Ada's kettle?", "2031-03-04/4"),
        ("When did Bo fix the gate?", "2031-03-04/1"),  # another word for it
        ("Where does Bo's sister live?", "2031-05-20/2"),  # the turn before it has the words
        ("Who visited Bo in May 2031?", "2031-05-20/0"),
        ("What is Ada reading?", "2031-08-11/2"),  # the one who says it
        ("Where were the herons seen?", "2031-08-11/0"),
        ("Which instrument did Ada play?", "2031-05-20/3"),  # nobody says "instrument"
        ("novels", "2031-08-11/2"),
        ("What did Ada say on 11 August 2031?", "2031-08-11/2"),
    ],
)
def test_a_question_finds_what_answers_it_among_the_first(index: Index, question: str, due: str) -> None:
    """Among the three best, and above what counts as relevant."""
    hits = index.search(question, 3, NOW)
    assert due in [hit.key for hit in hits]
    assert max(hit.score for hit in hits) >= MIN_RELEVANCE


def test_what_was_never_spoken_of_has_no_score_above_the_threshold(index: Index) -> None:
    """Nothing relevant is said so: by scores, not by silence."""
    for question in ("Which database holds the invoices?", "How tall is the lighthouse keeper's grandson?"):
        assert all(hit.score < MIN_RELEVANCE for hit in index.search(question, 5, NOW))


def test_ties_stand_newest_first_then_by_key() -> None:
    """The same words at other times, and at no time at all."""
    index = Index([Passage(key, "The kettle is blue.", "", time) for key, time in
                   (("c", None), ("a", 5.0), ("b", 5.0), ("d", 9.0), ("e", 1.0))])  # fmt: skip
    assert [hit.key for hit in index.search("kettle")] == ["d", "a", "b", "e", "c"]


def test_what_was_added_is_found_and_what_was_removed_is_not(index: Index) -> None:
    """An index that passages went through is the same as one that never had them."""
    used = Index([*passages(), Passage("x", "A kettle of fish.", "Bo", at("2031-03-04"), "other", 0)])
    assert "x" in [hit.key for hit in used.search("kettle", now=NOW)]
    used.remove(["x", "unknown"])
    used.add(passages())  # each in the place of itself
    for question in ("kettle", "Where does Bo's sister live?", "fish"):
        assert used.search(question, now=NOW) == index.search(question, now=NOW)
    assert len(used) == len(index)
    assert used.passage("2031-03-04/4").speaker == "Ada"
    used.remove([each.key for each in passages()])
    kept = [value for name, value in vars(used).items() if isinstance(value, dict | list | set)]
    assert kept
    assert not any(kept), "no word and no name of what was removed stays in memory"


def test_a_passage_that_says_nothing_of_it_changes_little(index: Index) -> None:
    """The order of the best stays, their scores nearly."""
    more = Index([*passages(), Passage("x", "Lunch was soup with bread and butter.", "Bo", NOW, "other", 0)])
    for question in ("What colour has Ada's kettle?", "Where does Bo's sister live?", "Where were the herons seen?"):
        before, after = index.search(question, 3, NOW), more.search(question, 3, NOW)
        assert [hit.key for hit in before] == [hit.key for hit in after]
        assert all(abs(one.score - other.score) < 0.1 for one, other in zip(before, after, strict=True))


def test_neighbours_of_pages_do_not_answer_for_them() -> None:
    """A short turn is found by the one beside it, a page beside a page hardly."""

    def places(filler: str) -> list[float]:
        talk = [Passage("0", "Where did the barge land? " + filler, "", 0.0, "a", 0),
                Passage("1", "At the old mill. " + filler, "", 0.0, "a", 1),
                Passage("2", "Fog. " + filler, "", 0.0, "b", 0)]  # fmt: skip
        scores = {hit.key: hit.score for hit in Index(talk).search("Where did the barge land?")}
        return [scores.get("1", 0.0), scores.get("0", 0.0)]

    short, long = places(""), places("wheat barley rye oats millet " * 60)
    assert short[0] > long[0]


def test_groups_of_pages_do_not_answer_for_them() -> None:
    """Of two that say the same, that in a session with more of the question leads: by much of turns, not of pages."""

    def lead(filler: str) -> float:
        talk = [Passage("session", "The barge was towed. " + filler, "", 0.0, "a", 0),
                Passage("other", "It landed at the mill. " + filler, "", 0.0, "a", 5),
                Passage("alone", "The barge was towed. " + filler, "", 0.0, "b", 0)]  # fmt: skip
        scores = {hit.key: hit.score for hit in Index(talk).search("barge at the mill that was towed")}
        return scores["session"] / scores["alone"]

    assert lead("Fog.") > lead("wheat barley rye oats millet " * 60) >= 1.0


def test_passages_of_one_position_are_as_near_as_can_be() -> None:
    """A file that two bots read stands twice: no score grows by that, whatever the lengths."""
    talk = [Passage(f"{copy}{place}", f"barge {place}", "", 0.0, "a", 0) for copy in "xy" for place in range(6)]
    talk += [Passage(f"page{place}", "wheat barley oats " * 9_000, "", 0.0, "a", place + 1) for place in range(4)]
    once = Index(talk[:1]).search("Where did the barge land?")[0].score
    assert all(0 < hit.score <= once + 0.1 for hit in Index(talk).search("Where did the barge land?"))


def test_a_page_of_many_spellings_takes_no_longer_than_its_length() -> None:
    """Each of its words is near to the one that is asked for."""
    times = []
    for count in (1_000, 8_000):
        page = Index([Passage("page", " ".join(f"connection{number:05}" for number in range(count)))])
        began = process_time()
        page.search("Where are the connections?")
        times.append(process_time() - began)
    assert times[1] < 24 * max(times[0], 0.001)


def test_a_search_for_nothing_is_refused_and_none_is_wanted_of_none(index: Index) -> None:
    """A query needs a letter or digit; an empty index has no hits."""
    for text in ("", " ?! "):
        with pytest.raises(ValueError, match="nothing to look for"):
            index.search(text)
    assert Index().search("kettle") == []
    assert index.search("kettle", 0) == []
    assert index.search("kettle", -1) == []


def test_grammar_alone_is_looked_for_where_there_is_nothing_else(index: Index) -> None:
    """A question of stop words, and one of a name, raise nothing."""
    for question in ("Who was it?", "Ada", "Ada and Bo?"):
        assert all(0 <= hit.score <= 1 for hit in index.search(question, now=NOW))


def test_other_scripts_are_found_by_their_words() -> None:
    """Scripts without spaces by their pairs, accents folded."""
    index = Index(
        [Passage("ja", "東京タワーに行きました。"), Passage("fr", "Le café était fermé."), Passage("en", "It rained.")]
    )
    assert index.search("東京")[0].key == "ja"
    assert index.search("CAFE fermé")[0].key == "fr"


def test_candidates_are_looked_up_by_terms_and_their_kin() -> None:
    """Its own terms count fully, others less."""
    wanted = lookups(ParsedQuery.of("Which pets does Ada have?", names=["Ada"]))
    assert wanted["pet"] == 1
    assert 0 < wanted["dog"] < 1
    assert "ada" not in wanted


@settings(max_examples=60)
@given(PASSAGES, st.one_of(TEXTS, WORDS.map(" ".join)), st.one_of(st.none(), st.floats(allow_nan=False)))
def test_any_text_is_searched_with_scores_from_0_to_1_in_order(
    talk: list[Passage], text: str, now: float | None
) -> None:
    """Nothing raises but a query for nothing; the same input has the same answer, whatever order it came in."""
    index = Index(talk)
    try:
        hits = index.search(text, 50, now)
    except ValueError:
        assert not any(character.isalnum() for character in text)
        return
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.key for hit in hits}) == len(hits)
    assert Index(talk).search(text, 50, now) == hits
    assert index.search(text, 2, now) == hits[:2]


def test_what_tells_least_is_not_looked_for_where_there_is_too_much_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rare word is found among all, and a common one by itself is, too."""
    monkeypatch.setattr("benchmarks.exact.MOST_POSTINGS", 4)
    index = Index([Passage(str(each), "oats and barley", time=float(each)) for each in range(9)])
    index.add([Passage("rare", "oats for the barge", time=0.0)])
    assert [hit.key for hit in index.search("Which barge has oats?", 1)] == ["rare"]
    assert len(index.candidates(ParsedQuery.of("Which barge has oats?"), 1)) == 1
    assert len(index.search("Which barge has oats?", 5)) == 5
    assert index.search("oats", 1)[0].key == "8"


def test_what_stands_in_no_row_is_found_by_its_words_alone() -> None:
    """Passages of no group have no neighbours, whatever their places."""
    index = Index([Passage("a", "The barge is late."), Passage("b", "Sheep."), Passage("c", "Gate.", position=1)])
    assert [hit.key for hit in index.search("barge")] == ["a"]


def test_days_that_are_spoken_of_count_only_where_they_meet_those_asked_about() -> None:
    """Of those that say the same, who speaks of the day comes first, or who said it then."""
    said = at("2031-08-01")
    index = Index(
        [
            Passage("a", "The ferry broke down on 3 May 2031.", "", said, "a", 0),
            Passage("b", "The ferry broke down on 9 July 2031.", "", said, "b", 0),
            Passage("c", "The ferry broke down.", "", at("2031-07-10"), "c", 0),
        ]
    )
    assert index.search("What broke down on 3 May 2031?", now=NOW)[0].key == "a"
    assert {hit.key for hit in index.search("What broke down in July 2031?", 2, NOW)} == {"b", "c"}


def test_verb_is_found_in_its_other_forms_when_a_noun_looks_like_one_of_them() -> None:
    """Who lives somewhere is asked for more often than how many lives somebody has."""
    home, rain = Passage("home", "Ann lives in Oslo."), Passage("rain", "Ann likes rain.")
    (first, *_) = Index([home, rain]).search("where does Ann live")
    assert first.key == "home"
    assert first.score > MIN_RELEVANCE


class Many(NamedTuple):
    """So many passages, of which nothing else is known."""

    passages: int

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return nothing: all terms are rare."""
        del terms
        return {}


def test_the_same_hit_tells_less_among_very_many() -> None:
    """Where there is much, much is found by chance; among few nothing changes."""
    passage = Passage("a", "The ferry was late.")
    scores = [
        score(ParsedQuery.of("the late harbour"), [PreparedPassage(passage, features_of(passage))], Many(passages))[
            0
        ].score
        for passages in (1, 600, 10_000, 1_000_000)
    ]
    assert scores[0] == scores[1] > scores[2] > scores[3] > 0
