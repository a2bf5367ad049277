"""What a host's list means where its user edits, goes back, removes and goes on: the model sees what the list has."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.core.view.renderer import CONTINUE
from squidbot.plugins.host import HostRuntime

if TYPE_CHECKING:
    from collections.abc import Sequence

Said = dict[str, Any]


def runtime(path: Path, *, has_ids: bool) -> HostRuntime:
    """Return a host whose lists have all that was said."""
    return HostRuntime(
        path,
        host="a test",
        form="openai.chat",
        budget=64_000,
        key=lambda payload: {name: value for name, value in payload.items() if name != "id"},
        id_of=(lambda message: message.get("id", "")) if has_ids else (lambda _: ""),
        on_error="raise",
    )


def words(messages: Sequence[Said]) -> list[str]:
    """Return the texts of messages, without what squidbot puts between replies."""
    return [each["content"] for each in messages if each["content"] != CONTINUE]


class Program:
    """A program that keeps its lists itself, and hands them over whole."""

    def __init__(self, path: Path, *, has_ids: bool) -> None:
        self.path, self.has_ids = path, has_ids
        self.serial = count()
        self.listed: list[Said] = []
        self.others: list[list[Said]] = []
        self.host = runtime(path, has_ids=has_ids)
        # Whether squidbot has seen the list in this process.
        self.is_known = False

    def message(self, role: str, text: str) -> Said:
        """Return a message with an id of its own."""
        return {"role": role, "content": text, **({"id": f"i{next(self.serial)}"} if self.has_ids else {})}

    def ask(self) -> None:
        """Call the model; it must see the list."""
        talk = self.host.conversation("t")
        sent = talk.before([dict(each) for each in self.listed])
        assert words(sent) == words(self.listed)
        reply = self.message("assistant", f"answer {next(self.serial)}")
        talk.after(reply)
        self.listed.append(reply)
        self.is_known = True

    def say(self, text: str) -> None:
        """Say something."""
        self.listed.append(self.message("user", text))
        self.ask()

    def act(self, what: str, place: int, text: str) -> None:  # all that a user can do
        """Do what a user does, and let the model see it."""
        turns = len(self.listed) // 2
        if (turns < 2 and what != "restart") or what == "say":
            self.say(text)
        elif what == "regenerate":
            self.listed.pop()
            self.ask()
        elif what == "edit":
            at = 2 * (1 + place % (turns - 1))
            self.others.append([*self.listed])
            del self.listed[at:]
            self.say(f"edit {next(self.serial)} {text}")
        elif what == "back":
            self.others.append([*self.listed])
            del self.listed[2 * (1 + place % (turns - 1)) :]
            self.say(text)
        elif what == "words" and self.is_known:
            at = 1 + place % (len(self.listed) - 2)
            self.listed[at] = {**self.listed[at], "content": f"other words {next(self.serial)}"}
            self.say(text)
        elif what == "remove" and self.is_known:
            at = 2 * (1 + place % (turns - 1))
            del self.listed[at : at + 2]
            self.say(text)
        elif what == "switch" and self.others:
            self.others.append(self.listed)
            self.listed = self.others.pop(place % (len(self.others) - 1))
            self.say(text)
        elif what == "restart":
            self.host.close()
            self.host, self.is_known = runtime(self.path, has_ids=self.has_ids), False


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
    assert words(talk.before(one)) == ["one", "first", "two", "second", "and?"]
    assert len(talk.session.lines()) == 1
    program.host.close()


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
    assert words(conversation.before(program.listed)) == ["one", "answer 0", "beside", "indeed", "two"]
    conversation.after(program.message("assistant", "aye"))
    edited = [*program.listed[:-1], program.message("user", "two instead")]
    assert words(conversation.before(edited)) == ["one", "answer 0", "beside", "indeed", "two instead"]
    program.host.close()


ACTS = ["say", "say", "regenerate", "edit", "back", "words", "remove", "switch", "restart"]


HISTORIES = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9), st.sampled_from(["yes", "no", "go on"])))


def run(acts: list[tuple[str, int, str]], *, has_ids: bool) -> None:
    """Do all that; the model sees the list in each request, however often the same words are said."""
    with tempfile.TemporaryDirectory() as folder:
        program = Program(Path(folder) / "mem.db", has_ids=has_ids)
        for act in acts:
            program.act(*act)
        program.say("the end")
        program.host.close()


@pytest.mark.parametrize("has_ids", [True, False])
@given(acts=HISTORIES)
@settings(deadline=None, max_examples=100)
def test_the_model_sees_what_the_list_has(has_ids: bool, acts: list[tuple[str, int, str]]) -> None:  # noqa: FBT001  # both
    """Whatever its user does."""
    run(acts, has_ids=has_ids)


@pytest.mark.slow
@pytest.mark.parametrize("has_ids", [True, False])
@given(acts=HISTORIES)
@settings(deadline=None, max_examples=5_000)
def test_the_model_sees_what_the_list_has_in_many_histories(has_ids: bool, acts: list[tuple[str, int, str]]) -> None:  # noqa: FBT001  # both
    """The same, ten thousand times."""
    run(acts, has_ids=has_ids)
