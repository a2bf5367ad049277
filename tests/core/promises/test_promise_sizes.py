"""The promises at the ends of the scale: windows up to 128K, and one line of 16 MB."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import BudgetError

from .driver import Call, Host, Setup, assistant, held, opened, requests, result, user
from .histories import effort, histories, schedules, setups, tame
from .rules import breaks_at, pairs_broken, sent
from .test_promise_2_partition import check

if TYPE_CHECKING:
    from squidbot.core.engine import Inputs
    from squidbot.core.messages import Message

MEGABYTE = 1 << 20
# Generous: the CPU of a shared machine. What must not be is minutes.
MOST_SECONDS = 60.0


def check_call(setup: Setup, call: Call) -> None:
    """Check one request against the window, the pairs, and its own report."""
    if call.assembly is None:
        return
    assert call.assembly.cost.bound + setup.window.reserved_output_tokens <= setup.window_tokens
    assert pairs_broken(sent(call.assembly)) is None
    spans = call.assembly.report.spans
    covered = [seq for span in spans for seq in range(span.first_seq, span.last_seq + 1)]
    assert covered == list(range(len(call.before.messages) + len(call.assembly.incoming)))
    for span in spans:
        for seq in range(span.first_seq, span.last_seq + 1):
            check(call, span, seq)


@effort(4)
@given(
    history=histories(most=60_000, largest=16),
    turns=st.integers(0, 30),
    setup=setups(windows=(16_384, 32_768, 65_536, 131_072)),
    given=schedules(),
    restarts=st.frozensets(st.integers(0, 20)),
)
def test_large_windows_keep_the_promises_of_small_ones(
    history: list[Message], turns: int, setup: Setup, given: list[Inputs], restarts: frozenset[int]
) -> None:
    """Budget, pairs, partition, prefix, with long texts and restarts."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], restarts=restarts)
    said = [*tame(turns, 600), *history, *tame(3, 300, start=turns)]
    for call in host.run(said):
        check_call(setup, call)
    for old, new in pairwise(requests(host.calls)):
        assert new.event is not None or breaks_at(old, new) is None


@pytest.mark.parametrize("window_tokens", [2048, pytest.param(131_072, marks=pytest.mark.slow)])
def test_tool_result_of_one_line_of_16_megabytes_is_cut_and_kept(window_tokens: int) -> None:
    """Sent as head, tail and handle; stored byte for byte; the next turn is as quick as any."""
    huge = "0123456789abcdef" * MEGABYTE
    host = Host(InMemoryStore(), Setup(window_tokens))
    started = time.process_time()
    history = [user("dump it"), assistant("", ("a", "cat", "{}")), result("a", huge), assistant("done"), user("and?")]
    for call in host.run(history):
        check_call(host.setup, call)
        assert sum(map(len, call.request.payloads)) < window_tokens * 8
    assert time.process_time() - started < MOST_SECONDS
    row = held(host.store).messages[2]
    assert json.loads(row.payload)["content"] == huge
    assert row.sent_text is not None
    assert "16,777,216 characters left out" in row.sent_text or "of 16,777,216 characters" in row.sent_text
    assert row.sent_text.startswith("0123456789abcdef")
    assert row.sent_text.endswith("0123456789abcdef")


def test_argument_of_one_line_of_16_megabytes_is_cut_and_stays_json() -> None:
    """A file that the assistant wrote: its path stays, its content is cut, the call has its result."""
    arguments = json.dumps({"path": "a/b.py", "content": "x = 1; " * (16 * MEGABYTE // 7)})
    host = Host(InMemoryStore(), Setup(8192))
    started = time.process_time()
    history = [user("write it"), assistant("", ("a", "write", arguments)), result("a", "ok"), assistant("done")]
    for call in host.run([*history, user("and?")]):
        check_call(host.setup, call)
    assert time.process_time() - started < MOST_SECONDS
    row = held(host.store).messages[1]
    assert row.sent_arguments is not None
    (cut,) = row.sent_arguments
    assert json.loads(cut)["path"] == "a/b.py"
    assert len(cut) < 8192 * 8
    assert json.loads(row.payload)["tool_calls"][0]["function"]["arguments"] == arguments


def test_user_message_of_16_megabytes_is_refused_with_its_size() -> None:
    """A user's text is never cut: the error says how much it is, and the session goes on."""
    session = opened(InMemoryStore(), Setup(8192))
    with pytest.raises(BudgetError, match=r"^current turn: \d{6,}; with all"):
        session.assemble([user("0123456789abcdef" * MEGABYTE)])
    assert session.assemble([user("hello")]).payloads
