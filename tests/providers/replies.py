"""What an endpoint gives back: a body, the events of a stream, or a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .script import Json


class Reply(NamedTuple):
    """An answer: a body, or the events of a stream, as (name, "" for none; data)."""

    body: Json
    events: list[tuple[str, str]] | None = None


class Refusal(Exception):  # noqa: N818  # it is an answer
    """An answer that is no success; its text is the provider's message."""

    def __init__(self, status: int, message: str, body: Json) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
