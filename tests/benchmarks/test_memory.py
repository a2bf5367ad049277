"""The measure of recall counts what it says, on conversations made up for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks.conversations import merged, padded, read
from benchmarks.finders import FINDERS, fused
from benchmarks.memory import main, measure
from benchmarks.report import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.conversations import Question
    from squidbot.core.memories import Passage

TURNS = {
    "session_1": ["The kettle is blue.", "Mine whistles at noon.", "I sold the piano."],
    "session_2": ["A heron stood in the pond.", "We repaired the gate."],
    "session_10": ["The ferry was late.", "The harbour smelled of tar."],
}
QUESTIONS = [
    {"question": "What colour has the kettle?", "evidence": ["D1:1"], "category": 4},
    {"question": "Where stood the heron, and what was late?", "evidence": ["D2:1; D:10:1"], "category": 1},
    {"question": "Who sold the piano?", "evidence": ["D1:3", "D9:99"], "category": 5},
    {"question": "What is nowhere?", "evidence": ["D"], "category": 2},
    {"question": "What has none?", "category": 3},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a small conversation in LoCoMo's form."""
    talk: dict[str, object] = {"speaker_a": "Ada", "speaker_b": "Bo"}
    for name, texts in TURNS.items():
        number = name.removeprefix("session_")
        talk[f"{name}_date_time"] = f"1:05 pm on {number} May, 2031"
        talk[name] = [
            {"dia_id": f"D{number}:{place}", "speaker": "Ada" if place % 2 else "Bo", "text": text}
            for place, text in enumerate(texts, 1)
        ]
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([{"conversation": talk, "qa": QUESTIONS}]), encoding="utf-8")
    return file


def test_evidence_is_read_whatever_its_form_and_counted_where_it_is_nowhere(path: Path) -> None:
    """Two ids in one text, a colon too many, an id that is not there, none at all."""
    (talk,) = read(path)
    assert [set(each.evidence) for each in talk.questions] == [{"D1:1"}, {"D2:1", "D10:1"}, {"D1:3"}]
    assert talk.skipped == 2


def test_turns_are_read_in_the_order_of_their_sessions_with_their_times(path: Path) -> None:
    """Session 10 comes behind session 2, and its time is read."""
    (talk,) = read(path)
    assert [each.key for each in talk.passages] == ["D1:1", "D1:2", "D1:3", "D2:1", "D2:2", "D10:1", "D10:2"]
    assert talk.passages[3].time is not None
    assert talk.passages[0].time is not None
    assert talk.passages[3].time - talk.passages[0].time == 86_400


def test_pages_keep_their_session_and_the_evidence_follows_them(path: Path) -> None:
    """No page reaches over the end of a session, and every word is in one."""
    (talk,) = read(path)
    pages = merged(talk, 2)
    assert [each.group for each in pages.passages] == ["session_1", "session_1", "session_2", "session_10"]
    assert pages.questions[2].evidence == {"session_1/1"}
    assert all(any(turn.text in page.text for page in pages.passages) for turn in talk.passages)


def test_one_speaker_says_pages_and_the_other_what_she_said(path: Path) -> None:
    """What was said is still there, and the evidence is the same."""
    (talk,) = read(path)
    (wordy,) = padded([talk], 3)
    assert wordy.questions == talk.questions
    for before, after in zip(talk.passages, wordy.passages, strict=True):
        assert before.text in after.text.split("\n")
        assert len(after.text.split("\n")) == (4 if before.speaker == "Bo" else 1)


def test_a_question_counts_only_when_all_its_evidence_is_returned(path: Path) -> None:
    """Found is what stands in the first k and in the budget, the last piece included."""

    class Backwards:
        """Returns all, last first."""

        def __init__(self, passages: Sequence[Passage]) -> None:
            self._keys = [each.key for each in reversed(passages)]

        def rank(self, question: Question) -> Sequence[str]:
            """Return all."""
            assert question.now > 0
            return self._keys

    (talk,) = read(path)
    result = measure([talk], {"backwards": Backwards}, lambda _: 200, Progress())
    ((_, shares),) = result.tables[0].rows
    by_column = dict(zip(result.tables[0].columns, shares, strict=True))
    assert by_column["k=5"] == pytest.approx(200 / 3)  # places 2 and 4, 5, 7
    assert by_column["500 tok"] == 0
    assert by_column["1,000 tok"] == pytest.approx(200 / 3)
    assert by_column["2,000 tok"] == 100


def test_every_baseline_stands_between_nothing_and_a_perfect_ranking(path: Path) -> None:
    """Fused with itself, a finder has the same first answer."""
    (talk,) = read(path)
    for make in FINDERS.values():
        finder, twice = make(talk.passages), fused([make, make])(talk.passages)
        for question in talk.questions:
            keys = list(finder.rank(question))
            assert len(set(keys)) == len(keys)
            assert keys[:1] == list(twice.rank(question))[:1]
    assert [set(FINDERS["perfect ranking"](talk.passages).rank(each)) for each in talk.questions] == [
        set(each.evidence) for each in talk.questions
    ]


def test_the_command_prints_its_tables_and_writes_them(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With something to stand beside named by its module, as others measure theirs."""
    out = path.with_name("figures.json")
    assert main([str(path), "--only", "file", "--also", "benchmarks.finders:Newest", "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "FTS5 porter" in printed
    assert "2 questions left out" in printed
    assert "at least 72" in printed
    assert main([str(path), "--only", "file", "--merge", "2", "--pad", "1"]) == 0
    assert "at least 72" not in capsys.readouterr().out
    (part,) = json.loads(out.read_text(encoding="utf-8"))["parts"]
    rows = part["tables"][0]["rows"]
    assert rows["benchmarks.finders:Newest"] == rows["recency"]


def test_a_file_of_another_form_is_named(tmp_path: Path) -> None:
    """The error says which file it is."""
    file = tmp_path / "other.json"
    file.write_text('[{"talk": []}]', encoding="utf-8")
    with pytest.raises(ValueError, match=r"other\.json"):
        read(file)
