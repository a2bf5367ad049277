"""Texts of the model's above their share of the room are cut at the next event, and not before (W-15, C17)."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.compaction.limits import LEAST_TOKENS
from squidbot.core.messages import Kind
from squidbot.core.plan import PlanRecord

from ..promises.driver import Host, Setup, assistant, changed, opened, requests, result, user
from ..promises.histories import METERS, WORDS, effort
from ..promises.rules import breaks_at, pairs_broken, sent

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.messages import Message, Part
    from squidbot.core.session import CoreSession
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.view.assembly import CoreAssembly

SETUP = changed(Setup(8192), assistant_fraction=0.15, min_saving_fraction=0.0, low_fraction=0.5, patience=0.0)
# What a message costs beside its text, in tokens.
BESIDE = 16


def long(name: str, words: int = 1800) -> str:
    """Return a text of so many words, no two of them alike."""
    return " ".join(f"{name}{number}" for number in range(words))


def ran(*said: Message, setup: Setup = SETUP) -> tuple[Host, CoreSession]:
    """Return a host that has had such a talk, and its session."""
    host = Host(InMemoryStore(), setup)
    host.run(list(said))
    return host, host.session


def part_of(one: CoreAssembly, seq: int) -> Part:
    """Return what is sent of a message."""
    return next(part for part in one.parts if part.first_seq == part.last_seq == seq)


def test_long_answer_is_cut_at_the_next_event_and_not_before() -> None:
    """W-15: to its share of the room, with the handle under which the whole stands; nothing else changes (C17)."""
    answer, ask = long("a", 500), long("q", 400)
    host, session = ran(user("one"), assistant(answer), user(ask), assistant("yes"), user("two"), assistant("so"))
    assert all(request.event is None for request in requests(host.calls))
    before = session.preview()
    assert part_of(before, 1).text is None
    plan = session.compact()
    assert plan is not None
    assert [seq for seq, _ in plan.limits] == [1]
    assert plan.segments == ()
    made = session.preview()
    cut = part_of(made, 1)
    assert cut.kind is Kind.SLIMMED
    assert cut.cost.bound <= plan.limits[0][1] + BESIDE
    assert (cut.text or "").startswith("a0 a1 ")
    assert (cut.text or "").endswith(" a499")
    assert "recall m1" in (cut.text or "")
    assert [json.loads(payload)["content"] for payload in made.payloads if "recall m1" not in payload] == [
        "one",
        ask,
        "yes",
        "two",
        "so",
        *(part.text for part in made.parts[6:]),
    ]
    assert host.store.read("s", 1, 1)[0].payload.count("a499")


@pytest.mark.parametrize("meter", [METERS[1], pytest.param(METERS[2], marks=pytest.mark.slow), WORDS])
def test_no_earlier_text_of_the_model_has_more_than_its_share_behind_an_event(meter: Meter) -> None:
    """Whatever counts; the share is of the room beside the head (W-15)."""
    setup = Setup(8192, None, SETUP.settings, meter)
    said = [one for turn in range(8) for one in (user(f"q{turn}"), assistant(long(f"t{turn}-", 400 + 40 * turn)))]
    host, _ = ran(*said, setup=setup)
    events = [request for request in requests(host.calls) if request.event is not None]
    assert any(event.event is not None and event.event.limits for event in events)
    for one in events:
        assert one.event is not None
        for seq, most in one.event.limits:
            assert part_of(one, seq).cost.bound <= most + BESIDE
            assert most <= max(LEAST_TOKENS, one.limit.bound * 0.15)


def test_cut_text_keeps_its_calls_and_their_results() -> None:
    """The words beside a call give way, the call and its answer stay a pair; so does what is marked in them."""
    step = (
        assistant(f"{long('s', 350)}\n[DECISION] use SQLite\n{long('t', 350)}", ("c", "read", '{"path": "a"}')),
        result("c", "found"),
    )
    _, session = ran(user("one"), *step, assistant("done"), user("two"), assistant("so"))
    assert session.compact() is not None
    made = session.preview()
    assert "recall m1" in (part_of(made, 1).text or "")
    assert (part_of(made, 1).text or "").endswith("[DECISION] use SQLite")
    assert pairs_broken(sent(made)) is None
    assert part_of(made, 1).drop_thinking


def test_step_in_flight_the_newest_answer_and_pins_are_never_cut() -> None:
    """W-15: nor what the user said, however long (C17)."""
    texts = [user("one"), assistant(long("a", 350)), user(long("u", 350)), assistant(long("b", 350)), user("go")]
    loop = [assistant(long("c", 350), ("c", "read", "{}")), result("c", "found")]
    _, session = ran(*texts, *loop, setup=replace(changed(SETUP, assistant_fraction=0.04), window_tokens=32_768))
    session.pin(1)
    plan = session.compact()
    assert plan is not None
    assert [seq for seq, _ in plan.limits] == [3]
    _, other = ran(user("one"), assistant("yes"), user("two"), assistant(long("d", 900)))
    assert other.compact() is None


def test_undo_sends_the_whole_text_again_and_a_new_process_the_cut_one() -> None:
    """Byte for byte: the plan says how far it is cut."""
    host, session = ran(user("one"), assistant(long("a", 700)), user("two"), assistant("so"), user("three"))
    former = session.preview().payloads
    assert session.compact() is not None
    cut = session.preview().payloads
    assert cut != former
    assert opened(host.store, SETUP).preview().payloads == cut
    session.undo()
    assert session.preview().payloads == former
    assert opened(host.store, SETUP).preview().payloads == former


def test_event_that_cuts_one_text_is_not_asked_for_again() -> None:
    """What is cut already counts as what is sent of it."""
    _, session = ran(user("one"), assistant(long("a", 700)), user("two"), assistant("so"), user("three"))
    first = session.compact()
    assert first is not None
    assert session.assemble([user("and four?")]).event is None


def test_plan_with_limits_is_read_as_it_was_written() -> None:
    """And one without them is as short as before."""
    plan = PlanRecord(1, 0, "lease", None, "manual", limits=((3, 120), (9, 64)))
    assert PlanRecord.from_json(plan.to_json()) == plan
    assert "limits" not in PlanRecord(1, 0, "lease", None, "manual").to_json()


@effort(40)
@given(
    sizes=st.lists(st.integers(1, 600), min_size=4, max_size=10),
    share=st.sampled_from([0.02, 0.1, 0.15, 0.3]),
    restarts=st.frozensets(st.integers(0, 10)),
    meter=st.sampled_from([METERS[0], METERS[2], WORDS]),
)
def test_requests_grow_behind_what_is_left_of_long_answers(
    sizes: list[int], share: float, restarts: frozenset[int], meter: Meter
) -> None:
    """W-15: never over budget, append-only between events, no text above its share behind one, restarts the same."""
    settings = changed(SETUP, assistant_fraction=share).settings
    setup = Setup(4096, None, settings, meter)
    said = [one for n, size in enumerate(sizes) for one in (user(f"q{n}"), assistant(long(f"{n}-", size)))]
    host = Host(InMemoryStore(), setup)
    again = Host(InMemoryStore(), setup, restarts=restarts)
    host.run(said)
    again.run(said)
    made = requests(host.calls)
    assert [one.payloads for one in made] == [request.payloads for request in requests(again.calls)]
    for before, after in pairwise(made):
        assert after.cost.bound <= after.limit.bound
        assert after.event is not None or breaks_at(before, after) is None
    for one in made:
        assert all(part.role == "assistant" for part in one.parts if "recall m" in (part.text or "") and part.payload)
        if one.event is not None and one.event.cause == "high-water":
            check_share(one, share)


def check_share(one: CoreAssembly, share: float) -> None:
    """Check that each text of the model's before the newest step has its share at most, or as little as is left."""
    most = max(LEAST_TOKENS, share * one.limit.bound)
    newest = one.view.tail.steps[-1].first_seq
    for part in one.parts:
        if part.role == "assistant" and part.first_seq < newest and part.payload is not None:
            assert part.cost.bound <= most + BESIDE


def test_profile_cuts_long_answers_in_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-15: under `workspaceai`, over a store on disk, and after a restart."""
    monkeypatch.chdir(tmp_path)
    settings = {"profile": "workspaceai", "store": {"path": str(tmp_path / "s.db")}}
    with squidbot.load(settings) as engine:
        session = engine.session("a", window_tokens=8192)
        session.record({"role": "user", "content": "one"}, long("a", 700))
        session.record({"role": "user", "content": "two"}, "so")
        assert session.compact() is not None
        cut = session.assemble("three").messages
    texts = [str(one["content"]) for one in cut]
    assert any("recall m1 ..." in text and text.startswith("a0 a1") for text in texts)
    with squidbot.load(settings) as engine:
        assert engine.session("a", window_tokens=8192).assemble("three").messages == cut
