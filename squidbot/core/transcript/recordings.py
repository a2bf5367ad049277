"""Sessions of other agents, taken in from their recordings: where each is from, and which of its messages are stored."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.transcript.records import RecordKind, fields
from squidbot.core.transcript.scopes import short_id, spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

# What stands for the name of a project in the ids of its sessions.
_ODD: Final = re.compile(r"[^\w.-]+")
_NAME_CHARS: Final = 40


class Recording(NamedTuple):
    """The session of another agent that a session holds.

    Attributes:
        agent: the name of the agent's reader: "claude-code", "codex", ...
        source: the agent's id of the session.
        project: the folder that the agent worked in, an absolute path; "" if unknown.
        title: what the agent calls the session; "" for nothing.
    """

    agent: str
    source: str
    project: str = ""
    title: str = ""


class RecordedRun(NamedTuple):
    """Messages that were read from a file, and how far that was read with them.

    Attributes:
        file: its absolute path.
        first_seq: the first of them, or the next message if there is none.
        ids: the agent's ids of the messages, one for each.
        offset, line, tip: as in `codecs.recordings.Position`; 0 and "" in files that are read whole.
        stamp: what tells that the file has changed: its size and time; "" if it was read in part.
    """

    file: str
    first_seq: int
    ids: tuple[str, ...] = ()
    offset: int = 0
    line: int = 0
    tip: str = ""
    stamp: str = ""


def _newest(values: Sequence[Recording]) -> Recording | None:
    return values[-1] if values else None


def _with_ids(run: RecordedRun) -> RecordedRun:
    return run._replace(ids=tuple(map(str, run.ids)))


RECORDING = RecordKind("recording", fields(Recording), _newest)
RECORDED = RecordKind("recorded", fields(RecordedRun, _with_ids), tuple)


def project_key(project: str) -> str:
    """Return what stands for a project's folder in the ids of its sessions: its name, and a digest of its path."""
    name = (
        _ODD.sub("-", project.replace("\\", "/").rstrip("/").rpartition("/")[2])[:_NAME_CHARS].strip("-") or "project"
    )
    return f"{name}-{sha256(project.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def session_name(agent: str, project: str, source: str, parent: str = "") -> str:
    """Return the id that a recorded session has in a store; `parent` is that of the session whose sub-agent it is."""
    return short_id(f"{parent}/{spelled(source)}" if parent else f"{agent}/{project_key(project)}/{spelled(source)}")
