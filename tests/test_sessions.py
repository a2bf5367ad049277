"""The Python face: whatever a host has goes in, what it sends comes out, nothing is lost on the way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.errors import BudgetError, ConfigError, InvalidRequestError
from squidbot.core.messages import Usage

if TYPE_CHECKING:
    from pathlib import Path

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
ASKING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "print(1)"}


def session(**settings: object) -> squidbot.Session:
    """Return a session in memory."""
    return squidbot.load(settings).session("s")


# -- in and out -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "Hello",
        {"role": "user", "content": "Hello"},
        [{"role": "user", "content": "Hello"}],
        OpenAIChat().to_message({"role": "user", "content": "Hello"}),
        [["Hello"]],
    ],
)
def test_assemble_takes_whatever_form_a_message_has(said: squidbot.session.Said) -> None:
    """A text, a dict, one of our messages, lists of them: the same request."""
    assert session().assemble(said).messages == [{"role": "user", "content": "Hello"}]


def test_assemble_raises_when_there_is_nothing_to_answer() -> None:
    """An empty request is never made."""
    with pytest.raises(InvalidRequestError):
        session().assemble()


@pytest.mark.parametrize(
    "said",
    [
        {"content": "x"},
        {"role": "robot", "content": "x"},
        {"role": "tool", "content": "x"},
        {"role": "user", "content": 3},
    ],
)
def test_assemble_raises_when_a_dict_is_no_message(said: dict[str, object]) -> None:
    """The text says which field is wrong; nothing is stored."""
    one = session()
    with pytest.raises(ValueError, match=r"role|tool_call_id|content"):
        one.assemble(said)
    with pytest.raises(ValueError, match=r"role|tool_call_id|content"):
        one.record("kept?", said)
    assert one.core.compact() is None
    assert len(one.assemble("Hello").messages) == 1


def test_messages_are_the_hosts_own_when_nothing_is_cut() -> None:
    """Unknown keys, parts and ids come back as they went in."""
    one = session()
    user = {"role": "user", "content": [{"type": "text", "text": "Look"}], "x_trace": {"id": 7}}
    one.record(one.assemble(user).incoming, ASKING, RESULT, {"role": "assistant", "content": "It prints 1."})
    assert one.assemble("Why?").messages == [
        user,
        ASKING,
        RESULT,
        {"role": "assistant", "content": "It prints 1."},
        {"role": "user", "content": "Why?"},
    ]


def test_session_speaks_anthropic_when_that_is_its_form() -> None:
    """Blocks in, blocks out; a text is a message of that form too."""
    one = squidbot.load().session("s", form="anthropic.messages")
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "print(1)"}]}
    one.record(one.assemble("Read it").incoming, use, result)
    assert one.assemble().messages == [{"role": "user", "content": "Read it"}, use, result]


def test_session_speaks_responses_when_that_is_its_form() -> None:
    """A response goes in whole, its items come out one by one; a text is an item too."""
    one = squidbot.load().session("s", form="openai.responses")
    thought = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "c2VhbGVk"}
    call = {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "print(1)"}
    response = {"id": "resp_1", "output": [thought, call], "tools": [{"name": "read"}], "instructions": "Be brief."}
    (_, step, _) = one.record(one.assemble("Read it").incoming, response, output)
    assert json.loads(step.payload) == {"id": "resp_1", "output": [thought, call]}
    assert one.assemble().messages == [{"role": "user", "content": "Read it"}, thought, call, output]


def test_session_goes_on_in_another_form_with_words_and_pairs() -> None:
    """What was recorded before is sent in the form of now, and stays as it was."""
    engine = squidbot.load()
    first = engine.session("s", form="anthropic.messages")
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}]}
    results = [{"type": "tool_result", "tool_use_id": "t1", "content": "print(1)"}]
    first.record(first.assemble("Read it").incoming, use, {"role": "user", "content": results}, "It prints 1.")
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    assert engine.session("s").assemble("Thanks").messages == [
        {"role": "user", "content": "Read it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "print(1)"},
        {"role": "assistant", "content": "It prints 1."},
        {"role": "user", "content": "Thanks"},
    ]
    assert first.assemble("Thanks").messages[1] == use


def test_session_refuses_a_form_when_nobody_brings_it() -> None:
    """The known ones are named."""
    with pytest.raises(
        ConfigError,
        match=r"^unknown form of messages 'telegraph/1', known: openai\.chat, anthropic\.messages, openai\.resp",
    ):
        squidbot.load().session("s", form="telegraph/1")


def test_assemble_sends_system_and_counts_tools() -> None:
    """The system text stands first; tools cost room, and are the host's to send."""
    one, other = session(), session()
    tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
    plain, with_tools = (
        one.assemble("Hello", system="Be short."),
        other.assemble("Hello", system="Be short.", tools=tools),
    )
    assert plain.messages[0] == {"role": "system", "content": "Be short."}
    assert with_tools.messages == plain.messages
    assert with_tools.report.cost.bound > plain.report.cost.bound


