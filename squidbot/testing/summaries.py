"""What a SummaryStore promises, as a check."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.messages import Cost, Summary
from squidbot.testing.values import ODD_IDS, ODD_TEXTS, closed_after, made_summary, refuses

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.ports import SummaryStore

__all__ = ["check_summary_store"]


def check_summary_store(factory: Callable[[], SummaryStore]) -> None:
    """Check the promises of `ports.SummaryStore`.

    Promised: a summary comes back equal in every field; storing it again does nothing, and a different one under its
    id is refused; `by_id` answers in the order asked for, `for_range` with what lies wholly inside, by first seq and
    then id; sessions don't see each other's; what is removed is gone.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    for check in (
        _checks_put, _checks_by_id, _checks_for_range, _checks_summary_texts, _checks_summary_sessions, _checks_remove,
    ):  # fmt: skip
        with closed_after(factory()) as store:
            check(store)


def _checks_put(store: SummaryStore) -> None:
    summary = made_summary("a", 0, 9, text="They chose SQLite.")
    store.put(summary)
    store.put(replace(summary))
    for other in (
        replace(summary, text="They chose files."),
        replace(summary, last_seq=8),
        replace(summary, level="merged"),
    ):
        refuses("another summary under a stored id", store.put, other)
    got = store.by_id("s", ["a"])
    assert got == [summary], f"the first summary under an id stays, every field as it was: got {got}"


def _checks_by_id(store: SummaryStore) -> None:
    for name in ("a", "b", "c"):
        store.put(made_summary(name, 0, 1, text=name))
    names = [summary.summary_id for summary in store.by_id("s", ["c", "nobody", "a"])]
    assert names == ["c", "a"], f"by_id answers in the order asked for, unknown ones left out: got {names}"
    assert store.by_id("s", []) == [], "by_id of nothing is nothing"
    assert store.by_id("unknown", ["a"]) == [], "an unknown session has no summaries"


def _checks_for_range(store: SummaryStore) -> None:
    for name, first, last in (("d", 5, 9), ("b", 0, 4), ("a", 5, 9), ("c", 0, 9), ("\ud800", 5, 5), ("\uffff", 5, 5)):
        store.put(made_summary(name, first, last))
    for first, last, due in (
        (0, 9, ["b", "c", "a", "d", "\ud800", "\uffff"]),
        (5, 9, ["a", "d", "\ud800", "\uffff"]),
        (0, 8, ["b", "\ud800", "\uffff"]),
        (1, 4, []),
        (9, 0, []),
        (-5, 10**9, ["b", "c", "a", "d", "\ud800", "\uffff"]),
    ):
        names = [summary.summary_id for summary in store.for_range("s", first, last)]
        assert names == due, (
            f"for_range({first}, {last}) is what lies inside, by first seq, then id: {due!a}, got {names!a}"
        )
    assert store.for_range("unknown", 0, 9) == [], "an unknown session has no summaries"


def _checks_summary_texts(store: SummaryStore) -> None:
    for text in ODD_TEXTS:
        summary = Summary(f"id {text}", "s", 0, 1, text, text, Cost(1, 2), text, text, text)
        store.put(summary)
        got = store.by_id("s", [summary.summary_id])
        assert got == [summary], f"a summary comes back character by character: sent {summary!a}, got {got!a}"


def _checks_summary_sessions(store: SummaryStore) -> None:
    for number, session_id in enumerate(ODD_IDS):
        store.put(made_summary("same id", 0, 1, session_id=session_id, text=str(number)))
    for number, session_id in enumerate(ODD_IDS):
        texts = [summary.text for summary in store.for_range(session_id, 0, 9)]
        assert texts == [str(number)], f"{session_id[:40]!a} has its own summaries: got {texts}"
    refuses("an empty session id", store.put, made_summary("a", 0, 1, session_id=""))


def _checks_remove(store: SummaryStore) -> None:
    for session_id in ("s", "t"):
        for name in ("a", "b", "\ud800"):
            store.put(made_summary(name, 0, 1, session_id=session_id, text=name))
    store.remove("s", ["\ud800", "nobody", "a", "a"])
    left = [summary.summary_id for summary in store.for_range("s", 0, 9)]
    assert left == ["b"], f"what is removed is gone, the others stay: got {left!a}"
    assert store.by_id("s", ["a", "\ud800"]) == [], "by_id leaves out what was removed"
    assert len(store.for_range("t", 0, 9)) == 3, "other sessions keep their summaries of the same ids"
    store.remove("s", [])
    store.remove("unknown", ["b"])
    assert [summary.text for summary in store.by_id("s", ["b"])] == ["b"], "removing nothing changes nothing"
    store.put(made_summary("a", 0, 1, text="another"))
    assert [summary.text for summary in store.by_id("s", ["a"])] == ["another"], "an id that was removed is free again"
