"""squidbot in the OpenAI Agents SDK: the real package, its own runner, a model that answers offline."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from agents import ModelProvider, RunConfig, Runner, SQLiteSession
from agents.run import ModelInputData

from squidbot.core.errors import ConfigError
from squidbot.plugins.host import HostConversation
from squidbot.plugins.openai_agents import Squidbot
from squidbot.testing import check_host_plugin
from squidbot.testing.hosts import (
    CHAT,
    FACT,
    FILLER,
    SAID,
    Model,
    ScriptedStep,
    Setting,
    listening,
    look,
    once,
    opened,
    rows,
)

from .points import points_of
from .program_openai_agents import HOST, UNTRACED, Fake, Program

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.testing.hosts import HostDriver


@pytest.mark.parametrize(("host", "point"), points_of(agents=HOST))
def test_the_plugin_conforms(host: HostDriver, point: str, tmp_path: Path) -> None:
    """In whatever way the agent is run."""
    check_host_plugin(host, tmp_path, point)


def test_items_come_back_byte_for_byte(tmp_path: Path) -> None:
    """Codec: what the session of the package itself would keep is what is stored, and what is read of it."""
    theirs = SQLiteSession(CHAT)
    with opened(HOST, tmp_path / "mem.db") as run, opened(HOST, tmp_path / "none.db", has_squidbot=False) as bare:
        for each in (run, bare):
            each.model.script = lambda request: ScriptedStep(calls=(look(1),)) if "Look" in request.text else None
        for text in ("Hello!", "Look!", "And now?"):
            run.say(text)
            bare.program.run(text, CHAT, session=theirs)  # type: ignore[call-arg]  # of this host
        ours = asyncio.run(run.program.squidbot.session(CHAT).get_items())  # type: ignore[attr-defined]  # as above
        kept = asyncio.run(theirs.get_items())
        assert len(ours) == 8
        assert [_plain(each) for each in ours] == [_plain(each) for each in kept]
        newest = asyncio.run(run.program.squidbot.session(CHAT).get_items(3))  # type: ignore[attr-defined]  # as above
        assert newest == ours[-3:]
    theirs.close()


def _plain(item: dict[str, Any]) -> str:
    return json.dumps({key: item[key] for key in sorted(item)})


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:,AA", "detail": "low"}]},
        {"type": "message", "role": "developer", "content": "Be brief."},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": ' { "a":1}', "id": "fc_1", "status": None},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "x"}]},
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"},
        {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": "u"}},
        {"type": "local_shell_call_output", "id": "c", "output": "x"},
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True, "reason": None},
        {"type": "image_generation_call", "id": "i", "result": "AAAA", "status": "completed"},
        {"type": "compaction", "id": "c", "encrypted_content": "c2Vh"},
        {"type": "of tomorrow", "x": [1, None, {"y": 0.5}]},
    ],
    ids=lambda item: str(item.get("type") or "image"),
)
def test_every_kind_of_item_comes_back_as_it_was(item: dict[str, Any], tmp_path: Path) -> None:
    """Codec: through the store, and what it was among."""
    squid, beside = Squidbot(tmp_path / "mem.db"), [{"role": "user", "content": "Hello!"}]
    session = squid.session(CHAT)
    asyncio.run(session.add_items([*beside, item, *beside]))
    assert [_text(each) for each in asyncio.run(session.get_items())] == [*map(_text, [*beside, item, *beside])]
    squid.hosted.close()


def _text(item: dict[str, Any]) -> str:
    return json.dumps(item)


def shown(run: Any) -> list[str]:  # noqa: ANN401  # a program that is open
    """Return the texts that the model was sent last, without the system's."""
    return [each.text for each in run.model.requests[-1].messages if each.role != "system"]


