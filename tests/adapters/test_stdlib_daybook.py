"""A journal in a folder: whole lines, or none; what a dead process left is told; nobody's entry is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from squidbot.adapters.stdlib import Daybook
from squidbot.core.errors import JournalFullError, StoreError
from squidbot.core.journal import JournalEntry, JournalRules, to_line
from squidbot.testing.values import at_once

# The last second of 2026-11-22 in UTC, in seconds since 1970.
EVENING = 1_795_391_999
WRITER = """
import sys
from squidbot.adapters.stdlib import Daybook
from squidbot.core.journal import JournalEntry
book = Daybook(sys.argv[1])
for number in range(40):
    book.append(JournalEntry(1_795_391_999, f"{sys.argv[2]}{number} " + "x" * 2_000))
"""
KILLED = """
import sys
from squidbot.adapters.stdlib import Daybook
from squidbot.core.journal import JournalEntry
from squidbot.core.journal import JournalRules
book = Daybook(sys.argv[1], JournalRules(most_entries_per_day=10**6))
for number in range(10**6):
    book.append(JournalEntry(1_795_391_999, "x" * 4_000, progress=("y" * 300,) * 40))
    print(number, flush=True)
"""


@pytest.fixture
def book(tmp_path: Path) -> Daybook:
    """Return a journal in a folder that is not there yet."""
    return Daybook(tmp_path / "notes" / "journal")


def _file(book: Daybook, day: str = "2026-11-22") -> Path:
    return book.folder / f"{day}.jsonl"


def test_file_is_named_after_the_day_of_its_entries_and_only_grows(book: Daybook) -> None:
    """One line each; at midnight in UTC another file begins, in the same process (J-01, V21)."""
    book.append(JournalEntry(EVENING, "evening\n---\nstill"))
    first = _file(book).read_bytes()
    book.append(JournalEntry(EVENING, "later"))
    book.append(JournalEntry(EVENING + 1, "morning"))
    assert _file(book).read_bytes().startswith(first)
    assert [json.loads(line)["summary"] for line in _file(book).read_text().splitlines()] == [
        "evening\n---\nstill",
        "later",
    ]
    assert json.loads(_file(book, "2026-11-23").read_text())["timestamp"] == "2026-11-23T00:00:00Z"
    assert sorted(one.name for one in book.folder.iterdir()) == [
        ".journal.lock",
        "2026-11-22.jsonl",
        "2026-11-23.jsonl",
        "daily_summary.md",
    ]


def test_201st_entry_of_a_day_is_refused_and_the_file_stays(book: Daybook) -> None:
    """With the key to change; the next day has room (V21)."""
    book.append(JournalEntry(EVENING, "0"))
    with _file(book).open("a") as file:  # as `append` writes them, which reads the whole day each time
        file.writelines(f"{to_line(JournalEntry(EVENING, str(number)))}\n" for number in range(1, 199))
    assert book.append(JournalEntry(EVENING, "199")).number == 200
    whole = _file(book).read_bytes()
    with pytest.raises(JournalFullError, match=r"2026-11-22 has 200 entries.*journal\.max_entries_per_day"):
        book.append(JournalEntry(EVENING, "200"))
    assert _file(book).read_bytes() == whole
    assert (
        Daybook(book.folder, JournalRules(most_entries_per_day=201)).append(JournalEntry(EVENING, "200")).number == 201
    )
    assert book.append(JournalEntry(EVENING + 1, "x")).number == 1


def test_line_that_was_cut_off_is_told_and_loses_no_other(book: Daybook) -> None:
    """Wherever the writer died: it is no entry, it is named, it stays, and the next one is whole (V21)."""
    book.append(JournalEntry(EVENING, "one"))
    whole = _file(book).read_bytes()
    line = to_line(JournalEntry(EVENING, "tw\N{LATIN SMALL LETTER O WITH STROKE}")).encode()
    for cut in range(1, len(line)):
        _file(book).write_bytes(whole + line[:cut])
        read = book.of_day("2026-11-22")
        assert [entry.summary for entry in read.entries] == ["one"]
        assert [f"{_file(book)}:2: " in fault and f"{cut:,} bytes" in fault for fault in read.faults] == [True]
        told = book.append(JournalEntry(EVENING, "three"))
        assert (told.number, told.faults) == (2, read.faults)
        assert _file(book).read_bytes().startswith(whole + line[:cut] + b"\n")
        again = book.of_day("2026-11-22")
        assert ([entry.summary for entry in again.entries], again.faults) == (["one", "three"], read.faults)
        assert book.latest(9).faults == read.faults


def test_entry_whose_line_was_not_ended_is_an_entry(book: Daybook) -> None:
    """All of it is there; the next one begins on a line of its own."""
    book.append(JournalEntry(EVENING, "one"))
    _file(book).write_bytes(_file(book).read_bytes().rstrip(b"\n"))
    assert [entry.summary for entry in book.latest(9).entries] == ["one"]
    assert book.append(JournalEntry(EVENING, "two")).faults == ()
    assert [entry.summary for entry in book.latest(9).entries] == ["two", "one"]


def test_damaged_line_is_passed_over_and_told(book: Daybook) -> None:
    """Somebody edited the file: other lines are read, and what is not one of ours is named."""
    book.append(JournalEntry(EVENING, "one"))
    with _file(book).open("ab") as file:
        file.write(b"\n\r\n \xff\xfe\n{}\nhello\n")
    book.append(JournalEntry(EVENING, "two"))
    read = book.of_day("2026-11-22")
    assert [entry.summary for entry in read.entries] == ["one", "two"]
    assert [fault.partition("jsonl:")[2].partition(";")[0] for fault in read.faults] == [
        "4: no UTF-8",
        "5: not a journal entry: timestamp must be a string",
        "6: not a journal entry: invalid JSON or truncated",
    ]


def test_damaged_lines_do_not_count_for_the_day(book: Daybook) -> None:
    """The cap is of entries."""
    book.folder.mkdir(parents=True)
    _file(book).write_bytes(b"hello\n" * 300)
    assert book.append(JournalEntry(EVENING, "one")).number == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40)
@given(
    before=st.text(max_size=30),
    behind=st.text(max_size=30),
    secret=st.sampled_from(("sk-" + "a1B2" * 6, "AKIA" + "Q7" * 8, "ghp_" + "x9" * 12)),
)
def test_no_secret_is_in_any_file(book: Daybook, before: str, behind: str, secret: str) -> None:
    """Whatever is around it, and wherever it was said (V21)."""
    said = f"{before} {secret} {behind}"
    unlimited = Daybook(book.folder, JournalRules(most_entries_per_day=10_000))
    unlimited.append(JournalEntry(EVENING, said, "default", "", "", *((said,),) * 6))
    assert not any(secret.encode() in one.read_bytes() for one in book.folder.iterdir())


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing(book: Daybook) -> None:
    """Three, one day: every entry whole and once, each writer's in its order; a reader beside them sees no damage."""
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, book.folder, name]) for name in "abc"]
    while any(writer.poll() is None for writer in writers):
        assert book.latest(300).faults == ()
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    read = book.of_day("2026-11-22")
    said = [entry.summary.split()[0] for entry in read.entries]
    assert read.faults == ()
    assert len(said) == 120
    assert all([one for one in said if one[0] == name] == [f"{name}{number}" for number in range(40)] for name in "abc")


