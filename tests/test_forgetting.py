"""What is forgotten stands in no file any more, whoever was told of it, and whichever process ends it."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core import events
from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.journal import JournalEntry
from squidbot.core.memories import Scope
from squidbot.testing import HashedWords

from .listeners import Heard

if TYPE_CHECKING:
    from squidbot.hookspecs import Register

# What is said in the message that is forgotten, and nowhere else; no number that a time or a digest may have, too.
SECRETS = ("Porphyria", "Lisbon", "zqxwvkj", "糖尿病")
SAID = "I live in Lisbon. My diagnosis is Porphyria (糖尿病), the code is zqxwvkj."
KEPT = "Walrus"
ANN, BOB = Scope(user="ann"), Scope(user="bob")


class Offering(Heard):
    """An extension that offers an embedder without a model, and hears what is told."""

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.embedder("mine", lambda _: HashedWords())


def engine_in(folder: Path, *extensions: object) -> squidbot.Engine:
    """Return an engine that keeps all that it can in a folder; users may share its sessions."""
    settings: dict[str, object] = {
        "history": {"isolation": "global"},
        "store": {"path": str(folder / "kept.db")},
        "journal": {"enabled": True, "folder": str(folder / "journal")},
        "memory": {"embedder": "mine", "index": "stdlib"},
        "summary": {"scheduler": "none"},
        "debug": {"turn_log": str(folder / "turns.txt")},
    }
    return squidbot.load(settings, extensions=extensions or [Offering()])


def talk(engine: squidbot.Engine, session_id: str, *said: str, scope: Scope = ANN) -> squidbot.Session:
    """Hold a conversation, have facts read out and an entry of the journal made, and memory index that."""
    session = engine.session(session_id, window_tokens=8_192, scope=scope)
    for text in said:
        session.record(session.assemble(text).incoming, "Noted.")
    session.snapshot("now")
    engine.run_jobs()
    engine.reindex(scope=scope)
    return session


def found_in(folder: Path, words: tuple[str, ...] = SECRETS) -> list[str]:
    """Return which files hold one of these words, in the encodings that a file may have them in."""
    forms = [word.encode(code)[2:] for word in words for code in ("utf-8", "utf-16-le")]
    forms += [json.dumps(word)[1:-1].encode() for word in words]
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(folder)) for path in files if any(form in path.read_bytes() for form in forms))


def told_by(session: squidbot.Session) -> str:
    """Return what the next request of a session says."""
    return json.dumps(session.assemble("Hello.").messages, ensure_ascii=False)


def test_forgotten_message_stands_in_no_file_and_is_told_by_nobody(tmp_path: Path) -> None:
    """Store, journal, its page, log, facts, what memory has indexed, what another session was told; all else stays."""
    with engine_in(tmp_path) as engine:
        session = talk(engine, "ann/1", SAID, f"The {KEPT} is fed.")
        other = engine.session("ann/2", window_tokens=8_192, scope=ANN)
        assert "Porphyria" in told_by(other)
        other.record(other.assemble("Hello.").incoming, "Hi.")
        assert {"turns.txt", "kept.db-wal"} <= {*found_in(tmp_path)}
        assert len([name for name in found_in(tmp_path) if name.startswith("journal/")]) == 2
        gone = session.forget(0, reason="asked")
        assert len(gone.facts) == 2
        assert {Path(name).name for name in gone.files} >= {"turns.txt"}
        assert found_in(tmp_path) == []
        for one in (other, session, engine.session("ann/3", window_tokens=8_192, scope=ANN)):
            assert not any(word in told_by(one) for word in SECRETS)
        assert KEPT in told_by(engine.session("ann/4", window_tokens=8_192, scope=ANN))
        answer = session.memory({"action": "search", "query": "diagnosis", "category": "journal"})
        assert "Porphyria" not in answer.text
        talk(engine, "ann/1", "And now?")
    assert found_in(tmp_path) == []
    assert {"turns.txt", "kept.db"} <= {*found_in(tmp_path, (KEPT,))}
    assert not (tmp_path / "kept.db-forgetting").exists()


def test_entry_that_took_long_to_write_keeps_what_was_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that a model writes; and two that were written within one second keep all that they tell of."""
    began = time.time()
    seconds = itertools.count(began)
    monkeypatch.setattr(time, "time", lambda: next(seconds))
    with engine_in(tmp_path) as engine:
        talk(engine, "ann/1", SAID, f"The {KEPT} is fed.").forget(0)
        assert KEPT in told_by(engine.session("ann/2", window_tokens=8_192, scope=ANN))
        monkeypatch.setattr(time, "time", lambda: began + 1_000)
        talk(engine, "bob/1", f"The {KEPT} is in Lisbon.", scope=BOB)
        talk(engine, "bob/1", "The tide is high.", scope=BOB).forget(0)
        told = [entry.summary for entry in engine.journal(BOB).latest(9).entries]
        assert len(told) == 2
        assert all("tide" in one and KEPT not in one for one in told)