@pytest.mark.parametrize("on_remove", ["hide", "forget"])
def test_a_program_takes_back_what_was_said(on_remove: Any, tmp_path: Path) -> None:  # noqa: ANN401  # one of two words
    """The newest message, and all of it: the model no longer sees it; what is said again is recorded again."""
    with opened(HOST, tmp_path / "mem.db") as run:
        squid = run.program.squidbot  # type: ignore[attr-defined]  # of this host
        squid.hosted._on_remove = on_remove  # as if it was made so
        run.say(FACT)
        session = squid.session(CHAT)
        popped = asyncio.run(session.pop_item())
        assert popped["content"][0]["text"] == SAID
        assert asyncio.run(session.pop_item()) == {"role": "user", "content": FACT}
        assert asyncio.run(session.get_items()) == []
        run.say(FACT)
        assert shown(run) == [FACT], "nothing hints at what was taken back"
        assert len(asyncio.run(session.get_items())) == 2
        asyncio.run(session.clear_session())
        stored = [row.payload for row, _ in rows(run.path, CHAT)]
        assert sum("walrus" in payload for payload in stored) == (2 if on_remove == "hide" else 0)
        assert run.say("Hello!") == SAID
        assert shown(run) == ["Hello!"]
        assert "walrus" not in squid.hosted.answer("history", CHAT, {"id": "m0-m9"})
        assert asyncio.run(squid.session("none").pop_item()) is None


def test_what_becomes_of_removed_messages_is_one_of_two_words(tmp_path: Path) -> None:
    """Another one is refused, with both."""
    with pytest.raises(ConfigError, match="on_remove = 'drop': use 'hide'"):
        Squidbot(tmp_path / "mem.db", on_remove="drop")  # type: ignore[arg-type]


def test_a_run_that_clears_its_session_loses_nothing(tmp_path: Path) -> None:
    """What shortens sessions by itself would write something else: one warning says that it does not."""
    with opened(HOST, tmp_path / "mem.db") as run, listening() as told:
        run.say(FACT)
        given = run.program.squidbot.options(CHAT)["session"]  # type: ignore[attr-defined]  # of this host

        async def compact() -> None:
            for _ in range(2):
                assert await given.get_items(5) == []
                assert await given.pop_item() is None
                await given.clear_session()
                await given.add_items([{"role": "user", "content": "A summary."}])

        asyncio.run(compact())
        assert run.say("Hello!") == SAID
        assert run.said() == [("user", FACT), ("assistant", SAID), ("user", "Hello!"), ("assistant", SAID)]
    assert len(told.lines) == 1
    assert "tried to clear the session" in told.lines[0]


def test_a_session_without_its_configuration_records_and_warns(tmp_path: Path) -> None:
    """As any session of the package does: nothing is bounded."""
    with opened(HOST, tmp_path / "mem.db", budget=None) as run, listening() as told:
        session = run.program.squidbot.session(CHAT)  # type: ignore[attr-defined]  # of this host
        for text in (FACT, "Hello!"):
            run.program.run(text, CHAT, session=session, run_config=UNTRACED)  # type: ignore[call-arg]  # as above
        assert len(run.model.requests[-1].messages) == 3
        assert run.said() == [("user", FACT), ("assistant", SAID), ("user", "Hello!"), ("assistant", SAID)]
    assert len(told.lines) == 1
    assert "run configuration is missing" in told.lines[0]


@pytest.mark.parametrize("way", ["run", "stream"])
def test_models_are_found_by_their_names(way: str, tmp_path: Path) -> None:
    """By the program's own provider, for a run or for an agent; the window is that of the name."""

    class Named(ModelProvider):  # type: ignore[misc]  # mypy reads no types of the host
        asked: list[str | None] = []  # noqa: RUF012  # of one test

        def get_model(self, model_name: str | None) -> Fake:
            self.asked.append(model_name)
            fake = Fake(mind)
            fake.model = str(model_name)
            return fake

        async def aclose(self) -> None:
            self.asked.append("closed")

    mind, provider = Model(4_000), Named()
    for model in (None, "of the run"):
        config = RunConfig(tracing_disabled=True, model_provider=provider, model=model)
        program = Program(Setting(tmp_path / f"{model}.db", mind), config=config, agent={"model": "of the agent"})
        mind.script = lambda request: ScriptedStep(error="too_long") if request.number % 5 == 4 else None
        turn = program.run if way == "run" else program.stream
        assert [turn(text, CHAT) for text in (FACT, FILLER, FILLER, FILLER)] == [SAID] * 4
        talk = program.squidbot.hosted.conversation(CHAT)  # type: ignore[union-attr]  # it has one
        assert talk.session.window.model == (model or "of the agent")
        asyncio.run(program.options(CHAT)["run_config"].model_provider.aclose())
        program.close()
    assert not mind.faults
    assert set(provider.asked) == {"of the agent", "of the run", "closed"}


