"""Recordings of other agents are stored once, on their lines, however often and in whichever pieces they come."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.recordings import START, Position, RecordedMessage, RecordedSession
from squidbot.codecs.recordings.lines import entries
from squidbot.codecs.recordings.readers import reader
from squidbot.core.memories import Scope
from squidbot.core.messages import Category
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.core.transcript.lines import LINE, LineStore
from squidbot.core.transcript.recordings import RECORDED, RECORDING
from squidbot.core.transcript.scopes import MODEL, SCOPE
from squidbot.services.recordings import RecordingImporter
from squidbot.wiring.claims import wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from squidbot.core.messages import Record, StoredMessage
    from squidbot.core.ports import TranscriptStore
    from squidbot.services.recordings import ImportedRecording

CODEC = OpenAIChat()
# A message of a made recording: its id, the id in front of it, and its text.
Made = tuple[str, str, str]


class _Reader(ModuleType):
    """Reads lines of `{"session", "id", "parent", "text"}`, as an agent that names the message before each."""

    def __init__(self) -> None:
        super().__init__("made")
        self.reads: list[int] = []

    def read(self, path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
        del is_over
        start = start or Position()
        self.reads.append(start.offset)
        unread: Counter[str] = Counter()
        found: dict[str, RecordedSession] = {}
        before, known, last = start.tip, set[str](), start
        for entry in entries(path, start, unread):
            one = {key: str(value) for key, value in entry.value.items()}
            name = one.get("session", path.stem)
            session = found.setdefault(name, RecordedSession("made", name, CODEC.tag, "/work/app"))
            session.parent = one.get("above", "")
            parent = None if one["parent"] == before else one["parent"]
            is_first = not before and not start.offset
            value = {"role": one.get("role", "user"), "content": one["text"]}
            session.messages.append(
                RecordedMessage(one["id"], value, None if is_first else parent, 5.0, one.get("model", ""))
            )
            before = one["id"]
            known.add(before)
            last = Position(entry.end, before, entry.line)
        for session in found.values():
            session.position = last
        return [*found.values()]


def _write(path: Path, messages: Sequence[Made], **more: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        for identifier, parent, text in messages:
            file.write(json.dumps({"id": identifier, "parent": parent, "text": text, **more}) + "\n")


def _importer(store: SqliteStore) -> RecordingImporter:
    return RecordingImporter(store, Meter(builtin_counter("classes")), {CODEC.tag: CODEC}, wait=wait)


def _lines(store: SqliteStore, session: str) -> set[tuple[str, ...]]:
    """Return what each line of a session says."""
    on = LineStore(store, session)
    every = [line.read(session, 0, 10_000) for line in on.all()]
    return {tuple(CODEC.text(row.payload) for row in rows) for rows in every}


def _leaves(messages: Sequence[Made]) -> set[tuple[str, ...]]:
    """Return the texts from the beginning to each message behind which no other stands."""
    above = {identifier: (parent, text) for identifier, parent, text in messages}
    inner = {parent for parent, _ in above.values()}

    def way(identifier: str) -> Iterator[str]:
        while identifier:
            identifier, text = above[identifier]
            yield text

    return {tuple(way(identifier))[::-1] for identifier in above if identifier not in inner}


@st.composite
def _trees(draw: st.DrawFn) -> list[Made]:
    """Draw the messages of a conversation in which somebody goes back, in the order in which they were said."""
    made: list[Made] = []
    for number in range(draw(st.integers(1, 12))):
        behind = made[-1][0] if made else START
        if made and draw(st.integers(0, 3)) == 0:
            behind = draw(st.sampled_from([START, *(one[0] for one in made)]))
        made.append((f"id-{number}", behind, f"text {number}"))
    return made


@given(tree=_trees(), cuts=st.sets(st.integers(1, 11)), again=st.booleans())
def test_a_recording_has_the_same_lines_in_whichever_pieces_it_is_imported(
    tmp_path_factory: pytest.TempPathFactory, tree: list[Made], cuts: set[int], *, again: bool
) -> None:
    """Branches are those of the links between messages, also where an import stops in the middle."""
    path, reader = tmp_path_factory.mktemp("made") / "talk.jsonl", _Reader()
    new = 0
    with SqliteStore(path.with_suffix(".db")) as store:
        places = [0, *sorted(cut for cut in cuts if cut < len(tree)), len(tree)]
        for first, last in itertools.pairwise(places):
            _write(path, tree[first:last])
            for _ in range(1 + again):
                done = _importer(store).import_file(reader, path)
                assert not [one.reason for one in done if one.reason]
                new += sum(one.new for one in done)
        assert new == len(tree) == store.head("made/talk")[0]
        assert _lines(store, "made/talk") == _leaves(tree)
        # What is talked on is the newest.
        newest = LineStore(store, "made/talk")
        assert CODEC.text(newest.read("made/talk", newest.last_seq, newest.last_seq)[0].payload) == tree[-1][2]


def test_what_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    """An unchanged file is not opened; a longer one is read from where it was left."""
    path, reader = tmp_path / "talk.jsonl", _Reader()
    with SqliteStore(tmp_path / "s.db") as store:
        _write(path, [("a", "", "one"), ("b", "a", "two")])
        assert [one.new for one in _importer(store).import_file(reader, path)] == [2]
        assert _importer(store).import_file(reader, path) == []
        assert reader.reads == [0]
        size = path.stat().st_size
        _write(path, [("c", "b", "three")])
        assert [(one.new, one.known) for one in _importer(store).import_file(reader, path)] == [(1, 0)]
        assert reader.reads == [0, size]


def test_a_file_that_was_written_anew_with_the_same_length_is_read_again(tmp_path: Path) -> None:
    """Its time tells; a file that was only touched brings nothing, and is read whole once."""
    path, reader = tmp_path / "talk.jsonl", _Reader()
    with SqliteStore(tmp_path / "s.db") as store:
        _write(path, [("a", "", "one"), ("b", "a", "two")])
        _importer(store).import_file(reader, path)
        size = path.stat().st_size
        path.unlink()
        _write(path, [("a", "", "one"), ("c", "a", "six")])
        os.utime(path, (1, 1))
        assert path.stat().st_size == size
        assert [(one.new, one.known) for one in _importer(store).import_file(reader, path)] == [(1, 1)]
        assert _lines(store, "made/talk") == {("one", "two"), ("one", "six")}
        os.utime(path, (2, 2))
        assert sum(one.new for one in _importer(store).import_file(reader, path)) == 0
        assert _importer(store).import_file(reader, path) == []
        assert reader.reads == [0, 0, 0]


def test_a_resumed_copy_is_a_line_of_the_session_that_it_copies(tmp_path: Path) -> None:
    """Messages are known by their ids, whichever file repeats them."""
    first, copy, reader = tmp_path / "first.jsonl", tmp_path / "copy.jsonl", _Reader()
    said = [("a", "", "one"), ("b", "a", "two"), ("c", "b", "three")]
    with SqliteStore(tmp_path / "s.db") as store:
        _write(first, said)
        _importer(store).import_file(reader, first)
        _write(copy, [*said[:2], ("x", "b", "otherwise")])
        done = _importer(store).import_file(reader, copy)
        assert [(one.session, one.new, one.known, one.lines) for one in done] == [("made/first", 1, 2, 1)]
        # Both go on, each on its own line, and are read from where they were left.
        _write(copy, [("y", "x", "further")])
        _write(first, [("d", "c", "four")])
        for path in (copy, first):
            assert [one.new for one in _importer(store).import_file(reader, path)] == [1]
        assert _lines(store, "made/first") == {("one", "two", "three", "four"), ("one", "two", "otherwise", "further")}
        assert [name for name, _ in store.sessions()] == ["made/first"]


def test_two_recordings_with_one_name_are_two_sessions(tmp_path: Path) -> None:
    """Nothing of the second one is taken for the first."""
    reader = _Reader()
    with SqliteStore(tmp_path / "s.db") as store:
        for folder in ("one", "two"):
            path = tmp_path / folder / "talk.jsonl"
            path.parent.mkdir()
            _write(path, [(f"{folder}-a", "", folder)])
            _importer(store).import_file(reader, path)
        assert store.sessions() == [("made/talk", 1), ("made/talk~2", 1)]
        for folder, name in (("one", "made/talk"), ("two", "made/talk~2")):
            _write(tmp_path / folder / "talk.jsonl", [(f"{folder}-b", f"{folder}-a", "more")])
            assert _importer(store).import_file(reader, tmp_path / folder / "talk.jsonl")[0].session == name


def test_pieces_of_a_session_in_several_files_are_one_session(tmp_path: Path) -> None:
    """An id that no other session has tells, also where the files share no message; so do ids of its sub-agents."""
    reader, source = _Reader(), "0195a3b2-5c6d-7e8f-9a0b-1c2d3e4f5a6b"
    said = [(f"{number}", f"{number - 1}" if number else "", f"text {number}") for number in range(6)]
    with SqliteStore(tmp_path / "s.db") as store:
        for number, first in enumerate((0, 2, 4)):
            path = tmp_path / f"{number}.jsonl"
            _write(path, said[first : first + 2], session=source)
            _write(path, [(f"s{number}", "", f"below {number}")], session="a1", above=source)
            _importer(store).import_file(reader, path)
        assert store.sessions() == [(f"made/{source}", 6), (f"made/{source}/a1", 3)]
        assert _lines(store, f"made/{source}") == {tuple(text for *_, text in said)}
        # The whole of it, in one file, adds nothing.
        _write(tmp_path / "all.jsonl", said, session=source)
        assert [one.new for one in _importer(store).import_file(reader, tmp_path / "all.jsonl")] == [0]


def test_a_copy_of_a_session_that_comes_in_pieces_is_not_doubled(tmp_path: Path) -> None:
    """The last piece first, then the copy, and then the beginning, which both have."""
    reader, source = _Reader(), "0195a3b2-5c6d-7e8f-9a0b-1c2d3e4f5a6b"
    said = [(f"{number}", f"{number - 1}" if number else "", f"text {number}") for number in range(4)]
    pieces = {"last": (said[2:], source), "copy": ([*said[:1], ("x", "0", "else")], f"1{source[1:]}")}
    pieces["first"] = said[:2], source
    with SqliteStore(tmp_path / "s.db") as store:
        for name, (messages, session) in pieces.items():
            _write(tmp_path / f"{name}.jsonl", messages, session=session)
            _importer(store).import_file(reader, tmp_path / f"{name}.jsonl")
        assert store.sessions() == [(f"made/{source}", 2), (f"made/1{source[1:]}", 3)]


def test_a_moved_recording_is_known(tmp_path: Path) -> None:
    """The ids tell, not the path."""
    reader, old, new = _Reader(), tmp_path / "talk.jsonl", tmp_path / "moved" / "talk.jsonl"
    with SqliteStore(tmp_path / "s.db") as store:
        _write(old, [("a", "", "one")])
        _importer(store).import_file(reader, old)
        new.parent.mkdir()
        old.rename(new)
        _write(new, [("b", "a", "two")])
        assert [(one.new, one.known) for one in _importer(store).import_file(reader, new)] == [(1, 1)]
        assert store.sessions() == [("made/talk", 2)]


def test_a_sub_agent_is_a_session_below_its_parent(tmp_path: Path) -> None:
    """In the same file, and in a file of its own."""
    path, alone, reader = tmp_path / "talk.jsonl", tmp_path / "agent-7.jsonl", _Reader()
    with SqliteStore(tmp_path / "s.db") as store:
        _write(path, [("a", "", "one")])
        _write(path, [("s", "a", "look there")], session="task", above="talk")
        _write(alone, [("t", "", "and there")], session="seven", above="talk")
        for each in (path, alone):
            _importer(store).import_file(reader, each)
        assert [name for name, _ in store.sessions()] == ["made/talk", "made/talk/task", "made/talk/seven"]


def test_a_session_says_how_far_its_file_was_read_also_if_others_stand_in_it(tmp_path: Path) -> None:
    """Who knows the session alone goes on from there, and does not read again what its sub-agents said."""
    path, reader = tmp_path / "talk.jsonl", _Reader()
    with SqliteStore(tmp_path / "s.db") as store:
        for number in range(3):
            _write(path, [(f"a{number}", f"a{number - 1}" if number else "", "one")])
            _write(path, [(f"s{number}", "", "long " * 20_000)], session="task", above="talk")
            newest = RECORDED.newest(store, "made/talk")
            known = {"made/talk": newest} if newest else {}
            _importer(store).import_file(reader, path, is_over=False, known=known)
            assert reader.reads[-1] == (newest.offset if newest else 0)
            assert RECORDED.newest(store, "made/talk")[5] == path.stat().st_size  # type: ignore[index]


def test_a_file_whose_first_session_is_empty_is_not_read_again(tmp_path: Path) -> None:
    """A sub-agent may have spoken before its parent."""
    path = tmp_path / "talk.jsonl"
    _write(path, [("s", "", "look there")], session="task", above="talk")

    class _WithParent(_Reader):
        def read(self, path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
            found = super().read(path, start, is_over=is_over)
            return [RecordedSession("made", "talk", CODEC.tag, position=found[0].position), *found]

    reader = _WithParent()
    with SqliteStore(tmp_path / "s.db") as store:
        assert sum(one.new for one in _importer(store).import_file(reader, path)) == 1
        assert _importer(store).import_file(reader, path) == []
        assert reader.reads == [0]


def test_who_said_it_where_and_with_which_model_comes_along(tmp_path: Path) -> None:
    """Times, models, the project and the user are stored beside the messages."""
    path, reader = tmp_path / "talk.jsonl", _Reader()
    with SqliteStore(tmp_path / "s.db") as store:
        _write(path, [("a", "", "hello")])
        _write(path, [("b", "a", "hi")], role="assistant", model="m-1")
        _write(path, [("c", "b", "ho")], role="assistant", model="m-2")
        importer = _importer(store)
        importer.scope = Scope(user="ann")
        importer.import_file(reader, path)
        recording = RECORDING.newest(store, "made/talk")
        assert recording
        assert (recording.agent, recording.source, recording.project) == ("made", "talk", "/work/app")
        assert [(one.first_seq, one.model) for one in MODEL.all(store, "made/talk")] == [(1, "m-1"), (2, "m-2")]
        assert [one.scope.user for one in SCOPE.all(store, "made/talk")] == ["ann"]
        rows = store.read("made/talk", 0, 9)
        assert [(row.role, row.time, row.turn) for row in rows] == [
            ("user", 5.0, 0),
            ("assistant", 5.0, 0),
            ("assistant", 5.0, 0),
        ]


def test_secrets_are_removed_where_that_is_asked_for(tmp_path: Path) -> None:
    """The message is stored with a mark in their place."""
    path, reader = tmp_path / "talk.jsonl", _Reader()
    with SqliteStore(tmp_path / "s.db") as store:
        _write(path, [("a", "", "the key is SECRET, keep it")])
        importer = _importer(store)
        importer.redacted = lambda text: text.replace("SECRET", "[redacted]")
        importer.import_file(reader, path)
        assert CODEC.text(store.read("made/talk", 0, 0)[0].payload) == "the key is [redacted], keep it"


def test_what_a_program_wrote_in_the_users_role_is_no_persons_word(tmp_path: Path) -> None:
    """An agent writes its own summary in the role of the user."""
    path = tmp_path / "talk.jsonl"
    _write(path, [("a", "", "This is a summary")])

    class _OfAProgram(_Reader):
        def read(self, path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
            found = super().read(path, start, is_over=is_over)
            found[0].messages = [one._replace(category=Category.CONTEXT) for one in found[0].messages]
            return found

    with SqliteStore(tmp_path / "s.db") as store:
        _importer(store).import_file(_OfAProgram(), path)
        assert store.read("made/talk", 0, 0)[0].category is Category.AUTOMATED


def test_a_process_that_dies_in_the_middle_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next import stores the rest."""
    path, reader = tmp_path / "talk.jsonl", _Reader()
    monkeypatch.setattr("squidbot.services.recordings._MOST_ROWS", 2)
    said = [(f"{number}", f"{number - 1}" if number else "", f"text {number}") for number in range(7)]
    _write(path, said)
    for survived in (1, 2, 3):
        with SqliteStore(tmp_path / f"{survived}.db") as store:
            append, calls = store.append, itertools.count()

            def dying(*given: object, at: int = survived, act: object = append, made: Iterator[int] = calls) -> None:
                if next(made) == at:
                    raise KeyboardInterrupt
                act(*given)  # type: ignore[operator]

            monkeypatch.setattr(store, "append", dying)
            with pytest.raises(KeyboardInterrupt):
                _importer(store).import_file(reader, path)
            monkeypatch.setattr(store, "append", append)
            assert store.head("made/talk")[0] == 2 * survived
            _importer(store).import_file(reader, path)
            assert _lines(store, "made/talk") == {tuple(text for *_, text in said)}


