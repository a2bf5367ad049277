"""squidbot in hermes-agent: its context engine, found by its entry point. To turn it on, config.yaml needs two keys.

    plugins: {enabled: [squidbot]}
    context: {engine: squidbot}
    squidbot: {store: squid.db, budget: 32000}

hermes's own list of messages, and its state.db, stay as they are: squidbot decides before each call what the model
sees, inside tool loops, too. A sub-agent's conversation is `PARENT/delegate_task/CALL_ID/SESSION`, by hermes's id of
its session.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakValueDictionary

from squidbot.adapters.common.packages import missing

try:
    from agent.agent_runtime_helpers import strip_think_blocks
    from agent.context_engine import ContextEngine
    from agent.prompt_caching import apply_anthropic_cache_control
    from agent.redact import redact_sensitive_text
    from agent.transports import get_transport
    from hermes_cli.config import load_config
    from hermes_constants import get_hermes_home
    from tools.skill_provenance import is_background_review
except ImportError as error:
    raise ImportError(f"squidbot.plugins.hermes: {error}; {missing('hermes')}") from error

from squidbot.codecs.fields import as_object
from squidbot.codecs.hermes import KEPT_KEYS, SENT_KEY
from squidbot.core.cached import cached_property
from squidbot.core.errors import ConfigError
from squidbot.core.messages import Usage
from squidbot.core.transcript.scopes import spelled
from squidbot.core.view.marks import own_tool
from squidbot.memory import sessions_of
from squidbot.plugins.host import REPLY, REQUEST, HostRuntime
from squidbot.plugins.scopes import child_id
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from squidbot.core.ports import TranscriptStore
    from squidbot.plugins.host import HostConversation


# hermes's own list of messages: how to identify a message, how hermes lists a reply, how to shorten a list.

Native: TypeAlias = "Mapping[str, Any]"
Json: TypeAlias = dict[str, Any]

# This much of a tool's result identifies it: after it, hermes may add the user's words, or we may cut.
KEY_CHARS: Final = 200
# Tags of reasoning models in answers; hermes removes them.
_OPENING: Final = re.compile(r"<(think|thinking|reasoning|thought|REASONING_SCRATCHPAD)>", re.IGNORECASE)
# hermes's names for the parts of a reply other than text and calls.
BESIDE: Final = (
    "reasoning",
    "reasoning_details",
    "anthropic_content_blocks",
    "codex_reasoning_items",
    "codex_message_items",
)
CUT: Final = " […]"


def own(message: Native) -> dict[str, Any]:
    """Return a message of hermes's list without the marks of the running process, to record it."""
    return {key: value for key, value in message.items() if not key.startswith("_")}


def sent_text(message: Native) -> str:
    """Return the sent text of a message on one line, with types in place of pictures and the like."""
    sent = message.get("api_content")
    content = sent if isinstance(sent, str) and sent else message.get("content")
    parts = content if isinstance(content, list) else [content or ""]
    shown = [part if isinstance(part, str) else str(part.get("text") or part.get("type")) for part in parts]
    return " ".join(" ".join(shown).split())


def message_key(message: Native) -> object:
    """Return the key that identifies a message: hermes repairs and trims the rest."""
    if calls := message.get("tool_calls"):
        # hermes may leave out some of several.
        return "assistant", calls[0].get("id"), _arguments(calls[0].get("function") or {})
    said = sent_text(message)
    if message.get("role") == "tool":
        return "tool", message.get("tool_call_id"), said[:KEY_CHARS]
    return message.get("role"), " ".join(" ".join(_unthought(said)).split())


def _unthought(said: str) -> Iterator[str]:
    """Yield the text outside thoughts. An unclosed tag is searched for once, and ignored."""
    at, unclosed = 0, set[str]()
    for opening in _OPENING.finditer(said):
        tag = opening[1].lower()
        if opening.start() < at or tag in unclosed:
            continue
        closing = re.compile(f"</{tag}>", re.IGNORECASE).search(said, opening.end())
        if closing is None:
            unclosed.add(tag)
        else:
            yield said[at : opening.start()]
            at = closing.end()
    yield said[at:]


def _arguments(function: Mapping[str, Any]) -> object:
    given = function.get("arguments") or "{}"
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return None