@pytest.mark.slow
def test_killed_writer_leaves_all_that_it_was_told_of(book: Daybook) -> None:
    """Whenever it is killed: what `append` returned from is there, and nobody else is harmed."""
    for kept in range(1, 6):
        before = len(book.latest(10_000).entries)
        with subprocess.Popen([sys.executable, "-c", KILLED, book.folder], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(kept):
                writer.stdout.readline()
            writer.kill()
            told = kept + len(writer.stdout.read().split())
        assert len(book.latest(10_000).entries) >= before + told
        book.append(JournalEntry(EVENING - 86_400, f"after {kept}"))
    assert [entry.summary for entry in book.of_day("2026-11-21").entries] == [f"after {kept}" for kept in range(1, 6)]


def test_cap_holds_when_many_append_at_once(book: Daybook) -> None:
    """Each through an adapter of its own, as processes do: as many as a day may have, and no more."""
    refused: list[int] = []

    def write(_: int) -> None:
        own = Daybook(book.folder, JournalRules(most_entries_per_day=20))
        for number in range(10):
            try:
                own.append(JournalEntry(EVENING, str(number)))
            except JournalFullError:
                refused.append(number)

    at_once(4, write, "all can append, or are refused")
    assert (len(book.of_day("2026-11-22").entries), len(refused)) == (20, 20)


def test_failed_write_leaves_the_file_as_it_was(book: Daybook, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk refuses to sync, or takes a part of the line: a StoreError, and no half of an entry."""
    book.append(JournalEntry(EVENING, "one"))
    whole = _file(book).read_bytes()

    def fails(_number: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(StoreError, match=r"Input/output error; nothing was written"):
            book.append(JournalEntry(EVENING, "two"))
    assert _file(book).read_bytes() == whole
    assert book.append(JournalEntry(EVENING, "two")).number == 2


def test_full_disk_leaves_no_part_of_a_line() -> None:
    """Where a write takes less than it was given."""
    program = """
import resource, signal, sys, tempfile
from squidbot.adapters.stdlib import Daybook
from squidbot.core.errors import StoreError
from squidbot.core.journal import JournalEntry
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
book = Daybook(tempfile.mkdtemp())
book.append(JournalEntry(0, "one"))
file = book.folder / "1970-01-01.jsonl"
whole = file.read_bytes()
resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 20, resource.RLIM_INFINITY))
try:
    book.append(JournalEntry(0, "two"))
