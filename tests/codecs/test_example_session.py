"""The sample conversation: it is what its generator writes, and it is rich enough to show something."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from squidbot.codecs.transcripts import Conversation, read_transcripts

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def talk() -> Conversation:
    """Return the sample conversation."""
    (found,) = read_transcripts(EXAMPLES / "session.jsonl")
    return found


def test_session_is_the_same_bytes_when_it_is_made_again(tmp_path: pathlib.Path) -> None:
    """Nobody edits it by hand, and no clock, no machine and no order of a set is in it."""
    path = tmp_path / "again.jsonl"
    command = [sys.executable, str(EXAMPLES / "make_session.py"), str(path)]
    subprocess.run(command, check=True, capture_output=True)
    assert path.read_bytes() == (EXAMPLES / "session.jsonl").read_bytes()


def test_session_is_one_whole_conversation_when_it_is_read(talk: Conversation) -> None:
    """All calls are answered, line i is message i, ids are numbered."""
    assert talk.codec == "openai.chat"
    assert talk.unanswered == ()
    assert talk.sources == tuple(range(len(talk.messages)))
    calls = [call.id for message in talk.messages for call in message.calls]
    assert calls == [f"call_{number:04}" for number in range(1, len(calls) + 1)]


def test_session_is_long_and_small_when_it_is_committed(talk: Conversation) -> None:
    """Long enough for an 8K window to need events, small enough for a repository."""
    roles = Counter(message.role for message in talk.messages)
    assert 350 <= len(talk.messages) <= 450
    assert roles["user"] >= 35
    assert roles["tool"] >= 150
    assert 200_000 <= (EXAMPLES / "session.jsonl").stat().st_size <= 500_000


def test_session_has_pauses_when_its_times_are_compared(talk: Conversation) -> None:
    """Time runs on; a cache with a life of 300 s goes cold some times, blocks close at 3600 s twice."""
    times = [message.time or 0.0 for message in talk.messages]
    gaps = [after - before for before, after in pairwise(times)]
    assert min(gaps) >= 0
    assert sum(gap > 300 for gap in gaps) >= 5
    assert sum(gap > 3600 for gap in gaps) == 2


def test_session_has_parallel_calls_and_results_of_all_sizes_when_it_is_read(talk: Conversation) -> None:
    """Some results are a word, some are pages."""
    sizes = sorted(len(message.text) for message in talk.messages if message.role == "tool")
    assert sizes[0] < 10
    assert sizes[-5] > 4_000
    assert sizes[-1] > 9_000
    assert sum(len(message.calls) > 1 for message in talk.messages) >= 20


def test_session_comes_back_to_its_beginning_when_it_ends(talk: Conversation) -> None:
    """Facts that are said once in the first turn are needed again hours later: that is what is measured."""
    texts = [message.rendered for message in talk.messages]
    late = "\n".join(texts[-120:])
    for fact in (
        "ST-4417",
        "BW-77120-C",
        "-0.37",
        "/etc/gaugepost/keys.toml",
        "/var/lib/gaugepost/readings.db",
        "8471",
    ):
        assert any(fact in text for text in texts[:60])
        assert fact in late


def test_session_speaks_other_scripts_when_its_people_do(talk: Conversation) -> None:
    """Chinese, umlauts and an emoji are in it, as themselves."""
    said = "".join(message.text for message in talk.messages if message.role == "user")
    assert "海龙" in said
    assert "Brückenwehr" in said
    assert "🌧" in said
    assert "\\u" not in (EXAMPLES / "session.jsonl").read_text(encoding="utf-8").replace("\\\\u", "")


def test_session_edits_files_that_are_there_when_it_is_replayed(talk: Conversation) -> None:
    """What an edit replaces was read or written before: the working tree of the story is real."""
    seen = ""
    for message in talk.messages:
        for call in message.calls:
            arguments = json.loads(call.arguments)
            if call.name == "edit_file":
                first = arguments["old"].strip().splitlines()[0].strip()
                assert first in seen
            seen += arguments.get("content", "") + arguments.get("new", "")
        seen += message.text
