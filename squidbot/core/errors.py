"""Every exception that squidbot raises on purpose.

SquidbotError
├── BudgetError            a request can't fit its window: who takes the room, how much of how much, which key to change
├── ContextOverflowError   the provider said that a request was too long
├── LLMError               a language model gave no answer: it was not reached, refused, or was cut off
│   └── StaleThinkingError the provider refused reasoning that came back: what stood before it has changed
├── InvalidRequestError    a request would break a provider's rule (R1 to R11)
├── ArgumentError          what a caller hands over is none: its name, what it is, what it has to be
├── RecallError            nothing can be brought back for an id, an offset or a query: what would do
├── ConfigError            a setting is wrong: what, where, what would be right
├── NotFoundError          what was asked for by name or number is not there, or no longer
├── ModelFileError         a model file is damaged, or not what it says: file, byte, what to do
├── ModelLoadError         a runtime could not load a model: what it said last
├── SizingError            how much memory a model takes can't be said, or it can't be loaded: why, what would do
├── TranscriptError        a recorded conversation can't be read: file, line, what to do
└── StoreError             stored data can't be written or read; says whether anything was written
    ├── BusyError          others keep writing to the session: how long it was tried, what was not done
    ├── DamagedStoreError  stored data contradict themselves or their checksum
    ├── UnconfirmedError   the connection was lost during a write: it is stored, or not
    └── JournalFullError   a day of a journal has as many entries as it may have
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ArgumentError",
    "BudgetError",
    "BusyError",
    "ConfigError",
    "ContextOverflowError",
    "DamagedStoreError",
    "InvalidRequestError",
    "JournalFullError",
    "LLMError",
    "ModelFileError",
    "ModelLoadError",
    "NotFoundError",
    "RecallError",
    "SizingError",
    "SquidbotError",
    "StaleThinkingError",
    "StoreError",
    "TranscriptError",
    "UnconfirmedError",
]


class SquidbotError(Exception):
    """The base class of every error that squidbot raises on purpose."""


class ArgumentError(SquidbotError, ValueError, TypeError):
    """An argument is wrong. The text names the argument, its value, and what it must be. Nothing was done.

    It is also a `ValueError` and a `TypeError`, so code that catches these needs no change.
    """


# The settings of a window, where a larger one would do.
WINDOW_KEY: Final = "window.default or models.<name>.context_window"


class BudgetError(SquidbotError):
    """A request, or a part of one, can't be made to fit into its window.

    Attributes:
        culprit: what takes the room, such as "system text", "tools", "pins", "current turn", or a section's name.
        cost: the cost of the culprit and of all that must be sent beside it, in `unit`.
        budget: the room, in `unit`.
        unit: "tokens" or "words".
        key: the setting to change, as it is written in squidbot.toml.
        shortage: what is too large, and by how much, without the setting: a text for a model.
    """

    def __init__(  # noqa: PLR0913  # an error names all that the one who must act needs
        self,
        culprit: str,
        *,
        cost: int,
        budget: int,
        unit: str = "tokens",
        key: str = WINDOW_KEY,
        detail: str = "",
        remedy: str = "make it smaller",
    ) -> None:
        """Name the culprit, the amounts in `unit`, and the key to change.

        `detail` says more of the culprit, and `remedy` what to do if the key can't change.
        """
        self.shortage = f"{detail or f'{culprit} cost'} {cost} of {budget} {unit}"
        super().__init__(f"{self.shortage}; {remedy} or raise {key}")
        self._detail = detail
        self._remedy = remedy
        self.culprit = culprit
        self.cost = cost
        self.budget = budget
        self.unit = unit
        self.key = key

    def to_raise(self, key: str) -> BudgetError:
        """Return the same error for a user who sets this limit by another name, such as an argument of a plugin."""
        return BudgetError(
            self.culprit,
            cost=self.cost,
            budget=self.budget,
            unit=self.unit,
            key=key,
            detail=self._detail,
            remedy=self._remedy,
        )


class ContextOverflowError(SquidbotError):
    """The provider refused a request because it was longer than the model's window."""


class LLMError(SquidbotError):
    """A language model that squidbot called gave no usable answer.

    Attributes:
        kind: "unreachable", "rate-limit", "refused", "cut" (the answer reached its limit), "empty" or "unusable" (the
            answer is not what was asked for).
    """

    def __init__(self, kind: str, message: str) -> None:
        """Say what kind of failure it is, and what happened; never in the words of an answer."""
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class StaleThinkingError(LLMError):
    """The provider refused reasoning that was sent back to it: the reasoning or a message before it has changed."""


class InvalidRequestError(SquidbotError):
    """A request would break a rule of the model's provider, such as a tool result without its call.

    Attributes:
        rule: the rule's id, "R1" to "R11".
    """

    def __init__(self, rule: str, message: str) -> None:
        """Name the rule that is broken and where; the id is for programs, the text for people."""
        super().__init__(message)
        self.rule = rule


class RecallError(SquidbotError):
    """An id, an offset or a query finds nothing. The text says what would work."""


class ConfigError(SquidbotError):
    """A setting is wrong. The text says which one, where it is, and what would be right."""


class NotFoundError(SquidbotError):
    """There is no such session, message, file or other thing, or no longer. The text says what there is."""


class ModelFileError(SquidbotError):
    """A model file is damaged, incomplete, or of another kind. The text says what is wrong, where, and what to do."""


class ModelLoadError(SquidbotError):
    """A runtime could not load a model with its window. The text has the last message of the runtime."""


class SizingError(SquidbotError):
    """squidbot can't tell how much memory a model needs, or it does not fit. The text says why, and what would work."""


class TranscriptError(SquidbotError):
    """A recorded conversation can't be read.

    Attributes:
        path: the file, as the user gave it.
        line: the line, from 1; None for the whole file.
    """

    def __init__(self, path: str, line: int | None, message: str) -> None:
        """Name the file, the line from 1 (None: the whole file), and what to do."""
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {message}")
        self.path = path
        self.line = line


class StoreError(SquidbotError):
    """Stored data could not be written or read. The text says whether anything was written."""


class BusyError(StoreError):
    """Other processes kept writing to the same session, so nothing was written.

    Attributes:
        session_id: the session.
        seconds: how long squidbot tried.
    """

    def __init__(self, session_id: str, seconds: float, undone: str) -> None:
        """Name the session and the time; `undone` says what was not done."""
        super().__init__(
            f"gave up after {seconds:g} s: other processes keep writing to session {session_id!a:.80}; {undone}, "
            f"try again later"
        )
        self.session_id = session_id
        self.seconds = seconds


class DamagedStoreError(StoreError):
    """Stored data do not match their checksum, or contradict each other."""


class UnconfirmedError(StoreError):
    """The connection to the store broke before it confirmed a write: all of it is stored, or nothing."""


class JournalFullError(StoreError):
    """A day of the journal is full; nothing was written.

    Attributes:
        day: the day, in UTC.
        most: how many entries a day may have.
    """

    def __init__(self, day: str, most: int) -> None:
        """Name the day, the number and the key to change."""
        super().__init__(
            f"the journal of {day} has {most:,} entries, as many as a day may have; nothing was written: raise "
            f"journal.max_entries_per_day, or wait for the next day (UTC)"
        )
        self.day = day
        self.most = most
