"""What a test writes: models, what they say, what a token is, what time it is."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Json: TypeAlias = dict[str, object]


class Text(NamedTuple):
    """Words for the user."""

    text: str


class Thought(NamedTuple):
    """Reasoning that is shown."""

    text: str


class Redacted(NamedTuple):
    """Reasoning that nobody can read."""

    text: str


class Call(NamedTuple):
    """A call of a tool, its arguments as JSON text; with an id of its own, or with one that the server gives."""

    name: str
    arguments: str = "{}"
    id: str = ""


Piece: TypeAlias = Text | Thought | Redacted | Call


class Asked(NamedTuple):
    """What a model is asked: which answer this is of the server, from 0, the path, and the request."""

    number: int
    path: str
    body: Json


Script: TypeAlias = "Callable[[Asked], Sequence[Piece]]"


def quarters(text: str) -> int:
    """Return a token for every four bytes of UTF-8, the last one not always full."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def saying(*answers: Sequence[Piece] | str) -> Script:
    """Return a model that gives these answers in turn, and the last one for ever; a bare string is a text."""
    turn = iter(answers[:-1])
    lock = threading.Lock()

    def answer(_: Asked) -> Sequence[Piece]:
        with lock:
            said = next(turn, answers[-1])
        return [Text(said)] if isinstance(said, str) else said

    return answer


@dataclass(frozen=True)
class Model:
    """What a provider has to say of a model, in tokens where a number is.

    Attributes:
        window: input and output together, as it is served.
        told_window: what the provider tells of it where it is asked; None: what is served.
        most_output: the largest answer.
        least_cached: what is shorter is not cached.
        binds: whether reasoning is bound to what stood before it.
        adapts: whether it can be told to think as much as it likes (Anthropic).
        marks: whether it is cached at breakpoints (OpenAI's newer models), and not in steps.
    """

    window: int = 200_000
    told_window: int | None = None
    most_output: int = 64_000
    least_cached: int = 1_024
    binds: bool = True
    adapts: bool = True
    marks: bool = False


@dataclass
class Clock:
    """The server's time, in seconds; a test moves it."""

    now: float = 1_700_000_000.0

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@dataclass
class World:
    """What the endpoints of one server share.

    Attributes:
        models: by name.
        script: what they answer.
        count: the tokens of a text; turn_tokens are added for each turn of a conversation, for its frame.
        clock: the time.
        held: options of requests under which the provider keeps a conversation, as (path, option), in order.
    """

    models: Mapping[str, Model]
    script: Script
    count: Callable[[str], int] = quarters
    turn_tokens: int = 4
    clock: Clock = field(default_factory=Clock)
    held: list[tuple[str, str]] = field(default_factory=list)
    answered: int = 0
    issued: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def pieces(self, path: str, body: Json) -> Sequence[Piece]:
        """Return what the model answers to a request."""
        with self.lock:
            number, self.answered = self.answered, self.answered + 1
        return self.script(Asked(number, path, body))

    def new_id(self, prefix: str) -> str:
        """Return an id that no other thing of this server has."""
        with self.lock:
            self.issued += 1
            return f"{prefix}{self.issued:024d}"

    def holds(self, path: str, body: Json, options: Sequence[str]) -> None:
        """Note options that are set and keep a conversation at the provider."""
        self.held += [(path, name) for name in options if body.get(name) not in (None, False)]

    def size(self, piece: Piece) -> int:
        """Return what a piece of an answer costs, in tokens."""
        return self.count(f"{piece.name} {piece.arguments}" if isinstance(piece, Call) else piece.text)

    def within(self, pieces: Sequence[Piece], room: int) -> tuple[list[Piece], bool]:
        """Return the pieces that an answer of so many tokens has room for, the last one cut; and whether all are."""
        kept: list[Piece] = []
        for piece in pieces:
            if self.size(piece) <= room:
                kept.append(piece)
                room -= self.size(piece)
                continue
            if isinstance(piece, Text) and room > 0:
                text = piece.text
                while self.count(text) > room:
                    text = text[: len(text) * 9 // 10]
                kept.append(Text(text))
            return kept, False
        return kept, True
