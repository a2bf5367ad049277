"""One thread looks for all who listen: only while somebody does, only after something was written, past failures."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from squidbot.core.errors import StoreError
from squidbot.core.messages import Opening
from squidbot.report import watcher as module
from squidbot.report.watcher import ANY, StoreWatcher

from ..core.rows import row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import pytest

    from squidbot.core.messages import StoredMessage

SECONDS = 30


class Heads:
    """A store that counts how often it is asked, and fails when it is told to."""

    def __init__(self, path: Path) -> None:
        """Begin with an empty session, and a file that stands for it."""
        self.path, self.counts, self.asked, self.fails = path, {"s": (0, 0), "t": (0, 0)}, 0, False
        path.write_bytes(b"")

    def head(self, session_id: str) -> tuple[int, int]:
        """Return the numbers of messages and records."""
        self.asked += 1
        if self.fails:
            raise StoreError("the disk failed")
        return self.counts.get(session_id, (0, 0))

    def opening(self, session_id: str, _: object) -> Opening:
        """Return the numbers, and no record."""
        return Opening(*self.head(session_id), {})

    def pick(self, _: str, __: object) -> list[StoredMessage]:
        """Return no message: numbers are all that matters here."""
        return []

    def say(self, session_id: str) -> None:
        """Write."""
        messages, records = self.counts[session_id]
        self.counts[session_id] = messages + 1, records + 1
        with self.path.open("ab") as file:
            file.write(b"x")


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    ends = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_store_at_rest_is_not_asked(tmp_path: Path) -> None:
    """However long, and by however many; what is written is told to whom it concerns."""
    store, told = Heads(tmp_path / "f"), list[frozenset[str]]()
    watcher = StoreWatcher(store, str(store.path))  # type: ignore[arg-type]  # it has what is used
    others = list[frozenset[str]]()
    with (
        watcher.listening(["s"], told.append),
        watcher.listening(["t"], others.append),
        watcher.listening([], others.append, any_session=True),
    ):
        asked = store.asked
        time.sleep(1)
        assert store.asked == asked
        store.say("s")
        wait_for(lambda: bool(told and others))  # they are told one after the other
        assert told == [{"s"}]
        assert others == [{ANY}]
        assert sum(one.name == "squidbot-watcher" for one in threading.enumerate()) == 1
    wait_for(lambda: not watcher.is_at_work)


def test_a_failure_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written meanwhile is told as soon as the store answers."""
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.1)
    store, told = Heads(tmp_path / "f"), list[frozenset[str]]()
    watcher = StoreWatcher(store, str(store.path))  # type: ignore[arg-type]  # as above
    with watcher.listening(["s"], told.append):
        store.fails = True
        store.say("s")
        asked = store.asked
        wait_for(lambda: store.asked > asked + 1)
        assert told == []
        store.fails = False
        wait_for(lambda: told == [{"s"}])
    watcher.close()
    assert not watcher.is_at_work


def test_listeners_come_and_go(tmp_path: Path) -> None:
    """A thousand, in eight threads: none is told of what came before or after it, and nothing is left of them."""
    store = Heads(tmp_path / "f")
    watcher = StoreWatcher(store, str(store.path))  # type: ignore[arg-type]  # as above

    def come_and_go() -> None:
        for _ in range(125):
            with watcher.listening(["s"], lambda _: None):
                pass

    threads = [threading.Thread(target=come_and_go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for(lambda: not watcher.is_at_work)
    assert watcher._listeners == {}
    assert watcher._known == {}
    told = list[frozenset[str]]()
    with watcher.listening(["s"], told.append):
        store.say("s")
        wait_for(lambda: told == [{"s"}])
    watcher.close()


class Server(Heads):
    """A store on a server, which tells what was written; that query alone fails when it is told to."""

    news_fail, failed = False, 0

    def heads(self, session_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return the numbers of sessions."""
        return {name: self.head(name) for name in session_ids}

    def tell(self, session_id: str) -> None:
        """Tell nobody."""

    def news(self) -> AbstractContextManager[Callable[[float], list[str]]]:
        """Fail: the watcher asks, and does not wait for news."""
        raise AssertionError("the watcher waits for news")

    def changed_since(self, moment: float) -> tuple[list[str], float]:
        """Return all sessions, unless it fails."""
        if self.news_fail:
            self.failed += 1
            raise StoreError("the connection was lost")
        return [*self.counts], moment


def test_a_failure_of_the_second_query_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The look counts only as a whole."""
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(module, "SERVER_SECONDS", 0.05)
    store, told = Server(tmp_path / "f"), list[frozenset[str]]()
    watcher = StoreWatcher(store)  # type: ignore[arg-type]  # as above
    with watcher.listening(["s"], told.append, any_session=True):
        wait_for(lambda: bool(told))  # of what was there
        told.clear()
        store.news_fail = True
        wait_for(lambda: store.failed > 0)  # a look that began before it failed would tell what is said now
        store.say("s")
        failed = store.failed
        wait_for(lambda: store.failed > failed + 2)
        assert told == []
        store.news_fail = False
        wait_for(lambda: bool(told))
    assert told[0] == {"s", ANY}
    watcher.close()


class Begun(Server):
    """A server's store whose sessions can be begun again."""

    first = 1.0

    def pick(self, _: str, __: object) -> list[StoredMessage]:
        """Return the first message."""
        return [row(0, time=self.first)]


def test_a_session_that_is_begun_again_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also to the list, and also where the numbers are those of before."""
    monkeypatch.setattr(module, "SERVER_SECONDS", 0.05)
    store, told, others = Begun(tmp_path / "f"), list[frozenset[str]](), list[frozenset[str]]()
    store.counts["s"] = 1, 1
    watcher = StoreWatcher(store)  # type: ignore[arg-type]  # as above
    with (
        watcher.listening(["s"], told.append),
        watcher.listening([], others.append, any_session=True),
    ):
        wait_for(lambda: bool(others))
        others.clear()
        assert told == []
        store.first = 2.0
        wait_for(lambda: bool(told and others))
    assert told == [{"s"}]
    assert {*others} == {frozenset({ANY})}  # a look in which it is begun again may find the list, the next the session
    watcher.close()
