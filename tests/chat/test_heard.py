"""Answers that come while the process is killed: what had come is there at the next start, and nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.chat.conversation import BY_DEATH, ChatSession
from squidbot.core.errors import StoreError
from squidbot.core.transcript.bookkeeping import CUT
from squidbot.wiring.streams import PartialAnswer

from .conftest import COMMAND, environment_of, folder_in
from .scripted import Offer, Scripted
from .test_conversation import Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from .conftest import Terminal


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
            seen += os.read(process.stdout.fileno(), 4_096)
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
