"""Calls for asyncio: the loop goes on, and a cancelled call is done or not, as the next one of the session sees."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.common.threads import COMPUTING, FairLock, SharedLock, Waiting
from squidbot.plugins.host import HostRuntime
from squidbot.wiring.calls import MOST_THREADS, to_end

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

# Another process holds the store's lock for so long, or until it is told to let it go.
HELD_SECONDS = 20.0
HOLD = (
    "import select, sqlite3, sys; o = sqlite3.connect(sys.argv[1]); o.execute('BEGIN IMMEDIATE'); print(flush=True); "
    "select.select([sys.stdin], [], [], float(sys.argv[2])); o.rollback()"
)


@contextmanager
def held(store: Path) -> Iterator[Callable[[], None]]:
    """Have another process hold a store from now on, until what this yields is called."""
    command, pipe = [sys.executable, "-c", HOLD, str(store), str(HELD_SECONDS)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        yield process.stdin.close


@asynccontextmanager
async def opened(store: Path) -> AsyncIterator[squidbot.Engine]:
    """Open an engine over a store, and close it."""
    async with await squidbot.aload({"store": {"path": str(store)}}) as engine:
        yield engine


def said(session: squidbot.Session, first_seq: int = 0) -> list[str]:
    """Return the texts of a session's messages."""
    return [json.loads(row.payload)["content"] for row in session.core.context.read(first_seq, 10**9)]


@pytest.mark.parametrize("kind", [squidbot.Session, squidbot.Engine])
def test_every_method_that_reads_or_writes_has_an_async_one(kind: type) -> None:
    """It takes the same arguments."""
    methods = {name for name, value in vars(kind).items() if inspect.isfunction(value) and not name.startswith("_")}
    awaited = {name for name in methods if inspect.iscoroutinefunction(getattr(kind, name))}
    plain = methods - awaited - {"origins", "kept", "akept"}  # it reads no store; these two yield
    assert {f"a{name}" for name in plain} == awaited
    for name in plain:
        assert inspect.signature(getattr(kind, f"a{name}")) == inspect.signature(getattr(kind, name))


def test_a_conversation_by_asyncio_is_the_one_of_the_plain_calls(tmp_path: Path) -> None:
    """What one records, the other reads."""

    async def talk() -> None:
        async with opened(tmp_path / "a.db") as engine:
            session = await engine.asession("chat")
            assembly = await session.aassemble("hi", now=1.0)
            await session.arecord(*assembly.incoming, "ho", now=2.0)
            await session.apin(0)
            assert (await session.asearch("ho")).hits
            assert "hi" in (await session.aexpand("m0")).text

    asyncio.run(talk())
    with squidbot.load({"store": {"path": str(tmp_path / "a.db")}}) as engine:
        assert said(engine.session("chat")) == ["hi", "ho"]


def test_errors_of_a_call_are_raised_where_it_is_awaited() -> None:
    """As they are without asyncio."""

    async def wrong() -> None:
        async with await squidbot.aload({}) as engine:
            session = await engine.asession("chat")
            with pytest.raises(squidbot.ArgumentError, match="limit"):
                await session.asearch("x", limit="two")  # type: ignore[arg-type]  # on purpose
            with pytest.raises(squidbot.NotFoundError):
                await session.apin(7)

    asyncio.run(wrong())


def test_context_variables_of_the_task_are_seen_in_the_call() -> None:
    """Each task has its own."""
    name: ContextVar[str] = ContextVar("name")

    async def one(value: str) -> str:
        name.set(value)
        return await squidbot.in_thread(name.get)

    async def both() -> list[str]:
        return [*await asyncio.gather(one("a"), one("b"))]

    assert asyncio.run(both()) == ["a", "b"]


def test_the_loop_goes_on_while_another_process_holds_the_store(tmp_path: Path) -> None:
    """And the message is stored when that process lets it go."""
    store = tmp_path / "a.db"

    async def wait() -> None:
        async with opened(store) as engine:
            session = await engine.asession("chat")
            await session.arecord("one")
            with held(store) as let_go:
                task = asyncio.create_task(session.arecord("two"))
                for _ in range(100):
                    await asyncio.sleep(0.001)
                assert not task.done()
                let_go()
                await task
            assert said(session) == ["one", "two"]

    asyncio.run(wait())


def test_calls_wait_for_a_thread_when_all_have_one() -> None:
    """So many run at once, and no more."""
    most, now = 0, 0
    lock, all_run = threading.Lock(), threading.Event()

    def act() -> None:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        if most >= MOST_THREADS:
            all_run.set()
        with Waiting():
            all_run.wait(30)
            time.sleep(0.02)  # for one too many
        with lock:
            now -= 1

    async def many() -> None:
        await asyncio.gather(*(squidbot.in_thread(act) for _ in range(3 * MOST_THREADS)))

    asyncio.run(many())
    assert most == MOST_THREADS


