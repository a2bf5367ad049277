"""squidbot in llm: the real package, its own chain of tools and its command, models that answer offline."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llm
import pytest
from click.testing import CliRunner
from llm.cli import cli
from llm.parts import ReasoningPart, StreamEvent, TextPart, ToolCallPart, ToolResultPart
from llm.plugins import load_plugins, pm

from squidbot.codecs.llm import LLMMessages
from squidbot.hosting import toolkit
from squidbot.hosting.conversations import Conversation
from squidbot.hosting.hosted import Hosted
from squidbot.plugins import llm as plugin

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

    from click.testing import Result
    from llm.models import _BaseResponse as Response

BUDGET = 4_000
FACT = "The walrus at the harbour is called Brunhilde."
FILLER = "Tell me about sorting. " + "It need not be short. " * 12
SAID = "Sorting puts things in order. " * 12
ROOT = Path(__file__).parents[2]

if TYPE_CHECKING:
    Answer = Callable[[str, int], object]


def wire(message: llm.Message) -> bytes:
    """Return what a provider gets of a message."""
    return json.dumps(message.to_dict()).encode()


def refuse_broken(messages: Sequence[llm.Message]) -> None:
    """Refuse what a provider would: a call without its results right behind, a result without its call, a bad end."""
    said = [each for each in messages if each.role != "system"]
    assert said[0].role == "user", "the first is not the user's"
    assert said[-1].role in ("user", "tool"), "the last is the model's own"
    open_calls: set[str | None] = set()
    for each in said:
        if each.role == "tool":
            answered = [part.tool_call_id for part in each.parts if isinstance(part, ToolResultPart)]
            assert set(answered) <= open_calls, f"results of no call: {answered}"
            open_calls -= set(answered)
            continue
        assert not open_calls, f"calls without results: {open_calls}"
        open_calls = {part.tool_call_id for part in each.parts if isinstance(part, ToolCallPart)}
    assert not open_calls


class Fake:
    """What all models here do: follow a script in what they are told, and hold every request to the rules."""

    model_id = "fake"
    supports_tools = True
    can_stream = True

    def __init__(self) -> None:
        self.budget = BUDGET
        self.seen: list[list[llm.Message]] = []
        self.answers: Answer = lambda _text, _number: None

    @property
    def requests(self) -> list[list[bytes]]:
        """What was sent."""
        return [[wire(each) for each in messages] for messages in self.seen]

    def chunks(self, prompt: llm.Prompt, response: Response) -> Iterator[str | StreamEvent]:
        """Answer in pieces of forty characters."""
        tools = [each.input_schema for each in prompt.tools]
        cost = (len(json.dumps(tools)) + sum(map(len, map(wire, prompt.messages)))) // 4
        refuse_broken(prompt.messages)
        assert cost <= self.budget, f"{cost} of {self.budget} tokens"
        self.seen.append(prompt.messages)
        made = self._answer(prompt.messages[-1])
        if isinstance(made, list) and made and isinstance(made[0], llm.ToolCall):
            for call in made:
                response.add_tool_call(call)
            return
        response.set_usage(input=cost, output=len(str(made)) // 4)
        yield from made if isinstance(made, list) else [made[at : at + 40] for at in range(0, len(str(made)), 40)]  # type: ignore[index]

    def _answer(self, last: llm.Message) -> object:
        text = "".join(part.text for part in last.parts if isinstance(part, TextPart))
        if (made := self.answers(text, len(self.seen))) is not None:
            return made
        if last.role == "tool":
            return "It says: " + "".join(part.output for part in last.parts if isinstance(part, ToolResultPart))
        return calling("Squidbot_memory_search", query="walrus harbour called") if "RECALL" in text else SAID


class Plain(Fake, llm.Model):
    """A model without a key."""

    def execute(self, prompt: llm.Prompt, stream: object, response: Response, conversation: object) -> Iterator[Any]:
        """Answer."""
        del stream, conversation
        return self.chunks(prompt, response)


class Keyed(Fake, llm.KeyModel):
    """A model with one."""

    needs_key = "fake"
    key = "sesame"

    def execute(
        self, prompt: llm.Prompt, stream: object, response: Response, conversation: object, key: object
    ) -> Iterator[Any]:
        """Answer, to who knows the word."""
        del stream, conversation
        assert key == "sesame"
        yield from self.chunks(prompt, response)


class Waiting(Fake, llm.AsyncModel):
    """A model that is awaited."""

    async def execute(
        self, prompt: llm.Prompt, stream: object, response: Response, conversation: object
    ) -> AsyncGenerator[str | StreamEvent, None]:
        """Answer, now and then later."""
        del stream, conversation
        for each in self.chunks(prompt, response):
            await asyncio.sleep(0)
            yield each


def calling(name: str, identifier: str = "call-r", **args: object) -> list[llm.ToolCall]:
    """Return a step that calls a tool."""
    return [llm.ToolCall(name, dict(args), identifier)]


def look(at: int = 0) -> str:
    """Look at something."""
    return f"result {at} " + "of a look at the shelf " * (3 * BUDGET // 5 if at == 20 else 10)


class Bare(llm.Model):
    """A model as plugins write the simplest."""

    model_id = "bare"

    def execute(self, prompt: llm.Prompt, *_: object, **__: object) -> Iterator[str]:
        """Say how many messages were seen."""
        yield f"I see {len(prompt.messages)}."


class Program:
    """llm with squidbot in it, and the models above."""

    def __init__(self, model: Fake | None = None, waiting: Fake | None = None) -> None:
        self.fake, self.waiting = model or Plain(), waiting or Waiting()
        self.talks: dict[str, llm.Conversation] = {}
        load_plugins()  # type: ignore[no-untyped-call]  # as it is
        for each in (plugin, self):
            if not pm.is_registered(each):
                pm.register(each)
        # Where squidbot is installed llm has found them; here it may be a folder on the path.
        if "squidbot" not in cli.commands:
            plugin.register_commands(cli)

    @llm.hookimpl
    def register_models(self, register: Callable[..., None]) -> None:
        """Offer the models."""
        register(self.fake, self.waiting)
        register(Bare())

    def talk(self, name: str = "chat-1") -> llm.Conversation:
        """Return a conversation of llm's, as it is held by who leads it."""
        if name not in self.talks:
            self.talks[name] = llm.get_model("fake").conversation(tools=[plugin.Squidbot(), look], chain_limit=0)
            self.talks[name].id = name
        return self.talks[name]

    def run(self, text: str, name: str = "chat-1") -> str:
        """Run a turn with all its tools."""
        return str(self.talk(name).chain(text, system="You are kind.").text())

    def texts(self, name: str = "chat-1") -> list[str]:
        """Return all that is recorded."""
        return [LLMMessages().text(payload) for payload in self.payloads(name)]

    def payloads(self, name: str = "chat-1") -> list[str]:
        """Return all that is recorded, as it is."""
        engine = plugin.opened(plugin.switched()).engine
        return [row.payload for row in engine.wired.store.read(name, 0, 10_000)]


