"""What is forgotten: out of the rows, the search index, and the bytes of every file of the store."""

from __future__ import annotations

import json
import random
import sqlite3
import string
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3 import SqliteStore, files, index, rows
from squidbot.adapters.sqlite3.doctor import check, repair
from squidbot.core.errors import StoreError
from squidbot.core.messages import Erasure, Record
from squidbot.testing import made_message, made_summary
from squidbot.testing.transcripts import made_tombstone

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from squidbot.core.messages import StoredMessage

LEFT = "(forgotten)"


@pytest.fixture(autouse=True)
def sqlite_as_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn off what some systems build SQLite with: it fills with zeros whatever it deletes, as far as it knows."""
    monkeypatch.setattr(files, "SETTINGS", (*files.SETTINGS, "PRAGMA secure_delete = OFF"))


class Secrets:
    """Words that occur once: planted in what will be forgotten, and looked for in every file afterwards."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311  # repeatable
        self.words: list[str] = []

    def word(self) -> str:
        """Return a new one; no two begin alike, for FTS5 stores only where a word differs from the one before."""
        self.words.append("".join(self._chance.choices(string.ascii_lowercase, k=20)))
        return self.words[-1]

    def text(self, chars: int) -> str:
        """Return a text of about so many characters with a secret at each end and some between, hard to compress."""
        letters = "".join(self._chance.choices(string.ascii_lowercase, k=chars))
        filler = (letters[at : at + 9] for at in range(0, chars, 10))
        return " ".join((self.word(), *filler, self.word()))

    def call(self) -> str:
        """Return the payload of a message that calls a tool."""
        function = {"name": "look", "arguments": json.dumps({self.word(): self.word()})}
        call = {"id": "c1", "type": "function", "function": function}
        return json.dumps({"role": "assistant", "content": self.word(), "tool_calls": [call]})


def bytes_of(path: Path) -> bytes:
    """Return all that stands in the files of a store."""
    return b"\n".join(each.read_bytes() for each in sorted(path.parent.glob(f"{path.name}*")))


