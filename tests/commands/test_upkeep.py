"""`squidbot store doctor` and `squidbot store backup`: whole or damaged, saved into new files only."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import squidbot
from squidbot.core.kinds import KINDS
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


# A pin of what is no message.
SAYS_NOTHING = {"with-pin": '{"seq": "m3", "on": true}'}


def hurt() -> None:
    """Overwrite some pages in the middle of the store of the current folder."""
    path = Path("kept.db")
    data = bytearray(path.read_bytes())
    at = data.find(b"def part_3_450(): return 450")
    if at < 0:
        at = len(data) // 2
    data[at : at + 4_096] = b"\xa5" * 4_096
    path.write_bytes(data)


def test_doctor_of_a_whole_store_says_so(copied: Callable[..., Result]) -> None:
    """Exit code 0, and how much there is."""
    result = copied("store", "doctor")
    assert result.exit_code == 0
    assert "kept.db: whole\n4 sessions, 101 messages; " in result.output
    made = json.loads(copied("store", "doctor", "--json").output)
    assert (made["whole"], made["problems"], made["repaired"]) == (True, [], None)


def test_doctor_names_what_is_lost_and_saves_the_rest(copied: Callable[..., Result]) -> None:
    """Exit code 4; the copy is a new file, and the others commands work on it."""
    hurt()
    before = Path("kept.db").read_bytes()
    result = copied("store", "doctor")
    assert result.exit_code == 4
    assert "DAMAGED" in result.output
    assert "squidbot store doctor --repair TARGET recovers" in result.output
    repaired = copied("store", "doctor", "--repair", "saved.db")
    assert "saved: " in repaired.output
    assert Path("kept.db").read_bytes() == before
    assert copied("store", "doctor", "--store", "saved.db").exit_code == 0
    assert copied("session", "show", "support/42", "--store", "saved.db").exit_code == 0


def test_doctor_says_where_search_hides_what_is_there(copied: Callable[..., Result]) -> None:
    """No message is lost then; a repair makes anew what they are found by."""
    with closing(sqlite3.connect("kept.db")) as connection, connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master ORDER BY length(name)")]
        words = next(name for name in names if name.startswith("words_"))
        connection.execute(f"INSERT INTO {words}(rowid, terms) VALUES(64, 'walrus')")
    result = copied("store", "doctor")
    assert result.exit_code == 4
    assert "DAMAGED, 0 messages lost" in " ".join(result.output.split())
    assert "the search index of messages is damaged, so searches may miss some" in " ".join(result.output.split())
    assert copied("store", "doctor", "--repair", "saved.db").exit_code == 0
    assert copied("store", "doctor", "--store", "saved.db").exit_code == 0


def test_doctor_reads_every_record_as_the_engine_does(copied: Callable[..., Result]) -> None:
    """A row that is as it was written, and says nothing, is damage: the session can't be used."""
    names = [f"with-{kind.name}" for kind in KINDS]
    with squidbot.load({"store": {"path": "kept.db"}}) as engine:
        for name in names:
            engine.wired.store.append(
                name, 0, (), [Record(name.removeprefix("with-"), 0, SAYS_NOTHING.get(name, "no JSON"))]
            )
    result = copied("store", "doctor")
    assert result.exit_code == 4
    assert "kept.db: DAMAGED, 0 messages lost, but records can't be read" in " ".join(result.output.split())
    assert "- with-pin: pin 0 can't be read: " in result.output
    made = json.loads(copied("store", "doctor", "--json").output)
    assert not made["whole"]
    assert sorted(made["unreadable"]) == sorted(names)


def test_doctor_overwrites_nothing(copied: Callable[..., Result]) -> None:
    """Neither the store nor another file."""
    Path("there.db").write_text("mine")
    assert copied("store", "doctor", "--repair", "there.db").exit_code == 1
    assert Path("there.db").read_text() == "mine"
    assert copied("store", "doctor", "--repair", "kept.db").exit_code == 1
    assert copied("store", "doctor", "--store", "none.db").exit_code == 1


def test_backup_is_a_store(copied: Callable[..., Result]) -> None:
    """With all sessions; a file that is there already stays."""
    assert copied("store", "backup", "copy.db").output == "copy.db: 4 sessions\n"
    listed = [json.loads(copied("session", "list", "--json", *store).output) for store in ((), ("--store", "copy.db"))]
    assert listed[0] == listed[1]
    again = copied("store", "backup", "copy.db")
    assert again.exit_code == 1
    assert "exists" in again.output
    assert json.loads(copied("store", "backup", "other.db", "--json").output) == {"target": "other.db", "sessions": 4}


def test_damage_is_named_and_the_rest_still_shown(copied: Callable[..., Result]) -> None:
    """`show` leaves the damaged messages out, says which, and ends with 4."""
    hurt()
    results = [copied("session", "show", "support/42", "--from", f"m{seq}", "--limit", "8") for seq in range(0, 96, 8)]
    assert {result.exit_code for result in results} == {0, 4}
    for result in results:
        assert "Traceback" not in result.output
        if result.exit_code == 4:
            assert "cannot be read; run squidbot store doctor" in result.output