def test_several_who_import_one_recording_at_once_store_it_once(tmp_path: Path) -> None:
    """Each message is stored by one of them."""
    path = tmp_path / "talk.jsonl"
    said = [(f"{number}", f"{number - 1}" if number else "", f"text {number}") for number in range(40)]

    def imported(number: int) -> list[ImportedRecording]:
        with SqliteStore(tmp_path / "s.db") as store:
            return _importer(store).import_file(_Reader(), path, is_over=number % 2 == 0)

    for first in range(0, 40, 10):
        _write(path, said[first : first + 10])
        with ThreadPoolExecutor(8) as pool:
            done = [one for each in pool.map(imported, range(8)) for one in each]
        assert not [one.reason for one in done if one.reason]
        assert sum(one.new for one in done) == 10
    with SqliteStore(tmp_path / "s.db") as store:
        assert _lines(store, "made/talk") == {tuple(text for *_, text in said)}


@pytest.mark.parametrize("before", [True, False])
def test_another_import_between_two_transactions_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, before: bool
) -> None:
    """Wherever another process comes in: each message stands once, and each line is begun once."""
    path = tmp_path / "talk.jsonl"
    monkeypatch.setattr("squidbot.services.recordings._MOST_ROWS", 2)
    said = [("a", "", "one"), ("b", "a", "two"), ("c", "b", "three"), ("d", "c", "four"), ("e", "d", "five")]
    said += [("x", "b", "otherwise"), ("y", "x", "further"), ("z", "", "anew"), ("f", "e", "six")]
    _write(path, said)
    for at in itertools.count():
        calls = itertools.count()
        with SqliteStore(tmp_path / f"{at}.db") as store, SqliteStore(tmp_path / f"{at}.db") as other:
            append = store.append

            def appended(
                *given: object,
                act: object = append,
                made: Iterator[int] = calls,
                due: int = at,
                of: SqliteStore = other,
            ) -> None:
                is_due = next(made) == due
                if is_due and before:
                    _importer(of).import_file(_Reader(), path)
                act(*given)  # type: ignore[operator]
                if is_due and not before:
                    _importer(of).import_file(_Reader(), path)

            monkeypatch.setattr(store, "append", appended)
            done = _importer(store).import_file(_Reader(), path)
            assert not [one.reason for one in done if one.reason]
            assert store.head("made/talk")[0] == len(said)
            assert _lines(store, "made/talk") == _leaves(said)
            assert len([*LineStore(store, "made/talk").all()]) == len(_leaves(said))
        if next(calls) <= at:
            break
    assert at > 5


