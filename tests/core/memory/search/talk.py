"""A small conversation made up for these tests."""

from __future__ import annotations

from datetime import UTC, datetime

from squidbot.core.memories import Passage

__all__ = ["NOW", "TALK", "at", "passages"]

DAY_SECONDS = 86_400.0


def at(day: str) -> float:
    """Return noon of a day, as seconds since 1970."""
    return datetime.fromisoformat(f"{day}T12:00:00").replace(tzinfo=UTC).timestamp()


NOW = at("2031-09-01")
TALK = {
    "2031-03-04": (
        ("Ada", "Hello Bo! How was your weekend?"),
        ("Bo", "Great, I repaired the gate of the sheep pen yesterday. Took me four hours."),
        ("Ada", "What else did you do?"),
        ("Bo", "Nothing, I slept."),
        ("Ada", "I bought a blue kettle at the flea market."),
    ),
    "2031-05-20": (
        ("Bo", "Guess what, my sister Ilse visited me last week."),
        ("Ada", "Lovely! Where does she live now?"),
        ("Bo", "In Tromsø, she has a small bakery there."),
        ("Ada", "My cello teacher moved away, so I stopped playing."),
        ("Bo", "Oh no. That is sad."),
    ),
    "2031-08-11": (
        ("Ada", "Two herons stood in the pond this morning."),
        ("Bo", "The ferry to the island was late again."),
        ("Ada", "I am reading a novel about lighthouses by Moss."),
        ("Bo", "Is it any good?"),
        ("Ada", "Slow, but I like it."),
    ),
}


def passages() -> list[Passage]:
    """Return its turns, their keys by session and place."""
    return [
        Passage(f"{day}/{place}", text, speaker, at(day), day, place)
        for day, turns in TALK.items()
        for place, (speaker, text) in enumerate(turns)
    ]
