"""The tools for coding agents: what they said is found again, of one project unless all are asked for."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import RecallError
from squidbot.core.memory.days import Days, days
from squidbot.core.memory.facts import utterances
from squidbot.core.memory.injection import MessageSearch
from squidbot.core.memory.search import terms_of
from squidbot.core.messages import BEHIND_SCENES
from squidbot.core.ports import SupportsAges
from squidbot.core.recall.across import JoinedSessions
from squidbot.core.recall.history import (
    HITS,
    SearchRequest,
    hits_of,
    line_of,
    resolve,
    run_id,
    speaker,
    within,
)
from squidbot.core.text import ago, clip, count, one_line, read_iso_time, stamp
from squidbot.core.transcript.lines import FIRST, LineStore
from squidbot.core.transcript.recordings import RECORDING
from squidbot.core.view.marks import Hints, answers, fence, harmless, unmarked
from squidbot.plugins.host import told_of
from squidbot.plugins.store_tools import ANSWER_TOKENS, StoreTools
from squidbot.services.recordings import is_within
from squidbot.tools.history import codec_of, page_of
from squidbot.tools.memory import PROGRAM_TOOLS
from squidbot.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.memories import Scope
    from squidbot.core.messages import StoredMessage
    from squidbot.core.transcript.recordings import SourceSession
    from squidbot.plugins.host import HostRuntime
    from squidbot.tools.session import ToolContext
    from squidbot.tools.tool import Answer

DAY_SECONDS: Final = 86_400.0
# So many of the best messages are looked at for those of the days asked for.
MOST_LOOKED: Final = 1_000
# Messages in which decisions are looked for, by each of two searches.
MOST_READ: Final = 128
# The most lines of an answer, and sentences of a message in it.
MOST_LINES: Final = 20
MOST_SENTENCES: Final = 3
SENTENCE_CHARS: Final = 240
TITLE_CHARS, PLACE_CHARS = 80, 200
# Among so many messages at its beginning are a session's first words of the user.
FIRST_WORDS_IN: Final = 8
# Around a time that is asked for, so many messages before and behind it.
AROUND, MOST_NEIGHBOURS = 2, 50
# Of so many messages in a row one has a time, in a session whose messages have times.
TIMELESS: Final = 8
EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
# Sessions that were under way at a time are looked through for the nearest message, the newest so many.
MOST_UNDER_WAY: Final = 100
HINTS: Final = Hints(
    recall="history_recall {}",
    page="more: history_recall {}",
    found="more: history_search offset {}",
    facts="more: memory_search with offset {}",
    search="history_search finds what was said",
    ids="memory_search shows them",
    listed="",
    forget="",
    past="",
)
_ALL: Final = {"type": "boolean", "description": "in all projects, not only in this one"}
_SESSION: Final = {"type": "string", "description": "only in this session"}
_OFFSET: Final = {"type": "integer", "description": "where to go on, as the last page says"}
_DAY: Final = {"type": "string", "description": "2026-10-03, 2026-10, or such as: last week"}
_SEARCH: Final = (
    "Search all that was said, done and printed in earlier sessions of coding agents in this project, word for word, "
    "best first. Search before you ask the user again, and after a compaction."
)
_RECALL: Final = (
    "Return original messages: by id, or those around a time. Ids stand in the other tools' answers: SESSION#m17, or "
    "SESSION#m17-m40."
)
_DECIDED: Final = "Return what users ordered and what was decided, about a subject or at all, newest first."
_SESSIONS: Final = "List the sessions, newest first: titles, times, projects."


class AgentSession(NamedTuple):
    """A session of the store, as agents see it.

    Attributes:
        name: its id.
        messages: how many it has; above 0.
        recording: where it is from; `None` if another program recorded it.
        last: when it was written to last, in seconds since 1970; `-inf` if unknown.
    """

    name: str
    messages: int
    recording: SourceSession | None
    last: float


class AgentTools(StoreTools):
    """Search, recall, decisions, sessions and facts, for a coding agent. Threads may share it; no method raises.

    Without `all`, sessions exist only if the agent that recorded them worked in the project's folder, or below it. The
    user's folder and the root, in which some clients start servers, are no project with others below.

    Attributes:
        project: the project's folder, an absolute path.
    """

    def __init__(
        self, hosted: HostRuntime, scope: Scope, project: str | Path, answer_tokens: int = ANSWER_TOKENS
    ) -> None:
        """Take the runtime that opens the store, the scope of durable facts, and the project's folder."""
        written = Path(project).absolute()
        self.project = str(written)
        everybody = (Path(written.anchor), Path.home(), Path.home().resolve())
        # Agents record the folder as they were started in it: by a link, or not. Each says whether it has others below.
        self._folders = {
            folder: not any(is_within(folder, str(each), below=False) for each in everybody)
            for folder in (str(written), str(written.resolve()))
        }
        self._known: dict[str, tuple[int, SourceSession | None]] = {}
        self._beginnings: dict[str, float] = {}
        super().__init__(hosted, scope, answer_tokens=answer_tokens)

    def _offers(self) -> tuple[Tool, ...]:
        everywhere = {"all": _ALL, "offset": _OFFSET}
        searched = {"query": {"type": "string"}, "session": _SESSION, "since": _DAY, "until": _DAY, **everywhere}
        recalled = {
            "id": {"type": "string"},
            "time": {"type": "string", "description": "2026-10-03 14:00, UTC"},
            "session": _SESSION,
            "neighbours": {"type": "integer", "description": "messages before and behind, too"},
            **everywhere,
        }
        return (
            Tool("history_search", _SEARCH, searched, {"": self._found_in_all}),
            Tool("history_recall", _RECALL, recalled, {"": self._recalled}),
            Tool("history_decided", _DECIDED, {"about": {"type": "string"}, **everywhere}, {"": self._decided}),
            Tool("history_sessions", _SESSIONS, everywhere, {"": self._listed}),
            *PROGRAM_TOOLS[:2],  # one of them is offered: they search
        )

    def _context(self) -> ToolContext:
        return replace(super()._context(), hints=HINTS)

    def call(self, name: str, arguments: Mapping[str, object]) -> Answer:
        """Answer a call of a tool; what was said can't speak as the agent's own program."""
        answer = super().call(name, arguments)
        return replace(answer, text=unmarked(answer.text))

    def sessions(self) -> Answer:
        """Return the newest sessions of the project, as the tool lists them."""
        return self.call("history_sessions", {})

    # -- the tools ---------------------------------------------------------------------------------------------

    def _found_in_all(  # noqa: PLR0913  # the tool's arguments
        self,
        context: ToolContext,
        *,
        query: str,
        session: str = "",
        since: str = "",
        until: str = "",
        all: bool = False,  # noqa: A002  # as above
        offset: int = 0,
    ) -> str:
        """Return the messages that match a query, in one ranking of all sessions."""
        words = SearchRequest(query, offset, HITS, context.now).words()
        first, last = _time_of(since, context.now, ends=False), _time_of(until, context.now, ends=True)
        chosen = [each for each in self._chosen(session, everywhere=all) if each.last >= first]
        chosen = [each for each in chosen if self._began(each.name) < last] if until else chosen
        joined = JoinedSessions(context.wired.store, {each.name: each.messages for each in chosen})
        codec = partial(codec_of, context.wired)
        rows = islice(MessageSearch(joined, "", codec).found(query, context.now), MOST_LOOKED)
        of_days = (hit for hit in rows if not (since or until) or _is_within(hit[0], first, last))
        said = (hit for hit in of_days if not _is_answer(context, hit[0]))
        hits = [*islice(hits_of(said, words, codec, {}), offset, offset + HITS + 1)]
        lines = []
        for hit in hits:
            name, seq = joined.place(hit.seq)
            line = line_of(hit._replace(row=replace(hit.row, seq=seq)), context.now)
            lines.append(f"{_safe(name)}#{_with(line, self._place(name, seq))}")
        told = f"times are UTC, for: {clip(one_line(query), TITLE_CHARS)}"
        wider = ["try other words", *["other days"] * bool(since or until), *["without session"] * bool(session)]
        hint = _choice([*wider, *["all=true"] * (not all and not session)])
        return self._page(context, "history_search", told, lines, offset, hint=hint, lost=_lost(joined), most=HITS)

    def _recalled(  # noqa: PLR0913  # the tool's arguments
        self,
        context: ToolContext,
        *,
        id: str = "",  # noqa: A002  # as above
        time: str = "",
        session: str = "",
        neighbours: int = 0,
        all: bool = False,  # noqa: A002  # as above
        offset: int = 0,
    ) -> str:
        """Return messages word for word, by their id or by the time."""
        within(neighbours, 0, MOST_NEIGHBOURS, "neighbours")
        if id:
            found, handle = self._named(id, session, everywhere=all)
        elif time:
            found, handle = self._nearest(self._chosen(session, everywhere=all), _moment(time))
        else:
            raise RecallError("pass id, such as SESSION#m17, or time, such as 2026-10-03 14:00")
        run = resolve(handle, found.messages, context.wired.store, found.name)
        line = LineStore(context.wired.store, found.name).lines.line_of(run.last_seq)
        if around := neighbours or (0 if id else AROUND):
            handle = run_id(max(0, run.first_seq - around), min(found.messages - 1, run.last_seq + around))
        name = _safe(found.name)
        place = f"[of {name}{harmless(self._place(found.name, run.last_seq))}]"
        name = name.replace("{", "{{").replace("}", "}}")
        recall, more = (hint.replace("{}", f"{name}#{{}}") for hint in (HINTS.recall, HINTS.page))
        hints, room = HINTS._replace(recall=recall, page=more), context.room.less(context.meter.text(place))
        page = page_of(replace(context, room=room, hints=hints), found.name, handle, offset, line)
        opening, _, rest = page.partition("\n")  # paths and ids are data, too
        return f"{opening}\n{place}\n{rest}"

    def _decided(
        self,
        context: ToolContext,
        *,
        about: str = "",
        all: bool = False,  # noqa: A002  # the tool's argument
        offset: int = 0,
    ) -> str:
        """Return the sentences that tell decisions and orders, newest first."""
        from squidbot.core.memory.decisions import DECIDING, decisions_in  # noqa: PLC0415  # a third of a start

        within(offset, 0, MOST_LOOKED, "offset")
        subject = frozenset(terms_of(about))
        if about.strip() and not subject:
            raise RecallError(f"nothing to look for in {about!a:.80}: give a word or a name")
        joined = JoinedSessions(
            context.wired.store, {each.name: each.messages for each in self._chosen("", everywhere=all)}
        )
        search = MessageSearch(joined, "", partial(codec_of, context.wired))
        rows: dict[int, StoredMessage] = {}
        for query in (f"{about} {DECIDING}", about) if about else (DECIDING,):
            rows |= {row.seq: row for row, _ in islice(search.found(query, context.now), MOST_READ)}
        ordered = sorted(rows.values(), key=lambda row: (_time(row), row.seq), reverse=True)
        messages = utterances((row for row in ordered if row.category not in BEHIND_SCENES), context.wired.codecs)
        found = [(message, said) for message in messages if (said := decisions_in(message, subject))]
        lines = []
        for message, sentences in found[offset : offset + MOST_LINES + 1]:
            row = rows[message.seq]
            name, seq = joined.place(message.seq)
            quoted = " | ".join(clip(one_line(sentence), SENTENCE_CHARS) for sentence in sentences[:MOST_SENTENCES])
            when = ", ".join(filter(None, (stamp(row.time), ago(row.time, context.now))))
            lines.append(f"{_safe(name)}#m{seq} {speaker(row)}, {when}{self._place(name, seq)}: {quoted}")
        for_what = f", about: {clip(one_line(about), TITLE_CHARS)}" if about else ""
        told = f"decisions and orders, newest first, times are UTC{for_what}"
        hint = _choice(["try other words", *["all=true"] * (not all)])
        return self._page(context, "history_decided", told, lines, offset, hint=hint, lost=_lost(joined))

    def _listed(self, context: ToolContext, *, all: bool = False, offset: int = 0) -> str:  # noqa: A002  # the tool's arguments
        """Return the sessions, newest first."""
        within(offset, 0, None, "offset")
        every = self._chosen("", everywhere=all)
        lines = []
        for each in every[::-1][offset : offset + MOST_LINES + 1]:
            title = self._title(each)
            told = [title] if title else []
            told.append(told_of(context.wired.store, each.name, each.messages))
            lines.append(f"{_safe(each.name)}: {', '.join(told)}{_project(each.recording)}")
        told_all = f"{count(len(every), 'session')}, newest first"
        hint = "`squidbot import` brings in older ones" if all else "all=true lists those of other projects"
        return self._page(context, "history_sessions", told_all, lines, offset, hint=hint)

    def _title(self, session: AgentSession) -> str:
        """Return what a session is about: its title, else the user's first words, in quotes; "" if there are none."""
        if session.recording and session.recording.title:
            return clip(one_line(session.recording.title), TITLE_CHARS)
        rows = self._wired.store.pick(session.name, range(min(FIRST_WORDS_IN, session.messages)))
        users = (row for row in rows if row.role == "user" and row.category not in BEHIND_SCENES)
        words = next((one.text for one in utterances(users, self._wired.codecs) if one.role == "user"), "")
        return f'"{clip(one_line(harmless(words)), TITLE_CHARS)}"' if words.strip() else ""

    # -- sessions, and whose they are --------------------------------------------------------------------------

    def _chosen(self, session: str, *, everywhere: bool) -> list[AgentSession]:
        """Return the sessions that a call is about, the one written to last at the end; one, if one is named.

        Raises:
            RecallError: there is none of that id in the project, or in the store if `everywhere`.
        """
        store: object = self._wired.store
        ages = dict(store.older_than(math.inf)) if isinstance(store, SupportsAges) else {}
        found = [
            AgentSession(name, messages, recording, ages.get(name, -math.inf))
            for name, messages in self._sessions()
            if self._is_of_project(recording := self._recording(name, messages)) or everywhere
        ]
        found.sort(key=lambda each: each.last)
        wanted = session.strip()
        if not wanted:
            return found
        exact = [each for each in found if wanted in (each.name, _safe(each.name))]
        named = exact or [each for each in found if each.name.endswith(f"/{wanted}")]
        if len(named) != 1:
            newest = ", ".join(_safe(each.name) for each in found[:-6:-1]) or "there is none yet"
            where = "no session" if everywhere else "no session of this project"
            more = "" if everywhere else "; all=true finds those of other projects"
            raise RecallError(f"{where} is called {wanted!a:.80}; newest: {newest}{more}")
        return named

    def _found(self, session_id: str) -> str:
        """Return the id of a session of the project; raises as `_chosen`."""
        return self._chosen(session_id, everywhere=False)[0].name

    def _recording(self, name: str, messages: int) -> SourceSession | None:
        """Return where a session is from, as it was when it last got messages."""
        known = self._known.get(name)
        if known is None or known[0] != messages:
            known = self._known[name] = messages, RECORDING.newest(self._wired.store, name)
        return known[1]

    def _began(self, name: str) -> float:
        """Return the time of a session's first message, a time before all where it has none."""
        if name not in self._beginnings:
            self._beginnings[name] = max(map(_time, self._wired.store.pick(name, [0])), default=-math.inf)
        return self._beginnings[name]

    def _is_of_project(self, recording: SourceSession | None) -> bool:
        """Return whether an agent worked in the project's folder, or below it. No file is looked at."""
        project = recording.project if recording else ""
        return any(is_within(project, folder, below=below) for folder, below in self._folders.items())

    def _place(self, name: str, seq: int) -> str:
        """Return the branch and the project of a message, behind commas."""
        known = self._known.get(name)
        store = LineStore(self._wired.store, name)
        line = ""
        if store.lines.made:
            left = "" if store.to_look_up().has(seq) else ", left since"
            line = f", branch {store.lines.line_of(seq) or FIRST}{left}"
        return f"{line}{_project(known[1] if known else None)}"

    def _named(self, written: str, session: str, *, everywhere: bool) -> tuple[AgentSession, str]:
        """Return the session that an id names, and the id of its messages.

        Raises:
            RecallError: it names none.
        """
        name, mark, handle = written.strip(" []\t\n").removeprefix("history_recall ").rpartition("#")
        if not (name if mark else session):
            raise RecallError("the id needs its session: SESSION#m17, as history_search shows it")
        return self._chosen(name if mark else session, everywhere=everywhere)[0], handle

    def _nearest(self, sessions: Sequence[AgentSession], time: float) -> tuple[AgentSession, str]:
        """Return the session with the message that is nearest to a time, and the id of that message.

        Raises:
            RecallError: no message of these sessions has a time.
        """
        # Sessions are in the order of their newest messages.
        under_way = [each for each in sessions if each.last >= time][:MOST_UNDER_WAY]
        best: tuple[float, AgentSession, int] | None = None
        for each in (*[each for each in sessions if each.last < time][-1:], *under_way):
            seq = self._near(each, time)
            row = None if seq is None else self._wired.store.pick(each.name, [seq])[0]
            if row is not None and (best is None or abs(_time(row) - time) < best[0]):
                best = abs(_time(row) - time), each, row.seq
        if best is None:
            raise RecallError("no message here has a time")
        return best[1], run_id(best[2], best[2])

    def _near(self, session: AgentSession, time: float) -> int | None:
        """Return the message of a session that is nearest to a time; `None` if its messages have none.

        Messages are taken to follow each other in time, as they do in a recording.
        """

        def at(seq: int) -> float:
            rows = self._wired.store.pick(session.name, range(max(0, seq - TIMELESS), seq + 1))
            return next((row.time for row in reversed(rows) if row.time is not None), -math.inf)

        behind = bisect_left(range(session.messages), time, key=at)
        beside = [seq for seq in (behind - 1, behind) if 0 <= seq < session.messages]
        rows = [row for row in self._wired.store.pick(session.name, beside) if row.time is not None]
        return min(rows, key=lambda row: abs(_time(row) - time)).seq if rows else None

    def _page(  # noqa: PLR0913  # what an answer is made of
        self,
        context: ToolContext,
        tool: str,
        told: str,
        lines: Sequence[str],
        offset: int,
        *,
        hint: str,
        lost: str = "",
        most: int = MOST_LINES,
    ) -> str:
        """Return as many lines as fit in an answer, and where the next page begins; without lines, the hint.

        Raises:
            RecallError: not one fits.
        """
        if not lines:
            nothing = f"nothing {'more ' * bool(offset)}found; {told}"
            return fence("found", nothing, f"[{hint}]") + lost
        for size in range(min(most, len(lines)), 0, -1):
            more = f"\n[more: {tool} offset {offset + size}]" if size < len(lines) else ""
            text = fence("found", told, "\n".join(lines[:size])) + more + lost
            cost = context.meter.message(text)
            if cost.bound <= context.room.bound and cost.estimate <= context.room.estimate:
                return text
        raise RecallError("the answer has too few tokens; raise --answer-tokens")


