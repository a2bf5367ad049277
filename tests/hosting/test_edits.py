"""What a host's list means where its user edits, goes back, removes: the model sees what the list has.

The list says what is right: each request has it, as far as the window holds it, and nothing else.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import squidbot
from squidbot.core.errors import RecallError
from squidbot.core.view.renderer import CONTINUE
from squidbot.plugins.host import HostRuntime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.session import Session

Said = dict[str, Any]
# A window that holds all that is said in a test, and one that is full after a few turns.
WIDE, NARROW = 64_000, 3_000
PROCESSES = 4
# Each message has a word of its own.
OWN = re.compile(r"\bw\d+q\b")


def runtime(path: Path, *, has_ids: bool, budget: int = WIDE) -> HostRuntime:
    """Return a host whose lists have all that was said."""
    return HostRuntime(
        path,
        host="a test",
        form="openai.chat",
        budget=budget,
        key=lambda payload: {name: value for name, value in payload.items() if name != "id"},
        id_of=(lambda message: message.get("id", "")) if has_ids else (lambda _: ""),
        on_error="raise",
    )


def words(messages: Sequence[Said]) -> list[str]:
    """Return the texts of messages, without what squidbot puts between replies."""
    return [each["content"] for each in messages if each["content"] != CONTINUE]


def own_words(messages: Sequence[Said]) -> set[str]:
    """Return the words by which messages are known."""
    return {*OWN.findall(json.dumps([*messages]))}


class Program:
    """A program that keeps its lists itself, and hands them over whole, to one of two workers."""

    def __init__(self, path: Path, *, has_ids: bool, budget: int = WIDE) -> None:
        self.path, self.has_ids, self.budget = path, has_ids, budget
        self.serial = count()
        self.listed: list[Said] = []
        self.others: list[list[Said]] = []
        self.workers = [self._worker(), self._worker()]
        self.at_work = 0
        # The list as each worker saw it last, and as it is recorded.
        self.seen: dict[int, list[Said]] = {}
        self.recorded: list[Said] = []
        # What was killed.
        self.dead: list[HostRuntime] = []

    @property
    def host(self) -> HostRuntime:
        """The worker that has the next turn."""
        return self.workers[self.at_work]

    @property
    def is_known(self) -> bool:
        """Whether the worker has seen the list."""
        return self.seen.get(self.at_work) == self.listed

    def _worker(self) -> HostRuntime:
        return runtime(self.path, has_ids=self.has_ids, budget=self.budget)

    def message(self, role: str, text: str, **more: object) -> Said:
        """Return a message with an id of its own."""
        number = next(self.serial)
        # Answers differ; people say the same again.
        text = text if role == "user" and self.budget == WIDE else f"{text} w{number}q"
        if self.budget == NARROW:
            text += " and so it goes on" * 20
        return {"role": role, "content": text, **more, **({"id": f"i{number}"} if self.has_ids else {})}

    def ask(self, *, calls: bool = False, dies: bool = False) -> None:
        """Call the model; it must see the list."""
        seen = self.seen.get(self.at_work)
        if seen and self.listed[:-1] == seen == self.recorded[: len(seen)] and self.is_new(len(seen)):
            # The worker is behind: what it says goes behind what the other one has recorded since.
            self.sent([*self.recorded, self.listed[-1]])
            self.listed[:-1] = self.recorded
        self.sent()
        if dies:
            self.kill()
            self.sent()
        replies = [self.message("assistant", "answer")]
        if calls:
            call = {"id": f"c{next(self.serial)}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            replies.insert(0, self.message("assistant", "looking", tool_calls=[call]))
            replies.insert(1, self.message("tool", "found", tool_call_id=call["id"]))
        talk = self.host.conversation("t")
        for reply in replies:
            if reply["role"] == "tool":
                self.listed.append(reply)
                self.sent()
            else:
                talk.after(reply)
                self.listed.append(reply)
        self.seen[self.at_work] = [*self.listed]
        self.recorded = [*self.listed]

    def is_new(self, place: int) -> bool:
        """Return whether what is listed last is not what is recorded there, although something is."""
        said = ["id" if self.has_ids else "content"]
        behind = self.recorded[place : place + 1]
        return bool(behind) and any(behind[0][name] != self.listed[-1][name] for name in said)

    def sent(self, expected: list[Said] | None = None) -> None:
        """Have the list sent, and compare it with what is expected, by default the same."""
        talk = self.host.conversation("t")
        request = talk.before([dict(each) for each in self.listed])
        sent = request.messages
        listed = self.listed if expected is None else expected
        if self.budget == WIDE:
            assert words(sent) == words(listed)
            return
        line = talk.session.core.current_line()
        rows = line.read("t", 0, line.last_seq)
        assert [json.loads(row.payload)["content"] for row in rows] == words(listed), "nothing is lost"
        assert own_words(sent) <= own_words(listed), "nothing else is told"
        assert sent[-1]["content"].startswith(listed[-1]["content"]), "what is asked is sent word for word"
        report = request.assembly.report
        assert report.usage.current_tokens <= report.usage.max_tokens
        called = [call["id"] for each in sent for call in each.get("tool_calls", ())]
        assert called == [each["tool_call_id"] for each in sent if each["role"] == "tool"], "pairs stay together"

    def kill(self) -> None:
        """End the worker in the middle of what it does: nothing is closed, another one begins."""
        self.dead.append(self.host)
        self.workers[self.at_work] = self._worker()
        self.seen.pop(self.at_work, None)

    def close(self) -> None:
        """End."""
        for each in (*self.workers, *self.dead):
            each.close()

    def say(self, text: str, **more: bool) -> None:
        """Say something."""
        self.listed.append(self.message("user", text))
        self.ask(**more)

    def turn_at(self, place: int) -> int:
        """Return where a turn begins, not the first one."""
        begun = [at for at, each in enumerate(self.listed) if each["role"] == "user"][1:]
        return begun[place % len(begun)]

    def act(self, what: str, place: int, text: str) -> None:
        """Do what a user does, and let the model see it."""
        few = sum(each["role"] == "user" for each in self.listed) < 2
        if what in {"restart", "kill", "other"}:
            getattr(self, f"_{what}")()
        elif few or what in {"say", "call", "die"}:
            self.say(text, calls=what == "call", dies=what == "die")
        else:
            getattr(self, f"_{what}")(place, text)

    def _regenerate(self, _place: int, _text: str) -> None:
        while self.listed[-1]["role"] != "user":
            self.listed.pop()
        self.ask()

    def _edit(self, place: int, text: str) -> None:
        self.others.append([*self.listed])
        del self.listed[self.turn_at(place) :]
        self.say(f"edit {next(self.serial)} {text}")

    def _back(self, place: int, text: str) -> None:
        self.others.append([*self.listed])
        del self.listed[self.turn_at(place) :]
        self.say(text)

    def _words(self, place: int, text: str) -> None:
        if self.is_known:
            at = 1 + place % (len(self.listed) - 2)
            said = self.message(self.listed[at]["role"], f"other words {next(self.serial)}")["content"]
            self.listed[at] = {**self.listed[at], "content": said}
            self.say(text)

    def _remove(self, place: int, text: str) -> None:
        if self.is_known:
            at = self.turn_at(place)
            behind = next((end for end in range(at + 1, len(self.listed)) if self.listed[end]["role"] == "user"), None)
            del self.listed[at:behind]
            self.say(text)

    def _insert(self, place: int, text: str) -> None:
        if self.is_known:
            at = self.turn_at(place)
            put = [self.message("user", f"put in {next(self.serial)}"), self.message("assistant", "indeed")]
            self.listed[at:at] = put
            self.say(text)

    def _switch(self, place: int, text: str) -> None:
        if self.others:
            self.others.append(self.listed)
            self.listed = self.others.pop(place % (len(self.others) - 1))
            self.say(text)

    def _restart(self) -> None:
        self.host.close()
        self.workers[self.at_work] = self._worker()
        self.seen.pop(self.at_work, None)

    def _kill(self) -> None:
        self.kill()

    def _other(self) -> None:
        self.at_work = 1 - self.at_work


def test_runs_at_once_leave_out_nothing_of_each_other(tmp_path: Path) -> None:
    """Each lists its own turn only: what the other one has recorded meanwhile is no edit."""
    program = Program(tmp_path / "mem.db", has_ids=False)
    talk = program.host.conversation("t")
    one, two = ([program.message("user", text)] for text in ("one", "two"))
    talk.before(one)
    one.append(program.message("assistant", "first"))
    talk.after(one[-1])
    talk.before(two)
    two.append(program.message("assistant", "second"))
    talk.after(two[-1])
    one.append(program.message("user", "and?"))
    assert words(talk.before(one).messages) == ["one", *words(one[1:2]), "two", *words(two[1:]), "and?"]
    assert len(talk.session.lines()) == 1
    program.close()


def said(role: str, text: str) -> Said:
    """Return a message."""
    return {"role": role, "content": text}


def calling(call_id: str) -> Said:
    """Return a call of a tool."""
    call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def answering(call: Said) -> Said:
    """Return its result."""
    call_id = call["tool_calls"][0]["id"]
    return {"role": "tool", "tool_call_id": call_id, "content": f"result of {call_id}"}


def test_tools_of_runs_at_once_answer_their_own_calls(tmp_path: Path) -> None:
    """Each run's requests go on with its results, and each reply is on the line of its request."""
    program = Program(tmp_path / "mem.db", has_ids=False)
    talk = program.host.conversation("t")
    talk.before([said("user", "hello")]).after(said("assistant", "hi"))
    one, two = [said("user", "one")], [said("user", "two")]
    first, second = talk.before(one), talk.before(two)
    assert words(second.messages) == ["hello", "hi", "one", "two"]
    for listed, request in ((one, first), (two, second)):
        listed.append(calling(f"call {words(listed)[0]}"))
        request.after(listed[-1])
        listed.append(answering(listed[-1]))
    first, second = talk.before(one), talk.before(two)
    assert [*map(str, first.messages[-2:])] == [*map(str, one[-2:])]
    assert [*map(str, second.messages[-2:])] == [*map(str, two[-2:])]
    first.after(said("assistant", "one is done"))
    second.after(said("assistant", "two is done"))
    assert words(talk.before([said("user", "and?")]).messages)[-2:] == ["two is done", "and?"]
    assert [shown(talk.session, line)[-1] for line in (0, 1)] == ["and?", "one is done"]
    program.close()


