"""Conversations with questions and the turns that answer them, read from a file in LoCoMo's form."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from squidbot.core.memories import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["CATEGORIES", "Conversation", "Question", "merged", "padded", "read", "shown"]

# As the numbers in the file are explained by those who made it.
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
# From which turn of another conversation pages are filled: far apart for turns side by side.
STRIDE = 17
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
    """Turns in order, what is asked about them, and how many questions were left out: their evidence is nowhere."""

    name: str
    passages: list[Passage]
    questions: list[Question]
    skipped: int


def read(path: Path) -> list[Conversation]:
    """Return the conversations of a file.

    Raises:
        OSError: the file can't be read.
        ValueError: it is not in LoCoMo's form.
    """
    root: Any = json.loads(path.read_text(encoding="utf-8"))
    try:
        return [_conversation(f"conversation {number}", each) for number, each in enumerate(root, 1)]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a list of conversations in LoCoMo's form: {error!r} @ {path}") from error


def shown(passage: Passage) -> str:
    """Return what of a passage is shown, and paid for."""
    return f"{passage.speaker}: {passage.text}" if passage.speaker else passage.text


def merged(conversation: Conversation, turns: int) -> Conversation:
    """Return a conversation of which every so many turns of a session in a row are one, page-long passage."""
    pages: list[Passage] = []
    page_of: dict[str, str] = {}
    groups: dict[str, list[Passage]] = {}
    for passage in conversation.passages:
        groups.setdefault(passage.group, []).append(passage)
    for group, passages in groups.items():
        for number, start in enumerate(range(0, len(passages), turns)):
            some = passages[start : start + turns]
            key = f"{group}/{number}"
            page_of.update((each.key, key) for each in some)
            pages.append(Passage(key, "\n".join(map(shown, some)), "", some[0].time, group, number))
    questions = [
        each._replace(evidence=frozenset(page_of[key] for key in each.evidence)) for each in conversation.questions
    ]
    return conversation._replace(passages=pages, questions=questions)


def padded(conversations: Sequence[Conversation], turns: int) -> list[Conversation]:
    """Return conversations in which one of two speakers says pages: so many turns of another conversation around each.

    Short turns and pages stand side by side then, as where an assistant answers at length.
    """
    return [
        each._replace(passages=list(_padded(each.passages, conversations[place - 1].passages, turns)))
        for place, each in enumerate(conversations)
    ]


def _padded(passages: Sequence[Passage], others: Sequence[Passage], turns: int) -> Iterator[Passage]:
    wordy = passages[1].speaker if len(passages) > 1 else ""
    for number, each in enumerate(passages):
        start = number * STRIDE % max(1, len(others) - turns)
        texts = [other.text for other in others[start : start + turns]]
        texts.insert(number % (turns + 1), each.text)
        yield each._replace(text="\n".join(texts)) if each.speaker == wordy else each


def _conversation(name: str, entry: dict[str, Any]) -> Conversation:
    passages = list(_passages(entry["conversation"]))
    known = {each.key for each in passages}
    # Nobody says when it was asked: a day after the last word.
    now = max((each.time or 0.0 for each in passages), default=0.0) + 86_400
    questions, skipped = [], 0
    for each in entry["qa"]:
        evidence = frozenset(_evidence(each.get("evidence") or ())) & known
        if evidence:
            category = CATEGORIES.get(each.get("category"), "other")
            questions.append(Question(str(each["question"]), evidence, category, now))
        else:
            skipped += 1
    return Conversation(name, passages, questions, skipped)


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
