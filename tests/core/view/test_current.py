"""What a session sends right now, how it grows, and how a message enters the transcript."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.messages import Category, Cost, Kind, StoredMessage
from squidbot.core.settings import HistorySettings
from squidbot.core.transcript.pins import Pins
from squidbot.core.view import current
from squidbot.core.view.current import CurrentView, Pieces, SessionContext, Tail, load, view_of
from squidbot.core.view.marks import fence
from squidbot.core.view.renderer import spent
from squidbot.core.view.steps import steps_of
from squidbot.core.view.truncation import ArrivalLimits, ArrivalTruncation, FrozenText, MessagePlace

from ..promises.driver import CLASSES, CODEC, Host, Setup, assistant, message, opened, result, user
from ..promises.histories import tame
from ..rows import RENDERER, row

# -- what a session sends right now, whoever loads it -----------------------------------------------------------------

EMPTY = view_of(None, Pieces((), (), (), Tail()))
SMALL = Setup(4096)


def loaded(store: InMemoryStore, setup: Setup = SMALL) -> CurrentView:
    """Return what a new process loads."""
    return load(SessionContext("s", store, store, RENDERER), setup.window_tokens, setup.window.window_id)


def test_unknown_session_stands_for_nothing() -> None:
    """No plan, no part, no turn."""
    made = loaded(InMemoryStore())
    assert made == EMPTY
    assert (made.sent, made.at_turn, made.in_flight, made.pins) == ((), False, Cost(0, 0), Pins())


def test_system_text_that_opens_the_transcript_is_its_lead() -> None:
    """In front of everything, fixed; later system text is history."""
    made = EMPTY.extended([row(0, "system"), row(1, "system"), row(2), row(3, "system")], RENDERER)
    assert made.lead_count == 2
    assert (made.fixed, made.history) == (Cost(20, 20), Cost(20, 20))
    assert [part.kind for part in made.sent] == [Kind.SYSTEM, Kind.SYSTEM, Kind.MESSAGE, Kind.SYSTEM]


def test_more_system_text_is_lead_while_nobody_has_spoken() -> None:
    """It came with the next call."""
    made = EMPTY.extended([row(0, "system")], RENDERER).extended([row(1, "system"), row(2)], RENDERER)
    assert made.lead_count == 2
    assert made.messages == 3


def test_standing_grows_with_its_counts() -> None:
    """Turn, time, number and cost are those of the newest message."""
    made = EMPTY.extended([row(0, time=1.0), row(1, "assistant", time=2.0, turn=0)], RENDERER)
    assert (made.messages, made.turn, made.newest_time, made.history) == (2, 0, 2.0, Cost(20, 20))
    assert made.extended([], RENDERER) is made
    assert not made.at_turn
    assert made.extended([row(2, turn=2)], RENDERER).at_turn


def test_message_in_flight_is_the_one_that_opened_the_turn() -> None:
    """Wherever it stands."""
    made = EMPTY.extended([row(0, tokens=33), row(1, "assistant"), row(2, "assistant")], RENDERER)
    assert made.in_flight == Cost(33, 33)
    assert EMPTY.extended([row(0, "assistant")], RENDERER).in_flight == Cost(10, 10)


@pytest.mark.parametrize(
    ("roles", "needed"),
    [
        ([], (True, False)),
        (["user"], (False, False)),
        (["assistant"], (True, True)),
        (["user", "assistant"], (False, True)),
        (["system"], (True, False)),
        (["system", "user"], (False, False)),
    ],
)
def test_notices_are_needed_where_nobody_could_speak(roles: list[str], needed: tuple[bool, bool]) -> None:
    """And a request has exactly these."""
    made = EMPTY.extended([row(seq, role) for seq, role in enumerate(roles)], RENDERER)  # type: ignore[arg-type]
    assert made.needs_notices == needed
    notices = [part for part in made.parts((), RENDERER) if part.kind is Kind.NOTICE]
    assert len(notices) == sum(needed)


@pytest.mark.parametrize("turns", [2, 20])
def test_new_process_loads_what_the_old_one_held(turns: int) -> None:
    """With and without a plan."""
    host = Host(InMemoryStore(), SMALL, watch=False)
    host.run([message("system", "Be brief."), *tame(turns, 120), user("?")])
    host.session.record(*host.calls[-1].request.incoming)
    made, request = loaded(host.store), opened(host.store, SMALL).assemble()
    assert made.parts((), RENDERER) == host.calls[-1].request.parts == request.parts
    assert (made.plan is None) is (turns == 2)
    assert made.messages == 4 * turns + 2


def test_plan_of_another_lease_is_not_in_force() -> None:
    """Its segments are gone, its number goes on."""
    host = Host(InMemoryStore(), SMALL, watch=False)
    host.run(tame(20, 120))
    made = loaded(host.store, Setup(131_072))
    assert (made.blocks, made.opened) == ((), True)
    assert made.plan is not None
    assert loaded(host.store).blocks


def test_messages_too_old_to_be_read_are_absent_with_a_pointer(
    store: InMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four windows back, or as far as in any window; the question in flight and the pinned step all the same (B-45)."""
    session = opened(store, Setup(131_072))
    session.record(user("THE TASK"), *(assistant("step " * 200) for _ in range(150)))
    session.pin(3)
    assert not loaded(store, Setup(2048)).blocks
    monkeypatch.setattr(current, "READ_BACK_TOKENS", 0)
    made = loaded(store, Setup(2048))
    (block,) = made.blocks
    assert (block.segment.first_seq, block.segment.verbatim) == (0, (0, 3))
    assert block.segment.last_seq + 1 == made.tail.steps[0].first_seq
    assert made.opened
    assert 4 * 2048 <= made.tail.cost.bound < 5 * 2048