def test_a_store_that_fails_is_told_and_nothing_is_taken_for_stored(tmp_path: Path) -> None:
    """The next import stores what this one could not."""
    path, reader = tmp_path / "talk.jsonl", _Reader()
    _write(path, [("a", "", "one")])
    with SqliteStore(tmp_path / "s.db", busy_seconds=0.01) as store:
        held = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        done = _importer(store).import_file(reader, path)
        assert done[0].reason
        assert done[0].new == 0
        held.execute("ROLLBACK")
        held.close()
        assert [one.new for one in _importer(store).import_file(reader, path)] == [1]


def test_what_is_forgotten_is_not_imported_again(tmp_path: Path) -> None:
    """Neither a message nor a whole session comes back; what is said later does come."""
    path, reader = tmp_path / "talk.jsonl", _Reader()
    _write(path, [("a", "", "one"), ("b", "a", "two"), ("c", "b", "three")])
    with squidbot.load({"store": {"path": str(tmp_path / "s.db")}}) as engine:
        store = engine.wired.store
        importer = RecordingImporter(store, engine.wired.meter(), engine.wired.codecs)
        importer.import_file(reader, path)
        engine.session("made/talk").forget(1)
        os.utime(path, (1, 1))
        assert sum(one.new for one in importer.import_file(reader, path)) == 0
        assert not store.read("made/talk", 1, 1)[0].payload.count("two")
        # Neither does it with a copy.
        path.with_name("copy.jsonl").write_bytes(path.read_bytes())
        assert sum(one.new for one in importer.import_file(reader, path.with_name("copy.jsonl"))) == 0
        engine.forget_session("made/talk")
        assert store.head("made/talk")[0] == 0
        os.utime(path, (2, 2))
        assert sum(one.new for one in importer.import_file(reader, path)) == 0
        # What is said after that is another matter, and stands alone.
        for number in range(3):
            _write(path, [(f"d{number}", f"d{number - 1}" if number else "c", f"later {number}")])
            os.utime(path, (3 + number, 3 + number))
            assert sum(one.new for one in importer.import_file(reader, path)) == 1
            assert [_line_texts(store)] == [[f"later {each}" for each in range(number + 1)]]


