"""What a hook gives an agent back after its compaction: the messages before it, and the summary that it made."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.core.carryover import NEWEST_MESSAGES, CarriedMessage, carryover
from squidbot.core.messages import Category
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.recordings import AGENT_SUMMARY
from squidbot.core.view.marks import unmarked
from squidbot.core.view.steps import is_carried

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import Codec, TranscriptStore

__all__ = ["text_after_compaction"]

# So many turns are read back for the user's words: further back, a summary of a summary stands.
_MOST_TURNS: Final = 400
# What the agent has in view behind its summary, in characters.
_MOST_SEEN_CHARS: Final = 60_000
RECALL: Final = (
    'The rest, word for word: history_search finds it; history_recall returns a message by its id, "{session}#m17".'
)


class _Compaction(NamedTuple):
    """The messages before a compaction, and what the agent has in view since."""

    before: Sequence[CarriedMessage]
    seen: str


def text_after_compaction(
    store: TranscriptStore, session_id: str, limit_tokens: int, *, is_new: bool, project: str = ""
) -> str:
    """Return what the agent's summary left out; "" for nothing, and for a session that was not compacted.

    `is_new`: the agent has just compacted; its transcript may lack the summary yet. Else the newest one counts.

    Raises:
        StoreError: the store failed.
    """
    rows = _read(LineStore(store, session_id))
    newest = AGENT_SUMMARY.newest(store, session_id)
    found = _compaction(rows, newest.text if newest else "", is_new=is_new)
    if not found.before:
        return ""
    recall = RECALL.format(session=session_id)
    text = carryover(found.before, found.seen, limit_tokens=limit_tokens, recall=recall, project=project)
    return unmarked(text)


def _read(line: LineStore) -> list[CarriedMessage]:
    """Return the newest messages of a line, and before them what opened turns, with what stands in front of it."""
    seqs = line.newest_seqs(line.count_between(0, line.last_seq))
    rows = line.pick(line.session_id, seqs[-NEWEST_MESSAGES:])
    older: list[StoredMessage] = []
    at = rows[0] if rows else None
    for _ in range(_MOST_TURNS):
        if at is None:
            break
        opening = at if at.turn == at.seq else next(iter(line.pick(line.session_id, [at.turn])), None)
        place = bisect_left(seqs, opening.seq if opening else at.seq)
        at = line.pick(line.session_id, [seqs[place - 1]])[0] if place else None
        older += [one for one in (opening, at) if one is not None]
    codec = AnthropicMessages()
    every = {row.seq: row for row in (*older, *rows)}
    return [_carried(every[seq], codec) for seq in sorted(every)]


def _carried(row: StoredMessage, codec: Codec) -> CarriedMessage:
    message = codec.decode(row.payload)
    return CarriedMessage(row.seq, row.role, message.text, message.calls, row.result_ids, row.category)


def _compaction(rows: Sequence[CarriedMessage], newest: str, *, is_new: bool) -> _Compaction:
    """Return the newest compaction among messages; `newest` is the summary that the agent handed over last."""
    places = [at for at, row in enumerate(rows) if row.category is Category.AUTOMATED and is_carried(row.text)]
    at = places[-1] if places else len(rows)
    behind = [row for row in rows[at + 1 :] if row.category is not Category.AUTOMATED]
    if is_new and (behind or not places):  # its own summary is not in the transcript yet
        return _Compaction(rows, newest)
    if not places:
        return _Compaction((), "")
    seen = "\n".join([rows[at].text, newest, *(row.text for row in reversed(behind))])
    return _Compaction(rows[:at], seen[:_MOST_SEEN_CHARS])
