"""`squidbot chat --demo`: plays a recorded conversation in a real session, and explains what squidbot does to it."""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from squidbot.adapters.common.packages import command
from squidbot.chat.screen import bar, used_of
from squidbot.cli.open_store import OpenStore
from squidbot.cli.printer import Printer
from squidbot.cli.status import HOSTS
from squidbot.cli.texts import complain, parameters, span
from squidbot.core.errors import SquidbotError
from squidbot.engine import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.plan import PlanRecord, Price
    from squidbot.core.view.assembly import Span
    from squidbot.engine import Engine
    from squidbot.session import Assembly, Session

# From examples/session.jsonl, shortened to what fills this window in three exchanges.
RECORDING: Final = Path(__file__).with_name("demo.jsonl")
NAME: Final = "demo"
WINDOW_TOKENS: Final = 4_000
# The mark of large windows (`STRATEGIES`); one of this size waits until .95, which leaves no room for an undo.
SETTINGS: Final = {"gpu": {"probe": "none"}, "pressure": {"compact_at_fraction": 0.7}}
KEYS: Final = "Enter goes on, q ends "
LAST_KEYS: Final = "r draws what you saw, in report.html; Enter ends "
QUESTION: Final = "What does the plan hourly-plus cost? It was in billing.py."
SEARCH: Final = json.dumps({"action": "search", "query": '"hourly-plus"'})
FOUND: Final = re.compile(r'^((m\d+) tool result.*"hourly-plus": (\d+\.\d+).*)$', re.MULTILINE)


def play() -> None:
    """Play the demo: on a terminal a page at each Enter until the user ends it, else all of it."""
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    with load(SETTINGS) as engine:
        session = engine.session(NAME, window_tokens=WINDOW_TOKENS)
        try:
            Demo(session, _wait_for_enter if is_terminal else click.echo).play()
            if is_terminal:
                _offer_report(engine)
        except (EOFError, KeyboardInterrupt):
            click.echo()


def _wait_for_enter() -> None:
    """Wait for Enter or the space bar, on a line that is empty afterwards.

    Raises:
        EOFError: the user ends the demo, or the terminal is gone.
    """
    click.echo(f"\n{KEYS}", nl=False)
    while not (keys := click.getchar()).endswith(("\r", "\n", " ")):
        if keys in {"", "q", "Q"}:
            raise EOFError
    click.echo(f"\r{' ' * len(KEYS)}\r", nl=False)


def _offer_report(engine: Engine) -> None:
    """Wait until the user ends the demo, or wants its pictures."""
    click.echo(f"\n{LAST_KEYS}", nl=False)
    wants = click.getchar().lower() == "r"
    click.echo()
    if wants:
        from squidbot.cli.report import DEFAULT, drawn  # noqa: PLC0415  # nothing is drawn unless it is asked for

        try:
            page = Printer()
            page.say(f"{drawn(OpenStore(engine.wired), NAME, DEFAULT)}; open it in a browser")
            page.print()
        except (SquidbotError, OSError) as error:
            complain(str(error))


def lines_of() -> list[str]:
    """Return the messages of the recording, one JSON text each."""
    return RECORDING.read_text("utf-8").splitlines()


def _exchanges() -> Iterator[list[dict[str, Any]]]:
    """Yield the recorded exchanges: the user's message, then the agent's and those of its tools."""
    messages = [json.loads(line) for line in lines_of()]
    begins = [place for place, message in enumerate(messages) if message["role"] == "user"]
    for first, end in pairwise([*begins, len(messages)]):
        yield messages[first:end]


def _tell(page: Printer, *sentences: str) -> None:
    """Add the narrator's sentences to a page, a line each."""
    for sentence in sentences:
        page.say(sentence, "green", "│ ")


