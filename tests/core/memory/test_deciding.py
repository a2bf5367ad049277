"""What becomes of facts: the same is stored once, a changed one replaces, and nobody replaces who is trusted more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.core.memories import Memory, View
from squidbot.core.memory.extract import extract
from squidbot.core.memory.facts import FactCandidate, Utterance, memory_of, slot_of
from squidbot.core.memory.learning import LearningContext, LearningPlan, decide, learning_plan

from .shelves import ANN, BEN, NOW, SessionContext, fact, shelf

PLACE = LearningContext(View(ANN), "s1", NOW)


def taught(store: SessionContext, *texts: str) -> list[LearningPlan]:
    """Have a store learn of messages, one after the other, a second apart."""
    done: list[LearningPlan] = []
    for text in texts:
        seq = len(store.memories) * 10 + len(done)
        said = Utterance("user", text, seq, NOW + seq)
        outcome = learning_plan(extract([said]), store, PLACE)
        store.add(outcome.memories, places=outcome.places)
        done.append(outcome)
    return done


def held(store: SessionContext) -> list[str]:
    """Return what holds, oldest first."""
    return [one.text for one in reversed(store.listed(View(ANN)))]


CHANGES = [
    (["I live in Paris", "I moved to Berlin"], ["The user: I moved to Berlin."]),
    (["I prefer tabs", "I now prefer spaces"], ["The user: I now prefer spaces."]),
    (["I prefer tabs over spaces", "I prefer spaces"], ["The user: I prefer spaces."]),
    (["I prefer short emails", "I now prefer long emails"], ["The user: I now prefer long emails."]),
    (["I prefer Python for scripts", "I prefer Lua for scripts"], ["The user: I prefer Lua for scripts."]),
    (["I like tea", "I don't like tea"], ["The user: I don't like tea."]),
    (["I use vim", "I switched from vim to helix"], ["The user: I switched from vim to helix."]),
    (["I use vim", "I no longer use vim"], ["The user: I no longer use vim."]),
    (["I use vim", "I stopped using vim"], ["The user: I stopped using vim."]),
    (["I live in Paris", "I no longer live in Paris"], ["The user: I no longer live in Paris."]),
    (["I no longer live in Paris", "I live in Paris"], ["The user: I live in Paris."]),
    (["I work at Acme", "I don't work at Acme anymore"], ["The user: I don't work at Acme anymore."]),
    (["I always eat meat", "I don't eat meat"], ["The user: I don't eat meat."]),
    (["My timezone is CET", "My time zone is EST"], ["The user: My time zone is EST."]),
    (["I no longer use vim", "I use vim"], ["The user: I use vim."]),
    (["I always eat meat", "I never eat meat"], ["The user: I never eat meat."]),
    (["My favourite colour is red", "My favourite colour is blue"], ["The user: My favourite colour is blue."]),
    (["We use Redis for caching", "We use SQLite for caching"], ["The user: We use SQLite for caching."]),
    (["The deploy branch is main", "The deploy branch is next"], ["The user: The deploy branch is next."]),
    (["Always answer in German", "From now on, answer in English"], ["From now on, answer in English."]),
    (["I work at Acme", "I joined Globex"], ["The user: I joined Globex."]),
    (["I'm 34", "I'm 35"], ["The user: I'm 35."]),
]

BESIDE = [
    ["I like tea", "I like cocoa"],
    ["I prefer tabs", "I prefer tea"],
    ["I prefer short emails", "I prefer long emails"],
    ["I use vim", "I use tmux"],
    ["I live in Berlin", "I no longer live in Paris"],
    ["I work at Acme", "I no longer work at Globex"],
    ["My dog is called Rex", "My dog is called Bo"],
    ["We use Redis for caching", "We use Redis for queues"],
    ["I live in Oslo", "I'm from Oslo"],
    ["I'm a nurse", "I'm a beekeeper"],
]


@pytest.mark.parametrize(("texts", "expected"), CHANGES)
def test_changed_fact_replaces_and_the_old_one_is_kept(texts: list[str], expected: list[str]) -> None:
    """Visibly: the new one names it."""
    store = shelf()
    _, last = taught(store, *texts)
    assert held(store) == expected
    (new,) = last.memories
    assert store.memories[new.supersedes].superseded_by == new.memory_id
    assert len(store.memories) == 2


@pytest.mark.parametrize("texts", BESIDE)
def test_fact_about_something_else_stands_beside(texts: list[str]) -> None:
    """Nothing is lost where two may hold."""
    store = shelf()
    taught(store, *texts)
    assert len(held(store)) == 2


@pytest.mark.parametrize(
    "texts",
    [
        ["I live in Oslo", "So I live in Oslo!"],
        ["I prefer tabs over spaces", "I prefer tabs"],
        ["I live in East Oslo", "I live in Oslo"],
        ["Remember that the gate code changes weekly", "remember that the gate code changes weekly"],
    ],
)
def test_same_fact_is_stored_once(texts: list[str]) -> None:
    """Said in the same or in fewer words."""
    store = shelf()
    _, last = taught(store, *texts)
    assert last.memories == ()
    assert [one.why for one in last.skipped] == ["said before"]
    assert len(store.memories) == 1


def test_change_back_is_a_change() -> None:
    """Three facts, the last of which holds."""
    store = shelf()
    taught(store, "I live in Oslo", "I live in Bonn", "I live in Oslo")
    assert held(store) == ["The user: I live in Oslo."]
    assert len(store.memories) == 3


def test_changes_within_one_exchange_follow_each_other() -> None:
    """Each beside those before it."""
    store = shelf()
    (outcome,) = taught(store, "I live in Oslo. I moved to Bonn. I live in Graz.")
    first, second, third = outcome.memories
    assert (second.supersedes, third.supersedes) == (first.memory_id, second.memory_id)
    assert held(store) == ["The user: I live in Graz."]


HOMES = ["I moved to Berlin", "I no longer live in Paris", "I live in Paris"]


@pytest.mark.parametrize("texts", [HOMES, [". ".join(HOMES)], [HOMES[0], ". ".join(HOMES[1:])]])
def test_fact_takes_the_places_of_all_that_it_ends(texts: list[str]) -> None:
    """Whoever lives in Paris lives nowhere else, and has not left it; said one by one, or at once."""
    store = shelf()
    taught(store, *texts)
    assert held(store) == ["The user: I live in Paris."]
    assert len(store.memories) == 3


def test_what_had_taken_a_place_gives_it_on() -> None:
    """Of three in one message the last one stands in the places of all."""
    store = shelf()
    taught(store, "I moved to Berlin. I no longer live in Paris. I live in Paris. I live in Rome.")
    (new,) = store.listed(View(ANN))
    assert new.text == "The user: I live in Rome."
    assert not any(store.memories[place.superseded_by].superseded_by for place in taken_places(store))


def taken_places(store: SessionContext) -> list[Memory]:
    """Return what was replaced by something that it does not say itself that it replaced."""
    past = [memory for memory in store.memories.values() if memory.superseded_by]
    return [one for one in past if store.memories[one.superseded_by].supersedes != one.memory_id]


def home(text: str, **more: object) -> FactCandidate:
    """Return a candidate about where the user lives."""
    made = FactCandidate(text, "core", "user", 1, 1, NOW, slot="user/home")
    return replace(made, **more)  # type: ignore[arg-type]  # fields


def kept(candidate: FactCandidate) -> Memory:
    """Return the memory that a candidate is."""
    return memory_of(candidate, ANN, "s0", NOW)


def test_less_trusted_fact_never_replaces() -> None:
    """What the assistant wrote is no correction of what the user said; the other way round it is."""
    user, assistant = home("Lives in Oslo."), home("Lives in Bonn.", trust="assistant")
    (passed,) = decide([assistant], [kept(user)], PLACE).skipped
    assert passed.why == "less trusted"
    (new,) = decide([user], [kept(assistant)], PLACE).memories
    assert new.supersedes == kept(assistant).memory_id
    named = replace(home("Lives in Rome.", trust="tool"), slot="", replaces=kept(user).memory_id)
    assert decide([named], [kept(user)], PLACE).memories == ()


def test_same_fact_of_somebody_more_trusted_takes_the_place() -> None:
    """The user confirms what the assistant noted."""
    noted = kept(home("Lives in Oslo.", trust="assistant"))
    (new,) = decide([home("Lives in Oslo.")], [noted], PLACE).memories
    assert (new.supersedes, new.trust) == (noted.memory_id, "user")
    assert decide([home("Lives in Oslo.", trust="tool")], [noted], PLACE).memories == ()


def test_older_fact_never_replaces_a_newer_one() -> None:
    """Whoever imports last year's conversations learns nothing about today."""
    old = home("Lives in Bonn.", time=NOW - 99)
    (passed,) = decide([old], [kept(home("Lives in Oslo."))], PLACE).skipped
    assert passed.why == "older"