def test_record_takes_a_bare_text_as_the_models() -> None:
    """What is recorded behind a request is its answer (W-02)."""
    one = session()
    stored = one.record(one.assemble("Hello").incoming, "Hi.")
    assert [message.role for message in stored] == ["user", "assistant"]
    assert [message.seq for message in stored] == [0, 1]


@pytest.mark.parametrize(
    "usage",
    [
        Usage(900, 5),
        {"prompt_tokens": 900, "completion_tokens": 5},
        {"input_tokens": 100, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 0, "output_tokens": 5},
    ],
)
def test_record_corrects_the_counting_when_usage_is_reported(usage: Usage | dict[str, object]) -> None:
    """A provider that counts far more than the bound makes less room for the next request."""
    one = session()
    first = one.assemble("Hello")
    one.record(first.incoming, "Hi.", usage=usage)
    assert one.assemble("Again").report.limit.bound < first.report.limit.bound


def test_time_is_the_clocks_when_none_is_given() -> None:
    """The core has no clock, so the face brings one; a given time goes before it."""
    one = session()
    stored = one.record(one.assemble("Hello", now=1000.0).incoming, "Hi.", now=1001.5)
    assert [message.time for message in stored] == [1000.0, 1001.5]
    later = one.record("More.")
    assert later[0].time is not None
    assert later[0].time > 1_700_000_000


def test_notice_stays_where_it_was_said() -> None:
    """What holds for one turn is frozen behind its user message, and never moves."""
    one = session()
    first = one.assemble("Hello", notice="It is 9:41.")
    one.record(first.incoming, "Hi.")
    second = one.assemble("Again", notice="It is 9:42.")
    assert second.messages[0] == first.messages[0]
    assert "It is 9:41." in str(second.messages[0])
    assert "It is 9:42." in str(second.messages[2])


@given(st.lists(st.text(max_size=200), min_size=1, max_size=6))
def test_requests_only_grow_whatever_is_said(texts: list[str]) -> None:
    """Promise 7 through the face: each request begins with the one before it, as JSON text."""
    one, before = session(), ""
    for text in texts:
        assembly = one.assemble(text)
        now = json.dumps(assembly.messages)[:-1]
        assert assembly.event is None
        assert now.startswith(before)
        before = now
        one.record(assembly.incoming, f"You said {len(text)} characters.")


# -- the window ------------------------------------------------------------------------------------------------------


def test_session_takes_its_window_from_the_call_when_one_is_given() -> None:
    """Before the model's, and before the default."""
    engine = squidbot.load({"models": {"m": {"context_window": 9000}}})
    assert engine.session("s", model="m", window_tokens=5000).window.window_tokens == 5000
    assert engine.session("s", model="m").window.window_tokens == 9000
    assert engine.session("s", model="m", window_tokens=5000).window.source == "manual"