def test_steps_are_found_around_any_of_their_messages(store: InMemoryStore) -> None:
    """Each message once, in order; unknown ones are left out."""
    opened(store, SMALL).record(*tame(3, 8))
    context = SessionContext("s", store, store, RENDERER)
    assert [one.seq for one in context.steps_with([6, 1, 2, 999])] == [1, 2, 5, 6]


def test_counts_are_those_of_another_standing() -> None:
    """Turn, time, records and pins are taken over."""
    counts = EMPTY._replace(messages=7, records=3, turn=5, newest_time=2.5, opened=True, pins=Pins(frozenset({1})))
    made = view_of(None, Pieces((), (), (), Tail()), counts)
    assert made == counts


# -- the raw end of a request grows without being rebuilt -------------------------------------------------------------


def rows(kinds: list[str]) -> list[StoredMessage]:
    """Return messages of these kinds: roles, "call" (calls a and b), "a" or "b" (a result)."""
    made = []
    for seq, kind in enumerate(kinds):
        if kind in {"a", "b"}:
            made.append(row(seq, answers=kind))
        elif kind == "call":
            made.append(row(seq, "assistant", calls=("a", "b")))
        else:
            made.append(row(seq, kind))  # type: ignore[arg-type]  # a role
    return made


def test_tail_without_new_messages_is_itself() -> None:
    """Empty or not."""
    tail = Tail().extended(rows(["user"]), RENDERER, 0)
    assert tail.extended([], RENDERER, 0) is tail
    assert (tail.cost.bound, tail.last_parts) == (10, 1)


def test_result_completes_the_newest_step() -> None:
    """Told as text while it is open, with its ids once it is whole; the parts before it are the same objects."""
    said = rows(["user", "call", "a", "b"])
    open_tail = Tail().extended(said[:2], RENDERER, 0)
    assert open_tail.parts[1].kind is Kind.SLIMMED
    whole = open_tail.extended(said[2:], RENDERER, 0)
    assert [part.kind for part in whole.parts] == [Kind.MESSAGE] * 4
    assert whole.parts[0] is open_tail.parts[0]
    assert (whole.cost.bound, whole.last_parts) == (40, 3)


def test_first_step_has_a_notice_where_nobody_can_answer_what_stands_before_the_tail() -> None:
    """A segment that ends with the assistant."""
    assert Tail(after_assistant=True).extended(rows(["assistant"]), RENDERER, 0).parts[0].kind is Kind.NOTICE
    assert Tail().extended(rows(["assistant"]), RENDERER, 0).parts[0].kind is Kind.MESSAGE


