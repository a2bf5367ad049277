"""`squidbot report`, and the pages of `squidbot replay --html`."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

EXAMPLE = Path(__file__).parents[2] / "examples" / "session.jsonl"
SECRET = "sk-ant-api03-" + "Zx9" * 12


def figures(page: str) -> dict[str, Any]:
    """Return the data that a page has, texts aside."""
    (packed,) = re.findall(r'<script type="application/gzip" id="figures">([^<]*)</script>', page)
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return found


def replayed(folder: Path, *more: str, source: Path | None = None) -> Result:
    """Replay into a page in a folder; without a source, the beginning of the example."""
    if source is None:
        source = folder / "begin.jsonl"
        lines = EXAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)[:120]
        source.write_text("".join(lines), encoding="utf-8")
    return CliRunner().invoke(main, ["replay", str(source), "--window", "8k", "--html", f"{folder}/r.html", *more])


def small(folder: Path, text: str = "What is in a.py?", name: str = "small.jsonl") -> Path:
    """Write a short transcript."""
    turns = [{"role": "user", "content": text}, {"role": "assistant", "content": "It has value_1."}]
    path = folder / name
    path.write_text("".join(json.dumps(one) + "\n" for one in turns * 3), encoding="utf-8")
    return path


def test_report_is_one_file_with_the_data_of_json(copied: Callable[..., Result]) -> None:
    """The page has what `--json` prints, and the command says in a line what it is about."""
    done = copied("report", "support/42")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("report.html: ")
    printed = json.loads(copied("report", "support/42", "--json").output)
    drawn = figures(Path("report.html").read_text(encoding="utf-8"))
    texts = printed.pop("texts")
    assert texts
    for one in (printed, drawn):
        one.pop("made_at")
    assert drawn == printed


def test_report_replaces_a_report_and_nothing_else(copied: Callable[..., Result]) -> None:
    """A store, or a page of somebody else's, is not overwritten; the error says what to do."""
    assert copied("report", "support/42").exit_code == 0
    assert copied("report", "support/42").exit_code == 0
    Path("mine.html").write_text("<!doctype html><p>mine", encoding="utf-8")
    for name, option in (("kept.db", "--output"), ("mine.html", "-o")):  # `--out` is another name
        before = Path(name).read_bytes()
        done = copied("report", "support/42", option, name)
        assert done.exit_code == 1
        assert name in done.output
        assert "choose another" in done.output
        assert Path(name).read_bytes() == before


def test_report_names_the_prices_that_it_bills_by(copied: Callable[..., Result]) -> None:
    """A model's own entry of the price table goes before the one of the settings; the option before both."""
    with Path("squidbot.toml").open("a", encoding="utf-8") as settings:
        settings.write('\n[models.house]\ncontext_window = 8000\nprices = "openai"\n')
    with squidbot.load("squidbot.toml") as engine:
        session = engine.session("priced", model="house")
        session.record(*session.assemble("Hello.").incoming, "Yes.")
    assert json.loads(copied("report", "priced", "--json").output)["prices"]["name"] == "openai"
    assert json.loads(copied("report", "priced", "--json", "--prices", "gemini").output)["prices"]["name"] == "gemini"


@pytest.mark.parametrize("out", ["nowhere/r.html", "."])
def test_report_that_has_no_place_says_what_to_do(copied: Callable[..., Result], out: str) -> None:
    """A missing folder, or a folder in the place of a file; for a replay, too, and before it."""
    source = small(Path())
    for done in (
        copied("report", "support/42", "--out", out),
        *([copied("replay", str(source), "--window", "8k", "--html", out)] if out != "." else []),
    ):
        assert done.exit_code == 1
        assert re.search(r"make it first|name a file in it", done.output)
        assert "Errno" not in done.output


def test_page_options_need_a_page(tmp_path: Path) -> None:
    """Else a user would believe that they have done something."""
    for option in ("--no-text", "--keep-secrets"):
        done = CliRunner().invoke(main, ["replay", str(small(tmp_path)), "--window", "8k", option])
        assert done.exit_code == 2
        assert "--html" in done.output


def test_forget_names_the_page_of_a_replay_that_was_kept(tmp_path: Path) -> None:
    """The sessions are in a file of the user's, and so are their words in the page."""
    replayed(tmp_path, "--store", f"{tmp_path}/s.db", source=small(tmp_path))
    done = CliRunner().invoke(main, ["session", "forget", "small", "m0", "--yes", "--store", f"{tmp_path}/s.db"])
    assert f"{tmp_path}/r.html" in done.output.replace("\n", "")


