"""The command line as users meet it: options, output, exit codes, one clear line for each thing that is wrong."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from squidbot.cli import main

USER = '{"role": "user", "content": "hi"}'
REPLY = '{"role": "assistant", "content": "hello"}'
CALL = (
    '{"role": "assistant", "content": null, "tool_calls": '
    '[{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}'
)


def transcript(folder: Path, turns: int = 4, *, size: int = 40, name: str = "talk.jsonl") -> str:
    """Write a conversation with tools and return its path; results of `size` lines."""
    lines = []
    for turn in range(turns):
        function = {"name": "read", "arguments": json.dumps({"path": f"src/part_{turn}.py"})}
        text = "".join(f"def part_{turn}_{line}(): return {line}\n" for line in range(size))
        lines += [
            {"role": "user", "content": f"Mend src/part_{turn}.py"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": f"c{turn}", "function": function}]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": text},
            {"role": "assistant", "content": f"Mended part_{turn}_1."},
        ]
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def squidbot(*arguments: str) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(main, arguments)


def command(*arguments: str) -> list[str]:
    """Return the command line as a process of its own."""
    return [sys.executable, "-m", "squidbot", *arguments]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment whose temporary files lie in a folder."""
    return {**os.environ, "TMPDIR": str(folder), **more}


# -- what is printed ------------------------------------------------------------------------------------------------


def test_replay_prints_what_was_sent_and_what_it_cost(tmp_path: Path) -> None:
    """The default counter, a window in thousands, and the default reserve: a quarter of it."""
    result = squidbot("replay", transcript(tmp_path), "--window", "4k")
    assert result.exit_code == 0
    assert "talk: 16 messages, 8 model calls" in result.output
    assert "window 4,000 tokens, 1,000 of them for the answer; strategy balanced" in result.output
    assert "0 requests over the window, 0 with a broken tool pair" in result.output


def test_replay_compares_where_asked(tmp_path: Path) -> None:
    """Rivals and all three strategies in one table, the replayed one marked."""
    result = squidbot("replay", transcript(tmp_path), "--window", "3k", "--strategy", "speed", "--compare")
    assert result.exit_code == 0
    for name in ("send everything", "last 40 messages", "trim every turn", "summarize at 80 %", "squidbot coherence"):
        assert f"\n{name} " in result.output
    assert "\nsquidbot speed *" in result.output


def test_replay_json_is_one_object_on_standard_output(tmp_path: Path) -> None:
    """Nothing but the object, so that it can be piped."""
    ran = squidbot("replay", transcript(tmp_path), "--window", "3Ki", "--reserve", "500", "--json")
    made = json.loads(ran.stdout)
    assert (made["window"], made["reserve"], made["calls"], made["over"], made["pairs_broken"]) == (3_072, 500, 8, 0, 0)
    assert ran.stderr == ""


def test_replay_reads_files_and_folders_one_after_another(tmp_path: Path) -> None:
    """Several transcripts become a list of conversations and their totals."""
    folder = tmp_path / "talks"
    folder.mkdir()
    for name in ("b.jsonl", "a.jsonl"):
        transcript(folder, 1, name=name)
    result = squidbot("replay", transcript(tmp_path, 1), str(folder), "--window", "4k", "--json")
    made = json.loads(result.output)
    assert [one["id"] for one in made["conversations"]] == ["talk", "a", "b"]
    assert made["totals"]["calls"] == 6


def test_replay_dumps_into_one_file_or_a_folder(tmp_path: Path) -> None:
    """A slash at the end asks for a file for each conversation."""
    path = transcript(tmp_path, 2)
    for target, file in (("one.jsonl", "one.jsonl"), ("many/", "many/talk.jsonl")):
        assert squidbot("replay", path, "--window", "4k", "--dump", f"{tmp_path}/{target}").exit_code == 0
        lines = (tmp_path / file).read_text(encoding="ascii").splitlines()
        assert [json.loads(line)["call"] for line in lines] == [0, 1, 2, 3]


def test_replay_limits_words_where_asked(tmp_path: Path) -> None:
    """With the unit words a request also keeps the default cap of 4,500 words."""
    path = transcript(tmp_path, 6, size=500)
    most = {}
    for unit in ("words", "tokens"):
        dump = tmp_path / f"{unit}.jsonl"
        given = ("--window", "200k", "--counter", "bytes", "--unit", unit, "--dump", str(dump))
        assert squidbot("replay", path, *given).exit_code == 0
        lines = [json.loads(line) for line in dump.read_text(encoding="ascii").splitlines()]
        most[unit] = max(sum(len(block["text"].split()) for block in line["blocks"]) for line in lines)
    assert most["words"] <= 4_500 < most["tokens"]


