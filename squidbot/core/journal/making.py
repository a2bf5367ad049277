"""An entry made by rule of what was said since the one before: marked lines, files, what failed, the rest in short."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.markers import CHECKPOINT, DECISION, NEWEST_LINES, NEXT, counted_lines
from squidbot.core.messages import Category
from squidbot.core.notes.calls import changed_file, is_about_file
from squidbot.core.notes.extract import extract
from squidbot.core.notes.quotes import clip, failure, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.journal.entry import Entry
    from squidbot.core.messages import Message
    from squidbot.core.ports import TokenCounter

__all__ = ["Stretch", "by_rule", "question_of"]

# What an entry's summary by rule costs at most: a quarter of what J-03 gives the newest one where it is told again.
SUMMARY_TOKENS: Final = 300
QUESTION_CHARS: Final = 300
WORDS_CHARS: Final = 300
_PASSED: Final = frozenset({Category.RECALLED, Category.FORGOTTEN})


class Stretch(NamedTuple):
    """Messages of one session in their order, and the seq of the first."""

    messages: Sequence[Message]
    first_seq: int = 0

    @property
    def said(self) -> list[Message]:
        """Those that say something new: nothing that was brought back or forgotten."""
        return [one for one in self.messages if one.category not in _PASSED and one.role != "system"]


def by_rule(stretch: Stretch, about: Entry, counter: TokenCounter) -> Entry | None:
    """Return `about` with what the messages tell; None where nothing new was said.

    Decisions, checkpoints and next steps are lines that are marked as such; files are those that a tool changed, and
    errors what tools failed with at last. The same messages give the same entry.
    """
    said = stretch.said
    if not any(one.text.strip() or one.calls for one in said):
        return None
    marked = {marker: _marked(said, marker) for marker in (CHECKPOINT, DECISION, NEXT)}
    following = marked[NEXT][-NEWEST_LINES:]
    return replace(
        about,
        summary=_summary(stretch, said, counter),
        decisions=_each((*about.decisions, *marked[DECISION])),
        progress=_each((*about.progress, *marked[CHECKPOINT])),
        open_questions=_each((*about.open_questions, *following, *filter(None, [question_of(said)]))),
        files_touched=_each(filter(None, (changed_file(call) for one in said for call in one.calls))),
        errors=_failed(said),
    )


def question_of(messages: Sequence[Message]) -> str:
    """Return the question that the newest message ends with, where it is the model's; "" for none."""
    if not messages or messages[-1].role != "assistant" or not messages[-1].text.rstrip().endswith("?"):
        return ""
    return messages[-1].text.strip().splitlines()[-1][-QUESTION_CHARS:]


def _marked(said: Sequence[Message], marker: str) -> tuple[str, ...]:
    """Return what lines say that are marked so; of a user's message his own words alone."""
    lines = (line for one in said if _speaks(one) for line in counted_lines(one.role, one.text))
    return _each(line.said for line in lines if line.marker == marker)


def _speaks(message: Message) -> bool:
    return message.role in {"user", "assistant"} and not message.results


def _each(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _summary(stretch: Stretch, said: Sequence[Message], counter: TokenCounter) -> str:
    """Return the notes by rule without the line that says so, else the newest words."""
    notes = extract(
        stretch.messages,
        limit_tokens=SUMMARY_TOKENS,
        counter=counter,
        users_verbatim=False,
        first_seq=stretch.first_seq,
    )
    told = notes.text.partition("\n")[2]
    if told:
        return told
    newest = [one_line(one.text) or one.calls[0].name for one in reversed(said) if one.text.strip() or one.calls]
    return clip("; ".join(reversed([*islice(newest, 2)])), WORDS_CHARS)


def _failed(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return what calls failed with, each call by its newest try: what was mended is no error any more."""
    calls = {call.id: call for one in messages for call in one.calls}
    failed: dict[tuple[str, str], str] = {}
    for message in messages:
        for call_id in message.results:
            call = calls.get(call_id)
            if call is not None:
                wrong = failure(message.text, of_file=is_about_file(call))
                failed[call.name, call.arguments] = f"{call.name}: {wrong}" if wrong else ""
    return _each(filter(None, failed.values()))
