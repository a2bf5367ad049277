"""Pins as stored records leave them."""

from __future__ import annotations

import json

from squidbot.core.messages import Record
from squidbot.core.plan import Section
from squidbot.core.transcript.pins import PIN, Pins


def pins(*bodies: object) -> Pins:
    """Return the pins of records with these bodies, in order."""
    return Pins.of([PIN.read(Record(PIN.name, number, json.dumps(body))) for number, body in enumerate(bodies)])


def test_session_without_records_has_no_pins() -> None:
    """And the next record is number 0."""
    assert pins() == Pins(frozenset(), (), 0)


def test_newest_record_of_a_message_wins() -> None:
    """Pinned, taken away, pinned again; taken away twice."""
    on, off = {"seq": 3, "on": True}, {"seq": 3, "on": False}
    assert pins(on).seqs == {3}
    assert pins(on, off).seqs == frozenset()
    assert pins(on, off, on, {"seq": 5, "on": True}).seqs == {3, 5}
    assert pins(off, off) == Pins(frozenset(), (), 2)


def test_texts_stand_in_the_order_in_which_they_were_first_set() -> None:
    """The newest text of a name in its first place; an empty one takes it away."""
    made = pins({"name": "goal", "text": "a"}, {"name": "plan", "text": "b"}, {"name": "goal", "text": "c"})
    assert made.texts == (Section("pin goal", "c"), Section("pin plan", "b"))
    assert pins({"name": "goal", "text": "a"}, {"name": "goal", "text": ""}).texts == ()
