"""What ids stand for, and how wrong ones are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import RecallError
from squidbot.core.messages import Cost, Summary
from squidbot.core.recall.history import RecallRange, resolve, run_id


def stored() -> InMemoryStore:
    """Return a store with one summary."""
    store = InMemoryStore()
    store.put(Summary("s2-7.beef", "s", 2, 7, "summary:merged", "text", Cost(1, 1), "words", "digest", "extract/1"))
    return store


def run_of(text: str, messages: int = 10) -> RecallRange:
    """Return what an id stands for in a session of so many messages."""
    return resolve(text, messages, stored(), "s")


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("m3", RecallRange(3, 3, alone=True)),
        ("m3-m5", RecallRange(3, 5)),
        ("m3-5", RecallRange(3, 5)),
        ("m3-m3", RecallRange(3, 3)),
        ("s2-7.beef", RecallRange(2, 7)),
        ("recall m3", RecallRange(3, 3, alone=True)),
        (" [recall s2-7.beef] ", RecallRange(2, 7)),
        ('"M3 to m5".', RecallRange(3, 5)),
        ("m8-m99", RecallRange(8, 9)),
    ],
)
def test_id_stands_for_its_messages(text: str, run: RecallRange) -> None:
    """As requests show it, or with what stands around it there; a run that goes on too far ends with the transcript."""
    assert run_of(text) == run


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "m", "s2-7", "s2-7.dead", "m5-m3", "m-1", "m1.5", "12", "\0", "\ud800", "m3\0", "../../etc/passwd",
        "m\u0663", "m" + "9" * 10_000, "s" * 10_000, "m3-m", "m3 m5", "'; drop table messages; --", "recall",
        "recall recall m3",
    ],
)  # fmt: skip
def test_strange_id_is_refused_with_what_ids_look_like(text: str) -> None:
    """In a text that is short, has no control character, and can be sent."""
    with pytest.raises(RecallError, match="ids look like m17, m17-m40 or s12-80") as caught:
        run_of(text)
    assert len(str(caught.value)) < 300
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()


def test_message_that_is_not_there_yet_is_refused_with_those_that_are() -> None:
    """So that the next try is right."""
    with pytest.raises(RecallError, match="m10 is not recorded: the session has m0 to m9"):
        run_of("m10-m12")
    with pytest.raises(RecallError, match="the session is empty"):
        run_of("m0", messages=0)


def test_summary_of_another_session_is_unknown() -> None:
    """Scopes never leak."""
    with pytest.raises(RecallError):
        resolve("s2-7.beef", 10, stored(), "another")


@given(text=st.text())
def test_any_text_is_an_id_or_refused(text: str) -> None:
    """Nothing else is raised, and nothing outside of the transcript comes out."""
    try:
        run = run_of(text)
    except RecallError:
        return
    assert 0 <= run.first_seq <= run.last_seq <= 9


@given(first=st.integers(0, 10**12), more=st.integers(0, 10**6))
def test_name_of_a_run_stands_for_it(first: int, more: int) -> None:
    """There and back."""
    assert run_of(run_id(first, first + more), first + more + 1)[:2] == (first, first + more)