def _line_texts(store: TranscriptStore) -> list[str]:
    """Return what the line that is talked on says."""
    return [CODEC.text(row.payload) for row in LineStore(store, "made/talk").read("made/talk", 0, 99)]


class _InterruptedStore(SqliteStore):
    """A store in which another process does something as soon as a line was begun."""

    act: Callable[[], object] | None = None

    def append(
        self, session_id: str, expected_seq: int, messages: Sequence[StoredMessage], records: Sequence[Record] = ()
    ) -> None:
        super().append(session_id, expected_seq, messages, records)
        if self.act and any(record.kind == LINE.name for record in records):
            act, self.act = self.act, None
            act()


def test_who_begins_a_branch_looks_at_what_others_stored_meanwhile(tmp_path: Path) -> None:
    """Two hooks at once: nothing is doubled, and there is no line too many."""
    path, reader, place = tmp_path / "talk.jsonl", _Reader(), tmp_path / "s.db"
    said = [("a", "", "one"), ("b", "a", "two"), ("x", "a", "otherwise"), ("y", "x", "further")]
    with _InterruptedStore(place) as store, SqliteStore(place) as other:
        _write(path, said[:2])
        _importer(store).import_file(reader, path)
        _write(path, said[2:])
        store.act = lambda: _importer(other).import_file(reader, path)
        done = _importer(store).import_file(reader, path)
        assert [one.reason for one in done] == [""]
        assert store.sessions() == [("made/talk", 4)]
        assert sorted(_lines(store, "made/talk")) == sorted(_leaves(said))
        assert len([*LineStore(store, "made/talk").all()]) == 2