def _safe(name: str) -> str:
    return one_line(harmless(name))


def _project(recording: SourceSession | None) -> str:
    return f", in {clip(one_line(recording.project), PLACE_CHARS)}" if recording and recording.project else ""


def _with(line: str, place: str) -> str:
    """Return the line of a hit with its place before the words."""
    head, _, said = line.partition(": ")
    return f"{head}{place}: {said}"


def _lost(joined: JoinedSessions) -> str:
    return f"\n[{count(len(joined.damaged), 'session')} can't be read whole]" if joined.damaged else ""


def _choice(ways: Sequence[str]) -> str:
    """Return ways to go on as a phrase: "a, b, or c"."""
    return ", or ".join(filter(None, (", ".join(ways[:-1]), ways[-1])))


def _time(row: StoredMessage) -> float:
    return -math.inf if row.time is None else row.time


def _is_within(row: StoredMessage, first: float, last: float) -> bool:
    return row.time is not None and first <= row.time < last


def _is_answer(context: ToolContext, row: StoredMessage) -> bool:
    """Return whether a message repeats what our tools found: it must not be found again and again."""
    return (
        bool(row.result_ids)
        and "<squidbot " in row.payload
        and answers(codec_of(context.wired, row.codec).text(row.payload))
    )


def _moment(text: str) -> float:
    try:
        return read_iso_time(text.strip())
    except (ValueError, OverflowError) as error:
        raise RecallError(f"time {text!a:.40} is none; write it as 2026-10-03 14:00") from error


def _time_of(text: str, now: float, *, ends: bool) -> float:
    """Return when the days that a text names begin, or end; without a text, a time before or behind all."""
    written = text.strip()
    if not written:
        return math.inf if ends else -math.inf
    try:
        moment = read_iso_time(written)
    except (ValueError, OverflowError):
        found = _month(written) or days(text, now)
        if not found:
            raise RecallError(f"{text!a:.40} is no day; write it as 2026-10-03") from None
        if ends:
            return (max(each.last for each in found) + 1 - EPOCH_DAY) * DAY_SECONDS
        return (min(each.first for each in found) - EPOCH_DAY) * DAY_SECONDS
    is_day = ends and len(written) <= len("2026-10-03")
    return moment + DAY_SECONDS * is_day


def _month(text: str) -> tuple[Days, ...]:
    """Return the days of a month that is written as 2026-10: `days` takes it for a year, beside a number."""
    try:
        first = date.fromisoformat(f"{text}-01")
    except ValueError:
        return ()
    last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return (Days(first.toordinal(), last.toordinal()),)
