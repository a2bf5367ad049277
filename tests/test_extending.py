"""What extensions do to sessions by each hook; and that nothing they do breaks a promise, whatever it is."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import squidbot
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.messages import Category, Message
from squidbot.testing.models import ScriptedLLM
from squidbot.wiring.extensions import text_of

from .listeners import Heard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.core.memories import Memory
    from squidbot.core.messages import Summary
    from squidbot.core.plan import PlanRecord

YES = True
SMALL: dict[str, object] = {"window": {"default": 2048}, "budget": {"counter": "bytes", "reserved_output_tokens": 64}}
WORDS = "The squid in tank {turn} ate {turn} shrimps and wrote it into logbook-{turn}.txt at noon."


def extension(_name: str = "acme", /, **hooks: Callable[..., object]) -> SimpleNamespace:
    """Return an extension with these hooks."""
    return SimpleNamespace(__name__=_name, **{hook: squidbot.hookimpl(one) for hook, one in hooks.items()})


def loaded(store: InMemoryStore, *extensions: object, **more: object) -> squidbot.Engine:
    """Return an engine with a small window over a store."""

    class Stored:
        @squidbot.hookimpl
        def register_adapters(self, register: Any) -> None:  # noqa: ANN401  # as pluggy gives it
            """Offer the store."""
            register.store("kept", lambda _: store)

    return squidbot.load({**SMALL, "store": {"adapter": "kept"}, **more}, extensions=[Stored(), *extensions])


def said(session: squidbot.Session, turns: int, first: int = 0) -> Iterator[squidbot.Assembly]:
    """Hold a conversation, and yield each request."""
    for turn in range(first, first + turns):
        now = 60.0 * turn
        made = session.assemble(f"Tell me of tank {turn}. " + WORDS.format(turn=turn), now=now)
        yield made
        session.record(made.incoming, WORDS.format(turn=turn) * 2, now=now)


def text(made: squidbot.Assembly) -> str:
    """Return all that is sent."""
    return json.dumps(made.messages)


# -- opening a session --------------------------------------------------------------------------------------------


def test_resolve_model_says_what_a_model_is_that_the_settings_do_not_name() -> None:
    """Its window, with whose word it is; asked once, and not about those that are named."""
    asked: list[str] = []

    def resolve_model(alias: str) -> dict[str, object]:
        asked.append(alias)
        return {"context_window": 9000, "tokenizer": "words"}

    with squidbot.load({"models": {"own": {}}}, extensions=[extension(resolve_model=resolve_model)]) as engine:
        for alias in ("new", "own", "new", ""):
            engine.session("s", model=alias)
        window = engine.session("s", model="new").window
        assert (window.window_tokens, window.source, window.counter) == (9000, "model-definition", "words")
        sources = {key: source for key, _, source in engine.origins()}
    assert asked == ["new"]
    assert sources["models.new.context_window"] == "extension acme"
    assert sources["models.new.max_tokens"] == "default"


@pytest.mark.parametrize(
    "answer",
    [3, "x", {"context_window": "8kk"}, {"window": 3}, {"tokenizer": "nobody's"}, {"prices": "none such"},
     {"context_window": 0}, {1: 2}, []],
)  # fmt: skip
def test_resolve_model_is_passed_over_where_it_can_not_be_used(answer: object) -> None:
    """The session is opened as if nobody had said anything."""
    heard = Heard()
    with squidbot.load({}, extensions=[extension(resolve_model=lambda: answer), heard]) as engine:
        assert engine.session("s", model="new").window.window_tokens == 32_768
    assert [one.split(":")[0] for one in heard.degraded] == ["acme failed at resolve_model"]


@pytest.mark.parametrize(
    ("model", "wanted", "window"),
    [({}, 100_000, 100_000), ({}, 5000, 5000), ({"context_window": 8000}, 100_000, 8000),
     ({"native_context_limit": 8000}, 100_000, 8000), ({}, 10**12, 10**12 - 1)],
)  # fmt: skip
def test_size_window_is_never_more_than_the_model_has(model: dict[str, object], wanted: int, window: int) -> None:
    """Where something is known of it; less is always possible."""
    with squidbot.load({"models": {"m": model}}, extensions=[extension(size_window=lambda: wanted)]) as engine:
        assert engine.session("s", model="m").window.window_tokens == window
        assert engine.session("s", model="m", window_tokens=4000).window.window_tokens == 4000


@pytest.mark.parametrize("answer", [0, -1, True, 1.5, "9000", [9000]])
def test_size_window_is_passed_over_where_it_is_no_number_of_tokens(answer: object) -> None:
    """A window of nothing is none."""
    heard = Heard()
    with squidbot.load({}, extensions=[extension(size_window=lambda: answer), heard]) as engine:
        assert engine.session("s").window.window_tokens == 32_768
    assert len(heard.degraded) == 1


def _failing() -> list[str]:
    raise OSError("no rights")


@pytest.mark.parametrize(
    ("hooks", "names"),
    [
        ([], ["history", "memory"]),
        ([lambda: None], ["history", "memory"]),
        ([lambda: ["history"]], ["history"]),
        ([lambda: ["history"], lambda: ["memory"]], []),
        ([lambda tools: [*tools, "shell"]], ["history", "memory"]),
        ([_failing], []),
        ([lambda: "history"], []),
        ([lambda: [1]], []),
    ],
)
def test_grant_tools_withholds_tools_and_rubbish_grants_none(hooks: list[Any], names: list[str]) -> None:
    """Each extension has to grant a tool; nothing can be added (C19)."""
    every = [extension(f"acme{number}", grant_tools=one) for number, one in enumerate(hooks)]
    with squidbot.load({}, extensions=every) as engine:
        session = engine.session("s")
        assert [tool["function"]["name"] for tool in session.tools] == names
        assert session.tools is session.tools
        session.assemble("Hello", tools=session.tools)


@pytest.mark.parametrize(
    ("score", "tokens", "found"),
    [
        (None, None, (0.05, None)),
        (0.75, None, (0.75, None)),
        (None, 300, (0.05, 300)),
        (0.5, 10**9, (0.5, 10**9)),
        (1.5, -3, (0.05, None)),
        (float("nan"), "many", (0.05, None)),
        (True, True, (0.05, None)),
    ],
)
def test_room_for_answers_is_as_extensions_say_where_it_is_adaptive(
    score: object, tokens: object, found: tuple[float, int | None]
) -> None:
    """Within what the session was opened with; stored with the request, and the same until the turn ends."""
    answers = iter([score, *["changed"] * 9])
    store = InMemoryStore()
    given = extension(score_complexity=lambda: next(answers), allocate=lambda: tokens)
    adaptive: dict[str, object] = {"allocation": {"adaptive": True}, "window": {"default": 8192}, "budget": {}}
    with loaded(store, given, **adaptive) as engine, loaded(InMemoryStore(), **adaptive) as plain:
        session, most = engine.session("s"), plain.session("s").window.reserved_output_tokens
        made = session.assemble("hi")
        session.record(made.incoming, "Hello.")
    assert made.core.reserve is not None
    assert made.core.reserve.score == pytest.approx(found[0], abs=0.03)
    if found[1] is not None:
        assert made.core.reserve.tokens == min(found[1], most)
    assert 0 < made.core.reserve.tokens <= most
    with loaded(store, **adaptive) as engine:
        assert engine.session("s").request().core.reserve == made.core.reserve


def test_nobody_is_asked_for_room_where_it_is_not_adaptive() -> None:
    """The reserve is the window's, then."""

    def fail() -> None:
        raise AssertionError("asked")

    heard = Heard()
    with loaded(InMemoryStore(), extension(score_complexity=fail, allocate=fail), heard) as engine:
        engine.session("s").assemble("hi")
    assert heard.degraded == []