def test_the_programs_own_filter_has_the_last_word(tmp_path: Path) -> None:
    """It gets what squidbot has made, in front of each call, and where squidbot has nothing to say, too."""
    found = []

    def late(data: Any) -> ModelInputData:  # noqa: ANN401  # the host's
        found.append(len(data.model_data.input))
        return ModelInputData([*data.model_data.input, {"role": "user", "content": "It is late."}], "Be brief.")

    config = RunConfig(tracing_disabled=True, call_model_input_filter=late)
    mind = Model(4_000)
    program = Program(Setting(tmp_path / "mem.db", mind), config=config)
    for text in (FACT, "Hello!"):
        program.run(text, CHAT)
    program.close()
    assert found == [1, 3]
    assert [request.messages[-1].text for request in mind.requests] == ["It is late."] * 2
    assert mind.requests[-1].system == "Be brief."
    assert b"It is late." not in b"".join(row.payload.encode() for row, _ in rows(tmp_path / "mem.db", CHAT))


def test_what_could_not_be_recorded_is_recorded_with_the_next_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that fails for a time: nothing of a run is lost while its program lives."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug of ours")

    with opened(HOST, tmp_path / "mem.db", budget=None) as run:
        run.model.script = lambda request: ScriptedStep(calls=(look(1),)) if "Look" in request.text else None
        with monkeypatch.context() as patch:
            for name in ("before", "said", "after"):
                patch.setattr(HostConversation, name, broken)
            assert "result 1" in run.say("Look!")
        assert run.say("Hello!") == SAID
        assert [role for role, _ in run.said()] == ["user", "call", "result", "assistant", "user", "assistant"]
        assert not run.program.squidbot._waiting  # type: ignore[attr-defined]  # of this host


def test_what_can_t_be_is_refused_when_options_are_made(tmp_path: Path) -> None:
    """An empty id, and settings that leave the conversation with the provider."""
    squid = Squidbot(tmp_path / "mem.db")
    with pytest.raises(ConfigError, match="conversation_id must not be empty"):
        squid.options("")
    with closing(SQLiteSession("mine")) as theirs, pytest.raises(ConfigError, match=r"remove session=SQLiteSession"):
        squid.options(CHAT, session=theirs)
    with pytest.raises(ConfigError, match="extra_body"):
        squid.options(CHAT, run_config={"model_settings": {"extra_body": {"previous_response_id": "x"}}})
    assert squid.options(CHAT, run_config={"workflow_name": "mine"})["run_config"].workflow_name == "mine"


def test_a_tool_without_arguments_to_read_says_so(tmp_path: Path) -> None:
    """A model that writes no JSON does not end its run."""
    with opened(HOST, tmp_path / "mem.db") as run:
        native = _calls("memory_search", "no JSON")
        run.scripted(once(ScriptedStep("", native=native)))
        assert "the arguments of memory_search are not JSON; call it again" in run.say("Hello!")


def _calls(name: str, arguments: str) -> list[Any]:
    from openai.types.responses import ResponseFunctionToolCall  # noqa: PLC0415  # of one test

    return [ResponseFunctionToolCall(type="function_call", call_id="c1", name=name, arguments=arguments)]


def test_requests_of_other_runs_stay_as_they_are(tmp_path: Path) -> None:
    """A model that squidbot knows, in a run without its options, behind one with them."""
    with opened(HOST, tmp_path / "mem.db") as run:

        async def both() -> None:
            await run.program.arun(FACT, CHAT)
            await Runner.run(run.program.agent, "Hello!", run_config=UNTRACED)  # type: ignore[attr-defined]
            stream = Runner.run_streamed(run.program.agent, "Hello!", run_config=UNTRACED)  # type: ignore[attr-defined]
            assert [event async for event in stream.stream_events()]

        asyncio.run(both())
        assert [len(request.messages) for request in run.model.requests] == [1, 1, 1]
        assert run.said() == [("user", FACT), ("assistant", SAID)]