def command(*words: str) -> Result:
    """Run `llm squidbot`."""
    made = CliRunner().invoke(cli, ["squidbot", *words])
    assert made.exception is None or isinstance(made.exception, SystemExit)
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have llm keep its files in a folder of its own, and no plugins from one test to the next."""
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    plugin.said_once.clear()
    yield tmp_path
    plugin.opened.cache_clear()
    for each in pm.get_plugins():
        if isinstance(each, Program):
            pm.unregister(each)


@pytest.fixture(params=[Plain, Keyed], ids=["plain", "keyed"])
def program(folder: Path, request: pytest.FixtureRequest) -> Program:
    """Return a new program, with squidbot switched on."""
    assert folder.exists()
    made = Program(request.param())
    assert "is active for" in command("on", "--budget", str(BUDGET)).output
    return made


def talk(program: Program, turns: int = 12) -> None:
    """Tell a fact, and then of other things for long."""
    program.run(FACT)
    for number in range(turns):
        program.run(f"{number}: {FILLER}")


def test_what_fell_out_of_view_is_recalled_by_the_model(program: Program) -> None:
    """C5, C2: the fact is in no request any more when it is asked for, and the answer is taken from what is stored."""
    talk(program, 15)
    answer = program.run("RECALL what the walrus is called.")
    assert FACT.encode() not in b"".join(program.fake.requests[-2])
    assert "Brunhilde" in answer
    assert len(program.texts()) == 2 * 16 + 4


def test_requests_extend_each_other_between_events(program: Program) -> None:
    """C4: a request is the beginning of the next, but where a plan says otherwise."""
    happened: list[str] = []
    relay = plugin.opened(plugin.switched()).engine.wired.relay
    relay._on_event = (("test", lambda event: happened.append(event.name)),)
    talk(program, 20)
    breaks = sum(new[: len(old)] != old for old, new in pairwise(program.fake.requests))
    assert 0 < breaks <= happened.count("view-plan-changed")


def test_a_long_turn_of_tools_stays_within_budget(program: Program) -> None:
    """C2, C3: twenty steps of two calls each, and one result of three times the window."""

    def step(_text: str, number: int) -> object:
        if number >= 34:
            return None
        return calling("look", f"c{number}", at=number) + calling("look", f"d{number}", at=number)

    talk(program)
    program.fake.answers = step
    program.run("Look at everything.")
    assert len(program.fake.requests) == 34
    said = "\n".join(program.texts())
    assert all(said.count(f"result {number} ") == 2 for number in range(14, 33))
    assert len(said) > 3 * 4 * BUDGET, "what was cut is stored whole"


def test_the_hosts_own_list_is_as_without_squidbot(program: Program) -> None:
    """C12: long after the first event; and handed to another conversation it is taken in once."""
    talk(program, 14)
    program.run("RECALL it.")
    last = program.talk().responses[-1]
    whole = [*last.prompt.messages, *last._messages_now()]
    assert [each.role for each in whole[:3]] == ["system", "user", "assistant"]
    assert FACT.encode() in wire(whole[1])
    assert len(whole) == 1 + 2 * 15 + 4
    assert len(program.fake.seen[-1]) < len(whole)
    other = llm.get_model("fake").conversation()
    other.id = "chat-9"
    other.prompt("And now?", messages=whole).text()
    assert program.texts("chat-9")[:-2] == program.texts()
    assert program.texts("chat-9")[-2:] == ["And now?", SAID]


def test_a_restarted_program_goes_on(program: Program) -> None:
    """C1: of llm's list nothing is left in a new process; what is recorded is in its requests, the same prefix."""
    program.run(FACT)
    program.run("And the seal?")
    program.talks.clear()
    plugin.opened.cache_clear()
    program.run("And the cat?")
    before, after = program.fake.requests[-2:]
    assert after[: len(before)] == before
    assert len(program.texts()) == 6