def reply(said: object, finish_reason: str, visible: Callable[[str], str]) -> dict[str, Any] | None:
    """Return the message that hermes will list for a model's reply; None if it lists none and asks again.

    `said` is hermes's form for any provider's reply; `visible` removes from its text what hermes removes.
    """
    calls, words = _calls(said), visible(str(getattr(said, "content", None) or ""))
    if not (words or calls) or any(_arguments(call["function"]) is None for call in calls):
        return None
    beside = {key: value for key in BESIDE if (value := getattr(said, key, None))}
    if thought := getattr(said, "reasoning_content", None):
        beside = {"reasoning": thought, **beside}
    made = {"role": "assistant", "content": words, "finish_reason": finish_reason}
    made |= json.loads(json.dumps(beside, default=_plain))
    return {**made, "tool_calls": calls} if calls else made


def _calls(said: object) -> list[dict[str, Any]]:
    """Return the calls of a reply; hermes makes one of equal ones."""
    named: dict[tuple[str, str], str] = {}
    for each in getattr(said, "tool_calls", None) or ():
        named.setdefault((each.function.name, each.function.arguments or "{}"), each.id)
    return [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": given}}
        for (name, given), call_id in named.items()
    ]


def _plain(value: Any) -> object:  # noqa: ANN401  # of any provider's package
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else vars(value)


