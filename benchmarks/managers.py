"""Context managers of other libraries, replayed beside squidbot: their own code, where their package is installed.

Each gets the messages of a recording one by one, and is asked for a request before each call, as its host asks it. All
have squidbot's budget, and count by the ruler of the replay. Those that have a model write summaries get the same
stand-in for it: `RollingSummary`, an extract by rule of at most 1,500 tokens. So the policies are compared, not the
models; each summary is billed as a model's.
"""

from __future__ import annotations

import asyncio
import logging
import math
from abc import abstractmethod
from dataclasses import replace
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from squidbot.core.messages import Kind, Usage
from squidbot.replay.recording import RequestBlock
from squidbot.replay.rivals import (
    PROMPT_TOKENS,
    SUMMARY_BUDGET_SHARE,
    SUMMARY_MOST_TOKENS,
    LastMessages,
    RollingSummary,
    SendEverything,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.replay.metrics import Ruler
    from squidbot.replay.rivals import Blocks, Rival

__all__ = ["MANAGERS", "Manager", "available", "missing"]

# A text that opens a request can be larger than a small window: whatever is sent with it exceeds that.
_LEAST_TOKENS: Final = 100
# When Strands compacts before a call, and how LangChain's pages set up theirs; shares of the budget, and messages.
_STRANDS_FRACTION, _LANGCHAIN_FRACTION, _LANGCHAIN_KEEPS = 0.7, 0.8, 20


class Manager(RollingSummary):
    """A library's manager. Its messages have ids, by which their blocks are found again.

    Attributes:
        package: the module that has to be installed.
    """

    package = ""

    def __init__(self, budget_tokens: int, ruler: Ruler) -> None:
        """Take the budget and the ruler of the replay."""
        super().__init__(budget_tokens, ruler)
        self.known: dict[str, RequestBlock] = {}

    def add(self, message: Blocks) -> None:
        """Take the next message."""
        if not self.history and not self.known and message[0].role == "system":
            self.lead.append(message)
            return
        for block in message:
            key = f"b{len(self.known)}"
            self.known[key] = block
            self.take(key, block)

    def view(self) -> Sequence[Blocks]:
        """Return the messages of the next request."""
        return [(block,) for block in self.blocks()]

    @abstractmethod
    def take(self, key: str, block: RequestBlock) -> None:
        """Give the library one message."""

    @abstractmethod
    def blocks(self) -> list[RequestBlock]:
        """Return what the library sends."""

    @property
    def room_tokens(self) -> int:
        """The budget without the texts that open every request; libraries accept no budget below 1."""
        return max(_LEAST_TOKENS, self.budget_tokens - self.bound(self.lead))

    def tokens(self, blocks: Iterable[RequestBlock]) -> int:
        """Return what blocks cost."""
        return self.ruler.cost(blocks).bound

    def found(self, key: str | None, text: str, role: str = "user") -> RequestBlock:
        """Return a library's message as a block: the given one, a shortened one, or a text of the library's own."""
        block = self.known.get(key or "")
        if block is None:
            return RequestBlock(role, Kind.SUMMARY.value, text)
        return block if block.text == text else replace(block, kind=Kind.SLIMMED.value, text=text)

    def summarized(self, blocks: Sequence[RequestBlock]) -> str:
        """Return the summary that stands in for a model's, and bill it."""
        limit = min(SUMMARY_MOST_TOKENS, self.budget_tokens // SUMMARY_BUDGET_SHARE)
        text = self._summary([(block,) for block in blocks], limit)
        read = self.ruler.cost(blocks).estimate + PROMPT_TOKENS
        self.summaries.append(Usage(read, self.ruler.measured("user", text).cost.estimate))
        return text


# -- LangChain ---------------------------------------------------------------------------------------------------------


class LangChainTrim(Manager):
    """`trim_messages`, as the guide of LangGraph's memory shows it."""

    name, package = "LangChain trim_messages", "langchain_core"
    starts: str | tuple[str, ...] = "human"

    def __init__(self, budget_tokens: int, ruler: Ruler) -> None:
        """Begin with an empty list."""
        super().__init__(budget_tokens, ruler)
        self.state: list[Any] = []

    def take(self, key: str, block: RequestBlock) -> None:
        """Append one of LangChain's messages."""
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage  # noqa: PLC0415

        calls = [{"name": "tool", "args": {}, "id": each} for each in block.tool_calls]
        made: Any
        if block.tool_result:
            made = ToolMessage(block.text, tool_call_id=block.tool_result, id=key)
        elif block.role == "assistant":
            made = AIMessage(block.text, tool_calls=calls, id=key)
        else:
            made = (SystemMessage if block.role in {"system", "developer"} else HumanMessage)(block.text, id=key)
        self.state.append(made)

    def of(self, messages: Iterable[Any]) -> list[RequestBlock]:
        """Return LangChain's messages as blocks."""
        return [self.found(each.id, str(each.content)) for each in messages]

    def count(self, messages: Iterable[Any], **_: object) -> int:
        """Return what LangChain's messages cost."""
        return self.tokens(self.of(messages))

    def blocks(self) -> list[RequestBlock]:
        """Return what is left of the newest messages; those that surely have no room are not looked at."""
        from langchain_core.messages import trim_messages  # noqa: PLC0415

        first, used = len(self.state), 0
        while first and used <= 2 * self.room_tokens:
            first -= 1
            used += self.count(self.state[first : first + 1])
        kept = trim_messages(
            self.state[first:],
            max_tokens=self.room_tokens,
            strategy="last",
            start_on=self.starts,
            include_system=True,
            token_counter=self.count,
        )
        return self.of(kept)


class LangChainTrimAny(LangChainTrim):
    """The same where a request may begin with an answer of the model."""

    name = "LangChain trim_messages, human or ai"
    starts = ("human", "ai")


class LangChainSummary(LangChainTrim):
    """`SummarizationMiddleware`: at 80 % of the budget all but 20 messages become a summary."""

    name, package = "LangChain SummarizationMiddleware", "langchain.agents.middleware"

    def __init__(self, budget_tokens: int, ruler: Ruler) -> None:
        """Make the middleware when the first request is made."""
        super().__init__(budget_tokens, ruler)
        self._middleware: Any = None

    def blocks(self) -> list[RequestBlock]:
        """Return the list that the middleware leaves."""
        if self._middleware is None:
            self._middleware = self._made()
        if changed := self._middleware.before_model({"messages": self.state}, None):
            self.state = list(changed["messages"][1:])
        return self.of(self.state)

    def _made(self) -> Any:  # noqa: ANN401  # of a package that may be missing
        from langchain.agents.middleware import SummarizationMiddleware  # noqa: PLC0415
        from langchain_core.language_models import FakeListChatModel  # noqa: PLC0415

        outer = self

        class StandIn(SummarizationMiddleware):
            def _create_summary(self, messages_to_summarize: list[Any]) -> str:
                return outer.summarized(outer.of(messages_to_summarize))

        return StandIn(
            FakeListChatModel(responses=[""]),
            trigger=("tokens", int(self.room_tokens * _LANGCHAIN_FRACTION)),
            keep=("messages", _LANGCHAIN_KEEPS),
            token_counter=self.count,
        )


class DeepAgents(LangChainTrim):
    """deepagents' middleware with its own defaults, for a model whose window is known."""

    name, package = "deepagents", "deepagents"

    def __init__(self, budget_tokens: int, ruler: Ruler) -> None:
        """Make the middleware when the first request is made."""
        super().__init__(budget_tokens, ruler)
        self._middleware: Any = None
        self._told: dict[str, Any] = {}
        self._folder = TemporaryDirectory()

    def blocks(self) -> list[RequestBlock]:
        """Return what the middleware hands the model; the whole list where it gives up."""
        from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse  # noqa: PLC0415
        from langchain_core.exceptions import ContextOverflowError  # noqa: PLC0415
        from langchain_core.messages import AIMessage  # noqa: PLC0415

        if self._middleware is None:
            self._middleware = self._made()
        sent: list[Any] = list(self.state)

        def answer(request: Any) -> Any:  # noqa: ANN401  # of a package that may be missing
            sent[:] = request.messages
            return ModelResponse(result=[AIMessage("")])

        state: Any = {"messages": self.state, **self._told}
        asked = ModelRequest(model=self._middleware.model, messages=list(self.state), state=state)
        try:
            answered = self._middleware.wrap_model_call(asked, answer)
        except ContextOverflowError:
            return self.of(sent)
        if isinstance(answered, ExtendedModelResponse):
            update = dict((answered.command and answered.command.update) or {})
            changed = {each.id: each for each in update.pop("messages", ())}
            self.state = [changed.get(each.id, each) for each in self.state]
            self._told |= update
        return self.of(sent)

    def _made(self) -> Any:  # noqa: ANN401  # of a package that may be missing
        from deepagents.backends import FilesystemBackend  # noqa: PLC0415
        from deepagents.middleware.summarization import (  # noqa: PLC0415
            SummarizationMiddleware,
            compute_summarization_defaults,
        )
        from langchain_core.language_models import FakeListChatModel  # noqa: PLC0415

        outer = self

        class StandIn(SummarizationMiddleware):  # type: ignore[misc, unused-ignore]  # untyped where it is missing
            def _create_summary(self, messages_to_summarize: list[Any]) -> str:
                return outer.summarized(outer.of(messages_to_summarize))

            def _offload_to_backend(self, *_: object) -> str:
                return "/conversation_history/session.md"

        model = FakeListChatModel(responses=[""], profile={"max_input_tokens": self.room_tokens})
        # What it writes out of requests is never read here.
        backend = FilesystemBackend(root_dir=self._folder.name, virtual_mode=True)
        return StandIn(model, backend=backend, token_counter=self.count, **compute_summarization_defaults(model))


# -- Strands -----------------------------------------------------------------------------------------------------------


class StrandsWindow(Manager):
    """`SlidingWindowConversationManager`: 40 messages, before each call; it gives way when the model overflows."""

    name, package = "Strands SlidingWindow", "strands"

    def __init__(self, budget_tokens: int, ruler: Ruler) -> None:
        """Begin with an agent that has nothing but messages."""
        super().__init__(budget_tokens, ruler)
        self.agent: Any = SimpleNamespace(messages=[])
        self.manager: Any = None

    def take(self, key: str, block: RequestBlock) -> None:
        """Append one of Bedrock's messages; the results of one step are one."""
        item: dict[str, Any] = {"text": block.text or " "}
        if block.tool_result:
            result = {"toolUseId": block.tool_result, "status": "success", "content": [item]}
            item = {"toolResult": result}
        role = "assistant" if block.role == "assistant" else "user"
        calls = [{"toolUse": {"toolUseId": each, "name": "tool", "input": {}}} for each in block.tool_calls]
        held = self.agent.messages
        if block.tool_result and held and "toolResult" in held[-1]["content"][-1]:
            held[-1]["content"].append(item)
            held[-1]["keys"].append(key)
        else:
            held.append({"role": role, "content": [item, *calls], "keys": [key]})

    def blocks(self) -> list[RequestBlock]:
        """Return what is left once the manager has done its work, and once more for each overflow that it can mend."""
        from strands.types.exceptions import ContextWindowOverflowException  # noqa: PLC0415

        if self.manager is None:
            self.manager = self._made()
        self._before_call()
        before, tokens = math.inf, self.tokens(self._flat())
        while self.room_tokens < tokens < before:
            try:
                self.manager.reduce_context(self.agent, e=ContextWindowOverflowException("too long"))
            except ContextWindowOverflowException:
                break
            before, tokens = tokens, self.tokens(self._flat())
        return self._flat()

    def _made(self) -> Any:  # noqa: ANN401  # of a package that may be missing
        from strands.agent.conversation_manager import SlidingWindowConversationManager  # noqa: PLC0415

        _quiet()
        return SlidingWindowConversationManager(per_turn=True)

    def _before_call(self) -> None:
        self.manager.apply_management(self.agent)

    def _flat(self, messages: Sequence[dict[str, Any]] | None = None) -> list[RequestBlock]:
        made = []
        for message in self.agent.messages if messages is None else messages:
            items = [each for each in message["content"] if "toolUse" not in each]
            keys = message.get("keys") or [None] * len(items)
            for key, item in zip(keys, items, strict=True):
                texts = item["toolResult"]["content"] if "toolResult" in item else [item]
                text = "".join(each.get("text", "") for each in texts)
                made.append(self.found(key, "" if text == " " else text))
        return made


class StrandsSummary(StrandsWindow):
    """`SummarizingConversationManager`: at 70 % of the budget the oldest 30 % of the messages become a summary."""

    name = "Strands Summarizing"

    def _made(self) -> Any:  # noqa: ANN401  # of a package that may be missing
        from strands.agent.conversation_manager import SummarizingConversationManager  # noqa: PLC0415

        _quiet()
        outer = self

        class StandIn(SummarizingConversationManager):  # type: ignore[misc, unused-ignore]  # untyped where missing
            def _generate_summary(self, messages: list[Any], _agent: object) -> Any:  # noqa: ANN401  # a message
                text = outer.summarized(outer._flat(messages))  # the class around it
                return {"role": "user", "content": [{"text": text}]}

        return StandIn()

    def _before_call(self) -> None:
        if self.tokens(self._flat()) > _STRANDS_FRACTION * self.room_tokens:
            self.manager.reduce_context(self.agent)


def _quiet() -> None:
    """Keep Strands from logging each request that it can't make smaller; they are counted."""
    logging.getLogger("strands").setLevel(logging.CRITICAL)


# -- OpenAI Agents -----------------------------------------------------------------------------------------------------


class OpenAITrimmer(Manager):
    """`ToolOutputTrimmer` with its defaults: outputs from before the last two questions become previews."""

    name, package = "OpenAI Agents ToolOutputTrimmer", "agents"

    def __init__(self, budget_tokens: int, ruler: Ruler) -> None:
        """Begin with an empty list."""
        super().__init__(budget_tokens, ruler)
        self.items: list[dict[str, Any]] = []

    def take(self, key: str, block: RequestBlock) -> None:
        """Append items of the Responses API; ours have a key more."""
        if block.tool_result:
            output = {"type": "function_call_output", "call_id": block.tool_result, "output": block.text}
            self.items.append({**output, "key": key})
            return
        self.items.append({"role": block.role, "content": block.text, "key": key})
        calls = (
            {"type": "function_call", "call_id": each, "name": "tool", "arguments": "{}"} for each in block.tool_calls
        )
        self.items += calls

    def blocks(self) -> list[RequestBlock]:
        """Return what the filter hands the model."""
        from agents.extensions import ToolOutputTrimmer  # noqa: PLC0415
        from agents.run import ModelInputData  # noqa: PLC0415

        given: Any = SimpleNamespace(model_data=ModelInputData(input=list(self.items), instructions=None))  # type: ignore[arg-type, unused-ignore]  # items with a key more
        sent: Any = ToolOutputTrimmer()(given).input
        return [self.found(each["key"], each.get("content", each.get("output"))) for each in sent if "key" in each]


# -- pydantic-ai-harness -----------------------------------------------------------------------------------------------


class HarnessWindow(Manager):
    """`SlidingWindowCompaction`: at the budget the oldest messages go, until half of it is left."""

    name, package = "pydantic-ai SlidingWindow", "pydantic_ai_harness"

    def __init__(self, budget_tokens: int, ruler: Ruler) -> None:
        """Begin with an empty list."""
        super().__init__(budget_tokens, ruler)
        self.messages: list[Any] = []
        self.of: dict[int, RequestBlock] = {}
        self.capability: Any = None

    def take(self, key: str, block: RequestBlock) -> None:
        """Append one of pydantic-ai's messages."""
        from pydantic_ai.messages import (  # noqa: PLC0415
            ModelRequest,
            ModelResponse,
            SystemPromptPart,
            TextPart,
            ToolCallPart,
            ToolReturnPart,
            UserPromptPart,
        )

        made: Any
        if block.tool_result:
            made = ModelRequest(parts=[ToolReturnPart("tool", block.text, block.tool_result)])
        elif block.role == "assistant":
            calls = [ToolCallPart("tool", "{}", each) for each in block.tool_calls]
            made = ModelResponse(parts=[TextPart(block.text), *calls])
        else:
            is_system = block.role in {"system", "developer"}
            made = ModelRequest(parts=[(SystemPromptPart if is_system else UserPromptPart)(block.text)])
        self.messages.append(made)
        self.of[id(made)] = self.known[key]

    def blocks(self) -> list[RequestBlock]:
        """Return what is left; the run's own list changes, too, as in the library."""
        if self.capability is None:
            self.capability = self._made()
        if self.tokens(self._flat()) > self._limit_tokens:
            self.messages = list(asyncio.run(self._compacted()))
        return self._flat()

    async def _compacted(self) -> Sequence[Any]:
        from pydantic_ai import RunContext  # noqa: PLC0415
        from pydantic_ai.models.test import TestModel  # noqa: PLC0415
        from pydantic_ai.usage import RunUsage  # noqa: PLC0415

        context: Any = RunContext(deps=None, model=TestModel(), usage=RunUsage())
        made: Sequence[Any] = await self.capability.compact(self.messages, context)
        return made

    @property
    def _limit_tokens(self) -> float:
        return self.room_tokens

    def _made(self) -> Any:  # noqa: ANN401  # of a package that may be missing
        from pydantic_ai_harness.compaction import SlidingWindowCompaction  # noqa: PLC0415

        return SlidingWindowCompaction(
            max_tokens=self.room_tokens, keep_tokens=self.room_tokens // 2, tokenizer=self._count
        )

    def _count(self, text: str) -> int:
        return self.ruler.measured("user", text).cost.bound

    def _flat(self) -> list[RequestBlock]:
        made = []
        for each in self.messages:
            block = self.of.get(id(each))
            made += [block] if block else [self.found(None, str(part.content)) for part in each.parts]
        return made


MANAGERS: Final[tuple[type[Manager], ...]] = (
    LangChainTrim,
    LangChainTrimAny,
    LangChainSummary,
    DeepAgents,
    StrandsWindow,
    StrandsSummary,
    OpenAITrimmer,
    HarnessWindow,
)


def available() -> list[type[Rival]]:
    """Return the two simplest policies, and the managers whose packages are installed."""
    return [SendEverything, LastMessages, *(each for each in MANAGERS if _has(each))]


def missing() -> list[str]:
    """Return the names of those whose packages are not."""
    return [each.name for each in MANAGERS if not _has(each)]


def _has(each: type[Manager]) -> bool:
    try:
        return find_spec(each.package) is not None
    except ModuleNotFoundError:
        return False