def test_the_command_goes_on_with_what_its_logs_keep(program: Program) -> None:
    """C1, M12: `llm -c` reads its own list back, which adds nothing that is recorded already."""
    runner = CliRunner()
    first = runner.invoke(cli, ["-m", "fake", "-s", "You are kind.", FACT])
    second = runner.invoke(cli, ["-m", "fake", "-c", "-T", "Squidbot", "RECALL it."])
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "Brunhilde" in second.output
    store: Any = plugin.opened(plugin.switched()).engine.wired.store
    ((found, length),) = store.sessions()
    assert (len(program.texts(found)), length) == (6, 6)


def test_a_killed_program_goes_on(folder: Path) -> None:
    """C1, M7: killed between call and answer: prompt, call and result are there, and the next run is valid."""
    code = """
import os, sys
sys.path.insert(0, sys.argv[1])
from tests.plugins.test_llm import *
program = Program()
command("on", "--budget", str(BUDGET))
program.run(FACT)
def step(text, number):
    if number == 2:
        return calling("look", "c1", at=7)
    os._exit(9)
program.fake.answers = step
program.run("Look!")
"""
    assert subprocess.run([sys.executable, "-c", code, str(ROOT)], check=False, timeout=100).returncode == 9
    program = Program()
    assert (folder / "squidbot.db").exists()
    assert program.run("What now?") == SAID
    texts = program.texts()
    assert texts[:4] == [FACT, SAID, "Look!", ""]
    assert texts[4].startswith("result 7")