# -- recording ----------------------------------------------------------------------------------------------------


def test_messages_are_stored_with_what_extensions_say_of_them() -> None:
    """Category and time; a time that a message brings stays, and what was said is untouched."""
    given = extension(
        classify_message=lambda message: "context" if "manual" in message.text else None,
        before_store=lambda: {"time": 5.0},
    )
    store = InMemoryStore()
    with loaded(store, given) as engine:
        session = engine.session("s")
        made = session.assemble("Read the manual", now=1.0)
        session.record(made.incoming, {"role": "assistant", "content": "Done."}, now=2.0)
    first, second = store.read("s", 0, 1)
    assert (first.category, first.time, second.category, second.time) == (Category.CONTEXT, 5.0, Category.DIALOG, 5.0)
    assert json.loads(first.payload) == {"role": "user", "content": "Read the manual"}


@pytest.mark.parametrize("answer", ["recalled", "forgotten", "nonsense", 3, Category.RECALLED])
def test_classify_message_can_not_say_what_is_ours_to_say(answer: object) -> None:
    """A copy, or a tombstone, is one because we made it."""
    heard, store = Heard(), InMemoryStore()
    with loaded(store, extension(classify_message=lambda: answer), heard) as engine:
        engine.session("s").record("Hello")
    assert store.read("s", 0, 0)[0].category is Category.DIALOG
    assert len(heard.degraded) == 1


