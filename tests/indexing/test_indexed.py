"""What is found of files is what they say now: after edits, deletes, renames, and crashes at any moment."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.adapters.sqlite3.memory import InMemoryMemoryStore, SqliteMemoryStore
from squidbot.core.errors import StoreError
from squidbot.core.memories import Memory, Scope, View
from squidbot.core.memory.chunks import FILES
from squidbot.core.memory.view import Memories, MemoryQuery
from squidbot.core.redaction import Redactor
from squidbot.services import indexing
from squidbot.services.indexing import IndexPaths, reindex

from .indexer import ANN
from .noted import METER, Notes, became, memories_of, pieces_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.core.ports import MemoryStore

NOW = 2e9
NAMES = ("a.md", "b.md", "talk.jsonl", "journal.jsonl")
QUERIES = ("Which colour has the boat?", "teal", "port 6380", "number 3", "decision")
TEXTS = (
    "# Boat\n\nWhich colour has it?\n\n## Answer\n\nIt is teal.\n",
    "# Boat\n\nWhich colour has it?\n\nNobody knows.\n\n## Answer\n\nIt is teal.\n",
    "# Before\n\nAll.\n\n# Boat\n\nWhich colour has it?\n\n## Answer\n\nIt is teal.\n",
    "\n\n".join(f"## Part {number}\nThis is number {number % 3}." for number in range(9)),
    "",
    "binary \0",
    '{"role": "user", "content": "Which port?"}\n{"role": "assistant", "content": "It is port 6380."}\n',
    (
        '{"role": "user", "content": "Which port?"}\n{"role": "assistant", "content": "It is port 6380."}\n'
        '{"role": "user", "content": "Which port?"}\n'
    ),
    '{"ts": 5, "note": "decision: teal"}\n',
    "{",
)


def shown(store: MemoryStore) -> list[tuple[object, ...]]:
    """Return what makes pieces what they are: not which state of their file their words came in."""
    return [(one.memory_id, one.text, one.time, one.tags, one.trust, one.speaker, one.sources[0][:4])
            for one in pieces_in(store)]  # fmt: skip


def found_in(store: MemoryStore) -> list[set[tuple[str, float]]]:
    """Return what queries find, with the scores."""
    view = View(ANN._replace(collection=FILES))
    return [{(hit.key, hit.score) for hit in store.search(query, view, limit=1000, now=NOW)} for query in QUERIES]


@pytest.fixture(params=[InMemoryMemoryStore, SqliteMemoryStore])
def notes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Notes]:
    """Return an empty folder with a store of each kind."""
    made = request.param() if request.param is InMemoryMemoryStore else request.param(tmp_path / "facts")
    yield Notes(tmp_path, made)
    getattr(made, "close", lambda: None)()


def test_file_is_read_when_it_is_new_or_has_changed_and_goes_when_it_is_gone(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is said of each; what is as it was is not even read, once its clock has gone on."""
    monkeypatch.setattr(indexing, "SETTLED_SECONDS", -60.0)
    notes.write("a.md", TEXTS[0])
    notes.write("b.md", TEXTS[3])
    notes.write("c.md", TEXTS[5])
    assert became(notes.index()) == [("a.md", "new"), ("b.md", "new"), ("c.md", "skipped")]
    again = notes.index()
    assert (became(again), again.unchanged, again.read) == ([("c.md", "skipped")], 2, 0)
    notes.write("a.md", TEXTS[1])
    notes.remove("b.md")
    notes.write("c.md", TEXTS[0])
    done = notes.index()
    assert became(done) == [("a.md", "changed"), ("b.md", "removed"), ("c.md", "new")]
    assert [(one.new_chunks, one.old_chunks) for one in done.outcomes] == [(1, 1), (0, 9), (2, 0)]
    assert shown(notes.store) == shown(notes.fresh())


def test_file_that_may_change_without_showing_it_is_read_again(notes: Notes) -> None:
    """Just written: its size and times may stay as they are while its words change."""
    notes.write("a.md", "It is teal.")
    notes.index()
    same = notes.index()
    assert (same.outcomes, same.unchanged, same.read) == ([], 1, 1)
    notes.write("a.md", "It is grey.")
    assert became(notes.index()) == [("a.md", "changed")]
    assert [one.text for one in pieces_in(notes.store)] == ["a\nIt is grey."]


