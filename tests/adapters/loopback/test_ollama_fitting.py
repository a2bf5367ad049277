"""No answer is made from half a prompt: refused before it is sent, by the server, or found out afterwards."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.adapters.ollama import SMALLEST_WINDOW_TOKENS, PromptSize, doubt, weigh
from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.core.tokens.counters import builtin_counter

from .ollama import Model, Ollama, tokens
from .test_ollama import TOOLS, chunk, message, opened, user

CLASSES = builtin_counter("classes")
WORDS = "the sky is blue at noon and grey when rain comes over these hills from far away"


def said(words: int) -> str:
    """Return English of so many words."""
    text = WORDS.split()
    return " ".join(text[at % len(text)] for at in range(words))


def test_prompt_over_the_window_is_refused_before_it_is_sent() -> None:
    """Bound and room for the answer together: nothing is asked of the server."""
    with Ollama() as server:
        model = opened(server, 2_048)
        bound = weigh([user(said(1_000))], (), CLASSES).bound_tokens
        assert bound < 2_048
        with pytest.raises(
            ContextOverflowError, match=rf"up to {bound} tokens\) and the answer \({2_049 - bound}\) exceed"
        ):
            model.reply([user(said(1_000))], 2_049 - bound)
        with pytest.raises(ContextOverflowError):
            model.complete(said(2_000), "And?", 100)
        assert server.sent("/api/chat") == []
        assert model.reply([user(said(1_000))], 2_048 - bound).finish == "stop"


def test_tools_and_calls_take_room() -> None:
    """What fits without tools is refused with them, where they are large."""
    large = [{"type": "function", "function": {"name": "look", "description": said(800), "parameters": {}}}]
    with Ollama() as server:
        model = opened(server, 2_048)
        model.reply([user(said(800))], 500, TOOLS)
        with pytest.raises(ContextOverflowError):
            model.reply([user(said(800))], 500, large)
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"a": "' + said(50) + '"}'}}
    bare = weigh([{"role": "assistant", "content": None}], (), CLASSES)
    assert weigh([{"role": "assistant", "content": None, "tool_calls": [call]}], (), CLASSES).bound_tokens > 50
    assert bare.bound_tokens < 10


def test_server_is_told_not_to_cut_and_its_refusal_is_an_overflow() -> None:
    """A tokenizer with so few words that it makes more tokens of a text than our bound says."""
    with Ollama() as server:
        model = opened(server, 2_048)
        text = "information " * 1_100
        assert weigh([user(text)], (), CLASSES).bound_tokens < 1_900
        with pytest.raises(ContextOverflowError, match="Ollama refuses the prompt: the prompt is longer"):
            model.reply([user(text)], 100)
        assert server.cut == []


def test_answer_to_a_cut_prompt_is_an_overflow_and_the_next_is_not_sent() -> None:
    """What only speaks like Ollama serves 4,096 tokens, whatever is asked for, and cuts: it says so in /api/ps."""
    told = [user(said(2_500)), message("assistant", said(300)), user(said(1_800))]
    with Ollama(obeys=False) as server:
        model = opened(server, 16_384)
        server.fixed_window = 4_096
        with pytest.raises(ContextOverflowError, match="runs with a window of 4096 tokens"):
            model.reply(told, 100)
        assert server.cut == [True]
        assert model.window_tokens == model.served.window_tokens == 4_096
        with pytest.raises(ContextOverflowError, match="window of 4096"):
            model.reply(told, 100)
        assert len(server.sent("/api/chat")) == 1


def test_answer_to_a_cut_prompt_is_found_out_where_the_window_is_not_told() -> None:
    """By a count that is less than there are words."""
    with Ollama(obeys=False, tells=False) as server:
        model = opened(server, 16_384)
        server.fixed_window = 4_096
        with pytest.raises(ContextOverflowError, match="read 2050 tokens of a prompt that takes at least 6000"):
            model.reply([user(said(6_000))], 100)


def test_prompt_that_fills_the_whole_window_is_not_believed() -> None:
    """Releases before 0.30 cut to the window itself: the count is then all that it holds."""
    with Ollama(obeys=False) as server:
        model = opened(server, 4_096)
        server.answer = lambda _: [chunk("Yes."), {"done": True, "prompt_eval_count": 4_096}]
        with pytest.raises(ContextOverflowError, match="read 4096 tokens, all that its window"):
            model.reply([user(said(100))], 100)
        server.answer = lambda _: [chunk("Yes."), {"done": True, "prompt_eval_count": 4_095}]
        assert model.reply([user(said(100))], 100).input_tokens == 4_095


@pytest.mark.parametrize("counts", ["uncached", "none"])
@pytest.mark.parametrize("tells", [True, False])
def test_low_count_is_no_cut_where_only_what_was_not_cached_is_counted(counts: str, *, tells: bool) -> None:
    """A long conversation on a release that reports so: answered where the window is known, and nothing is learned."""
    told = [user(said(2_000)), message("assistant", said(500)), user(said(20))]
    with Ollama(counts=counts, tells=tells) as server:
        model = opened(server, 8_192)
        if tells or counts == "none":
            assert model.reply(told, 100).input_tokens == 0
        else:
            with pytest.raises(ContextOverflowError, match="read 24 tokens"):
                model.reply(told, 100)
    assert server.cut == [False]


HISTORIES = st.lists(
    st.tuples(st.sampled_from(["system", "user", "assistant"]), st.integers(0, 1_500)), min_size=1, max_size=8
)


@given(
    history=HISTORIES,
    served=st.integers(600, 6_000),
    obeys=st.booleans(),
    counts=st.sampled_from(["all", "uncached", "none"]),
)
@settings(max_examples=60)
def test_no_answer_is_made_from_a_cut_prompt(
    history: list[tuple[str, int]], served: int, counts: str, *, obeys: bool
) -> None:
    """A server with any window but the one that was asked for: an answer to the whole prompt, or an overflow."""
    told = [message(role, said(words)) for role, words in history]
    with Ollama(obeys=obeys, counts=counts) as server:
        model = opened(server, 8_192)
        server.fixed_window = served
        try:
            model.reply(told, 100)
        except ContextOverflowError:
            size = sum(tokens(str(one["content"])) + 4 for one in told)
            assert size > served * 0.6, "a prompt far below the window is no overflow"
        else:
            assert server.cut == [False]


@given(
    history=st.lists(
        st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), st.text(max_size=80)), max_size=8
    ),
    counted=st.integers(0, 400),
    told=st.none() | st.integers(SMALLEST_WINDOW_TOKENS, 10_000),
)
def test_short_prompt_is_never_doubted(history: list[tuple[str, str]], counted: int, told: int | None) -> None:
    """Whatever the server reports, of a prompt that fits the smallest window that Ollama ever had."""
    weight = weigh([message(role, text) for role, text in history], (), CLASSES)
    if weight.bound_tokens <= SMALLEST_WINDOW_TOKENS:
        assert doubt(weight, counted, told) == ""


@given(
    text=st.lists(st.sampled_from([*WORDS.split(), "foo.bar", "x1", "_" * 40, "=" * 90, "a" * 70, "12345"])).map(
        " ".join
    )
)
def test_fewest_tokens_are_no_more_than_a_tokenizer_makes(text: str) -> None:
    """Of words, numbers, rules and runs: with letters in pieces of up to seven."""
    assert weigh([user(text)], (), CLASSES).fewest_tokens <= tokens(text)


def test_window_that_is_told_is_held_against_the_bound() -> None:
    """Not the estimate: between the two nobody can say, and then an answer is not believed."""
    assert doubt(PromptSize(3_000, 2_000, 500), 1_900, 2_999) != ""
    assert doubt(PromptSize(3_000, 2_000, 500), 1_900, 3_000) == ""


def test_fewest_tokens_are_of_what_every_template_shows() -> None:
    """System texts, results and thoughts are left out by some templates: they prove nothing."""
    assert weigh([user("one " + "a" * 70)], (), CLASSES).fewest_tokens == 3
    shown = [user("one two"), message("assistant", "<think>one two three</think> four")]
    hidden = [message(role, "one two three") for role in ("system", "tool")]
    assert weigh(shown, (), CLASSES).fewest_tokens == 3
    assert weigh(hidden, (), CLASSES).fewest_tokens == 0


def test_pictures_are_counted_and_broken_ones_are_refused() -> None:
    """A picture takes room beside the text; what is no picture is refused by us or by the server, in our words."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
    shown = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}
    assert weigh([shown], (), CLASSES).bound_tokens > 768
    with Ollama(models={"tiny:latest": Model(capabilities=("completion", "vision"))}) as server:
        model = opened(server)
        model.reply([shown], 20)
        assert server.sent("/api/chat")[0]["messages"] == [
            {"role": "user", "content": "What is this?", "images": ["aGVsbG8="]}
        ]
        broken = {"type": "image_url", "image_url": {"url": "data:image/png;base64,???"}}
        with pytest.raises(LLMError, match="illegal base64"):
            model.reply([{"role": "user", "content": [broken]}], 20)