def test_help_is_quick_and_names_every_option() -> None:
    """Neither tables nor stores are loaded for it."""
    program = (
        "import sys\nfrom squidbot.cli import main\n"
        "try:\n    main(['replay', '--help'])\n"
        "finally:\n    print(sorted({'rich', 'sqlite3', 'tiktoken', 'squidbot.replay'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert ran.stdout.splitlines()[-1] == "[]"
    for option in ("window", "reserve", "strategy", "counter", "unit", "store", "dump", "compare", "json"):
        assert f"--{option} " in ran.stdout


# -- exit codes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--window", "8q"], "is not a number of tokens"),
        (["--window", "0"], "is not a number of tokens"),
        ([], "Missing option '--window'"),
        (["--window", "8k", "--reserve", "-1"], "is not a number of tokens"),
        (["--window", "8k", "--strategy", "best"], "'coherence', 'balanced', 'speed'"),
        (["--window", "8k", "--unit", "bytes"], "'words', 'tokens'"),
        (["--window", "8k", "--counter", "guess"], "known: bytes, chars3, chars4, classes, words, or the path of a"),
        (["--window", "8k", "--counter", "none.tiktoken"], "no such file: none.tiktoken"),
        (["--window", "8k", "--dump", "/no/such/folder/d.jsonl"], "--dump: cannot write /no/such/folder/d.jsonl"),
        (["--window", "8k", "--store", "/no/such/folder/s.db"], "/no/such/folder/s.db: can't be opened"),
    ],
)
def test_wrong_usage_ends_with_two_and_what_would_be_right(tmp_path: Path, arguments: list[str], says: str) -> None:
    """One clear message, nothing replayed."""
    result = squidbot("replay", transcript(tmp_path, 1), *arguments)
    assert result.exit_code == 2
    assert says in result.output
    assert "Traceback" not in result.output


def test_no_transcript_is_wrong_usage() -> None:
    """There is nothing to replay."""
    assert squidbot("replay", "--window", "8k").exit_code == 2


def test_store_that_holds_the_session_already_is_wrong_usage(tmp_path: Path) -> None:
    """A replay begins its sessions; which file to name instead is said."""
    given = ("replay", transcript(tmp_path, 1), "--window", "8k", "--store", str(tmp_path / "s.db"))
    assert squidbot(*given).exit_code == 0
    again = squidbot(*given)
    assert again.exit_code == 2
    assert "--store already has a session 'talk'" in again.output


def test_file_that_is_no_store_is_damaged_data_and_stays(tmp_path: Path) -> None:
    """It was something else."""
    other = tmp_path / "notes.txt"
    other.write_text("my notes, which are no database at all\n" * 100)
    result = squidbot("replay", transcript(tmp_path, 1), "--window", "8k", "--store", str(other))
    assert result.exit_code == 4
    assert "notes.txt" in result.output
    assert other.read_text().startswith("my notes")


@pytest.mark.parametrize("reserve", ["4096", "5000"])
def test_reserve_that_leaves_no_input_is_an_impossible_budget(tmp_path: Path, reserve: str) -> None:
    """The numbers and both ways out are named."""
    result = squidbot("replay", transcript(tmp_path, 1), "--window", "4096", "--reserve", reserve)
    assert result.exit_code == 3
    assert f"--reserve {reserve} leaves no room for input in --window 4096" in result.output


def test_reserve_of_nothing_is_taken(tmp_path: Path) -> None:
    """Who measures input only may say so."""
    result = squidbot("replay", transcript(tmp_path, 1), "--window", "4096", "--reserve", "0", "--json")
    assert result.exit_code == 0
    assert json.loads(result.output)["reserve"] == 0


def test_replay_without_a_request_that_fits_measures_nothing(tmp_path: Path) -> None:
    """Nothing was kept, and nothing was saved: it says so, and ends with three."""
    path = transcript(tmp_path, 3)
    said = squidbot("replay", path, "--window", "8", "--compare")
    assert said.exit_code == 3
    assert "sent  nothing: of 6 calls no request fits 6 tokens" in said.output
    assert "no request fits for 6 of 6 calls, the first is call 0" in said.output
    assert not any(word in said.output.partition("Beside other")[0] for word in (" %", "kept", "extends"))
    assert re.search(r"balanced \*? +(- +){7}-\n", said.output)
    made = squidbot("replay", path, "--window", "8", "--json")
    assert made.exit_code == 3
    measures = json.loads(made.stdout)
    assert [measures[name] for name in ("users_verbatim", "reuse", "bite", "mean_tokens", "over")] == [None] * 5
    assert len(measures["budget_errors"]) == 6