def merged(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a list where no user message follows another: many providers answer nothing then."""
    made: list[dict[str, Any]] = []
    for each in messages:
        if made and each.get("role") == "user" == made[-1].get("role"):
            made[-1] = {**made[-1], "content": _joined(made[-1].get("content"), each.get("content"))}
        else:
            made.append(dict(each))
    return made


def _joined(first: object, second: object) -> object:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: object) -> list[object]:
    return content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]


def shortened(messages: Sequence[Any], is_wanted: Callable[[Native], bool]) -> list[Any]:
    """Return hermes's list, valid and always shorter: with the wanted messages if possible.

    If the list is one turn without a step to spare, this cuts its largest result. A single user message can't be
    shorter and comes back unchanged.
    """
    groups = list(_groups(messages))
    turn = max((place for place, group in enumerate(groups) if group[0].get("role") == "user"), default=0)
    fixed = {turn, len(groups) - 1}
    kept = [place for place, group in enumerate(groups) if place in fixed or all(map(is_wanted, group))]
    if len(kept) == len(groups):
        spare = [place for place in kept if place not in fixed]
        if not spare:
            return _cut(messages)
        # The older half of the removable groups.
        kept = sorted({*kept} - {*spare[: (len(spare) + 1) // 2]})
    return [message for place in _valid(groups, kept, turn) for message in groups[place]]


def _valid(groups: Sequence[Sequence[Native]], kept: Sequence[int], turn: int) -> list[int]:
    """Return places that make a valid list: it begins with the user, or with system text in front of the user.

    Of two that follow each other only now, with one role, the older one goes: hermes would join them to a message that
    nobody said.
    """
    apart: list[int] = []
    for place in reversed(kept):
        behind = apart[-1] if apart else place + 1
        if place + 1 == behind or groups[place][-1].get("role") != groups[behind][0].get("role"):
            apart.append(place)
    first = next((place for place in reversed(apart) if groups[place][0].get("role") == "user"), turn)
    return [place for place in reversed(apart) if place >= first or groups[place][0].get("role") == "system"]


def _groups(messages: Sequence[Native]) -> Iterator[list[Native]]:
    """Yield groups that stay together: an answer with its calls' results, any other message by itself."""
    group: list[Native] = []
    for each in messages:
        if each.get("role") != "tool" and group:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _cut(messages: Sequence[Any]) -> list[Any]:
    """Return a list with its largest result cut in half."""
    sizes = {
        place: len(each["content"])
        for place, each in enumerate(messages)
        if each.get("role") == "tool" and isinstance(each.get("content"), str)
    }
    place = max(sizes, key=lambda each: sizes[each], default=-1)
    if sizes.get(place, 0) < 4 * KEY_CHARS:
        return list(messages)
    cut = {**messages[place], "content": messages[place]["content"][: sizes[place] // 2] + CUT}
    return [*messages[:place], cut, *messages[place + 1 :]]


def split(messages: Sequence[Native], halves: Mapping[str, Collection[str]]) -> list[dict[str, Any]]:
    """Return a list with merged user messages split again; `halves` has their parts by the joined text."""
    made: list[dict[str, Any]] = []
    for each in map(own, messages):
        texts = halves.get(each["content"], ()) if isinstance(each.get("content"), str) else ()
        made += [{**each, "content": text} for text in texts] or [each]
    return made


# hermes's outgoing requests, in the provider's form.

# hermes marks the last three messages for a provider's cache. We look for sent messages among this many more.
MOST_MARKED: Final = 4
MOST_BESIDE: Final = 32
# Keys of a model's thoughts in a request, and the key of a message that shows they are still sent.
THOUGHTS: Final = {
    "reasoning_content": ("reasoning_content", "reasoning"),
    "reasoning_details": ("reasoning_details",),
}
CHAT: Final = "chat_completions"
# API modes for which hermes converts requests; squidbot leaves `input`, for OpenAI's Responses, alone.
CONVERTED: Final = ("anthropic_messages", "bedrock_converse")
# Keys that are not part of a chat completion, beyond those that the codec knows.
_NEVER_SENT: Final = KEPT_KEYS | {SENT_KEY, "timestamp"}
_CALL_KEYS: Final = ("call_id", "extra_content", "response_item_id")
# The prefix that Anthropic requires for tool names with a subscription.
_PREFIX: Final = "mcp__"
# How many parsed payloads are cached: enough for a few conversations. hermes's own text is one or a few of them.
MOST_READ: Final = 2_048
MOST_TEXTS: Final = 8


class SentMessage(dict[str, Any]):
    """A message of a request, parsed once and never changed."""

    @cached_property
    def key(self) -> str:
        """Its key among hermes's own messages."""
        return _made_key(self)

    @cached_property
    def bare(self) -> Json:
        """The message as any provider takes it."""
        return _bare(self)

    @cached_property
    def gone(self) -> frozenset[str]:
        """Thoughts that hermes still has but no longer sends, from before a compaction."""
        is_answer = self.get("role") == "assistant"
        return frozenset(key for key, held in THOUGHTS.items() if is_answer and not any(map(self.get, held)))


@lru_cache(maxsize=MOST_READ)
def load(payload: str) -> SentMessage | list[SentMessage]:
    """Return the message or messages of a sent payload, always the same objects."""
    made = json.loads(payload)
    return [*map(SentMessage, made)] if isinstance(made, list) else SentMessage(made)


def is_bounded(request: Mapping[str, Any], api_mode: str) -> bool:
    """Return whether squidbot can limit such requests."""
    return api_mode in (CHAT, *CONVERTED) and isinstance(request.get("messages"), list)


def tools(request: Mapping[str, Any]) -> list[Json]:
    """Return the tools of a request."""
    config = request.get("toolConfig")
    given = config.get("tools") if isinstance(config, dict) else request.get("tools")
    return [each for each in given or () if isinstance(each, dict)]


def names(sent: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names of tools, in the form of any provider."""
    inner = (each.get("function") or each.get("toolSpec") or each for each in sent)
    return {str(each.get("name")) for each in inner}


def system_text(request: Mapping[str, Any]) -> str:
    """Return the system text before the conversation."""
    system = request.get("system")
    parts = [system] if isinstance(system, str) else [*(system or ())]
    texts = [part if isinstance(part, str) else str(part.get("text", "")) for part in parts]
    return "\n\n".join([*texts, *(_front_text(each) for each in _front(request["messages"]))])


def _front_text(message: Json) -> str:
    content = message.get("content")
    return _in_line(content) if isinstance(content, str) else sent_text(message)


@lru_cache(maxsize=MOST_TEXTS)
def _in_line(text: str) -> str:
    """Return hermes's text as `sent_text` does, cached: tens of kilobytes, the same in each call."""
    return " ".join(text.split())


def echoes(request: Mapping[str, Any]) -> bool:
    """Return whether a provider gets its thoughts back, as some require: then with each answer."""
    answers = (each for each in reversed(request.get("messages") or ()) if each.get("role") == "assistant")
    return "reasoning_content" in next(answers, {})


def bounded(
    request: Json, listed: Sequence[Mapping[str, Any]], seen: Sequence[Mapping[str, Any]], *, api_mode: str, url: str
) -> Json:
    """Return a request with the messages that the model shall see, in place of hermes's whole list."""
    ours = [each for each in seen if each.get("role") == "system"]
    said = [each for each in seen if each.get("role") != "system"]
    marker = _marker([request.get("system"), request["messages"][-MOST_MARKED:]])
    added = "\n\n".join(map(sent_text, ours))
    if api_mode == CHAT:
        front = _front(request["messages"])
        rest = request["messages"][len(front) :]
        known = _known(listed, rest, len(said) + MOST_BESIDE)
        chat = merged([*_prefill(listed, rest), *_sent(said, known, is_echoed=echoes(request))])
        is_top_level = any("cache_control" in each for each in rest[-MOST_MARKED:])
        return {**request, "messages": [*_with_text(front, added), *_marked(chat, marker, is_native=is_top_level)]}
    chat = _marked(merged([_bare(each) for each in said]), marker, is_native=True)
    made = get_transport(api_mode).convert_messages(chat, base_url=url)[1]
    system = request.get("system")
    return {**request, "messages": _renamed(made, request), **({"system": _more(system, added)} if added else {})}


def _front(messages: Sequence[Json]) -> list[Json]:
    """Return the messages before the conversation: hermes's own text."""
    count = 0
    while count < len(messages) and messages[count].get("role") in ("system", "developer"):
        count += 1
    return list(messages[:count])


def _key(message: Mapping[str, Any]) -> str:
    return message.key if isinstance(message, SentMessage) else _made_key(message)


def _made_key(message: Mapping[str, Any]) -> str:
    return json.dumps([message_key(message), sent_text(message)], default=str)


def _known(listed: Sequence[Mapping[str, Any]], sent: Sequence[Json], newest: int) -> dict[str, Json]:
    """Return hermes's newest messages as it sends them: adapted to the provider."""
    named, sent = listed[-newest:], sent[-newest:]
    if _roles(named) != _roles(sent):
        named = sent
    return {_key(name): _unmarked(each) for name, each in zip(named, sent, strict=True)}


def _prefill(listed: Sequence[Mapping[str, Any]], sent: Sequence[Json]) -> list[Json]:
    """Return the example messages that hermes sends before each conversation."""
    more = len(sent) - len(listed)
    return [*map(_unmarked, sent[:more])] if more > 0 and _roles(sent[more:]) == _roles(listed) else []


def _roles(messages: Sequence[Mapping[str, Any]]) -> list[object]:
    return [each.get("role") for each in messages]


def _sent(said: Sequence[Mapping[str, Any]], known: Mapping[str, Json], *, is_echoed: bool) -> Iterator[Json]:
    for each in said:
        shown = each if isinstance(each, SentMessage) else SentMessage(each)
        made = known.get(shown.key) or shown.bare
        if not shown.gone.isdisjoint(made):
            made = {key: value for key, value in made.items() if key not in shown.gone}
        # Some require a placeholder for thoughts.
        yield {"reasoning_content": " ", **made} if is_echoed and each.get("role") == "assistant" else made


def _bare(message: Mapping[str, Any]) -> Json:
    """Return a message as any provider takes it."""
    sent = message.get(SENT_KEY) or message.get("content")
    made = {key: value for key, value in message.items() if key not in _NEVER_SENT}
    made["content"] = sent.strip() if isinstance(sent, str) else sent
    if calls := message.get("tool_calls"):
        made["tool_calls"] = [_call(each) for each in calls]
    return made


def _call(call: Mapping[str, Any]) -> Json:
    function = call.get("function") or {}
    try:
        given = json.dumps(json.loads(function["arguments"]), separators=(",", ":"), sort_keys=True)
    except (KeyError, TypeError, ValueError):
        given = "{}"
    kept = {key: value for key, value in call.items() if key not in _CALL_KEYS}
    return {**kept, "function": {**function, "arguments": given}}


def _marker(value: object) -> Json | None:
    """Return hermes's cache mark for a provider; None without one."""
    if isinstance(value, dict):
        if isinstance(found := value.get("cache_control"), dict):
            return found
        value = list(value.values())
    found_in = (_marker(each) for each in value) if isinstance(value, list) else ()
    return next((each for each in found_in if each), None)


def _unmarked(message: Mapping[str, Any]) -> Json:
    """Return a message without cache marks; text in a part that only carried a mark becomes a string again."""
    made = {key: value for key, value in message.items() if key != "cache_control"}
    content = made.get("content")
    if isinstance(content, list):
        was_marked = any("cache_control" in part for part in content if isinstance(part, dict))
        bare = [_without(part, "cache_control") for part in content]
        alone = bare[0] if was_marked and len(bare) == 1 else None
        made["content"] = alone["text"] if isinstance(alone, dict) and set(alone) == {"type", "text"} else bare
    return made


def _without(part: object, key: str) -> object:
    return {name: value for name, value in part.items() if name != key} if isinstance(part, dict) else part


def _marked(chat: list[Json], marker: Json | None, *, is_native: bool) -> list[Json]:
    """Return messages with hermes's cache marks: on the last three after its own text."""
    if marker is None:
        return chat
    front = {"role": "system", "content": "-"}
    made = apply_anthropic_cache_control([front, *chat], str(marker.get("ttl", "5m")), native_anthropic=is_native)
    return list(made[1:])


def _with_text(front: list[Json], added: str) -> list[Json]:
    if not added:
        return front
    if not front:
        return [{"role": "system", "content": added}]
    return [*front[:-1], {**front[-1], "content": _more(front[-1].get("content"), added)}]


def _more(system: object, added: str) -> object:
    """Return hermes's text followed by ours."""
    if isinstance(system, list):
        is_converse = any(isinstance(part, dict) and "type" not in part for part in system)
        return [*system, {"text": added} if is_converse else {"type": "text", "text": added}]
    return f"{system}\n\n{added}" if system else added


def _renamed(messages: list[Json], request: Mapping[str, Any]) -> list[Json]:
    """Rename calls to match the tools of a request, whose names hermes may prefix."""
    known = names(tools(request))
    for message in messages:
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use" and block.get("name") not in known:
                sent = _PREFIX + str(block.get("name")).removeprefix("mcp_")
                block["name"] = sent if sent in known else block.get("name")
    return messages


# squidbot in a process of hermes, and the context engine of each agent.

NOT_OURS: Final = "squidbot is inactive: this hermes agent uses another context engine; see docs/hosts/hermes.md"
NOT_BOUNDED: Final = "squidbot only records {} requests of hermes; it does not limit them"
NO_TOOLS: Final = "the model does not get squidbot's tools: add context_engine to enabled_toolsets"
# How many lists are kept for calls that hermes never made: something interrupted it after the hook.
MOST_LISTS: Final = 64
# hermes's end reason for a session that it compressed and continues under another id.
COMPRESSION: Final = "compression"
# hermes's tool for sub-agents, and its marks of sessions that have a parent, but do not continue it.
DELEGATE: Final = "delegate_task"
DELEGATED, BRANCHED = "_delegate_from", "_branched_from"
# The longest chain of continued sessions: nobody compresses one this often.
MOST_PARENTS: Final = 1_000


class HermesRuntime:
    """squidbot in one hermes process, for all its agents. Threads may share it; no method raises."""

    def __init__(self, store: str | Path | None, *, budget: float | str | None = None, settings: Any = None) -> None:  # noqa: ANN401  # what a file says
        """Take the settings; this opens nothing yet.

        Raises:
            ConfigError: the budget is wrong.
        """
        self.hosted = HostRuntime(
            store,
            host="hermes",
            form="hermes/1",
            key=message_key,
            is_whole=True,
            dump=own,
            load=load,
            budget=budget,
            settings=settings,
            # hermes is the agent of one person, on all its channels; its own USER.md is about that person, too.
            scope=machine_user(),
            budget_key="squidbot.budget in config.yaml: ",
        )
        # The engines of agents, by hermes's session.
        self.engines: WeakValueDictionary[str, SquidbotEngine] = WeakValueDictionary()
        self._lists: OrderedDict[str, Sequence[Native]] = OrderedDict()
        # Why squidbot is inactive; "" if it is active.
        self.inactive = ""

    def pre_api_request(
        self, *, api_request_id: str = "", conversation_history: Sequence[Any] = (), **_: object
    ) -> None:
        """Store hermes's own list, just before each attempt of a call."""
        self._lists[api_request_id] = conversation_history
        while len(self._lists) > MOST_LISTS:
            self._lists.popitem(last=False)

    def llm_execution(  # noqa: PLR0913  # what hermes passes
        self,
        *,
        request: Json,
        next_call: Callable[[Json], Any],
        session_id: str = "",
        api_request_id: str = "",
        api_mode: str = "",
        base_url: str = "",
        **_: object,
    ) -> Any:  # noqa: ANN401  # an answer of any provider's package
        """Record new messages, then call the model with what fits."""
        listed = self._lists.pop(api_request_id, None)
        engine = self._engine(session_id)
        if engine is None or listed is None:
            return next_call(request)

        def bound() -> Json:
            return engine.request(request, listed, api_mode, str(base_url or ""))

        return next_call(self.hosted.safely(REQUEST, engine.conversation_id, bound, request))

    def post_api_request(
        self,
        *,
        session_id: str = "",
        assistant_message: object = None,
        finish_reason: str = "",
        usage: Mapping[str, Any] | None = None,
        **_: object,
    ) -> None:
        """Record the model's reply."""
        engine = self._engine(session_id)
        if engine is not None:
            self.hosted.safely(
                REPLY,
                engine.conversation_id,
                lambda: engine.record(reply(assistant_message, finish_reason, _visible), _usage(usage or {})),
            )

    def subagent_start(
        self, *, parent_session_id: str = "", child_session_id: str = "", child_goal: str = "", **_: object
    ) -> None:
        """Name a sub-agent's conversation by that of its parent, just before its first turn."""
        parent, child = self.engines.get(parent_session_id), self.engines.get(child_session_id)
        if parent is not None and child is not None and not self.inactive:
            self.hosted.safely(
                "tell agents apart", child_session_id, lambda: child.begin_within(parent.conversation_id, child_goal)
            )

    def _engine(self, session_id: str) -> SquidbotEngine | None:
        """Return the engine of the calling agent; None for hermes's side requests under a conversation's id."""
        if self.inactive or is_background_review():
            return None
        engine = self.engines.get(session_id)
        if engine is None:
            self.hosted.warn_once(NOT_OURS)
        return engine


def _usage(reported: Mapping[str, Any]) -> Usage | None:
    """Return the reported usage; hermes counts cached tokens separately."""
    tokens = int(reported.get("prompt_tokens") or 0)
    cached = int(reported.get("cache_read_tokens") or 0)
    return Usage(tokens, int(reported.get("output_tokens") or 0), cached) if tokens else None


def _visible(text: str) -> str:
    """Return the text of an answer as hermes lists it."""
    return str(redact_sensitive_text(strip_think_blocks(None, text).strip()))


class SquidbotEngine(ContextEngine):  # type: ignore[misc]  # hermes's types are not read
    """The context engine of one agent. It never asks hermes for a shorter list: it shortens each request."""

    def __init__(self, runtime: HermesRuntime) -> None:
        self._runtime = runtime
        self.model = ""
        # hermes itself looks for the session of an engine under this name.
        self._session_id = ""
        # The session where the conversation began.
        self.conversation_id = ""
        # hermes's text and the tools of the newest request.
        self._beside: tuple[str, list[Json]] = "", []
        self._is_echoed = False
        # User messages without an answer; and messages that hermes merged from two, by their text.
        self._unanswered = ""
        self._halves: dict[str, tuple[str, str]] = {}

    @property
    def name(self) -> str:
        """The name for `context.engine`."""
        return "squidbot"

    def __deepcopy__(self, memo: dict[int, Any]) -> SquidbotEngine:
        """Return an engine for another agent, with the same store."""
        return type(self)(self._runtime)

    # -- hermes reports -----------------------------------------------------------------------------------------------

    def update_from_response(self, usage: Mapping[str, Any]) -> None:
        """Keep the usage for hermes's status line."""
        self.last_prompt_tokens = usage.get("prompt_tokens", 0)
        self.last_completion_tokens = usage.get("completion_tokens", 0)
        self.last_total_tokens = usage.get("total_tokens", 0)

    def update_model(self, model: str, context_length: int, *further: Any, **named: Any) -> None:  # noqa: ANN401  # hermes's
        """Take the model and its window, in tokens."""
        super().update_model(model, context_length, *further, **named)
        self.model = model

    def bind_session_state(self, session_db: Any = None, session_id: str = "") -> None:  # noqa: ANN401  # hermes's
        """Store the session that an agent continues with, and find where its conversation began."""
        if session_id and session_id != self._session_id:
            began = self._runtime.hosted.safely(
                "find a session", session_id, lambda: self._found(session_db, session_id)
            )
            self._begin(session_id, began or session_id)

    def on_session_start(self, session_id: str, **details: Any) -> None:  # noqa: ANN401  # hermes's
        """Store the session that begins; a session that only continues under another id is the same conversation."""
        goes_on = details.get("boundary_reason") == COMPRESSION and details.get("old_session_id") == self._session_id
        if session_id and (session_id != self._session_id or goes_on):
            self._begin(session_id, self.conversation_id if goes_on else session_id)

    def begin_within(self, conversation_id: str, goal: str) -> None:
        """Begin the conversation of a sub-agent that a call of delegate_task in another one made for a goal.

        Raises:
            StoreError: that one can't be read.
        """
        made = _delegated(self._runtime.hosted.engine.wired.store, conversation_id, goal)
        named = child_id(conversation_id, DELEGATE, *([made] if made else []), self._session_id)
        self._begin(self._session_id, named)

    def _found(self, session_db: Any, session_id: str) -> str:  # noqa: ANN401  # hermes's
        """Return the conversation of a session that goes on, perhaps under another id."""
        began = _began(session_db, session_id)
        if session_db is None or not _has_mark(session_db.get_session(began) or {}, DELEGATED):
            return began
        names = (name for name, _ in sessions_of(self._runtime.hosted.engine.wired.store))
        return next((each for each in names if f"/{DELEGATE}/" in each and each.endswith(f"/{spelled(began)}")), began)

    def _begin(self, session_id: str, conversation_id: str) -> None:
        if conversation_id != self.conversation_id:
            self._unanswered, self._halves = "", {}
        self._session_id, self.conversation_id = session_id, conversation_id
        self._runtime.engines[session_id] = self

    # -- tools --------------------------------------------------------------------------------------------------------

    def get_tool_schemas(self) -> list[Json]:
        """Return the tools for the model."""
        return [
            {"name": tool.name, "description": tool.description, "parameters": json.loads(json.dumps(tool.schema))}
            for tool in self._runtime.hosted.tools
        ]

    def handle_tool_call(self, name: str, args: Mapping[str, Any], **_: object) -> str:
        """Answer a tool call with text: hermes also takes JSON, but text costs less."""
        return self._runtime.hosted.answer(name, self.conversation_id, args)

    # -- shorter lists ------------------------------------------------------------------------------------------------

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Return False: squidbot shortens each request, and hermes's list stays whole."""
        del prompt_tokens
        return False

    def compress(
        self,
        messages: Sequence[Any],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,  # noqa: FBT001, FBT002  # hermes's
        memory_context: str = "",
    ) -> list[Any]:
        """Return a shorter valid list: hermes asks if a provider finds a request too long, or if the user wants one.

        This records everything first. Messages left out of hermes's list are still sent, if there is room, and found.
        """
        del current_tokens, focus_topic, memory_context
        kept = self._runtime.hosted.safely(
            "shorten the list", self.conversation_id, lambda: self._kept(messages, by_hand=force)
        )
        made = shortened(messages, lambda message: kept is None or str(message_key(message)) in kept)
        if made != list(messages):
            self.compression_count += 1
        return made

    def _kept(self, messages: Sequence[Any], *, by_hand: bool) -> set[str]:
        """Record new messages, and return the keys of the messages in a shorter request."""
        conversation = self._conversation()
        sent: Sequence[Any] = self._messages(messages)
        if by_hand:
            with conversation.session.lock:
                conversation.session.compact()
                sent = conversation.session.preview().messages
        else:
            shorter = conversation.shorter()
            sent = shorter.messages if shorter else sent
        return {str(message_key(message)) for message in sent}

    # -- the conversation ---------------------------------------------------------------------------------------------

    def request(self, request: Json, listed: Sequence[Any], api_mode: str, url: str) -> Json:
        """Record new messages, and return a request with what fits; one that squidbot can't limit comes back unchanged.

        Raises:
            SquidbotError: see `HostConversation.before`.
            ValueError: a message is not of hermes's form.
        """
        warn = self._runtime.hosted.warn_once
        if not is_bounded(request, api_mode):
            warn(NOT_BOUNDED.format(f"`input` ({api_mode})" if "input" in request else api_mode))
            return request
        sent = tools(request)
        if not any(own_tool(name) == "memory_search" for name in names(sent)):
            warn(NO_TOOLS)
        self._beside = system_text(request), sent
        self._is_echoed = echoes(request)
        return bounded(request, listed, self._messages(listed), api_mode=api_mode, url=url)

    def record(self, reply: Json | None, usage: Usage | None) -> None:
        """Record a reply, if hermes lists it."""
        if reply is None:
            return
        if self._is_echoed and reply.get("reasoning"):
            reply["reasoning_content"] = reply["reasoning"]
        self._conversation().after(reply, usage)
        self._unanswered = ""

    def _messages(self, listed: Sequence[Native]) -> list[Any]:
        last = listed[-1] if listed else {}
        if last.get("role") == "user" and isinstance(text := last.get("content"), str):
            first = self._unanswered
            if first and text.startswith(f"{first}\n\n"):
                self._halves[text] = first, text[len(first) + 2 :]
            self._unanswered = text
        system, tools = self._beside
        apart = split(listed, self._halves) if self._halves else listed
        return self._conversation().before(apart, system=system, tools=tools).messages

    def _conversation(self) -> HostConversation:
        return self._runtime.hosted.conversation(self.conversation_id, self.model, self.context_length or None)


def _began(session_db: Any, session_id: str) -> str:  # noqa: ANN401  # hermes's
    """Return the first session of a conversation that hermes has continued under other ids."""
    for _ in range(MOST_PARENTS if session_db is not None else 0):
        session = session_db.get_session(session_id) or {}
        if _has_mark(session, DELEGATED) or _has_mark(session, BRANCHED):
            break
        parent = session.get("parent_session_id")
        before = session_db.get_session(parent) if parent else None
        if not before or before.get("end_reason") != COMPRESSION:
            break
        session_id = str(parent)
    return session_id


def _has_mark(session: Mapping[str, Any], mark: str) -> bool:
    return f'"{mark}"' in str(session.get("model_config") or "")


def _delegated(store: TranscriptStore, conversation_id: str, goal: str) -> str:
    """Return the id of the open call in which a sub-agent gets a goal; "" if it can't be told.

    hermes does not say which: it is the only call of delegate_task in the newest reply, or the one with the goal.
    """
    end = store.head(conversation_id)[0]
    rows = store.read(conversation_id, max(0, end - MOST_BESIDE), end - 1) if end else []
    newest = next((row for row in reversed(rows) if row.call_ids), None)
    calls: Any = as_object(newest.payload)["tool_calls"] if newest else ()
    given = {call["id"]: _arguments(call["function"]) for call in calls if call["function"]["name"] == DELEGATE}
    named = [
        call_id for call_id, arguments in given.items() if len(given) == 1 or json.dumps(goal) in json.dumps(arguments)
    ]
    return named[0] if named else ""


STORE: Final = "squidbot.db"
KEYS: Final = ("budget", "settings", "store")


def register(ctx: Any) -> None:  # noqa: ANN401  # hermes's context of a plugin, which it does not type
    """Register squidbot in hermes, which calls this if `plugins.enabled` names squidbot.

    Raises:
        ConfigError: the key `squidbot` of config.yaml is wrong; hermes then says so, and continues without squidbot.
    """
    runtime = opened(load_config().get("squidbot"))
    ctx.register_context_engine(SquidbotEngine(runtime))
    ctx.register_hook("pre_api_request", runtime.pre_api_request)
    ctx.register_hook("post_api_request", runtime.post_api_request)
    ctx.register_hook("subagent_start", runtime.subagent_start)
    ctx.register_middleware("llm_execution", runtime.llm_execution)
    runtime.inactive = inactive()
    if runtime.inactive:
        runtime.hosted.warn_once(f"squidbot is inactive in hermes: {runtime.inactive}")
        return
    try:
        runtime.hosted.open()
    except Exception as error:  # noqa: BLE001  # hermes continues without squidbot, and each request tries again
        runtime.hosted.warn_once(f"squidbot cannot store hermes's conversations: {error}")


def inactive() -> str:
    """Return why squidbot is not active in hermes; "" if it is."""
    config = load_config()
    plugins, context = (value if isinstance(value := config.get(key), dict) else {} for key in ("plugins", "context"))
    if "squidbot" not in (plugins.get("enabled") or ()) or "squidbot" in (plugins.get("disabled") or ()):
        return "config.yaml lacks plugins.enabled: [squidbot]"
    if (engine := context.get("engine") or "compressor") != "squidbot":
        return (
            f"context.engine is {engine!r}, which removes messages from hermes's list: set it to squidbot, or "
            "remove squidbot from plugins.enabled"
        )
    return ""


def kept() -> str:
    """Return where squidbot keeps hermes's conversations, for people.

    Raises:
        ConfigError: the key `squidbot` of config.yaml is wrong.
    """
    given = load_config().get("squidbot")
    opened(given)
    config = given if isinstance(given, dict) else {}
    return str(_store(config) or f"the store of {config['settings']}")


def _store(config: Mapping[str, Any]) -> Path | None:
    """Return the file that keeps conversations; None if other settings name it."""
    store = config.get("store")
    # A relative path is relative to hermes's home, not to the folder where hermes is started.
    return Path(get_hermes_home()) / str(store or STORE) if store or not config.get("settings") else None


def opened(given: object) -> HermesRuntime:
    """Return the runtime for the key `squidbot` of config.yaml.

    Raises:
        ConfigError: it has an unknown key or a wrong value.
    """
    config: Mapping[str, Any] = given if isinstance(given, dict) else {}
    if unknown := sorted(set(config) - set(KEYS)):
        raise ConfigError(f"config.yaml: unknown key squidbot.{unknown[0]}; known keys: {', '.join(KEYS)}")
    return HermesRuntime(_store(config), budget=config.get("budget"), settings=config.get("settings"))
