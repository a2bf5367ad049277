"""Reads files as others publish them, and writes them in the forms of the benchmarks.

A session of an agent becomes a transcript: one chat message a line. A compaction becomes what stood before it, what
the agent went on with, and what it did then. Conversations with questions become LoCoMo's form.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.recordings.readers import reader_of
from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.view.steps import is_automated
from squidbot.replay.recording import CODECS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from squidbot.codecs.recordings import RecordedSession
    from squidbot.core.messages import Message
    from squidbot.core.ports import Codec

__all__ = ["FORMS"]

_CHAT: Final = OpenAIChat()
# How much of an agent's work after a compaction is kept, in messages; the benchmark looks at 40 calls.
_MOST_AFTER: Final = 200
# What else stands beside a message in a transcript.
_BESIDE: Final = ("model", "usage")
WITHOUT_SYSTEM: Final = "without system"
# BEAM's own numbers of questions, at the end of a user's messages.
_MARK: Final = re.compile(r"\s*->->\s*[\d,]+\s*$")


def recording(contents: Sequence[bytes], select: object) -> str:
    """Return an agent's session as a transcript, without its sub-agents and its own summaries.

    `select` "without system": what the agent's own program tells the model is left out, too.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder, "recording.jsonl")
        path.write_bytes(contents[0])
        talk = read_transcripts(path)[0]
    messages = (one for one in talk.messages if not (select == WITHOUT_SYSTEM and one.role == "system"))
    return _lines(each for message in messages for each in _chat(CODECS[talk.codec], message))


def compaction(contents: Sequence[bytes], _select: object) -> str:
    """Return the first compaction of an agent's session."""
    session = _session(contents[0])
    at = next(place for place, one in enumerate(session.messages) if one.is_summary)
    codec, entries = CODECS[session.codec], session.messages
    said = [
        [_bare(each) for each in _chat(codec, codec.to_message(one.value))] for one in entries[: at + 1 + _MOST_AFTER]
    ]
    before = [each for step in said[:at] for each in step]
    users = [_text(one) for one in before if one["role"] == "user"]
    case = {
        "cwd": session.project,
        "before": before,
        "carried": [_text(each) for each in said[at]],
        "after": [each for step in said[at + 1 :] for each in step],
        "users": [text for text in users if not is_automated(text)],
    }
    return json.dumps(case, ensure_ascii=False)


def who_and_when(contents: Sequence[bytes], _select: object) -> str:
    """Return a session of several agents: the orchestrator is the assistant, all others are users.

    Each message of an agent begins with its name in brackets.
    """
    made = []
    for one in json.loads(contents[0])["history"]:
        name, text = one["role"], one["content"]
        role = "assistant" if name.startswith("Orchestrator") else "user"
        made.append({"role": role, "content": text if name == "human" else f"[{name}]\n{text}"})
    return _lines(made)


def trajectories(contents: Sequence[bytes], select: object) -> str:
    """Return the first conversations of a list, one a line."""
    root = json.loads(contents[0])
    count = select if isinstance(select, int) else len(root)
    return _lines({"id": f"talk-{at}", "messages": one["traj"]} for at, one in enumerate(root[:count]))


def locomo(contents: Sequence[bytes], select: Any) -> str:  # noqa: ANN401  # names of files in the archive
    """Return some conversations of LoCoMo's archive."""
    with zipfile.ZipFile(io.BytesIO(contents[0])) as archive:
        talks = [json.loads(archive.read(name)) for name in select]
    made = [{"conversation": {k: v for k, v in talk.items() if k != "qa"}, "qa": talk["qa"]} for talk in talks]
    return json.dumps(made, ensure_ascii=False)


def beam(contents: Sequence[bytes], _select: object) -> str:
    """Return BEAM's chats: a session is a batch; `contents` are a chat and its questions by turns."""
    pairs = zip(contents[::2], contents[1::2], strict=True)
    return json.dumps([_beam_talk(json.loads(chat), json.loads(asked)) for chat, asked in pairs], ensure_ascii=False)