except StoreError as error:
    print("nothing was written" in str(error), file.read_bytes() == whole)
"""
    if sys.platform == "win32":
        pytest.skip("no such limits there")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True True\n", "")


def test_foreign_names_in_the_folder_are_no_days(book: Daybook) -> None:
    """Only files that are named after one."""
    book.append(JournalEntry(EVENING, "one"))
    for name in ("2026-02-30.jsonl", "2026-1-1.jsonl", "daily_summary.md", "x2026-11-22.jsonl", "2026-11-22.jsonl~"):
        (book.folder / name).write_text("hello\n")
    assert book.days() == ["2026-11-22"]
    assert book.latest(9).faults == ()


def test_folder_in_the_place_of_a_file_is_an_error_in_one_line(book: Daybook) -> None:
    """Reading and writing: ours, with the path."""
    _file(book).mkdir(parents=True)
    with pytest.raises(StoreError, match=r"2026-11-22\.jsonl: .*; nothing was read"):
        book.of_day("2026-11-22")
    with pytest.raises(StoreError, match=r"2026-11-22\.jsonl: .*; nothing was written"):
        book.append(JournalEntry(EVENING, "one"))


def test_reading_makes_nothing(book: Daybook) -> None:
    """No folder, no file."""
    assert (book.days(), book.latest(), book.of_day("2026-11-22")) == ([], ((), ()), ((), ()))
    assert not book.folder.exists()


def test_files_of_others_are_read(book: Daybook) -> None:
    """A journal that another program wrote, with less in it."""
    book.folder.mkdir(parents=True)
    _file(book).write_text('{"timestamp":"2026-11-22T10:00:00Z","summary":"by hand"}')
    assert [one.name for one in book.folder.iterdir()] == ["2026-11-22.jsonl"]
    assert book.latest().entries == (JournalEntry(EVENING - 14 * 3_600 + 1, "by hand"),)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
def test_device_in_the_place_of_a_day_is_refused(book: Daybook) -> None:
    """It would be read for ever; whoever put it there is told which file it is."""
    book.folder.mkdir(parents=True, exist_ok=True)
    (book.folder / "2026-11-22.jsonl").symlink_to("/dev/zero")
    for act in (lambda: book.append(JournalEntry(EVENING, "x")), book.latest):
        with pytest.raises(StoreError, match=r"2026-11-22.jsonl: no regular file"):
            act()