def test_what_another_host_has_said_stays(tmp_path: Path) -> None:
    """In a new process, whose list never had it; an edit leaves out only what was on the list."""
    program = Program(tmp_path / "mem.db", has_ids=False)
    program.say("one")
    talk = HostRuntime(tmp_path / "mem.db", host="another", form="anthropic.messages", budget=64_000)
    talk.conversation("t").said([{"role": "user", "content": "beside"}, {"role": "assistant", "content": "indeed"}])
    talk.close()
    program.act("restart", 0, "")
    conversation = program.host.conversation("t")
    program.listed.append(program.message("user", "two"))
    first = words(program.listed)
    assert words(conversation.before(program.listed).messages) == [*first[:2], "beside", "indeed", "two"]
    conversation.after(program.message("assistant", "aye"))
    edited = [*program.listed[:-1], program.message("user", "two instead")]
    assert words(conversation.before(edited).messages) == [*first[:2], "beside", "indeed", "two instead"]
    program.close()


def test_a_run_stays_on_its_line_and_the_next_one_follows(tmp_path: Path) -> None:
    """A person goes back by the command line while an answer is made: that is recorded where it was asked for."""
    program = Program(tmp_path / "mem.db", has_ids=False)
    for text in ("one", "two"):
        program.say(text)
    talk = program.host.conversation("t")
    program.listed.append(program.message("user", "three"))
    talk.before(program.listed)
    with squidbot.load({"store": {"path": str(program.path)}}) as engine:
        person = engine.session("t", form="openai.chat")
        assert person.branch("m2") == 1
        talk.after(program.message("assistant", "yes, three"))
        assert "yes, three" in str(talk.session.preview().messages[-2])
        assert [line.messages for line in person.lines()] == [6, 2]
    sent = talk.before([program.message("user", "another")]).messages
    assert words(sent) == ["one", program.listed[1]["content"], "another"]
    program.close()


