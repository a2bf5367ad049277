"""Sessions of other agents, imported from their recordings: where each is from, and which messages are stored."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.transcript.records import RecordKind, fields
from squidbot.core.transcript.scopes import short_id, spelled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.core.messages import Record
    from squidbot.core.ports import TranscriptStore

# Ids of messages are kept as digests of so many bytes, which base64 writes without padding.
KEY_BYTES: Final = 9
KEY_CHARS: Final = 12


class SourceSession(NamedTuple):
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
        source: the agent's id of the session that they are of: copies of one session are lines of another.
        first_seq: the first of them, or the next message if there is none; -1 if their session was forgotten.
        last_seq: the message behind which the file goes on; -1 for none.
        keys: `message_key` of each message, joined.
        offset, line, tip: as in `codecs.recordings.Position`; 0 and "" in files that are read whole.
        stamp: tells whether the file has changed since it was read to its end; "" if it was not.
    """

    file: str
    source: str
    first_seq: int
    last_seq: int
    keys: str = ""
    offset: int = 0
    line: int = 0
    tip: str = ""
    stamp: str = ""

    @property
    def messages(self) -> int:
        """How many messages were read."""
        return len(self.keys) // KEY_CHARS


class AgentSummary(NamedTuple):
    """The summary that an agent made when it compacted, and the first message behind what it stands for."""

    seq: int
    text: str


def _newest(values: Sequence[SourceSession]) -> SourceSession | None:
    return values[-1] if values else None


def _untitled(recording: SourceSession, _: AbstractSet[int]) -> SourceSession | None:
    return recording._replace(title="") if recording.title else None


# A title may quote what is to be forgotten.
RECORDING = RecordKind("recording", fields(SourceSession), _newest, without=_untitled)
AGENT_SUMMARY = RecordKind(
    "agent_summary",
    fields(AgentSummary),
    tuple,
    without=lambda summary, seqs: summary._replace(text="") if min(seqs, default=summary.seq) < summary.seq else None,
    until=lambda summary: summary.seq,
)
RECORDED = RecordKind("recorded", fields(RecordedRun), tuple)


def message_key(message_id: str, part: int = 0) -> str:
    """Return what stands for an agent's id of a message; `part`: of a message that is stored as several, from 0."""
    named = f"{message_id}#{part}" if part else message_id
    return urlsafe_b64encode(sha256(named.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]).decode("ascii")


def keys_of(runs: Sequence[RecordedRun]) -> dict[str, int]:
    """Return the messages that were read, by key; -1 for those that were forgotten with their session."""
    return {
        run.keys[at * KEY_CHARS : (at + 1) * KEY_CHARS]: run.first_seq + at if run.first_seq >= 0 else -1
        for run in runs
        for at in range(run.messages)
    }


def left_of(store: TranscriptStore, session_id: str) -> tuple[Record, ...]:
    """Return what stays of a recorded session that is forgotten: no word of it, but that it is not imported again.

    Raises:
        DamagedStoreError: a record can't be read.
        StoreError: the store failed.
    """
    recording, runs = RECORDING.newest(store, session_id), RECORDED.all(store, session_id)
    if recording is None:
        return ()
    left = [run._replace(first_seq=-1, last_seq=-1) for run in runs]
    return RECORDING.record(0, recording._replace(title="")), *RECORDED.records(left)


def session_name(agent: str, source: str, parent: str = "") -> str:
    """Return the id that a recorded session has in a store; `parent` is that of the session whose sub-agent it is."""
    return short_id(f"{parent or spelled(agent)}/{spelled(source)}")
