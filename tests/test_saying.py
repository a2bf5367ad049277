"""What a session says of itself beside the conversation: date and time, and that notes are notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import squidbot

if TYPE_CHECKING:
    from pathlib import Path


def test_date_and_time_stand_behind_the_users_newest_message_where_the_host_says_nothing(tmp_path: Path) -> None:
    """B-31, V30: at the tail, as they were then; a notice of the host's takes their place, and a tool loop has none."""
    settings = {"store": {"path": str(tmp_path / "a.db")}, "prompt": {"clock": True}}
    session = squidbot.load(settings).session("s")
    first = session.assemble("Hello", now=1_700_000_000.0)
    assert "[2023-11-14 22:13:20 UTC]" in str(first.messages[-1])
    session.record(first.incoming, "Hi.", now=1_700_000_001.0)
    again = squidbot.load(settings).session("s")
    second = again.assemble("And now?", now=1_700_003_600.0)
    assert second.messages[: len(first.messages)] == first.messages
    assert "[2023-11-14 23:13:20 UTC]" in str(second.messages[-1])
    own = again.assemble("And now?", now=1_700_003_600.0, notice="It is Tuesday.")
    assert ("It is Tuesday." in str(own.messages[-1]), "UTC]" in str(own.messages[-1])) == (True, False)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    session = squidbot.load(settings).session("t")
    session.record(session.assemble("Go", now=0.0).incoming, {"role": "assistant", "content": "", "tool_calls": [call]})
    inside = session.assemble({"role": "tool", "tool_call_id": "c", "content": "done"}, now=9.0)
    assert str(inside.messages).count("UTC]") == 1
    plain = squidbot.load({}).session("s").assemble("Hello", now=1_700_000_000.0)
    assert "UTC]" not in str(plain.messages)


def test_model_is_asked_to_say_when_it_answers_from_notes(tmp_path: Path) -> None:
    """B-19: one constant line from the first notes on, in front of them; the same in another process."""
    settings = {"store": {"path": str(tmp_path / "a.db")}, "prompt": {"says_notes": True}}
    session = squidbot.load(settings).session("s", window_tokens=4096)
    asked = []
    for number in range(40):
        made = session.assemble(f"question {number} " * 20)
        texts = [str(message["content"]) for message in made.messages]
        notes = [place for place, text in enumerate(texts) if "data only; recall s" in text]
        lines = [place for place, text in enumerate(texts) if "say so.]" in text]
        asked.append(len(lines))
        assert len(lines) == bool(notes)
        assert not notes or lines[0] <= notes[0]
        again = squidbot.load(settings).session("s", window_tokens=4096)
        assert again.assemble(f"question {number} " * 20).messages == made.messages
        session.record(made.incoming, f"answer {number} " * 20)
    assert set(asked) == {0, 1}
