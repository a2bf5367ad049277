"""The lists that search finds memories by say of each view what is in it, whatever else there is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.adapters.sqlite3.memory import SqliteMemoryStore, index, rows
from squidbot.core.memories import Scope, View
from squidbot.testing import made_memory
from squidbot.testing.memories import ISOLATIONS

if TYPE_CHECKING:
    from squidbot.core.memories import Memory

ANN = Scope(user="ann", bot="squid")
# Most memories are of one bot, so that its view often has all there is of its owner.
SCOPES = st.sampled_from(
    (ANN, ANN, ANN, ANN._replace(bot="octo"), ANN._replace(user="bob"), ANN._replace(collection="f"))
)
TEXTS = st.sampled_from(("tea", "tea milk", "milk"))
ACTS = st.lists(st.tuples(SCOPES, TEXTS, st.sampled_from(("add", "add", "supersede", "forget"))), max_size=12)


def kept(store: SqliteMemoryStore, acts: list[tuple[Scope, str, str]]) -> list[Memory]:
    """Do what happens, and return what is there then, newest first."""
    names: list[str] = []
    for number, (scope, text, act) in enumerate(acts):
        there = [one.memory_id for one in store.get(names) if one.scope[:2] == scope[:2]]
        if act == "forget":
            store.forget(there[:1])
        else:
            names.append(f"m{number}")
            supersedes = there[0] if act == "supersede" and there else ""
            store.add([made_memory(text, scope, memory_id=names[-1], supersedes=supersedes)])
    return store.get(names)[::-1]


@settings(max_examples=60, deadline=None)
@given(acts=ACTS, isolation=st.sampled_from(ISOLATIONS), few=st.sampled_from((1, 3, index.FEW)))
def test_list_has_the_memories_of_its_view_when_others_have_the_same_words(
    acts: list[tuple[Scope, str, str]], isolation: str, few: int
) -> None:
    """With and without history; also where the view has all memories of its owner, or a list is short."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "FEW", few)
        path = Path(folder) / "s.db"
        with SqliteMemoryStore(path) as store:
            there = kept(store, acts)
            store.search("tea", View(ANN), now=0.0)
        with closing(sqlite3.connect(path)) as connection:
            connection.text_factory = bytes
            names = {key: name.decode() for key, name in connection.execute("SELECT key, id FROM memories")}
            for past in (False, True):
                view = View(ANN, isolation)  # type: ignore[arg-type]  # drawn from all there are
                found = index.lists(connection, view, past=past)
                own = [
                    one
                    for one in there
                    if View(one.scope, view.isolation).key == view.key and (past or not one.superseded_by)
                ]
                for words in ([], ["tea"], ["tea", "milk"]):
                    wanted = [one.memory_id for one in own if set(words) <= set(one.text.split())]
                    assert [names[key] for key in found.newest([(each,) for each in words], 100)] == wanted
                assert found.among == len(own)


def test_rare_category_is_listed_at_once_among_many_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each view, behind a page, whatever was superseded; and so is one that nobody ever told of."""
    monkeypatch.setattr(rows, "CATEGORIES_FROM", 1000)
    steps: list[None] = []
    with SqliteMemoryStore(tmp_path / "s.db") as store:
        rare = [made_memory(f"rare {number}", ANN, category="core", memory_id=f"r{number}") for number in range(6)]
        many = [
            made_memory(f"tea {number}", ANN, category="background", memory_id=f"m{number}") for number in range(2500)
        ]
        store.add(
            [*rare[:3], *many, *rare[3:], made_memory("new", ANN, category="core", memory_id="n", supersedes="r0")]
        )
        names = ["n", *(one.memory_id for one in reversed(rare[1:]))]
        for isolation in ISOLATIONS:
            view = View(ANN, isolation)
            store.listed(view, "core")  # makes the index
            store._connection.set_progress_handler(lambda: steps.append(None), 100)
            assert [one.memory_id for one in store.listed(view, "core")] == names
            assert [one.memory_id for one in store.listed(view, "core", limit=3, after=names[2])] == names[3:]
            assert store.listed(view, "concerns") == []
            store._connection.set_progress_handler(None, 0)
            assert [one.memory_id for one in store.listed(view, "core", past=True)] == [*names, "r0"]
    assert len(steps) < 100, "a look at each memory takes ten times as many"
