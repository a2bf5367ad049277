"""What is never dropped nor summarized: pinned messages, and pinned texts in the head of the request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Record
from squidbot.core.plan import Section

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Pins"]

KIND = "pin"


@dataclass(frozen=True, slots=True)
class Pins:
    """The pins of a session: `seqs` of messages, `texts` by name in the order in which they were first set.

    `goals` are what the head says of goals (`core.goals`), which no record of a pin holds; None where no call has ever
    changed any. `documents` are what it says of documents (`core.contexts`).
    """

    seqs: frozenset[int] = frozenset()
    texts: tuple[Section, ...] = ()
    count: int = 0
    goals: tuple[Section, ...] | None = None
    documents: tuple[Section, ...] = ()

    @classmethod
    def of(cls, records: Iterable[Record], goals: tuple[Section, ...] | None = None) -> Pins:
        """Return the pins that records of the kind "pin" leave, the newest winning, beside `goals`.

        Raises:
            DamagedStoreError: a record is no pin.
        """
        seqs: set[int] = set()
        texts: dict[str, str] = {}
        count = 0
        for record in records:
            count = record.number + 1
            try:
                _apply(json.loads(record.body), seqs, texts)
            except (ValueError, KeyError, TypeError) as error:
                raise DamagedStoreError(f"pin {record.number} can't be read: {error}") from error
        named = tuple(Section(f"pin {name}", text) for name, text in texts.items() if text)
        return cls(frozenset(seqs), named, count, goals)

    def records(self, bodies: Iterable[Mapping[str, object]]) -> list[Record]:
        """Return the records of further pins, to store behind those there are."""
        written = (json.dumps(body, separators=(",", ":")) for body in bodies)
        return [Record(KIND, number, body) for number, body in enumerate(written, self.count)]

    def back_to(self, then: Pins) -> Iterator[Mapping[str, object]]:
        """Yield the pins to add, as their records have them, so that what is pinned is what was pinned `then`."""
        yield from ({"seq": seq, "on": True} for seq in sorted(then.seqs - self.seqs))
        yield from ({"seq": seq, "on": False} for seq in sorted(self.seqs - then.seqs))
        now, before = _named(self.texts), _named(then.texts)
        yield from ({"name": name, "text": text} for name, text in before.items() if now.get(name) != text)
        yield from ({"name": name, "text": ""} for name in now if name not in before)


def _named(texts: Iterable[Section]) -> dict[str, str]:
    return {section.name.removeprefix("pin "): section.text for section in texts}


def _apply(pin: dict[str, object], seqs: set[int], texts: dict[str, str]) -> None:
    if "name" in pin:
        texts[str(pin["name"])] = str(pin["text"])
    elif pin["on"]:
        seqs.add(int(str(pin["seq"])))
    else:
        seqs.discard(int(str(pin["seq"])))
