"""Other libraries' managers are replayed by their own code, and stay what they are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.managers import MANAGERS, Manager, available, missing
from squidbot.core.tokens.counters import builtin_counter
from squidbot.replay.metrics import Ruler
from squidbot.replay.recording import CODECS, Reader, Recording, RequestBlock, recording_of
from squidbot.replay.rivals import score_rival
from squidbot.replay.runner import Places, conversations_of

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "session.jsonl"
BUDGET_TOKENS = 3_904
HERE = [each for each in MANAGERS if each in available()]


@pytest.fixture(scope="module")
def ruler() -> Ruler:
    """Return a ruler."""
    return Ruler(builtin_counter("classes"))


@pytest.fixture(scope="module")
def recording() -> Recording:
    """Return the example."""
    (conversation,) = conversations_of(Places((str(EXAMPLE),)))
    return recording_of(conversation, Reader(conversation, CODECS))


def test_each_manager_is_installed_or_named_as_missing() -> None:
    """None goes silently."""
    assert {each.name for each in HERE} | set(missing()) == {each.name for each in MANAGERS}
    assert "LangChain trim_messages" in {each.name for each in HERE}


@pytest.mark.parametrize("kind", HERE, ids=lambda kind: kind.name)
def test_a_managers_requests_keep_calls_with_results(kind: type[Manager], recording: Recording, ruler: Ruler) -> None:
    """Each call of the example gets a request; none has a result without its call."""
    tally = score_rival(kind(BUDGET_TOKENS, ruler), recording, ruler, lambda: None).tally
    assert tally.calls == len(recording.calls)
    assert tally.pairs_broken == 0
    assert tally.tokens > 0


def test_trimmed_requests_fit(recording: Recording, ruler: Ruler) -> None:
    """`trim_messages` counts by the ruler of the replay."""
    kind = next(each for each in HERE if each.name == "LangChain trim_messages")
    tally = score_rival(kind(BUDGET_TOKENS, ruler), recording, ruler, lambda: None).tally
    assert tally.over == 0
    assert tally.largest_tokens <= BUDGET_TOKENS


def test_a_summary_stands_in_for_a_models_and_is_billed(recording: Recording, ruler: Ruler) -> None:
    """The same extract for all who have a model write; its input and output are paid for."""
    kind = next(each for each in HERE if each.name == "LangChain SummarizationMiddleware")
    manager = kind(BUDGET_TOKENS, ruler)
    billed = 0
    for message in recording.messages[:200]:
        manager.add(message)
        request = manager.request()
        billed += len(manager.summaries)
        if manager.summaries:
            assert manager.summaries[0].input_tokens > manager.summaries[0].output_tokens > 0
            assert any(block.kind == "summary" for block in request)
        manager.summaries = []
    assert billed > 0


def test_shortened_outputs_are_no_longer_verbatim(ruler: Ruler) -> None:
    """What a library shortens counts as shortened, whatever its role."""
    kind = next((each for each in HERE if "ToolOutputTrimmer" in each.name), None)
    if kind is None:
        pytest.skip("openai-agents is not installed")
    manager = kind(BUDGET_TOKENS, ruler)
    manager.add((RequestBlock("user", "message", "Look."),))
    manager.add((RequestBlock("assistant", "message", "", tool_calls=("c1",)),))
    manager.add((RequestBlock("tool", "message", "row " * 500, tool_result="c1"),))
    for text in ("And now?", "And then?"):
        manager.add((RequestBlock("user", "message", text),))
    result = next(block for block in manager.request() if block.tool_result == "c1")
    assert result.kind == "slimmed"
    assert len(result.text) < 1_000