def test_one_call_computes_at_a_time_and_waits_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that compute would keep the loop from running."""
    monkeypatch.setattr("squidbot.adapters.common.threads.MOST_SECONDS", 60.0)  # one that a busy machine stops has it
    computing: list[int] = []
    at_once: list[int] = []

    def act(number: int) -> None:
        for _ in range(20):
            computing.append(number)
            at_once.append(len(computing))
            sum(range(2_000))
            computing.remove(number)
            with Waiting():
                time.sleep(0.0002)

    async def many() -> None:
        await asyncio.gather(*(squidbot.in_thread(act, number) for number in range(8)))

    asyncio.run(many())
    assert max(at_once) == 1


def test_a_lock_of_an_extension_held_over_a_call_does_not_stop_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for it computes without our lock after a while."""
    monkeypatch.setattr("squidbot.adapters.common.threads.MOST_SECONDS", 0.1)
    foreign, has_it = threading.Lock(), threading.Event()

    def holds_it() -> None:
        with foreign, Waiting():
            has_it.set()
            time.sleep(0.05)

    def wants_it() -> None:
        has_it.wait()
        with foreign:
            pass

    async def both() -> None:
        await asyncio.wait_for(asyncio.gather(squidbot.in_thread(holds_it), squidbot.in_thread(wants_it)), 30)

    asyncio.run(both())


def test_threads_get_a_fair_lock_in_the_order_in_which_they_ask() -> None:
    """So a call overtakes none of the same session."""
    lock, order = FairLock(), list[int]()
    lock.acquire()

    def take(number: int) -> None:
        lock.acquire()
        order.append(number)
        lock.release()

    threads = []
    for number in range(8):
        threads.append(threading.Thread(target=take, args=(number,)))
        threads[-1].start()
        while len(lock._waiting) <= number:
            time.sleep(0.001)
    assert not order
    lock.release()
    for thread in threads:
        thread.join()
    assert order == [*range(8)]


def test_a_fair_lock_that_was_not_had_in_time_goes_to_the_others() -> None:
    """Who has given up is not given it later."""
    lock, outcomes = FairLock(), list[bool]()
    lock.acquire()
    late = threading.Thread(target=lambda: outcomes.append(lock.acquire(0.01)))
    late.start()
    late.join()
    lock.acquire()  # again by its holder
    lock.release()
    assert outcomes == [False]
    assert lock.is_held
    assert not lock.is_wanted
    lock.release()
    assert lock.acquire(0)


def test_a_call_that_is_cancelled_before_it_has_begun_does_nothing(tmp_path: Path) -> None:
    """Not even later, when it could."""

    async def cancel() -> list[str]:
        async with opened(tmp_path / "a.db") as engine:
            session = await engine.asession("chat")
            with session.lock:
                task = asyncio.create_task(session.arecord("lost"))
                await asyncio.sleep(0.05)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await session.arecord("next")
            return await squidbot.in_thread(said, session)

    assert asyncio.run(cancel()) == ["next"]


def test_a_call_that_is_cancelled_after_it_has_begun_comes_before_the_next_one(tmp_path: Path) -> None:
    """The one who cancels does not wait; the next call of the session does."""
    store = tmp_path / "a.db"

    async def cancel() -> list[str]:
        async with opened(store) as engine:
            session = await engine.asession("chat")
            with held(store) as let_go:
                task = asyncio.create_task(session.arecord("first"))
                while not session.lock._holder:  # noqa: ASYNC110  # a thread takes it
                    await asyncio.sleep(0.001)
                await asyncio.sleep(0.05)  # it asks the call whether it goes on
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                second = asyncio.create_task(session.arecord("second"))
                await asyncio.sleep(0.1)
                assert not second.done()
                let_go()
                await second
            return await squidbot.in_thread(said, session)

    assert asyncio.run(cancel()) == ["first", "second"]


def test_a_call_that_waits_for_a_thread_is_cancelled_for_good() -> None:
    """It was never begun."""
    done: list[int] = []
    go_on = threading.Event()

    def wait() -> None:
        with Waiting():
            go_on.wait(60)

    async def cancel() -> None:
        busy = [asyncio.create_task(squidbot.in_thread(wait)) for _ in range(MOST_THREADS)]
        late = asyncio.create_task(squidbot.in_thread(done.append, 1))
        await asyncio.sleep(0.05)
        late.cancel()
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(*busy)
        await squidbot.in_thread(done.append, 2)

    asyncio.run(cancel())
    assert done == [2]


def test_a_call_to_its_end_is_made_though_it_is_cancelled(tmp_path: Path) -> None:
    """As replies are recorded whose run is cancelled."""

    async def cancel() -> list[str]:
        async with opened(tmp_path / "a.db") as engine:
            session = await engine.asession("chat")
            with session.lock:
                task = asyncio.create_task(to_end(session.record, "kept"))
                await asyncio.sleep(0.05)
                task.cancel()
                await asyncio.sleep(0.05)
                task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert said(session) == ["kept"]
            await session.arecord("next")
            return await squidbot.in_thread(said, session)

    assert asyncio.run(cancel()) == ["kept", "next"]