def test_another_worker_goes_back_to_a_line_that_it_never_saw() -> None:
    """One worker has the first turn, another one the second and its edit; the first gets the list before the edit."""
    acts = ["say", "other", "say", "edit", "other", "switch"]
    run([(act, 0, "yes") for act in acts], has_ids=False, budget=WIDE)


@pytest.mark.parametrize("has_ids", [True, False])
def test_what_the_host_says_in_fewer_words_is_still_found(has_ids: bool, tmp_path: Path) -> None:  # noqa: FBT001  # both
    """A result that the program cuts: its words are sent, the former recalled and searched, on lines that have them."""
    program = Program(tmp_path / "mem.db", has_ids=has_ids)
    program.say("one")
    program.say("where is the walrus?", calls=True)
    result = next(each for each in program.listed if each["role"] == "tool")
    result["content"] = f"found {'a walrus on the ice ' * 9}"
    program.say("two")
    program.act("restart", 0, "")
    program.say("three")
    session = program.host.conversation("t").session
    seq = next(row.seq for row in session.core.current_line().read("t", 0, 99) if "on the ice" in str(row.payload))
    place = program.listed.index(result)
    program.listed[place] = {**result, "content": "found [cut]"}
    program.say("four")
    assert "on the ice" not in json.dumps(program.listed)
    for found in (session.search("ice walrus").text, session.expand(f"m{seq}").text):
        assert "walrus on the ice" in found
    del program.listed[2:]
    program.say("another question")
    with pytest.raises(RecallError, match="stands on another line"):
        session.expand(f"m{seq}")
    assert "on the ice" not in session.search("ice walrus").text
    program.close()


