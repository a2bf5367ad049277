"""Observer: spans and metrics by OpenTelemetry's API. The application brings the SDK, and says where they go.

Names that begin with `gen_ai.` are those of OpenTelemetry's semantic conventions for generative AI, v0.1.0
(open-telemetry/semantic-conventions-genai). All others begin with `squidbot.`; docs/observability.md lists both.

Nothing of what was said, searched or remembered leaves squidbot, unless
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT asks for it. Scopes, and so ids of users, never do. Errors are told
by their class alone, since their texts may quote; causes of events only if they are from a closed set.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

from opentelemetry import metrics, trace
from opentelemetry.context import attach, create_key, detach, get_value, set_value
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from squidbot.core import events
from squidbot.core.budget import CRITICAL, EMERGENCY, JOURNAL, WARN
from squidbot.core.operations import SessionOperation
from squidbot.core.plan import CAUSES, Representation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.metrics import Counter, Meter

    from squidbot.core.events import Event
    from squidbot.core.operations import Operation
    from squidbot.core.plan import PlanRecord

__all__ = ["OpenTelemetryObserver"]

Attributes: TypeAlias = "dict[str, str | bool | int | float]"

# The variable of OpenTelemetry's own instrumentations of Python packages, and the values that put content into spans.
CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
CAPTURED: Final = frozenset({"true", "span_only", "span_and_event"})
# Causes that are words of squidbot's; others are sentences, which may quote.
KNOWN_CAUSES: Final = CAUSES | {WARN, JOURNAL, CRITICAL, EMERGENCY}
OWN: Final = frozenset(get_args(SessionOperation))
# What the attributes of the operation's own span tell already.
NO_SPAN_EVENT: Final = frozenset({events.CONTEXT_ASSEMBLED, events.VIEW_PLAN_CHANGED})
# The bounds of histograms in seconds, as the conventions have them; and of squidbot's own calls, most of which take
# less than the first of those.
GENAI_SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
OWN_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
TOKENS: Final = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304)

# The innermost open span of squidbot's: extensions may open spans within it.
_OPEN: Final = create_key("squidbot-span")


class OpenTelemetryObserver:
    """Makes spans of operations, children of the application's current span; and metrics of these and of events."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Use the global providers; the application may set them later. `environment` asks for content, or not."""
        self._captures = environment.get(CAPTURE, "").strip().lower() in CAPTURED
        self._tracer = trace.get_tracer("squidbot")
        self._metrics = Instruments(metrics.get_meter("squidbot"))

    def notify(self, event: Event) -> None:
        """Count an event, and tell it to the span of the operation that it happens in."""
        self._metrics.count_event(event)
        span = get_value(_OPEN)
        if not isinstance(span, Span):
            return
        if event.name not in NO_SPAN_EVENT:
            span.add_event(f"squidbot.{event.name}", self._of_event(event))
        elif event.name == events.VIEW_PLAN_CHANGED:
            span.set_attributes(_of_change(event.cause, event.tokens_before, event.tokens_after))

    @contextmanager
    def watch(self, operation: Operation) -> Iterator[None]:
        """Make a span of an operation, which is the current one meanwhile."""
        first = _of_kind(operation)
        if operation.session_id:
            first["gen_ai.conversation.id"] = operation.session_id
        kind = SpanKind.CLIENT if operation.name == "chat" else SpanKind.INTERNAL
        began = perf_counter()
        span = self._tracer.start_span(_span_name(operation), kind=kind, attributes=first)
        token = attach(set_value(_OPEN, span, trace.set_span_in_context(span)))
        failure = ""
        try:
            yield
        except BaseException as error:
            failure = type(error).__qualname__
            raise
        finally:
            detach(token)
            self._end(span, operation, failure, perf_counter() - began)

    def _end(self, span: Span, operation: Operation, failure: str, seconds: float) -> None:
        self._metrics.count_operation(operation, failure, seconds)
        span.set_attributes(_of_result(operation))
        if self._captures:
            span.set_attributes(_of_content(operation))
        if failure:
            span.set_attribute("error.type", failure)
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def _of_event(self, event: Event) -> Attributes:
        told: Attributes = {}
        if event.cause and (self._captures or event.cause in KNOWN_CAUSES):
            told["squidbot.event.cause"] = event.cause
        if event.tokens_before or event.tokens_after:
            told["squidbot.event.tokens_before"] = event.tokens_before
            told["squidbot.event.tokens_after"] = event.tokens_after
        if event.fraction:
            told["squidbot.event.fraction"] = event.fraction
        return told


def _span_name(operation: Operation) -> str:
    """Return the name of a span: low in cardinality, by the conventions where they have one."""
    if operation.name in OWN:
        return f"squidbot.{operation.name}"
    return f"chat {operation.model}" if operation.name == "chat" else operation.name


def _of_kind(operation: Operation) -> Attributes:
    """Return the attributes that spans and metrics of an operation share: of few values."""
    told: Attributes = {f"{'squidbot' if operation.name in OWN else 'gen_ai'}.operation.name": operation.name}
    if operation.model:
        told["gen_ai.request.model"] = operation.model
    if operation.provider:
        told["gen_ai.provider.name"] = operation.provider
    if operation.store and operation.name not in OWN:
        told["gen_ai.memory.store.id"] = operation.store
    return told


