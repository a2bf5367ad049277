"""squidbot in llm: the real package, its own chain of tools and its command, models that answer offline."""

from __future__ import annotations

import asyncio
import logging
import tomllib
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import llm
import pytest
from click.testing import CliRunner
from llm.cli import cli
from llm.parts import StreamEvent
from llm.plugins import pm

from squidbot.plugins import llm as plugin
from squidbot.testing import check_host_plugin
from squidbot.testing.hosts import (
    BUDGET,
    CHAT,
    FACT,
    SAID,
    Model,
    OpenProgram,
    ScriptedStep,
    Setting,
    look,
    once,
    opened,
    rows,
)

from .points import points_of
from .program_llm import HOST, KEYED, ROOT, Plain, Program, command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from squidbot.testing.hosts import HostDriver


@pytest.mark.parametrize(("host", "point"), points_of(plain=HOST, keyed=KEYED))
def test_the_plugin_conforms(host: HostDriver, point: str, tmp_path: Path) -> None:
    """Where it is switched on; for models with a key and without."""
    check_host_plugin(host, tmp_path, point)


class Bare(llm.Model):
    """A model as plugins write the simplest."""

    model_id = "bare"

    def execute(self, prompt: llm.Prompt, *_: object, **__: object) -> Iterator[str]:
        """Say how many messages were seen."""
        yield f"I see {len(prompt.messages)}."


class Simple:
    """A plugin of somebody else's."""

    @llm.hookimpl
    def register_models(self, register: Callable[..., None]) -> None:
        """Offer it."""
        register(Bare())


@pytest.fixture
def run(tmp_path: Path) -> Iterator[OpenProgram]:
    """Return a program with squidbot switched on."""
    with opened(HOST, tmp_path / plugin.STORE) as made:
        if "squidbot" not in cli.commands:
            plugin.register_commands(cli)
        yield made


@pytest.fixture
def off(tmp_path: Path) -> Iterator[OpenProgram]:
    """Return a program with squidbot installed, and not switched on."""
    with opened(HOST, tmp_path / plugin.STORE, has_squidbot=False) as made:
        if "squidbot" not in cli.commands:
            plugin.register_commands(cli)
        yield made


def words(run: OpenProgram, name: str = CHAT) -> list[str]:
    """Return all that is recorded."""
    return [text for _, text in rows(run.path, name)]


def test_the_command_goes_on_with_what_its_logs_keep(run: OpenProgram) -> None:
    """`llm`, `llm -c` and `-T Squidbot`: the conversation is llm's own."""
    runner = CliRunner()
    first = runner.invoke(cli, ["-m", "fake", "-s", "You are kind.", FACT])
    second = runner.invoke(cli, ["-m", "fake", "-c", "-T", "Squidbot", "RECALL the walrus."])
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "Brunhilde" in second.output
    store: Any = plugin.opened(plugin.switched()).engine.wired.store
    ((found, length),) = store.sessions()
    assert (len(words(run, found)), length) == (6, 6)


def test_the_command_goes_back_to_another_conversation_with_its_fragments(run: OpenProgram, tmp_path: Path) -> None:
    """`-f`, `-c` and `--cid`: each conversation has what was said in it, once, on one line."""
    runner, note = CliRunner(), tmp_path / "note.txt"
    note.write_text("The harbour has a crane. " * 20)

    def say(*given: str) -> str:
        done = runner.invoke(cli, ["-m", "fake", *given])
        assert done.exit_code == 0, done.output
        return " ".join(each.text for each in run.model.requests[-1].messages if each.role == "user")

    say("-f", str(note), "What is in the harbour?")
    store: Any = plugin.opened(plugin.switched()).engine.wired.store
    ((first, _),) = store.sessions()
    asked = say("-c", "Since when?")
    assert (asked.count("The harbour has a crane."), asked.count("in the harbour?")) == (20, 1)
    assert "harbour" not in say("Of other things.")
    asked = say("--cid", first, "-f", str(note), "Who built it?")
    assert [asked.count(text) for text in ("in the harbour?", "Since when?", "Who built it?")] == [1, 1, 1]
    assert "Of other things." not in asked
    lengths = dict(store.sessions())
    assert (lengths.pop(first), [*lengths.values()]) == (6, [2])
    assert all(len(plugin.opened(plugin.switched()).conversation(each).session.lines()) == 1 for each in [first])


