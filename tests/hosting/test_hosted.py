"""What a plugin is made of, without a host."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest

from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core import events
from squidbot.core.errors import BudgetError, ConfigError, StoreError
from squidbot.core.transcript.windows import WINDOW
from squidbot.plugins.host import MOST_HELD, REQUEST, HostRuntime

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.events import Event
    from squidbot.core.messages import StoredMessage

USER = {"role": "user", "content": "Where is the boat?"}
REPLY = {"role": "assistant", "content": "In the harbour."}


def hosted(path: Path, budget: float | str | None = 2_000) -> HostRuntime:
    """Return one whose host writes OpenAI's messages."""
    return HostRuntime(path, host="a test", form="openai.chat", budget=budget)


@pytest.mark.parametrize(
    "budget", [0, -1, 1.5, True, float("nan"), float("inf"), 1e23, "much", "", "1.5", "-8k", [8000]]
)
def test_a_budget_that_is_none_is_refused(budget: float, tmp_path: Path) -> None:
    """Tokens are whole, and no more than any window has; a share is below 1."""
    with pytest.raises(ConfigError, match=r"^budget must be a token count .*'8k'.*"):
        hosted(tmp_path / "mem.db", budget)


@pytest.mark.parametrize(("budget", "tokens"), [("8k", 8_000), ("8Ki", 8_192), (" 8000 ", 8_000), ("0.25", 10_000)])
def test_a_budget_may_be_written_as_a_word(budget: str, tokens: int, tmp_path: Path) -> None:
    """As sizes are everywhere else."""
    one = hosted(tmp_path / "mem.db", budget)
    assert one.conversation("a", "m", 40_000).session.window.window_tokens == tokens
    one.close()


def test_a_budget_in_which_nothing_fits_is_refused_at_once(tmp_path: Path) -> None:
    """Not in the log of the first turn."""
    with pytest.raises(ConfigError, match=r"^budget = 10: a request and its answer need at least 256"):
        hosted(tmp_path / "mem.db", 10)


