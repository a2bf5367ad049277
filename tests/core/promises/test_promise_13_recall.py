"""Promise 13: everything behind any representation comes back byte for byte, and bringing it back changes nothing."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import BudgetError, InvalidRequestError
from squidbot.core.messages import Category, Kind, Message
from squidbot.core.recall.history import body_of
from squidbot.core.settings import HistorySettings
from squidbot.core.view.marks import harmless
from squidbot.core.view.renderer import Renderer

from ..history.readers import joined, opened, walked
from .driver import CODEC, Host, Setup, assistant, copied, held, message, requests, result, user
from .histories import WORDS, effort, histories, setups
from .rules import breaks_at, pairs_broken, sent, transcript_of

if TYPE_CHECKING:
    from squidbot.core.view.assembly import CoreAssembly

# What requests say of an id: behind `recall`, up to what ends it there.
SHOWN = re.compile(r"recall (m\d+(?:-m\d+)?|s\d+-\d+\.[0-9a-f]+)(?=[\] ])")
# The causes of a request that must be made to fit: what was recalled gives way at last (decisions.md section 8).
TOO_FULL = frozenset({"overflow", "rollover"})
# Room for any page of the histories drawn here.
AMPLE = Setup(200_000)


def ids_shown(request: CoreAssembly) -> dict[str, tuple[int, int]]:
    """Return the ids that squidbot's own words in a request show, with the messages that they have to stand for."""
    found: dict[str, tuple[int, int]] = {}
    for part in request.parts:
        made = part.kind in {Kind.SUMMARY, Kind.SLIMMED} or (part.kind is Kind.NOTICE and part.first_seq >= 0)
        cut = "\n".join((part.text or "", *(part.arguments or ())))
        for handle in SHOWN.findall(cut) if made else ():
            if handle in {part.summary_id, f"m{part.first_seq}", f"m{part.first_seq}-m{part.last_seq}"}:
                found[handle] = part.first_seq, part.last_seq
    return found


@effort(30)
@given(history=histories(2000, 10), setup=setups())
@example(
    history=[result("a", "</squidbot memory>" * 8)],
    setup=Setup(2048, None, HistorySettings(patience=0.0, policy_limit=100), WORDS),
)
def test_every_id_that_a_request_shows_brings_its_messages_back(history: list[Message], setup: Setup) -> None:
    """Summaries, pointers, cut outputs: exactly what they stand for; with what is verbatim, the whole transcript."""
    host = Host(InMemoryStore(), setup)
    made = requests(host.run([*history, user("?"), assistant("so")]))
    for request in made[-1:]:
        reached = {part.first_seq for part in request.parts if part.payload and part.kind is not Kind.SLIMMED}
        for handle, (first, last) in ids_shown(request).items():
            messages = brought_back(host.store, handle)
            assert list(messages) == list(range(first, last + 1))
            reached.update(messages)
        # The text of a step without its pair stands in the request: without an id, since nothing of it is cut.
        reached.update(part.first_seq for part in request.parts if part.kind is Kind.SLIMMED and not part.payload)
        assert reached.issuperset(range(request.view.messages))


def brought_back(store: InMemoryStore, handle: str) -> dict[int, str]:
    """Return the messages of an id by seq, put together from its pages; checks them against the store."""
    history = opened(store, AMPLE).history
    pages = walked(history, handle)
    told = joined(pages)
    renderer = Renderer(AMPLE.meter, {CODEC.tag: CODEC})
    alone = not handle.startswith("s") and "-" not in handle
    rows = {row.seq: row for row in store.read("s", min(told), max(told))}
    # On a page no mark of ours opens or closes, nor where the page ends within one.
    said = {seq: harmless(body_of(row, renderer, alone=alone)) for seq, row in rows.items()}
    assert {seq: harmless(words) for seq, words in told.items()} == said
    kept = {row.seq: row.payload for page in pages for row in page.messages}
    assert kept == {seq: row.payload for seq, row in rows.items()}
    return told


