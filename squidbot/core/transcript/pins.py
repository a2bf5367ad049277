"""Pins: messages, and texts in the head of the request, that are never dropped nor summarized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.plan import Section
from squidbot.core.transcript.records import RecordKind, fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Pin(NamedTuple):
    """One message is pinned, or no longer (not `on`); or a text has a name, "" takes it away."""

    seq: int = -1
    on: bool = True
    name: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Pins:
    """The pins of a session: `seqs` of messages, `texts` by name in the order in which they were first set.

    `count` is how many records hold them. `goals` and `documents` are the sections of these in the head, which no
    record of a pin holds; `goals` is None while no call has changed any.
    """

    seqs: frozenset[int] = frozenset()
    texts: tuple[Section, ...] = ()
    count: int = 0
    goals: tuple[Section, ...] | None = None
    documents: tuple[Section, ...] = ()

    @classmethod
    def of(cls, pins: Sequence[Pin]) -> Pins:
        """Return the result of pins, of which the newest wins."""
        on: dict[int, bool] = {}
        texts: dict[str, str] = {}
        for pin in pins:
            if pin.name is None:
                on[pin.seq] = pin.on
            else:
                texts[pin.name] = pin.text or ""
        named = tuple(Section(f"pin {name}", text) for name, text in texts.items() if text)
        return cls(frozenset(seq for seq, stays in on.items() if stays), named, len(pins))

    def back_to(self, then: Pins) -> Iterator[Pin]:
        """Yield the pins to add so that the same is pinned as `then`."""
        yield from (Pin(seq) for seq in sorted(then.seqs - self.seqs))
        yield from (Pin(seq, on=False) for seq in sorted(self.seqs - then.seqs))
        now, before = self.named, then.named
        yield from (Pin(name=name, text=text) for name, text in before.items() if now.get(name) != text)
        yield from (Pin(name=name, text="") for name in now if name not in before)

    @property
    def named(self) -> dict[str, str]:
        """The texts by the names that they were given."""
        return {section.name.removeprefix("pin "): section.text for section in self.texts}


def _checked(pin: Pin) -> Pin:
    if pin.seq < 0 and (pin.name is None or pin.text is None):
        raise ValueError("it pins nothing")
    return pin


PIN = RecordKind("pin", fields(Pin, _checked), Pins.of)
