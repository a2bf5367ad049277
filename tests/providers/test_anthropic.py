"""The adapter of Anthropic's API, over a server with its rules: answers, failures, the cache, whole conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.common.providers import Patience
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError, StaleThinkingError
from squidbot.core.messages import Completion

from .asking import TOOL, assistant, result, text, use, user
from .script import Asked, Call, Model, Redacted, Text, Thought, saying
from .wire import KEY, Fault, Providers

pytest.importorskip("anthropic", exc_type=ImportError)

import squidbot  # behind the check that the SDK is there
from squidbot.adapters.anthropic import AnthropicAccount, AnthropicModel, marked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .script import Json, Piece

ONCE = Patience(connect_seconds=1.0, answer_seconds=0.2, retries=0)


def model(server: Providers, patience: Patience = ONCE, **more: object) -> AnthropicModel:
    """Return the adapter over a server."""
    account = AnthropicAccount(server.url, patience=patience, environment={"ANTHROPIC_API_KEY": KEY})
    return AnthropicModel("tiny", account=account, **more)  # type: ignore[arg-type]  # as the test says


@pytest.fixture
def claude(providers: Providers) -> Iterator[AnthropicModel]:
    """The adapter, which tries nothing twice."""
    one = model(providers)
    yield one
    one.close()


# -- jobs -------------------------------------------------------------------------------------------------------------


def test_a_job_is_answered_with_what_it_took(providers: Providers, claude: AnthropicModel) -> None:
    """System and prompt, no thinking, no breakpoints."""
    assert claude.complete("Be brief.", "Sky?", 50) == Completion("Yes.", 3 + 1 + 4, 1)
    (body,) = providers.bodies("/v1/messages")
    assert (body["system"], body["thinking"], body["max_tokens"]) == ("Be brief.", {"type": "disabled"}, 50)
    assert "cache_control" not in str(body)
    assert claude.name == "tiny"
    assert claude.form == "anthropic.messages"


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        (Fault(status=429), "rate-limit", "rate limit of"),
        (Fault(status=529), "unreachable", "fails \\(529\\)"),
        (Fault(status=500), "unreachable", "fails \\(500\\)"),
        (Fault(status=401), "refused", "rejects the API key in ANTHROPIC_API_KEY"),
        (Fault(hang_seconds=5), "unreachable", "did not answer in time"),
        (Fault(cut_after=3), "unreachable", "broke off"),
        (Fault(error_after=3), "unreachable", "Overloaded"),
    ],
)
def test_a_failure_is_named_by_its_kind(providers: Providers, fault: Fault, kind: str, says: str) -> None:
    """In words of ours, without the key."""
    providers.script = saying("word " * 9)
    providers.faults = [fault]
    with pytest.raises(LLMError, match=says) as caught:
        model(providers).complete("", "Sky?", 50)
    assert caught.value.kind == kind
    assert KEY not in str(caught.value)


def test_an_answer_without_an_end_is_none(providers: Providers, claude: AnthropicModel) -> None:
    """Cut at its limit, or empty."""
    providers.script = saying("word " * 400)
    with pytest.raises(LLMError, match=r"^cut: the answer of tiny was cut off at 50 tokens"):
        claude.complete("", "Sky?", 50)
    providers.script = saying([])
    with pytest.raises(LLMError, match=r"^empty"):
        claude.complete("", "Sky?", 50)


def test_a_request_that_is_too_long_teaches_the_window(providers: Providers, claude: AnthropicModel) -> None:
    """What the provider tells of the model, and less where it has refused less."""
    providers.world.models = {"tiny": Model(window=50, told_window=100)}
    assert claude.window_tokens == 100
    with pytest.raises(ContextOverflowError, match="64 tokens > 50 maximum"):
        claude.complete("", "x" * 4 * 60, 10)
    assert claude.window_tokens == 50


def test_a_failed_request_is_tried_again(providers: Providers) -> None:
    """By the SDK, as often as patience says."""
    providers.fail(2, 529, retry_after="0.01")
    assert model(providers, Patience(retries=2)).complete("", "Sky?", 50).text == "Yes."
    assert len(providers.requests) == 3


@pytest.mark.parametrize(("name", "url"), [("", ""), (" x", ""), ("x", "ftp://there"), ("x", "https://example.org")])
def test_a_model_that_can_not_be_asked_is_a_wrong_setting(name: str, url: str) -> None:
    """No name, no address, no key."""
    with pytest.raises(ConfigError):
        AnthropicModel(name, account=AnthropicAccount(url, environment={}))


def test_summaries_can_be_written_by_it_with_one_line(providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    """`summary.llm` names it: the model behind a colon, and a server behind an @."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    engine = squidbot.load({"summary": {"llm": f"anthropic:tiny@{providers.url}"}})
    llm = engine.wired.llm("summary")
    assert llm is not None
    assert llm.complete("Be brief.", "Sky?", 50).text == "Yes."