def test_what_a_user_says_in_fewer_words_is_not_found_again(tmp_path: Path) -> None:
    """Somebody took a password out."""
    program = Program(tmp_path / "mem.db", has_ids=True)
    program.say("one")
    program.say("my password is walrus, what now?")
    program.say("two")
    program.listed[2] = {**program.listed[2], "content": "what now?"}
    program.say("three")
    session = program.host.conversation("t").session
    assert "walrus" not in session.search("password").text.split("\n", 1)[1]
    with pytest.raises(RecallError, match="stands on another line"):
        session.expand("m2")
    program.close()


def talks(path: Path, number: int, turns: int) -> None:
    """Say so many things in a process of its own, with a list of its own turns alone; the last one dies in a turn."""
    host = runtime(path, has_ids=False)
    listed: list[Said] = []
    for turn in range(turns):
        listed.append({"role": "user", "content": f"{number} asks {turn}"})
        talk = host.conversation("t")
        sent = words(talk.before(listed).messages)
        assert [text for text in sent if text.startswith(f"{number} ")] == words(listed)
        if number == PROCESSES - 1 and turn == turns - 1:
            os._exit(9)
        listed.append({"role": "assistant", "content": f"{number} has answer {turn}"})
        talk.after(listed[-1])
    host.close()


def asks_again(path: Path, number: int, listed: list[Said]) -> None:
    """Have the last question answered once more."""
    host = runtime(path, has_ids=False)
    talk = host.conversation("t")
    assert words(talk.before(listed).messages)[: len(listed)] == words(listed)
    talk.after({"role": "assistant", "content": f"{number} says"})
    host.close()