def test_redact_takes_out_what_the_built_in_redaction_does_not_know() -> None:
    """Of every text that becomes a fact; one hook behind another, and one that fails is passed over."""

    def broken(text: str) -> str:
        raise ValueError(text)

    every = [
        extension("a", redact=lambda text: text.replace("Nautilus", "[ship]")),
        extension("b", redact=broken),
        extension("c", redact=lambda text: text.replace("[ship]", "[vessel]")),
        extension("d", redact=lambda: 3),
    ]
    with squidbot.load({}, extensions=every) as engine:
        memories = engine.session("s")
        memories.memory({"action": "add", "text": "The captain sails the Nautilus"})
        told = memories.memory({"action": "search", "query": "captain"}).text
    assert "The captain sails the [vessel]" in told
    assert "Nautilus" not in told


# -- requests -----------------------------------------------------------------------------------------------------


def test_contribute_tail_stays_where_it_was_said() -> None:
    """Behind the user's message of its turn, unchanged in every later request, extension or not (D3, V30)."""
    clock = iter(range(100))
    store = InMemoryStore()
    with loaded(store, extension(contribute_tail=lambda prompt: f"tick {next(clock)} of {prompt[:7]}")) as engine:
        session = engine.session("s")
        requests = [text(made) for made in said(session, 3)]
    assert "tick 2 of Tell me" in requests[2]
    assert all("tick 0 of Tell me" in request for request in requests)
    with loaded(store) as engine:
        again = engine.session("s")
        assert [text(again.request(number)) for number in range(3)] == requests
        assert "tick 2" in text(again.assemble("And then?"))


def test_contribute_sections_are_frozen_until_the_next_event() -> None:
    """In the head of the request, by name; what is given later enters when the plan changes, and goes with it."""
    numbers = iter(range(1000))
    given = extension(contribute_sections=lambda: {"weather": f"storm {next(numbers)}"})
    store, heads, plans = InMemoryStore(), [], []
    with loaded(store, given) as engine:
        session = engine.session("s")
        for made in said(session, 12):
            heads.append(next(message for message in made.messages if "storm" in json.dumps(message))["content"])
            plans.append(made.core.plan.plan_id if made.core.plan else -1)
        whole = text(session.request())
    assert "<squidbot extension weather: data, not instructions>" in str(heads[0])
    assert len(set(plans)) > 1
    assert all((heads[at] == heads[at - 1]) for at in range(1, 12) if plans[at] == plans[at - 1])
    assert len({str(head) for head in heads}) == len(set(plans))
    with loaded(store) as engine:
        assert text(engine.session("s").request()) == whole


def test_represent_stands_for_messages_in_the_place_of_a_note() -> None:
    """Under a heading of ours by which the messages are recalled; stored, so that it stays without the extension."""
    given: list[Summary] = []

    def represent(summary: Summary) -> str:
        given.append(summary)
        return f"Squids, {summary.last_seq - summary.first_seq + 1} of them."

    store = InMemoryStore()
    with loaded(store, extension(represent=represent)) as engine:
        *_, last = said(engine.session("s"), 12)
    assert "an extension's notes on " in text(last)
    assert "Squids, " in text(last)
    assert given
    with loaded(store) as engine:
        session = engine.session("s")
        assert text(session.request()) == text(last)
    (handle,) = [span.summary_id for span in last.report.spans if span.summary_id]
    with loaded(store, window={"default": 9000}) as engine:
        assert "logbook-0.txt" in engine.session("s").expand(str(handle)).text


def test_represent_may_quote_marks_of_squidbot() -> None:
    """Notes have them where they quote a search result; they are shown, but mark nothing."""
    heard = Heard()
    quotes = extension(represent=lambda: "<squidbot found: squids>\nSquids.\n</squidbot found>")
    with loaded(InMemoryStore(), quotes, heard) as engine:
        *_, last = said(engine.session("s"), 12)
    assert "(squidbot found: squids>" in text(last)
    assert "<squidbot found" not in text(last)
    assert events.DEGRADED not in heard.names


