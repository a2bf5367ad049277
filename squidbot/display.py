"""Shows a request, a session or a replay: a bar and a table, as HTML for notebooks and with rich on a terminal."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from itertools import accumulate, groupby, zip_longest
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from squidbot.core.compaction.pressure import marked_fraction
from squidbot.core.errors import BudgetError, InvalidRequestError, SquidbotError
from squidbot.core.messages import Kind
from squidbot.core.plan import Representation
from squidbot.core.text import count, line, percent, span
from squidbot.core.view.renderer import spent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

    from squidbot.core.compaction.turn import Inputs
    from squidbot.core.messages import ContextWindow, Part
    from squidbot.core.plan import PlanRecord
    from squidbot.core.session import CoreSession
    from squidbot.core.view.assembly import CoreAssembly
    from squidbot.core.view.current import CurrentView

# No more rows, runs of messages in a row, and characters in a cell are shown.
MOST_ROWS, MOST_RUNS, MOST_CHARS = 20, 4, 500
# The width of a bar on a wide terminal.
BAR_COLUMNS = 80
SYSTEM, HEAD, NOTES, USER, MODEL = "system and tools", "pinned and head", "notes", "user's words", "model's words"
TOOLS, RECALLED, MEMORY, WAITING = "tool output", "found or recalled", "facts from memory", "not recorded yet"
FREE, ANSWER, CACHED, NEW = "free", "for the answer", "cached input", "new input"
# The letter and the color of each part of a bar. The colors are Okabe and Ito's, which color-blind people can tell
# apart; parts without one stay as the page or the terminal is.
LOOKS: Final[Mapping[str, tuple[str, str]]] = {
    SYSTEM: ("s", "#999999"),
    HEAD: ("p", "#CC79A7"),
    NOTES: ("n", "#E69F00"),
    USER: ("u", "#0072B2"),
    MODEL: ("m", "#56B4E9"),
    TOOLS: ("t", "#009E73"),
    RECALLED: ("r", "#F0E442"),
    MEMORY: ("f", "#D55E00"),
    WAITING: ("q", "#CCCCCC"),
    CACHED: ("c", "#56B4E9"),
    NEW: ("n", "#E69F00"),
    FREE: (".", ""),
    ANSWER: ("/", ""),
}
# Black can't be read well on it.
DARK: Final = LOOKS[USER][1]
VERBATIM: Final = "word for word"
IN_FULL: Final = {Representation.RAW: VERBATIM, Representation.SLIMMED: "with long texts cut"}
INSIDE: Final = {Kind.SLIMMED: "cut", Kind.RECALLED: "found or recalled", Kind.FORGOTTEN: "forgotten"}


class Display(NamedTuple):
    """What is shown of something. Its texts may come from anybody: they are escaped here, and nowhere else.

    Attributes:
        title, about: a line each; "" for none.
        bar: the parts of a bar, by their names in `LOOKS`, in tokens.
        columns: the names of the table's columns; () where the first cell of a row says what the others are.
        rows: the rows of the table, each with as many cells.
    """

    title: str
    about: str = ""
    bar: Mapping[str, int] = {}
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def text(self) -> str:
        """The title and the rows, on one line."""
        return "; ".join(_shown(part) for part in (self.title, *(" ".join(row) for row in self.rows[:MOST_ROWS])))

    @property
    def legend(self) -> list[tuple[str, str]]:
        """The name of each part of the bar, with its tokens and its share in words."""
        whole = max(1, sum(self.bar.values()))
        return [(name, f"{name} {tokens:,} ({percent(tokens / whole)})") for name, tokens in self.bar.items()]

    @property
    def more(self) -> str:
        """How many rows are left out, as words; "" for none."""
        return f"... {len(self.rows) - MOST_ROWS:,} more" if len(self.rows) > MOST_ROWS else ""

    @property
    def sides(self) -> list[Literal["left", "right"]]:
        """The side of each column: numbers below a name are on the right."""
        numbers = [any(cell[:1].isdigit() for cell in column) for column in zip(*self.rows, strict=True)]
        return ["right" if self.columns and at and is_number else "left" for at, is_number in enumerate(numbers)]

    def html(self) -> str:
        """Return it as HTML, which loads nothing, runs nothing, and is readable on light and on dark pages."""
        about = f'<div style="opacity:.75">{_escaped(self.about)}</div>' if self.about else ""
        head = f"<thead>{self._html_row(self.columns, 'col')}</thead>" if self.columns and self.rows else ""
        rows = "".join(self._html_row(row, "row") for row in self.rows[:MOST_ROWS])
        table = f'<table style="margin:.4em 0">{head}<tbody>{rows}</tbody></table>' if rows else ""
        title, bar, more = f"<b>{_escaped(self.title)}</b>", self._html_bar() if self.bar else "", self.more
        return f'<div style="max-width:60em">{title}{about}{bar}{table}{more}</div>'

    def _html_bar(self) -> str:
        whole, parts, keys = max(1, sum(self.bar.values())), list[str](), list[str]()
        for name, words in self.legend:
            (letter, _), share, told = LOOKS[name], 100 * self.bar[name] / whole, _escaped(words)
            style = f"width:{share:.2f}%;min-width:1px;overflow:hidden;text-align:center;{_css(name)}"
            parts.append(f'<span title="{told}" style="{style}">{letter if share >= 2 else ""}</span>')
            key = f'<span style="padding:0 .4em;border:1px solid;{_css(name)}">{letter}</span>'
            keys.append(f'<span style="margin-right:1em;white-space:nowrap">{key} {told}</span>')
        told = _escaped(f"{whole:,} tokens: {', '.join(words for _, words in self.legend)}")
        style = "display:flex;border:1px solid currentColor;font-family:monospace;line-height:1.5;margin:.4em 0"
        bar = f'<div role="img" aria-label="{told}" style="{style}">{"".join(parts)}</div>'
        return f'{bar}<div style="line-height:1.8">{" ".join(keys)}</div>'

    def _html_row(self, cells: Sequence[str], scope: str) -> str:
        """Return a row of the table, whose first cell, or with the scope "col" each cell, says what others are."""
        made = []
        for place, (cell, side) in enumerate(zip(cells, self.sides, strict=True)):
            is_head = scope == "col" or not place
            opening, closing = (f'th scope="{scope}"', "th") if is_head else ("td", "td")
            made.append(f'<{opening} style="text-align:{side}">{_escaped(cell)}</{closing}>')
        return f"<tr>{''.join(made)}</tr>"

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.columns import Columns  # noqa: PLC0415  # only terminals need rich
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        yield Text(_shown(self.title), style="bold")
        if self.about:
            yield Text(_shown(self.about), style="dim")
        if self.bar:
            wide = _widths(list(self.bar.values()), min(options.max_width, BAR_COLUMNS))
            yield Text.assemble(*((LOOKS[name][0] * wide[place], _style(name)) for place, name in enumerate(self.bar)))
            keys = (Text.assemble((f" {LOOKS[name][0]} ", _style(name)), f" {words}") for name, words in self.legend)
            yield Columns(keys, padding=(0, 2))
        if self.rows:
            table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=bool(self.columns))
            for name, side in zip_longest(self.columns, self.sides):
                table.add_column(Text(_shown(name or "")), justify=side, overflow="fold")
            for row in self.rows[:MOST_ROWS]:
                table.add_row(*(Text(_shown(cell)) for cell in row))
            yield table
        if self.more:
            yield Text(self.more)


def _shown(text: str) -> str:
    return line(text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS - 1]}\u2026")


def _escaped(text: str) -> str:
    from html import escape  # noqa: PLC0415  # only notebooks need it

    return escape(_shown(text))


def _css(name: str) -> str:
    color = LOOKS[name][1]
    if color:
        return f"background:{color};color:{'#fff' if color == DARK else '#000'}"
    striped = "repeating-linear-gradient(45deg,transparent 0 4px,rgba(128,128,128,.5) 4px 8px)"
    return f"background:{striped if name == ANSWER else 'transparent'}"


def _style(name: str) -> str:
    color = LOOKS[name][1]
    return f"{'white' if color == DARK else 'black'} on {color}" if color else ""


def _widths(tokens: Sequence[int], columns: int) -> list[int]:
    """Return how many of the columns each part of a bar gets: at least one, the widest what is left."""
    whole = max(1, sum(tokens))
    wide = [max(1, round(columns * part / whole)) for part in tokens]
    wide[wide.index(max(wide))] += columns - sum(wide)
    return wide


# -- requests and sessions ---------------------------------------------------------------------------------------------


def request_display(made: CoreAssembly, said: str) -> Display:
    """Return what shows a request: how it uses the window, and how each run of messages is sent.

    `said` is a sentence about its size.
    """
    report, window = made.report, made.window
    about = [_terms(window), f"bounds: {report.certificate}"]
    if report.elsewhere:
        about.append(f"{count(report.elsewhere, 'message')} not on this line")
    if made.event is not None:
        about.append(f"this call changed the plan: {_change(made.event)}")
    used, counted = made.used_tokens, made.cost.bound
    bar = _window_bar(made.view, counted, used, window.window_tokens, made.max_output_tokens)
    rows = tuple((name, how, f"{round(tokens * used / max(1, counted)):,}") for name, how, tokens in _runs(made.view))
    return Display(f"{made.session_id}: {said}", "; ".join(about), bar, ("messages", "sent", "tokens"), rows)


def session_display(session: CoreSession, inputs: Inputs | None, problem: str = "") -> Display:
    """Return what shows a session: how its next request uses the window, and which plan is in force. Writes nothing.

    `inputs` are those of the newest request; None: this process has made none. With a `problem`, the session is not
    read, and that is said instead.
    """
    title, about = session.session_id, _terms(session.window)
    try:
        if not problem:
            return _session_display(session, inputs, about)
    except SquidbotError as error:
        problem = f"can't be read: {error}"
    return Display(title, about, rows=(("now", problem),))


def _session_display(session: CoreSession, inputs: Inputs | None, about: str) -> Display:
    room, settings, window = session.room(), session.settings, session.window
    view, reserve = room.view, room.newest.reserve_under(window)
    answer_tokens = reserve.tokens if reserve else window.reserved_output_tokens
    # What is free is known best; what was counted may be above or below what the provider bills.
    limit_tokens = window.window_tokens - answer_tokens
    too_many = max(0, room.used_tokens - room.limit_tokens)
    used_tokens = max(0, limit_tokens - room.whole.bound) + too_many
    waiting = room.used_tokens - spent(view.lead).bound - room.newest.outside.bound - view.history.bound
    fraction = marked_fraction(view, view.history.plus(room.whole), settings)
    plan, runs = view.plan, [f"{name} {how}" for name, how, _ in _runs(view)]
    more = f"; ... {len(runs) - MOST_RUNS:,} more" if len(runs) > MOST_RUNS else ""
    marks = f"compacts at {percent(settings.high_fraction)}, down to {percent(settings.low_fraction)}"
    rows = [("sent", "; ".join(runs[:MOST_RUNS]) + more)] if runs else []
    rows.append(("plan", f"{plan.plan_id} ({_change(plan)})" if plan else "none yet"))
    rows.append(("pressure", f"{percent(fraction)} ({marks})"))
    due, unfit = outlook(session, inputs)
    if due is not None:
        rows.append(("next request", f"changes the plan: {_change(due)}"))
    if unfit is not None:
        rows.append(("next request", f"does not fit: {unfit}"))
    title = f"{session.session_id}: {count(view.messages, 'message')}, {used_tokens:,} of {limit_tokens:,} tokens"
    title += f", {too_many:,} too many" if too_many else ""
    bar = _window_bar(view, room.used_tokens, used_tokens, window.window_tokens, answer_tokens, max(0, waiting))
    return Display(title, about, bar, rows=tuple(rows))


def outlook(session: CoreSession, inputs: Inputs | None = None) -> tuple[PlanRecord | None, str | None]:
    """Return the plan change that the next request would bring, or why no request fits. Writes nothing.

    `inputs` are those of the newest request; None: as far as the store knows them.

    Raises:
        StoreError: the store failed.
    """
    # Facts and extensions stay as they are in the plan: asking for them may take long.
    given = inputs and replace(inputs, notice=None, unprompted=None, extended=None, now=time.time())
    try:
        return session.preview(given).event, None
    except InvalidRequestError:  # the session is empty, or awaits the user's next message
        return None, None
    except BudgetError as error:
        return None, str(error)


def _terms(window: ContextWindow) -> str:
    room = f"window {window.window_tokens:,} tokens, {window.reserved_output_tokens:,} of them for the answer"
    return f"{room}; {f'{window.model}, ' if window.model else ''}counted by {window.counter}"


def _change(plan: PlanRecord) -> str:
    return f"{plan.cause}: {plan.tokens_before:,} -> {plan.tokens_after:,} tokens as counted"


def _window_bar(  # noqa: PLR0913, PLR0917  # a view with its figures
    view: CurrentView, counted_tokens: int, used_tokens: int, window_tokens: int, answer_tokens: int, waiting: int = 0
) -> dict[str, int]:
    """Return the parts of a window in tokens, without empty ones; they add up to the window, if the request fits it.

    `used_tokens` is the size of the request, `counted_tokens` the same as counted, which may be more than its provider
    bills; `waiting` is the part of it that is not recorded yet.
    """
    costs = dict.fromkeys((SYSTEM, HEAD, NOTES, USER, MODEL, TOOLS, RECALLED, MEMORY), 0)
    sections = view.plan.sections if view.plan else ()
    for section, part in zip_longest(sections[: len(view.head)], view.head):
        costs[MEMORY if section and section.is_remembered else HEAD] += part.cost.bound
    for part in (*view.lead, *(part for block in view.blocks for part in block.parts), *view.tail.parts):
        costs[HEAD if part.first_seq in view.pins.seqs else _kind(part)] += part.cost.bound
    costs[SYSTEM] += max(0, counted_tokens - waiting - sum(costs.values()))
    costs[WAITING] = waiting
    ends = [round(used_tokens * end / max(1, counted_tokens)) for end in accumulate(costs.values(), initial=0)]
    bar = {name: after - before for name, before, after in zip(costs, ends, ends[1:], strict=False)}
    bar |= {FREE: window_tokens - answer_tokens - used_tokens, ANSWER: answer_tokens}
    return {name: tokens for name, tokens in bar.items() if tokens > 0}


def _kind(part: Part) -> str:
    """Return the part of the bar to which a part behind the head belongs."""
    if part.kind is Kind.RECALLED:
        return RECALLED
    if part.kind in {Kind.SUMMARY, Kind.NOTICE, Kind.MARKED}:
        return NOTES
    if part.kind is Kind.SYSTEM:
        return SYSTEM
    if part.result_ids or part.kind is Kind.AUTOMATED:
        return TOOLS
    return MODEL if part.role == "assistant" else USER


class SentRun(NamedTuple):
    """Consecutive messages that are sent alike, with the parts that are sent of them, and the notes on them, if any."""

    first_seq: int
    last_seq: int
    how: str
    parts: Sequence[Part]
    summary_id: str | None = None


def _runs(view: CurrentView) -> Iterator[tuple[str, str, int]]:
    """Yield the messages of a view, run by run: their ids, how they are sent, and their tokens as a bound."""
    for how, found in groupby(_pieces(view), key=lambda piece: piece.how):
        group = list(found)
        parts = [part for piece in group for part in piece.parts]
        notes = [piece.summary_id for piece in group if piece.summary_id]
        named = f"{how} {notes[0]}{f' to {notes[-1]}' if len(notes) > 1 else ''}" if notes else how
        inside = Counter(INSIDE.get(part.kind, VERBATIM) for part in parts if _is_message(part))
        others = [f"{number:,} of them {kind}" for kind, number in inside.items() if kind != how]
        yield span(group[0].first_seq, group[-1].last_seq), ", ".join((named, *others)), spent(parts).bound


def _pieces(view: CurrentView) -> Iterator[SentRun]:
    if view.lead:
        yield SentRun(0, view.lead[-1].last_seq, VERBATIM, view.lead)
    for segment, parts in view.blocks:
        noted = "in notes" if segment.summary_id else "not sent"
        how = IN_FULL.get(segment.representation, noted)
        yield SentRun(segment.first_seq, segment.last_seq, how, parts, segment.summary_id)
    if said := [part for part in view.tail.parts if _is_message(part)]:
        yield SentRun(said[0].first_seq, said[-1].last_seq, VERBATIM, view.tail.parts)


def _is_message(part: Part) -> bool:
    return part.payload is not None or part.kind is Kind.SLIMMED
