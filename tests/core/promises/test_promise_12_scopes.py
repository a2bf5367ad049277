"""Promise 12: two sessions in one store never share text, summaries, notes or pins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore

from .driver import Host, Setup, assistant, result, user
from .histories import effort, histories, setups, tame
from .test_promise_6_same_bytes import outcome

if TYPE_CHECKING:
    from squidbot.core.messages import Message


def turn_about(hosts: list[Host], histories: list[list[Message]], pins: dict[int, tuple[int, str]]) -> None:
    """Run histories through their hosts message by message in turn; pins are (host's reply) -> (seq, text)."""
    for place in range(max(map(len, histories), default=0)):
        for host, history in zip(hosts, histories, strict=True):
            if place < len(history):
                step(host, history[place], pins)
    for host in hosts:
        if host.pending:
            host.call()


def step(host: Host, one: Message, pins: dict[int, tuple[int, str]]) -> None:
    """Give a host one message; after a reply, pin what is to be pinned there."""
    if one.role != "assistant":
        host.pending.append(one)
        return
    host.reply(one)
    if host.replies in pins and host.session is not None:
        seq, text = pins[host.replies]
        host.session.pin(seq)
        host.session.pin_text(host.session_id, text)


@effort(20)
@given(
    first=histories(),
    second=histories(),
    setup=setups(),
    pins=st.dictionaries(st.integers(1, 8), st.tuples(st.integers(0, 12), st.sampled_from(["", "win"])), max_size=3),
)
def test_session_gives_the_same_bytes_whoever_else_is_in_its_store(
    first: list[Message], second: list[Message], setup: Setup, pins: dict[int, tuple[int, str]]
) -> None:
    """Two sessions side by side, in turn, and each of them alone."""
    store = InMemoryStore()
    both = [Host(store, setup, session_id=name, watch=False) for name in ("a", "b")]
    turn_about(both, [first, second], pins)
    for host, history in zip(both, (first, second), strict=True):
        alone = Host(InMemoryStore(), setup, session_id=host.session_id, watch=False)
        turn_about([alone], [history], pins)
        assert list(map(outcome, host.calls)) == list(map(outcome, alone.calls))


def test_words_of_one_session_are_in_no_request_of_another() -> None:
    """Names, numbers and paths that notes like, with equal ids and equal seqs in both."""
    store = InMemoryStore()
    hosts = [Host(store, Setup(4096), session_id=name, watch=False) for name in ("alpha", "beta")]
    for number in range(20):
        for host in hosts:
            word = host.session_id
            host.run([user(f"open src/{word}/main_{number}.py please " + "and look " * 80)])
            host.reply(assistant("", ("c", "read", f'{{"path": "src/{word}/main_{number}.py"}}')))
            host.run([result("c", f"Error: {word}_error_{number} " + "text " * 120), assistant(f"decided: {word}")])
            if host.session is not None and number == 3:
                host.session.pin(1)
                host.session.pin_text("goal", f"the {word} goal")
    for host, other in zip(hosts, reversed(hosts), strict=True):
        sent = [payload for call in host.calls if call.assembly for payload in call.assembly.payloads]
        assert any(host.session_id in payload for payload in sent)
        assert not any(other.session_id in payload for payload in sent)
        assert any(call.assembly.standing.blocks for call in host.calls if call.assembly)


def test_summaries_of_a_session_are_found_under_its_own_id_only() -> None:
    """Two sessions that said the same have the same summary ids, each its own (B-12)."""
    store = InMemoryStore()
    host = Host(store, Setup(4096), session_id="a", watch=False)
    host.run(tame(20, 60))
    ids = [one.summary_id for one in store.for_range("a", 0, 10_000)]
    assert ids
    assert store.for_range("b", 0, 10_000) == []
    assert store.by_id("b", ids) == []
    again = Host(store, Setup(4096), session_id="b", watch=False)
    again.run(tame(20, 60))
    assert [one.summary_id for one in store.for_range("b", 0, 10_000)] == ids
    assert {one.session_id for one in store.for_range("b", 0, 10_000)} == {"b"}
