"""The search index of a session: blocks of 64 messages by their terms, and the messages behind the last block."""

from __future__ import annotations

import json
from collections import defaultdict
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from squidbot.adapters.common.cells import DamagedRowError, stored_text
from squidbot.adapters.psycopg.rows import decoded, said
from squidbot.core.recall.search import UNSEARCHED, payload_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from psycopg import Connection

    from squidbot.adapters.common.cells import MessageRow
    from squidbot.adapters.psycopg.server import Server
    from squidbot.core.recall.search import Word

# A mask of a block is one number of PostgreSQL.
BLOCK = 64
LOCK_WORDS = "SELECT {schema}.lock_words(%s)"
_COLUMNS = "seq, bound, estimate, turn, checksum, time, form, call_ids, result_ids, frozen, payload"
FIRST_BEHIND = "(SELECT coalesce(max(block) + 1, 0) * 64 FROM {schema}.words WHERE session = %s)"
BEHIND = f"SELECT {_COLUMNS} FROM {{schema}}.messages WHERE session = %s AND seq >= {FIRST_BEHIND} ORDER BY seq"  # noqa: S608
ADD_BLOCK = "INSERT INTO {schema}.words(session, block, terms, masks) VALUES(%s, %s, %s::integer[], %s::bigint[])"
UNINDEX = "SELECT {schema}.unindex(%s, %s::bigint[])"
NEWEST = "SELECT seq FROM {schema}.newest(%s::bigint, %s::jsonb, %s::integer, %s::integer) AS seq"
SIZES = "SELECT seq, estimate FROM {schema}.messages WHERE session = %s AND seq = ANY(%s)"
PAYLOADS = "SELECT seq, payload FROM {schema}.messages WHERE session = %s AND seq = ANY(%s)"


class TermDigests:
    """The digests of terms in one session: another session has other ones for the same terms."""

    def __init__(self, session_id: str) -> None:
        """Take the session."""
        self._start = blake2b(sha256(stored_text(session_id)[1]).digest(), digest_size=4)

    def of(self, term: str) -> int:
        """Return the 32-bit digest of a term."""
        digest = self._start.copy()
        digest.update(term.encode())
        return int.from_bytes(digest.digest(), "big", signed=True)


class Block(NamedTuple):
    """A block of the index: the digests of its terms, ascending, and for each a mask of the messages that have it."""

    terms: list[int]
    masks: list[int]


def block_of(digests: TermDigests, found: Mapping[int, set[str]]) -> Block:
    """Return the block of messages: their seqs, and the terms of each."""
    masks = defaultdict[int, int](int)
    for seq, terms in found.items():
        for term in terms:
            masks[digests.of(term)] |= 1 << seq % BLOCK
    every = sorted(masks)
    return Block(every, [masks[term] - (masks[term] >> BLOCK - 1 << BLOCK) for term in every])


def terms_of(rows: Iterable[MessageRow]) -> Iterator[tuple[int, set[str]]]:
    """Yield seq and terms of messages; none of one that no search finds, or that is damaged."""
    for row in rows:
        try:
            (message,) = decoded([row])
        except DamagedRowError:
            yield row[0], set()
        else:
            yield message.seq, set() if message.category in UNSEARCHED else payload_terms(message.payload)


def add_blocks(server: Server, connection: Connection[Any], session_id: str, no: int) -> None:
    """Index the full blocks behind the last one, in a transaction of the caller's."""
    server.execute(connection, LOCK_WORDS, (no,))
    rows = server.execute(connection, BEHIND, (no, no))
    digests = TermDigests(session_id)
    for first in range(0, len(rows) - BLOCK + 1, BLOCK):
        block = block_of(digests, dict(terms_of(rows[first : first + BLOCK])))
        server.execute(connection, ADD_BLOCK, (no, rows[first][0] // BLOCK, *block))


class SessionWords:
    """The messages of a session by their terms: `core.recall.search.Postings`, within one transaction."""

    def __init__(self, server: Server, connection: Connection[Any], session_id: str, no: int, messages: int) -> None:
        """Take a session and the number of its messages."""
        self._server, self._connection, self._no = server, connection, no
        self._digests = TermDigests(session_id)
        self.messages = messages
        # Newest first.
        self.behind = dict(reversed([*terms_of(server.execute(connection, BEHIND, (no, no)))]))

    def newest(self, words: Sequence[Word], below: int, limit: int) -> list[int]:
        """Return at most `limit` seqs below `below` of messages that have all the words, newest first."""
        found = [
            seq
            for seq, terms in self.behind.items()
            if seq < below and all(any(terms.issuperset(alternative) for alternative in word) for word in words)
        ][:limit]
        if len(found) < limit and len(self.behind) < self.messages:
            wanted = [[[*map(self._digests.of, alternative)] for alternative in word] for word in words]
            cells = self._no, json.dumps(wanted), below, limit - len(found)
            found += [seq for (seq,) in self._server.execute(self._connection, NEWEST, cells)]
        return found

    def sizes(self, seqs: Sequence[int]) -> list[int]:
        """Return the tokens of messages, in the order asked for; 0 for a missing one."""
        found = dict(self._server.execute(self._connection, SIZES, (self._no, list(seqs))))
        return [found.get(seq, 0) for seq in seqs]

    def payloads(self, seqs: Sequence[int]) -> list[str]:
        """Return the payloads of messages, in the order asked for; an empty text for a missing one."""
        found = dict(self._server.execute(self._connection, PAYLOADS, (self._no, list(seqs))))
        return [said(found[seq]) if seq in found else "" for seq in seqs]
