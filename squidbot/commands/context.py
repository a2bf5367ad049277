"""`squidbot context`: the documents in a session's head, shown, loaded and dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO, complain
from squidbot.commands.paper import Paper
from squidbot.commands.reading.opened import opened
from squidbot.commands.texts import count
from squidbot.core.transcript.documents import SessionDocuments
from squidbot.core.transcript.windows import WINDOW
from squidbot.services.documents import Sources
from squidbot.services.forget import forget_document
from squidbot.wiring.streams import wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.commands.reading.opened import Opened

__all__ = ["context"]


@click.command()
@options.session
@click.argument("action", required=False, type=click.Choice(["load", "drop", "forget"]))
@click.argument("path", required=False, default="")
@options.store
@options.as_json
def context(*, session_id: str, action: str | None, path: str, store: str | None, as_json: bool) -> None:
    """Show the documents in the head of a session's requests, or load, drop or forget the one of PATH."""
    if action and not path:
        raise click.UsageError(f"{action} needs the path of a document, as it is below context.folder")
    with opened(store, writes=action is not None) as place:
        found = place.find(session_id)
        sources = _sources(place, found)
        if action:
            _ACTS[action](place, found, path)
        faults, (standing, waiting) = sources.faults(), _listed(sources)
    if as_json:
        options.print_json({"session": found, **_json(standing, waiting), "faults": faults})
    else:
        _print(found, standing, waiting)
    for one in faults:
        complain(one)
    if not action and not standing:
        click.get_current_context().exit(ANSWER_IS_NO)


def _listed(sources: Sources) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Return the documents with their tokens, and the other files of the folder with their bytes."""
    documents = sources.documents
    standing = {one.name: documents.count(one.text) for one in documents.all()}
    files = sources.files() if sources.folder and sources.folder.is_dir() else []
    return [*standing.items()], [(name, size) for name, size in files if name not in standing]


def _load(place: Opened, session_id: str, path: str) -> None:
    _sources(place, session_id).load(path)


def _drop(place: Opened, session_id: str, path: str) -> None:
    _sources(place, session_id).drop(path)


def _forget(place: Opened, session_id: str, path: str) -> None:
    forget_document(place.wired, session_id, path)


_ACTS: Final[dict[str, Callable[[Opened, str, str], None]]] = {"load": _load, "drop": _drop, "forget": _forget}


def _json(standing: list[tuple[str, int]], waiting: list[tuple[str, int]]) -> dict[str, object]:
    return {
        "documents": [{"path": name, "tokens": tokens} for name, tokens in standing],
        "files": [{"path": name, "bytes": size} for name, size in waiting],
    }


def _sources(place: Opened, session_id: str) -> Sources:
    lease = WINDOW.newest(place.store, session_id)
    meter = place.wired.meter(lease.model if lease else "")
    window_tokens = lease.window_tokens if lease else place.wired.loaded.settings.window.default
    documents = SessionDocuments(place.store, session_id, window_tokens, lambda said: meter.text(said).bound, wait)
    return Sources.of(place.wired.loaded, documents, lambda _said: None)


def _print(found: str, standing: list[tuple[str, int]], waiting: list[tuple[str, int]]) -> None:
    paper = Paper()
    paper.heading(f"{found}: {count(len(standing), 'document')} in the head of its requests")
    for name, tokens in standing:
        paper.say(f"{name}  {tokens:,} tokens", indent="  ")
    for name, size in waiting:
        paper.say(f"{name}  {size:,} bytes, not loaded", indent="  ")
    paper.print()