def forms(word: str) -> Iterable[bytes]:
    """Return the bytes of a word in the encodings of SQLite, without its first letters."""
    return (word[4:].encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be"))


def told(path: Path, words: Sequence[str], blobs: Sequence[bytes] = ()) -> list[str]:
    """Return the words, and the pieces of compressed texts, that some file of the store holds."""
    held = bytes_of(path)
    pieces = [blob[at : at + 24] for blob in blobs for at in range(0, len(blob) - 24, 24)]
    found = [word for word in words if any(form in held for form in forms(word))]
    return found + [piece.hex() for piece in pieces if piece in held]


def compressed(path: Path, *selects: str) -> list[bytes]:
    """Return the cells that are compressed."""
    with closing(sqlite3.connect(path)) as connection:
        cells = [cell for select in selects for (cell,) in connection.execute(select)]
    return [cell for cell in cells if isinstance(cell, bytes)]


def planted(secrets: Secrets, seq: int) -> StoredMessage:
    """Return a message with secrets wherever a message can hold text."""
    kind = seq % 5
    if kind == 0:
        return made_message(seq, secrets.text(9000 if seq % 2 else 50_000))
    if kind == 1:
        return replace(made_message(seq, role="assistant", call_ids=("c1",)), payload=secrets.call())
    if kind == 2:
        return replace(made_message(seq, secrets.word()), sent_text=secrets.text(4000), notice=secrets.word())
    if kind == 3:
        return replace(made_message(seq, f"\ud800 {secrets.word()}"), sent_arguments=(secrets.word(), secrets.word()))
    return made_message(seq, f"tea {secrets.word()}")


def filled(path: Path, secrets: Secrets, gone: Sequence[int], messages: int = 230) -> list[StoredMessage]:
    """Store a session as it comes about, with secrets in what will be forgotten, and in what tells of it.

    The last messages are not indexed yet; the file has pages that are free again.
    """
    said = [
        planted(secrets, seq) if seq in gone else made_message(seq, f"tea own{seq} " * 9) for seq in range(messages)
    ]
    with SqliteStore(path) as store:
        for start in range(0, messages, 10):
            store.append("s", start, said[start : start + 10])
        store.append("t", 0, [made_message(0, "others")], [Record("plan", 0, "others")])
        bodies = (secrets.word(), secrets.text(3000), "kept", secrets.text(60_000))
        store.append("s", messages, [], [Record("ledger", number, body) for number, body in enumerate(bodies)])
        for number, text in enumerate((secrets.word(), secrets.text(3000), secrets.text(20_000))):
            store.put(made_summary(f"told{number}", 0, 9, text=text))
        store.put(made_summary("kept", 0, 9, text="kept"))
    return said


def erasure(said: Sequence[StoredMessage], gone: Sequence[int]) -> Erasure:
    """Return what forgets them, and all that tells of them."""
    return Erasure(
        expected=(len(said), 4),
        tombstones=tuple(made_tombstone(said[seq], LEFT) for seq in gone),
        replaced=tuple(Record("ledger", number, "{}") for number in (0, 1, 3)),
        appended=(Record("forgotten", 0, "{}"),),
        summaries=("told0", "told1", "told2", "nobody"),
    )


def assert_forgotten(store: SqliteStore, said: Sequence[StoredMessage], gone: Sequence[int], words: list[str]) -> None:
    """Check all that a reader sees: tombstones, everything else as it was, nothing found."""
    due = [made_tombstone(each, LEFT) if each.seq in gone else each for each in said]
    assert store.read("s", 0, len(said)) == due
    assert store.read("t", 0, 9) == [made_message(0, "others")]
    assert store.head("s") == (len(said), 5)
    assert [record.body for record in store.records("s", "ledger")] == ["{}", "{}", "kept", "{}"]
    assert [summary.summary_id for summary in store.for_range("s", 0, 9)] == ["kept"]
    assert all(store.search("s", word, 9) == [] for word in words)
    others = [each.seq for each in said if each.seq not in gone]
    assert sorted(found.seq for found in store.search("s", "tea", 10_000)) == others


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_no_byte_of_what_is_forgotten_stays_in_any_file(tmp_path: Path, seed: int) -> None:
    """Rows, long payloads, call arguments, frozen texts, records, summaries, index; all else is as it was."""
    path, secrets = tmp_path / "s.db", Secrets(seed)
    gone = [*random.Random(seed).sample(range(205), 20), 227, 228, 229]  # noqa: S311  # repeatable
    said = filled(path, secrets, gone)
    selects = "SELECT frozen FROM messages", "SELECT body FROM records", "SELECT text FROM summaries"
    blobs = compressed(path, *selects)
    assert all(compressed(path, select) for select in selects)
    plain = [word for word in secrets.words if word in "".join(each.payload for each in said)]
    assert len(plain) > 20
    assert set(plain) <= set(told(path, plain))
    assert len(told(path, (), blobs)) > 1000
    with SqliteStore(path) as store, SqliteStore(path) as other:
        assert other.read("s", 0, 9) == said[:10]
        assert secrets.words
        store.forget("s", erasure(said, gone))
        assert store.is_scrubbed()
        assert told(path, secrets.words, blobs) == []
        assert check(path).whole
        assert_forgotten(other, said, gone, secrets.words)
        assert_forgotten(store, said, gone, secrets.words)
        store.append("s", len(said), [made_message(len(said), "tea")])
        assert other.head("s") == (len(said) + 1, 5)
        assert told(path, secrets.words, blobs) == []
    assert told(path, secrets.words, blobs) == []
    assert check(path).whole
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT mark FROM unscrubbed").fetchall() == []
        connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, words_2_1, row)")
        terms = {term for (term,) in connection.execute("SELECT term FROM temp.terms")}
    assert "tea" in terms
    assert not terms & set(secrets.words)


