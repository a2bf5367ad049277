"""`squidbot report`: what a session sent at every call, why, and at what price, as one HTML file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from squidbot.adapters.common.files import make_folder
from squidbot.cli.output import Result, ResultCommand
from squidbot.cli.printer import bar
from squidbot.cli.texts import count, percent
from squidbot.core.redaction import Redactor
from squidbot.replay.dump import file_name, is_folder
from squidbot.replay.metrics import Ruler
from squidbot.replay.recording import CODECS, Reader
from squidbot.replay.terms import charges_of
from squidbot.report.data import ReportSource, replayed_data, report_data, without_text
from squidbot.report.listing import charges_of_session
from squidbot.report.page import check_replaces, write_page
from squidbot.services.forget import WrittenFile, digest_of, note_written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.cli.open_store import OpenStore
    from squidbot.cli.printer import Printer
    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.session import CoreSession
    from squidbot.replay.runner import PolicyRow, ReplayOutcome
    from squidbot.replay.terms import Terms
    from squidbot.report.data import ReportData

DEFAULT = "report.html"


@click.command(cls=ResultCommand, on="session")
@click.option(
    "-o",
    "--output",
    "--out",
    "out",
    metavar="FILE.html",
    default=DEFAULT,
    show_default=True,
    help="The file to write. An older report of that name is replaced, no other file is.",
)
@click.option(
    "--prices", metavar="NAME", help="Bill by this entry of the price table.  [default: that of the settings]"
)
@click.option("--no-text", is_flag=True, help="Figures and shapes only, to share: no text, name, id, path or error.")
@click.option(
    "--keep-secrets", is_flag=True, help="Leave keys and passwords in the texts; by default they are removed."
)
def report(  # noqa: PLR0913  # its options
    place: OpenStore, name: str, *, out: str, prices: str | None, no_text: bool, keep_secrets: bool
) -> Result:
    """Write one HTML file that shows every call of a session: what was sent, why, and at what price.

    Open it in a browser. It loads nothing from the network, and runs no script of the transcript. With --json, print
    the data behind it, and write no file.
    """

    def shown() -> ReportData:
        data = session_data(place, name, prices, keeps_secrets=keep_secrets)
        return without_text(data) if no_text else data

    def put(page: Printer) -> None:
        check_replaces(Path(out))
        page.say(_written(place, name, shown(), out))

    return Result(lambda: shown().to_json(), put)


def drawn(place: OpenStore, name: str, out: str) -> str:
    """Draw a session in a file, and return a line for people; raises as `session_data` and `write_page`."""
    return _written(place, name, session_data(place, name), out)


def session_data(place: OpenStore, name: str, prices: str | None = None, *, keeps_secrets: bool = False) -> ReportData:
    """Return the data of a session's report; `prices` is an entry of the price table, `None` the settings'.

    Raises:
        ConfigError: there is no such entry.
        StoreError: the store failed, or is damaged.
    """
    seen = place.seen(name)
    charges = charges_of(prices) if prices else charges_of_session(place, name)
    redact = str if keeps_secrets else place.wired.remembering.redactor.redacted
    with bar("reading") as progress:
        return report_data(ReportSource(seen.core, charges, redact, progress=progress), time.time())


def _written(place: OpenStore, name: str, data: ReportData, out: str) -> str:
    """Write the page of a report, note it for `forget` if it has texts, and return a line for people."""
    write_page(data, Path(out))
    _note(place.wired.written, data, Path(out), name)
    return f"{out}: {_summary(data)}"


def _note(written: str, data: ReportData, path: Path, name: str) -> None:
    """Note a page for `forget`, if it has texts; `written` is where such notes are, "" for nowhere."""
    if data.texts and path.is_file():  # a device or a pipe keeps nothing
        path = path.absolute()
        note_written(written, WrittenFile(str(path), "report", (name,), digest_of(path.read_bytes())))


def _summary(data: ReportData) -> str:
    """Return the figures of a report as a sentence."""
    totals = data.values["totals"]
    counts = f"{count(totals['messages'], 'message')}, {count(totals['calls'], 'model call')}"
    saved = totals["price"] / totals["everything_price"] if totals["everything_price"] else None
    cost = f", at {percent(saved)} of the cost of sending everything" if saved is not None else ""
    return f"{counts}, {count(totals['compactions'], 'compaction')}{cost}"


class ReplayPages:
    """The pages of replayed conversations: one file, or (`html` is a folder or ends in a slash) one for each."""

    def __init__(self, html: str, terms: Terms, store: str | None, *, no_text: bool, keeps_secrets: bool) -> None:
        """Take the terms of the replay, and the file that keeps its sessions; no page is written yet.

        Raises:
            SquidbotError: the page may not be written.
            OSError: the folder can't be made.
        """
        self._is_folder = is_folder(html)
        if self._is_folder:
            make_folder(Path(html))
        else:
            check_replaces(Path(html))
        self._html, self._terms, self._no_text = html, terms, no_text
        self._written = f"{Path(store).absolute()}-written" if store else ""
        self._redact = str if keeps_secrets else Redactor().redacted
        self._found: list[tuple[ReportData, ReplayOutcome]] = []

    def see(self, conversation: Conversation, outcome: ReplayOutcome, session: CoreSession) -> None:
        """Read the session of an outcome."""
        reader, ruler = Reader(conversation, CODECS), Ruler(self._terms.meter.physical)
        # As the tables of a replay count.
        source = ReportSource(
            session, self._terms.charges, self._redact, lambda part: ruler.cost(reader.of(part)).estimate
        )
        self._found.append((report_data(source), outcome))

    def write(self, rows: Sequence[PolicyRow]) -> str:
        """Write the pages, with the policies beside each conversation, and return a line for people.

        Raises:
            SquidbotError: a file exists, and is no report.
            OSError: one can't be written.
        """
        for place, (data, outcome) in enumerate(self._found):
            shown = replayed_data(data, outcome, rows, place, self._terms.label, self._redact)
            shown = without_text(shown) if self._no_text else shown
            name = file_name(outcome.id, ending=".html")
            path = Path(self._html, name) if self._is_folder else Path(self._html)
            write_page(shown, path)
            _note(self._written, shown, path, outcome.id)
        return f"{self._html}: {count(len(self._found), 'page')}; open it in a browser"
