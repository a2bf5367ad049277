"""A request, a session and a replay show themselves: in notebooks, with rich on a terminal, and as a text."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from contextlib import ExitStack
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from rich.console import Console

import squidbot
from squidbot.core.memory.view import NewMemory
from squidbot.display import LOOKS, MOST_ROWS, Display

from .listeners import Heard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Load: TypeAlias = "Callable[..., squidbot.Engine]"
# What somebody may write who wants a notebook or a terminal to do something.
ATTACK = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>[link=https://x.example]x[/link]\x1b]0;t\x07\u202e\ud800"
)
TAGS = {"div", "b", "span", "table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"style", "title", "role", "aria-label", "scope"}
COMPACTED = re.compile(r"m0-m\d+ in notes s\S+")


class Page(HTMLParser):
    """What a notebook gets, read as a browser does: only harmless tags, each closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.bars: list[str] = []
        self.titles: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open
        assert html.isprintable()
        assert html.encode() != b""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check a tag and its attributes."""
        given = dict(attrs)
        assert tag in TAGS
        assert given.keys() <= ATTRIBUTES
        assert not re.search(r"url|expression|@import|javascript", str(given.get("style")))
        assert "<" not in str(given.get("style"))
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"th", "td"}:
            assert (given.get("scope") in {"row", "col"}) == (tag == "th")
            self.rows[-1].append("")
        if given.get("role") == "img":
            self.bars.append(str(given["aria-label"]))
        self.titles += [str(given["title"])] if "title" in given else []

    def handle_endtag(self, tag: str) -> None:
        """Check that it is open."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.text += data
        if self._open[-1:] and self._open[-1] in {"th", "td"}:
            self.rows[-1][-1] += data


def page(shown: Any) -> Page:  # noqa: ANN401  # whatever a notebook finds the method on
    """Return what a notebook shows."""
    return Page(shown._repr_html_())


def on_terminal(shown: object, width: int = 100) -> str:
    """Return what rich prints: on a terminal with colors, and without the escapes that rich makes for these."""
    console = Console(width=width, force_terminal=True, color_system="truecolor", record=True, file=open_null())
    console.print(shown)
    return console.export_text(styles=False)


def open_null() -> Any:  # noqa: ANN401  # as rich takes it
    """Return a file that keeps nothing."""
    return type("Null", (), {"write": lambda *_: None, "flush": lambda *_: None, "encoding": "utf-8"})()


@pytest.fixture
def load() -> Iterator[Load]:
    """Load engines, and close them behind the test: they may have threads."""
    with ExitStack() as stack:
        yield lambda *args, **given: stack.enter_context(squidbot.load(*args, **given))


def talk(session: squidbot.Session, turns: int, **given: Any) -> squidbot.Assembly:  # noqa: ANN401  # of `assemble`
    """Let a user and a model talk, and return the last request."""
    for number in range(turns):
        made = session.assemble(f"Please look at part {number}.", **given)
        session.record(made.incoming, f"Part {number} is in src/part_{number}.py. " + "It is fine. " * 20)
    return session.assemble("And now?", **given)


def shares(found: Page) -> dict[str, int]:
    """Return the parts of the bar, in tokens."""
    return {
        match[1]: int(match[2].replace(",", ""))
        for match in (re.fullmatch(r"(.+) ([0-9,]+) \(\d+ %\)", title) for title in found.titles)
        if match
    }


def test_request_shows_how_it_uses_the_window_and_how_each_run_of_messages_is_sent(
    load: Load,
) -> None:
    """The parts of the bar are the window, each in words; the table has a row for each run."""
    session = load().session("support/42", model="qwen2.5:7b", window_tokens=2048)
    made = talk(session, 30, system="Be brief.", tools=[{"type": "function", "function": {"name": "read"}}])
    found = page(made)
    parts = shares(found)
    assert sum(parts.values()) == 2048
    assert {"system and tools", "notes", "user's words", "model's words", "free", "for the answer"} == parts.keys()
    assert parts["for the answer"] == made.max_output_tokens
    used = made.report.usage
    assert parts["free"] == used.max_tokens - used.current_tokens
    assert found.bars == [f"2,048 tokens: {', '.join(found.titles)}"]
    assert all(title in found.text for title in found.titles)  # the legend
    assert found.rows[0] == ["messages", "sent", "tokens"]
    assert COMPACTED.match(" ".join(found.rows[1]))
    assert found.rows[-1][1] == "word for word"
    own = sum(parts[name] for name in ("notes", "user's words", "model's words"))
    assert sum(int(row[2]) for row in found.rows[1:]) == pytest.approx(own, abs=3)
    assert str(made).partition(";")[0] in found.text


