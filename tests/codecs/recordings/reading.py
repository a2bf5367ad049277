"""What the tests of the readers share: files of samples, samples gone wrong, and what holds of each session."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from squidbot.codecs.langchain import LangChain
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.codecs.recordings import START
from squidbot.core.errors import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from squidbot.codecs.form import MessageForm
    from squidbot.codecs.recordings import RecordedMessage, RecordedSession
    from squidbot.core.messages import Message

CODECS: dict[str, MessageForm] = {
    form.tag: form for form in (OpenAIChat(), OpenAIResponses(), PydanticAI(), LangChain())
}
# Files are made anew in the folder of the test; few examples of many places find what many of one do.
HOSTILE = settings(max_examples=160, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
_WORDS = st.sampled_from(["", "user", "assistant", "tool", "text", "a", "\ud800", "2026-01-02T03:04:05Z", "x" * 300])
WRONG = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _WORDS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["role", "type", "content", "id", "text", "parts", "name"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


def written(path: Path, values: Sequence[object], *, lines: bool = True) -> Path:
    """Write values as JSON lines, or the first one alone, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    given = "".join(f"{json.dumps(each)}\n" for each in values) if lines else json.dumps(values[0], indent=1)
    path.write_text(given, encoding="utf-8")
    return path


def _places(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if at:
        yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*at, key))
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _places(inner, (*at, number))


@st.composite
def gone_wrong(draw: st.DrawFn, sample: list[object]) -> list[object]:
    """Draw a sample with one to three of its values replaced by others of any type, taken out, or said twice."""
    made: list[object] = copy.deepcopy(sample)
    for _ in range(draw(st.integers(1, 3))):
        *above, last = draw(st.sampled_from([*_places(made)]))
        holder: object = made
        for key in above:
            holder = holder[key]  # type: ignore[index]  # a place in it
        what = draw(st.sampled_from(["other", "other", "none", "twice"]))
        if what == "none" and (above or len(made) > 1):
            del holder[last]  # type: ignore[attr-defined]
        elif what == "twice" and isinstance(holder, list) and isinstance(last, int):
            holder.insert(last, copy.deepcopy(holder[last]))
        else:
            holder[last] = draw(WRONG)  # type: ignore[index]
    return made


def checked(session: RecordedSession, known: Sequence[str] = ()) -> list[Message]:
    """Check what holds of every session, and return its messages as its codec reads them.

    `known` are the ids of messages that were read before.
    """
    codec = CODECS[session.codec]
    assert session.id
    assert session.id != session.parent
    seen = {START, *known}
    calls: set[str] = set()
    found = []
    for message in session.messages:
        assert message.id
        assert message.id not in seen, message.id
        assert message.parent is None or message.parent in seen
        seen.add(message.id)
        read = codec.to_message(message.value)
        if read.role == "tool" and not known and session.codec != "pydantic_ai/2":
            assert calls.issuperset(read.results), "a result stands behind its call"
        calls.update(call.id for call in read.calls)
        found.append(read)
    assert all(number > 0 for number in session.unread.values())
    assert all(len(what) <= 80 for what in session.unread)
    return found


def read_or_refused(read: Callable[[], list[RecordedSession]]) -> list[RecordedSession]:
    """Return the sessions that a reader finds, each checked; none if it refuses the file."""
    try:
        found = read()
    except TranscriptError:
        return []
    for session in found:
        checked(session)
    assert len({each.id for each in found}) == len(found)
    return found


def roles(session: RecordedSession) -> list[str]:
    """Return the roles of a session's messages."""
    return [message.role for message in checked(session)]


def line_of(session: RecordedSession, message: RecordedMessage) -> list[str]:
    """Return the ids of the messages up to one, the way that parents lead."""
    listed = session.messages
    places = {each.id: at for at, each in enumerate(listed)}
    found = [message.id]
    while True:
        at = places[found[-1]]
        parent = listed[at].parent
        if parent is None:
            parent = listed[at - 1].id if at else START
        if parent == START:
            return found[::-1]
        found.append(parent)


def accounted(sessions: Sequence[RecordedSession], own: Callable[[str], bool] = lambda _: True) -> int:
    """Return how many entries became messages, by their ids, or are counted as unread."""
    said = sum(own(message.id) for session in sessions for message in session.messages)
    return said + sum(sum(session.unread.values()) for session in sessions)
