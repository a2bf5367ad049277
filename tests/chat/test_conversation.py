"""A conversation in the terminal: turns, and answers that broke off."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from squidbot.chat import talk as talking
from squidbot.chat.conversation import BY_DEATH, BY_USER, ENOUGH, MOST_STEPS, ChatSession, results_of
from squidbot.chat.screen import Screen
from squidbot.chat.talk import ChatSetup, Notices
from squidbot.chat.talk import Talk as Conversation
from squidbot.core.devices import Device, ProbeResult
from squidbot.core.errors import BudgetError, StoreError
from squidbot.core.kinds import unreadable
from squidbot.core.memories import Scope
from squidbot.core.transcript.bookkeeping import CUT, BrokenAnswer
from squidbot.core.view.marks import tool_names
from squidbot.models import MemoryWatch
from squidbot.wiring.streams import PartialAnswer

from .conftest import COMMAND, environment_of, folder_in
from .scripted import Offer, Scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from squidbot.core.messages import Reply, ToolCall

    from .conftest import Terminal


# -- a turn, without a terminal: what is recorded when, what tools answer, what breaks off, what does not fit ---------


class Seen:
    """A watcher that keeps what it sees; `stops` raises Ctrl-C at that many pieces."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.calls: list[tuple[str, str, bool]] = []
        self.remarks: list[str] = []
        self.bounds: list[int] = []
        self.stops = 0

    def asked(self, assembly: squidbot.Assembly) -> None:
        """Keep what it costs."""
        self.bounds.append(assembly.report.cost.bound)

    def piece(self, text: str) -> None:
        """Keep it."""
        self.pieces.append(text)
        if len(self.pieces) == self.stops:
            raise KeyboardInterrupt

    def ended(self) -> None:
        """See it."""

    def called(self, call: ToolCall, answer: squidbot.Answer) -> None:
        """Keep it."""
        self.calls.append((call.name, answer.text, answer.is_error))

    def remark(self, text: str) -> None:
        """Keep it."""
        self.remarks.append(text)


class Held:
    """A conversation with the scripted model, in a file."""

    def __init__(self, path: Path, window_tokens: int = 8192, *, tools: bool = True, **more: object) -> None:
        self.model, self.seen = Scripted(window_tokens), Seen()
        settings: dict[str, object] = {
            **more,
            "store": {"path": str(path / "s.db")},
            "models": {"m": {"adapter": "scripted", "context_window": window_tokens}},
        }
        self.engine = squidbot.load(settings, extensions=[Offer(self.model)])
        self.engine.model("m")
        self.talk = ChatSession(self.model, self._session, self.seen, system="Be brief.", tools=tools)

    def _session(self) -> squidbot.Session:
        return self.engine.session("s", model="m")

    def rows(self) -> list[tuple[str, str]]:
        """Return role and text of every message that is stored, read by an engine of its own."""
        store, codec = self.engine.wired.store, self.engine.wired.codecs["openai.chat"]
        return [(row.role, codec.text(row.payload)) for row in store.read("s", 0, 10_000)]


@pytest.fixture
def held(tmp_path: Path) -> Held:
    """One of its own for each test."""
    return Held(tmp_path)


def test_turn_is_recorded_with_its_usage(held: Held) -> None:
    """Prompt and answer; the request with what the provider reported; the next request extends this one."""
    turn = held.talk.say("hello")
    held.talk.say("again")
    assert (turn.text, turn.broken, turn.error, turn.calls) == ("You said: hello", "", None, [])
    assert held.rows()[:2] == [("user", "hello"), ("assistant", "You said: hello")]
    (sent,) = turn.sent
    assert sent.usage is not None
    assert 0 < sent.bound_tokens <= sent.limit_tokens
    assert '"usage":[' in held.engine.wired.store.records("s", "request")[1].body
    first, second = held.model.requests
    assert second[: len(first)] == first
    assert first[0] == {"role": "system", "content": "Be brief."}