def test_entries_of_others_stay_as_they_are(tmp_path: Path) -> None:
    """Byte for byte, with lines that are no entries; one that was added by hand goes where it tells."""
    with engine_in(tmp_path) as engine:
        book = engine.journal(ANN)
        book.append(JournalEntry(1_700_000_000, "The Porphyria of another session.", source_session="bob/1"))
        book.append(JournalEntry(1_700_000_001, "zqxwvkj was noted.", source_session="ann/1", tags=("mine",)))
        book.append(JournalEntry(1_700_000_002, "The tide is high.", source_session="ann/1"))
        (day,) = (tmp_path / "journal").rglob("2023*.jsonl")
        with day.open("ab") as file:
            file.write(b"cut off {\n")
        before = day.read_bytes().splitlines()
        talk(engine, "ann/1", SAID).forget(0)
        assert day.read_bytes().splitlines() == [before[0], *before[2:]]


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.test_forgetting import ANN, SAID, engine_in, talk
from squidbot.services import forget as forgetting
from squidbot.core.engine import CoreSession
at, folder = sys.argv[1], Path(sys.argv[2])
def dies(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)
with engine_in(folder) as engine:
    session = talk(engine, "ann/1", SAID, "The Walrus is fed.")
    other = engine.session("ann/2", window_tokens=8_192, scope=ANN)
    other.record(other.assemble("Hello.").incoming, "Hi.")
    owner = CoreSession if at == "forget" else forgetting
    setattr(owner, at, dies)
    session.forget(0) if sys.argv[3] == "message" else engine.forget_session("ann/1")
"""


@pytest.mark.parametrize(
    ("at", "what"),
    [
        ("forget", "message"),
        ("_elsewhere", "message"),
        pytest.param("_journals_without", "message", marks=pytest.mark.slow),
        pytest.param("_log_without", "message", marks=pytest.mark.slow),
        pytest.param("_reindex", "message", marks=pytest.mark.slow),
        pytest.param("_log_without", "session", marks=pytest.mark.slow),
    ],
)
def test_what_a_killed_process_was_to_forget_is_forgotten_when_the_store_is_opened(
    tmp_path: Path, at: str, what: str
) -> None:
    """Wherever it died; what it has noted of that has no word of it."""
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", KILLED, at, str(tmp_path), what], cwd=root, check=False)
    assert done.returncode < 0
    noted = tmp_path / "kept.db-forgetting"
    assert noted.stat().st_mode & 0o077 == 0
    assert not any(word in noted.read_text() for word in SECRETS)
    assert found_in(tmp_path)
    with engine_in(tmp_path) as engine:
        assert not noted.exists()
        assert found_in(tmp_path) == []
        assert bool(engine.wired.store.head("ann/1")[0]) == (what == "message")


def test_what_cannot_be_ended_is_told_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails behind the messages: they are forgotten, the rest when the store is next opened."""

    def fails(*_: object) -> None:
        raise StoreError("the disk failed")

    with engine_in(tmp_path) as engine:
        session = talk(engine, "ann/1", SAID)
        with monkeypatch.context() as patch:
            patch.setattr("squidbot.services.forget._log_without", fails)
            with pytest.raises(StoreError, match="the disk failed"):
                session.forget(0)
            heard = Offering()
            engine_in(tmp_path, heard).close()
        (told,) = [event for event in heard.events if event.name == events.DEGRADED]
        assert told.cause == "an interrupted forget is not finished yet: the disk failed"
        assert found_in(tmp_path) == ["turns.txt"]
        with pytest.raises(NotFoundError, match="nothing was forgotten"):
            session.forget(99)
        assert found_in(tmp_path) == []
        assert not (tmp_path / "kept.db-forgetting").exists()