def test_report_into_a_pipe_ends(copied: Callable[..., Result]) -> None:
    """What is no file is written, and not read again."""
    os.mkfifo("pipe")
    reader = subprocess.Popen([sys.executable, "-c", "print(len(open('pipe').read()))"], stdout=subprocess.PIPE)
    assert copied("report", "support/42", "--out", "pipe").exit_code == 0
    assert int(reader.communicate(timeout=60)[0]) > 20_000


def test_forget_names_a_report_that_may_have_the_words(copied: Callable[..., Result]) -> None:
    """One without text is not named."""
    copied("report", "support/42", "--out", "words.html")
    copied("report", "support/42", "--out", "figures.html", "--no-text")
    done = copied("session", "forget", "support/42", "m14", "--yes")
    assert "words.html" in done.output
    assert "figures.html" not in done.output


def test_replay_draws_its_page(tmp_path: Path) -> None:
    """With the policies beside it; its figures are those of the table."""
    done = replayed(tmp_path, "--compare", "--json")
    printed, drawn = json.loads(done.stdout), figures((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert drawn["source"] == "replay"
    calls = printed["calls"]
    assert drawn["totals"]["calls"] == calls > 30
    assert drawn["totals"]["price"] / calls == pytest.approx(printed["bite"])
    assert [one["name"] for one in drawn["policies"]] == [one["policy"] for one in printed["compare"]]
    assert len(drawn["compactions"]) == len(printed["events"])


def test_replay_without_a_request_is_drawn(tmp_path: Path) -> None:
    """Calls that do not fit are marked with their reason, and the exit code stays."""
    done = replayed(tmp_path, "--window", "200", "--reserve", "50")
    assert done.exit_code == 3
    drawn = figures((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert drawn["errors"]
    assert {one["kind"] for one in drawn["errors"]} == {"budget"}


def test_several_conversations_get_a_page_each(tmp_path: Path) -> None:
    """In a folder; a file for all of them is refused before the replay."""
    first, second = small(tmp_path, name="a.jsonl"), small(tmp_path, name="b.jsonl")
    run = CliRunner().invoke
    refused = run(main, ["replay", str(first), str(second), "--window", "8k", "--html", f"{tmp_path}/r.html"])
    assert refused.exit_code == 2
    assert "end it with a slash" in refused.output
    done = run(main, ["replay", str(first), str(second), "--window", "8k", "--html", f"{tmp_path}/pages/"])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == ["a.html", "b.html"]


def test_page_takes_no_input_file(tmp_path: Path) -> None:
    """Neither the transcript nor the dump is overwritten."""
    source = small(tmp_path)
    before = source.read_bytes()
    both = ["--html", f"{tmp_path}/x", "--dump", f"{tmp_path}/x"]
    for more, code in ((["--html", str(source)], 1), (both, 2)):
        done = CliRunner().invoke(main, ["replay", str(source), "--window", "8k", *more])
        assert done.exit_code == code
        assert source.read_bytes() == before
        assert not (tmp_path / "x").exists()


def test_page_that_can_not_be_written_is_refused_before_the_replay(tmp_path: Path) -> None:
    """A file of somebody else's stays; nothing is replayed for it."""
    (tmp_path / "r.html").write_text("mine", encoding="utf-8")
    done = replayed(tmp_path, "--store", f"{tmp_path}/s.db")
    assert done.exit_code == 1
    assert "is no report" in done.output
    assert not (tmp_path / "s.db").exists()


def test_secrets_stay_out_of_pages_unless_kept(tmp_path: Path) -> None:
    """Of texts; figures alone have none anyway."""

    def texts(page: str) -> str:
        packed = re.findall(r'<script type="application/gzip" id="texts-\d+"[^>]*>([^<]*)</script>', page)
        return "".join(gzip.decompress(base64.b64decode(one)).decode() for one in packed)

    source = small(tmp_path, f"My key is {SECRET}.")
    replayed(tmp_path, source=source)
    assert SECRET not in texts((tmp_path / "r.html").read_text(encoding="utf-8"))
    replayed(tmp_path, "--keep-secrets", source=source)
    assert SECRET in texts((tmp_path / "r.html").read_text(encoding="utf-8"))
    replayed(tmp_path, "--no-text", source=source)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert texts(page).strip("[]") == ""
    assert "small" not in json.dumps(figures(page))