def test_a_session_is_no_copy_of_its_own_sub_agent(tmp_path: Path) -> None:
    """A sub-agent that begins with what its session said may be imported first."""
    path, alone, reader = tmp_path / "talk.jsonl", tmp_path / "agent-7.jsonl", _Reader()
    with SqliteStore(tmp_path / "s.db") as store:
        _write(alone, [("a", "", "one"), ("t", "a", "look there")], session="seven", above="talk")
        _write(path, [("a", "", "one"), ("b", "a", "two")])
        for each in (alone, path):
            _importer(store).import_file(reader, each)
        assert store.sessions() == [("made/talk/seven", 2), ("made/talk", 2)]


def _sayings(agent: str, at: int) -> object:
    """Return a recording of an agent whose ids begin anew in each, with a system's message that all have."""
    said = [{"role": role, "content": text} for role, text in (("system", "Help."), ("user", f"question {at}"))]
    if agent == "openai-dump":
        return [*said, {"role": "assistant", "content": f"answer {at}"}]
    if agent == "gemini-cli":
        identifier = f"{at}1111111-2222-4333-8444-555555555555"
        prompt = {"sessionId": identifier, "type": "user", "timestamp": "2026-01-01T00:00:00Z"}
        return [{**prompt, "messageId": number, "message": f"{at} {number}"} for number in range(3)]
    event = {"timestamp": "2026-01-01T00:00:00", "action": "message"}
    return [
        {**event, "id": number, "source": who, "args": {"content": f"{at} {number}"}}
        for number, who in enumerate(("user", "agent", "user"))
    ]


