"""Summaries by a language model beside the sessions of an engine."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.errors import ConfigError, LLMError, StoreError
from squidbot.core.ports import SupportsClaims
from squidbot.testing.models import ScriptedLLM

from .listeners import Heard, until

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.events import Event
    from squidbot.core.messages import Completion, Summary
    from squidbot.core.ports import LLM
    from squidbot.hookspecs import Register

GOOD = "<summary>Each question got its answer, after a look at it.</summary>"


def talk(session: squidbot.Session, turns: int, start: int = 0) -> set[str]:
    """Have a conversation, and return the ids of the notes in its requests, and of the summaries that they use."""
    shown: set[str] = set()
    for turn in range(start, start + turns):
        assembly = session.assemble(f"question {turn}: " + "please look at it " * 40, now=float(turn))
        session.record(assembly.incoming, f"answer {turn}: " + "because of this and that " * 80, now=float(turn))
        notes = [part.summary_id for part in assembly.core.parts if part.summary_id]
        shown.update(notes)
        shown.update(text for note in session.wired.store.by_id(session.session_id, notes) for text in note.told_from)
    return shown


def by_model(session: squidbot.Session) -> list[str]:
    """Return the ids of the summaries of a session that a model wrote."""
    found = session.wired.store.for_range(session.session_id, 0, 10**9)
    return [one.summary_id for one in found if one.by_model]


def test_summaries_are_written_on_demand_and_shown_after_the_next_event(tmp_path: Path) -> None:
    """In a file that another process opens: nothing that was done is due there."""
    settings = {"store": {"path": str(tmp_path / "s.db")}}
    with squidbot.load(settings) as engine:
        session = engine.session("s", window_tokens=16_384)
        talk(session, 50)
        jobs = squidbot.SummaryWorker(ScriptedLLM(GOOD))
        due = jobs.due(session, now=50.0)
        assert due
        done = jobs.run(session, now=50.0)
        assert [one.task for one in done] == list(due)
        assert {one.summary.made_by for one in done if one.summary} == {"llm/scripted/developer-3"}
        shown = talk(session, 40, 50)
    assert shown & {one.summary.summary_id for one in done if one.summary}
    with squidbot.load(settings) as engine:
        again = engine.session("s", window_tokens=16_384)
        made = {job.first_seq for job in squidbot.SummaryWorker(ScriptedLLM(GOOD)).due(again, now=90.0)}
        assert made.isdisjoint(job.first_seq for job in due)


class Broken:
    """A model that fails as no model of ours would."""

    name = "broken"

    def complete(self, _system: str, _prompt: str, _max_output_tokens: int) -> Completion:
        """Fail."""
        raise RuntimeError("the socket is gone")


def test_foreign_failure_is_an_event_and_the_turn_goes_on() -> None:
    """The notes by rule stand."""
    heard = Heard()
    with squidbot.load({}, extensions=[heard]) as engine:
        session = engine.session("s", window_tokens=16_384)
        talk(session, 50)
        (done,) = squidbot.SummaryWorker(Broken()).run(session, limit=1)
        assert done.summary is None
        assert done.why == "unreachable: RuntimeError: the socket is gone"
        (told,) = heard.of(events.COMPRESSION_ERROR)
        assert told.cause.endswith(done.why)
        assert talk(session, 20, 50)
        assert by_model(session) == []


def test_one_session_is_worked_on_once_at_a_time() -> None:
    """Whoever comes second has nothing to do, and another session is free; a model that hangs holds up no turn."""
    asked, answer = threading.Event(), threading.Event()

    def slow(_system: str, _prompt: str) -> str:
        asked.set()
        assert answer.wait(60.0)
        return GOOD

    with squidbot.load({}) as engine:
        one, two = (engine.session(name, window_tokens=16_384) for name in ("one", "two"))
        talk(one, 50)
        talk(two, 50)
        jobs = squidbot.SummaryWorker(ScriptedLLM(slow))
        thread = threading.Thread(target=jobs.run, args=(one,), kwargs={"limit": 1}, daemon=True)
        thread.start()
        assert asked.wait(60.0)
        assert jobs.run(one) == ()
        talk(one, 1, 50)
        answer.set()
        assert len(jobs.run(two, limit=1)) == 1
        thread.join(10.0)
        assert len(by_model(one)) == 1
        assert jobs.run(one, limit=1)


def test_thread_works_when_it_is_poked_and_ends_when_it_is_told() -> None:
    """On the sessions that are watched; it can be started again."""
    with squidbot.load({}) as engine, squidbot.SummaryWorker(ScriptedLLM(GOOD)) as jobs:
        watched, other = (engine.session(name, window_tokens=16_384) for name in ("watched", "other"))
        talk(watched, 50)
        talk(other, 50)
        jobs.watch(watched)
        for _ in range(2):
            jobs.start()
            jobs.start()
            jobs.poke()
            assert until(lambda: not jobs.due(watched))
            assert jobs.stop()
        assert by_model(watched)
        assert by_model(other) == []
        jobs.leave(watched)
    assert jobs.stop()


def test_thread_looks_for_blocks_before_a_pause_at_its_interval() -> None:
    """Nobody pokes it (B-40)."""
    with squidbot.load({}) as engine, squidbot.SummaryWorker(ScriptedLLM(GOOD)) as jobs:
        session = engine.session("s", window_tokens=131_072)
        talk(session, 12)
        assert jobs.due(session) == ()
        assert jobs.due(session, reason="schedule")
        jobs.watch(session)
        jobs.start(0.02)
        assert until(lambda: bool(by_model(session)))


@pytest.mark.filterwarnings("default")
def test_thread_lives_on_where_a_store_fails() -> None:
    """The others are told, and the next session has its turn."""
    heard = Heard()
    with squidbot.load({}, extensions=[heard]) as engine, squidbot.SummaryWorker(ScriptedLLM(GOOD)) as jobs:
        bad, good = (engine.session(name, window_tokens=16_384) for name in ("bad", "good"))
        talk(bad, 50)
        talk(good, 50)
        put = engine.wired.store.put

        def refuse(*summaries: Summary) -> None:
            if any(one.session_id == "bad" for one in summaries):
                raise StoreError("the disk is full; nothing was written")
            put(*summaries)

        engine.wired.store.put = refuse  # type: ignore[method-assign]
        jobs.watch(bad)
        jobs.watch(good)
        jobs.start()
        jobs.poke()
        assert until(lambda: bool(by_model(good)) and bool(heard.of(events.DEGRADED)))
        assert jobs.stop()
    assert heard.of(events.DEGRADED)[0].session_id == "bad"


class Brings:
    """An extension that offers one language model, "mine", and keeps what its factory was given."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.given: list[str] = []

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.llm("mine", self._made)

    def _made(self, rest: str) -> LLM:
        self.given.append(rest)
        return self._llm