def test_call_that_can_not_fit_ends_with_three_behind_the_whole_replay(tmp_path: Path) -> None:
    """The outcome is printed, the line on standard error names the call, the culprit and what to change."""
    path = transcript(tmp_path, 2, size=3)
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"role": "user", "content": "word " * 4_000}) + f"\n{REPLY}\n")
    dump = tmp_path / "d.jsonl"
    given = ("replay", path, "--window", "2k", "--json", "--dump", str(dump))
    ran = squidbot(*given)
    assert ran.exit_code == 3
    made = json.loads(ran.stdout)
    assert [one["call"] for one in made["budget_errors"]] == [4]
    assert made["calls"] == 5
    assert len(dump.read_text(encoding="ascii").splitlines()) == 4
    assert ran.stderr.startswith("squidbot: talk: no request fits for 1 of 5 calls, the first is call 4: ")
    assert "make --window larger or --reserve smaller" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(f"{USER}\n{{broken\n", "bad.jsonl:2: ", id="a broken line"),
        pytest.param(f"{USER}\n{REPLY}\n".encode("utf-16"), "bad.jsonl", id="a wrong encoding"),
        pytest.param("", "bad.jsonl: the file is empty", id="an empty file"),
        pytest.param(None, "bad.jsonl: there is no such file", id="a missing file"),
    ],
)
def test_bad_input_ends_with_four_and_nothing_written(tmp_path: Path, content: str | bytes | None, says: str) -> None:
    """File and line are named on one line; a good transcript beside it is not replayed either."""
    good, bad = transcript(tmp_path, 1), tmp_path / "bad.jsonl"
    if content is not None:
        bad.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(tmp_path.iterdir())
    given = ("--window", "8k", "--dump", str(tmp_path / "d.jsonl"), "--store", str(tmp_path / "s.db"))
    result = squidbot("replay", good, str(bad), *given)
    assert result.exit_code == 4
    assert says in result.output
    assert result.output.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_folder_without_transcripts_ends_with_four(tmp_path: Path) -> None:
    """What would be read is said."""
    (tmp_path / "readme.md").write_text("nothing to replay")
    result = squidbot("replay", str(tmp_path), "--window", "8k")
    assert result.exit_code == 4
    assert "no *.jsonl or *.json file" in result.output


def test_call_without_a_result_passes_as_text(tmp_path: Path) -> None:
    """A recording that ends in the middle of a step is replayed: what is open is told, not sent as a call."""
    path = tmp_path / "open.jsonl"
    path.write_text(f"{USER}\n{CALL}\n{USER}\n{REPLY}\n")
    result = squidbot("replay", str(path), "--window", "8k", "--json")
    assert result.exit_code == 0
    assert json.loads(result.output)["pairs_broken"] == 0


# -- pipes, signals, terminals --------------------------------------------------------------------------------------


def test_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    """`squidbot replay ... | head -1` says nothing on standard error, and leaves no temporary file."""
    (tmp_path / "tmp").mkdir()
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        command("replay", transcript(tmp_path), "--window", "4k", "--json"),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        env=environment(tmp_path / "tmp"),
    )
    os.close(writing)
    assert ran.stderr == b""
    assert ran.returncode == 1
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_interrupt_ends_quietly_and_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C in the middle: no traceback, no temporary store, no half of a dump."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "out").mkdir()
    given = ("--window", "2k", "--dump", str(tmp_path / "out" / "d.jsonl"))
    python, _, _, *arguments = command("replay", transcript(tmp_path, 400), *given)
    # Tests that a shell runs in the background inherit that the signal is ignored.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    begun = "from squidbot.cli import main; main(prog_name='squidbot')"
    running = subprocess.Popen(
        [python, "-c", f"{heard}; {begun}", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path / "tmp"),
    )
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert (output, errors) == (b"", b"")
    assert list((tmp_path / "tmp").iterdir()) == []
    assert list((tmp_path / "out").iterdir()) == []


def test_progress_shows_on_a_terminal_and_output_stays_clean(tmp_path: Path) -> None:
    """The bar goes to standard error, the object to standard output."""
    pty = pytest.importorskip("pty")
    terminal, side = pty.openpty()
    given = command("replay", transcript(tmp_path, 2), "--window", "4k", "--json")
    ran = subprocess.run(
        given, stdout=subprocess.PIPE, stderr=side, check=True, env=environment(tmp_path, TERM="xterm")
    )
    os.close(side)
    seen = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error on Linux
        while chunk := os.read(terminal, 65_536):
            seen += chunk
    os.close(terminal)
    assert b"replaying" in seen
    assert json.loads(ran.stdout)["calls"] == 4


def test_output_that_the_terminal_can_not_spell_is_no_error(tmp_path: Path) -> None:
    """An id in Chinese under a Western locale is escaped."""
    path = transcript(tmp_path, 1, name="对话.jsonl")
    ran = subprocess.run(
        command("replay", path, "--window", "4k"),
        capture_output=True,
        check=True,
        env=environment(tmp_path, PYTHONIOENCODING="latin-1"),
    )
    assert rb"\u5bf9\u8bdd: 4 messages" in ran.stdout


def test_replay_writes_its_turns_when_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """debug_turn.txt in the current folder: each turn of the recording; a folder of that name is in its way (B-50)."""
    monkeypatch.chdir(tmp_path)
    asked = ("replay", transcript(tmp_path), "--window", "4k", "--debug")
    assert squidbot(*asked).exit_code == 0
    text = (tmp_path / "debug_turn.txt").read_text(encoding="utf-8")
    assert text.count("\nTOOL CALLS (1 call across 1 iteration)\n") == 4
    assert text.count("\nRESPONSE\nMended part_") == 4
    (tmp_path / "debug_turn.txt").unlink()
    (tmp_path / "debug_turn.txt").mkdir()
    result = squidbot(*asked)
    assert result.exit_code == 2
    assert "not the folder debug_turn.txt" in result.output