def test_piece_keeps_its_row_while_its_words_stay(notes: Notes) -> None:
    """Wherever it moves: its vector, and the id that somebody may have noted."""
    notes.write("a.md", TEXTS[3])
    notes.index()
    before = {one.text: one.memory_id for one in pieces_in(notes.store)}
    notes.write("a.md", f"# New\n\nBefore all.\n\n# Old\n\n{TEXTS[3].replace('Part 5', 'Part five')}")
    done = notes.index()
    after = {one.text: one.memory_id for one in pieces_in(notes.store)}
    assert (done.outcomes[0].new_chunks, done.outcomes[0].old_chunks) == (10, 9)
    notes.write("a.md", f"{TEXTS[3].replace('Part 5', 'Part five')}\n\n## Last\n\nWord.")
    done = notes.index()
    kept = {one.text: one.memory_id for one in pieces_in(notes.store)}
    assert {text for text in kept if text in before} == {text for text in before if "Part 5" not in text}
    assert all(kept[text] == before[text] for text in kept if text in before)
    assert not set(after) & set(kept)


def test_forgotten_piece_does_not_come_back_with_its_file(notes: Notes) -> None:
    """Neither when another part of it changes, nor when it is renamed, nor when it goes and comes back."""
    notes.write("a.md", TEXTS[0])
    notes.index()
    memories = memories_of(notes.store)
    (hit,) = (one for one in memories.search(MemoryQuery("teal"), NOW).memories if "teal" in one.text)
    assert "not read from notes/a.md again" in memories.forget(hit.memory_id, "asked for").text
    acts: tuple[Callable[[], None], ...] = (
        lambda: notes.write("a.md", f"{TEXTS[0]}\n\nMore.\n"),
        lambda: notes.rename("a.md", "b.md"),
        lambda: notes.write("b.md", f"{TEXTS[0]}\n\nEven more.\n"),
        lambda: notes.rename("b.md", "c.md"),
        lambda: notes.remove("c.md"),
        lambda: notes.write("a.md", TEXTS[0]),
    )
    for act in acts:
        act()
        notes.index()
        assert not [one.text for one in pieces_in(notes.store) if one.text == hit.text]
    assert [one.text for one in pieces_in(notes.store)] == ["Boat\nWhich colour has it?"]
    notes.write("a.md", TEXTS[0].replace("teal", "teal, mostly"))
    notes.index()
    assert "Boat > Answer\nIt is teal, mostly." in [one.text for one in pieces_in(notes.store)]


def test_renamed_file_is_told_as_such_and_found_by_its_new_name(notes: Notes) -> None:
    """Nothing of the old one is left."""
    notes.write("a.md", TEXTS[0])
    notes.index()
    notes.rename("a.md", "b.md")
    done = notes.index()
    assert [one[:2] + one[4:] for one in done.outcomes] == [("notes/b.md", "renamed", "notes/a.md")]
    assert shown(notes.store) == shown(notes.fresh())


def test_secret_is_taken_out_and_what_is_one_may_change(notes: Notes) -> None:
    """Another pattern means that all is read again."""
    notes.write("a.md", "The api_key: sk-abcdefghijklmnop1234 and code walrus-17.")
    notes.index()
    assert "sk-abc" not in pieces_in(notes.store)[0].text
    assert "walrus-17" in pieces_in(notes.store)[0].text
    notes.index(redactor=Redactor(patterns=(r"walrus-\d+",)))
    assert "walrus-17" not in pieces_in(notes.store)[0].text


def test_what_is_asked_for_by_hand_stays_until_it_is_dropped(notes: Notes) -> None:
    """Looked at again each time; only what is asked for is looked at where something is."""
    notes.write("a.md", TEXTS[0])
    (notes.folder / "more").mkdir()
    (notes.folder / "more" / "m.md").write_text("Mostly harmless.", encoding="utf-8")
    assert became(notes.index("more")) == [("more/m.md", "new")]
    assert became(notes.index()) == [("a.md", "new")]
    (notes.folder / "more" / "m.md").write_text("Mostly.", encoding="utf-8")
    (notes.folder / "more" / "n.md").write_text("New.", encoding="utf-8")
    assert became(notes.index()) == [("more/m.md", "changed"), ("more/n.md", "new")]
    (notes.folder / "more" / "n.md").unlink()
    assert became(notes.index("more")) == [("more/n.md", "removed")]
    assert became(notes.index("more", drops=True)) == [("more/m.md", "removed")]
    assert became(notes.index("notes/a.md")) == []
    assert became(notes.index()) == []
    assert became(notes.index(drops=True)) == [("a.md", "removed")]
    assert pieces_in(notes.store) == []


def test_folder_that_is_no_longer_configured_is_no_longer_found(notes: Notes) -> None:
    """Its files are there; nobody wants them found."""
    notes.write("a.md", TEXTS[0])
    notes.index()
    done = reindex(memories_of(notes.store), IndexPaths(notes.folder, ()))
    assert became(done) == [("a.md", "removed")]
    assert pieces_in(notes.store) == []


