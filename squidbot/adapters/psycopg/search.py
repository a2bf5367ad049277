"""The terms of messages as the index in PostgreSQL holds them, and a session's messages by them."""

from __future__ import annotations

from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any

from squidbot.adapters.common.cells import plain, stored_text
from squidbot.core.recall.search import UNSEARCHED, payload_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

    from squidbot.adapters.psycopg.server import Server
    from squidbot.core.messages import StoredMessage
    from squidbot.core.recall.search import Word


class TermDigests:
    """The digests of terms in one session: another session has other ones for the same terms."""

    def __init__(self, session_id: str) -> None:
        """Take the session."""
        self._start = blake2b(sha256(stored_text(session_id)[1]).digest(), digest_size=8)

    def of(self, term: str) -> int:
        """Return the 64-bit digest of a term."""
        digest = self._start.copy()
        digest.update(term.encode())
        return int.from_bytes(digest.digest(), "big", signed=True)

    def cell(self, message: StoredMessage) -> str:
        """Return the terms of a message as PostgreSQL writes an array; an empty one for what no search finds."""
        found = () if message.category in UNSEARCHED else payload_terms(message.payload)
        return "{" + ",".join(map(str, sorted(map(self.of, found)))) + "}"


NEWEST = "SELECT seq FROM {schema}.words WHERE session = %s AND seq < %s"
SIZES = "SELECT seq, estimate FROM {schema}.messages WHERE session = %s AND seq = ANY(%s)"
PAYLOADS = "SELECT seq, payload FROM {schema}.messages WHERE session = %s AND seq = ANY(%s)"


class Postings:
    """The messages of a session by their terms: `core.recall.search.Postings`, within one transaction."""

    def __init__(self, server: Server, connection: Connection[Any], session_id: str, no: int, messages: int) -> None:
        """Take a session and the number of its messages."""
        self._server, self._connection, self._no = server, connection, no
        self._digests = TermDigests(session_id)
        self.messages = messages

    def newest(self, words: Sequence[Word], below: int, limit: int) -> list[int]:
        """Return at most `limit` seqs below `below` of messages that have all the words, newest first."""
        cells: list[object] = [self._no, below]
        asked = NEWEST
        for word in words:
            asked += f" AND ({' OR '.join(['terms @> %s::bigint[]'] * len(word))})"
            cells += [[*map(self._digests.of, alternative)] for alternative in word]
        found = self._connection.execute(
            self._server.named(f"{asked} ORDER BY seq DESC LIMIT %s"), (*cells, limit)
        ).fetchall()
        return [seq for (seq,) in found]

    def sizes(self, seqs: Sequence[int]) -> list[int]:
        """Return the tokens of messages, in the order asked for; 0 for a missing one."""
        found = dict(self._connection.execute(self._server.named(SIZES), (self._no, list(seqs))).fetchall())
        return [found.get(seq, 0) for seq in seqs]

    def payloads(self, seqs: Sequence[int]) -> list[str]:
        """Return the payloads of messages, in the order asked for; an empty text for a missing one."""
        found = dict(self._connection.execute(self._server.named(PAYLOADS), (self._no, list(seqs))).fetchall())
        return [plain(found[seq]) if seq in found else "" for seq in seqs]