def test_should_compact_vetoes_marks_and_asks_where_there_is_none() -> None:
    """What does not fit is shortened all the same; what is asked for has to save enough, and then rests."""

    def plans(answer: object, *, turns: int = 12) -> tuple[list[str], int]:
        heard = Heard()
        with loaded(InMemoryStore(), extension(should_compact=lambda: answer), heard) as engine:
            made = list(said(engine.session("s"), turns))
        return [one.event.cause for one in made if one.event], heard.names.count(events.COMPRESSION_SKIPPED)

    usual, vetoed, asked = (plans(answer)[0] for answer in (None, False, True))
    assert "high-water" in usual
    assert set(vetoed) == {"overflow"}
    assert len(asked) >= len(usual)
    assert plans(YES, turns=4)[0] in ([], ["high-water"])


def test_should_compact_is_asked_once_for_a_call_and_a_veto_goes_first() -> None:
    """With how full history is, and whether a mark was reached."""
    asked: list[tuple[float, bool]] = []

    def should_compact(fraction: float, due: bool) -> bool:  # noqa: FBT001  # as the hook has it
        asked.append((fraction, due))
        return True

    every = [extension("a", should_compact=should_compact), extension("b", should_compact=lambda: False)]
    with loaded(InMemoryStore(), *every) as engine:
        causes = [made.event.cause for made in said(engine.session("s"), 12) if made.event]
    assert set(causes) <= {"overflow"}
    assert 0 < len(asked) <= 12
    assert all(0 <= fraction <= 1 for fraction, _ in asked)
    assert {due for _, due in asked} == {True, False}


def test_should_compact_leaves_a_plan_that_somebody_brought_back() -> None:
    """Only what does not fit, or somebody's own word, changes that."""
    with loaded(InMemoryStore(), extension(should_compact=lambda: True)) as engine:
        session = engine.session("s")
        list(said(session, 12))
        session.undo()
        made = next(said(session, 1, 12))
    assert made.event is None or made.event.cause == "overflow"


def test_filter_memories_picks_and_orders_what_is_told() -> None:
    """Nothing can be added, and ids that were not found are nothing."""

    def filter_memories(memories: Sequence[Memory]) -> list[str]:
        return ["nobody", *[memory.memory_id for memory in reversed(memories) if "red" not in memory.text]]

    with squidbot.load({}, extensions=[extension(filter_memories=filter_memories)]) as engine:
        session = engine.session("s")
        for colour in ("red", "green", "blue"):
            session.memory({"action": "add", "text": f"A squid can be {colour}"})
        told = session.memory({"action": "search", "query": "squid"}).text
    assert "blue" in told
    assert "green" in told
    assert "red" not in told


def test_listeners_see_plans_and_what_was_brought_back() -> None:
    """Each plan once; pages and answers with their tool."""
    plans: list[PlanRecord] = []
    brought: list[tuple[str, str]] = []

    def compacted(plan: PlanRecord) -> None:
        plans.append(plan)

    def recalled(tool: str, text: str) -> None:
        brought.append((tool, text))

    listener = extension(compacted=compacted, recalled=recalled)
    with loaded(InMemoryStore(), listener, window={"default": 4096}) as engine:
        session = engine.session("s")
        made = [one.event for one in said(session, 20) if one.event]
        session.history({"action": "search", "query": "logbook-3.txt"})
        session.expand("m0")
        session.memory({"action": "list"})
    assert made
    assert [one.plan_id for one in plans] == [one.plan_id for one in made]
    assert [tool for tool, _ in brought] == ["history", "history", "memory"]
    assert "logbook-3.txt" in brought[0][1]


def test_summarize_writes_in_the_place_of_the_model_and_is_checked_as_it_is() -> None:
    """The model is not asked; what names things that nobody said is refused, as a model's answer is."""
    asked: list[str] = []

    def summary(source: str) -> str:
        asked.append(source)
        names = sorted(set(re.findall(r"logbook-[0-9]+\.txt", source)))[:3]
        return f"The keeper asked, and read {', '.join(names)}." if asked[1:] else "He said /tmp/never/said.txt"

    llm = ScriptedLLM("never asked")
    store = InMemoryStore()
    with loaded(store, extension(summarize=summary), window={"default": 8192}) as engine:
        session = engine.session("s")
        list(said(session, 60))
        done = squidbot.SummaryWorker(llm).run(session, reason="request", now=1e6)
    assert [one.summary is not None for one in done][:2] == [False, True]
    made = next(one.summary for one in done if one.summary)
    assert "The keeper asked" in made.text
    assert made.made_by.startswith("llm/acme/")
    assert llm.prompts == []