def test_no_byte_of_a_message_alone_stays_in_any_file(tmp_path: Path) -> None:
    """Nothing else goes with it: no record, no summary. The same for a record alone."""
    path, secrets = tmp_path / "s.db", Secrets(3)
    said = filled(path, secrets, [7])
    words = [word for word in secrets.words if word in said[7].payload + (said[7].sent_text or "")]
    with SqliteStore(path) as store:
        assert told(path, words)
        store.forget("s", Erasure((len(said), 4), (made_tombstone(said[7], LEFT),)))
        assert told(path, words) == []
        body = store.records("s", "ledger")[0].body
        assert told(path, [body]) == [body]
        store.forget("s", Erasure((len(said), 4), (), (Record("ledger", 0, "{}"),)))
        assert told(path, [body]) == []


def test_no_byte_of_a_removed_summary_stays_in_any_file(tmp_path: Path) -> None:
    """With `remove`, too; where none of the ids is known, no file is written."""
    path, secrets = tmp_path / "s.db", Secrets(4)
    filled(path, secrets, ())
    blobs = compressed(path, "SELECT text FROM summaries")
    with SqliteStore(path) as store:
        before = bytes_of(path)
        store.remove("s", ["nobody"])
        store.remove("unknown", ["told0"])
        assert bytes_of(path) == before
        assert told(path, (), blobs)
        store.remove("s", ["told0", "told1", "told2"])
        assert [summary.summary_id for summary in store.for_range("s", 0, 9)] == ["kept"]
        assert told(path, secrets.words[-5:], blobs) == []
    assert check(path).whole


def test_forgetting_waits_for_a_reader_and_is_ended_later_when_that_stays(tmp_path: Path) -> None:
    """What is forgotten is out of reach at once; the store and the doctor say that its bytes are not."""
    path, secrets = tmp_path / "s.db", Secrets(5)
    gone = [3, 4, 5, 229]
    said = filled(path, secrets, gone)
    with SqliteStore(path, busy_seconds=0.1) as store, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchall()
        store.forget("s", erasure(said, gone))
        assert_forgotten(store, said, gone, secrets.words)
        assert not store.is_scrubbed()
        assert told(path, secrets.words)
        with pytest.raises(StoreError, match=r"s\.db.*reading an older state.*out of reach.*not overwritten yet"):
            store.scrub()
        SqliteStore(path, busy_seconds=0.1).close()
        health = check(path)
        assert any("not overwritten yet" in problem for problem in health.problems)
        assert health.damaged == 0
        reader.execute("ROLLBACK")
        store.scrub()
        assert store.is_scrubbed()
        assert told(path, secrets.words) == []
        assert check(path, proves_words=True).whole
        store.scrub()