# -- the engine's own ---------------------------------------------------------------------------------------------


def named(scheduler: str, **summary: object) -> dict[str, object]:
    """Return settings that name the model of `Brings`."""
    return {"summary": {"llm": "mine:large", "scheduler": scheduler, **summary}}


def test_engine_summarizes_behind_record_when_settings_name_a_model() -> None:
    """Nobody starts, watches or pokes anything; the factory gets what stands behind the name."""
    brings = Brings(ScriptedLLM(GOOD))
    with squidbot.load(named("thread"), extensions=[brings]) as engine:
        session = engine.session("s", window_tokens=16_384)
        talk(session, 50)
        assert until(lambda: not engine.jobs.due(session))
        assert talk(session, 40, 50) & set(by_model(session))
    assert brings.given == ["large"]
    assert "squidbot-jobs" not in {thread.name for thread in threading.enumerate()}


def test_engine_runs_jobs_only_on_demand_when_there_is_no_scheduler() -> None:
    """`run_jobs` does those of every session that was recorded in, or of one; `limit` counts over all."""
    with squidbot.load(named("none"), extensions=[Brings(ScriptedLLM(GOOD))]) as engine:
        one, two, silent = (engine.session(name, window_tokens=16_384) for name in ("one", "two", "silent"))
        talk(one, 50)
        talk(two, 50)
        assert "squidbot-jobs" not in {thread.name for thread in threading.enumerate()}
        assert by_model(one) == by_model(two) == []
        assert len(engine.run_jobs(limit=1)) == 1
        assert engine.run_jobs(two, limit=0) == ()
        engine.run_jobs()
        assert engine.run_jobs() == engine.run_jobs(silent) == ()
        assert by_model(one)
        assert by_model(two)
        assert engine.run_jobs(one, reason="request")
        with pytest.raises(ValueError, match="unknown reason 'whim'"):
            engine.run_jobs(one, reason="whim")


