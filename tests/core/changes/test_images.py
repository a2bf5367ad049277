"""Pictures beyond a number give way at an event, before all else, and nothing else of their messages does (P-10)."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.adapters.stdlib import InMemoryStore

from ..promises.driver import CODEC, Host, Setup, changed, opened, requests
from ..promises.rules import breaks_at

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/p.png", "detail": "low"}}
SETUP = changed(Setup(8192), min_saving_fraction=0.0, low_fraction=0.5)


def said(role: str, text: str, pictures: int = 0) -> Message:
    """Return a message that shows so many pictures behind its words."""
    return CODEC.to_message({"role": role, "content": [{"type": "text", "text": text}, *[PICTURE] * pictures]})


def shown(made: CoreAssembly) -> list[str]:
    """Return what a request shows in the order of its pictures: "picture", or the text in the place of one."""
    found = []
    for payload in made.payloads:
        content = json.loads(payload)["content"]
        for part in content if isinstance(content, list) else []:
            if part["type"] == "image_url":
                found.append("picture")
            elif part["text"].startswith("[image "):
                found.append(part["text"])
    return found


def talk(pictures: Sequence[int], words: int = 20) -> list[Message]:
    """Return turns: a question with so many pictures, an answer in words."""
    turns = [
        (
            said("user", f"question {turn} " + "word " * words, each),
            said("assistant", f"answer {turn} " + "so " * words),
        )
        for turn, each in enumerate(pictures)
    ]
    return [message for turn in turns for message in turn]


def run(pictures: Sequence[int], setup: Setup = SETUP, *, restarts: frozenset[int] = frozenset()) -> Host:
    """Return a host that has had such a talk."""
    host = Host(InMemoryStore(), setup, restarts=restarts)
    host.run(talk(pictures))
    return host


def test_oldest_pictures_give_way_alone_when_that_is_enough() -> None:
    """Five are left, one by one: of a message with three the first goes; what was said stays word for word (P-10)."""
    host = run([3, 3, 3, 3, 0])
    session = host.session
    before = requests(host.calls)[-1]
    assert shown(before) == ["picture"] * 12
    plan = session.compact()
    assert plan is not None
    assert plan.imageless == ((0, 3), (2, 3), (4, 1))
    assert plan.segments == ()
    made = session.preview()
    assert shown(made) == [
        *(f"[image {number} of 3: stored, not shown; recall m0]" for number in (1, 2, 3)),
        *(f"[image {number} of 3: stored, not shown; recall m2]" for number in (1, 2, 3)),
        "[image 1 of 3: stored, not shown; recall m4]",
        *["picture"] * 5,
    ]
    texts = [json.loads(payload)["content"] for payload in made.payloads]
    words = [text[0]["text"] for text in texts if isinstance(text, list)]
    assert words == [message.text for message in talk([3, 3, 3, 3, 0])]
    assert plan.tokens_before - plan.tokens_after > 7 * 250
    assert {span.how for span in made.report.spans} == {"verbatim", "slimmed"}


def test_newest_step_and_pins_keep_their_pictures() -> None:
    """Whatever their number; the others go by the number that the settings say."""
    host = run([2, 2, 2], changed(SETUP, most_images=0))
    session = host.session
    session.pin(0)
    plan = session.compact()
    assert plan is not None
    assert plan.imageless == ((2, 2),)


def test_picture_is_a_fact_of_the_transcript_whatever_is_sent() -> None:
    """What is stored is as it was said; undo sends it again, byte for byte."""
    host = run([4, 4, 0])
    session = host.session
    former = requests(host.calls)[-1].payloads
    assert session.compact() is not None
    assert "[image 1 of 4" in "".join(session.preview().payloads)
    assert all("[image " not in row.payload for row in host.store.read("s", 0, 5))
    session.undo()
    assert session.preview().payloads[: len(former)] == former


@given(
    pictures=st.lists(st.integers(0, 4), min_size=4, max_size=10),
    most=st.integers(0, 6),
    restarts=st.frozensets(st.integers(0, 10)),
)
def test_requests_grow_behind_what_is_left_of_pictures(
    pictures: list[int], most: int, restarts: frozenset[int]
) -> None:
    """Never over budget; between events each extends the one before it; restarts send the same bytes (P-10)."""
    setup = changed(Setup(4096), most_images=most, min_saving_fraction=0.0)
    host, again = run(pictures, setup), run(pictures, setup, restarts=restarts)
    sent = requests(host.calls)
    assert [one.payloads for one in sent] == [request.payloads for request in requests(again.calls)]
    for before, after in pairwise(sent):
        assert after.cost.bound <= after.limit.bound
        assert after.event is not None or breaks_at(before, after) is None
    for made in (one for one in sent if one.event is not None and one.event.imageless):
        assert shown(made).count("picture") <= most + 2 * max(pictures)


def test_another_process_sends_the_same_after_pictures_have_gone() -> None:
    """And goes on behind it."""
    host = run([3, 3, 3, 1])
    session = host.session
    assert session.compact() is not None
    session.record(said("user", "and now?"))
    assert session.preview().payloads == opened(host.store, SETUP).preview().payloads


@pytest.mark.parametrize("most", [5, 12])
def test_pictures_stay_where_nothing_presses(most: int) -> None:
    """An event that comes from elsewhere changes no picture, and neither do more of them."""
    host = run([3, 3, 3, 3], changed(SETUP, most_images=most))
    assert all(request.event is None for request in requests(host.calls))
    assert shown(requests(host.calls)[-1]) == ["picture"] * 12


def test_pictures_beyond_the_number_are_told_as_texts_at_an_event(tmp_path: Path) -> None:
    """Six questions with one each: three are left; in a new process the request is the same (P-10)."""
    settings: dict[str, object] = {
        "store": {"path": str(tmp_path / "s.db")},
        "images": {"max": 3},
        "pressure": {"low_water_fraction": 0.6},
    }
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/p.png"}}
    sent = []
    for turns in (6, 0):
        with squidbot.load(settings) as engine:
            session = engine.session("s", window_tokens=32_000)
            for turn in range(turns):
                asked = {"role": "user", "content": [{"type": "text", "text": f"question {turn}"}, picture]}
                session.record(session.assemble(asked).incoming, f"answer {turn}")
            if turns:
                session.compact()
            sent.append(session.preview().messages)
    assert sent[0] == sent[1]
    text = json.dumps(sent[0])
    assert text.count("https://example.org/p.png") == 3
    assert [f"recall m{seq}]" in text for seq in range(0, 12, 2)] == [True] * 3 + [False] * 3
    assert [f"question {turn}" in text for turn in range(6)] == [True] * 6