def test_streams_and_asynchronous_runs_are_recorded_alike(program: Program) -> None:
    """C6, C7: streamed, asynchronous and synchronous runs leave the same."""

    async def asynchronous(talk: llm.AsyncConversation, text: str) -> None:
        await talk.chain(text).text()

    texts = (FACT, FILLER, "RECALL what the walrus is called.")
    for text in texts:
        program.talk().chain(text).text()
    for text in texts:
        for _ in program.talk("streamed").chain(text).stream_events():  # type: ignore[no-untyped-call]  # as it is
            pass
    awaited = llm.get_async_model("fake").conversation(tools=[plugin.Squidbot(), look])
    awaited.id = "awaited"
    for text in texts:
        asyncio.run(asynchronous(awaited, text))
    assert program.texts()[:6] == program.texts("streamed")[:6] == program.texts("awaited")[:6]
    assert program.fake.requests[:4][2] == program.fake.requests[4:][2] == program.waiting.requests[2]
    assert len(program.waiting.requests) == 4


def test_an_answer_that_is_left_off_is_kept_and_marked(program: Program) -> None:
    """C6: what came of it is recorded as incomplete; llm itself forgets the turn, and the next adds nothing twice."""
    program.run(FACT)
    for _ in program.talk().prompt("And the seal?"):
        break
    assert program.texts() == [FACT, SAID, "And the seal?", SAID[:40]]
    assert json.loads(program.payloads()[-1])["provider_metadata"] == {"squidbot": {"incomplete": True}}
    program.run("And the cat?")
    program.run("And the dog?")
    assert program.texts()[4:] == ["And the cat?", SAID, "And the dog?", SAID]


@pytest.mark.parametrize("at", [1, 2])
def test_a_failed_run_keeps_what_was_said_and_done(program: Program, at: int) -> None:
    """C9: the provider fails on the first call, or behind a tool's result; the next run is valid."""

    def step(_text: str, number: int) -> object:
        if number == at:
            raise ConnectionError("fake")
        return calling("look", "c1", at=7) if number < at else None

    program.fake.answers = step
    with pytest.raises(ConnectionError):
        program.run("Look!")
    program.fake.answers = lambda _text, _number: None
    assert len(program.texts()) == (1 if at == 1 else 3)
    assert program.run("What now?") == SAID
    assert b"Look!" in b"".join(program.fake.requests[-1])
    assert program.run("Look!") == SAID
    assert program.texts()[-4:] == ["What now?", SAID, "Look!", SAID]


def test_a_tool_that_is_broken_off_leaves_a_valid_conversation(program: Program) -> None:
    """C3, C9: its call gets a result that says so, and the next run goes on."""

    def stop() -> str:
        raise KeyboardInterrupt

    program.talk().tools = [stop]
    program.fake.answers = lambda _text, number: calling("stop", "c1") if number == 1 else None
    with pytest.raises(KeyboardInterrupt):
        program.run("Wait!")
    program.talks.clear()
    assert program.run("What now?") == SAID
    assert b"cancelled" in b"".join(program.fake.requests[-1])


def test_conversations_don_t_mix(program: Program) -> None:
    """C10: eight at once, in turns, the calls all by one id: no word of another is in a request, or found."""
    awaited = {number: llm.get_async_model("fake").conversation(tools=[plugin.Squidbot()]) for number in range(8)}

    async def turn(number: int, text: str) -> str:
        return str(await awaited[number].chain(text).text())

    async def all_of_them() -> list[str]:
        for round_ in range(3):
            await asyncio.gather(*(turn(number, f"walrus{number} {round_} {FILLER}") for number in range(8)))
        return await asyncio.gather(*(turn(number, f"RECALL walrus{number}") for number in range(8)))

    answers = asyncio.run(all_of_them())
    for number, answer in enumerate(answers):
        assert f"walrus{number}" in answer
        assert not any(f"walrus{other}" in answer for other in range(8) if other != number)
    for request in program.waiting.requests:
        whole = b"".join(request)
        assert sum(f"walrus{number}".encode() in whole for number in range(8)) == 1


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_request_that_is_too_long_is_made_shorter(program: Program, *, is_async: bool) -> None:
    """C13: refused once by the provider: asked again with less in the same step, and nothing else is recorded."""
    talk(program, 4)
    refused: list[int] = []
    fake = program.waiting if is_async else program.fake

    def step(text: str, _number: int) -> object:
        if text == "Once more." and not refused:
            refused.append(sum(map(len, fake.requests[-1])))
            raise ValueError("This model's maximum context length is 3000 tokens.")
        return None

    fake.answers = step
    if is_async:
        last = program.talk().responses[-1]
        other = llm.get_async_model("fake").conversation(tools=[plugin.Squidbot(), look])
        other.id, other.loaded_messages = "chat-1", [*last.prompt.messages, *last._messages_now()]
        assert asyncio.run(other.prompt("Once more.").text()) == SAID
    else:
        assert program.run("Once more.") == SAID
    assert sum(map(len, fake.requests[-1])) < refused[0]
    assert program.texts()[-2:] == ["Once more.", SAID]