def memory_bank(contents: Sequence[bytes], select: Any) -> str:  # noqa: ANN401  # evidence by user and question
    """Return MemoryBank's first users. `select` has the turns that answer each question; none: it is left out."""
    users = json.loads(contents[0])
    asked = {name.strip(): texts for line in contents[1].splitlines() for name, texts in json.loads(line).items()}
    made = []
    for evidence, (key, user) in zip(select, users.items(), strict=False):
        name = key.strip()
        said = [
            (f"{day} 12:00", [(who, one[part]) for one in turns for who, part in ((name, "query"), ("AI", "response"))])
            for day, turns in user["history"].items()
        ]
        questions = zip(asked[name], evidence, strict=True)
        qa = [{"question": text, "evidence": turns, "category": "all"} for text, turns in questions if turns]
        made.append({"conversation": _conversation(said), "qa": qa})
    return json.dumps(made, ensure_ascii=False)


FORMS: Final[Mapping[str, Callable[[Sequence[bytes], Any], str]]] = {
    "recording": recording,
    "compaction": compaction,
    "who-and-when": who_and_when,
    "trajectories": trajectories,
    "locomo": locomo,
    "beam": beam,
    "memory-bank": memory_bank,
}


def _session(content: bytes) -> RecordedSession:
    """Return the main session of a recording.

    Raises:
        ValueError: no reader knows it.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder, "recording.jsonl")
        path.write_bytes(content)
        reader = reader_of(path)
        if reader is None:
            raise ValueError("no reader of squidbot knows this recording")
        return next(one for one in reader.read(path) if not one.parent)


def _chat(codec: Codec, message: Message) -> Iterator[dict[str, Any]]:
    """Yield a message in the form of chat completions, with its time, model and usage."""
    made = json.loads(_CHAT.adopt(codec.portable(message.payload)))
    own = json.loads(message.payload)
    beside = {key: own[key] for key in _BESIDE if isinstance(own, dict) and own.get(key)}
    for at, each in enumerate(made if isinstance(made, list) else [made]):
        time = {} if message.time is None else {"timestamp": message.time}
        yield {**each, **time, **(beside if at == 0 and each["role"] == "assistant" else {})}


def _bare(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as a case has it: without time, model and usage."""
    return {key: value for key, value in message.items() if key not in {"timestamp", *_BESIDE}}


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _lines(values: Iterable[object]) -> str:
    return "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values)


def _conversation(sessions: Iterable[tuple[str, Iterable[tuple[str, str]]]]) -> dict[str, object]:
    """Return LoCoMo's form of sessions: when each was, and who said what."""
    made: dict[str, object] = {}
    for number, (when, turns) in enumerate(sessions, 1):
        made[f"session_{number}_date_time"] = when
        made[f"session_{number}"] = [
            {"speaker": who, "dia_id": f"D{number}:{at}", "text": text} for at, (who, text) in enumerate(turns, 1)
        ]
    return made


def _beam_talk(chat: Any, asked: Any) -> dict[str, object]:  # noqa: ANN401  # JSON of others
    said, places = [], {}
    for number, batch in enumerate(chat, 1):
        turns = [turn for group in batch["turns"] for turn in group]
        anchor = next((turn["time_anchor"] for turn in turns if turn.get("time_anchor")), "")
        said.append((_day(anchor), [(turn["role"], _MARK.sub("", turn["content"])) for turn in turns]))
        places.update({int(turn["id"]): f"D{number}:{at}" for at, turn in enumerate(turns, 1)})
    qa, unanswerable = [], []
    for category, questions in asked.items():
        for one in questions:
            turns = sorted({places[each] for each in _numbers(one.get("source_chat_ids")) if each in places})
            if category == "abstention":
                unanswerable.append(one["question"])
            elif turns:
                qa.append({"question": one["question"], "evidence": turns, "category": category})
    return {"conversation": _conversation(said), "qa": qa, "unanswerable": unanswerable}


def _numbers(value: object) -> Iterator[int]:
    """Yield the numbers in lists and objects, however deep."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _numbers(each)
    elif isinstance(value, int | str) and str(value).isdigit():
        yield int(value)


def _day(anchor: str) -> str:
    return datetime.strptime(anchor, "%B-%d-%Y").strftime("%Y-%m-%d 00:00") if anchor else ""  # noqa: DTZ007  # a day