def test_engine_says_what_to_set_where_no_model_is_named() -> None:
    """Summaries are asked for, and there is nobody to write them."""
    with squidbot.load({"memory": {"extract": "off"}}) as engine:
        for asked in (lambda: engine.jobs, engine.run_jobs):
            with pytest.raises(ConfigError, match=r"set summary\.llm to a model alias, or to NAME:MODEL"):
                asked()
    with squidbot.load({}) as engine:
        assert engine.run_jobs() == ()  # facts could be read, and there is nothing to read


def test_load_names_what_is_offered_where_nobody_offers_the_model() -> None:
    """When the engine is loaded, not in the middle of a session."""
    with pytest.raises(ConfigError, match=r"unknown language model 'mine', known: .*; .* @ argument\.summary\.llm"):
        squidbot.load(named("none"))


@pytest.mark.parametrize(("scheduler", "file"), [("thread", ""), ("thread", "s.db"), ("apscheduler", "s.db")])
def test_turns_go_on_and_the_engine_closes_while_a_model_hangs(scheduler: str, file: str, tmp_path: Path) -> None:
    """It is asked, and never answers: no request, no record, no close of an engine waits for it."""
    if scheduler == "apscheduler":
        pytest.importorskip("apscheduler")
    asked, never = threading.Event(), threading.Event()

    def hangs(_system: str, _prompt: str) -> str:
        asked.set()
        never.wait(60.0)
        return GOOD

    settings = {**named(scheduler), **({"store": {"path": str(tmp_path / file)}} if file else {})}
    engine = squidbot.load(settings, extensions=[heard := Heard(), Brings(ScriptedLLM(hangs))])
    session = engine.session("s", window_tokens=16_384)
    talk(session, 50)
    assert asked.wait(60.0)
    assert talk(session, 20, 50)
    assert by_model(session) == []
    before = time.monotonic()
    engine.close(0.2)
    assert time.monotonic() - before < 5.0
    never.set()
    assert until(lambda: "squidbot-jobs" not in {thread.name for thread in threading.enumerate()})
    assert heard.of(events.DEGRADED) == []


def test_nothing_is_begun_behind_a_close() -> None:
    """A session in memory can still be recorded in; nobody summarizes it."""
    model = ScriptedLLM(GOOD)
    engine = squidbot.load(named("thread"), extensions=[Brings(model)])
    session = engine.session("s", window_tokens=16_384)
    engine.close()
    before = {*threading.enumerate()}  # one of another engine may be late
    talk(session, 50)
    assert {*threading.enumerate()} <= before
    assert model.prompts == []


def test_listener_may_close_the_engine_from_the_thread_of_its_jobs() -> None:
    """It hears of a summary there, and has seen enough."""
    closed = threading.Event()

    class Closes:
        @squidbot.hookimpl
        def on_event(self, event: Event) -> None:
            if event.name == events.CHECKPOINT_CREATED:
                engine.close()
                closed.set()

    engine = squidbot.load(named("thread"), extensions=[Closes(), Brings(ScriptedLLM(GOOD))])
    talk(engine.session("s", window_tokens=16_384), 50)
    assert closed.wait(60.0)
    assert until(lambda: "squidbot-jobs" not in {thread.name for thread in threading.enumerate()})


