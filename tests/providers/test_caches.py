"""Prompt caches through the real SDKs: what is read and written, for how long, and what it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from .asking import CHAT_TOOL, TOOL, assistant, check_refused, text, user
from .script import Model

if TYPE_CHECKING:
    from anthropic import Anthropic
    from openai import OpenAI

    from .script import Json
    from .wire import Providers

FIVE: Json = {"type": "ephemeral"}
HOUR: Json = {"type": "ephemeral", "ttl": "1h"}
LONG = "x" * 4 * 2_000


class Charged(NamedTuple):
    """Tokens that were billed: not cached, read, written for five minutes, written for an hour."""

    plain: int
    read: int
    short: int
    long: int


def ask(client: Anthropic, *messages: Json, **more: object) -> Charged:
    """Return what a request is billed."""
    request = {"model": "tiny", "max_tokens": 10, "messages": list(messages), **more}
    usage = client.messages.create(**request).usage
    written = usage.cache_creation
    short, long = written.ephemeral_5m_input_tokens, written.ephemeral_1h_input_tokens
    assert short + long == usage.cache_creation_input_tokens
    return Charged(usage.input_tokens, usage.cache_read_input_tokens, short, long)


def marked(said: str = LONG, mark: Json = FIVE) -> Json:
    """Return a block with a breakpoint behind it."""
    return text(said, cache_control=mark)


def test_nothing_is_cached_without_a_breakpoint(claude: Anthropic) -> None:
    """However often it is asked."""
    assert ask(claude, user(LONG)) == ask(claude, user(LONG)) == Charged(2_004, 0, 0, 0)


def test_what_was_written_is_read(claude: Anthropic) -> None:
    """Up to the breakpoint; what stands behind it is billed in full."""
    assert ask(claude, user(marked(), text("one."))) == Charged(1, 0, 2_004, 0)
    assert ask(claude, user(marked(), text("two."))) == Charged(1, 2_004, 0, 0)


def test_a_prefix_that_changed_is_written_anew(claude: Anthropic) -> None:
    """By one character, at its beginning; tools and system count, too."""
    beside: Json = {"system": [marked()], "tools": [TOOL]}
    first = ask(claude, user("hi"), **beside)
    assert first.short > 2_000
    assert ask(claude, user("hi"), **beside).read == first.short
    assert ask(claude, user("hi"), system=[marked(f"y{LONG}")], tools=[TOOL]).read == 0
    assert ask(claude, user("hi"), system=[marked()], tools=[{**TOOL, "description": "Looks well."}]).read == 0


def test_a_conversation_that_grows_reads_what_it_wrote(claude: Anthropic) -> None:
    """The breakpoint moves on with it: each request finds the one before it."""
    assert ask(claude, user(marked())) == Charged(0, 0, 2_004, 0)
    grown = ask(claude, user(LONG), assistant("Yes."), user(marked("go on")))
    assert grown == Charged(0, 2_004, 5 + 6, 0)
    top = ask(claude, user(LONG), assistant("Yes."), user("go on"), assistant("a..."), user("b..."), cache_control=FIVE)
    assert top == Charged(0, 2_015, 10, 0)


def test_a_prompt_that_is_too_short_is_not_cached(providers: Providers, claude: Anthropic) -> None:
    """The least is the model's; nothing tells of it but the bill."""
    assert ask(claude, user(marked("x" * 4 * 1_019))) == Charged(1_023, 0, 0, 0)
    assert ask(claude, user(marked("x" * 4 * 1_020))) == Charged(0, 0, 1_024, 0)
    providers.world.models = {"tiny": Model(least_cached=4_096)}
    assert ask(claude, user(marked())) == Charged(2_004, 0, 0, 0)


def test_a_prefix_is_forgotten_when_its_time_has_passed(providers: Providers, claude: Anthropic) -> None:
    """Five minutes after the last use, which reading is, or an hour."""
    for mark, seconds in ((FIVE, 300), (HOUR, 3_600)):
        block = marked(f"{mark}{LONG}", mark)
        first = ask(claude, user(block))
        assert first.read == 0
        for _ in range(3):
            providers.clock.advance(seconds - 1)
            assert ask(claude, user(block)).read == first.short + first.long
        providers.clock.advance(seconds)
        assert ask(claude, user(block)) == first


def test_long_and_short_breakpoints_are_billed_apart(claude: Anthropic) -> None:
    """An hour up to the last long one, five minutes behind it; the long one comes first."""
    beside: Json = {"system": [marked(mark=HOUR)]}
    assert ask(claude, user(marked()), **beside) == Charged(0, 0, 2_004, 2_000)
    assert ask(claude, user(marked("y" * 4 * 2_000)), **beside) == Charged(0, 2_000, 2_004, 0)
    check_refused(
        lambda: ask(claude, user(marked(mark=HOUR)), system=[marked()]),
        "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
    )


