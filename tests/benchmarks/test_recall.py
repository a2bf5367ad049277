"""The measure of recall counts what it says, on conversations made up for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks.__main__ import main
from benchmarks.ablation import names
from benchmarks.conversations import Question, read
from benchmarks.finders import FINDERS, USER_FIRST, FullText, fused
from benchmarks.recall import Amount, measure
from squidbot.core.memories import Passage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

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
ADVICE = {
    "session_1": [
        "How do I prune a quince?",
        "Cut the quince in February, above a bud.",
        "My quince stands by the shed.",
        "By the shed a quince has shade until noon, so prune the quince less.",
    ]
}
ADVISED = [
    {"question": "Where does my quince stand?", "evidence": ["D1:3"], "category": "information_extraction"},
    {"question": "When do I prune it?", "evidence": ["D1:2"], "category": "temporal_reasoning"},
]


def entry(turns: dict[str, list[str]], questions: Sequence[Mapping[str, object]], *speakers: str) -> dict[str, object]:
    """Return a conversation of two in LoCoMo's form."""
    talk: dict[str, object] = {}
    for name, texts in turns.items():
        number = name.removeprefix("session_")
        talk[f"{name}_date_time"] = f"1:05 pm on {number} May, 2031"
        talk[name] = [
            {"dia_id": f"D{number}:{place}", "speaker": speakers[1 - place % 2], "text": text}
            for place, text in enumerate(texts, 1)
        ]
    return {"conversation": talk, "qa": questions}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a set of one small chat."""
    file = tmp_path / "locomo-open.json"
    file.write_text(json.dumps([entry(TURNS, QUESTIONS, "Bo", "Ada")]), encoding="utf-8")
    return file


@pytest.fixture
def folder(path: Path) -> Path:
    """Return the folder of two sets: that chat, and two talks with an assistant."""
    (other,) = json.loads(path.read_text(encoding="utf-8"))
    talks = [entry(ADVICE, ADVISED, "user", "assistant"), {**other, "unanswerable": ["Who tuned the harp?"]}]
    (path.parent / "beam-100k.json").write_text(json.dumps(talks), encoding="utf-8")
    return path.parent


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


def test_categories_have_names_and_unanswerable_questions_no_evidence(folder: Path) -> None:
    """A number is named as in the paper, a name is as it is."""
    chat, advice = read(folder / "locomo-open.json")[0], read(folder / "beam-100k.json")
    assert [each.category for each in chat.questions] == ["single-hop", "multi-hop", "adversarial"]
    assert [each.category for each in advice[0].questions] == ["information extraction", "temporal reasoning"]
    assert [(each.text, each.evidence) for each in advice[1].unanswerable] == [("Who tuned the harp?", frozenset())]


class Backwards:
    """Returns all, last first."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._keys = [each.key for each in reversed(passages)]

    def rank(self, question: Question) -> Sequence[str]:
        """Return all."""
        assert question.now > 0
        return self._keys


def test_a_question_counts_only_when_all_its_evidence_is_returned(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found is what stands in the budget, the last piece included."""
    monkeypatch.setattr("benchmarks.recall.FINDERS", {**FINDERS, "backwards": Backwards})
    monkeypatch.setattr("benchmarks.recall.finders", dict)
    monkeypatch.setattr("benchmarks.recall._counter", lambda _: (lambda _: 200, "200 each"))
    table = measure(Amount(path.parent, 1), lambda _: None).tables[0]
    shares = dict(table.rows)["backwards"]
    assert table.columns == ("500", "1,000", "2,000", "4,000")
    assert shares == pytest.approx((0, 200 / 3, 100, 100))  # places 2 and 4, 5, 7


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


def test_what_users_said_comes_before_what_the_assistant_said(folder: Path) -> None:
    """Each in the order of BM25."""
    talk = read(folder / "beam-100k.json")[0]
    keys = list(FINDERS[USER_FIRST](talk.passages).rank(talk.questions[0]))
    assert keys == [key for side in (("D1:1", "D1:3"), ("D1:2", "D1:4")) for key in keys if key in side]
    assert set(keys) == set(FullText(talk.passages).rank(talk.questions[0]))


def test_a_clause_without_spaces_is_found_by_pairs_of_its_characters() -> None:
    """Plain full-text search takes it for one word."""
    passages = [
        Passage(str(place), text, "Bo", None, "", place)
        for place, text in enumerate(("\u6211\u53bb\u6cb3\u8fb9\u9493\u9c7c", "\u6211\u4e70\u4e86\u4e00\u628a\u4f1e"))
    ]
    question = Question("\u8c01\u559c\u6b22\u9493\u9c7c\uff1f", frozenset({"0"}), "open", 1.0)
    assert list(FullText(passages).rank(question)) == ["0"]
    assert list(FullText(passages, is_plain=True).rank(question)) == []


def test_the_command_measures_all_sets_that_are_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one run: finders, categories, signals, what is told, times, bars; with remarks on what is not there."""
    out = folder / "figures.json"
    assert main(["--tiny", "--only", "recall", "--data", str(folder), "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    figures = json.loads(out.read_text(encoding="utf-8"))
    (part,) = figures["parts"]
    assert "LoCoMo: 2 questions left out, which name no evidence." in part["remarks"]
    assert any(remark.startswith("left out: MemoryBank, Chinese") for remark in part["remarks"])
    found = part["tables"][0]["rows"]
    assert found["perfect ranking"]["500"] == {"value": 100.0, "low": 100.0, "high": 100.0}
    assert "100.0 [100.0, 100.0]" in printed
    tables = {table["title"].partition(":")[0]: table["rows"] for table in part["tables"]}
    assert set(tables["squidbot, no model"]) == set(names())
    rows = tables["% of questions that are told something, and of answered ones that keep their answer"]
    assert set(rows) == {"LoCoMo: squidbot, no model", "BEAM 100K: squidbot, no model"}
    assert rows["LoCoMo: squidbot, no model"]["others' told"] is None  # there is no other conversation
    assert tables["CPU ms"]["BM25"]["BEAM 100K, a question"] > 0
    bars = {bar["name"]: bar for bar in figures["bars"]}
    assert bars["LoCoMo, squidbot, no model: % at 1,000"]["at_least"] == 85
    assert "BEAM 100K, squidbot, no model: unanswerable told" in bars


def test_users_first_is_measured_where_one_speaker_is_an_assistant(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not between two people."""
    monkeypatch.setattr("benchmarks.recall.finders", dict)
    result = measure(Amount(folder, 2), lambda _: None)
    tables = {table.title.partition(",")[0]: dict(table.rows) for table in result.tables}
    assert USER_FIRST not in tables["LoCoMo"]
    assert USER_FIRST in tables["BEAM 100K"]


def test_a_folder_without_sets_gives_a_remark(tmp_path: Path) -> None:
    """It says what is looked for, and with which option."""
    result = measure(Amount(tmp_path, 2), lambda _: None)
    assert not result.tables
    assert "beam-100k.json" in result.remarks[0]
    assert "--data" in result.remarks[0]


def test_a_file_of_another_form_is_named(tmp_path: Path) -> None:
    """The error says which file it is."""
    file = tmp_path / "other.json"
    file.write_text('[{"talk": []}]', encoding="utf-8")
    with pytest.raises(ValueError, match=r"other\.json"):
        read(file)
