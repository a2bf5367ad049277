"""Sessions as agents recorded them: what each reader in this folder returns.

A reader is a module with a function `is_form`, which knows its agent's recordings by their structure, a function
`places`, which says where that agent keeps them, and a function `read`. `readers` lists them all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.messages import Category

__all__ = ["START", "Position", "RecordedMessage", "RecordedSession"]

# The `parent` of a message that stands behind none: somebody went back to the beginning.
START = ""


class RecordedMessage(NamedTuple):
    """One message of a recorded session.

    Attributes:
        id: the agent's id of it, or one made of its place; the same however often, and from wherever, it is read. No
            other message of its session has it.
        value: the message in the form of the session's codec; model, usage and timestamp stand in it, if known.
        parent: the id of the message that it stands behind; `START` for none; `None`: the one in front of it.
        time: seconds since 1970; `None` if unknown.
        model: the model that wrote it; "" if unknown, and for others' messages.
        category: what it is, where its role does not say it: a text of the agent's program, such as its own summary,
            is `Category.CONTEXT`; `None` leaves it to the codec.
        line: its first line in its file, from 1; 0 if the file has no lines.
        is_summary: it is the agent's own summary of the messages in front of it.
    """

    id: str
    value: Mapping[str, object]
    parent: str | None = None
    time: float | None = None
    model: str = ""
    category: Category | None = None
    line: int = 0
    is_summary: bool = False


class Position(NamedTuple):
    """How far a file was read.

    Attributes:
        offset: bytes; what stands behind them was not read yet.
        tip: the id of the newest entry before it, whatever it was; "" if entries have none.
        line: how many lines stand before it.
    """

    offset: int = 0
    tip: str = ""
    line: int = 0


@dataclass(slots=True)
class RecordedSession:
    """One session, or what is new in it.

    Attributes:
        agent: the name of the agent's reader: "claude-code", "codex", ...
        id: the agent's id of the session.
        codec: the tag of the codec of all its messages.
        project: the folder that the agent worked in, an absolute path; "" if unknown.
        messages: in the order of the recording, each behind its `parent`.
        parent: the id of the session whose sub-agent it is; "" for none.
        call_id: the tool call of that session which it works for; "" if unknown.
        title: what the agent calls the session; "" for nothing.
        unread: how many entries became no message, by what they are ("progress events", "broken lines").
        position: how far its file was read, for `read` to go on; only in files that grow line by line.
    """

    agent: str
    id: str
    codec: str
    project: str = ""
    messages: list[RecordedMessage] = field(default_factory=list)
    parent: str = ""
    call_id: str = ""
    title: str = ""
    unread: Counter[str] = field(default_factory=Counter)
    position: Position = field(default_factory=Position)
