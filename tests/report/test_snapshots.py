"""Figures that are kept: when they are made anew, what a page lacks, and how much is kept."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from squidbot.core.errors import NotFoundError
from squidbot.core.transcript.identity import SessionIdentity
from squidbot.report.data import ReportData
from squidbot.report.snapshots import MOST_VERSIONS, ReportCache


class Session:
    """A session of a test: its messages, and the cache that shows it; building takes half a second of a clock."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  # as the cache takes them
        """Begin with a message."""
        self.now, self.computed, self.builds = 100.0, 0.0, 0
        self.texts = ["m0"]
        clocks: dict[str, Any] = {"clock": lambda: self.now, "spent": lambda: self.computed}
        self.cache = ReportCache(self.build, self.identity, **clocks, **options)

    def identity(self, _: str) -> SessionIdentity:
        """Return how many messages there are."""
        return SessionIdentity(len(self.texts), 0, "")

    def build(self, name: str, _: object) -> ReportData:
        """Return the data: a message for each text, and behind all texts one that belongs to a part."""
        self.builds += 1
        self.now += 0.5
        self.computed += 0.5
        texts = [*dict.fromkeys([*self.texts, f"note of {name}"])]
        rows = [{"id": at, "text": texts.index(text)} for at, text in enumerate(self.texts)]
        values = {"messages": rows, "parts": [{"text": len(texts) - 1}], "count": len(rows), "session": name}
        return ReportData(values, texts)

    def page(self, before: dict[str, Any] | None = None, name: str = "s") -> dict[str, Any]:
        """Return the values of a page that had others."""
        made = self.cache.figures(name, before["version"] if before else "")
        if made.body is None:
            assert before is not None
            return before
        body = json.loads(made.body)
        lists = {
            key: [*((before or {}).get(key, ())[: part["keep"]]), *part["add"]] for key, part in body["lists"].items()
        }
        assert body["since"] is not None or all(part["keep"] == 0 for part in body["lists"].values())
        return {**body["values"], **lists, "version": made.version, "since": body["since"]}

    def text(self, page: dict[str, Any], number: int, name: str = "s") -> str:
        """Return a text as a page asks for it."""
        return self.cache.text(name, page["version"].partition(".")[0], number)


def test_a_text_keeps_its_number() -> None:
    """Although later messages stand before the texts of parts."""
    session = Session()
    first = session.page()
    session.texts.append("m1")
    session.now += 60
    second = session.page(first)
    assert second["parts"] == first["parts"]
    assert [session.text(second, row["text"]) for row in second["messages"]] == ["m0", "m1"]
    assert session.text(second, second["parts"][0]["text"]) == "note of s"


def test_pages_of_any_age_get_what_they_lack() -> None:
    """Each the same in the end; one that is too old, or of another run, gets all."""
    session, old = Session(), list[dict[str, Any]]()
    for number in range(MOST_VERSIONS + 5):
        old.append(session.page())
        session.texts.append(f"m{number + 1}")
        session.now += 60
    newest = session.page()
    for age, page in enumerate(reversed(old), 1):
        made = session.page(page)
        assert {**made, "since": None} == newest
        assert (made["since"] is not None) is (age <= MOST_VERSIONS)
    assert session.page({"version": "nothing.1"})["since"] is None


def test_a_change_within_a_list_is_sent_from_there_on() -> None:
    """A message that was pinned, or forgotten."""
    session = Session()
    session.texts += ["m1", "m2"]
    first = session.page()
    session.texts = ["m0", "m1 changed", "m2", "m3"]
    session.now += 60
    second = session.page(first)
    assert [session.text(second, row["text"]) for row in second["messages"]] == session.texts
    with pytest.raises(NotFoundError):
        session.text(first, 0)  # a text is gone: numbers begin anew, and what was forgotten is not kept


def test_it_rests_ten_times_as_long_as_it_takes() -> None:
    """Meanwhile the old figures are there, and the page is told when to ask again."""
    session = Session()
    first = session.page()
    session.texts.append("m1")
    for passed, due in ((0.0, 5.0), (2.0, 3.0), (4.0, 1.0)):
        session.now = 100.5 + passed
        made = session.cache.figures("s", first["version"])
        assert made.body is None
        assert made.again_seconds == pytest.approx(due)
    assert session.builds == 1
    session.now = 105.5
    made = session.cache.figures("s", first["version"])
    assert (made.body is None, made.again_seconds, session.builds) == (False, None, 2)


def test_one_thread_builds_and_all_get_it() -> None:
    """Twenty pages that open at once."""
    session = Session()
    pages = [threading.Thread(target=session.page) for _ in range(20)]
    for page in pages:
        page.start()
    for page in pages:
        page.join()
    assert session.builds == 1


def test_what_is_kept_is_bounded() -> None:
    """The sessions that were asked for last; the newest whatever its size."""
    session = Session(most_chars=5_000)
    session.texts = ["x" * 1_500]
    for number in range(50):
        session.page(name=f"s{number}")
        assert session.cache.chars <= 5_000
    session.page(name="s49")
    assert session.builds == 50
    session.texts = ["y" * 100_000]
    page = session.page(name="long")
    assert session.cache.chars > 100_000
    assert session.text(page, 0, "long") == "y" * 100_000
    session.cache.drop()
    assert session.cache.chars == 0
