"""Conversations with questions and the turns that answer them, read from a file in LoCoMo's form."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from squidbot.core.memories import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["CATEGORIES", "Conversation", "Question", "read", "shown"]

# As the numbers in the file are explained by those who made it.
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
# Some ids have a colon too many, and some entries hold several, parted by this and that.
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_TIME_FORMS = ("%I:%M %p on %d %B, %Y", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S")


class Question(NamedTuple):
    """A question, the keys of the passages that answer it, all of which are wanted, and when it is asked."""

    text: str
    evidence: frozenset[str]
    category: str
    now: float


class Conversation(NamedTuple):
    """Turns in order, and what is asked about them.

    Nothing in it answers the `unanswerable` ones; `skipped` questions were left out: their evidence is nowhere.
    """

    passages: list[Passage]
    questions: list[Question]
    unanswerable: list[Question]
    skipped: int


def read(path: Path) -> list[Conversation]:
    """Return the conversations of a file.

    Raises:
        OSError: the file can't be read.
        ValueError: it is not in LoCoMo's form.
    """
    root: Any = json.loads(path.read_text(encoding="utf-8"))
    try:
        return [_conversation(each) for each in root]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a list of conversations in LoCoMo's form: {error!r} @ {path}") from error


def shown(passage: Passage) -> str:
    """Return what of a passage is shown, and paid for."""
    return f"{passage.speaker}: {passage.text}" if passage.speaker else passage.text


def _conversation(entry: dict[str, Any]) -> Conversation:
    passages = list(_passages(entry["conversation"]))
    known = {each.key for each in passages}
    # Nobody says when it was asked: a day after the last word.
    now = max((each.time or 0.0 for each in passages), default=0.0) + 86_400
    questions, skipped = [], 0
    for each in entry["qa"]:
        evidence = frozenset(_evidence(each.get("evidence") or ())) & known
        if evidence:
            category = each.get("category")
            name = CATEGORIES.get(category) or str(category or "other").replace("_", " ")
            questions.append(Question(str(each["question"]), evidence, name, now))
        else:
            skipped += 1
    unanswerable = [Question(str(text), frozenset(), "unanswerable", now) for text in entry.get("unanswerable") or ()]
    return Conversation(passages, questions, unanswerable, skipped)


def _passages(conversation: dict[str, Any]) -> Iterator[Passage]:
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)))
    for number in numbers:
        session = f"session_{number}"
        time = _time(str(conversation.get(f"{session}_date_time", "")))
        for position, turn in enumerate(conversation[session]):
            yield Passage(turn["dia_id"], turn["text"], turn.get("speaker", ""), time, session, position)


def _evidence(entries: object) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else [entries]:
        yield from (f"D{int(match[1])}:{int(match[2])}" for match in _EVIDENCE.finditer(str(entry)))


def _time(text: str) -> float | None:
    """Return a time in seconds since 1970, read as UTC; None for what is no time."""
    for form in _TIME_FORMS:
        try:
            return datetime.strptime(text.strip().upper(), form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return None