@pytest.mark.parametrize("has_key", [True, False])
def test_cancelled_records_are_never_lost_doubled_or_unknown(tmp_path: Path, has_key: bool) -> None:  # noqa: FBT001
    """A program whose `arecord` was cancelled asks again with its key, or looks whether the message is there."""
    tries, chance = 1_000, random.Random(7)  # noqa: S311  # no secret

    async def one(session: squidbot.Session, number: int) -> bool:
        text, key = f"message {number}", f"k{number}" if has_key else ""
        task = asyncio.create_task(session.arecord(text, key=key))
        await asyncio.sleep(chance.choice((0, 0.0005 * chance.random(), 0.004 * chance.random())))
        was_cancelled = task.cancel()
        with suppress(asyncio.CancelledError):
            await task
            return False
        newest = await squidbot.in_thread(said, session, max(0, number - 1))
        if has_key or newest[-1:] != [text]:
            await session.arecord(text, key=key)
        return was_cancelled

    async def all_of_them() -> tuple[list[str], int]:
        async with opened(tmp_path / "a.db") as engine:
            session = await engine.asession("chat")
            cancelled = sum([await one(session, number) for number in range(tries)])
            return said(session), cancelled

    stored, cancelled = asyncio.run(all_of_them())
    assert stored == [f"message {number}" for number in range(tries)]
    assert cancelled > tries / 4


def test_a_loop_that_ends_over_a_call_leaves_no_noise(tmp_path: Path) -> None:
    """What was recorded is there, and nothing is written on standard error."""
    program = (
        "import asyncio, squidbot, sys\n"
        "async def main():\n"
        "    engine = await squidbot.aload({'store': {'path': sys.argv[1]}})\n"
        "    session = await engine.asession('chat')\n"
        "    from squidbot.wiring.calls import to_end\n"
        "    asyncio.ensure_future(to_end(session.record, 'late'))\n"
        "    await asyncio.sleep(0)\n"
        "asyncio.run(main())\n"
    )
    store = tmp_path / "a.db"
    done = subprocess.run([sys.executable, "-c", program, str(store)], capture_output=True, text=True, check=True)
    assert not done.stderr
    with squidbot.load({"store": {"path": str(store)}}) as engine:
        assert said(engine.session("chat")) == ["late"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock and the threads of the parent are not there."""

    async def call() -> int:
        return await squidbot.in_thread(os.getpid)

    assert asyncio.run(call()) == os.getpid()
    monkeypatch.setattr("squidbot.adapters.common.threads.MOST_SECONDS", 60.0)  # a child that waits has no answer
    with COMPUTING:
        child = os.fork()
        if not child:
            os._exit(0 if asyncio.run(asyncio.wait_for(call(), 30)) == os.getpid() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_shared_lock_can_be_taken_again_by_its_holder() -> None:
    """As a hook does that calls its session."""
    lock = SharedLock()
    with lock, lock:
        assert lock.is_held
    assert not lock.is_held


@pytest.mark.parametrize("is_host", [False, True], ids=["an engine", "a host's runtime"])
def test_closing_waits_for_a_reply_whose_loop_has_ended(tmp_path: Path, *, is_host: bool) -> None:
    """As of a stream that was left: the loop ends while a thread has yet to record what came."""
    store = tmp_path / "a.db"
    runtime = HostRuntime(store, host="own", form="openai.chat")
    engine = runtime.engine if is_host else squidbot.load({"store": {"path": str(store)}})
    session = engine.session("chat")
    ended = threading.Event()

    def record() -> None:
        with Waiting():
            ended.wait(5)
            time.sleep(0.1)
        opened = runtime.engine.session("chat") if is_host else session
        opened.record("what came")

    async def leave() -> None:
        task = asyncio.create_task(to_end(record))
        await asyncio.sleep(0)
        task.get_coro().close()  # as a loop that ends drops it

    with suppress(RuntimeError, asyncio.CancelledError):
        asyncio.run(leave())
    ended.set()
    (runtime if is_host else engine).close()
    with squidbot.load({"store": {"path": str(store)}}) as again:
        assert said(again.session("chat")) == ["what came"]


def test_closing_in_a_thread_does_not_wait_for_itself_nor_for_long(tmp_path: Path) -> None:
    """Two that close, one in the other's way, and one whose call goes on."""
    go_on = threading.Event()

    def wait() -> None:
        with Waiting():
            go_on.wait(20)

    async def close() -> float:
        first = await squidbot.aload({"store": {"path": str(tmp_path / "a.db")}})
        second = await squidbot.aload({"store": {"path": str(tmp_path / "b.db")}})
        begun = time.perf_counter()
        await asyncio.gather(first.aclose(), second.aclose())
        busy = asyncio.create_task(squidbot.in_thread(wait))
        await asyncio.sleep(0.05)
        await first.aclose(timeout_seconds=0.2)
        go_on.set()
        await busy
        return time.perf_counter() - begun

    assert asyncio.run(close()) < 3
