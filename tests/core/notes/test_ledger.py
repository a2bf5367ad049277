"""What notes on everything are made from."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import pytest

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Record
from squidbot.core.notes.extract import NoteLine, NoteMaterial
from squidbot.core.notes.notebook import (
    FRAGMENT,
    FRAGMENT_LINES,
    FRAGMENT_UNITS,
    LEAST_LEDGER_FRACTION,
    LEDGER,
    LEDGER_LINES,
    LEDGER_UNITS,
    REACH_TOKENS,
    SLACK,
    WHOLE_LEDGER_TOKENS,
    WRITTEN_FADING_TOKENS,
    Fragment,
    Ledger,
)


def reading(*subjects: str, units: int = 1, weight: float = 1.0) -> NoteMaterial:
    """Return a reading with a line for each subject, each with so many words."""
    lines = {}
    for subject in subjects:
        texts = [f"{subject.replace(' ', '_')}_{number}.py" for number in range(units)]
        lines[subject] = NoteLine(subject, weight, dict.fromkeys(texts, ("with", weight, 0.2)))
    return NoteMaterial(lines, dict.fromkeys(subjects, 1.0), {})


def fragment(first: int, tokens: int, *subjects: str) -> Fragment:
    """Return a fragment of 10 messages."""
    return Fragment.of(first, first + 9, tokens, 2, reading(*subjects))


FADING = 1_000


def taken(*fragments: Fragment) -> Ledger:
    """Return a ledger of these, in which what is old fades by a factor of e in `FADING` tokens."""
    ledger = Ledger()
    for one in fragments:
        ledger = ledger.taking(one, FADING)
    return ledger


def test_empty_ledger_reaches_nowhere() -> None:
    """No message stands for anything yet."""
    assert Ledger().first_seq is None
    assert (Ledger().last_seq, Ledger().fragments) == (-1, 0)


def test_ledger_counts_what_it_takes_in() -> None:
    """Fragments, tokens, calls, the newest and the oldest message."""
    ledger = taken(fragment(0, 500, "file a.py"), fragment(10, 700, "file b.py"))
    assert (ledger.fragments, ledger.tokens, ledger.calls, ledger.last_seq, ledger.first_seq) == (2, 1200, 4, 19, 0)
    assert ledger.starts == ((0, 0), (10, 500))


def test_old_lines_fade_with_what_was_said_since() -> None:
    """By a factor of e in so many tokens; files go on as one line, other subjects stay apart."""
    ledger = taken(fragment(0, 10, "file a.py", "user"), fragment(10, FADING, "file b.py", "user"))
    weights = {subject: line.weight for subject, line in ledger.reading.lines.items()}
    assert weights == pytest.approx(
        {"file a.py": 1 / math.e, "user from 0": 1 / math.e, "file b.py": 1.0, "user from 10": 1.0}
    )


@pytest.mark.parametrize("fading", [FADING, 2 * WRITTEN_FADING_TOKENS])
def test_what_the_assistant_wrote_fades_more_slowly_than_what_was_shown(fading: int) -> None:
    """However small the room: a name that it wrote often goes on to rank before one that a tool showed since."""
    counts = {"written": 4.0}, {"shown": 4.0}, {"said": 4.0}
    lines = {"file a.py": NoteLine("written shown said", 1.0)}
    old = Fragment(0, 9, 10, 0, NoteMaterial(lines, *counts))
    ledger = Ledger().taking(old, fading).taking(fragment(10, FADING, "file b.py"), fading)
    slowly = 4.0 * math.exp(-FADING / max(fading, WRITTEN_FADING_TOKENS))
    kept = 4.0 * math.exp(-FADING / fading)
    found = ledger.reading
    assert (found.written["written"], found.shown["shown"], found.said["said"]) == pytest.approx((slowly, kept, kept))


def test_line_that_is_heard_of_again_is_as_new() -> None:
    """With its last news, behind the others, and the words of both times."""
    old = Fragment(0, 9, 10, 0, NoteMaterial({"file a.py": NoteLine("a", 1.0, {"x": ("with", 1.0, 0.0)})}))
    new = Fragment(
        10,
        19,
        FADING,
        0,
        NoteMaterial({"file a.py": NoteLine("again", 2.0, {"y": ("with", 1.0, 0.0)})}),
    )
    (line,) = taken(old, new).reading.lines.values()
    assert (line.head, line.weight) == ("again", 2.0)
    assert {text: round(weight, 2) for text, (_, weight, _) in line.words.items()} == {"x": 0.37, "y": 1.0}


def test_of_a_list_the_newest_state_alone_is_told() -> None:
    """A step that was open in an older block, and is gone or done, is not told as open."""
    old, new = (
        Fragment(first, first + 9, 10, 0, NoteMaterial({"list plan": NoteLine("plan", 1.0, {text: ("", 1.0, 0.0)})}))
        for first, text in ((0, "[open] a"), (10, "[done] a"))
    )
    (line,) = taken(old, new).reading.lines.values()
    assert list(line.words) == ["[done] a"]


@pytest.mark.parametrize(("weight", "fading", "left"), [(1.2, 1.0, 1.2), (0.05, 0.05, 0.06)])
def test_a_task_goes_on_from_block_to_block_in_its_newest_state(weight: float, fading: float, left: float) -> None:
    """What is to do was said in an older block; once it is done, its words are worth next to nothing."""
    made = NoteLine("TaskCreate 1 [pending]", 1.2, {"Round it": ("", 1.2, 0.0)})
    news = NoteLine("TaskUpdate 1", weight, {}, fading=fading)
    old, new = (Fragment(at, at + 9, 0, 0, NoteMaterial({"task 1": line})) for at, line in ((0, made), (10, news)))
    (line,) = taken(old, new).reading.lines.values()
    assert (line.head, line.weight) == ("TaskUpdate 1", weight)
    assert {text: round(weight, 2) for text, (_, weight, _) in line.faded.items()} == {"Round it": left}


def test_blocks_beyond_reach_are_no_longer_stood_for() -> None:
    """Four fading lengths, and no fewer than REACH_TOKENS; the newest fragment always is within reach."""
    for fading, reach in ((FADING, REACH_TOKENS), (REACH_TOKENS, 4 * REACH_TOKENS)):
        ledger = Ledger()
        for number in range(6):
            ledger = ledger.taking(fragment(10 * number, reach // 4, f"file {number}.py"), fading)
        assert ledger.first_seq == 20
    assert taken(fragment(0, 10 * REACH_TOKENS, "file a.py")).first_seq == 0


@pytest.mark.parametrize(("fading", "share"), [(FADING, LEAST_LEDGER_FRACTION), (WHOLE_LEDGER_TOKENS, 1.0)])
def test_fragment_and_ledger_keep_what_is_worth_most(fading: int, share: float) -> None:
    """Lines and words up to their number, in the order they had; a ledger is cut back once it is well beyond it.

    Where names fade faster it keeps fewer.
    """
    names = [f"file {number:03}.py" for number in range(FRAGMENT_LINES + 40)]
    lines = {name: NoteLine(name, float(number)) for number, name in enumerate(names)}
    kept = Fragment.of(0, 9, 10, 0, NoteMaterial(lines)).reading.lines
    assert list(kept) == names[40:]
    wordy = Fragment.of(0, 9, 10, 0, reading("file a.py", "file b.py", units=FRAGMENT_UNITS)).reading
    assert sum(len(line.words) for line in wordy.lines.values()) == FRAGMENT_UNITS
    ledger, sizes = Ledger(), []
    for number in range(12):
        ledger = ledger.taking(
            Fragment(number, number, 1, 0, reading(*(f"file {number}_{n}" for n in range(60)), units=10)), fading
        )
        sizes.append(len(ledger.reading.lines))
        assert ledger.reading.size <= LEDGER_UNITS * share * SLACK
    assert max(sizes) <= LEDGER_LINES * share * SLACK
    assert LEDGER_LINES * share in sizes


def test_fragment_and_ledger_come_back_from_their_json() -> None:
    """Lone surrogates and all."""
    one = Fragment.of(3, 9, 77, 5, reading("file \ud800.py", "user", units=3))
    assert FRAGMENT.read(FRAGMENT.record(0, one)) == one
    ledger = taken(one, fragment(10, 50, "file b.py"))
    assert LEDGER.read(LEDGER.record(0, ledger)) == ledger
    assert LEDGER.read(LEDGER.record(0, Ledger())) == Ledger()


@pytest.mark.parametrize("body", ["", "{}", "[]", "[1, 2, 3, 4]", "[1, 2, 3, 4, 5]", "[0, 1, 2, 3, [1, 2]]", "null"])
def test_text_that_is_no_fragment_and_no_ledger_is_damage(body: str) -> None:
    """A typed error for both."""
    with pytest.raises(DamagedStoreError, match=r"^stored notes 0 can"):
        FRAGMENT.read(Record("fragment", 0, body))
    with pytest.raises(DamagedStoreError, match=r"^stored notes 0 can"):
        LEDGER.read(Record("ledger", 0, body))


SAID = """
from squidbot.core.messages import Message, ToolCall
from squidbot.core.messages import Record
from squidbot.core.notes.notebook import FRAGMENT, LEDGER, Fragment
from squidbot.core.notes.extract import read
names = ", ".join(f"src/part{number}.py and parse_line{number}" for number in range(20))
call = ToolCall("c", "read_file", '{"path": "src/other.py", "names": "' + names + '"}')
said = [
    Message("user", "Look at these: " + names, "", ""),
    Message("assistant", "I read " + names + ".", "", "", calls=(call,)),
    Message("tool", "import " + names, "", "", results=("c",)),
]
print(Fragment.of(0, 2, 900, 1, read(said, users_verbatim=True)).mark)
"""


def test_fragment_is_the_same_text_in_every_process() -> None:
    """Python hashes texts differently in each process: nothing of that shows in what is stored."""
    made = [
        subprocess.run(
            [sys.executable, "-c", SAID], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert b"parse_line19" in made[0]
    assert made[0] == made[1] == made[2]