@pytest.mark.parametrize("agent", ["openai-dump", "gemini-cli", "openhands"])
def test_sessions_with_the_same_ids_are_no_copies(tmp_path: Path, agent: str) -> None:
    """Where ids begin anew in each session, nothing of the second one is taken for the first."""
    of_agent, codecs = reader(agent), (CODEC, AnthropicMessages())
    with SqliteStore(tmp_path / "s.db") as store:
        importer = RecordingImporter(store, Meter(builtin_counter("classes")), {one.tag: one for one in codecs})
        for _ in range(2):
            done = []
            for at in (1, 2):
                path = tmp_path / str(at) / ("logs.json" if agent == "gemini-cli" else "talk.json")
                path.parent.mkdir(exist_ok=True)
                path.write_text(json.dumps(_sayings(agent, at)))
                done += importer.import_file(of_agent, path)
            assert not any(one.reason for one in done)
        assert [messages for _, messages in store.sessions()] == [3, 3]


def test_a_step_that_is_written_while_it_is_read_is_left_for_the_next_time(tmp_path: Path) -> None:
    """The file was over when the import began, and goes on before it ends."""
    path, read = tmp_path / "talk.jsonl", list[bool]()

    class _Slow(_Reader):
        def read(self, path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
            read.append(is_over)
            if len(read) == 1:
                _write(path, [("b", "a", "two")])
            return super().read(path, start, is_over=is_over)

    with SqliteStore(tmp_path / "s.db") as store:
        _write(path, [("a", "", "one")])
        _importer(store).import_file(_Slow(), path)
        assert read == [True, False]
        # It was not read to its end, as far as is known.
        _importer(store).import_file(_Slow(), path)
        assert read == [True, False, True]


def test_a_process_that_dies_while_it_forgets_lets_nothing_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of a session is known before the session goes."""
    path, reader = tmp_path / "talk.jsonl", _Reader()
    _write(path, [("a", "", "one"), ("b", "a", "two")])
    settings = {"store": {"path": str(tmp_path / "s.db")}}
    with squidbot.load(settings) as engine:
        store = engine.wired.store
        importer = RecordingImporter(store, engine.wired.meter(), engine.wired.codecs)
        importer.import_file(reader, path)

        def dying(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(store, "append", dying)
            with pytest.raises(KeyboardInterrupt):
                engine.forget_session("made/talk")
        assert store.head("made/talk") == (0, 0)
    with squidbot.load(settings) as engine:
        importer = RecordingImporter(engine.wired.store, engine.wired.meter(), engine.wired.codecs)
        os.utime(path, (1, 1))
        assert sum(one.new for one in importer.import_file(reader, path)) == 0
        assert engine.wired.store.head("made/talk")[0] == 0


def test_sub_agents_are_forgotten_with_the_session_that_started_them(tmp_path: Path) -> None:
    """They said its words, too."""
    path, reader = tmp_path / "talk.jsonl", _Reader()
    _write(path, [("a", "", "one")])
    _write(path, [("s", "a", "look there")], session="task", above="talk")
    with squidbot.load({"store": {"path": str(tmp_path / "s.db")}}) as engine:
        importer = RecordingImporter(engine.wired.store, engine.wired.meter(), engine.wired.codecs)
        importer.import_file(reader, path)
        assert engine.forget_session("made/talk").sessions == ("made/talk", "made/talk/task")
        assert [engine.wired.store.head(name)[0] for name in ("made/talk", "made/talk/task")] == [0, 0]


def test_a_title_that_was_forgotten_stays_forgotten(tmp_path: Path) -> None:
    """The agent writes its title again and again."""
    path = tmp_path / "talk.jsonl"
    _write(path, [("a", "", "one"), ("b", "a", "two")])

    class _Titled(_Reader):
        def read(self, path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
            found = super().read(path, start, is_over=is_over)
            found[0].title = "All about one"
            return found

    with squidbot.load({"store": {"path": str(tmp_path / "s.db")}}) as engine:
        store = engine.wired.store
        importer = RecordingImporter(store, engine.wired.meter(), engine.wired.codecs)
        importer.import_file(_Titled(), path)
        engine.session("made/talk").forget(0)
        _write(path, [("c", "b", "three")])
        assert sum(one.new for one in importer.import_file(_Titled(), path)) == 1
        assert [one.title for one in RECORDING.all(store, "made/talk")] == [""]
