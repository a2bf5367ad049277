"""Files as others publish them become transcripts, compactions, and conversations with questions."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING

import pytest

from benchmarks.conversations import read
from benchmarks.published import FORMS
from squidbot.testing.claude_code import ClaudeTranscript

if TYPE_CHECKING:
    from pathlib import Path


def session(folder: Path) -> bytes:
    """Return a recording with a compaction."""
    talk = ClaudeTranscript(folder / "-work-app")
    talk.say("Rename zone_a in readers/part.py.")
    talk.call("Read", {"file_path": "readers/part.py"}, "zone_a = 1")
    talk.answer("It stands in readers/part.py.")
    talk.compact("zone_a stands in readers/part.py.")
    talk.answer("I rename zone_a now.")
    return talk.path.read_bytes()


def test_a_recording_becomes_a_transcript_without_the_agents_summary(tmp_path: Path) -> None:
    """Chat messages, one a line, with times; calls keep their results."""
    made = [json.loads(line) for line in FORMS["recording"]([session(tmp_path)], None).splitlines()]
    assert [one["role"] for one in made] == ["user", "assistant", "tool", "assistant", "assistant"]
    assert made[1]["tool_calls"][0]["id"] == made[2]["tool_call_id"]
    assert made[2]["content"] == "zone_a = 1"
    assert all(one["timestamp"] for one in made)


def test_a_compaction_becomes_what_was_before_carried_and_after(tmp_path: Path) -> None:
    """The agent's summary is carried; what it did then is after."""
    case = json.loads(FORMS["compaction"]([session(tmp_path)], None))
    assert [one["role"] for one in case["before"]] == ["user", "assistant", "tool", "assistant"]
    assert [text.rpartition("\n")[2] for text in case["carried"]] == ["zone_a stands in readers/part.py."]
    assert [one["content"] for one in case["after"]] == ["I rename zone_a now."]
    assert case["users"] == ["Rename zone_a in readers/part.py."]
    assert not any("timestamp" in one for one in case["before"])


def test_what_no_reader_knows_is_no_recording() -> None:
    """It is an error, not an empty session."""
    with pytest.raises(ValueError, match="no reader"):
        FORMS["compaction"]([b"not a recording"], None)


def test_a_list_of_trajectories_becomes_conversations() -> None:
    """As many as are selected."""
    root = [{"traj": [{"role": "user", "content": text}]} for text in ("a", "b", "c")]
    made = FORMS["trajectories"]([json.dumps(root).encode()], 2)
    assert [json.loads(line)["messages"][0]["content"] for line in made.splitlines()] == ["a", "b"]


def write(folder: Path, text: str) -> Path:
    """Return a file with a text."""
    path = folder / "talks.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_locomos_archive_becomes_its_own_form(tmp_path: Path) -> None:
    """The selected files alone."""
    turns = [{"speaker": "Ann", "dia_id": "D1:1", "text": "I have two beagles."}]
    qa = [{"question": "Which pets?", "evidence": ["D1:1"], "category": 4}]
    talk = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns, "qa": qa}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("1.json", json.dumps(talk))
        archive.writestr("2.json", "left out")
    (found,) = read(write(tmp_path, FORMS["locomo"]([packed.getvalue()], ["1.json"])))
    assert [part.text for part in found.passages] == ["I have two beagles."]
    assert found.questions[0].evidence == {"D1:1"}


def test_beams_batches_become_sessions(tmp_path: Path) -> None:
    """Evidence goes by the numbers of turns, however it is nested; marks of questions go."""
    batches = [
        [{"id": "0", "role": "user", "content": "I am Ann. ->-> 1,1", "time_anchor": "March-15-2024"}],
        [{"id": "1", "role": "user", "content": "I moved to Rome.", "time_anchor": "April-05-2024"}],
    ]
    chat = [{"turns": [batch]} for batch in batches]
    asked = {
        "knowledge_update": [{"question": "Where?", "source_chat_ids": {"first": [0], "then": {"more": [1]}}}],
        "abstention": [{"question": "Which car?"}],
    }
    contents = [json.dumps(chat).encode(), json.dumps(asked).encode()]
    (found,) = read(write(tmp_path, FORMS["beam"](contents, None)))
    assert [part.text for part in found.passages] == ["I am Ann.", "I moved to Rome."]
    assert found.questions[0].evidence == {"D1:1", "D2:1"}
    assert [each.text for each in found.unanswerable] == ["Which car?"]


def test_memory_banks_questions_get_the_evidence_of_the_catalogue(tmp_path: Path) -> None:
    """A question without evidence is left out."""
    users = {" Ann ": {"history": {"2023-04-27": [{"query": "I have a dog.", "response": "Nice."}]}}}
    asked = json.dumps({"Ann": ["Which pet?", "Which car?"]})
    contents = [json.dumps(users).encode(), asked.encode()]
    (found,) = read(write(tmp_path, FORMS["memory-bank"](contents, [[["D1:1"], []]])))
    assert [(part.speaker, part.text) for part in found.passages] == [("Ann", "I have a dog."), ("AI", "Nice.")]
    assert [each.text for each in found.questions] == ["Which pet?"]