def test_file_that_can_not_be_read_any_more_is_not_found(notes: Notes) -> None:
    """Said with the reason, and with how many pieces went."""
    notes.write("a.md", TEXTS[0])
    notes.index()
    (notes.folder / "notes" / "a.md").write_bytes(b"caf\xe9")
    (done,) = notes.index().outcomes
    assert done[1:] == ("skipped", 0, 2, "byte 3 is not UTF-8; save it as UTF-8, if it is text")
    assert pieces_in(notes.store) == []


def test_dry_run_says_the_same_and_writes_nothing(notes: Notes) -> None:
    """Neither pieces nor cards."""
    notes.write("a.md", TEXTS[0])
    said = reindex(memories_of(notes.store), IndexPaths(notes.folder, ("notes",)), dry_run=True)
    assert pieces_in(notes.store) == []
    assert notes.index() == said


def test_files_of_one_user_are_not_found_by_another(notes: Notes) -> None:
    """Nor by another bot; each indexes for itself."""
    notes.write("a.md", TEXTS[0])
    notes.index()
    for scope in (Scope(user="bob", bot="squid"), Scope(user="ann"), Scope("t", "ann", "squid")):
        others = Memories(notes.store, View(scope), METER)
        assert not others.search(MemoryQuery("Which colour has the boat?"), NOW).memories
        assert pieces_in(notes.store, scope) == []
    reindex(Memories(notes.store, View(Scope(user="bob")), METER), IndexPaths(notes.folder, ("notes",)))
    notes.remove("a.md")
    notes.index()
    assert len(pieces_in(notes.store, Scope(user="bob"))) == 2


def test_tool_output_in_a_recorded_conversation_is_told_as_such(notes: Notes) -> None:
    """What it says is found, and is not to be trusted."""
    notes.write(
        "talk.jsonl",
        '{"role": "user", "content": "Look."}\n'
        '{"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": '
        '{"name": "look", "arguments": "{}"}}]}\n'
        '{"role": "tool", "tool_call_id": "1", "content": "The walrus owns the bank."}\n',
    )
    notes.index()
    told = memories_of(notes.store).search(MemoryQuery("walrus"), NOW)
    assert told.memories[0].trust == "tool"
    assert "notes/talk.jsonl (" in told.text
    assert "tool, from a tool's output, untrusted" in told.text


ACTS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(TEXTS)),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("index"), st.just(""), st.just("")),
    st.tuples(st.just("crash"), st.sampled_from(("0", "1", "2")), st.sampled_from(("before", "behind"))),
)


class _CrashError(Exception):
    """The process would be dead now."""


class Crashing(InMemoryMemoryStore):
    """A store in which an exchange is the last thing that happens: right before it is done, or right behind."""

    left = 10**9
    is_behind = False

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Exchange, unless this is the last one."""
        self.left -= 1
        if self.left >= 0 or self.is_behind:
            super().exchange(gone, memories, reason)
        if self.left < 0:
            raise _CrashError


@settings(max_examples=60, deadline=None)
@given(single=st.booleans(), acts=st.lists(ACTS, max_size=12))
def test_what_is_found_is_what_a_fresh_index_of_the_files_finds(
    *, acts: list[tuple[str, str, str]], single: bool
) -> None:
    """After any edits, deletes, renames and crashes, a file an exchange or all at once; each piece and each score."""
    indexing.BATCH_CHUNKS, before = (1 if single else 1000), indexing.BATCH_CHUNKS
    try:
        with TemporaryDirectory() as folder:
            notes = Notes(Path(folder), store := Crashing())
            for act, name, other in acts:
                if act == "crash":
                    store.left, store.is_behind = int(name), other == "behind"
                    with suppress(_CrashError):
                        notes.index()
                    store.left = 10**9
                elif act == "index":
                    notes.index()
                else:
                    getattr(notes, act)(*((name,) if act == "remove" else (name, other)))
            notes.index()
            fresh = notes.fresh()
            assert shown(store) == shown(fresh)
            assert found_in(store) == found_in(fresh)
            assert not [one for one in notes.index().outcomes if one.became != "skipped"]
    finally:
        indexing.BATCH_CHUNKS = before


def _fails(*_given: object) -> None:
    raise StoreError("the disk is full")


def test_store_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is said to be found then."""
    notes = Notes(tmp_path, InMemoryMemoryStore())
    notes.write("a.md", TEXTS[0])

    monkeypatch.setattr(notes.store, "exchange", _fails)
    with pytest.raises(StoreError, match="the disk is full"):
        notes.index()
