"""Indexing that is killed, or not alone: each file is found as it was or as it is, and nobody gives up too soon."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3.memory import InMemoryMemoryStore, SqliteMemoryStore
from squidbot.core.errors import StoreError
from squidbot.services import indexing
from squidbot.services.indexing import IndexPaths, reindex

from .indexer import run
from .noted import Notes, became, memories_of, pieces_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.memories import Memory


def states(path: Path) -> dict[str, list[str]]:
    """Return the texts that are found of each file."""
    found: dict[str, list[str]] = {}
    with SqliteMemoryStore(path) as store:
        for one in pieces_in(store):
            found.setdefault(one.sources[0].path, []).append(one.text.partition("\n")[2])
    return found


@pytest.mark.slow
def test_file_is_found_as_it_was_or_as_it_is_when_the_indexer_is_killed(tmp_path: Path) -> None:
    """SIGKILL at random moments: never both, never neither, and the next run makes it whole."""
    notes = tmp_path / "notes"
    notes.mkdir()
    chance = random.Random(6)  # noqa: S311  # repeatable
    store = tmp_path / "facts.db"
    texts: list[dict[str, list[str]]] = [{}]
    for kill in range(6):
        state = {f"notes/{number}.md": [f"Part {part} of state {kill}." for part in range(3)] for number in range(12)}
        for name, parts in state.items():
            (tmp_path / name).write_text("\n\n".join(f"# {at}\n{part}" for at, part in enumerate(parts)), "utf-8")
        texts.append(state)
        script = Path(__file__).with_name("indexer.py")
        with subprocess.Popen(  # our own script
            [sys.executable, str(script), str(store), str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.15))
            process.kill()
        for name, parts in states(store).items():
            assert parts in [each.get(name) for each in texts], name
        run(store, tmp_path)
        assert states(store) == state
        texts = [state]


def both_at_once(command: list[str]) -> list[int]:
    """Run two programs that have both looked at the files before one of them writes; return how often each waited."""
    both = [
        subprocess.Popen([*command, "meets"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for each in both:
        assert each.stdout is not None
        assert [each.stdout.readline() for _ in range(2)] == ["ready\n", "read\n"]
    for each in both:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    said = [each.communicate()[0] for each in both]
    assert [each.returncode for each in both] == [0, 0]
    return [int(each) for each in said]


@pytest.mark.slow
def test_two_programs_that_index_at_once_leave_each_file_once(tmp_path: Path) -> None:
    """One of them comes too late for sure, as often as the files change, and begins again; none gives up."""
    notes = tmp_path / "notes"
    notes.mkdir()
    store = tmp_path / "facts.db"
    for state in range(3):
        for number in range(8):
            (notes / f"{number}.md").write_text(f"# One\nState {state}.\n# Two\nMore {state}.", "utf-8")
        command = [sys.executable, str(Path(__file__).with_name("indexer.py")), str(store), str(tmp_path)]
        waited = both_at_once(command)
        # What both find new is the same: neither is in the other's way.
        assert state == 0 or sum(waited) >= 1
        assert states(store) == {f"notes/{number}.md": [f"State {state}.", f"More {state}."] for number in range(8)}
        assert not run(store, tmp_path).outcomes


class Overtaken(InMemoryMemoryStore):
    """A store in which another program comes first with every file, so many times."""

    def __init__(self, notes: Path) -> None:
        super().__init__()
        self.times = 0
        self.another = ""
        self.notes = notes

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Let the other one index another state of the files first; then it is as we have seen it again."""
        if self.times:
            self.times, left = 0, self.times
            seen = (self.notes / "a.md").read_text("utf-8")
            (self.notes / "a.md").write_text(self.another or f"{seen}\n# And\nAgain {left}.", "utf-8")
            reindex(memories_of(self), IndexPaths(self.notes.parent, ("notes",)))
            (self.notes / "a.md").write_text(seen, "utf-8")
            self.times = left - 1
        super().exchange(gone, memories, reason)


@pytest.mark.parametrize("is_new", [False, True])
def test_indexing_begins_again_as_long_as_another_program_comes_first(tmp_path: Path, *, is_new: bool) -> None:
    """A little later each time; what it finds then is what the files say. A new file is no exception."""
    store = Overtaken(tmp_path / "notes")
    notes = Notes(tmp_path, store)
    if not is_new:
        notes.write("a.md", "# It\nWas grey.")
        notes.index()
    notes.write("a.md", "# It\nIs teal.")
    store.times = 20
    waited: list[float] = []
    done = reindex(memories_of(store), IndexPaths(tmp_path, ("notes",)), wait=waited.append)
    assert became(done) == [("a.md", "changed")]
    assert (waited[:3], max(waited), len(waited)) == ([0.05, 0.1, 0.2], 2.0, 20)
    assert [one.text for one in pieces_in(store)] == ["It\nIs teal."]
    assert not notes.index().outcomes


def test_file_that_two_programs_found_new_in_two_states_is_looked_at_again(tmp_path: Path) -> None:
    """No piece of the older state is found when both are done."""
    store = Overtaken(tmp_path / "notes")
    notes = Notes(tmp_path, store)
    notes.write("a.md", "It is teal.")
    store.times = 1
    store.another = "It was grey, and no word of that is left."
    waited: list[float] = []
    done = reindex(memories_of(store), IndexPaths(tmp_path, ("notes",)), wait=waited.append)
    assert (became(done), waited) == ([("a.md", "changed")], [0.05])
    assert [one.text for one in pieces_in(store)] == ["a\nIt is teal."]
    assert not notes.index().outcomes


def test_indexing_gives_up_when_others_come_first_for_a_minute(tmp_path: Path) -> None:
    """Each file is as one of them left it; the text says so."""
    store = Overtaken(tmp_path / "notes")
    notes = Notes(tmp_path, store)
    notes.write("a.md", "# It\nWas grey.")
    notes.index()
    notes.write("a.md", "# It\nIs teal.")
    store.times = 1_000
    waited: list[float] = []
    with pytest.raises(StoreError, match=r"for 60 s; try again later"):
        reindex(memories_of(store), IndexPaths(tmp_path, ("notes",)), wait=waited.append)
    assert sum(waited) == pytest.approx(60)
    assert [one.text[:9] for one in pieces_in(store)] == ["It\nIs tea", "And\nAgain"]


def test_files_that_were_done_before_another_program_came_first_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is looked at again then, and they are as they were."""
    monkeypatch.setattr(indexing, "BATCH_CHUNKS", 1)
    store = Overtaken(tmp_path / "notes")
    notes = Notes(tmp_path, store)
    notes.write("a.md", "It is teal.")
    notes.write("b.md", "It was grey.")
    notes.index()
    notes.remove("b.md")
    notes.write("0.md", "It is new.")
    notes.write("a.md", "It is blue.")

    came: list[int] = []

    def tick(done: int, _all: int) -> None:
        if done == 1 and not came:
            came.append(done)
            store.times = 1

    done = reindex(memories_of(store), IndexPaths(tmp_path, ("notes",)), tick=tick, wait=lambda _seconds: None)
    assert became(done) == [("0.md", "new"), ("a.md", "changed")]
    assert done.unchanged == 0
    assert [one.text for one in pieces_in(store)] == ["0\nIt is new.", "a\nIt is blue."]
    assert not notes.index().outcomes
