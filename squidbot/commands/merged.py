"""`squidbot memory merge`, `restore`, `show`: facts that stand for others, what takes that back, why each is there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.paper import Paper
from squidbot.commands.reading.memories import as_json as as_json_fact
from squidbot.commands.remaking import bar
from squidbot.commands.texts import count
from squidbot.commands.whose import opened, scoped
from squidbot.core.memory.asking import MOST_COMPARED, as_near, merges, places_of
from squidbot.core.memory.meaning import ByMeaning, spoken
from squidbot.core.memory.text import when

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.memories import Memory
    from squidbot.core.memory.asking import Memories, Merge

__all__ = ["merge", "restore", "show", "similar"]

COLUMNS = ("stays", "fact", "goes", "why")
# Texts that an embedder gets at once.
EMBEDDED = 32


@click.command(short_help="Have one fact stand for others that say the same.")
@click.option("--yes", is_flag=True, help="Do it; without this nothing is changed.")
@scoped
def merge(*, yes: bool, as_json: bool, **whose: str) -> None:
    """Have one fact stand for others that say nearly the same, at most ten at once; these are kept as history.

    The more trusted stays, of equals the newer. They are compared by what they mean where settings name an embedder,
    else by their words. `restore` takes it back.
    """
    with opened(whose) as (memories, _):
        held = memories.store.listed(memories.view, limit=MOST_COMPARED)
        plan = merges(held, similar(memories, held))
        if yes and plan:
            memories.store.supersede(places_of(plan))
    if as_json:
        options.print_json({"merged": yes, "merges": [_json(one) for one in plan]})
        return
    _print_plan(plan, is_done=yes)


def _print_plan(plan: Sequence[Merge], *, is_done: bool) -> None:
    paper = Paper()
    if not plan:
        paper.say("no two facts say nearly the same")
        paper.print()
        return
    rows = [(one.kept.memory_id, one.kept.text, _lines(one.gone), one.reason) for one in plan]
    paper.table(COLUMNS, rows, texts=COLUMNS)
    told = "kept as history" if is_done else "would be kept as history; --yes does it"
    paper.say(f"{count(sum(len(one.gone) for one in plan), 'fact')} {told}", "" if is_done else "dim")
    paper.print()


def _lines(memories: Sequence[Memory]) -> str:
    return "\n".join(f"{each.memory_id}: {each.text}" for each in memories)


@click.command(short_help="Have facts hold again that were replaced.")
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@scoped
def restore(*, memory_ids: tuple[str, ...], as_json: bool, **whose: str) -> None:
    """Have facts hold again that others took the places of; these hold, too, until they are forgotten."""
    with opened(whose) as (memories, _):
        old = [memories.one(memory_id) for memory_id in dict.fromkeys(memory_ids)]
        memories.store.supersede({one.memory_id: "" for one in old})
    if as_json:
        options.print_json({"restored": [one.memory_id for one in old]})
        return
    for one in old:
        click.echo(
            f"{one.memory_id} holds again; {one.superseded_by}, which had taken its place, holds, too"
            if one.superseded_by
            else f"{one.memory_id} holds already: nothing took its place"
        )


@click.command(short_help="Show facts whole, with their sources.")
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@scoped
def show(*, memory_ids: tuple[str, ...], as_json: bool, **whose: str) -> None:
    """Show facts whole: what they say, since when, from which messages, why they are there, what took their places."""
    with opened(whose) as (memories, _):
        found = [memories.one(memory_id) for memory_id in memory_ids]
    if as_json:
        options.print_json({"memories": [as_json_fact(one) for one in found]})
        return
    paper, now = Paper(), time.time()
    for number, one in enumerate(found):
        if number:
            paper.blank()
        paper.heading(f"{one.memory_id}: {one.text}")
        paper.pairs([(name, text) for name, text in _pairs(one, now) if text])
    paper.print()


def _pairs(one: Memory, now: float) -> list[tuple[str, str]]:
    places = [
        source.path or f"m{source.first_seq} of session {source.session_id}"
        for source in one.sources
        if source.path or source.session_id
    ]
    return [
        ("category", one.category),
        ("said", when(one.time, now)),
        ("by", ", ".join(filter(None, (one.speaker, one.trust)))),
        ("from", "; ".join(places)),
        ("why", one.reason),
        ("tags", ", ".join(one.tags)),
        ("replaces", one.supersedes),
        ("replaced by", one.superseded_by),
    ]


def similar(memories: Memories, held: Sequence[Memory]) -> Callable[[Memory, Memory], float] | None:
    """Return how near facts are by their vectors; None where the settings name no embedder.

    Raises:
        LLMError: there are no vectors.
    """
    store = memories.store
    if not isinstance(store, ByMeaning) or not held:
        return None
    embedder = store.opened().embedder
    vectors: dict[str, tuple[float, ...]] = {}
    with bar("comparing") as tick:
        for first in range(0, len(held), EMBEDDED):
            some = held[first : first + EMBEDDED]
            vectors |= zip((one.memory_id for one in some), embedder.embed([spoken(one) for one in some]), strict=True)
            tick(len(vectors), len(held))
    return as_near(vectors)


def _json(one: Merge) -> dict[str, object]:
    return {"kept": as_json_fact(one.kept), "gone": [as_json_fact(each) for each in one.gone], "reason": one.reason}