# -- conversations ----------------------------------------------------------------------------------------------------


def test_a_reply_is_the_message_as_it_was_on_the_wire(providers: Providers, claude: AnthropicModel) -> None:
    """Its pieces are told as they come; usage and finish are read."""
    providers.script = saying([Thought("hm"), Redacted("hidden"), Text("I look: 价."), Call("look", '{"at": "é"}')])
    pieces: list[str] = []
    asked: list[Json] = [{"role": "system", "content": "Be brief."}, user("hi")]
    reply = claude.reply(asked, 100, [TOOL], pieces.append)
    content = reply.message["content"]
    assert isinstance(content, list)
    assert [block["type"] for block in content] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert "".join(pieces) == "I look: 价."
    assert reply.finish == "tool_calls"
    assert reply.input_tokens > 0
    again = claude.reply([*asked, reply.message, user(result(content[3]["id"]))], 100, [TOOL])
    assert again.finish in {"stop", "tool_calls"}


def test_what_a_listener_raises_goes_to_the_caller(providers: Providers, claude: AnthropicModel) -> None:
    """Whatever it is, as it is."""

    def listener(_: str) -> None:
        raise ValueError("enough")

    providers.script = saying("word " * 9)
    with pytest.raises(ValueError, match=r"^enough$"):
        claude.reply([user("hi")], 100, (), listener)
    assert claude.reply([user("hi")], 100).finish == "stop"


def test_stale_thinking_is_left_out_before_it_is_refused(providers: Providers, claude: AnthropicModel) -> None:
    """By who was answered with it; by who was not, once it is refused, and each time from then on."""
    providers.script = saying([Thought("hm"), Text("One.")], "Two.")
    said = claude.reply([user("hi")], 100).message
    answer = {"role": "assistant", "content": said["content"]}
    assert "input_transformations" not in claude.reply([user("hi"), answer, user("and?")], 100).message
    stranger = model(providers)
    for one, refused in ((claude, 0), (claude, 0), (stranger, 1), (stranger, 1)):
        gone = one.reply([user("hi!"), answer, user("and?")], 100).message["input_transformations"]
        assert [each["path"] for each in gone] == ["messages.1.content.0"]  # type: ignore[attr-defined]  # a list
        assert len(providers.refused) == refused
    stranger.close()


def test_a_model_that_binds_no_thinking_is_asked_as_before(providers: Providers, claude: AnthropicModel) -> None:
    """It refuses to be told what becomes of stale reasoning: once, and then it is not told again."""
    providers.script = saying([Thought("hm"), Text("One.")], "Two.")
    said = claude.reply([user("hi")], 100).message
    answer = {"role": "assistant", "content": said["content"]}
    providers.world.models = {"tiny": Model(binds=False, adapts=False)}
    for _ in range(2):
        reply = claude.reply([user("hi!"), answer, user("and?")], 100)
        assert reply.message["content"] == [{"type": "text", "text": "Two."}]
    assert len(providers.refused) == 1


def test_what_else_is_wrong_with_a_request_teaches_nothing_of_thinking(
    providers: Providers, claude: AnthropicModel
) -> None:
    """Stale reasoning is left out the next time all the same."""
    providers.script = saying([Thought("hm"), Text("One.")], "Two.")
    said = claude.reply([user("hi")], 100).message
    answer = {"role": "assistant", "content": said["content"]}
    with pytest.raises(LLMError, match="colour"):
        claude.reply([user("hi!"), answer, user({"type": "text", "text": "and?", "colour": "red"})], 100)
    assert claude.reply([user("hi!"), answer, user("and?")], 100).message["input_transformations"]
    assert len(providers.refused) == 1


def test_thinking_that_was_touched_is_an_error_of_its_own(providers: Providers, claude: AnthropicModel) -> None:
    """No provider takes it; nor does one that is told not to think leave it out."""
    providers.script = saying([Thought("hm"), Text("One.")], "Two.")
    said = claude.reply([user("hi")], 100).message
    touched = assistant({"type": "thinking", "thinking": "oh", "signature": "c2ln"}, text("One."))
    with pytest.raises(StaleThinkingError, match="Invalid `signature`"):
        claude.reply([user("hi"), touched, user("and?")], 100)
    quiet = model(providers, options={"thinking": {"type": "disabled"}})
    with pytest.raises(StaleThinkingError, match="different conversation"):
        quiet.reply([user("hi!"), assistant(*_listed(said["content"])), user("and?")], 100)
    quiet.close()