def at_once(act: Callable[..., None], path: Path, *given: Any) -> list[int | None]:  # noqa: ANN401  # what it takes
    """Do it in four processes at once, and return how they ended."""
    spawning = multiprocessing.get_context("spawn")
    each = [spawning.Process(target=act, args=(path, number, *given)) for number in range(PROCESSES)]
    for one in each:
        one.start()
    for one in each:
        one.join()
    return [one.exitcode for one in each]


@pytest.mark.slow
def test_four_processes_append_to_one_line_and_branch_where_their_lists_do(tmp_path: Path) -> None:
    """Lists that are behind interleave, and nothing is lost, though one dies; an answer made again has a line."""
    path = tmp_path / "mem.db"
    assert at_once(talks, path, 12) == [0, 0, 0, 9]
    host = runtime(path, has_ids=False)
    talk = host.conversation("t")
    rows = talk.session.core.current_line().read("t", 0, 999)
    said = [json.loads(row.payload)["content"] for row in rows]
    assert len(talk.session.lines()) == 1
    for number in range(PROCESSES):
        turns = [text for turn in range(12) for text in (f"{number} asks {turn}", f"{number} has answer {turn}")]
        died = number == PROCESSES - 1
        assert [text for text in said if text.startswith(f"{number} ")] == (turns[:-1] if died else turns)
    listed = [json.loads(row.payload) for row in rows[:-1]]
    while listed[-1]["role"] != "user":
        listed.pop()
    assert at_once(asks_again, path, listed) == [0, 0, 0, 0]
    lines = talk.session.lines()
    assert lines[0].messages == len(said)
    now = [json.loads(row.payload)["content"] for row in talk.session.core.current_line().read("t", 0, 999)]
    assert now[: len(listed)] == words(listed)
    assert {text for line in lines[1:] for text in shown(talk.session, line.number) if " says" in text} == {
        f"{number} says" for number in range(PROCESSES)
    }
    host.close()


def shown(session: Session, line: int) -> list[str]:
    """Return what a line says."""
    return [json.loads(row.payload)["content"] for row in session.core.current_line().on(line).read("t", 0, 999)]


ACTS = ["say", "say", "call", "regenerate", "edit", "back", "words", "remove", "insert", "switch"]
ACTS += ["restart", "kill", "die", "other"]


HISTORIES = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9), st.sampled_from(["yes", "no", "go on"])))


def run(acts: list[tuple[str, int, str]], *, has_ids: bool, budget: int) -> None:
    """Do all that; the model sees the list in each request, however often the same words are said."""
    with tempfile.TemporaryDirectory() as folder:
        program = Program(Path(folder) / "mem.db", has_ids=has_ids, budget=budget)
        for act in acts:
            program.act(*act)
        program.say("the end")
        program.close()


@pytest.mark.parametrize("budget", [WIDE, NARROW])
@pytest.mark.parametrize("has_ids", [True, False])
@given(acts=HISTORIES)
@settings(deadline=None, max_examples=50)
def test_the_model_sees_what_the_list_has(has_ids: bool, budget: int, acts: list[tuple[str, int, str]]) -> None:  # noqa: FBT001  # both
    """Whatever its user does."""
    run(acts, has_ids=has_ids, budget=budget)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [WIDE, NARROW])
@pytest.mark.parametrize("has_ids", [True, False])
@given(acts=HISTORIES)
@settings(deadline=None, max_examples=8 * 2_500)  # a run takes an eighth (conftest.py): 10,000 by all four
def test_the_model_sees_what_the_list_has_in_many_histories(
    has_ids: bool,  # noqa: FBT001  # both
    budget: int,
    acts: list[tuple[str, int, str]],
) -> None:
    """The same, ten thousand times."""
    run(acts, has_ids=has_ids, budget=budget)
