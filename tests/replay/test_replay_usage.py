"""Who reports what the requests of a replay cost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.engine import ContextEngine, Inputs
from squidbot.core.errors import ConfigError
from squidbot.core.tokens.counters import builtin_counter
from squidbot.replay.recording import CODECS, Reader
from squidbot.replay.terms import terms_for
from squidbot.replay.usage import reporter_of

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.view.assembly import CoreAssembly


def recorded(folder: Path, *, billed: bool = True, turns: int = 60) -> Conversation:
    """Return a conversation whose provider took four fifths of what the default counter says at most."""
    path = folder / "talk.jsonl"
    counter, total, lines = builtin_counter("classes"), 90, []
    for number in range(turns):
        asked = f"Step {number}: read lines {number * 7} to {number * 9} of src/part_{number}.py, please. " * 6
        said = f"Part {number} opens a file, reads it and closes it again; nothing else is done there. " * 8
        total += int(counter.upper_bound(asked) * 0.8) + 4
        usage = {"usage": {"prompt_tokens": total, "completion_tokens": int(counter.upper_bound(said) * 0.8)}}
        lines += [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": said, **(usage if billed else {})},
        ]
        total += int(counter.upper_bound(said) * 0.8) + 4
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return read_transcripts(str(path))[0]


def sent(conversation: Conversation, how: str, window: int) -> list[tuple[CoreAssembly, int]]:
    """Return each request and what it cost by the recording."""
    terms = terms_for(window, None, "balanced", builtin_counter("classes"), "tokens")
    reader, store, made = Reader(conversation, CODECS), InMemoryStore(), []
    truth, biller = (reporter_of(one, conversation, terms.meter, reader) for one in ("recorded", how))
    session = ContextEngine(store, store, CODECS).session("s", terms.window, terms.meter, terms.settings)
    for index, message in enumerate(conversation.messages):
        usage = None
        if message.role == "assistant":
            request = session.assemble((), Inputs(now=float(index)))
            usage = biller(request, index) if biller else None
            real = truth(request, index) if truth else None
            assert real is not None
            made.append((request, real.input_tokens))
        session.record(message, usage=usage)
    return made


@pytest.mark.parametrize("window", [4096, 8192, 32_768, 131_072])
def test_calibrated_bound_is_near_the_bill_and_never_under(tmp_path: Path, window: int) -> None:
    """After ten calls, the requests behind events included, which are every third at 4K; by the counter it is 1.25."""
    requests = sent(recorded(tmp_path), "recorded", window)[10:]
    assert all(real <= request.certified_tokens for request, real in requests)
    ratios = [request.certified_tokens / real for request, real in requests]
    assert sum(ratios) / len(ratios) <= (1.10 if window > 4096 else 1.12)
    assert {request.certificate for request, _ in requests} >= {"anchored"}
    plain = [request.cost.bound / real for request, real in requests]
    assert sum(plain) / len(plain) > 1.2


def test_more_fits_when_the_bill_is_known(tmp_path: Path) -> None:
    """The same window holds more messages as they were said, and is never passed."""
    conversation = recorded(tmp_path)
    none, billed = (sent(conversation, how, 8192) for how in ("none", "recorded"))
    assert all(real <= 6144 for _, real in billed)
    assert sum(real for _, real in billed) > 1.05 * sum(real for _, real in none)


def test_recording_without_usage_bills_nobody(tmp_path: Path) -> None:
    """One line: it does not say what was asked for."""
    conversation = recorded(tmp_path, billed=False)
    with pytest.raises(ConfigError, match=r"^--usage recorded: .*talk.jsonl reports no usage"):
        sent(conversation, "recorded", 8192)


def test_counter_bills_each_text_with_four_tokens_around_it_and_five_around_all(tmp_path: Path) -> None:
    """As if it were the provider's tokenizer."""
    conversation = recorded(tmp_path, turns=2)
    terms = terms_for(8192, None, "balanced", builtin_counter("classes"), "tokens")
    biller = reporter_of("chars4", conversation, terms.meter, Reader(conversation, CODECS))
    request = sent(conversation, "none", 8192)[0][0]
    assert biller is not None
    usage = biller(request, 1)
    assert usage is not None
    assert usage.input_tokens == len(conversation.messages[0].text) // 4 + 4 + 5


def test_answer_costs_what_was_reported_for_it_and_a_missing_one_costs_others_nothing(tmp_path: Path) -> None:
    """Reasoning is the answer's, not the next message's; what stood between two of the user's messages is nobody's."""
    talk = [
        {"role": "user", "content": "Which of them opens the file?"},
        {"role": "assistant", "content": "part_7.", "usage": {"prompt_tokens": 100, "completion_tokens": 500}},
        {"role": "user", "content": "And which one closes it?"},
        {"role": "assistant", "content": "part_8.", "usage": {"prompt_tokens": 640, "completion_tokens": 20}},
        {"role": "user", "content": "Are you sure?"},
        {"role": "user", "content": "Are you?"},
        {"role": "assistant", "content": "Yes.", "usage": {"prompt_tokens": 9000, "completion_tokens": 20}},
    ]
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in talk), encoding="utf-8")
    conversation = read_transcripts(str(path))[0]
    terms = terms_for(131_072, None, "balanced", builtin_counter("classes"), "tokens")
    biller = reporter_of("recorded", conversation, terms.meter, Reader(conversation, CODECS))
    assert biller is not None
    requests = [request for request, _ in sent(conversation, "none", 131_072)]
    first, second, third = (biller(one, at) for one, at in zip(requests, (1, 3, 6), strict=True))
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.output_tokens, second.output_tokens) == (500, 20)
    assert second.input_tokens - first.input_tokens == pytest.approx(540, abs=1)
    assert third.input_tokens < 2000
