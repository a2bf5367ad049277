"""The tool `history`: finds and recalls messages of this session and of those that it continues."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import ConfigError, RecallError
from squidbot.core.memory.injection import MessageSearch
from squidbot.core.operations import Operation
from squidbot.core.recall.history import (
    HITS,
    PageMaker,
    SearchRequest,
    found_messages,
    hit_page,
    hits_of,
    resolve,
    run_id,
    within,
)
from squidbot.core.transcript.lineage import ancestors, shown
from squidbot.core.transcript.lines import LineStore
from squidbot.core.view.current import SessionContext
from squidbot.core.view.renderer import Renderer
from squidbot.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.bootstrap import Wired
    from squidbot.core.ports import Codec
    from squidbot.core.recall.history import HistoryHit
    from squidbot.core.recall.search import SearchQuery
    from squidbot.tools.session import ToolContext

__all__ = ["HISTORY", "HOST_HISTORY", "OFFSET", "QUERY", "codec_of", "expand", "found_in", "hits_in", "page_of"]

QUERY: Final = {"type": "string", "description": 'words, names, or a "quoted phrase" to look for'}
OFFSET: Final = {"type": "integer", "description": "where to start, as the last page says"}


def search(context: ToolContext, query: str, offset: int = 0, id: str = "") -> str:  # noqa: A002  # the tool's argument
    """Return the messages that match a query; `id` may name a session that this one continues."""
    earlier = _ancestor(context, id.strip())
    if earlier:
        return _of_ancestor(context, earlier, lambda inner: found_in(inner, earlier, query, offset))
    return context.own.search(query, HITS, offset, context.now, context.hints, for_model=True).text


def expand(context: ToolContext, id: str, offset: int = 0) -> str:  # noqa: A002  # the tool's argument
    """Return a page of messages; an earlier session's id may precede a message's."""
    name, mark, rest = id.strip().rpartition("#")
    if not mark or _ancestor(context, rest):
        return context.own.history.expand(id, offset, now=context.now, hints=context.hints).text
    earlier = _ancestor(context, name)
    if not earlier:
        every = ", ".join(map(shown, ancestors(context.wired.store, context.session_id))) or "none"
        raise RecallError(f"{name!a:.80} is not an earlier session of this conversation; these are: {every}")
    return _of_ancestor(context, earlier, lambda inner: page_of(inner, earlier, rest, offset))


def page_of(context: ToolContext, session_id: str, handle: str, offset: int, line: int | None = None) -> str:
    """Return a page of messages of a session that is not open, on one of its lines; `None`: the one that is talked on.

    Raises:
        RecallError: nothing is stored under the id, or there is no room.
        StoreError: the store failed.
    """
    store = LineStore(context.wired.store, session_id, line).to_look_up()
    run = resolve(handle, store.head(session_id)[0], context.wired.store, session_id)
    session = SessionContext(session_id, store, context.wired.store, Renderer(context.meter, context.wired.codecs))
    page = PageMaker(session, run, context.now, context.hints).page(within(offset, 0, None, "offset"), context.room)
    if page is None:
        raise RecallError(f"{run_id(*run[:2])} is too long for one answer; ask for a single message")
    return page.text


def found_in(context: ToolContext, session_id: str, query: str, offset: int) -> str:
    """Return the messages that match a query in a session that is not open.

    Raises:
        RecallError: the query has no word, or there is no room.
        StoreError: the store failed.
    """
    asked = SearchRequest(query, offset, HITS, context.now)
    operation = Operation(name="search_memory", session_id=session_id, store="messages", query=query)
    with context.wired.relay.watch(operation):
        hits = islice(hits_in(context, session_id, query, asked.words()), offset, offset + HITS + 1)
        page = hit_page(asked, list(hits), context.meter, context.room, context.hints)
        if page is None:
            raise RecallError("too many hits for one answer; narrow the search")
        found_messages(operation, page)
    return page.text


def hits_in(context: ToolContext, session_id: str, query: str, words: SearchQuery) -> Iterator[HistoryHit]:
    """Yield the messages that match a query in a session that is not open, best first."""
    codec = partial(codec_of, context.wired)
    line = LineStore(context.wired.store, session_id).to_look_up()
    return hits_of(MessageSearch(line, session_id, codec).found(query, context.now), words, codec, {})


def codec_of(wired: Wired, tag: str) -> Codec:
    """Return the codec of a form of messages.

    Raises:
        ConfigError: no loaded extension has it.
    """
    if tag not in wired.codecs:
        raise ConfigError(f"no codec reads messages of the form {tag!r}; load its extension")
    return wired.codecs[tag]


def _ancestor(context: ToolContext, name: str) -> str:
    """Return the id of a session that this one continues, by its name as models see it; "" for none."""
    every = ancestors(context.wired.store, context.session_id) if name else ()
    return next((session for session in every if name in {session, shown(session)}), "")


def _of_ancestor(context: ToolContext, session_id: str, look: Callable[[ToolContext], str]) -> str:
    """Return an answer from an earlier session, with its name before ids."""
    behind, name = f"\n[of {shown(session_id)}]", shown(session_id).replace("{", "{{").replace("}", "}}")
    recall, page = (hint.replace("{}", f"{name}#{{}}") for hint in (context.hints.recall, context.hints.page))
    hints = context.hints._replace(recall=recall, page=page)
    return look(replace(context, room=context.room.less(context.meter.text(behind)), hints=hints)) + behind


HISTORY: Final = Tool(
    "history",
    "This conversation's messages: all are stored, not all are in view. Where a note, a pointer or a cut output "
    "says `recall ID`, recall returns the original words. search finds messages by words, names and "
    '"quoted phrases". If a page ends with `expand ID offset N`, expand opens the next one.',
    {
        "action": {"type": "string", "enum": ["search", "recall", "expand"]},
        "id": {"type": "string", "description": "recall, expand: such as s12-80.ab12, m17 or m17-m40"},
        "query": {"type": "string", "description": "search: what to look for"},
        "offset": OFFSET,
    },
    {"search": search, "recall": expand, "expand": expand},
    example='{"action": "recall", "id": "m17"}',
)
HOST_HISTORY: Final = Tool(
    "history",
    "Returns the original words of this conversation where a note, a pointer or a cut output says `recall ID`, "
    "and the next page where one ends with `expand ID offset N`.",
    {"id": {"type": "string", "description": "such as s12-80.ab12, m17 or m17-m40"}, "offset": OFFSET},
    {"": expand},
    advice="this tool only recalls; search with memory_search",
)
