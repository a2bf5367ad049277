"""Spans and metrics of real sessions, as OpenTelemetry's SDK gets them."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("opentelemetry.sdk", exc_type=ImportError)

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import squidbot
from squidbot.adapters.opentelemetry import CAPTURE
from squidbot.core.errors import LLMError, StoreError
from squidbot.core.memory.view import MemoryQuery, NewMemory
from squidbot.core.messages import Completion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.hookspecs import Register

ROOT = Path(__file__).parent.parent.parent
HOSTILE = "xyzzy-secret"
USAGE = {"prompt_tokens": 1000, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 400}}


@dataclass
class Exported:
    """What the SDK has got."""

    provider: TracerProvider
    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    def spans(self, name: str = "") -> list[ReadableSpan]:
        """Return the ended spans, all or those of a name."""
        return [span for span in self.exporter.get_finished_spans() if name in {"", span.name}]

    def span(self, name: str) -> Mapping[str, Any]:
        """Return the attributes of the only span of a name."""
        (span,) = self.spans(name)
        return attributes(span)

    def metrics(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """Return the points of each metric: their attributes, and their sum or their number."""
        data = self.reader.get_metrics_data()
        scopes = [scope for each in data.resource_metrics for scope in each.scope_metrics] if data else []
        return {
            metric.name: [
                (dict(point.attributes or {}), point.value if hasattr(point, "value") else point.count)
                for point in metric.data.data_points
            ]
            for scope in scopes
            for metric in scope.metrics
        }

    def text(self) -> str:
        """Return all that was exported."""
        return "\n".join([*(span.to_json() for span in self.spans()), repr(self.metrics())])


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """Return the attributes of a span."""
    return dict(span.attributes or {})


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Exported:
    """Set the SDK up as an application does; its global providers can be set only once in a process otherwise."""
    monkeypatch.delenv(CAPTURE, raising=False)
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.setattr(metrics._internal, "_METER_PROVIDER", MeterProvider([reader]))
    return Exported(provider, exporter, reader)


@dataclass
class Extension:
    """A language model for facts, which fails or finds none; and what it is told of events."""

    error: Exception | None = None
    told: list[squidbot.Event] = field(default_factory=list)
    name = "m-1"

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer the model."""
        register.llm("acme", lambda _: self)

    @squidbot.hookimpl
    def on_event(self, event: squidbot.Event) -> None:
        """Keep an event."""
        self.told.append(event)

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Find no facts."""
        assert system
        assert prompt
        assert max_output_tokens
        if self.error:
            raise self.error
        return Completion("<facts>[]</facts>", 700, 5)


def load(*extensions: object, **settings: object) -> squidbot.Engine:
    """Open an engine that OpenTelemetry observes."""
    own: dict[str, object] = {"observers": ["opentelemetry"], "summary": {"scheduler": "none"}, **settings}
    return squidbot.load(own, extensions=list(extensions))


def talk(session: squidbot.Session, turns: int = 12) -> None:
    """Talk until old messages have given way to notes."""
    for number in range(turns):
        request = session.assemble(f"Look at part {number}, please: {HOSTILE}.")
        session.record(request.incoming, f"It is fine, {HOSTILE}. " * 30, usage=USAGE)


@pytest.mark.parametrize("store", ["sqlite3", "stdlib"])
def test_each_turn_is_two_spans_below_the_applications_own(exported: Exported, store: str, tmp_path: Path) -> None:
    """With the session, the model, the window, the cost and the reported usage; on either store."""
    path = {"path": str(tmp_path / "talk.db")} if store == "sqlite3" else {}
    with load(store={"adapter": store, **path}) as engine:
        session = engine.session("support/42", model="gpt-9", window_tokens=4_096)
        with exported.provider.get_tracer("app").start_as_current_span("turn") as turn:
            request = session.assemble("Hello!")
            session.record(request.incoming, "Hello.", usage=USAGE)
    assembled, recorded = exported.spans("squidbot.assemble") + exported.spans("squidbot.record")
    for span in (assembled, recorded):
        assert span.parent is not None
        assert span.parent.span_id == turn.get_span_context().span_id
        assert span.kind is SpanKind.INTERNAL
        assert span.status.status_code is StatusCode.UNSET
    common = {"gen_ai.conversation.id": "support/42", "gen_ai.request.model": "gpt-9"}
    assert attributes(assembled) == {
        **common,
        "squidbot.operation.name": "assemble",
        "squidbot.request.tokens": request.core.used_tokens,
        "squidbot.window.tokens": 4_096,
    }
    assert attributes(recorded) == {
        **common,
        "squidbot.operation.name": "record",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 400,
    }


def test_usage_of_the_hosts_calls_is_counted_under_names_of_our_own(exported: Exported) -> None:
    """The host's own instrumentation counts them under the conventions' names: nothing is counted twice."""
    with load() as engine:
        talk(engine.session("s", model="gpt-9", window_tokens=4_096), 3)
    found = exported.metrics()
    by = {"gen_ai.request.model": "gpt-9"}
    assert found["squidbot.usage.input_tokens"] == [(by, 3000)]
    assert found["squidbot.usage.output_tokens"] == [(by, 60)]
    assert found["squidbot.usage.cache_read.input_tokens"] == [(by, 1200)]
    assert not [name for name in found if name.startswith("gen_ai.client.inference")]
    assert ({**by, "squidbot.operation.name": "assemble"}, 3) in found["squidbot.operation.duration"]
    assert found["squidbot.request.tokens"] == [(by, 3)]


def test_usage_of_a_turn_that_could_not_be_stored_is_not_counted_twice(
    exported: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host records it again."""

    def fail(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    with load() as engine:
        session = engine.session("s", window_tokens=4_096)
        request = session.assemble("Hello")
        with monkeypatch.context() as patched:
            patched.setattr(engine.wired.store, "append", fail)
            with pytest.raises(StoreError):
                session.record(request.incoming, "Hello.", usage=USAGE)
        session.record(request.incoming, "Hello.", usage=USAGE)
    assert exported.metrics()["squidbot.usage.input_tokens"] == [({}, 1000)]
    assert [attributes(span).get("error.type") for span in exported.spans("squidbot.record")] == ["StoreError", None]


def test_compaction_tells_its_cause_its_price_and_the_first_message_that_moved(exported: Exported) -> None:
    """On the span of the request that it was made for; that later requests are compacted, they tell, too."""
    with load() as engine:
        session = engine.session("s", model="gpt-9", window_tokens=4_096)
        made = []
        for number in range(20):
            request = session.assemble(f"Look at part {number}, please.", system="You look at parts.")
            made.append(request)
            session.record(request.incoming, "It is fine. " * 150)
    spans = [attributes(span) for span in exported.spans("squidbot.assemble")]
    changed = [place for place, request in enumerate(made) if request.event]
    assert changed
    assert [place for place, told in enumerate(spans) if "squidbot.compaction.cause" in told] == changed
    assert [place for place, told in enumerate(spans) if "gen_ai.conversation.compacted" in told] == [
        place for place in range(20) if place >= changed[0]
    ]
    assert all(told.get("gen_ai.conversation.compacted", True) is True for told in spans)
    plan, told = made[changed[0]].event, spans[changed[0]]
    assert plan is not None
    assert plan.price is not None
    assert plan.first_changed is not None
    assert {name: value for name, value in told.items() if "compaction" in name} == {
        "squidbot.compaction.cause": plan.cause,
        "squidbot.compaction.tokens_before": plan.tokens_before,
        "squidbot.compaction.tokens_after": plan.tokens_after,
        "squidbot.compaction.first_message": f"m{plan.first_changed.seq}",
        "squidbot.compaction.cost": plan.price.tokens,
        "squidbot.compaction.saved_per_request": plan.price.saved_tokens_per_request,
        "squidbot.compaction.break_even_requests": plan.price.break_even_requests,
    }
    found = exported.metrics()
    assert sum(count for _, count in found["squidbot.compactions"]) == len(changed)
    prices = [request.event.price.tokens for request in made if request.event and request.event.price]
    assert sum(cost for _, cost in found["squidbot.compaction.cost"]) == pytest.approx(sum(prices))


def change_by_hand() -> None:
    """Compact, undo, restore and forget."""
    with load() as engine:
        session = engine.session("s", window_tokens=8_192)
        talk(session, 8)
        assert session.compact()
        session.snapshot("before")
        session.undo()
        session.restore("before")
        session.forget("m0")


def test_undoing_and_asking_for_a_compaction_are_spans_of_their_own(exported: Exported) -> None:
    """Each with the plan that it makes."""
    change_by_hand()
    assert exported.span("squidbot.compact")["squidbot.compaction.cause"] == "manual"
    assert exported.span("squidbot.undo")["squidbot.compaction.cause"] == "undo"
    assert "gen_ai.conversation.compacted" not in exported.span("squidbot.undo")  # all is sent raw again
    assert exported.span("squidbot.restore")["squidbot.compaction.cause"] == "restore"
    assert exported.span("squidbot.forget")["squidbot.forgotten.messages"] >= 1
    (compacted,) = exported.spans("squidbot.compact")
    assert "squidbot.compressed" in [event.name for event in compacted.events]


def test_memory_operations_have_the_conventions_names(exported: Exported) -> None:
    """Facts and messages, by the program or by the model's tools."""
    with load(memory={"write": True}) as engine:
        session = engine.session("s", window_tokens=8_192, scope=squidbot.Scope(user="anna"))
        talk(session, 2)
        memories = engine.memories(squidbot.Scope(user="anna"))
        first = memories.add(NewMemory("The user likes tea"), 1.0).memories[0]
        session.memory({"action": "add", "text": "The user likes coffee", "replaces": first.memory_id})
        memories.search(MemoryQuery("coffee"), 2.0)
        session.search("part")
        session.history({"action": "search", "query": "part"})
        later = engine.continued("s", "later", window_tokens=8_192)
        later.history({"action": "search", "query": "fine", "id": "s"})
        memories.forget(first.memory_id)
    created = exported.span("create_memory")
    assert created == {
        "gen_ai.operation.name": "create_memory",
        "gen_ai.memory.store.id": "facts",
        "gen_ai.memory.record.count": 1,
        "gen_ai.memory.record.id": first.memory_id,
    }
    updated = exported.span("update_memory")
    assert updated["gen_ai.conversation.id"] == "s"
    assert updated["gen_ai.memory.record.count"] == 1
    assert exported.span("delete_memory")["gen_ai.memory.record.id"] == first.memory_id
    stores = [
        (told["gen_ai.memory.store.id"], told["gen_ai.memory.record.count"])
        for told in map(attributes, exported.spans("search_memory"))
    ]
    assert stores == [("facts", 1), ("messages", 2), ("messages", 2), ("messages", 2)]
    seconds = exported.metrics()["gen_ai.client.operation.duration"]
    assert ({"gen_ai.operation.name": "search_memory", "gen_ai.memory.store.id": "messages"}, 3) in seconds
    assert ({"gen_ai.operation.name": "delete_memory", "gen_ai.memory.store.id": "facts"}, 1) in seconds


def test_facts_that_squidbot_searches_and_learns_by_itself_are_told_too(exported: Exported) -> None:
    """A search for a conversation's first message is part of its request; facts are learned in background work."""
    scope = squidbot.Scope(user="anna")
    with load() as engine:
        engine.memories(scope).add(NewMemory("The user brews green tea"), 1.0)
        session = engine.session("s", window_tokens=8_192, scope=scope)
        request = session.assemble("My name is Anna. Which tea do I brew?")
        session.record(request.incoming, "Green tea.")
        engine.run_jobs()
        session.forget("m0")
    (assembled,), (searched,) = exported.spans("squidbot.assemble"), exported.spans("search_memory")
    assert searched.parent is not None
    assert searched.parent.span_id == assembled.context.span_id
    learned = attributes(exported.spans("create_memory")[-1])
    assert learned["gen_ai.conversation.id"] == "s"
    (deleted,), (forgotten,) = exported.spans("delete_memory"), exported.spans("squidbot.forget")
    assert attributes(deleted)["gen_ai.memory.record.count"] == learned["gen_ai.memory.record.count"] == 1
    assert deleted.parent is not None
    assert deleted.parent.span_id == forgotten.context.span_id


def test_facts_that_are_merged_are_updated(exported: Exported) -> None:
    """The newer one stands for the older one."""
    with load(memory={"merge": True}) as engine:
        session = engine.session("s", window_tokens=8_192, scope=squidbot.Scope(user="anna"))
        for what in ("the parser", "the new parser"):
            said = f"We decided to deploy {what} from the blue cluster."
            session.record({"role": "user", "content": said}, "Good.")
            engine.run_jobs()
    updated = exported.span("update_memory")
    assert (updated["gen_ai.conversation.id"], updated["gen_ai.memory.record.count"]) == ("s", 1)


def everything(extension: Extension) -> None:
    """Do all that leaves spans, with hostile words wherever words may stand."""
    scope = squidbot.Scope(user=f"anna-{HOSTILE}", bot=f"bot-{HOSTILE}")
    memory = {"write": True, "llm": f"acme:{HOSTILE}"}
    with load(extension, memory=memory) as engine:
        session = engine.session("s", model="gpt-9", window_tokens=4_096, scope=scope)
        talk(session)
        session.snapshot(f"about {HOSTILE}")
        session.search(HOSTILE)
        answer = session.memory({"action": "add", "text": f"The user likes {HOSTILE}"})
        (memory_id,) = re.findall(r"f-\w+", answer.text)
        session.memory({"action": "add", "text": f"The user loves {HOSTILE}", "replaces": memory_id})
        session.memory({"action": "search", "query": HOSTILE})
        session.memory({"action": "forget", "id": memory_id})
        session.memory({"action": "forget", "id": f"f-{HOSTILE}"})
        session.forget("m3", reason=f"he asked, {HOSTILE}")
        with pytest.raises(squidbot.BudgetError):
            session.assemble(HOSTILE * 10_000)
        session.compact()
        session.overflowed(3_000)
        engine.run_jobs(reason="request")
        engine.forget_user(scope.user, reason=HOSTILE)


class Failing:
    """An extension that fails with words of the conversation in its error."""

    @squidbot.hookimpl
    def contribute_tail(self, prompt: str) -> str:
        """Fail."""
        raise ValueError(prompt)


def test_nothing_that_was_said_is_exported_unless_it_is_asked_for(exported: Exported) -> None:
    """Not in attributes, names, events, errors, nor metrics; and nothing of who it is, in any case."""
    everything(Extension())
    with load(Failing()) as engine:
        engine.session("s", window_tokens=4_096).assemble(HOSTILE)
    (*_, failed) = exported.spans("squidbot.assemble")
    assert "squidbot.degraded" in [event.name for event in failed.events]
    text = exported.text()
    assert '"search_memory"' in text
    assert HOSTILE not in text
    assert "anna" not in text


@pytest.mark.parametrize("value", ["true", "SPAN_ONLY", "span_and_event"])
def test_content_is_exported_if_it_is_asked_for(
    exported: Exported, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """By the variable that OpenTelemetry's own instrumentations read; ids of users stay out."""
    monkeypatch.setenv(CAPTURE, value)
    everything(Extension())
    searched = [attributes(span) for span in exported.spans("search_memory")]
    queries = {(told["gen_ai.memory.store.id"], told["gen_ai.memory.query.text"]) for told in searched}
    assert queries >= {("facts", HOSTILE), ("messages", HOSTILE)}
    records = [record for told in searched for record in json.loads(told.get("gen_ai.memory.records", "[]"))]
    assert any(record["id"].startswith("f-") and HOSTILE in record["content"] for record in records)
    assert any(record["id"].startswith("m") and HOSTILE in record["content"] for record in records)
    assert "anna" not in exported.text()
    assert HOSTILE not in repr(exported.metrics())


@pytest.mark.parametrize("value", ["", "false", "no_content", "event_only"])
def test_other_values_ask_for_no_content(exported: Exported, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """There are no log records of ours, so that nothing goes into these."""
    monkeypatch.setenv(CAPTURE, value)
    with load() as engine:
        session = engine.session("s", window_tokens=4_096)
        talk(session, 1)
        session.search(HOSTILE)
    assert HOSTILE not in exported.text()


def test_model_that_squidbot_calls_is_a_client_span_with_its_usage(exported: Exported) -> None:
    """By the conventions' names: these calls are squidbot's own."""
    everything(Extension())
    (called, *_) = exported.spans("chat m-1")
    assert called.kind is SpanKind.CLIENT
    by = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.provider.name": "acme"}
    assert attributes(called) == {**by, "gen_ai.usage.input_tokens": 700, "gen_ai.usage.output_tokens": 5}
    found, calls = exported.metrics(), len(exported.spans("chat m-1"))
    text = {**by, "gen_ai.token.modality": "text"}
    assert found["gen_ai.client.inference.usage.input_tokens"] == [(text, 700 * calls)]
    assert found["gen_ai.client.inference.usage.output_tokens"] == [(text, 5 * calls)]
    assert found["gen_ai.client.inference.duration"] == [(by, calls)]


def test_errors_are_told_by_their_class(exported: Exported) -> None:
    """Of a request that does not fit, of a model that fails: the status, and no text."""
    everything(Extension(LLMError("refused", f"I can't read {HOSTILE}")))
    (failed,) = [span for span in exported.spans("squidbot.assemble") if span.status.status_code is StatusCode.ERROR]
    assert attributes(failed)["error.type"] == "BudgetError"
    assert failed.status.description is None
    assert [event.name for event in failed.events if event.name == "exception"] == []
    (called, *_) = exported.spans("chat m-1")
    assert attributes(called)["error.type"] == "LLMError"
    seconds = exported.metrics()["squidbot.operation.duration"]
    by = {"squidbot.operation.name": "assemble", "gen_ai.request.model": "gpt-9", "error.type": "BudgetError"}
    assert (by, 1) in seconds
    assert HOSTILE not in exported.text()


class Broken(SpanProcessor):
    """A processor that fails at one end of each span."""

    def __init__(self, end: str) -> None:
        self._end = end

    def on_start(self, *_: object, **__: object) -> None:
        """Fail, or not."""
        if self._end == "start":
            raise OSError("no exporter")

    def on_end(self, *_: object) -> None:
        """Fail, or not."""
        if self._end == "end":
            raise OSError("no exporter")


@pytest.mark.parametrize("end", ["start", "end"])
def test_failing_exporter_never_fails_a_turn(exported: Exported, end: str) -> None:
    """The others are told by the event `degraded`."""
    exported.provider.add_span_processor(Broken(end))
    extension = Extension()
    with load(extension) as engine:
        session = engine.session("s", window_tokens=4_096)
        talk(session, 2)
        assert len(session.search("part").hits) == 2
    causes = [event.cause for event in extension.told if event.name == "degraded"]
    assert causes[:2] == [f"opentelemetry failed at {name}: OSError: no exporter" for name in ("assemble", "record")]
    assert not trace.get_current_span().get_span_context().is_valid


def test_calls_for_asyncio_are_children_of_the_tasks_own_spans(exported: Exported) -> None:
    """They run in threads, with the task's context."""

    async def turn(session: squidbot.Session, number: int) -> int:
        with exported.provider.get_tracer("app").start_as_current_span("turn") as span:
            await session.aassemble(f"Part {number}")
            return span.get_span_context().span_id

    async def turns(engine: squidbot.Engine) -> list[int]:
        sessions = [engine.session(f"s{number}", window_tokens=4_096) for number in range(4)]
        return await asyncio.gather(*(turn(session, number) for number, session in enumerate(sessions)))

    with load() as engine:
        parents = asyncio.run(turns(engine))
    found = {
        attributes(span)["gen_ai.conversation.id"]: span.parent and span.parent.span_id
        for span in exported.spans("squidbot.assemble")
    }
    assert found == {f"s{number}": parent for number, parent in enumerate(parents)}


def test_extensions_spans_are_children_and_get_none_of_our_events(exported: Exported) -> None:
    """An application's span stays as the application made it."""

    class Spanned:
        @squidbot.hookimpl
        def contribute_tail(self, prompt: str) -> str:
            with exported.provider.get_tracer("app").start_as_current_span("own"):
                raise ValueError(prompt)

    # An event outside of any call of a session: the engine has started.
    with exported.provider.get_tracer("app").start_as_current_span("turn"), load(Spanned()) as engine:
        engine.session("s", window_tokens=4_096).assemble("Hello")
    (own,), (turn,), (assembled,) = (exported.spans(name) for name in ("own", "turn", "squidbot.assemble"))
    assert own.parent is not None
    assert own.parent.span_id == assembled.context.span_id
    assert turn.events == ()
    assert [event.name for event in own.events] == ["exception"]


OFF = """
import sys
import squidbot
with squidbot.load() as engine:
    session = engine.session("s", window_tokens=4_096)
    session.record(session.assemble("Hello").incoming, "Hello.")
    session.search("hello")
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")), engine.wired.relay.watches)
"""


def test_what_is_off_costs_nothing() -> None:
    """Nothing of OpenTelemetry is imported, and nobody is asked."""
    done = subprocess.run([sys.executable, "-c", OFF], capture_output=True, text=True, check=True)
    assert done.stdout == "[] False\n"


def test_every_name_is_documented_and_every_documented_name_is_there(exported: Exported) -> None:
    """The tables of docs/observability.md name what an application gets, and nothing else."""
    page = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
    written = {
        name for row in re.findall(r"^\| (`.+?) \|", page, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)
    }
    everything(Extension())
    change_by_hand()
    names = {re.sub(r"^chat .*", "chat MODEL", span.name) for span in exported.spans()}
    names |= {name for span in exported.spans() for name in attributes(span)}
    names |= {name for span in exported.spans() for event in span.events for name in dict(event.attributes or {})}
    found = exported.metrics()
    names |= {*found} | {name for points in found.values() for told, _ in points for name in told}
    content = {"gen_ai.memory.query.text", "gen_ai.memory.records"}
    assert sorted(names | content) == sorted(written)