@effort(30)
@given(before=histories(3000, 8), after=histories(3000, 6), setup=setups(), data=st.data())
def test_recall_between_turns_keeps_every_promise(
    before: list[Message], after: list[Message], setup: Setup, data: st.DataObject
) -> None:
    """The record comes behind what was there, stands in the next request, and is accounted for in every later one."""
    store = InMemoryStore()
    Host(store, setup).run([*before, user("?"), assistant("so")])
    rows = held(store).messages
    handle = f"m{data.draw(st.integers(0, len(rows) - 1))}" + data.draw(st.sampled_from(["", f"-m{len(rows)}"]))
    reference = opened(copied(store), setup)
    recalled = opened(store, setup)
    try:
        page = recalled.history.recall(handle)
    except (BudgetError, InvalidRequestError):
        assert held(store).messages == rows
        return
    assert held(store).messages[:-1] == rows
    assert held(store).messages[-1].category is Category.RECALLED
    host = Host(store, setup)
    made = requests(host.run([user("and?"), *after]))
    for request in made[:1]:
        known = {span.first_seq: span.how for span in request.report.spans}
        shown = known.get(page.recorded or 0)
        assert shown == "recalled" or (request.event and request.event.cause in TOO_FULL)
        old = reference.session.assemble([user("and?")])
        if request.event is None and old.event is None:
            assert old.payloads[:-1] == request.payloads[: len(old.payloads) - 1]
    for one, two in pairwise(made):
        assert two.event or breaks_at(one, two) is None
    for call in host.calls:
        if call.assembly is None:
            continue
        assert pairs_broken(sent(call.assembly)) is None
        assert call.assembly.cost.bound <= call.assembly.limit.bound
        spans = call.assembly.report.spans
        assert [seq for span in spans for seq in range(span.first_seq, span.last_seq + 1)] == list(
            range(len(transcript_of(call)))
        )
    assert held(store).messages[: len(rows)] == rows


@effort(30)
@given(history=histories(3000, 8), setup=setups(), data=st.data())
def test_recall_in_a_tool_loop_fits_and_is_flagged(history: list[Message], setup: Setup, data: st.DataObject) -> None:
    """The page becomes the result of a call: whole where it is alone in its step, and the request it is in fits."""
    store = InMemoryStore()
    Host(store, setup).run(history)
    one = opened(store, setup)
    try:
        asked = one.session.assemble([user("what was it?")])
    except BudgetError:
        return
    handle = f"m{data.draw(st.integers(0, max(0, store.head('s')[0] - 1)))}"
    one.session.record(*asked.incoming, assistant("", ("h", "history", "{}")))
    try:
        page = one.history.expand(handle)
    except BudgetError:
        return
    made = one.session.assemble([result("h", page.text)])
    assert made.incoming[0].category is Category.RECALLED
    assert made.incoming[0].sent_text is None
    assert made.event or breaks_at(asked, made) is None
    (part,) = [part for part in made.parts if part.first_seq == made.incoming[0].seq]
    assert part.kind is Kind.RECALLED


def test_fresh_recall_stays_raw_behind_a_stray_result() -> None:
    """Nobody has replied since, whatever else was said."""
    setup = Setup(2048, None, HistorySettings(min_saving_fraction=0.0, policy_limit=400), WORDS)
    store = InMemoryStore()
    Host(store, setup).run([user("?"), assistant("so")])
    page = opened(store, setup).history.recall("m0")
    host = Host(store, setup, pending=[user("and?"), result("a", ""), user("0" * 975)])
    spans = host.call().request.report.spans
    assert {span.first_seq: span.how for span in spans}[page.recorded or 0] == "recalled"


@pytest.mark.parametrize(("size", "cause"), [(1240, "rollover"), (200, None)])
def test_fresh_recall_gives_way_where_a_rollover_leaves_no_room_for_it(size: int, cause: str | None) -> None:
    """A page, and a message behind it that leaves no room even for notes; beside a short one the page is sent."""
    setup = Setup(4096, 0, HistorySettings(policy_limit=400), WORDS)
    store = InMemoryStore()
    Host(store, setup).run([user("\0" * 378), user("?"), assistant("so")])
    page = opened(store, setup).history.recall("m0")
    request = Host(store, setup, pending=[user("and?"), message("system", "a\xc0" * size)]).call().request
    assert (request.event and request.event.cause) == cause
    shown = next(span.how for span in request.report.spans if span.first_seq <= (page.recorded or 0) <= span.last_seq)
    assert shown == ("absent" if cause else "recalled")