def test_reasoning_of_steps_before_a_seq_is_left_out() -> None:
    """And of no later one."""
    tail = Tail().extended(rows(["user", "assistant", "user", "assistant"]), RENDERER, 3)
    assert [part.drop_thinking for part in tail.parts] == [False, True, False, False]


def test_reasoning_of_steps_in_a_run_is_left_out() -> None:
    """The first seq of the run is in it, the last is behind it; a step belongs where it begins."""
    said = rows(["assistant", "user", "assistant", "call", "a", "b", "assistant"])
    tail = Tail().extended(said, RENDERER, 1, [(2, 3), (4, 6)])
    steps = [part.drop_thinking for part in tail.parts if part.role == "assistant"]
    assert steps == [True, True, False, False]


@given(
    kinds=st.lists(st.sampled_from(["user", "assistant", "call", "a", "b", "system"]), max_size=16),
    cuts=st.lists(st.integers(0, 16), max_size=4),
    after=st.booleans(),
)
def test_tail_is_the_same_however_it_grew(kinds: list[str], cuts: list[int], after: bool) -> None:  # noqa: FBT001  # drawn
    """In any pieces, it is what is rendered of all at once."""
    said = rows(kinds)
    tail, start = Tail(after_assistant=after), 0
    for cut in [*sorted(cuts), len(said)]:
        tail = tail.extended(said[start : max(start, cut)], RENDERER, 4)
        start = max(start, cut)
    whole = Tail(after_assistant=after).extended(said, RENDERER, 4)
    assert tail == whole
    assert tail.steps == tuple(steps_of(said))
    assert tail.cost == spent(tail.parts)


# -- how a message enters the transcript ------------------------------------------------------------------------------

LIMITS = ArrivalLimits(CLASSES, {CODEC.tag: CODEC}, output_tokens=100, step_tokens=300)
# What the marker of a cut costs by itself, template included.
MARKER_TOKENS = 60


def behind(*rows_: object) -> CurrentView:
    """Return what stands with these rows stored."""
    return EMPTY.extended(rows_, RENDERER)  # type: ignore[arg-type]  # rows of a test


def test_message_is_counted_once_and_kept_as_it_is() -> None:
    """Its place, its turn, its cost with the template; its time, or that of the call."""
    said = user("hello there", time=7.0)
    made = LIMITS.stored(said, MessagePlace(5, 3), now=99.0)
    assert (made.seq, made.turn, made.time, made.payload) == (5, 3, 7.0, said.payload)
    assert made.cost == made.sent_cost == CLASSES.message("hello there")
    assert (made.counter, made.sent_text, made.notice) == ("classes", None, None)
    assert LIMITS.stored(user("x"), MessagePlace(0, 0), now=99.0).time == 99.0


def test_user_text_is_never_cut() -> None:
    """However long."""
    made = LIMITS.stored(user("word " * 5000), MessagePlace(0, 0))
    assert made.sent_text is None
    assert made.sent_cost == made.cost


def test_oversized_output_is_cut_to_the_output_limit() -> None:
    """The transcript keeps all of it (W-16)."""
    made = LIMITS.stored(result("a", "data " * 5000), MessagePlace(2, 0))
    assert made.sent_text is not None
    assert "recall m2" in made.sent_text
    assert made.sent_cost.bound <= 104 < made.cost.bound
    assert "data " * 5000 in made.payload


def test_outputs_of_one_step_share_its_room() -> None:
    """Two thirds of what the step has left, at least a useful cut."""
    small = LIMITS.stored(result("a", "data " * 5000), MessagePlace(2, 0, step_tokens=210))
    least = LIMITS.stored(result("a", "data " * 5000), MessagePlace(2, 0, step_tokens=299))
    assert small.sent_cost.bound <= 60 + 4
    assert least.sent_cost.bound <= MARKER_TOKENS


