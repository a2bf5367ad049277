"""A store as a folder of WorkspaceAI's files, one for each model (W-03, W-04); what they can't hold is said."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.adapters.stdlib.model_files import ModelFiles
from squidbot.adapting.disk import make_folder, open_own
from squidbot.codecs import jsontext, workspaceai
from squidbot.codecs.workspaceai import Exchange, Left, ModelFile, Shortened, stamp
from squidbot.core.errors import StoreError
from squidbot.core.leases import LEASE, lease_of
from squidbot.exchanges.spoken import spoken_in

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from squidbot.core.ports import Codec, TranscriptStore

__all__ = ["SESSION", "Exported", "Written", "exported", "files_in", "owner_of", "session_named"]

# The session that a model's file without a word on sessions is of.
SESSION: Final = "workspaceai"
OLD_FILE: Final = "memory.json"


class Written(NamedTuple):
    """What became of one file.

    Attributes:
        became: "new", "changed", "unchanged" or "failed".
        aside: where the file is that stood in its place, where that was damaged or written over; "" for none.
        reason: why it failed; "" where it did not.
    """

    path: str
    model: str
    became: str
    exchanges: int
    aside: str = ""
    reason: str = ""


class Exported(NamedTuple):
    """What an export came to: each file, and what of the sessions no file holds, by its kind."""

    files: tuple[Written, ...]
    left: Left


def session_named(model: str, session: str = SESSION) -> str:
    """Return the id of what was said in a session under a model, as `history.isolation = "model"` calls it."""
    spelled = model.replace("%", "%25").replace("/", "%2F").replace("@", "%40")
    return f"{session}@model:{spelled}"


def owner_of(text: str) -> str:
    """Return the model that a file is of.

    Raises:
        ValueError: it is no file of form 3.0.
    """
    return workspaceai.read(jsontext.parse(text), Counter()).model


def exported(  # noqa: PLR0913  # what is written, where to, and how it is told
    transcripts: TranscriptStore,
    codecs: Mapping[str, Codec],
    sessions: Iterable[str],
    folder: str | os.PathLike[str],
    *,
    replaces: bool = False,
    dry_run: bool = False,
    version: str = workspaceai.VERSION,
    tick: Callable[[int, int], None] = lambda _done, _all: None,
) -> Exported:
    """Write what was said in sessions into a folder, a file for each model, and return what became of each.

    A file that has exchanges which the sessions have not stays as it is, and fails, unless `replaces`: it is then kept
    under another name. So is one that is damaged. Nothing is written with `dry_run`. `version` "1.0" writes one file
    of that version for all models. `tick` is called with how many sessions are read, and of how many.

    Raises:
        DamagedStoreError: a message can't be read.
        StoreError: the store failed.
    """
    files, left = files_in(transcripts, codecs, list(sessions), tick)
    if version != workspaceai.VERSION:
        return Exported((_old(Path(folder), files, dry_run=dry_run),), left)
    kept = ModelFiles(folder, owner_of)
    return Exported(tuple(_written(kept, one, replaces=replaces, dry_run=dry_run) for one in files), left)


def files_in(
    transcripts: TranscriptStore,
    codecs: Mapping[str, Codec],
    sessions: list[str],
    tick: Callable[[int, int], None] = lambda _done, _all: None,
) -> tuple[list[ModelFile], Left]:
    """Return what was said in sessions as a file for each model, those first that spoke first; and what none holds.

    Sessions that began at the same time, or at none that is known, stand by their names: the order in which a store has
    them is another one in the store that takes the files over.
    """
    left: Left = Counter()
    exchanges: dict[str, list[tuple[float, str, list[Exchange]]]] = {}
    shortened: dict[str, list[Shortened]] = {}
    windows: dict[str, int] = {}
    for at, session in enumerate(sessions):
        spoken = spoken_in(transcripts, codecs, session)
        left.update(spoken.left)
        by_model: dict[str, list[Exchange]] = {}
        for model, one in spoken.exchanges:
            by_model.setdefault(model, []).append(_within(one, session, model))
        for model, said in by_model.items():
            first = next((one.time for one in said if one.time is not None), float("inf"))
            exchanges.setdefault(model, []).append((first, session, said))
        for model, held in spoken.shortened:
            shortened.setdefault(model, []).append(held)
        leases = map(lease_of, transcripts.records(session, LEASE))
        windows |= {lease.model: lease.window_tokens for lease in leases}
        tick(at + 1, len(sessions))
    models = sorted(
        {*exchanges, *shortened},
        key=lambda model: (min((one[:2] for one in exchanges.get(model, ())), default=(float("inf"), "")), model),
    )
    return [_file(model, exchanges.get(model, []), shortened.get(model, []), windows) for model in models], left


def _within(one: Exchange, session: str, model: str) -> Exchange:
    """Return an exchange that says which session it is of, where that is not the one of its model's file."""
    if session == session_named(model):
        return one
    return replace(one, details={**one.details, "session": session})