def _of_result(operation: Operation) -> Attributes:
    """Return the attributes that are known at the end of an operation."""
    told: Attributes = {}
    if operation.window_tokens:
        told["squidbot.window.tokens"] = operation.window_tokens
    if operation.request_tokens:
        told["squidbot.request.tokens"] = operation.request_tokens
    if operation.records is not None:
        told["squidbot.forgotten.messages" if operation.name in OWN else "gen_ai.memory.record.count"] = (
            operation.records
        )
    if operation.record_id:
        told["gen_ai.memory.record.id"] = operation.record_id
    if operation.usage is not None:
        told["gen_ai.usage.input_tokens"] = operation.usage.input_tokens
        told["gen_ai.usage.output_tokens"] = operation.usage.output_tokens
        if operation.usage.cached_tokens:
            told["gen_ai.usage.cache_read.input_tokens"] = operation.usage.cached_tokens
    if operation.plan is not None:
        # The conventions: set it to true, or not at all.
        if any(segment.representation is not Representation.RAW for segment in operation.plan.segments):
            told["gen_ai.conversation.compacted"] = True
        if operation.is_changed:
            told |= _of_plan(operation.plan)
    return told


def _of_change(cause: str, tokens_before: int, tokens_after: int) -> Attributes:
    return {
        "squidbot.compaction.cause": cause,
        "squidbot.compaction.tokens_before": tokens_before,
        "squidbot.compaction.tokens_after": tokens_after,
    }


def _of_plan(plan: PlanRecord) -> Attributes:
    """Return what a plan change cost, and where it broke the prompt cache."""
    told = _of_change(plan.cause, plan.tokens_before, plan.tokens_after)
    if plan.first_changed is not None and plan.first_changed.seq >= 0:
        told["squidbot.compaction.first_message"] = f"m{plan.first_changed.seq}"
    if plan.price is not None:
        told["squidbot.compaction.cost"] = plan.price.tokens
        told["squidbot.compaction.saved_per_request"] = plan.price.saved_tokens_per_request
        if plan.price.break_even_requests is not None:
            told["squidbot.compaction.break_even_requests"] = plan.price.break_even_requests
    return told


def _of_content(operation: Operation) -> Attributes:
    told: Attributes = {}
    if operation.query:
        told["gen_ai.memory.query.text"] = operation.query
    if operation.contents:
        records = [{"id": name, "content": text} for name, text in operation.contents]
        told["gen_ai.memory.records"] = json.dumps(records, ensure_ascii=False)
    return told


class Instruments:
    """The metrics, with attributes of few values: no session, no id."""

    def __init__(self, meter: Meter) -> None:
        def counter(name: str, what: str, unit: str = "{token}") -> Counter:
            return meter.create_counter(name, unit, what)

        self._events = counter("squidbot.events", "Events of squidbot.", "{event}")
        self._compactions = counter("squidbot.compactions", "Changes of what is sent of the past.", "{compaction}")
        self._cost = counter("squidbot.compaction.cost", "The cost of compactions, in uncached input tokens.")
        self._request = meter.create_histogram(
            "squidbot.request.tokens",
            "{token}",
            "The cost of requests, as an upper bound.",
            explicit_bucket_boundaries_advisory=TOKENS,
        )
        self._reported = tuple(
            counter(f"squidbot.usage.{name}", f"What hosts report of their models' calls: {what}.")
            for name, what in (
                ("input_tokens", "input, cached tokens included"),
                ("output_tokens", "output"),
                ("cache_read.input_tokens", "input read from the prompt cache"),
            )
        )
        self._used = tuple(
            counter(f"gen_ai.client.inference.usage.{name}", what)
            for name, what in (
                ("input_tokens", "Number of input tokens used."),
                ("output_tokens", "Number of output tokens used."),
            )
        )
        self._seconds = {
            name: meter.create_histogram(name, "s", what, explicit_bucket_boundaries_advisory=bounds)
            for name, what, bounds in (
                ("squidbot.operation.duration", "Duration of calls of squidbot.", OWN_SECONDS),
                ("gen_ai.client.operation.duration", "GenAI operation duration.", GENAI_SECONDS),
                ("gen_ai.client.inference.duration", "GenAI inference duration.", GENAI_SECONDS),
            )
        }

    def count_event(self, event: Event) -> None:
        """Count an event."""
        model: Attributes = {"gen_ai.request.model": event.model} if event.model else {}
        told: Attributes = {**model, "squidbot.event.name": event.name}
        if event.cause in KNOWN_CAUSES:
            told["squidbot.event.cause"] = event.cause
        self._events.add(1, told)
        if event.name == events.VIEW_PLAN_CHANGED:
            self._compactions.add(1, {**model, "squidbot.compaction.cause": event.cause})
        elif event.name == events.CONTEXT_ASSEMBLED:
            self._request.record(event.tokens_after, model)

    def count_operation(self, operation: Operation, failure: str, seconds: float) -> None:
        """Count an operation that took so long; `failure` is the class of its error, "" for none."""
        told = _of_kind(operation)
        model: Attributes = {"gen_ai.request.model": operation.model} if operation.model else {}
        if operation.usage is not None and not failure:  # a host records again what could not be stored
            counters = self._used if operation.name == "chat" else self._reported
            by = {**told, "gen_ai.token.modality": "text"} if operation.name == "chat" else model
            for counter, tokens in zip(counters, operation.usage, strict=False):
                counter.add(tokens, by)
        if operation.is_changed and operation.plan is not None and operation.plan.price is not None:
            self._cost.add(operation.plan.price.tokens, {**model, "squidbot.compaction.cause": operation.plan.cause})
        name = "squidbot" if operation.name in OWN else "gen_ai.client"
        part = "inference" if operation.name == "chat" else "operation"
        by = {**told, "error.type": failure} if failure else told
        self._seconds[f"{name}.{part}.duration"].record(seconds, by)