def test_assemble_stays_in_its_window_when_the_conversation_does_not() -> None:
    """Fifty long answers in 4,096 tokens: every request fits, the newest question is in it, the report adds up."""
    one = squidbot.load().session("s", window_tokens=4096)
    events = 0
    for number in range(50):
        assembly = one.assemble(f"Question {number}: what about part {number}?")
        assert assembly.report.cost.bound <= 4096 - one.window.reserved_output_tokens
        asked = f"Question {number}: what about part {number}?"
        assert str(assembly.messages[-1]["content"]).startswith(asked)
        spans = assembly.report.spans
        assert [span.first_seq for span in spans] == [0, *(span.last_seq + 1 for span in spans[:-1])]
        assert spans[-1].last_seq == 2 * number
        events += assembly.event is not None
        one.record(assembly.incoming, f"Part {number} lives in src/part_{number}.py. " * 12)
    assert 0 < events < 25


def test_assembly_says_in_one_line_what_was_sent() -> None:
    """Cost, limit, and what became of the messages (W-02)."""
    one = squidbot.load().session("s", window_tokens=4096)
    assembly = one.assemble("Hello")
    assert str(assembly) == f"1 message, {assembly.report.cost.bound} of 3,072 tokens (measured); m0 verbatim"


def test_assemble_names_the_culprit_when_nothing_fits() -> None:
    """A system text larger than the window is no silent cut."""
    with pytest.raises(BudgetError) as caught:
        squidbot.load().session("s", window_tokens=2048).assemble("Hello", system="word " * 5000)
    assert caught.value.culprit == "system text"


def test_compact_shortens_what_is_sent() -> None:
    """On the user's word, and nothing is lost: the transcript keeps every message."""
    one = squidbot.load().session("s", window_tokens=8000)
    for number in range(12):
        one.record(one.assemble(f"Question {number}?").incoming, "An answer with some words in it. " * 30)
    before = one.assemble("And now?")
    plan = one.compact()
    after = one.assemble("And now?")
    assert plan is not None
    assert plan.cause == "manual"
    assert after.report.cost.bound < before.report.cost.bound
    assert after.report.spans[-1].last_seq == before.report.spans[-1].last_seq


def test_pins_stay_in_the_request_when_the_rest_is_compacted() -> None:
    """A pinned message verbatim, a pinned text in the head."""
    one = squidbot.load().session("s", window_tokens=4096)
    one.record(one.assemble("Begin.").incoming, "The password of the day is fish-44, never tell it twice.")
    one.pin(1)
    one.pin_text("goal", "Ship on Friday.")
    for number in range(40):
        one.record(one.assemble(f"Question {number}?").incoming, "An answer with some words in it. " * 20)
    sent = json.dumps(one.assemble("And now?").messages)
    assert "The password of the day is fish-44, never tell it twice." in sent
    assert "Ship on Friday." in sent


# -- processes -------------------------------------------------------------------------------------------------------


def test_two_engines_share_a_session_when_they_share_a_file(tmp_path: Path) -> None:
    """What one records, the other sends next."""
    settings = {"store": {"path": str(tmp_path / "a.db")}}
    with squidbot.load(settings) as first, squidbot.load(settings) as second:
        here, there = first.session("s"), second.session("s")
        here.record(here.assemble("Hello").incoming, "Hi.")
        there.record(there.assemble("Are you there?").incoming, "Yes.")
        assert [message["content"] for message in here.assemble("Good.").messages] == [
            "Hello",
            "Hi.",
            "Are you there?",
            "Yes.",
            "Good.",
        ]


# -- undo, snapshots, requests ---------------------------------------------------------------------------------------


def talked() -> squidbot.Session:
    """Return a session that has talked and been shortened, with system text and tools."""
    one = squidbot.load({"window": {"default": 8192}}).session("s")
    for number in range(12):
        asked = one.assemble(
            f"{number}: " + "look at it " * 30, system="Be brief.", tools=[{"name": "read"}], memory="tea"
        )
        one.record(asked.incoming, "because of this " * 90)
    assert one.compact() is not None
    return one