def _file(
    model: str, said: list[tuple[float, str, list[Exchange]]], shortened: list[Shortened], windows: Mapping[str, int]
) -> ModelFile:
    exchanges = [one for _, _, some in sorted(said, key=lambda one: one[:2]) for one in some]
    times = [one.time for one in exchanges if one.time is not None]
    first, last = (stamp(min(times)), stamp(max(times))) if times else ("", "")
    return ModelFile(model, tuple(exchanges), tuple(shortened), first, last, windows.get(model))


def _written(kept: ModelFiles, file: ModelFile, *, replaces: bool, dry_run: bool) -> Written:
    failed = Written(str(kept.folder), file.model, "failed", len(file.exchanges))
    try:
        path = kept.path_of(file.model)
        failed = failed._replace(path=str(path))
        text = workspaceai.write(file)
        became, aside = _compared(path, file, text)
        if aside == "replaced" and not replaces:
            return failed._replace(reason=_told(path))
        done = failed._replace(became=became, aside=aside and f"{path}.{aside}")
        if dry_run or became == "unchanged":
            return done
        done = done._replace(aside=str(kept.set_aside(path, aside)) if aside else "")
    except (OSError, StoreError) as error:
        return failed._replace(reason=_why(error))
    if not kept.save(file.model, text):
        return done._replace(became="failed", reason=kept.failure)
    return done


def _compared(path: Path, file: ModelFile, text: str) -> tuple[str, str]:
    """Return what becomes of a file, and why what stands there is to be set aside first; "" where it is not.

    Raises:
        OSError: it can't be read.
    """
    if not path.exists():
        return "new", ""
    before = _before(path)
    if before is None or before.model != file.model:
        return "changed", "damaged"
    if path.read_text("utf-8") == text:
        return "unchanged", ""
    return "changed", "replaced" if before.digests - file.digests else ""


def _before(path: Path) -> ModelFile | None:
    """Return what a file has; None where it is damaged."""
    try:
        return workspaceai.read(jsontext.parse(path.read_text("utf-8-sig")), Counter())
    except ValueError:
        return None


def _told(path: Path) -> str:
    what = "it has exchanges that the store has not, of another program, or forgotten"
    return f"{what}: squidbot import {path} takes them over, --replace keeps it aside"


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
    return str(error)


def _old(folder: Path, files: list[ModelFile], *, dry_run: bool) -> Written:
    """Write one file of version 1.0 for all models, for a program that knows no other; it never writes one over."""
    path, said = folder / OLD_FILE, [one for file in files for one in file.exchanges]
    if path.exists():
        reason = f"{path}: exists; a file of version 1.0 is not written over, name another folder"
        return Written(str(path), "", "failed", len(said), "", reason)
    value = {"current_conversation": [_plain(one, file.model) for file in files for one in file.exchanges]}
    try:
        if not dry_run:
            make_folder(folder)
            with open_own(path, "x") as made:
                made.write(json.dumps(value, indent=2).encode())
    except OSError as error:
        return Written(str(path), "", "failed", len(said), "", _why(error))
    return Written(str(path), "", "new", len(said))


def _plain(one: Exchange, model: str) -> dict[str, object]:
    when = {} if one.time is None else {"timestamp": stamp(one.time)}
    return {"user": one.user, "assistant": one.assistant, **when, "metadata": {"model": model}}