def test_forgotten_fact_does_not_come_back_by_itself() -> None:
    """Whoever reads the same messages again finds it again; it is passed over, and told."""
    store = shelf()
    (outcome,) = taught(store, "I live in Oslo. I like tea.")
    gone, stays = outcome.memories
    store.forget([gone.memory_id], "asked")
    said = [Utterance("user", "I live in Oslo. I like tea.", 0, NOW)]
    again = learning_plan(extract(said), store, PLACE)
    assert {(one.why, one.memory_id) for one in again.skipped} == {
        ("forgotten", gone.memory_id),
        ("said before", stays.memory_id),
    }
    assert again.memories == ()


def test_facts_of_another_user_are_neither_compared_nor_replaced() -> None:
    """They are not even seen."""
    store = shelf(replace(kept(home("Lives in Bonn.")), scope=BEN))
    assert learning_plan([home("Lives in Oslo.")], store, PLACE).memories[0].supersedes == ""


def test_memory_that_was_added_by_hand_counts_by_its_words() -> None:
    """It has no slot."""
    store = shelf(fact("The user: I like tea."))
    (outcome,) = taught(store, "I like tea")
    assert outcome.memories == ()


def test_nothing_is_asked_of_a_store_for_nothing() -> None:
    """Most turns say nothing that lasts."""
    assert learning_plan([], shelf(), PLACE) == LearningPlan((), ())


TEXTS = st.sampled_from([text for texts, _ in CHANGES for text in texts] + [text for texts in BESIDE for text in texts])


@example(["I moved to Berlin", "I no longer live in Paris", "I live in Paris"])
@example(["I use vim", "I no longer use helix", "I switched from vim to helix", "I use vim"])
@given(st.lists(TEXTS, max_size=8))
def test_learning_again_changes_nothing_and_loses_nothing(texts: list[str]) -> None:
    """The same messages once more: no memory comes or goes; and of each subject one fact holds."""
    store = shelf()
    said = [Utterance("user", text, seq, NOW + seq) for seq, text in enumerate(texts)]
    for one in said:
        made = learning_plan(extract([one]), store, PLACE)
        store.add(made.memories, places=made.places)
    before = dict(store.memories)
    listed = store.listed(View(ANN), limit=1_000)
    slots = [slot_of(one) for one in listed if slot_of(one)]
    assert len(slots) == len(set(slots))
    store.add(learning_plan(extract(said[-1:]), store, PLACE).memories)
    assert store.memories == before