def test_signatures_come_back_as_they_were(program: Program) -> None:
    """C14: signed reasoning is sent again byte for byte, after a restart, too."""
    signed = {"anthropic": {"signature": "c2lnbmVk"}}
    events = [StreamEvent("reasoning", "Hm.", provider_metadata=signed), StreamEvent("text", "Yes.")]
    program.fake.answers = lambda _text, number: events if number == 1 else None
    program.run(FACT)
    program.talks.clear()
    plugin.opened.cache_clear()
    program.run("And?")
    sent = next(each for each in program.fake.seen[-1] if each.role == "assistant")
    assert sent.parts == [ReasoningPart("Hm.", provider_metadata=signed), TextPart("Yes.")]


def test_an_answer_of_two_messages_stays_two(program: Program) -> None:
    """As providers give that run tools themselves; the next turn adds none of them again."""
    events = [StreamEvent("text", "One."), StreamEvent("text", "Two.", message_index=1)]
    program.fake.answers = lambda _text, number: events if number == 1 else None
    program.run(FACT)
    program.run("And?")
    assert program.texts() == [FACT, "One.", "Two.", "And?", SAID]


def test_reported_usage_is_recorded(program: Program) -> None:
    """C15: with what was read from a cache, as OpenAI and Anthropic tell it."""
    response = llm.get_model("fake").prompt("Hi")
    response.input_tokens, response.output_tokens = 100, 7
    for details, told in (
        ({}, (100, 7, 0)),
        ({"prompt_tokens_details": {"cached_tokens": 60}}, (100, 7, 60)),
        ({"input_tokens_details": {"cached_tokens": 60}}, (100, 7, 60)),
        ({"cache_read_input_tokens": 50, "cache_creation_input_tokens": 10}, (160, 7, 50)),
    ):
        response.token_details = details
        usage = plugin.usage_of(response)
        assert usage is not None
        assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == told
    assert program.fake.seen == []


def broken(*_: object, **__: object) -> None:
    """Fail."""
    raise RuntimeError("a bug of ours")