def test_bar_tells_what_is_pinned_recalled_remembered_and_said_by_tools(load: Load) -> None:
    """Each of the parts of a window has a name of its own."""
    engine = load({"memory": {"enabled": True}})
    ann = squidbot.Scope(user="ann", bot="helper")
    engine.memories(ann).add(NewMemory("Ann lives in Lisbon.", "core", trust="user"), now=0.0)
    session = engine.session("s", window_tokens=4096, scope=ann)
    session.pin_text("goal", "Cache the prices for ten minutes, and not for longer.")
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    talk(session, 60)
    session.compact()
    session.record({"role": "user", "content": "Read it."})
    session.record({"role": "assistant", "content": None, "tool_calls": [call]})
    session.record({"role": "tool", "tool_call_id": "c", "content": "TTL = 600 " * 20})
    session.record("Read.")
    session.recall("m4")
    made = session.assemble("Prices?")
    assert {"pinned and head", "facts from memory", "tool output", "found or recalled"} <= shares(page(made)).keys()
    parts = shares(page(session))
    assert {
        "pinned and head",
        "facts from memory",
        "tool output",
        "found or recalled",
        "not recorded yet",
    } <= parts.keys()
    assert sum(parts.values()) == 4096
    assert sum(shares(page(made)).values()) == 4096


def test_session_shows_what_is_sent_its_plan_and_how_full_it_is(load: Load) -> None:
    """Notebook, terminal and text say the same."""
    session = load().session("support/42", window_tokens=2048)
    talk(session, 30)
    plan = session.compact()
    assert plan is not None
    found = page(session)
    rows = {row[0]: row[1] for row in found.rows}
    change = f"{plan.cause}: {plan.tokens_before:,} -> {plan.tokens_after:,} tokens as counted"
    assert rows["plan"] == f"{plan.plan_id} ({change})"
    assert COMPACTED.match(rows["sent"])
    assert re.fullmatch(r"\d+ % \(compacts at \d+ %, down to \d+ %\)", rows["pressure"])
    said = str(session)
    assert said.startswith("support/42: 60 messages, ")
    assert all(f"{name} {value}" in said for name, value in rows.items())
    printed = " ".join(on_terminal(session).split())
    assert all(" ".join(value.split()) in printed for value in rows.values())


@pytest.mark.parametrize("width", [20, 40, 100, 300])
def test_bar_on_a_terminal_is_as_wide_as_its_line_and_has_each_part_s_letter(width: int, load: Load) -> None:
    """A part of one token is there, too; no line is wider than the terminal."""
    session = load().session("s", window_tokens=2048)
    made = talk(session, 30, system="x")
    lines = on_terminal(made, width).splitlines()
    assert all(len(row) <= width for row in lines)
    letters = [LOOKS[name][0] for name in shares(page(made))]
    bar = next(row for row in lines if re.fullmatch("".join(f"{re.escape(letter)}+" for letter in letters), row))
    assert len(bar) == min(width, 80)


def test_nothing_that_a_host_sets_is_more_than_text(tmp_path: Path, load: Load) -> None:
    """Session ids, models, tools, roles, ids of calls, senders, names of texts, errors, files: all of it is text."""
    harmless = ATTACK.replace("\ud800", "")
    engine = load({"window": {"default": 2048}})
    session = engine.session(harmless, model=harmless)
    session.pin_text(harmless, ATTACK)
    call = {"id": harmless, "type": "function", "function": {"name": harmless, "arguments": harmless}}
    session.record({"role": "user", "content": harmless, "name": harmless}, sender=harmless)
    session.record({"role": "assistant", "content": harmless, "tool_calls": [call]})
    session.record({"role": "tool", "tool_call_id": harmless, "content": harmless})
    made = talk(session, 20, system=harmless, tools=[{"type": "function", "function": {"name": harmless}}])
    file = tmp_path / "[b]&lt;<i>.jsonl"
    said = [{"role": "user", "content": ATTACK}, {"role": "assistant", "content": ATTACK}]
    file.write_text("\n".join(map(json.dumps, said)))
    results = squidbot.replay_files(file, window_tokens=2048)
    hostile = Display(ATTACK, ATTACK, {"free": 1}, (ATTACK, ATTACK), ((ATTACK, ATTACK),))
    for shown in (made, session, results, hostile):
        html = shown.html() if isinstance(shown, Display) else shown._repr_html_()
        Page(html)
        text = on_terminal(shown, 200)
        assert text.replace("\n", "").isprintable()
        assert (shown.text if isinstance(shown, Display) else str(shown)).isprintable()
    assert "<script>" in Page(hostile.html()).text
    assert "[link=https://x.example]" in on_terminal(session, 400)


def test_showing_changes_nothing(tmp_path: Path, load: Load) -> None:
    """The store has what it had, no observer hears of it, and the messages and the next request are the same."""
    path = tmp_path / "s.db"
    heard = Heard()
    with load({"store": {"path": str(path)}}, extensions=[heard]) as engine:
        session = engine.session("s", window_tokens=2048)
        other = load({"store": {"path": str(tmp_path / "t.db")}}).session("s", window_tokens=2048)
        made = talk(session, 25)
        before, head = [dict(one) for one in made.messages], session.wired.store.head("s")
        heard.events.clear()
        for shown in (made, session):
            assert str(shown)
            assert page(shown).bars
            assert on_terminal(shown)
        assert made.messages == before
        assert session.wired.store.head("s") == head
        assert heard.events == []
        talk(other, 25)
        assert talk(session, 5).messages == talk(other, 5).messages


