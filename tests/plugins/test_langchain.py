"""squidbot in LangChain: the real package, its own agent loop, a model that answers offline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, message_to_dict, messages_from_dict
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import BaseModel, Field

from squidbot.core.errors import ConfigError
from squidbot.core.transcript.scopes import MODEL
from squidbot.plugins.langchain import Squidbot
from squidbot.testing import check_host_plugin
from squidbot.testing.hosts import CHAT, Model, Setting, opened, rows

from .points import points_of
from .program_langchain import GRAPH, HOST, KEEPING, KEEPING_GRAPH, Program

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from squidbot.testing.hosts import HostDriver


@pytest.mark.parametrize(
    ("host", "point"), points_of(bare=HOST, checkpointer=KEEPING, graph=GRAPH, keeping_graph=KEEPING_GRAPH)
)
def test_the_plugin_conforms(host: HostDriver, point: str, tmp_path: Path) -> None:
    """Whether the graph keeps its messages itself, too, or the thread is all that is known."""
    check_host_plugin(host, tmp_path, point)


def test_every_message_goes_there_and_back(tmp_path: Path) -> None:
    """Codec: what the package writes is stored to the letter, and read by it as it was."""
    with opened(HOST, tmp_path / "mem.db") as run:
        run.say("Hello!")
        run.say("RECALL it.")
        stored = [row.payload for row, _ in rows(run.path, CHAT)]
    assert len(stored) == 6
    for payload in stored:
        (message,) = messages_from_dict([json.loads(payload)])
        assert message_to_dict(message) == json.loads(payload)


def test_tools_say_that_there_is_no_thread(tmp_path: Path) -> None:
    """C17, M11: to the model, too, which would believe that nothing was ever said."""
    program = Program(Setting(tmp_path / "mem.db", Model(None)))
    made = program.agent.invoke({"messages": [("user", "RECALL it.")]})["messages"]
    assert "thread_id" in made[-1].text
    program.close()


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_settings_that_have_the_provider_hold_the_conversation_are_refused(key: str, tmp_path: Path) -> None:
    """C11: those of a call; that of a model is in the check."""
    program = Program(Setting(tmp_path / "mem.db", Model(None)), settings={key: "x"})
    with pytest.raises(ConfigError, match=key):
        program.run("Hi", CHAT)
    assert program.mind.requests == []
    program.close()


class City(BaseModel):
    """What the agent is to return."""

    city: str


class Report(City):
    """What the agent is to return, with much to be said of it."""

    weather: str = Field(default="", description="sun and rain " * 1_300)


class Counted(City):
    """What the agent is to return; counts how often its schema is made."""

    made: ClassVar[int] = 0

    @classmethod
    def model_json_schema(cls, *given: Any, **more: Any) -> dict[str, Any]:  # noqa: ANN401  # as pydantic has it
        """Make it."""
        Counted.made += 1
        return super().model_json_schema(*given, **more)


class Structured(BaseChatModel):
    """A model that answers by the tool for the answer, or as JSON."""

    seen: list[list[BaseMessage]] = []  # noqa: RUF012  # pydantic copies it
    name: str = ""

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Sequence[Any], **_: object) -> Structured:
        """Take any."""
        del tools
        return self

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        self.seen.append(messages)
        answer = {"city": "Bern"}
        call = {"name": self.name, "args": answer, "id": f"c{len(self.seen)}"}
        reply = AIMessage("", tool_calls=[call]) if self.name else AIMessage(json.dumps(answer))
        return ChatResult(generations=[ChatGeneration(message=reply)])


def structured(path: Path, form: Any, *texts: str, name: str = "") -> list[BaseMessage]:  # noqa: ANN401  # any strategy
    """Run turns of an agent whose answers have a form, and return what the model was sent last."""
    model, squidbot = Structured(name=name), Squidbot(path, budget=8_000)
    agent = create_agent(model, middleware=[squidbot], response_format=form)
    for text in texts:
        made = agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": CHAT}})
        assert made["structured_response"].city == "Bern"
    squidbot.hosted.close()
    return model.seen[-1]


def test_a_structured_answer_is_a_finished_call(tmp_path: Path) -> None:
    """Without a checkpointer the model sees of earlier answers what the host says of them, not "cancelled"."""
    sent = structured(tmp_path / "mem.db", ToolStrategy(City), "where?", "and now?", name="City")
    (returned,) = (each.text for each in sent if isinstance(each, ToolMessage))
    assert returned.startswith("Returning structured response")


class Interrupted(Structured):
    """While it answers, another model is asked in the same thread."""

    host: Any = None

    def _generate(self, messages: list[BaseMessage], *rest: object, **more: object) -> ChatResult:
        self.host.conversation(CHAT, "other", 6_000)
        return super()._generate(messages, *rest, **more)


def test_reply_is_recorded_under_the_model_that_gave_it(tmp_path: Path) -> None:
    """Another one that was asked in the thread meanwhile has nothing to do with it."""
    squidbot = Squidbot(tmp_path / "mem.db")
    agent: Any = create_agent(Interrupted(host=squidbot.hosted), middleware=[squidbot])
    for text in ("where?", "and now?"):
        agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": CHAT}})
    store = squidbot.hosted.engine.wired.store
    assert [row.role for row in store.read(CHAT, 0, 9)] == ["user", "assistant"] * 2
    assert [one.model for one in MODEL.state(store, CHAT)] == ["Interrupted"]
    squidbot.hosted.close()


@pytest.mark.parametrize(("form", "fits"), [(City, True), (Report, False), (ProviderStrategy(Report), False)])
def test_the_schema_of_the_answer_is_counted(form: Any, fits: bool, tmp_path: Path) -> None:  # noqa: ANN401, FBT001  # any strategy
    """A provider is sent the form of the answer, too: it takes room from what was said."""
    winds = "wind " * 1_000
    name = "" if isinstance(form, ProviderStrategy) else form.__name__
    sent = structured(tmp_path / "mem.db", form, winds, "And in spring?" + " rain" * 1_000, name=name)
    assert any(winds in each.text for each in sent) is fits


def test_the_schema_of_the_answer_is_made_once_and_not_for_each_call(tmp_path: Path) -> None:
    """It takes pydantic milliseconds, and is the same in each."""
    made = []
    for turns in (1, 4):
        before = Counted.made
        structured(tmp_path / f"{turns}.db", Counted, *["where?"] * turns, name="Counted")
        made.append(Counted.made - before)
    assert made[0] == made[1] > 0