@pytest.mark.parametrize("where", ["before", "after", "engine", "tool"])
def test_the_run_goes_on_when_squidbot_fails(
    program: Program, where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """C8: whatever fails inside, output and list are those of a run without it; one line in the log says so."""
    program.run("First.")
    owner: Any = {"tool": toolkit, "engine": Hosted}.get(where, Conversation)
    name = {"tool": "call", "engine": "conversation"}.get(where, where)
    whole = getattr(owner, name)
    monkeypatch.setattr(owner, name, broken)
    with caplog.at_level(logging.WARNING, "squidbot"):
        assert program.run(FACT, "chat-2") == SAID
        last = program.talk("chat-2").responses[-1]
        assert [wire(each) for each in last.prompt.messages] == program.fake.requests[-1]
        program.run("RECALL the walrus.", "chat-2")
    logged = [record.getMessage() for record in caplog.records if "squidbot failed" in record.getMessage()]
    assert logged
    assert len(logged) == len(set(logged))
    monkeypatch.setattr(owner, name, whole)
    program.run("Last.", "chat-2")
    assert program.texts("chat-2")[-2:] == ["Last.", SAID]


@pytest.mark.parametrize(
    "told",
    ["{", "[]", '{"store": "x", "budget": "much", "settings": ""}', '{"store": "x", "budget": -1, "settings": ""}'],
)
def test_a_switch_that_says_nothing_of_use_is_told_once(
    folder: Path, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C17, C8: models are as without squidbot, the log and `status` say why."""
    program = Program()
    (folder / "squidbot.json").write_text(told)
    with caplog.at_level(logging.WARNING, "squidbot"):
        assert program.run("Hi") == SAID
        assert program.run("Hi") == SAID
    assert len(caplog.records) == 1
    assert "squidbot is not active: " in command("status").output
    assert not (folder / "squidbot.db").exists()


def test_nothing_changes_until_it_is_switched_on(folder: Path) -> None:
    """H4, C17: installed alone it swaps no class and opens no file; `status` says why, and the tools do."""
    program = Program()
    assert command("status").output == "squidbot is not active: it is not switched on; llm squidbot on\n"
    assert type(llm.get_model("fake")) is Plain
    assert "squidbot status" in program.run("RECALL it.")
    assert not list(folder.glob("squidbot*"))
    assert "is active for" in command("on").output
    model = llm.get_model("fake")
    assert (type(model) is Plain, isinstance(model, Plain), str(model)) == (False, True, "Plain: fake")
    program.run(FACT)
    assert len(program.texts()) == 6, "what was said before comes along with llm's own list"
    assert "it is not switched on" in command("off").output
    program.run("And now?")
    assert "is active for" in command("on").output
    assert len(program.texts()) == 6, "while it was off nothing was recorded"


def test_every_model_of_llms_own_and_of_plugins_is_taken_care_of(program: Program) -> None:
    """However its class is made."""
    said = command("status").output.splitlines()[0]
    ours, every = [int(word) for word in said.split() if word.isdigit()]
    assert ours == every > 3
    bare = llm.get_model("bare").conversation()
    bare.id = "chat-1"
    assert isinstance(bare.model, Bare)
    assert (bare.prompt("Hi").text(), program.texts()) == ("I see 1.", ["Hi", "I see 1."])


def test_a_model_whose_class_can_t_be_swapped_stays_as_it_is(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """C17, H1: the others are taken care of, and the log says which is not."""

    class Stubborn(Plain):
        def __init_subclass__(cls) -> None:
            raise RuntimeError("no heirs")

    program = Program(Stubborn())
    with caplog.at_level(logging.WARNING, "squidbot"):
        assert "is active for" in command("on").output
        assert program.run(FACT) == SAID
    assert type(program.fake) is Stubborn
    assert [record.getMessage() for record in caplog.records] == ["squidbot can't take care of fake: no heirs"]
    assert plugin.is_managed(program.waiting)
    assert folder.exists()


def test_settings_and_wrong_ones_are_said(folder: Path) -> None:
    """A budget that is none is refused; a file of settings says where everything is kept."""
    Program()
    made = command("on", "--budget", "1.5")
    assert made.exit_code == 1
    assert "a number of tokens, or a share of the window below 1" in made.output
    (folder / "mine.toml").write_text(f'[store]\npath = "{(folder / "mine.db").as_posix()}"\n')
    assert "mine.db" in command("on", "--settings", str(folder / "mine.toml"), "--budget", "0.5").output
    (folder / "mine.toml").write_text("[stor]\n")
    plugin.opened.cache_clear()
    assert "squidbot is not active: " in command("status").output


def test_a_window_that_the_model_tells_is_taken(folder: Path) -> None:
    """H8: a share is of it."""
    program = Program()
    program.fake.context_length = 40_000  # type: ignore[attr-defined]
    assert "0.25" in command("on", "--budget", "0.25").output
    program.run(FACT)
    held = plugin.opened(plugin.switched()).conversation("chat-1")
    assert held.session.lease.window_tokens == 10_000
    assert folder.exists()


def test_without_a_conversation_nothing_is_kept_and_that_is_said_once(
    program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    """C17, M11: a prompt by itself has no id; the model gets it as it is."""
    with caplog.at_level(logging.WARNING, "squidbot"):
        for _ in range(2):
            assert llm.get_model("fake").prompt(FACT).text() == SAID
    assert [record.getMessage() for record in caplog.records] == [plugin.NO_TALK]
    store: Any = plugin.opened(plugin.switched()).engine.wired.store
    assert list(store.sessions()) == []
    assert len(program.fake.requests[-1]) == 1


def test_a_plugin_without_its_host_names_the_extra() -> None:
    """C18; and the host finds it by the entry point."""
    code = "import sys; sys.modules['llm'] = None\nimport squidbot.plugins.llm"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)
    assert "squidbot[llm]" in ended.stderr
    named = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["llm"]
    assert [EntryPoint(name, value, "llm").load() for name, value in named.items()] == [plugin]