def test_at_most_four_breakpoints_are_taken(claude: Anthropic) -> None:
    """In tools, system and messages together, with the one at the top."""
    four = [marked(str(number)) for number in range(4)]
    assert ask(claude, user(*four))
    says = "A maximum of 4 blocks with cache_control may be provided. Found 5."
    check_refused(lambda: ask(claude, user(*four, marked("4"))), says)
    check_refused(
        lambda: ask(claude, user(*four[:3]), system=[marked()], tools=[{**TOOL, "cache_control": FIVE}]), says
    )
    check_refused(lambda: ask(claude, user(*four), cache_control=FIVE), says)


def test_a_breakpoint_where_none_may_stand_is_refused(claude: Anthropic) -> None:
    """On a time that there is not, and on thinking."""
    check_refused(
        lambda: ask(claude, user(marked(mark={"type": "ephemeral", "ttl": "2h"}))), "Input should be '5m' or '1h'"
    )
    thought = {"type": "thinking", "thinking": "hm", "signature": "s", "cache_control": FIVE}
    check_refused(lambda: ask(claude, user("hi"), assistant(thought), user("?")), "cache_control: Extra inputs are not")


@pytest.mark.parametrize(("behind", "read"), [(19, 2_000), (20, 0)])
def test_a_breakpoint_looks_back_at_twenty_blocks(claude: Anthropic, behind: int, read: int) -> None:
    """At its own place and at 19 before it; what is kept further back is not found."""
    ask(claude, user("hi"), system=[marked()])
    blocks = [text(f"{number:04d}") for number in range(behind)]
    blocks[-1]["cache_control"] = FIVE
    assert ask(claude, user(*blocks), system=LONG).read == read


def test_a_breakpoint_in_between_finds_what_is_further_back(claude: Anthropic) -> None:
    """Each has twenty blocks of its own."""
    ask(claude, user("hi"), system=[marked()])
    blocks = [text(f"{number:04d}") for number in range(38)]
    blocks[-1]["cache_control"] = blocks[18]["cache_control"] = FIVE
    assert ask(claude, user(*blocks), system=LONG).read == 2_000


def test_tool_choice_and_thinking_leave_tools_and_system_cached(claude: Anthropic) -> None:
    """What is written of the messages is lost with them."""
    beside: Json = {"system": [marked()], "tools": [TOOL]}
    whole = ask(claude, user(marked()), **beside)
    changed = ask(claude, user(marked()), **beside, tool_choice={"type": "none"})
    assert whole.read == 0
    assert changed.short == 2_004
    assert changed.read + changed.short == whole.short


def test_a_refused_request_writes_nothing(providers: Providers, claude: Anthropic) -> None:
    """Nor one that failed."""
    check_refused(lambda: ask(claude, user(marked()), assistant("?")), "prefill")
    providers.fail(1, 500)
    check_refused(lambda: ask(claude, user(marked())), "Internal server error", 500)
    assert ask(claude, user(marked())).read == 0


# -- OpenAI -----------------------------------------------------------------------------------------------------------


def cached(client: OpenAI, *messages: Json, **more: object) -> tuple[int, int]:
    """Return the tokens of a chat's prompt, and those that were read from the cache."""
    usage = client.chat.completions.create(model="tiny", messages=list(messages), **more).usage
    return usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens


def test_openai_caches_on_its_own_in_steps(claude: Anthropic, gpt: OpenAI) -> None:
    """From 1,024 tokens, in steps of 128, whatever a prompt shares with one before it at the beginning."""
    del claude
    assert cached(gpt, user(LONG)) == (2_004, 0)
    assert cached(gpt, user(LONG), assistant("Yes."), user("go on")) == (2_004 + 5 + 6, 15 * 128)
    assert cached(gpt, user(f"y{LONG}")) == (2_005, 0)
    assert cached(gpt, user("x" * 4 * 1_019)) == cached(gpt, user("x" * 4 * 1_019)) == (1_023, 0)
    assert cached(gpt, user("x" * 4 * 1_020)) == (1_024, 0)
    assert cached(gpt, user("x" * 4 * 1_020)) == (1_024, 1_024)
    assert cached(gpt, user(LONG), tools=[CHAT_TOOL])[1] == 0


def test_openai_forgets_after_some_minutes(providers: Providers, gpt: OpenAI) -> None:
    """Counted from the last use; both of its endpoints report what was read."""
    cached(gpt, user(LONG))
    providers.clock.advance(299)
    assert cached(gpt, user(LONG))[1] == 15 * 128
    providers.clock.advance(301)
    assert cached(gpt, user(LONG))[1] == 0
    asked = {"model": "tiny", "input": LONG, "instructions": "Be brief."}
    assert gpt.responses.create(**asked).usage.input_tokens_details.cached_tokens == 0
    assert gpt.responses.create(**asked).usage.input_tokens_details.cached_tokens == 15 * 128