def test_a_conversation_that_a_program_shortens_is_followed(run: OpenProgram) -> None:
    """In Python: the newest answers are taken off, and the question is asked in other words."""
    for text in ("one", "two", "three"):
        run.say(text)
    talk: Any = run.program.talks[CHAT, False]  # type: ignore[attr-defined]  # it is ours
    del talk.responses[1:]
    run.say("two instead")
    asked = [each.text for each in run.model.requests[-1].messages if each.role == "user"]
    assert asked == ["one", "two instead"]


def test_a_turn_that_llm_forgets_is_kept_and_added_once(run: OpenProgram) -> None:
    """C6, C9: an answer left off, a prompt that failed; the next turns add nothing twice, whatever llm lists."""
    run.say(FACT)
    run.program.stream("And the seal?", CHAT, pieces=1)
    assert words(run) == [FACT, SAID, "And the seal?", SAID[:40]]
    run.say("And the cat?")
    run.say("And the dog?")
    assert words(run)[4:] == ["And the cat?", SAID, "And the dog?", SAID]
    run.scripted(lambda _request: ScriptedStep(error="failed"))
    assert run.fails("Look!")
    run.unscripted()
    for text in ("What now?", "Look!"):
        run.say(text)
    assert words(run)[8:] == ["Look!", "What now?", SAID, "Look!", SAID]


def test_a_tool_that_is_broken_off_by_a_person_leaves_a_valid_conversation(run: OpenProgram) -> None:
    """C3, C9: by Ctrl-C, where nothing is awaited: its call gets a result that says so, and the next run goes on."""
    run.scripted(once(ScriptedStep(calls=(look(-1, "c1"),))))
    with pytest.raises(KeyboardInterrupt):
        run.say("Wait!")
    run.program.talks.clear()  # type: ignore[attr-defined]  # it is ours
    assert run.say("What now?") == SAID
    assert b"cancelled" in run.whole()


def test_an_awaited_request_that_is_too_long_is_made_shorter(run: OpenProgram) -> None:
    """C13: asked again with less in the same step, and nothing else is recorded."""
    for number in range(4):
        asyncio.run(run.program.arun(f"{number}: {FACT} " * 9, CHAT))
    before = len(words(run))
    run.scripted(once(ScriptedStep(error="too_long")))
    assert asyncio.run(run.program.arun("Once more.", CHAT)) == SAID
    refused, taken = run.model.requests[-2:]
    assert taken.tokens < refused.tokens
    assert words(run)[before:] == ["Once more.", SAID]


def test_an_answer_of_two_messages_stays_two(run: OpenProgram) -> None:
    """As providers give that run tools themselves; the next turn adds none of them again."""
    events = [StreamEvent("text", "One."), StreamEvent("text", "Two.", message_index=1)]
    run.scripted(once(ScriptedStep(native=events)))
    run.say(FACT)
    run.say("And?")
    assert words(run) == [FACT, "One.", "Two.", "And?", SAID]


def test_reported_usage_is_recorded(run: OpenProgram) -> None:
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
    assert run.model.requests == []