def test_output_whose_cut_would_be_itself_is_not_cut() -> None:
    """Just above the limit with its template, below it without."""
    text = next("x " * size for size in range(1, 200) if CLASSES.text("x " * size).bound == 100)
    assert CLASSES.message(text).bound > 100
    assert LIMITS.stored(result("a", text), MessagePlace(2, 0)).sent_text is None


def test_oversized_step_has_its_text_and_arguments_cut() -> None:
    """Keys stay, ids stay, and a short text stays as it is."""
    arguments = json.dumps({"path": "a.py", "content": "x = 1\n" * 2000})
    made = LIMITS.stored(assistant("short", ("a", "write", arguments)), MessagePlace(1, 0))
    assert made.sent_text is None
    assert made.sent_arguments is not None
    assert json.loads(made.sent_arguments[0])["path"] == "a.py"
    assert made.sent_cost.bound < made.cost.bound
    wordy = LIMITS.stored(assistant("because " * 2000), MessagePlace(1, 0))
    assert wordy.sent_arguments is None
    assert "recall m1" in (wordy.sent_text or "")


def test_oversized_step_whose_cut_would_be_itself_is_not_cut() -> None:
    """A short argument next to a marker longer than itself: nothing is left out, so nothing is told to be."""
    tight = ArrivalLimits(CLASSES, {CODEC.tag: CODEC}, output_tokens=100, step_tokens=30)
    row_ = tight.stored(assistant(" ", ("a", "read", '{"content": "' + "yes" * 18 + '"}')), MessagePlace(0, 0))
    assert row_.cost.bound > 30
    assert (row_.sent_text, row_.sent_arguments, row_.sent_cost) == (None, None, row_.cost)


def test_answer_of_history_is_flagged_by_its_mark_and_its_call() -> None:
    """Neither alone does; a copy that was placed keeps its flag wherever it is placed anew."""
    births = ArrivalTruncation(LIMITS)
    copy = fence("recalled m0", "", "words")
    step = assistant("", ("h", "history", "{}"), ("r", "read", "{}"))
    rows = births.placed([user("?"), step, result("h", copy), result("r", copy), result("h", "words")], EMPTY, None)
    flags = [one.category is Category.RECALLED for one in rows]
    assert flags == [False, False, True, False, False]
    (anew,) = births.placed([rows[2]], EMPTY, None)
    assert (anew.seq, anew.category) == (0, Category.RECALLED)
    # Behind a step that is stored already.
    known = behind(*rows[:2])
    assert births.placed([result("h", copy)], known, None)[0].category is Category.RECALLED
    assert births.placed([*rows[:2], result("h", copy)], EMPTY, None)[2].category is Category.RECALLED


def test_recalled_record_opens_no_turn_and_takes_no_notice() -> None:
    """It has the user's role, and is not the user's."""
    record = replace(user("copy"), category=Category.RECALLED)
    rows = ArrivalTruncation(LIMITS).placed([user("one"), record], EMPTY, None, "it is noon")
    assert [one.turn for one in rows] == [0, 0]
    assert [one.notice for one in rows] == ["it is noon", None]


def test_notice_is_frozen_behind_a_user_message_only() -> None:
    """And counted with its fence."""
    made = LIMITS.stored(user("hello"), MessagePlace(0, 0), FrozenText("12:00"))
    assert made.notice == "12:00"
    assert made.sent_cost == CLASSES.message("hello\n\n<notice>\n12:00\n</notice>")
    assert LIMITS.stored(assistant("hello"), MessagePlace(0, 0), FrozenText("12:00")).notice is None
    assert LIMITS.stored(result("a", "hello"), MessagePlace(0, 0), FrozenText("12:00")).notice is None