def test_session_that_is_empty_closed_or_too_small_says_so(tmp_path: Path, load: Load) -> None:
    """None of them raises."""
    with load({"store": {"path": str(tmp_path / "s.db")}}) as engine:
        session = engine.session("s", window_tokens=2048)
        assert str(session).startswith("s: 0 messages, 0 of 1,536 tokens; plan none yet; pressure 0 %")
        assert shares(page(session)) == {"free": 1536, "for the answer": 512}
        with pytest.raises(squidbot.BudgetError):
            session.assemble("Hello", system="Be thorough. " * 2000)
        session.record({"role": "user", "content": "Hello"})
        assert "next request does not fit: system text: " in str(session)
        assert "does not fit" in page(session).text
    for shown in (str(session), page(session).text, on_terminal(session)):
        assert "can't be read: " in shown


def test_session_in_use_by_another_thread_is_not_waited_for(load: Load) -> None:
    """An event loop's thread goes on."""
    session = load().session("s", window_tokens=2048)
    talk(session, 2)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with session.lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    try:
        assert str(session) == "s; now in use by another thread; show it again later"
        assert "in use" in page(session).text
    finally:
        done.set()
        thread.join()
    assert str(session).startswith("s: 4 messages")


def test_session_shows_itself_on_an_event_loop() -> None:
    """A notebook's cells run there."""

    async def cell() -> tuple[str, str]:
        async with await squidbot.aload() as engine:
            session = await engine.asession("s", window_tokens=2048)
            made = await session.aassemble("Hello")
            await session.arecord(made.incoming, "Hi.")
            return made._repr_html_(), session._repr_html_()

    assert all(Page(html).bars for html in asyncio.run(cell()))


def test_long_session_and_many_runs_are_cut(load: Load) -> None:
    """Ten thousand messages make no longer page than a hundred."""
    session = load().session("s" * 1000, window_tokens=8192)
    session.record(*({"role": ("user", "assistant")[at % 2], "content": f"This is {at}."} for at in range(10_000)))
    made = session.assemble("And now?")
    for shown in (made, session):
        assert len(page(shown).rows) <= MOST_ROWS + 1
        assert len(shown._repr_html_()) < 10_000
    assert len(str(session)) < 2_000
    assert str(made).count(";") <= MOST_ROWS + 2
    many = Display("many", rows=tuple((f"m{number}", "word for word") for number in range(10_000)))
    assert len(Page(many.html()).rows) == MOST_ROWS
    assert Page(many.html()).text.endswith("... 9,980 more")
    assert on_terminal(many).rstrip().endswith("... 9,980 more")


def recording(folder: Path) -> Path:
    """Return a file with a conversation that is compacted in a small window."""
    said: Iterable[dict[str, str]] = (
        {"role": ("user", "assistant")[at % 2], "content": f"Part {at} is in src/part_{at}.py. " + "It is fine. " * 10}
        for at in range(100)
    )
    file = folder / "talk.jsonl"
    file.write_text("\n".join(map(json.dumps, said)))
    return file


def test_replay_shows_its_facts_or_the_policies_that_were_compared(tmp_path: Path) -> None:
    """As `squidbot replay` prints them."""
    file = recording(tmp_path)
    alone = squidbot.replay_files(file, window_tokens=2048)
    found = page(alone)
    assert [row[0] for row in found.rows][:3] == ["sent", "sent", "cost"]
    assert sum(shares(found).values()) == 2048
    assert re.fullmatch(
        r"talk: 100 messages, 50 model calls, [\d,]+ tokens of history; [\d,]+ tokens a call, at most [\d,]+ of 1,536; "
        r"\d+ % of the cost of sending everything; \d+ plan changes?",
        str(alone),
    )
    compared = squidbot.replay_files(str(file), window_tokens=2048, compare=True)
    rows = page(compared).rows
    assert rows[0] == ["policy", "cost", "cached", "over", "pairs", "breaks", "users", "recall", ">8K"]
    assert {"send everything", "squidbot speed"} <= {row[0].rstrip(" +") for row in rows}
    assert any(row[0].startswith("squidbot balanced *") for row in rows)
    assert "send everything" in on_terminal(compared)
    assert str(compared) == str(alone)


def test_replay_without_a_call_shows_itself(tmp_path: Path) -> None:
    """A file with one message makes no request."""
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps({"role": "user", "content": "Hello"}))
    results = squidbot.replay_files(file, window_tokens=2048)
    assert str(results).endswith("0 plan changes")
    assert page(results).bars


def test_replay_whose_requests_do_not_fit_says_so(tmp_path: Path) -> None:
    """Both as a text and as a table."""
    file = tmp_path / "large.jsonl"
    said = [{"role": "user", "content": "Read this. " * 3000}, {"role": "assistant", "content": "Done."}]
    file.write_text("\n".join(map(json.dumps, said)))
    results = squidbot.replay_files(file, window_tokens=600)
    assert "1 call without a request" in str(results)
    assert "no request fits" in page(results).text