def test_undo_brings_back_what_was_sent() -> None:
    """With the host's own system text and tools, and its documents."""
    one = talked()
    plan = one.undo()
    assert plan.cause == "undo"
    made = one.assemble("and now?", system="Be brief.", tools=[{"name": "read"}], memory="tea")
    assert made.event is None
    assert len(made.messages) >= 25
    with pytest.raises(squidbot.NotFoundError):
        squidbot.load().session("t").undo()


def test_snapshot_comes_back_by_its_name() -> None:
    """A named one, and the one that a restore makes of what was before it."""
    one = talked()
    one.undo()
    made = one.snapshot("all of it")
    one.compact()
    one.restore("all of it")
    assert [kept.name for kept in one.snapshots()] == ["all of it", "auto-1"]
    assert one.snapshots()[0] == made
    assert made.created_at is not None
    assert {span.how for span in one.preview().report.spans} == {"verbatim"}
    with pytest.raises(squidbot.NotFoundError):
        one.restore("another")


def test_preview_is_what_would_be_sent_next() -> None:
    """In the process that talked, and in one that was never told system text and tools."""
    one = talked()
    one.record(one.codec.to_message({"role": "user", "content": "and now?"}))
    seen = one.preview()
    other = squidbot.session.Session(one.wired, "s", one.window, one.codec)
    assert other.preview().messages == seen.messages[1:]
    assert other.preview().report.cost == seen.report.cost
    assert one.assemble(system="Be brief.", tools=[{"name": "read"}], memory="tea").messages == seen.messages


def test_past_request_is_what_was_sent() -> None:
    """By its number, with the system text where that is given."""
    one = squidbot.load().session("s")
    sent = []
    for number in range(3):
        asked = one.assemble(f"question {number}", system="Be brief.")
        one.record(asked.incoming, "answer")
        sent.append(asked.messages)
    assert [one.request(number, system="Be brief.").messages for number in range(3)] == sent
    assert one.request().messages == sent[-1][1:]


def test_stable_positions_are_where_requests_still_agree_after_a_plan() -> None:
    """Whenever a request does not extend the one before, both are equal up to one of the places that it named."""
    one = squidbot.load({"budget": {"reserved_output_tokens": 500}}).session("s", window_tokens=12_000)
    before: list[dict[str, object]] = []
    named: tuple[int, ...] = ()
    shared: list[int] = []
    for turn in range(160):
        made = one.assemble(f"Question {turn}: " + "why " * 20, system="Be brief.", now=1.7e9 + 40 * turn)
        same = next(
            (at for at, both in enumerate(zip(before, made.messages, strict=False)) if both[0] != both[1]), None
        )
        if same is not None:
            assert same in named
            shared.append(same)
        assert all(0 < count < len(made.messages) for count in made.stable)
        before, named = made.messages, made.stable
        one.record(
            made.incoming, {"role": "assistant", "content": f"Answer {turn}: " + "so " * 40}, now=1.7e9 + 40 * turn
        )
    assert max(shared) > 1 < len(shared)


def test_results_that_are_sent_as_text_stand_under_their_time(tmp_path: Path) -> None:
    """B-21: a result whose call nobody recorded; the same bytes in each request, and in another process."""
    result = {"role": "tool", "tool_call_id": "gone", "content": "3 knots, from the west"}
    told = "[Tool Results @ 2025-12-01T00:00:00+00:00]\n3 knots, from the west"
    settings = {"store": {"path": str(tmp_path / "mem.db")}}
    for _ in range(2):
        with squidbot.load(settings) as engine:
            session = engine.session("s")
            if not session.wired.store.head("s")[0]:
                session.record({"role": "user", "content": "How is the wind?"}, now=1_764_547_199.0)
                session.record(result, now=1_764_547_200.0)
            said = session.assemble("And now?", now=1_764_550_000.0).messages
            assert all(each["role"] == "user" for each in said)
            assert any(told in str(each["content"]) for each in said)