def test_each_level_of_gpu_memory_is_shown_once_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """O-13: "WARNING: Show warning message", "CRITICAL: Show critical warning", "EMERGENCY: Show emergency warning".

    "User must restart with smaller context if needed." Leaving NORMAL is no line of its own beside the new level's.
    """
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    notices = Notices()
    settings = {"models": {"m": {"adapter": "scripted", "context_window": 8192}}}
    with squidbot.load(settings, extensions=[Offer(Scripted()), notices]) as engine:
        talk = Conversation(ChatSetup(engine, "m", "s", notices, Scope()), Screen(), system="", tools=False)
        free_mib = 500

        def probe() -> ProbeResult:
            card = Device(0, "", "Card", "nvidia", 1000 << 20, free_mib << 20, unified=False, source="test")
            return ProbeResult((card,), ())

        watch = MemoryWatch(probe, engine.wired.relay, 0, 60)
        shown = []
        for now, free_mib in enumerate((400, 280, 280, 140, 40, 30)):  # noqa: B007  # `probe` reads it
            watch.look(100.0 * now)
            talk.turn("hello")
            out = " ".join(capsys.readouterr().out.split())
            shown.append(re.findall(r"\* (\w+), GPU memory: (.*?) window\.max", out))
    after = "MiB are free; the window stays as it is; to free memory, restart with a smaller context_window or"
    assert shown == [
        [],
        [("warning", f"device 0, Card: 280 of 1000 {after}")],
        [],
        [("critical", f"device 0, Card: 140 of 1000 {after}")],
        [("emergency", f"device 0, Card: 40 of 1000 {after}")],
        [],
    ]