@pytest.fixture(scope="module")
def plain() -> list[list[dict[str, object]]]:
    """The requests of a conversation without a model."""
    with squidbot.load({}) as engine:
        session = engine.session("s", window_tokens=8_192)
        return [said(session, turn) for turn in range(36)]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (LLMError("unreachable", "connection refused"), "connection refused"),
        ("Error: 503 Service Unavailable", "not between"),
        ("<summary>Error: 503 Service Unavailable</summary>", "error message"),
        ("<summary>I'm sorry, but I can't summarize this.</summary>", "refusal"),
        ("<summary>They deployed it with Kubernetes on `orion-7`.</summary>", "its source does not"),
        ("<summary>" + "because of this and that " * 2_000 + "</summary>", "tokens"),
        ("<summary>They went through it step by st", "cut"),
        ("", "empty"),
    ],
)
def test_no_bad_answer_reaches_a_request_and_turns_go_on(
    answer: str | LLMError, why: str, plain: list[list[dict[str, object]]]
) -> None:
    """It fails, answers with an error's text, longer than its source, or with names that nobody said: promise 10."""
    heard, model = Heard(), ScriptedLLM(answer, window_tokens=10**6)
    # Of an answer that is too long all comes, as from a provider that counts otherwise.
    generous = Generous(model)
    with squidbot.load(named("thread"), extensions=[heard, Brings(generous)]) as engine:
        session = engine.session("s", window_tokens=8_192)
        for turn, same in enumerate(plain):
            assert said(session, turn) == same
            if turn == 25:
                assert until(lambda: bool(heard.of(events.COMPRESSION_ERROR)))
        assert by_model(session) == []
    assert why in heard.of(events.COMPRESSION_ERROR)[0].cause


class Generous:
    """A model that passes on more than it was asked for."""

    name = "generous"

    def __init__(self, model: ScriptedLLM) -> None:
        self._model = model

    def complete(self, system: str, prompt: str, _max_output_tokens: int) -> Completion:
        """Answer at any length."""
        return self._model.complete(system, prompt, 100_000)


def said(session: squidbot.Session, turn: int) -> list[dict[str, object]]:
    """Have one turn of a conversation, and return the request."""
    assembly = session.assemble(f"question {turn}: " + "please look at it " * 40, now=float(turn))
    session.record(assembly.incoming, f"answer {turn}: " + "because of this and that " * 80, now=float(turn))
    return assembly.messages


def test_thread_keeps_its_interval_while_it_is_poked_all_the_time() -> None:
    """A host with a turn each second must not keep blocks before a pause from being summarized."""
    with squidbot.load({}) as engine, squidbot.SummaryWorker(ScriptedLLM(GOOD)) as jobs:
        session = engine.session("s", window_tokens=131_072)
        talk(session, 12)
        jobs.watch(session)
        jobs.start(0.3)

        def poked() -> bool:
            jobs.poke()
            return bool(by_model(session))

        assert until(poked)


def test_poke_looks_at_one_session_when_it_is_named() -> None:
    """A turn of one visitor is no reason to look at all others."""
    with squidbot.load({}) as engine, squidbot.SummaryWorker(ScriptedLLM(GOOD)) as jobs:
        one, two = (engine.session(name, window_tokens=16_384) for name in ("one", "two"))
        for session in (one, two):
            talk(session, 50)
            jobs.watch(session)
        jobs.start()
        jobs.poke(one)
        assert until(lambda: not jobs.due(one))
        assert by_model(two) == []


def test_thread_can_be_started_anew_while_an_earlier_one_hangs() -> None:
    """The model has answered nothing yet, and another session goes on."""
    asked, answer = threading.Event(), threading.Event()

    def slow(_system: str, _prompt: str) -> str:
        if not asked.is_set():
            asked.set()
            answer.wait(60.0)
        return GOOD

    with squidbot.load({}) as engine:
        jobs = squidbot.SummaryWorker(ScriptedLLM(slow))
        one, two = (engine.session(name, window_tokens=16_384) for name in ("one", "two"))
        for session in (one, two):
            talk(session, 50)
            jobs.watch(session)
        jobs.start()
        jobs.poke(one)
        assert asked.wait(60.0)
        assert not jobs.stop(0.05)
        jobs.start()
        jobs.poke(two)
        assert until(lambda: not jobs.due(two))
        answer.set()
        assert jobs.stop()
    # The earlier one ends, too: the next test may look for such threads.
    assert until(lambda: "squidbot-jobs" not in {thread.name for thread in threading.enumerate()})


# -- across processes -----------------------------------------------------------------------------------------------


WORKER = """
import sys, time
import squidbot
from squidbot.testing.models import ScriptedLLM

def answer(system, prompt):
    with open(sys.argv[2], "a", encoding="utf-8") as asked:
        asked.write(prompt.splitlines()[0] + prompt.splitlines()[-1] + "\\n")
    time.sleep(0.05)
    return "<summary>Each question got its answer, after a look at it.</summary>"

with squidbot.load({"store": {"path": sys.argv[1]}}) as engine:
    session = engine.session("s", window_tokens=16_384)
    jobs = squidbot.SummaryWorker(ScriptedLLM(answer))
    print("ready", flush=True)
    sys.stdin.readline()
    while jobs.due(session, now=50.0):
        jobs.run(session, now=50.0, limit=1)
        time.sleep(0.01)
"""


