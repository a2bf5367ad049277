"""The guard sees what has changed, and only that; it restarts and undoes on the way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks import digest_hosts, digests
from benchmarks.digests import Line, main

if TYPE_CHECKING:
    from pathlib import Path

RUN = "coding-session-a/8000/balanced"
WORD = "walrus"


def talk(messages: int, word: str = WORD) -> list[dict[str, object]]:
    """Return a recorded conversation with tools, of 200 tokens a message."""
    made: list[dict[str, object]] = [{"role": "system", "content": "You are kind."}]
    for number in range(messages):
        when = {"timestamp": 1_760_000_000.0 + 30 * number}
        if number % 5 == 3:
            call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            made.append({"role": "assistant", "content": None, "tool_calls": [call], **when})
            made.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} jars. " * 60, **when})
        role = "assistant" if number % 2 else "user"
        made.append({"role": role, "content": f"{number}: a {word} sits in the harbour, and eats. " * 15, **when})
    return made


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of recordings, and a file of digests of its own."""
    monkeypatch.setattr(digests, "DIGESTS", tmp_path / "digests.txt")
    folder = tmp_path / "data"
    (folder / "sessions").mkdir(parents=True)
    record(folder, talk(60))
    talks = [{"id": f"t{number}", "messages": talk(3)} for number in range(2)]
    (folder / "airline-open.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in talks))
    return folder


def record(folder: Path, messages: list[dict[str, object]]) -> None:
    """Write the long recording."""
    (folder / "coding-session-a.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in messages))


def test_a_difference_is_noticed_and_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which run, and which of its digests; `--write` makes it what is expected."""
    command = ["--data", str(data), "--only", "*/8000/balanced", "--processes", "1"]
    assert main(command) == 1
    assert f"{RUN}: not in digests.txt" in capsys.readouterr().out
    assert main([*command, "--write"]) == 0
    assert main(command) == 0
    assert "2 runs are as before" in capsys.readouterr().out
    assert WORD not in digests.DIGESTS.read_text()
    record(data, [*talk(59), *talk(60, "seal")[-1:]])
    assert main(command) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(RUN)]
    assert "other requests" in line
    assert main([*command, "--write"]) == 0
    assert main(command) == 0


def test_each_run_restarts_and_undoes(data: Path, tmp_path: Path) -> None:
    """And what it says can be read: requests, notes, plan changes, events."""
    assert main(["--data", str(data), "--show", RUN, "--into", str(tmp_path / "shown")]) == 0
    said = {
        kind: [json.loads(line) for line in (tmp_path / "shown" / f"{kind}.jsonl").read_text().splitlines()]
        for kind in digests.KINDS
    }
    assert [each["event"] for each in said["events"]].count("started") == 2
    assert {"undo", "manual"} < {each.get("reason") for each in said["changes"]}
    assert all(each["text"] for each in said["notes"])
    assert any(WORD in str(each.get("content")) for each in said["requests"])
    assert sum("unchanged_messages" in each for each in said["requests"]) > 20


def test_what_has_no_name_is_not_passed_over(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field or an event that was renamed would else be left out of the digests."""
    command = ["--data", str(data), "--only", RUN, "--processes", "1"]
    with monkeypatch.context() as changed:
        changed.delitem(digests.EVENTS, "view-plan-changed")
        with pytest.raises(SystemExit, match=r"does not name: .'view-plan-changed'"):
            main(command)
    monkeypatch.delitem(digests.CHANGE, "held")
    with pytest.raises(SystemExit, match=r"has other fields .*'held'"):
        main(command)


def test_lines_are_read_as_they_are_written() -> None:
    """Whatever a run is called."""
    line = Line("a/8000/speed", ("0" * 16, "1" * 16, "2" * 16, "-"), 3, 2, 1, 1)
    assert Line.of(str(line)) == line


def test_each_host_is_where_the_guard_looks() -> None:
    """Who moves a program of a host is told here, and not after ten minutes."""
    for origin in filter(None, digest_hosts.HOSTS.values()):
        module, _, name = origin.partition(":")
        path = digest_hosts.ROOT / f"{module.replace('.', '/')}.py"
        assert f"\n{name} = " in path.read_text(encoding="utf-8"), origin


def test_what_a_host_sends_is_heard_without_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the same, and with the words."""
    monkeypatch.setitem(digest_hosts.HOSTS, "toy", "tests.testing.toy_program:HOST")
    heard = []
    for name in "ab":
        (tmp_path / name).mkdir()
        heard.append(digest_hosts.conforming(digest_hosts.program("toy"), "c5", tmp_path / name))
    assert heard[0] == heard[1]
    assert "Brunhilde" in heard[0][-1]
    assert "<time>" in heard[0][-1]
