"""Ids of memories, what no store keeps, and whose memories see each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import StoreError
from squidbot.core.memories import (
    Isolation,
    Memory,
    Scope,
    Source,
    View,
    memory_id_of,
    passage_of,
    refuse_misfit,
)

GOOD = Memory("f-1", "Ann keeps bees.", "core", Scope(user="ann"), 1.0)
ISOLATIONS: tuple[Isolation, ...] = ("bot", "model", "global", "agent")
PARTS = st.sampled_from(("", "a", "b", "a\0", "\ud83d\ude00", "\N{GRINNING FACE}"))
SCOPES = st.builds(Scope, *[PARTS] * 8)


def test_memory_id_is_short_and_the_same_for_ever_when_made_again() -> None:
    """Written down: a later version that made others would keep every fact twice."""
    assert memory_id_of(Scope(user="ann", bot="squid"), "Ann keeps bees.", [Source("s", 3, 5)]) == "f-zrmqnnvvw4"
    assert memory_id_of(Scope(), "") == "f-5pz63sl74s"


@given(SCOPES, SCOPES, st.text(max_size=2), PARTS)
def test_memory_id_differs_when_scope_text_or_source_does(one: Scope, other: Scope, text: str, path: str) -> None:
    """Lone surrogates beside the character that they would make together, too."""
    made = {(one, text, ""), (other, text, ""), (one, "", text), (one, f"{text}{path}", path)}
    assert len({memory_id_of(scope, said, [Source(path=where)]) for scope, said, where in made}) == len(made)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (replace(GOOD, memory_id=""), "1 to 1024 characters"),
        (replace(GOOD, memory_id="x" * 1025), "1 to 1024 characters"),
        (replace(GOOD, supersedes="f-1"), "its own place"),
        (replace(GOOD, superseded_by="f-1"), "its own place"),
        (replace(GOOD, category="facts"), "category 'facts'"),  # type: ignore[arg-type]  # a caller without types
        (replace(GOOD, time=float("inf")), "time inf"),
        (replace(GOOD, importance=-0.1), "importance -0.1"),
        (replace(GOOD, importance=float("nan")), "importance nan"),
    ],
)
def test_memory_is_refused_when_no_store_could_keep_it(wrong: Memory, says: str) -> None:
    """The error names what is wrong, and that nothing was written."""
    refuse_misfit(GOOD)
    with pytest.raises(StoreError, match=f"{says}.*nothing was written"):
        refuse_misfit(wrong)


@given(SCOPES, SCOPES, st.sampled_from(ISOLATIONS))
def test_view_has_another_key_when_tenant_user_or_what_the_policy_parts_differs(
    one: Scope, other: Scope, isolation: Isolation
) -> None:
    """Tenant, user and shelf always, "global" nothing else; channel and thread never."""
    parted = ["tenant", "user", "collection", *([] if isolation == "global" else [isolation])]
    same = all(getattr(one, part) == getattr(other, part) for part in parted)
    assert (View(one, isolation).key == View(other, isolation).key) == same


def test_piece_of_a_file_stands_in_a_row_and_a_fact_in_none() -> None:
    """By its file, by the conversation in that, and by its place; what names a file or a session alone has no place."""
    piece = replace(GOOD, sources=(Source("talk", 3, 3, "notes/a.jsonl", "d"),))
    assert passage_of(piece)[4:] == ("notes/a.jsonl\ntalk", 3)
    for source in (Source(path="notes/a.md", digest="d"), Source("talk", 3, 5)):
        assert passage_of(replace(GOOD, sources=(source,)))[4:] == ("", 0)
    assert passage_of(GOOD) == passage_of(replace(GOOD, scope=Scope(collection="files")))