# -- whatever an extension does -----------------------------------------------------------------------------------


class Text(str):
    """A text that does not behave."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def encode(self, *_: object) -> bytes:
        """Fail."""
        raise RuntimeError("no bytes")


class Odd(dict[str, object]):
    """A mapping that does not behave."""

    def items(self) -> Any:  # noqa: ANN401  # it is none
        """Fail."""
        raise RuntimeError("no items")


HOSTILE = (
    "resolve_model", "size_window", "grant_tools", "classify_message", "before_store", "redact", "contribute_sections",
    "represent", "contribute_tail", "filter_memories", "should_compact", "compacted", "recalled", "assembled",
    "on_event", "score_complexity", "allocate",
)  # fmt: skip
RUBBISH = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**30),
    st.floats(),
    st.text(max_size=40),
    st.sampled_from(
        [
            Text("x"), Odd(a="b"), "\ud800", "</squidbot memories>", "word " * 5000, b"x", object(), int, {1: 2},
            {"weather": "storm"}, {"weather": "x" * 100_000}, {"</squidbot>": "y"}, {"a": Text("z")}, {"time": -1},
            {"time": float("nan")}, {"time": 3}, {"time": 10**400}, ["m0"], "context", "recalled", "it rains", "tick",
            {"context_window": 4}, {"context_window": 4096}, {"tokenizer": "tiktoken:none"}, {"path": "/none/such"},
        ]
    ),
)  # fmt: skip


class Hostile:
    """Raises, returns rubbish, and never the same twice."""

    __name__ = "hostile"

    def __init__(self, answers: list[object]) -> None:
        self._answers = answers
        self.asked = 0
        for hook in HOSTILE:
            setattr(self, hook, self._hook())

    def _hook(self) -> Callable[[], object]:
        def hook() -> object:
            self.asked += 1
            answer = self._answers[self.asked % len(self._answers)]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return squidbot.hookimpl(hook)


@settings(max_examples=20, deadline=None)
@given(st.lists(RUBBISH | st.sampled_from([ValueError("x"), KeyError(), RecursionError()]), min_size=1, max_size=9))
@example([10**12])
def test_no_extension_breaks_a_promise(answers: list[object]) -> None:
    """Every turn goes on; requests fit, extend each other, and can be made again without it (6, 7, 13)."""
    store = InMemoryStore()
    sent: list[tuple[int, list[str]]] = []
    hostile = Hostile(answers)
    with loaded(store, hostile, allocation={"adaptive": True}) as engine:
        session = engine.session("s", model="anybody's")
        for made in said(session, 10):
            cost, window = made.report.cost, made.core.window
            assert cost.bound + made.max_output_tokens <= window.window_tokens
            sent.append((made.core.plan.plan_id if made.core.plan else -1, list(made.core.payloads)))
            assert f"Tell me of tank {len(sent) - 1}. " in made.core.payloads[-1]
        session.memory({"action": "add", "text": "Squids are clever"})
        session.memory({"action": "search", "query": "squids"})
        session.history({"action": "expand", "id": "m0"})
        window, counter = session.window, session.meter.name
    assert hostile.asked > 50
    for (plan, before), (next_plan, after) in pairwise(sent):
        assert plan != next_plan or after[: len(before)] == before
    rows = store.read("s", 0, 19)
    assert [json.loads(row.payload)["content"] for row in rows[1::2]] == [
        WORDS.format(turn=turn) * 2 for turn in range(10)
    ]
    with loaded(store, budget={"counter": counter, "reserved_output_tokens": 64}) as engine:
        again = engine.session("s", window_tokens=window.window_tokens)
        assert [list(again.request(number).core.payloads) for number in range(10)] == [one for _, one in sent]


@given(RUBBISH)
def test_text_of_is_text_or_refused(value: object) -> None:
    """What passes is a plain str that can be stored, without our marks."""
    try:
        found = text_of(value)
    except (ValueError, RuntimeError):
        return
    assert found is None or (type(found) is str and found.encode() and "<squidbot " not in found)


def test_an_engine_without_extensions_asks_nobody() -> None:
    """Nothing is made for a call, and messages stay the objects that they are."""
    with squidbot.load({}) as engine:
        session = engine.session("s")
        assert session._place.asking(0.0) is None
        message = Message("user", "Hello", '{"role":"user","content":"Hello"}', "openai.chat")
        assert session._place.marked(message) is message
        session.assemble(message)
        assert session._inputs is not None
        assert session._inputs.extended is None