def test_entry_that_was_being_made_meanwhile_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its messages were read before; the journal was looked through before it stood there."""
    with engine_in(tmp_path) as engine:
        session = engine.session("ann/1", window_tokens=8_192, scope=ANN)
        session.record(session.assemble(SAID).incoming, f"Noted, {KEPT}.")
        telling = engine.wired.journals.of(ANN)
        appended = telling.append

        def late(entry: JournalEntry) -> object:
            session.forget(0)
            return appended(entry)

        monkeypatch.setattr(telling, "append", late)
        session.snapshot("now")
        engine.run_jobs()
    assert found_in(tmp_path) == []
    assert len([name for name in found_in(tmp_path, (KEPT,)) if name.startswith("journal/")]) == 2


def test_forgotten_session_is_as_if_it_was_never_there(tmp_path: Path) -> None:
    """Out of the list, out of every file; the others stay, and are found."""
    with engine_in(tmp_path) as engine:
        talk(engine, "ann/1", SAID)
        other = talk(engine, "ann/2", f"The {KEPT} is fed.")
        other.search("walrus")
        assert engine.forget_session("ann/1").sessions == ("ann/1",)
        assert engine.wired.store.head("ann/1") == (0, 0)
        assert found_in(tmp_path) == []
        assert KEPT in other.search("walrus").text
        with pytest.raises(NotFoundError, match="no session 'ann/1'; nothing was forgotten"):
            engine.forget_session("ann/1")
        again = talk(engine, "ann/1", f"The other {KEPT}.")
        assert KEPT in again.search("walrus").text
        assert "Lisbon" not in again.search("live diagnosis").text


def test_forgotten_user_leaves_nothing_and_others_keep_theirs(tmp_path: Path) -> None:
    """Sessions, facts, journals; a session of two loses the turns of one."""
    with engine_in(tmp_path) as engine:
        talk(engine, "ann/1", SAID)
        talk(engine, "both", "Porphyria, I said.", scope=ANN)
        talk(engine, "both", f"The {KEPT} is mine.", scope=BOB)
        talk(engine, "bob/1", f"I live with a {KEPT}.", scope=BOB)
        gone = engine.forget_user("ann")
        assert gone.sessions == ("ann/1",)
        assert gone.messages == 2
        assert found_in(tmp_path) == []
        assert engine.wired.store.head("bob/1")[0] == 2
        assert KEPT in json.dumps(engine.session("both", window_tokens=8_192, scope=BOB).assemble("Hm.").messages)
        with pytest.raises(NotFoundError, match="no data of user 'ann'"):
            engine.forget_user("ann")
        engine.session("of nobody", window_tokens=8_192).record("Hello.", "Hi.")
        with pytest.raises(NotFoundError, match="pass a user; nothing was forgotten"):
            engine.forget_user("")
        assert engine.wired.store.head("of nobody")[0] == 2
    assert any(name.startswith("journal/") for name in found_in(tmp_path, (KEPT,)))
