"""The promises with pins, extensions, large texts, trails, and turns that differ."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.budget import most_reserved_tokens, reserve_for
from squidbot.core.compaction.planner import PRESSING
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError
from squidbot.core.last_request import Mode
from squidbot.core.messages import Kind
from squidbot.core.settings import strategy
from squidbot.core.view.steps import steps_of

from ..jobs.models import desk_of, shown, writer
from .driver import Call, Host, Setup, assistant, held, opened, requests, result, user
from .histories import effort, histories, schedules, setups, tame
from .rules import breaks_at, is_said, pairs_broken, rendered, sent
from .test_promise_requests import check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Message, StoredMessage, Summary

    from .driver import Call


# -- pinned messages stay verbatim, with their step, in every later request; pinned texts stand in the head -----------


def seqs_beside(rows: tuple[StoredMessage, ...], pinned: set[int]) -> set[int]:
    """Return the seqs of all messages that stand in one step with a pinned one."""
    found = (step for step in steps_of(rows) if any(row.seq in pinned for row in step.messages))
    return {row.seq for step in found for row in step.messages}


@effort(30)
@given(
    history=histories(),
    setup=setups(),
    pins=st.dictionaries(st.integers(1, 10), st.lists(st.integers(0, 25), min_size=1, max_size=3), max_size=4),
    restarts=st.frozensets(st.integers(0, 14)),
)
def test_pinned_message_is_sent_from_the_next_event_on(
    history: list[Message], setup: Setup, pins: dict[int, list[int]], restarts: frozenset[int]
) -> None:
    """While it stands in the view it stays there; what was summarized before it was pinned comes back at an event."""
    host = Host(InMemoryStore(), setup, restarts=restarts, watch=False)
    pinned: set[int] = set()
    seen: set[int] = set()
    for call in host.steps(history):
        made = call.assembly
        if made is not None:
            rows = held(host.store).messages
            parts = {part.first_seq: part for part in made.parts if is_said(part)}
            wanted = seqs_beside(rows[: made.view.messages], pinned)
            sent = parts.keys()
            if made.event is not None and made.event.cause in PRESSING:
                assert wanted <= sent
            assert seen & wanted <= sent
            for seq in wanted & sent:
                assert parts[seq].payload is None or parts[seq].text == rows[seq].sent_text
            seen = set(sent)
        for seq in pins.get(host.replies, ()):
            host.session.pin(seq)
            pinned.add(seq)


@effort(20)
@given(
    history=histories(),
    setup=setups(),
    texts=st.dictionaries(
        st.integers(1, 10), st.tuples(st.sampled_from(["goal", "plan"]), st.sampled_from(["", "win", "</x> \ud800"]))
    ),
)
def test_pinned_text_stands_in_the_head_from_the_next_event_on(
    history: list[Message], setup: Setup, texts: dict[int, tuple[str, str]]
) -> None:
    """An event freezes the texts as they are then; between events the head stays as it is."""
    host = Host(InMemoryStore(), setup, watch=False)
    now: dict[str, str] = {}
    frozen: list[str] = []
    for call in host.steps(history):
        made = call.assembly
        if made is not None:
            if made.event is not None:
                frozen = [text for text in now.values() if text]
            head = [part.text or "" for part in made.parts if part.kind is Kind.PIN]
            assert len(head) == len(frozen)
            assert all(text in part for text, part in zip(frozen, head, strict=True))
        if host.replies in texts:
            name, text = texts[host.replies]
            host.session.pin_text(name, text)
            now[name] = text


def test_text_that_is_pinned_again_replaces_the_one_of_its_name() -> None:
    """The newest text wins in its first place; an empty one takes it away."""
    host = Host(InMemoryStore(), Setup(4096), watch=False)
    host.run(tame(2, 4))
    for name, text in (("goal", "first"), ("plan", "steps"), ("goal", "second")):
        host.session.pin_text(name, text)
    host.run(tame(8, 150, start=2))
    assert [section.text for section in (host.calls[-1].request.plan or pytest.fail("no plan")).sections] == [
        "second",
        "steps",
    ]
    host.session.pin_text("goal", "")
    host.run(tame(8, 150, start=10))
    assert [section.text for section in (host.calls[-1].request.plan or pytest.fail("no plan")).sections] == ["steps"]


def test_pin_of_a_result_keeps_its_call_and_the_other_results() -> None:
    """A step is kept whole."""
    host = Host(InMemoryStore(), Setup(4096), watch=False)
    host.run(tame(1, 20))
    host.session.pin(2)
    host.run(tame(12, 150, start=1))
    last = requests(host.calls)[-1]
    assert {1, 2} <= {part.first_seq for part in last.parts if part.payload}
    assert last.view.blocks


def test_pins_that_fill_the_window_are_named_with_what_they_cost() -> None:
    """A pinned text of 20,000 words in a window of 4,096 tokens."""
    session = opened(InMemoryStore(), Setup(4096))
    session.pin_text("goal", "word " * 20_000)
    session.record(user("hello"), now=0.0)
    with pytest.raises(
        BudgetError, match=r"^pins: \d+; with all that must stand beside it the request costs"
    ) as raised:
        session.compact()
    assert raised.value.culprit == "pins"


# -- what extensions say breaks no promise, however often they change their minds -------------------------------------

TAILS = (None, "it is noon", "word " * 30, "</notice>", "it rains")
TEXTS = (None, "Squids were fed.", "word " * 400, "Nobody knows.")


class Fickle:
    """`core.extended.Extended` that says something else each time it is asked, and keeps to no limit."""

    def __init__(self, tails: list[str | None], verdicts: list[bool | None], texts: list[str | None]) -> None:
        self.tails, self.verdicts, self.texts = tails, verdicts, texts
        self.asked = 0

    def tail(self, _prompt: str, _limit_tokens: int) -> str | None:
        """Return the next tail."""
        self.asked += 1
        return self.tails[self.asked % len(self.tails)]

    def should_compact(self, fraction: float, *, due: bool) -> bool | None:
        """Return the next verdict."""
        assert fraction >= 0
        assert due in {True, False}
        self.asked += 1
        return self.verdicts[self.asked % len(self.verdicts)]

    def represent(self, told: Summary, limit_tokens: int) -> str | None:
        """Return the next text."""
        assert told.cost.bound >= 0
        assert limit_tokens > 0
        self.asked += 1
        return self.texts[self.asked % len(self.texts)]


@effort(60)
@given(
    history=histories(),
    setup=setups(),
    tails=st.lists(st.sampled_from(TAILS), min_size=1, max_size=4),
    verdicts=st.lists(st.sampled_from([None, True, False]), min_size=1, max_size=4),
    texts=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4),
    restarts=st.frozensets(st.integers(0, 14)),
)
def test_requests_fit_extend_each_other_and_come_back_without_the_extension(  # noqa: PLR0917  # drawn
    history: list[Message],
    setup: Setup,
    tails: list[str | None],
    verdicts: list[bool | None],
    texts: list[str | None],
    restarts: frozenset[int],
) -> None:
    """Promises 1, 6, 7 and 13: what was said is frozen, and what stays with the plan is read back from it."""
    fickle = Fickle(tails, verdicts, texts)
    host = Host(InMemoryStore(), setup, inputs=lambda _: Inputs(extended=fickle), watch=False, restarts=restarts)
    calls = host.run(history)
    for made in requests(calls):
        assert made.cost.bound <= made.limit.bound
        assert made.cost.estimate <= made.limit.estimate
    recorded = [call for call in calls if call.assembly][: host.replies]
    for before, after in pairwise(recorded):
        first, second = before.request, after.request
        if second.event is None and (first.plan and first.plan.plan_id) == (second.plan and second.plan.plan_id):
            assert second.payloads[: len(first.payloads)] == first.payloads
    again = opened(host.store, setup)
    numbered = [call.request for call, _ in zip(calls, range(host.replies), strict=False) if call.assembly]
    assert [again.request(number).payloads for number in range(len(numbered))] == [made.payloads for made in numbered]


# -- the promises at the ends of the scale: windows up to 128K, and one line of 16 MB ---------------------------------

MEGABYTE = 1 << 20
# Generous: the CPU of a shared machine. What must not be is minutes.
MOST_SECONDS = 60.0


def check_call(setup: Setup, call: Call) -> None:
    """Check one request against the window, the pairs, and its own report."""
    if call.assembly is None:
        return
    assert call.assembly.cost.bound + setup.window.reserved_output_tokens <= setup.window_tokens
    assert pairs_broken(sent(call.assembly)) is None
    spans = call.assembly.report.spans
    covered = [seq for span in spans for seq in range(span.first_seq, span.last_seq + 1)]
    assert covered == list(range(len(call.before.messages) + len(call.assembly.incoming)))
    for span in spans:
        for seq in range(span.first_seq, span.last_seq + 1):
            check(call, span, seq)


@effort(4)
@given(
    history=histories(most=60_000, largest=16),
    turns=st.integers(0, 30),
    setup=setups(windows=(16_384, 32_768, 65_536, 131_072)),
    given=schedules(),
    restarts=st.frozensets(st.integers(0, 20)),
)
def test_large_windows_keep_the_promises_of_small_ones(
    history: list[Message], turns: int, setup: Setup, given: list[Inputs], restarts: frozenset[int]
) -> None:
    """Budget, pairs, partition, prefix, with long texts and restarts."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], restarts=restarts)
    said = [*tame(turns, 600), *history, *tame(3, 300, start=turns)]
    for call in host.run(said):
        check_call(setup, call)
    for old, new in pairwise(requests(host.calls)):
        assert new.event is not None or breaks_at(old, new) is None


