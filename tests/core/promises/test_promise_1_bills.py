"""Promises 1, 6 and 13 where usage is reported: a tokenizer that is as hostile as its bound lets it be."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import BudgetError
from squidbot.core.messages import Usage

from .driver import Host, Setup, assistant, opened, requests, result, user
from .histories import effort, histories, schedules, setups, tame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.engine import Inputs
    from squidbot.core.messages import Message, Part
    from squidbot.core.view.assembly import CoreAssembly

EASY = "It is what we said before, and we say it again. " * 12
DENSE = (
    "TWFueSBoYW5kcyBtYWtlIGxpZ2h0IHdvcmsuCg" * 14,
    "\U0001f980\U0001f9ff\U0001fae0" * 90,
    "記憶は窓より大きい。" * 60,
    '{"id":"3f2504e0-4f89-11d3-9a0c-0305e82c3301","n":[0.1,22,333]}' * 9,
)


class Tokenizer:
    """Takes any share of its bound for a text: the same one for the same text, whatever stands beside it."""

    def __init__(self, percents: list[int], hidden: int = 0, thought: int = 0) -> None:
        """`hidden` tokens come with each request untold, and `thought` with each answer, which are no input later."""
        self.percents = percents
        self.hidden = hidden
        self.thought = thought

    def part(self, one: Part) -> int:
        """Return the tokens of a part."""
        said = f"{one.payload}{one.text}{one.arguments}{one.notice}".encode("utf-8", "surrogatepass")
        return max(1, one.cost.bound * self.percents[crc32(said) % len(self.percents)] // 100)

    def __call__(self, assembly: CoreAssembly) -> int:
        """Return the tokens of a request; its tools cost half their bound."""
        tools = assembly.cost.bound - sum(part.cost.bound for part in assembly.parts)
        return self.hidden + tools // 2 + sum(map(self.part, assembly.parts))

    def usage(self, assembly: CoreAssembly) -> Usage:
        """Return what is reported for a request."""
        return Usage(self(assembly), 10 + self.thought)


def check_fits(host: Host, tokens: Tokenizer) -> None:
    """Check that each request is at most what is certified, and fits the window."""
    window = host.setup.window
    for assembly in requests(host.calls):
        certified = assembly.certified_tokens or assembly.cost.bound
        assert certified + window.reserved_output_tokens <= window.window_tokens
        if assembly.certified_tokens or not tokens.hidden:
            assert tokens(assembly) <= certified, assembly.certificate


PERCENTS = st.lists(st.sampled_from([10, 40, 45, 50, 60, 75, 90, 100]), min_size=1, max_size=5)


@effort(60)
@given(
    history=histories(),
    setup=setups(),
    given=schedules(),
    tokens=st.builds(Tokenizer, PERCENTS, thought=st.sampled_from([0, 0, 300, 4000])),
    restarts=st.frozensets(st.integers(0, 14)),
)
def test_no_request_is_larger_than_certified_whatever_its_texts_cost(
    history: list[Message], setup: Setup, given: list[Inputs], tokens: Tokenizer, restarts: frozenset[int]
) -> None:
    """Each text costs between nothing and its bound, and no two need have anything in common."""
    host = Host(
        InMemoryStore(),
        setup,
        inputs=lambda number: given[number % len(given)],
        usage=tokens.usage,
        restarts=restarts,
        watch=False,
    )
    host.run(history)
    check_fits(host, tokens)


@effort(30)
@given(
    kinds=st.lists(st.integers(0, len(DENSE) * 3), min_size=8, max_size=40),
    window_tokens=st.sampled_from([2048, 4096, 8192, 32_768, 131_072]),
    cheap=st.integers(10, 60),
)
def test_dense_text_behind_easy_one_is_never_under(kinds: list[int], window_tokens: int, cheap: int) -> None:
    """What easy text has taught holds for it alone: base64, emoji, Japanese and JSON come at their full bound."""
    setup = Setup(window_tokens)
    tokens = _Unfair(cheap)
    host = Host(InMemoryStore(), setup, usage=tokens.usage, watch=False)
    times = max(1, window_tokens // 8192)
    for number, kind in enumerate([len(DENSE)] * 12 + kinds):
        text = (DENSE[kind] if kind < len(DENSE) else EASY) * times
        if number % 3:
            host.run([user(f"{number} {text}"), assistant(f"said {number}")])
        else:
            called = assistant("look", (f"c{number}", "f", "{}"))
            host.run([user(f"{number}?"), called, result(f"c{number}", text), assistant("seen")])
    check_fits(host, tokens)


class _Unfair(Tokenizer):
    """Easy text costs a share, all other text its whole bound."""

    def __init__(self, percent: int) -> None:
        super().__init__([percent])

    def part(self, one: Part) -> int:
        easy = "It is what we said" in f"{one.payload}{one.text}" and one.text is None
        return one.cost.bound * (self.percents[0] if easy else 100) // 100


@effort(40)
@given(
    steps=st.lists(
        st.tuples(st.integers(1, 60), st.integers(0, 12), st.sampled_from([0, 30, 30, 300, 900])),
        min_size=10,
        max_size=50,
    ),
    window_tokens=st.sampled_from([8192, 16_384, 32_768]),
    percents=st.lists(st.sampled_from([60, 75, 90, 100]), min_size=1, max_size=5),
)
def test_reasoning_that_comes_back_unseen_is_in_what_is_certified(
    steps: list[tuple[int, int, int]], window_tokens: int, percents: list[int]
) -> None:
    """The provider counts with each answer what its message does not show, whether the answer is sent whole or cut.

    Texts cost more than half their bound, as with all known tokenizers: what comes back is told from them by that.
    """
    with suppress(BudgetError):  # what comes back is known, and too much
        for real, certified, limit in _remembered(steps, window_tokens, percents):
            assert real <= certified <= limit


def test_request_that_reasoning_makes_too_large_is_refused_with_its_size() -> None:
    """By its texts alone it would fit, and no event makes it smaller: the model would have refused it."""
    steps = [
        (1, 0, 0),
        *[(1, read, 900) for read in (4, 7, 6)],
        (1, 9, 0),
        (1, 4, 0),
        (1, 1, 0),
        (1, 8, 900),
        (1, 8, 0),
    ]
    with pytest.raises(BudgetError, match=r"with what its provider adds to answers, cost \d+ of 6144 tokens"):
        list(_remembered(steps, 8192, [75]))


def _remembered(
    steps: list[tuple[int, int, int]], window_tokens: int, percents: list[int]
) -> Iterator[tuple[int, int, int]]:
    """Talk in steps of (words said, texts read, reasoning); yield what each request costs, is certified as, and may."""
    tokens = _Remembering(percents)
    session = opened(InMemoryStore(), Setup(window_tokens))
    open_call = False
    for number, (said, read, thought) in enumerate(steps):
        came = result(f"c{number - 1}", f"{number} {EASY * read}") if open_call else user(f"{number}? {EASY * read}")
        made = session.assemble([came])
        real, certified = tokens(made), made.certified_tokens or made.cost.bound
        yield real, certified, made.window.window_tokens - made.max_output_tokens
        open_call = number % 4 > 0
        answer = assistant("It is so. " * said, *[(f"c{number}", "f", "{}")] * open_call)
        output_tokens = session._state.context.renderer.meter.said(answer).bound + thought
        *_, row = session.record(*made.incoming, answer, usage=Usage(real, output_tokens))
        tokens.thoughts[row.seq] = thought


class _Remembering(Tokenizer):
    """Keeps of each answer what its message does not show; messages of answers cost their whole bound."""

    def __init__(self, percents: list[int]) -> None:
        super().__init__(percents)
        self.thoughts: dict[int, int] = {}

    def part(self, one: Part) -> int:
        if one.role == "assistant" and one.payload is not None:
            return one.cost.bound + self.thoughts[one.first_seq]
        return super().part(one)


@effort(25)
@given(history=histories(), setup=setups(), percents=PERCENTS)
def test_billed_request_is_made_again_byte_for_byte(history: list[Message], setup: Setup, percents: list[int]) -> None:
    """Cost, limit, certificate and what was certified are those of then, whatever was learned since."""
    tokens = Tokenizer(percents)
    store = InMemoryStore()
    host = Host(store, setup, usage=tokens.usage, watch=False)
    host.run([*history, user("and now?"), assistant("now")])
    again = opened(store, setup)
    answered = [call.assembly for call in host.calls if call.assembly is not None]
    for number, sent in enumerate(answered):
        made = again.request(number)
        assert made.payloads == sent.payloads
        assert (made.cost, made.limit, made.certified_tokens) == (sent.cost, sent.limit, sent.certified_tokens)


def test_more_is_sent_raw_when_the_provider_counts_less() -> None:
    """Half the bound in real tokens: more stands before the first event, and behind each."""
    sizes = []
    for usage in (None, Tokenizer([50])):
        host = Host(InMemoryStore(), Setup(8192), watch=False)
        host = replace(host, usage=usage.usage) if usage else host
        host.run(tame(30, 120))
        sizes.append(sum(len(request.parts) for request in requests(host.calls)))
    assert sizes[1] > 1.3 * sizes[0]
