"""A memory of one user is never another's, under any policy, in any store, whatever was added or forgotten."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.adapters.sqlite3.memory import InMemoryMemoryStore, SqliteMemoryStore
from squidbot.core.memories import Memory, Scope, View
from squidbot.testing import made_memory
from squidbot.testing.memories import ISOLATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from squidbot.core.ports import MemoryStore

    Opened = Callable[[], AbstractContextManager[MemoryStore]]

# Few parts, so that scopes have much in common; some that careless code confuses.
PARTS = st.sampled_from(("", "a", "b", "a\0b", "A", '","'))
SCOPES = st.builds(Scope, *[PARTS] * 7)
# What happens: a memory is added to a scope; takes the place of, or ends, one of those before it.
ACTS = st.lists(st.tuples(SCOPES, st.sampled_from(("add", "supersede", "forget")), st.integers(0, 20)), max_size=12)


@contextmanager
def in_memory() -> Iterator[MemoryStore]:
    """Open a store in memory."""
    with InMemoryMemoryStore() as store:
        yield store


@contextmanager
def in_sqlite() -> Iterator[MemoryStore]:
    """Open a store in a file."""
    with TemporaryDirectory() as folder, SqliteMemoryStore(Path(folder) / "s.db") as store:
        yield store


@pytest.fixture(scope="session", params=["memory", "sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest) -> Opened:
    """Return what opens a store of each kind."""
    if request.param == "postgresql":
        return request.getfixturevalue("tenants").opened  # type: ignore[no-any-return]
    return in_memory if request.param == "memory" else in_sqlite


def done(store: MemoryStore, acts: list[tuple[Scope, str, int]]) -> dict[str, Memory]:
    """Do what happens, and return what holds then, by id."""
    holding: dict[str, Memory] = {}
    for number, (scope, act, which) in enumerate(acts):
        names = [name for name in holding if holding[name].scope[:2] == scope[:2]]
        target = names[which % len(names)] if names else ""
        if act == "forget":
            store.forget([target])
        else:
            supersedes = target if act == "supersede" else ""
            made = made_memory(f"tea own{number}", scope, memory_id=f"m{number}", supersedes=supersedes)
            store.add([made])
            holding[made.memory_id] = made
        if act != "add":
            holding.pop(target, None)
    return holding


@settings(max_examples=20)
@given(acts=ACTS, asking=SCOPES, isolation=st.sampled_from(ISOLATIONS))
def test_view_shows_its_own_memories_alone_whatever_happened(
    opened: Opened, acts: list[tuple[Scope, str, int]], asking: Scope, isolation: str
) -> None:
    """Listings and searches, also for words that only others' memories have: those that hold, of the view, no other."""
    with opened() as store:
        holding = done(store, acts)
        for scope in {asking, *(scope for scope, _, _ in acts)}:
            view = View(scope, isolation)  # type: ignore[arg-type]  # one of ISOLATIONS
            due = {name for name, memory in holding.items() if View(memory.scope, view.isolation).key == view.key}
            users = {memory.scope[:2] for name, memory in holding.items() if name in due}
            assert users <= {scope[:2]}
            assert {memory.memory_id for memory in store.listed(view)} == due
            assert {hit.key for hit in store.search("tea", view, now=0.0)} == due
            for number in range(len(acts)):
                hits = {hit.key for hit in store.search(f"own{number}", view, now=0.0)}
                assert hits == due & {f"m{number}"}