def test_picture_costs_its_tokens_in_both_counts() -> None:
    """R9."""
    picture = message("user", [{"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}])
    assert LIMITS.stored(picture, MessagePlace(0, 0)).cost.bound >= 310


@pytest.mark.parametrize(
    ("input_tokens", "flight", "output", "step"), [(1000, 10, 248, 495), (1000, 900, 50, 100), (0, 10, 48, 48)]
)
def test_outputs_share_what_the_user_message_leaves(input_tokens: int, flight: int, output: int, step: int) -> None:
    """A quarter and a half of it; at least of a fifth of the room; at least what a cut needs."""
    made = ArrivalTruncation.within(RENDERER, HistorySettings(), input_tokens, behind(row(0, tokens=flight)))
    assert (made.limits.output_tokens, made.limits.step_tokens) == (output, step)


def test_messages_are_placed_behind_what_stands() -> None:
    """Each in its turn; the notice behind the newest of the user's."""
    births = ArrivalTruncation(LIMITS)
    stored = behind(row(0), row(1, "assistant"))
    rows = births.placed([assistant("and"), user("b"), user("c"), assistant("d")], stored, 5.0, "12:00")
    assert [(one.seq, one.turn, one.notice) for one in rows] == [
        (2, 0, None),
        (3, 3, None),
        (4, 4, "12:00"),
        (5, 4, None),
    ]


def test_first_messages_stand_in_the_turn_of_the_first_one() -> None:
    """Before any user spoke."""
    rows = ArrivalTruncation(LIMITS).placed([message("system", "s"), assistant("hi")], EMPTY, None)
    assert [(one.seq, one.turn) for one in rows] == [(0, 0), (1, 0)]


def test_message_that_was_placed_before_comes_out_as_it_is() -> None:
    """In its place; behind another writer's it gets a new place, and keeps time and notice."""
    births = ArrivalTruncation(LIMITS)
    (first,) = births.placed([user("a", time=3.0)], EMPTY, None, "12:00")
    assert births.placed([first], EMPTY, 9.0) == (first,)
    (moved,) = births.placed([first], behind(row(0), row(1, "assistant")), 9.0, "13:00")
    assert (moved.seq, moved.turn, moved.time, moved.notice) == (2, 2, 3.0, "12:00")


def test_result_counts_what_its_step_has_cost_so_far() -> None:
    """The step and its first result are stored, the second result comes alone."""
    stored = behind(row(0), row(1, "assistant", calls=("a", "b"), tokens=200), row(2, answers="a", tokens=40))
    (made,) = ArrivalTruncation(LIMITS).placed([result("b", "data " * 900)], stored, None)
    assert made.sent_cost.bound <= MARKER_TOKENS < made.cost.bound


def test_result_shares_no_room_with_a_stored_step_that_it_does_not_answer() -> None:
    """An event may take that one away, and the next try cuts the result as the first did."""
    births, long = ArrivalTruncation(LIMITS), result("z", "data " * 900)
    (alone,) = births.placed([long], EMPTY._replace(messages=2), None)
    assert MARKER_TOKENS < alone.sent_cost.bound < alone.cost.bound
    stored = behind(row(0), row(1, "assistant", calls=("a",), tokens=230))
    assert births.placed([long], stored, None) == (alone,)
    # What answers the step keeps it there, for others that come with it as well.
    answer, other = births.placed([result("a", "x"), long], stored, None)
    assert other.sent_cost.bound <= MARKER_TOKENS < alone.sent_cost.bound
    assert answer.sent_text is None


def test_results_without_a_call_that_come_together_share_a_step() -> None:
    """Or many of them would leave no room for each other."""
    long = result("z", "data " * 900)
    rows = ArrivalTruncation(LIMITS).placed([long] * 4, EMPTY, None)
    assert sum(one.sent_cost.bound for one in rows[:3]) <= LIMITS.step_tokens
    assert rows[3].sent_cost.bound <= MARKER_TOKENS


def test_second_answer_to_a_call_of_ours_is_not_ours() -> None:
    """Nothing vouches for it: its call has its result (D4)."""
    copy = fence("recalled m0", "", "words")
    rows = ArrivalTruncation(LIMITS).placed(
        [user("?"), assistant("", ("h", "history", "{}")), result("h", "no")], EMPTY, None
    )
    (behind_it,) = ArrivalTruncation(LIMITS).placed([result("h", copy)], behind(*rows), None)
    (*_, with_it) = ArrivalTruncation(LIMITS).placed([*rows, result("h", copy)], EMPTY, None)
    assert Category.RECALLED not in {behind_it.category, with_it.category}