def test_prompt_is_stored_before_the_model_is_called(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens to the process then, it was said (M7)."""
    seen: list[tuple[str, str]] = []
    plain = held.model.reply

    def reply(*given: Any) -> Reply:  # noqa: ANN401  # whatever the model is given
        seen.extend(held.rows())
        return plain(*given)

    monkeypatch.setattr(held.model, "reply", reply)
    held.talk.say("hello")
    assert seen == [("user", "hello")]


def test_calls_of_one_step_are_all_answered(held: Held) -> None:
    """In order, in one step; a tool that is not there is told as an error, and the turn goes on."""
    held.talk.say("the squid eats herring")
    turn = held.talk.say("look herring")
    assert turn.calls == ["history", "memory", "weather"]
    assert [name for name, _, _ in held.seen.calls] == turn.calls
    (_, found, _), (_, _, _), (_, refused, is_error) = held.seen.calls
    assert "the squid eats herring" in found
    assert refused == "<squidbot refused: there is no tool 'weather'; known: history, memory>"
    assert is_error
    assert [role for role, _ in held.rows()[2:]] == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert turn.text.startswith("The tools said 3 things")
    assert len(turn.sent) == 2


def test_model_that_only_calls_tools_is_ended(held: Held) -> None:
    """After so many steps its calls are refused, each with its result, so that the session stays valid."""
    turn = held.talk.say("loop herring")
    assert len(turn.sent) == MOST_STEPS + 1
    assert {"no more calls" in text for _, text in held.rows()[-3:]} == {True}
    assert held.seen.remarks == [f"the model called tools {MOST_STEPS} times in a row; the turn ends here"]
    assert held.talk.say("hello").text == "You said: hello"


def test_model_without_tools_gets_none(tmp_path: Path) -> None:
    """And says so much more in a small window."""
    held = Held(tmp_path, tools=False)
    assert held.talk.tool_names == []
    assert held.talk.say("look herring").text == "You said: look herring"


def test_stopped_answer_is_kept_as_far_as_it_came(held: Held) -> None:
    """Flagged beside the transcript, not in it; the model is told with the next message, once."""
    held.seen.stops = 2
    turn = held.talk.say("tell me all of it")
    assert (turn.text, turn.broken, turn.error, turn.sent) == ("You said: ", BY_USER, None, [])
    assert held.rows() == [("user", "tell me all of it"), ("assistant", "You said: ")]
    assert CUT.newest(held.engine.wired.store, "s") == BrokenAnswer(1, BY_USER)
    assert list(unreadable(held.engine.wired.store, "s")) == [], "`store doctor` reads what the chat notes"
    held.talk.say("go on")
    held.talk.say("and then?")
    told = [str(message["content"]) for message in held.model.requests[-1]]
    notice = "[the answer above broke off: the user stopped it]"
    assert told[3] == f"go on\n\n<notice>\n{notice}\n</notice>"
    assert sum("broke off" in one for one in told) == 1


def test_failure_of_the_provider_keeps_the_answer_too(held: Held) -> None:
    """The reason is not among what was said: a failure never becomes content."""
    turn = held.talk.say("break")
    assert turn.text == "The answer begins "
    assert turn.broken == "unreachable: the server closed the connection before the answer ended"
    assert held.rows() == [("user", "break"), ("assistant", "The answer begins ")]
    assert held.talk.say("hello").text == "You said: hello"


def test_nothing_is_made_up_where_no_word_came(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt alone stays, and the next one stands behind it."""
    with monkeypatch.context() as quicker:
        quicker.setattr(held.model, "reply", _stopped)
        assert held.talk.say("hello").broken == BY_USER
    assert held.rows() == [("user", "hello")]
    assert held.talk.say("hello again").text == "You said: hello again"


def _stopped(*_given: object) -> None:
    raise KeyboardInterrupt


def test_fault_of_an_adapter_loses_nothing_either(held: Held) -> None:
    """It goes on its way, behind what is recorded."""
    with pytest.raises(ZeroDivisionError):
        held.talk.say("wrong")
    assert held.rows() == [("user", "wrong"), ("assistant", "It begins well ")]
    assert held.talk.say("hello").text == "You said: hello"


def test_step_whose_calls_were_never_made_is_answered_later(held: Held, tmp_path: Path) -> None:
    """The process died between a call and its result: the next turn tells so, and is valid."""
    call = {"id": "c1", "type": "function", "function": {"name": "history", "arguments": "{}"}}
    held.talk.session.record({"role": "user", "content": "look"}, {"role": "assistant", "tool_calls": [call]})
    again = Held(tmp_path)
    assert again.talk.say("hello").text == "You said: hello"
    assert [role for role, _ in again.rows()] == ["user", "assistant", "tool", "user", "assistant"]
    assert "this call was not made" in again.rows()[2][1]


def test_request_that_the_provider_finds_too_long_is_made_shorter_once(held: Held) -> None:
    """An event makes it shorter; what was said stays in the transcript."""
    for number in range(30):
        held.talk.say(f"part {number}: " + "word " * 40)
    held.model.overflows = 11_000
    turn = held.talk.say("long")
    assert turn.text == "It fits now."
    assert held.seen.bounds[-1] < held.seen.bounds[-2]
    assert held.seen.remarks[-1].startswith("too long for the model (")
    assert len(held.rows()) == 62
    held.model.overflows = 10
    turn = held.talk.say("long")
    assert isinstance(turn.error, squidbot.ContextOverflowError)
    assert held.rows()[-1] == ("user", "long")


def test_smaller_window_that_the_model_tells_is_taken(held: Held) -> None:
    """From then on the session has it: no further request is refused."""
    for number in range(30):
        held.talk.say(f"part {number}: " + "word " * 40)
    held.model.overflows = 12_000
    held.model.window_tokens = 4_096
    assert held.talk.say("long").text == "It fits now."
    assert held.talk.session.window.window_tokens == 4_096
    assert held.talk.say("long again").broken == ""


def test_refusal_of_what_is_shorter_teaches_no_window(tmp_path: Path) -> None:
    """The provider may be at fault: a window counts once something was answered in it."""
    held = Held(tmp_path)
    for number in range(30):
        held.talk.say(f"part {number}: " + "word " * 40)
    held.model.overflows = 10
    assert held.talk.say("long").error is not None
    assert Held(tmp_path).talk.session.window.window_tokens == 8_192


def test_window_that_a_refusal_has_shown_is_known_to_the_next_process(tmp_path: Path) -> None:
    """In this session and in others with the model."""
    held = Held(tmp_path)
    for number in range(30):
        held.talk.say(f"part {number}: " + "word " * 40)
    held.model.overflows = 11_000
    assert held.talk.say("long").text == "It fits now."
    learned = held.talk.session.window
    assert (learned.source, learned.window_tokens < 8_192) == ("overflow", True)
    again = Held(tmp_path)
    for window in (again.talk.session.window, again.engine.session("other", model="m").window):
        assert (window.window_tokens, window.source) == (learned.window_tokens, "overflow")
    assert Held(tmp_path, 16_384).talk.session.window.window_tokens == 16_384, "settings that name another go before it"


def test_what_fits_no_window_is_refused_before_it_is_recorded(held: Held) -> None:
    """And named."""
    with pytest.raises(BudgetError, match="current turn"):
        held.talk.say("word " * 20_000)
    assert held.rows() == []


def test_another_form_gets_its_own_tools_and_results(tmp_path: Path) -> None:
    """Anthropic's: results of one step stand in one message of the user."""
    held = Held(tmp_path)
    session = held.engine.session("a", model="m", form="anthropic.messages")

    assert tool_names(session.tools) == held.talk.tool_names == ["history", "memory"]
    codec = held.engine.wired.codecs["anthropic.messages"]
    (made,) = results_of(codec, [("functions.look:0", ENOUGH), ("b", ENOUGH)])
    content = json.loads(json.dumps(made))["content"]
    assert [(block["type"], block["tool_use_id"], block["is_error"]) for block in content] == [
        ("tool_result", "functions.look:0", True),
        ("tool_result", "b", True),
    ]


def test_status_of_the_journal_is_shown_while_nobody_types(tmp_path: Path) -> None:
    """J-06: "a summarized status update to the UI/console every N minutes": below the input, then above the answer."""
    notices, screen, shown = talking.Notices(), Screen(), Seen()
    settings = {
        "store": {"path": f"{tmp_path}/s.db"},
        "models": {"m": {"adapter": "scripted", "context_window": 8192}},
        "journal": {"enabled": True, "folder": f"{tmp_path}/journal"},
        "summary": {"scheduler": "none"},
    }
    with squidbot.load(settings, extensions=[Offer(), notices]) as engine:
        setup = talking.ChatSetup(engine, "m", "s", notices, Scope())
        talk = talking.Talk(setup, screen, system="", tools=False)
        screen.remark = shown.remark  # type: ignore[method-assign]  # the screen shows nothing in a pipe
        lines = iter(["feed the walrus", "first", ""])
        toolbars = []

        def read(toolbar: Callable[[], str]) -> str:
            engine.run_jobs(reason="schedule")
            toolbars.append(toolbar())
            assert all(len(line) <= screen.columns for line in toolbars[-1].splitlines())
            if (said := next(lines)) == "":
                raise EOFError
            return said

        talk.run(read)
    nothing, first, _ = toolbars
    assert "walrus" not in nothing
    assert first.splitlines()[1].startswith("2 messages since the beginning: asked: feed the walrus")
    assert [line for line in shown.remarks if line.startswith("status: 2 messages since the beginning: asked: feed")]
    assert notices.status.startswith("4 messages")


def test_model_is_asked_for_as_much_as_the_turn_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `allocation.adaptive` a small question leaves less for the answer, and more for what is sent."""
    held, asked = Held(tmp_path, allocation={"adaptive": True}), []
    replies = held.model.reply

    def reply(messages: Any, most_tokens: int, *rest: Any) -> Reply:  # noqa: ANN401  # whatever the model is given
        asked.append(most_tokens)
        return replies(messages, most_tokens, *rest)

    monkeypatch.setattr(held.model, "reply", reply)
    held.talk.say("hi")
    held.talk.say("Analyze this, and compare it with what was said before?")
    assert asked[0] == int(0.1552 * 8192)
    assert asked[0] < asked[-1] <= held.talk.session.window.reserved_output_tokens


# -- answers that come while the process is killed: what had come is there at the next start, and nothing else --------


class Talk:
    """A conversation with the scripted model, over the store that `squidbot chat` has in a folder."""

    def __init__(self, folder: Path, **store: object) -> None:
        self.seen, self.model = Seen(), Scripted()
        kept = store or {"path": str(folder / "kept.db")}
        settings = {"store": kept, "models": {"robot": {"adapter": "scripted", "context_window": 8192}}}
        self.engine = squidbot.load(settings, extensions=[Offer(self.model)])
        self.engine.model("robot")
        self.talk = ChatSession(self.model, self._session, self.seen)

    def _session(self) -> squidbot.Session:
        return self.engine.session("chat", model="robot")

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Role and text of every message."""
        store, codec = self.engine.wired.store, self.engine.wired.codecs["openai.chat"]
        return [(row.role, codec.text(row.payload)) for row in store.read("chat", 0, 1_000)]


@pytest.fixture
def talk(folder: Path) -> Iterator[Callable[[], Talk]]:
    """Begin conversations in the folder, each closed behind the test."""
    made: list[Talk] = []

    def begin() -> Talk:
        made.append(Talk(folder))
        return made[-1]

    yield begin
    for one in made:
        one.engine.close()


def files(folder: Path) -> list[Path]:
    """Return what stands beside the store."""
    return sorted(folder.glob("*.heard"))


def killed(folder: Path, environment: Mapping[str, str], until: bytes) -> bytes:
    """Ask for a long answer in a process of its own, kill it when some of it is seen, and return what was."""
    with subprocess.Popen(
        [*COMMAND, "--print", "slowly word"], cwd=folder, env=environment, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        seen = b""
        while until not in seen:
            more = os.read(process.stdout.fileno(), 4_096)
            assert more, seen  # it ended before it was killed
            seen += more
        process.kill()
        return seen + process.stdout.read()


@pytest.fixture(scope="module")
def died(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which a process was killed in the middle of its answer, and what was seen of that."""
    if sys.platform == "win32":
        pytest.skip("a pipe that is read while it is written to")
    folder = folder_in(tmp_path_factory.mktemp("died"))
    return folder, killed(folder, environment_of(folder), b"word-9 ").decode()


@pytest.fixture
def seen(died: tuple[Path, str], folder: Path) -> str:
    """What was seen of an answer whose process was killed; what it left is in the folder."""
    for left in died[0].iterdir():
        shutil.copy2(left, folder)
    return died[1]


def test_answer_of_a_process_that_was_killed_is_there_at_the_next_start(
    folder: Path, seen: str, talk: Callable[[], Talk]
) -> None:
    """All that was seen of it, flagged as not whole, once; the model is told so; no file is left."""
    (left,) = files(folder)
    assert left.stat().st_mode & 0o077 == 0
    one = talk()
    one.talk.recover()
    _, (role, text) = one.rows
    assert role == "assistant"
    assert seen.split() == text.split()[: len(seen.split())]
    assert "word-9" in text
    cut = CUT.newest(one.engine.wired.store, "chat")
    assert cut is not None
    assert (cut.seq, cut.why) == (1, BY_DEATH)
    assert files(folder) == []
    one.talk.recover()
    one.talk.say("and now?")
    assert [role for role, _ in one.rows] == ["user", "assistant"] * 2
    assert BY_DEATH in str(one.model.requests[-1])
    assert files(folder) == []


@pytest.mark.usefixtures("seen")
def test_answer_behind_what_was_forgotten_is_not_taken_over(folder: Path, talk: Callable[[], Talk]) -> None:
    """Nothing of it stays beside the store."""
    one = talk()
    assert len(files(folder)) == 1
    one.talk.session.forget(0)
    assert files(folder) == [], "what is forgotten leaves nothing that may repeat it"
    one.talk.recover()
    assert [role for role, _ in one.rows] == ["user"]
    assert files(folder) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a pipe that is read while it is written to")
def test_answer_that_another_process_is_still_getting_is_not_taken_over(
    folder: Path, environment: dict[str, str], talk: Callable[[], Talk]
) -> None:
    """It is that one's, also when it is killed later on."""
    with subprocess.Popen([*COMMAND, "-p", "slowly word"], cwd=folder, env=environment, stdout=subprocess.PIPE) as live:
        deadline = time.monotonic() + 30
        while not files(folder) and time.monotonic() < deadline:
            time.sleep(0.05)
        talk().talk.recover()
        assert len(files(folder)) == 1
        live.send_signal(signal.SIGKILL)
        live.wait()
    assert len(files(folder)) == 1


def test_failure_is_no_answer_and_leaves_no_file(folder: Path, talk: Callable[[], Talk]) -> None:
    """What came before it is kept by the process itself; a whole answer is recorded once."""
    one = talk()
    one.talk.say("break")
    one.talk.say("hello")
    one.talk.recover()
    assert one.rows[1:] == [("assistant", "The answer begins "), ("user", "hello"), ("assistant", "You said: hello")]
    assert files(folder) == []


def test_answer_that_the_store_did_not_take_is_recorded_with_the_next_turn(
    folder: Path, talk: Callable[[], Talk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store failed once: what was said is there all the same."""
    one = talk()
    plain = type(one.talk.session).record

    def fails(self: squidbot.Session, *said: object, **more: object) -> object:
        if said and isinstance(said[0], dict):
            raise StoreError("the disk is full")
        return plain(self, *said, **more)  # type: ignore[arg-type]  # as it came

    with monkeypatch.context() as patched:
        patched.setattr(type(one.talk.session), "record", fails)
        with pytest.raises(StoreError):
            one.talk.say("hello")
    assert len(files(folder)) == 1
    one.talk.say("again")
    assert [text.strip() for _, text in one.rows] == ["hello", "You said: hello", "again", "You said: again"]
    assert files(folder) == []


def test_answers_come_where_nothing_can_be_written(
    folder: Path, talk: Callable[[], Talk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said once; a store in memory has no file beside it."""
    one = talk()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PartialAnswer, "add", full)
    for _ in range(2):
        assert one.talk.say("hello").text == "You said: hello"
    assert [said for said in one.seen.remarks if "not saved" in said] == [
        "partial answers are not saved: [Errno 28] No space left on device"
    ]
    monkeypatch.undo()
    light = Talk(folder, adapter="stdlib")
    assert light.talk.say("hello").text == "You said: hello"
    light.engine.close()
    assert files(folder) == []


@pytest.mark.slow
def test_killed_terminal_shows_at_the_next_start_what_had_come(terminal: Callable[..., Terminal], folder: Path) -> None:
    """A real terminal, killed in mid-answer: the last words are there again, with why they end."""
    first = terminal()
    first.type("slowly word")
    first.wait("word-12")
    first.spawned.kill(signal.SIGKILL)
    first.spawned.wait()
    again = terminal()
    shown = again.spawned.before
    assert "that answer broke off: the program ended before it did" in shown
    assert "word-1 word-2 " in shown
    assert "You said: and now?" in again.say("and now?")
    again.end()
    assert files(folder) == []


@pytest.mark.usefixtures("seen")
def test_what_a_killed_process_left_goes_with_what_is_forgotten_on_the_command_line(
    folder: Path, run: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """Half an answer may repeat what the user wants to be forgotten."""
    (left,) = files(folder)
    assert b"word-3" in left.read_bytes()
    ended = run("chat", "m0", "--yes", command="session forget")
    assert ended.returncode == 0, ended.stderr
    assert files(folder) == []