@pytest.mark.parametrize(
    "told",
    [
        "{",
        "[]",
        "{}",
        '{"store": "x", "budget": "much", "settings": ""}',
        '{"store": "x", "budget": -1, "settings": ""}',
    ],
)
def test_a_switch_that_says_nothing_of_use_is_told_once(
    off: OpenProgram, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C17, C8: models are as without squidbot, the log and `status` say why."""
    (off.path.parent / plugin.SWITCH).write_text(told)
    with caplog.at_level(logging.WARNING, "squidbot"):
        assert off.say("Hi") == SAID
        assert off.say("Hi") == SAID
    assert len(caplog.records) == 1
    assert command("status").output.startswith(("squidbot is off: ", "squidbot is on, but can't work: budget must be "))
    assert not off.path.exists()


def test_nothing_changes_until_it_is_switched_on(off: OpenProgram) -> None:
    """H4, C17: installed alone it swaps no class and opens no file; `status` says why, and the tools do."""
    program: Any = off.program
    program.tools = [plugin.Squidbot()]
    assert command("status").output == "squidbot is off. Turn it on with: llm squidbot on\n"
    assert type(llm.get_model("fake")) is Plain
    assert "squidbot status" in off.say("RECALL it.")
    assert not list(off.path.parent.glob("squidbot*"))
    assert "is active for" in command("on", "--budget", str(BUDGET)).output
    model = llm.get_model("fake")
    assert (type(model) is Plain, isinstance(model, Plain), str(model)) == (False, True, "Plain: fake")
    off.say(FACT)
    assert len(words(off)) == 6, "what was said before comes along with llm's own list"
    assert "squidbot is off." in command("off").output
    off.say("And now?")
    assert command("on", "--budget", "3000000").output.endswith("\nbudget: 3000000\n")
    assert "is active for" in command("on").output
    assert len(words(off)) == 6, "while it was off nothing was recorded"


def test_every_model_of_llms_own_and_of_plugins_is_taken_care_of(run: OpenProgram) -> None:
    """However its class is made."""
    simple = Simple()
    pm.register(simple)
    try:
        said = command("status").output.splitlines()[0]
        ours, every = [int(word) for word in said.split() if word.isdigit()]
        assert ours == every > 3
        bare = llm.get_model("bare").conversation()
        bare.id = CHAT
        assert isinstance(bare.model, Bare)
        assert (bare.prompt("Hi").text(), words(run)) == ("I see 1.", ["Hi", "I see 1."])
    finally:
        pm.unregister(simple)


def test_a_model_whose_class_can_t_be_swapped_stays_as_it_is(
    off: OpenProgram, caplog: pytest.LogCaptureFixture
) -> None:
    """C17, H1: the others are taken care of, and the log says which is not."""

    class Stubborn(Plain):
        def __init_subclass__(cls) -> None:
            raise RuntimeError("no heirs")

    program: Any = off.program
    program.models = Stubborn(off.model), program.models[1]
    with caplog.at_level(logging.WARNING, "squidbot"):
        assert "is active for" in command("on").output
        assert off.say(FACT) == SAID
    assert type(program.models[0]) is Stubborn
    assert [record.getMessage() for record in caplog.records] == ["squidbot cannot limit requests of fake: no heirs"]
    assert plugin.is_managed(program.models[1])


def test_settings_and_wrong_ones_are_said(off: OpenProgram) -> None:
    """A budget that is none is refused; a file of settings says where everything is kept."""
    for budget, says in (("10", "need at least 256 tokens"), ("much", "must be a token count")):
        assert says in command("on", "--budget", budget).output
    made = command("on", "--budget", "1.5")
    assert made.exit_code == 1
    assert "budget must be a token count" in made.output
    folder = off.path.parent
    (folder / "mine.toml").write_text(f'[store]\npath = "{(folder / "mine.db").as_posix()}"\n')
    assert "mine.db" in command("on", "--settings", str(folder / "mine.toml"), "--budget", "0.5").output
    (folder / "mine.toml").write_text("[stor]\n")
    plugin.opened.cache_clear()
    assert "squidbot is on, but can't work: " in command("status").output
    made = command("on", "--settings", str(folder / "mine.toml"))
    assert (made.exit_code, "stor" in made.output) == (1, True), "what is wrong with settings is said at once"
    (folder / "mine.toml").write_text("")
    made = command("on", "--settings", str(folder / "mine.toml"))
    assert (made.exit_code, "names no store" in made.output) == (1, True), "nothing would be kept"
    made = command("on", "--store", "mysql://127.0.0.1/agents")
    assert (made.exit_code, "for mysql://" in made.output, str(folder) in made.output) == (1, True, False), made.output
    (folder / "broken.db").write_text("this is no database, and never was" * 99)
    made = command("on", "--store", str(folder / "broken.db"))
    assert (made.exit_code, "broken.db" in made.output) == (1, True), "and a store that can't be opened"


def test_a_window_that_the_model_tells_is_taken(off: OpenProgram) -> None:
    """H8: a share is of it."""
    off.program.models[0].context_length = 40_000  # type: ignore[attr-defined]  # as models of plugins have it
    assert "0.25" in command("on", "--budget", "0.25").output
    off.say(FACT)
    held = plugin.opened(plugin.switched()).conversation(CHAT)
    assert held.session.window.window_tokens == 10_000


def test_without_a_conversation_nothing_is_kept(tmp_path: Path) -> None:
    """C17, M11: the model gets a prompt as it is; that it is said is in the check."""
    program = Program(Setting(tmp_path / plugin.STORE, Model(None)))
    assert llm.get_model("fake").prompt(FACT).text() == SAID
    store: Any = plugin.opened(plugin.switched()).engine.wired.store
    assert list(store.sessions()) == []
    assert len(program.mind.requests[-1].messages) == 1
    program.close()


def test_llm_finds_the_plugin_by_its_entry_point() -> None:
    """C18: as `llm install` leaves it."""
    named = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["llm"]
    assert [EntryPoint(name, value, "llm").load() for name, value in named.items()] == [plugin]