@pytest.mark.parametrize("way", ["opened", "forgotten", "repaired"])
def test_what_could_not_be_overwritten_is_when_the_store_is_used_next(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash behind the transaction: opening the store, forgetting more, or a repair's copy leave no byte."""
    path, secrets = tmp_path / "s.db", Secrets(6)
    gone = [3, 4, 5, 229]
    said = filled(path, secrets, gone)
    scrub = files.scrub

    def crash(name: str, _busy_seconds: float) -> None:
        raise StoreError(f"{name}: crashed")

    monkeypatch.setattr(files, "scrub", crash)
    with SqliteStore(path) as store:
        store.forget("s", erasure(said, gone))
        assert not store.is_scrubbed()
        assert told(path, secrets.words)
        if way == "forgotten":
            monkeypatch.setattr(files, "scrub", scrub)
            store.forget("s", Erasure((len(said), 5), ()))
            assert store.is_scrubbed()
    monkeypatch.setattr(files, "scrub", scrub)
    with SqliteStore(path, read_only=True) as store:
        assert store.is_scrubbed() is (way == "forgotten")
    if way == "repaired":
        path = tmp_path / "copy" / "s.db"
        path.parent.mkdir()
        repair(tmp_path / "s.db", path)
    with SqliteStore(path) as store:
        assert store.is_scrubbed()
        assert_forgotten(store, said, gone, secrets.words)
        assert told(path, secrets.words) == []


def test_old_words_are_never_indexed_when_another_process_has_just_read_them(tmp_path: Path) -> None:
    """A batch that was read before a message in it was forgotten comes too late, in an old index and in a new one."""
    path = tmp_path / "s.db"
    said = [made_message(seq, f"tea secret{seq}") for seq in range(90)]
    with SqliteStore(path) as store, SqliteStore(path) as other:
        for session_id, first, renews in (("s", 70, False), ("t", 0, True)):
            store.append(session_id, 0, said[:first])
            store.append(session_id, first, said[first : first + 20])
            with other._reading as connection:
                session = rows.find(connection, session_id)
                batch = index.pending(connection, session)
            assert (batch.first, batch.last) == (first, first + 20)
            grave = first + 5
            assert f"secret{grave}" in dict(batch.texts)[session.first_key + grave]
            erased = Erasure((first + 20, 0), (made_tombstone(said[grave], LEFT),))
            with store._writing as connection:
                if renews:
                    index.OF_MESSAGES.renew(connection)
                files.forget(connection, rows.find(connection, session_id), erased, indexed=not renews)
            with other._writing as connection:
                index.add(connection, session, batch)
            assert store.search(session_id, f"secret{grave}", 9) == []
            assert len(store.search(session_id, "tea", 1000)) == first + 19


@pytest.mark.parametrize("damage", ["row", "index"])
def test_a_damaged_message_is_forgotten_with_the_words_that_the_index_had_of_it(tmp_path: Path, damage: str) -> None:
    """What was indexed can't be told from its row any more, or the index is damaged: it is made anew."""
    path, secrets = tmp_path / "s.db", Secrets(7)
    gone = [4, 9]
    said = filled(path, secrets, gone)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if damage == "row":
            connection.execute("UPDATE messages SET payload = '{}' WHERE key & 4294967295 = 4")
        else:
            connection.execute("UPDATE words_2_1_data SET block = x'0000' WHERE id > 10")
    with SqliteStore(path) as store:
        store.forget("s", erasure(said, gone))
        assert store.is_scrubbed()
        assert told(path, secrets.words) == []
        assert_forgotten(store, said, gone, secrets.words)
    assert check(path).whole


def test_an_index_that_can_not_be_removed_is_told_when_messages_are_forgotten(tmp_path: Path) -> None:
    """FTS5 opens it no more: forgotten all the same, but its bytes stay, and the store says so and what to do."""
    path, secrets = tmp_path / "s.db", Secrets(8)
    gone = [4, 9]
    said = filled(path, secrets, gone)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE words_2_1_config SET v = 99 WHERE k = 'version'")
    with SqliteStore(path) as store:
        store.forget("s", erasure(said, gone))
        assert_forgotten(store, said, gone, secrets.words)
        if not store.is_scrubbed():
            with pytest.raises(StoreError, match=r"index.*can't be removed.*squidbot store doctor"):
                store.scrub()
    copy = tmp_path / "copy" / "s.db"
    copy.parent.mkdir()
    repair(path, copy)
    assert told(copy, secrets.words) == []


def test_nothing_is_forgotten_when_another_program_holds_the_lock(tmp_path: Path) -> None:
    """After the wait all is as it was, and the error says so."""
    path, secrets = tmp_path / "s.db", Secrets(9)
    said = filled(path, secrets, [3])
    with SqliteStore(path, busy_seconds=0.1) as store, closing(sqlite3.connect(path, isolation_level=None)) as rival:
        rival.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"lock.*nothing was written"):
            store.forget("s", erasure(said, [3]))
        rival.execute("ROLLBACK")
        assert store.read("s", 0, len(said)) == said
        assert store.is_scrubbed()
        store.forget("s", erasure(said, [3]))
        assert_forgotten(store, said, [3], secrets.words)