def test_two_processes_ask_a_model_once_for_each_source(tmp_path: Path) -> None:
    """Both work on one session in one file until nothing is due."""
    path, asked = tmp_path / "s.db", tmp_path / "asked"
    with squidbot.load({"store": {"path": str(path)}}) as engine:
        session = engine.session("s", window_tokens=16_384)
        talk(session, 50)
        due = squidbot.SummaryWorker(ScriptedLLM(GOOD)).due(session, now=50.0)
    assert len(due) > 2
    command = [sys.executable, "-c", WORKER, str(path), str(asked)]
    workers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    for worker in workers:
        worker.communicate(timeout=60)
        assert worker.returncode == 0
    lines = asked.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(set(lines)) == len(due)


def test_claim_of_a_worker_that_died_ends_by_its_time() -> None:
    """Until then others have nothing to do, and turns go on."""
    with squidbot.load({}) as engine:
        session = engine.session("s", window_tokens=16_384)
        talk(session, 50)
        store, jobs = engine.wired.store, squidbot.SummaryWorker(ScriptedLLM(GOOD))
        assert isinstance(store, SupportsClaims)
        assert store.claim("s", "summaries", "dead", time.time(), 900.0)
        assert jobs.run(session, limit=1) == ()
        assert talk(session, 1, 50)
        store.release("s", "summaries", "dead")
        assert store.claim("s", "summaries", "dead", time.time() - 901.0, 900.0)
        assert jobs.run(session, limit=1)
        assert store.claim("s", "summaries", "next", time.time(), 900.0)


def test_worker_that_lost_its_claim_ends_behind_the_job_at_hand() -> None:
    """It was asleep for longer than its claim lasted, and another one goes on in its place."""
    with squidbot.load({}) as engine:
        session = engine.session("s", window_tokens=16_384)
        talk(session, 50)
        store = engine.wired.store
        assert isinstance(store, SupportsClaims)

        def slept(_system: str, _prompt: str) -> str:
            store._claims["s", "summaries"] = ("another", time.time() + 900.0)  # type: ignore[attr-defined]  # in memory
            return GOOD

        jobs = squidbot.SummaryWorker(ScriptedLLM(slept))
        assert len(jobs.due(session)) > 1
        assert len(jobs.run(session)) == 1
        assert jobs.run(session) == ()


def test_jobs_run_where_a_store_has_no_claims() -> None:
    """It is an offer of stores, and no duty."""

    class Bare:
        def __init__(self, store: InMemoryStore) -> None:
            self._store = store

        def __getattr__(self, name: str) -> object:
            if name in {"claim", "release"}:
                raise AttributeError(name)
            return getattr(self._store, name)

    class Offers:
        @squidbot.hookimpl
        def register_adapters(self, register: Register) -> None:
            register.store("bare", lambda _: Bare(InMemoryStore()))  # type: ignore[arg-type, return-value]

    with squidbot.load({"store": {"adapter": "bare"}}, extensions=[Offers()]) as engine:
        session = engine.session("s", window_tokens=16_384)
        talk(session, 50)
        assert not isinstance(engine.wired.store, SupportsClaims)
        assert len(squidbot.SummaryWorker(ScriptedLLM(GOOD)).run(session, limit=1)) == 1


def test_notes_of_a_line_use_no_summary_of_what_was_said_on_another_one() -> None:
    """One that reaches beyond the message behind which the line begins is not of this line."""
    with squidbot.load({"summary": {"scheduler": "none"}}) as engine:
        session = engine.session("s", window_tokens=8_192)
        talk(session, 30)
        jobs = squidbot.SummaryWorker(ScriptedLLM(GOOD))
        (done,) = jobs.run(session, now=50.0, reason="request")
        assert done.summary is not None
        session.branch("m21")
        shown = talk(session, 60, 11)
        assert done.task.last_seq > 21
        assert shown
        assert done.summary.summary_id not in shown
        session.switch(0)
        assert done.summary.summary_id in talk(session, 20, 30)