@pytest.mark.parametrize("window_tokens", [2048, pytest.param(131_072, marks=pytest.mark.slow)])
def test_tool_result_of_one_line_of_16_megabytes_is_cut_and_kept(window_tokens: int) -> None:
    """Sent as head, tail and handle; stored byte for byte; the next turn is as quick as any."""
    huge = "0123456789abcdef" * MEGABYTE
    host = Host(InMemoryStore(), Setup(window_tokens))
    started = time.process_time()
    history = [user("dump it"), assistant("", ("a", "cat", "{}")), result("a", huge), assistant("done"), user("and?")]
    for call in host.run(history):
        check_call(host.setup, call)
        assert sum(map(len, call.request.payloads)) < window_tokens * 8
    assert time.process_time() - started < MOST_SECONDS
    row = held(host.store).messages[2]
    assert json.loads(row.payload)["content"] == huge
    assert row.sent_text is not None
    assert "16,777,216 characters left out" in row.sent_text or "of 16,777,216 characters" in row.sent_text
    assert row.sent_text.startswith("0123456789abcdef")
    assert row.sent_text.endswith("0123456789abcdef")


def test_argument_of_one_line_of_16_megabytes_is_cut_and_stays_json() -> None:
    """A file that the assistant wrote: its path stays, its content is cut, the call has its result."""
    arguments = json.dumps({"path": "a/b.py", "content": "x = 1; " * (16 * MEGABYTE // 7)})
    host = Host(InMemoryStore(), Setup(8192))
    started = time.process_time()
    history = [user("write it"), assistant("", ("a", "write", arguments)), result("a", "ok"), assistant("done")]
    for call in host.run([*history, user("and?")]):
        check_call(host.setup, call)
    assert time.process_time() - started < MOST_SECONDS
    row = held(host.store).messages[1]
    assert row.sent_arguments is not None
    (cut,) = row.sent_arguments
    assert json.loads(cut)["path"] == "a/b.py"
    assert len(cut) < 8192 * 8
    assert json.loads(row.payload)["tool_calls"][0]["function"]["arguments"] == arguments


def test_user_message_of_16_megabytes_is_refused_with_its_size() -> None:
    """A user's text is never cut: the error says how much it is, and the session goes on."""
    session = opened(InMemoryStore(), Setup(8192))
    with pytest.raises(BudgetError, match=r"^current turn: \d{6,}; with all"):
        session.assemble([user("0123456789abcdef" * MEGABYTE)])
    assert session.assemble([user("hello")]).payloads


# -- files that were touched, with what was last done with each, stand in requests by rule, whoever wrote the notes ---

FILES = 24


def done(turn: int) -> str:
    """Return what is done with the file of a turn; each file gets its turn once in a round."""
    if turn % FILES == 7:
        return "Created"
    return "read_file" if (turn // FILES + turn) % 3 == 0 else "edit_file"


def touching(turn: int) -> list[Message]:
    """Return a turn in which a tool reads or edits a file, or the assistant says that it made one."""
    path, filler = f"src/area/part_{turn % FILES}.py", " and so on" * 30
    if done(turn) == "Created":
        return [user(f"Question {turn}?{filler}"), assistant(f"[ARTIFACT] Created {path}\nIt is new.{filler}")]
    return [
        user(f"Question {turn}?{filler}"),
        assistant("", (f"t{turn}", done(turn), f'{{"path": "{path}", "number": {turn}}}')),
        result(f"t{turn}", f"content {turn}: " + "value " * 150),
        assistant(f"It is fine.{filler}"),
    ]


@pytest.mark.parametrize(
    ("window_tokens", "model"), [(2048, False), (20_000, False), pytest.param(20_000, True, marks=pytest.mark.slow)]
)
def test_last_action_on_each_file_stands_in_the_request(window_tokens: int, model: bool) -> None:  # noqa: FBT001
    """Two dozen files, each touched twice; the model's summaries name none of them."""
    setup = Setup(window_tokens, settings=strategy("balanced", window_tokens * 3 // 4))
    host = Host(InMemoryStore(), setup, watch=False)
    for turn in range(2 * FILES):
        host.run(touching(turn))
        if model:
            desk_of(host.store, setup).run(writer("<summary>Explained it by edit_file, read_file.</summary>"), limit=2)
    text = "\n".join(map(rendered, sent(requests(host.calls)[-1])))
    found = [number for number in range(FILES) if _trail(text, number) == done(FILES + number)]
    assert found == list(range(FILES))
    assert bool(shown(host)) is model


def _trail(text: str, number: int) -> str | None:
    """Return what a text says last of a file."""
    told = re.findall(rf"\b(Created|edit_file|read_file)\b[^;\n]*?\bpart_{number}\.py", text)
    return told[-1] if told else None


# -- promises 1, 6 and 7 where each turn has its own room for answers, and some another mode --------------------------

MODES = ("", "developer", "debugger")


@dataclass
class Turning(Host):
    """A host each of whose turns has a score and a mode, in order, over and over."""

    turns: Sequence[tuple[float, str]] = ((0.5, ""),)
    turn: int = -1
    opened_at: list[bool] = field(default_factory=list)

    def call(self) -> Call:
        """Open a turn where the user speaks last, or nobody has spoken before."""
        opens = self.turn < 0 or (bool(self.pending) and self.pending[-1].role == "user")
        self.turn += opens
        self.opened_at.append(opens)
        score, mode = self.turns[self.turn % len(self.turns)]
        made = Inputs(
            system=f"You are in mode {mode}. {'Be brief. ' * 9}" if mode else "",
            mode=Mode(mode, label=f"mode {mode}" if mode else ""),
            reserve=reserve_for(score, window_tokens=self.setup.window_tokens, tools_mode=True),
        )
        self.inputs = lambda _number: made
        return super().call()


def turns() -> st.SearchStrategy[list[tuple[float, str]]]:
    """Return scores in thousandths with modes."""
    scores = st.integers(0, 1000).map(lambda score: score / 1000)
    return st.lists(st.tuples(scores, st.sampled_from(MODES)), min_size=1, max_size=4)


def with_most(setup: Setup) -> Setup:
    """Return a setup whose window reserves the most that a turn may get, as the wiring opens it."""
    return replace(setup, reserve=most_reserved_tokens(setup.window_tokens, "balanced"))


@effort(30)
@given(history=histories(), setup=setups(), turned=turns())
def test_request_leaves_the_room_of_its_turn_and_breaks_the_prefix_at_events_alone(
    history: list[Message], setup: Setup, turned: list[tuple[float, str]]
) -> None:
    """Never over, whatever the turn before had; a mode changes where a turn opens, with an event as its cause."""
    host = Turning(InMemoryStore(), with_most(setup), watch=False, turns=turned)
    host.run(history)
    for call in host.calls:
        if call.assembly is not None:
            assert call.given.reserve is not None
            assert call.assembly.cost.bound + call.given.reserve.tokens <= setup.window_tokens
            assert call.assembly.max_output_tokens == call.given.reserve.tokens
    for old, new in pairwise(requests(host.calls)):
        assert new.event is not None or breaks_at(old, new) is None
    changed = [
        opens
        for opens, call in zip(host.opened_at, host.calls, strict=True)
        if call.assembly and call.assembly.event and call.assembly.event.cause == "mode-changed"
    ]
    assert all(changed)


@effort(20)
@given(
    history=histories(),
    setup=setups(),
    turned=turns(),
    restarts=st.frozensets(st.integers(1, 12), min_size=1, max_size=4),
)
def test_restart_gives_the_same_bytes_where_turns_differ(
    history: list[Message], setup: Setup, turned: list[tuple[float, str]], restarts: frozenset[int]
) -> None:
    """Room and mode of the newest request are stored with it: another process goes on as this one would have."""
    plain = Turning(InMemoryStore(), with_most(setup), watch=False, turns=turned)
    anew = Turning(InMemoryStore(), with_most(setup), watch=False, turns=turned, restarts=restarts)
    assert [request.payloads for request in requests(plain.run(history))] == [
        request.payloads for request in requests(anew.run(history))
    ]
    assert [str(call.error) for call in plain.calls] == [str(call.error) for call in anew.calls]


@effort(20)
@given(history=histories(), setup=setups(), score=st.integers(0, 1000).map(lambda score: score / 1000))
def test_turn_has_the_limit_of_a_lease_that_reserves_as_much(
    history: list[Message], setup: Setup, score: float
) -> None:
    """A turn's room for answers stands in place of the window's, and changes no other cost."""
    setup = with_most(setup)
    reserve = reserve_for(score, window_tokens=setup.window_tokens, tools_mode=True)
    turned = Turning(InMemoryStore(), setup, watch=False, turns=[(score, "")])
    fixed = Host(InMemoryStore(), replace(setup, reserve=reserve.tokens), watch=False)
    limits = {request.limit for request in requests(turned.run([user("Go."), *history]))}
    assert limits <= {request.limit for request in requests(fixed.run([user("Go.")]))}
