"""What the host gives beside the conversation."""

from __future__ import annotations

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.compaction.turn import Inputs
from squidbot.core.errors import BudgetError
from squidbot.core.messages import Cost, Kind
from squidbot.core.plan import Section
from squidbot.core.tokens.counters import REQUEST_TOKENS
from squidbot.core.transcript.pins import Pins

from .promises.driver import CLASSES, Setup, opened, user


def test_nothing_given_costs_what_primes_the_answer() -> None:
    """No part, no hash; the first token of a request and the opening of its answer are there all the same."""
    given = Inputs()
    assert given.system_parts(CLASSES) == ()
    assert given.tools_cost(CLASSES) == Cost(REQUEST_TOKENS, REQUEST_TOKENS)
    assert (given.system_digest, given.tools_digest, given.head(Pins())) == ("", "", ())


def test_system_text_is_the_first_part() -> None:
    """In front of the conversation, as it is."""
    made = opened(InMemoryStore(), Setup(4096)).assemble([user("hello")], Inputs(system="Be brief."))
    assert (made.parts[0].kind, made.parts[0].role, made.parts[0].text) == (Kind.SYSTEM, "system", "Be brief.")


def test_tools_are_counted_and_not_sent() -> None:
    """The host sends them itself."""
    session = opened(InMemoryStore(), Setup(4096))
    tools = '[{"name": "read"}]'
    with_tools, without = session.assemble([user("x")], Inputs(tools=tools)), session.assemble([user("x")])
    assert with_tools.cost == without.cost.plus(CLASSES.message(tools))
    assert with_tools.payloads == without.payloads


def test_head_is_the_sections_with_text_then_pins() -> None:
    """In the host's order."""
    given = Inputs(sections=(Section("memory", "tea"), Section("profile", ""), Section("traits", "calm")))
    pins = Pins(texts=(Section("pin goal", "win"),))
    assert [one.name for one in given.head(pins)] == ["memory", "traits", "pin goal"]


def test_first_request_has_its_head_in_front() -> None:
    """Frozen by a plan whose cause is "opened"."""
    made = opened(InMemoryStore(), Setup(4096)).assemble([user("x")], Inputs(sections=(Section("memory", "tea"),)))
    assert [part.kind for part in made.parts] == [Kind.MEMORY, Kind.MESSAGE]
    assert made.event is not None
    assert (made.event.cause, made.event.plan_id, made.event.parent_plan_id) == ("opened", 0, None)


@pytest.mark.parametrize(
    ("given", "culprit"),
    [
        (Inputs(system="rule " * 9000), "system text"),
        (Inputs(tools="tool " * 9000), "tools"),
        (Inputs(sections=(Section("memory", "fact " * 9000),)), "memory document"),
        (Inputs(), "current turn"),
    ],
)
def test_request_that_can_not_fit_names_what_takes_the_room(given: Inputs, culprit: str) -> None:
    """The largest part, in tokens, with the key to change."""
    text = "word " * 9000 if culprit == "current turn" else "hello"
    with pytest.raises(BudgetError, match=f"^{culprit}: ") as raised:
        opened(InMemoryStore(), Setup(4096)).assemble([user(text)], given)
    assert raised.value.cost > raised.value.budget
    assert raised.value.unit == "tokens"
    assert raised.value.key.startswith("window.default")