class Demo:
    """Plays in a session, page by page; `pause` is called between two pages."""

    def __init__(self, session: Session, pause: Callable[[], object]) -> None:
        """Take a session in which nothing was said."""
        self._session, self._pause = session, pause
        self._tools = list(session.tools)

    def play(self) -> None:
        """Play all pages.

        Raises:
            EOFError: from `pause`.
        """
        self._open()
        for asked, *answered in _exchanges():
            self._pause()
            self._ask(asked["content"])
            self._answer(answered)
        for page in (self._recall, self._undo, self._end):
            self._pause()
            page()

    def _open(self) -> None:
        page, window = Printer(), self._session.window
        page.heading("squidbot keeps an agent's context window within budget.")
        _tell(
            page,
            "You see a recorded conversation with a coding agent.",
            "Its model and its tools are played. squidbot is real.",
            f"The model's window is small: {window.window_tokens:,} tokens.",
            f"Its answer needs {window.reserved_output_tokens:,} of them.",
            "Watch the bar: it shows how much of the rest is used.",
        )
        page.print()

    def _ask(self, text: str) -> None:
        """Show the user's message, and record it with a request; explain a compaction that comes with it."""
        page = Printer()
        page.pairs([("you  ", text)])
        page.print()
        assembly = self._session.assemble(text, tools=self._tools)
        self._session.record(assembly.incoming)
        if (plan := assembly.event) and plan.price:
            self._explain(assembly, plan, plan.price)

    def _answer(self, messages: list[dict[str, Any]]) -> None:
        """Record and show what the agent and its tools said, and how full the next request is."""
        page, rows, calls = Printer(), list[tuple[str, str]](), dict[str, str]()
        for before, message in pairwise([{"role": "user"}, *messages]):
            if before["role"] == "tool" and message["role"] == "assistant":
                self._session.assemble(tools=self._tools)  # as before each call of a model
            self._session.record(message)
            for call in message.get("tool_calls", ()):
                name, arguments = call["function"]["name"], call["function"]["arguments"]
                calls[call["id"]] = f"{name} {parameters(arguments, page.columns - 35)}"
            if message["role"] == "tool":
                tokens = self._session.meter.text(message["content"]).bound
                rows.append(("tool ", f"{calls[message['tool_call_id']]} -> {tokens:,} tokens"))
            else:
                rows.append(("agent", message["content"] or ""))
        page.pairs(rows)
        page.say(self._bar())
        page.print()

    def _explain(self, assembly: Assembly, plan: PlanRecord, price: Price) -> None:
        """Explain a compaction, and show its note; each on a page."""
        spans, page = assembly.report.spans, Printer()
        noted = next(one for one in spans if one.summary_id)
        (note,) = (
            text for one in assembly.messages if (text := str(one["content"])).startswith(f"[{noted.summary_id}")
        )
        limit, saved = assembly.report.limit.bound, plan.tokens_before - plan.tokens_after
        page.blank()
        page.say("│ COMPACTION", "bold green")
        _tell(
            page,
            "The conversation nearly fills the window, so squidbot makes room.",
            "It does so before the model is asked.",
            "",
            f"before {_filled(plan.tokens_before, limit)}",
            f"after  {_filled(plan.tokens_after, limit)}",
            "",
            f"A note of {self._session.meter.text(note).bound} tokens covers the oldest messages, and replaces "
            f"{_messages(noted)} of them.",
            f"{sum(_messages(one) for one in spans if one.how == 'verbatim')} messages stay word for word: "
            "all that you said, and the newest.",
            "Nothing is deleted. Every message is still stored.",
            "",
            f"Price: {price.tokens:,.0f} input tokens, once: the shorter text is new to the provider's cache.",
            f"Gain: each later request is {saved:,} tokens shorter. From the cache, these "
            f"cost as much as {price.saved_tokens_per_request:,.0f}.",
            f"So it has paid for itself after {price.break_even_requests or 0:.0f} requests.",
        )
        page.print()
        self._pause()
        page = Printer()
        _tell(
            page,
            f"The model now reads this note in the place of {span(noted.first_seq, noted.last_seq)}.",
            "(Messages are numbered, from m0 on.)",
        )
        page.body(note, whole=True)
        _tell(
            page,
            "A rule wrote it. No model was asked for it.",
            "With the name in its first line, the model gets the originals back.",
            "",
            "The agent goes on:",
        )
        page.print()

    def _recall(self) -> None:
        page = Printer()
        _tell(
            page,
            "Now you ask for a price. It stood in a file that the agent read.",
            "The note names the file, but not the price.",
        )
        page.print()
        self._ask(QUESTION)
        call = {"id": "recall", "type": "function", "function": {"name": "history", "arguments": SEARCH}}
        self._session.record({"role": "assistant", "content": None, "tool_calls": [call]})
        text = self._session.call("history", SEARCH).text
        self._session.record({"role": "tool", "tool_call_id": "recall", "content": text})
        self._session.assemble(tools=self._tools)
        ((hit, message, price),) = FOUND.findall(text)
        answer = f"{price} CHF per station and month; I found it in message {message}."
        self._session.record(answer)
        page = Printer()
        page.pairs([("tool ", f"history {parameters(SEARCH, page.columns)}"), ("     ", hit), ("agent", answer)])
        page.say(self._bar())
        _tell(
            page,
            "history is squidbot's tool. Your model calls it by itself.",
            "It searches all that was said, and returns the original words.",
        )
        page.print()

    def _undo(self) -> None:
        page = Printer()
        page.say(self._bar())
        page.pairs([("you  ", "/undo")])
        self._session.undo()
        page.say(self._bar())
        _tell(
            page,
            "You can take a compaction back.",
            "The note is gone. The older messages are sent again.",
            "That is possible because squidbot has kept them all.",
            "It stays so until a request would not fit.",
        )
        page.print()

    def _end(self) -> None:
        page = Printer()
        _tell(
            page,
            "How to get squidbot in your own program:",
            "Install it for your host, and add the line below.",
        )
        for host in HOSTS:
            page.say(f"{host.name}: {command(host.extra)}", "bold", "  ")
            page.say(host.line, "", "    ")
        _tell(page, "Squidbot is in squidbot.plugins.langchain, .openai_agents and .pydantic_ai.")
        _tell(page, "Or write the loop yourself, around your call of the model:")
        page.say('session = squidbot.load().session("chat-1", window_tokens=8_000)', "", "    ")
        page.say("assembly = session.assemble(text)", "", "    ")
        page.say("session.record(assembly.incoming, answer)", "", "    ")
        _tell(page, "README.md has more. What is active here: squidbot status")
        page.print()

    def _bar(self) -> str:
        return _filled(*used_of(self._session.core.room()))


def _filled(used: int, limit: int) -> str:
    """Return how many tokens of the limit are used, behind a bar."""
    return f"{bar(used / limit)} {used:,} of {limit:,} tokens"


def _messages(run: Span) -> int:
    return run.last_seq - run.first_seq + 1