def test_tokens_are_counted_by_the_provider(claude: AnthropicModel) -> None:
    """Its own count of a request, system text and tools with it."""
    asked: list[Json] = [{"role": "system", "content": "Be brief."}, user("hello")]
    assert claude.count_tokens(asked) == 3 + 2 + 4
    assert claude.count_tokens(asked, [TOOL]) > 9


def marks(messages: Sequence[Json]) -> list[int]:
    """Return the places of breakpoints, among all blocks of messages."""
    blocks = [block for message in messages for block in _listed(message["content"])]
    return [at for at, block in enumerate(blocks) if "cache_control" in block]


def _listed(content: object) -> list[Json]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def test_breakpoints_stand_where_the_next_request_finds_them() -> None:
    """Behind the system, and from the end backwards at the distance that the provider looks back."""
    messages = [user(*[text(str(number)) for number in range(10)]) for _ in range(9)]
    mark = {"type": "ephemeral"}
    system, said = marked([text("Be brief.")], messages, mark)
    assert system[0]["cache_control"] == mark
    assert marks(said) == [49, 69, 89]
    assert marks(marked([], messages, mark)[1]) == [29, 49, 69, 89]
    assert marks(marked([], [user("hi")], mark)[1]) == [0]


def test_breakpoints_stand_where_the_next_plan_goes_on_from() -> None:
    """Behind what stays longest, as far as the end leaves any: it comes first, since each request reads it."""
    said = [user("a"), assistant(text("b")), user("c"), assistant(text("d")), user("e")]
    mark = {"type": "ephemeral"}
    assert marks(marked([text("Be brief.")], said, mark, [1, 3])[1]) == [0, 2, 4]
    assert marks(marked([], said, mark, [-1, 0, 5])[1]) == [4]
    step = [assistant(*[use(str(at)) for at in range(25)]), user(*[result(str(at)) for at in range(25)])]
    assert marks(marked([text("Be brief.")], [*said, *step], mark, [1, 3])[1]) == [14, 34, 54]
    assert marks(marked([], [*said, *step], mark, [1, 3])[1]) == [2, 14, 34, 54]


def test_breakpoints_of_the_host_give_way_and_none_stands_on_thinking() -> None:
    """At most four are taken, and thinking bears none."""
    old = {"type": "ephemeral", "ttl": "1h"}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    messages = [user(text("a", cache_control=old), text("b", cache_control=old)), assistant(use(), thought)]
    _, said = marked([text("x", cache_control=old)], messages, {"type": "ephemeral"})
    assert marks(said) == [2]
    assert "1h" not in str(said)
    assert messages[0]["content"][0]["cache_control"] == old  # type: ignore[index]  # a list, as it was made


@pytest.mark.parametrize("turns", [14, pytest.param(40, marks=pytest.mark.slow)])
def test_a_long_conversation_is_never_refused_and_reads_all_that_it_wrote(providers: Providers, turns: int) -> None:
    """Turns with thinking, parallel calls and results: each request reads the whole one before it."""

    def thinks(asked: Asked) -> Sequence[Piece]:
        if asked.number % 2:
            return [Thought(f"so {asked.number}"), Text(f"Answer {asked.number}: " + "word " * 20)]
        calls = [Call("look", f'{{"at": {place}}}') for place in range(asked.number % 7 + 1)]
        return [Thought(f"hm {asked.number}"), Text("I look."), *calls]

    providers.script = thinks
    claude = model(providers, ONCE._replace(answer_seconds=10.0))
    session = squidbot.load({}).session("s", form="anthropic.messages", window_tokens=200_000)
    head = {"role": "system", "content": "Be brief. " * 500}
    before = 0
    for turn in range(turns):
        made = session.assemble(f"Question {turn}?", tools=[TOOL])
        reply = claude.reply([head, *made.messages], 1_000, [TOOL])
        for_tools = session.record(made.incoming, reply.message)[-1].call_ids
        assert reply.cached_tokens >= before
        before = reply.input_tokens
        providers.clock.advance(60)
        results = [result(call, f"seen at {call}") for call in for_tools]
        session.record(user(*results))
        reply = claude.reply([head, *session.assemble(tools=[TOOL]).messages], 1_000, [TOOL])
        session.record(reply.message)
        assert reply.cached_tokens == before
        before = reply.input_tokens
    assert providers.refused == []
    claude.close()