@pytest.mark.parametrize("budget", [200_000, "200k"])
def test_the_smaller_one_of_budget_and_window_counts(
    budget: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Said once, with the argument; a window that the settings name is known, too."""
    known = {"models": {"small": {"context_window": 4_000}}}
    path = {"store": {"path": str(tmp_path / "mem.db")}}
    one = HostRuntime(None, host="a test", form="openai.chat", budget=budget, settings={**known, **path})
    windows = [("a", "m", 8_000), ("b", "m", 9_000), ("c", "small", None), ("d", "m", None), ("e", "m", 400_000)]
    found = [one.conversation(*each).session.window.window_tokens for each in windows]
    assert found == [8_000, 9_000, 4_000, 200_000, 200_000]
    told = [record.getMessage() for record in caplog.records]
    assert [text[:55] for text in told] == [
        "budget=200000 is larger than the window of the model 'm",
        "budget=200000 is larger than the window of the model 's",
    ]
    one.close()


def test_a_share_is_of_the_window_that_is_known(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By the host, or by the settings; where neither knows it, of the default window, which is said."""
    one = hosted(tmp_path / "mem.db", 0.25)
    assert one.conversation("a", "m", 40_000).session.window.window_tokens == 10_000
    assert one.conversation("a").session.window.window_tokens == 10_000, "it is the same as long as it is held"
    assert not caplog.records
    assert one.conversation("b").session.window.window_tokens == 8_192
    assert one.conversation("c").session.window.window_tokens == 8_192
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith(
        "budget=0.25: the window of the model '' is unknown, so this is a fraction of 32,768 tokens;"
    )
    one.close()


def test_a_conversation_that_goes_to_another_model_has_its_window(tmp_path: Path) -> None:
    """And what is known of it: nothing is said twice, whoever looks something up has the newest one."""
    one = hosted(tmp_path / "mem.db", None)
    large = one.conversation("a", "large", 200_000)
    large.before([USER])
    assert one.conversation("a") is large
    small = one.conversation("a", "small", 4_000)
    assert (small.session.window.window_tokens, small.session.window.model) == (4_000, "small")
    assert small.session.lock is large.session.lock
    assert one.conversation("a") is small
    assert small.before([USER]).messages == [USER]
    small.after(REPLY)
    again = one.conversation("a", "large", 200_000)
    assert (again, again.session.window.window_tokens) == (large, 200_000)
    assert again.before([USER, REPLY, USER]).messages == [USER, REPLY, USER]
    assert again.session.wired.store.head("a")[0] == 3
    one.close()


@pytest.mark.parametrize("budget", [None, 0.5, 64_000])
@pytest.mark.parametrize("window_tokens", [None, 200_000])
def test_a_tool_call_opens_a_conversation_as_it_was(
    budget: float | None, window_tokens: int | None, tmp_path: Path
) -> None:
    """It has its model and window, behind as many others as are held, in another process too; nothing is written."""
    one = hosted(tmp_path / "mem.db", budget)
    talk = one.conversation("a", "large", window_tokens)
    talk.before([USER])
    window = talk.session.window
    for number in range(MOST_HELD):
        one.conversation(f"o{number}", "large", window_tokens)
    for each in (one, hosted(tmp_path / "mem.db", budget)):
        opened = each.conversation("a").session
        assert opened.window == window
        store = each.engine.wired.store
        records = store.head("a")[1]
        assert each.conversation("a", "large", window_tokens).session.window == window
        assert store.head("a")[1] == records
        each.close()


@pytest.mark.parametrize("model", ["", "m"])
@pytest.mark.parametrize("closes", [True, False])
def test_a_budget_that_was_changed_counts_at_once(model: str, closes: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """In an old conversation too, whether or not its model has a name, in one process and in the next."""
    ends = []
    budgets: dict[float | str | None, int] = {8_000: 8_000, 1_000: 1_000, 0.25: 8_192, "8k": 8_000, None: 32_768}
    for budget, tokens in budgets.items():
        one = hosted(tmp_path / "mem.db", budget)
        talk = one.conversation("a", model)
        talk.before([USER])
        talk.after(REPLY)
        assert talk.session.window.window_tokens == tokens
        last = WINDOW.newest(one.engine.wired.store, "a")
        assert last is not None
        assert last.window_tokens == tokens, "it is the one that lists show"
        if closes:
            one.close()
        else:
            ends.append(one)
    for one in ends:
        one.close()


def test_a_smaller_budget_counts_for_a_tool_call_too(tmp_path: Path) -> None:
    """It knows no model; a larger budget waits for the next request, which does."""
    first = hosted(tmp_path / "mem.db", 4_000)
    first.conversation("a", "m", 9_000).before([USER])
    first.close()
    for budget, tokens in [(1_000, 1_000), (8_000, 4_000)]:
        one = hosted(tmp_path / "mem.db", budget)
        assert one.conversation("a").session.window.window_tokens == tokens
        assert one.conversation("a", "m", 9_000).session.window.window_tokens == budget
        one.close()


def test_cuts_that_shorten_nothing_leave_the_window_as_it_was(tmp_path: Path) -> None:
    """What is said next has all the room that it had."""
    one = hosted(tmp_path / "mem.db", None)
    talk = one.conversation("a", "m", 20_000)
    assert talk.before([USER]).messages == [USER]
    assert talk.shorter() is None
    assert talk.session.window.window_tokens == 20_000
    one.close()


def test_failures_that_differ_in_a_number_are_one_kind(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And what is known of the kinds does not grow for ever."""
    one = hosted(tmp_path / "mem.db")

    def failing(error: Exception) -> object:
        def fails() -> None:
            raise error

        return one.safely("a request", "a", fails, None)

    for number in range(300):
        failing(BudgetError("tools", cost=1_000 + number, budget=900, unit="tokens", key="window.default"))
    assert len(caplog.records) == 1
    for number in range(600):
        failing(ValueError(chr(0x4E00 + number)))
    assert len(one._warned) <= 256
    one.close()


@pytest.mark.parametrize("path", ["", " ", "mem\0.db"])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    """Nothing is kept in memory alone that was to be kept."""
    with pytest.raises(ConfigError, match=r"^path = .*: pass the path of the store"):
        HostRuntime(path, host="a test", form="openai.chat")


def test_a_file_of_settings_and_a_store_are_refused(tmp_path: Path) -> None:
    """Which of the two would say where?"""
    with pytest.raises(ConfigError, match="not both"):
        HostRuntime(tmp_path / "a.db", host="a test", form="openai.chat", settings=str(tmp_path / "squidbot.toml"))


def test_a_turn_is_recorded_before_and_behind_the_call(tmp_path: Path) -> None:
    """And once, however often the host shows it."""
    one = hosted(tmp_path / "mem.db")
    talk = one.conversation("a")
    assert talk.before([USER], system="Be short.").messages == [USER]
    assert talk.session.wired.store.head("a")[0] == 1
    assert talk.before([USER], system="Be short.").messages == [USER], "asked again: the host has tried once more"
    talk.after(REPLY)
    talk.after(REPLY)
    more = {"role": "user", "content": "Since when?"}
    assert talk.before([USER, REPLY, more], system="Be short.").messages == [USER, REPLY, more]
    assert talk.session.wired.store.head("a")[0] == 3
    one.close()
    other = hosted(tmp_path / "mem.db")
    assert other.conversation("a").before([USER, REPLY, more]).messages == [USER, REPLY, more]
    other.close()


def test_what_was_recorded_here_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn finds its new messages without the store's: it knows what it has recorded, the reply too."""
    one = hosted(tmp_path / "mem.db")
    talk, listed = one.conversation("a"), [USER]
    store, read = talk.session.wired.store, list[tuple[int, int]]()
    true = store.read

    def reads(session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        read.append((first_seq, last_seq))
        return true(session_id, first_seq, last_seq)

    for number in range(4):
        if number == 2:  # what turns before read is of the session itself
            monkeypatch.setattr(store, "read", reads)
        talk.before(listed)
        talk.after(REPLY)
        listed = [*listed, REPLY, {"role": "user", "content": f"And boat {number}?"}]
    assert read == []
    assert store.head("a")[0] == 8
    one.close()


def test_a_host_that_reads_payloads_itself_reads_each_once(tmp_path: Path) -> None:
    """From one request to the next few are new; what stands behind its system text is not its own payload."""
    read: list[str] = []

    @lru_cache
    def reader(payload: str) -> object:
        read.append(payload)
        return json.loads(payload)

    one = HostRuntime(tmp_path / "mem.db", host="a test", form="openai.chat", budget=2_000, load=reader)
    talk = one.conversation("a")
    for place in range(3):
        asked = {**USER, "content": f"Where is boat {place}?"}
        seen = talk.before([asked], system="Be short.").messages
        assert [each["role"] for each in seen] == ["user", "assistant"] * place + ["user"]
        assert seen[-1] == asked
        talk.after({**REPLY, "content": f"In harbour {place}."})
    assert len(read) == len({*read}) == 5
    one.close()


def test_nothing_is_recorded_of_a_reply_to_a_request_that_was_not_ours(tmp_path: Path) -> None:
    """The request went out without squidbot: the next one takes in both."""
    one = hosted(tmp_path / "mem.db")
    talk = one.conversation("a")
    with pytest.raises(BudgetError):
        talk.before([USER], system="Be thorough. " * 2_000)
    talk.after(REPLY)
    assert talk.session.wired.store.head("a")[0] == 0
    more = {"role": "user", "content": "Since when?"}
    assert talk.before([USER, REPLY, more]).messages == [USER, REPLY, more]
    rows = talk.session.wired.store.read("a", 0, 9)
    assert [OpenAIChat().text(row.payload) for row in rows] == [USER["content"], REPLY["content"], more["content"]]
    one.close()


def test_a_request_behind_a_broken_answer_ends_with_what_was_asked(tmp_path: Path) -> None:
    """A host that lists all that it knows has forgotten the answer, and asks again; nothing else comes twice."""
    one = HostRuntime(tmp_path / "mem.db", host="a test", form="openai.chat", is_whole=True, budget=2_000)
    talk = one.conversation("a")
    talk.before([USER])
    talk.after(REPLY, None, [{"role": "assistant", "content": "By the pier."}])
    assert talk.before([USER]).messages[-1] == USER
    assert talk.session.wired.store.head("a")[0] == 4
    one.close()


def test_a_call_that_was_broken_off_is_answered(tmp_path: Path) -> None:
    """Each call needs its result, and one of two has come."""
    one = hosted(tmp_path / "mem.db")
    talk = one.conversation("a")
    talk.before([USER])
    made = [{"id": key, "type": "function", "function": {"name": "look", "arguments": "{}"}} for key in ("c1", "c2")]
    call = {"role": "assistant", "content": None, "tool_calls": made}
    talk.after(call)
    done = {"role": "tool", "tool_call_id": "c1", "content": "a boat"}
    more = {"role": "user", "content": "Never mind."}
    sent = talk.before([USER, call, done, more]).messages
    assert sent[:2] == [USER, call]
    assert {str(each.get("tool_call_id")) for each in sent[2:4]} == {"c1", "c2"}
    assert "cancelled" in str(sent[2:4])
    assert sent[-1] == more
    one.close()


@pytest.mark.parametrize("call_id", ["functions.look:0", "c" * 100])
def test_a_call_that_was_broken_off_is_answered_under_its_own_id(call_id: str, tmp_path: Path) -> None:
    """Whatever characters the model's provider gave it: the result stands right behind the call."""
    one = hosted(tmp_path / "mem.db")
    talk = one.conversation("a")
    talk.before([USER])
    made = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    call = {"role": "assistant", "content": None, "tool_calls": [made]}
    talk.after(call)
    sent = talk.before([USER, call, {"role": "user", "content": "Never mind."}]).messages
    assert sent[1] == call
    assert (sent[2]["role"], sent[2]["tool_call_id"]) == ("tool", call_id)
    assert len(sent) == 4
    one.close()


def test_a_result_that_could_not_be_recorded_leaves_its_call_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store fails, and the host gives its run up: the call is answered with the next turn."""
    one = hosted(tmp_path / "mem.db")
    talk = one.conversation("a")
    talk.before([USER])
    made = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    call = {"role": "assistant", "content": None, "tool_calls": made}
    talk.after(call)

    def fails(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(talk.session.core, "record", fails)
        with pytest.raises(StoreError):
            talk.before([USER, call, {"role": "tool", "tool_call_id": "c1", "content": "a boat"}])
    sent = talk.before([{"role": "user", "content": "Never mind."}]).messages
    assert "cancelled" in str(sent[2])
    one.close()


def test_a_failure_stays_inside_and_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One event each time, one line of each kind; what ends a program passes."""
    told: list[Event] = []
    one = hosted(tmp_path / "mem.db")
    one.engine.wired.relay._on_event = (("test", told.append),)

    def fails() -> str:
        raise StoreError("the disk\nis full")

    def ends() -> str:
        raise KeyboardInterrupt

    with caplog.at_level(logging.WARNING, "squidbot"):
        assert [one.safely(REQUEST, "a", fails, "as it was") for _ in range(3)] == ["as it was"] * 3
    assert [event.name for event in told] == [events.DEGRADED] * 3
    assert told[0].cause == "squidbot could not prepare this request in a test; sending it unchanged: the disk is full"
    assert len(caplog.records) == 1
    with pytest.raises(KeyboardInterrupt):
        one.safely(REQUEST, "a", ends, "")
    one.close()


def test_a_user_who_would_rather_stop_gets_the_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Of a request, and of a reply; a tool tells its model, as ever. The first line of those who go on says how."""

    def fails() -> str:
        raise StoreError("the disk is full")

    going = HostRuntime(tmp_path / "a.db", host="a test", form="openai.chat", on_error="pass")
    assert [going.safely(what, "a", fails, "") for what in (REQUEST, "record a reply")] == ["", ""]
    assert [line.endswith('; to stop instead, pass on_error="raise"') for line in caplog.messages] == [True, False]
    stopping = HostRuntime(tmp_path / "b.db", host="a test", form="openai.chat", on_error="raise")
    for what in (REQUEST, "record a reply"):
        with pytest.raises(StoreError, match="the disk is full"):
            stopping.safely(what, "a", fails, "")
    assert "continue without it" in stopping.answer("no such tool", "a", {})
    with pytest.raises(ConfigError, match=r"on_error = 'rise': use 'pass' .* or 'raise' to stop"):
        HostRuntime(tmp_path / "c.db", host="a test", form="openai.chat", on_error="rise")
    going.close()
    stopping.close()


@pytest.mark.parametrize(
    ("budget", "settings", "words"),
    [
        (2_000, None, r"make it smaller or raise budget=2000, which includes the answer$"),
        (None, None, r"raise budget=, or use a model with a larger window$"),
        (None, {"window": {"default": 2_000}}, r"raise window\.default or models"),
    ],
)
def test_a_message_that_is_too_large_is_said_with_what_the_user_wrote(
    budget: int | None, settings: dict[str, object] | None, words: str, tmp_path: Path
) -> None:
    """An argument of the plugin, or a key of the settings that they have."""
    one = HostRuntime(
        tmp_path / "a.db",
        host="a test",
        form="openai.chat",
        on_error="raise",
        budget=budget,
        settings=settings,
    )
    large = {"role": "user", "content": "Where is the boat? " * 9_000}
    with pytest.raises(BudgetError, match=words):
        one.safely(REQUEST, "a", lambda: len(one.conversation("a").before([large]).messages), 0)
    one.close()


def test_a_store_that_cannot_be_opened_is_found_at_the_start(tmp_path: Path) -> None:
    """Not in the log of the first turn."""
    (tmp_path / "a.db").write_text("this is no database, and never was" * 99)
    with pytest.raises(StoreError, match=r"a\.db"):
        hosted(tmp_path / "a.db").open()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
def test_a_process_that_was_forked_opens_the_store_anew(tmp_path: Path) -> None:
    """Servers open a program, and fork their workers from it: a connection must not cross."""
    one = hosted(tmp_path / "mem.db")
    one.open()
    one.conversation("a").before([USER])
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def work() -> None:
        try:
            send.send(one.conversation("a").before([USER, REPLY, USER]).messages)
        except BaseException as error:  # noqa: BLE001  # the parent tells it
            send.send(repr(error))

    worker = context.Process(target=work)
    worker.start()
    assert receive.recv() == [USER, REPLY, USER]
    worker.join()
    one.conversation("a").before([USER, REPLY, USER, REPLY])
    assert one.engine.wired.store.head("a")[0] == 4
    one.close()


def test_many_conversations_are_held_some_at_a_time(tmp_path: Path) -> None:
    """One that was let go is read again."""
    one = hosted(tmp_path / "mem.db")
    first = one.conversation("0")
    first.before([USER])
    for number in range(1, MOST_HELD + 1):
        one.conversation(str(number))
    again = one.conversation("0")
    assert again is not first
    assert again.before([USER]).messages == [USER]
    assert again.session.wired.store.head("0")[0] == 1
    one.close()
    one.close()


def test_what_stands_for_a_result_that_never_came_is_of_now(tmp_path: Path) -> None:
    """A form that has times in it: the made up result is not of 1970."""
    one = HostRuntime(tmp_path / "mem.db", host="a test", form="pydantic_ai/2")
    talk = one.conversation("a")
    asked = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Look!"}]}
    call = {"part_kind": "tool-call", "tool_name": "look", "args": "{}", "tool_call_id": "c1"}
    begun = time.time()
    talk.before([asked])
    talk.after({"kind": "response", "parts": [call]})
    talk.before([{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "And?"}]}])
    settled = talk.session.wired.store.read("a", 2, 2)[0]
    assert settled.result_ids == ("c1",)
    assert settled.time is not None
    assert settled.time >= begun
    one.close()


def test_what_a_host_hands_over_is_recorded_without_a_request(tmp_path: Path) -> None:
    """Once; calls stay open until something else than results is said, and each then has a result of its own."""
    one = HostRuntime(tmp_path / "mem.db", host="a test", form="openai.responses", budget=2_000)
    talk = one.conversation("a")
    calls = [{"type": "function_call", "call_id": key, "name": "look", "arguments": "{}"} for key in ("c1", "c2", "c3")]
    done = {"type": "function_call_output", "call_id": "c1", "output": "a boat"}
    talk.said([USER, {"output": calls}])
    talk.said([USER, {"output": calls}, done])
    assert talk.session.core.room().open_calls == ("c2", "c3")
    more = {"role": "user", "content": "Never mind."}
    talk.said([more])
    rows = talk.session.wired.store.read("a", 0, 9)
    assert [row.result_ids for row in rows] == [(), (), ("c1",), ("c2",), ("c3",), ()]
    sent = talk.before([]).messages
    assert [each.get("call_id") for each in sent] == [None, "c1", "c2", "c3", "c1", "c2", "c3", None]
    one.close()


def test_what_is_forgotten_can_be_said_again(tmp_path: Path) -> None:
    """Nothing of it is known any more."""
    one = HostRuntime(tmp_path / "mem.db", host="a test", form="openai.chat", on_remove="forget")
    one.remove("a", [], "there is nothing")
    one.conversation("a").said([USER, REPLY])
    one.remove("a", [1], "a test")
    one.conversation("a").said([REPLY])
    texts = [OpenAIChat().text(row.payload) for row in one.engine.wired.store.read("a", 0, 9)]
    assert len(texts) == 3
    assert [text == REPLY["content"] for text in texts] == [False, False, True]
    one.remove("a", [0, 2], "a test")
    rows = one.engine.wired.store.read("a", 0, 9)
    assert not any(word in row.payload for row in rows for word in ("harbour", "Where"))
    one.close()
